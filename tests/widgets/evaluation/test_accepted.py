"""Views, cards and reports say which accepted alternative scored, escaped."""

from __future__ import annotations

from pathlib import Path

import extractbench_nb as xb

HOSTILE = "<img src=x onerror=alert(1)>"
SHOWN = "accepted as &lt;img src=x"
EXACT = {"type": "string", "evaluation_config": "string_exact"}
LINES = {"type": "array", "items": {"type": "object", "properties": {"k": EXACT, "n": EXACT}}}
SCHEMA = {"type": "object", "properties": {"a": EXACT, "b": EXACT, "lines": LINES}}
GOLD = {"a": "one", "b": "two", "lines": [{"k": "x", "n": "y"}]}
PREDICTED = {"a": HOSTILE, "lines": [{"k": HOSTILE, "n": "y"}]}
ACCEPTED = [
    {"path": "$.a", "value": HOSTILE},
    {"path": "$.b", "value": None},
    {"path": "$.lines[0].k", "value": HOSTILE},
]


def test_views_reports_and_cards(tmp_path: Path) -> None:
    ev = xb.evaluate(SCHEMA, GOLD, PREDICTED, accepted=ACCEPTED)
    assert ev.summary["pass_rate"] == 1.0
    view = xb.show(ev)
    view.selected_row = "$.a"
    matches = xb.show_matches(ev, "$.lines")
    matches.perform("pair", [0, 0])
    ev.save(tmp_path)
    report = (tmp_path / "fields.md").read_text()
    for page in (view.to_html(), matches.to_html(), report):
        assert SHOWN in page
        assert HOSTILE not in page
    for page in (view.to_html(), report):
        assert "accepted as absent" in page
    assert "3 fields read as an accepted alternative" in repr(ev)
    assert "3 fields read as an accepted alternative" in ev._repr_html_()


def test_nothing_is_said_where_gold_scored() -> None:
    ev = xb.evaluate(SCHEMA, GOLD, GOLD, accepted=ACCEPTED)
    for text in (repr(ev), ev._repr_html_(), xb.show(ev).to_html(), xb.show_matches(ev).to_html()):
        assert "accepted" not in text
