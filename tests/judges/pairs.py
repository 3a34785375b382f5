"""The judged pairs: our own labelled sets, and real verdicts found in the folders given."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
PASS = 0.7


class Pair(NamedTuple):
    """Two texts and whether they mean the same."""

    gold: str
    predicted: str
    same: bool
    source: str


class Errors(NamedTuple):
    """Share of different pairs accepted, of equal pairs rejected, and the pairs."""

    false_accepts: float
    false_rejects: float
    pairs: list[Pair]


def read_pairs(name: str) -> list[Pair]:
    """Read one of the labelled sets beside this file."""
    rows = json.loads((HERE / name).read_text(encoding="utf-8"))
    return [Pair(r["gold"], r["predicted"], r["same"], r.get("kind", "")) for r in rows]


def in_holdout(pair: Pair) -> bool:
    """Split by content: half of the pairs were never looked at while the rules were tuned."""
    key = f"{pair.gold}|{pair.predicted}".encode()
    return hashlib.sha256(key).digest()[0] % 2 == 1


def measure(judge: Any, pairs: list[Pair]) -> Errors:
    """Judge all pairs and count the two kinds of error."""
    wrong = [p for p in pairs if (judge.compare(p.gold, p.predicted).score >= PASS) != p.same]
    same = sum(p.same for p in pairs)
    rejected = sum(p.same for p in wrong)
    return Errors((len(wrong) - rejected) / (len(pairs) - same), rejected / same, wrong)


def recorded_folders() -> tuple[Path, Path] | None:
    """Return the folders of recorded runs and of the dataset; None where they are not given."""
    runs, dataset = os.environ.get("EXTRACTBENCH_RUNS"), os.environ.get("EXTRACTBENCH_DATASET")
    return (Path(runs), Path(dataset)) if runs and dataset else None


def recorded_pairs(runs: Path, dataset: Path) -> list[Pair]:
    """Read the real judge's verdicts on present, not identical values; one pair a row.

    Reports with a failed judge call are left out. Values are looked up by path.
    """
    golds = {p.name.removesuffix(".gold.json"): p for p in dataset.rglob("*.gold.json")}
    pairs: list[Pair] = []
    for path in sorted(runs.rglob("*.judge-report.json")):
        name = path.name.removesuffix(".judge-report.json")
        rows = json.loads(path.read_text(encoding="utf-8"))["field_outcomes"]
        if any(re.fullmatch(r"error_\d+", row["metric_id"]) for row in rows):
            continue
        gold = json.loads(golds[name].read_text(encoding="utf-8"))
        predicted = json.loads(path.with_name(f"{name}.pred.json").read_text(encoding="utf-8"))
        for row in rows:
            keys = row["normalized_path"].split(".")
            a, b = _look_up(gold, keys), _look_up(predicted, keys)
            if row["metric_id"] == "string_semantic" and a and b and a != b:
                pairs.append(Pair(a, b, row["passed"], f"{path.parent.name}: {'.'.join(keys)}"))
    return pairs


def _look_up(value: Any, keys: list[str]) -> str | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
