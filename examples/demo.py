"""Evaluate the sample dataset's model outputs: scores, which differences are real, what is hard."""

from __future__ import annotations

import json

import pandas as pd

import extractbench_nb as xb

MEANS = ["pass_rate", "overall_score", "field_score"]
COUNTS = ["evaluated", "passed", "omissions", "hallucinations", "structural"]
HARD = ["schema", "field", "documents", "pass_rate", "runs_failing", "outcome", "best_run"]
SHOWN = ["run", "document", "path", "gold", "predicted", "reason"]
TEST = """\
Sign-flip test: how often a mean difference this large arises if each document's difference between
two runs takes a random sign. Holm: the p-values are raised, as there are several pairs of runs."""
MANY = 3  # failures of each kind that are shown


def main() -> None:
    """Evaluate every run on every document, offline."""
    dataset = xb.load_dataset("sample")
    evs = xb.evaluate_runs(dataset)
    print_scores(evs)
    print(f"\n{xb.compare_runs(evs)!r}")
    print(f"\n{TEST}")
    print_hard_fields(evs)
    print_examples(evs.fields)


def print_scores(evs: xb.runs.Evaluations) -> None:
    """Print one row per run: mean scores over its documents, and counts of outcomes."""
    table = evs.by_run.sort_values("pass_rate", ascending=False)
    table = table[["run", "documents", "invalid", *MEANS, *COUNTS]].set_index("run")
    print("\nScores are means over documents; an output that is not JSON passes no field")
    print(
        "structural: a value of another type than schema and gold have, or output that is not JSON"
    )
    print(f"\n{readable(table.astype(dict.fromkeys(COUNTS, int)))}")


def print_hard_fields(evs: xb.runs.Evaluations) -> None:
    """Print the fields that fail most often."""
    print("\nHardest fields\n")
    print(readable(xb.difficulty(evs)[HARD].head(8), index=False))


def print_examples(fields: pd.DataFrame) -> None:
    """Print some failures of each kind, the fields of array items included."""
    wrong = fields[~fields["passed"].fillna(False) & fields["reason"].ne("invalid_output")]
    scalars = wrong[wrong["metric"].ne("array_llm")]
    print("\nSome failures of scalar fields, those inside of arrays included")
    for outcome, failures in scalars.groupby("outcome"):
        picked = failures.groupby("run").head(1)[SHOWN].head(MANY)
        print(f"\n{outcome}: {len(failures)}")
        values = {side: picked[side].map(short) for side in ("gold", "predicted")}
        print(picked.assign(**values).to_string(index=False))


def readable(table: pd.DataFrame, *, index: bool = True) -> str:
    """Write a table with three digits and column names of words."""
    table = table.rename(columns=lambda name: str(name).replace("_", " "))
    return table.to_string(index=index, float_format="{:.3f}".format)


def short(value: object, width: int = 34) -> str:
    """Write a value as JSON, cut to a width."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= width else text[: width - 1] + "…"


if __name__ == "__main__":
    main()
