"""Our report beside that of the published package, in the profile that follows it.

Its judge is never asked: texts are compared exactly and arrays are left out. `DIFFERENCES` lists
what differs on purpose, with a document that shows it.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import extractbench_nb as xb
from extractbench_nb._json import read_document
from extractbench_nb.report.builder import ReportBuilder, ReportConfig
from extractbench_nb.report.formats import json_text

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
CONFIG = ReportConfig(profile="extract-bench-0.1.0")


@pytest.fixture(scope="module")
def published() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("extract_bench")
        from loguru import logger
    logger.disable("extract_bench")
    yield package
    logger.enable("extract_bench")


def unjudged(schema: Any, *, arrays: bool) -> Any:
    """The schema with texts compared exactly, and arrays skipped, or left out with maps."""
    if isinstance(schema, list):
        return [unjudged(part, arrays=arrays) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: unjudged(part, arrays=arrays) for key, part in schema.items()}
    parts.pop("evaluation_config", None)
    properties = parts.get("properties")
    if isinstance(properties, dict) and not arrays:
        kept = {key: part for key, part in properties.items() if not has_many(part)}
        parts["properties"] = kept
        parts["required"] = [key for key in parts.get("required", ()) if key in kept]
    kind = parts.get("type")
    config = {"string": "string_exact", "array": "skip"}.get(kind if type(kind) is str else "")
    return parts if config is None else {**parts, "evaluation_config": config}


def has_many(part: Any) -> bool:
    """Whether there is an array or a map in a part of a schema."""
    return '"array"' in json.dumps(part) or has_maps(part)


def has_maps(part: Any) -> bool:
    return '"additionalProperties": {' in json.dumps(part)


def both_reports(package: Any, documents: Any, *, arrays: bool) -> tuple[Any, Any] | None:
    """Both reports; None where the package cannot read the documents."""
    schema = unjudged(dict(xb.parse_schema(documents[0]).document), arrays=arrays)
    gold = read_document(documents[1], "gold")
    try:
        extracted = read_document(documents[2], "predicted")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = package.ReportBuilder().build(schema, gold, extracted)
            gc.collect()
    except ValueError:
        return None
    return theirs, ReportBuilder(CONFIG).build(schema, gold, extracted)


def scalars() -> tuple[Any, Any, Any]:
    """Every pair of states of every type, right and wrong values, at two depths."""
    of_type = {"string": ("a", "b"), "integer": (1, 2), "number": (1.5, 2.5)}
    of_type["boolean"] = (True, False)
    properties, gold, extracted = {}, {}, {}
    for kind, (right, wrong) in of_type.items():
        sides = {None: None, "right": right, "wrong": wrong}
        for ours, theirs in itertools.product((None, "right", "lacks"), (*sides, "lacks")):
            name = f"{kind} {ours} {theirs}"
            properties[name] = {"type": kind, "nullable": True}
            gold |= {name: sides[ours]} if ours != "lacks" else {}
            extracted |= {name: sides[theirs]} if theirs != "lacks" else {}
    inner = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {**properties, "inner": inner}}
    return schema, {**gold, "inner": gold}, {**extracted, "inner": extracted}


SCALARS = scalars()


@pytest.fixture(scope="module")
def documents(sample_outputs: Any, cv: Any, worked: Any) -> list[tuple[str, Any]]:
    """Some outputs of the sample dataset, of every schema and run."""
    return [*sample_outputs[::14], ("cv", cv), ("worked", worked), ("scalars", SCALARS)]


@pytest.fixture(scope="module")
def pairs(published: Any, documents: Any) -> list[tuple[str, Any, Any]]:
    """Reports on whole documents; what stands inside arrays is never compared."""
    found = [(name, both_reports(published, d, arrays=True)) for name, d in documents]
    return [(name, *pair) for name, pair in found if pair is not None]


@pytest.fixture(scope="module")
def scalar_pairs(published: Any, documents: Any) -> list[tuple[str, Any, Any]]:
    """Reports under schemas without arrays and maps."""
    found = [(name, both_reports(published, d, arrays=False)) for name, d in documents]
    return [(name, *pair) for name, pair in found if pair is not None]


def test_enough_can_be_compared(pairs: Any, scalar_pairs: Any) -> None:
    assert len(pairs) >= 6
    assert len(scalar_pairs) >= 6
    assert sum(ours.outcomes.total_failed for _, _, ours in scalar_pairs) >= 50


def unquoted(paths: list[str]) -> list[str]:
    return sorted(re.sub(r"\['(.*?)'\]", r".\1", path).removeprefix(".") for path in paths)


def test_content_and_coverage(pairs: Any) -> None:
    for name, theirs, ours in pairs:
        for side in ("gold_stats", "extracted_stats"):
            left, right = asdict(getattr(theirs, side)), asdict(getattr(ours, side))
            assert left.pop("missing_count") == 0
            right.pop("missing_count")
            assert left == right, (name, side)
        left, right = theirs.coverage, ours.coverage
        assert left.missing_paths == unquoted(right.missing_paths), name
        assert left.spurious_paths == unquoted(right.spurious_paths), name
        for count in ("present_in_both", "missing_in_extracted", "spurious_in_extracted"):
            assert getattr(left, count) == getattr(right, count), name
        assert left.required_missing <= right.required_missing == len(right.required_missing_paths)


def test_schema_stats(pairs: Any) -> None:
    plain = [p for p in pairs if not has_maps(p[2].evaluation.schema.document)]
    assert len(plain) >= 5
    for name, theirs, ours in plain:
        assert asdict(theirs.schema_stats) == asdict(ours.schema_stats), name


def test_outcomes(scalar_pairs: Any) -> None:
    for name, theirs, ours in scalar_pairs:
        left, right = theirs.outcomes, ours.outcomes
        assert left.pass_by_metric == right.pass_by_metric, name
        assert left.pass_by_type == right.pass_by_type, name
        assert vars(left.confusion) == vars(right.confusion), name
        for measure in ("precision", "recall", "f1"):
            assert getattr(left.confusion, measure) == getattr(right.confusion, measure)
        for total in ("total_evaluated", "total_passed", "total_failed", "pass_rate"):
            assert getattr(left, total) == getattr(right, total), name
        assert theirs.overall_score == pytest.approx(ours.overall_score, abs=1e-12)
        assert theirs.overall_pass_rate == ours.overall_pass_rate


def test_rows(scalar_pairs: Any) -> None:
    for name, theirs, ours in scalar_pairs:
        left = {(r.path, r.metric_id): r for r in theirs.field_outcomes}
        right = {(r.path, r.metric_id): r for r in ours.field_outcomes}
        left = {(unquoted([path])[0], metric): row for (path, metric), row in left.items()}
        right = {(unquoted([path])[0], metric): row for (path, metric), row in right.items()}
        assert left.keys() == right.keys(), name
        for key, row in left.items():
            mine = right[key]
            assert (row.score, row.passed) == (mine.score, mine.passed), (name, key)
            assert [row.normalized_path] == unquoted([mine.normalized_path])
            if {mine.gold_state, mine.extracted_state} != {"present"}:
                assert row.reason == mine.reason, (name, key)


def test_hashes(pairs: Any) -> None:
    for name, theirs, ours in pairs:
        for key in ("schema_hash", "gold_hash", "extracted_hash"):
            assert getattr(theirs, key) == getattr(ours, key), (name, key)


def test_our_json_has_every_key_of_theirs(pairs: Any) -> None:
    _, theirs, ours = pairs[0]
    mine = json.loads(json_text(ours))
    assert missing_keys(asdict(theirs), mine) == []


def missing_keys(theirs: Any, ours: Any, path: str = "") -> list[str]:
    if isinstance(theirs, list):
        return [] if not theirs else missing_keys(theirs[0], ours[0], path + "[]")
    if not isinstance(theirs, dict) or ours is None:
        return []
    lost = [f"{path}.{key}" for key in theirs.keys() - ours.keys()]
    return lost + [
        found
        for key in theirs.keys() & ours.keys()
        if not path.endswith("value")
        for found in missing_keys(theirs[key], ours[key], f"{path}.{key}")
    ]


def test_names_of_the_records(published: Any) -> None:
    """Every record of the package has a namesake here with all of its fields."""
    import dataclasses
    import importlib

    import extractbench_nb.report.models as ours

    theirs = importlib.import_module("extract_bench.evaluation.reporting.models")
    records = [r for r in vars(theirs).values() if dataclasses.is_dataclass(r)]
    assert len(records) >= 12
    for record in records:
        namesake = getattr(ours, record.__name__)
        assert {f.name for f in fields(record)} <= {f.name for f in fields(namesake)}


class Difference(NamedTuple):
    """What one side says and what the other, on one document."""

    name: str
    look: Callable[[Any], Any]
    schema: Any
    gold: Any
    extracted: Any
    theirs: Any
    ours: Any


TEXT = {"type": "string"}
LIST = {"type": "array", "items": TEXT}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


DIFFERENCES = [
    Difference(
        "whether a key is required: there every one is optional",
        lambda report: report.outcomes.pass_by_required,
        {**an_object(a=TEXT), "required": ["a"]},
        {"a": "x"},
        {"a": "x"},
        {"optional": {"passed": 1, "failed": 0}},
        {"required": {"passed": 1, "failed": 0}},
    ),
    Difference(
        "keys that are missing: there always 0",
        lambda report: report.extracted_stats.missing_count,
        an_object(a=TEXT),
        {"a": "x"},
        {},
        0,
        1,
    ),
    Difference(
        "a required array that is empty in one document: there it is not among the leaves",
        lambda report: report.coverage.missing_paths,
        an_object(a=LIST, **{"b c": TEXT}),
        {"a": ["x"], "b c": "x"},
        {"a": []},
        ["a[0]", "b c"],
        ["['b c']", "a[0]"],
    ),
    Difference(
        "the schema below additionalProperties: there it is not counted",
        lambda report: report.schema_stats.total_nodes,
        {**an_object(a=TEXT), "additionalProperties": TEXT},
        {"a": "x"},
        {"a": "x"},
        2,
        3,
    ),
    Difference(
        "the items of an array: there their template has a row, which never holds values",
        lambda report: [row.path for row in report.field_outcomes],
        an_object(a=LIST, b=TEXT),
        {"a": ["x"], "b": "x"},
        {"a": ["y"], "b": "x"},
        ["$.properties.a.items", "$.properties.b"],
        ["$.properties.b"],
    ),
    Difference(
        "the keys of a map: there the map is one row",
        lambda report: [(row.path, row.passed) for row in report.field_outcomes],
        {**an_object(), "additionalProperties": TEXT},
        {"k": "x"},
        {"k": "y"},
        [("$.additionalProperties", False)],
        [("$.additionalProperties['k']", False)],
    ),
    Difference(
        "paths of the groups of errors: there none",
        lambda report: [group.paths for group in report.outcomes.error_breakdown.details],
        an_object(a=TEXT),
        {"a": "x"},
        {"a": "y"},
        [[]],
        [["a"]],
    ),
]


@pytest.mark.parametrize("case", DIFFERENCES, ids=lambda case: case.name.partition(":")[0])
def test_each_difference_is_there(published: Any, case: Difference) -> None:
    found = both_reports(published, case[2:5], arrays=True)
    assert found is not None
    theirs, ours = map(case.look, found)
    assert (theirs, ours) == (case.theirs, case.ours)


@pytest.mark.skipif("EXTRACTBENCH_RUNS" not in os.environ, reason="set EXTRACTBENCH_RUNS")
def test_a_recorded_report_has_no_key_that_ours_lacks(cv: Any) -> None:
    folder = Path(os.environ["EXTRACTBENCH_RUNS"])
    recorded = sorted(folder.glob("research/*/*.judge-report.json"))
    assert recorded
    mine = json.loads(json_text(ReportBuilder().build(*cv)))
    for path in recorded:
        read = json.loads(path.read_text(encoding="utf-8"))
        shape = {
            key: value
            for key, value in read.items()
            if key not in ("schema_stats", "gold_stats", "extracted_stats")
        }
        for groups in ("pass_by_metric", "pass_by_type", "pass_by_required"):
            shape["outcomes"][groups] = {}
        shape["outcomes"]["error_breakdown"] = shape["outcomes"]["llm_stats"] = None
        assert missing_keys(shape, mine) == [], path.name
