"""The numbers behind the failure explorer: they are those of `breakdown` and `difficulty`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.core.evaluation_frames import OUTCOMES
from extractbench_nb.views.controls import shortened
from extractbench_nb.views.failures_model import (
    Choice,
    Coded,
    Grid,
    failed_by_every_run,
    grid,
    kept,
    modes,
    ordered_keys,
    value_sides,
    within,
)
from tests.widgets.failures.frames import batches, frame, row

#: Each example is a batch of up to 40 rows, summed up by pandas as well.
SOME = settings(max_examples=30)
AXES = st.permutations(["field", "document", "run"]).map(lambda names: names[:2])


def shown(fields: pd.DataFrame, pages: tuple[int, int] = (0, 0), **choice: Any) -> Grid:
    rows = Coded(fields)
    chosen = Choice(**choice)
    return grid(rows, kept(rows, chosen), chosen, pages)


def names(source: object, side: Any, axis: str = "field") -> list[str]:
    return [Coded(source).axes[axis].names[code] for code in side.codes]


# --- sums --------------------------------------------------------------------------------------


def by_output(fields: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Means over the outputs, of means over the nodes of each, with their weights."""
    ids = ["run", "document"]
    nodes = fields.assign(
        score=fields["score"].fillna(0.0).astype(float),
        passed=fields["passed"].fillna(value=False).astype(float),
        unjudged=fields["passed"].isna(),
        share=1.0,
    ).groupby([*ids, "schema", "field", "path"])
    rows = fields[list(dict.fromkeys([*ids, *by]))].copy()
    rows["pass_rate"] = nodes["passed"].transform("min")
    rows["score"] = nodes["score"].transform("mean").where(~nodes["unjudged"].transform("any"), 0.0)
    rows["share"] = 1.0 / nodes["share"].transform("sum")
    rows["weight"] = fields["weight"] * rows["share"]
    found = []
    for _, output in rows.groupby([*by, *(name for name in ids if name not in by)]):
        weights = output["weight"] if output["weight"].sum() else output["share"]
        means = np.average(output[["score", "pass_rate"]], axis=0, weights=weights)
        found.append([*output[by].iloc[0], *means])
    return pd.DataFrame(found, columns=[*by, "score", "pass_rate"]).groupby(by).mean()


@given(batches, AXES, st.booleans())
@SOME
def test_cells_and_lines_are_means_over_outputs(
    fields: pd.DataFrame, axes: list[str], inside: bool
) -> None:
    left = fields if inside else fields[fields["counted"]]
    found = shown(fields, rows=axes[0], columns=axes[1], inside_arrays=inside)
    split = {name: ["schema", "field"] if name == "field" else [name] for name in axes}
    cells = [cell for line in found.cells for cell in line if cell is not None]
    for shown_, by in (
        (cells, split[axes[0]] + split[axes[1]]),
        (found.rows.lines, split[axes[0]]),
        (found.columns.lines, split[axes[1]]),
    ):
        expected = by_output(left, by).round(3).to_numpy().tolist() if len(left) else []
        summed = [[round(c.score, 3), round(c.pass_rate, 3)] for c in shown_]
        assert np.array(sorted(summed)) == pytest.approx(np.array(sorted(expected)), abs=2e-3)


@given(batches, AXES, st.booleans())
@SOME
def test_cells_count_the_rows_of_breakdown(
    fields: pd.DataFrame, axes: list[str], inside: bool
) -> None:
    by = ["schema", "field"] if axes[0] == "field" else [axes[0]]
    by += ["schema", "field"] if axes[1] == "field" else [axes[1]]
    expected = (
        xb.breakdown(fields, by, counted=not inside) if inside or any(fields["counted"]) else []
    )
    found = shown(fields, rows=axes[0], columns=axes[1], inside_arrays=inside)
    cells = [cell for line in found.cells for cell in line if cell is not None]
    assert sorted((c.rows, c.passed) for c in cells) == sorted(
        (r.rows, r.passed) for r in (expected.itertuples() if len(expected) else ())
    )


LONG = frame(
    *(row(field=f"f{i}", outcome="structural", reason="invalid_output") for i in range(300)),
    *(row(field=f"f{i}", run="r2") for i in range(300)),
    *(row(field="a", document=f"d{i}") for i in range(2, 5)),
    *(row(field="a", document=f"d{i}", run="r2", outcome="omission") for i in range(2, 5)),
)


@pytest.mark.parametrize("measure", ["score", "pass_rate"])
def test_a_long_document_is_worth_no_more_than_a_short_one(measure: str) -> None:
    found = shown(LONG, rows="run", measure=measure)
    assert [line.title for line in found.rows.lines] == ["r2", "r1"]
    assert [line.score for line in found.rows.lines] == [0.25, 0.75]
    assert [line.pass_rate for line in found.rows.lines] == [0.25, 0.75]


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_runs_have_the_pass_rate_of_by_run_and_the_mean_score_of_nodes(profile: str) -> None:
    evs = xb.evaluate_runs(xb.load_dataset(), profile=profile, progress=False)
    expected = evs.by_run.set_index("run")
    counted = evs.fields[evs.fields["counted"]]
    nodes = counted.groupby(["run", "document", "path"])[["score", "weight"]].mean()
    sums = nodes.prod(axis=1).to_frame("score").join(nodes["weight"])
    sums = sums.groupby(level=["run", "document"]).sum()
    score = (sums["score"] / sums["weight"]).groupby(level="run").mean()
    if profile == "paper":
        assert score.to_dict() == pytest.approx(expected["field_score"].to_dict())
    for choice in ({"rows": "run"}, {"rows": "document", "columns": "run"}):
        found = shown(evs, measure="pass_rate", **choice)
        side = found.rows if choice["rows"] == "run" else found.columns
        table = expected.loc[[line.title for line in side.lines]]
        assert [line.pass_rate for line in side.lines] == pytest.approx(
            table["pass_rate"], abs=1e-4
        )
        assert [line.score for line in side.lines] == pytest.approx(
            score[table.index].tolist(), abs=1e-4
        )
        assert side.lines[0].title == "osprey-7b"
    outputs = evs.summary.set_index(["run", "document"])["pass_rate"]
    for document, cells in zip(found.rows.lines, found.cells, strict=True):
        for run, cell in zip(found.columns.lines, cells, strict=True):
            assert cell is not None
            rate = outputs[run.title, document.title]
            assert cell.pass_rate == pytest.approx(rate, abs=1e-4)


@pytest.mark.parametrize(
    "outcomes, weights, score, pass_rate",
    [
        (["correct", "incorrect"], [1.0, 3.0], 0.25, 0.25),
        (["correct", "incorrect"], [0.0, 0.0], 0.5, 0.5),
        (["correct", "incorrect"], [0.0, 2.0], 0.0, 0.0),
        (["correct", "judge_error"], [1.0, 1.0], 0.5, 0.5),
    ],
)
def test_nodes_have_their_weights(
    outcomes: list[str], weights: list[float], score: float, pass_rate: float
) -> None:
    about = zip("ab", outcomes, weights, strict=True)
    fields = frame(*(row(field=f, outcome=o, weight=w) for f, o, w in about))
    found = shown(fields, rows="run").rows.lines[0]
    assert (found.score, found.pass_rate) == (score, pass_rate)


def test_a_node_of_two_metrics_passes_where_both_do() -> None:
    fields = frame(row(), row(outcome="incorrect", metric="string_fuzzy"), row(field="b"))
    found = shown(fields, rows="run")
    assert (found.rows.lines[0].score, found.rows.lines[0].pass_rate) == (0.75, 0.5)


@pytest.mark.parametrize("wrong, score", [(1, 0.9999), (99_999, 0.0001)])
def test_no_mean_is_rounded_to_all_or_nothing(wrong: int, score: float) -> None:
    outcomes = ["incorrect"] * wrong + ["correct"] * (100_000 - wrong)
    one = frame(row())
    fields = one.loc[[0] * len(outcomes)].reset_index(drop=True)
    fields["path"] = pd.Series([f"$.a[{i}]" for i in range(len(outcomes))], dtype="string")
    fields["score"] = [float(name == "correct") for name in outcomes]
    fields["passed"] = pd.array([name == "correct" for name in outcomes], dtype="boolean")
    found = shown(fields)
    assert found.cells[0][0] is not None
    assert [found.cells[0][0].score, found.cells[0][0].pass_rate] == [score, score]
    assert found.rows.lines[0].score == score


@given(batches)
@SOME
def test_the_most_frequent_outcome_is_one_of_the_most_frequent(fields: pd.DataFrame) -> None:
    table = xb.breakdown(fields, ["run", "document"], counted=False).set_index(["run", "document"])
    found = shown(fields, rows="run", columns="document", inside_arrays=True)
    runs, documents = (
        names(fields, side, axis) for side, axis in zip(found[:2], ("run", "document"), strict=True)
    )
    for run, line in zip(runs, found.cells, strict=True):
        for document, cell in zip(documents, line, strict=True):
            if cell is not None:
                counts = table.loc[(run, document)]
                assert cell.most == counts[cell.outcome] == counts[list(OUTCOMES)].max()


@pytest.mark.parametrize(
    "outcomes, expected",
    [
        (["correct", "incorrect"], "incorrect"),
        (["correct", "correct", "incorrect"], "correct"),
        (["incorrect", "omission", "hallucination"], "hallucination"),
        (["both_absent", "correct"], "correct"),
        (["judge_error", "correct"], "judge_error"),
    ],
)
def test_of_equals_the_graver_outcome_is_shown(outcomes: list[str], expected: str) -> None:
    found = shown(frame(*(row(outcome=name) for name in outcomes)))
    assert found.cells[0][0] is not None
    assert found.cells[0][0].outcome == expected


@given(batches)
@SOME
def test_failed_by_every_run_is_what_difficulty_says(fields: pd.DataFrame) -> None:
    rows = Coded(fields)
    found = failed_by_every_run(rows, kept(rows, Choice()))
    axis = rows.axes["field"]
    ours = {axis.names[code] for code in np.flatnonzero(found)}
    table = xb.difficulty(fields) if any(fields["counted"]) else pd.DataFrame()
    hard = table[table["failed_by_all"]] if len(table) else table
    often = fields.drop_duplicates(["schema", "field"])["field"].value_counts()
    assert ours == {
        f"{r.schema}: {r.field}" if often[r.field] > 1 else r.field for r in hard.itertuples()
    }
    filtered = kept(rows, Choice(failed_by_every_run=True))
    assert set(axis.codes[filtered]) == set(np.flatnonzero(found))


# --- axes --------------------------------------------------------------------------------------


def test_a_field_of_two_schemas_is_two_rows() -> None:
    fields = frame(row(schema="s"), row(schema="t"), row(schema="t", field="b"))
    assert Coded(fields).axes["field"].names == ["s: a", "t: a", "b"]


def test_names_that_would_be_the_same_are_told_apart() -> None:
    fields = frame(
        row(schema="s", field="a"),
        row(schema="t", field="a"),
        row(schema="u", field="s: a"),
    )
    assert Coded(fields).axes["field"].names == ["s: a", "t: a", "s: a (2)"]


def test_one_evaluation_has_no_run_and_no_document() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    ev = xb.evaluate(schema, {"a": 1}, {"a": 2})
    found = shown(ev)
    assert [line.name for line in found.columns.lines] == ["(none)"]
    assert found.cells[0][0] is not None
    assert found.cells[0][0].outcome == "incorrect"


def test_evaluations_by_run_and_document_are_axes() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    evs = {
        run: {doc: xb.evaluate(schema, {"a": 1}, {"a": value}) for doc, value in docs.items()}
        for run, docs in {"x": {"d": 1, "e": 2}, "y": {"d": 2}}.items()
    }
    found = shown(evs, rows="run", columns="document", row_order="name", column_order="name")
    scores = [[cell and cell.score for cell in line] for line in found.cells]
    assert scores == [[1.0, 0.0], [0.0, None]]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda f: f.drop(columns="gold"), "there is no column 'gold'"),
        (lambda f: f.drop(columns="counted"), "there is no column 'counted'"),
        (
            lambda f: f.assign(outcome="corect"),
            "outcome 'corect' is unknown; did you mean 'correct'",
        ),
        (lambda _: {}, "an empty mapping holds no results"),
        (lambda _: 3, "int has no frame 'fields'"),
    ],
)
def test_what_holds_no_fields_is_refused(change: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        Coded(change(frame(row())))


# --- order, pages -------------------------------------------------------------------------

MIXED = frame(
    row(field="b", outcome="incorrect", score=0.5, schema="s"),
    row(field="a", outcome="incorrect", score=0.2, schema="s"),
    row(field="z", outcome="correct", schema="t", document="d2"),
    row(field="y", outcome="incorrect", score=0.1, schema="t", document="d2"),
    row(field="C", outcome="correct", schema="s"),
)


@pytest.mark.parametrize(
    "order, measure, expected",
    [
        ("worst", "score", ["y", "a", "b", "z", "C"]),
        ("worst", "pass_rate", ["b", "a", "y", "z", "C"]),
        ("name", "score", ["a", "b", "C", "y", "z"]),
        ("document", "score", ["b", "a", "z", "y", "C"]),
    ],
)
def test_rows_are_sorted_over_all_schemas(order: str, measure: str, expected: list[str]) -> None:
    found = shown(MIXED, row_order=order, measure=measure)
    assert names(MIXED, found.rows) == expected


def test_pages_hold_sixty_rows_and_forty_columns() -> None:
    fields = frame(*(row(field=f"f{i:03}", document=f"d{i % 50:02}") for i in range(150)))
    found = shown(fields, (1, 0), row_order="document")
    assert [line.title for line in found.rows.lines] == [f"f{i:03}" for i in range(60, 120)]
    assert (found.rows.page.first, len(found.rows.codes), found.rows.known) == (60, 150, 150)
    assert len(found.columns.lines) == 40
    assert len(shown(fields, (99, 99), row_order="document").rows.lines) == 30


def test_documents_without_the_fields_of_the_page_are_left_out() -> None:
    fields = frame(
        *(row(field=f"f{i:03}", schema="s", document="d1") for i in range(60)),
        row(field="g", schema="t", document="d2"),
    )
    found = shown(fields, row_order="document")
    assert [line.title for line in found.columns.lines] == ["d1"]
    assert found.columns.known == 2
    turned = shown(fields, (0, 1), rows="document", columns="field", column_order="document")
    assert turned.columns.page.first == 40


def test_a_cell_without_rows_is_not_a_zero() -> None:
    fields = frame(row(field="a", document="d1"), row(field="b", document="d2", outcome="omission"))
    found = shown(fields, row_order="name", column_order="name")
    assert [[cell and cell.score for cell in line] for line in found.cells] == [
        [1.0, None],
        [None, 0.0],
    ]


# --- filters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choice, expected",
    [
        ({}, ["a", "b", "c", "d"]),
        ({"schema": "t"}, ["d"]),
        ({"run": "r2"}, ["b"]),
        ({"find": " A "}, ["a"]),
        ({"find": "nothing"}, []),
        ({"valid_only": True}, ["a", "b", "d"]),
        ({"inside_arrays": True}, ["a", "b", "c", "d", "e"]),
        ({"failed_by_every_run": True}, ["b", "c"]),
        ({"failed_by_every_run": True, "valid_only": True}, ["b"]),
    ],
)
def test_filters(choice: dict[str, Any], expected: list[str]) -> None:
    fields = frame(
        row(field="a"),
        row(field="b", run="r2", outcome="incorrect"),
        row(field="c", outcome="structural", reason="invalid_output"),
        row(field="d", schema="t"),
        row(field="e", counted=False),
    )
    rows = Coded(fields)
    places = kept(rows, Choice(**choice))
    assert fields["field"].iloc[places].tolist() == expected


@given(batches, st.data())
@SOME
def test_a_block_holds_its_rows(fields: pd.DataFrame, data: st.DataObject) -> None:
    rows = Coded(fields)
    choice = Choice(rows="run", columns="document", inside_arrays=True)
    runs, documents = (rows.axes[name] for name in ("run", "document"))
    block = tuple(
        np.array(sorted(data.draw(st.sets(st.integers(0, axis.size - 1)))), dtype=int)
        for axis in (runs, documents)
    )
    found = within(rows, kept(rows, choice), choice, (block[0], block[1]))
    wanted = [
        {axis.names[i] for i in codes} for axis, codes in zip((runs, documents), block, strict=True)
    ]
    expected = fields["run"].isin(wanted[0]) & fields["document"].isin(wanted[1])
    assert found.tolist() == np.flatnonzero(expected).tolist()


# --- values ------------------------------------------------------------------------------------


def test_paths_with_most_failures_come_first() -> None:
    fields = frame(
        *(row(path=path, run=run) for path in ("$.a", "$.d") for run in ("r1", "r2")),
        row(path="$.b", run="r1", outcome="omission"),
        row(path="$.b", run="r2"),
        *(row(path="$.c", run=run, outcome="incorrect") for run in ("r1", "r2")),
    )
    rows = Coded(fields)
    every = np.arange(len(rows))

    def paths(keys: Any) -> list[str]:
        firsts = {int(key): at for at, key in reversed(list(enumerate(rows.keys)))}
        return [fields["path"][firsts[int(key)]] for key in keys]

    assert paths(ordered_keys(rows, every)) == ["$.c", "$.b", "$.a", "$.d"]
    of_r2 = np.flatnonzero(fields["run"] == "r2")
    assert paths(ordered_keys(rows, of_r2)) == ["$.c", "$.a", "$.d", "$.b"]


@given(batches, st.sampled_from(["", "disagree", "all_wrong", "gained", "lost"]), st.booleans())
@SOME
def test_paths_are_compared_as_pandas_does(
    fields: pd.DataFrame, compare: str, of_two: bool
) -> None:
    rows = Coded(fields)
    a, b = (rows.axes["run"].names * 2)[:2] if of_two and len(rows) else (None, None)
    choice = Choice(compare=compare, a=a, b=b, inside_arrays=True)
    found = kept(rows, choice)
    own = fields if a is None else fields[fields["run"].isin([a, b])]
    right = own["passed"].fillna(value=False).astype(bool)
    ids = ["document", "path"]
    table = right.groupby([own[name] for name in [*ids, "run"]]).all().unstack()  # noqa: PD010
    right, wrong = table.eq(True), table.eq(False)
    fits = pd.Series(data=True, index=table.index)
    if compare == "disagree":
        fits &= right.any(axis=1) & wrong.any(axis=1)
    if compare == "all_wrong":
        fits &= ~right.any(axis=1)
    if compare in ("gained", "lost"):
        one, two = (right, wrong) if compare == "lost" else (wrong, right)
        fits &= False if a is None else one[a] & two[b]
    keys = pd.MultiIndex.from_frame(own[ids])
    assert (
        found.tolist()
        == np.flatnonzero(fields.index.isin(own.index[keys.isin(fits[fits].index)])).tolist()
    )


@given(batches, st.sampled_from(["run", "field", "document", "schema", "domain", "outcome"]))
@SOME
def test_modes_count_the_rows_that_do_not_pass(fields: pd.DataFrame, by: str) -> None:
    rows = Coded(fields)
    found = modes(rows, np.arange(len(rows)), by, (99, 99))
    failing = int((~rows.passed).sum())
    assert found.totals[0] == failing == sum(found.totals[1:])
    assert sum(counts[0] for *_, counts in found.lines) == failing
    assert all(counts[0] == sum(counts[1:]) for *_, counts in found.lines)
    few = modes(rows, np.arange(len(rows)), by, (1, 1))
    assert few.more_columns == max(0, len(found.columns) - 1)
    assert few.more_lines == max(0, len(found.lines) - 1)


@pytest.mark.parametrize(
    "cells, gold, predicted",
    [
        ({"gold": "abcd efgh", "predicted": "abcd efgx"}, "abcd efg[h]", "abcd efg[x]"),
        ({"gold": 12, "predicted": "12"}, "[12]", '["12"]'),
        ({"gold": ["a", "b"], "predicted": ["a", "c"]}, '["a", "[b]"]', '["a", "[c]"]'),
        ({"gold": {"k": 1}, "predicted": {"k": 1}}, '{"k": 1}', '{"k": 1}'),
        ({"predicted": None, "predicted_state": "missing"}, "x", "(missing)"),
        ({"gold": None, "gold_state": "null"}, "(null)", "x"),
        ({"gold": [], "gold_state": "empty"}, "(empty list)", "x"),
        ({"gold": float("nan"), "predicted": float("inf")}, '"NaN"', '"Infinity"'),
    ],
)
def test_values_side_by_side(cells: dict[str, Any], gold: str, predicted: str) -> None:
    *sides, whole = value_sides(row(**cells), long=False)
    ends = {"same": "{}", "changed": "[{}]", "note": "({})"}
    for side, expected in zip(sides, (gold, predicted), strict=True):
        assert "".join(ends[piece.kind].format(piece.text) for piece in side) == expected
    assert whole


@pytest.mark.parametrize(
    "length, first, all_of_it",
    [(600, 600, 600), (601, 300, 601), (4000, 300, 4000), (90_000, 300, 90_000)],
)
def test_long_values_are_cut_until_all_of_them_is_asked_for(
    length: int, first: int, all_of_it: int
) -> None:
    cells = row(gold="g" * length, predicted="g" * (length - 1) + "h")
    for long, expected in ((False, first), (True, all_of_it)):
        gold, _, whole = value_sides(cells, long=long)
        assert sum(len(piece.text) for piece in gold if piece.kind != "note") == expected
        assert gold[-1] == ("changed", "g")
        assert whole == (expected == length)


def test_no_value_is_longer_than_a_hundred_thousand_characters() -> None:
    gold, _, whole = value_sides(row(gold="g" * 1_000_000, predicted="h" * 1_000_000), long=True)
    assert len(gold[0].text) == 100_000
    assert not whole


# --- words -------------------------------------------------------------------------------------


@given(st.text(), st.integers(3, 60))
@SOME
def test_shortened_names_fit_and_keep_both_ends(text: str, limit: int) -> None:
    found = shortened(text, limit)
    assert len(found) <= limit
    assert "\n" not in found
    line = " ".join(text.split())
    if line.isascii() and line.isprintable() and len(text) <= limit:
        assert found == line
