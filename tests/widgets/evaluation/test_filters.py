"""Which rows are left, and that the copied code gives exactly these."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.views.evaluation_view import (
    ORDERS,
    Filters,
    narrowed,
)
from extractbench_nb.views.view import checked_name
from tests.widgets.hostile import HOSTILE

EXACT = {"type": "string", "evaluation_config": "string_exact"}
SCHEMA = {
    "type": "object",
    "properties": {
        "seller": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "name.legal": EXACT, "city": EXACT},
        },
        "sellers": EXACT,
        "total": {
            "type": "number",
            "evaluation_config": {
                "metrics": [{"metric_id": "number_tolerance"}, {"metric_id": "string_exact"}]
            },
        },
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"item": EXACT, "n": {"type": "integer"}}},
        },
    },
}
GOLD = {
    "seller": {"name": "Northwind", "name.legal": "Northwind Inc.", "city": "Zürich"},
    "sellers": "None of these",
    "total": 12.5,
    "lines": [{"item": "Pen", "n": 1}, {"item": "Ink", "n": 2}],
}
PREDICTED = {
    "seller": {"name": "Northwind", "name.legal": "Southwind", "city": None},
    "total": 12.5,
    "lines": [{"item": "Ink", "n": 2}, {"item": "Pen", "n": 7}],
}


def evaluated(code: str, fields: pd.DataFrame) -> pd.DataFrame:
    """What a notebook gets that pastes the code, and calls its evaluation ``ev``."""
    ev = SimpleNamespace(fields=fields)
    found = eval(code, {"ev": ev, "evs": [ev]})  # noqa: S307 - the code is what is tested
    assert isinstance(found, pd.DataFrame)
    return found


@pytest.fixture(scope="module")
def fields() -> pd.DataFrame:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED).fields


NAMES = ["$.seller.name", "$.seller['name.legal']", "$.seller.city"]
ITEMS = ["$.lines[0].item", "$.lines[0].n", "$.lines[1].item", "$.lines[1].n"]
#: Rows as in the document.
of = partial(Filters, sort="document")
CASES = {
    "all": (of(), [*NAMES, "$.sellers", "$.total", "$.total", "$.lines", *ITEMS]),
    "root": (of("$"), [*NAMES, "$.sellers", "$.total", "$.total", "$.lines", *ITEMS]),
    "node, not its namesake": (of("$.properties.seller"), NAMES),
    "leaf": (of("$.properties.sellers"), ["$.sellers"]),
    "items": (of("$.properties.lines.items"), ITEMS),
    "outcome": (of(outcome="omission"), ["$.seller.city", "$.sellers"]),
    "metric": (of(metric="number_tolerance"), ["$.total"]),
    "counted": (
        of("$.properties.lines", only_counted=True),
        ITEMS,
    ),
    "failed": (
        of(only_failed=True),
        ["$.seller['name.legal']", "$.seller.city", "$.sellers", "$.lines", "$.lines[0].n"],
    ),
    "text in a path": (of(text="LEGAL"), ["$.seller['name.legal']"]),
    "text in gold": (of(text=" zürich "), ["$.seller.city"]),
    "text in predicted": (of(text="southwind"), ["$.seller['name.legal']"]),
    "text in a number": (of(text="12.5"), ["$.total", "$.total"]),
    "absent values have no text": (of(text="none"), ["$.sellers"]),
    "several": (
        of("$.properties.lines", "correct", "match", "string_exact", "pen"),
        ["$.lines[0].item"],
    ),
    "nothing": (of(text="nowhere"), []),
    "reason": (of(reason="predicted_missing"), ["$.sellers"]),
    "failures first": (
        Filters("$.properties.lines"),
        ["$.lines[0].n", "$.lines", "$.lines[0].item", "$.lines[1].item", "$.lines[1].n"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_filters_leave_these_rows(case: str, fields: pd.DataFrame) -> None:
    filters, paths = CASES[case]
    rows, code = narrowed(fields, filters)
    assert rows["path"].tolist() == paths
    pd.testing.assert_frame_equal(evaluated(code, fields), rows)


@pytest.mark.parametrize("attack", HOSTILE)
def test_hostile_keys_and_values_keep_the_code_exact(attack: str) -> None:
    text = HOSTILE[attack]
    schema = {
        "type": "object",
        "properties": {
            text: {"type": "object", "properties": {"a": EXACT}},
            "map": {"type": "object", "additionalProperties": EXACT},
            "b": EXACT,
        },
    }
    gold = {text: {"a": text}, "map": {text: text}, "b": "plain"}
    ev = xb.evaluate(schema, gold, {**gold, "b": text})
    fields = ev.fields
    node = next(n.schema_path for n in ev.schema.nodes() if n.field and n.name == text)
    for filters in (of(node), Filters(text=text[:5000]), Filters(text=text[:3])):
        rows, code = narrowed(fields, filters)
        assert len(code) < 5000
        pd.testing.assert_frame_equal(evaluated(code, fields), rows)
    assert narrowed(fields, Filters(node))[0].index.tolist() == [0]
    assert 2 in narrowed(fields, Filters(text=text.strip()[:20]))[0].index


def test_values_that_python_cannot_write_are_searched_all_the_same() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "b": EXACT}}
    fields = xb.evaluate(schema, {"n": 10**5000, "b": "0x1"}, {"n": 1, "b": "other"}).fields
    rows, code = narrowed(fields, of(text="0x", outcome="incorrect"))
    assert rows["path"].tolist() == ["$.n", "$.b"]
    assert code == "ev.fields.loc[[0, 1]]"
    pd.testing.assert_frame_equal(evaluated(code, fields), rows)


words = st.text("abAB'\"\\{}$.[]\n\u202eé", max_size=4)
leaves = st.none() | st.booleans() | st.integers(-3, 12) | words | st.lists(words, max_size=2)


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(words, min_size=1, max_size=4, unique=True),
    data=st.data(),
)
def test_code_and_rows_agree(names: list[str], data: st.DataObject) -> None:
    kinds = [EXACT, {"type": "integer"}, {"type": "array", "items": EXACT}]
    inner = {name: data.draw(st.sampled_from(kinds)) for name in names}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {**inner, "in": {"type": "object", "properties": dict(inner)}},
    }
    document = st.fixed_dictionaries({}, optional=dict.fromkeys(names, leaves))
    gold, predicted = (
        {**data.draw(document), "in": data.draw(document)} for _ in ("gold", "predicted")
    )
    ev = xb.evaluate(schema, gold, predicted)
    fields = ev.fields
    filters = Filters(
        data.draw(st.sampled_from(["", *(node.schema_path for node in ev.schema.nodes())])),
        data.draw(st.sampled_from(["", "correct", "omission", "both_absent"])),
        data.draw(st.sampled_from(["", *fields["reason"]])),
        data.draw(st.sampled_from(["", *fields["metric"]])),
        data.draw(words),
        *data.draw(st.tuples(st.booleans(), st.booleans(), st.sampled_from(list(ORDERS)))),
    )
    rows, code = narrowed(fields, filters)
    pd.testing.assert_frame_equal(evaluated(code, fields), rows)


@pytest.mark.parametrize("name", ["", "1", "a b", "f()", "a; b", " ev", "x=", None, 3])
def test_names_that_are_no_names(name: Any) -> None:
    with pytest.raises(InputError, match=r"expected .* 'ev' or 'evs\[0\]'"):
        checked_name(name)
