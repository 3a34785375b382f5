"""The fuzzer of scripts/: it finds planted faults, and nothing in seeded cases."""

import dataclasses
import importlib
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

import extractbench_nb as xb

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
#: Cases that are evaluated; more of them for a longer search.
CASES = int(os.environ.get("EXTRACTBENCH_FUZZ", "30"))


@pytest.fixture(scope="module", autouse=True)
def fuzzing():
    """The fuzzer's modules, importable as the script imports them."""
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module("fuzzing")
    sys.path.remove(str(SCRIPTS))


def modules(*names):
    return [importlib.import_module(f"fuzzing.{name}") for name in names]


def failures(evaluate, numbers, seed=0):
    cases, properties, workers = modules("cases", "properties", "workers")
    checker = properties.Checker(evaluate, limit=workers.Limits())
    for number in numbers:
        for failure in checker.check(cases.make_case(seed, number)):
            yield failure.kind


def test_seeded_cases_have_every_property():
    (workers,) = modules("workers")
    reports = list(workers.run(seed=0, first=0, count=CASES, jobs=1))
    assert sorted(report.number for report in reports) == list(range(CASES))
    assert [(f.kind, f.profile, r.number) for r in reports for f, _ in r.failures] == []


def test_a_case_depends_on_its_seed_and_number_only():
    (cases,) = modules("cases")
    made = [json.dumps(dataclasses.asdict(cases.make_case(3, n))) for n in range(30)]
    assert made == [json.dumps(dataclasses.asdict(cases.make_case(3, n))) for n in range(30)]
    assert len(set(made)) == 30


def test_documents_of_recursive_tuples_end():
    (documents,) = modules("documents")
    pair = {"type": "array", "prefixItems": [{"$ref": "#"}, {"$ref": "#"}]}
    made = documents.DocumentMaker(documents.Random(0), pair).make()
    assert isinstance(made, list)


UNKNOWN = [
    pytest.param({"properties": {"a": {"evaluation_config": "nope"}}}, "x", id="of a field"),
    pytest.param(
        {"properties": {"a": {"prefixItems": [{"evaluation_config": "nope"}]}}},
        ["x"],
        id="of an item",
    ),
]


@pytest.mark.parametrize("schema, value", UNKNOWN)
def test_unknown_metrics_are_refused_or_score_as_in_the_published_package(schema, value):
    (properties,) = modules("properties")
    case = properties.Case(schema, {"a": value}, {"a": value}, legal=False)
    assert properties.Checker().check(case) == []
    found = properties.Checker().check(dataclasses.replace(case, legal=True))
    assert {failure.profile for failure in found} == {"paper", "strict"}


@pytest.mark.parametrize("kind", ["raising str", "number keys"])
@pytest.mark.parametrize("relation", ["", "an invented value", "a dropped value"])
def test_gold_that_is_more_than_json_is_itself(kind, relation):
    (properties,) = modules("properties")
    schema = {"type": "object", "properties": {"a": {"type": "object"}}}
    for gold in ({"$python": kind}, {"a": {"$python": kind}}):
        case = properties.Case(schema, gold, gold, legal=False, relation=relation)
        assert properties.Checker().check(case) == []


class Planted:
    """An evaluation with one fault planted; everything else as it is."""

    def __init__(self, evaluation, **changed):
        self._evaluation = evaluation
        self._changed = changed

    def __getattr__(self, name):
        return self._changed[name] if name in self._changed else getattr(self._evaluation, name)


def raises_on_lists(schema, gold, predicted, **options):
    if isinstance(predicted, list):
        raise KeyError("planted")
    return xb.evaluate(schema, gold, predicted, **options)


def rises_with_size(schema, gold, predicted, **options):
    result = xb.evaluate(schema, gold, predicted, **options)
    summary = result.summary.copy()
    if predicted != gold:
        summary["pass_rate"] = min(1.0, len(json.dumps(predicted, default=str)) / 10_000)
    return Planted(result, summary=summary)


def never_perfect(schema, gold, predicted, **options):
    result = xb.evaluate(schema, gold, predicted, **options)
    summary = result.summary.copy()
    summary["field_score"] = min(0.5, summary["field_score"])
    return Planted(result, summary=summary)


def turned_outcomes(schema, gold, predicted, **options):
    result = xb.evaluate(schema, gold, predicted, **options)
    fields = result.fields.replace({"outcome": {"omission": "hallucination"}})
    return Planted(result, fields=fields)


def passes_everything(schema, gold, predicted, **options):
    result = xb.evaluate(schema, gold, predicted, **options)
    return Planted(result, fields=result.fields.assign(passed=True))


def sorts_by_key_order(schema, gold, predicted, **options):
    result = xb.evaluate(schema, gold, predicted, **options)
    summary = result.summary.copy()
    if isinstance(predicted, dict) and list(predicted) != sorted(predicted):
        summary["overall_score"] /= 2
    return Planted(result, summary=summary)


@pytest.mark.parametrize(
    "evaluate, kind",
    [
        (raises_on_lists, "raises KeyError"),
        (rises_with_size, "additions raise pass_rate"),
        (never_perfect, "gold against itself: field_score is not 1"),
        (turned_outcomes, "frames: state table"),
        (passes_everything, "a wrong value goes unnoticed"),
        (sorts_by_key_order, "relation shuffle_keys: other scores"),
    ],
)
def test_a_planted_fault_is_found(evaluate, kind):
    assert any(kind in found for found in failures(evaluate, range(1000, 1300)))


def test_a_failing_case_is_made_smaller():
    properties, shrinking = modules("properties", "shrinking")
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in "abcdef"}}
    gold = dict.fromkeys("abcdef", "text")
    case = properties.Case(schema, gold, {**gold, "c": ["planted"], "e": None})

    def fails(candidate):
        return "planted" in json.dumps(candidate.predicted)

    small = shrinking.shrink(case, fails)
    assert shrinking.size(small) < shrinking.size(case) / 4
    assert fails(small)


class PanicError(BaseException):
    """What a library raises that is no Exception."""


def panics(schema, gold, predicted, **options):
    raise PanicError


def test_what_is_no_exception_is_reported():
    found = list(failures(panics, range(20)))
    assert any("raises PanicError" in kind for kind in found)


def never_ends(schema, gold, predicted, **options):
    while True:
        pass


def ends_its_process(schema, gold, predicted, **options):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    "evaluate, kind",
    [
        (never_ends, "over the limit of CPU time"),
        (ends_its_process, "the process dies: SIGKILL"),
    ],
)
def test_a_worker_survives_what_it_evaluates(monkeypatch, evaluate, kind):
    properties, workers = modules("properties", "workers")
    monkeypatch.setattr(workers, "warm_up", lambda: None)
    monkeypatch.setattr(workers, "CPU_SECONDS", 0.1)
    monkeypatch.setattr(properties.xb, "evaluate", evaluate)
    reports = list(workers.run(seed=0, first=5, count=2, jobs=1))
    assert [{f.kind for f, _ in report.failures} for report in reports] == [{kind}, {kind}]


def test_a_case_that_cannot_be_made_is_reported_and_the_run_goes_on(monkeypatch):
    (workers,) = modules("workers")
    make_case = workers.make_case

    def made(seed, number):
        if number == 6:
            raise RecursionError("planted")
        return make_case(seed, number)

    monkeypatch.setattr(workers, "warm_up", lambda: None)
    monkeypatch.setattr(workers, "make_case", made)
    reports = list(workers.run(seed=0, first=5, count=3, jobs=1))
    kinds = {report.number: [f.kind for f, _ in report.failures] for report in reports}
    assert kinds == {5: [], 6: ["the fuzzer itself fails"], 7: []}


def test_the_script_writes_failures_as_it_goes_and_ends_with_a_table(monkeypatch, capsys, tmp_path):
    script = importlib.import_module("fuzz_evaluator")
    (properties, workers) = modules("properties", "workers")
    output = tmp_path / "new" / "found.jsonl"
    seen = []

    def run(seed, first, count, jobs):
        case = properties.Case({}, {}, {})
        for number in range(first, first + count):
            failure = properties.Failure("planted", "paper", f"of {number}")
            yield workers.Report(number, 4, 0.25, 2**27, [(failure, case)] if number % 2 else [])
            seen.append(len(output.read_text(encoding="utf-8").splitlines()))
        raise KeyboardInterrupt  # a run that is stopped is not lost

    monkeypatch.setattr(script, "run", run)
    monkeypatch.setattr(script.signal, "signal", lambda *_: None)
    arguments = ["--triples", "4", "--seed", "9", "--no-shrink", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["fuzz_evaluator.py", *arguments])
    assert script.main() == 1
    assert seen == [0, 1, 1, 2]
    found = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert found[1] == {
        "class": "planted",
        "seed": 9,
        "case": 3,
        "profile": "paper",
        "detail": "of 3",
    }
    table = capsys.readouterr().out
    for line in [
        r"triples +4",
        r"evaluations +16 in 2 profiles",
        r"slowest evaluation, CPU seconds +0\.25",
        r"peak memory of a worker, MB +128",
        r"failures +2 in 1 classes",
        r"planted: paper 2; for example case 1",
    ]:
        assert re.search(line, table), line
