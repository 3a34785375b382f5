"""Statistics take anything that was scored: `rows`, `scores`, `summary`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.frames import ROW_COLUMNS, SCORE_COLUMNS, ScoredResult

WORDS = {"a": ["cat", "dog", "cow"], "b": ["cat", "dog", None]}
TRUTH = ["cat", "cow", "cow"]


@dataclass(frozen=True)
class Quiz:
    """Answers to three questions, by people: a result that is no document."""

    answers: dict[str, list[str | None]]

    @property
    def rows(self) -> pd.DataFrame:
        cells = [
            (who, f"question {n}", outcome, float(said == true), said == true, true, said)
            for who, words in self.answers.items()
            for n, (said, true) in enumerate(zip(words, TRUTH, strict=True))
            for outcome in ["correct" if said == true else "incorrect" if said else "omission"]
        ]
        return ROW_COLUMNS.from_rows(cells)

    @property
    def scores(self) -> pd.DataFrame:
        cells = [(run, name, "points", score) for run, name, _, score, *_ in self.rows.to_numpy()]
        return SCORE_COLUMNS.from_rows(cells)

    @property
    def summary(self) -> pd.Series:
        return self.scores.groupby("measure")["score"].mean()


def test_a_result_that_is_no_document() -> None:
    quiz = Quiz(WORDS)
    assert isinstance(quiz, ScoredResult)
    compared = xb.compare_runs(quiz, measures="points")
    assert compared.differences["b_minus_a"].round(3).tolist() == [0.333]
    by_outcome = xb.breakdown(quiz, ["run", "outcome"])
    assert by_outcome[["run", "outcome", "rows"]].values.tolist() == [
        ["a", "correct", 2],
        ["a", "incorrect", 1],
        ["b", "correct", 1],
        ["b", "incorrect", 1],
        ["b", "omission", 1],
    ]


def test_results_of_documents_have_the_same_frames() -> None:
    schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    runs = pd.DataFrame(
        [
            {"run": run, "document": f"d{n}", "schema": schema, "gold": {"year": n},
             "predicted": {"year": n * factor}}
            for run, factor in (("a", 1), ("b", 2))
            for n in (1, 2)
        ]
    )  # fmt: skip
    evs = xb.evaluate_runs(runs, progress=False)
    for result in (evs, evs.evaluation("b", "d1")):
        assert isinstance(result, ScoredResult)
        assert set(ROW_COLUMNS.names) <= {*result.rows.columns}
        assert result.scores.columns.tolist() == SCORE_COLUMNS.names
    one = evs.evaluation("b", "d1")
    assert set(one.rows["document"]) == {"d1"}
    of_one = evs.scores.query("run == 'b' and document == 'd1'")
    pd.testing.assert_frame_equal(
        of_one.set_index("measure")[["score"]], one.scores.set_index("measure")[["score"]]
    )


@pytest.mark.parametrize("missing", ["outcome", "score", "passed"])
def test_rows_without_a_column_are_refused(missing: str) -> None:
    with pytest.raises(xb.InputError, match=missing):
        xb.breakdown(Quiz(WORDS).rows.drop(columns=missing))


# --- one gate, one report, one explorer for all of them ------------------------------------------

GRID = "Year,Sales\n2023,10\n2024,12"
SHORT = GRID.rpartition("\n")[0]
WRONG = GRID.replace("12", "13")
EIGHT = "stuvwxyz"


def of_tables(**runs: str) -> Any:
    rows = [(run, d, GRID, text) for run, text in runs.items() for d in EIGHT]
    frame = pd.DataFrame(rows, columns=["run", "document", "true", "predicted"])
    return xb.tables.evaluate_tables(frame)


@cache
def constructed() -> Any:
    return xb.construction.evaluate_tables(xb.construction.load(), progress=False)


#: Result, runs, measure; verdict, measure that decides, and verdicts on rows.
GATED: dict[str, tuple[Callable[[], Any], tuple[str, str], str | None, Any]] = {
    "row lost": (lambda: of_tables(a=GRID, b=SHORT), ("a", "b"), None,
                 ("fail", "grits_top", {"regressed": 16})),
    "row found": (lambda: of_tables(a=GRID, b=SHORT), ("b", "a"), "grits_con",
                  ("pass", "grits_con", {"improved": 16})),
    "cell differs": (lambda: of_tables(a=GRID, b=WRONG), ("a", "b"), "grits_con",
                     ("fail", "grits_con", {"regressed": 8})),
    "topology same": (lambda: of_tables(a=GRID, b=WRONG), ("a", "b"), "grits_top",
                      ("pass", "grits_top", {"regressed": 8})),
    "unreadable": (lambda: of_tables(a=GRID, b="nothing"), ("a", "b"), None,
                   ("fail", "grits_top", {"regressed": 48})),
    "extra column": (lambda: of_tables(a=GRID, b="Year,Sales,Tax\n2023,10,1\n2024,12,1"),
                     ("a", "b"), "grits_con", ("fail", "grits_con", {"regressed": 24})),
    "constructed": (constructed, ("quill-large", "quill-mini"), None,
                    ("inconclusive", "cell_f1",
                     {"improved": 24, "regressed": 20})),
    "any other": (lambda: Quiz(WORDS), ("a", "b"), None, ("inconclusive", "points",
                  {"regressed": 1})),
}  # fmt: skip


@pytest.mark.parametrize("case", GATED)
def test_the_gate(case: str) -> None:
    made, (was, now), measure, (verdict, decides, changes) = GATED[case]
    result = made()
    measure = measure or ("points" if case == "any other" else None)
    found = xb.regressions(
        result, result, baseline_run=was, run=now, measure=measure, resamples=200
    )
    assert (found.verdict, found.measure) == (verdict, decides)
    counted = found.fields["verdict"].value_counts().to_dict()
    assert counted == {name: n for name, n in changes.items() if n}
    scores = result.scores[result.scores["measure"] == decides].set_index(["run", "document"])
    documents = found.by_document.set_index("document")
    for side, run in (("was", was), ("is", now)):
        expected = scores.loc[run, "score"].loc[documents.index]
        assert documents[side].tolist() == pytest.approx(expected.tolist())


REFUSED = [
    ({"measure": "grits_co"}, of_tables, "measure='grits_co'; did you mean 'grits_con'"),
    ({"baseline_run": "c"}, of_tables, "baseline_run='c' is not in the baseline"),
]


@pytest.mark.parametrize("options, made, message", REFUSED)
def test_the_gate_refuses(options: Any, made: Any, message: str) -> None:
    result = made(a=GRID, b=SHORT)
    with pytest.raises(xb.InputError) as raised:
        xb.regressions(result, result, **{"run": "b", "baseline_run": "a", **options})
    assert str(raised.value).startswith(message)


def test_the_gate_refuses_other_variants_gold_and_documents_that_are_there_twice() -> None:
    pairs = dict.fromkeys(EIGHT, (GRID, GRID))
    first = xb.tables.evaluate_tables(pairs)
    assert xb.regressions(first, xb.tables.evaluate_tables(pairs), resamples=100).verdict == "pass"
    other = {
        "variant 'paper', the candidate with 'released'": (pairs, {"variant": "released"}),
        r"'s': gold at \$\[0\]\[2\]\[1\] is \"12\"": (dict.fromkeys(EIGHT, (WRONG, GRID)), {}),
        "has document 's' twice": (
            pd.DataFrame({"document": ["s", "s"], "true": GRID, "predicted": GRID}), {},
        ),
    }  # fmt: skip
    for message, (given, options) in other.items():
        with pytest.raises(xb.InputError, match=message):
            xb.regressions(first, xb.tables.evaluate_tables(given, **options))


@pytest.mark.parametrize(
    "case, measure", [("cell differs", "grits_con"), ("constructed", "row_f1")]
)
def test_the_report_and_the_explorer(case: str, measure: str, tmp_path: Path) -> None:
    result = GATED[case][0]()
    xb.views.write_report(result, tmp_path, measure=measure)
    content = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    scores = [row[measure] for row in content["scores"]]
    assert scores == sorted(scores)
    assert len(content["cells"]) == len(result.rows)
    assert measure.replace("_", " ") in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(xb.InputError, match="measure='scor'"):
        xb.views.write_report(result, tmp_path, measure="scor")
    view = xb.explore(result)
    assert len(view.selection) == len(result.rows)
    with pytest.raises(xb.InputError, match=f"measure is '{measure}'; expected one of"):
        xb.explore(result, measure=measure)


def test_what_has_no_rows_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(xb.InputError, match="result is int; expected an Evaluation"):
        xb.views.write_report(3, tmp_path)
