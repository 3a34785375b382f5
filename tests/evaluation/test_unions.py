"""anyOf, oneOf, lists of types; maps; maps of arrays."""

from __future__ import annotations

from typing import Any

import pytest

import extractbench_nb as xb
from tests.evaluation.schemas import NULL, NUMBER, STRING, arr, obj

ANY_CASE = {"type": "string", "evaluation_config": "string_case_insensitive"}


def rows(schema: Any, gold: Any, predicted: Any) -> list[list[Any]]:
    fields = xb.evaluate(obj(a=schema), {"a": gold}, {"a": predicted}).fields
    return fields[["path", "metric", "outcome"]].to_numpy().tolist()


UNIONS = [
    pytest.param(
        {"anyOf": [STRING, NUMBER]}, "x", "x", [["$.a", "string_exact", "correct"]], id="s"
    ),
    pytest.param(
        {"anyOf": [{"type": "string"}, NUMBER]},
        2.0,
        2,
        [["$.a", "number_tolerance", "correct"]],
        id="the branch that gold fits",
    ),
    pytest.param(
        {"anyOf": [{"type": "string"}, NUMBER]},
        2.0,
        "2",
        [["$.a", "number_tolerance", "correct"]],
        id="a type of another branch is not structural",
    ),
    pytest.param(
        {"anyOf": [{"type": "string"}, NUMBER]},
        2.0,
        True,
        [["$.a", "number_tolerance", "structural"]],
        id="a type of no branch is",
    ),
    pytest.param(
        {"anyOf": [obj(k=STRING), STRING]},
        {"k": "x"},
        {"k": "y"},
        [["$.a.k", "string_exact", "incorrect"]],
        id="object branch is descended into",
    ),
    pytest.param(
        {"anyOf": [obj(k=STRING), STRING, NULL]},
        {"k": "x"},
        "x",
        [["$.a.k", "string_exact", "incorrect"]],
        id="text where gold has an object, both declared",
    ),
    pytest.param(
        {"anyOf": [obj(k=STRING), STRING, NULL]},
        {"k": "x"},
        5,
        [["$.a.k", "string_exact", "structural"]],
        id="number where gold has an object",
    ),
    pytest.param(
        {"anyOf": [obj(k=STRING), STRING]},
        "x",
        "x",
        [["$.a", "string_exact", "correct"]],
        id="scalar branch",
    ),
    pytest.param(
        {"anyOf": [arr(STRING), {"type": "string"}]},
        ["x"],
        ["x"],
        [["$.a", "array_llm", "correct"], ["$.a[0]", "string_exact", "correct"]],
        id="array branch",
    ),
    pytest.param(
        {"anyOf": [STRING, arr(STRING)]},
        [],
        None,
        [["$.a", "string_exact", "both_absent"]],
        id="empty",
    ),
    pytest.param(
        {"oneOf": [obj(kind={"const": "p"}, x=STRING), obj(kind={"const": "q"}, y=STRING)]},
        {"kind": "q", "y": "1"},
        {"kind": "q", "y": "1"},
        [["$.a.kind", "string_semantic", "correct"], ["$.a.y", "string_exact", "correct"]],
        id="discriminated by const",
    ),
    pytest.param(
        {"anyOf": [{**obj(x=STRING), "required": ["x"]}, {**obj(y=STRING), "required": ["y"]}]},
        {"y": "1"},
        {"y": "1"},
        [["$.a.y", "string_exact", "correct"]],
        id="told apart by required",
    ),
    pytest.param(
        {"type": ["integer", "string", "null"]},
        "x",
        "x",
        [["$.a", "string_semantic", "correct"]],
        id="type list",
    ),
    pytest.param(
        {"anyOf": [{"anyOf": [NUMBER, NULL]}, {"type": "string"}]},
        4,
        4.0,
        [["$.a", "number_tolerance", "correct"]],
        id="union in a union",
    ),
    pytest.param(
        {"anyOf": [STRING, NUMBER, NULL], "evaluation_config": "string_case_insensitive"},
        "X",
        "x",
        [["$.a", "string_case_insensitive", "correct"]],
        id="own config",
    ),
    pytest.param({"anyOf": [NULL]}, None, None, [], id="null only"),
    pytest.param(
        {
            "anyOf": [
                obj(k={"type": ["string", "null"], "enum": ["p", None]}, v=STRING),
                obj(k=STRING, v=ANY_CASE),
            ]
        },
        {"k": "q", "v": "X"},
        {"k": "q", "v": "x"},
        [["$.a.k", "string_exact", "correct"], ["$.a.v", "string_case_insensitive", "correct"]],
        id="told apart by an enum of one branch",
    ),
    pytest.param(
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [{"anyOf": [{**STRING, "enum": ["p"]}, NUMBER]}, {"anyOf": [ANY_CASE]}]
            },
        },
        {"k": "p", "v": "X"},
        {"k": "p", "v": "x"},
        [
            ["$.a['k']", "string_exact", "correct"],
            ["$.a['v']", "string_case_insensitive", "correct"],
        ],
        id="an enum in a union of unions",
    ),
]


@pytest.mark.parametrize("schema, gold, predicted, expected", UNIONS)
def test_union(schema: Any, gold: Any, predicted: Any, expected: Any) -> None:
    found = rows(schema, gold, predicted)
    if expected and expected[0][2] == "both_absent":  # which branch names the metric is open there
        assert [r[2] for r in found] == ["both_absent"]
    else:
        assert found == expected


def test_a_union_is_one_node_at_its_own_path() -> None:
    schema = {"anyOf": [STRING, NUMBER, obj(k=STRING), NULL]}
    ev = xb.evaluate(obj(a=schema), {"a": "x"}, {"a": "x"})
    assert ev.fields[["path", "schema_path", "depth"]].to_numpy().tolist() == [
        ["$.a", "$.properties.a", 1]
    ]
    assert ev.summary["evaluated"] == 1


README = {
    "anyOf": [arr(STRING, "array_llm"), {"type": "object", "additionalProperties": arr(STRING)}]
}


def test_map_of_arrays_under_an_array_metric_is_aligned_flattened() -> None:
    gold = {"cash": ["x", "y"], "term": ["z"]}
    predicted = {"Term": ["z", "w"], "cash": ["y"]}
    ev = xb.evaluate(obj(a=README), {"a": gold}, {"a": predicted}, profile="paper")
    top = ev.fields[ev.fields["counted"]]
    assert top[["path", "metric"]].to_numpy().tolist() == [["$.a", "array_llm"]]
    counts = ["gold_items", "predicted_items", "matched", "missed", "spurious"]
    assert ev.arrays[counts].to_numpy().tolist() == [[3, 3, 2, 1, 1]]
    assert ev.arrays.loc[0, "score"] == pytest.approx(2 / 3)
    inner = ev.fields[~ev.fields["counted"]]["path"].tolist()
    assert inner == ["$.a['cash'][1]", "$.a['term'][0]"]
    assert ev.summary["overall_score"] == pytest.approx(2 / 3)
    strict = xb.evaluate(obj(a=README), {"a": gold}, {"a": predicted}).fields
    assert strict.loc[strict["counted"], ["path", "outcome"]].to_numpy().tolist() == [
        ["$.a['cash'][1]", "correct"],
        ["$.a['term'][0]", "correct"],
        ["$.a['cash'][0]", "omission"],
        ["$.a[+1]", "hallucination"],
    ]


def test_items_under_another_key_do_not_match() -> None:
    documents = {"a": {"cash": ["x"]}}, {"a": {"debt": ["x"]}}
    strict = xb.evaluate(obj(a=README), *documents)
    assert strict.fields.loc[strict.fields["counted"], ["path", "outcome"]].to_numpy().tolist() == [
        ["$.a['cash'][0]", "omission"],
        ["$.a[+0]", "hallucination"],
    ]
    ev = xb.evaluate(obj(a=README), *documents, profile="paper")
    assert ev.arrays.loc[0, ["matched", "differing", "missed", "spurious"]].tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    "gold, predicted, outcome",
    [
        pytest.param({}, {}, "both_absent", id="both empty maps"),
        pytest.param({"k": []}, {"k": []}, "both_absent", id="empty lists"),
        pytest.param({"k": ["x"]}, None, "omission", id="omitted"),
        pytest.param({"k": ["x"]}, {"k": ["x"]}, "correct", id="equal"),
        pytest.param({"k": ["x"]}, ["x"], "incorrect", id="an array for a map"),
        pytest.param({"k": ["x"]}, 5, "structural", id="a number for a map"),
        pytest.param(["x"], ["x"], "correct", id="the array branch"),
    ],
)
def test_map_of_arrays_states(gold: Any, predicted: Any, outcome: str) -> None:
    ev = xb.evaluate(obj(a=README), {"a": gold}, {"a": predicted}, profile="paper")
    top = ev.fields[ev.fields["counted"]]
    assert top["outcome"].tolist() in ([outcome], ["correct"] if outcome == "both_absent" else [])
    assert ev.summary["passed"] == (outcome in ("correct", "both_absent"))


@pytest.mark.parametrize(
    "gold, predicted, counts",
    [
        pytest.param({"k": "x"}, {"k": ["x"]}, [1, 1, 1], id="not an array: one item"),
        pytest.param({"k": ["x"], "n": None}, {"k": ["x"]}, [1, 1, 1], id="null: none"),
        pytest.param({"k": ["x", None]}, {"k": ["x", None]}, [2, 2, 2], id="null in an array: one"),
        pytest.param({"k": ["x"], "l": ["y"]}, {"l": "y", "n": None}, [2, 1, 1], id="predicted"),
        pytest.param({"K": ["x", "y"]}, {"k": ["y"]}, [2, 1, 1], id="the equal one of two"),
    ],
)
def test_items_of_a_map_of_arrays(gold: Any, predicted: Any, counts: list[int]) -> None:
    ev = xb.evaluate(obj(a=README), {"a": gold}, {"a": predicted})
    assert ev.arrays[["gold_items", "predicted_items", "matched"]].to_numpy().tolist() == [counts]
    assert ev.matches.query("status == 'matched'")["similarity"].eq(1.0).all()


MAP = {"type": "object", "additionalProperties": NUMBER}


def test_a_map_is_the_union_of_both_sides_keys() -> None:
    ev = xb.evaluate(obj(m=MAP), {"m": {"a.b": 1, "c": 2}}, {"m": {"c": 3, "d": 4}})
    assert ev.fields[["path", "field", "outcome", "counted"]].to_numpy().tolist() == [
        ["$.m['a.b']", "m.*", "omission", True],
        ["$.m['c']", "m.*", "incorrect", True],
        ["$.m['d']", "m.*", "hallucination", True],
    ]
    assert ev.summary["evaluated"] == 3


def test_map_of_objects_and_of_arrays() -> None:
    schema = {"type": "object", "additionalProperties": obj(v=NUMBER, t=arr(STRING))}
    ev = xb.evaluate(
        obj(m=schema), {"m": {"p": {"v": 1, "t": ["x"]}}}, {"m": {"p": {"v": 1, "t": []}}}
    )
    assert ev.fields[["path", "outcome"]].to_numpy().tolist() == [
        ["$.m['p'].v", "correct"],
        ["$.m['p'].t", "omission"],
        ["$.m['p'].t[0]", "omission"],
    ]
    plain = {"type": "object", "additionalProperties": arr(STRING)}
    ev = xb.evaluate(obj(m=plain), {"m": {"p": ["x", "y"]}}, {"m": {"p": ["y", "x"]}})
    assert ev.arrays[["path", "matched"]].to_numpy().tolist() == [["$.m['p']", 2]]


def test_prefix_items_are_compared_by_position() -> None:
    schema = {"type": "array", "prefixItems": [STRING, STRING], "items": NUMBER}
    ev = xb.evaluate(obj(t=schema), {"t": ["x", "y", 1, 2]}, {"t": ["y", "x", 2, 1]})
    assert ev.arrays.loc[0, ["gold_items", "matched"]].tolist() == [4, 2]
    matched = ev.matches[ev.matches["status"] == "matched"]
    assert matched[["gold_index", "predicted_index"]].to_numpy().tolist() == [[2, 3], [3, 2]]


def test_skip_leaves_the_node_out() -> None:
    schema = obj(
        a={**STRING, "evaluation_config": "skip"},
        b={**arr(STRING), "evaluation_config": "skip"},
        c=STRING,
    )
    ev = xb.evaluate(schema, {"a": "1", "b": ["2"], "c": "3"}, {"a": "9", "b": ["9"], "c": "3"})
    assert ev.fields["path"].tolist() == ["$.c"]
    assert ev.arrays.empty


def test_skip_on_an_object_leaves_out_what_is_below() -> None:
    schema = obj(a={**obj(k=STRING), "evaluation_config": "skip"}, c=STRING)
    ev = xb.evaluate(schema, {"a": {"k": "1"}, "c": "3"}, {"a": {"k": "2"}, "c": "3"})
    assert ev.fields["path"].tolist() == ["$.c"]


def test_a_scalar_metric_of_one_branch_does_not_score_the_array_branch() -> None:
    """As text an array would depend on the order of its items."""
    schema = {"anyOf": [STRING, arr({"type": "integer"}), NULL]}
    assert rows(schema, [1, 2], [2, 1])[0] == ["$.a", "array_llm", "correct"]


def animal(kind: Any, **more: Any) -> dict[str, Any]:
    schema = obj(kind=kind, **more)
    return {**schema, "required": list(schema["properties"])}


CAT = animal({"const": "cat"}, lives={"type": "integer"})
DOG = animal({"const": "dog"}, breed=STRING, age={"type": "integer"})
GOLD_DOG = {"kind": "dog", "breed": "Husky"}  # a required key short
DISCRIMINATED = [
    pytest.param({"oneOf": [CAT, DOG]}, GOLD_DOG, id="const"),
    pytest.param(
        {"anyOf": [obj(kind={"const": "cat"}, breed={"type": "null"}), DOG]},
        GOLD_DOG,
        id="an incomplete branch after a loose one",
    ),
    pytest.param(
        {"oneOf": [animal({"enum": ["cat", 1]}), animal({"enum": ["dog"]}, breed=STRING, x={})]},
        GOLD_DOG,
        id="enum",
    ),
    pytest.param(
        {"anyOf": [{"anyOf": [CAT, DOG]}, NULL]}, GOLD_DOG, id="in a union of the union"
    ),
    pytest.param(
        {"oneOf": [animal({"const": True}), animal({"const": 1}, breed=STRING, x={})]},
        {"kind": 1, "breed": "Husky"},
        id="true is not 1",
    ),
    pytest.param(
        {
            "oneOf": [
                obj(kind={"const": "dog"}, was={"const": "cat"}),
                animal({"const": "cat"}, breed=STRING, x={}),
            ],
            "discriminator": {"propertyName": "kind"},
        },
        {"was": "cat", "kind": "cat", "breed": "Husky"},
        id="propertyName before another key",
    ),
]  # fmt: skip


@pytest.mark.parametrize("union, gold", DISCRIMINATED)
def test_a_discriminator_outranks_completeness(union: Any, gold: Any) -> None:
    found = rows(union, gold, {**gold, "breed": "Poodle", "age": 3})
    assert ["$.a.breed", "string_exact", "incorrect"] in found


def test_a_key_that_a_branch_leaves_open_is_no_discriminator() -> None:
    one = animal({"enum": ["open", "closed"]}, x=STRING)
    two = animal(STRING, y=STRING)
    found = rows({"anyOf": [one, two]}, {"kind": "open", "y": "1"}, {"kind": "open", "y": "1"})
    assert [path for path, _, _ in found] == ["$.a.kind", "$.a.y"]


TREE = {"$ref": "#/$defs/tree"}
DEFS = {"$defs": {"tree": obj(v=STRING, w=STRING, next=TREE)}}
NOTHING = {"type": "object", "additionalProperties": {"anyOf": [obj(p=STRING, q=STRING), NULL]}}
HOLLOW = [
    # schema, predicted; gold has nothing but x
    pytest.param(MAP, {str(i): None for i in range(99)}, id="null entries"),
    pytest.param(
        {"type": "object", "additionalProperties": obj(p=STRING, q=arr(STRING))},
        {str(i): {"p": None, "q": []} for i in range(9)},
        id="empty entries",
    ),
    pytest.param(
        {"type": "object", "additionalProperties": arr(STRING)},
        {"a": [], "b": [None]},
        id="entries of empty arrays",
    ),
    pytest.param(NOTHING, {"a": {}, "b": None}, id="entries of a nullable object"),
    pytest.param(
        {"type": "object", "additionalProperties": {}}, {"a": {"b": [{}]}}, id="free entries"
    ),
    pytest.param(obj(t=TREE), {"t": {"next": {"next": {}}}}, id="empty recursive objects"),
    pytest.param(
        {"anyOf": [STRING, obj(**dict.fromkeys("abcdef", STRING))]}, {}, id="a branch of more keys"
    ),
]


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("schema, predicted", HOLLOW)
def test_rows_that_only_the_prediction_causes_do_not_count(
    schema: Any, predicted: Any, profile: str
) -> None:
    schema = {**obj(a=schema, x=STRING), **DEFS}
    one, two = (
        xb.evaluate(schema, {"x": "1"}, {"x": "2", **more}, profile=profile)
        for more in ({}, {"a": predicted})
    )
    assert one.summary.equals(two.summary)


INVENTED = [
    # schema, predicted, hallucinated paths; gold has nothing but x
    pytest.param(MAP, {"k": 1, "n": None}, ["$.a['k']"], id="one entry of a map"),
    pytest.param(
        {"type": "object", "additionalProperties": obj(p=STRING, q=STRING, r=STRING)},
        {"k": {"q": "1"}},
        ["$.a['k'].q"],
        id="one field of an entry",
    ),
    pytest.param(
        {"type": "object", "additionalProperties": obj(p=STRING, q=STRING)},
        {"k": "text"},
        ["$.a['k']"],
        id="an entry of another type",
    ),
    pytest.param(
        TREE, {"next": {"w": "1", "next": {"v": "2"}}}, ["$.a.next.w", "$.a.next.next.v"], id="tree"
    ),
    pytest.param(
        {"anyOf": [STRING, obj(p=STRING, q=STRING)]}, {"q": "1"}, ["$.a.q"], id="not the first"
    ),
    pytest.param(
        {"anyOf": [CAT, DOG, NULL]},
        {"kind": "dog", "lives": 9, "breed": "x"},
        ["$.a.kind", "$.a.lives", "$.a.breed"],
        id="keys of several branches",
    ),
]  # fmt: skip


@pytest.mark.parametrize("schema, predicted, paths", INVENTED)
def test_what_only_the_prediction_has_is_all_that_counts(
    schema: Any, predicted: Any, paths: list[str]
) -> None:
    schema = {**obj(a=schema, x=STRING), **DEFS}
    fields = xb.evaluate(schema, {"x": "1"}, {"x": "1", "a": predicted}).fields
    below = fields[(fields["path"] != "$.x") & (fields["outcome"] != "both_absent")]
    assert below[["path", "outcome"]].to_numpy().tolist() == [[p, "hallucination"] for p in paths]


@pytest.mark.parametrize(
    "schema, predicted, expected",
    [
        # the only object branch is also what null is resolved to: all its fields count
        ({"anyOf": [obj(p=STRING, q=STRING), NULL]}, {"p": "1"},
         [["$.a.p", "hallucination", "present"], ["$.a.q", "both_absent", "missing"]]),
        # no object is involved: the prediction chooses the branch, whatever it holds
        ({"anyOf": [STRING, arr(STRING), NULL]}, [], [["$.a", "both_absent", "empty"]]),
    ],
)  # fmt: skip
def test_the_branch_of_a_null(schema: Any, predicted: Any, expected: Any) -> None:
    fields = xb.evaluate(obj(a=schema), {"a": None}, {"a": predicted}).fields
    assert fields[["path", "outcome", "predicted_state"]].to_numpy().tolist() == expected


def test_a_map_of_arrays_is_no_array() -> None:
    union = {"anyOf": [README["anyOf"][1], NULL], "evaluation_config": "array_llm"}
    for gold, predicted in ((["x"], {"k": ["x"]}), ({"k": ["x"]}, ["x"])):
        row = xb.evaluate(obj(a=union), {"a": gold}, {"a": predicted}, profile="paper").fields
        assert row.loc[0, ["outcome", "reason"]].tolist() in (
            ["incorrect", "branch_mismatch"],
            ["structural", "type_mismatch"],
        )


def test_a_pair_of_a_tuple_is_never_a_miss_and_an_invention() -> None:
    schema = obj(t={"type": "array", "prefixItems": [NUMBER, NUMBER, NUMBER]})
    ev = xb.evaluate(schema, {"t": [1, 2, 3]}, {"t": [1, 900, None]}, profile="strict")
    assert ev.fields.loc[ev.fields["counted"], ["path", "outcome"]].to_numpy().tolist() == [
        ["$.t[0]", "correct"],
        ["$.t[1]", "incorrect"],
        ["$.t[2]", "omission"],
    ]
    assert ev.matches["status"].tolist() == ["matched", "differing", "differing"]
    assert ev.arrays.loc[0, ["matched", "missed", "spurious"]].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "one, two", [("k1", "k2"), ("[0]", "0"), ("a.b", "a b"), ("é", "e\u0301"), ("A", "a")]
)
def test_two_keys_of_one_map_are_two_keys(one: str, two: str) -> None:
    """However alike they are written."""
    gold, predicted = {one: ["x"], two: ["y"]}, {one: ["y"], two: ["x"]}
    ev = xb.evaluate(obj(a=README), {"a": gold}, {"a": predicted})
    assert ev.summary["overall_score"] == 0
    assert xb.evaluate(obj(a=README), {"a": gold}, {"a": gold}).summary["overall_score"] == 1


@pytest.mark.parametrize(
    "invented, outcome",
    [
        ({"z": 1}, "hallucination"),
        ({"z": [{"k": "x"}]}, "hallucination"),
        ({}, "both_absent"),
        ({"z": None}, "both_absent"),
        ({"k": None}, "both_absent"),
    ],
)
@pytest.mark.parametrize("objects", [obj(k=STRING), {"$ref": "#"}], ids=["object", "tree"])
def test_an_invented_object_of_undeclared_keys(objects: Any, invented: Any, outcome: str) -> None:
    schema = obj(p={"anyOf": [STRING, objects]})
    ev = xb.evaluate(schema, {}, {"p": invented}, profile="paper")
    (row,) = ev.fields.to_dict("records")
    assert (row["path"], row["outcome"]) == ("$.p", outcome)
    assert row["predicted"] == (invented if outcome == "hallucination" else None)


CAUSED = [
    # schema, gold, predicted, what is added to it
    ({"additionalProperties": STRING}, {"k": "x"}, {"k": "y"}, {f"n{i}": None for i in range(9)}),
    ({"additionalProperties": obj(p=STRING, q=STRING)}, {}, {"k": {"p": "x"}}, {"n": {"p": None}}),
    (obj(next={"$ref": "#"}, v=STRING), {"v": "x"}, {"v": "y"}, {"next": {"z": {}}}),
    (obj(next={"$ref": "#"}, v=STRING), {"v": "x"}, {}, {"next": {"next": {"next": {}}}}),
]


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("schema, gold, predicted, added", CAUSED)
def test_absences_that_only_the_prediction_causes_raise_no_rate(
    schema: Any, gold: Any, predicted: Any, added: Any, profile: str
) -> None:
    before = xb.evaluate(schema, gold, predicted, profile=profile).summary
    after = xb.evaluate(schema, gold, predicted | added, profile=profile).summary
    for rate in ("pass_rate", "field_score", "overall_score"):
        assert after[rate] <= before[rate] + 1e-9


BRANCHES = {"anyOf": [{"type": "array"}, {"evaluation_config": "skip"}]}


@pytest.mark.parametrize("value", [{}, {"k": 1}, [], ["x"]], ids=str)
@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_a_skipped_branch_is_no_metric(value: Any, profile: str) -> None:
    ev = xb.evaluate(obj(p=BRANCHES), {"p": value}, {"p": value}, profile=profile)
    assert set(ev.fields["outcome"]) <= {"correct", "both_absent"}


TYPED_BRANCHES: list[tuple[list[Any], list[tuple[Any, str]]]] = [
    (
        [
            {"type": "integer", "evaluation_config": "integer_exact"},
            {"type": "number", "evaluation_config": "number_tolerance"},
            {"type": "string", "evaluation_config": "string_fuzzy"},
        ],
        [
            (1, "integer_exact"),
            (1.5, "number_tolerance"),
            (2.0, "integer_exact"),
            ("x", "string_fuzzy"),
        ],
    ),
    (
        [
            {"enum": ["a", 1], "evaluation_config": "string_exact"},
            {"type": ["string", "number"], "evaluation_config": "string_fuzzy"},
        ],
        [("a", "string_exact"), ("b", "string_fuzzy"), (1, "string_exact"), (2, "string_fuzzy")],
    ),
]


@pytest.mark.parametrize("branches, cases", TYPED_BRANCHES, ids=["numbers", "enum"])
@pytest.mark.parametrize("step", [1, -1])
def test_a_value_chooses_its_branch_whatever_was_chosen_before(
    branches: list[Any], cases: list[tuple[Any, str]], step: int
) -> None:
    schema = xb.schema.parse_schema(obj(v={"anyOf": branches}))
    for value, metric in [*cases, *cases][::step]:
        ev = xb.evaluate(schema, {"v": value}, {"v": value})
        assert ev.fields["metric"].tolist() == [metric]
