"""Structural errors never stop an evaluation; faults of gold are the annotation's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from tests.evaluation.schemas import NUMBER, STRING, obj

OBJECT = {"type": "object", "properties": {"k": STRING}}
ARRAY = {"type": "array", "items": STRING}

#: A node of every kind, with a gold value of that kind.
NODES: dict[str, tuple[Any, Any]] = {
    "string": (STRING, "gold"),
    "number": (NUMBER, 2.5),
    "integer": ({"type": "integer"}, 7),
    "boolean": ({"type": "boolean"}, True),
    "array": (ARRAY, ["gold"]),
    "object": (OBJECT, {"k": "gold"}),
    "map": ({"type": "object", "additionalProperties": STRING}, {"k": "gold"}),
    "union": ({"anyOf": [STRING, {"type": "null"}]}, "gold"),
}
#: A predicted value of every JSON type.
VALUES: dict[str, Any] = {
    "string": "other",
    "number": 3,
    "fraction": 3.75,
    "boolean": False,
    "array": ["other"],
    "empty array": [],
    "object": {"k": "other"},
    "empty object": {},
}
TYPES = {
    "string": "string",
    "number": "number",
    "fraction": "number",
    "boolean": "boolean",
    "array": "array",
    "empty array": "array",
    "object": "object",
    "empty object": "object",
}
ALLOWED = {"integer": "number", "map": "object", "union": "string"}


def expected(kind: str, value: str) -> str:
    """The outcome of the node's own row, where gold is present."""
    if TYPES[value] != ALLOWED.get(kind, kind):
        return "structural"
    return "omission" if value.startswith("empty") else "incorrect"


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("kind", NODES)
def test_every_type_against_every_node(kind: str, value: str, profile: str) -> None:
    schema, gold = NODES[kind]
    documents = {"a": gold, "after": "x"}, {"a": VALUES[value], "after": "x"}
    ev = xb.evaluate(obj(a=schema, after=STRING), *documents, profile=profile)
    rows = ev.fields.set_index("path")
    path = {"object": "$.a.k", "map": "$.a['k']"}.get(kind, "$.a")
    outcome = expected(kind, value)
    assert rows.loc[path, "outcome"] == outcome
    assert rows.loc[path, "score"] == 0
    assert rows.loc[path, "counted"] == (kind != "array" or profile == "paper")
    assert rows.loc["$.after", "outcome"] == "correct", "the rest is evaluated"
    assert ev.summary["structural"] == (outcome == "structural")
    if outcome == "structural":
        assert rows.loc[path, "reason"] == "type_mismatch"


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("kind", [k for k in NODES if k not in ("object", "map")])
def test_states_win_where_gold_is_absent(kind: str, value: str) -> None:
    schema, _ = NODES[kind]
    ev = xb.evaluate(obj(a=schema), {}, {"a": VALUES[value]})
    both_absent = kind == "array" and value == "empty array"
    outcome = "both_absent" if both_absent else "hallucination"
    assert ev.fields.loc[0, "outcome"] == outcome
    assert ev.summary["structural"] == 0


BROKEN = [
    pytest.param(["x"], id="array"),
    pytest.param("x", id="text"),
    pytest.param(5, id="number"),
    pytest.param(True, id="boolean"),
]


@pytest.mark.parametrize("broken", BROKEN)
def test_below_a_broken_object(broken: Any) -> None:
    inner = obj(x=STRING, absent=STRING, null=STRING, deep=OBJECT, list=ARRAY, none=ARRAY)
    gold = {"x": "1", "null": None, "deep": {"k": "2"}, "list": ["3"], "none": []}
    ev = xb.evaluate(
        obj(a=inner, after=STRING), {"a": gold, "after": "x"}, {"a": broken, "after": "x"}
    )
    assert ev.fields[["path", "outcome", "score"]].to_numpy().tolist() == [
        ["$.a.x", "structural", 0.0],
        ["$.a.absent", "both_absent", 1.0],
        ["$.a.null", "both_absent", 1.0],
        ["$.a.deep.k", "structural", 0.0],
        ["$.a.list", "structural", 0.0],
        ["$.a.list[0]", "structural", 0.0],
        ["$.a.none", "both_absent", 1.0],
        ["$.after", "correct", 1.0],
    ]
    assert ev.matches[["path", "status"]].to_numpy().tolist() == [["$.a.list", "missed"]]


@pytest.mark.parametrize("broken", [*BROKEN, pytest.param({"k": "x"}, id="object")])
def test_broken_array_keeps_its_missed_items(broken: Any) -> None:
    if isinstance(broken, list):
        broken = "x"
    ev = xb.evaluate(obj(a=ARRAY), {"a": ["1", "2"]}, {"a": broken})
    rows = ev.fields[["path", "outcome"]].to_numpy().tolist()
    assert rows == [[path, "structural"] for path in ("$.a", "$.a[0]", "$.a[1]")]
    counts = ["gold_items", "predicted_items", "matched", "differing", "missed", "spurious"]
    assert ev.arrays[counts].to_numpy().tolist() == [[2, 0, 0, 0, 2, 0]]
    assert ev.matches["status"].tolist() == ["missed", "missed"]


@pytest.mark.parametrize("root", [*BROKEN, pytest.param([], id="empty array")])
def test_root_of_the_wrong_type(root: Any) -> None:
    predicted = root if not isinstance(root, str) else '"x"'
    ev = xb.evaluate(obj(a=STRING, b=STRING, c=ARRAY), {"a": "1", "c": ["2"]}, predicted)
    assert ev.fields[["path", "outcome"]].to_numpy().tolist() == [
        ["$.a", "structural"],
        ["$.b", "both_absent"],
        ["$.c", "structural"],
        ["$.c[0]", "structural"],
    ]


UNPARSABLE = [
    "",
    "   ",
    "{",
    '{"a": }',
    "Sure! Here is the JSON:",
    "[" * 100_000,
    "```json\n{}\n```",
]


@pytest.mark.parametrize("text", UNPARSABLE, ids=lambda text: repr(text[:12]))
@pytest.mark.parametrize("as_file", [False, True], ids=["text", "file"])
def test_unparsable_prediction_is_one_structural_row(
    text: str, as_file: bool, tmp_path: Path
) -> None:
    path = tmp_path / "predicted.json"
    path.write_text(text, encoding="utf-8")
    ev = xb.evaluate(obj(a=STRING, b=ARRAY), {"a": "1", "b": ["x"]}, path if as_file else text)
    columns = ["path", "outcome", "reason", "score", "passed", "counted"]
    assert ev.fields[columns].to_numpy().tolist() == [
        ["$", "structural", "unparsable_json", 0.0, False, True]
    ]
    assert ev.summary[["evaluated", "structural", "passed", "overall_score"]].tolist() == [
        1,
        1,
        0,
        0,
    ]
    assert "unparsable_json" in ev.warnings["kind"].tolist()
    assert ("xb.read_outputs" in ev.warnings["message"].iloc[0]) == ("```" in text)


def test_prediction_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "predicted.json"
    path.write_bytes(b'{"a": "\xff\xfe"}')
    ev = xb.evaluate(obj(a=STRING), {"a": "1"}, path)
    assert ev.fields["reason"].tolist() == ["unparsable_json"]


def test_missing_files_and_bad_gold_are_errors(tmp_path: Path) -> None:
    with pytest.raises(
        xb.InputError, match=r"predicted file '.*gone.json' cannot be read: No such"
    ):
        xb.evaluate(obj(a=STRING), {}, tmp_path / "gone.json")
    with pytest.raises(xb.InputError, match=r"gold file '.*gone.json' cannot be read: No such"):
        xb.evaluate(obj(a=STRING), tmp_path / "gone.json", {})
    with pytest.raises(xb.InputError, match=r"gold text is not JSON: .* at line 1 column 2"):
        xb.evaluate(obj(a=STRING), "{", {})
    with pytest.raises(xb.InputError, match=r"for a file pass pathlib.Path"):
        xb.evaluate(obj(a=STRING), "doc.gold.json", {})
    with pytest.raises(xb.InputError, match="gold is bytes; pass str, a Path or the parsed value"):
        xb.evaluate(obj(a=STRING), b"{}", {})


VIOLATIONS = [
    pytest.param({"enum": ["x", "y"], "type": "string"}, "x", "z", "enum", id="enum"),
    pytest.param({"type": "string", "format": "date"}, "2024-01-02", "no", "format", id="format"),
    pytest.param({"type": "number", "maximum": 5}, 4, 9, "maximum", id="range"),
    pytest.param({"type": "string", "pattern": "^a"}, "a", "b", "pattern", id="pattern"),
]


@pytest.mark.parametrize("schema, gold, predicted, keyword", VIOLATIONS)
def test_other_violations_are_warnings(
    schema: Any, gold: Any, predicted: Any, keyword: str
) -> None:
    ev = xb.evaluate(obj(a=schema), {"a": gold}, {"a": predicted})
    assert ev.fields["outcome"].tolist() == ["incorrect"]
    found = ev.warnings[["side", "path", "kind"]].to_numpy().tolist()
    assert found == [["predicted", "$.a", keyword]]
    assert xb.evaluate(obj(a=schema), {"a": predicted}, {"a": predicted}).summary["passed"] == 1


FORMATS = {
    # format: texts that have it, texts that do not
    "date-time": (
        ["2024-02-29T12:00:00Z", "2024-01-01t23:59:59.125+01:00", "2024-01-01T00:00:00"],
        ["2023-02-29T12:00:00Z", "2024-01-01", "2024-01-01 00:00:00", "2024-01-01T24:00:00Z"],
    ),
    "time": (["23:59:59Z", "00:00:00.5-02:00"], ["24:00:00", "12:00"]),
    "uri": (
        ["http://a.example/x?y=z#f", "mailto:a@b.c", "urn:isbn:1", "http://[::1]:80/", "x:"],
        ["a/b", "//host/x", "http://a b", "http://é", "http://a@b@c", "http://[::1", "x:%zz"],
    ),
    "uri-reference": (["a/b", "//host/x", "#f", "", "./a:b"], ["a b", "1:b", "http://[v.a]"]),
    "hostname": (["a.example", "not a host"], []),  # checked by no library that is always there
}


@pytest.mark.parametrize("form", FORMATS)
def test_formats_are_checked_in_every_environment(form: str) -> None:
    schema = obj(a={"type": "string", "format": form})
    for is_right, texts in zip((True, False), FORMATS[form], strict=True):
        for text in texts:
            warnings = xb.evaluate(schema, {"a": text}, {"a": text}).warnings
            assert warnings.empty == is_right, text


GOLD_FAULTS = [
    # schema, gold, predicted, outcome
    pytest.param(STRING, 1, "1", "correct", id="1 as text"),
    pytest.param(STRING, 1, 1, "correct", id="1 as 1"),
    pytest.param(STRING, 1, "2", "incorrect", id="another text"),
    pytest.param(STRING, 1, 2, "incorrect", id="another number"),
    pytest.param(STRING, 1, True, "structural", id="a third type"),
    pytest.param(STRING, 1, ["1"], "structural", id="a list"),
    pytest.param(STRING, True, "true", "correct", id="boolean as text"),
    pytest.param(NUMBER, "3.5", 3.5, "correct", id="text as number"),
    pytest.param(NUMBER, "33–37", "33–37", "correct", id="range as text"),
    pytest.param(NUMBER, "33–37", "90–99", "incorrect", id="another range"),
    pytest.param({"type": "integer"}, "3", 3, "correct", id="text as integer"),
    pytest.param({"type": "boolean"}, "true", True, "correct", id="text as boolean"),
    pytest.param({"type": "boolean"}, "yes", "no", "incorrect", id="two texts that are none"),
    pytest.param(STRING, {"k": 1}, {"k": 1}, "correct", id="object, equal"),
    pytest.param(STRING, {"k": 1}, {"k": 2}, "incorrect", id="object, differs"),
    pytest.param(STRING, {"k": "x"}, "x", "incorrect", id="text against an object"),
    pytest.param(STRING, ["x"], "x", "incorrect", id="text against a list"),
    pytest.param(OBJECT, "x", "x", "correct", id="text where an object is declared"),
    pytest.param(OBJECT, "x", {"k": "x"}, "incorrect", id="object against text"),
    pytest.param(OBJECT, ["x"], {"k": "x"}, "incorrect", id="containers of two kinds"),
    pytest.param(OBJECT, "x", 5, "structural", id="a third type for an object"),
    pytest.param(ARRAY, {"k": "x"}, ["x"], "incorrect", id="list against an object"),
    pytest.param(ARRAY, "x", "x", "correct", id="text where an array is declared"),
    pytest.param(ARRAY, "x", ["x"], "incorrect", id="list against text"),
    pytest.param(ARRAY, "x", None, "omission", id="states come first"),
]


@pytest.mark.parametrize("schema, gold, predicted, outcome", GOLD_FAULTS)
def test_fault_of_gold(schema: Any, gold: Any, predicted: Any, outcome: str) -> None:
    ev = xb.evaluate(obj(a=schema), {"a": gold}, {"a": predicted}, profile="paper")
    assert ev.fields[["path", "outcome"]].to_numpy().tolist() == [["$.a", outcome]]
    assert ["gold", "$.a", "type"] in ev.warnings[["side", "path", "kind"]].to_numpy().tolist()


CITATION = obj(authors={"type": "array", "items": STRING}, title=STRING, year={"type": "integer"})
GOLD = [
    "Y. LeCun, B. Boser. Backpropagation applied to zip codes. 1989",
    "J. Hopfield. Neural networks and physical systems. 1982",
]
PREDICTED = [
    {"authors": ["J. Hopfield"], "title": "Neural networks and physical systems", "year": 1982},
    {
        "authors": ["Y. LeCun", "B. Boser"],
        "title": "Backpropagation applied to zip codes",
        "year": 1989,
    },
    {"authors": ["Z. Zed"], "title": "Quite unrelated cooking recipes", "year": 2024},
]


WHOLE_ITEMS: dict[str, list[list[Any]]] = {
    "paper": [["$.citations", "incorrect", True]],
    "strict": [
        ["$.citations", "incorrect", False],
        ["$.citations[0]", "incorrect", True],
        ["$.citations[1]", "incorrect", True],
    ],
}


@pytest.mark.parametrize("profile", WHOLE_ITEMS)
def test_text_items_where_objects_are_declared_align_as_differing(profile: str) -> None:
    ev = xb.evaluate(
        obj(citations={"type": "array", "items": CITATION}),
        {"citations": GOLD},
        {"citations": PREDICTED},
        profile=profile,
    )
    paired = ev.fields[~ev.fields["path"].str.contains("[+2]", regex=False)]
    columns = ["path", "outcome", "counted"]
    assert paired[columns].to_numpy().tolist() == WHOLE_ITEMS[profile]
    assert (paired["reason"] == "gold_type_mismatch").all()
    assert (paired["score"] == 0).all()
    counts = ["gold_items", "predicted_items", "matched", "differing", "missed", "spurious"]
    assert ev.arrays[counts].to_numpy().tolist() == [[2, 3, 0, 2, 0, 1]]
    pairs = ev.matches[["gold_index", "predicted_index", "status"]].astype(object)
    assert pairs.where(pairs.notna(), None).to_numpy().tolist() == [
        [0, 1, "differing"],
        [1, 0, "differing"],
        [None, 2, "spurious"],
    ]
    assert (ev.matches["similarity"][:2] >= 0.5).all()
    kinds = ev.warnings[["side", "kind"]].to_numpy().tolist()
    assert kinds.count(["gold", "type"]) == 2


def test_broken_items_inside_arrays() -> None:
    schema = obj(a={"type": "array", "items": obj(k=STRING, n=NUMBER)})
    gold = {"a": [{"k": "x", "n": 1}, {"k": "y", "n": 2}]}
    ev = xb.evaluate(schema, gold, {"a": [{"k": "x", "n": "one"}, 5]})
    rows = ev.fields[["path", "outcome", "counted"]].to_numpy().tolist()
    assert rows == [
        ["$.a", "incorrect", False],
        ["$.a[0].k", "correct", True],
        ["$.a[0].n", "structural", True],
        ["$.a[1].k", "omission", True],
        ["$.a[1].n", "omission", True],
        ["$.a[+1]", "hallucination", True],
    ]
    assert ev.arrays.loc[0, ["matched", "differing", "missed", "spurious"]].tolist() == [0, 1, 1, 1]
    assert ev.summary["structural"] == 1
    assert (
        xb.evaluate(schema, gold, {"a": [{"k": "x", "n": "one"}, 5]}, profile="paper").summary[
            "structural"
        ]
        == 0
    )


def test_the_value_in_place_of_a_container_is_shown() -> None:
    inner = obj(x=NUMBER, deep=OBJECT, list=ARRAY, absent=STRING)
    gold = {"x": 1, "deep": {"k": "2"}, "list": ["3"]}
    columns = ["path", "predicted", "predicted_state"]
    fields = xb.evaluate(obj(a=inner), {"a": gold}, {"a": 950}).fields
    shown = fields[columns].astype(object).to_numpy().tolist()
    assert shown == [
        ["$.a.x", 950, "present"],
        ["$.a.deep.k", 950, "present"],
        ["$.a.list", 950, "present"],
        ["$.a.list[0]", 950, "present"],
        ["$.a.absent", None, "missing"],
    ]
    missed = xb.evaluate(obj(a={"type": "array", "items": inner}), {"a": [gold]}, {"a": 950}).fields
    assert missed.loc[missed["path"] == "$.a[0].x", "predicted"].tolist() == [950]


LENIENT = {"metric_id": "number_tolerance", "params": {"parse": "lenient"}}
WHOLE = {"metric_id": "integer_exact", "params": {"parse": "lenient"}}
READ = [
    # type, config, gold, predicted, outcome
    ("number", LENIENT, 1000, "1,000.00", "correct"),
    ("number", LENIENT, 1000, "$1,001.5", "incorrect"),
    ("number", LENIENT, -5.5, "(5.5)", "correct"),
    ("number", LENIENT, 1000, "n/a", "structural"),
    ("number", LENIENT, 5, "<5", "structural"),
    ("number", LENIENT, 5, "5-", "structural"),
    ("number", LENIENT, 1000, True, "structural"),
    ("number", LENIENT, 1000, ["1000"], "structural"),
    ("number", "number_tolerance", 1000, "1,000.00", "structural"),
    ("integer", WHOLE, 1000, "1,000", "correct"),
    (["number", "null"], LENIENT, 1000, "1,000", "correct"),
]


@pytest.mark.parametrize("kind, config, gold, predicted, outcome", READ)
def test_texts_are_numbers_where_the_schema_reads_them_so(
    kind: Any, config: Any, gold: Any, predicted: Any, outcome: str
) -> None:
    schema = obj(a={"type": kind, "evaluation_config": config})
    assert xb.evaluate(schema, {"a": gold}, {"a": predicted}).fields["outcome"].tolist() == [
        outcome
    ]
    items = {"type": "array", "items": schema}
    matched = xb.evaluate(items, [{"a": gold}], [{"a": predicted}]).arrays["matched"].tolist()
    assert matched == [int(outcome == "correct")]


FREE = [
    ({"x": 1, "y": [1.0, {"z": -0.0}]}, {"x": 1.0, "y": [1, {"z": 0}]}, True),
    ([10**23], [1e23], True),
    ({"x": 1}, {"x": True}, False),
    ({"x": 1}, {"x": "1"}, False),
    ([1.5], [1], False),
]


@pytest.mark.parametrize("gold, predicted, same", FREE)
def test_free_json_has_one_kind_of_number(gold: Any, predicted: Any, same: bool) -> None:
    for schema in ({}, {"type": "array", "items": {}}):
        wrapped = [[gold], [predicted]] if schema else [gold, predicted]
        ev = xb.evaluate(obj(a=schema), {"a": wrapped[0]}, {"a": wrapped[1]})
        assert ev.summary["pass_rate"] == same


@pytest.mark.parametrize(
    "gold, predicted, type_name, reason",
    [
        (["a"], [{"z": "1"}], "object", "gold_type_mismatch"),
        (["a"], ["b"], "object", "items_differ"),
        ([1, 2], ["x"], "string", "items_differ"),
        ([{"z": 1}], [{"z": 2}], "string", "items_differ"),
    ],
)
def test_an_array_says_that_its_gold_is_of_another_type_if_no_item_can_match(
    gold: Any, predicted: Any, type_name: str, reason: str
) -> None:
    items = {"type": type_name, "properties": {"z": {"type": "string"}}}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": items}}}
    fields = xb.evaluate(schema, {"a": gold}, {"a": predicted}, profile="paper").fields
    assert fields.set_index("path")["reason"]["$.a"] == reason
