"""The causes of a score: taking one away moves the score by the stated amount."""

import copy

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core import find_causes
from extractbench_nb.core.values import PATH_STEP, step_key

TRIP = {
    "type": "object",
    "properties": {
        "place": {"type": "string"},
        "nights": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "cost": {"type": "number"},
    },
}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "city": {"type": "string"},
        "date": {"type": "string"},
        "trips": {"type": "array", "items": TRIP},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
PLACES = ["Oslo", "Berne", "Quito", "Lagos", "Perth", "Macao", "Turin", "Delhi"]
GOLD = {
    "name": "Ann Lee",
    "city": "Rome",
    "date": "2024-05-06",
    "trips": [
        {"place": place, "nights": None, "cost": 10.0 * n} for n, place in enumerate(PLACES, 1)
    ],
    "tags": ["red", "green", "blue"],
}


def _output(change):
    output = copy.deepcopy(GOLD)
    change(output)
    return output


def _nights(output, many=6):
    for trip in output["trips"][:many]:
        trip["nights"] = 0


def _wrong_texts(output):
    output |= {"name": "Bob", "city": "Paris"}


def _several(output):
    _nights(output, 3)
    _wrong_texts(output)
    del output["trips"][6:]
    output["tags"].append("violet")


def _mostly(output):
    _nights(output, 5)
    output["trips"][0]["nights"] = 7


CASES = {
    "mostly the same": _mostly,
    "one field of an array": _nights,
    "ties": _wrong_texts,
    "missing items": lambda output: output["trips"].__delitem__(slice(2, None)),
    "spurious items": lambda output: output["tags"].extend(["x1", "x2", "x3", "x4"]),
    "a missing field": lambda output: output.pop("date"),
    "an undeclared value": lambda output: output.update(extra=1),
    "several": _several,
    "everything": lambda output: output.clear(),
}


def _mended(ev, cause):
    """The prediction without a cause: gold's values and items in the place of what failed."""
    predicted, (field,) = copy.deepcopy(ev.inputs.predicted), cause.fields
    if cause.kind.endswith("_items"):
        pairs = ev.matches[ev.matches["path"] == f"$.{field}"]
        if cause.kind == "missing_items":
            items = pairs.loc[pairs["status"] == "missed", "gold"]
            predicted.setdefault(field, []).extend(items)
        else:
            extra = set(pairs.loc[pairs["status"] == "spurious", "predicted_index"])
            predicted[field] = [v for n, v in enumerate(predicted[field]) if n not in extra]
        return predicted
    rows = ev.fields[ev.fields["counted"] & ~ev.fields["passed"].fillna(False)]
    rows = rows[(rows["field"] == field) & (rows["reason"] == cause.kind)]
    for row in rows.to_dict("records"):
        path = row["path"] if pd.isna(row["predicted_path"]) else row["predicted_path"]
        *steps, last = [step_key(step) for step in PATH_STEP.finditer(path)]
        holder = predicted
        for step in steps:
            holder = holder[step]
        if row["gold_state"] == "missing":
            del holder[last]
        else:
            holder[last] = row["gold"]
    return predicted


@pytest.mark.parametrize("measure", ["pass_rate", "overall_score"])
@pytest.mark.parametrize("profile", ["strict", "paper"])
@pytest.mark.parametrize("change", CASES.values(), ids=CASES)
def test_without_a_cause_the_score_is_what_is_stated(change, profile, measure):
    ev = xb.evaluate(SCHEMA, GOLD, _output(change), profile=profile)
    found = find_causes(ev, measure=measure)
    assert found.score == pytest.approx(ev.summary[measure])
    if ev.summary["passed"] == ev.summary["evaluated"]:
        assert found.causes == ()
        return
    for cause in found.causes:
        if cause.kind == "items_differ":
            continue
        mended = xb.evaluate(SCHEMA, GOLD, _mended(ev, cause), profile=profile)
        assert mended.summary[measure] == pytest.approx(found.score + cause.cost)


CITATION = {"type": "object", "properties": {"title": {"type": "string"}}}
OF_TEXT = {"type": "object", "properties": {"refs": {"type": "array", "items": CITATION}}}
TEXTS = {"refs": ["Lee 2020", "Kim 2021", "Roe 2022"]}


def test_a_document_is_explained_in_one_sentence():
    said = {
        "one field of an array": "0.786 because `trips[].nights` fails in 6 of 6 (gold null, "
        "predicted 0); without that 1.000",
        "mostly the same": "0.815 because `trips[].nights` fails in 5 of 5 (mostly gold null, "
        "predicted 0); without that 1.000",
        "ties": '0.909 because `name` (gold "Ann Lee", predicted "Bob") and `city` (gold "Rome", '
        'predicted "Paris") cost 0.045 each',
        "missing items": "0.455 because 6 items of `trips` are missing; without that 1.000",
        "a missing field": '0.955 because `date` fails (gold "2024-05-06", predicted missing); '
        "without that 1.000",
        "spurious items": "0.846 because 4 items of `tags` are spurious; without that 1.000",
        "several": "0.615 because `trips` (2 items missing) costs 0.154, `trips[].nights` (gold "
        'null, predicted 0) costs 0.080, `name` (gold "Ann Lee", predicted "Bob") costs 0.038',
    }
    outputs = {name: _output(CASES[name]) for name in said}
    assert {n: find_causes(xb.evaluate(SCHEMA, GOLD, o)).text for n, o in outputs.items()} == said
    assert find_causes(xb.evaluate(SCHEMA, GOLD, GOLD)).text == ""


def test_gold_of_another_type_than_the_schema_s_is_named_with_its_weight():
    predicted = {"refs": [{"title": "Lee 2020"}, {"title": "Kim 2021"}]}
    ev = xb.evaluate(OF_TEXT, TEXTS, predicted, profile="paper")
    text = find_causes(ev, measure="overall_score").text
    assert text == (
        "0.000 because `refs` weighs 3 of 3 and its gold is text where the schema declares "
        "objects; without that 1.000"
    )
    text = find_causes(xb.evaluate(OF_TEXT, TEXTS, predicted)).text
    assert "and its gold is text where the schema declares objects" in text


def test_an_output_that_is_not_json_is_one_cause():
    several = _output(_several)
    rows = [{"run": "r", "document": f"d{n}", "schema": SCHEMA, "gold": GOLD, "predicted": output}
            for n, output in enumerate(["{...", several, several, GOLD])]  # fmt: skip
    found = find_causes(xb.evaluate_runs(pd.DataFrame(rows), progress=False))
    assert " because 1 output is not JSON, which costs 0.250, `" in found.text
    found = find_causes(xb.evaluate(SCHEMA, GOLD, "{..."))
    assert found.text == "0.000 because 1 output is not JSON; without that 1.000"


def _array(change, profile="strict"):
    return xb.evaluate(SCHEMA, GOLD, _output(change), profile=profile)


ARRAYS = pytest.mark.parametrize(
    "change, mended, said",
    [
        (_nights, GOLD, "6 of 8 items fail only in `nights` (gold null, predicted 0)"),
        (CASES["missing items"], GOLD, "6 of 8 gold items are missed"),
        (
            lambda output: (_nights(output, 2), output["trips"].append({"place": "Nowhere"})),
            _output(lambda output: output["trips"].append({"place": "Nowhere"})),
            "2 of 8 items fail only in `nights` (gold null, predicted 0)",
        ),
    ],
)


@pytest.mark.parametrize("profile", ["strict", "paper"])
@ARRAYS
def test_an_array_is_explained_by_the_fields_that_fail_together(change, mended, said, profile):
    found = find_causes(_array(change, profile), "trips")
    after = xb.evaluate(SCHEMA, GOLD, mended, profile=profile).arrays.set_index("path")
    without = after.loc["$.trips"]
    assert found.causes[0].text == said
    assert found.text.endswith(f"because {said}; without that {found.without:.3f}")
    assert found.without == pytest.approx(without["score"])


def test_an_array_names_all_that_costs_the_same():
    def change(output):
        _nights(output, 2)
        for trip in output["trips"][2:4]:
            trip["cost"] += 0.5

    found = find_causes(_array(change), "$.trips")
    assert [cause.fields for cause in found.causes] == [("trips[].nights",), ("trips[].cost",)]
    assert found.text == (
        "0.500 because 2 of 8 items fail only in `nights` (gold null, predicted 0) and 2 of 8 "
        "items fail only in `cost`; without one of them 0.750"
    )
    assert find_causes(_array(lambda output: None), "trips").text == ""


def test_a_batch_is_explained_over_its_outputs(tmp_path):
    outputs = {"a": [_output(_nights), GOLD], "b": [_output(_wrong_texts), _output(_several)]}
    runs = pd.DataFrame(
        [
            {"run": run, "document": f"d{n}", "schema": SCHEMA, "gold": GOLD, "predicted": output}
            for run, some in outputs.items()
            for n, output in enumerate(some)
        ]
    )
    evs = xb.evaluate_runs(runs, progress=False)
    by_run = evs.by_run.set_index("run")["pass_rate"]
    of_run = {run: evs.fields[evs.fields["run"] == run] for run in outputs}
    for run, fields in of_run.items():
        assert find_causes(fields).score == pytest.approx(by_run[run])
    assert find_causes(of_run["a"]).text == (
        "0.893 because `trips[].nights` fails in 6 of 6 (gold null, predicted 0), in 1 output; "
        "without that 1.000"
    )
    assert find_causes(evs).score == pytest.approx(by_run.mean())
    assert f"pass_rate {find_causes(evs).text}" in repr(evs)
    assert find_causes(xb.load_evaluations(evs.save(tmp_path / "saved"))) == find_causes(evs)


def test_a_lone_surrogate_in_a_path_is_no_obstacle() -> None:
    ev = xb.evaluate({"type": "object", "properties": {}}, {}, {"\ud800": [False]})
    assert repr(ev)
    assert ev._repr_html_()
