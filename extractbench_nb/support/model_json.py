"""JSON in the texts of models: found in prose, classified by its fault, read up to a cut.

Answers of judges are read strictly (`json_objects`): what a document says inside a broken answer is
not the answer. Outputs of extraction are named by their fault (`fault_of`), and repaired only for
what-if questions (`read_cut_off`, `repaired`).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

_BOM = "\ufeff"
_FENCES = ("```", "~~~")
_CLOSING = {"{": "}", "[": "]"}
_STRINGS = {
    '"': r"""(?P<double>"[^"\\]*+(?:\\.[^"\\]*+)*+")""",
    "'": r"""(?P<single>'[^'\\]*+(?:\\.[^'\\]*+)*+')""",
}
_OTHERS = r"(?P<trailing>,(?=\s*[}\]]))|(?P<open>[{\[])|(?P<close>[}\]])"


@cache
def _tokens(torn: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of the next token; `torn` quotes are ordinary characters."""
    quotes = [quote for quote in _STRINGS if quote not in torn]
    strings = [_STRINGS[quote] for quote in quotes]
    ending = f"|(?P<torn>[{''.join(quotes)}])" if quotes else ""
    return re.compile("|".join([*strings, _OTHERS]) + ending, re.DOTALL)


def unwrapped(text: str) -> tuple[str, int, str]:
    """Remove a byte-order mark and a code fence; return the rest, its start, and their names."""
    names, start, end = [], 0, len(text)
    if text.startswith(_BOM):
        names.append("bom")
        start = 1
    while start < end and text[start].isspace():
        start += 1
    fence = text[start : start + 3]
    first_line = text.find("\n", start)
    if (
        fence in _FENCES
        and first_line >= 0
        and text[start:first_line].count(fence[0]) == len(fence)
    ):
        names.append("fence")
        start, end = first_line + 1, len(text.rstrip())
        if text.endswith(fence, start, end):
            end -= len(fence)
    elif not names:
        start = 0
    return text[start:end], start, " and ".join(names)


def readable_output(output: Any) -> Any:
    """Return a model's output in a form that `evaluate` takes: text without its code fence.

    None, which is no output, becomes text that is not JSON.
    """
    if output is None:
        return ""
    if isinstance(output, bytes | bytearray):
        output = output.decode("utf-8", "replace")
    return unwrapped(output)[0] if isinstance(output, str) else output


# --- strictly ------------------------------------------------------------------------------------


def json_objects(text: str) -> list[dict[str, Any]]:
    r"""Find the JSON objects in a text that are not part of another one.

    Single quotes and trailing commas are accepted; an object that has a duplicate key or is cut off
    is not.

    Examples
    --------
    >>> json_objects("So: {'score': 0.9,} or {\"score\": 1")
    [{'score': 0.9}]
    """
    value = _loaded(text)
    if value is not None:
        return [value]
    found, end, torn = [], 0, set[str]()
    while (start := text.find("{", end)) >= 0:
        span, end = _balanced(text, start, torn)
        value = _loaded(span)
        if value is not None:
            found.append(value)
    return found


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, strict=False, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("duplicate key")
    return value


def _balanced(text: str, start: int, torn: set[str]) -> tuple[str, int]:
    """Return the bracketed text that starts here as strict JSON, and where it ends.

    If a string is unterminated, later ones with the same quotes are too, because all quotes after
    it are escaped. `torn` has these quotes, so that each character is read a few times and not once
    per quote before it.
    """
    parts, depth, end = [], 0, start
    position = start
    while (token := _tokens(frozenset(torn)).search(text, position)) is not None:
        position = token.end()
        if token.lastgroup == "torn":
            torn.add(token[0])
            continue
        parts.append(text[end : token.start()])
        end = position
        parts.append(_strict(token))
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if depth == 0:
            break
    return "".join(parts), end


def _strict(token: re.Match[str]) -> str:
    if token.lastgroup == "trailing":
        return ""
    if token.lastgroup == "single":
        inner = token[0][1:-1].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)"', r"\"", inner) + '"'
    return token[0]


# --- faults --------------------------------------------------------------------------------------

#: The last word of a text, looked for in its last characters only.
_WORD = re.compile(r"[\w.+-]+$")
#: An escape that was cut: its backslash is not one of a pair.
_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+(?P<cut>\\(?:u[0-9a-fA-F]{0,3})?)$")
_LAST = 64


def fault_of(text: str, *, cut_off: bool = False) -> tuple[str, int] | None:
    """Return the fault of a text that does not parse, and its position; None for other faults.

    `cut_off` says that its end is known to be missing.

    Examples
    --------
    >>> fault_of('{"a": [1, 2,]}'), fault_of('{"a": [1, 2'), fault_of("{a: 1}")
    (('trailing_comma', 11), ('truncated_json', 11), None)
    """
    commas: list[int] = []
    brackets: list[str] = []
    torn = False
    for token in _tokens(frozenset("'")).finditer(text):
        if token.lastgroup == "trailing":
            commas.append(token.start())
        elif token.lastgroup == "open":
            brackets.append(token[0])
        elif token.lastgroup == "close" and brackets:
            brackets.pop()
        elif token.lastgroup == "torn":
            torn = True
            break
    ends = zip([0, *(comma + 1 for comma in commas)], [*commas, len(text)], strict=True)
    if commas and _parses("".join(text[start:end] for start, end in ends)):
        return "trailing_comma", commas[0]
    bare = text.rstrip()
    if cut_off or any(map(_parses, _completions(bare, brackets, torn))):
        return "truncated_json", len(bare)
    return None


def _completions(text: str, brackets: list[str], torn: bool) -> Iterator[str]:
    """Yield possible completions of a text; nothing if no bracket is open."""
    if not brackets or (torn and text.endswith(("}", "]"))):  # a quote is missing somewhere
        return
    if torn:
        escape = _ESCAPE.search(text)
        starts = [(text if escape is None else text[: escape.start("cut")]) + '"']
    else:
        word = _WORD.search(text[-_LAST:])
        starts = [text.removesuffix(",")]
        starts += [] if word is None else [text[: len(text) - len(word[0])]]
    closing = "".join(_CLOSING[bracket] for bracket in reversed(brackets))
    for start in starts:
        for rest in ("", "null", ":null"):
            yield start + rest + closing


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# --- repair --------------------------------------------------------------------------------------

#: Longer texts are repaired in a separate process, which is stopped when it takes too long.
_SHORT = 10_000
_SCRIPT = """
import json, sys
from json_repair import repair_json
text = json.loads(sys.stdin.buffer.read())
value = repair_json(text, return_objects=True, skip_json_loads=True)
sys.stdout.buffer.write(json.dumps(value).encode())
"""


def repaired(text: str, seconds: float = 20.0) -> Any:
    """Repair slightly malformed JSON with json_repair; raises any error of that library.

    Some texts take hours, so texts of more than 10,000 characters are read in another process, and
    `subprocess.TimeoutExpired` is raised after `seconds`.

    Examples
    --------
    >>> repaired("{total: 12, 'lines': [1 2")
    {'total': 12, 'lines': [1, 2]}
    """
    if len(text) <= _SHORT:
        from json_repair import repair_json

        return repair_json(text, return_objects=True, skip_json_loads=True)
    done = subprocess.run(  # noqa: S603 - our own interpreter and script; the text is its input
        [sys.executable, "-c", _SCRIPT],
        input=json.dumps(text).encode(),
        capture_output=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ValueError(last or f"exit code {done.returncode}")
    return json.loads(done.stdout)


# --- texts that are cut off -------------------------------------------------------------------

#: A string, of which the last one in a text may be unterminated, or a bracket.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?)|[][{}]', re.DOTALL)
#: The begun escape of a character at the end of a text.
_CUT_ESCAPE = re.compile(
    r"(?<!\\)(?:\\\\)*+(?P<cut>(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?)\Z"
)
_AFTER_KEY = re.compile(r"\s*:?\s*\Z")


def read_cut_off(text: str) -> Any:
    """Read JSON that is cut off at its end, or raise a `ValueError`.

    Text that was cut off is kept up to the cut. Numbers, words and keys that are incomplete, and an
    array item of which only the bracket is left, are left out.

    Examples
    --------
    >>> read_cut_off('{"rows": [{"year": 2020, "note": "audi')
    {'rows': [{'year': 2020, 'note': 'audi'}]}
    """
    brackets: list[str] = []
    last = None
    for token in _STRING_OR_BRACKET.finditer(text):
        if token[0] in _CLOSING:
            brackets.append(token[0])
        elif token[0] in ("}", "]"):
            brackets = brackets[:-1]
        else:
            last = token
    is_open = last is not None and not last["end"]
    if not brackets and not is_open:
        raise ValueError("it is not cut off")
    for start in _whole_starts(text, last, is_open, in_object=brackets[-1:] == ["{"]):
        bare = start.rstrip().removesuffix(",").rstrip()
        closed = brackets[:]
        if brackets[-2:-1] == ["["] and bare.endswith(brackets[-1]):  # of an item
            bare = bare[:-1].rstrip().removesuffix(",")
            closed.pop()
        with suppress(ValueError, RecursionError):
            return json.loads(bare + "".join(_CLOSING[bracket] for bracket in reversed(closed)))
    raise ValueError("it is cut off, and not JSON up to there")


def _whole_starts(
    text: str, last: re.Match[str] | None, is_open: bool, *, in_object: bool
) -> Iterator[str]:
    """Yield starts of a text that may end with a whole value, the longest first.

    `last` is its last string, and `is_open` whether that is unterminated.
    """
    if last is not None and is_open:
        before = text[: last.start()].rstrip()
        cut = _CUT_ESCAPE.search(text)
        yield text[: cut.start("cut") if cut else None] + '"'
        if before.endswith(("{", ",")):  # a begun key
            yield before
        return
    yield text
    word = _LAST_WORD.search(text[-_LONGEST_WORD:])
    text = text[: len(text) - len(word[0])] if word else text
    if word and not word["number"] and not any(one.startswith(word[0]) for one in _LITERALS):
        return
    if not (in_object and text.rstrip().endswith(("{", ","))):  # no key is a bare word
        yield text
    if last is not None and _AFTER_KEY.match(text, last.end()):
        yield text[: last.start()]


_LAST_WORD = re.compile(r"(?:(?P<number>[\d.eE+-]+)|[\w-]+)\Z")
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
#: Characters at the end of a text in which a begun number or word is looked for.
_LONGEST_WORD = 400
