"""Count the functions and files of the package that one value passes, from `evaluate` to `fields`.

    python scripts/trace_value.py

The value is a wrong text under `string_fuzzy`. Functions are counted once each, without lambdas and
comprehensions; a change of file is a call from one file of the package into another. Before
counting, a document of the same shape with other names and values is evaluated, so that what is
loaded or built on first use is not counted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import extractbench_nb as xb

ROOT = str(Path(xb.__file__).parent)
LEFT_OUT = ("<module>", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")


def documents(key: str, texts: list[str], wrong: str) -> dict[str, tuple[Any, Any, Any]]:
    """Return schema, gold and prediction of one field, and of an array of two items."""
    text = {"type": "string", "evaluation_config": "string_fuzzy"}
    items = {"type": "object", "properties": {key: text}}
    gold = [{key: value} for value in texts]
    return {
        "one field": (items, gold[0], {key: wrong}),
        "an array of two items": (
            {"type": "object", "properties": {"rows": {"type": "array", "items": items}}},
            {"rows": gold},
            {"rows": [gold[1], {key: wrong}]},
        ),
    }


def counted(document: tuple[Any, Any, Any]) -> tuple[int, int, int]:
    """Evaluate a document; return the number of functions, files and changes of file."""
    functions: set[tuple[str, int]] = set()
    changes = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal changes
        code = frame.f_code
        if event != "call" or code.co_name in LEFT_OUT or not is_own(frame):
            return
        functions.add((code.co_filename, code.co_firstlineno))
        caller = frame.f_back
        while caller is not None and not is_own(caller):
            caller = caller.f_back
        changes += caller is not None and caller.f_code.co_filename != code.co_filename

    sys.setprofile(note)
    _ = xb.evaluate(*document).fields
    sys.setprofile(None)
    return len(functions), len({name for name, _ in functions}), changes


def is_own(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(ROOT)


def main() -> None:
    """Print one line per document."""
    first = documents("title", ["Annual report", "Third quarter"], "Annual accounts")
    second = documents("name", ["Northwind Paper Inc.", "Acme Tools"], "Northwind Traders")
    for name, document in second.items():
        _ = xb.evaluate(*first[name]).fields
        functions, files, changes = counted(document)
        print(f"{name}: {functions} functions in {files} files, {changes} changes of file")


if __name__ == "__main__":
    main()
