"""The offline judge against our labelled pairs and against recorded verdicts of a real judge."""

import sys

import pytest

from extractbench_nb.core.text.offline_judge import OfflineJudge
from tests.judges.pairs import (
    PASS,
    in_holdout,
    measure,
    read_pairs,
    recorded_folders,
    recorded_pairs,
)

LABELLED = read_pairs("labelled_pairs.json")
LATER = read_pairs("tuning_pairs.json")
LAST_SET = "blind set 6"
PARTS = {
    "whole": LABELLED,
    "tuned on": [pair for pair in LABELLED if not in_holdout(pair)],
    "holdout": [pair for pair in LABELLED if in_holdout(pair)],
    "written later, tuned on": [pair for pair in LATER if not pair.source.startswith(LAST_SET)],
    "written last, first run": [pair for pair in LATER if pair.source.startswith(LAST_SET)],
}


def describe(pairs):
    return "\n".join(f"{p.source}: {p.gold[:80]!r} / {p.predicted[:80]!r}" for p in pairs)


@pytest.mark.parametrize("part", PARTS)
def test_error_rates(part):
    """Both kinds of error stay under the limits on every set.

    The pairs of kind "blind set N" were written before the judge saw them, and the failures of each
    set fixed before the next was written. Rates of their first run, false accepts and false
    rejects: set 1 (239 pairs) 0.0% and 8.5%, set 2 (300) 0.7% and 6.7%, set 3 (203) 1.0% and
    13.9%, set 4 (187) 0.0% and 7.5%, set 5 (110, equivalents harder on purpose) 0.0% and 23.7%,
    set 6 (125) 0.0% and 1.6%. Nothing was changed after set 6; the others count as tuned on.
    """
    errors = measure(OfflineJudge(), PARTS[part])
    rates = f"{errors.false_accepts:.1%} accepted, {errors.false_rejects:.1%} rejected"
    seen = [pair for pair in errors.pairs if not in_holdout(pair)]
    sys.stdout.write(f"\n{part}, wrongly: {rates}\n{describe(seen)}\n")
    assert errors.false_accepts <= 0.05, describe(errors.pairs)
    assert errors.false_rejects <= 0.10, describe(errors.pairs)


@pytest.mark.parametrize(
    "name, most_rejected", [("unseen_pairs.json", 0.16), ("held_out_pairs.json", 0.05)]
)
def test_pairs_by_authors_who_had_not_seen_the_rules(name, most_rejected):
    """Two sets of 300 pairs, written for realism.

    For the kinds of the first set, rules were then written: its first run had 0.0% false accepts
    and 43.3% false rejects. What is still rejected are paraphrases, synonyms and facts that only
    knowledge can tell. No rule was written for the second set: 0.0% and 4.4% at its first run.
    """
    errors = measure(OfflineJudge(), read_pairs(name))
    assert errors.false_accepts == 0, describe(errors.pairs)
    assert errors.false_rejects <= most_rejected, describe(errors.pairs)


@pytest.fixture(scope="module")
def recorded():
    folders = recorded_folders()
    if folders is None:
        pytest.skip("EXTRACTBENCH_RUNS and EXTRACTBENCH_DATASET are not set")
    return recorded_pairs(*folders)


def test_agreement_with_recorded_verdicts(recorded):
    judge = OfflineJudge()
    wrong = [p for p in recorded if (judge.compare(p.gold, p.predicted).score >= PASS) != p.same]
    distinct = {(p.gold, p.predicted) for p in recorded}
    distinct_wrong = {(p.gold, p.predicted) for p in wrong}
    by_row, by_pair = 1 - len(wrong) / len(recorded), 1 - len(distinct_wrong) / len(distinct)
    sys.stdout.write(
        f"\nagreement {by_row:.1%} of {len(recorded)} rows, {by_pair:.1%} of {len(distinct)} pairs"
    )
    sys.stdout.write(describe(wrong))
    assert len(recorded) >= 30
    assert by_row >= 0.93, describe(wrong)
    assert by_pair >= 0.93, describe(wrong)
