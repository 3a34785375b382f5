"""Statistics take anything that was scored: `rows`, `scores`, `summary`."""

from __future__ import annotations

from dataclasses import dataclass

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
