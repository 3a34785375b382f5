"""What comes out: the rows of each evaluation, invalid outputs, sums by run, and the cards."""

import pickle

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.runs.evaluate import evaluate_runs

GOOD = {"seller": "Northwind Paper", "total": 12.5, "lines": [{"item": "Folder", "count": 3}]}
PARTS = ("fields", "arrays", "matches", "judge_calls")
IDS = ["run", "document", "domain", "schema"]


def only(frame, run, document):
    rows = frame[(frame.run == run) & (frame.document == document)]
    return rows.drop(columns=IDS).reset_index(drop=True)


@pytest.mark.parametrize("profile, step, count", [("paper", 3, 15), ("strict", 5, 10)])
def test_rows_are_those_of_evaluate(sample, profile, step, count):
    runs = sample.runs[::step]
    evs = evaluate_runs(runs, dataset=sample, profile=profile, progress=False)
    schemas = sample.documents.set_index("document")["schema"]
    valid = evs.summary.set_index(["run", "document"])["valid"]
    compared = 0
    for run, document, path in runs.itertuples(index=False):
        gold = sample.gold(document)
        ev = xb.evaluate(sample.schema(schemas[document]), gold, path, profile=profile)
        assert valid[run, document] == (ev.inputs.problem is None)
        if ev.inputs.problem:
            continue
        for name in PARTS:
            expected = getattr(ev, name)
            pd.testing.assert_frame_equal(only(getattr(evs, name), run, document), expected)
        summary = only(evs.summary, run, document).iloc[0]
        assert summary[ev.summary.index].astype(float).equals(ev.summary.astype(float))
        again = evs.evaluation(run, document)
        pd.testing.assert_frame_equal(again.fields, ev.fields)
        compared += 1
    assert compared == count


# --- invalid outputs ---------------------------------------------------------------------------

INVALID = {
    "no output": (None, "there is no output", None, None),
    "NA": (pd.NA, "there is no output", None, None),
    "NaN": (float("nan"), "there is no output", None, None),
    "empty": ("", "the output is empty", None, None),
    "blank": (" \n", "the output is empty", None, None),
    "no json": ("{'a': 1}", "Expecting property name enclosed in double quotes", 1, 2),
    "cut off": ('{\n  "seller": "North', "Unterminated string starting at", 2, 13),
    "prose": ("Here is the JSON:", "Expecting value", 1, 1),
    "too many digits": ("[" + "1" * 5000 + "]", "Exceeds the limit", None, None),
}


@pytest.mark.parametrize("output, message, line, column", INVALID.values(), ids=INVALID)
@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_invalid_outputs_pass_nothing(output, message, line, column, profile, frame_of):
    runs = frame_of(("bad", "d", output), ("none", "d", "{}"), ("good", "d", GOOD))
    evs = evaluate_runs(runs, profile=profile, progress=False)
    bad, none, _ = evs.summary.to_dict("records")
    assert [bad["valid"], none["valid"]] == [False, True]
    assert bad["message"].startswith(message)
    assert (bad["line"], bad["column"]) == (line, column)
    assert bad["evaluated"] == none["evaluated"] > 0
    for name in ("judged", "failed", "structural"):
        assert bad[name] == bad["evaluated"]
    for name in ("overall_score", "field_score", "pass_rate", "pass_rate_judged", "passed"):
        assert bad[name] == 0
    for name in ("omissions", "hallucinations", "judge_errors", "llm_calls"):
        assert bad[name] == 0
    assert bad["gold_coverage"] == none["gold_coverage"]
    fields, expected = only(evs.fields, "bad", "d"), only(evs.fields, "none", "d")
    kept = ["path", "field", "schema_path", "metric", "gold", "gold_state", "weight", "counted"]
    pd.testing.assert_frame_equal(fields[kept], expected[kept])
    assert set(fields.score) == {0.0}
    assert not fields.passed.any()
    assert set(fields.outcome) == {"structural"}
    assert set(fields.reason) == {"invalid_output"}
    assert set(fields.reasoning) == {bad["message"]}
    assert set(fields.predicted) == {None}
    arrays = only(evs.arrays, "bad", "d")
    assert arrays[["gold_items", "matched", "missed", "spurious"]].values.tolist() == [[2, 0, 2, 0]]
    assert (arrays.score[0], arrays.passed[0]) == (0.0, False)
    assert only(evs.matches, "bad", "d").status.tolist() == ["missed", "missed"]


FILES = {
    "not utf-8": (b'{\n "a": "\xff"}', "not UTF-8: invalid start byte", 2, 8),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "not UTF-8", 1, 1),
    "empty": (b"", "the output is empty", None, None),
    "cut off": (b'{"a": ', "Expecting value", 1, 7),
}


@pytest.mark.parametrize("content, message, line, column", FILES.values(), ids=FILES)
def test_files_that_hold_no_json_are_invalid(content, message, line, column, runs_folder, small):
    evs = evaluate_runs(runs_folder({"a/one.json": content}), dataset=small, progress=False)
    row = evs.summary.iloc[0]
    assert not row.valid
    assert row.message.startswith(message)
    assert (row["line"], row["column"]) == (line or pd.NA, column or pd.NA)


# --- runs side by side -------------------------------------------------------------------------


def test_by_run_and_missing(frame_of):
    rows = [("a", "x", GOOD), ("a", "y", None), ("b", "x", GOOD), ("c", "z", "{}")]
    evs = evaluate_runs(frame_of(*rows), progress=False)
    by_run = evs.by_run.set_index("run")
    assert by_run.index.tolist() == ["a", "b", "c"]
    assert by_run.documents.tolist() == [2, 1, 1]
    assert by_run.invalid.tolist() == [1, 0, 0]
    assert by_run.missing.tolist() == [1, 2, 2]
    one = evs.summary.iloc[0]
    assert 0 < one.pass_rate < 1
    assert by_run.pass_rate["a"] == one.pass_rate / 2
    assert by_run.pooled_pass_rate["a"] == one.passed / (2 * one.evaluated)
    assert by_run.evaluated["a"] == 2 * one.evaluated
    absent = evs.missing[["run", "document", "schema"]].values.tolist()
    assert absent == [[r, d, "invoice"] for r, d in ("az", "by", "bz", "cx", "cy")]
    text = repr(evs)
    assert "1 output invalid" in text
    assert "5 outputs that other runs have are missing" in text


# --- the object --------------------------------------------------------------------------------


def test_a_judge_error_is_told(frame_of):
    class Broken:
        name = "broken"

        def compare(self, gold, predicted):
            raise RuntimeError("down")

    evs = evaluate_runs(frame_of(("r", "d", GOOD)), judge=Broken(), progress=False)
    assert evs.summary.judge_errors[0] == 2  # the seller, and the item of the paired line
    assert evs.meta["judge"] == "broken"
    assert "2 fields without a verdict" in repr(evs)


def test_pickles(frame_of, same):
    evs = evaluate_runs(frame_of(("r", "d", GOOD), ("s", "d", None)), progress=False)
    again = pickle.loads(pickle.dumps(evs))  # noqa: S301 - made here
    same(again, evs)
    assert again.meta == evs.meta
    with pytest.raises(xb.InputError, match="inputs of run 'r', document 'd' are not available"):
        again.evaluation("r", "d")
    with pytest.raises(xb.InputError, match="inputs of run 'r', document 'd' are not available"):
        again.inputs("r", "d")


def test_inputs_of_one_cell(frame_of):
    evs = evaluate_runs(
        frame_of(("r", "d", GOOD), ("s", "d", None), ("t", "d", "{")), progress=False
    )
    whole = evs.evaluation("r", "d").inputs
    found = evs.inputs("r", "d")
    assert found[1:] == whole[1:]
    assert found.schema is whole.schema
    assert evs.inputs("s", "d")[2:] == (None, None)
    assert evs.inputs("t", "d")[2:] == evs.evaluation("t", "d").inputs[2:]
    with pytest.raises(xb.InputError, match="run 'r' has no document 'e'; expected d"):
        evs.inputs("r", "e")


def test_evaluation_of_one_cell(frame_of):
    evs = evaluate_runs(frame_of(("r", "d", "{"), ("s", "d", None)), progress=False)
    assert evs.evaluation("r", "d").fields.outcome.tolist() == ["structural"]
    for pair, message in {
        ("s", "d"): "run 's', document 'd': it has no output",
        ("x", "d"): "no run 'x'; expected one of r, s",
        ("r", "e"): "run 'r' has no document 'e'; expected d",
    }.items():
        with pytest.raises(xb.InputError, match=message):
            evs.evaluation(*pair)


def test_broken_gold_is_an_error_that_names_the_cell(frame_of):
    runs = frame_of(("r", "fine", GOOD), ("r", "broken", GOOD))
    runs["gold"] = ["{}", "{"]
    with pytest.raises(xb.InputError, match=r"run 'r', document 'broken': gold text is not JSON"):
        evaluate_runs(runs, progress=False)


def test_an_aligner_that_raises_is_named_with_its_traceback(frame_of):
    def align(gold, predicted, node):
        raise KeyError("lost")

    with pytest.raises(xb.InputError, match=r"run 'r', document 'd': KeyError: 'lost'") as caught:
        evaluate_runs(frame_of(("r", "d", GOOD)), alignment=align, progress=False)
    assert "in align" in caught.value.__notes__[0]
