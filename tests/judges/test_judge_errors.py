"""The offline judge on seeded edits of held-out texts: error rates by kind stay within bounds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from extractbench_nb.judges.offline import OfflineJudge
from tests.judges.corruptions import (
    HELD_OUT,
    PASS,
    TUNING,
    count_errors,
    gold_strings,
    make_cases,
    wilson,
)
from tests.judges.frames import FRAMES, frame_texts

SAMPLE = Path(__file__).resolve().parents[2] / "dataset"
PER_KIND = 40


@pytest.fixture(scope="module", params=["sample", "extract-bench"])
def counts(request):
    folders = {"sample": SAMPLE}
    if request.param != "sample":
        given = os.environ.get("EXTRACTBENCH_DATASET")
        if not given:
            pytest.skip("EXTRACTBENCH_DATASET is not set")
        folders = {"extract-bench": Path(given)}
    return count_errors(OfflineJudge(), make_cases(folders, HELD_OUT, 3, PER_KIND))


@pytest.fixture(scope="module")
def edited():
    return make_cases({"sample": SAMPLE}, TUNING, 5, 12)


def describe(wrong):
    return "\n".join(f"{c.kind.name}: {c.gold[:120]!r} / {c.edited[:120]!r}" for c in wrong)


@pytest.mark.parametrize("keeps", [False, True], ids=["false accepts", "false rejects"])
def test_errors_are_rare(counts, keeps):
    """At most one wrong verdict of 40 or 80 in a kind, and under 0.2 % overall."""
    rows = [c for c in counts if c.kind.keeps_meaning is keeps]
    wrong = [case for row in rows for case in row.wrong]
    sys.stdout.write(describe(wrong))
    assert len(rows) >= (30 if keeps else 40)
    assert all(len(row.wrong) <= 1 for row in rows), describe(wrong)
    assert len(wrong) <= 0.002 * sum(row.n for row in rows), describe(wrong)


def test_the_measure_can_fail(edited):
    class Always:
        def compare(self, gold, predicted):
            return type("V", (), {"score": 1.0})

    for row in count_errors(Always(), edited):
        assert len(row.wrong) == (0 if row.kind.keeps_meaning else row.n)


def test_verdicts_are_symmetric(edited):
    judge = OfflineJudge()
    for case in edited:
        one, two = judge.compare(case.gold, case.edited), judge.compare(case.edited, case.gold)
        assert one == two, case


def test_two_edits_that_keep_the_meaning_keep_the_verdict(edited):
    """A pair that differs still differs after a space or a final period is added to one side."""
    judge = OfflineJudge()
    for case in edited:
        before = judge.compare(case.gold, case.edited).score >= PASS
        assert (judge.compare(f" {case.gold} ", case.edited).score >= PASS) is before, case


def test_the_halves_share_no_text():
    assert set(FRAMES[TUNING]).isdisjoint(FRAMES[HELD_OUT])
    texts = [set(gold_strings(SAMPLE, half)) for half in (TUNING, HELD_OUT)]
    assert all(texts)
    assert frame_texts(HELD_OUT, 1, 1) == frame_texts(HELD_OUT, 1, 1)


@pytest.mark.parametrize(
    "wrong, n, low, high",
    [(0, 300, 0.0, 0.0126), (3, 300, 0.0034, 0.0290), (0, 0, 0.0, 1.0), (10, 10, 0.7225, 1.0)],
)
def test_wilson_interval(wrong, n, low, high):
    assert wilson(wrong, n) == pytest.approx((low, high), abs=5e-4)
