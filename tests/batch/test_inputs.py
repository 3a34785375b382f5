"""What can be handed over, and what is refused before any work."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.runs.evaluate import evaluate_runs

GOOD = {"seller": "Northwind Paper", "total": 12.5, "lines": []}


def spy(calls, monkeypatch):
    """Note the values that the default metric of texts gets."""
    watched = replace(REGISTRY.get("string_semantic"), function=lambda g, p: calls.append(g))
    monkeypatch.setitem(REGISTRY.entries, "string_semantic", replace(watched, judged=False))


def pairs(evs):
    return evs.summary[["run", "document"]].values.tolist()


def test_forms_of_a_prediction_give_the_same_rows(frame_of, tmp_path):
    path = tmp_path / "output.json"
    path.write_text(json.dumps(GOOD), encoding="utf-8-sig")
    forms = {"value": GOOD, "text": json.dumps(GOOD), "path": path}
    evs = evaluate_runs(frame_of(*((run, "d", p) for run, p in forms.items())), progress=False)
    groups = [
        part.drop(columns="run").reset_index(drop=True) for _, part in evs.fields.groupby("run")
    ]
    assert len(groups) == 3
    for group in groups[1:]:
        pd.testing.assert_frame_equal(group, groups[0])


def test_forms_of_schema_and_gold(frame_of, tmp_path):
    runs = frame_of(*(("r", str(n), GOOD) for n in range(4)))
    schema, gold = runs.schema[0], runs.gold[0]
    files = tmp_path / "bill-schema.json", tmp_path / "gold.json"
    for path, value in zip(files, (schema, gold), strict=True):
        path.write_text(json.dumps(value), encoding="utf-8")
    untitled = {key: value for key, value in schema.items() if key != "title"}
    runs["schema"] = [json.dumps(schema), files[0], xb.schema.parse_schema(schema), untitled]
    runs["gold"] = [json.dumps(gold), files[1], gold, gold]
    evs = evaluate_runs(runs, progress=False)
    assert evs.summary["schema"].tolist()[:3] == ["invoice", "bill", "invoice"]
    assert len(evs.summary["schema"][3]) == 8
    assert evs.summary["pass_rate"].tolist() == [3 / 7] * 4  # four leaves of lines are missed
    assert evs.summary["domain"].isna().all()


def test_a_dataset_fills_in_schema_gold_and_domain(small, frame_of):
    runs = frame_of(("r", "two", GOOD), ("r", "three", GOOD)).drop(columns=["schema", "gold"])
    evs = evaluate_runs(runs, dataset=small, progress=False)
    assert evs.summary["domain"].tolist() == ["b", pd.NA]
    assert evs.summary["schema"].tolist() == ["bill", "bill"]
    gold = evs.fields.set_index(["document", "path"]).gold
    assert (gold["two", "$.note"], gold["three", "$.note"]) == ("two", "three")


def test_a_dataset_is_its_own_runs(sample, same, tmp_path):
    left_out = shutil.ignore_patterns("quill-*", "osprey-7b")
    mine = xb.load_dataset(shutil.copytree(sample.root, tmp_path / "mine", ignore=left_out))
    whole = evaluate_runs(mine, progress=False)
    assert len(whole) == 14
    assert pairs(whole) == mine.runs[["run", "document"]].values.tolist()
    same(whole, evaluate_runs(mine.runs, dataset=sample, progress=False))
    same(whole, evaluate_runs(mine.root / "runs", dataset=sample, progress=False))
    same(whole, evaluate_runs(str(mine.root / "runs"), dataset=sample, progress=False))


def test_other_columns_are_kept(frame_of):
    runs = frame_of(*((run, "d", GOOD) for run in "abc"))
    own = {
        "model": ["x", None, "z"],
        "temperature": [0.5, None, 1.0],
        "seed": [1, 2, 3],
        "cached": [True, False, True],
        "settings": [{"top_p": 1}, None, [1]],
        "when": pd.to_datetime(["2031-01-01"] * 3).as_unit("us"),
        "kind": pd.Categorical(["p", "q", "p"]),
        "size": pd.Categorical([7, None, 8]),
        "took": pd.to_timedelta([1, 2, 3], unit="s"),
    }
    before = runs.assign(**own)
    given = before.copy()
    summary = evaluate_runs(given, progress=False).summary
    pd.testing.assert_frame_equal(given, before)
    assert summary.columns[-9:].tolist() == list(own)
    kinds = {name: str(dtype) for name, dtype in summary.dtypes[-9:].items()}
    assert kinds == {
        "model": "string",
        "temperature": "Float64",
        "seed": "Int64",
        "cached": "boolean",
        "settings": "object",
        "when": "string",
        "kind": "string",
        "size": "Int64",
        "took": "string",
    }
    assert summary.settings.tolist() == [{"top_p": 1}, None, [1]]
    assert summary.model.tolist() == ["x", pd.NA, "z"]
    assert summary.groupby("kind")["pass_rate"].mean().index.tolist() == ["p", "q"]


def changed(frame_of, **columns):
    return frame_of(("r", "d", GOOD), ("r", "e", GOOD)).assign(**columns)


REFUSED = {
    "no column": (lambda f: changed(f).drop(columns="predicted"), "no column 'predicted'; found "),
    "no gold": (
        lambda f: changed(f).drop(columns="gold"),
        "no column 'gold'; pass gold=, or dataset=",
    ),
    "empty": (lambda f: changed(f).iloc[:0], "runs is an empty DataFrame"),
    "nothing": (lambda _: pd.DataFrame(), "runs is an empty DataFrame"),
    "twice": (lambda f: changed(f, document="d"), "more than one row for run 'r', document 'd'"),
    "run": (lambda f: changed(f, run=[1.5, 2]), "row 0: run is 1.5; expected a text or an integer"),
    "flag": (lambda f: changed(f, run=[True, False]), "row 0: run is True"),
    "numpy flag": (
        lambda f: changed(f, document=pd.Series([np.True_, "d"], dtype=object)),
        "row 0: document is np.True_",
    ),
    "same as text": (
        lambda f: changed(f, run=[1, "1"], document="d"),
        "more than one row for run '1', document 'd'",
    ),
    "document": (lambda f: changed(f, document=["d", None]), "row 1: document is (nan|None)"),
    "no name": (lambda f: changed(f, run=""), "row 0: run is ''"),
    "domain": (lambda f: changed(f, domain=[3, 4]), "row 0.*domain is 3"),
    "bytes": (lambda f: changed(f, predicted=[b"{}", "{}"]), "row 0 .*predicted is bytes"),
    "no file": (lambda f: changed(f, predicted=["{}", Path("/nowhere/x.json")]), "row 1 .*x.json"),
    "gold file": (lambda f: changed(f, gold=[Path("/nowhere/g.json")] * 2), "row 0 .*gold.*g.json"),
    "gold cell": (lambda f: changed(f, gold=[None, {}]), "row 0 .*schema or gold is missing"),
    "column twice": (
        lambda f: pd.concat([changed(f), changed(f)[["gold"]]], axis=1),
        "two columns named 'gold'",
    ),
    "number as name": (lambda f: changed(f).rename(columns={"gold": 3}), "column named 3"),
    "taken": (lambda f: changed(f, pass_rate=1), "column 'pass_rate'"),
    "list": (lambda _: [1], "runs is a int; expected a DataFrame"),
    "no folder": (lambda _: "/nowhere", "found nothing at '/nowhere'"),
    "a file": (lambda _: Path(__file__), "found a file"),
}


@pytest.mark.parametrize("make, message", REFUSED.values(), ids=REFUSED)
def test_refused_before_any_work(make, message, frame_of, monkeypatch):
    calls = []
    spy(calls, monkeypatch)
    with pytest.raises(xb.InputError, match=f"(?s){message}"):
        evaluate_runs(make(frame_of), progress=False)
    assert calls == []


OPTIONS = {
    "n_jobs zero": ({"n_jobs": 0}, "n_jobs is 0"),
    "n_jobs text": ({"n_jobs": "2"}, "n_jobs is '2'"),
    "n_jobs bool": ({"n_jobs": True}, "n_jobs is True"),
    "concurrency": ({"max_concurrency": 0}, "max_concurrency is 0"),
    "executor": ({"executor": 4}, "executor is 4"),
    "judge": ({"judge": "oracle"}, "unknown judge 'oracle'"),
    "alignment": ({"alignment": "best"}, "alignment is 'best'"),
    "profile": ({"profile": "papers"}, "unknown profile 'papers'; did you mean 'paper'"),
    "both folders": ({"save_to": "a", "resume": "b"}, "both set"),
}


@pytest.mark.parametrize("options, message", OPTIONS.values(), ids=OPTIONS)
def test_bad_options(options, message, frame_of):
    with pytest.raises(xb.InputError, match=message):
        evaluate_runs(frame_of(("r", "d", GOOD)), progress=False, **options)


def test_a_bad_schema_is_named(frame_of):
    bad = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "nope"}}}
    with pytest.raises(xb.ConfigError, match=r"#/properties/a.*row 0 \(run 'r', document 'd'\)"):
        evaluate_runs(frame_of(("r", "d", GOOD), schema=bad), progress=False)


MISPLACED = {
    "a run without outputs": ("b/.hidden", r"no outputs in '.*b'; expected"),
    "beside the runs": ("stray.json", "stray.json' is beside the folders of runs"),
    "unknown": ("a/four.json", "no document 'four'"),
}


@pytest.mark.parametrize("name, message", MISPLACED.values(), ids=MISPLACED)
def test_misplaced_files(name, message, runs_folder, small):
    folder = runs_folder({"a/one.json": GOOD, name: GOOD})
    with pytest.raises(xb.InputError, match=message):
        evaluate_runs(folder, dataset=small, progress=False)


LAYOUTS = {
    "runs": (["a/one.json", "b/two.json"], ["a one", "b two"]),
    "one run": (["one.json", "two.json"], ["runs one", "runs two"]),
    "recorded": (["a/one.pred.json", "a/one.judge-report.json", "a/x.txt"], ["a one"]),
    "one recorded run": (["one.pred.json", "one.judge-report.json", "log/x.txt"], ["runs one"]),
}


@pytest.mark.parametrize("names, expected", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("suffix", [".json", ".gold.json"])
def test_folders_of_outputs_gold_and_a_schema(names, expected, suffix, runs_folder, frame_of):
    runs = runs_folder(dict.fromkeys(names, GOOD))
    folder = runs.parent / "gold"
    folder.mkdir()
    example = frame_of(("r", "d", GOOD))
    for name in ("one", "two"):
        (folder / f"{name}{suffix}").write_text(json.dumps(example.gold[0]), encoding="utf-8")
    (runs.parent / "schema.json").write_text(json.dumps(example.schema[0]), encoding="utf-8")
    places = {"gold": str(folder), "schema": str(runs.parent / "schema.json"), "progress": False}
    evs = evaluate_runs(str(runs), **places)
    assert evs.summary.apply(lambda row: f"{row.run} {row.document}", axis=1).tolist() == expected
    assert evs.summary["pass_rate"].tolist() == [3 / 7] * len(expected)
    assert set(evs.summary["schema"]) == {"schema"}


def test_gold_fills_what_the_runs_do_not_have(frame_of, small):
    runs = frame_of(("r", "one", GOOD), ("r", "two", GOOD))
    runs.loc[1, "gold"] = None
    gold = {"one": {"note": "not used"}, "two": {"note": "given"}}
    evs = evaluate_runs(runs, dataset=small, gold=gold, progress=False)
    assert evs.fields.query("field == 'note'")["gold"].tolist() == [None, "given"]


GOLDS = {
    "another kind": (5, "gold is int; expected a folder, or a dict"),
    "no folder": ("nowhere", "gold: no folder 'nowhere'"),
    "empty folder": (".", "gold: no document.json or document.gold.json in folder '.'"),
    "document": ({"tow": {}}, "gold has no document 'two'; did you mean 'tow'"),
}


@pytest.mark.parametrize("gold, message", GOLDS.values(), ids=GOLDS)
def test_gold_that_does_not_fit(gold, message, frame_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = frame_of(("r", "two", GOOD)).drop(columns="gold")
    with pytest.raises(xb.InputError, match=message):
        evaluate_runs(runs, gold=gold, progress=False)


def dangling(path):
    path.symlink_to("nowhere.json")


def folder(path):
    path.mkdir()


def locked(path):
    path.write_text("{}")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read every file")


def endless(path):
    path.symlink_to("/dev/zero")


def pipe(path):
    os.mkfifo(path)


@pytest.mark.parametrize("make", [dangling, folder, locked, endless, pipe])
def test_unreadable_files_are_named(make, runs_folder, small):
    root = runs_folder({"a/one.json": GOOD})
    make(root / "a" / "two.json")
    with pytest.raises(xb.InputError, match=r"run 'a', document 'two'.*two\.json.*cannot be read"):
        evaluate_runs(root, dataset=small, progress=False)


# --- other schemas and metrics --------------------------------------------------------------------

OTHER = {"title": "other", "type": "object", "properties": {"seller": {"type": "string"}}}


def fields_of(evs):
    return sorted(set(evs.fields["field"]))


def test_one_schema_replaces_all(frame_of):
    runs = frame_of(("r", "a", GOOD), ("r", "b", GOOD))
    for frame in (runs, runs.drop(columns="schema")):
        evs = evaluate_runs(frame, schema=OTHER, progress=False)
        assert fields_of(evs) == ["seller"]
        assert evs.summary["schema"].tolist() == ["other", "other"]


def test_metrics_are_changed_in_each_schema_that_has_the_field(frame_of):
    runs = pd.concat(
        [frame_of(("r", "a", GOOD)), frame_of(("r", "b", GOOD), schema=OTHER)], ignore_index=True
    )
    metrics = {"seller": "string_exact", "lines[].item": "string_fuzzy", "total": "skip"}
    evs = evaluate_runs(runs, metrics=metrics, progress=False)
    rows = evs.fields.set_index(["document", "field"])["metric"]
    assert rows["a", "seller"] == rows["b", "seller"] == "string_exact"
    assert "total" not in fields_of(evs)
    assert evs.evaluation("r", "a").fields["metric"].tolist()[0] == "string_exact"


@pytest.mark.parametrize(
    "options, error, problem",
    [
        (
            {"metrics": {"sellr": "skip"}},
            xb.InputError,
            "metrics: no schema has the field 'sellr'; did you mean 'seller'?",
        ),
        (
            {"metrics": {"seller": "string_exat"}},
            xb.ConfigError,
            r"metrics, seller: unknown preset 'string_exat'; .* \(schema 'invoice'\)",
        ),
        ({"metrics": ["seller"]}, xb.InputError, "expected a dict from field to metric"),
        ({"schema": 5}, xb.SchemaError, "found number; expected an object"),
    ],
)
def test_other_schemas_and_metrics_are_checked_before_any_work(frame_of, options, error, problem):
    with pytest.raises(error, match=problem):
        evaluate_runs(frame_of(("r", "a", GOOD)), progress=False, **options)
