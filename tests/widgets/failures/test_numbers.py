"""The numbers of the failure explorer are those of `breakdown`, `by_run` and plain pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.views.failures_model import Heatmap
from extractbench_nb.views.failures_view import FailureExplorer
from tests.widgets.failures.frames import batches, frame, row

SOME = settings(max_examples=10, deadline=None)
AXES = st.permutations(["field", "document", "run"]).map(lambda names: names[:2])


def shown(fields: Any, **traits: Any) -> Heatmap:
    axes = {name: traits.pop(name) for name in ("rows", "columns") if name in traits}
    view = FailureExplorer(fields, **axes)
    with view.changing():
        for name, value in traits.items():
            setattr(view, name, value)
    return view._heatmap


def by_output(fields: pd.DataFrame, by: list[str]) -> list[tuple[float, float]]:
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
    table = pd.DataFrame(found, columns=[*by, "score", "pass_rate"]).groupby(by).mean()
    return sorted(table.round(9).itertuples(index=False, name=None))


@given(batches, AXES, st.booleans())
@SOME
def test_cells_and_lines_are_counts_and_means_over_outputs(
    fields: pd.DataFrame, axes: list[str], inside: bool
) -> None:
    left = fields if inside else fields[fields["counted"]]
    found = shown(fields, rows=axes[0], columns=axes[1], inside_arrays=inside)
    split = {name: ["schema", "field"] if name == "field" else [name] for name in axes}
    cells = pd.DataFrame(found.cells.values(), columns=["Index", *found.rows.columns])
    for sums, by in (
        (cells, split[axes[0]] + split[axes[1]]),
        (found.rows, split[axes[0]]),
        (found.columns, split[axes[1]]),
    ):
        if not len(left):
            assert not len(sums)
            continue
        means = sorted(sums[["score", "pass_rate"]].round(9).itertuples(index=False, name=None))
        assert np.array(means) == pytest.approx(np.array(by_output(left, by)))
        table = xb.breakdown(fields, by, counted=not inside)
        counts = sums[["rows", "passed"]].astype(int).to_numpy().tolist()
        assert sorted(counts) == sorted(table[["rows", "passed"]].to_numpy().tolist())


LONG = frame(
    *(row(field=f"f{i}", outcome="structural", reason="invalid_output") for i in range(300)),
    *(row(field=f"f{i}", run="r2") for i in range(300)),
    *(row(field="a", document=f"d{i}") for i in range(2, 5)),
    *(row(field="a", document=f"d{i}", run="r2", outcome="omission") for i in range(2, 5)),
)
TWO = frame(row(), row(outcome="incorrect", metric="string_fuzzy"), row(field="b"))


def weighed(*nodes: tuple[str, str, float]) -> pd.DataFrame:
    return frame(*(row(field=f, outcome=outcome, weight=weight) for f, outcome, weight in nodes))


@pytest.mark.parametrize(
    "fields, score, pass_rate",
    [
        (LONG, [0.25, 0.75], [0.25, 0.75]),  # a long document is worth no more than a short one
        (TWO, [0.75], [0.5]),  # a node of two metrics passes where both do
        (weighed(("a", "correct", 1.0), ("b", "incorrect", 3.0)), [0.25], [0.25]),
        (weighed(("a", "correct", 0.0), ("b", "incorrect", 0.0)), [0.5], [0.5]),
        (weighed(("a", "correct", 0.0), ("b", "incorrect", 2.0)), [0.0], [0.0]),
        (weighed(("a", "correct", 1.0), ("b", "judge_error", 1.0)), [0.5], [0.5]),
    ],
)
def test_outputs_and_nodes_have_their_weights(
    fields: pd.DataFrame, score: list[float], pass_rate: list[float]
) -> None:
    runs = shown(fields, rows="run").rows
    assert (runs["score"].tolist(), runs["pass_rate"].tolist()) == (score, pass_rate)


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_runs_and_outputs_have_the_pass_rates_of_the_batch(profile: str) -> None:
    evs = xb.evaluate_runs(xb.load_dataset(), profile=profile, progress=False)
    found = shown(evs, rows="document", columns="run", measure="pass_rate")
    expected = evs.by_run.set_index("run")["pass_rate"]
    assert found.columns["pass_rate"].to_dict() == pytest.approx(expected.to_dict())
    outputs = evs.summary.set_index(["document", "run"])["pass_rate"].to_dict()
    cells = {place: cell.pass_rate for place, cell in found.cells.items()}
    assert cells == pytest.approx(outputs)


def test_a_name_in_two_schemas_is_two_fields() -> None:
    fields = frame(row(schema="s"), row(schema="t", outcome="omission"), row(schema="t", field="b"))
    view = FailureExplorer(fields)
    assert view._heatmap.rows.index.tolist() == ["t: a", "s: a", "b"]
    view.selected_cell = ("t: a", None)
    assert view.selection.index.tolist() == [1]
    assert "(f[\"field\"] == 'a') & (f[\"schema\"] == 't')" in view.code


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    "source, rows, columns",
    [
        (xb.evaluate(SCHEMA, {"a": 1}, {"a": 2}), ["a"], ["(none)"]),
        ({"x": {"d": xb.evaluate(SCHEMA, {"a": 1}, {"a": 2})}}, ["a"], ["d"]),
        ([xb.evaluate(SCHEMA, {"a": 1}, {"a": n}) for n in (2, 1)], ["a"], ["0", "1"]),
        (frame(row(field="a"), row(field="b", outcome="omission")), ["b", "a"], ["d1"]),
    ],
)
def test_sources(source: Any, rows: list[str], columns: list[str]) -> None:
    found = shown(source, rows="field", columns="document")
    assert (found.rows.index.tolist(), found.columns.index.tolist()) == (rows, columns)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda f: f.drop(columns="gold"), "there is no column 'gold'"),
        (lambda f: f.assign(outcome="corect"), "outcome 'corect' is unknown; did you mean"),
        (lambda _: {}, "holds no results"),
        (lambda _: 3, "int has no frame 'fields'"),
    ],
)
def test_what_holds_no_fields_is_refused(change: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        FailureExplorer(change(frame(row())))


MIXED = frame(
    row(field="b", outcome="incorrect", score=0.5, schema="s"),
    row(field="a", outcome="incorrect", score=0.2, schema="s"),
    row(field="made up", outcome="hallucination", reason="undeclared", schema="s"),
    row(field="z", outcome="correct", schema="t", document="d2"),
    row(field="y", outcome="incorrect", score=0.1, schema="t", document="d2"),
)


@pytest.mark.parametrize(
    "measure, expected",
    [("score", ["y", "a", "b", "z", "made up"]), ("pass_rate", ["b", "a", "y", "z", "made up"])],
)
def test_the_worst_come_first_and_invented_keys_last(measure: str, expected: list[str]) -> None:
    found = shown(MIXED, measure=measure)
    assert found.rows.index.tolist() == expected
    assert ("b", "d2") not in found.cells  # no row is not a zero


def test_pages_turn_and_leave_out_columns_without_their_fields() -> None:
    fields = frame(
        *(row(field=f"f{i:03}", document=f"d{i % 30:02}", schema="s") for i in range(100)),
        row(field="g", schema="t", document="last"),
    )
    view = FailureExplorer(fields, columns="document")
    assert (len(view._heatmap.rows), len(view._heatmap.columns)) == (40, 24)
    assert view._heatmap.column_page.total == 30
    view.perform("set:row_page", 2)
    assert view._heatmap.rows.index[-1] == "g"
    assert "last" in view._heatmap.columns.index
    view.valid_only = True
    assert view.row_page == 0


@given(batches, st.sampled_from(["", "disagree", "gained", "lost"]))
@SOME
def test_paths_are_compared_as_pandas_does(fields: pd.DataFrame, compare: str) -> None:
    fields = pd.concat([fields, frame(row(run="r1"), row(run="r2"))], ignore_index=True)
    view = FailureExplorer(fields)
    with view.changing():
        view.inside_arrays, view.a, view.b, view.compare = True, "r1", "r2", compare
    own = fields[fields["run"].isin(["r1", "r2"])]
    right = own["passed"].fillna(value=False).astype(bool)
    table = right.groupby([own[name] for name in ("document", "path", "run")]).all().unstack()  # noqa: PD010
    right, wrong = table.eq(True), table.eq(False)
    gained, lost = wrong["r1"] & right["r2"], right["r1"] & wrong["r2"]
    kept = {"": gained | True, "disagree": gained | lost, "gained": gained, "lost": lost}[compare]
    paths = pd.MultiIndex.from_frame(own[["document", "path"]])
    expected = own[paths.isin(kept[kept].index)]
    pd.testing.assert_frame_equal(view.selection, expected)
    found = eval(view.code, {"fields": fields})  # noqa: S307 - what the view writes to be pasted
    pd.testing.assert_frame_equal(found, expected)
    html = view.to_html()
    assert f"{gained.sum():,} value" in html
    assert f"{lost.sum():,} lost" in html
