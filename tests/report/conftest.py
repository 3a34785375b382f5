"""Documents whose reports the tests read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import extractbench_nb as xb
from extractbench_nb.engine.profiles import PROFILES
from extractbench_nb.judges.base import Verdict
from extractbench_nb.report.builder import ReportBuilder, ReportConfig
from extractbench_nb.report.models import EvaluationReport


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


@pytest.fixture(scope="session")
def worked() -> Documents:
    """The worked example of the README: 0.933 and 0.833."""
    items = array_of(an_object(texts("code")))
    schema = an_object({**texts("name"), "age": WHOLE, "items": items})
    gold = {"name": "Ada", "age": 36, "items": [{"code": f"c{i}"} for i in range(10)]}
    return Documents(schema, gold, {**gold, "items": gold["items"][:8]})


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
        "name": "Marta Oyelaran",
        "email": "marta@example.org",
        "phone": "+44 20 7946 0958",
        "city": "Leeds",
        "country": "United Kingdom",
        "headline": "Structural engineer",
        "available": True,
        "languages": ["English", "Yoruba", "Polish"],
        "skills": ["bridges", "timber", "seismic design"],
        "certificates": ["CEng", "MIStructE"],
        "other": [],
        "education": [
            {"school": "Leeds", "degree": "MEng"},
            {"school": "Lagos", "degree": "BSc"},
            {"school": "Delft", "degree": "MSc"},
        ],
        "workExperience": [
            {"company": "Arch & Span", "title": "Engineer", "start": 2019},
            {"company": "Northgate Steel", "title": "Senior engineer", "start": 2022},
            {"company": "Harbour Works", "title": "Intern", "start": 2017},
        ],
    }
    jobs = [*gold["workExperience"][:2], {"company": "Quay Ltd", "title": "Trainee", "start": 2011}]
    extracted = {**gold, "workExperience": jobs, "other": ["climbing"]}
    return Documents(schema, gold, extracted)


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

    def compare(self, gold: str, predicted: str) -> Verdict:
        raise TimeoutError("no answer")


@pytest.fixture(scope="session")
def failing_judge() -> FailingJudge:
    return FailingJudge()


@pytest.fixture(scope="session")
def report_on() -> Callable[..., EvaluationReport]:
    """Build a report with options of `ReportConfig`."""

    def build(documents: Any, **options: Any) -> EvaluationReport:
        return ReportBuilder(ReportConfig(**options)).build(*documents)

    return build


@pytest.fixture(scope="session", params=sorted(PROFILES))
def profile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def sample_outputs() -> list[tuple[str, Documents]]:
    """Every recorded output of the sample dataset, the invalid ones as they were written."""
    dataset = xb.load_dataset()
    return [
        (f"{run.run}/{run.document}", _documents(dataset, run)) for run in dataset.runs.itertuples()
    ]


def _documents(dataset: Any, run: Any) -> Documents:
    row = dataset.documents.set_index("document").loc[run.document]
    return Documents(dataset.schema(row["schema"]), dataset.gold(run.document), Path(run.predicted))


@pytest.fixture
def strict_json() -> Callable[[str], Any]:
    """Parse JSON that has neither NaN nor Infinity nor a key twice."""

    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    return lambda text: json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
