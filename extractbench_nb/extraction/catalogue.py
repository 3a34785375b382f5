"""The corruptions by name: what each does, to what, and what becomes of the meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.absence import hallucinate, null_out, omit, substitute
from extractbench_nb.extraction.items import (
    drop_items,
    duplicate_items,
    merge_items,
    shuffle_items,
    split_items,
    spurious_items,
)
from extractbench_nb.extraction.structure import wrong_nesting, wrong_type
from extractbench_nb.extraction.tasks import Change, Task
from extractbench_nb.extraction.values import change_values, kinds

__all__ = [
    "CHANGED",
    "CORRUPTIONS",
    "KEPT",
    "UNCLEAR",
    "Corruption",
    "chosen",
    "corruptions",
]

#: Whether what is corrupted still says the same.
KEPT, UNCLEAR, CHANGED = "kept", "unclear", "changed"

#: What a corruption works on.
VALUE, PRESENCE, ITEM, STRUCTURE = "value", "presence", "item", "structure"

_SCALAR = "members of objects that hold a scalar"
_ITEMS = "items of arrays"


class Corruption(NamedTuple):
    """A corruption of documents: its name, what becomes of the meaning, and the function.

    ``apply`` changes the document of a `Task` and returns what it did.
    """

    name: str
    level: str
    meaning: str
    places: str
    summary: str
    apply: Callable[[Task], list[Change]]


def _value(name: str, meaning: str, summary: str) -> Corruption:
    places = " and ".join({"string": "texts", "number": "numbers"}[kind] for kind in kinds(name))
    return Corruption(name, VALUE, meaning, places, summary, change_values(name))


#: All corruptions by name.
CORRUPTIONS = {
    corruption.name: corruption
    for corruption in (
        _value("whitespace", KEPT, "more space between words"),
        _value("case", KEPT, "letters in the other case"),
        _value("abbreviation", KEPT, "ordinary words shortened"),
        _value("date_format", KEPT, "dates in another format"),
        _value("word_order", UNCLEAR, "neighbouring words exchanged"),
        _value("typo", UNCLEAR, "a letter of a word changed"),
        _value("rounding", UNCLEAR, "fewer significant digits"),
        _value("dropped_word", CHANGED, "words left out"),
        _value("truncation", CHANGED, "the end cut off"),
        _value("changed_digit", CHANGED, "digits replaced"),
        _value("unit", CHANGED, "a unit replaced by another; thousands or millions for units"),
        _value("sign", CHANGED, "minus for plus"),
        Corruption(
            "substitute",
            VALUE,
            CHANGED,
            "scalars for which another document has another value",
            "the value of another document",
            substitute,
        ),
        Corruption("null_out", PRESENCE, CHANGED, _SCALAR, "null for the value", null_out),
        Corruption("omit", PRESENCE, CHANGED, _SCALAR, "key and value left out", omit),
        Corruption(
            "hallucinate",
            PRESENCE,
            CHANGED,
            "absent, null or empty properties that another document has",
            "the value of another document where gold has none",
            hallucinate,
        ),
        Corruption("shuffle_items", ITEM, KEPT, _ITEMS, "items moved", shuffle_items),
        Corruption("drop_items", ITEM, CHANGED, _ITEMS, "items left out", drop_items),
        Corruption("duplicate_items", ITEM, CHANGED, _ITEMS, "items twice", duplicate_items),
        Corruption(
            "split_items",
            ITEM,
            CHANGED,
            "items of arrays that have two parts or words",
            "an item broken in two",
            split_items,
        ),
        Corruption(
            "merge_items",
            ITEM,
            CHANGED,
            "items of arrays with a next one of the same type",
            "an item run together with the next",
            merge_items,
        ),
        Corruption(
            "spurious_items",
            ITEM,
            CHANGED,
            "items of arrays for which another document has other items",
            "an item of another document after it",
            spurious_items,
        ),
        Corruption(
            "wrong_nesting",
            STRUCTURE,
            UNCLEAR,
            "members of objects that hold an object or array",
            "members one level too high, an array one level too deep",
            wrong_nesting,
        ),
        Corruption(
            "wrong_type",
            STRUCTURE,
            UNCLEAR,
            "scalars of a declared type",
            "a number as text, a text in an array",
            wrong_type,
        ),
    )
}

CORRUPTION_COLUMNS = FrameSpec(
    "corruptions",
    "one row a corruption",
    (
        Column("corruption", "string", "name"),
        Column("level", "string", "what it works on", "value, presence, item, structure"),
        Column("meaning", "string", "what becomes of the meaning", "kept, unclear, changed"),
        Column("places", "string", "what can be corrupted"),
        Column("summary", "string", "what is done"),
    ),
)


def corruptions() -> pd.DataFrame:
    """List the corruptions that `corrupt_document` and `sensitivity` know.

    Returns
    -------
    pandas.DataFrame
        One row a corruption: corruption, level, meaning, places, summary.

    Examples
    --------
    >>> corruptions().set_index("corruption").loc["shuffle_items", "meaning"]
    'kept'
    """
    columns = zip(*(c[:5] for c in CORRUPTIONS.values()), strict=True)
    return CORRUPTION_COLUMNS.build(dict(zip(CORRUPTION_COLUMNS.names, columns, strict=True)))


def chosen(names: str | Iterable[str]) -> list[Corruption]:
    """Return corruptions by name.

    Parameters
    ----------
    names : str or iterable of str
        One or several.

    Returns
    -------
    list of Corruption
        In the order given.

    Raises
    ------
    InputError
        A name is not known, or `names` holds none.
    """
    if not isinstance(names, Iterable):
        raise InputError(f"corruption is {names!r}; expected a name or a list of names")
    wanted = [names] if isinstance(names, str) else list(names)
    if not wanted:
        raise InputError("corruption is empty; expected a name or a list of names")
    for name in wanted:
        if name not in CORRUPTIONS:
            raise InputError(f"corruption is {name!r}; {nearest(name, CORRUPTIONS)}")
    return [CORRUPTIONS[name] for name in dict.fromkeys(wanted)]
