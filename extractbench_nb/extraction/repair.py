"""What an output would be worth if its faults of form were forgiven: repaired by json-repair."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from extractbench_nb._json import read_cut_off
from extractbench_nb.extraction.parsing import ParsedOutput, parse_output, unwrapped

__all__ = ["Repaired", "repair_output"]

#: Longer texts are repaired in a process of their own, which is stopped when it takes too long.
_SHORT = 10_000
_SCRIPT = """
import json, sys
from json_repair import repair_json
text = json.loads(sys.stdin.buffer.read())
value = repair_json(text, return_objects=True, skip_json_loads=True)
sys.stdout.buffer.write(json.dumps(value).encode())
"""


@dataclass(frozen=True)
class Repaired:
    """An output after repair.

    Parameters
    ----------
    value : object
        The JSON value; None where there is none.
    text : str or None
        The repaired JSON; None where there is none.
    parsed : ParsedOutput
        What a strict parser makes of the output as it is.
    note : str or None
        Why nothing was repaired.
    """

    value: Any
    text: str | None
    parsed: ParsedOutput
    note: str | None = None

    @property
    def repaired(self) -> bool:
        """Whether there is a value only because faults were forgiven."""
        return self.text is not None and not self.parsed.parses


def repair_output(raw: str | bytes | None, *, seconds: float = 20.0) -> Repaired:
    """Read an output, forgiving what can be forgiven.

    Parameters
    ----------
    raw : str, bytes or None
        The text as received.
    seconds : float, optional
        How long a text of more than 10,000 characters may take.

    Returns
    -------
    Repaired
        What parses strictly is returned as it is. What is cut off is read up to there. Else
        `json_repair` closes what is open, takes trailing commas and prose away, and sets quotes; a
        text that holds no object or array has no value. Nothing in `raw` raises.

    Notes
    -----
    A repaired value is a guess: of a truncated output it holds what came before the cut, perhaps
    with a last value that is cut too. Scores of repaired outputs answer what-if questions, they
    are no results of the model.

    Examples
    --------
    >>> repair_output('{"total": 12, "lines": [1, 2,').value
    {'total': 12, 'lines': [1, 2]}
    """
    parsed = parse_output(raw)
    if parsed.parses:
        return Repaired(parsed.value, json.dumps(parsed.value, ensure_ascii=False), parsed)
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes | bytearray) else raw or ""
    if parsed.failure == "empty_response":
        return Repaired(None, None, parsed, "there is no text")
    try:
        value = _repaired(text, parsed.failure, seconds)
        fixed = json.dumps(value, ensure_ascii=False)
    except subprocess.TimeoutExpired:
        return Repaired(None, None, parsed, f"it was not repaired within {seconds:g} s")
    except Exception as error:  # noqa: BLE001 - the library promises nothing
        return Repaired(None, None, parsed, f"json_repair failed: {type(error).__name__}: {error}")
    if not isinstance(value, dict | list) or not value:
        return Repaired(None, None, parsed, "it holds no object or array")
    return Repaired(value, fixed, parsed)


def _repaired(text: str, failure: str, seconds: float) -> Any:
    if failure == "truncated_json":
        with suppress(ValueError):
            return read_cut_off(unwrapped(text)[0])
    return _by_library(text) if len(text) <= _SHORT else _elsewhere(text, seconds)


def _by_library(text: str) -> Any:
    from json_repair import repair_json

    return repair_json(text, return_objects=True, skip_json_loads=True)


def _elsewhere(text: str, seconds: float) -> Any:
    """Repair a text in another process: some texts take the library hours."""
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
