"""Recorded cases of the published package, evaluated in profile ``extract-bench-0.1.0``.

`EXCEPTIONS` is the one table of what that profile does not reproduce.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import extractbench_nb as xb

VARIABLE = "EXTRACTBENCH_CONFORMANCE"
#: Compared (path, metric) results by file.
COMPARED = {"extractbench_dev.jsonl": 795}
FILES = ("extractbench_dev.jsonl", "extractbench_heldout.jsonl")

Case = dict[str, Any]


def _read(name: str) -> list[Case]:
    folder = os.environ.get(VARIABLE)
    path = Path(folder or ".") / name
    if not folder or (name != FILES[0] and not path.exists()):
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [{**json.loads(line), "file": name} for line in lines]


CASES = [case for name in FILES for case in _read(name)]
SCORED = [case for case in CASES if "results" in case["expected"]]
RAISED = [case for case in CASES if "raises" in case["expected"]]

pytestmark = pytest.mark.skipif(not CASES, reason=f"{VARIABLE} is not set: no recorded cases")


def _name(case: Case) -> str:
    return case["id"]


# --- what is not reproduced, and why ---------------------------------------------------------


def _node_at(schema: Any, path: str) -> Iterator[Any]:
    """Yield the subschemas on the way to a path, references not followed at the last one."""
    document, node = schema, schema
    yield node
    for step in path.removeprefix("$").replace(".properties.", "\0.").split("\0"):
        name = step.removeprefix(".")
        if not name:
            continue
        while "$ref" in node:
            node = document.get("$defs", {}).get(node["$ref"].rsplit("/", 1)[-1], {})
        node = node.get("properties", {}).get(name)
        if node is None:
            return
        yield node


def _metric_on_container(case: Case, path: str) -> bool:
    return any(
        node.get("type") in ("object", "null") and "evaluation_config" in node
        for node in _node_at(case["schema"], path)
    )


def _shared_node(case: Case, path: str) -> bool:
    definitions = case["schema"].get("$defs", {})
    targets = [
        definitions.get(str(node.get("$ref", "")).rsplit("/", 1)[-1], {})
        for node in _node_at(case["schema"], path)
    ]
    return any(t.get("type") == "object" and "properties" not in t for t in targets)


def _metric_ids(case: Case, path: str) -> list[Any]:
    *_, node = _node_at(case["schema"], path)
    config = node.get("evaluation_config")
    return [m["metric_id"] for m in config["metrics"]] if isinstance(config, dict) else []


def _metric_twice(case: Case, path: str) -> bool:
    ids = _metric_ids(case, path)
    return len(ids) > len(set(ids))


def _skip_as_metric_id(case: Case, path: str) -> bool:
    return "skip" in _metric_ids(case, path)


def _several_keys(case: Case, path: str) -> bool:
    return path.endswith(".additionalProperties")


def _anywhere(fragment: str) -> Callable[[Case, str], bool]:
    return lambda case, path: fragment in json.dumps(case["schema"])


class Difference(NamedTuple):
    """Path and metric, the package's result and ours; path ``refused`` where we raise."""

    path: str
    metric: str
    theirs: Any
    ours: Any


#: By defect: which differences it explains, and why we do not reproduce it. The first that applies.
EXCEPTIONS: dict[str, tuple[Callable[[Case, str], bool], str]] = {
    "shared node": (
        _shared_node,
        "an object without properties that is referenced twice is one node, with the last values",
    ),
    "metric on object or null": (
        _metric_on_container,
        "objects and nulls are not scored, their children are",
    ),
    "metric twice": (
        _metric_twice,
        "the package keeps the last result under one name; no row of ours disappears",
    ),
    "skip as metric id": (_skip_as_metric_id, "skip skips in every form of evaluation_config"),
    "several keys of a map": (
        _several_keys,
        "the package keeps one result for all keys, in the order of a set; each key has a row here",
    ),
    "#/defs/ for $defs": (
        _anywhere('"$ref": "#/defs/'),
        "a JSON Pointer that leads nowhere is a mistake in the schema: SchemaError",
    ),
    "empty list of types": (_anywhere('"type": []'), "allows no value: SchemaError"),
}


# --- results ---------------------------------------------------------------------------------


def _expected(case: Case, side_by_side: Any) -> dict[tuple[str, str], tuple[float, bool]]:
    return {
        (path, metric): (result["score"], result["passed"])
        for path, metrics in case["expected"]["results"].items()
        if not side_by_side.is_internal(path)
        for metric, result in metrics.items()
    }


def _differences(case: Case, side_by_side: Any) -> list[Difference]:
    theirs = _expected(case, side_by_side)
    try:
        ours = side_by_side.ours(case["schema"], case["gold"], case["predicted"])
    except (xb.SchemaError, xb.ConfigError) as error:
        return [Difference("refused", "", theirs, str(error))]
    return [
        Difference(*key, theirs.get(key), ours.get(key))
        for key in dict.fromkeys((*theirs, *ours))
        if ours.get(key) != [theirs.get(key)]
    ]


def _excuse(case: Case, path: str) -> str | None:
    return next((name for name, (applies, _) in EXCEPTIONS.items() if applies(case, path)), None)


@pytest.mark.parametrize("case", SCORED, ids=_name)
def test_scores_and_verdicts_equal_the_package(case, side_by_side):
    found = _differences(case, side_by_side)
    assert [d for d in found if _excuse(case, d.path) is None] == []


def _differences_through_compat(case: Case, side_by_side: Any) -> list[Difference]:
    theirs = {
        (path, metric): (result["score"], result["passed"], result.get("reason"))
        for path, metrics in case["expected"]["results"].items()
        if not side_by_side.is_internal(path)
        for metric, result in metrics.items()
    }
    try:
        ours = side_by_side.through_compat(case["schema"], case["gold"], case["predicted"])
    except (xb.SchemaError, xb.ConfigError) as error:
        return [Difference("refused", "", theirs, str(error))]
    return [
        Difference(*key, theirs.get(key), ours.get(key))
        for key in dict.fromkeys((*theirs, *ours))
        if ours.get(key) != [theirs.get(key)]
    ]


@pytest.mark.parametrize("case", SCORED, ids=_name)
def test_the_evaluator_of_compat_equals_the_package(case, side_by_side):
    """Paths, metric ids, scores, verdicts and reasons."""
    found = _differences_through_compat(case, side_by_side)
    assert [d for d in found if _excuse(case, d.path) is None] == []


def test_every_exception_is_used(side_by_side):
    used = {_excuse(case, d.path) for case in SCORED for d in _differences(case, side_by_side)}
    unused = EXCEPTIONS.keys() - used
    assert not unused, "explain no difference any more: take them out of EXCEPTIONS"


@pytest.mark.parametrize("name", FILES)
def test_number_of_compared_results(name, side_by_side):
    cases = [case for case in SCORED if case["file"] == name]
    if not cases:
        pytest.skip(f"{name} is not there")
    compared = sum(len(_expected(case, side_by_side)) for case in cases)
    assert compared == COMPARED.get(name, compared)
    assert compared >= 2 * len(cases)


def test_no_rows_inside_arrays(side_by_side):
    for case in _with_arrays():
        evaluation = xb.evaluate(
            case["schema"], case["gold"], case["predicted"], profile=side_by_side.profile
        )
        assert evaluation.fields.counted.all(), case["id"]


def _with_arrays() -> list[Case]:
    found = [case for case in SCORED if any(".items" in p for p in case["expected"]["results"])]
    assert found
    return found


def test_a_table_that_does_not_apply_excuses_nothing(side_by_side):
    case = {
        "schema": {"type": "object", "properties": {"x": {"type": "string"}}},
        "gold": {"x": "a"},
        "predicted": {},
        "expected": {
            "results": {"$.properties.x": {"string_semantic": {"score": 1.0, "passed": True}}}
        },
    }
    (found,) = _differences(case, side_by_side)
    assert found.ours == [(0.0, False)]
    assert _excuse(case, found.path) is None


# --- where the package raises ----------------------------------------------------------------

#: Values that the package does not survive, by note: our outcomes, in the order of the rows.
OUTCOMES = {
    "required missing in predicted": ["omission"] * 4,
    "required missing in gold": ["hallucination"] * 4,
    "required missing in both": ["both_absent"] * 4,
    "null for a referenced object that is not nullable": ["both_absent"] * 6,
    "reference to a property": ["both_absent"] * 2,
    "string string_exact plain: gold null, predicted value": ["hallucination"],
    "string string_case_insensitive plain: gold null, predicted value": ["hallucination"],
    "number number_exact plain: gold null, predicted missing": ["both_absent"],
    "number number_tolerance plain: gold null, predicted value": ["hallucination"],
    "number number_tolerance plain: gold value, predicted null": ["omission"],
    "number string_exact plain: gold null, predicted null": ["both_absent"],
    "array default plain: gold null, predicted empty": ["both_absent"],
    "gold 1 at string": ["omission"],
    "gold 1.0 at integer": ["omission"],
    "gold 1 at boolean": ["omission"],
    'gold {"a": 1} at array': ["omission"],
    'gold "a" at object': ["omission"],
    "predicted null at string": ["both_absent"],
    "predicted null at integer": ["both_absent"],
    "predicted null at boolean": ["both_absent"],
    "predicted null at object": ["both_absent"],
    "predicted [1] at number": ["hallucination"],
    "predicted {} at number": ["hallucination"],
    'predicted "1" at integer': ["hallucination"],
    "predicted [] at integer": ["hallucination"],
    'predicted "a" at array': ["hallucination"],
    'predicted "" at null': [],
    "null root in gold": ["both_absent"],
    "null root in predicted": ["both_absent"],
    "array root": ["incorrect"],
    "string root": ["structural"],
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
    "preset names are case-sensitive": "a metric that fails when it runs",
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


def _stage(*stages: str) -> list[Case]:
    return [case for case in RAISED if case["expected"]["stage"] in stages]


@pytest.mark.parametrize("case", _stage("values"), ids=_name)
def test_values_that_stop_the_package_have_outcomes(case, side_by_side):
    evaluation = xb.evaluate(
        case["schema"], case["gold"], case["predicted"], profile=side_by_side.profile
    )
    fields = evaluation.fields
    assert set(fields.outcome) <= {
        "correct", "incorrect", "omission", "hallucination", "structural", "both_absent"
    }  # fmt: skip
    failed = fields.outcome.isin(["omission", "hallucination", "structural"])
    assert (fields.score[failed] == 0).all()
    if case["file"] == FILES[0]:
        assert list(fields.outcome) == OUTCOMES[case["note"]]


@pytest.mark.parametrize("case", _stage("schema", "config"), ids=_name)
def test_schemas_that_the_package_refuses(case, side_by_side):
    expected = READ_AS.get(case["note"], "not listed")
    arguments = (case["schema"], case["gold"], case["predicted"])
    if isinstance(expected, str):
        try:
            xb.evaluate(*arguments, profile=side_by_side.profile)
        except (xb.SchemaError, xb.ConfigError):
            assert expected == "not listed"
    else:
        with pytest.raises(expected, match="#/"):
            xb.evaluate(*arguments, profile=side_by_side.profile)


@pytest.mark.parametrize("table, stages", [(OUTCOMES, ["values"]), (READ_AS, ["schema", "config"])])
def test_the_tables_hold_no_note_that_does_not_occur(table, stages):
    assert table.keys() - {case["note"] for case in _stage(*stages)} == set()
    of_dev = {case["note"] for case in _stage(*stages) if case["file"] == FILES[0]}
    assert of_dev - table.keys() == set()
