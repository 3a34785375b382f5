"""A judge that fails, beside the published package with the same judge: what the rates say.

Both ask one server, through LiteLLM's real client. The package descends into an array whose judge
fails: it finds no values at the fields of the items there, and passes each as ``both_null``.
"""

import asyncio
import copy
import json
import random
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.judges.background import BACKGROUND
from extractbench_nb.judges.base import JudgeError, Question, Verdict
from extractbench_nb.judges.client import litellm
from tests.judges.llm.conftest import MakeJudge
from tests.llm_server import LLMServer, Reply, Request, failure, truthful
from tests.parity.test_differential import _corrupted, _readable

TEXT = {"type": "string"}
_THEIRS = re.compile(
    r"Gold (?:string|value|array) \(JSON\):\n(.*?)\n\n"
    r"Predicted (?:string|value|array) \(JSON\):\n(.*?)\n\nReturn a JSON object",
    re.DOTALL,
)


# --- a model that judges for both -------------------------------------------------------------


def sides(request: Request) -> tuple[Any, Any]:
    """Read the two values off the prompt, ours or the package's."""
    found = request.quoted
    if found:
        return json.loads(found["gold"]), json.loads(found["predicted"])
    match = _THEIRS.search(request.prompt)
    assert match is not None
    return json.loads(match[1]), json.loads(match[2])


def judge(request: Request) -> Reply:
    """Say what is so: values are the same in whatever case, items are if all that is in them is."""
    if request.quoted:
        return truthful(request)
    gold, predicted = sides(request)
    ours, theirs = (
        [json.dumps(item, sort_keys=True).casefold() for item in value]
        if isinstance(value, list)
        else [value.casefold()]
        for value in (gold, predicted)
    )
    matched = sum(min(ours.count(text), theirs.count(text)) for text in set(ours))
    summary = {
        "matched": matched,
        "missed_gold": len(ours) - matched,
        "spurious_pred": len(theirs) - matched,
    }
    said = {"score": float(ours == theirs), "reasoning": "so", "matches_summary": summary}
    return Reply(json.dumps(said))


def in_an_array(request: Request) -> bool:
    """Whether it is about the items of an array: one field of an item, or the array as a whole."""
    if request.quoted:
        return "[]" in json.loads(request.quoted["field"])["field"]
    return isinstance(sides(request)[0], list)


def every_other(request: Request) -> bool:
    """Pick about half, the same ones whenever they are asked."""
    return zlib.crc32(json.dumps(sides(request)).encode()) % 2 == 1


FAILING: Mapping[str, Callable[[Request], bool]] = {
    "none": lambda _: False,
    "all": lambda _: True,
    "half": every_other,
    "in arrays": in_an_array,
}


# --- documents --------------------------------------------------------------------------------


class Case(NamedTuple):
    schema: dict[str, Any]
    gold: Any
    predicted: Any


def rows(fields: str) -> dict[str, Any]:
    items = {"type": "object", "properties": dict.fromkeys(fields, TEXT)}
    return {"type": "array", "items": items}


def one_row() -> Case:
    """One array of one row with three leaves, all wrong, beside a title that is right."""
    title = {"type": "string", "evaluation_config": "string_exact"}
    schema = {"type": "object", "properties": {"title": title, "people": rows("abc")}}
    gold = {"title": "x", "people": [{name: f"{name} in gold" for name in "abc"}]}
    predicted = {"title": "x", "people": [{name: f"{name} predicted" for name in "abc"}]}
    return Case(schema, gold, predicted)


def texts() -> Case:
    """Eight texts, of which every second one is right, and no array."""
    names = [f"f{i}" for i in range(8)]
    gold = {name: f"text of {name}" for name in names}
    predicted = {name: gold[name].upper() if i % 2 else "other" for i, name in enumerate(names)}
    return Case({"type": "object", "properties": dict.fromkeys(names, TEXT)}, gold, predicted)


def two_arrays() -> Case:
    """Two arrays of four rows, one right and one wrong, and three texts, one right."""
    schema = {"type": "object", "properties": dict.fromkeys("xyz", TEXT)}
    schema["properties"] |= {"good": rows("ab"), "bad": rows("abcde")}
    good = [{name: f"good {i} {name}" for name in "ab"} for i in range(4)]
    bad = [{name: f"bad {i} {name}" for name in "abcde"} for i in range(4)]
    gold = {"x": "one", "y": "two", "z": "three", "good": good, "bad": bad}
    predicted = copy.deepcopy(gold) | {"x": "ONE", "y": "2", "z": "3"}
    for item in predicted["good"]:
        item["b"] = item["b"].upper()
    for item in predicted["bad"]:
        item["c"] = "nothing of the kind"
    return Case(schema, gold, predicted)


CASES = {"one row": one_row(), "texts": texts(), "two arrays": two_arrays()}


class Rates(NamedTuple):
    """Passed and evaluated of the published package; ours, and how many got a verdict."""

    theirs: tuple[int, int]
    ours: tuple[int, int]
    judged: int


#: With the judge working first. Theirs rises wherever an array's judge fails: 0.50 becomes 0.80.
EXPECTED = {
    ("one row", "none"): Rates((1, 2), (1, 2), 2),
    ("one row", "all"): Rates((4, 5), (1, 2), 1),
    ("one row", "half"): Rates((4, 5), (1, 2), 1),
    ("one row", "in arrays"): Rates((4, 5), (1, 2), 1),
    ("texts", "none"): Rates((4, 8), (4, 8), 8),
    ("texts", "all"): Rates((0, 8), (0, 8), 0),
    ("texts", "half"): Rates((2, 8), (2, 8), 4),
    ("texts", "in arrays"): Rates((4, 8), (4, 8), 8),
    ("two arrays", "none"): Rates((2, 5), (2, 5), 5),
    ("two arrays", "all"): Rates((7, 12), (0, 5), 0),
    ("two arrays", "half"): Rates((7, 12), (0, 5), 2),
    ("two arrays", "in arrays"): Rates((8, 12), (1, 5), 3),
}


# --- beside the published package -------------------------------------------------------------


@pytest.fixture
def published(
    server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Case], tuple[int, int]]]:
    """Evaluate with the published package: how many of its results pass, and how many there are.

    It does not try again here, and so does not sleep; the outcome is the same.
    """
    client = litellm()  # it prints nothing then
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("extract_bench")
        from extract_bench.evaluation.metrics.llm_metrics import LlmJudgeMetric
        from loguru import logger

    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    monkeypatch.setattr(LlmJudgeMetric, "default_model_id", "openai/test-model")
    config = package.StructuredEvaluatorConfig(
        metrics=[], async_config=package.AsyncEvaluationConfig(n_max_retries=1)
    )

    async def evaluate(case: Case) -> Any:
        try:
            return await package.StructuredEvaluator(config).evaluate_async(*case)
        finally:
            await client.close_litellm_async_clients()
            client.in_memory_llm_clients_cache.flush_cache()

    def rates(case: Case) -> tuple[int, int]:
        BACKGROUND.close()  # clients are kept by LiteLLM for both, and each belongs to a loop
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = asyncio.run(evaluate(case))
        results = [one for ones in found["results"].values() for one in ones.values()]
        return sum(one.passed for one in results), len(results)

    logger.disable("extract_bench")
    yield rates
    logger.enable("extract_bench")


def scripted(failing: Callable[[Request], bool]) -> Callable[[Request], Reply]:
    return lambda request: failure(400) if failing(request) else judge(request)


@pytest.mark.parametrize("name, failing", EXPECTED, ids=map(", ".join, EXPECTED))
def test_beside_the_published_package(
    name: str,
    failing: str,
    make: MakeJudge,
    server: LLMServer,
    published: Callable[[Case], tuple[int, int]],
) -> None:
    expected, working = EXPECTED[name, failing], EXPECTED[name, "none"]
    server.respond = scripted(FAILING[failing])
    ev = xb.evaluate(*CASES[name], judge=make())
    summary = ev.summary
    theirs = published(CASES[name])
    ours = (int(summary["passed"]), int(summary["evaluated"]))
    assert Rates(theirs, ours, int(summary["judged"])) == expected
    assert summary["judge_errors"] == summary["evaluated"] - summary["judged"]
    assert summary["pass_rate"] == pytest.approx(ours[0] / ours[1])
    assert summary["pass_rate"] <= working.ours[0] / working.ours[1]
    assert ours[1] == working.ours[1]
    if expected.judged:
        assert summary["pass_rate_judged"] == pytest.approx(ours[0] / expected.judged)
    else:
        assert summary[["pass_rate_judged"]].isna().all()


SAMPLE = xb.load_dataset("sample")
FIRST = SAMPLE.listing.groupby("schema").head(1)[["document", "schema"]].to_numpy().tolist()
#: Where the package's pass rate rises when the calls for arrays fail.
RISES = {"[okafor30] ledger parsing", "brindlemoor_10q_q2_fy2031"}


@pytest.mark.parametrize("document, schema_id", FIRST)
def test_on_the_sample(
    document: str,
    schema_id: str,
    make: MakeJudge,
    server: LLMServer,
    published: Callable[[Case], tuple[int, int]],
) -> None:
    schema, gold = _readable(SAMPLE.schema(schema_id)), SAMPLE.gold(document)
    case = Case(schema, gold, _corrupted(schema, gold, 0))
    ours, theirs = {}, {}
    for name in ("none", "half", "in arrays"):
        server.respond = scripted(FAILING[name])
        ours[name] = xb.evaluate(*case, judge=make(cache=False))
        if name != "half":
            theirs[name] = published(case)
    for ev in ours.values():
        check_never_higher(ev, ours["none"])
    rate = {name: passed / results for name, (passed, results) in theirs.items()}
    assert theirs["in arrays"][1] > theirs["none"][1]  # fields that no document has
    assert (rate["in arrays"] > rate["none"]) == (document in RISES)


# --- whatever fails ---------------------------------------------------------------------------


def check_never_higher(
    failing: xb.evaluation.Evaluation, working: xb.evaluation.Evaluation
) -> None:
    """Assert that calls that fail raise nothing, and that what got no verdict is told."""
    down, up = failing.summary, working.summary
    assert down["evaluated"] == up["evaluated"]
    assert down["judged"] + down["judge_errors"] == down["evaluated"]
    for score in ("pass_rate", "overall_score", "field_score"):
        assert down[score] <= up[score] + 1e-12
    assert passed_paths(failing) <= passed_paths(working)
    arrays = [ev.arrays[ev.arrays["counted"]].set_index("path") for ev in (failing, working)]
    assert (arrays[0]["matched"] <= arrays[1]["matched"]).all()
    rows = failing.fields[failing.fields["counted"]]
    assert (rows["outcome"].eq("judge_error") == rows["passed"].isna()).all()


def passed_paths(ev: xb.evaluation.Evaluation) -> set[str]:
    rows = ev.fields[ev.fields["counted"] & ev.fields["passed"].fillna(False)]
    return set(rows["path"])


class Half:
    """A judge whose calls fail for the questions that its salt picks, the same ones each time."""

    name = "half"

    def __init__(self, share: float, salt: int) -> None:
        self.share, self.salt = share, salt

    def compare(self, gold: str, predicted: str) -> Verdict:
        raise AssertionError("it takes whole questions")

    async def ask(self, question: Question) -> Verdict:
        text = f"{question.field} {question.gold!r} {question.predicted!r}"
        if random.Random(f"{self.salt} {text}").random() < self.share:
            raise JudgeError("it is down", reason="server_error")
        return Verdict(random.Random(text).random(), "judged")


class Never(Half):
    """A judge for whom nothing is the same."""

    def __init__(self) -> None:
        super().__init__(0, 0)

    async def ask(self, question: Question) -> Verdict:
        return Verdict(0.0, "judged")


def evaluated(
    case: Case, share: float, salt: int, profile: str = "paper"
) -> xb.evaluation.Evaluation:
    return xb.evaluate(*case, judge=Half(share, salt), profile=profile)


@cache
def outputs() -> list[Case]:
    """Return what each run of the sample made of each document, where it is JSON."""
    schemas = dict(SAMPLE.listing[["document", "schema"]].to_numpy().tolist())
    found = []
    for row in SAMPLE.runs.itertuples():
        predicted = read(row.predicted)
        if predicted is not None and schemas[row.document] != "quarterly_report":
            schema = SAMPLE.schema(schemas[row.document])
            found.append(Case(schema, SAMPLE.gold(row.document), predicted))
    assert len(found) > 30
    return found


def read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None


shares = st.sampled_from([0.2, 0.5, 0.9, 1.0])


@settings(deadline=None, max_examples=30)
@given(st.data(), shares, st.integers(0, 999))
def test_calls_that_fail_never_raise_a_score(data: Any, share: float, salt: int) -> None:
    case = data.draw(st.sampled_from(outputs()))
    check_never_higher(evaluated(case, share, salt), evaluated(case, 0, 0))


ROW: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "evaluation_config": "string_exact"},
        "a": TEXT,
        "b": TEXT,
        "tags": {"type": "array", "items": TEXT},
    },
}
TABLE = {
    "type": "object",
    "properties": {"title": TEXT, "rows": {"type": "array", "items": ROW}},
}
words = st.sampled_from(["x", "y", "xy", "xyz"])
items = st.fixed_dictionaries(
    {}, optional={"id": words, "a": words, "b": words, "tags": st.lists(words, max_size=3)}
)
tables = st.fixed_dictionaries({"title": words, "rows": st.lists(items, max_size=4)})


@settings(deadline=None, max_examples=30)
@given(tables, tables, shares, st.integers(0, 999))
def test_pairs_that_stay_open_never_raise_a_score(
    gold: Any, predicted: Any, share: float, salt: int
) -> None:
    case = Case(TABLE, gold, predicted)
    check_never_higher(evaluated(case, share, salt), evaluated(case, 0, 0))


def test_strict_counts_no_more_than_it_does_with_the_judge_working() -> None:
    gold = {"title": "x", "rows": [{"id": "x", "a": "x", "b": "x"}]}
    predicted = {"title": "x", "rows": [{"id": "x", "a": "y", "b": "y"}]}
    case = Case(TABLE, gold, predicted)
    working, down = (
        xb.evaluate(*case, judge=judge, profile="strict") for judge in (Never(), Half(1, 0))
    )
    assert down.summary["pass_rate"] <= working.summary["pass_rate"]


@settings(deadline=None, max_examples=30)
@given(tables, tables, shares, st.integers(0, 999))
def test_strict_never_rises(gold: Any, predicted: Any, share: float, salt: int) -> None:
    case = Case(TABLE, gold, predicted)
    down, up = evaluated(case, share, salt, "strict"), evaluated(case, 0, 0, "strict")
    for score in ("pass_rate", "overall_score", "field_score"):
        assert down.summary[score] <= up.summary[score] + 1e-12
    assert passed_paths(down) <= passed_paths(up)
    assert down.summary["judged"] + down.summary["judge_errors"] == down.summary["evaluated"]
