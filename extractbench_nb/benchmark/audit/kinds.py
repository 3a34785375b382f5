"""What an audit looks for: one entry a kind, with its severity and meaning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from extractbench_nb.errors import InputError, nearest

__all__ = ["KINDS", "SEVERITIES", "Finding", "Kind", "chosen_kinds"]

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Kind(NamedTuple):
    """One kind of suspect.

    Attributes
    ----------
    name : str
        As it stands in the column ``kind``.
    severity : str
        ``error``: breaks the contract of files and schema. ``warning``: mostly a slip of the
        annotation. ``info``: a matter of style, or nothing to be sure of.
    meaning : str
        What a finding of this kind says.
    """

    name: str
    severity: Severity
    meaning: str


class Finding(NamedTuple):
    """One suspect, as a check yields it.

    Attributes
    ----------
    path, field : str
        Where: the instance path in the gold JSON, and the same without indices.
    kind : str
        A name of `KINDS`.
    message : str
        What was found.
    value : object
        The value.
    suggestion : str or None
        What may be meant, where something is near.
    page : int or None
        Page of the PDF that has the suggestion, counted from 1.
    """

    path: str
    field: str
    kind: str
    message: str
    value: Any = None
    suggestion: str | None = None
    page: int | None = None


_ALL: tuple[Kind, ...] = (
    Kind("gold_unreadable", "error", "the gold file is no JSON that can be read"),
    Kind("schema_unreadable", "error", "the schema file is missing or no schema"),
    Kind("pdf_missing", "error", "there is no PDF"),
    Kind("pdf_unreadable", "error", "the PDF cannot be opened"),
    Kind("pdf_without_text", "info", "the PDF has no text layer: no value was looked up in it"),
    Kind("schema_violation", "error", "the schema forbids it: required, enum, format, range, ..."),
    Kind("wrong_type", "error", "a JSON type that the schema does not allow here"),
    Kind("text_for_object", "error", "text where the schema declares an object"),
    Kind("undeclared_key", "warning", "a key that the schema does not know: nobody scores it"),
    Kind("item_index", "info", "items carry their own index under a key the schema does not know"),
    Kind("empty_required", "warning", "required, and empty"),
    Kind("placeholder", "warning", "a word for nothing, such as NA, where null says it"),
    Kind("duplicate_item", "warning", "an array item that equals an earlier one"),
    Kind("contradicting_item", "warning", "equals an earlier item in all but one number"),
    Kind("split_item", "warning", "an array item that looks like the end of the one before"),
    Kind("malformed_date", "warning", "looks like a date and is none"),
    Kind("shifted_date", "warning", "midnight of another time zone: the day before is written"),
    Kind("odd_date_style", "warning", "a date unlike its siblings, or unlike what the schema asks"),
    Kind("glued_words", "warning", "two words without the space between them"),
    Kind("broken_word", "warning", "a word cut in two, as at the end of a line"),
    Kind("line_break", "info", "a line break of the page in the middle of a sentence"),
    Kind("trailing_punctuation", "warning", "begins or ends with punctuation that is not its own"),
    Kind("stray_whitespace", "info", "spaces at the ends or doubled"),
    Kind("spelling_variant", "warning", "the same name is spelt otherwise in this document"),
    Kind("case_variant", "info", "the same text with other capitals or marks in this document"),
    Kind("unlike_pdf", "warning", "almost in the PDF, which has it otherwise"),
    Kind("not_in_pdf", "info", "nothing like it in the PDF's text"),
    Kind("field_not_quoted", "info", "values of this field hardly ever stand in the PDFs"),
)

#: Every kind by name, in the order of the findings of a document.
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}


def chosen_kinds(kinds: str | Iterable[str] | None) -> frozenset[str]:
    """Check the names of kinds that a caller wants.

    Parameters
    ----------
    kinds : str, iterable of str or None
        One name, several, or None for all.

    Returns
    -------
    frozenset of str
        The names.

    Raises
    ------
    InputError
        A name is unknown.
    """
    if kinds is None:
        return frozenset(KINDS)
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    for name in names:
        if name not in KINDS:
            raise InputError(f"kinds: no kind {name!r}; {nearest(name, KINDS)}")
    return frozenset(names)
