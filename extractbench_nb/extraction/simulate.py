"""`corrupt_document`: gold made wrong on purpose, with a record of what was done where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import read_document
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.catalogue import Corruption, chosen
from extractbench_nb.extraction.draws import Draws
from extractbench_nb.extraction.places import Document, copied
from extractbench_nb.extraction.tasks import Change, Pool, Task, pool_of
from extractbench_nb.inputs import refuse_non_json
from extractbench_nb.schema import Schema, parse_schema
from extractbench_nb.schema.nodes import Node

__all__ = ["RECORD_COLUMNS", "Corrupted", "check_share", "corrupt_document", "corrupted_copy"]

RECORD_COLUMNS = FrameSpec(
    "record",
    "one row a change",
    (
        Column("path", "string", "place in gold, with gold's indices"),
        Column("field", "string", "path without indices"),
        Column("corruption", "string", "what was done"),
        Column("item", "Int64", "index of gold's item in its array", "0 and up", True),
        Column("before", "object", "what stood there; both items where two are merged", "", True),
        Column("after", "object", "what stands there; both parts of a split item", "", True),
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Corrupted:
    """A corrupted document and what was done to it.

    Attributes
    ----------
    value : object
        The corrupted JSON; it shares nothing with gold.
    record : pandas.DataFrame
        One row a change: path, field, corruption, item, before, after.
    """

    value: Any
    record: pd.DataFrame

    def __repr__(self) -> str:
        """Say how much was done; the document may be long."""
        names = ", ".join(self.record["corruption"].unique())
        return f"Corrupted({len(self.record)} changes{': ' + names if names else ''})"


def corrupt_document(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    schema: Mapping[str, Any] | str | Path | Schema,
    gold: Any,
    corruption: str,
    rate: float = 0.1,
    *,
    strength: float = 0.3,
    donors: Iterable[Any] = (),
    seed: int | str = 0,
) -> Corrupted:
    """Corrupt a gold document in one way, and record each change.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        JSON Schema: a dict, JSON text, a file, or parsed. Only what it declares and does not skip
        is corrupted.
    gold : object
        The right document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text). It is
        not changed.
    corruption : str
        A name that `corruptions` lists.
    rate : float, optional
        Probability that a place is corrupted, in [0, 1]; each place independently of all others.
        What a place is, `corruptions` says.
    strength : float, optional
        How much of a value changes where values are corrupted, above 0 and up to 1: the share of
        its words, letters, digits or units, at least one.
    donors : iterable of object, optional
        Gold values of other documents under the same schema. ``hallucinate``, ``substitute`` and
        ``spurious_items`` borrow from them, and do nothing without.
    seed : int or str, optional
        The same seed gives the same result. A place that is corrupted at one rate is corrupted in
        the same way at every higher one. (Moved items are drawn so, too; where they go differs.)

    Returns
    -------
    Corrupted
        ``.value`` is the corrupted document, ``.record`` has one row a change.

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read.
    InputError
        Gold is not JSON, the corruption is not known, or a number is out of range.

    Notes
    -----
    A null in the record is null, or nothing: ``before`` is null for an item that was invented,
    ``after`` for what was left out. Items inside a dropped item are not reported by themselves.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> made = corrupt_document(schema, {"year": 2031}, "sign", rate=1)
    >>> made.value
    {'year': -2031}
    >>> made.record[["path", "corruption", "before", "after"]].values.tolist()
    [['$.year', 'sign', 2031, -2031]]
    """
    check_share("rate", rate)
    check_share("strength", strength, above=0)
    root = parse_schema(schema).root
    (what,) = chosen([corruption])
    value = _read(gold, "gold")
    pools = [pool_of(root, _read(donor, "donor")) for donor in donors]
    draws = Draws(str(seed), rate)
    made, changes = corrupted_copy(root, value, what, draws, (strength, pools))
    return Corrupted(made, _record(what.name, changes))


def _read(source: Any, what: str) -> Any:
    value = copied(read_document(source, what))
    refuse_non_json(value)
    return value


def check_share(name: str, value: Any, above: float | None = None) -> None:
    """Raise `InputError` unless a value lies in [0, 1], and above a bound if one is given."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or (above is not None and value <= above):
        expected = "a number from 0 to 1" if above is None else f"above {above:g}, up to 1"
        raise InputError(f"{name}={value!r}; expected {expected}")


def corrupted_copy(
    root: Node,
    gold: Any,
    corruption: Corruption,
    draws: Draws,
    how: tuple[float, Sequence[Pool]],
) -> tuple[Any, list[Change]]:
    """Corrupt a copy of gold.

    Parameters
    ----------
    root : Node
        The schema.
    gold : object
        A JSON value.
    corruption : Corruption
        What to do.
    draws : Draws
        Where to do it; its seed is told apart by corruption here.
    how : tuple of (float, sequence of mapping)
        How much of a value changes, and the values of other documents.

    Returns
    -------
    tuple of (object, list of Change)
        The corrupted copy, and what was done, outer arrays before inner ones.
    """
    document = Document(root, gold)
    own = Draws(f"{draws.seed}\x1f{corruption.name}", draws.rate)
    changes = corruption.apply(Task(document, own, *how))
    return document.value, changes


def _record(name: str, changes: list[Change]) -> pd.DataFrame:
    keys = [change.place.key for change in changes]
    return RECORD_COLUMNS.build(
        {
            "path": [change.place.path for change in changes],
            "field": [change.place.node.field for change in changes],
            "corruption": [name] * len(changes),
            "item": [key if isinstance(key, int) else None for key in keys],
            "before": [copied(change.before) for change in changes],
            "after": [copied(change.after) for change in changes],
        }
    )
