"""The evaluators that are measured, each as one function from a case to its results.

Each is given the schema as a dict, and two JSON values; reading the schema is part of the work.
"""

import gc
import sys
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any, NamedTuple

import pandas as pd

import extractbench_nb as xb
from tests.benchmarks.workloads import Case

Evaluator = Callable[[Case], Any]


def label(distribution: str) -> str:
    return f"{distribution} {version(distribution)}"


def fresh() -> None:
    """Begin a round like a new process.

    No text is remembered from the round before, and the collector does not visit what other
    packages have loaded.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("extractbench_nb."):
            for value in list(vars(module).values()):
                parameters = getattr(value, "cache_parameters", None)
                if parameters and parameters()["maxsize"] != 1:  # 1: a table that is built once
                    value.cache_clear()
    gc.collect()
    gc.freeze()


class Frames(NamedTuple):
    fields: pd.DataFrame
    arrays: pd.DataFrame
    matches: pd.DataFrame


def ours(case: Case) -> Frames:
    evaluation = xb.evaluate(*case)
    return Frames(evaluation.fields, evaluation.arrays, evaluation.matches)


def run(evaluator: Evaluator, cases: Iterable[Case]) -> list[Any]:
    """Evaluate each case; what an evaluator raises on values stands in place of its result."""
    found: list[Any] = []
    for case in cases:
        try:
            found.append(evaluator(case))
        except ValueError as error:
            found.append(error)
    return found


def lost(results: Iterable[Any]) -> list[str]:
    """Return the messages of the documents without a result."""
    return [str(r) for r in results if isinstance(r, ValueError)]


# --- stickler-eval -----------------------------------------------------------------------------

FUZZY = {"x-aws-stickler-comparator": "FuzzyComparator"}
JSON_TYPES = {bool: "boolean", float: "number", int: "integer", str: "string"}


def stickler(model: Any) -> Evaluator:
    """Return stickler's evaluator; `model` is its class StructuredModel."""

    def evaluate(case: Case) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind = model.from_json_schema(case.schema)
            gold, predicted = kind.from_json(case.gold), kind.from_json(case.predicted)
            return gold.compare_with(predicted, document_field_comparisons=True)

    return evaluate


def for_stickler(case: Case) -> Case:
    """Write the schema as stickler can read it, with its fuzzy comparator for strings.

    Stickler raises on a missing required key and on a value of a type that the schema does not
    give, and most of the real gold documents have one. So nothing is required here, and values of
    another type than declared bring their own. Declared properties without values stay.
    """
    root = case.schema.get("schema_definition", case.schema)
    schema = _Fitting(root.get("$defs", {})).fit(root, [case.gold, case.predicted])
    return case._replace(schema=schema)


class _Fitting:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions

    def fit(self, schema: Any, values: list[Any]) -> dict[str, Any]:
        forms = self._forms(schema)
        branches = self._branches(forms, [v for v in values if v is not None])
        if len(branches) == 1:
            found = branches[0]
            if None in values and isinstance(found["type"], list):
                found = {**found, "type": [*found["type"], "null"]}
            return found
        return {"anyOf": [{k: v for k, v in b.items() if k not in FUZZY} for b in branches]}

    def _forms(self, schema: Any) -> list[Any]:
        while "$ref" in schema:
            schema = self.definitions[schema["$ref"].rsplit("/", 1)[1]]
        return [schema, *(form for s in schema.get("anyOf", []) for form in self._forms(s))]

    def _branches(self, forms: list[Any], values: list[Any]) -> list[dict[str, Any]]:
        objects = [v for v in values if isinstance(v, dict)]
        arrays = [v for v in values if isinstance(v, list)]
        scalars = {JSON_TYPES[type(v)] for v in values if type(v) in JSON_TYPES}
        if not values:
            objects = [{}] if any("properties" in form for form in forms) else []
            arrays = [[]] if not objects and any("items" in form for form in forms) else []
            scalars = set() if objects or arrays else {"string"}
        found = []
        if objects:
            found.append(self._object(forms, objects))
        if arrays:
            found.append(self._array(forms, arrays))
        if scalars:
            found.append({"type": sorted(scalars), **(FUZZY if "string" in scalars else {})})
        return found

    def _object(self, forms: list[Any], objects: list[Any]) -> dict[str, Any]:
        declared = {k: v for form in forms for k, v in form.get("properties", {}).items()}
        others = [f for form in forms if isinstance(f := form.get("additionalProperties"), dict)]
        names = dict.fromkeys([*declared, *(key for value in objects for key in value)])
        return {
            "type": "object",
            "properties": {
                name: self.fit(
                    declared.get(name, others[0] if others else {}),
                    [value[name] for value in objects if name in value],
                )
                for name in names
            },
        }

    def _array(self, forms: list[Any], arrays: list[Any]) -> dict[str, Any]:
        items = next((form["items"] for form in forms if "items" in form), {})
        found = self.fit(items, [item for array in arrays for item in array])
        # A comparator of items stands at the array.
        comparator = {k: found.pop(k) for k in FUZZY if k in found}
        return {"type": "array", "items": found, **comparator}


# --- extract-bench -----------------------------------------------------------------------------


KNOWN = set(
    "string_exact string_case_insensitive string_fuzzy string_semantic string_llm number_exact "
    "number_tolerance integer_exact boolean_exact array_llm skip".split()
)


def for_extract_bench(case: Case) -> Case:
    """Take the schema out of its envelope, and out of it what the package refuses to read."""
    root = case.schema.get("schema_definition", case.schema)
    return case._replace(schema=_known_metrics(root))


def _known_metrics(node: Any) -> Any:
    if isinstance(node, list):
        return [_known_metrics(part) for part in node]
    if not isinstance(node, dict):
        return node
    found = {key: _known_metrics(part) for key, part in node.items()}
    config = node.get("evaluation_config")
    if isinstance(config, dict) and "metric_id" in config:
        config = found["evaluation_config"] = {"metrics": [config]}
    metrics = config["metrics"] if isinstance(config, dict) else [{"metric_id": config}]
    if config is not None and not KNOWN.issuperset(m["metric_id"] for m in metrics):
        del found["evaluation_config"]
    return found
