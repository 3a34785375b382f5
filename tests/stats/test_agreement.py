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
from extractbench_nb import agreement
from extractbench_nb.stats import Drawing, kappas
from tests.stats.test_resampling import expanded
from tests.stats.verdicts import noisy, side


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("size", [2, 9, 200])
def test_kappa_is_that_of_scikit_learn(size: int, share: float) -> None:
    a, b = noisy(size, share, size)
    found = agreement(side(a), side(b))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both sides constant
        expected = cohen_kappa_score(a, b)
    assert found.kappa == pytest.approx(expected, nan_ok=True)
    assert found.raw == pytest.approx(np.mean(a == b))
    wilson = stats.binomtest(int((a == b).sum()), size).proportion_ci(0.95, method="wilson")
    assert (found.raw_low, found.raw_high) == pytest.approx((wilson.low, wilson.high))
    assert found.rows == found.table.to_numpy().sum() == size


@pytest.mark.parametrize("documents", [12, 60])
def test_intervals_over_documents_are_those_of_scipy(documents: int) -> None:
    options: dict[str, Any] = {"confidence": 0.9, "resamples": 9999, "seed": 0}
    a, b = noisy(documents * 10, 0.2)
    found = agreement(side(a, documents), side(b, documents), confidence=0.9)
    counts = np.zeros((documents, 4))
    np.add.at(counts, (np.arange(len(a)) % documents, 2 * a + b), 1)

    def kappa(*cells: Any, axis: int = -1) -> Any:
        total = np.stack([c.sum(axis=axis) for c in cells], axis=-1)
        return kappas(total.reshape(*total.shape[:-1], 2, 2))

    def share(*cells: Any, axis: int = -1) -> Any:
        sums = [c.sum(axis=axis) for c in cells]
        return (sums[0] + sums[3]) / sum(sums)

    for statistic, ends in (
        (kappa, (found.kappa_low, found.kappa_high)),
        (share, (found.raw_low, found.raw_high)),
    ):
        expected = stats.bootstrap(
            tuple(counts.T),
            statistic,
            paired=True,
            vectorized=True,
            n_resamples=9999,
            confidence_level=expanded(0.9, documents),
            rng=Drawing(**options).generator(documents, "bootstrap"),
        ).confidence_interval
        assert ends == pytest.approx(tuple(expected), abs=1e-9)
    assert (found.kappa_method, found.documents) == ("BCa", documents)


@pytest.mark.parametrize(
    "a, b, kappa, text",
    [
        ([True] * 3, [True] * 3, math.nan, "kappa: n/a [n/a] (undefined)"),
        ([False] * 3, [False] * 3, math.nan, "kappa: n/a [n/a] (undefined)"),
        ([True] * 3, [False] * 3, 0.0, "kappa: 0.000 [n/a] (undefined)"),
        ([True, False], [False, True], -1.0, "kappa: -1.000 [n/a] (one document)"),
        ([None, True], [True, None], math.nan, "2 rows left out"),
        ([True], [True], math.nan, "of 1 row of 1 document"),
    ],
)
def test_degenerate_tables(a: Any, b: Any, kappa: float, text: str) -> None:
    found = agreement(side(a), side(b))
    assert found.kappa == pytest.approx(kappa, nan_ok=True)
    assert text in repr(found)
    assert "<div" in found._repr_html_()
    if math.isnan(kappa):
        assert (found.kappa_low, found.kappa_high, found.kappa_method) == (None, None, "undefined")


def test_no_bca_where_resamples_have_no_kappa() -> None:
    a, b = [True] * 10 + [False] * 2, [True] * 11 + [False]
    found = agreement(side(a, 12), side(b, 12))
    assert found.kappa_method.startswith("percentile, 1")
    assert found.kappa_low < found.kappa < found.kappa_high


def test_order_of_rows_and_other_index_leave_no_trace() -> None:
    a, b = noisy(90, 0.2)
    one = agreement(side(a, 9), side(b, 9))
    shuffled = (side(x, 9).sample(frac=1, random_state=i) for i, x in enumerate((a, b)))
    two = agreement(*shuffled)
    assert_frame_equal(one.table, two.table)
    ends = ([found.kappa_low, found.kappa_high] for found in (one, two))
    assert next(ends) == pytest.approx(next(ends), abs=0.02)


def test_rows_are_joined_first_with_the_metric_and_then_without() -> None:
    """Of a field with two metrics, only the one that changed is compared with another."""
    one = pd.concat([side([True]), side([False], metric="string_fuzzy")])
    two = pd.concat([side([True], metric="string_semantic"), side([False], metric="string_fuzzy")])
    found = agreement(one, two)
    assert (found.rows, found.raw) == (2, 1.0)
    changed = agreement(side([True]), side([False], metric="string_semantic"))
    assert changed.disagreements[["path", "metric", "metric_b"]].values.tolist() == [
        ["$.f0", "string_exact", "string_semantic"]
    ]
    extra = agreement(side([True]), two)
    assert (extra.rows, extra.unmatched) == (1, (0, 1))
    twice = pd.concat([side([True, False]), side([False, True])])
    assert (agreement(twice, twice).rows, agreement(twice, twice).raw) == (4, 1.0)
    open_ = agreement(side([True, None, True, False]), side([True, True, None, False]))
    assert (open_.rows, open_.unjudged, open_.raw) == (2, 2, 1.0)


TWO_RUNS = pd.concat([side([True, False], run="x"), side([True, True], run="y")])


def test_runs_join_where_both_have_several() -> None:
    found = agreement(TWO_RUNS, TWO_RUNS[TWO_RUNS["run"] == "y"])
    assert (found.rows, found.unmatched) == (2, (2, 0))


@pytest.mark.parametrize(
    "a, b, options, message",
    [
        (side([1]), side([1]).drop(columns="path"), {}, "fields of b: there is no column 'path'"),
        (
            side([True], document="u"),
            side([True], document="v"),
            {},
            "(joined on document, path, metric); document is 'u' in a and 'v' in b",
        ),
        (side([True]).iloc[:0], side([True]), {}, "path is no rows in a"),
        (TWO_RUNS, side([True, True]), {}, "a has 2 runs and b has no column 'run'"),
        (side([True, True]), TWO_RUNS, {}, "add it to a, or pass a single run of b"),
        (side([True]), side([True]).assign(passed="yes"), {}, "passed of b: expected True"),
        (side([True]), side([True]), {"confidence": 5}, "confidence=5"),
        (None, side([True]), {}, "NoneType has no frame 'fields'"),
    ],
)
def test_what_is_refused(a: Any, b: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(xb.InputError) as caught:
        agreement(a, b, **options)
    assert message in str(caught.value)
