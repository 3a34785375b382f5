"""Measure how often the interval of `review_plan` contains the true remaining error.

    python scripts/validate_review_plan.py [--trials 400]

Outputs are made from the gold of the sample dataset with many seeds. Evaluated, they are the
population. Each trial draws documents from it, fits a plan on their values and
confidences, and compares its interval with the error that remains in the whole population at the
same budget. The same samples give thresholds of `risk_coverage`; one is unsafe if more than the
target of what it accepts in the population is wrong. Prints a table as Markdown.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

import extractbench_nb as xb
from extractbench_nb.stats.confidences import Levels
from extractbench_nb.stats.intervals import Drawing
from extractbench_nb.stats.reviews import accepted_errors, chosen_row, remaining_errors

SEEDS, MOST_VALUES, TARGET = 30, 12, 0.1
SIZES, UNITS = (10, 35, 100), ("document", "field")
RESAMPLES = 600
ERRORS = dict.fromkeys(("typo", "substitute", "omit", "changed_digit"), 0.035)
#: Rates of errors in the outputs, and the share of outputs that are not JSON.
OUTPUTS: dict[str, tuple[dict[str, float], float]] = {
    "usual errors": (ERRORS, 0.0),
    "30 % of outputs invalid": (ERRORS, 0.3),
    "rare errors": ({"substitute": 0.005}, 0.0),
    "all right": ({}, 0.0),
    "all wrong": ({}, 1.0),
}
KINDS = ("useless", "informative", "perfect", "coarse", "overconfident")


class Values(NamedTuple):
    """Values of documents: whether they are wrong, and the documents and confidences."""

    wrong: np.ndarray
    document: np.ndarray
    stated: np.ndarray

    def levels(self, unit: str) -> Levels:
        """Return what `review_plan` fits on."""
        sizes = np.bincount(self.document)
        if unit == "field":
            share = self.wrong / sizes[self.document]
            return Levels.of(self.stated, self.document, np.ones(len(share)), share)
        means, errors = (
            np.bincount(self.document, part) / sizes for part in (self.stated, self.wrong)
        )
        return Levels.of(means, np.arange(len(sizes)), np.ones(len(sizes)), errors)


def population(rates: dict[str, float], invalid: float) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate many outputs made from gold, each a document of its own: wrong values, documents."""
    dataset = xb.load_dataset("sample")
    schemas = dict(zip(dataset.listing["document"], dataset.listing["schema"], strict=True))
    golds = {name: dataset.gold(name) for name in schemas}
    rng, rows = np.random.default_rng(1), []
    for seed, (name, gold) in product(range(SEEDS), golds.items()):
        schema = dataset.schema(schemas[name])
        donors = [golds[d] for d in golds if schemas[d] == schemas[name] and d != name]
        key = f"{seed} {name}"
        made = xb.simulation.corrupt_document(schema, gold, rates, donors=donors, seed=key)
        rows.append((str(seed), name, "" if rng.random() < invalid else made.value))
    runs = pd.DataFrame(rows, columns=["run", "document", "predicted"])
    fields = xb.evaluate_runs(runs, dataset=dataset, profile="strict", progress=False).fields
    fields = fields[fields["counted"] & fields["passed"].notna()]
    fields = fields.iloc[np.random.default_rng(0).permutation(len(fields))]
    fields = fields.groupby(["run", "document"]).head(MOST_VALUES)
    document = fields.groupby(["run", "document"]).ngroup().to_numpy()
    return ~fields["passed"].to_numpy(dtype=bool), document


def confidences(wrong: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return a confidence for each value, related to whether it is right."""
    if kind == "useless":
        return rng.random(len(wrong))
    if kind == "perfect":
        return np.where(wrong, 0.0, 1.0)
    informative = np.where(wrong, rng.beta(2, 3, len(wrong)), rng.beta(5, 2, len(wrong)))
    if kind == "coarse":  # as the agreement of four runs
        return np.round(3 * informative) / 3
    return informative if kind == "informative" else 0.9 + informative / 10


def regime(own: Values, size: int, trials: int, budget: float) -> list[dict[str, float]]:
    """Run the trials of one regime; return a row for each unit."""
    rng = np.random.default_rng([size, len(own.wrong)])
    budgets = np.array([budget])
    truth = {u: remaining_errors(own.levels(u), budgets, Drawing(0.95, 100, 0))[0] for u in UNITS}
    before = np.bincount(own.document, own.wrong) / np.bincount(own.document)
    places = np.split(np.argsort(own.document), np.cumsum(np.bincount(own.document))[:-1])
    covered, width, unsafe = dict.fromkeys(UNITS, 0), dict.fromkeys(UNITS, 0.0), 0
    for trial in range(trials):
        chosen = [places[number] for number in rng.integers(0, len(places), size)]
        at, names = np.concatenate(chosen), np.repeat(np.arange(size), list(map(len, chosen)))
        sample = Values(own.wrong[at], names, own.stated[at])
        drawing = Drawing(0.95, RESAMPLES, trial)
        for unit in UNITS:
            _, low, high = remaining_errors(sample.levels(unit), budgets, drawing)
            covered[unit] += int(low[0] <= truth[unit][0] <= high[0])
            width[unit] += high[0] - low[0]
        curve, _ = accepted_errors(sample.stated, sample.wrong, names, drawing)
        row = chosen_row(curve, TARGET)
        if row is not None:
            accepted = own.stated >= row["threshold"] - 1e-12
            share = accepted / np.bincount(own.document)[own.document]
            unsafe += int((share * own.wrong).sum() > TARGET * share.sum())
    return [
        {
            "unit": unit,
            "error": before.mean(),
            "remaining": truth[unit][0],
            "covered": covered[unit] / trials,
            "width": width[unit] / trials,
            "unsafe": unsafe / trials,
        }
        for unit in UNITS
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--outputs", nargs="+", choices=[*OUTPUTS], default=[*OUTPUTS])
    parser.add_argument("--budget", type=float, default=0.2)
    given = parser.parse_args()
    head = ["outputs", "confidences", "documents", "unit", "error", "remaining", "covered"]
    print("|", " | ".join([*head, "width", "unsafe thresholds"]), "|")
    print("|---|---|---:|---|---:|---:|---:|---:|---:|", flush=True)
    found = []
    for name in given.outputs:
        wrong, document = population(*OUTPUTS[name])
        for kind, size in product(KINDS[:1] if name.startswith("all") else KINDS, SIZES):
            stated = confidences(wrong, kind, np.random.default_rng(KINDS.index(kind)))
            for row in regime(Values(wrong, document, stated), size, given.trials, given.budget):
                cells = [f"{c:.3f}" if isinstance(c, float) else c for c in row.values()]
                print("|", " | ".join([name, kind, str(size), *cells]), "|", flush=True)
                found.append(row)
    table = pd.DataFrame(found)
    print(f"\nCovered: {table['covered'].mean():.4f} of {given.trials * len(table)} intervals")
    print(f"Lowest: {table['covered'].min():.3f}; unsafe: at most {table['unsafe'].max():.3f}")


if __name__ == "__main__":
    main()
