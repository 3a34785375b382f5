"""Vendors of the models behind runs, from the names of the runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from extractbench_nb.errors import InputError, nearest

#: Vendors and their models; the group that matches first names the vendor.
_VENDOR = re.compile(
    r"(?<![a-z])(?:(?P<anthropic>anthropic|claude)|(?P<openai>openai|(?:chat)?gpt)"
    r"|(?P<google>google|gemini|gemma)|(?P<meta>meta|llama)|(?P<mistral>mistral|mixtral)"
    r"|(?P<alibaba>alibaba|qwen)|(?P<deepseek>deepseek)|(?P<xai>xai|grok))(?![a-z])"
)


def vendors_of(runs: Iterable[str], given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the vendor of each run: given, known, or else the first word of its name."""
    vendor_of = {}
    for run in runs:
        known, word = _VENDOR.search(run.lower()), re.search("[a-z]+", run.lower())
        vendor_of[run] = str(known.lastgroup) if known else word.group() if word else "unnamed"
    for run in given or ():
        if run not in vendor_of:
            raise InputError(f"vendors: unknown run {run!r}; {nearest(run, vendor_of)}")
    return vendor_of | dict(given or {})
