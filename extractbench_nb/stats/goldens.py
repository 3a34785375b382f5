"""`GoldenCase`: one document against its stored baseline; the pytest plugin makes it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core import Accepted, Evaluation, evaluate
from extractbench_nb.core.values import canonical, read_document
from extractbench_nb.errors import InputError
from extractbench_nb.runs import content_digest, scoring_digest
from extractbench_nb.stats.compare import MEASURES
from extractbench_nb.stats.gates import SAME
from extractbench_nb.support.files import write_texts
from extractbench_nb.support.model_json import readable_output
from extractbench_nb.support.wording import document_json, one_line, plural

GOLD, SCHEMA, BASELINE = "gold.json", "schema.json", "baseline.json"
_FORMAT = 1
_UPDATE = "run pytest --update-baseline"
_MOST, _LONGEST = 20, 100


class GoldenError(AssertionError):
    """An output is worse than the baseline of its golden case, or there is no baseline."""


_GOOD = ("correct", "both_absent")
#: Columns of ``fields`` that a baseline keeps.
_KEPT = ["path", "metric", "outcome", "score", "predicted"]
_Row = dict[str, Any]


@dataclass(frozen=True, repr=False)
class GoldenCase:
    """A golden case: a folder with gold, a schema and the stored baseline.

    The pytest fixture ``golden`` gives one by name.

    Attributes
    ----------
    name : str
        Its path in the folder of cases.
    folder : pathlib.Path
        Where ``gold.json`` and ``baseline.json`` are, and whatever else the case needs.
    root : pathlib.Path
        The folder of all cases. A case without ``schema.json`` has that of the nearest folder
        above it, up to here.
    update : bool
        Whether `check` writes a new baseline.
    record : callable
        Takes the names and values of what is recorded in a JUnit report.
    """

    name: str
    folder: Path
    root: Path
    update: bool = False
    record: Callable[[str, object], None] = lambda _name, _value: None

    @property
    def schema(self) -> Any:
        """The JSON Schema of the case."""
        __tracebackhide__ = True
        above = (self.folder, *self.folder.parents)
        for folder in above[: above.index(self.root) + 1]:
            if (folder / SCHEMA).is_file():
                return _read(folder / SCHEMA, "schema")
        raise InputError(
            f"golden case {self.name!r} has no {SCHEMA}, neither in {str(self.folder)!r} nor above "
            f"it up to {str(self.root)!r}"
        )

    @property
    def gold(self) -> Any:
        """The correct output."""
        __tracebackhide__ = True
        return _read(self.folder / GOLD, "gold")

    def check(
        self,
        output: Any,
        *,
        profile: Any = "strict",
        judge: Any = "offline",
        alignment: Any = "optimal",
        metrics: Any = None,
        accepted: Any = None,
    ) -> Evaluation:
        """Evaluate an output, and raise if a counted field is worse than in the baseline.

        Parameters
        ----------
        output : object
            The model's output: a value, a ``pathlib.Path`` (a file) or text, from which a code
            fence is removed, as `as_scorer` takes it.
        profile, judge, alignment, metrics, accepted : object, optional
            See `evaluate`; the same as when the baseline was written. ``strict``, the default,
            counts every value inside arrays, and what the output invents.

        Returns
        -------
        Evaluation
            The result; nothing in it is worse than in the baseline.

        Raises
        ------
        GoldenError
            A field got worse: it passed, or had a higher score. Or a judge gave no verdict, or
            there is no baseline, or it was made with other gold, another schema or other settings.
        InputError
            A file of the case cannot be read.
        """
        __tracebackhide__ = True
        accepted = Accepted.read(accepted)
        ev = evaluate(
            self.schema,
            self.gold,
            readable_output(output),
            profile=profile,
            judge=judge,
            alignment=alignment,
            metrics=metrics,
            accepted=accepted,
        )
        about = self._about(ev, metrics, accepted)
        for name in MEASURES:
            self.record(f"{self.name}.{name}", round(float(ev.summary[name]), 6))
        if self.update:
            self._write(ev, about)
            return ev
        stored = self._stored(about)
        problems, improved = [], False
        for row in _rows(ev):
            same = stored[row["path"], row["metric"]]
            before = same.pop(0) if same else None  # passed with a score of 1
            score, best = row["score"], 1.0 if before is None else before["score"]
            was_good = before is None or before["outcome"] in _GOOD
            is_lost = was_good and row["outcome"] not in _GOOD  # may have the same score
            if score is None or score < best - SAME or is_lost:
                problems.append((before, row))
            improved |= score is not None and score > best + SAME
        self.record(f"{self.name}.regressed", len(problems))
        if problems:
            raise self._error(_message(ev, problems))
        if improved or any(stored.values()):
            self.record("golden_improved", self.name)
        return ev

    def __repr__(self) -> str:
        """Write the name; failures of tests show it."""
        return f"GoldenCase({self.name!r})"

    def _about(self, ev: Evaluation, metrics: Any, accepted: Any) -> dict[str, Any]:
        """Return what has to be equal for two results to be comparable."""
        settings = {name: str(ev.meta[name]) for name in ("profile", "judge", "alignment")}
        gold = content_digest(self.gold)
        about = {"schema": scoring_digest(self.schema), "gold": gold, **settings}
        if metrics:  # `parse_schema` keeps them in the document
            about["metrics"] = scoring_digest(ev.inputs.schema.document)
        if accepted:
            about["accepted"] = content_digest([[one.path, one.value] for one in accepted])
        return about

    def _write(self, ev: Evaluation, about: dict[str, Any]) -> None:
        __tracebackhide__ = True
        if ev.inputs.problem is not None:
            problem = one_line(ev.inputs.problem, 200)
            raise self._error(f": the output is not JSON, so it is no baseline: {problem}")
        rows = [row for row in _rows(ev) if row["score"] != 1 or row["outcome"] not in _GOOD]
        if any(row["score"] is None for row in rows):
            raise self._error(": a judge gave no verdict; a baseline needs all of them")
        for row in rows:  # arrays are too long
            is_array = isinstance(row["predicted"], list)
            row["predicted"] = None if is_array else document_json(row["predicted"])
        content = {
            "format": _FORMAT,
            **about,
            "scores": {name: round(float(ev.summary[name]), 6) for name in MEASURES},
            "fields": rows,  # all other counted fields pass with a score of 1
        }
        text = json.dumps(content, indent=1, ensure_ascii=True) + "\n"
        write_texts({self.folder / BASELINE: text})
        self.record("golden_updated", self.name)

    def _stored(self, about: dict[str, Any]) -> dict[tuple[str, str], list[_Row]]:
        """Read the rows of the baseline, and refuse one that was made from other inputs."""
        __tracebackhide__ = True
        path = self.folder / BASELINE
        if not path.is_file():
            raise self._error(f" has no {BASELINE}; {_UPDATE}")
        stored = _read(path, "baseline")
        if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
            raise InputError(f"{str(path)!r} is not a baseline of this version; {_UPDATE}")
        for name in (*about, "metrics", "accepted"):
            if stored.get(name) != about.get(name):
                other = f"{name} {stored.get(name)!r}, not with {about.get(name)!r}"
                if name in ("gold", "schema"):
                    other = f"another {name}.json"
                elif name in ("metrics", "accepted"):
                    other = f"other {name}="
                raise self._error(f": the baseline was made with {other}; {_UPDATE}")
        rows = defaultdict(list)
        try:
            for row in stored["fields"]:
                known = {name: row[name] for name in _KEPT} | {"score": float(row["score"])}
                rows[known["path"], known["metric"]].append(known)
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{str(path)!r} is damaged; {_UPDATE}") from None
        return rows

    def _error(self, text: str) -> GoldenError:
        return GoldenError(f"golden case {self.name!r}{text}")


def _message(ev: Evaluation, problems: list[tuple[_Row | None, _Row]]) -> str:
    """Name the fields that got worse, with gold, the stored value and the new one."""
    unknown = sum(row["score"] is None for _, row in problems)
    counts = [f"{plural(len(problems) - unknown, 'field')} worse than the baseline"]
    counts += [f"{plural(unknown, 'field')} without a verdict"] * bool(unknown)
    lines = [f": {', '.join(counts)}"]
    if ev.inputs.problem is not None:
        lines.append(f"  the output is not JSON: {one_line(ev.inputs.problem, 200)}")
    gold = dict(zip(ev.fields["path"], ev.fields["gold"], strict=True))
    for before, row in problems[:_MOST]:
        values = {"gold": gold[row["path"]], "is": row["predicted"]}
        if before is not None:
            was, values["was"] = _verdict(before), before["predicted"]
        else:  # it passed, or gold has nothing there
            was = "absent" if row["outcome"] == "hallucination" else "correct 1"
        lines.append(f"  {one_line(row['path'], _LONGEST)}: was {was}, is {_verdict(row)}")
        lines.extend(f"    {name:<4} {_text(value)}" for name, value in values.items())
    if len(problems) > _MOST:
        lines.append(f"  ... {len(problems) - _MOST} more")
    return "\n".join([*lines, f"If this is intended: {_UPDATE}"])


def _verdict(row: _Row) -> str:
    """Write outcome and score of a row."""
    return row["outcome"] if row["score"] is None else f"{row['outcome']} {row['score']:.3g}"


def _read(path: Path, what: str) -> Any:
    """Read a file of a case; in an error pytest shows the test, and not this package."""
    __tracebackhide__ = True
    try:
        return read_document(path, what)
    except InputError as error:
        raise error.with_traceback(None) from None


def _rows(ev: Evaluation) -> list[_Row]:
    fields = ev.fields
    rows: Any = fields.loc[fields["counted"], _KEPT].to_dict("records")
    return [row | {"score": None if pd.isna(row["score"]) else row["score"]} for row in rows]


def _text(value: Any) -> str:
    try:
        return one_line(canonical(value), _LONGEST)
    except RecursionError:
        return "... nested too deep"
