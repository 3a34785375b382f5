"""Cross-field rules of one document: registration, outcomes, findings, and where they are shown."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.core.cross_field_rules import RULES, Rule, as_rule
from extractbench_nb.errors import ConfigError
from tests.evaluation.schemas import NUMBER

pytestmark = pytest.mark.usefixtures("own_rules")

LINES = {"type": "array", "items": {"type": "object", "properties": {"amount": NUMBER}}}
SCHEMA: dict[str, Any] = {
    "title": "Invoice",
    "type": "object",
    "properties": {"lines": LINES, "total": NUMBER},
}
GOLD = {"lines": [{"amount": 2}, {"amount": 3}], "total": 5}
RIGHT, WRONG = GOLD, {**GOLD, "total": 50}


def adds_up(doc: Any) -> Any:
    return sum(line["amount"] for line in doc["lines"]) == doc["total"]


def fails(error: BaseException) -> Any:
    def function(doc: Any) -> Any:
        raise error

    return function


def recurses(doc: Any) -> Any:
    return recurses(doc)


def endless(doc: Any) -> Any:
    while True:
        yield "$.a"


def stops(doc: Any) -> Any:
    yield "lines[1]"
    yield doc["nothing"]


EXPECTED = "; expected True, False, None, or paths such as '$.lines[3].amount'"
#: What a rule returns or does; outcome, paths, and the beginning of the message.
RESULTS: list[tuple[Any, str, tuple[str, ...], str | None]] = [
    (lambda doc: True, "holds", (), None),
    (lambda doc: np.True_, "holds", (), None),
    (lambda doc: False, "broken", (), None),
    (lambda doc: None, "not_applicable", (), None),
    (lambda doc: [], "holds", (), None),
    (lambda doc: "$.total", "broken", ("$.total",), None),
    (lambda doc: "total", "broken", ("$.total",), None),
    (lambda doc: "[0].a", "broken", ("$[0].a",), None),
    (lambda doc: "$", "broken", ("$",), None),
    (lambda doc: ["$.a", "$.a", "$['b c'][2]"], "broken", ("$.a", "$['b c'][2]"), None),
    (lambda doc: (f"$.lines[{i}]" for i in range(2)), "broken", ("$.lines[0]", "$.lines[1]"), None),
    (endless, "broken", ("$.a",), None),
    (lambda doc: "", "error", (), f"it returned ''{EXPECTED}"),
    (lambda doc: "$.a[x]", "error", (), f"it returned '$.a[x]'{EXPECTED}"),
    (lambda doc: ["$.a", 3], "error", (), f"it returned ['$.a', 3]{EXPECTED}"),
    (lambda doc: 1, "error", (), f"it returned 1{EXPECTED}"),
    (lambda doc: {"$.a": 1}, "error", (), f"it returned {{'$.a': 1}}{EXPECTED}"),
    (lambda doc: b"$.a", "error", (), f"it returned b'$.a'{EXPECTED}"),
    (stops, "error", (), "KeyError: 'nothing'"),
    (fails(ValueError()), "error", (), "ValueError"),
    (recurses, "error", (), "RecursionError: maximum recursion depth"),
]


@pytest.mark.parametrize("function, outcome, paths, message", RESULTS)
def test_outcome_of_what_a_rule_returns(
    function: Any, outcome: str, paths: tuple[str, ...], message: str | None
):
    found = as_rule(function, "r").check(GOLD)
    assert (found.outcome, found.paths) == (outcome, paths)
    if message is None:
        assert found.message is None
    else:
        assert found.message is not None
        assert found.message.startswith(message)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(max_size=3), inner)
        | st.frozensets(st.text(max_size=5))
    ),
    max_leaves=8,
)


@given(values)
def test_any_result_gives_a_declared_outcome(value: Any):
    found = Rule("r", lambda doc: value).check({})
    assert found.outcome in Rule.OUTCOMES.split(", ")
    assert (found.message is not None) == (found.outcome == "error")
    assert all(path.startswith("$") for path in found.paths)


def test_a_rule_cannot_change_the_documents():
    def destroys(doc: Any) -> Any:
        doc["lines"].clear()
        doc["total"] = 0

    xb.rule(destroys)
    xb.rule(adds_up)
    gold, predicted = copy.deepcopy(GOLD), copy.deepcopy(WRONG)
    ev = xb.evaluate(SCHEMA, gold, predicted)
    before = ev.fields
    assert ev.rules["outcome_gold"].tolist() == ["not_applicable", "holds"]
    assert (gold, predicted) == (GOLD, WRONG)
    assert ev.inputs.gold == GOLD
    assert ev.fields.equals(before)


def _missing(doc: Any) -> Any:
    return doc["nothing"]


def _not_here(doc: Any) -> Any:
    return None


@pytest.mark.parametrize(
    "function, gold, predicted, outcomes, finding",
    [
        (adds_up, RIGHT, RIGHT, ("holds", "holds"), None),
        (adds_up, RIGHT, WRONG, ("holds", "broken"), "suspect_prediction"),
        (adds_up, WRONG, RIGHT, ("broken", "holds"), "suspect_gold"),
        (adds_up, WRONG, WRONG, ("broken", "broken"), "suspect_gold"),
        (adds_up, {"total": 1}, WRONG, ("error", "broken"), "suspect_prediction"),
        (adds_up, WRONG, {"total": 1}, ("broken", "error"), "suspect_gold"),
        (adds_up, RIGHT, {"total": 1}, ("holds", "error"), "rule_error"),
        (adds_up, RIGHT, [1], ("holds", "error"), "rule_error"),
        (adds_up, RIGHT, "{not JSON", ("holds", None), None),
        (adds_up, WRONG, "{not JSON", ("broken", None), "suspect_gold"),
        (_missing, RIGHT, RIGHT, ("error", "error"), "rule_error"),
        (_not_here, RIGHT, RIGHT, ("not_applicable", "not_applicable"), None),
    ],
)
def test_findings(
    function: Any, gold: Any, predicted: Any, outcomes: tuple[Any, Any], finding: str | None
):
    xb.rule(function)
    (row,) = xb.evaluate(SCHEMA, gold, predicted).rules.to_dict("records")
    names = ("outcome_gold", "outcome_predicted", "finding")
    found = [None if pd.isna(row[name]) else row[name] for name in names]
    assert found == [*outcomes, finding]


def test_paths_have_the_indices_of_their_own_document():
    @xb.rule
    def positive(doc: Any) -> Any:
        return [f"$.lines[{i}].amount" for i, x in enumerate(doc["lines"]) if x["amount"] < 0]

    gold = {"lines": [{"amount": -1}, {"amount": 3}]}
    predicted = {"lines": [{"amount": 3}, {"amount": -1}]}
    row = xb.evaluate(SCHEMA, gold, predicted).rules.iloc[0]
    assert row["paths_gold"] == ("$.lines[0].amount",)
    assert row["paths_predicted"] == ("$.lines[1].amount",)


# --- the registry --------------------------------------------------------------------------------


def test_a_redefined_function_replaces_the_rule_and_an_old_evaluation_uses_it():
    ev = xb.evaluate(SCHEMA, GOLD, WRONG)
    assert ev.rules.empty
    space: dict[str, Any] = {"xb": xb}
    for returned, outcome in (("True", "holds"), ("False", "broken")):
        exec(f"@xb.rule\ndef cell(doc): return {returned}", space)  # noqa: S102 - a notebook's cell
        assert ev.rules["outcome_gold"].tolist() == [outcome]
    assert list(RULES) == ["cell"]
    del RULES["cell"]
    assert ev.rules.empty


def test_the_decorator_returns_the_function():
    assert xb.rule(adds_up) is adds_up
    assert xb.rule("other", applies_to=["a", "b*"])(adds_up) is adds_up
    assert [(r.name, r.patterns) for r in RULES.values()] == [("adds_up", "*"), ("other", "a, b*")]


async def asynchronous(doc: Any) -> bool:
    return True


async def asynchronous_paths(doc: Any) -> Any:
    yield "$.a"


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: xb.rule(asynchronous), "rule 'asynchronous' must be a plain function"),
        (lambda: xb.rule(asynchronous_paths), "must be a plain function of one document"),
        (lambda: xb.rule(lambda: True), "must be a plain function of one document"),
        (lambda: xb.rule(lambda doc, gold: True), "must be a plain function of one document"),
        (lambda: xb.rule("n")(lambda *, doc: True), "'n' must be a plain function"),
        (lambda: xb.rule(3)(adds_up), "the name of a rule is 3; expected a text"),
        (lambda: xb.rule("")(adds_up), "the name of a rule is ''; expected a text"),
        (lambda: xb.rule(applies_to=3), "applies_to is 3; expected a name or glob"),
        (lambda: xb.rule(applies_to=[]), "applies_to is []; expected a name or glob"),
        (lambda: xb.rule(applies_to=["a", None]), "applies_to is ['a', None]; expected"),
    ],
)
def test_bad_rules_are_refused_at_once(make: Any, message: str):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
    assert not RULES


@pytest.mark.parametrize(
    "applies_to, schema, runs",
    [
        (None, {"title": "Invoice"}, True),
        (None, {}, True),
        ("invoice", {"title": "Invoice"}, True),
        ("INVOICE", {"$id": "invoice"}, True),
        ("inv*", {"title": "Invoice"}, True),
        ("voice", {"title": "Invoice"}, False),
        (["receipt", "invoice"], {"title": "Invoice"}, True),
        (["receipt"], {"title": "Invoice"}, False),
        ("Invoice [2024]", {"title": "Invoice [2024]"}, True),
        ("*/invoice.json", {"$id": "https://example.org/invoice.json"}, True),
        ("5", {"title": 5}, False),
    ],
)
def test_which_schemas_a_rule_applies_to(applies_to: Any, schema: dict[str, Any], runs: bool):
    xb.rule("r", applies_to=applies_to)(adds_up)
    assert RULES["r"].is_for(xb.schema.parse_schema({"type": "object", **schema}).names()) is runs


def test_a_schema_without_a_name_can_be_named(tmp_path: Any):
    xb.rule(applies_to="invoice")(adds_up)
    unnamed = {key: value for key, value in SCHEMA.items() if key != "title"}
    ev = xb.evaluate(unnamed, GOLD, WRONG)
    (row,) = ev.rules.to_dict("records")
    assert row["outcome_gold"] == "not_applicable"
    assert "ev.labelled(schema=" in row["message"]
    assert ev.labelled(schema="invoice").rules["finding"].tolist() == ["suspect_prediction"]
    assert ev.labelled(schema="receipt").rules.empty

    path = tmp_path / "invoice-schema.json"
    path.write_text("{}", encoding="utf-8")
    assert len(xb.evaluate(path, GOLD, WRONG).rules) == 1


# --- where outcomes are shown --------------------------------------------------------------------


def test_the_card_has_one_line_if_a_rule_is_broken_or_fails():
    ev = xb.evaluate(SCHEMA, GOLD, WRONG)
    without = repr(ev)
    xb.rule("fine")(lambda doc: True)
    assert repr(ev) == without
    xb.rule(adds_up)
    xb.rule("other")(lambda doc: False)
    xb.rule("fails")(lambda doc: doc["absent"])
    line = (
        "2 rules broken by the prediction, 1 rule broken by gold, 1 rule without a verdict; "
        ".rules has them"
    )
    assert repr(ev) == without.replace("\n  0.", f"\n  {line}\n  0.", 1)
    assert line in ev._repr_html_()


HOSTILE = "</code><script>alert(1)</script>"


def test_the_view_lists_rules_and_escapes_them():
    xb.rule(HOSTILE)(lambda doc: "$['<b>']")
    xb.rule("fails")(fails(ValueError(HOSTILE)))
    html = xb.show(xb.evaluate(SCHEMA, GOLD, WRONG)).to_html()
    assert "2 rules broken or failed" in html
    assert "<script>alert" not in html
    assert "<b>']" not in html
