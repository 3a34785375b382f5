"""Unions without a metric of their own, under release and README."""

from typing import Any

import pytest

import extractbench_nb as xb

RELEASE, README = "extract-bench-0.1.0", "extract-bench-readme"
NULL = {"type": "null"}
ITEMS = {"items": {"type": "string", "evaluation_config": "string_exact"}}


class Judge:
    name = "fixed"

    def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
        return xb.judges.Verdict(0.75, "fixed")


def t(kind: str, config: Any = None) -> dict[str, Any]:
    return {"type": kind} if config is None else {"type": kind, "evaluation_config": config}


def by(metric: str, **params: Any) -> dict[str, Any]:
    return {"metrics": [{"metric_id": metric, "params": params}]}


def any_of(*branches: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": list(branches)}


TWO = {"metrics": [{"metric_id": "string_exact"}, {"metric_id": "string_fuzzy"}]}
OBJECT = {"type": "object", "properties": {"a": t("string", "string_exact")}}

#: A field, gold, predicted, and its rows by the README: metric and score. Undeclared, a branch
#: stands for the default of its type; the params are those of the metric's preset.
CASES = [
    (any_of(t("integer"), NULL), 1, 2, [("integer_exact", 0)]),
    (any_of(t("integer"), NULL), None, None, [("integer_exact", 1)]),
    (any_of(t("string"), NULL), "a", "b", [("string_semantic", 0.75)]),
    (any_of(t("number"), NULL), 1.0, 1.0005, [("number_tolerance", 1)]),
    (any_of(t("boolean"), NULL), True, False, [("boolean_exact", 0)]),
    (t(["integer", "null"]), 1, 2, [("integer_exact", 0)]),  # type: ignore[arg-type]
    (t(["string", "null"]), "a", None, [("string_semantic", 0)]),  # type: ignore[arg-type]
    (t(["string", "number"]), "a", "b", []),  # type: ignore[arg-type]
    (any_of(t("integer"), t("number", "integer_exact")), 1, 2, [("integer_exact", 0)]),
    (any_of(t("integer"), t("number")), 1, 2, []),
    (any_of(t("string", "string_exact"), t("integer")), "a", "a", []),
    (any_of(t("string", "skip"), t("integer")), 3, 4, [("integer_exact", 0)]),
    (any_of(t("string", "skip"), NULL), "a", "b", []),
    (any_of(t("string", TWO), NULL), "a", "b", []),
    (any_of(t("string", TWO), t("integer")), 1, 2, [("integer_exact", 0)]),
    (any_of(t("number", by("number_tolerance", tolerance=0.5)), NULL), 1.0, 1.0005,
     [("number_tolerance", 1)]),
    (any_of(t("number", by("number_tolerance", tolerance=0.5)), NULL), 1.0, 1.2,
     [("number_tolerance", 0)]),
    (any_of(t("string", by("string_fuzzy", threshold=0.1)),
            t("integer", by("string_fuzzy", threshold=0.2))), "abcd", "abcx",
     [("string_fuzzy", 0.75)]),
    (any_of(any_of(t("integer"), NULL), t("integer")), 1, 2, [("integer_exact", 0)]),
    (any_of(any_of(t("integer"), t("string")), t("integer")), 1, 2, [("integer_exact", 0)]),
    (any_of({"type": "array", **ITEMS}, OBJECT), ["a", "b"], ["a"], [("array_llm", 0.5)]),
    (any_of({"type": "array", **ITEMS}, NULL), ["a"], "a", [("array_llm", 0)]),
    (any_of({"type": "array", **ITEMS}, t("string", "array_llm")), ["a"], "a", [("array_llm", 0)]),
    ({"type": ["array", "null"], **ITEMS}, ["a", "b"], ["a"], [("array_llm", 0.5)]),
    ({"type": ["array", "null"], **ITEMS}, ["a"], None, [("array_llm", 0)]),
    (any_of(OBJECT, NULL), {"a": "x"}, {"a": "y"}, []),
    (any_of(NULL), None, None, []),
]  # fmt: skip


def rows(node: Any, gold: Any, predicted: Any, profile: str) -> list[tuple[str, float]]:
    schema = {"type": "object", "properties": {"x": node}}
    documents = (schema, {"x": gold}, {"x": predicted})
    fields = xb.evaluate(*documents, profile=profile, judge=Judge()).fields
    assert "aligned" not in set(fields.outcome)
    return [(row.metric, row.score) for row in fields[fields.counted].itertuples()]


@pytest.mark.parametrize("node, gold, predicted, expected", CASES)
def test_readme(node, gold, predicted, expected):
    assert rows(node, gold, predicted, README) == expected


@pytest.mark.parametrize("node", [case[0] for case in CASES if "anyOf" in case[0]])
def test_the_release_leaves_them_out(node):
    assert rows(node, 1, 2, RELEASE) == []


@pytest.mark.parametrize("profile", [RELEASE, README])
def test_a_metric_of_its_own_goes_first(profile):
    node = {**any_of(t("integer"), NULL), "evaluation_config": "string_exact"}
    assert rows(node, 1, "1", profile) == [("string_exact", 1.0)]


def test_a_list_of_container_types_is_read():
    """The package refuses it."""
    for kind, below in (("array", ITEMS), ("object", {"properties": OBJECT["properties"]})):
        node = {"type": [kind, "null"], **below}
        value: Any = ["a"] if kind == "array" else {"a": "a"}
        assert [score for _, score in rows(node, value, value, RELEASE)] == [1.0]
