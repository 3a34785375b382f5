"""The structure of a text that does not parse as JSON: what is open, torn, or a comma too many."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["Scan"]

_TOKEN = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<comma>,(?=\s*[}\]]))|(?P<open>[{\[])|(?P<close>[}\]])'
    r'|(?P<torn>")',
    re.DOTALL,
)
_CLOSING = {"{": "}", "[": "]"}
#: The last word of a text, looked for in its last characters only.
_WORD = re.compile(r"[\w.+-]+$")
#: An escape that was cut: its backslash is none of a pair.
_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+(?P<cut>\\(?:u[0-9a-fA-F]{0,3})?)$")
_LAST = 64


class Scan:
    """The brackets, strings and commas of a text that does not parse.

    Attributes
    ----------
    commas : list of int
        Where the trailing ones are.
    open : list of str
        Brackets that nothing closes.
    torn : bool
        Whether the text ends in a string.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.commas: list[int] = []
        self.open: list[str] = []
        self.torn = False
        for token in _TOKEN.finditer(text):
            kind = token.lastgroup
            if kind == "comma":
                self.commas.append(token.start())
            elif kind == "open":
                self.open.append(token[0])
            elif kind == "close" and self.open:
                self.open.pop()
            elif kind == "torn":
                self.torn = True
                break

    def without_commas(self) -> str:
        """Return the text without its trailing commas."""
        parts, end = [], 0
        for comma in self.commas:
            parts.append(self.text[end:comma])
            end = comma + 1
        return "".join([*parts, self.text[end:]])

    def completions(self) -> Iterator[str]:
        """Yield what the text may have been on its way to; nothing where nothing is open."""
        closes = self.text.rstrip().endswith(tuple(_CLOSING.values()))
        if not self.open or (self.torn and closes):  # a quote is missing somewhere
            return
        closing = "".join(_CLOSING[bracket] for bracket in reversed(self.open))
        for start in self._beginnings():
            for rest in ("", "null", ":null"):
                yield start + rest + closing

    def _beginnings(self) -> Iterator[str]:
        text = self.text.rstrip()
        if self.torn:
            escape = _ESCAPE.search(text)
            yield (text if escape is None else text[: escape.start("cut")]) + '"'
            return
        yield text.removesuffix(",")
        word = _WORD.search(text[-_LAST:])
        if word is not None:
            yield text[: len(text) - len(word[0])]
