"""Suspects: each kind of place, votes, evidence, options, and errors planted in gold."""

from __future__ import annotations

import json
import os
import shutil
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.gold.consensus import SUSPECT_COLUMNS, SUSPECT_KINDS, suspects
from extractbench_nb.runs.results import Evaluations

SAMPLE = xb.load_dataset("sample")
NIGHT = "moss drift tidal turbines"

NUMBER = {"type": "number"}
EXACT = {"type": "string", "evaluation_config": "string_exact"}
TEXT = {"type": "string"}
EMPTY, DIFFERS, MISSING = SUSPECT_KINDS


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


LINE = obj(name=TEXT, amount=NUMBER, taxes=array(NUMBER))
LINES = obj(lines=array(LINE))


def line(name: str, amount: float, *taxes: float) -> dict[str, Any]:
    return {"name": name, "amount": amount, "taxes": list(taxes)}


TEA, RICE, SALT = line("tea", 1, 5), line("rice", 2, 7), line("salt", 3, 9)


def evaluated(schema: Any, gold: Any, *predicted: Any, **options: Any) -> Evaluations:
    rows = [
        {"run": f"run {i}", "document": "d", "predicted": p, "schema": schema, "gold": gold}
        for i, p in enumerate(predicted)
    ]
    return xb.evaluate_runs(pd.DataFrame(rows), progress=False, **options)


def places(found: pd.DataFrame) -> list[tuple[Any, ...]]:
    rows = found.sort_values(["path", "score"])
    return list(
        rows[["path", "kind", "gold", "consensus", "agreeing"]].itertuples(index=False, name=None)
    )


HOSTILE, HOSTILE_PATH = "a'.b[+0]<i>", "$['a\\'.b[+0]<i>']"
TWO_METRICS = {
    "type": "string",
    "evaluation_config": {
        "metrics": [{"metric_id": "string_exact"}, {"metric_id": "string_fuzzy"}]
    },
}
ENUM = {"enum": ["Conference Paper", "Book"], "evaluation_config": "string_exact"}
TREE = {
    "$defs": {
        "node": obj(
            name=EXACT, child={"$ref": "#/$defs/node"}, parts=array({"$ref": "#/$defs/node"})
        )
    },
    "$ref": "#/$defs/node",
}
DEEP = {"child": {"child": {"child": {"name": "b"}}}}
CASES: dict[str, tuple[Any, Any, list[Any], list[tuple[Any, ...]]]] = {
    "null in gold": (obj(a=NUMBER), {"a": None}, [{"a": 3}] * 2, [("$.a", EMPTY, None, 3, 2)]),
    "key not in gold": (obj(a=NUMBER), {}, [{"a": 3}] * 2, [("$.a", EMPTY, None, 3, 2)]),
    "empty in gold, and in half of the runs": (
        obj(a=NUMBER), {}, [{"a": 3}, {"a": 3}, {}, {"a": None}], [],
    ),
    "most runs differ": (
        obj(a=NUMBER), {"a": 1204}, [{"a": 1240}, {"a": 1204}, {"a": 1240}],
        [("$.a", DIFFERS, 1204, 1240, 2)],
    ),
    "as many runs with gold": (
        obj(a=NUMBER), {"a": 1}, [{"a": 2}, {"a": 2}, {"a": 1}, {"a": 1}], [],
    ),
    "every run differs from the others": (
        obj(a=NUMBER), {"a": 1}, [{"a": 2}, {"a": 3}, {"a": 4}], [],
    ),
    "an omission is no vote for a value": (
        obj(a=NUMBER), {"a": 1}, [{"a": 2}, {}, {}], [],
    ),
    "alike by the metric of the field": (
        obj(a=TEXT), {"a": "Globex"}, [{"a": "ACME Inc."}, {"a": "Acme Incorporated"}],
        [("$.a", DIFFERS, "Globex", "ACME Inc.", 2)],
    ),
    "one character that matters": (
        obj(a=EXACT), {"a": "A-1204"}, [{"a": "A-1240"}] * 2,
        [("$.a", DIFFERS, "A-1204", "A-1240", 2)],
    ),
    "the same words in an order that matters": (
        obj(a=EXACT), {"a": "Rovers 2, City 1"}, [{"a": "Rovers 1, City 2"}] * 2,
        [("$.a", DIFFERS, "Rovers 2, City 1", "Rovers 1, City 2", 2)],
    ),
    "a difference of style": (
        obj(a=ENUM), {"a": "conference paper"}, [{"a": "Conference Paper"}] * 3, [],
    ),
    "placeholders and blanks": (
        obj(a=TEXT, b=TEXT), {"a": None, "b": None}, [{"a": "N/A", "b": " "}] * 3, [],
    ),
    "two metrics, one suspect": (
        obj(a=TWO_METRICS), {"a": "left"}, [{"a": "right"}] * 2,
        [("$.a", DIFFERS, "left", "right", 2)],
    ),
    "an empty branch": (
        obj(a=obj(b=obj(c=NUMBER), d=NUMBER)), {"a": None},
        [{"a": {"b": {"c": 1}, "d": 2}}] * 2,
        [("$.a.b.c", EMPTY, None, 1, 2), ("$.a.d", EMPTY, None, 2, 2)],
    ),
    "a map": (
        {"type": "object", "additionalProperties": NUMBER}, {"x": 1},
        [{"x": 2, HOSTILE: 5}] * 2,
        [(HOSTILE_PATH, EMPTY, None, 5, 2), ("$['x']", DIFFERS, 1, 2, 2)],
    ),
    "a field of an item, paired in each run": (
        LINES, {"lines": [TEA, RICE]},
        [{"lines": [RICE, TEA | {"amount": 8}]}, {"lines": [TEA | {"amount": 8}]}],
        [("$.lines[0].amount", DIFFERS, 1, 8, 2)],
    ),
    "a missing item": (
        LINES, {"lines": [TEA, RICE]}, [{"lines": [SALT, TEA, RICE]}, {"lines": [TEA, SALT]}],
        [("$.lines[-]", MISSING, None, SALT, 2)],
    ),
    "a missing item in half of the runs": (
        LINES, {"lines": [TEA]},
        [{"lines": [SALT, TEA]}, {"lines": [TEA, SALT]}, {"lines": [TEA]}, {"lines": [TEA]}], [],
    ),
    "a missing item with one other field": (
        LINES, {"lines": [TEA]},
        [{"lines": [SALT, TEA]}, {"lines": [SALT | {"amount": 4}]}, {"lines": [SALT]}],
        [("$.lines[-]", MISSING, None, SALT, 3)],
    ),
    "an item that most runs have twice": (
        LINES, {"lines": [TEA]}, [{"lines": [TEA, TEA]}] * 2,
        [("$.lines[-]", MISSING, None, TEA, 2)],
    ),
    "an item that gold has with fewer fields": (
        LINES, {"lines": [{"name": "tea"}, RICE]}, [{"lines": [TEA, RICE]}] * 2, [],
    ),
    "an item that gold has as a text": (
        obj(refs=array(obj(title=TEXT, year=NUMBER))),
        {"refs": ["A. Long, B. Longer. On the growth of reeds. In: Shore, volume 3, 1999"]},
        [{"refs": [{"title": "On the growth of reeds", "year": 1999}]}] * 3, [],
    ),
    "a missing item of a nested array": (
        LINES, {"lines": [RICE, TEA]}, [{"lines": [TEA | {"taxes": [6, 5]}, RICE]}] * 2,
        [("$.lines[1].taxes[-]", MISSING, None, 6, 2)],
    ),
    "an array that is empty in gold": (
        obj(tags=array(EXACT)), {"tags": []},
        [{"tags": ["x", "y"]}, {"tags": ["y", "x", "z"]}, {"tags": ["x"]}],
        [("$.tags", EMPTY, [], ["y", "x"], 2)],
    ),
    "a recursive schema": (
        TREE, {"child": {"child": {"child": {"name": "a"}}}, "parts": [{"name": "p"}]},
        [DEEP | {"parts": [{"name": "p"}, {"name": "q"}]}] * 2,
        [("$.child.child.child.name", DIFFERS, "a", "b", 2),
         ("$.parts[-]", MISSING, None, {"name": "q"}, 2)],
    ),
    "items of a tuple": (
        obj(t={"type": "array", "prefixItems": [EXACT, NUMBER], "items": EXACT}), {"t": ["a"]},
        [{"t": ["a", 4, "x"]}] * 2, [],
    ),
    "a container in place of a text": (
        obj(a=TEXT), {"a": "x"}, [{"a": {"b": 1}}] * 2, [],
    ),
    "a key that the schema does not declare": (
        obj(a=NUMBER), {"a": 1}, [{"a": 1, "b": 2}] * 2, [],
    ),
    "nothing scored": ({"type": "object"}, {"a": 1}, [{"a": 2}] * 2, []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_places(case: str) -> None:
    schema, gold, predicted, expected = CASES[case]
    found = suspects(evaluated(schema, gold, *predicted))
    assert sorted(map(repr, places(found))) == sorted(map(repr, expected))
    assert (found["runs"] == len(predicted)).all()
    assert found["score"].between(0, 1, inclusive="left").all()
    assert found[["gold_page", "consensus_page", "findings"]].isna().all(axis=None)
    assert dict(found.dtypes) == dict(SUSPECT_COLUMNS.build().dtypes)


def test_invalid_outputs_do_not_vote() -> None:
    broken = ["{'a': 3}", None]
    found = suspects(evaluated(obj(a=NUMBER), {"a": 1}, {"a": 3}, *broken, {"a": 3}))
    assert found[["runs", "agreeing"]].values.tolist() == [[2, 2]]


def test_the_order_of_runs_has_no_effect() -> None:
    tie = [{"lines": [SALT]}, {"lines": [RICE, SALT]}, {"lines": [SALT | {"amount": 4}, RICE]}]
    frames = [suspects(evaluated(LINES, {"lines": [TEA]}, *order)) for order in permutations(tie)]
    assert len(frames[0]) == 2
    for frame in frames[1:]:
        assert sorted(map(repr, places(frame))) == sorted(map(repr, places(frames[0])))


VALUES = st.none() | st.integers(0, 3)
DOCUMENTS = st.fixed_dictionaries(
    {"a": VALUES, "tags": st.lists(st.sampled_from("xyz"), max_size=3)}
)


@given(gold=DOCUMENTS, runs=st.lists(DOCUMENTS, min_size=2, max_size=4))
def test_votes(gold: Any, runs: list[Any]) -> None:
    found = suspects(evaluated(obj(a=NUMBER, tags=array(EXACT)), gold, *runs))
    for row in found.itertuples():
        name = row.path.split(".")[1].removesuffix("[-]")
        values = [run[name] for run in runs]
        if name == "a":
            assert row.agreeing == values.count(row.consensus) >= 2
            assert row.agreeing > values.count(gold["a"])
        elif row.kind == MISSING:
            more = [v.count(row.consensus) > gold[name].count(row.consensus) for v in values]
            assert row.agreeing <= sum(more)
            assert 2 * row.agreeing > len(runs)
    counts = {value: [run["a"] for run in runs].count(value) for value in range(4)}
    best = max(counts.values())
    due = best >= 2 and 2 * best >= len(runs) and best > [run["a"] for run in runs].count(gold["a"])
    assert ("$.a" in found["path"].tolist()) == (due and counts.get(gold["a"], 0) < best)


def test_more_agreement_is_a_higher_score() -> None:
    agreed, other = {"a": 3}, {"a": 7}
    scores = [
        suspects(evaluated(obj(a=NUMBER), {}, *[agreed] * k, *[other] * (6 - k)))["score"].max()
        for k in range(3, 7)
    ]
    assert scores == sorted(set(scores))


def test_a_field_that_differs_everywhere_ranks_lower() -> None:
    schema = obj(rows=array(obj(name=EXACT, unit=EXACT)))
    gold = {"rows": [{"name": name, "unit": "kg"} for name in "abcd"]}
    everywhere = [{"name": name, "unit": "tons"} for name in "abcd"]
    once = [*everywhere[:1], *gold["rows"][1:]]
    low, high = (suspects(evaluated(schema, gold, *[{"rows": r}] * 2)) for r in (everywhere, once))
    assert low["score"].tolist() == [high["score"][0] / 2] * 4


@pytest.mark.parametrize(
    "gold, consensus, half",
    [
        ("AT&T", "AT&T, Dallas", True),
        ("AT&T, Dallas", "AT&T", True),
        ("AT&T, Dal", "AT&T, Dallas", False),
        ("AT&T", "Globex", False),
    ],
)
def test_more_detail_ranks_lower(gold: str, consensus: str, half: bool) -> None:
    found = suspects(evaluated(obj(a=EXACT), {"a": gold}, *[{"a": consensus}] * 2))
    assert found["score"].tolist() == [pytest.approx(2 / 3 / (4 if half else 2))]


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"min_runs": 0}, "min_runs=0; expected a whole number"),
        ({"min_runs": True}, "min_runs=True; expected"),
        ({"min_runs": 3}, "no document has 3 valid outputs, the most is 2"),
        ({"dataset": "sample"}, "pass a Dataset as load_dataset returns it, found 'sample'"),
        ({"dataset": SAMPLE}, "'sample' has no 'd'; expected one of"),
    ],
)
def test_bad_options(options: dict[str, Any], problem: str) -> None:
    evs = evaluated(obj(a=NUMBER), {"a": 1}, {"a": 2}, {"a": 2})
    with pytest.raises(InputError, match=problem):
        suspects(evs, options.pop("dataset", None), **options)


@pytest.fixture
def planted(tmp_path: Path) -> tuple[xb.runs.Dataset, dict[str, Any]]:
    """Return a copy of the sample dataset with errors in one gold, and the right gold."""
    root = tmp_path / "copy"
    shutil.copytree(SAMPLE.root, root, ignore=shutil.ignore_patterns("runs"))
    copy, right = xb.load_dataset(root), SAMPLE.gold(NIGHT)
    wrong = right | {"heading": "Who Drives the Day Tram?", "outlet": None}
    wrong["references"] = right["references"][1:]
    path = copy.listing.set_index("document").loc[NIGHT, "gold_path"]
    path.write_text(json.dumps(wrong), encoding="utf-8")
    return copy, right


def test_evidence(planted: tuple[xb.runs.Dataset, dict[str, Any]], tmp_path: Path) -> None:
    copy, right = planted
    runs = pd.DataFrame({"run": ["a", "b"], "document": NIGHT, "predicted": [right] * 2})
    evs = xb.evaluate_runs(runs, dataset=copy, progress=False)
    found = suspects(evs, copy).set_index("path")
    assert sorted(found.index) == ["$.heading", "$.outlet", "$.references[-]"]
    heading = found.loc["$.heading"]
    assert heading["consensus"] == right["heading"]
    assert pd.isna(heading["gold_page"])
    assert heading["consensus_page"] == 1
    assert "not_in_pdf" in heading["findings"] or "unlike_pdf" in heading["findings"]
    assert found["findings"].loc["$.references[-]"] == ""
    assert found["consensus_page"].loc["$.references[-]"] >= 1
    assert found.index[0] == "$.heading"
    loaded = xb.load_evaluations(evs.save(tmp_path / "saved"))
    pd.testing.assert_frame_equal(suspects(loaded, copy).set_index("path"), found)
    with pytest.raises(InputError, match="pass dataset="):
        suspects(loaded)
    copy.pdf_path(NIGHT).unlink()
    without = suspects(evs, xb.load_dataset(copy.root))
    assert len(without) == 3
    assert without[["gold_page", "consensus_page"]].isna().all(axis=None)
    assert without["findings"].notna().all()


def test_recorded_runs() -> None:
    """The counts of docs/explanation/validation.md."""
    folder, dataset = os.environ.get("EXTRACTBENCH_RUNS"), os.environ.get("EXTRACTBENCH_DATASET")
    if not folder or not dataset:
        pytest.skip(
            "set EXTRACTBENCH_RUNS and EXTRACTBENCH_DATASET to the folders of the real data"
        )
    ds = xb.load_dataset("extractbench")
    runs = xb.runs.recorded_outputs(folder)
    evs = xb.evaluate_runs(runs, dataset=ds, progress=False)
    found = suspects(evs, ds)
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "validation.md").read_text("utf-8")
    for kind, rows in [*found.groupby("kind"), ("all", found)]:
        pages = rows[["consensus_page", "gold_page"]].notna()
        name = kind if kind == "all" else f"`{kind}`"
        counts = [len(rows), *pages.sum(), pages.all(axis=1).sum()]
        cells = (
            [str(n) for n in counts] if kind in (DIFFERS, "all") else [*map(str, counts[:2]), *"––"]
        )
        assert f"| {name} | {' | '.join(cells)} |" in page
    top = found.head(6)[["field", "kind"]].values.tolist()
    for field in ("publication_type", "publication_date", "authors[].affiliation"):
        assert [field, DIFFERS] in top
