"""Tables of documentation pages that need more code than a reader wants to see, by name."""

from __future__ import annotations

from typing import Any

import pandas as pd

import extractbench_nb as xb

ROW = {"item": {"type": "string"}, "quantity": {"type": "integer"}}
LINES = {"type": "array", "items": {"type": "object", "properties": ROW}}
PROFILES = ("strict", "paper")


def lines(**quantities: int) -> list[dict[str, Any]]:
    return [{"item": item, "quantity": n} for item, n in quantities.items()]


def pass_rate() -> pd.DataFrame:
    """Pass rates of predictions with one mistake each, for docs/explanation/profiles.md."""
    fields = {
        "invoice": {"type": "string"},
        "seller": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "total": {"type": "number"},
        "lines": LINES,
    }
    schema = {"type": "object", "properties": fields}
    right = lines(Pad=200, Folder=30, Pen=4)
    extra = lines(**{f"Binder {n}": n for n in range(30)})
    gold = {
        "invoice": "A-17",
        "seller": "Northwind",
        "note": None,
        "total": 1240.5,
        "lines": right,
    }
    predictions: dict[str, Any] = {
        "none": gold,
        "a missing key": {key: value for key, value in gold.items() if key != "seller"},
        "null instead of a value": gold | {"seller": None},
        "a wrong value, or a wrong type": gold | {"total": "about 1,240"},
        "a value where gold has null": gold | {"note": "paid"},
        "an undeclared key": gold | {"buyer": "Brook Ltd"},
        "a missing line": gold | {"lines": right[:2]},
        "a line with a wrong field": gold | {"lines": lines(Pad=200, Folder=30, Pen=5)},
        "30 invented lines": gold | {"lines": [*right, *extra]},
        "no lines": gold | {"lines": []},
        "an empty object": {},
        "text that is not JSON": '{"invoice": "A-17"',
    }
    rates = {
        profile: [
            xb.evaluate(schema, gold, predicted, profile=profile).summary["pass_rate"]
            for predicted in predictions.values()
        ]
        for profile in PROFILES
    }
    return pd.DataFrame({"mistake": list(predictions), **rates})


def array_scores() -> pd.DataFrame:
    """Scores of arrays by cause, for docs/explanation/alignment.md."""
    two, three = lines(Envelope=200, Folder=30), lines(Envelope=200, Folder=30, Stapler=4)
    cases = {
        "one of three rows is missing": (three, two),
        "one of three rows has a wrong field": (three, [*two, *lines(Stapler=5)]),
        "one of three rows is another row": (three, [*two, *lines(Binder=9)]),
        "two rows are right, two invented": (two, [*two, *lines(Binder=9, Ruler=12)]),
    }
    rows = []
    for case, (gold, predicted) in cases.items():
        strict, paper = (
            xb.evaluate(LINES, gold, predicted, profile=profile).arrays.iloc[0]
            for profile in PROFILES
        )
        counts = strict[["matched", "differing", "missed", "spurious"]].to_dict()
        rows.append({"case": case, "strict": strict["score"], "paper": paper["score"]} | counts)
    return pd.DataFrame(rows)


#: What makes a table that no block of its page makes.
TABLES = {"pass_rate": pass_rate, "array_scores": array_scores}
