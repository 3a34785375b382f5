"""What rows sum up to: counts of rows, and means in which every output counts once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.widgets.failures.coding import Coded, Numbers, Reals

__all__ = ["Sums", "counted", "rounded"]


class Sums(NamedTuple):
    """Per group: rows, those that pass, those of invalid outputs; means, 0 where no rows are.

    ``mean_score`` and ``pass_rate`` are in [0, 1].
    """

    rows: Numbers
    passed: Numbers
    invalid: Numbers
    mean_score: Reals
    pass_rate: Reals


def counted(rows: Coded, places: Numbers, groups: Numbers, size: int) -> Sums:
    """Sum up rows by group.

    Parameters
    ----------
    rows : Coded
        All rows.
    places : numpy.ndarray of int
        Those to sum up.
    groups : numpy.ndarray of int
        The group of each of them, from 0.
    size : int
        Number of groups.

    Returns
    -------
    Sums
        One entry a group. The two means are taken over the nodes of each output, with their
        weights, and then over the outputs, as `Evaluations.by_run` does: a document of 300 fields
        is worth no more than one of 6. A node without a verdict adds 0.
    """
    outputs, nodes = rows.outputs, rows.nodes
    keys, pairs = pd.factorize(groups * len(outputs.firsts) + outputs.codes[places])
    owners = pairs // max(1, len(outputs.firsts))
    weighed = np.bincount(keys, weights=nodes.weight[places], minlength=len(pairs)) > 0
    weights = np.where(weighed[keys], nodes.weight[places], nodes.share[places])
    whole = np.bincount(keys, weights=weights, minlength=len(pairs))
    several = np.maximum(1, np.bincount(owners, minlength=size))

    def mean(values: Reals) -> Reals:
        per_output = np.bincount(keys, weights=weights * values, minlength=len(pairs)) / whole
        means = np.bincount(owners, weights=per_output, minlength=size) / several
        return np.asarray(np.round(means, 12))

    return Sums(
        np.bincount(groups, minlength=size),
        np.bincount(groups[rows.passed[places]], minlength=size),
        np.bincount(groups[rows.invalid[places]], minlength=size),
        mean(nodes.score[places]),
        mean(nodes.passed[places].astype(np.float64)),
    )


def rounded(values: Reals | float) -> Reals:
    """Round to four digits; only an exact 0 and an exact 1 become 0 and 1.

    Parameters
    ----------
    values : numpy.ndarray of float, or float
        In [0, 1].

    Returns
    -------
    numpy.ndarray of float
        Of the same shape.

    Examples
    --------
    >>> rounded(np.array([0.0, 0.00001, 0.12345, 0.99999, 1.0])).tolist()
    [0.0, 0.0001, 0.1234, 0.9999, 1.0]
    """
    exact = np.asarray(values, dtype=np.float64)
    ends = (exact <= 0) | (exact >= 1)
    return np.where(ends, exact, np.clip(np.round(exact, 4), 0.0001, 0.9999))
