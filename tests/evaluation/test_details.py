"""Small promises: states below null, hints, copies, paths of map keys, what people hand over."""

import contextlib
import copy
import math
import pickle
import subprocess
import sys
from collections import deque
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pydantic
import pytest

import extractbench_nb as xb
from extractbench_nb.core.profile_rules import PROFILES
from extractbench_nb.core.schema.validation import Validation
from tests.evaluation.schemas import NUMBER, obj
from tests.waiting import PATIENCE

STRING = {"type": "string"}
EXACT = {"type": "string", "evaluation_config": "string_exact"}


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


class Model(pydantic.BaseModel):
    x: int = 1


@dataclass
class Row:
    x: int = 1


#: Python objects that stand for a document, with a part of what is said about them.
RECORDS = [
    (Row(), "a Row; .*dataclasses.asdict"),
    (Model, "a ModelMetaclass; .*model_dump"),
]


@pytest.mark.parametrize("value, problem", RECORDS, ids=["dataclass", "class"])
def test_dataclasses_and_classes_are_refused(value: Any, problem: str) -> None:
    """As values of an unknown type they would be all wrong."""
    schema = obj(x=NUMBER, y=array(NUMBER))
    for documents, place in (
        ((value, {}), r"gold at \$"),
        (({}, value), r"predicted at \$"),
        (({}, {"y": [1, value]}), r"predicted at \$\.y\[1\]"),
    ):
        with pytest.raises(xb.InputError, match=f"{place} is {problem}"):
            xb.evaluate(schema, *documents)


@pytest.mark.parametrize(
    "value",
    [date(2024, 5, 6), Decimal("1.5"), b"1.5", {1}, object()],
    ids=lambda v: type(v).__name__,
)
def test_other_values_of_python_are_of_a_type_that_no_schema_has(value: Any) -> None:
    ev = xb.evaluate(obj(x=NUMBER), {"x": 1.5}, {"x": value})
    assert ev.fields["outcome"].tolist() == ["structural"]
    assert ev.warnings[["side", "path", "kind"]].to_numpy().tolist() == [
        ["predicted", "$.x", kind] for kind in ("type", "not_json")
    ]
    with pytest.raises(xb.InputError, match=r"gold at \$\.x is a .*model_dump\(mode='json'\)"):
        xb.evaluate(obj(x=NUMBER), {"x": value}, {})


@pytest.mark.parametrize(
    "name, warned",
    [
        *((name, True) for name in ("evaluation_confg", "evaluationConfig", "evalution_config")),
        *((name, False) for name in ("evaluation_config", "evaluation", "x-config", "config")),
    ],
)
def test_a_misspelt_config_is_named(name: str, warned: bool) -> None:
    schema = obj(x={"type": "string", name: "string_exact"}, evaluation_confg=STRING)
    document = {"x": "a", "evaluation_confg": "b"}
    warnings = xb.evaluate(schema, document, document).warnings
    expected = [["schema", "$.properties.x", "unknown_keyword"]] if warned else []
    assert warnings[["side", "path", "kind"]].to_numpy().tolist() == expected
    assert warnings["message"].str.contains("did you mean 'evaluation_config'?").tolist() == (
        [True] * len(expected)
    )


def raising(*names: str) -> Any:
    """An object of which each of these methods raises."""

    def method(*_: Any) -> Any:
        raise RuntimeError

    return type("Raising", (), {"__hash__": object.__hash__, **dict.fromkeys(names, method)})()


ODD = {
    **{type(v).__name__: v for v in (date(2024, 5, 6), Decimal("1.5"), b"x", bytearray(b"x"), 1j)},
    **{type(v).__name__: v for v in ({1}, frozenset({1}), range(2), deque([1]), object(), ...)},
    **{f"array {v.dtype}": v for v in (np.array([1, 2]), np.array([{1}, 2], dtype=object))},
    "not a number": Decimal("sNaN"),
    "not a time": pd.NaT,
    "NA": pd.NA,
    **{
        name: raising(name)
        for name in ("__eq__", "__hash__", "__repr__", "__bool__", "__getattribute__")
    },
}
ITEM = obj(a=STRING, b={"type": "integer"})


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("levels", [260, 400, 5_000])
def test_a_document_that_is_deep_where_nothing_is_compared(levels: int, profile: str) -> None:
    deep: Any = "x"
    for _ in range(levels):
        deep = {"k": deep}
    schema = obj(p={"anyOf": [obj(k={"const": "a"}), obj(k={"enum": [["b"]]})]})
    ev = xb.evaluate(schema, {}, {"p": deep}, profile=profile)
    assert "too_deep" in set(ev.warnings["kind"])
    assert ev.summary["gold_coverage"] == 1
    with pytest.raises(xb.InputError, match="too deep"):
        xb.evaluate(schema, {"p": deep}, {}, profile=profile)


@pytest.mark.parametrize("name", ["pred.json", "C:/data/PRED.JSON", "notes.txt"])
def test_a_file_name_given_as_text_gets_a_hint(name: str) -> None:
    hint = "a str is JSON text; for a file pass pathlib.Path"
    with pytest.warns(UserWarning, match=hint):
        ev = xb.evaluate(obj(a=STRING), {}, name)
    assert hint in ev.fields.loc[0, "reasoning"]
    with pytest.raises(xb.InputError, match=hint):
        xb.evaluate(obj(a=STRING), name, {})


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
        assert other._repr_html_() == ev._repr_html_()


def test_maps_of_arrays_inside_items_are_aligned() -> None:
    skills = {"anyOf": [array(EXACT), {"type": "object", "additionalProperties": array(EXACT)}]}
    skills["evaluation_config"] = "array_llm"
    schema = obj(people=array(obj(name=EXACT, skills=skills)))
    ours = {"name": "same", "skills": {"code": ["C", "SQL"], "speech": ["Dutch"]}}
    others = {"name": "same", "skills": {"code": ["Ada"], "speech": ["Greek", "Latin"]}}
    renamed = {"name": "same", "skills": {"Speech": ["Dutch"], "Code": ["SQL", "C"]}}
    ev = xb.evaluate(schema, {"people": [ours, others]}, {"people": [others, renamed]})
    assert ev.arrays.set_index("path").loc["$.people", "matched"] == 2


def test_the_schema_of_a_response_format_is_unwrapped() -> None:
    wrapped = {"type": "json_schema", "json_schema": {"name": "x", "schema": obj(a=STRING)}}
    assert xb.schema.parse_schema(wrapped).to_frame()["field"].tolist() == ["$", "a"]


BOUNDED = """
import sys
import extractbench_nb as xb

text = {"type": "string", "pattern": "^(a+)+$"}
bomb = "a" * 5_000 + "!"
cases = {
    "pattern": ({"properties": {"a": {"type": "array", "items": text}}}, {"a": [bomb] * 10}),
    "patternProperties": ({"patternProperties": {"^(a+)+$": {}}}, {bomb: 1}),
    "additionalProperties": (
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {bomb: 1}
    ),
    "unevaluatedProperties": (
        {"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False}, {bomb: 1}
    ),
    "propertyNames": ({"type": "object", "propertyNames": text}, {bomb: 1}),
    "uniqueItems": (
        {"properties": {"a": {"type": "array", "uniqueItems": True}}},
        {"a": [{"i": i} for i in range(4_000)]},
    ),
    "enum": (
        {"properties": {"a": {"items": {"enum": [f"v{i}" for i in range(50_000)]}}}},
        {"a": [f"w{i}" for i in range(2_000)]},
    ),
    "doubled": (
        {
            "$defs": {
                **{f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)},
                "d40": {"type": "object"},
            },
            "$ref": "#/$defs/d0",
        },
        {"x": 1},
    ),
    "contains": (
        {"properties": {"a": {"contains": {"anyOf": [{"const": -i} for i in range(1, 300)]}}}},
        {"a": list(range(500))},
    ),
    "another draft inside": (
        {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#", **text}}},
        {"a": bomb},
    ),
}
for case, (schema, document) in cases.items():
    ev = xb.evaluate(schema, document, document)
    assert repr(ev) + ev._repr_html_()
    ev.save(f"{sys.argv[1]}/{case}")
    print(case, *sorted(set(ev.warnings["kind"])), sep=",", flush=True)
"""
#: What the validator says of each; the evaluation itself is not touched.
BOUNDS = {
    "pattern": "not_validated",
    "patternProperties": "nothing_scored undeclared",
    "additionalProperties": "nothing_scored undeclared",
    "unevaluatedProperties": "not_validated nothing_scored undeclared",
    "propertyNames": "not_validated nothing_scored undeclared",
    "uniqueItems": "",
    "enum": "enum",
    "doubled": "not_validated nothing_scored undeclared",
    "contains": "not_validated",
    "another draft inside": "not_validated",
}


def test_validation_ends_whatever_the_schema_says(tmp_path: Path) -> None:
    """In a process of its own, which is killed where it hangs: at the first case not told of."""
    command = [sys.executable, "-c", BOUNDED, str(tmp_path)]
    told = tmp_path / "told.txt"
    with told.open("w") as file, contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, stdout=file, stderr=file, timeout=PATIENCE, check=False)
    expected = [",".join([case, *kinds.split()]) for case, kinds in BOUNDS.items()]
    assert told.read_text().splitlines() == expected


CIRCULAR = {
    "not": {"not": {"$ref": "#"}},
    "if": {"if": {"$ref": "#"}, "then": {}},
    "unevaluatedProperties": {"unevaluatedProperties": False, "if": {"$ref": "#"}},
    "unevaluatedItems": {"unevaluatedItems": False, "if": {"$ref": "#"}},
    "dependentSchemas": {
        "unevaluatedProperties": False,
        "dependentSchemas": {"a": {"$dynamicRef": "#"}},
    },
}


@pytest.mark.parametrize("schema", CIRCULAR.values(), ids=list(CIRCULAR))
def test_circular_validation_ends_at_every_depth_of_the_stack(schema: Any) -> None:
    """What Python's recursion limit meets is not always Python: some callees panic."""

    def below(frames: int) -> list[str]:
        if frames:
            return below(frames - 1)
        return [error.validator for error in Validation(schema).iter_errors({"a": [1]})]

    assert {tuple(below(frames)) for frames in range(30)} == {("not_validated",)}


class Raising:
    """Raises whenever it is looked at."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    __str__ = __repr__


class RaisingText(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def removeprefix(self, prefix: str, /) -> str:
        raise RuntimeError("removeprefix")

    __str__ = lower = strip = __repr__


class RaisingDict(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("items")

    keys = values = __iter__ = items

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("getitem")


CIRCLE: dict[str, Any] = {}
CIRCLE["a"] = [CIRCLE]
SHARED: Any = "x"
for _ in range(40):
    SHARED = [SHARED, SHARED]
HOSTILE = [
    pytest.param({"a": RaisingText("x")}, 1.0, id="a text that raises"),
    pytest.param({RaisingText("a"): "x"}, 1.0, id="a key that raises"),
    pytest.param(RaisingText('{"a": "x"}'), 1.0, id="JSON text that raises"),
    pytest.param(RaisingDict(a="x"), 1.0, id="a dict that raises"),
    pytest.param({"a": Raising()}, 0.0, id="an object that raises"),
    pytest.param(Raising(), 0.0, id="a document that raises"),
    pytest.param({"a": pd.DataFrame({"x": [1]})}, 0.0, id="a table"),
    pytest.param(CIRCLE, 0.0, id="a circle"),
    pytest.param({"a": SHARED}, 0.0, id="one list many times"),
    pytest.param({"a": 10**5_000}, 0.0, id="a huge number"),
    pytest.param({"a": "\ud800"}, 0.0, id="a lone surrogate"),
    pytest.param(
        {"a": "x", math.nan: 1, 2: 3, None: 4, (5,): 6}, 1.0, id="keys that are not strings"
    ),
]


@pytest.fixture
def few_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of values that is reached in no time."""
    monkeypatch.setattr("extractbench_nb.core.values.MAX_VALUES", 10_000)


@pytest.mark.parametrize("patterns", [{}, {"patternProperties": {"^x": {"type": "string"}}}])
def test_violations_in_a_map_are_in_its_order(patterns: dict[str, Any]) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}, **patterns}
    gold = {f"{name} {n}": "text" for n, name in enumerate("zulu echo alfa kilo mike beta".split())}
    found = xb.evaluate(schema, gold, gold).warnings
    violated = found[(found.side == "gold") & (found.kind == "type")]
    assert violated.path.tolist() == [f"$['{key}']" for key in gold]
