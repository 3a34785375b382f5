"""Measure how often the interval of `review_plan` contains the true remaining error.

    python scripts/validate_review_plan.py [--trials 250] [--jobs 2]

A simulated model answers for the documents of the sample dataset, with many seeds. Its evaluated
outputs are the population. Each trial draws documents from it, gives their values confidences, fits
a plan, and compares its interval with the error that remains in the whole population at the same
budget. Prints a table as Markdown, and the same for the thresholds of `risk_coverage`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
import pandas as pd

import extractbench_nb as xb

SEEDS, MOST_VALUES, TARGET = 30, 30, 0.1
SIZES = (10, 35, 100)
VALID = {"none": 1.0}
CORRUPTIONS = {"typo": 0.05, "substitute": 0.05, "omit": 0.05, "changed_digit": 0.05}
PROFILES = {
    "simulated model": xb.simulation.ModelProfile("a", {"*": VALID}, {"*": CORRUPTIONS}),
    "30 % of outputs invalid": xb.simulation.ModelProfile(
        "b", {"*": {"none": 0.7, "malformed_json": 0.3}}, {"*": CORRUPTIONS}
    ),
    "rare errors": xb.simulation.ModelProfile("c", {"*": VALID}, {"*": {"substitute": 0.005}}),
    "all right": xb.simulation.ModelProfile("d", {"*": VALID}),
    "all wrong": xb.simulation.ModelProfile("e", {"*": {"malformed_json": 1.0}}),
}
KINDS = ("useless", "informative", "perfect", "coarse", "overconfident")


def population(profile: xb.simulation.ModelProfile) -> pd.DataFrame:
    """Return evaluated values of many simulated outputs; each output is a document of its own."""
    dataset = xb.load_dataset("sample")
    outputs = pd.concat(
        [xb.simulation.simulate(dataset, profile, s, run=str(s)).outputs for s in range(SEEDS)]
    )
    runs = outputs.rename(columns={"raw": "predicted"})[["run", "document", "predicted"]]
    evs = xb.evaluate_runs(runs, dataset=dataset, profile="strict", progress=False)
    fields = evs.fields
    fields = fields[fields["counted"] & fields["passed"].notna()]
    rng = np.random.default_rng(0)
    fields = fields.iloc[rng.permutation(len(fields))]
    fields = fields.groupby(["run", "document"]).head(MOST_VALUES)
    number = fields.groupby(["run", "document"]).ngroup().to_numpy()
    columns = {"path": [f"$.v{i}" for i in range(len(fields))], "predicted_path": None}
    columns |= {"field": "v", "predicted_state": "present", "counted": True, "document": number}
    return pd.DataFrame({**columns, "passed": fields["passed"].to_numpy(dtype=bool)})


def confidences(right: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return a confidence for each value, related to whether it is right."""
    if kind == "useless":
        return rng.random(len(right))
    if kind == "perfect":
        return np.where(right, 1.0, 0.0)
    informative = np.where(right, rng.beta(5, 2, len(right)), rng.beta(2, 3, len(right)))
    if kind == "coarse":  # as the agreement of four runs
        return np.round(3 * informative) / 3
    return informative if kind == "informative" else 0.9 + informative / 10


def frames(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows as fields and as confidences."""
    return rows, rows[["document", "path", "confidence"]]


def draw(rows: pd.DataFrame, size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw documents with replacement, each under a new name."""
    parts = dict(tuple(rows.groupby("document", sort=False)))
    chosen = rng.choice(list(parts), size)
    return pd.concat([parts[name].assign(document=f"d{i}") for i, name in enumerate(chosen)])


def regime(name: str, kind: str, trials: int, budget: float) -> list[dict[str, object]]:
    """Run the trials of one regime, for each number of documents and both units."""
    rows = population(PROFILES[name])
    rng = np.random.default_rng([len(name), KINDS.index(kind)])
    rows["confidence"] = confidences(rows["passed"].to_numpy(), kind, rng)
    rows["document"] = rows["document"].astype(str)
    own, stated = frames(rows)
    truth = {
        unit: xb.stats.review_plan(own, budget, stated, unit=unit, resamples=100)
        for unit in ("document", "field")
    }
    found = []
    for size, unit in product(SIZES, truth):
        true = truth[unit].remaining
        covered, widths, unsafe = 0, [], 0
        for trial in range(trials):
            sample = draw(rows, size, rng)
            own, stated = frames(sample)
            plan = xb.stats.review_plan(own, budget, stated, unit=unit, resamples=1000, seed=trial)
            covered += plan.low - 1e-9 <= true <= plan.high + 1e-9
            widths.append(plan.high - plan.low)
            if unit == "field":
                risk = xb.stats.risk_coverage(own, stated, target=TARGET, resamples=1000)
                if risk.threshold is not None:
                    accepted = rows[rows["confidence"] >= risk.threshold - 1e-12]
                    by = accepted.assign(wrong=~accepted["passed"]).groupby("document")
                    of = rows.groupby("document").size()
                    wrong, size_of = by["wrong"].sum() / of, by.size() / of
                    unsafe += wrong.sum() / size_of.sum() > TARGET
        cells = {"outputs": name, "confidences": kind, "documents": size, "unit": unit}
        cells |= {"error": truth[unit].error, "remaining": true, "covered": covered / trials}
        cells |= {"width": float(np.mean(widths))}
        found.append(cells | {"unsafe": unsafe / trials if unit == "field" else np.nan})
    return found


def regimes() -> Iterator[tuple[str, str]]:
    """Yield names of populations and kinds of confidences."""
    for name, kind in product(PROFILES, KINDS):
        if not (name.startswith("all") and kind in ("perfect", "overconfident")):
            yield name, kind


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=250)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=0.2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.jobs) as pool:
        jobs = [pool.submit(regime, *case, given.trials, given.budget) for case in regimes()]
        rows = [row for job in jobs for row in job.result()]
    table = pd.DataFrame(rows)
    head = ["outputs", "confidences", "documents", "unit", "error", "remaining", "covered", "width"]
    print("|", " | ".join([*head, "unsafe thresholds"]), "|")
    print("|---" * (len(head) + 1) + "|")
    for row in table.to_dict("records"):
        cells = [f"{c:.3f}" if isinstance(c, float) else str(c) for c in row.values()]
        print("|", " | ".join(cells), "|")
    trials = given.trials * len(table)
    print(f"\nAll: {table['covered'].mean():.4f} of {trials} trials")
    print(f"Lowest: {table['covered'].min():.3f}")


if __name__ == "__main__":
    main()
