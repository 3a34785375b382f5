"""A judge that fails raises no rate."""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.core.text.judging import JudgeError, Question, Verdict

TEXT = {"type": "string"}


class Case(NamedTuple):
    schema: dict[str, Any]
    gold: Any
    predicted: Any


def rows(fields: str) -> dict[str, Any]:
    items = {"type": "object", "properties": dict.fromkeys(fields, TEXT)}
    return {"type": "array", "items": items}


SAMPLE = xb.load_dataset("sample")


# --- whatever fails ---------------------------------------------------------------------------


def check_never_higher(failing: xb.core.Evaluation, working: xb.core.Evaluation) -> None:
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


def passed_paths(ev: xb.core.Evaluation) -> set[str]:
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


def evaluated(case: Case, share: float, salt: int, profile: str = "paper") -> xb.core.Evaluation:
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
