"""`judge_agreement`: against scikit-learn and scipy, what is compared and what is left out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import extractbench_nb as xb
from extractbench_nb import agreement
from extractbench_nb.stats import JudgeAgreement, judge_agreement, self_consistency
from tests.stats.verdicts import noisy
from tests.stats.verdicts import side as verdicts_of


def side(verdicts: Any, documents: int = 0, **columns: Any) -> pd.DataFrame:
    """Rows of recorded verdicts on a judged metric."""
    return verdicts_of(verdicts, documents, **{"metric": "string_semantic", **columns})


def only(found: JudgeAgreement) -> Any:
    assert len(found.pairs) == 1
    return found.pairs.iloc[0]


class Marked:
    """Passes what is not marked; where it fails, scores `low`."""

    def __init__(self, mark: str = "\0", low: float = 0.0, *, broken: str = "\0") -> None:
        self.name, self.mark, self.low, self.broken = f"not {mark}", mark, low, broken

    def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
        if self.broken in predicted:
            raise TimeoutError(predicted)
        return xb.judges.Verdict(
            self.low if self.mark in predicted else 1.0, "marked", f"by {self.mark}"
        )


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in "abcd"},
        "count": {"type": "integer"},
        "people": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "id": {"type": "integer"}},
            },
        },
    },
}
GOLD = {
    "a": "one",
    "b": "two",
    "c": "three",
    "d": None,
    "count": 1,
    "people": [{"name": "Ann", "id": 1}],
}
PREDICTED = {
    "a": "one",
    "b": "2 x",
    "c": "3 y",
    "d": "four",
    "count": 2,
    "people": [{"name": "Ann z", "id": 1}],
}


def said(judge: Any, gold: Any = GOLD, predicted: Any = PREDICTED) -> xb.core.Evaluation:
    return xb.evaluate(SCHEMA, gold, predicted, judge=judge)


# --- the numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize("documents", [0, 10])
def test_numbers_are_those_of_agreement(documents: int) -> None:
    a, b = noisy(200, 0.2)
    frames = {"a": side(a, documents), "b": side(b, documents)}
    row, both = only(judge_agreement(frames)), agreement(*frames.values())
    for end in ("", "_low", "_high"):
        assert row[f"agree{end}"] == getattr(both, f"raw{end}")
        kappa = getattr(both, f"kappa{end}")
        assert row[f"kappa{end}"] == kappa or (kappa is None and pd.isna(row[f"kappa{end}"]))
    assert (row["a_only"], row["b_only"]) == ((a & ~b).sum(), (~a & b).sum())
    assert (row["fields"], row["without_verdict"], row["unmatched"]) == (200, 0, 0)


def test_scores_are_compared_where_both_have_them() -> None:
    a = side([True, True, None, False], score=pd.array([1.0, 0.8, None, 0.2], dtype="Float64"))
    b = side([True, False, True, False], score=pd.array([0.9, 0.3, 1.0, 0.0], dtype="Float64"))
    row = only(judge_agreement({"a": a, "b": b}))
    assert row["mean_abs_score_diff"] == pytest.approx((0.1 + 0.5 + 0.2) / 3)
    assert (row["fields"], row["without_verdict"]) == (3, 1)
    unknown = only(judge_agreement({"a": a, "b": b.drop(columns="score")}))
    assert math.isnan(unknown["mean_abs_score_diff"])


# --- which rows --------------------------------------------------------------------------------


def test_only_what_judges_decide_is_compared() -> None:
    found = judge_agreement({"lax": said(Marked()), "x": said(Marked("x"))})
    row = only(found)
    # a is the same on both sides, d an invention, count a number: no judge is asked
    assert (row["fields"], row["identical"], row["unmatched"]) == (3, 1, 0)
    assert (row["agree"], row["a_only"], row["b_only"]) == (2 / 3, 1, 0)
    gap = found.disagreements
    assert gap[["path", "gold", "predicted"]].values.tolist() == [["$.b", "two", "2 x"]]
    verdicts = gap.iloc[0][["score_a", "score_b", "passed_a", "passed_b"]].tolist()
    assert verdicts == [1, 0, True, False]
    assert gap.iloc[0][["reasoning_a", "reasoning_b"]].tolist() == ["by \0", "by x"]


def test_a_judge_that_fails_gives_no_verdict() -> None:
    row = only(judge_agreement({"a": said(Marked()), "b": said(Marked(broken="x"))}))
    assert (row["fields"], row["without_verdict"]) == (2, 1)


def test_items_that_were_paired_differently_are_unmatched() -> None:
    gold = {**GOLD, "people": [{"name": "Ann", "id": 1}, {"name": "Bob", "id": 1}]}
    predicted = {**PREDICTED, "people": [{"name": "x", "id": 1}, {"name": "y", "id": 1}]}

    def turned(one: Any, other: Any, node: Any) -> list[tuple[int, int]]:
        return [(0, 1), (1, 0)]

    a = xb.evaluate(SCHEMA, gold, predicted, alignment=lambda g, p, n: [(0, 0), (1, 1)])
    b = xb.evaluate(SCHEMA, gold, predicted, alignment=turned)
    row = only(judge_agreement({"a": a, "b": b}))
    assert (row["fields"], row["unmatched"]) == (2, 4)
    assert only(judge_agreement({"a": b, "b": b}))["fields"] == 4


def test_metrics_may_be_chosen() -> None:
    frames = {
        "a": side([True, True], metric=["string_semantic", "array_llm"]),
        "b": side([True, False], metric=["string_semantic", "array_llm"]),
    }
    assert only(judge_agreement(frames))["fields"] == 1
    chosen = judge_agreement(frames, metrics=["string_semantic", "array_llm"])
    assert only(chosen)["agree"] == 0.5
    assert only(judge_agreement(frames, metrics="array_llm"))["agree"] == 0.0


def test_batches_and_mappings_of_runs() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    runs = pd.DataFrame(
        {
            "run": ["r", "r", "s", "s"],
            "document": ["d", "e"] * 2,
            "predicted": [{"a": "1 x"}, {"a": "2"}, {"a": "3 x"}, {"a": "4 x"}],
            "schema": [schema] * 4,
            "gold": [{"a": "0"}] * 4,
        }
    )
    judges = {"lax": Marked(), "x": Marked("x")}
    batches = {n: xb.evaluate_runs(runs, judge=j, progress=False) for n, j in judges.items()}
    found = judge_agreement(batches)
    assert (only(found)["fields"], only(found)["agree"]) == (4, 0.25)
    outputs = found.disagreements[["run", "document"]].values.tolist()
    assert outputs == [["r", "d"], ["s", "d"], ["s", "e"]]


# --- three judges ------------------------------------------------------------------------------


def test_three_judges_are_three_pairs() -> None:
    found = judge_agreement({name: said(Marked(name)) for name in "xyz"})
    pairs = found.pairs[["judge_a", "judge_b"]].values.tolist()
    assert pairs == [["x", "y"], ["x", "z"], ["y", "z"]]
    assert len(found.disagreements) == found.pairs[["a_only", "b_only"]].to_numpy().sum()


# --- what cannot be compared -------------------------------------------------------------------

NONE_IN_COMMON = {"path": "$.elsewhere"}
REFUSED = {
    "one judge": ({"a": side([True])}, {}, "the names of at least two judges"),
    "no mapping": ([side([True])] * 2, {}, "expected a mapping"),
    "no judged metric": (
        {"a": side([True], metric="string_exact"), "b": side([True])},
        {},
        "judge 'a' has no row of a metric to compare",
    ),
    "no such metric": (
        {"a": side([True]), "b": side([True])},
        {"metrics": ["string_semantics"]},
        "did you mean 'string_semantic'",
    ),
    "no column": (
        {"a": side([True]).drop(columns="passed"), "b": side([True])},
        {},
        "fields of judge 'a': there is no column 'passed'",
    ),
    "nothing in common": (
        {"one": side([True]), "two": side([True], **NONE_IN_COMMON)},
        {},
        r"judges 'one' \(a\) and 'two' \(b\): no row is on both sides",
    ),
    "no frame": ({"a": 1, "b": side([True])}, {}, "int has no frame 'fields'"),
    "verdict": (
        {"a": side([True]), "b": side([True]).assign(passed="yes")},
        {},
        r"'b' \(b\): passed of b: expected True, False or missing",
    ),
}


@pytest.mark.parametrize("evaluations, options, message", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(evaluations: Any, options: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        judge_agreement(evaluations, **options)


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"predicted": {**PREDICTED, "c": "other"}},
            r"path '\$\.c': predicted is '3 y'",
        ),
        ({"gold": {**GOLD, "b": "zwei"}}, r"path '\$\.b': gold is 'two' in a and 'zwei' in b"),
        ({"predicted": {**PREDICTED, "b": None}}, r"path '\$\.b': predicted is '2 x' in a"),
        ({"predicted": {**PREDICTED, "b": 2}}, "predicted is '2 x' in a and 2 in b"),
    ],
)
def test_other_questions_are_refused(change: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        judge_agreement({"one": said("offline"), "two": said("offline", **change)})


def test_the_run_and_document_are_named() -> None:
    frames = [
        side([True] * 4, 2, predicted=["a", "b", "c", d], gold="x", run=["r", "r", "s", "s"])
        for d in "de"
    ]
    message = r"run 's', document 'd1', path '\$\.f3': predicted is 'd' in a and 'e' in b"
    with pytest.raises(xb.InputError, match=message):
        judge_agreement(dict(zip("ab", frames, strict=True)))


# --- self-consistency --------------------------------------------------------------------------


def calls(*scores: float | None, path: str = "$.a", **ids: str) -> pd.DataFrame:
    """Return answers to one question, as in ``judge_calls``; None is a failure."""
    passed = [None if s is None else s >= 0.7 for s in scores]
    columns = {"score": pd.array(scores, "Float64"), "passed": pd.array(passed, "boolean")}
    named = {**ids, "path": path, "field": "a", "metric": "string_semantic", "model": "m"}
    return pd.DataFrame({**columns, **named})


CASES = {
    "all pass": ((1.0, 0.7, 0.9), (3, 3, 0.7, 1.0, 3, 1.0)),
    "all fail": ((0.0, 0.69, 0.1), (3, 3, 0.0, 0.69, 0, 1.0)),
    "two to one": ((0.9, 0.8, 0.1), (3, 3, 0.1, 0.9, 2, 2 / 3)),
    "a tie": ((0.9, 0.1), (2, 2, 0.1, 0.9, 1, 0.5)),
    "one failed": ((0.9, None, 0.1), (3, 2, 0.1, 0.9, 1, 0.5)),
    "one answered": ((0.9, None, None), (3, 1, 0.9, 0.9, 1, pd.NA)),
    "none answered": ((None, None), (2, 0, pd.NA, pd.NA, 0, pd.NA)),
}
SHOWN = ["calls", "answered", "lowest", "highest", "passes", "agreement"]


@pytest.mark.parametrize("scores, expected", CASES.values(), ids=CASES)
def test_answers_of_a_field(scores: Any, expected: Any) -> None:
    found = self_consistency(calls(*scores))
    row = found.fields.iloc[0]
    assert tuple(row[SHOWN]) == expected
    known = [s for s in scores if s is not None]
    if len(known) > 1:
        assert row["mean"] == pytest.approx(np.mean(known))
        assert row["sd"] == pytest.approx(np.std(known, ddof=1))
    agreement = np.nan if expected[5] is pd.NA else expected[5]
    assert found.agreement == pytest.approx(agreement, nan_ok=True)


def test_the_mean_over_documents() -> None:
    three, two = (1.0, 1.0, 1.0, 0.0), (1.0, 1.0, 0.0, 0.0)
    outputs = [("r", "d", two), ("r", "e", three), ("s", "d", three)]
    found = self_consistency([calls(*x, run=run, document=d) for run, d, x in outputs])
    assert found.fields["agreement"].tolist() == [0.5, 0.75, 0.75]
    assert found.agreement == pytest.approx((0.625 + 0.75) / 2)
    assert 0.5 <= found.low <= found.agreement <= found.high <= 0.75


def test_fields_that_were_asked_about_once_are_left_out() -> None:
    found = self_consistency([calls(1.0, 1.0, 0.0), calls(1.0, path="$.b")])
    assert found.fields["path"].tolist() == ["$.a"]
    assert found.once == 1


def test_calls_of_a_judge_with_several_answers() -> None:
    class Thrice:
        name = "thrice"

        def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
            raise NotImplementedError

        async def ask(self, question: Any) -> xb.judges.Verdict:
            answers = tuple(xb.judges.JudgeCall("m", score=score) for score in (0.9, 0.8, 0.1))
            return xb.judges.Verdict(0.8, "voted", None, answers)

    found = self_consistency(said(Thrice()))
    assert found.fields["passes"].tolist() == [2] * 3


@pytest.mark.parametrize(
    "source, message",
    [
        (calls(1.0), r"^1 field with a single call.*LLMJudge\(n=5\)"),
        (said("offline"), r"^judge_calls has no verdicts of models.*LLMJudge\(n=5\)"),
    ],
)
def test_nothing_to_compare(source: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        self_consistency(source)


def test_consistency_shows_itself() -> None:
    found = self_consistency(calls(0.9, 0.8, 0.1))
    assert repr(found).startswith("Self-consistency: 0.667 [n/a] of the answers")
    assert "2 of 3 pass" in found._repr_html_()


@pytest.mark.parametrize("count", [1, 4, 30])
def test_answers_that_all_agree_are_no_certainty(count: int) -> None:
    found = self_consistency([calls(0.9, 0.8, 0.75, path=f"$.f{i}") for i in range(count)])
    assert (found.agreement, found.high, found.method) == (1.0, 1.0, "Wilson")
    z = stats.norm.ppf(0.975)
    assert found.low == pytest.approx(count / (count + z**2))
