"""Measure `xb.gold.suspects` on errors planted in the gold of the sample dataset.

Runs that are made from the right gold have mistakes of their own, and, with `shared`, mistakes
that all of them make. They are evaluated against gold in which errors of one kind were planted.

    python scripts/study_suspects.py
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from random import Random

import pandas as pd

import extractbench_nb as xb
from extractbench_nb.gold import suspects
from extractbench_nb.runs.dataset import Dataset, load_dataset
from extractbench_nb.simulation.corrupt import corrupt_document

#: Corruptions of gold that can be seen from the outputs of runs, with the rate of planting.
PLANTED = {
    "typo": 0.02,
    "dropped_word": 0.03,
    "truncation": 0.02,
    "changed_digit": 0.03,
    "sign": 0.1,
    "substitute": 0.02,
    "null_out": 0.02,
    "omit": 0.02,
    "drop_items": 0.06,
}
STRENGTH = 0.3
RUNS = 4
#: Rates of the mistakes that runs make independently of each other, and of outputs without JSON.
MISTAKES = {
    **dict.fromkeys(("hallucinate", "drop_items"), 0.08),
    **dict.fromkeys(("dropped_word", "truncation", "changed_digit", "substitute"), 0.03),
    **dict.fromkeys(("null_out", "omit"), 0.03),
    **dict.fromkeys(("whitespace", "case", "date_format", "typo", "rounding", "unit"), 0.015),
    **dict.fromkeys(("shuffle_items", "duplicate_items", "spurious_items"), 0.015),
}
INVALID = 0.1


def outputs_of(dataset: Dataset, runs: int, seed: int) -> pd.DataFrame:
    """Make the outputs of runs from gold; one in ten is not JSON."""
    golds = {name: dataset.gold(name) for name in dataset.listing["document"]}
    schemas = dict(zip(dataset.listing["document"], dataset.listing["schema"], strict=True))
    rows = []
    for run in range(runs):
        for name, gold in golds.items():
            donors = [golds[d] for d in golds if schemas[d] == schemas[name] and d != name]
            schema, key = dataset.schema(schemas[name]), f"{seed} {run} {name}"
            made = corrupt_document(schema, gold, MISTAKES, donors=donors, seed=key)
            text = json.dumps(made.value, ensure_ascii=False)
            is_invalid = Random(key).random() < INVALID
            rows.append((f"model {run}", name, text[:-1] + ",}" if is_invalid else text))
    return pd.DataFrame(rows, columns=["run", "document", "predicted"])


def plant(
    dataset: Dataset, folder: Path, corruption: str, rate: float, seed: int
) -> tuple[Dataset, pd.DataFrame]:
    """Write a copy of a dataset with errors in its gold; return it and the record of the errors."""
    shutil.copytree(dataset.root, folder, ignore=shutil.ignore_patterns("runs"))
    copy = load_dataset(folder)
    golds = {name: dataset.gold(name) for name in dataset.listing["document"]}
    schemas = dict(zip(dataset.listing["document"], dataset.listing["schema"], strict=True))
    records = []
    for name, path in zip(copy.listing["document"], copy.listing["gold_path"], strict=True):
        others = [d for d in golds if schemas[d] == schemas[name] and d != name]
        made = corrupt_document(
            dataset.schema(schemas[name]),
            golds[name],
            corruption,
            rate,
            strength=STRENGTH,
            donors=[golds[other] for other in others],
            seed=f"{seed} {name}",
        )
        path.write_text(json.dumps(made.value, ensure_ascii=False), encoding="utf-8")
        records.append(made.record.assign(document=name))
    return copy, pd.concat(records, ignore_index=True)


def hits(found: pd.DataFrame, record: pd.DataFrame) -> list[bool]:
    """Say of each suspect whether it shows a planted error that no earlier one shows.

    An item that is missing shows a dropped item of its array, or one that was changed so much that
    it is not the same any more.
    """
    rest = list(zip(record["document"], record["path"], strict=True))
    shown = []
    for document, path in zip(found["document"], found["path"], strict=True):
        array = path.removesuffix("[-]")
        places = [
            place
            for place in rest
            if place[0] == document and (place[1] == path or place[1].startswith(f"{array}["))
        ]
        shown.append(bool(places))
        if places:
            rest.remove(places[0])
    return shown


def planted_errors(
    dataset: Dataset,
    corruption: str,
    outputs: pd.DataFrame,
    *,
    evidence: bool = True,
    seed: int = 0,
) -> dict[str, object]:
    """Plant errors of one kind, and count those that the suspects show.

    Returns the numbers of planted errors, of those found, of suspects, and of the errors found
    among as many suspects of the highest rank as there are errors. Without `evidence`, PDFs and
    audit are left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        planted, record = plant(
            dataset, Path(folder) / "planted", corruption, PLANTED[corruption], seed
        )
        evs = xb.evaluate_runs(outputs, dataset=planted, progress=False)
        found = suspects(evs, planted if evidence else None)
    shown = hits(found, record)
    return {
        "corruption": corruption,
        "planted": len(record),
        "found": sum(shown),
        "suspects": len(found),
        "top": sum(shown[: len(record)]),
    }


def outputs_with_shared_mistakes(
    dataset: Dataset, runs: int, rate: float, seed: int
) -> pd.DataFrame:
    """Make runs that read the same wrong value at a share of the places."""
    with tempfile.TemporaryDirectory() as folder:
        read, _ = plant(dataset, Path(folder) / "read", "substitute", rate, seed + 1000)
        return outputs_of(read, runs, seed)


def study(dataset: Dataset, *, seeds: int, shared: float) -> pd.DataFrame:
    """Add up the counts over seeds; one row per kind of error, and one of all."""
    rows = []
    for seed in range(seeds):
        outputs = outputs_with_shared_mistakes(dataset, RUNS, shared, seed)
        rows += [planted_errors(dataset, name, outputs, seed=seed) for name in PLANTED]
    counts = pd.DataFrame(rows)
    table = counts.groupby("corruption", sort=False).sum()
    table.loc["all"] = table.sum()
    table["recall"] = table["found"] / table["planted"]
    table["precision"] = table["found"] / table["suspects"]
    table["precision at k"] = table["top"] / table["planted"]
    return table


if __name__ == "__main__":
    for shared in (0.0, 0.01):
        print(f"shared mistakes: {shared:.0%}")
        print(study(load_dataset("sample"), seeds=5, shared=shared).round(3).to_string())
