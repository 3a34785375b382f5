"""extract-bench 0.1.0 and profile ``paper`` on the same documents, in the same process.

The real documents are read from ``EXTRACTBENCH_DATASET``. Corruptions are seeded and keep every
value's type, because the package gives up a whole document at the first type that is wrong.
"""

import copy
import itertools
import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb import compat
from extractbench_nb.core.field_metrics.registry import REGISTRY
from tests.parity.published import results_of

VARIABLE = "EXTRACTBENCH_DATASET"
#: The metrics on which the two agree, by type; their texts and numbers are never of another type.
AGREED = {
    "string": ["string_exact", "string_case_insensitive"],
    "number": ["number_exact"],
    "integer": ["integer_exact"],
    "boolean": ["boolean_exact"],
}


def _dataset(name: str) -> xb.runs.Dataset:
    if name == "extractbench" and not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: no real documents")
    return xb.load_dataset(name)


# --- schemas that both read alike -------------------------------------------------------------


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every subschema; a property may be called ``items`` or ``type``."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("properties", "$defs"):
        for child in schema.get(key, {}).values():
            yield from _nodes(child)
    for child in (schema.get("items"), schema.get("additionalProperties")):
        yield from _nodes(child)
    for child in schema.get("anyOf", []):
        yield from _nodes(child)


def _agreed(schema: Any, rng: random.Random) -> dict[str, Any]:
    """Take a schema out of its envelope, and put a metric on which both agree at every scalar.

    Arrays and maps are left out: the package counts the template of items as passed, and keeps the
    result of one key.
    """
    schema = copy.deepcopy(schema.get("schema_definition", schema))
    for node in _nodes(schema):
        if "properties" in node:
            kept = {k: v for k, v in node["properties"].items() if '"array"' not in json.dumps(v)}
            node["properties"] = kept
        node.pop("required", None)  # the package gives up where a required key is missing
        node.pop("additionalProperties", None)
        node.pop("format", None)
        node.pop("evaluation_config", None)
        kinds = [branch.get("type") for branch in (node, *node.get("anyOf", []))]
        kind = next((kind for kind in kinds if kind in AGREED), None)
        if kind is not None:
            node["evaluation_config"] = rng.choice(AGREED[kind])
    return schema


# --- corruptions that keep the types ----------------------------------------------------------


def _corrupted(schema: dict[str, Any], gold: Any, seed: int) -> Any:
    return _corrupt(schema, schema, gold, random.Random(seed))


def _corrupt(document: Any, schema: Any, value: Any, rng: random.Random) -> Any:
    if "$ref" in schema:
        schema = document["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, dict) and schema.get("type") == "object":
        properties = schema.get("properties", {})
        return {
            key: _corrupt(document, properties.get(key, {}), part, rng)
            for key, part in value.items()
            if isinstance(part, dict) or rng.random() < 0.85  # below one that is gone all passes
        }
    nullable = schema.get("nullable") or {"type": "null"} in schema.get("anyOf", [])
    if nullable and rng.random() < 0.2:
        return None
    return _edited(value, rng) if rng.random() < 0.5 else value


def _edited(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + rng.choice([-1, 1, 1000])
    if isinstance(value, str):
        return rng.choice([str.upper, str.swapcase, lambda text: text[2:], lambda t: t + " "])(
            value
        )
    return value


# --- result by result -------------------------------------------------------------------------


@pytest.mark.parametrize("name, least", [("extractbench", 300), ("sample", 100)])
def test_results_and_reports_equal_the_package(name, least, published):
    """Every score and verdict; totals, confusion matrix and rows of the report."""
    dataset = _dataset(name)
    compared = 0
    for row, seed in itertools.product(dataset.documents.itertuples(), (0, 1)):
        schema = _agreed(dataset.schema(row.schema), random.Random(seed))
        gold = dataset.gold(row.document)
        documents = (schema, gold, _corrupted(schema, gold, seed))
        theirs, ours = published.results(*documents), results_of(*documents)
        assert ours == {key: [result] for key, result in theirs.items()}, row.document
        compared += len(theirs)
        if theirs:  # without a field the package's scores are 0
            _compare_reports(published.report(*documents), compat.ReportBuilder().build(*documents))
    assert compared >= least


def _compare_reports(theirs: Any, ours: Any) -> None:
    assert ours.overall_pass_rate == pytest.approx(theirs.overall_pass_rate, abs=1e-12)
    assert ours.field_score == pytest.approx(theirs.overall_score, abs=1e-12)
    for name in ("schema_hash", "gold_hash", "extracted_hash"):
        assert getattr(ours, name) == getattr(theirs, name)
    for count in ("total_evaluated", "total_passed", "total_failed", "pass_by_metric"):
        assert ours.outcomes[count] == getattr(theirs.outcomes, count)
    for cell in ("true_positive", "false_positive", "false_negative", "true_negative"):
        assert ours.outcomes.confusion[cell] == getattr(theirs.outcomes.confusion, cell)
    for side in ("gold_stats", "extracted_stats"):
        for name in ("total_keys", "counts_by_type", "null_count"):
            assert ours[side][name] == getattr(getattr(theirs, side), name)
    assert ours.schema_stats == vars(theirs.schema_stats)
    rows = [
        sorted((row.path, row.metric_id, row.score, row.passed) for row in report.field_outcomes)
        for report in (theirs, ours)
    ]
    assert rows[0] == rows[1]


def test_a_difference_is_seen(published):
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    documents = (schema, {"n": 1000.0}, {"n": 1000.5})
    ((key, theirs),) = published.results(*documents).items()
    assert results_of(*documents)[key] != [theirs]


# --- differences on purpose -------------------------------------------------------------------


def _leaf(kind: str, metric: Any = None) -> dict[str, Any]:
    node = {"type": kind} if metric is None else {"type": kind, "evaluation_config": metric}
    return {"type": "object", "properties": {"x": node}}


def _by(metric: str, **params: Any) -> dict[str, Any]:
    return {"metrics": [{"metric_id": metric, "params": params}]}


#: 439 characters, of which difflib calls the frequent ones junk from 200 on.
CLAUSE = (
    "the tenant or the tenants then resident in the stated street shall not assert a lien on the "
    "rent that is due to the lender or to the estate as trustee and no other person shall assert a "
    "interest in the land that is leased to the tenants in this restatement or in the other leases "
    "that the trustees hereto are to enter into as the lenders insist and the estate assents to in "
    "the last instance or in those that it has not denied at that date"
)
SHORTER = CLAUSE.replace("due ", "")
OPTIONAL = {
    "type": "object",
    "properties": {
        "x": {"anyOf": [{"type": "string", "evaluation_config": "string_exact"}, {"type": "null"}]}
    },
}
NAN, INF = float("nan"), float("inf")

#: Case, schema of one field, gold, predicted, whether the package and we pass it.
#: None: the field is not in the package's report at all.
DIFFERENCES = [
    ("one word of many dropped", _leaf("string", "string_fuzzy"), CLAUSE, SHORTER, False, True),
    ("0.05 % off", _leaf("number"), 1_000_000, 1_000_500, False, True),
    ("100 % off", _leaf("number"), 0.0005, 0.0010, True, False),
    ("no params", _leaf("number", _by("number_tolerance")), 1000, 1000.5, False, True),
    ("NaN", _leaf("number"), NAN, NAN, False, True),
    ("infinity", _leaf("number"), INF, INF, False, True),
    ("true for integer 1", _leaf("integer"), 1, True, True, False),
    ("true for number 1", _leaf("number"), 1.0, True, True, False),
    ("ranges", _leaf("string", "number_tolerance"), "33–37", "90–99", True, False),
    ("not numbers", _leaf("string", "number_exact"), "N/A", "unknown", True, False),
    ("not integers", _leaf("string", "integer_exact"), "abc", "xyz", True, False),
    ("not booleans", _leaf("string", "boolean_exact"), "yes", "no", True, False),
    ("truncation", _leaf("number", "integer_exact"), 3, 3.9, True, False),
    ("anyOf without a metric", OPTIONAL, "x", "totally different", None, False),
]


@pytest.mark.parametrize(
    "schema, gold, predicted, theirs, ours", [pytest.param(*d[1:], id=d[0]) for d in DIFFERENCES]
)
def test_one_value(schema, gold, predicted, theirs, ours, published):
    documents = (schema, {"x": gold}, {"x": predicted})
    found = published.results(*documents)
    assert [result.passed for result in found.values()] == ([] if theirs is None else [theirs])
    fields = xb.evaluate(*documents, profile="paper").fields
    assert list(fields.passed) == [ours]


ROWS = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "evaluation_config": "string_exact"},
                    "value": {"type": "number", "evaluation_config": "number_tolerance"},
                },
            },
        },
    },
}


def test_fuzzy_similarity_is_symmetric(published):
    schema = _leaf("string", "string_fuzzy")
    one, two = {"x": "ccbaabbc"}, {"x": "bccabcbc"}
    both_ways = [(one, two), (two, one)]
    theirs = [r.score for pair in both_ways for r in published.results(schema, *pair).values()]
    ours = [xb.evaluate(schema, *pair, profile="paper").fields.score[0] for pair in both_ways]
    assert theirs == [0.75, 0.25]
    assert ours[0] == ours[1]


@pytest.mark.parametrize("value, matched", [(1000.5, 1), (1002.0, 0)])
def test_metrics_of_item_fields_run(value, matched, published):
    gold, predicted = ({"rows": [{"name": "a", "value": v}]} for v in (1000.0, value))
    theirs = published.results(ROWS, gold, predicted)
    assert [metric for _, metric in theirs] == ["array_llm"]  # and no way to say which metric
    evaluation = xb.evaluate(ROWS, gold, predicted, profile="paper")
    assert evaluation.arrays.matched[0] == matched
    assert "number_tolerance" in set(evaluation.fields.metric)


def test_weights_undeclared_keys_and_unknown_metrics(published):
    heavy = {"metrics": [{"metric_id": "string_exact"}], "aggregation_weight": 99}
    schema = _leaf("string", heavy)
    schema["properties"]["y"] = {"type": "string", "evaluation_config": "string_exact"}
    documents = (schema, {"x": "a", "y": "b"}, {"x": "wrong", "y": "b", "z": "undeclared"})
    assert published.report(*documents).overall_score == 0.5
    evaluation = xb.evaluate(*documents, profile="paper")
    assert evaluation.summary.field_score == pytest.approx(0.01)
    assert "$.z" in set(evaluation.warnings.path)

    typo = _leaf("string", _by("string_exakt"))
    assert [metric for _, metric in published.results(typo, {"x": "a"}, {"x": "a"})] == ["error"]
    with pytest.raises(xb.ConfigError, match="did you mean 'string_exact'"):
        xb.evaluate(typo, {"x": "a"}, {"x": "a"})


# --- metrics that are classes -----------------------------------------------------------------


def _echo(module: Any) -> Any:
    class Echo(module.BaseMetric):
        metric_id = "echo"

        async def evaluate(self, node, config=None):
            gold, extracted = node.get_gold_value(), node.get_extracted_value()
            said = {
                "gold": repr(gold),
                "extracted": repr(extracted),
                "truth": (bool(gold), bool(extracted)),
                "type": node.get_type(),
                "meta": node.get_metadata_summary(),
                "description": node.description,
                "title": node.title,
                "example": node.example,
                "nullable": node.nullable,
                "params": config.params,
                "config": config.metric_id,
            }
            return module.MetricResult(self.metric_id, 0.25, True, said)

    return Echo


def _of_dataclass(module: Any) -> Any:
    @dataclass(frozen=True)
    class Within(module.BaseMetric):
        metric_id: str = "within"
        default: float = 1.0

        async def evaluate(self, node, config=None):
            most = (config.params or {}).get("most", self.default)
            gap = abs((node.get_gold_value() or 0) - (node.get_extracted_value() or 0))
            return module.MetricResult(
                metric_id=self.metric_id, score=float(gap <= most), passed=gap <= most
            )

    return Within


def _other_name(module: Any) -> Any:
    class Renamed(module.BaseMetric):
        metric_id = "renamed"

        async def evaluate(self, node, config=None):
            return module.MetricResult("another_name", 0.5)

    return Renamed


def _raising(module: Any) -> Any:
    class Raising(module.BaseMetric):
        metric_id = "raising"

        async def evaluate(self, node, config=None):
            raise LookupError("nothing there")

    return Raising


def _duck(module: Any) -> Any:
    class Duck:
        metric_id = "duck"

        async def evaluate(self, node, config=None):
            return module.MetricResult(self.metric_id, 1.0, False, {"reason": "own_words"})

    return Duck


MAKERS = {
    "echo": _echo, "within": _of_dataclass, "renamed": _other_name, "raising": _raising,
    "duck": _duck,
}  # fmt: skip

VALUES: dict[str, list[Any]] = {
    "string": ["", "a"],
    "number": [0, 2.5],
    "boolean": [False, True],
    "array": [["a"]],
    "object": [{}, {"x": "a"}],
    "anyOf": ["a", "b"],
}


def _field(kind: str, metric: str) -> dict[str, Any]:
    config = {"metrics": [{"metric_id": metric, "params": {"most": 2, "odd": [1]}}]}
    field: dict[str, Any] = {"description": "What it is", "title": "A title", "examples": ["e"]}
    if kind == "anyOf":
        branches = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
        return {**field, "anyOf": [*branches, {"type": "null"}], "evaluation_config": config}
    below: dict[str, Any] = {
        "array": {"items": {"type": "string"}},
        "object": {"properties": {"x": {"type": "string", "evaluation_config": "string_exact"}}},
    }.get(kind, {})
    return {**field, **below, "type": kind, "nullable": True, "evaluation_config": config}


def _cases() -> Iterator[Any]:
    for metric in MAKERS:
        kinds = ["number"] if metric == "within" else list(VALUES)
        kinds = kinds[:-1] if metric == "echo" else kinds  # of a union it sees the branch
        for kind in kinds:
            yield pytest.param(metric, kind, id=f"{metric}-{kind}")


@pytest.fixture
def registered(published: Any) -> Iterator[None]:
    """Register every class in both packages, and forget them again."""
    before = dict(REGISTRY.entries)
    for make in MAKERS.values():
        published.module.global_metric_registry.register_metric(make(published.module))
        compat.global_metric_registry.register_metric(make(compat))
    yield
    for name in MAKERS:
        published.module.global_metric_registry.unregister_metric(name)
    REGISTRY.entries.clear()
    REGISTRY.entries.update(before)


def _seen(results: Any, metric: str) -> dict[str, tuple[Any, ...]]:
    """Results at the field itself; the package's key of a failed metric is an object's id."""
    found = results["$.properties.v"]
    return {
        metric if name.startswith("error_") else name: (
            type(result).__name__, result.metric_id, result.score, result.passed, result.details
        )
        for name, result in found.items()
    }  # fmt: skip


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("metric, kind", list(_cases()))
def test_a_class_gets_and_gives_the_same(metric, kind, published):
    schema = {"type": "object", "properties": {"v": _field(kind, metric)}}
    for gold, extracted in itertools.product(VALUES[kind], repeat=2):
        documents = (schema, {"v": gold}, {"v": extracted})
        theirs = published.evaluate(*documents)
        ours = compat.StructuredEvaluator().evaluate(*documents)["results"]
        assert _seen(ours, metric) == _seen(theirs, metric), (gold, extracted)
