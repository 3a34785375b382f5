"""What becomes of the items at other thresholds: the same as an evaluation under that schema."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.core.text.judging import Verdict
from extractbench_nb.views.matches_thresholds import ArrayMatches

same = pd.testing.assert_frame_equal


def config(metric: str, **params: Any) -> dict[str, Any]:
    return {"metric_id": metric, "params": params}


def schema(**thresholds: float) -> dict[str, Any]:
    """Papers with authors, each threshold as given or as in `DECLARED`."""
    marks = DECLARED | thresholds
    author = {
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "evaluation_config": config("string_fuzzy", threshold=marks["name"]),
            }
        },
    }
    paper = {
        "type": "object",
        "properties": {
            "title": {
                "type": "string",
                "evaluation_config": config("string_fuzzy", threshold=marks["title"]),
            },
            "topic": {"type": "string", "evaluation_config": "string_semantic"},
            "year": {"type": "integer"},
            "authors": {
                "type": "array",
                "items": author,
                "evaluation_config": config("array_llm", pass_threshold=marks["authors"]),
            },
        },
    }
    papers = config("array_llm", align_threshold=marks["align"], pass_threshold=marks["pass"])
    shelf = {
        "type": "object",
        "properties": {
            "papers": {"type": "array", "items": paper, "evaluation_config": papers},
            "label": {"type": "string", "evaluation_config": "string_exact"},
        },
    }
    return {"type": "object", "properties": {"shelves": {"type": "array", "items": shelf}}}


DECLARED = {"name": 0.8, "title": 0.8, "authors": 0.7, "align": 0.5, "pass": 0.7}


def paper(title: str, year: int, *names: str) -> dict[str, Any]:
    return {"title": title, "topic": "tides", "year": year, "authors": [{"name": n} for n in names]}


GOLD = {
    "shelves": [
        {"label": "empty", "papers": []},
        {
            "label": "full",
            "papers": [
                paper("Ruled paper and the habits of clerks", 1998, "E. Thackray"),
                paper("A census of parish ledgers", 2012, "M. Delacroix", "E. Thackray"),
                paper("Finding tables without their lines", 2007, "R. Umber", "T. Lisle"),
                paper("Nothing like the others", 1950, "Q. Zed"),
            ],
        },
    ]
}


def predicted() -> dict[str, Any]:
    """Other shelf indices, another order of papers, and faults of every size."""
    value = copy.deepcopy(GOLD)
    papers = value["shelves"][1]["papers"]
    papers[0]["title"] = "Ruled papers and habits of clerks"
    papers[1]["authors"][0]["name"] = "Mat. Delacrux"
    papers[2] |= {"title": "Tables", "authors": [{"name": "T. Lisle"}]}
    papers[3] = paper("Entirely invented", 1777, "N. N.")
    papers.reverse()
    value["shelves"].reverse()
    return value


class Case(NamedTuple):
    """The papers of one shelf: at the top of the document, or inside another array."""

    path: str
    items: str
    flat: bool

    def evaluate(self, profile: str = "paper", **thresholds: float) -> xb.core.Evaluation:
        parts = schema(**thresholds), GOLD, predicted()
        if self.flat:
            shelf = parts[0]["properties"]["shelves"]["items"]
            parts = shelf, GOLD["shelves"][1], predicted()["shelves"][0]
        return xb.evaluate(*parts, profile=profile)

    def keys(self, values: dict[str, float]) -> dict[str, float]:
        """The thresholds by the names that they have in the view."""
        own = {"align": "align_threshold", "pass": "pass_threshold"}
        below = {"name": "authors[].name", "title": "title", "authors": "authors"}
        return {
            own.get(name) or f"{self.items}.{below[name]}": value for name, value in values.items()
        }


FLAT = Case("$.papers", "papers[]", True)
NESTED = Case("$.shelves[1].papers", "shelves[].papers[]", False)

TRIES: list[dict[str, float]] = [
    {"align": 0.0},
    {"align": 0.8},
    {"align": 1.0},
    {"pass": 0.1},
    {"title": 0.1},
    {"title": 0.95},
    {"name": 0.5},
    {"name": 0.5, "authors": 0.0},
    {"authors": 0.0},
    {"title": 0.1, "align": 0.9, "pass": 0.0},
]


RULES = [
    (FLAT, "paper"),
    (FLAT, "strict"),
    (NESTED, "paper"),
    (NESTED, "strict"),
]


def of(frame: pd.DataFrame, path: str) -> pd.DataFrame:
    return frame[frame["path"] == path].reset_index(drop=True)


@pytest.mark.parametrize("case, profile", RULES, ids=lambda v: v if isinstance(v, str) else v.path)
@pytest.mark.parametrize("tried", TRIES, ids=repr)
def test_other_thresholds_give_what_an_evaluation_under_them_gives(
    tried: dict[str, float], case: Case, profile: str
) -> None:
    outcome = ArrayMatches(case.evaluate(profile), case.path).at(case.keys(tried))
    whole = case.evaluate(profile, **tried)
    same(outcome.matches, of(whole.matches, case.path))
    array = of(whole.arrays, case.path).iloc[0]
    pd.testing.assert_series_equal(outcome.summary, array, check_names=False)
    inside = whole.fields["path"].str.startswith(case.path)
    same(outcome.fields, whole.fields[inside].reset_index(drop=True))


def test_the_thresholds_tried_above_change_something() -> None:
    before = FLAT.evaluate()
    for tried in TRIES:
        after = FLAT.evaluate("paper", **tried)
        same_rows = before.matches.equals(after.matches)
        assert not same_rows or not before.arrays.equals(after.arrays), tried


def test_the_declared_thresholds_give_what_was_evaluated() -> None:
    array = ArrayMatches(NESTED.evaluate(), NESTED.path)
    declared = {knob.key: knob.declared for knob in array.knobs}
    assert declared == {
        "align_threshold": 0.5,
        "pass_threshold": 0.7,
        "shelves[].papers[].title": 0.8,
        "shelves[].papers[].topic": 0.7,
        "shelves[].papers[].authors": 0.7,
        "shelves[].papers[].authors[].name": 0.8,
    }
    assert array.at(declared) is array.evaluated
    assert array.at({}) is array.evaluated


def test_nothing_of_the_evaluation_changes() -> None:
    ev = NESTED.evaluate()
    fields, arrays, matches = ev.fields, ev.arrays, ev.matches
    array = ArrayMatches(ev, NESTED.path)
    array.at(NESTED.keys({"title": 0.0, "align": 0.9}))
    array.at(NESTED.keys({"align": 0.9}))
    for before, after in ((fields, ev.fields), (arrays, ev.arrays), (matches, ev.matches)):
        same(before, after)
    again = xb.evaluate(ev.schema, GOLD, predicted(), profile="paper")
    same(again.fields, fields)  # the schema is as it was


def test_an_array_whose_items_around_it_part_is_not_aligned() -> None:
    text = {"type": "string", "evaluation_config": config("string_fuzzy", threshold=0.7)}
    item = {"type": "object", "properties": {"tags": {"type": "array", "items": text}}}
    rows = {"type": "object", "properties": {"rows": {"type": "array", "items": item}}}
    gold, other = ({"rows": [{"tags": [f"abcdef{end}", "same"]}]} for end in ("gh", "xy"))
    for side in (gold, other):
        side["rows"][0]["tags"].append(side["rows"][0]["tags"][0].upper())
    array = ArrayMatches(xb.evaluate(rows, gold, other), "$.rows[0].tags")
    assert array.evaluated.summary["matched"] == 3
    outcome = array.at({"rows[].tags[]": 0.99})
    assert outcome.summary["gold_items"] == 3
    assert outcome.summary[["matched", "score"]].isna().all()
    assert outcome.matches.empty


WORDS = st.text("ab ", max_size=6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(WORDS, WORDS), max_size=5),
    st.lists(st.tuples(WORDS, WORDS), max_size=5),
    st.floats(0, 1),
)
def test_a_higher_align_threshold_parts_pairs_and_matches_none(
    gold: list[Any], predicted: list[Any], mark: float
) -> None:
    text = {"type": "string", "evaluation_config": "string_fuzzy"}
    item = {"type": "object", "properties": {"a": text, "b": text}}
    rows = {"type": "object", "properties": {"rows": {"type": "array", "items": item}}}
    sides = [{"rows": [{"a": a, "b": b} for a, b in side]} for side in (gold, predicted)]
    array = ArrayMatches(xb.evaluate(rows, *sides), "$.rows")
    outcome = array.at({"align_threshold": mark})
    assert outcome.summary["matched"] == array.evaluated.summary["matched"]
    differing = outcome.matches[outcome.matches["status"] == "differing"]
    assert (differing["similarity"] >= mark).all()
    unlike = array.unlike({"align_threshold": mark})
    assert all(similarity < mark for _, similarity in unlike.values())
    assert outcome.summary["differing"] == len(differing)


# --- who is asked ------------------------------------------------------------------------------


class CountingJudge:
    """Gives half of what the items agree in, and counts how often it is asked."""

    name = "counting"

    def __init__(self) -> None:
        self.calls = 0

    def compare(self, gold: str, predicted: str) -> Verdict:
        self.calls += 1
        return Verdict(1.0 if gold == predicted else 0.6, "counted")


class AwaitedJudge(CountingJudge):
    name = "awaited"

    async def compare(self, gold: str, predicted: str) -> Verdict:  # type: ignore[override]
        return super().compare(gold, predicted)


TAGS = {
    "type": "object",
    "properties": {
        "tags": {
            "type": "array",
            "items": {"type": "string", "evaluation_config": "string_llm"},
            "evaluation_config": config("array_llm", align_threshold=0.2),
        }
    },
}


@pytest.mark.parametrize("judge", [CountingJudge(), AwaitedJudge()], ids=lambda j: j.name)
def test_another_judge_is_not_asked_again(judge: CountingJudge) -> None:
    ev = xb.evaluate(TAGS, {"tags": ["a", "red paint"]}, {"tags": ["a", "red paper"]}, judge=judge)
    asked = judge.calls
    array = ArrayMatches(ev, "$.tags")
    assert array.evaluated.summary["matched"] == 1
    assert array.at({"tags[]": 0.5}).summary["matched"] == 2
    assert array.at({"align_threshold": 0.65}).summary["spurious"] == 1
    assert array.at({"tags[]": 0.5}).fields["outcome"].tolist() == ["correct"] * 3
    assert array.at({"tags[]": 0.61}).summary["matched"] == 1
    assert judge.calls == asked > 0
    assert f"Judge {judge.name!r} is not asked again" in array.note


def test_a_field_without_a_verdict_stays_without_one() -> None:
    class Failing(CountingJudge):
        def compare(self, gold: str, predicted: str) -> Verdict:
            raise ValueError("down")

    ev = xb.evaluate(
        TAGS, {"tags": ["a", "red paint"]}, {"tags": ["a", "red paper"]}, judge=Failing()
    )
    outcome = ArrayMatches(ev, "$.tags").at({"tags[]": 0.0, "align_threshold": 0.0})
    assert outcome.fields["outcome"].tolist() == ["judge_error"] * 3
    assert outcome.summary["matched"] == 0


def test_an_alignment_of_the_users_is_not_called_again() -> None:
    calls = []

    def crossed(gold: Any, predicted: Any, _: Any) -> list[tuple[int, int]]:
        calls.append(1)
        return [(0, 1), (1, 0)]

    text = {"type": "string", "evaluation_config": "string_fuzzy"}
    rows = {"type": "object", "properties": {"tags": {"type": "array", "items": text}}}
    ev = xb.evaluate(rows, {"tags": ["ab", "cd"]}, {"tags": ["ab", "cd"]}, alignment=crossed)
    array = ArrayMatches(ev, "$.tags")
    outcome = array.at({"tags[]": 0.0})
    assert outcome.matches["predicted_index"].tolist() == [1, 0]
    assert outcome.matches["status"].tolist() == ["matched", "matched"]
    assert len(calls) == 1
    assert array.note.startswith("Nothing is run again")


def test_metrics_that_are_awaited_are_not_run_again() -> None:
    calls = []

    @xb.metric("awaited_for_matches", applies_to="string")
    async def awaited(gold: str, predicted: str, *, threshold: float = 0.9) -> float:
        calls.append(1)
        return 0.8

    try:
        text = {"type": "string", "evaluation_config": "awaited_for_matches"}
        rows = {"type": "object", "properties": {"tags": {"type": "array", "items": text}}}
        ev = xb.evaluate(rows, {"tags": ["ab"]}, {"tags": ["cd"]})
        asked = len(calls)
        array = ArrayMatches(ev, "$.tags")
        assert array.at({"tags[]": 0.7}) is array.evaluated
        assert len(calls) == asked > 0
        assert array.note.startswith("A metric is awaited")
    finally:
        del REGISTRY.entries["awaited_for_matches"]


def test_a_copy_without_records_is_evaluated_again_but_no_other_judge_is_replayed() -> None:
    ev, judged = (
        pickle.loads(pickle.dumps(found))  # noqa: S301 - our own bytes
        for found in (
            NESTED.evaluate(),
            xb.evaluate(TAGS, {"tags": ["a"]}, {"tags": ["b"]}, judge=CountingJudge()),
        )
    )
    tried = {"title": 0.1}
    outcome = ArrayMatches(ev, NESTED.path).at(NESTED.keys(tried))
    same(outcome.matches, of(NESTED.evaluate("paper", **tried).matches, NESTED.path))
    array = ArrayMatches(judged, "$.tags")
    assert array.knobs == []
    assert "without its records" in array.note


def test_alternatives_that_scored_still_do() -> None:
    items = {"type": "string", "evaluation_config": config("string_fuzzy", threshold=0.8)}
    lines = {"type": "object", "properties": {"n": items}}
    rows = {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": items},
            "lines": {"type": "array", "items": lines},
        },
    }
    gold = {"tags": ["abcdefgh", "x"], "lines": [{"n": "abcdefgh"}]}
    other = {"tags": ["x", "stuvwxyz"], "lines": [{"n": "qrstuvwx"}]}
    accepted = [
        {"path": "$.tags[0]", "value": "stuvwxyz"},
        {"path": "$.lines[0].n", "value": "qrstuvwx"},
    ]
    ev = xb.evaluate(rows, gold, other, accepted=accepted)
    for path, key in (("$.tags", "tags[]"), ("$.lines", "lines[].n")):
        array = ArrayMatches(ev, path)
        same(array.at({key: 0.7}).matches, array.evaluated.matches)


# --- which thresholds there are ----------------------------------------------------------------


@pytest.mark.parametrize(
    "item, keys",
    [
        ({"type": "integer"}, []),
        ({"type": "string", "evaluation_config": "string_exact"}, []),
        ({"type": "string"}, ["rows[]"]),
        ({"type": "string", "evaluation_config": "skip"}, []),
        (
            {
                "type": "string",
                "evaluation_config": {
                    "metrics": [{"metric_id": "string_fuzzy"}, {"metric_id": "string_semantic"}]
                },
            },
            ["rows[] string_fuzzy", "rows[] string_semantic"],
        ),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["rows[]"]),
        ({"$ref": "#/$defs/tree"}, ["rows[].name", "rows[].below"]),
    ],
)
def test_every_threshold_of_the_items_has_a_key(item: dict[str, Any], keys: list[str]) -> None:
    tree = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "below": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
    }
    rows = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": item}},
        "$defs": {"tree": tree},
    }
    ev = xb.evaluate(rows, {"rows": []}, {"rows": []})
    found = [knob.key for knob in ArrayMatches(ev, "$.rows").knobs]
    assert found == ["align_threshold", "pass_threshold", *keys]


def test_one_of_two_metrics_of_a_field_is_changed_alone() -> None:
    both = {"metrics": [{"metric_id": "string_fuzzy"}, {"metric_id": "string_semantic"}]}
    rows = {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"type": "string", "evaluation_config": both}}
        },
    }
    ev = xb.evaluate(rows, {"tags": ["colour"]}, {"tags": ["coloring"]})
    fields = (
        ArrayMatches(ev, "$.tags").at({"tags[] string_fuzzy": 0.1, "align_threshold": 0.0}).fields
    )
    items = fields[fields["path"] == "$.tags[0]"].set_index("metric")["passed"]
    assert items.to_dict() == {"string_fuzzy": True, "string_semantic": False}


def test_recursive_items_take_a_threshold_at_every_level_that_has_its_field() -> None:
    tree = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "evaluation_config": "string_fuzzy"},
            "below": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
    }
    rows = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "$defs": {"tree": tree},
    }
    gold = {"rows": [{"name": "abcd", "below": [{"name": "efgh"}]}]}
    other = {"rows": [{"name": "abxx", "below": [{"name": "efgh"}]}]}
    array = ArrayMatches(xb.evaluate(rows, gold, other), "$.rows")
    assert array.evaluated.summary["matched"] == 0
    assert array.at({"rows[].name": 0.5}).summary["matched"] == 1


def test_an_array_that_is_not_aligned_has_no_align_threshold() -> None:
    rows = {
        "type": "object",
        "properties": {
            "tags": {
                "type": "array",
                "items": {"type": "integer"},
                "evaluation_config": "set_f1",
            }
        },
    }
    array = ArrayMatches(xb.evaluate(rows, {"tags": [1, 2]}, {"tags": [2]}), "$.tags")
    assert array.knobs == []
    assert array.note == "No metric of this array or of its items has a threshold."
