"""Documents whose reports the tests read."""

from typing import Any, NamedTuple

import pytest

import extractbench_nb as xb
from extractbench_nb.compat.reports import EvaluationReport, ReportBuilder, ReportConfig


class Documents(NamedTuple):
    schema: dict[str, Any]
    gold: Any
    extracted: Any


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def texts(*names: str) -> dict[str, Any]:
    return {name: {"type": "string", "evaluation_config": "string_exact"} for name in names}


def array_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def an_object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


def report_on(documents: Any, **options: Any) -> EvaluationReport:
    return ReportBuilder(ReportConfig(**options)).build(*documents)


@pytest.fixture(scope="session")
def cv() -> Documents:
    """A document with the numbers of the README's summary: 13 fields, 11 passed, 0.897, 0.909."""
    scalars = texts("name", "email", "phone", "city", "country", "headline")
    job = an_object({**texts("company", "title"), "start": WHOLE})
    arrays = {
        name: array_of(texts("x")["x"]) for name in ("languages", "skills", "certificates", "other")
    }
    arrays["education"] = array_of(an_object(texts("school", "degree")))
    arrays["workExperience"] = array_of(job)
    schema = an_object({**scalars, "available": {"type": "boolean"}, **arrays}, required=["name"])
    gold = {
        **{name: f"a {name}" for name in scalars},
        "available": True,
        "languages": ["English", "Yoruba", "Polish"],
        "skills": ["bridges", "timber", "seismic design"],
        "certificates": ["CEng", "MIStructE"],
        "other": [],
        "education": [{"school": name, "degree": "MEng"} for name in ("Leeds", "Lagos", "Delft")],
        "workExperience": [
            {"company": "Arch & Span", "title": "Engineer", "start": 2019},
            {"company": "Northgate Steel", "title": "Senior engineer", "start": 2022},
            {"company": "Harbour Works", "title": "Intern", "start": 2017},
        ],
    }
    jobs = [*gold["workExperience"][:2], {"company": "Quay Ltd", "title": "Trainee", "start": 2011}]
    return Documents(schema, gold, {**gold, "workExperience": jobs, "other": ["climbing"]})


@pytest.fixture(scope="session")
def every_outcome() -> Documents:
    """Each outcome at least once, maps, a union, a node with two metrics, a failing judge."""
    two = {"metrics": [{"metric_id": "string_exact"}, {"metric_id": "string_fuzzy"}]}
    schema = an_object(
        {
            **texts("right", "wrong", "omitted", "invented", "needed"),
            "broken": WHOLE,
            "nothing": {"anyOf": [TEXT, {"type": "null"}]},
            "unjudged": {"type": "string", "evaluation_config": "string_semantic"},
            "two": {"type": "string", "evaluation_config": two},
            "map": an_object({}, additionalProperties=an_object({"n": WHOLE})),
            "inner": an_object(texts("leaf"), required=["leaf"]),
            "rows": array_of(an_object({**texts("code"), "tags": array_of(TEXT)})),
        },
        required=["right", "needed"],
    )
    gold = {
        "right": "a",
        "wrong": "b",
        "omitted": "c",
        "invented": None,
        "needed": "d",
        "broken": 5,
        "nothing": None,
        "unjudged": "e",
        "two": "alpha",
        "map": {"k.1": {"n": 1}, "k2": {"n": 2}},
        "inner": {"leaf": "z"},
        "rows": [{"code": "r1", "tags": ["x", "y"]}, {"code": "r2", "tags": []}],
    }
    extracted = {
        "right": "a",
        "wrong": "B",
        "invented": "i",
        "broken": "five",
        "nothing": None,
        "unjudged": "f",
        "two": "alpho",
        "map": {"k.1": {"n": 1}, "k3": {"n": 3}},
        "inner": {},
        "rows": [{"code": "r2"}, {"code": "r1", "tags": ["x"]}, {"code": "r9"}],
        "extra": {"deep": [1, 2]},
    }
    return Documents(schema, gold, extracted)


class FailingJudge:
    """Has no verdict, ever."""

    name = "failing"

    def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
        raise TimeoutError("no answer")
