"""One agent episode: shim wire and server, result, and the runtimes pi-node and kit-python."""
