"""Small frames of the form of ``Evaluations.fields``, and random ones."""

from __future__ import annotations

from typing import Any

import pandas as pd
from hypothesis import strategies as st

from extractbench_nb.core.evaluation_frames import OUTCOMES
from extractbench_nb.runs.storage import FRAMES

PASSES = ("correct", "both_absent")


def row(**given: Any) -> dict[str, Any]:
    """One row: a correct field of one document, unless something else is given."""
    outcome = given.get("outcome", "correct")
    default = {
        "run": "r1",
        "document": "d1",
        "domain": None,
        "schema": "s",
        "path": "$." + given.get("field", "a"),
        "predicted_path": None,
        "field": "a",
        "schema_path": None,
        "metric": "string_exact",
        "score": None if outcome == "judge_error" else float(outcome in PASSES),
        "passed": None if outcome == "judge_error" else outcome in PASSES,
        "outcome": outcome,
        "reason": "match",
        "reasoning": None,
        "gold": "x",
        "predicted": "x",
        "gold_state": "present",
        "predicted_state": "present",
        "accepted_as": None,
        "depth": 1,
        "counted": True,
        "weight": 1.0,
        "required": False,
    }
    return default | given


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    """A frame with the columns and dtypes that a batch has."""
    spec = FRAMES["fields"]
    return spec.build({name: [given[name] for given in rows] for name in spec.names})


def _made(given: dict[str, Any]) -> dict[str, Any]:
    known = given["outcome"] in ("judge_error", *PASSES)
    field = given["field"]
    about = {"counted": "[" not in field, "weight": {"a": 1.0, "b": 2.5}.get(field, 0.0)}
    return row(**{**given, "score": None}) | about | _verdict(given, known=known)


def _verdict(given: dict[str, Any], *, known: bool) -> dict[str, Any]:
    return {"score": row(outcome=given["outcome"])["score"] if known else given["score"]}


#: Random batches: few names, so that cells have several rows, or none.
batches = st.lists(
    st.fixed_dictionaries(
        {
            "run": st.sampled_from(["r1", "r2", "r3"]),
            "document": st.sampled_from(["d1", "d2", "d3", "d4"]),
            "schema": st.sampled_from(["s", "t"]),
            "domain": st.sampled_from(["law", "sport", None]),
            "field": st.sampled_from(["a", "b", "c[].x"]),
            "outcome": st.sampled_from(OUTCOMES),
            "score": st.sampled_from([0.0, 0.25, 0.5]),
            "reason": st.sampled_from(["match", "invalid_output"]),
            "gold_state": st.sampled_from(["present", "null"]),
        }
    ).map(_made),
    min_size=1,
    max_size=40,
).map(lambda rows: frame(*rows))
