"""What all views have in common: events, drawing once, views opened from views, static twins."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import traitlets

from extractbench_nb.support.nodes import Node, h
from extractbench_nb.views.static import WIDGET
from extractbench_nb.views.view import View, part
from tests.waiting import PATIENCE


class Counter(View):
    """A number, its double in a part, and how often it was drawn."""

    kind = "counter"
    settable = frozenset({"number"})
    number = traitlets.Int(0)
    name = traitlets.Unicode("")
    drawn = 0
    constant = h("p", "constant")

    def do_add(self, value: Any) -> None:
        if type(value) is int:
            self.number += value
            self.name = str(self.number)

    def draw(self) -> dict[str, Node]:
        self.drawn += 1
        page = h("div", part("double"), part("constant"))
        double = h("b", str(2 * self.number), h("button", "Add", do="add", send=1))
        return {"page": page, "double": double, "constant": self.constant}

    def __repr__(self) -> str:
        return f"Counter · {self.number}"


def test_an_event_changes_the_state_and_draws_once() -> None:
    view = Counter()
    before = view.drawn
    view._handle_custom_msg({"do": "add", "value": 3}, [])
    assert (view.number, view.name, view.drawn) == (3, "3", before + 1)
    assert '"6"' in view._p1


def test_every_event_is_answered_so_that_a_page_notices_a_silent_kernel() -> None:
    view = Counter()
    for at, event in enumerate(("add", "nothing", "set:number"), 1):
        view._handle_custom_msg({"do": event, "value": "x", "at": at}, [])
        assert view._heard == at


def test_only_parts_that_differ_are_sent() -> None:
    view = Counter()
    sent: list[str] = []
    view.observe(lambda change: sent.append(change["name"]), ["_p0", "_p1", "_p2"])
    view.number = 5
    view.redraw()
    assert sent == ["_p1"]


@pytest.mark.parametrize(
    "message",
    [
        *({"do": "add", "value": value} for value in ("3", None, [1], True)),
        *({"do": name, "value": 1} for name in ("redraw", "open_view", "set", "", "set:name")),
        *({"do": "set:number", "value": value} for value in ("3", None, {})),
        *({"do": "back", "value": value} for value in (7, -3, "x")),
        *("add", None, {"do": 1}, {"kind": "add"}),
    ],
)
def test_what_a_page_should_not_send_is_ignored(message: Any) -> None:
    view = Counter()
    view._handle_custom_msg(message, [])
    assert (view.number, view.name, view.trail) == (0, "", ())


def test_a_view_opens_in_the_place_of_another_and_closes() -> None:
    first, second, third = Counter(number=1), Counter(number=2), Counter(number=3)
    first.open_view(second, "second")
    second.open_view(third, "third")
    assert first.trail == (second, third)
    assert '"6"' in "".join(getattr(first, f"_p{at}") for at in range(6))
    first._handle_custom_msg({"do": "add", "value": 7}, [])
    assert (first.number, second.number, third.number) == (1, 2, 10)
    assert "20" in first.to_html()
    third.number = 4
    assert "8" in first.to_html()
    first._handle_custom_msg({"do": "back", "value": 1}, [])
    assert first.trail == (second,)
    first.back()
    assert first.trail == ()
    assert "<b>2</b>" in first.to_html()


def test_events_of_many_threads_are_handled_in_turn() -> None:
    view = Counter()

    def press() -> None:
        for _ in range(200):
            view._handle_custom_msg({"do": "add", "value": 1}, [])

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert view.number == 800
    assert '"1600"' in view._p1


def test_the_twin_is_an_output_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.core.display_functions.publish_display_data", published.append)
    view = Counter(number=4)
    view._ipython_display_()
    twin, live = published
    assert f'data-xb="{view._name}"' in twin["text/html"]
    assert twin["text/plain"] == "Counter · 4"
    assert list(live) == [WIDGET]
    assert live[WIDGET]["model_id"] == view.model_id


def test_the_twin_has_no_controls_and_is_the_same_every_time(tmp_path: Path) -> None:
    one, two = Counter(number=4), Counter(number=4)
    assert one.to_html() == two.to_html()
    assert "<b>8</b>" in one.to_html()
    assert "Add" not in one.to_html()
    assert one.to_html() in one.save(tmp_path / "view.html").read_text(encoding="utf-8")
