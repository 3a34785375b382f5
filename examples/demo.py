"""Evaluate the sample dataset's model outputs, and print the scores and the worst fields."""

from __future__ import annotations

import json

import pandas as pd

import extractbench_nb as xb

SCORES = ["overall_score", "field_score", "pass_rate"]
COUNTS = ["evaluated", "passed", "omissions", "hallucinations", "structural"]
SHOWN = ["run", "document", "path", "gold", "predicted", "reason"]
MANY = 3  # outputs that a field must have been evaluated in to be listed


def main() -> None:
    """Evaluate every run on every document, offline."""
    dataset = xb.load_dataset("sample")
    schemas = {name: xb.parse_schema(dataset.schema(name)) for name in dataset.schemas["schema"]}
    schema_of = dataset.documents.set_index("document")["schema"]
    summaries, fields = [], []
    for run, document, path in dataset.runs.itertuples(index=False):
        ev = xb.evaluate(schemas[schema_of[document]], dataset.gold(document), path)
        summaries.append({"run": run, "document": document, **ev.summary})
        fields.append(ev.fields.assign(run=run, document=document))
    rows = pd.concat(fields, ignore_index=True)
    invalid = rows[rows["reason"] == "unparsable_json"]
    rows = rows.drop(invalid.index)
    print_scores(pd.DataFrame(summaries), invalid)
    print_worst(rows[rows["counted"]])
    print_examples(rows)


def print_scores(summaries: pd.DataFrame, invalid: pd.DataFrame) -> None:
    """Print one row a run: mean scores over its documents, and counts of outcomes."""
    documents, runs = summaries["document"].nunique(), summaries["run"].nunique()
    print(f"{runs} runs on {documents} documents; scores are means over documents,")
    print("an output that is not JSON counts as zero\n")
    plan = dict.fromkeys(SCORES, "mean") | dict.fromkeys(COUNTS, "sum")
    table = summaries.groupby("run").agg(plan).astype(dict.fromkeys(COUNTS, int))
    table = table.sort_values("overall_score", ascending=False)
    table.insert(0, "not JSON", invalid.groupby("run").size().reindex(table.index, fill_value=0))
    table.columns = [str(column).replace("_", " ") for column in table.columns]
    print(table.to_string(float_format="{:.3f}".format))


def print_worst(counted: pd.DataFrame) -> None:
    """Print the fields that fail most often."""
    failed = counted.assign(failed=~counted["passed"].fillna(False))
    rates = failed.groupby("field")["failed"].agg(["mean", "sum", "size"])
    worst = rates[rates["size"] >= MANY].sort_values(["mean", "sum"], ascending=False).head(8)
    worst.columns = ["failure rate", "failures", "evaluated"]
    print("\nWorst fields\n")
    print(worst.to_string(float_format="{:.2f}".format))


def print_examples(rows: pd.DataFrame) -> None:
    """Print some failures of each kind, the fields of array items included."""
    scalars = rows[rows["metric"].ne("array_llm") & ~rows["passed"].fillna(False)]
    print("\nSome failures of scalar fields, those inside of arrays included")
    for outcome, failures in scalars.groupby("outcome"):
        picked = failures.groupby("run").head(1)[SHOWN].head(MANY)
        print(f"\n{outcome}: {len(failures)}")
        text = picked.assign(
            gold=picked["gold"].map(short), predicted=picked["predicted"].map(short)
        )
        print(text.to_string(index=False))


def short(value: object, width: int = 34) -> str:
    """Write a value as JSON, cut to a width."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= width else text[: width - 1] + "…"


if __name__ == "__main__":
    main()
