"""`corrupt_document`: one corruption of a document, or several one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import pandas as pd

from extractbench_nb.core import refuse_non_json
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import SchemaSource, parse_schema
from extractbench_nb.core.values import read_document
from extractbench_nb.errors import InputError
from extractbench_nb.simulation.catalogue import CORRUPTIONS, ITEM, Corruption, chosen
from extractbench_nb.simulation.documents import (
    Change,
    Document,
    Draws,
    Pool,
    Task,
    copied,
    pool_of,
)

RECORD_COLUMNS = FrameSpec(
    "record",
    "one row per change",
    (
        Column("path", "string", "place in gold, with gold's indices"),
        Column("field", "string", "path without indices"),
        Column("corruption", "string", "what was done"),
        Column("item", "Int64", "index of gold's item in its array", "0 and up", True),
        Column("before", "object", "gold's value; both items if two are merged", "", True),
        Column("after", "object", "the new value; both parts of a split item", "", True),
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Corrupted:
    """A corrupted document and the record of its changes.

    Attributes
    ----------
    value : object
        The corrupted JSON value; it shares no object with gold.
    record : pandas.DataFrame
        One row per change: path, field, corruption, item, before, after.
    """

    value: Any
    record: pd.DataFrame

    def __repr__(self) -> str:
        """Write the number of changes; the document may be long."""
        names = ", ".join(self.record["corruption"].unique())
        return f"Corrupted({len(self.record)} changes{': ' + names if names else ''})"


def corrupt_document(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    schema: SchemaSource,
    gold: Any,
    corruption: str | Mapping[str, float],
    rate: float = 0.1,
    *,
    strength: float = 0.3,
    donors: Iterable[Any] = (),
    seed: int | str = 0,
) -> Corrupted:
    """Corrupt a gold document in one way or in several, and record each change.

    Parameters
    ----------
    schema : dict, str, pathlib.Path, Schema, Pydantic model class or TypeAdapter
        JSON Schema: a dict, JSON text, a file, or parsed. Only what it declares and does not skip
        is corrupted.
    gold : object
        The gold document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text). It is
        not changed.
    corruption : str or mapping of str to float
        A name that `corruptions` lists; or several names with the rate of each, which are applied
        one after another, items of arrays last.
    rate : float, optional
        Probability that a place is corrupted, in [0, 1], independent of all other places, if
        `corruption` is a name. The column places of `corruptions` says what a place is.
    strength : float, optional
        Share of a corrupted value's words, letters, digits or units that changes, above 0 and up to
        1; at least one changes.
    donors : iterable of object, optional
        Gold values of other documents under the same schema. ``hallucinate``, ``substitute`` and
        ``spurious_items`` borrow values from them, and change nothing without donors.
    seed : int or str, optional
        The same seed gives the same result. A place that is corrupted at one rate is corrupted in
        the same way at every higher rate; of moved items this holds for the choice of items, not
        for their new positions.

    Returns
    -------
    Corrupted
        ``.value`` is the corrupted document, ``.record`` has one row per change.

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read.
    InputError
        Gold is not JSON, the corruption is unknown, or a number is out of range.

    Notes
    -----
    None in the record is either a JSON null or no value: ``before`` is None for an invented item,
    ``after`` for an omitted value. Items inside a dropped item have no rows of their own. With
    several corruptions, path and ``before`` are those of the document that the earlier ones left.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> made = corrupt_document(schema, {"year": 2031}, "sign", rate=1)
    >>> made.value
    {'year': -2031}
    >>> made.record[["path", "corruption", "before", "after"]].values.tolist()
    [['$.year', 'sign', 2031, -2031]]
    """
    check_share("strength", strength, above=0)
    rates = corruption if isinstance(corruption, Mapping) else {corruption: rate}
    for name, one_rate in rates.items():
        chosen([name])
        check_share("rate", one_rate)
    root = parse_schema(schema).root
    values = []
    for what, source in (("gold", gold), *(("donor", donor) for donor in donors)):
        values.append(copied(read_document(source, what)))
        refuse_non_json(values[-1])
    value, pools = values[0], [pool_of(root, donor) for donor in values[1:]]
    changes: list[Change] = []
    for one in sorted((c for c in CORRUPTIONS.values() if c.name in rates), key=_turn):
        document = Document(root, value)
        changes += corrupt_one_way(document, one, rates[one.name], seed, strength, pools)
        value = document.value
    rows = []
    for name, place, before, after in changes:
        item = place.key if isinstance(place.key, int) else None
        rows.append((place.path, place.node.field, name, item, copied(before), copied(after)))
    return Corrupted(value, RECORD_COLUMNS.from_rows(rows))


def _turn(corruption: Corruption) -> int:
    """Order corruptions so that none undoes or hides another one."""
    if corruption.name == "hallucinate":  # else it would fill what was left out
        return 0
    # indices stay those of gold until items change; a wrong level no longer fits the schema
    return 3 if corruption.name == "wrong_nesting" else 2 if corruption.level == ITEM else 1


def check_share(name: str, value: Any, above: float | None = None) -> None:
    """Raise `InputError` unless a value lies in [0, 1], and above a bound if one is given."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or (above is not None and value <= above):
        expected = "a number from 0 to 1" if above is None else f"above {above:g}, up to 1"
        raise InputError(f"{name}={value!r}; expected {expected}")


def corrupt_one_way(
    document: Document,
    corruption: Corruption,
    rate: float,
    seed: int | str,
    strength: float,
    donors: Sequence[Pool],
) -> list[Change]:
    """Corrupt a document in one way."""
    draws = Draws(f"{seed}\x1f{corruption.name}", rate)
    return corruption.apply(Task(corruption.name, document, draws, strength, donors))
