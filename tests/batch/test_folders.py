"""Results on disk: saved, loaded, resumed, and never half-written."""

import os
import pickle
import random
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import metric
from extractbench_nb.runs import evaluate_runs, load_evaluations
from extractbench_nb.support.files import source_hash
from tests.waiting import PATIENCE, wait_until

PARTS = ("fields", "arrays", "matches", "judge_calls")
FILES = sorted(["batch.json", *(f"{name}.parquet" for name in (*PARTS, "summary"))])
SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "own"}}}


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def contents(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture
def calls():
    """Register the metric `own` and return what it is called with."""
    found = []

    @metric("own")
    def own(gold, predicted):
        found.append(predicted)
        return gold == predicted

    return found


@pytest.fixture
def three(frame_of):
    rows = [("r", name, {"a": name}) for name in ("x", "y", "z")]
    return frame_of(*rows, schema=SCHEMA, gold={"a": "y"})


# --- saved and loaded --------------------------------------------------------------------------


def test_all_ways_to_disk_give_the_same_files(sample, same, tmp_path):
    inputs = {"runs": sample.runs[::6], "dataset": sample, "progress": False}
    here = evaluate_runs(**inputs)
    streamed = evaluate_runs(**inputs, save_to=tmp_path / "a")
    assert here.save(tmp_path / "b") == tmp_path / "b"
    load_evaluations(tmp_path / "a").save(str(tmp_path / "c"))
    evaluate_runs(**inputs, n_jobs=2, resume=tmp_path / "d")
    assert listing(tmp_path / "a") == sorted([*FILES, "parts"])
    assert listing(tmp_path / "b") == listing(tmp_path / "c") == FILES
    for name in "bcd":
        assert contents(tmp_path / name) == contents(tmp_path / "a")
    same(streamed, here)
    loaded = load_evaluations(tmp_path / "b")
    same(loaded, here)
    assert repr(loaded) == repr(here)
    assert len(loaded) == 10
    assert loaded.meta.items() >= {"profile": "strict", "judge": "offline", "outputs": 10}.items()


def test_own_columns_survive(three, calls, same, tmp_path):
    own = {"n": [1, None, 3], "t": ["a", None, "b"], "o": [[1], {"k": float("inf")}, None]}
    own["flag"] = [True, False, True]
    runs = three.assign(**{name: pd.Series(cells, dtype=object) for name, cells in own.items()})
    runs["n"] = runs["n"].astype("Int64")
    evs = evaluate_runs(runs, progress=False)
    same(load_evaluations(evs.save(tmp_path)), evs)
    assert evs.summary.o.tolist() == [[1], {"k": float("inf")}, None]


LOADED = {
    "nothing": ({}, "no batch.json in"),
    "unfinished": ({"parts": ""}, "not finished: evaluate_runs"),
    "format": ({"batch.json": '{"format": 5}'}, "has format 5, this version reads 6"),
    "no batch": ({"batch.json": '{"format": 6, "extras": []}'}, "does not describe a batch"),
    "no columns": ({"batch.json": '{"format": 6, "extras": [1]}'}, "does not describe a batch"),
    "no object": ({"batch.json": "[]"}, "has format"),
    "no json": ({"batch.json": "{"}, r"batch\.json' is not JSON"),
}


@pytest.mark.parametrize("files, message", LOADED.values(), ids=LOADED)
def test_folders_that_cannot_be_loaded(files, message, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(xb.InputError, match=message):
        load_evaluations(tmp_path)


def test_what_is_no_folder(three, calls, tmp_path):
    file = tmp_path / "file.json"
    file.write_text("{}")
    evs = evaluate_runs(three, progress=False)
    calls.clear()
    attempts = [
        lambda: evaluate_runs(three, progress=False, save_to=file),
        lambda: evaluate_runs(three, progress=False, resume=file),
        lambda: evs.save(file),
        lambda: load_evaluations(file),
    ]
    for attempt in attempts:
        with pytest.raises(xb.InputError, match=r"file\.json' is a file, not a folder"):
            attempt()
    with pytest.raises(xb.InputError, match=r"no folder '.*nope'"):
        load_evaluations(tmp_path / "nope")
    assert calls == []


# --- saved twice -------------------------------------------------------------------------------


def test_what_save_wrote_is_replaced(three, calls, same, tmp_path):
    first = evaluate_runs(three, progress=False)
    second = evaluate_runs(three[:1], progress=False)
    (tmp_path / "notes.txt").write_text("mine")
    for evs in (first, first, second, first):
        evs.save(tmp_path)
        same(load_evaluations(load_evaluations(tmp_path).save(tmp_path)), evs)
    assert listing(tmp_path) == sorted([*FILES, "notes.txt"])


@pytest.mark.parametrize("name", ["batch.json", "fields.parquet"])
def test_files_of_others_are_not_replaced(name, three, calls, tmp_path):
    (tmp_path / name).write_bytes(b'{"format": 1}')
    evs = evaluate_runs(three, progress=False)
    with pytest.raises(xb.InputError, match=f"holds '{name}', which is not"):
        evs.save(tmp_path)
    assert listing(tmp_path) == [name]


# --- rewritten while results are in use --------------------------------------------------------


SHOWN = (*PARTS, "summary", "by_run", "missing")


@pytest.mark.parametrize("how", ["evaluate_runs", "load_evaluations", "pickle"])
def test_results_never_mix_two_batches(how, three, calls, same, tmp_path):
    folder = tmp_path / "a"
    evs = evaluate_runs(three, progress=False, save_to=folder)
    if how == "load_evaluations":
        evs = load_evaluations(folder)
    seen = evs.summary
    if how == "pickle":
        evs = pickle.loads(pickle.dumps(evs))  # noqa: S301 - made here
    changed = three.assign(predicted=[{"a": "y"}] * 3)
    new = evaluate_runs(changed, progress=False, resume=folder)
    for name in SHOWN:
        if how != "pickle" and name in ("summary", "by_run", "missing"):
            getattr(evs, name)
            continue
        with pytest.raises(xb.InputError, match="rewritten since it was loaded; load it again"):
            getattr(evs, name)
    with pytest.raises(xb.InputError, match="rewritten since"):
        evs.save(tmp_path / "b")
    assert not (tmp_path / "b").exists()
    if how != "pickle":
        pd.testing.assert_frame_equal(evs.summary, seen)
    same(load_evaluations(folder), new)
    evaluate_runs(three, progress=False, resume=folder)
    pd.testing.assert_frame_equal(evs.summary, seen)
    assert len(evs.fields) == len(evs.arrays) + 3


@pytest.mark.parametrize("change", ["own", "domain", "predicted", "order", "fewer"])
def test_every_change_is_noticed(change, three, calls, tmp_path):
    given = three.assign(own=[1, 2, 3], domain="d")
    changed = {
        "own": given.assign(own=[1, 2, 4]),
        "domain": given.assign(domain="e"),
        "predicted": given.assign(predicted=[{"a": "x"}, {"a": "y"}, {"a": "q"}]),
        "order": given[::-1],
        "fewer": given[:2],
    }[change]
    evs = evaluate_runs(given, progress=False, save_to=tmp_path)
    evaluate_runs(changed, progress=False, resume=tmp_path)
    with pytest.raises(xb.InputError, match="rewritten since"):
        _ = evs.fields


def test_a_writer_that_dies_between_two_names(three, calls, same, tmp_path, monkeypatch):
    evs, replace = evaluate_runs(three, progress=False, save_to=tmp_path), Path.replace

    def interrupted(path, target):
        if target.name == "matches.parquet":
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            evaluate_runs(three[:2], progress=False, resume=tmp_path)
    with pytest.raises(xb.InputError, match="not finished"):
        load_evaluations(tmp_path)
    with pytest.raises(xb.InputError, match="not finished"):
        evs.save(tmp_path / "b")
    same(
        evaluate_runs(three, progress=False, resume=tmp_path), evaluate_runs(three, progress=False)
    )


# --- resumed -----------------------------------------------------------------------------------


def test_nothing_finished_is_evaluated_again(three, calls, same, tmp_path):
    first = evaluate_runs(three, progress=False, save_to=tmp_path)
    before, stamp = contents(tmp_path), len(calls)
    again = evaluate_runs(three, progress=False, resume=tmp_path)
    assert (len(calls), contents(tmp_path)) == (stamp, before)
    assert (again.meta["evaluated"], again.meta["reused"]) == (0, 3)
    same(again, first)
    assert again.evaluation("r", "y").summary["passed"] == 1


CHANGES = {
    "predicted": ({"predicted": [{"a": "x"}, {"a": "new"}, {"a": "z"}]}, ["new"]),
    "gold": ({"gold": [{"a": "y"}, {"a": "y"}, {"a": "new"}]}, ["z"]),
    "order of keys": ({"gold": [{"a": "y", "b": 1}, {"b": 1, "a": "y"}, {"a": "y"}]}, ["x", "y"]),
    "schema": ({"schema": [{**SCHEMA, "title": "new"}, SCHEMA, SCHEMA]}, ["x"]),
    "own column": ({"model": ["m", "n", "o"], "domain": ["d", "e", "f"]}, []),
    "now a text": ({"predicted": ['{"a": "x"}', {"a": "y"}, {"a": "z"}]}, ["x"]),
    "number": ({"predicted": [{"a": "x", "n": 1.0}, {"a": "y"}, {"a": "z"}]}, ["x"]),
}


@pytest.mark.parametrize("columns, expected", CHANGES.values(), ids=CHANGES)
def test_changed_inputs_are_evaluated_again(columns, expected, three, calls, same, tmp_path):
    evaluate_runs(three, progress=False, save_to=tmp_path)
    calls.clear()
    changed = three.assign(**columns)
    again = evaluate_runs(changed, progress=False, resume=tmp_path)
    assert calls == expected
    same(again, evaluate_runs(changed, progress=False))


def test_documents_and_runs_are_added(three, calls, same, tmp_path):
    evaluate_runs(three[:1], progress=False, save_to=tmp_path)
    whole = evaluate_runs(three, progress=False, resume=tmp_path)
    assert calls == ["x", "y", "z"]
    part = evaluate_runs(three[1:], progress=False, resume=tmp_path)
    assert part.summary.document.tolist() == ["y", "z"]
    again = evaluate_runs(three[::-1], progress=False, resume=tmp_path)
    assert again.summary.document.tolist() == ["z", "y", "x"]
    assert calls == ["x", "y", "z"]
    same(evaluate_runs(three, progress=False, resume=tmp_path), whole)


@pytest.mark.filterwarnings("ignore:metric 'own' replaces")
def test_schemas_with_other_metrics_may_be_added(three, calls, tmp_path):
    evaluate_runs(three, progress=False, save_to=tmp_path)
    metric("other")(lambda gold, predicted: True)
    prop = {"a": {"type": "string", "evaluation_config": "other"}}
    added = three.assign(document=["p", "q", "s"], schema=[{"properties": prop}] * 3)
    both = pd.concat([three, added], ignore_index=True)
    assert evaluate_runs(both, progress=False, resume=tmp_path).meta["reused"] == 3
    only = evaluate_runs(added, progress=False, resume=tmp_path)
    assert only.meta["reused"] == 3
    metric("own")(lambda gold, predicted: 0.5)
    with pytest.raises(xb.InputError, match="another metric 'own'"):
        evaluate_runs(three, progress=False, resume=tmp_path)


def test_source_of_a_file_that_is_not_python(tmp_path, monkeypatch):
    """As in a template: the name of the file leads to text that Python cannot read."""
    page = tmp_path / "page.txt"
    page.write_text("def own(gold, predicted):\n    return ((\n", encoding="utf-8")
    module = ModuleType("page")
    module.__file__ = str(page)
    monkeypatch.setitem(sys.modules, "page", module)
    body = "def {}(*values): return {}\nclass {}:\n    def __call__(self, *values): return []"
    for names in (("a", 0.5, "A"), ("b", 0.7, "B")):
        exec(compile(body.format(*names), page, "exec"), vars(module))  # noqa: S102
    things = (module.a, module.b, module.A(), module.B())
    assert len({source_hash(thing) for thing in things}) == len(things)


class Strict:
    name = "strict-judge"

    def compare(self, gold, predicted):
        return xb.judges.Verdict(float(gold == predicted), "strict")


DIFFERENT = {
    "profile": ({"profile": "paper"}, "profile 'strict', not with 'paper'"),
    "judge": ({"judge": Strict()}, "judge 'offline', not with 'strict-judge'"),
    "alignment": ({"alignment": lambda g, p, n: []}, "alignment 'optimal', not with"),
}


@pytest.mark.parametrize("options, message", DIFFERENT.values(), ids=DIFFERENT)
def test_other_settings_are_refused(options, message, three, calls, tmp_path):
    evaluate_runs(three, progress=False, save_to=tmp_path)
    before = contents(tmp_path)
    with pytest.raises(xb.InputError, match=message):
        evaluate_runs(three, progress=False, resume=tmp_path, **options)
    assert contents(tmp_path) == before


def test_a_batch_is_not_overwritten(three, calls, tmp_path):
    evs = evaluate_runs(three, progress=False, save_to=tmp_path / "a")
    evs.save(tmp_path / "b")
    for folder, message in {"a": "resume it, resume='.*a'", "b": "batch already"}.items():
        with pytest.raises(xb.InputError, match=message):
            evaluate_runs(three, progress=False, save_to=tmp_path / folder)
    for results in (evs, load_evaluations(tmp_path / "b")):
        with pytest.raises(xb.InputError, match="holds 'parts'"):
            results.save(tmp_path / "a")
    with pytest.raises(xb.InputError, match="cannot be resumed"):
        evaluate_runs(three, progress=False, resume=tmp_path / "b")


@pytest.mark.filterwarnings("ignore:metric 'own' replaces")
def test_one_process_at_a_time(three, calls, tmp_path):
    seen = []

    @metric("own")
    def own(gold, predicted):
        with pytest.raises(xb.InputError, match="in use by another batch") as caught:
            evaluate_runs(three, progress=False, resume=tmp_path)
        code = "import sys, pathlib; from extractbench_nb.runs.storage import open_storage\n"
        code += "with open_storage(pathlib.Path(sys.argv[1]), None, {}): pass"
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=False
        )
        seen.append((str(caught.value), done.stderr.decode().splitlines()[-1]))
        return True

    evaluate_runs(three[:1], progress=False, save_to=tmp_path)
    assert len(seen) == 1
    assert seen[0][0] in seen[0][1]


# --- damaged -----------------------------------------------------------------------------------


def parts_of(folder):
    return sorted((folder / "parts").glob("*.json.gz"))


def flipped(content, rng):
    changed = bytearray(content)
    for _ in range(rng.choice((1, 2, 8))):
        changed[rng.randrange(10, len(changed))] ^= rng.randrange(1, 256)
    return bytes(changed)


DAMAGES = {
    "flipped": lambda path, rng: path.write_bytes(flipped(path.read_bytes(), rng)),
    "cut off": lambda path, rng: os.truncate(path, rng.randrange(path.stat().st_size)),
    "other": lambda path, _: path.write_bytes(zlib.compress(b"[1, 2]", wbits=31)),
    "pickle": lambda path, _: path.write_bytes(pickle.dumps([1])),
    "link": lambda path, _: (path.unlink(), path.symlink_to("/dev/zero")),
    "pipe": lambda path, _: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("seed", range(3))
def test_outputs_of_a_damaged_part_are_evaluated_again(damage, seed, frame_of, same, tmp_path):
    rng = random.Random(seed)
    runs = frame_of(*(("ab"[n % 2], f"d{n}", {"seller": str(n)}) for n in range(30)))
    expected = evaluate_runs(runs, progress=False, save_to=tmp_path)
    before, path = contents(tmp_path), rng.choice(parts_of(tmp_path))
    damage(path, rng)
    with pytest.warns(UserWarning, match=f"{path.name}' cannot be read, and its outputs are"):
        again = evaluate_runs(runs, progress=False, resume=tmp_path)
    assert again.meta["evaluated"] in (6, 8)
    same(again, expected)
    assert contents(tmp_path) == before
    assert evaluate_runs(runs, progress=False, resume=tmp_path).meta["evaluated"] == 0


@pytest.mark.parametrize("forged", [b"{", b"[]", b"[[1]]", b"7", b'[["a", 1], [2, {}]]', b"[[[]]]"])
def test_forged_results_are_one_clear_error(forged, three, calls, tmp_path):
    evaluate_runs(three, progress=False, save_to=tmp_path)
    (path,) = parts_of(tmp_path)
    lines = zlib.decompress(path.read_bytes(), wbits=31).split(b"\n")
    lines[1] = forged
    path.write_bytes(zlib.compress(b"\n".join(lines), wbits=31))
    with pytest.raises(xb.InputError, match=r"stored outputs cannot be read: .*; remove '.*parts'"):
        evaluate_runs(three, progress=False, resume=tmp_path)


@pytest.mark.parametrize("text", ["{", '{"metrics": []}', None])
def test_altered_settings_are_told(text, three, calls, tmp_path):
    evaluate_runs(three, progress=False, save_to=tmp_path)
    path = tmp_path / "parts" / "settings.json"
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(xb.InputError, match=r"settings\.json' (is not JSON|has no|is missing)"):
        evaluate_runs(three, progress=False, resume=tmp_path)


def test_a_full_disk_leaves_what_was_finished(frame_of, same, tmp_path, monkeypatch):
    runs, write = frame_of(*(("r", f"d{n}", {"seller": "x"}) for n in range(40))), Path.write_bytes

    def full(path, content):
        if len(parts_of(tmp_path)) == 3 and path.parent.name == "parts":
            write(path, content[:9])
            raise OSError(28, "No space left on device")
        return write(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(xb.OutputError, match="No space left on device"):
            evaluate_runs(runs, progress=False, save_to=tmp_path)
    again = evaluate_runs(runs, progress=False, resume=tmp_path)
    assert (again.meta["reused"], again.meta["evaluated"]) == (24, 16)
    same(again, evaluate_runs(runs, progress=False))


# --- killed half-way ---------------------------------------------------------------------------

KILLED = """
import sys, threading
import pandas as pd
import extractbench_nb as xb
from extractbench_nb.runs import evaluate_runs

def work(folder, log, slow, resume):
    @xb.metric("own")
    def own(gold, predicted):
        with open(log, "a") as file:
            print(predicted, file=file)
        if slow and predicted > "30":
            threading.Event().wait()
        return len(gold) == len(predicted)

    part = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {"type": "object", "properties": {
        "a": {"type": "string", "evaluation_config": "own"}, "l": {"type": "array", "items": part}}}
    names = [f"{n:02}" for n in range(60)]
    outputs = [{"a": n, "l": [{"a": n}, {"a": "x"}]} if n != "17" else "{" for n in names]
    runs = pd.DataFrame({"run": "r", "document": names, "predicted": outputs,
                         "schema": [schema] * 60, "gold": [{"a": "5", "l": [{"a": "7"}]}] * 60})
    where = {"resume" if resume else "save_to": folder}
    evs = evaluate_runs(runs, progress=False, **where)
    print(evs.meta["evaluated"], evs.meta["reused"])

folder = sys.argv[1]
if "slow" in sys.argv:
    work(folder + "/killed", folder + "/killed.log", True, False)
work(folder + "/killed", folder + "/killed.log", False, True)
work(folder + "/whole", folder + "/whole.log", False, False)
"""


def test_killed_and_taken_up_gives_the_same_bytes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(tmp_path)]
    log = tmp_path / "killed.log"
    log.touch()
    with subprocess.Popen([*command, "slow"]) as process:
        wait_until(lambda: process.poll() is not None or "31" in log.read_text())
        process.send_signal(signal.SIGKILL)
    assert listing(tmp_path / "killed") == ["parts"]
    before = log.read_text().split()
    with pytest.raises(xb.InputError, match="not finished"):
        load_evaluations(tmp_path / "killed")

    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    evaluated, reused, *whole = map(int, done.stdout.split())
    assert whole == [60, 0]
    assert evaluated + reused == 60
    assert 24 <= reused < 40
    again = log.read_text().split()[len(before) :]
    assert set(again).isdisjoint(before[: reused - 1])  # "17" is invalid: its metric is not called
    assert len(again) == evaluated
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert listing(tmp_path / "killed") == listing(tmp_path / "whole")
