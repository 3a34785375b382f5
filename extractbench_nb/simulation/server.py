"""`serve_simulations`: a local server that returns the outputs of simulated models.

It speaks OpenAI's protocol on a real socket, so that `extract` and any OpenAI client can use it
like a provider. It listens on 127.0.0.1 only.
"""

from __future__ import annotations

import base64
import json
import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, NamedTuple, Self

import pandas as pd

from extractbench_nb._concurrency import undisturbed
from extractbench_nb._files import file_hash
from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._tokens import count_tokens
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.calling import document_text
from extractbench_nb.extraction.plans import dataset_of
from extractbench_nb.judges.prompts import sendable
from extractbench_nb.simulation.outputs import Simulation

REQUEST_COLUMNS = FrameSpec(
    "requests",
    "one row per output that can be requested, in the order of simulations and outputs",
    (
        Column("model", "string", "name of the simulated model"),
        Column("mode", "string", "mode of the request", "prompt, structured"),
        Column("document", "string", "document id"),
        Column("requests", "int64", "number of requests", "0 and up"),
    ),
)

_PREFIX = "simulated-"
_PROVIDER = "openai/"
_NO_NAME = re.compile(r"[^\w.]+")
_INVALID = "invalid_request_error"
_OK, _BAD, _NOT_FOUND, _NO_LENGTH, _TOO_LARGE, _FAULT = 200, 400, 404, 411, 413, 500

#: HTTP status, type and code of OpenAI's errors, by the reason of a call's error.
_ERRORS: Mapping[str, tuple[int, str, str | None]] = {
    "page_limit": (_BAD, _INVALID, None),
    "context_length": (_BAD, _INVALID, "context_length_exceeded"),
    "schema_rejected": (_BAD, _INVALID, None),
    "refused": (_BAD, _INVALID, "content_policy_violation"),
    "rate_limited": (429, "requests", "rate_limit_exceeded"),
    "timeout": (408, "timeout", None),
}
_OTHER = (_FAULT, "server_error", None)


class Reply(NamedTuple):
    """A response: HTTP status and a JSON object."""

    status: int
    body: dict[str, Any]


def failed(status: int, message: str, kind: str = _INVALID, code: str | None = None) -> Reply:
    """Write an error in OpenAI's form."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    return Reply(status, {"error": error})


class _RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, message: str, status: int = _BAD, code: str | None = None) -> None:
        super().__init__(message)
        self.reply = failed(status, message, code=code)


# --- requests and their documents -------------------------------------------------------------


class _Asked(NamedTuple):
    """Contents of a request: the texts of all messages, the attached PDFs and their names."""

    model: str
    mode: str
    texts: list[str]
    files: list[bytes]
    names: list[str]


def _read_request(body: bytes) -> _Asked:
    """Read a request in OpenAI's form."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _RefusedError(f"the request is not JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("model"), str):
        raise _RefusedError("expected an object with the name of a model")
    if request.get("stream"):
        raise _RefusedError("streaming is not supported; send the request without stream")
    messages = request.get("messages")
    if not isinstance(messages, list) or not all(isinstance(item, dict) for item in messages):
        raise _RefusedError("expected messages, a list of objects")
    parts: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            parts.append({"text": content})
        elif isinstance(content, list):
            parts += [part for part in content if isinstance(part, dict)]
    files = [part["file"] for part in parts if isinstance(part.get("file"), dict)]
    form = request.get("response_format")
    structured = isinstance(form, dict) and form.get("type") == "json_schema"
    return _Asked(
        request["model"],
        "structured" if structured else "prompt",
        [part["text"] for part in parts if isinstance(part.get("text"), str)],
        [_decoded(file.get("file_data")) for file in files],
        [str(file.get("filename") or "") for file in files],
    )


def _decoded(data: object) -> bytes:
    """Decode a file from its data URL, or from base64 alone."""
    try:
        return base64.b64decode(str(data or "").rpartition(",")[2], validate=True)
    except ValueError:
        raise _RefusedError("expected file_data in base64, as a data URL") from None


class _Recognition:
    """Identifies the document of a request by its PDF or by the text of its PDF.

    Files are read when they are first needed, by one thread at a time.
    """

    def __init__(self, dataset: Dataset) -> None:
        with_pdf = dataset.listing["has_pdf"]
        self._pdfs: dict[str, Path] = {
            document: dataset.pdf_path(document)
            for document in dataset.listing.loc[with_pdf, "document"]
        }
        self._texts: dict[str, str] = {}
        self._lock = Lock()

    def document(self, asked: _Asked) -> str:
        """Find the document of a request."""
        request_text = "\n".join(asked.texts)
        if asked.files:
            sent = {sha256(data).hexdigest() for data in asked.files if data}
            documents = [d for d, pdf in self._pdfs.items() if file_hash(pdf) in sent]
            what = "PDF"
        else:
            documents = [d for d in self._pdfs if self.text(d) and self.text(d) in request_text]
            documents, what = _longest(documents, self.text), "text"
        if len(documents) > 1:
            for text in {self.text(document) for document in documents} - {""}:
                request_text = request_text.replace(text, " ")
            rest = "\n".join([*asked.names, request_text])
            patterns = {d: rf"(?<!\w){re.escape(sendable(d))}(?!\w)" for d in documents}
            named = [d for d in documents if re.search(patterns[d], rest)]
            documents = _longest(named, str) or documents
        if len(documents) == 1:
            return documents[0]
        names = ", ".join(map(repr, documents))
        message = f"the request fits {names}; add the name of the document"
        if not documents:
            message = f"the request contains the {what} of no document of the dataset"
        raise _RefusedError(message, _NOT_FOUND, "document_not_found")

    def text(self, document: str) -> str:
        """Return the text of a document as it is sent."""
        with self._lock:
            if document not in self._texts:
                text = ""
                with suppress(InputError):  # not a PDF, despite its name
                    text = sendable(document_text(self._pdfs[document]))
                self._texts[document] = text
            return self._texts[document]


def _longest(documents: Sequence[str], text: Callable[[str], str]) -> list[str]:
    """Drop documents whose text is part of another document's text."""
    texts = {text(document) for document in documents}
    parts = {part for part in texts for other in texts if part != other and part in other}
    return [document for document in documents if text(document) not in parts]


# --- answers ----------------------------------------------------------------------------------


class Replay:
    """Answers requests in OpenAI's form with the outputs of simulations; thread-safe."""

    def __init__(self, simulations: Simulation | Iterable[Simulation], dataset: Dataset) -> None:
        self.served = _by_model(simulations)
        known = {*dataset.listing["document"]}
        for simulation in (s for modes in self.served.values() for s in modes.values()):
            for document in simulation.outputs["document"]:
                if document not in known:
                    raise InputError(
                        f"{simulation.run!r} has document {document!r}, which is not in the "
                        f"dataset {dataset.name!r}; {nearest(document, known)}"
                    )
        self._recognised = _Recognition(dataset)
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._lock = Lock()
        self._counted: dict[bytes, int] = {}

    @property
    def requests(self) -> pd.DataFrame:
        """How often each output was requested; see `REQUEST_COLUMNS`."""
        with self._lock:
            counts = self._counts.copy()
        keys = (
            (simulation.profile.name, mode, document)
            for modes in self.served.values()
            for mode, simulation in modes.items()
            for document in simulation.outputs["document"]
        )
        return REQUEST_COLUMNS.from_rows((*key, counts[key]) for key in keys)

    def listing(self) -> dict[str, Any]:
        """List the models in OpenAI's form."""
        details = {"object": "model", "created": 0, "owned_by": "extractbench_nb"}
        return {"object": "list", "data": [{"id": model, **details} for model in self.served]}

    def reply(self, body: bytes) -> Reply:
        """Answer a request."""
        try:
            asked = _read_request(body)
            simulation = self._simulation(asked)
            return self._answer(asked, simulation, self._recognised.document(asked))
        except _RefusedError as error:
            return error.reply

    def _simulation(self, asked: _Asked) -> Simulation:
        """Find the simulation for the model and mode of a request."""
        model = asked.model.removeprefix(_PROVIDER)
        modes = self.served.get(model)
        if modes is None:
            message = f"the model {model!r} does not exist; {nearest(model, self.served)}"
            raise _RefusedError(message, _NOT_FOUND, "model_not_found")
        if asked.mode not in modes:
            hint = "a response_format of type json_schema is not supported by this model"
            if "structured" in modes:
                hint = "add a response_format of type json_schema"
            only = f"{model!r} is simulated in the mode {next(iter(modes))!r} only"
            raise _RefusedError(f"{only}; {hint}")
        return modes[asked.mode]

    def _answer(self, asked: _Asked, simulation: Simulation, document: str) -> Reply:
        """Return the simulated response for a document."""
        row = simulation.outputs[simulation.outputs["document"] == document]
        if row.empty:
            message = f"{simulation.run!r} has no output for document {document!r}"
            raise _RefusedError(message, _NOT_FOUND, "document_not_found")
        with self._lock:
            self._counts[simulation.profile.name, asked.mode, document] += 1
        raw, meta = row["raw"].iloc[0], row["meta"].iloc[0]
        if (error := meta["error"]) is not None:
            status, kind, code = _ERRORS.get(error["reason"], _OTHER)
            return failed(status, error["message"], kind, code)
        texts = [*asked.texts, *([self._recognised.text(document)] if asked.files else [])]
        prompt = meta.get("prompt_tokens") or sum(map(self._tokens, texts))
        written = meta.get("completion_tokens")
        written = self._tokens(raw or "") if written is None else written
        answer = {"role": "assistant", "content": raw, "refusal": None}
        choice = {"index": 0, "message": answer, "logprobs": None}
        completion = {
            "id": "chatcmpl-simulated",
            "object": "chat.completion",
            "created": 0,
            "model": asked.model,
            "choices": [{**choice, "finish_reason": meta["finish_reason"]}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": written,
                "total_tokens": prompt + written,
            },
        }
        return Reply(_OK, completion)

    def _tokens(self, text: str) -> int:
        """Count tokens; the count of each text is cached, as all models get the same prompts."""
        key = sha256(text.encode("utf-8", "surrogatepass")).digest()
        if key not in self._counted:
            self._counted[key] = count_tokens(text)
        return self._counted[key]


def _by_model(simulations: Any) -> dict[str, dict[str, Simulation]]:
    """Group simulations by model and mode."""
    sources = [simulations] if isinstance(simulations, Simulation) else simulations
    if isinstance(sources, str | bytes) or not isinstance(sources, Iterable):
        raise InputError(f"simulations is {simulations!r}; expected results of simulate()")
    served: dict[str, dict[str, Simulation]] = {}
    for simulation in sources:
        if not isinstance(simulation, Simulation):
            raise InputError(f"simulations contains {simulation!r}; expected results of simulate()")
        name, mode = simulation.profile.name, simulation.profile.mode
        model = _PREFIX + _NO_NAME.sub("-", name.casefold()).strip("-")
        modes = served.setdefault(model, {})
        for other in modes.values():
            if other.profile.name != name:
                names = f"{other.profile.name!r} and {name!r}"
                raise InputError(f"simulations of {names}: both would be served as {model!r}")
        if mode in modes:
            raise InputError(
                f"two simulations of {name!r} in the mode {mode!r}, {modes[mode].run!r} and "
                f"{simulation.run!r}; serve one of them, or rename the profile of the other"
            )
        modes[mode] = simulation
    if not served:
        raise InputError("simulations is empty; expected one or more results of simulate()")
    return served


# --- the server -------------------------------------------------------------------------------

_HOST = "127.0.0.1"
_MODELS, _COMPLETIONS = "GET /v1/models", "POST /v1/chat/completions"
_NAME = "extractbench-simulations"
#: Seconds between checks whether to stop, and for open requests to end.
_POLL, _PATIENCE = 0.02, 5.0
_LONGEST = 3600
#: Bytes of a request.
_LARGEST = 2**30


def serve_simulations(
    simulations: Simulation | Iterable[Simulation],
    dataset: Dataset | str | os.PathLike[str] | None,
    *,
    latency: float = 0.0,
) -> SimulationServer:
    """Start a server that answers like a provider, with simulated outputs.

    Parameters
    ----------
    simulations : Simulation, or iterable of Simulation
        From `simulate`; at most one per model and mode.
    dataset : Dataset, str or path
        The dataset of the simulations, or what `load_dataset` takes; None is the sample dataset.
    latency : float, optional
        Delay of every answer, in seconds, 0 to 3,600.

    Returns
    -------
    SimulationServer
        A running server that only this machine can reach. Use it in a ``with`` statement, or close
        it.

    Raises
    ------
    InputError
        There is no simulation, or there are two with the same model and mode; `dataset` is not a
        dataset or lacks a document; or `latency` is out of range.
    DatasetError
        The dataset cannot be read.

    Notes
    -----
    A request is answered with the simulation's text, finish reason and completion tokens, or with
    its error as an HTTP error. The document is identified by the PDF that is sent, or else by its
    text, the mode by the ``response_format``. The ``prompt`` of `extract` may therefore be any
    text; it must contain the document's name only if two documents have the same PDF or text.
    ``prompt_tokens`` are GPT-2 tokens of all texts of the messages, and of the PDF's text if the
    file itself is sent.

    Requests for an unknown model or document get HTTP error 404, requests in a mode that is not
    simulated 400. If ``schema_rejected`` is simulated in the mode ``prompt``, a run records it as
    ``other``, since no schema was sent that could be rejected.

    Examples
    --------
    >>> from extractbench_nb.simulation.outputs import simulate
    >>> with serve_simulations(simulate("sample", "GPT-5"), "sample") as server:
    ...     server.models
    {'GPT-5': 'openai/simulated-gpt-5'}

    While the server runs, ``extract(..., model=server.models["GPT-5"], api_base=server.url)`` uses
    it.
    """
    value: object = latency
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LONGEST:
        raise InputError(f"latency is {latency!r}; expected seconds from 0 to {_LONGEST:,}")
    return SimulationServer(Replay(simulations, dataset_of(dataset)), latency=latency)


class SimulationServer:
    """A server that returns the outputs of simulated models; made by `serve_simulations`.

    Parameters
    ----------
    replay : Replay
        The source of the answers.
    latency : float, optional
        Delay of every answer, in seconds.

    Attributes
    ----------
    url : str
        The ``api_base`` for `extract`.
    """

    def __init__(self, replay: Replay, *, latency: float = 0.0) -> None:
        self._replay = replay
        self._http = _HTTPServer(replay, latency)
        self._thread = Thread(
            target=self._http.serve_forever, args=(_POLL,), name=_NAME, daemon=True
        )
        try:
            self._thread.start()
        except BaseException:  # no thread could be started: release the port
            self._http.server_close()
            raise
        self.url = f"http://{_HOST}:{self._http.server_address[1]}/v1"

    @property
    def models(self) -> dict[str, str]:
        """LiteLLM ids for `extract`, by name of the simulated model."""
        return {
            simulation.profile.name: f"{_PROVIDER}{model}"
            for model, modes in self._replay.served.items()
            for simulation in modes.values()
        }

    @property
    def requests(self) -> pd.DataFrame:
        """One row per output: model, mode, document, requests (their number, also if 0).

        Requests without an answer are not counted.
        """
        return self._replay.requests

    def close(self) -> None:
        """Stop the server and close all connections; further calls do nothing.

        A first Ctrl-C waits until this is done; after a second one, call `close` again.
        """
        with undisturbed():
            self._http.stop(self._thread)

    def __enter__(self) -> Self:
        """Return the server itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Return the address, the models with their modes, and how many requests there were."""
        where = "closed" if self._http.is_closed else self.url
        served = zip(self.models, self._replay.served.values(), strict=True)
        models = ", ".join(f"{name} ({', '.join(modes)})" for name, modes in served)
        return f"SimulationServer({where}: {models}; {self.requests['requests'].sum():,} requests)"


class _HTTPServer(ThreadingHTTPServer):
    """Serves each connection in its own thread, and keeps track of open ones."""

    request_queue_size = 128

    def __init__(self, replay: Replay, latency: float) -> None:
        self.replay, self.latency = replay, latency
        self.stopped = Event()
        self._served: dict[Any, Thread] = {}
        super().__init__((_HOST, 0), _Handler)

    def server_bind(self) -> None:
        """Take a port; the base class would look up the machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a new connection, and drop those that have ended."""
        arguments = (request, client_address)
        thread = Thread(target=self.process_request_thread, args=arguments, name=_NAME, daemon=True)
        thread.start()
        alive = {other: own for other, own in self._served.items() if own.is_alive()}
        self._served = {**alive, request: thread}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: a client that disconnects is not an error."""

    @property
    def is_closed(self) -> bool:
        """Whether the server no longer accepts connections."""
        return self.fileno() < 0

    def stop(self, thread: Thread) -> None:
        """Accept no more connections, close open ones, and wait for their threads."""
        deadline = monotonic() + _PATIENCE
        self.stopped.set()
        if thread.is_alive():
            self.shutdown()
        self.server_close()
        for request, server_thread in self._served.items():
            with suppress(OSError):
                if server_thread.is_alive():
                    request.shutdown(socket.SHUT_RDWR)
        for open_thread in (thread, *self._served.values()):
            open_thread.join(max(0.0, deadline - monotonic()))
        self._served = {}


class _Handler(BaseHTTPRequestHandler):
    """One connection, which stays open from request to request."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "extractbench_nb", ""
    disable_nagle_algorithm = True
    server: _HTTPServer

    def do_GET(self) -> None:
        """List the models."""
        known = self._address == _MODELS
        self._send(Reply(_OK, self.server.replay.listing()) if known else self._nothing_here())

    def do_POST(self) -> None:
        """Answer for a model."""
        length = self.headers.get("content-length", "")
        problem = None
        if not length.isdecimal():
            problem = failed(_NO_LENGTH, "expected a Content-Length")
        elif len(length) > len(str(_LARGEST)) or int(length) > _LARGEST:
            problem = failed(_TOO_LARGE, f"expected at most {_LARGEST:,} bytes")
        if problem is not None:
            self.close_connection = True  # where the next request begins is not known
            self._send(problem)
            return
        body = self.rfile.read(int(length))
        reply = self._nothing_here()
        if self._address == _COMPLETIONS:
            try:
                reply = self.server.replay.reply(body)
            except Exception as error:  # noqa: BLE001 - the client is told, the screen stays clear
                reply = _fault(error)
        if not self.server.stopped.wait(self.server.latency):
            self._send(reply)

    @property
    def _address(self) -> str:
        """Method and path of the request."""
        return f"{self.command} {self.path.partition('?')[0].rstrip('/')}"

    def _nothing_here(self) -> Reply:
        return failed(_NOT_FOUND, f"no {self._address}; available are {_MODELS} and {_COMPLETIONS}")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer an unknown request with an error in OpenAI's form."""
        self.close_connection = True
        self._send(failed(code, explain or message or HTTPStatus(code).phrase))

    def _send(self, reply: Reply) -> None:
        try:
            data = json.dumps(reply.body, allow_nan=False).encode()
        except (TypeError, ValueError) as error:  # the body is not JSON
            reply = _fault(error)
            data = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Do not log requests."""


def _fault(error: Exception) -> Reply:
    return failed(_FAULT, f"{type(error).__name__}: {error}", "server_error")
