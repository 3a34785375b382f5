"""Plain values: each corrupted by itself, the rate being the share of it that changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation import evaluate
from extractbench_nb.extraction.catalogue import CORRUPTIONS, Corruption
from extractbench_nb.extraction.values import LARGEST, corrupt, kind_of, kinds
from extractbench_nb.report.texts import fitted
from extractbench_nb.sensitivity.readings import Example, Reading, by_path
from extractbench_nb.sensitivity.settings import Settings
from extractbench_nb.sensitivity.subjects import Subject

__all__ = ["PlainValues"]

#: How much of a value changes where it is only asked whether it can be corrupted at all.
_SOME = 0.5
_WIDEST = 120


class _Case(NamedTuple):
    unit: str
    gold: Any
    corrupted: Any


class PlainValues:
    """Texts and numbers, and what a metric says of their corrupted copies.

    Parameters
    ----------
    values : iterable of str, int or float
        Null, missing and empty ones are left out, equal ones count once.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self.golds = _distinct(values)

    def corruptions(self, wanted: list[Corruption] | None) -> list[Corruption]:
        """Return the corruptions that the values can undergo.

        Parameters
        ----------
        wanted : list of Corruption or None
            What the user named; None for all that apply.

        Returns
        -------
        list of Corruption
            Those of the user, as far as a value is of their kind.

        Raises
        ------
        InputError
            One is for documents only.
        """
        present = {kind_of(value) for value in self.golds}
        for corruption in wanted or ():
            if not kinds(corruption.name):
                known = [name for name in CORRUPTIONS if kinds(name)]
                raise InputError(
                    f"corruption {corruption.name!r} is for documents, and the data are plain "
                    f"values; {nearest(corruption.name, known)}"
                )
        chosen = list(CORRUPTIONS.values()) if wanted is None else wanted
        return [c for c in chosen if present & set(kinds(c.name))]

    @property
    def steps(self) -> Sequence[str]:
        """What is done one by one: here all values at once."""
        return ("values",)

    def readings(
        self, _: str, corruption: Corruption, settings: Settings
    ) -> Iterator[tuple[Subject, float, Reading]]:
        """Corrupt and evaluate the values at all rates.

        Parameters
        ----------
        _ : str
            The only step.
        corruption : Corruption
            What is done to each value.
        settings : Settings
            Rates, repeats and subjects.

        Yields
        ------
        tuple of (Subject, float, Reading)
            Whose reading at which rate.
        """
        for rate in settings.rates:
            cases = list(self._cases(corruption.name, rate, settings))
            for subject in settings.subjects if cases else ():
                for reading in _scored(subject, cases, settings):
                    yield subject, rate, reading

    def _cases(self, name: str, rate: float, settings: Settings) -> Iterator[_Case]:
        for gold in self.golds:
            unit = f"{settings.seed}/{name}/{gold!r}"
            for repeat in range(settings.repeats if rate else 1):
                made = corrupt(name, gold, rate or _SOME, f"{unit}/{repeat}")
                if made is not None:
                    yield _Case(unit, gold, made if rate else gold)


def _distinct(values: Iterable[Any]) -> list[Any]:
    present = [v.item() if hasattr(v, "item") else v for v in values]
    present = [v for v in present if v is not None and v is not pd.NA and v == v]  # noqa: PLR0124
    for value in present:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(
                f"data hold {fitted(repr(value), _WIDEST)}; expected texts and numbers, "
                "(schema, gold) pairs or a dataset"
            )
        if not isinstance(value, str) and abs(value) > LARGEST:
            raise InputError(f"data hold {value!r}; expected numbers up to {LARGEST:g}")
    found = list({(kind_of(v), v): v for v in present if v != ""}.values())
    if not found:
        raise InputError("data: found no text and no number to corrupt")
    return found


def _scored(subject: Subject, cases: list[_Case], settings: Settings) -> Iterator[Reading]:
    """Evaluate all cases as the properties of one object."""
    names = [str(n) for n in range(len(cases))]
    own = {} if subject.declared is None else {"evaluation_config": subject.declared}
    nodes = [{"type": kind_of(case.gold), **own} for case in cases]
    schema = {"type": "object", "properties": dict(zip(names, nodes, strict=True))}
    gold, predicted = (
        {name: getattr(case, side) for name, case in zip(names, cases, strict=True)}
        for side in ("gold", "corrupted")
    )
    ev = evaluate(schema, gold, predicted, judge=settings.judge, profile=subject.profile)
    rows = by_path(ev.fields)
    if len(rows) != len(cases):
        raise InputError(
            f"{subject.metric!r} scored {len(rows)} of {len(cases)} values; expected a metric for "
            "single values"
        )
    verdicts = zip(cases, rows["score"], rows["passed"], strict=True)
    for case, score, passed in verdicts:
        changed = case.corrupted is not case.gold
        example = Example(None, None, case.gold, case.corrupted) if changed else None
        known = None if pd.isna(score) else float(score)
        yield Reading(case.unit, known, passed, int(known is None), int(changed), example)
