"""Static twins where style, script and class are taken away, as on GitHub: lists stay nested."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

import extractbench_nb as xb

EXACT = {"type": "string", "evaluation_config": "string_exact"}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


SCHEMA = an_object(a=an_object(b=an_object(c=EXACT, d=EXACT), e=EXACT), f=EXACT)
EV = xb.evaluate(
    SCHEMA,
    {"a": {"b": {"c": "x", "d": "x"}, "e": "x"}, "f": "x"},
    {"a": {"b": {"c": "x", "d": "y"}, "e": "x"}, "f": "x"},
)
ALLOWED = frozenset({"colspan", "rowspan", "open", "src", "alt", "href"})


def stripped(html: str) -> str:
    """Leave what a page that trusts nobody leaves."""
    html = re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL)

    def kept(tag: re.Match[str]) -> str:
        found = re.findall(r' ([\w-]+)(?:="[^"]*")?', tag[0])
        left = [name for name in found if name in ALLOWED]
        return f"<{tag[1]}{''.join(f' {name}' for name in left)}>"

    return re.sub(r"<(\w+)((?: [\w-]+(?:=\"[^\"]*\")?)*)>", kept, html)


class Lists(HTMLParser):
    """How deep in lists each text stands."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.depth = 0
        self.found: dict[str, int] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= ALLOWED
        self.depth += tag == "ul"

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "ul"

    def handle_data(self, data: str) -> None:
        self.found.setdefault(data.strip(), self.depth)


@pytest.mark.parametrize("shown", [(EV.schema, EV), (EV,)])
def test_a_tree_without_style_is_nested_lists(shown: tuple[Any, ...]) -> None:
    found = Lists(stripped(xb.show(*shown).to_html())).found
    root = found["$"]
    assert root >= 1
    assert [found[name] - root for name in "abcdef"] == [1, 2, 3, 3, 2, 1]


def test_bars_without_style_are_words() -> None:
    html = stripped(xb.show(EV.schema, EV).to_html())
    assert "3 correct, 1 incorrect" in re.sub("<.*?>", "", html)


def test_rows_without_style_are_a_table() -> None:
    html = stripped(xb.show(EV).to_html())
    table = html[html.rindex("<table>") : html.rindex("</table>")]
    rows = [re.sub("<.*?>", " ", row).split() for row in table.split("</tr>")]
    assert rows[0] == ["outcome", "path", "gold", "predicted", "score"]
    assert rows[1][:3] == ["≠", "incorrect", "value"]
    assert rows[1][-1] == "0.00"
