"""`agreement`: kappa against scikit-learn and scipy, what is joined, what is left out."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import stats
from sklearn.metrics import cohen_kappa_score

import extractbench_nb as xb
from extractbench_nb.stats.agreements import agreement, kappa_interval, kappas
from extractbench_nb.stats.intervals import Drawing
from tests.stats.test_resampling import expanded
from tests.stats.verdicts import noisy, side


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("size", [2, 9, 200])
def test_kappa_is_that_of_scikit_learn(size: int, share: float) -> None:
    a, b = noisy(size, share, size)
    found = agreement(side(a), side(b), resamples=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both sides constant
        expected = cohen_kappa_score(a, b)
    assert found.kappa == pytest.approx(expected, nan_ok=True)
    assert found.raw == pytest.approx(np.mean(a == b))
    assert found.rows == found.table.to_numpy().sum() == size


@pytest.mark.parametrize("documents", [12, 60])
def test_interval_over_documents_is_that_of_scipy(documents: int) -> None:
    drawing = Drawing(0.9, 1500, 3)
    counts = np.random.default_rng(0).poisson([8, 1, 1, 3], (documents, 4)).astype(float)

    def kappa(*cells: Any, axis: int = -1) -> Any:
        total = np.stack([c.sum(axis=axis) for c in cells], axis=-1)
        return kappas(total.reshape(*total.shape[:-1], 2, 2))

    expected = stats.bootstrap(
        tuple(counts.T),
        kappa,
        paired=True,
        vectorized=True,
        n_resamples=1500,
        confidence_level=expanded(0.9, documents),
        rng=drawing.generator(documents, "bootstrap"),
    ).confidence_interval
    found = kappa_interval(counts.reshape(-1, 2, 2), drawing)
    assert found.method == "BCa"
    assert list(found[:2]) == pytest.approx(list(expected), abs=1e-9)


def test_interval_over_rows_is_near_that_of_scipy() -> None:
    """Both draw 9,999 resamples of 150 rows, in different ways."""
    a, b = noisy(150, 0.15)
    found = agreement(side(a), side(b))
    expected = stats.bootstrap(
        (a, b),
        lambda x, y: kappas(np.histogram2d(x, y, bins=2)[0]).item(),
        paired=True,
        vectorized=False,
        n_resamples=4000,
        rng=1,
    ).confidence_interval
    assert (found.unit, found.units) == ("rows", 150)
    assert [found.kappa_low, found.kappa_high] == pytest.approx(list(expected), abs=0.015)


def test_rows_of_one_document_do_not_count_as_independent() -> None:
    """Ten documents, all rows of each alike: the interval is that of ten, not of a thousand."""
    a, b = (np.repeat(x, 100) for x in noisy(10, 0.3, 4))
    clustered = side(a).assign(document=np.repeat([f"d{i}" for i in range(10)], 100))
    other = clustered.assign(passed=pd.array(b, dtype="boolean"))
    wide, narrow = agreement(clustered, other), agreement(side(a), side(b))
    assert wide.kappa == narrow.kappa
    assert wide.kappa_high - wide.kappa_low > 4 * (narrow.kappa_high - narrow.kappa_low)


@pytest.mark.parametrize(
    "a, b, kappa, text",
    [
        ([True] * 3, [True] * 3, math.nan, "undefined: both sides say 'pass' in every row"),
        ([False] * 3, [False] * 3, math.nan, "undefined: both sides say 'fail' in every row"),
        ([True] * 3, [False] * 3, 0.0, "Cohen's kappa 0.000 [n/a] (undefined"),
        ([True, False], [False, True], -1.0, "Cohen's kappa -1.000 [-1.000"),
        ([None, True], [True, None], math.nan, "undefined: no row has a verdict on both sides"),
        ([True], [True], math.nan, "1.000 of 1 row"),
    ],
)
def test_degenerate_tables(a: Any, b: Any, kappa: float, text: str) -> None:
    found = agreement(side(a), side(b), resamples=100)
    assert found.kappa == pytest.approx(kappa, nan_ok=True)
    assert text in repr(found)
    assert "<div" in found._repr_html_()
    if math.isnan(kappa):
        assert (found.kappa_low, found.kappa_high, found.kappa_method) == (None, None, "undefined")


def test_no_bca_where_resamples_have_no_kappa() -> None:
    a, b = [True] * 10 + [False] * 2, [True] * 11 + [False]
    for documents in (0, 12):
        found = agreement(side(a, documents), side(b, documents), resamples=1000)
        assert found.kappa_method.startswith("percentile, 1")
        assert found.kappa_low < found.kappa < found.kappa_high


def test_rows_without_a_verdict_are_left_out_and_counted() -> None:
    found = agreement(side([True, None, True, False]), side([True, True, None, False]))
    assert (found.rows, found.unjudged, found.raw) == (2, 2, 1.0)


def test_order_of_rows_and_other_index_leave_no_trace() -> None:
    a, b = noisy(90, 0.2)
    one = agreement(side(a, 9), side(b, 9))
    shuffled = (side(x, 9).sample(frac=1, random_state=i) for i, x in enumerate((a, b)))
    two = agreement(*shuffled)
    assert_frame_equal(one.table, two.table)
    assert one.kappa == two.kappa
    assert [one.kappa_low, one.kappa_high] == pytest.approx(
        [two.kappa_low, two.kappa_high], abs=0.02
    )


def test_nodes_with_one_metric_twice_are_paired_in_order() -> None:
    twice = pd.concat([side([True, False]), side([False, True])])
    found = agreement(twice, twice)
    assert (found.rows, found.raw) == (4, 1.0)
    other = agreement(twice, pd.concat([side([True, False]), side([False, False])]))
    assert (other.rows, other.raw) == (4, 0.75)


def test_fields_whose_metric_was_changed_are_compared_with_themselves() -> None:
    a, b = side([True, True, False]), side([True, False, True])
    b.loc[1:, "metric"] = "string_fuzzy"
    found = agreement(a, b)
    assert (found.rows, found.unmatched, found.other_metric) == (3, (0, 0), 2)
    assert found.disagreements[["path", "metric", "metric_b"]].to_numpy().tolist() == [
        ["$.f1", "string_exact", "string_fuzzy"],
        ["$.f2", "string_exact", "string_fuzzy"],
    ]
    assert "2 rows have another metric in b" in repr(found)
    named = agreement(*(frame.assign(metric="same") for frame in (a, b)))
    assert_frame_equal(found.table, named.table)
    assert found.kappa_low == named.kappa_low
    assert (named.other_metric, "metric_b" in named.disagreements) == (0, False)


def test_equal_metrics_are_joined_first() -> None:
    """Of a field with two metrics, only the one that changed is compared with another."""
    one = pd.concat([side([True]), side([False], metric="string_fuzzy")])
    two = pd.concat([side([True], metric="string_semantic"), side([False], metric="string_fuzzy")])
    found = agreement(one, two)
    assert (found.rows, found.raw, found.other_metric) == (2, 1.0, 1)
    extra = agreement(side([True]), two)
    assert (extra.rows, extra.unmatched, extra.other_metric) == (1, (0, 1), 1)


TWO_RUNS = pd.concat([side([True, False], run="x"), side([True, True], run="y")])


@pytest.mark.parametrize(
    "a, b, options, message",
    [
        (
            side([True]),
            side([True]).drop(columns="path"),
            {},
            "fields of b: there is no column 'path'",
        ),
        (
            side([True], document="u"),
            side([True], document="v"),
            {},
            "(joined on document, path, metric); a has document 'u', b has document 'v'",
        ),
        (side([True]).iloc[:0], side([True]), {}, "a has no rows"),
        (TWO_RUNS, side([True, True]), {}, "a has 2 runs and b has no column 'run'"),
        (side([True, True]), TWO_RUNS, {}, "add it to a, or pass a single run of b"),
        (
            TWO_RUNS,
            TWO_RUNS.replace({"run": {"x": "v", "y": "w"}}),
            {},
            "a has run 'x', 'y', b has run 'v', 'w'",
        ),
        (side([True]), side([True]), {"resamples": 5}, "resamples=5"),
        (None, side([True]), {}, "NoneType has no frame 'fields'"),
    ],
)
def test_what_is_refused(a: Any, b: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(xb.InputError) as caught:
        agreement(a, b, **options)
    assert message in str(caught.value)


def test_runs_join_where_both_have_several() -> None:
    found = agreement(TWO_RUNS, TWO_RUNS[TWO_RUNS["run"] == "y"], resamples=100)
    assert (found.rows, found.unmatched) == (2, (2, 0))
