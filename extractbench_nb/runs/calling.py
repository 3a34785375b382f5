"""One model call for one document: the exact response, and details of the call."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from extractbench_nb.core.schema import parse_schema
from extractbench_nb.errors import InputError
from extractbench_nb.judges import (
    CallQueue,
    Completion,
    Failure,
    ModelRequest,
    placeholders_of,
    prompt_text,
    quoted,
    scrub,
    sendable,
    template_problem,
)
from extractbench_nb.pdf import read_pages
from extractbench_nb.runs.folders import Output
from extractbench_nb.support.files import read_text

MODES = ("prompt", "structured")
#: Version of the built-in prompts.
PROMPT_VERSION = "v1"
#: Folder and version of the prompts that follow the paper's appendix D and section 4.3.
PAPER = "paper"
#: Placeholders of a ``prompt``, in braces. The last two are the names in the paper's appendix D.
PLACEHOLDERS = ("schema", "document", "text", "schema_str", "document_name")

_HASHED = 12
#: Members of a JSON Schema whose own members are named by the user.
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
#: Members that hold values, not schemas.
_VALUES = ("enum", "const", "default", "examples", "required")
#: Keywords that OpenAI takes in a strict schema.
_STRICT = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum"),
        *("const", "$ref", "$defs", "definitions", "title", "description", "pattern", "format"),
        *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minItems", "maxItems"),
    )
)


@dataclass(frozen=True)
class Prompt:
    """The prompt for a document: a built-in one, or a user's template with `PLACEHOLDERS`.

    `template` is None or ``"paper"`` for the built-in ones, a text, or a `Path` to its file. In the
    mode ``"prompt"`` it must contain the schema. The text of a document follows it if it has no
    ``{text}``.
    """

    mode: str
    template: str | Path | None = None

    def __post_init__(self) -> None:
        """Check the template."""
        needed = ("schema", "schema_str") if self.mode == "prompt" else ()
        check_template(self.text, PLACEHOLDERS, needed)

    @cached_property
    def text(self) -> str:
        """The template's text."""
        if self.template in (None, PAPER):
            folder = PAPER if self.template else PROMPT_VERSION
            return _built_in(self.mode, folder)
        if isinstance(self.template, Path):
            return read_text(self.template, "prompt")
        return self.template or ""  # which check_template refuses

    @property
    def version(self) -> str:
        """Version of a built-in prompt, or ``custom-`` and the start of the SHA-256."""
        if self.template == PAPER:
            return PAPER
        return prompt_version(None if self.template is None else self.text)

    def messages(
        self,
        document: str,
        schema: Mapping[str, Any],
        *,
        text: str | None = None,
        pdf: Path | None = None,
    ) -> tuple[dict[str, Any], ...]:
        """Return the user message."""
        shown = json.dumps(schema, ensure_ascii=False, indent=2)
        content = _built_in("file")
        if text is not None:
            content = _built_in("text").format(text=quoted({"document": text})["document"])
        values = (shown, document, content, shown, document)
        prompt = self.text.format_map(dict(zip(PLACEHOLDERS, values, strict=True)))
        if text is not None and "text" not in placeholders_of(self.text, PLACEHOLDERS):
            prompt = f"{prompt.rstrip()}\n\n{content}"
        prompt = sendable(prompt)
        if pdf is None:
            return ({"role": "user", "content": prompt},)
        try:
            data = base64.b64encode(pdf.read_bytes()).decode()
        except OSError as error:
            raise InputError(
                f"PDF {str(pdf)!r} cannot be read: {error.strerror or error}"
            ) from None
        file = {"filename": sendable(f"{document}.pdf")}
        file["file_data"] = f"data:application/pdf;base64,{data}"
        parts = [{"type": "file", "file": file}, {"type": "text", "text": prompt}]
        return ({"role": "user", "content": parts},)


def check_template(template: object, allowed: Sequence[str], needed: Sequence[str]) -> None:
    """Raise `InputError` unless a template has allowed placeholders, and one of those needed."""
    if template is None:
        return
    if not isinstance(template, str) or not template.strip():
        raise InputError(f"prompt is {template!r}; expected a text")
    names = [name for name in needed if f"{{{name}}}" in template] or needed[:1]
    if problem := template_problem(template, allowed, *names[:1]):
        raise InputError(f"prompt: {problem}")


def prompt_version(template: str | None, built_in: str = PROMPT_VERSION) -> str:
    """Return the version of the built-in prompt, or one that is made of a template's hash."""
    if template is None:
        return built_in
    data = template.encode("utf-8", "surrogatepass")
    return f"custom-{hashlib.sha256(data).hexdigest()[:_HASHED]}"


def document_text(pdf: Path) -> str:
    """Read the text of a PDF, page by page."""
    pages = read_pages(pdf)
    if not any(page.strip() for page in pages):
        return ""
    return "\n\n".join(f"[page {number}]\n{page}" for number, page in enumerate(pages, 1))


def plain_schema(schema: Any) -> dict[str, Any]:
    """Return a JSON Schema without its envelope and ``evaluation_config`` annotations."""
    document = parse_schema(schema).document
    kept = {key: value for key, value in document.items() if not key.startswith(_ANNOTATION)}
    return {key: _plain(key, value) for key, value in kept.items()}


_ANNOTATION = "evaluation_config"


def _plain(keyword: str, value: Any) -> Any:
    if keyword in _VALUES:
        return value
    if keyword in _NAMED and isinstance(value, Mapping):
        return {name: _plain("", part) for name, part in value.items()}
    if isinstance(value, Mapping):
        return {key: _plain(key, part) for key, part in value.items() if key != _ANNOTATION}
    return [_plain("", part) for part in value] if isinstance(value, list) else value


def _built_in(name: str, version: str = PROMPT_VERSION) -> str:
    return prompt_text(name, version, "extractbench_nb.runs", "prompts")


def strict_breaches(schema: Mapping[str, Any]) -> list[str]:
    """List where a schema breaks OpenAI's rules for strict structured outputs.

    The rules (platform.openai.com/docs/guides/structured-outputs, "Supported schemas"): the root is
    an object, each object has ``additionalProperties: false`` and requires all its properties, and
    only the keywords in `_STRICT` are used.
    """
    found = [] if schema.get("type") == "object" else ["#: the root is not of type object"]
    waiting: list[tuple[str, Any]] = [("#", schema)]
    while waiting:
        pointer, part = waiting.pop()
        if not isinstance(part, Mapping):
            found.append(f"{pointer}: not an object")
            continue
        types, properties = part.get("type"), part.get("properties") or {}
        is_object = types == "object" or (isinstance(types, list) and "object" in types)
        if is_object or "properties" in part:
            if part.get("additionalProperties") is not False:
                found.append(f"{pointer}: additionalProperties is not false")
            required = part.get("required") or ()
            found += [f"{pointer}: {n!r} is not required" for n in properties if n not in required]
        found += [f"{pointer}: {name!r} is not supported" for name in part if name not in _STRICT]
        below = [
            (f"{pointer}/{keyword}/{key.replace('~', '~0').replace('/', '~1')}", value)
            for keyword in ("properties", "$defs", "definitions")
            for key, value in (part.get(keyword) or {}).items()
        ]
        if "items" in part:
            below.append((f"{pointer}/items", part["items"]))
        branches = enumerate(part.get("anyOf") or ())
        below += [(f"{pointer}/anyOf/{number}", branch) for number, branch in branches]
        waiting.extend(reversed(below))
    return found


_WORDS = {
    "context_window": "context_length",
    "rate_limit": "rate_limited",
    "quota": "rate_limited",
    "timeout": "timeout",
    "server_error": "server_error",
    "conflict": "server_error",
    "too_early": "server_error",
    "connection": "connection",
    "bad_key": "bad_key",
    "forbidden": "bad_key",
    "not_found": "not_found",
    "redirect": "redirect",
}
_LIMIT = r"(?:maximum|limit|exceed\w*|too many|more than|at most)"
_PAGES = re.compile(
    rf"page limit|more pages than|{_LIMIT}\b.{{0,60}}\bpages\b|\bpages\b.{{0,60}}\b{_LIMIT}",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"context.(?:length|window)|(?:prompt|input|request) is too long|token count|too many tokens"
    r"|maximum.{0,40}tokens|tokens.{0,40}(?:maximum|limit)",
    re.IGNORECASE,
)
_SCHEMA = re.compile(r"schema|too many states|compiled grammar", re.IGNORECASE)
_NO_MODE = re.compile(
    r"response_format.{0,60}not supported (?:with|by|for) this model", re.IGNORECASE
)
_POLICY = re.compile(
    r"content.?(?:policy|filter|management)|safety (?:system|polic)|usage polic|blocked",
    re.IGNORECASE,
)
_FILTERED = "content_filter"
_LONGEST_REFUSAL = 500
#: Maximum length of an answer; only a faulty server exceeds it.
_LONGEST = 50_000_000
_SHORTEST_KEY = 16


class NotAskedError(Exception):
    """No request was made, because the budget is spent or the server does not answer."""


async def call_model(queue: CallQueue, request: ModelRequest, document_input: str) -> Output:
    """Request the output for one document; a failed call is an output too."""
    begun: list[float] = []  # of each attempt
    error = None
    completion = Completion(None, False, None, None, None)
    try:
        async with queue.turns:  # shared with other uses of the model
            completion = await queue.say(request, lambda: begun.append(time.perf_counter()))
    except Failure as failure:
        if not begun or failure.reason == "budget":
            raise NotAskedError(str(failure)) from None
        error = (reason_of(failure, structured=request.schema is not None), failure.problem)
    raw = completion.text
    if raw is not None and len(raw) > _LONGEST:
        length = f"{len(raw):,} characters; the maximum is {_LONGEST:,}"
        raw, error = None, ("other", f"the answer has {length}")
    elif completion.refusal is not None:
        error = ("refused", scrub(completion.refusal)[:_LONGEST_REFUSAL])
    elif completion.finish_reason == _FILTERED:
        error = ("refused", f"the answer was withheld: finish_reason is {_FILTERED!r}")
    for name, value in os.environ.items():  # a server may quote a key
        if raw and name.endswith("_API_KEY") and len(value) >= _SHORTEST_KEY:
            raw = raw.replace(value, "[hidden]")
    reported = ("finish_reason", "prompt_tokens", "completion_tokens", "cost_usd")
    meta = {
        **{name: getattr(completion, name) for name in reported},
        "raw_characters": None if raw is None else len(raw),
        "latency_seconds": round(time.perf_counter() - begun[-1], 3),
        "error": None if error is None else {"reason": error[0], "message": error[1]},
        "input": document_input,
        "attempts": len(begun),
    }
    return Output(raw, meta)


def reason_of(failure: Failure, *, structured: bool) -> str:
    """Return the reason why a call gave no output."""
    if failure.reason in _WORDS:
        return _WORDS[failure.reason]
    text = failure.problem
    if structured and _SCHEMA.search(text) and not _NO_MODE.search(text):
        return "schema_rejected"
    known = (("page_limit", _PAGES), ("context_length", _CONTEXT), ("refused", _POLICY))
    return next((reason for reason, words in known if words.search(text)), "other")
