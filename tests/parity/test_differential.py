"""The published package and our engine on the same documents, in the same process.

The real documents are read from ``EXTRACTBENCH_DATASET``. Corruptions are seeded and keep every
value's type, because the package gives up a whole document at the first type that is wrong.
"""

import asyncio
import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb import compat

VARIABLE = "EXTRACTBENCH_DATASET"
#: Seeds of the corruptions, by what is compared.
SEEDS = {"as declared": (0, 1), "scored by code": (2, 3)}
KNOWN = {
    "string_exact", "string_case_insensitive", "string_fuzzy", "string_semantic", "string_llm",
    "number_exact", "number_tolerance", "integer_exact", "boolean_exact", "array_llm", "skip",
}  # fmt: skip
JUDGED = {"string_semantic", "string_llm", "array_llm"}
#: Metrics to put in a judge's place, by type, so that a whole document is scored by code.
BY_CODE = {
    "string": ["string_fuzzy", "string_exact", "string_case_insensitive"],
    "array": ["string_exact"],
}


def _dataset(name: str) -> xb.benchmark.Dataset:
    if name == "extractbench" and not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: no real documents")
    return xb.load_dataset(name)


# --- schemas that both can read ---------------------------------------------------------------


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


def _readable(schema: Any) -> dict[str, Any]:
    """Take a schema out of its envelope, and what the package refuses out of the schema."""
    found = copy.deepcopy(schema.get("schema_definition", schema))
    for node in _nodes(found):
        if node is not found:  # the package asks for required keys of objects that are not there
            node.pop("required", None)
        config = node.get("evaluation_config")
        if isinstance(config, dict) and "metrics" not in config:
            config = node["evaluation_config"] = {"metrics": [config]}
        metrics = config["metrics"] if isinstance(config, dict) else [{"metric_id": config}]
        if config is not None and any(m["metric_id"] not in KNOWN for m in metrics):
            del node["evaluation_config"]
    return found


def _without_arrays_and_maps(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop what the package counts otherwise: the template of items, one key of a map for all."""
    found = copy.deepcopy(schema)
    for node in _nodes(found):
        if "properties" in node:
            kept = {k: v for k, v in node["properties"].items() if v.get("type") != "array"}
            node["properties"] = kept
        node.pop("required", None)
        node.pop("additionalProperties", None)
    return found


def _scored_by_code(schema: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Put a metric that needs no judge at every node that has one."""
    found = copy.deepcopy(schema)
    for node in _nodes(found):
        kinds = [branch.get("type") for branch in (node, *node.get("anyOf", []))]
        kind = next((k for k in kinds if k in ("array", "string")), None)
        config = node.get("evaluation_config", "string_semantic" if kind else None)
        metrics = config["metrics"] if isinstance(config, dict) else [{"metric_id": config}]
        if kind is not None and JUDGED & {m["metric_id"] for m in metrics}:
            node["evaluation_config"] = rng.choice(BY_CODE[kind])
    return found


# --- corruptions that keep the types ----------------------------------------------------------


def _corrupted(schema: dict[str, Any], gold: Any, seed: int) -> Any:
    rng = random.Random(seed)
    return _corrupt(schema, schema, copy.deepcopy(gold), rng)


def _corrupt(document: Any, schema: Any, value: Any, rng: random.Random) -> Any:
    if "$ref" in schema:
        schema = document["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, dict) and schema.get("type") == "object":
        return _corrupt_object(document, schema, value, rng)
    nullable = schema.get("nullable") or {"type": "null"} in schema.get("anyOf", [])
    if nullable and rng.random() < 0.2:
        return None
    return _edited(value, rng) if rng.random() < 0.5 else value


def _corrupt_object(document: Any, schema: Any, value: Any, rng: random.Random) -> Any:
    """Leave objects where they are: the package asks for the required keys of one that is gone."""
    found = {}
    for key, part in value.items():
        child = schema.get("properties", {}).get(key)
        if child is None:
            found[key] = part
        elif key in schema.get("required", []) or isinstance(part, dict) or rng.random() < 0.85:
            found[key] = _corrupt(document, child, part, rng)
    return found


def _edited(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 1000])
    if isinstance(value, float):
        return value * rng.choice([1.0005, 1.1, -1])
    if isinstance(value, str):
        return rng.choice([_without_a_word, str.upper, str.swapcase, lambda t, *_: t + " "])(value)
    if isinstance(value, list):
        return rng.choice([[], value[::-1], value[1:], [*value, *value[:1]]])
    return value


def _without_a_word(text: str) -> str:
    words = text.split(" ")
    return " ".join(words[:1] + words[2:])


# --- path by path -----------------------------------------------------------------------------


def _compare(published: Any, ours: Callable[..., Any], *documents: Any) -> tuple[int, list[Any]]:
    """Count the compared results, and list those that differ.

    Where an array stands on both sides the package asks a judge how many items match: there is
    nothing to compare with.
    """
    theirs, found = published.results(*documents), ours(*documents)
    arrays = [key for key in theirs if key[1] == "array_llm"]
    judged = {key for key in arrays if theirs[key].score not in (0.0, 1.0)}
    keys = dict.fromkeys((*theirs, *found))
    return len(keys) - len(judged), [
        (key, theirs.get(key), found.get(key))
        for key in keys
        if key not in judged and not _agree(key[0], theirs.get(key), found.get(key))
    ]


def _agree(path: str, theirs: Any, found: Any) -> bool:
    """Compare one result; of the keys of a map the package keeps any one."""
    in_a_map = "additionalProperties" in path and found is not None
    return theirs in found if in_a_map else found == [theirs]


@pytest.mark.parametrize("variant", ["as declared", "scored by code"])
@pytest.mark.parametrize("name, documents, least", [("extractbench", 35, 700), ("sample", 14, 200)])
def test_every_result_equals_the_package(name, documents, least, variant, published, side_by_side):
    dataset = _dataset(name)
    assert len(dataset.documents) == documents
    compared, different = 0, []
    for row in dataset.documents.itertuples():
        for seed in SEEDS[variant]:
            schema = _readable(dataset.schema(row.schema))
            if variant == "scored by code":
                schema = _scored_by_code(schema, random.Random(seed))
            gold = dataset.gold(row.document)
            predicted = _corrupted(schema, gold, seed)
            count, found = _compare(published, side_by_side.ours, schema, gold, predicted)
            compared += count
            different += [(row.document, seed, *d) for d in found]
    assert different == []
    assert compared >= least


@pytest.mark.parametrize("name", ["extractbench", "sample"])
def test_the_evaluator_of_compat_equals_the_package(name, published, side_by_side):
    """Paths, metric ids, scores, verdicts and reasons, but for arrays that a judge looks at."""
    dataset = _dataset(name)
    different, reasons = [], set()
    for row in dataset.documents.itertuples():
        schema = _scored_by_code(_readable(dataset.schema(row.schema)), random.Random(3))
        gold = dataset.gold(row.document)
        documents = (schema, gold, _corrupted(schema, gold, 3))
        theirs, ours = published.details(*documents), side_by_side.through_compat(*documents)
        for key in dict.fromkeys((*theirs, *ours)):
            (expected,) = theirs.get(key, [None])
            found = ours.get(key, [])
            if expected not in found or (len(found) > 1 and "additional" not in key[0]):
                different.append((row.document, key, expected, found))
            reasons.update(detail.reason for detail in found)
    assert different == []
    assert {None, "extracted_missing", "both_null"} <= reasons


def test_a_difference_is_seen(published, side_by_side):
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    documents = (schema, {"n": 1000.0}, {"n": 1000.5})
    assert _compare(published, side_by_side.ours, *documents) == (1, [])

    def in_paper(*arguments: Any) -> Any:
        return side_by_side.ours(*arguments, profile="paper")

    count, different = _compare(published, in_paper, *documents)
    assert (count, len(different)) == (1, 1)


@pytest.mark.parametrize("name", ["extractbench", "sample"])
def test_summary_and_report_of_compat_equal_the_package(name, published, side_by_side):
    """Scores, counts, confusion matrix and every row."""
    dataset = _dataset(name)
    builder = compat.ReportBuilder(compat.ReportConfig(profile=side_by_side.profile))
    for row in dataset.documents.itertuples():
        schema = _without_arrays_and_maps(_readable(dataset.schema(row.schema)))
        schema = _scored_by_code(schema, random.Random(row.document))
        gold = dataset.gold(row.document)
        documents = (schema, gold, _corrupted(schema, gold, 5))
        theirs, ours = published.report(*documents), builder.build(*documents)
        summary = xb.evaluate(*documents, profile=side_by_side.profile).summary
        for score, rate in (
            (ours.overall_score, ours.overall_pass_rate),
            (summary.overall_score, summary.pass_rate),
        ):
            assert score == pytest.approx(theirs.overall_score, abs=1e-12)
            assert rate == pytest.approx(theirs.overall_pass_rate, abs=1e-12)
        assert summary.evaluated == theirs.outcomes.total_evaluated
        for count in ("total_evaluated", "total_passed", "total_failed"):
            assert getattr(ours.outcomes, count) == getattr(theirs.outcomes, count)
        assert ours.outcomes.pass_by_metric == theirs.outcomes.pass_by_metric
        for cell in ("true_positive", "false_positive", "false_negative", "true_negative"):
            assert getattr(ours.outcomes.confusion, cell) == getattr(
                theirs.outcomes.confusion, cell
            )
        assert _rows(ours) == _rows(theirs)


def _rows(report: Any) -> list[tuple[Any, ...]]:
    """Path, metric, score, verdict, and why no metric decided; not in the order of traversal."""
    decided = {"match", "value_mismatch"}
    rows = [
        (r.path, r.metric_id, r.score, r.passed, None if r.reason in decided else r.reason)
        for r in report.field_outcomes
    ]
    return sorted(rows, key=repr)


# --- documents that the package loses ---------------------------------------------------------

PEOPLE = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "evaluation_config": "string_exact"},
        "age": {"type": "integer"},
        "height": {"type": "number"},
        "tags": {
            "type": "array",
            "items": {"type": "string", "evaluation_config": "string_exact"},
        },
        "home": {
            "type": "object",
            "required": ["city"],
            "properties": {"city": {"type": "string", "evaluation_config": "string_exact"}},
        },
    },
}
ADA = {"name": "Ada", "age": 36, "height": 1.6, "tags": ["a"], "home": {"city": "London"}}

#: Defects ii and iii. What is predicted in place of a value; path, outcome and score of ours.
#: The rest of the document is right.
LOST = [
    pytest.param({"name": ...}, "$.name", "omission", 0, id="required key missing"),
    pytest.param({"home": ...}, "$.home.city", "omission", 0, id="object with a required key"),
    pytest.param({"home": {}}, "$.home.city", "omission", 0, id="required key of an object"),
    pytest.param({"name": None}, "$.name", "omission", 0, id="null where none is allowed"),
    pytest.param({"name": 5}, "$.name", "structural", 0, id="number for a string"),
    pytest.param({"height": "1.6"}, "$.height", "structural", 0, id="text for a number"),
    pytest.param({"age": 36.0}, "$.age", "correct", 1, id="36.0 for an integer"),
    pytest.param({"age": [36]}, "$.age", "structural", 0, id="array for an integer"),
    pytest.param({"tags": {}}, "$.tags", "structural", 0, id="object for an array"),
    pytest.param({"tags": "a"}, "$.tags", "structural", 0, id="text for an array"),
    pytest.param({"home": "London"}, "$.home.city", "structural", 0, id="text for an object"),
]


@pytest.mark.parametrize("profile", ["extract-bench-0.1.0", "paper"])
@pytest.mark.parametrize("change, path, outcome, score", LOST)
def test_the_rest_of_the_document_is_evaluated(change, path, outcome, score, profile, published):
    predicted = {k: v for k, v in {**ADA, **change}.items() if v is not ...}
    with pytest.raises(ValueError, match=r"missing|is not"):
        published.results(PEOPLE, ADA, predicted)
    fields = xb.evaluate(PEOPLE, ADA, predicted, profile=profile).fields
    fields = fields[fields.counted].set_index("path")
    assert (fields.outcome[path], fields.score[path]) == (outcome, score)
    assert (fields.outcome.drop(path) == "correct").all()
    assert len(fields) == 5


@pytest.mark.parametrize("profile", ["extract-bench-0.1.0", "paper"])
@pytest.mark.parametrize("root", [[], 5, True])
def test_a_root_of_the_wrong_type(root, profile, published):
    with pytest.raises(ValueError, match=r"is not a dict|has no attribute"):
        published.results(PEOPLE, ADA, root)
    fields = xb.evaluate(PEOPLE, ADA, root, profile=profile).fields
    assert list(fields.outcome) == ["structural"] * 5
    assert (fields.score == 0).all()


# --- defects of the package that profile paper does not have -----------------------------------


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

#: Defect, schema of one field, gold, predicted, whether the package and we pass it.
#: None: the field is not in the package's report at all.
DEFECTS = [
    ("v one word of many dropped", _leaf("string", "string_fuzzy"), CLAUSE, SHORTER, False, True),
    ("vi 0.05 % off", _leaf("number"), 1_000_000, 1_000_500, False, True),
    ("vi 100 % off", _leaf("number"), 0.0005, 0.0010, True, False),
    ("vi no params", _leaf("number", _by("number_tolerance")), 1000, 1000.5, False, True),
    ("vii NaN", _leaf("number"), NAN, NAN, False, True),
    ("vii infinity", _leaf("number"), INF, INF, False, True),
    ("vii true for integer 1", _leaf("integer"), 1, True, True, False),
    ("vii true for number 1", _leaf("number"), 1.0, True, True, False),
    ("vii ranges", _leaf("string", "number_tolerance"), "33–37", "90–99", True, False),
    ("vii not numbers", _leaf("string", "number_exact"), "N/A", "unknown", True, False),
    ("vii not integers", _leaf("string", "integer_exact"), "abc", "xyz", True, False),
    ("vii not booleans", _leaf("string", "boolean_exact"), "yes", "no", True, False),
    ("vii truncation", _leaf("number", "integer_exact"), 3, 3.9, True, False),
    ("x anyOf without a metric", OPTIONAL, "x", "totally different", None, False),
]


@pytest.mark.parametrize(
    "schema, gold, predicted, theirs, ours", [pytest.param(*d[1:], id=d[0]) for d in DEFECTS]
)
def test_defects_of_one_value(schema, gold, predicted, theirs, ours, published):
    documents = (schema, {"x": gold}, {"x": predicted})
    found = published.results(*documents)
    assert [result.passed for result in found.values()] == ([] if theirs is None else [theirs])
    fields = xb.evaluate(*documents).fields
    assert list(fields.passed) == [ours]


def test_defect_i_a_running_event_loop(published):
    documents = (_leaf("integer"), {"x": 1}, {"x": 1})
    assert "cannot be called from a running event loop" in published.in_running_loop(*documents)

    async def cell() -> xb.evaluation.Evaluation:
        return xb.evaluate(*documents)

    assert asyncio.run(cell()).summary.pass_rate == 1.0


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


class BrokenJudge:
    name = "broken"

    def compare(self, gold: str, predicted: str) -> Any:
        raise TimeoutError("no answer")


def test_defect_iv_a_judge_that_is_down_raises_no_score(published, monkeypatch):
    import litellm

    schema = copy.deepcopy(ROWS)
    schema["properties"]["x"] = {"type": "string"}
    documents = (
        schema,
        {"x": "a", "rows": [{"name": "a", "value": 1}]},
        {"x": "b", "rows": [{"name": "zzzzz", "value": 9}]},
    )

    async def refuse(**_: Any) -> Any:
        raise TimeoutError("no answer")

    monkeypatch.setattr(litellm, "acompletion", refuse)
    inside = published.evaluator.evaluate(*documents)["results"]
    passed = [m for path, m in inside.items() if path.startswith("$.properties.rows.items.")]
    assert [r.passed for m in passed for r in m.values()] == [True, True]  # nothing was compared

    up, down = xb.evaluate(*documents), xb.evaluate(*documents, judge=BrokenJudge())
    assert down.summary.judge_errors == 1
    assert down.summary.pass_rate <= up.summary.pass_rate
    assert down.fields.set_index("path").loc["$.x", ["score", "passed"]].isna().all()


def test_defect_v_is_symmetric(published):
    schema = _leaf("string", "string_fuzzy")
    one, two = {"x": "ccbaabbc"}, {"x": "bccabcbc"}
    both_ways = [(one, two), (two, one)]
    theirs = [r.score for pair in both_ways for r in published.results(schema, *pair).values()]
    ours = [xb.evaluate(schema, *pair).fields.score[0] for pair in both_ways]
    assert theirs == [0.75, 0.25]
    assert ours[0] == ours[1]


@pytest.mark.parametrize("value, matched", [(1000.5, 1), (1002.0, 0)])
def test_defect_viii_metrics_of_item_fields_run(value, matched, published):
    gold, predicted = ({"rows": [{"name": "a", "value": v}]} for v in (1000.0, value))
    theirs = published.results(ROWS, gold, predicted)
    assert [metric for _, metric in theirs] == ["array_llm"]  # and no way to say which metric
    evaluation = xb.evaluate(ROWS, gold, predicted)
    assert evaluation.arrays.matched[0] == matched
    assert "number_tolerance" in set(evaluation.fields.metric)


def test_defect_ix_invented_rows_cost_precision(published, monkeypatch):
    import litellm

    counts = {"matched": 2, "missed_gold": 0, "spurious_pred": 500}
    content = json.dumps({"reasoning": "a judge that counts right", "matches_summary": counts})

    async def count(**_: Any) -> Any:
        return {"choices": [{"message": {"content": content}}]}

    monkeypatch.setattr(litellm, "acompletion", count)
    gold = {"rows": [{"name": "a", "value": 1}, {"name": "b", "value": 2}]}
    invented = [{"name": f"invented {n}", "value": 100 + n} for n in range(500)]
    predicted = {"rows": [*gold["rows"], *invented]}
    assert published.results(ROWS, gold, predicted) == {
        ("$.properties.rows", "array_llm"): (1.0, True)
    }
    evaluation = xb.evaluate(ROWS, gold, predicted)
    array = evaluation.arrays.iloc[0]
    assert (array.matched, array.missed, array.spurious) == (2, 0, 500)
    assert (array.recall, array.precision) == (1.0, 2 / 502)
    assert xb.evaluate(ROWS, gold, predicted, profile="strict").arrays.score[0] == 4 / 504
    assert set(evaluation.fields.path) == {
        "$.rows", *(f"$.rows[{i}].{key}" for i in (0, 1) for key in ("name", "value"))
    }  # fmt: skip


def test_defect_xi_weights_undeclared_keys_and_unknown_metrics(published):
    heavy = {"metrics": [{"metric_id": "string_exact"}], "aggregation_weight": 99}
    schema = _leaf("string", heavy)
    schema["properties"]["y"] = {"type": "string", "evaluation_config": "string_exact"}
    documents = (schema, {"x": "a", "y": "b"}, {"x": "wrong", "y": "b", "z": "undeclared"})
    assert published.report(*documents).overall_score == 0.5
    evaluation = xb.evaluate(*documents)
    assert evaluation.summary.field_score == pytest.approx(0.01)
    assert "$.z" in set(evaluation.warnings.path)

    typo = _leaf("string", _by("string_exakt"))
    assert [metric for _, metric in published.results(typo, {"x": "a"}, {"x": "a"})] == ["error"]
    with pytest.raises(xb.ConfigError, match="did you mean 'string_exact'"):
        xb.evaluate(typo, {"x": "a"}, {"x": "a"})
