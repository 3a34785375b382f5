"""Texts that must stay texts, and a reader of static twins that sees what a browser would."""

from __future__ import annotations

from html.parser import HTMLParser

HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "onerror": "<img src=x onerror='window.hacked = 1'>",
    "attribute": '" onmouseover="window.hacked = 1" x=\'',
    "style": "</style><script>window.hacked = 1</script>",
    "entity": "&lt;script&gt; &amp; &#60;",
    "controls": "a\x00b\x07c\x1b[31md\x7f",
    "bidi": "user\u202egnp.exe",
    "surrogate": "half \ud800 a pair",
    "long": "x" * 1_000_000,
    "chinese": "提取结构化数据的评估" * 40,
    "arabic": "تقييم استخراج البيانات المهيكلة " * 40,
    "lines": "one\r\ntwo\u2028three\n" * 50,
    "template": "${window.hacked = 1} {{ 7 * 7 }}",
}

#: Markup, quotes of an attribute, what no reader should see, what UTF-8 cannot write, and length.
ONE_OF_EACH = ("script", "attribute", "controls", "surrogate", "long")

_VOID = {"br", "img", "input", "hr", "meta", "link", "wbr"}
ALLOWED = {
    *("div", "span", "b", "i", "em", "p", "table", "thead", "tbody", "tr", "th", "td", "caption"),
    *("details", "summary", "style", "mark", "code", "ul", "ol", "li", "dl", "dt", "dd", "small"),
    *(
        "h3",
        "h4",
        "br",
        "wbr",
        "section",
        "colgroup",
        "col",
        "pre",
        "strong",
        "img",
        "svg",
        "g",
        "rect",
    ),
    *("line", "text", "polyline", "circle", "path", "title", "figure", "figcaption", "sub", "sup"),
}


class Twin(HTMLParser):
    """The elements, attributes and visible text of a static twin; fails where tags do not close."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.stack == [], "elements that are not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in _VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.stack:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All visible text."""
        return "".join(self.words)

    def check(self) -> None:
        """Nothing on it can run, and nothing asks for another file."""
        assert set(self.tags) <= ALLOWED, set(self.tags) - ALLOWED
        for name, value in self.attributes:
            assert not name.startswith("on"), name
            links = name in ("href", "src", "srcset", "data", "action", "formaction")
            assert not links or (value or "").startswith(("data:image/png;base64,", "#")), value
        assert "\x00" not in self.text
        assert not any(0xD800 <= ord(c) < 0xE000 for c in self.text)
        assert not any(c in self.text for c in "\u202e\x07\x1b\x7f")
