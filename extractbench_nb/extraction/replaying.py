"""Simulated outputs as answers to requests in OpenAI's form; `serving` puts them on a socket."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from threading import Lock
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._tokens import count_tokens
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.recognising import Asked, Recognition, UnrecognisedError
from extractbench_nb.extraction.simulation import Simulation

__all__ = ["REQUEST_COLUMNS", "Replay", "Reply", "failed"]

REQUEST_COLUMNS = FrameSpec(
    "requests",
    "one row an output that can be asked for, in the order of simulations and outputs",
    (
        Column("model", "string", "name of the simulated model"),
        Column("mode", "string", "how it is asked", "prompt, structured"),
        Column("document", "string", "document id"),
        Column("requests", "int64", "how often it was asked for", "0 and up"),
    ),
)

_PREFIX = "simulated-"
_PROVIDER = "openai/"
_NO_NAME = re.compile(r"[^\w.]+")
_OK, _BAD, _NOT_FOUND, _SERVER_ERROR = 200, 400, 404, 500
_INVALID = "invalid_request_error"

#: HTTP status, type and code of OpenAI's errors, by the reason of a call's error.
_ERRORS: Mapping[str, tuple[int, str, str | None]] = {
    "page_limit": (_BAD, _INVALID, None),
    "context_length": (_BAD, _INVALID, "context_length_exceeded"),
    "schema_rejected": (_BAD, _INVALID, None),
    "refused": (_BAD, _INVALID, "content_policy_violation"),
    "rate_limited": (429, "requests", "rate_limit_exceeded"),
    "timeout": (408, "timeout", None),
}
_OTHER = (_SERVER_ERROR, "server_error", None)


class Reply(NamedTuple):
    """What is answered: a status of HTTP and a JSON object."""

    status: int
    body: dict[str, Any]


def failed(status: int, message: str, kind: str = _INVALID, code: str | None = None) -> Reply:
    """Write an error in OpenAI's form.

    Parameters
    ----------
    status : int
        Of HTTP.
    message : str
        What is wrong.
    kind, code : str, optional
        OpenAI's words for it.

    Returns
    -------
    Reply
        The error.

    Examples
    --------
    >>> failed(404, "no such page").body["error"]["message"]
    'no such page'
    """
    error = {"message": message, "type": kind, "param": None, "code": code}
    return Reply(status, {"error": error})


class Replay:
    """The outputs of simulations, found again for requests in OpenAI's form; safe for threads.

    Parameters
    ----------
    simulations : Simulation, or iterable of Simulation
        What is answered; at most one for a model and mode.
    dataset : Dataset
        Where their documents are.

    Raises
    ------
    InputError
        There is no simulation, or something else; two are of one model and mode; or one has a
        document that is not in the dataset.

    Examples
    --------
    >>> from extractbench_nb.benchmark.dataset import load_dataset
    >>> from extractbench_nb.extraction.simulation import simulate
    >>> dataset = load_dataset("sample")
    >>> replay = Replay(simulate(dataset, "GPT-5"), dataset)
    >>> replay.models
    {'GPT-5': 'openai/simulated-gpt-5'}
    >>> replay.reply(b"Hello?").status
    400
    """

    def __init__(self, simulations: Simulation | Iterable[Simulation], dataset: Dataset) -> None:
        self._served = _by_model(simulations)
        _check_documents(self._served, dataset)
        self._recognised = Recognition(dataset)
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._lock = Lock()
        self._counted: dict[bytes, int] = {}

    @property
    def models(self) -> dict[str, str]:
        """By the name of a simulated model the LiteLLM id to ask it by."""
        return {
            one.profile.name: f"{_PROVIDER}{model}"
            for model, modes in self._served.items()
            for one in modes.values()
        }

    @property
    def modes(self) -> dict[str, list[str]]:
        """By the name of a simulated model the modes in which it answers."""
        return {
            name: list(self._served[model.removeprefix(_PROVIDER)])
            for name, model in self.models.items()
        }

    @property
    def requests(self) -> pd.DataFrame:
        """How often each output was asked for; see `REQUEST_COLUMNS`."""
        with self._lock:
            counts = self._counts.copy()
        return REQUEST_COLUMNS.from_rows(
            (one.profile.name, mode, document, counts[one.profile.name, mode, document])
            for modes in self._served.values()
            for mode, one in modes.items()
            for document in one.outputs["document"]
        )

    def listing(self) -> dict[str, Any]:
        """List the models in OpenAI's form.

        Returns
        -------
        dict
            What ``GET /v1/models`` gives.
        """
        about = {"object": "model", "created": 0, "owned_by": "extractbench_nb"}
        return {"object": "list", "data": [{"id": model, **about} for model in self._served]}

    def reply(self, body: bytes) -> Reply:
        """Answer a request.

        Parameters
        ----------
        body : bytes
            Of ``POST /v1/chat/completions``.

        Returns
        -------
        Reply
            The output, or the error, that the simulation has for the document; or an error that
            says why it has none.
        """
        try:
            asked = Asked.read(body)
        except UnrecognisedError as error:
            return failed(_BAD, str(error))
        model = asked.model.removeprefix(_PROVIDER)
        modes = self._served.get(model)
        if modes is None:
            message = f"the model {model!r} does not exist; {nearest(model, self._served)}"
            return failed(_NOT_FOUND, message, code="model_not_found")
        if asked.mode not in modes:
            return failed(_BAD, _other_mode(model, *modes))
        try:
            document = self._recognised.document(asked)
        except UnrecognisedError as error:
            return failed(_NOT_FOUND, str(error), code="document_not_found")
        return self._said(asked, modes[asked.mode], document)

    def _said(self, asked: Asked, simulation: Simulation, document: str) -> Reply:
        """Answer what the simulation has for a document."""
        row = simulation.outputs[simulation.outputs["document"] == document]
        if row.empty:
            message = f"{simulation.run!r} has no output for document {document!r}"
            return failed(_NOT_FOUND, message, code="document_not_found")
        with self._lock:
            self._counts[simulation.profile.name, asked.mode, document] += 1
        raw, meta = row["raw"].iloc[0], row["meta"].iloc[0]
        error = meta["error"]
        if error is not None:
            status, kind, code = _ERRORS.get(error["reason"], _OTHER)
            return failed(status, error["message"], kind, code)
        return Reply(_OK, self._completion(asked, document, raw, meta))

    def _completion(
        self, asked: Asked, document: str, raw: str | None, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        texts = [*asked.texts, *([self._recognised.text(document)] if asked.files else [])]
        prompt = meta.get("prompt_tokens") or sum(map(self._tokens, texts))
        written = meta.get("completion_tokens")
        written = self._tokens(raw or "") if written is None else written
        message = {"role": "assistant", "content": raw, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None}
        return {
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

    def _tokens(self, text: str) -> int:
        """Count tokens; of what was counted before, as a prompt is for every model, once."""
        key = sha256(text.encode("utf-8", "surrogatepass")).digest()
        if key not in self._counted:
            self._counted[key] = count_tokens(text)
        return self._counted[key]


def _other_mode(model: str, mode: str) -> str:
    only = f"{model!r} is simulated in the mode {mode!r} only"
    if mode == "structured":
        return f"{only}; ask with a response_format of type json_schema"
    return f"{only}; a response_format of type json_schema is not supported by this model"


def _by_model(
    simulations: Simulation | Iterable[Simulation],
) -> dict[str, dict[str, Simulation]]:
    """Sort simulations by model and mode, or say what is wrong with them."""
    found: dict[str, dict[str, Simulation]] = {}
    for one in _listed(simulations):
        model = _PREFIX + _NO_NAME.sub("-", one.profile.name.casefold()).strip("-")
        modes = found.setdefault(model, {})
        for other in modes.values():
            if other.profile.name != one.profile.name:
                names = f"{other.profile.name!r} and {one.profile.name!r}"
                raise InputError(f"simulations of {names}: both would be asked as {model!r}")
        mode = one.profile.mode
        if mode in modes:
            raise InputError(
                f"two simulations of {one.profile.name!r} in the mode {mode!r}, {modes[mode].run!r}"
                f" and {one.run!r}; serve one, or give the profile of the other another name"
            )
        modes[mode] = one
    return found


def _listed(simulations: object) -> list[Simulation]:
    if isinstance(simulations, Simulation):
        return [simulations]
    if isinstance(simulations, str | bytes) or not isinstance(simulations, Iterable):
        raise InputError(f"simulations is {simulations!r}; expected what simulate() makes")
    found = list(simulations)
    for one in found:
        if not isinstance(one, Simulation):
            raise InputError(f"simulations has {one!r} in it; expected what simulate() makes")
    if not found:
        raise InputError("simulations: there are none; simulate() makes one")
    return found


def _check_documents(served: Mapping[str, Mapping[str, Simulation]], dataset: Dataset) -> None:
    known = {*dataset.listing["document"]}
    for one in (one for modes in served.values() for one in modes.values()):
        for document in one.outputs["document"]:
            if document not in known:
                raise InputError(
                    f"{one.run!r} has document {document!r}, which is not in the dataset "
                    f"{dataset.name!r}; {nearest(document, known)}"
                )
