"""What a model is sent: the prompt, the schema without its annotations, the PDF or its text."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from extractbench_nb._json import escape_pointer
from extractbench_nb.benchmark.pdf import read_pages
from extractbench_nb.errors import InputError
from extractbench_nb.judges.prompts import placeholders_of, quoted, sendable
from extractbench_nb.schema.parse import parse_schema

__all__ = [
    "MODES",
    "PLACEHOLDERS",
    "PROMPT_VERSION",
    "Prompt",
    "document_text",
    "plain_schema",
    "strict_breaches",
]

MODES = ("prompt", "structured")
#: Version of our texts.
PROMPT_VERSION = "v1"
#: What a ``prompt`` may hold, in braces. The last two are the names in the paper's appendix D.
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
    r"""The text that goes with a document: ours, or a template of the user's.

    Parameters
    ----------
    mode : str
        One of `MODES`.
    template : str, optional
        A text in place of ours, with `PLACEHOLDERS`. The schema must be in it in the mode
        ``"prompt"``. The text of a document comes after it where it has no ``{text}``.

    Raises
    ------
    InputError
        The template lacks a placeholder, or has one that is not known.

    Examples
    --------
    >>> prompt = Prompt("prompt", "Extract {schema} from {document}.")
    >>> prompt.messages("report", {"type": "object"}, text="Total: 1")[0]["content"][:40]
    'Extract {\n  "type": "object"\n} from repo'
    """

    mode: str
    template: str | None = None

    def __post_init__(self) -> None:
        """Check the template."""
        template: object = self.template
        if template is None:
            return
        if not isinstance(template, str) or not template.strip():
            raise InputError(f"prompt is {template!r}; expected a text")
        try:
            found = placeholders_of(template, PLACEHOLDERS)
        except ValueError as error:
            raise _bad_template(str(error)) from None
        if self.mode == "prompt" and not found & {"schema", "schema_str"}:
            raise _bad_template("it lacks {schema}")

    @property
    def version(self) -> str:
        """Version of our texts; of the user's ``custom-`` and the start of its SHA-256."""
        if self.template is None:
            return PROMPT_VERSION
        data = self.template.encode("utf-8", "surrogatepass")
        return f"custom-{hashlib.sha256(data).hexdigest()[:_HASHED]}"

    def messages(
        self,
        document: str,
        schema: Mapping[str, Any],
        *,
        text: str | None = None,
        pdf: Path | None = None,
    ) -> tuple[dict[str, Any], ...]:
        """Write the message of the user.

        Parameters
        ----------
        document : str
            Its name.
        schema : mapping
            JSON Schema; see `plain_schema`.
        text : str, optional
            Of the document.
        pdf : pathlib.Path, optional
            The file itself, in place of the text.

        Returns
        -------
        tuple of dict
            One message; a PDF comes before the prompt, in LiteLLM's form.

        Raises
        ------
        InputError
            The PDF cannot be read.
        """
        said = sendable(self._text(document, schema, text))
        if pdf is None:
            return ({"role": "user", "content": said},)
        parts = [_file_part(document, pdf), {"type": "text", "text": said}]
        return ({"role": "user", "content": parts},)

    def _text(self, document: str, schema: Mapping[str, Any], text: str | None) -> str:
        template = _ours(self.mode) if self.template is None else self.template
        shown = json.dumps(schema, ensure_ascii=False, indent=2)
        content = _ours("file") if text is None else _ours("text").format(text=_marked(text))
        values = {"schema": shown, "document": document, "text": content}
        values |= {"schema_str": shown, "document_name": document}
        said = template.format_map(values)
        if text is None or "text" in placeholders_of(template, PLACEHOLDERS):
            return said
        return f"{said.rstrip()}\n\n{content}"


def document_text(pdf: Path) -> str:
    """Read the text of a PDF, page by page.

    Parameters
    ----------
    pdf : pathlib.Path
        The file.

    Returns
    -------
    str
        The pages' texts, each below its number; empty where no page has any.

    Raises
    ------
    InputError
        The file cannot be read as a PDF.
    """
    pages = read_pages(pdf)
    if not any(page.strip() for page in pages):
        return ""
    return "\n\n".join(f"[page {number}]\n{page}" for number, page in enumerate(pages, 1))


def plain_schema(schema: Any) -> dict[str, Any]:
    """Take a JSON Schema out of its envelope, and the ``evaluation_config`` annotations off it.

    Parameters
    ----------
    schema : object
        As `parse_schema` takes it.

    Returns
    -------
    dict
        What a model is to see, keys in their order. A property of that name stays.

    Raises
    ------
    SchemaError
        It is no JSON Schema.

    Examples
    --------
    >>> plain_schema({"type": "string", "evaluation_config": "string_exact"})
    {'type': 'string'}
    """
    document = parse_schema(schema, released=True).document
    return {key: _plain(key, value) for key, value in document.items() if key != _ANNOTATION}


_ANNOTATION = "evaluation_config"


def _plain(keyword: str, value: Any) -> Any:
    if keyword in _VALUES:
        return value
    if keyword in _NAMED and isinstance(value, Mapping):
        return {name: _plain("", part) for name, part in value.items()}
    if isinstance(value, Mapping):
        return {key: _plain(key, part) for key, part in value.items() if key != _ANNOTATION}
    return [_plain("", part) for part in value] if isinstance(value, list) else value


def _marked(text: str) -> str:
    return quoted({"document": text})["document"]


def _file_part(document: str, pdf: Path) -> dict[str, Any]:
    try:
        data = base64.b64encode(pdf.read_bytes()).decode()
    except OSError as error:
        raise InputError(f"PDF {str(pdf)!r} cannot be read: {error.strerror or error}") from None
    name = sendable(f"{document}.pdf")
    file = {"filename": name, "file_data": f"data:application/pdf;base64,{data}"}
    return {"type": "file", "file": file}


@cache
def _ours(name: str) -> str:
    source = files("extractbench_nb.extraction") / "prompts" / PROMPT_VERSION / f"{name}.txt"
    return source.read_text(encoding="utf-8").rstrip("\n")


def _bad_template(problem: str) -> InputError:
    allowed = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    return InputError(f"prompt: {problem}. Allowed are {allowed}")


def strict_breaches(schema: Mapping[str, Any]) -> list[str]:
    """List where a schema breaks the rules of strict structured outputs.

    Parameters
    ----------
    schema : mapping
        JSON Schema; see `plain_schema`.

    Returns
    -------
    list of str
        JSON Pointer and rule of each breach, in order; empty for a schema that may be sent as
        strict.

    Notes
    -----
    OpenAI's rules (platform.openai.com/docs/guides/structured-outputs, "Supported schemas"): the
    root is an object, each object has ``additionalProperties: false`` and requires all its
    properties, and no keywords are used but those of `_STRICT`.

    Examples
    --------
    >>> strict_breaches({"type": "object", "properties": {"a": {"type": "string"}}})
    ['#: additionalProperties is not false', "#: 'a' is not required"]
    """
    found = [] if schema.get("type") == "object" else ["#: the root is not of type object"]
    waiting: list[tuple[str, Any]] = [("#", schema)]
    while waiting:
        pointer, part = waiting.pop()
        if not isinstance(part, Mapping):
            found.append(f"{pointer}: not an object")
            continue
        found.extend(f"{pointer}: {problem}" for problem in _breaches(part))
        waiting.extend(reversed(list(_below(pointer, part))))
    return found


def _breaches(part: Mapping[str, Any]) -> Iterator[str]:
    types = part.get("type")
    properties = part.get("properties") or {}
    if types == "object" or "properties" in part or (isinstance(types, list) and "object" in types):
        if part.get("additionalProperties") is not False:
            yield "additionalProperties is not false"
        required = part.get("required") or ()
        yield from (f"{name!r} is not required" for name in properties if name not in required)
    yield from (f"{name!r} is not supported" for name in part if name not in _STRICT)


def _below(pointer: str, part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in ("properties", "$defs", "definitions"):
        for key, value in (part.get(name) or {}).items():
            yield f"{pointer}/{name}/{escape_pointer(key)}", value
    if "items" in part:
        yield f"{pointer}/items", part["items"]
    for place, value in enumerate(part.get("anyOf") or ()):
        yield f"{pointer}/anyOf/{place}", value
