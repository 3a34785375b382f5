"""Corrected versions of a dataset: what is written, what is refused, what is evaluated again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import DatasetError, InputError, OutputError
from extractbench_nb.gold.versions import apply, corrections, effect, history
from extractbench_nb.runs.dataset import Dataset
from tests.gold.test_corrections import frame, one

SCHEMA = {
    "type": "object",
    "properties": {
        "total": {"type": "number"},
        "lines": {"type": "array", "items": {"type": "string"}},
    },
}
GOLD: dict[str, Any] = {
    "total": 5,
    "lines": ["a", "b", "c"],
    "empty": None,
    "sub": {"k": [1, {"x": 2}], "2020": "y"},
    "none": [],
}


@pytest.fixture
def ds(tmp_path: Path) -> Dataset:
    folder = tmp_path / "first" / "dom" / "inv"
    (folder / "pdf+gold").mkdir(parents=True)
    (folder / "inv-schema.json").write_text(json.dumps(SCHEMA))
    for name in "abc":
        text = json.dumps(GOLD, indent=4) + ("\n\n" if name == "b" else "")
        (folder / "pdf+gold" / f"{name}.gold.json").write_text(text)
    (folder / "pdf+gold" / "a.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "first" / "LICENSE").write_text("MIT")
    (tmp_path / "first" / "runs" / "r").mkdir(parents=True)
    (tmp_path / "first" / "runs" / "r" / "a.json").write_text("{}")
    return xb.load_dataset(tmp_path / "first")


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def rows(*changes: tuple[Any, ...]) -> pd.DataFrame:
    """Make corrections of document a from path, new or the op ``remove``, and what else is said."""
    found = []
    for path, new, *more in changes:
        about = {"op": "remove"} if new is REMOVE else {"new": new}
        found.append({"document": "a", "path": path} | about | (more[0] if more else {}))
    return frame(*found)


REMOVE: Any = object()
#: Corrections, and a function that makes the same change of gold.
APPLIED: dict[str, tuple[list[tuple[Any, ...]], Callable[[Any], Any]]] = {
    "a value": ([("$.total", 6)], lambda g: g | {"total": 6}),
    "null": ([("$.total", None)], lambda g: g | {"total": None}),
    "with old": ([("$.total", 6, {"old": 5.0})], lambda g: g | {"total": 6}),
    "the root": ([("$", [1])], lambda g: [1]),
    "a new key": ([("$.new", 1, {"op": "add"})], lambda g: g | {"new": 1}),
    "an odd key": ([("$['a.b/~']", 1, {"op": "add"})], lambda g: g | {"a.b/~": 1}),
    "a key that is null": ([("$.empty", 1, {"op": "add"})], lambda g: g | {"empty": 1}),
    "an empty array": ([("$.none", [1], {"op": "add"})], lambda g: g | {"none": [1]}),
    "no key": ([("$.total", REMOVE)], lambda g: {k: v for k, v in g.items() if k != "total"}),
    "items, first to last": (
        [("$.lines[0]", REMOVE), ("$.lines[1]", "B"), ("$.lines[2]", REMOVE), ("$.lines[-]", "d")],
        lambda g: g | {"lines": ["B", "d"]},
    ),
    "items behind the last": (
        [("$.lines[3]", "d", {"op": "add"}), ("$.lines[+9]", "e"), ("$.lines[-]", "f")],
        lambda g: g | {"lines": ["a", "b", "c", "d", "e", "f"]},
    ),
    "items of no array": (
        [("$.more[-]", 1), ("$.empty[-]", 2), ("$.more[-]", 3), ("$.none[-]", 4)],
        lambda g: g | {"more": [1, 3], "empty": [2], "none": [4]},
    ),
    "below nothing": (
        [("$.p.q[-]", 1), ("$.empty.x", 2, {"op": "add"}), ("$.p.r", 3, {"op": "add"}),
         ("$.p.q[+7]", 4), ("$.empty.y.z", 5, {"op": "add"})],
        lambda g: g | {"p": {"q": [1, 4], "r": 3}, "empty": {"x": 2, "y": {"z": 5}}},
    ),
    "inside a moved item": (
        [("$.sub.k[0]", REMOVE), ("$.sub.k[1].x", 3)],
        lambda g: g | {"sub": {"k": [{"x": 3}], "2020": "y"}},
    ),
    "a number as key": ([("$.sub[2020]", "z")], lambda g: g | {"sub": g["sub"] | {"2020": "z"}}),
}  # fmt: skip


@pytest.mark.parametrize("name", APPLIED)
def test_gold_is_corrected_and_the_log_says_how(name: str, ds: Dataset, tmp_path: Path) -> None:
    changes, change = APPLIED[name]
    before = contents(ds.root)
    new = apply(ds, rows(*changes), tmp_path / "v1", who="ada", why="read again")
    assert contents(ds.root) == before
    assert new.gold("a") == change(json.loads(json.dumps(GOLD)))
    log = history(new)
    assert len(log) == len(changes)
    assert set(log["who"]) == {"ada"}
    assert log["when"].str.match(r"\d{4}-\d\d-\d\dT").all()
    # the log corrects the first version again
    log_file = new.root / "corrections" / "log.csv"
    assert apply(ds, log_file, tmp_path / "again").gold("a") == new.gold("a")


def test_the_log_has_what_gold_had(ds: Dataset, tmp_path: Path) -> None:
    new = apply(
        ds, rows(("$.total", 6), ("$.new", 1, {"op": "add"}), ("$.empty", 2)), tmp_path / "v"
    )
    log = history(new)
    assert log[["version", "op", "new"]].to_numpy().tolist() == [
        [1, "replace", 6],
        [1, "add", 1],
        [1, "replace", 2],
    ]
    assert list(map(repr, log["old"])) == ["5", "<NA>", "None"]


def test_everything_else_is_as_it_was(ds: Dataset, tmp_path: Path) -> None:
    new = apply(ds, rows(("$.total", 6)), tmp_path / "v1")
    before, after = contents(ds.root), contents(new.root)
    changed = {name for name in after if after[name] != before.get(name)}
    gold = str(Path("dom/inv/pdf+gold/a.gold.json"))
    assert changed == {gold, str(Path("corrections/log.csv"))}
    assert set(before) <= set(after)
    assert after[gold].decode().startswith('{\n    "total": 6,\n    "lines"')
    assert new.licence == "MIT"
    assert (new.root / "dom/inv/pdf+gold/a.pdf").samefile(ds.pdf_path("a"))


def test_versions_keep_the_log_of_earlier_ones(ds: Dataset, tmp_path: Path) -> None:
    first = apply(ds, rows(("$.total", 6)), tmp_path / "v1", who="ada")
    second = apply(
        first.root, rows(("$.total", 7), ("$.lines[0]", REMOVE)), tmp_path / "v2", who="bo"
    )
    third = apply(second, one(document="b", path="$.total"), tmp_path / "v3")
    assert len(history(ds)) == 0
    assert history(third)[["version", "document", "who"]].fillna("").to_numpy().tolist() == [
        [1, "a", "ada"],
        [2, "a", "bo"],
        [2, "a", "bo"],
        [3, "b", ""],
    ]
    pd.testing.assert_frame_equal(history(third).head(3), history(second))
    # a correction that was made for the first version does not fit the second
    stale = rows(("$.total", 9, {"old": 5}))
    with pytest.raises(InputError, match=r"\$\.total: the correction is of 5, and gold has 7"):
        apply(second, stale, tmp_path / "v4")


NOT_FITTING = {
    "no key": ([("$.totl", 1)], r"gold has 5 keys at \$, no key 'totl'; did you mean 'total'\?"),
    "no item": ([("$.lines[3]", 1)], r"gold has 3 items at \$\.lines, no item 3"),
    "below a text": ([("$.lines[0].x", 1)], r'gold has "a" at \$\.lines\[0\], so there is no'),
    "below null": ([("$.empty.x", 1)], r"gold has null at \$\.empty, so there is no"),
    "an item of nothing": ([("$.p[0].x", 1, {"op": "add"})], r"gold has nothing at \$\.p, so"),
    "below a number": ([("$.total.x", 1, {"op": "add"})], r"gold has 5 at \$\.total, so there"),
    "a key of an array": ([("$.lines.x", 1)], r"gold has 3 items at \$\.lines, so there is no"),
    "an item of an object": ([("$.sub[-]", 1)], r"gold has 2 keys at \$\.sub, so there is no"),
    "an item before others": ([("$.lines[1]", 1, {"op": "add"})], r"at \$\.lines\[-\]"),
    "a value there": ([("$.total", 1, {"op": "add"})], "gold has 5 there already; op 'replace'"),
    "false is a value": ([("$.total", 1, {"op": "add", "old": False})], "gold has 5 there already"),
    "another value": ([("$.total", 1, {"old": 4})], "of 4, and gold has 5"),
    "a text for a number": ([("$.total", 1, {"old": "5"})], 'of "5", and gold has 5'),
    "true for one": ([("$.sub.k[0]", 1, {"old": True})], "of true, and gold has 1"),
    "nothing there": ([("$.new", 1, {"op": "add", "old": 3})], "of 3, and gold has nothing"),
    "remove nothing": ([("$.new", REMOVE)], "no key 'new'"),
    "the same value": ([("$.total", 5.0)], "gold has 5 already; leave this correction out"),
    "one of two": ([("$.total", 1), ("$.x", 1)], r"document 'a', \$\.x"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_FITTING)
def test_what_does_not_fit_gold_is_an_error_and_nothing_is_written(
    name: str, ds: Dataset, tmp_path: Path
) -> None:
    changes, message = NOT_FITTING[name]
    before = contents(tmp_path)
    with pytest.raises(InputError, match=message):
        apply(ds, rows(*changes), tmp_path / "v1")
    assert contents(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"first"}


def test_other_faults_leave_nothing_behind(
    ds: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = rows(("$.total", 6))
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / "x").write_text("mine")
    before = contents(tmp_path)
    faults: list[tuple[Any, type[Exception], str, Callable[[], Any]]] = [
        (occupied, OutputError, "expected a new or an empty folder", lambda: change),
        (occupied / "x", OutputError, "expected a new or an empty folder", lambda: change),
        (ds.root / "v", OutputError, "is within the dataset", lambda: change),
        (ds.root, OutputError, "is within the dataset", lambda: change),
        (tmp_path / "v", DatasetError, "no document 'z'", lambda: one(document="z")),
        (tmp_path / "v", InputError, "no corrections to apply", lambda: change.head(0)),
        (tmp_path / "v", InputError, "expected a frame", lambda: None),
    ]
    for folder, kind, message, source in faults:
        with pytest.raises(kind, match=message):
            apply(ds, source(), folder)
        assert contents(tmp_path) == before
    monkeypatch.setattr(shutil, "copytree", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OutputError, match="full"):
        apply(ds, change, tmp_path / "v")
    assert contents(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"first", "occupied"}


def test_an_empty_folder_is_filled_a_damaged_log_refused(ds: Dataset, tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    new = apply(ds, rows(("$.total", 6)), tmp_path / "v1")
    log = new.root / "corrections" / "log.csv"
    for old, changed, message in (
        ("1,a", "one,a", "version is 'one'"),
        (",5,", ",five,", "old is 'five'"),
        ("version", "v", "no column 'version'"),
    ):
        text = log.read_text(encoding="utf-8")
        log.write_text(text.replace(old, changed, 1), encoding="utf-8")
        with pytest.raises(InputError, match=message):
            history(new)
        with pytest.raises(InputError, match=message):
            apply(new, rows(("$.total", 7)), tmp_path / "v2")
        log.write_text(text, encoding="utf-8")
    assert not (tmp_path / "v2").exists()


@settings(max_examples=15)
@given(st.data())
def test_removals_and_additions_in_any_order_give_the_same_array(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    items = [[n, n] for n in range(data.draw(st.integers(0, 13)))]
    fates = data.draw(st.lists(st.sampled_from("krs"), min_size=len(items), max_size=len(items)))
    added = data.draw(st.integers(0, 3))
    changes: list[dict[str, Any]] = [{"path": "$[-]", "new": "new"} for _ in range(added)]
    for at, fate in enumerate(fates):
        changes += [{"path": f"$[{at}]", "op": "remove"}] if fate == "r" else []
        changes += [{"path": f"$[{at}][1]", "new": "set"}] if fate == "s" else []
    if not changes:
        return
    folder = tmp_path_factory.mktemp("array")
    inside = folder / "first" / "dom" / "inv" / "pdf+gold"
    inside.mkdir(parents=True)
    (inside.parent / "inv-schema.json").write_text('{"type": "array"}')
    (inside / "a.gold.json").write_text(json.dumps(items))
    ordered = data.draw(st.permutations([{"document": "a"} | change for change in changes]))
    expected: list[Any] = [
        [n, "set" if fates[n] == "s" else n] for n, _ in items if fates[n] != "r"
    ]
    corrected = apply(folder / "first", frame(*ordered), folder / "v1").gold("a")
    assert corrected == expected + ["new"] * added


# --- evaluating again -------------------------------------------------------------------------


def test_only_corrected_documents_are_evaluated_again(ds: Dataset, tmp_path: Path) -> None:
    predicted = {"total": 6, "lines": ["a", "b"]}
    outputs = [
        {"run": run, "document": name, "predicted": predicted if run == "x" else GOLD}
        for run in ("x", "y")
        for name in "abc"
    ]
    runs = pd.DataFrame(outputs)
    folder = tmp_path / "results"
    before = xb.evaluate_runs(runs, dataset=ds, save_to=folder, progress=False)
    scores = before.summary
    corrected = apply(ds, rows(("$.total", 6), ("$.lines[2]", REMOVE)), tmp_path / "v1")
    after = xb.evaluate_runs(runs, dataset=corrected, resume=folder, progress=False)
    assert (after.meta["evaluated"], after.meta["reused"]) == (2, 4)
    found = effect(scores, after, measures="pass_rate")
    assert found[["run", "documents", "changed"]].to_numpy().tolist() == [["x", 3, 1], ["y", 3, 1]]
    mean = scores.groupby("run")["pass_rate"].mean()
    assert found["before"].tolist() == pytest.approx(mean.tolist())
    assert found["after"].tolist() == pytest.approx(
        after.summary.groupby("run")["pass_rate"].mean()
    )
    assert found["difference"].tolist() == pytest.approx(
        (found["after"] - found["before"]).tolist()
    )
    assert found.loc[0, "difference"] > 0 > found.loc[1, "difference"]
    assert set(found["method"]) == {"too few documents"}
    wide = effect(scores, after, measures="pass_rate", confidence=0.7)  # three documents give 0.75
    assert wide.loc[0, "low"] <= wide.loc[0, "difference"] <= wide.loc[0, "high"]


def test_effect_refuses_what_cannot_be_compared(ds: Dataset) -> None:
    scores = pd.DataFrame({"run": "x", "document": [*"ab"], "pass_rate": [0.5, 1]})
    for before, after, message in (
        (scores.drop(columns="run"), scores, "before: summary has no column 'run'"),
        (scores, scores.assign(run="y"), "no run is in both: \\['x'\\] before"),
        (scores, scores.assign(document=[*"cd"]), "none of them in common"),
    ):
        with pytest.raises(InputError, match=message):
            effect(before, after, measures="pass_rate")
    assert effect(scores, scores, measures=["pass_rate"])["difference"].tolist() == [0]


def test_corrections_of_a_frame_that_was_filtered(ds: Dataset, tmp_path: Path) -> None:
    both = corrections(rows(("$.total", 6), ("$.lines[0]", "x")))
    new = apply(ds, both[both["path"] != "$.total"], tmp_path / "v")
    assert new.gold("a")["total"] == 5


# --- accepted alternatives -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path, correction, fits",
    [
        ("$.lines[2]", ("$.lines[0]", REMOVE), False),
        ("$.lines", ("$.lines[0]", REMOVE), True),
        ("$.total", ("$.lines[0]", REMOVE), True),
        ("$.lines[2]", ("$.lines[0]", "x"), True),
        ("$.sub.k[1].x", ("$.sub.k", REMOVE), False),
    ],
)
def test_alternatives_go_along_unless_items_move(
    ds: Dataset, tmp_path: Path, path: str, correction: tuple[Any, ...], fits: bool
) -> None:
    other = {"document": "a", "path": path, "value": "another"}
    (ds.root / "accepted.json").write_text(json.dumps([other]))
    if fits:
        new = apply(ds, rows(correction), tmp_path / "second")
        assert new.accepted["path"].tolist() == [path]
    else:
        with pytest.raises(InputError, match="accepted alternatives have"):
            apply(ds, rows(correction), tmp_path / "second")
        assert not (tmp_path / "second").exists()
