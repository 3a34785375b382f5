"""Small promises: states below null, hints, copies, paths of map keys, what people hand over."""

import copy
import pickle
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import extractbench_nb as xb

STRING = {"type": "string"}
EXACT = {"type": "string", "evaluation_config": "string_exact"}
NUMBER = {"type": "number"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def array(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


@pytest.mark.parametrize(
    "gold, predicted, states, reason",
    [
        ({"a": {"q": "x"}}, {"a": None}, ("present", "null"), "predicted_null"),
        ({"a": {"q": "x"}}, {"a": {}}, ("present", "missing"), "predicted_missing"),
        ({"a": {"q": "x"}}, {}, ("present", "missing"), "predicted_missing"),
        ({"a": None}, {"a": {"q": "x"}}, ("null", "present"), "gold_null"),
        ({}, {"a": {"q": "x"}}, ("missing", "present"), "gold_missing"),
        ({"a": None}, {"a": None}, ("null", "null"), "both_null"),
        ({"a": None}, {}, ("null", "missing"), "both_absent"),
    ],
)
def test_null_and_missing_objects_are_told_apart(
    gold: Any, predicted: Any, states: tuple[str, str], reason: str
) -> None:
    row = xb.evaluate(obj(a=obj(q=STRING)), gold, predicted).fields.iloc[0]
    assert (row["gold_state"], row["predicted_state"]) == states
    assert row["reason"] == reason


@pytest.mark.parametrize("gold, predicted", [("x", ["x"]), (["x"], "x")])
def test_text_never_matches_an_array(gold: Any, predicted: Any) -> None:
    schema = obj(a={"anyOf": [STRING, array(STRING)]})
    row = xb.evaluate(schema, {"a": gold}, {"a": predicted}).fields.iloc[0]
    assert (row["outcome"], row["reason"]) == ("incorrect", "branch_mismatch")


def test_items_are_not_required_keys() -> None:
    ev = xb.evaluate(obj(t=array(EXACT)), {"t": ["x", "y"]}, {"t": ["x"]}, profile="strict")
    assert ev.fields.set_index("path").loc["$.t[1]", "reason"] == "predicted_missing"


def test_strict_knows_broken_arrays() -> None:
    schema = obj(a=array(obj(q=STRING)), o=obj(b=array(obj(q=STRING))))
    gold = {"a": [{"q": "x"}], "o": {"b": [{"q": "y"}]}}
    ev = xb.evaluate(schema, gold, {"a": "x", "o": 3}, profile="strict")
    counted = ev.fields[ev.fields["counted"]]
    assert counted[["path", "outcome"]].to_numpy().tolist() == [
        ["$.a[0].q", "structural"],
        ["$.o.b[0].q", "structural"],
    ]


@pytest.mark.parametrize(
    "rows, invented",
    [
        ([{"k": 3}, {"k": 1, "m": 2}], 0),
        ([{"k": 3}, {"k": 1, "m": 2}, {"k": 9}], 1),
        ([{"k": 1, "m": 2, "z": 0}, {"k": 3}], 1),
        ([], 0),
    ],
    ids=["shuffled", "one more", "another key", "none"],
)
def test_strict_undeclared_leaves_have_no_order(rows: list[Any], invented: int) -> None:
    gold = {"a": "x", "rows": [{"k": 1, "m": 2}, {"k": 3}]}
    ev = xb.evaluate(obj(a=STRING), gold, {"a": "x", "rows": rows}, profile="strict")
    assert ev.summary["hallucinations"] == invented


def test_paths_of_map_keys_are_those_of_the_fields() -> None:
    schema = obj(m={"type": "object", "additionalProperties": obj(x={"enum": ["a"]})})
    document = {"m": {"ab": {"x": "b", "y": 1}}}
    ev = xb.evaluate(schema, document, document)
    assert ev.fields["path"].tolist() == ["$.m['ab'].x"]
    found = ev.warnings[ev.warnings["side"] == "gold"].set_index("kind")["path"].to_dict()
    assert found == {"undeclared": "$.m['ab'].y", "enum": "$.m['ab'].x"}


def test_a_config_that_an_object_ignores_is_a_warning() -> None:
    ev = xb.evaluate(obj(a={**obj(q=STRING), "evaluation_config": "string_exact"}), {}, {})
    row = ev.warnings.iloc[0]
    assert (row["side"], row["kind"], row["path"]) == (
        "schema",
        "ignored_config",
        "$.properties.a",
    )


@pytest.mark.parametrize(
    "value, plain",
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.array([1, 2]), [1, 2]),
        ((1, 2), [1, 2]),
        (MappingProxyType({"k": 1}), {"k": 1}),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_notebooks_hold_is_taken_for_json(value: Any, plain: Any) -> None:
    types = {"a": {"type": ["number", "array", "object"]}}
    for gold, predicted in [({"a": value}, {"a": plain}), ({"a": plain}, {"a": value})]:
        assert xb.evaluate(obj(**types), gold, predicted).summary["pass_rate"] == 1.0


def test_gold_that_is_not_json_is_refused_by_place() -> None:
    with pytest.raises(xb.InputError, match=r"gold at \$\.a\[1\] is a set; expected a JSON value"):
        xb.evaluate(obj(a=array(NUMBER)), {"a": [1, {2}]}, {})


@pytest.mark.parametrize("name", ["pred.json", "C:/data/PRED.JSON", "notes.txt"])
def test_a_file_name_given_as_text_gets_a_hint(name: str) -> None:
    hint = "a str is JSON text; for a file pass pathlib.Path"
    assert hint in xb.evaluate(obj(a=STRING), {}, name).fields.loc[0, "reasoning"]
    with pytest.raises(xb.InputError, match=hint):
        xb.evaluate(obj(a=STRING), name, {})


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"judge": xb.OfflineJudge},
            "expected 'offline', the id of a model.*or an object with a name",
        ),
        ({"judge": object()}, "expected 'offline', the id of a model.*or an object with a name"),
        ({"judge": "gpt"}, "unknown judge 'gpt'.*a model is named with its provider"),
        ({"profile": ["paper"]}, r"unknown profile \['paper'\]"),
        ({"alignment": "best"}, "alignment is 'best'; expected 'optimal', 'llm'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        xb.evaluate(obj(a=STRING), {}, {}, **options)


def test_an_aligner_may_change_the_lists_it_gets() -> None:
    def align(gold: list[Any], predicted: list[Any], node: object) -> list[tuple[int, int]]:
        gold.sort()
        predicted.clear()
        return []

    ev = xb.evaluate(obj(a=array(EXACT)), {"a": ["b", "a"]}, {"a": ["b"]}, alignment=align)
    assert ev.matches["gold"].tolist() == ["b", "a", None]


def test_results_pickle_and_copy() -> None:
    node = {"type": "object", "properties": {"v": STRING, "k": array({"$ref": "#/$defs/n"})}}
    schema = {"$defs": {"n": node}, "$ref": "#/$defs/n"}
    ev = xb.evaluate(schema, {"v": "a", "k": [{"v": "b"}]}, {"v": "a"})
    again = pickle.loads(pickle.dumps(ev))  # noqa: S301 - our own bytes
    for other in (again, copy.deepcopy(ev)):
        assert other.fields.equals(ev.fields)
        assert other.summary.equals(ev.summary)
        assert repr(other) == repr(ev)


def test_a_schema_read_as_released_stays_so() -> None:
    schema = obj(a={"type": "string", "evaluation_config": {"metric_id": "mine", "params": {}}})
    ev = xb.evaluate(schema, {"a": "1"}, {"a": "2"}, profile="extract-bench-0.1.0")
    again = pickle.loads(pickle.dumps(ev))  # noqa: S301 - our own bytes
    assert again.fields.equals(ev.fields)
    with pytest.raises(xb.ConfigError, match="unknown metric 'mine'"):
        xb.evaluate(again.schema, {}, {})


def test_unusable_params_are_verdicts_where_nothing_checks_them() -> None:
    config = {"metric_id": "set_f1", "params": {"pass_threshold": "high"}}
    schema = obj(a={"type": "array", "evaluation_config": config}, b=EXACT)
    document = {"a": ["x"], "b": "y"}
    ev = xb.evaluate(schema, document, document, profile="extract-bench-0.1.0")
    assert ev.fields[["outcome", "score"]].to_numpy().tolist() == [
        ["judge_error", 0.0],
        ["correct", 1.0],
    ]


def test_maps_of_arrays_inside_items_are_aligned() -> None:
    skills = {"anyOf": [array(EXACT), {"type": "object", "additionalProperties": array(EXACT)}]}
    skills["evaluation_config"] = "array_llm"
    schema = obj(people=array(obj(name=EXACT, skills=skills)))
    ours = {"name": "same", "skills": {"code": ["C", "SQL"], "speech": ["Dutch"]}}
    others = {"name": "same", "skills": {"code": ["Ada"], "speech": ["Greek", "Latin"]}}
    renamed = {"name": "same", "skills": {"Speech": ["Dutch"], "Code": ["SQL", "C"]}}
    ev = xb.evaluate(schema, {"people": [ours, others]}, {"people": [others, renamed]})
    assert ev.arrays.set_index("path").loc["$.people", "matched"] == 2


def test_keys_of_a_null_map_are_null() -> None:
    schema = obj(m={"type": ["object", "null"], "additionalProperties": EXACT})
    row = xb.evaluate(schema, {"m": None}, {"m": {"k": "v"}}).fields.iloc[0]
    assert (row["gold_state"], row["outcome"]) == ("null", "hallucination")


def test_a_prediction_in_another_encoding_is_structural(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_bytes('{"a": "é"}'.encode("latin-1"))
    row = xb.evaluate(obj(a=STRING), {"a": "é"}, file).fields.iloc[0]
    assert (row["outcome"], row["predicted_state"]) == ("structural", "present")
    assert "not UTF-8" in row["reasoning"]


def test_gold_too_deep_to_compare_is_one_clear_error() -> None:
    node = {"type": "object", "properties": {"k": array({"$ref": "#"})}}
    deep: Any = {}
    for _ in range(3_000):
        deep = {"k": [deep]}
    with pytest.raises(xb.InputError, match="gold has 6001 levels of objects and arrays"):
        xb.evaluate(node, deep, deep)


def test_the_schema_of_a_response_format_is_unwrapped() -> None:
    wrapped = {"type": "json_schema", "json_schema": {"name": "x", "schema": obj(a=STRING)}}
    assert xb.parse_schema(wrapped).to_frame()["field"].tolist() == ["$", "a"]


def test_values_of_different_types_are_shown_in_quotes() -> None:
    html = xb.evaluate(obj(a=NUMBER), {"a": 100.0}, {"a": "100.0"})._repr_html_()
    assert "&quot;100.0&quot;" in html
