"""The frames: columns and dtypes as declared, every column with a value of its own, frozen."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from tests.evaluation.schemas import STRING, obj

DTYPES = {
    frame: dict(zip(part["column"], part["dtype"], strict=True))
    for frame, part in xb.core.Evaluation.columns().groupby("frame")
}
FRAMES = ("fields", "arrays", "matches", "warnings")


def half(gold: str, predicted: str, *, threshold: float = 0.3) -> xb.MetricScore:
    return xb.MetricScore(0.375, True, "half way", "my words")


CONFIG = {
    "metrics": [{"metric_id": "half", "params": {"threshold": 0.25}}],
    "aggregation_weight": 2.5,
}
ITEM = obj(k={"type": "string", "evaluation_config": CONFIG}, n=STRING, m=STRING, p=STRING)
SCHEMA = obj(o=obj(r={"type": "array", "items": ITEM}))
GOLD = {
    "o": {
        "r": [
            {"k": "kg", "n": "n", "m": "m", "p": "p"},
            {"k": "other", "n": "right", "m": "here"},
            {"k": "left", "n": "out", "m": "too"},
        ]
    },
    "undeclared": 1,
}
PREDICTED = {
    "o": {
        "r": [
            {"k": "zz", "n": "zz", "m": "zz"},
            {"k": "yy", "n": "yy", "m": "yy"},
            {"k": "xx", "n": "xx", "m": "xx"},
            {"k": "kp", "n": "n", "m": "m9", "p": "p"},
            {"k": "other", "n": "right", "m": "here"},
        ]
    }
}


@pytest.fixture
def ev() -> xb.core.Evaluation:
    xb.metric("half")(half)
    return xb.evaluate(SCHEMA, GOLD, PREDICTED)


@pytest.mark.parametrize("name", FRAMES)
def test_dtypes_are_the_same_for_full_and_empty_results(name: str, ev: xb.core.Evaluation) -> None:
    nothing = obj(a=STRING) if name == "warnings" else obj()  # to score nothing is a warning
    full, empty = getattr(ev, name), getattr(xb.evaluate(nothing, {}, {}), name)
    assert len(full) > 0
    assert len(empty) == 0
    for frame in (full, empty):
        assert {c: str(t) for c, t in frame.dtypes.items()} == DTYPES[name]
        assert isinstance(frame.index, pd.RangeIndex)
    joined = pd.concat([empty, full])
    assert {c: str(t) for c, t in joined.dtypes.items()} == DTYPES[name]


def test_summary_entries(ev: xb.core.Evaluation) -> None:
    empty = xb.evaluate(obj(), {}, {}).summary
    assert ev.summary.index.tolist() == empty.index.tolist() == list(DTYPES["summary"])
    assert [type(v) for v in ev.summary] == [type(v) for v in empty]


def test_every_column_of_fields_holds_its_own_value(ev: xb.core.Evaluation) -> None:
    row = ev.fields.set_index("path", drop=False).loc["$.o.r[0].k"]
    assert row.to_dict() == {
        "path": "$.o.r[0].k",
        "predicted_path": "$.o.r[3].k",
        "field": "o.r[].k",
        "schema_path": "$.properties.o.properties.r.items.properties.k",
        "metric": "half",
        "score": 0.375,
        "passed": True,
        "outcome": "correct",
        "reason": "half way",
        "reasoning": "my words",
        "gold": "kg",
        "predicted": "kp",
        "gold_state": "present",
        "predicted_state": "present",
        "depth": 4,
        "counted": True,
        "weight": 2.5,
        "required": False,
        "accepted_as": None,
    }


def test_states_are_not_swapped() -> None:
    ev = xb.evaluate(obj(a=STRING, b={"type": "array"}), {"a": None}, {"b": []})
    states = ev.fields[["gold_state", "predicted_state"]].to_numpy().tolist()
    assert states == [["null", "missing"], ["missing", "empty"]]


def test_every_column_of_arrays_holds_its_own_value() -> None:
    params = {"metric_id": "array_llm", "params": {"pass_threshold": 0.1}}
    letters = obj(**dict.fromkeys("abcd", STRING))
    schema = obj(x={"type": "array", "items": letters, "evaluation_config": params})

    def make(*texts: str) -> list[dict[str, str]]:
        return [dict(zip("abcd", text, strict=True)) for text in texts]

    gold = make("1111", "2222", "3333", "4444", "5555", "6666")
    predicted = make("1111", "222x", "333x", *(f"{c}" * 4 for c in "pqrst"))
    paper, strict = (
        xb.evaluate(schema, {"x": gold}, {"x": predicted}, profile=profile).arrays.iloc[0]
        for profile in ("paper", "strict")
    )
    assert strict[["counted", "score"]].tolist() == [False, pytest.approx(2 / 14)]
    assert paper.to_dict() == {
        "path": "$.x",
        "field": "x",
        "counted": True,
        "gold_items": 6,
        "predicted_items": 8,
        "matched": 1,
        "differing": 2,
        "missed": 3,
        "spurious": 5,
        "precision": 1 / 8,
        "recall": 1 / 6,
        "f1": 2 / 14,
        "score": 1 / 6,
        "passed": True,
    }


def test_every_column_of_matches_holds_its_own_value(ev: xb.core.Evaluation) -> None:
    frame = ev.matches.astype(object)
    rows = frame.where(frame.notna(), None).to_dict("records")
    assert rows[0] == {
        "path": "$.o.r",
        "gold_index": 0,
        "predicted_index": 3,
        "status": "differing",
        "similarity": pytest.approx((0.375 + 1 + 0 + 1) / 4),
        "failed_fields": ("o.r[].m",),
        "gold": GOLD["o"]["r"][0],
        "predicted": PREDICTED["o"]["r"][3],
        "accepted_as": None,
    }
    assert [(r["gold_index"], r["predicted_index"], r["status"]) for r in rows[1:]] == [
        (1, 4, "matched"),
        (2, None, "missed"),
        (None, 0, "spurious"),
        (None, 1, "spurious"),
        (None, 2, "spurious"),
    ]
    assert rows[2]["gold"] == GOLD["o"]["r"][2]
    assert rows[3]["predicted"] == PREDICTED["o"]["r"][0]


def test_every_entry_of_the_summary_holds_its_own_value() -> None:
    """Ten nodes, so many of each outcome that few counts are equal."""
    xb.metric("broken")(lambda gold, predicted: 2.0)
    names = [f"f{i}" for i in range(30)]
    broken = {"type": "string", "evaluation_config": "broken"}
    schema = obj(**dict.fromkeys(names, STRING), j=broken, a={"type": "array", "items": STRING})
    gold: dict[str, Any] = dict.fromkeys(names[:25], "x")
    predicted: dict[str, Any] = dict(gold)
    for name in names[:2]:
        del predicted[name]
    for name in names[2:6]:
        predicted[name] = 5
    for name in names[25:28]:
        predicted[name] = "invented"
    gold |= {"j": "1", "a": ["x", "y", "z", "w"], "u": "undeclared"}
    predicted |= {"j": "1", "a": ["x", "y", "z"]}
    s = xb.evaluate(schema, gold, predicted, profile="paper").summary
    assert s.to_dict() == {
        "pass_rate": pytest.approx(22 / 32),
        "overall_score": pytest.approx((21 + 3) / 35),
        "field_score": pytest.approx((21 + 0.75) / 32),
        "pass_rate_judged": pytest.approx(22 / 31),
        "null_pass_rate": pytest.approx(5 / 32),
        "precision": 20 / 28,
        "recall": 20 / 27,
        "f1": pytest.approx(40 / 55),
        "evaluated": 32,
        "judged": 31,
        "passed": 22,
        "failed": 9,
        "omissions": 2,
        "hallucinations": 3,
        "structural": 4,
        "judge_errors": 1,
        "unlabelled": 0,
        "gold_coverage": pytest.approx(30 / 31),
        "llm_calls": 0,
        "llm_cost_usd": 0.0,
    }
    # the four items of the array count in its place: three are right, one is omitted
    strict = xb.evaluate(schema, gold, predicted).summary
    assert strict[["evaluated", "passed", "failed", "omissions"]].tolist() == [35, 24, 10, 3]
    assert strict["overall_score"] == pytest.approx((21 + 3) / 35)
    assert strict["field_score"] == pytest.approx((21 + 0.75) / 32)


def test_nullable_says_which_columns_may_be_missing(ev: xb.core.Evaluation) -> None:
    table = xb.core.Evaluation.columns()
    results = [ev, xb.evaluate(SCHEMA, GOLD, "{"), xb.evaluate(SCHEMA, GOLD, {})]
    for name in ("fields", "arrays", "matches"):
        part = table[table["frame"] == name]
        never = part.loc[~part["nullable"].astype(bool), "column"].tolist()
        for result in results:
            frame = getattr(result, name)[never]
            assert not frame.drop(columns="failed_fields", errors="ignore").isna().any(axis=None)


def test_a_result_is_frozen(ev: xb.core.Evaluation) -> None:
    for name in ("fields", "arrays", "matches", "warnings"):
        frame = getattr(ev, name)
        before = frame.copy()
        frame.iloc[0, 0] = "changed"
        frame["new"] = 1
        del frame[frame.columns[1]]
        pd.testing.assert_frame_equal(getattr(ev, name), before)
    summary = ev.summary
    summary["passed"] = 99
    assert ev.summary["passed"] != 99
    meta = ev.meta
    meta["profile"] = "changed"
    assert ev.meta["profile"] == "strict"
    for name in ("fields", "summary", "anything"):
        with pytest.raises(AttributeError, match="cannot assign"):
            setattr(ev, name, 1)


def test_inputs_are_not_changed() -> None:
    xb.metric("half")(half)
    schema, gold, predicted = copy.deepcopy((SCHEMA, GOLD, PREDICTED))
    for profile in ("paper", "strict"):
        ev = xb.evaluate(schema, gold, predicted, profile=profile)
        assert len(ev.fields) * len(ev.matches) * len(repr(ev)) * len(ev._repr_html_()) > 0
        assert len(ev.warnings) > 0
    assert (schema, gold, predicted) == (SCHEMA, GOLD, PREDICTED)


def test_a_result_does_not_follow_its_inputs() -> None:
    """In a notebook the documents are edited after they were evaluated."""
    schema = obj(a=STRING, r={"type": "array", "items": obj(k=STRING)})
    gold: dict[str, Any] = {"a": "x", "r": [{"k": "1"}], "z": 1}
    predicted: dict[str, Any] = {"a": "y", "r": [{"k": "1"}]}
    ev = xb.evaluate(schema, gold, predicted)
    expected = xb.evaluate(schema, copy.deepcopy(gold), copy.deepcopy(predicted))
    frames = [expected.fields, expected.matches, expected.warnings, expected.summary.to_frame()]
    gold["r"][0]["k"] = "changed"
    gold["more"] = {"undeclared": 5}
    predicted["r"].append({"k": "changed"})
    found = [ev.fields, ev.matches, ev.warnings, ev.summary.to_frame()]
    for one, two in zip(found, frames, strict=True):
        pd.testing.assert_frame_equal(one, two)


CARDS = {
    "strict": """\
Evaluation (strict): pass_rate 0.800 · overall_score 0.800 · field_score 0.667
  4 of 5 fields pass: 4 correct, 1 incorrect
  pass_rate 0.800 because `c` fails (gold "2", predicted "9"); without that 1.000
  0.000 $.c  incorrect (value_mismatch)""",
    "paper": """\
Evaluation (paper): pass_rate 0.667 · overall_score 0.800 · field_score 0.667
  2 of 3 fields pass: 2 correct, 1 incorrect
  pass_rate 0.667 because `c` fails (gold "2", predicted "9"); without that 1.000
  0.000 $.c  incorrect (value_mismatch)""",
}


@pytest.mark.parametrize("profile", CARDS)
def test_card_text(profile: str) -> None:
    schema = obj(a={"type": "array", "items": STRING}, b=STRING, c=STRING)
    gold = {"a": ["x", "y", "z"], "b": "1", "c": "2"}
    ev = xb.evaluate(schema, gold, {**gold, "c": "9"}, profile=profile)
    assert repr(ev) == CARDS[profile]


@pytest.mark.parametrize("profile", CARDS)
def test_card_html_has_the_arrays_that_differ(profile: str) -> None:
    inner = obj(k=STRING, t={"type": "array", "items": STRING})
    schema = obj(outer={"type": "array", "items": inner})
    gold = {"outer": [{"k": "1", "t": ["x", "y"]}, {"k": "2"}]}
    predicted = {"outer": [{"k": "1", "t": ["x", "z"]}]}
    ev = xb.evaluate(schema, gold, predicted, profile=profile)
    copied = pickle.loads(pickle.dumps(ev))  # noqa: S301
    for html in (ev._repr_html_(), copied._repr_html_()):
        assert "arrays that differ" in html
        assert [cells[0] for cells in card_tables(html)[-1][1:]] == ["outer"]


def card_tables(html: str) -> list[list[list[str]]]:
    """Return the texts of the tables of a card, heads first."""
    tables = re.findall(r"<table>(.*?)</table>", html, re.DOTALL)
    rows = [re.findall(r"<tr>(.*?)</tr>", table) for table in tables]
    plain = re.compile(r"<[^>]+>")
    return [
        [[plain.sub("", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in some]
        for some in rows
    ]


def test_a_card_has_one_headline_its_cause_and_each_array_once() -> None:
    schema = obj(about=STRING, tags={"type": "array", "items": STRING}, name=STRING)
    same = "A long text that is the same in both of them for more than sixty characters, and "
    gold = {"about": same + "ends like this", "tags": ["a", "b"], "name": "x"}
    predicted = {"about": same + "ends like that", "tags": ["a", "c"], "name": "x"}
    html = xb.evaluate(schema, gold, predicted, profile="paper")._repr_html_()
    assert re.findall(r'<b class="xb-score"[^>]*>(.*?)</b>', html) == ["0.333"]
    assert "<code>about</code> (different values)" in html
    (heads, *fields), (_, *arrays) = card_tables(html)
    assert heads == ["worst fields", "outcome", "reason", "gold", "predicted", "score"]
    assert [row[0] for row in fields] == ["$.about"]
    assert fields[0][3:5] == ["…ends like this", "…ends like that"]
    assert [row[0] for row in arrays] == ["tags"]


HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'


def test_card_html_is_static_compact_and_escaped() -> None:
    schema = obj(**{HOSTILE: STRING}, m={"type": "object", "additionalProperties": STRING},
                 a={"type": "array", "items": obj(**{HOSTILE: STRING})})  # fmt: skip
    gold = {HOSTILE: HOSTILE, "m": {HOSTILE: HOSTILE}, "a": [{HOSTILE: HOSTILE}]}
    predicted = {HOSTILE: "x" + HOSTILE, "m": {"k" + HOSTILE: HOSTILE}, "a": [{HOSTILE: "\ud800"}]}
    html = xb.evaluate(schema, gold, predicted)._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert not re.search(r"<[^>]+\son\w+=", html)
    assert "&lt;script&gt;" in html
    html.encode("utf-8")


def test_card_has_budgets() -> None:
    schema = obj(**{f"f{i}": STRING for i in range(500)},
                 **{f"a{i}": {"type": "array", "items": STRING} for i in range(50)})  # fmt: skip
    gold = {f"f{i}": "long text " * 100 for i in range(500)} | {f"a{i}": ["x"] for i in range(50)}
    ev = xb.evaluate(schema, gold, {})
    assert len(ev._repr_html_()) < 12_000
    assert len(repr(ev).splitlines()) < 12
    assert ".arrays has them" in ev._repr_html_()


MIXED = {
    "type": "object",
    "properties": {"a": {}, "b": {"type": "array", "items": {"type": "string"}}, "c": {}},
}


def test_parquet_takes_values_of_several_types_in_one_column(tmp_path: Path) -> None:
    gold = {"a": 1, "b": ["x"], "c": {"k": None}}
    ev = xb.evaluate(MIXED, gold, {"a": "one", "b": ["x"], "c": [1.5]}, profile="strict")
    assert ev.to_parquet(str(tmp_path)) == tmp_path
    read = {file.stem: pd.read_parquet(file) for file in tmp_path.iterdir()}
    names = {"fields", "arrays", "matches", "judge_calls", "summary", "warnings"}
    assert read.keys() == names
    for name in names - {"summary"}:
        frame = getattr(ev, name)
        assert (len(read[name]), list(read[name])) == (len(frame), list(frame))
    for side in ("gold", "predicted"):
        assert [*map(json.loads, read["fields"][side])] == ev.fields[side].tolist()
    assert read["summary"].iloc[0].to_dict() == ev.summary.to_dict()
    assert read["fields"]["score"].tolist() == ev.fields["score"].tolist()
