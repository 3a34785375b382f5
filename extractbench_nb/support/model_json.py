"""JSON in the outputs of models: unwrapped, classified by its fault, read up to a cut, repaired."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

_BOM = "\ufeff"
_FENCE = re.compile(r"\s*(?:(```)[^`\n]*|(~~~)[^~\n]*)\n")


def unwrapped(text: str) -> tuple[str, int, str]:
    """Remove a byte-order mark and a code fence; return the rest, its start, and their names."""
    names = ["bom"] if text.startswith(_BOM) else []
    start, end = len(names), len(text)
    if opening := _FENCE.match(text, start):
        names.append("fence")
        start, end = opening.end(), len(text.rstrip())
        if text.endswith(opening[1] or opening[2], start, end):
            end -= 3
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


# --- the state at the end of a text ---------------------------------------------------------------
_CLOSING = {"{": "}", "[": "]"}
#: A string, of which the last one in a text may be unterminated, a trailing comma, or a bracket.
_TOKEN = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?)|(?P<comma>,(?=\s*[}\]]))|[][{}]', re.DOTALL
)


class _Scan(NamedTuple):
    """What is open at the end of a text, its trailing commas, and its last string."""

    brackets: list[str]
    commas: list[int]
    last: re.Match[str] | None

    @property
    def in_string(self) -> bool:
        return self.last is not None and not self.last["end"]


def _scan(text: str) -> _Scan:
    brackets: list[str] = []
    commas: list[int] = []
    last = None
    for token in _TOKEN.finditer(text):
        if token[0] in _CLOSING:
            brackets.append(token[0])
        elif token[0] in ("}", "]"):
            brackets = brackets[:-1]
        elif token["comma"]:
            commas.append(token.start())
        else:
            last = token
    return _Scan(brackets, commas, last)


def fault_of(text: str, *, cut_off: bool = False) -> tuple[str, int] | None:
    """Return the fault of a text that does not parse, and its position; None for other faults.

    `cut_off` says that its end is known to be missing.

    Examples
    --------
    >>> fault_of('{"a": [1, 2,]}'), fault_of('{"a": [1, 2'), fault_of("{a: 1}")
    (('trailing_comma', 11), ('truncated_json', 11), None)
    """
    scan, bare = _scan(text), text.rstrip()
    ends = zip([0, *(comma + 1 for comma in scan.commas)], [*scan.commas, len(text)], strict=True)
    with suppress(ValueError, RecursionError):
        if scan.commas:
            json.loads("".join(text[start:end] for start, end in ends))
            return "trailing_comma", scan.commas[0]
    with suppress(ValueError):
        # in a string that ends in a bracket, a quote is missing somewhere
        if not cut_off and (not scan.brackets or (scan.in_string and bare.endswith(("}", "]")))):
            return None
        if not cut_off:
            read_cut_off(bare)
        return "truncated_json", len(bare)
    return None


# --- texts that are cut off -------------------------------------------------------------------

#: The begun escape of a character at the end of a text.
_CUT_ESCAPE = re.compile(
    r"(?<!\\)(?:\\\\)*+(?P<cut>(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?)\Z"
)
_AFTER_KEY = re.compile(r"\s*:?\s*\Z")
_LAST_WORD = re.compile(r"(?:(?P<number>[\d.eE+-]+)|[\w-]+)\Z")
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
#: Characters at the end of a text in which a begun number or word is looked for.
_LONGEST_WORD = 400


def read_cut_off(text: str) -> Any:
    """Read JSON that is cut off at its end, or raise a `ValueError`.

    Text that was cut off is kept up to the cut. Numbers, words and keys that are incomplete, and an
    array item of which only the bracket is left, are left out.

    Examples
    --------
    >>> read_cut_off('{"rows": [{"year": 2020, "note": "audi')
    {'rows': [{'year': 2020, 'note': 'audi'}]}
    """
    scan = _scan(text)
    brackets = scan.brackets
    if not brackets and not scan.in_string:
        raise ValueError("it is not cut off")
    for start in _whole_starts(text, scan):
        bare = start.rstrip().removesuffix(",").rstrip()
        closed = brackets[:]
        if brackets[-2:-1] == ["["] and bare.endswith(brackets[-1]):  # of an item
            bare = bare[:-1].rstrip().removesuffix(",")
            closed.pop()
        with suppress(ValueError, RecursionError):
            return json.loads(bare + "".join(_CLOSING[bracket] for bracket in reversed(closed)))
    raise ValueError("it is cut off, and not JSON up to there")


def _whole_starts(text: str, scan: _Scan) -> Iterator[str]:
    """Yield starts of a text that may end with a whole value, the longest first."""
    last = scan.last
    if last is not None and scan.in_string:
        cut = _CUT_ESCAPE.search(text)
        yield text[: cut.start("cut") if cut else None] + '"'
        before = text[: last.start()].rstrip()
        if before.endswith(("{", ",")):  # a begun key
            yield before
        return
    yield text
    word = _LAST_WORD.search(text[-_LONGEST_WORD:])
    text = text[: len(text) - len(word[0])] if word else text
    if word and not word["number"] and not any(one.startswith(word[0]) for one in _LITERALS):
        return
    if scan.brackets[-1:] != ["{"] or not text.rstrip().endswith(("{", ",")):  # no bare-word key
        yield text
    if last is not None and _AFTER_KEY.match(text, last.end()):
        yield text[: last.start()]


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
    command = [sys.executable, "-c", _SCRIPT]
    given = json.dumps(text).encode()
    done = subprocess.run(command, input=given, capture_output=True, timeout=seconds, check=False)  # noqa: S603 - our own script
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ValueError(last or f"exit code {done.returncode}")
    return json.loads(done.stdout)
