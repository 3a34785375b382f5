"""Confidences in outputs: pairs of value and confidence, and log-probabilities of tokens."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb._json import canonical, member
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.confidences import (
    split_confidences,
    token_confidences,
    value_spans,
)
from extractbench_nb.stats.confidences import read_confidences

NUMBER, TEXT = {"type": "number"}, {"type": "string"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


QUANTITY = obj(value=NUMBER, confidence=NUMBER)


def pair(value: Any, confidence: Any = 0.9, **more: Any) -> dict[str, Any]:
    return {"value": value, "confidence": confidence, **more}


@pytest.mark.parametrize(
    "schema, output, value, stated",
    [
        (obj(a=NUMBER), {"a": pair(1)}, {"a": 1}, {"$.a": 0.9}),
        (obj(a=NUMBER), {"a": 1}, {"a": 1}, {}),
        (obj(a=NUMBER), {"a": pair(1, None)}, {"a": 1}, {}),
        (obj(a=NUMBER), {"a": pair(None, 0)}, {"a": None}, {"$.a": 0.0}),
        (obj(a=NUMBER), {"a": pair(1, page=3)}, {"a": 1}, {"$.a": 0.9}),
        (obj(a=NUMBER), {"a": pair("one")}, {"a": "one"}, {"$.a": 0.9}),
        (obj(a=NUMBER), {"b": pair(1)}, {"b": 1}, {"$.b": 0.9}),
        (obj(a=NUMBER), pair({"a": pair(1)}, 0.5), {"a": 1}, {"$": 0.5, "$.a": 0.9}),
        # the schema's own objects
        (obj(q=QUANTITY), {"q": pair(1)}, {"q": pair(1)}, {}),
        (obj(q=QUANTITY), {"q": pair(pair(1), 0.5)}, {"q": pair(1)}, {"$.q": 0.5}),
        (
            obj(q=QUANTITY),
            {"q": {"value": pair(1), "confidence": pair(0.3, 0.8)}},
            {"q": pair(1, 0.3)},
            {"$.q.value": 0.9, "$.q.confidence": 0.8},
        ),
        (obj(q={"anyOf": [{"type": "null"}, QUANTITY]}), {"q": pair(1)}, {"q": pair(1)}, {}),
        (obj(q={"anyOf": [TEXT, NUMBER]}), {"q": pair(1)}, {"q": 1}, {"$.q": 0.9}),
        (
            obj(m={"type": "object", "additionalProperties": NUMBER}),
            {"m": pair(1)},
            {"m": pair(1)},
            {},
        ),
        (
            obj(m={"type": "object", "additionalProperties": obj(x=TEXT)}),
            {"m": pair({"k": pair({"x": "y"})}, 0.4)},
            {"m": {"k": {"x": "y"}}},
            {"$.m": 0.4, "$.m.k": 0.9},
        ),
        (
            obj(q=obj(value=NUMBER, unit=TEXT)),
            {"q": {"value": pair(1), "unit": pair("kg", 0.2)}},
            {"q": {"value": 1, "unit": "kg"}},
            {"$.q.value": 0.9, "$.q.unit": 0.2},
        ),
        (
            obj(a={"type": "array", "items": NUMBER}),
            {"a": pair([pair(1), 2, pair(3, 1)], 0.5)},
            {"a": [1, 2, 3]},
            {"$.a": 0.5, "$.a[0]": 0.9, "$.a[2]": 1.0},
        ),
        (
            obj(**{"odd name": TEXT}),
            {"odd name": pair("x")},
            {"odd name": "x"},
            {"$['odd name']": 0.9},
        ),
    ],
)
def test_pairs_are_split_where_the_schema_has_no_such_object(
    schema: Any, output: Any, value: Any, stated: dict[str, float]
) -> None:
    before = canonical(output)
    found = split_confidences(output, schema, run="r", document="d")
    assert found.value == value
    cells = found.confidences.set_index("path")["confidence"].to_dict()
    assert cells == stated
    assert set(found.confidences["run"]) <= {"r"}
    assert canonical(output) == before
    assert split_confidences(json.dumps(output), schema).value == value
    assert split_confidences(found.value, schema).value == value or "q" in value or "m" in value


NESTED = [
    (pair(pair(12, 0.4), 0.9), 0.4),
    (pair(pair(12, None), 0.9), 0.9),
    (pair(pair(12, 0.4), None), 0.4),
    (pair(pair(pair(12, 0.1), 0.2), 0.3), 0.1),
]


@pytest.mark.parametrize("nested, stated", NESTED)
def test_of_nested_pairs_the_inner_confidence_counts(nested: Any, stated: float) -> None:
    found = split_confidences({"a": nested}, obj(a=NUMBER))
    assert found.value == {"a": 12}
    assert found.confidences[["path", "confidence"]].to_numpy().tolist() == [["$.a", stated]]
    read_confidences(found.confidences)


def test_other_keys() -> None:
    found = split_confidences({"a": {"v": 1, "p": 0.3}}, obj(a=NUMBER), value="v", confidence="p")
    assert found.value == {"a": 1}
    with pytest.raises(InputError, match="value and confidence are both 'v'"):
        split_confidences({}, obj(a=NUMBER), value="v", confidence="v")


@pytest.mark.parametrize("stated", [1.5, -0.1, "high", "0.9", True, float("nan"), float("inf")])
def test_confidences_that_are_none(stated: Any) -> None:
    with pytest.raises(InputError) as caught:
        split_confidences({"a": [pair(1, stated)]}, obj(a={"type": "array", "items": NUMBER}))
    assert f"at $.a[0]: confidence is {stated!r}; expected a number" in str(caught.value)


def test_deep_and_recursive_outputs_end() -> None:
    node: dict[str, Any] = {"$ref": "#/$defs/n"}
    schema = {**obj(n=node), "$defs": {"n": {"anyOf": [obj(n=node), NUMBER]}}}
    output: Any = pair(1)
    for _ in range(240):
        output = {"n": output}
    assert split_confidences(output, obj(n=obj())).confidences["confidence"].tolist() == [0.9]
    assert split_confidences({"n": {"n": pair(1)}}, schema).value == {"n": {"n": 1}}


# --- log-probabilities ----------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


def leaves(value: Any, path: str = "$") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        parts = [leaves(inner, path + member(key)) for key, inner in value.items()]
    elif isinstance(value, list) and value:
        parts = [leaves(inner, f"{path}[{i}]") for i, inner in enumerate(value)]
    else:
        return {path: value}
    return {name: leaf for part in parts for name, leaf in part.items()}


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]), st.sampled_from(["", "\ufeff", "```"]))
def test_spans_are_those_of_the_values(
    document: Any, escaped: bool, indent: int | None, wrapper: str
) -> None:
    raw = json.dumps(document, ensure_ascii=escaped, indent=indent)
    if wrapper == "```":
        raw = f"```json\n{raw}\n```"
    elif wrapper:
        raw = wrapper + raw
    found = {}
    for path, begin, end in value_spans(raw):
        text = raw[begin:end]
        is_text = raw[begin - 1 : begin] == '"' and raw[end : end + 1] == '"'
        found[path] = json.loads(f'"{text}"' if is_text else text)
    assert found == leaves(document)


@pytest.mark.parametrize(
    "raw, expected",
    [
        ('{"a": 1, "a": [2, {"b": 3}]}', {"$.a[0]": "2", "$.a[1].b": "3"}),
        ('{"a": {"x": 1}, "a": 22}', {"$.a": "22"}),
        ('{"a": "say \\"no\\", {}[]"}', {"$.a": 'say \\"no\\", {}[]'}),
        (
            '[-1.5e+3,true,null,""]',
            {"$[0]": "-1.5e+3", "$[1]": "true", "$[2]": "null", "$[3]": '""'},
        ),
        ('{"": {"k.k": []}}', {"$['']['k.k']": "[]"}),
    ],
)
def test_spans_of_difficult_texts(raw: str, expected: dict[str, str]) -> None:
    assert {path: raw[begin:end] for path, begin, end in value_spans(raw)} == expected


def outputs(raw: str, tokens: list[str], logs: list[float], **more: Any) -> pd.DataFrame:
    meta = {"logprobs": {"tokens": tokens, "logprobs": logs}}
    return pd.DataFrame([{"run": "r", "document": "d", "raw": raw, "meta": meta, **more}])


def stated(frame: pd.DataFrame, how: str = "mean") -> dict[str, float]:
    found = token_confidences(frame, how=how)
    return dict(zip(found["path"], found["confidence"], strict=True))


def test_a_value_has_the_tokens_that_overlap_it() -> None:
    raw = '{"name": "Zoë 東京", "total": 12.5}'
    tokens = ['{"', "name", '": "', "Zo", "ë 東", '京",', ' "total": 1', "2.", "5}"]
    logs = [-9, -9, -9, -0.1, -0.2, -0.3, -0.4, -0.5, -0.6]
    frame = outputs(raw, tokens, logs)
    assert "".join(tokens) == raw
    for how, name, total in (("mean", -0.2, -0.5), ("min", -0.3, -0.6), ("product", -0.6, -1.5)):
        found = stated(frame, how)
        assert found == pytest.approx({"$.name": math.exp(name), "$.total": math.exp(total)})


def test_tokens_around_the_text_are_left_out() -> None:
    frame = outputs('{"a": 1}', ["<think>", ' {"a": ', "1", "}", "<end>"], [-5, -5, -0.7, -5, -5])
    assert stated(frame) == pytest.approx({"$.a": math.exp(-0.7)})


def test_outputs_without_logprobs_or_json_have_no_rows() -> None:
    good = outputs('{"a": 1}', ['{"a": ', "1", "}"], [0, -9999.0, 0])
    broken = outputs('{"a": 1', ['{"a": ', "1"], [0, 0], document="e")
    without = good.assign(document="f", meta=[{"logprobs": None}])
    frame = pd.concat([good, broken, without])
    assert token_confidences(frame)[["document", "confidence"]].values.tolist() == [["d", 0.0]]
    with pytest.raises(InputError, match="no output has log-probabilities"):
        token_confidences(without)


@pytest.mark.parametrize(
    "logprobs, message",
    [
        ({"tokens": ['{"a": ', "2", "}"], "logprobs": [0, 0, 0]}, "do not spell the text: at char"),
        ({"tokens": ['{"a": '], "logprobs": [0]}, "at character 6 they have '', the text has '1}'"),
        ({"tokens": ['{"a": 1}'], "logprobs": []}, "expected an object with lists tokens and"),
        ({"tokens": ['{"a": 1}'], "logprobs": ["0"]}, "expected an object"),
        ({"tokens": ['{"a": 1}'], "logprobs": [float("nan")]}, "expected an object"),
        ([["x", 0]], "expected an object"),
    ],
)
def test_logprobs_that_cannot_be_used(logprobs: Any, message: str) -> None:
    frame = outputs('{"a": 1}', [], []).assign(meta=[{"logprobs": logprobs}])
    with pytest.raises(InputError) as caught:
        token_confidences(frame)
    assert str(caught.value).startswith("run 'r', document 'd': ")
    assert message in str(caught.value)


def test_an_unknown_way_to_join() -> None:
    with pytest.raises(InputError, match="how is 'median'; "):
        token_confidences(outputs("1", ["1"], [0]), how="median")
