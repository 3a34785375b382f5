"""`feedback`: what a line says, what it costs, how failures are folded."""

from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.stats import FEEDBACK_COLUMNS

NUMBER, TEXT, ITEMS = {"type": "number"}, {"type": "string"}, {"type": "array"}
AUTHORS = ITEMS | {"items": {"type": "object", "properties": {"name": TEXT, "mail": TEXT}}}
UNIT = "give the number in the unit of the field"


def evaluated(properties: dict[str, Any], gold: Any, predicted: Any) -> Any:
    return xb.evaluate({"type": "object", "properties": properties}, gold, predicted)


def lines(source: Any, **options: Any) -> list[str]:
    return str(xb.feedback(source, **options)).splitlines()[1:]


@pytest.mark.parametrize(
    "declared, gold, predicted, expected",
    [
        (NUMBER, 7000, 7, f"`f` a thousand times too small: {UNIT} (is the document in"),
        (NUMBER, 7, 7_000_000, f"`f` a million times too large: {UNIT} (is gold in millions?)"),
        (NUMBER, 7, 70, f"`f` ten times too large: {UNIT}; e.g."),
        (NUMBER, 5, -5, "`f` with the other sign: keep the sign"),
        (NUMBER, 5, "5", "`f` of another JSON type: return the JSON type that the schema declares"),
        (NUMBER, 1190, "1.190,00 €", "`f` of another type: return the type that the schema"),
        (NUMBER | {"type": ["number", "string"]}, 5, [1], "`f` of another type: return the type"),
        (NUMBER, 5, {"x": 1}, "`f` of another type: return the type that the schema declares"),
        (NUMBER, [5], 5, "`f` where gold has another type than the schema: correct the gold value"),
        (TEXT, "Berlin", None, "`f` missing: look for it again; gold has a value"),
        (TEXT, None, "Berlin", "`f` extra: leave it out or null unless the document states it"),
        (TEXT, None, "N/A", "`f` a word for nothing: return null, not a word for it"),
        (TEXT, "N/A", None, "`f` where gold is a word for nothing: correct the gold value, or"),
        (TEXT, "2024-03-05", "2024-05-03", "`f` with day and month swapped: check the order"),
        (TEXT, "Berlin", "Paris", "`f` another value: check the description of the field"),
        (AUTHORS, [{"name": "Al"}, {"name": "Bo"}], [{"name": "Al"}],
         "`f` items missing: list every item, to the last page; e.g. `$.f[1].name` gold `\"Bo\"`"),
        (AUTHORS, [{"name": "Al"}], [{"name": "Al"}, {"name": "Bo", "mail": "b@example.org"}],
         "`f` items extra: list only the items that this field describes; e.g. `$.f[+1].mail`"),
    ],
)  # fmt: skip
def test_a_failure_in_words(declared: Any, gold: Any, predicted: Any, expected: str) -> None:
    [line] = lines(evaluated({"f": declared}, {"f": gold}, {"f": predicted}))
    head, _, cost = line.partition(" (cost ")
    assert (head + cost.partition(")")[2]).startswith(f"- 1 x {expected}")


BATCH = [
    evaluated({"a": NUMBER, "b": NUMBER, "c": TEXT, "d": AUTHORS}, gold, predicted)
    for gold, predicted in [
        ({"a": 1000, "b": 2000, "c": "x"}, {"a": 1, "b": 2, "c": "x"}),
        ({"a": 3000, "b": 4000, "c": "Berlin"}, {"a": 3, "b": 4000, "c": "Paris"}),
        ({"a": 5, "b": 6, "d": [{"name": "Al"}]}, {"a": 5, "b": 6, "d": [{"name": "Al"}]}),
        ({"a": 5, "b": 6}, "no JSON"),
    ]
]


def test_a_batch_in_full() -> None:
    assert str(xb.feedback(BATCH)) == (
        "pass rate 0.500: 8 of 13 fields pass, in 4 outputs\n"
        "- 1 x `$` not JSON (cost 0.250): return one JSON value and nothing else; e.g. `$` in `3`\n"
        "- 3 x `a`, `b` a thousand times too small (cost 0.188): give the number in the unit of "
        "the field (is the document in thousands?); e.g. `$.a` gold `1000`, predicted `1` in `0`; "
        "`$.b` gold `2000`, predicted `2` in `0`\n"
        "- 1 x `c` another value (cost 0.062): check the description of the field against the "
        'examples; e.g. `$.c` gold `"Berlin"`, predicted `"Paris"` in `1`'
    )


def test_the_frame_has_the_lines_as_columns() -> None:
    frame = xb.feedback(BATCH, most=1).frame
    assert {k: str(v) for k, v in frame.dtypes.items()} == {
        k: str(v) for k, v in FEEDBACK_COLUMNS.build().dtypes.items()
    }
    assert frame[["kind", "failures", "outputs"]].to_numpy().tolist() == [
        ["invalid_output", 1, 1], ["power_of_ten", 3, 2], ["other", 1, 1],
    ]  # fmt: skip
    assert frame["fields"].tolist() == [["$"], ["a", "b"], ["c"]]
    assert frame["examples"][2] == [
        {"run": None, "document": "1", "path": "$.c", "gold": "Berlin", "predicted": "Paris",
         "times": 1}
    ]  # fmt: skip


def test_a_cost_is_what_the_repair_gains() -> None:
    properties = dict.fromkeys("abcd", TEXT)
    gold = {name: f"gold {name}" for name in "abcd"}
    predicted = [{**gold, "a": None, "b": "other"}, {**gold, "a": None}, gold]
    found = xb.feedback([evaluated(properties, gold, p) for p in predicted])
    for row in found.frame.to_dict("records"):
        repaired = [p | {name: gold[name] for name in row["fields"]} for p in predicted]
        rates = [evaluated(properties, gold, p).summary["pass_rate"] for p in repaired]
        assert found.pass_rate + row["cost"] == pytest.approx(sum(rates) / 3)
    assert found.frame["fields"].tolist() == [["a"], ["b"]]


def test_all_forms_of_a_source_agree() -> None:
    named = [ev.fields.assign(document=str(n)) for n, ev in enumerate(BATCH)]
    frame = pd.concat(named, ignore_index=True)
    assert lines(frame) == lines({"run": dict(enumerate(BATCH))}) == lines(BATCH)
    assert lines(frame.drop(columns="weight")) == lines(BATCH)


def test_schemas_are_named_and_folded_apart() -> None:
    named = [BATCH[1].fields.assign(schema=name, document=name) for name in ("s", "t")]
    frame = pd.concat([*named, *named[1:]], ignore_index=True)
    assert [line.partition(" (")[0] for line in lines(frame)] == [
        "- 1 x `a` of `s` a thousand times too small",
        "- 1 x `c` of `s` another value",
        "- 1 x `a` of `t` a thousand times too small",
        "- 1 x `c` of `t` another value",
    ]


def test_fields_that_fail_once_are_folded_if_there_are_too_many() -> None:
    gold = {name: f"gold {name}" for name in "abcdef"}
    ev = evaluated(dict.fromkeys(gold, TEXT), gold, gold | dict.fromkeys("abcd") | {"e": "no"})
    assert len(lines(ev)) == 5
    folded = "- 4 x `a`, `b`, `c` and 1 more missing (cost 0.667)"
    assert [line.partition(":")[0] for line in lines(ev, most=2)] == [
        folded, "- 1 x `e` another value (cost 0.167)",
    ]  # fmt: skip
    assert lines(ev, most=1)[1:] == ["- 1 more (cost 0.167)"]


def test_gold_of_another_type_explains_missing_and_extra_items() -> None:
    gold = {"f": ["Al Bo, 2020", "Cy Du, 2021", "Ed Fo, 2022"]}
    found = xb.feedback(evaluated({"f": AUTHORS}, gold, {"f": [{"name": "Al Bo"}]})).frame
    assert set(found["kind"]) == {"gold_type_mismatch", "missing_items"}
    assert found["suggestion"].str.contains("correct the gold value or the schema").all()


def test_nothing_fails_and_nothing_is_scored() -> None:
    assert str(xb.feedback(BATCH[2])) == "pass rate 1.000: 4 of 4 fields pass"
    empty = xb.feedback(xb.evaluate({"type": "object"}, {}, {}))
    assert (str(empty), len(empty.frame)) == ("no field is scored", 0)


def test_hostile_values_stay_in_their_code() -> None:
    value = "a`b\n# head <script>" + "x" * 200
    ev = evaluated({"f": TEXT}, {"f": "gold"}, {"f": value})
    [line] = lines(ev)
    assert line.count("`") == 8
    assert "<script>" not in xb.feedback(ev)._repr_html_()


@pytest.mark.parametrize(
    "source, most, message",
    [
        ([], 10, "an empty list holds no results"),
        (pd.DataFrame({"path": []}), 10, "fields: there is no column 'field'"),
        (BATCH, 0, "most is 0; expected an integer, 1 and up"),
        (BATCH, "3", "most is '3'"),
    ],
)
def test_what_is_refused(source: Any, most: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        xb.feedback(source, most=most)
