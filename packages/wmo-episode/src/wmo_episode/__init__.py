"""One agent episode: shim wire and server, termination policy, node runner, entry.ts."""
