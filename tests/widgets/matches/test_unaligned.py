"""Arrays that a model was asked to align, and gave no answer of use for."""

import json
from collections.abc import Iterator

import pytest

import extractbench_nb as xb
from extractbench_nb.views.matches_view import MatchesView

pytest.importorskip("anywidget")


ITEM = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "evaluation_config": "string_fuzzy"},
        "year": {"type": "integer"},
    },
}
SCHEMA = {"type": "object", "properties": {"works": {"type": "array", "items": ITEM}}}
GOLD = {"works": [{"id": "a", "year": 1}, {"id": "b", "year": 2}]}
PREDICTED = {"works": [{"id": "b", "year": 0}, {"id": "a", "year": 0}]}


def unanswered() -> xb.judges.LLMAligner:
    """An aligner whose model cannot be reached."""
    model = xb.LLM("openai/nobody", api_base="http://127.0.0.1:9/v1", max_attempts=1)
    return xb.judges.LLMAligner(model)


@pytest.fixture
def view() -> Iterator[MatchesView]:
    view = MatchesView(xb.evaluate(SCHEMA, GOLD, PREDICTED, alignment=unanswered()), "works")
    yield view
    view.close()


def test_the_view_says_so_and_shows_no_row(view: MatchesView) -> None:
    assert "The items were not aligned" in view._repr_mimebundle_()[0]["text/html"]
    assert view.rows.empty


def test_its_counts_are_absent(view: MatchesView) -> None:
    assert view.summary[["matched", "missed", "spurious", "score", "recall"]].isna().all()
    assert "2 gold, 2 predicted items · not aligned" in view._repr_mimebundle_()[0]["text/html"]


def test_other_views_take_it() -> None:
    ev = xb.evaluate(SCHEMA, GOLD, PREDICTED, alignment=unanswered())
    assert "no alignment" in repr(ev)
    assert "none judged" in repr(ev)
    assert "none judged" in ev._repr_html_()
    assert "matched completely" not in ev._repr_html_()
    view = xb.show(ev)
    view.selected_row = "$.works"
    assert "2 gold and 2 predicted items, not aligned" in view._repr_mimebundle_()[0]["text/html"]
    view.close()


def test_a_report_takes_it(tmp_path) -> None:
    xb.evaluate(SCHEMA, GOLD, PREDICTED, alignment=unanswered()).save(tmp_path)
    assert "Items: not aligned" in (tmp_path / "summary.txt").read_text()
    assert "not aligned" in (tmp_path / "report.html").read_text()
    (found,) = json.loads((tmp_path / "report.json").read_text())["arrays"]
    assert (found["gold_items"], found["matched"]) == (2, None)
