"""The properties that every evaluation must have, checked on one case."""

from __future__ import annotations

import json
import math
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

import extractbench_nb as xb
from extractbench_nb.errors import ExtractBenchError
from fuzzing import relations
from fuzzing.documents import PYTHON, has_python_values, realise, with_additions
from fuzzing.frames import (
    EPSILON,
    RATES,
    check_frames,
    dtypes_of,
    records,
)
from fuzzing.probes import PROBES, goes_unnoticed

PROFILES = ("paper", "strict")
#: What evaluate says of arguments that were swapped or are several documents, see DRIFT.
MISTAKES = ("gold is None; expected", "gold is a list of")


@dataclass
class Case:
    """A triple, and what is to be tried on it."""

    schema: Any
    gold: Any
    predicted: Any
    added: list[list[Any]] = field(default_factory=list)  # [place, value], see documents.additions
    legal: bool = True  # the schema has no fault that the generator knows of
    relation: str = ""  # a name in relations.RELATIONS or probes.PROBES
    seed: int = 0  # of the relation's random choices
    outputs: bool = False  # whether reprs, reports and views are made too


@dataclass(frozen=True)
class Failure:
    """A property that does not hold; failures of one kind are one class."""

    kind: str
    profile: str
    detail: str = ""


class Stop(BaseException):
    """An evaluation went over its limit of CPU time."""


def never(_: str) -> AbstractContextManager[None]:
    """No limit."""
    return nullcontext()


def as_gold(value: Any) -> Any:
    """The gold argument for a value: a text, of whatever class, is given as JSON text."""
    python = isinstance(value, dict) and PYTHON in value
    text = realise(value) if python else value
    return json.dumps(text) if isinstance(text, str) else value


def place_of(error: BaseException) -> str:
    """Where an error was raised: file and function."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "extractbench_nb" in frame.filename] or frames
    return f"{Path(inside[-1].filename).name}:{inside[-1].name}" if inside else "?"


def wording(error: BaseException) -> str:
    """An error's message without its particulars, so that equal faults look equal."""
    text = re.sub(
        r"""'[^']*'|"[^"]*"|`[^`]*`|#\S*|\$\S*|\d[\d,]*""", "_", str(error).split("\n")[0]
    )
    return re.sub(r"[(\[{].*", "", text)[:90]


class Checker:
    """Evaluates cases and lists what does not hold."""

    def __init__(
        self,
        evaluate: Callable[..., Any] | None = None,
        limit: Callable[[str], AbstractContextManager[None]] = never,
    ) -> None:
        self.evaluate = evaluate or xb.evaluate
        self.limit = limit  # bounds the CPU time of one evaluation; receives its description
        self.evaluations = 0
        self._empty: dict[str, dict[str, str]] | None = None

    def check(self, case: Case, profiles: tuple[str, ...] = PROFILES) -> list[Failure]:
        """All failures of a case; one of each kind and profile."""
        found: dict[tuple[str, str], Failure] = {}
        for profile in profiles:
            for failure in self._check_profile(case, profile):
                found.setdefault((failure.kind, profile), failure)
        return list(found.values())

    def _run(self, label: str, schema: Any, gold: Any, predicted: Any, profile: str) -> Any:
        """An evaluation with its frames, within the limits; an error is returned."""
        self.evaluations += 1
        arguments = realise(schema), as_gold(realise(gold)), realise(predicted)
        try:
            with self.limit(f"{label} {profile}"):
                result = self.evaluate(*arguments, profile=profile)
                _ = result.fields, result.arrays, result.matches, result.summary, result.warnings
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - any error is what is looked for, panics too
            return error
        return result

    def _check_profile(self, case: Case, profile: str) -> Iterator[Failure]:
        itself = self._run("itself", case.schema, case.gold, as_gold(case.gold), profile)
        if isinstance(itself, BaseException):
            yield from self._refused(case, profile, itself)
            return
        yield from (Failure(*found) for found in check_itself(itself, profile))
        result = self._run("predicted", case.schema, case.gold, case.predicted, profile)
        if isinstance(result, BaseException):
            yield self._raised("a prediction", result, profile)
            return
        yield from (Failure(f"frames: {k}", profile, d) for k, d in self._frames(case, result))
        if case.added:
            yield from self._check_additions(case, profile, result)
        if case.relation in PROBES:
            yield from self._check_probe(case, profile, itself)
        elif case.relation:
            yield from self._check_relation(case, profile, result)
        if case.outputs:
            yield from self._check_outputs(result, profile)

    def _refused(self, case: Case, profile: str, error: BaseException) -> Iterator[Failure]:
        """Gold against itself raised: only our own errors may, and only where there is a fault."""
        if not isinstance(error, ExtractBenchError):  # Stop too
            yield self._raised("a schema or gold", error, profile)
        elif isinstance(error, xb.InputError) and str(error).startswith(MISTAKES):
            return
        elif case.legal:
            kind = f"legal triple refused: {type(error).__name__} {wording(error)}"
            yield Failure(kind, profile, str(error)[:300])
        elif not isinstance(error, xb.InputError):
            with self.limit(f"parse {profile}"):
                try:
                    xb.schema.parse_schema(realise(case.schema))
                except (Exception, Stop):  # noqa: BLE001 - refused early, as it should be
                    return
            kind = f"parse_schema accepts what evaluate refuses: {wording(error)}"
            yield Failure(kind, profile, str(error)[:300])

    def _raised(self, what: str, error: BaseException, profile: str) -> Failure:
        if isinstance(error, Stop):
            return Failure("over the limit of CPU time", profile, str(error))
        kind = f"{what} raises {type(error).__name__} at {place_of(error)}"
        return Failure(kind, profile, str(error)[:300])

    def _frames(self, case: Case, result: Any) -> Iterator[tuple[str, str]]:
        if self._empty is None:
            nothing = self.evaluate({"type": "object", "properties": {}}, {}, {})
            self._empty = dtypes_of(nothing)
        for name, types in dtypes_of(result).items():
            if types != self._empty[name]:
                yield f"dtypes of {name}", str(types)
        yield from check_frames(result, case.gold, case.predicted)

    def _check_additions(self, case: Case, profile: str, before: Any) -> Iterator[Failure]:
        if '"measure": "top"' in json.dumps(case.schema, default=str):
            return  # a column that gold has makes the shape of a table more right
        predicted = with_additions(case.predicted, case.added)
        after = self._run("added", case.schema, case.gold, predicted, profile)
        if isinstance(after, BaseException):
            yield self._raised("a prediction", after, profile)
            return
        for name in RATES:
            if after.summary[name] > before.summary[name] + EPSILON:
                change = f"{before.summary[name]:.4f} -> {after.summary[name]:.4f}"
                yield Failure(f"additions raise {name}", profile, change)
        for name in ("f1", "precision"):
            old, new = (outer_arrays(result.arrays, name) for result in (before, after))
            for path in sorted(set(old) & set(new)):
                if new[path] > old[path] + EPSILON:
                    change = f"{path}: {old[path]:.4f} -> {new[path]:.4f}"
                    yield Failure(f"additions raise an array's {name}", profile, change)

    def _check_relation(self, case: Case, profile: str, before: Any) -> Iterator[Failure]:
        relation = relations.RELATIONS[case.relation]
        triple = (case.schema, case.gold, case.predicted)
        changed = relation.change(*triple, Random(case.seed), before)
        if changed is None:
            return
        schema, gold, predicted = changed
        after = self._run(case.relation, schema, gold, predicted, profile)
        if isinstance(after, BaseException):
            detail = f"{type(after).__name__}: {after}"[:300]
            yield Failure(f"relation {case.relation}: raises", profile, detail)
            return
        for name, detail in relations.differences(before, after, rows=relation.same_rows):
            yield Failure(f"relation {case.relation}: other {name}", profile, detail)

    def _check_probe(self, case: Case, profile: str, itself: Any) -> Iterator[Failure]:
        if has_python_values(case.gold):
            return
        probe = PROBES[case.relation]
        predicted = probe(case.schema, case.gold, itself, Random(case.seed))
        if predicted is None:
            return
        after = self._run("probe", case.schema, case.gold, as_gold(predicted), profile)
        if isinstance(after, BaseException):
            yield self._raised("a prediction", after, profile)
        elif goes_unnoticed(after):
            kind = f"{case.relation} goes unnoticed"
            yield Failure(kind, profile, f"predicted {json.dumps(predicted)[:300]}")

    def _check_outputs(self, result: Any, profile: str) -> Iterator[Failure]:
        for name, make in OUTPUTS.items():
            try:
                with self.limit(f"output {name} {profile}"):
                    make(result)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - any error is what is looked for
                failure = self._raised(f"output {name}", error, profile)
                yield failure


def _save(result: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "report")


OUTPUTS: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "html": lambda result: result._repr_html_(),
    "save": _save,
    "show": xb.show,
}


def outer_arrays(arrays: pd.DataFrame, name: str) -> dict[str, float]:
    """A column by path, of the arrays that are not inside other arrays."""
    values = zip(arrays["path"], arrays[name], strict=True)
    return {p: float(v) for p, v in values if pd.notna(v) and not re.search(r"\[\+?\d", p)}


def check_itself(result: Any, profile: str) -> Iterator[tuple[str, str, str]]:
    """Gold against itself: everything is right."""
    summary, fields = result.summary, result.fields
    outcomes = fields["outcome"].tolist()
    if set(outcomes) <= {"correct", "both_absent"}:
        for name in RATES if summary["evaluated"] else ():
            if not math.isclose(summary[name], 1.0, abs_tol=EPSILON):
                yield f"gold against itself: {name} is not 1", profile, str(summary[name])
        return
    for row in records(fields[~fields["outcome"].isin(["correct", "both_absent"])]):
        kind = f"gold against itself: {row['outcome']} {row['reason']} by {row['metric']}"
        yield kind, profile, f"{row['path']}: {row['gold']!r:.80} / {row['predicted']!r:.80}"
