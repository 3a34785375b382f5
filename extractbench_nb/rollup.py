"""From the verdicts of item fields back up to pairs of items, and from pairs to arrays."""

from __future__ import annotations

from collections.abc import Sequence

from extractbench_nb.alignment.similarity import array_score, pass_threshold, point_score
from extractbench_nb.profiles import Profile
from extractbench_nb.records import ArrayRecord, Pair, settled, states
from extractbench_nb.scoring import ALIGNED, Scored
from extractbench_nb.values import PRESENT

__all__ = ["roll_up"]


def roll_up(arrays: Sequence[ArrayRecord], profile: Profile) -> None:
    """Decide pairs and arrays, innermost first.

    Parameters
    ----------
    arrays : sequence of ArrayRecord
        In the order in which the traversal found them: outer before inner.
    profile : Profile
        The rules.
    """
    for array in reversed(arrays):
        for pair in array.pairs:
            _decide_pair(pair, array, profile)
        _decide_array(array, profile)


def _decide_pair(pair: Pair, array: ArrayRecord, profile: Profile) -> None:
    total, count, unjudged, failed = 0.0, 0, 0, list(pair.failed_fields)
    for child in pair.children:
        if isinstance(child, ArrayRecord):
            score, passed = child.score, child.passed
        else:
            score, passed = point_score(settled(child))
        if not passed:
            failed.append(child.node.field)
        if passed is None:
            pair.unresolved = True
            unjudged += 1
        elif score is not None and PRESENT in states(child):
            total += score
            count += 1
    if pair.similarity is None:
        alike = 1.0 if not failed else 0.0
        pair.similarity = total / count if count else alike
        if array.node.flattened and count:
            same_key = array.node.field + ".*" not in pair.failed_fields
            pair.similarity = (pair.similarity + same_key) / 2
    pair.failed_fields = tuple(dict.fromkeys(failed))
    if not failed:
        pair.status = "matched"
    else:
        # leaves that count may not count as a pair's because nobody could say how alike they are
        low = pair.similarity * count / (count + unjudged) if unjudged else pair.similarity
        alike = low if profile.count_array_leaves else pair.similarity
        mark = pass_threshold(array.node, "align_threshold", 0.5)
        # prefixItems belong together by their position, however little they are alike
        by_position = pair.gold_index in range(len(array.node.children.prefix))
        pair.status = "partial" if alike >= mark or by_position else "apart"


def _decide_array(array: ArrayRecord, profile: Profile) -> None:
    array.matched = sum(pair.status == "matched" for pair in array.pairs)
    array.verdicts = [
        _aligned_verdict(v, array, profile) if isinstance(v, Scored) and v.outcome == ALIGNED else v
        for v in array.verdicts
    ]
    array.score, array.passed = point_score(settled(array))


def _aligned_verdict(open_verdict: Scored, array: ArrayRecord, profile: Profile) -> Scored:
    score = array_score(
        array.matched, len(array.gold_items), len(array.predicted_items), profile.array_score
    )
    mark = pass_threshold(array.node)
    unresolved = sum(pair.unresolved and pair.status != "matched" for pair in array.pairs)
    best = array_score(
        array.matched + unresolved,
        len(array.gold_items),
        len(array.predicted_items),
        profile.array_score,
    )
    # undecided: with the open verdicts it may pass or not; the score is what is certain
    undecided = score < mark <= best
    passed = None if undecided else score >= mark
    outcome = "judge_error" if undecided else "correct" if passed else "incorrect"
    return open_verdict._replace(
        score=score,
        passed=passed,
        outcome=outcome,
        reason=_array_reason(array),
        reasoning=_unresolved_text(array),
    )


def _array_reason(array: ArrayRecord) -> str:
    if any(pair.unresolved for pair in array.pairs):
        return "judge_error_in_items"
    if array.matched == len(array.gold_items) == len(array.predicted_items):
        return "all_matched"
    reasons = {pair.reason for pair in array.pairs if pair.status != "matched"} - {""}
    if "gold_type_mismatch" in reasons:
        return "gold_type_mismatch"
    return "items_differ"


def _unresolved_text(array: ArrayRecord) -> str | None:
    count = sum(pair.unresolved for pair in array.pairs)
    if not count:
        return None
    errors = (
        verdict.reasoning
        for pair in array.pairs
        for child in pair.children
        for verdict in settled(child)
        if verdict.outcome == "judge_error"
    )
    first = next(errors, None)
    text = f"{count} of {len(array.pairs)} aligned pairs have a field without a verdict"
    return f"{text}, the first: {first}" if first else text
