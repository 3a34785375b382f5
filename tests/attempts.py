"""Outputs of a dataset that are valid or fail in a known way, made from gold."""

import json
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import pandas as pd

import extractbench_nb as xb
from extractbench_nb.runs.outputs import FAILURES


def failing(failure: str, gold: Any) -> tuple[str | None, dict[str, Any]]:
    """Return a text that fails in one way, and the details of its call."""
    text = json.dumps(gold)
    meta: dict[str, Any] = {"finish_reason": "stop", "error": None}
    texts: dict[str, str | None] = {
        "none": text,
        "empty_response": "",
        "trailing_comma": text[:-1] + ",}",
        "truncated_json": text[: len(text) // 2],
        "malformed_json": text.replace(":", "", 1),
        "not_an_object": f"[{text}]",
        "schema_violation": json.dumps({key: [[value]] for key, value in gold.items()}),
    }
    if failure not in texts:
        error = {"reason": failure, "message": f"scripted: {failure}"}
        return None, {"finish_reason": None, "error": error}
    cut_off = {"finish_reason": "length"} if failure == "truncated_json" else {}
    return texts[failure], meta | cut_off


def outputs(
    run: str = "mine",
    failures: Sequence[str] = ("none",),
    dataset: xb.runs.Dataset | None = None,
    *,
    dropped: float = 0.0,
) -> pd.DataFrame:
    """Return the outputs of a run; its documents fail in turn in these ways, as `failure` says.

    `dropped` is the share of array items that the texts lack.
    """
    dataset = xb.load_dataset("sample") if dataset is None else dataset
    rows = []
    pairs = dataset.listing[["document", "schema"]].itertuples(index=False)
    for (document, schema), failure in zip(pairs, cycle(failures), strict=False):
        gold = dataset.gold(document)
        if dropped:
            parsed = dataset.schema(schema)
            seed = f"{run} {document}"
            gold = xb.simulation.corrupt_document(
                parsed, gold, "drop_items", dropped, seed=seed
            ).value
        rows.append((run, document, schema, *failing(failure, gold), failure))
    return pd.DataFrame(rows, columns=["run", "document", "schema", "raw", "meta", "failure"])


def every_failure(runs: int = 1) -> pd.DataFrame:
    """Return outputs of the sample that were read; each run fails once in each way."""
    sample = xb.load_dataset("sample")
    frames = [
        outputs(f"run {run}", [*FAILURES[run:], *FAILURES[:run]], sample) for run in range(runs)
    ]
    return xb.read_outputs(pd.concat(frames, ignore_index=True), sample)
