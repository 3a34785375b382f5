"""What views need without a widget: files, signs, scores as text, pages and saved notebooks."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from extractbench_nb.errors import InputError, needs
from extractbench_nb.support.files import read_text, write_texts
from extractbench_nb.support.nodes import Content, Html, h, static_html
from extractbench_nb.support.wording import trimmed

#: The type of the live part of an output.
WIDGET = "application/vnd.jupyter.widget-view+json"


def notebook_libraries() -> None:
    """Refuse to go on without ipywidgets and anywidget."""
    needs("ipywidgets", "notebook")
    needs("anywidget", "notebook")


@cache
def asset(*names: str) -> str:
    """Join files of this package to one text."""
    here = files("extractbench_nb.views") / "assets"
    return "\n".join(here.joinpath(name).read_text(encoding="utf-8") for name in names)


#: Signs of outcomes and of statuses, for those who do not see or do not know the colours.
MARKS = {
    "correct": "✓",
    "both_absent": "∅",
    "incorrect": "≠",
    "omission": "−",
    "hallucination": "+",
    "structural": "!",
    "judge_error": "?",
    "matched": "✓",
    "differing": "≈",
    "missed": "−",
    "spurious": "+",
}


def outcome_text(outcome: str) -> str:
    """Write an outcome in words, after its sign."""
    return f"{MARKS[outcome]} {outcome.replace('_', ' ')}"


#: Attributes of a page that outputs of cells do without.
_OF_PAGES = frozenset(
    "id href tabindex role aria-label aria-labelledby aria-hidden datetime data-label "
    "charset content http-equiv name".split()
)


def page(title: str, sheet: str, *content: Content | Html, is_strict: bool = True) -> str:
    """Write a page of its own, with a script that sorts, filters and unfolds it.

    Its policy allows no request and no other script. A page that is not strict may have styles in
    its elements.
    """
    script = asset("page.js")
    policy = {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": _digest(sheet) if is_strict else "'unsafe-inline'",
        "script-src": _digest(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h(
            "meta",
            http_equiv="Content-Security-Policy",
            content="; ".join(f"{name} {value}" for name, value in policy.items()),
        ),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("meta", name="referrer", content="no-referrer"),
        h("title", trimmed(title, 120)),
        h("style", sheet),
    )
    whole = h("html", head, h("body", *content, h("script", script)), lang="en")
    return f"<!DOCTYPE html>\n{static_html(whole, also=_OF_PAGES)}\n"


def _digest(text: str) -> str:
    """Return the source of a policy that allows exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def score_text(score: float | None) -> str:
    """Write a score with two digits: 1.00 is exactly 1, and 0.00 exactly 0.

    Examples
    --------
    >>> [score_text(score) for score in (0, 0.001, 0.625, 0.999, 1, None)]
    ['0.00', '0.01', '0.63', '0.99', '1.00', 'n/a']
    """
    if score is None or math.isnan(score):
        return "n/a"
    if score <= 0 or score >= 1:
        return "0.00" if score <= 0 else "1.00"
    return f"0.{min(99, max(1, math.floor(100 * score + 0.5))):02}"


def keep_static(notebook: str | Path, target: str | Path | None = None) -> int:
    """Remove the live part of every view in a saved notebook, and keep the static fallback.

    A notebook stores both parts of a view, as two outputs, and shows the fallback if there is no
    kernel. Without the live parts, the file does not change from run to run.

    Parameters
    ----------
    notebook : str or pathlib.Path
        The ``.ipynb`` file.
    target : str, pathlib.Path or None, optional
        The file to write; by default `notebook` is replaced.

    Returns
    -------
    int
        Number of live parts that were removed. Widgets without a static fallback (from other
        packages) are kept; the state of widgets is removed if no widget is left.

    Raises
    ------
    InputError
        The file cannot be read, or is not a notebook.
    OutputError
        The file cannot be written; an existing file is unchanged.
    """
    source = Path(notebook)
    text = read_text(source, "notebook")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{str(source)!r} is not a notebook: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise InputError(f"{str(source)!r} is not a notebook: it has no list of cells")
    changed = left = 0
    for cell in content["cells"]:
        outputs = cell.get("outputs", [])
        changed += drop_live_parts(outputs)
        left += sum(WIDGET in output.get("data", {}) for output in outputs)
    if not left:
        content.get("metadata", {}).pop("widgets", None)
    text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    write_texts({source if target is None else Path(target): text})
    return changed


#: Names a static fallback, so that the live view beside it can hide it.
_NAMED = re.compile(r'^(<div) data-xb="[0-9a-f]+"')


def drop_live_parts(outputs: list[Any]) -> int:
    """Drop the live views that follow their static fallbacks from the outputs of a cell."""
    dropped = 0
    for at in reversed(range(len(outputs))):
        data = outputs[at].get("data", {})
        html = "".join(data.get("text/html", ""))
        after = outputs[at + 1].get("data", {}) if at + 1 < len(outputs) else {}
        if _NAMED.match(html) and WIDGET in after:
            data["text/html"] = _NAMED.sub(r"\1", html)
            del outputs[at + 1]
            dropped += 1
        elif WIDGET in data and html:  # both in one output, as older versions wrote them
            del data[WIDGET]
            dropped += 1
    return dropped
