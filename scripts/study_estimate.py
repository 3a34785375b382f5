"""Measure `xb.stats.estimate` on outputs with gold: the figures of the validation page.

    python scripts/study_estimate.py DOCUBENCH_FOLDER RECORDED_RUNS_FOLDER DATASET_FOLDER

The sample dataset is measured without a folder. Schemas are left out five at a time (each
document of DocuBench has one of its own): nothing is fitted, so this shows how much figures vary.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pandas as pd
from scipy.stats import spearmanr
from study_suspects import outputs_with_shared_mistakes

import extractbench_nb as xb

FOLDS = 5


def accuracy(estimate: xb.stats.Estimate) -> dict[str, Any]:
    """Return the largest and mean gap per run, the order, and counts of intervals with gold."""
    runs, documents = estimate.runs, estimate.documents.dropna(subset="estimate")
    inside = documents["gold"].between(documents["low"] - 1e-9, documents["high"] + 1e-9)
    return {
        "largest gap": runs["gap"].abs().max(),
        "mean gap": runs["gap"].mean(),
        "spearman": spearmanr(runs["estimate"], runs["gold"])[0] if len(runs) > 1 else None,
        "runs inside": f"{runs['gold'].between(runs['low'], runs['high']).sum()} of {len(runs)}",
        "document gap": documents["gap"].abs().mean(),
        "documents inside": f"{inside.sum()} of {len(documents)}",
    }


def by_vendors(outputs: pd.DataFrame, estimate: Callable[[pd.DataFrame], Any]) -> pd.DataFrame:
    """Estimate with three runs and more, in all combinations of different vendors."""
    rows = []
    names = sorted(outputs["run"].unique())
    for size in range(3, len(names) + 1):
        for chosen in combinations(names, size):
            made = estimate(outputs[outputs["run"].isin(chosen)])
            rows.append((size, bool(made.signs), made.runs["gap"].abs().max()))
    table = pd.DataFrame(rows, columns=["runs", "refused", "gap"])
    given = table[~table["refused"]].groupby("runs")["gap"].agg(["size", "median", "max"])
    return given.assign(refused=table.groupby("runs")["refused"].sum())


def docubench(folder: str) -> None:
    """All six systems; folds of schemas; fewer systems."""
    dataset = xb.benchmark.load_docubench(folder)
    gold = xb.evaluate_runs(dataset, progress=False)
    whole = xb.stats.estimate(dataset, gold=gold)
    print(whole.runs.round(4).to_string(), accuracy(whole), sep="\n")
    confidences = xb.stats.run_agreement(dataset)
    print("values:", xb.stats.calibration(gold, confidences).to_string())
    names = sorted(dataset.runs["document"].unique())
    for title, is_rest in (("without five schemas:", True), ("on these five alone:", False)):
        folds = []
        for fold in range(FOLDS):
            is_chosen = dataset.runs["document"].isin(names[fold::FOLDS]) != is_rest
            chosen = dataset.runs[is_chosen]
            folds.append(accuracy(xb.stats.estimate(chosen, dataset=dataset, gold=gold)))
        print(title, pd.DataFrame(folds).round(4).to_string(), sep="\n")
    print(
        by_vendors(dataset.runs, lambda runs: xb.stats.estimate(runs, dataset=dataset, gold=gold))
    )


def recorded(folder: str, published: str) -> None:
    """Runs of two vendors, whose gold is broken: refused, and what would have been estimated."""
    outputs, dataset = xb.runs.recorded_outputs(folder), xb.load_dataset(published)
    gold = xb.evaluate_runs(outputs, dataset=dataset, progress=False)
    apart = {run: run for run in outputs["run"]}
    for title, options in {
        "as they are": {},
        "with gold": {"gold": gold},
        "each run named as a vendor": {"vendors": apart},
        "each run named as a vendor, with gold": {"vendors": apart, "gold": gold},
    }.items():
        made = xb.stats.estimate(outputs, dataset=dataset, **options)
        print(title, made, made.runs[["agreement", "estimate", "gold", "gap"]].round(3), sep="\n")


def planted(seeds: int = 2) -> None:
    """Runs made from gold, without and with mistakes that all share; with PDFs and without."""
    dataset = xb.load_dataset("sample")
    rows = []
    for shared in (0.0, 0.05, 0.2):
        for seed in range(seeds):
            outputs = outputs_with_shared_mistakes(dataset, 4, shared, seed)
            outputs["run"] = outputs["run"].str.replace("model ", "") + " model"
            gold = xb.evaluate_runs(outputs, dataset=dataset, progress=False)
            schemas = outputs["document"].map(dataset.listing.set_index("document")["schema"])
            without = outputs.assign(schema=schemas.map(dataset.schema))
            vendors = {run: run for run in outputs["run"]}
            for pdfs, runs, source in ((True, outputs, dataset), (False, without, None)):
                made = xb.stats.estimate(runs, dataset=source, gold=gold, vendors=vendors)
                rows.append((shared, pdfs, made.runs["gap"].mean(), made.runs["gap"].abs().max()))
    table = pd.DataFrame(rows, columns=["shared", "PDFs", "mean gap", "largest gap"])
    print(table.groupby(["shared", "PDFs"]).mean().round(4).to_string())


if __name__ == "__main__":
    planted()
    docubench(sys.argv[1])
    recorded(*sys.argv[2:4])
