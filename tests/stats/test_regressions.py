"""`regressions`: what changed, the verdict, what cannot be compared; how often it errs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

import extractbench_nb as xb
from extractbench_nb.runs.results import Evaluations
from extractbench_nb.stats.gates import decide
from tests.widgets.hostile import HOSTILE, ONE_OF_EACH

LINE = {"type": "object", "properties": {"name": {"type": "string"}, "qty": {"type": "integer"}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "year": {"type": "integer"},
        "name": {"type": "string", "evaluation_config": "string_fuzzy"},
        "lines": {"type": "array", "items": LINE},
        "keys": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}
BOLT, NUT = {"name": "bolt", "qty": 2}, {"name": "nut", "qty": 9}
GOLD = {"year": 2024, "name": "abcdefghij", "lines": [BOLT, NUT], "keys": {"k": 1}}


def batch(
    outputs: Mapping[str, Any],
    *,
    run: str = "run",
    schema: Any = SCHEMA,
    gold: Any = GOLD,
    **options: Any,
) -> Evaluations:
    frame = pd.DataFrame({"run": run, "document": list(outputs), "predicted": outputs.values()})
    frame["schema"], frame["gold"] = [schema] * len(frame), [gold] * len(frame)
    return xb.evaluate_runs(frame, progress=False, **options)


def compared(was: Any, now: Any, **options: Any) -> Any:
    """Compare two outputs for one document, each given by what differs from gold."""
    sides = [{"d": side if isinstance(side, str) else {**GOLD, **side}} for side in (was, now)]
    return xb.regressions(*(batch(side, **options) for side in sides))


# --- fields and items ----------------------------------------------------------------------------

FIELDS = [
    ({}, {}, []),
    ({}, {"year": 2025}, [("$.year", "regressed", "correct", "incorrect")]),
    ({"year": 2025}, {}, [("$.year", "improved", "incorrect", "correct")]),
    ({"year": 2025}, {"year": None}, []),
    ({"year": 2025}, {"year": 2026}, []),
    ({}, {"name": "abcdefghix"}, [("$.name", "lower", "correct", "correct")]),
    ({"name": "abcdefghix"}, {}, [("$.name", "higher", "correct", "correct")]),
    ({}, {"name": "x"}, [("$.name", "regressed", "correct", "incorrect")]),
    ({}, {"keys": {"k": 1, "j": 2}}, [("$.keys['j']", "regressed", None, "hallucination")]),
    ({"keys": {"k": 1, "j": 2}}, {}, [("$.keys['j']", "improved", "hallucination", None)]),
]


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("was, now, expected", FIELDS)
def test_each_change_of_a_field_has_its_verdict(
    was: Any, now: Any, expected: Any, profile: str
) -> None:
    fields = compared(was, now, profile=profile).fields
    shown = fields[["path", "verdict", "outcome_was", "outcome_is"]].astype(object)
    assert [tuple(r) for r in shown.where(shown.notna(), None).to_numpy()] == expected
    assert fields["counted"].all()


SPAM = {"name": "spam", "qty": 1}
#: Items, and what regresses; in `paper` first what counts, in `strict` too.
ITEMS = [
    ("paper", [BOLT], ["$.lines"]),
    ("strict", [BOLT], ["$.lines[1].name", "$.lines[1].qty", "$.lines"]),
    ("paper", [NUT, BOLT], []),
    ("strict", [NUT, BOLT], []),
    ("paper", [NUT, {**BOLT, "qty": 3}], ["$.lines", "$.lines[0].qty"]),
    ("strict", [NUT, {**BOLT, "qty": 3}], ["$.lines[0].qty", "$.lines"]),
    ("paper", [BOLT, NUT, SPAM], []),
    ("strict", [BOLT, NUT, SPAM], ["$.lines[+2].name", "$.lines[+2].qty"]),
]


@pytest.mark.parametrize("profile, items, expected", ITEMS)
def test_items_are_aligned_by_golds_index(profile: str, items: Any, expected: Any) -> None:
    forth = compared({}, {"lines": items}, profile=profile).fields
    back = compared({"lines": items}, {}, profile=profile).fields
    # in `strict` a spurious item lowers the F1 of an array that passes all the same
    lower = forth[forth["verdict"] == "lower"]
    assert lower["path"].tolist() == ["$.lines"] * (profile == "strict" and SPAM in items)
    assert forth[forth["verdict"] == "regressed"]["path"].tolist() == expected
    assert len(forth) == len(expected) + len(lower)
    turned = forth["verdict"].replace({"regressed": "improved", "lower": "higher"})
    assert sorted(zip(back["path"], back["verdict"], strict=True)) == sorted(
        zip(forth["path"], turned, strict=True)
    )


def test_an_invalid_output_is_named_and_not_listed_field_by_field() -> None:
    found = compared({}, "{'year'")
    assert found.by_document.loc[0, ["valid_was", "valid_is", "is"]].tolist() == [True, False, 0.0]
    assert set(found.fields["verdict"]) == {"regressed"}
    assert any("1 output unreadable now" in note for note in found.notes)
    assert "$.year" not in repr(found)


def test_a_judge_error_is_no_regression() -> None:
    @xb.metric("regressions_flaky")
    def flaky(gold: Any, predicted: Any) -> float:
        if predicted == "down":
            raise TimeoutError("no answer")
        return float(gold == predicted)

    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema["properties"]["name"]["evaluation_config"] = {"metric_id": "regressions_flaky"}  # type: ignore[index]
    sides = partial(batch, schema=schema, gold={"name": "a"})
    good, down = {"name": "a"}, {"name": "down"}
    found = xb.regressions(sides({"d": good, "e": good}), sides({"d": good, "e": down}))
    assert found.verdict == "pass"
    assert found.by_document.set_index("document")["verdict"].to_dict() == {
        "d": "same",
        "e": "unknown",
    }
    assert found.fields["verdict"].tolist() == ["unknown"]
    with pytest.raises(xb.InputError, match=r"a judge gave no verdict .* resume=folder"):
        xb.regressions(sides({"d": good}), sides({"d": down}))


# --- whole runs ----------------------------------------------------------------------------------


@cache
def sample(profile: str) -> Evaluations:
    return xb.evaluate_runs(xb.load_dataset("sample"), progress=False, profile=profile)


RUNS = ["heron-vision", "osprey-7b", "quill-large", "quill-mini"]


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("was, now", [*permutations(RUNS, 2)])
def test_changes_add_up_to_the_counts_of_the_summary(was: str, now: str, profile: str) -> None:
    """What regressed minus what improved is the number of counted nodes that fail more."""
    evs = sample(profile)
    found = xb.regressions(evs, evs, run=now, baseline_run=was, resamples=100)
    summary = evs.summary.set_index(["run", "document"])
    failed = summary["evaluated"] - summary["passed"]
    documents = found.by_document.set_index("document")
    valid = documents[(documents["valid_was"] & documents["valid_is"]).to_numpy()]
    assert len(valid) > 5
    more = failed[now].loc[valid.index] - failed[was].loc[valid.index]
    assert (valid["regressed"] - valid["improved"]).tolist() == more.tolist()

    differences = xb.compare_runs(
        evs, measures="pass_rate", baseline=was, resamples=100
    ).differences
    (row,) = differences[differences["b"] == now].to_dict("records")
    names = {"was": "mean_a", "is": "mean_b", "difference": "b_minus_a", "p_value": "p_value"}
    assert {n: found.summary[n] for n in names} == {n: row[c] for n, c in names.items()}


def test_saved_results_give_the_same(tmp_path: Path) -> None:
    evs = sample("paper")
    folder = evs.save(tmp_path / "saved")
    runs = {"run": RUNS[0], "baseline_run": RUNS[2]}
    one, two = xb.regressions(evs, evs, **runs), xb.regressions(str(folder), folder, **runs)
    pd.testing.assert_frame_equal(one.fields, two.fields)
    assert one.reason == two.reason


def test_documents_of_one_side_are_named_and_a_missing_output_fails() -> None:
    baseline, candidate = batch({"a": GOLD, "b": GOLD}), batch({"b": GOLD, "c": GOLD}, run="new")
    found = xb.regressions(baseline, candidate)
    assert found.by_document.set_index("document")["verdict"].to_dict() == {
        "a": "only_baseline",
        "b": "same",
        "c": "only_candidate",
    }
    counts = {"regressed": 0, "only_baseline": 1, "unknown": 0, "improved": 0}
    counts |= {"only_candidate": 1, "same": 1, "fields_regressed": 0, "fields_improved": 0}
    assert found.summary[[*counts]].to_dict() == counts
    assert (found.verdict, found.runs) == ("fail", ("run", "new"))
    assert found.reason.endswith("1 document of the baseline has no output in the candidate.")
    assert sum("without output in the candidate: a" in note for note in found.notes) == 1
    assert xb.regressions(batch({"b": GOLD}), candidate).verdict == "pass"
    worse = {name: {**GOLD, "year": 1, "name": "x"} for name in "bcdefgh"}
    both = xb.regressions(batch(dict.fromkeys("abcdefghi", GOLD)), batch(worse)).reason
    assert "2 documents of the baseline have no output in the candidate. The drop is larger" in both


# --- what cannot be compared ---------------------------------------------------------------------


def other_schema(**year: Any) -> dict[str, Any]:
    return {**SCHEMA, "properties": {**SCHEMA["properties"], "year": year}}


TOLERANT = {"metric_id": "string_fuzzy", "params": {"threshold": 0.5}}
DOCUMENTED = {**SCHEMA, "description": "of a bolt maker", "title": SCHEMA.get("title")}
REFUSED = [
    ({"profile": "paper"}, r"evaluated with profile 'strict', the candidate with 'paper'"),
    ({"gold": {**GOLD, "year": 2023}}, r"'d': gold at \$\.year is 2024 in the baseline and 2023"),
    ({"gold": {**GOLD, "lines": [NUT, BOLT]}}, r"'d': gold at \$\.lines is \["),
    ({"gold": {**GOLD, "keys": {"k": 1, "j": 1}}}, r"\$\.keys\['j'\] is scored by integer_exact"),
    (
        {"schema": other_schema(type="number")},
        r"\$\.year is scored by number_tolerance in",
    ),
    ({"schema": other_schema(type="integer", minimum=3)}, r"another schema"),
]


@pytest.mark.parametrize("options, message", REFUSED)
def test_a_baseline_of_other_inputs_is_refused(options: Any, message: str) -> None:
    labelled = {"title": "Invoice"}
    given = dict(options)
    given["schema"] = {**given.get("schema", SCHEMA), **labelled}
    baseline = batch({"d": GOLD}, schema={**SCHEMA, **labelled})
    with pytest.raises(xb.InputError, match=message):
        xb.regressions(baseline, batch({"d": GOLD}, **given))


def test_another_metric_is_refused_where_results_hold_no_digests() -> None:
    other = batch({"d": GOLD}, schema=other_schema(type="number"))
    other = replace(other, _meta={**other.meta, "schemas": {}})
    with pytest.raises(xb.InputError, match=r"\$\.year is scored by \w+ in the \w+ and not in"):
        xb.regressions(batch({"d": GOLD}), other)


def test_other_code_of_a_metric_is_refused() -> None:
    codes = [
        lambda gold, predicted: float(gold == predicted),
        lambda gold, predicted: float(gold == predicted or predicted is None),
    ]
    sides = []
    for code in codes:
        xb.metric("regressions_stated")(code)
        sides.append(batch({"d": {"score": 1}}, schema=STATED, gold={"score": 1}))
    xb.core.unregister("regressions_stated")
    with pytest.raises(xb.InputError, match="with other code of the metric 'regressions_stated'"):
        xb.regressions(*sides)


ARGUMENTS = [
    ({"run": "rum"}, "run='rum' is not in the candidate; did you mean 'run'"),
    ({"baseline_run": "rum"}, "baseline_run='rum' is not in the baseline"),
    ({"measure": "pas_rate"}, "measure='pas_rate'; did you mean 'pass_rate'"),
    ({"max_drop": -0.1}, "max_drop=-0.1; it is a share from 0 to 1"),
    ({"max_drop": True}, "max_drop=True"),
    ({"max_drop": 1.001}, "max_drop=1.001; it"),
    ({"max_drop": np.nan}, "max_drop=nan; it"),
    ({"max_drop": "0.1"}, "max_drop='0.1'; it"),
    ({"confidence": 1.5}, "confidence=1.5"),
    ({"resamples": 3}, "resamples=3"),
    ({"evs": 3}, "evs is int; expected the results of evaluate_runs"),
    ({"evs": "no such folder"}, "no folder 'no such folder'"),
    ({"evs": {"x": GOLD}}, "evs is dict"),
]


@pytest.mark.parametrize("options, message", ARGUMENTS)
def test_bad_arguments(options: Any, message: str) -> None:
    given = {"evs": batch({"d": GOLD}), **options}
    with pytest.raises(xb.InputError) as raised:
        xb.regressions(batch({"d": GOLD}), given.pop("evs"), **given)
    assert str(raised.value).startswith(message)


def test_one_of_several_runs_must_be_chosen() -> None:
    with pytest.raises(
        xb.InputError, match=r"the candidate has 4 runs; choose one with run=: 'heron-vis"
    ):
        xb.regressions(sample("paper"), sample("paper"))
    with pytest.raises(xb.InputError, match="have no document in common"):
        xb.regressions(sample("strict"), batch({"d": GOLD}), baseline_run=RUNS[0])


# --- the verdict ---------------------------------------------------------------------------------

NA = pd.NA
#: Verdicts by the two ends of the interval, for a drop of 0.02 that is accepted.
ROWS = [
    # difference, low, significant, max_drop, complete -> verdict
    (-0.05, -0.08, True, 0.02, True, "fail"),
    (-0.05, -0.08, True, 0.02, False, "fail"),
    (-0.05, -0.12, False, 0.02, True, "inconclusive"),
    (-0.02, -0.03, True, 0.02, True, "inconclusive"),
    (-0.015, -0.019, True, 0.02, True, "pass"),
    (-0.015, -0.019, True, 0.02, False, "fail"),
    (0.1, -0.01, False, 0.02, True, "pass"),
    (0.0, -0.05, False, 0.02, True, "inconclusive"),
    (-0.001, -0.002, True, 0.0, True, "fail"),
    (-0.3, NA, False, 0.02, True, "inconclusive"),
    (0.0, 0.0, False, 0.0, True, "pass"),
    (0.0, 0.0, False, 0.0, False, "fail"),
    # what is equal but for rounding
    (-0.02 - 5e-10, -0.03, True, 0.02, True, "inconclusive"),
    (-0.02 - 1e-9, -0.03, True, 0.02, True, "inconclusive"),
    (-0.02 - 2e-9, -0.03, True, 0.02, True, "fail"),
    (-0.01, -0.02, True, 0.02, True, "pass"),
    (-0.01, -0.02 - 5e-10, True, 0.02, True, "pass"),
    (-0.01, -0.02 - 2e-9, True, 0.02, True, "inconclusive"),
    (-0.02 + 5e-10, -0.03, True, 0.02, True, "inconclusive"),
    (-0.02 + 2e-9, -0.03, True, 0.02, True, "inconclusive"),
    (-0.01, -0.02 + 5e-10, True, 0.02, True, "pass"),
    (-5e-10, -0.03, True, 0.0, True, "inconclusive"),
    (-2e-9, -0.03, True, 0.0, True, "fail"),
    # what is not known is not passed, but for a drop that is always accepted
    (-0.5, NA, False, 0.999, True, "inconclusive"),
    (-0.5, NA, False, 1, True, "pass"),
    (-0.5, NA, False, 1, False, "fail"),
    (-0.5, -1.0, True, 1, True, "pass"),
    # nothing differs, or one document is higher in either
    ((0, 0), NA, False, 0.0, True, "pass"),
    ((1, 0), NA, False, 0.0, True, "inconclusive"),
    ((0, 1), NA, False, 0.0, True, "inconclusive"),
]


@pytest.mark.parametrize("difference, low, significant, max_drop, complete, verdict", ROWS)
def test_verdicts(
    difference: Any, low: Any, significant: bool, max_drop: float, complete: bool, verdict: str
) -> None:
    is_equal = low is not NA and difference == low == 0
    higher = difference if isinstance(difference, tuple) else (0, 0) if is_equal else (3, 2)
    rise = 0.0 if isinstance(difference, tuple) else difference
    row = {"b_minus_a": rise, "low": low, "significant": significant}
    counts = dict(zip(("a_higher", "b_higher"), higher, strict=True))
    assert decide({**row, **counts}, max_drop, complete=complete) == verdict


@pytest.mark.parametrize(
    "documents, few, cut, more",
    [
        (5, True, False, False),
        (6, False, True, False),
        (10, False, True, False),
        (11, False, True, True),
    ],
)
def test_notes_and_rows_at_their_limits(documents: int, few: bool, cut: bool, more: bool) -> None:
    names = [f"d{i:02}" for i in range(documents)]
    good = batch(dict.fromkeys(names, GOLD))
    broken = xb.regressions(good, batch(dict.fromkeys(names, "{")), resamples=100)
    notes = " / ".join(broken.notes)
    assert ("with fewer than 6 no test can show" in notes) == few
    assert ("d04, …" in notes) == cut
    worse = xb.regressions(good, batch({n: {**GOLD, "year": 1} for n in names}), resamples=100)
    assert worse.verdict == ("inconclusive" if few else "fail")
    assert len(worse.fields) == documents
    assert repr(worse).count("incorrect") == min(documents, 10)
    assert (f"listed: 10 of {documents} rows; fields has all" in repr(worse)) == more


def test_options_at_their_limits() -> None:
    sides = batch({"d": GOLD, "e": GOLD}), batch({"d": GOLD, "e": {**GOLD, "year": 1}})
    for measure in ("pass_rate", "overall_score", "field_score"):
        assert xb.regressions(*sides, measure=measure, max_drop=1).verdict == "pass"
        assert xb.regressions(*sides, measure=measure, max_drop=0).verdict == "inconclusive"


def test_one_document_that_is_equal_passes() -> None:
    assert xb.regressions(batch({"d": {}}), batch({"d": {}})).verdict == "pass"
    found = compared({}, {"year": 1})
    assert found.verdict == "inconclusive"
    assert np.isnan(found.summary["low"])


@pytest.fixture
def stated() -> Iterator[None]:
    """Register a metric that scores what is predicted, and passes it."""
    xb.metric("regressions_stated")(lambda _gold, predicted: xb.MetricScore(predicted, True))
    yield
    xb.core.unregister("regressions_stated")


STATED = {
    "type": "object",
    "properties": {"score": {"type": "number", "evaluation_config": "regressions_stated"}},
}
#: Scores before and after; the verdicts on the field and on the document.
NEAR = [
    (0.8, 0.8, None, "same"),
    (0.8, 0.8 - 5e-10, None, "same"),
    (0.8, 0.8 + 5e-10, None, "same"),
    (0.8, 0.8 - 2e-9, "lower", "regressed"),
    (0.8, 0.8 + 2e-9, "higher", "improved"),
    (1e-9, 0.0, None, "same"),
    (0.0, 1e-9, None, "same"),
    (1.0, 0.0, "lower", "regressed"),
    (0.0, 1.0, "higher", "improved"),
]


@pytest.mark.usefixtures("stated")
@pytest.mark.parametrize("was, now, field, document", NEAR)
def test_scores_are_equal_but_for_rounding(
    was: float, now: float, field: str | None, document: str
) -> None:
    sides = (batch({"d": {"score": s}}, schema=STATED, gold={"score": 1}) for s in (was, now))
    found = xb.regressions(*sides, measure="field_score")
    assert found.fields["verdict"].tolist() == ([field] if field else [])
    assert found.by_document["verdict"].tolist() == [document]


# --- text that is not ours -----------------------------------------------------------------------


def hostile() -> Any:
    text = " ".join([*(HOSTILE[name] for name in ONE_OF_EACH[:4]), "a|b `c` @octocat #1 \\| **d**"])
    good, bad = ({"d @octocat | <b>": {**GOLD, "name": name}} for name in ("abcdefghij", text))
    return xb.regressions(batch(good), batch(bad))


def test_markdown_is_a_table_whatever_a_model_writes() -> None:
    text = hostile().to_markdown()
    text.encode()
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    rows = html.split("<tbody>")[1].split("</tr>")[:-1]
    assert [row.count("<td>") for row in rows] == [7]
    assert "<script" not in html
    assert "<strong>" not in html
    assert "<b>" not in html
    outside = html.replace("<code>", "\0<code>").split("\0")
    assert all("@octocat" not in part.split("</code>")[-1] for part in outside)
    assert "window.hacked" in html


def test_markdown_fits_into_a_comment() -> None:
    outputs = {f"d{i}": {**GOLD, "name": "<&>`|*@" * 100, "year": 1} for i in range(30)}
    found = xb.regressions(batch(dict.fromkeys(outputs, GOLD)), batch(outputs), resamples=100)
    text = found.to_markdown()
    assert len(text) <= 60_000
    assert text.count("<code>d") == 25
    assert "60 rows regressed: 2 fields in 30 documents" in text
    assert "Listed: 25 of 60 rows." in text


def test_the_metric_that_differs_is_named(tmp_path: Path) -> None:
    titled = {**SCHEMA, "title": "Invoice"}
    baseline = batch({"d": GOLD}, schema=titled, metrics={"year": "number_exact"})
    baseline.save(tmp_path / "saved")
    message = r"^document 'd': \$\.year is scored by (number|integer)_exact in the \w+ and not in"
    for source in (baseline, tmp_path / "saved"):
        for metrics in (None, {"year": "skip"}):
            candidate = batch({"d": GOLD}, schema=titled, metrics=metrics)
            with pytest.raises(xb.InputError, match=message):
                xb.regressions(source, candidate)
