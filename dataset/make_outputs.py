"""Write the sample model outputs: each gold document with failures planted by hand.

Run ``python dataset/make_outputs.py`` after changing a gold file or ``edits/``. It writes
``runs/{run}/{document}.json`` and the run folders in ``failures/``. The models are fictional.

``edits/{run}.json`` maps a document to a list of ``[failure, path, argument]``, applied in
order. A path is written like ``races[0].entries[2].place``; what the argument means depends on
the failure and stands beside each operation below. ``edits/failures/{run}.json`` is the same for
the folders of ``failures/``, where calls can fail, too.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
EDITS = ROOT / "edits"

Json = Any


def steps(path: str) -> list[str | int]:
    """Split ``a.b[2].c`` into ``["a", "b", 2, "c"]``."""
    parts = re.findall(r"[^.\[\]]+|\[\d+\]", path)
    return [int(part[1:-1]) if part.startswith("[") else part for part in parts]


def at(document: Json, path: str) -> Json:
    """Return the value at a path."""
    for step in steps(path):
        document = document[step]
    return document


def put(document: Json, path: str, value: Json) -> None:
    """Set the value at a path; objects on the way are made where they are missing."""
    *parents, last = steps(path)
    for step in parents:
        document = document[step] if isinstance(step, int) else document.setdefault(step, {})
    document[last] = value


def drop(document: Json, path: str, _: Json = None) -> None:
    """Remove the key or item at a path."""
    *parents, last = steps(path)
    for step in parents:
        document = document[step]
    del document[last]


def drop_items(document: Json, path: str, indices: list[int]) -> None:
    """Remove items of the array at a path; the argument lists gold's indices."""
    array = at(document, path)
    array[:] = [item for index, item in enumerate(array) if index not in indices]


def reorder(document: Json, path: str, order: list[int] | None) -> None:
    """Put the array's items in the order given by gold's indices; null reverses it."""
    array = at(document, path)
    array[:] = [array[index] for index in order] if order else array[::-1]


def add_items(document: Json, path: str, items: list[Json]) -> None:
    """Append items that the document does not have."""
    at(document, path).extend(items)


def move(document: Json, path: str, target: str) -> None:
    """Move a value to where the schema does not want it; the argument is the new path."""
    value = at(document, path)
    drop(document, path)
    put(document, target, value)


def scale(document: Json, path: str, factor: float) -> None:
    """Multiply every number at or below a path."""
    put(document, path, _scaled(at(document, path), factor))


def _scaled(value: Json, factor: float) -> Json:
    if isinstance(value, dict):
        return {key: _scaled(child, factor) for key, child in value.items()}
    if isinstance(value, list):
        return [_scaled(child, factor) for child in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    product = round(value * factor, 6)
    return int(product) if product == int(product) else product


#: What each failure does to a parsed document.
OPERATIONS: dict[str, Callable[[Json, str, Json], None]] = {
    "omission": drop,
    "null instead of value": lambda document, path, _: put(document, path, None),
    "hallucination": put,
    "wrong value": put,
    "rounding": put,
    "unit slip": scale,
    "wrong type": put,
    "other form": put,
    "typo": put,
    "dropped items": drop_items,
    "reordered items": reorder,
    "spurious items": add_items,
    "wrong nesting": move,
    "undeclared key": put,
}


def truncate(raw: str, share: float) -> str:
    """Cut the text off, as an output limit does; the argument is the share that is kept."""
    return raw[: int(len(raw) * share)]


def trailing_comma(raw: str, _: Json) -> str:
    """Put a comma behind the last value."""
    return re.sub(r"\n}\s*$", ",\n}\n", raw)


def fence(raw: str, words: list[str]) -> str:
    """Wrap the JSON in a Markdown fence with a sentence before and after it."""
    before, after = words
    return f"{before}\n\n```json\n{raw}```\n\n{after}\n"


#: What each failure does to the text of an answer.
RAW_OPERATIONS: dict[str, Callable[[str, Json], str]] = {
    "truncated": truncate,
    "trailing comma": trailing_comma,
    "prose and fence": fence,
    "empty response": lambda *_: "",
}

#: Failures of a call, which returns no text; the argument is the provider's message.
CALL_FAILURES = {"page limit": "page_limit", "schema rejected": "schema_rejected"}


def answer(gold: Json, edits: list[list[Json]]) -> str:
    """Apply the edits to a copy of gold and return the text that the model 'wrote'."""
    document = copy.deepcopy(gold)
    for failure, path, argument in edits:
        if failure in OPERATIONS:
            OPERATIONS[failure](document, path, argument)
    raw = dumped(document)
    for failure, _, argument in edits:
        if failure in RAW_OPERATIONS:
            raw = RAW_OPERATIONS[failure](raw, argument)
    return raw


def all_edits(folder: str = "") -> dict[str, dict[str, list[list[Json]]]]:
    """Read the edits by run and document, and refuse an unknown failure."""
    paths = sorted((EDITS / folder).glob("*.json"))
    runs = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    known = {*OPERATIONS, *RAW_OPERATIONS, *(CALL_FAILURES if folder else ())}
    for run, documents in runs.items():
        for document, edits in documents.items():
            for failure, *_ in edits:
                if failure not in known:
                    raise SystemExit(f"edits/{run}.json, {document!r}: no failure {failure!r}")
    return runs


def render_all(root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Yield where each output belongs and its text."""
    paths = sorted(root.glob("*/*/pdf+gold/*.gold.json"))
    golds = {
        path.name.removesuffix(".gold.json"): json.loads(path.read_text(encoding="utf-8"))
        for path in paths
    }
    for run, documents in all_edits().items():
        for document, gold in golds.items():
            yield root / "runs" / run / f"{document}.json", answer(gold, documents[document])
    places = {
        path.name.removesuffix(".gold.json"): {
            "domain": path.parts[-4],
            "schema": path.parts[-3],
        }
        for path in paths
    }
    for run, documents in all_edits("failures").items():
        folder = root / "failures" / run
        model, _, mode = run.partition(" ")
        about = {"format": 1, "kind": "extraction", "model": model, "mode": mode or "prompt"}
        yield folder / "run.json", dumped({**about, "documents": places})
        for document, gold in golds.items():
            error, raw = call_error(documents[document]), None
            if error is None:
                raw = answer(gold, documents[document])
                yield folder / f"{document}.raw.txt", raw
            yield folder / f"{document}.meta.json", dumped(meta(raw, error, documents[document]))


def call_error(edits: list[list[Json]]) -> dict[str, str] | None:
    """Return the error of a call that failed, as `extract` records it."""
    errors = (
        {"reason": CALL_FAILURES[failure], "message": message}
        for failure, _, message in edits
        if failure in CALL_FAILURES
    )
    return next(errors, None)


def meta(raw: str | None, error: Json, edits: list[list[Json]]) -> dict[str, Json]:
    """Return the details of a call, as `extract` records them."""
    is_cut_off = any(failure == "truncated" for failure, *_ in edits)
    return {
        "finish_reason": None if raw is None else "length" if is_cut_off else "stop",
        "raw_characters": None if raw is None else len(raw),
        "error": error,
        "input": "text",
        "attempts": 1,
    }


def dumped(value: Json) -> str:
    """Write JSON as all files of this folder are written."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all outputs and the run folders."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    ).parse_args()
    for path, raw in render_all():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(raw, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
