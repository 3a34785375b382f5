"""How often the gate finds a planted drop, and fails on noise: a table in validation.md.

    python scripts/validate_gate.py [--trials 200]

Runs of one quality are made from the sample's gold with `corrupt_document`, with independent errors
in each. A trial draws documents with replacement and one output per document and side; the verdict
is that of `xb.regressions`. Prints Markdown.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

import extractbench_nb as xb
from extractbench_nb.stats.compare import compare_runs
from extractbench_nb.stats.gates import VERDICTS, decide

SIZES = (10, 35, 100, 300)
DROPS = (0.0, 0.02, 0.05, 0.1)
INVALID = (0.0, 0.03)
OUTPUTS = 40
#: Rates of the errors of the baseline, and how many times as many worse outputs have.
RATES = {"omit": 0.02, "changed_digit": 0.02, "typo": 0.02, "drop_items": 0.03}
WORSE = 4
Numbers = np.ndarray[Any, np.dtype[np.float64]]


def pool(severity: float, outputs: int, seed: str) -> Numbers:
    """Return pass rates of independent outputs, one row per document of the sample."""
    dataset = xb.load_dataset("sample")
    rates = {name: severity * rate for name, rate in RATES.items()}
    rows = []
    for document in dataset.listing.itertuples():
        schema, gold = dataset.schema(document.schema), dataset.gold(document.document)
        parsed = xb.schema.parse_schema(schema)
        made = (
            xb.simulation.corrupt_document(parsed, gold, rates, seed=f"{seed}/{k}").value
            for k in range(outputs)
        )
        rows.append([xb.evaluate(parsed, gold, value).summary["pass_rate"] for value in made])
    return np.array(rows)


def trial(
    pools: tuple[Numbers, Numbers],
    drop: float,
    size: int,
    invalid: float,
    rng: np.random.Generator,
    **how: Any,
) -> str:
    """Return the verdict on two runs over documents drawn with replacement.

    The candidate's outputs are of the worse pool so often that their mean is lower by the drop.
    """
    base, worse = pools
    share = drop / (base.mean() - worse.mean())
    drawn = rng.integers(0, len(base), size)
    first = rng.integers(0, OUTPUTS, size)
    # both sides never take the same output
    second = (first + rng.integers(1, OUTPUTS, size)) % OUTPUTS
    is_worse = rng.random(size) < share
    scores = {
        "baseline": base[drawn, first],
        "candidate": np.where(is_worse, worse[drawn, second], base[drawn, second]),
    }
    tables = {}
    for name, values in scores.items():
        frame = {"document": [f"d{i}" for i in range(size)], "valid": rng.random(size) >= invalid}
        tables[name] = pd.DataFrame(frame | {"pass_rate": values})
    max_drop = how.pop("max_drop")
    compared = compare_runs(tables, measures="pass_rate", baseline="baseline", **how)
    return decide(compared.differences.iloc[0], max_drop, complete=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=1999)
    parser.add_argument("--max-drop", type=float, default=0.02)
    options = parser.parse_args()
    pools = pool(1, OUTPUTS, "base"), pool(WORSE, OUTPUTS, "worse")
    base, worse = (scores.mean() for scores in pools)
    print(f"mean pass rate of the baseline {base:.3f}, of worse outputs {worse:.3f}")
    noise = pools[0][:, 0::2] - pools[0][:, 1::2]
    print(f"standard deviation of a document's difference without a drop: {noise.std():.3f}")
    print(f"{options.trials} trials each, max_drop {options.max_drop:g}, in percent:")
    print("fail / inconclusive / pass")
    for invalid in INVALID:
        print(f"\noutputs that are not JSON, each side: {invalid:.0%}\n")
        heads = "".join(f" {size} |" for size in SIZES)
        print(f"| planted drop \\ documents |{heads}\n|---|{'--:|' * len(SIZES)}")
        for drop in DROPS:
            cells = []
            for size in SIZES:
                rng = np.random.default_rng([size, round(1000 * drop), round(100 * invalid)])
                verdicts = [
                    trial(
                        pools,
                        drop,
                        size,
                        invalid,
                        rng,
                        resamples=options.resamples,
                        max_drop=options.max_drop,
                    )
                    for _ in range(options.trials)
                ]
                shares = (verdicts.count(v) / options.trials for v in VERDICTS)
                passed, failed, open_ = (f"{100 * share:.3g}" for share in shares)
                cells.append(f"{failed} / {open_} / {passed}")
            print(f"| {drop:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
