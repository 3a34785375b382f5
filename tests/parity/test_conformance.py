"""Recorded cases of extract-bench 0.1.0, evaluated in profile ``paper``.

`DIFFERENCES` is the table of what the two score differently, by kind of case.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from tests.parity.published import is_internal, results_of

VARIABLE = "EXTRACTBENCH_CONFORMANCE"
NAME = "extractbench_dev.jsonl"

Case = dict[str, Any]


def _read() -> list[Case]:
    folder = os.environ.get(VARIABLE)
    if not folder:
        return []
    lines = (Path(folder) / NAME).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


CASES = _read()
RAISED = [case for case in CASES if "raises" in case["expected"]]

pytestmark = pytest.mark.skipif(not CASES, reason=f"{VARIABLE} is not set: no recorded cases")

#: By kind: results that differ, cases that are refused here, and why.
DIFFERENCES = {
    "absent_policy": (11, 0, "unions without a metric are compared; fields below null are omitted"),
    "additional": (2, 0, "each key of a map has a result"),
    "anyof": (12, 0, "the branch that fits decides"),
    "array_metric": (6, 0, "arrays under a metric for scalars are compared as JSON"),
    "fuzzy_params": (0, 8, "params are checked"),
    "integer_pairs": (5, 0, "true is not 1"),
    "integer_truncation": (4, 0, "3.9 is not 3"),
    "metric_error": (5, 1, "an unknown metric is refused; values that a metric cannot read differ"),
    "nested": (9, 0, "fields below a null object are omissions; skip skips"),
    "number_pairs": (23, 0, "relative tolerance; infinities equal themselves; texts as texts"),
    "numeric_metric_on_string": (15, 0, "two texts that are not numbers are compared as texts"),
    "random": (10, 0, "the differences above"),
    "refs": (8, 1, "a config beside $ref counts; two references are two nodes"),
    "string_metric_on_number": (2, 0, "Levenshtein similarity"),
    "string_pairs": (21, 0, "Levenshtein similarity"),
    "tolerance_params": (1, 18, "params are checked; relative tolerance"),
    "type_array": (0, 1, "an empty list of types is refused"),
}


def test_results_equal_the_package_but_for_the_table():
    differing: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    equal = 0
    for case in CASES:
        if case in RAISED:
            continue
        theirs = {
            (path, metric): (result["score"], result["passed"])
            for path, metrics in case["expected"]["results"].items()
            if not is_internal(path)
            for metric, result in metrics.items()
        }
        try:
            ours = results_of(case["schema"], case["gold"], case["predicted"])
        except (xb.SchemaError, xb.ConfigError):
            refused[case["kind"]] += 1
            continue
        for key in dict.fromkeys((*theirs, *ours)):
            is_equal = ours.get(key) == [theirs.get(key)]
            equal += is_equal
            differing[case["kind"]] += not is_equal
    assert equal == 645
    kinds = sorted({*+differing, *refused})
    assert {kind: (differing[kind], refused[kind]) for kind in kinds} == {
        kind: row[:2] for kind, row in DIFFERENCES.items()
    }


# --- where the package raises ----------------------------------------------------------------

#: Values that the package does not survive, by note: our outcomes, in the order of the rows.
OUTCOMES = {
    "required missing in predicted": ["omission"] * 4,
    "required missing in gold": ["hallucination"] * 4,
    "required missing in both": ["both_absent"] * 4,
    "null for a referenced object that is not nullable": ["both_absent"] * 6,
    "reference to a property": ["both_absent"] * 2,
    'predicted "" at null': [],
    "array root": ["incorrect"],
    "string root": ["structural"],
}
#: The other notes, which have one row, by how they end or begin.
ONE_ROW = {
    "hallucination": ("gold null, predicted value", "predicted [", "predicted {", 'predicted "'),
    "omission": ("gold value, predicted null", "gold 1", "gold {", 'gold "'),
    "both_absent": (
        *("predicted missing", "gold null, predicted null", "predicted empty"),
        *("predicted null at ", "null root in "),
    ),
}

#: Schemas and configs that the package refuses: the error we raise, or what we read them as.
READ_AS = {
    "unknown type": xb.SchemaError,
    "unknown root type": xb.SchemaError,
    "unknown field in the config": xb.ConfigError,
    "metrics not a list": xb.ConfigError,
    "parameter outside params": xb.ConfigError,
    "params not an object": xb.ConfigError,
    "config given as a number": xb.ConfigError,
    "preset names are case-sensitive": xb.ConfigError,
    "metric id not a string": xb.ConfigError,
    "unknown keyword beside a reference": "added to the definition",
    "non-primitive in a type array": "anyOf of the types",
    "format beside a type array": "format of the string",
    "type array under additionalProperties beside properties is not rewritten": "anyOf",
    "property without type": "any value",
    "boolean schema": "any value",
    "oneOf": "as anyOf",
    "exclusiveMinimum": "a warning where a value violates it",
    "multipleOf": "a warning where a value violates it",
    "integer enum of floats": "a warning where a value violates it",
    "unknown integer format": "kept, not checked",
    "patternProperties": "kept, not scored",
    "nullable not boolean": "not nullable",
    "title not a string": "kept",
}


def _stage(*stages: str) -> list[Any]:
    cases = [case for case in RAISED if case["expected"]["stage"] in stages]
    return [pytest.param(case, id=case["id"]) for case in cases]


@pytest.mark.parametrize("case", _stage("values"))
def test_values_that_stop_the_package_have_outcomes(case):
    if case["gold"] is None:  # a document that is not there, where the schema has an object
        with pytest.raises(xb.InputError):
            xb.evaluate(case["schema"], case["gold"], case["predicted"])
        return
    arguments = (case["schema"], case["gold"], case["predicted"])
    fields = xb.evaluate(*arguments, profile="paper").fields
    counted = fields[fields.counted]
    failed = counted.outcome.isin(["omission", "hallucination", "structural"])
    assert (counted.score[failed] == 0).all()
    note = case["note"]
    one_row = [
        outcome
        for outcome, texts in ONE_ROW.items()
        if note.startswith(texts) or note.endswith(texts)
    ]
    assert list(counted.outcome) == OUTCOMES.get(note, one_row)


@pytest.mark.parametrize("case", _stage("schema", "config"))
def test_schemas_that_the_package_refuses(case):
    expected = READ_AS[case["note"]]
    arguments = (case["schema"], case["gold"], case["predicted"])
    if isinstance(expected, str):
        assert xb.evaluate(*arguments, profile="paper").summary.evaluated >= 0
    else:
        with pytest.raises(expected, match="#/"):
            xb.evaluate(*arguments, profile="paper")
