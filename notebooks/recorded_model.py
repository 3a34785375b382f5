"""A server on this machine that returns recorded outputs, with OpenAI's protocol.

It stands in for a provider: `xb.extract` calls it like any other model. Notebook 08 uses it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import extractbench_nb as xb

_RUNS = "kestrel-4b", "kestrel-4b structured"


class RecordedModel:
    """A server that answers with the outputs of recorded runs, one per mode; see `url`.

    `requests` counts the requests. An error of a recorded call is returned as an HTTP error.
    """

    def __init__(self, *runs: xb.runs.Run) -> None:
        self.requests = 0
        self._runs = {run.description["mode"]: run for run in runs}
        recorded = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                recorded.requests += 1
                status, body = recorded.reply(request)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def reply(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body for a request: the recorded output of the document it names."""
        run = self._runs["structured" if "response_format" in request else "prompt"]
        prompt = request["messages"][0]["content"]
        document = next(d for d in run.outputs["document"] if f"the document {d} all" in prompt)
        raw, meta = run.read(document)
        if meta["error"] is not None:
            return 400, {"error": {"message": meta["error"]["message"], "code": None}}
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": raw},
            "finish_reason": meta["finish_reason"],
        }
        body = {"id": "recorded", "object": "chat.completion", "created": 0, "choices": [choice]}
        return 200, {**body, "model": request["model"]}

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def model(dataset: xb.runs.Dataset) -> Iterator[xb.LLM]:
    """Yield the model that EXTRACTBENCH_MODEL names, else a server with the sample's `kestrel-4b`.

    The server is closed at the end of the ``with`` block.
    """
    name = os.environ.get("EXTRACTBENCH_MODEL")
    if name:
        yield xb.LLM(name, api_base=os.environ.get("EXTRACTBENCH_API_BASE"))
        return
    server = RecordedModel(*(xb.runs.Run.open(dataset.root / "failures" / run) for run in _RUNS))
    try:
        yield xb.LLM("openai/kestrel-4b", api_base=server.url)
    finally:
        server.close()


def run_folder() -> Path:
    """Return the folder that EXTRACTBENCH_RUN_FOLDER names, else a new temporary one."""
    return Path(os.environ.get("EXTRACTBENCH_RUN_FOLDER") or tempfile.mkdtemp())
