"""From the verdicts on values to pairs of items, to arrays, to the counts of a document.

The rules of the profiles change records whose verdicts are known. One is needed earlier: whether an
inner array scores its F1 or its recall counts when its items are compared, in `similarity`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from math import nan
from typing import Any

from extractbench_nb.core.pairing import Part, holds_something, pair_up, undeclared
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.schema.schema_nodes import (
    BROKEN,
    MISFIT,
    MISSING,
    NOWHERE,
    PRESENT,
    Node,
    Unusable,
    state_of,
)
from extractbench_nb.core.scoring import ALIGNED, Scored, Scorer, point_score
from extractbench_nb.core.similarity import MapItem, array_score, never_match, pass_threshold
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.traversal import (
    PAIRED,
    ROOT,
    ArrayRecord,
    Leaf,
    Pair,
    Paths,
    Traversal,
    array_items,
    in_order,
)
from extractbench_nb.core.values import json_text, json_type, member


def decide(walk: Traversal, profile: Profile) -> None:
    """Decide all pairs and arrays of a traversal whose verdicts are known, by a profile's rules."""
    for array in reversed(walk.arrays):  # innermost first
        decide_array(array, profile)
    if profile.count_array_leaves:
        for array in walk.arrays:  # `count_leaves` appends the arrays in items without a partner
            count_leaves(walk, array)
    if profile.undeclared_is_hallucination:
        add_invented(walk.top, *walk.documents, ROOT)
        for array in walk.arrays:
            for pair in array.pairs if _gives_way(array) else ():
                i, j = pair.gold_index, pair.predicted_index
                node = array.node.item(i if i is not None else (j or 0))
                if j is not None and node is not None and pair.status != "apart":
                    ours, theirs = _item(array.gold_items, i), _item(array.predicted_items, j)
                    add_invented(pair, node, ours, theirs, array.item_paths(i, j))


# --- pairs of items and arrays --------------------------------------------------------------------


def decide_array(array: ArrayRecord, profile: Profile) -> None:
    """Decide an array whose inner arrays are decided: its pairs, counts and score."""
    threshold = pass_threshold(array.node, "align_threshold", 0.5)
    for pair in array.pairs:
        decide_pair(pair, array, profile, threshold)
    array.matched = sum(pair.status == "matched" for pair in array.pairs)
    array.verdicts = [
        _aligned_verdict(verdict, array, profile) if verdict.outcome == ALIGNED else verdict
        for verdict in array.verdicts
    ]


def decide_pair(pair: Pair, array: ArrayRecord, profile: Profile, threshold: float) -> None:
    """Decide whether two items match, once their records are decided."""
    total, count, unjudged, failed = 0.0, 0, 0, list(pair.failed_fields)
    for child in pair.children:
        score, passed = point_score(child.verdicts)
        if not passed:
            failed.append(child.node.field)
        if passed is None:
            pair.unresolved = True
            unjudged += 1
        elif score is not None and (PRESENT in child.states):
            total += score
            count += 1
    if pair.similarity is None:
        pair.similarity = total / count if count else float(not failed)
        if array.node.flattened and count:
            same_key = array.node.field + ".*" not in pair.failed_fields
            pair.similarity = (pair.similarity + same_key) / 2
    pair.failed_fields = tuple(dict.fromkeys(failed))
    under_another_key = array.node.flattened and array.node.field + ".*" in failed
    if not failed:
        pair.status = "matched"
    elif under_another_key and profile.count_array_leaves and not pair.is_given:
        # as in any map: the leaves of gold's entry are missing, those of the predicted are invented
        pair.status = "apart"
    else:
        similarity = pair.similarity
        if unjudged and profile.count_array_leaves:
            # a pair needs enough judged leaves before its leaves count: unjudged ones score 0 here
            similarity = similarity * count / (count + unjudged)
        pair.status = "differing" if similarity >= threshold or pair.is_given else "apart"


def _aligned_verdict(open_verdict: Scored, array: ArrayRecord, profile: Profile) -> Scored:
    gold, predicted, matched = len(array.gold_items), len(array.predicted_items), array.matched
    unresolved = [pair for pair in array.pairs if pair.unresolved]
    may_match = matched + sum(pair.status != "matched" for pair in unresolved)
    score = array_score(matched, gold, predicted, profile.array_score)
    best = array_score(may_match, gold, predicted, profile.array_score)
    threshold = pass_threshold(array.node)
    # undecided: with the open verdicts it may pass or not; the score is what is certain
    undecided = score < threshold <= best
    passed = None if undecided else score >= threshold
    outcome = "judge_error" if undecided else "correct" if passed else "incorrect"
    reason, reasoning = "items_differ", None
    if unresolved:
        reason, reasoning = "judge_error_in_items", _unresolved_text(unresolved, len(array.pairs))
    elif matched == gold == predicted:
        reason = "all_matched"
    elif _has_other_types(array):
        reason = "gold_type_mismatch"
    return open_verdict._replace(
        score=score, passed=passed, outcome=outcome, reason=reason, reasoning=reasoning
    )


def _has_other_types(array: ArrayRecord) -> bool:
    """Whether gold has items of a type that the schema does not have, and that cannot match."""
    types = array.node.children.items.types if array.node.children.items is not None else ()
    mine = {json_type(item) for item in array.gold_items}
    faults = mine - set(types) if types else set()
    others = {json_type(item) for item in array.predicted_items}
    containers = {"object", "array"}
    return any(a != b and {a, b} & containers for a in faults for b in others)


def _unresolved_text(unresolved: Sequence[Pair], pairs: int) -> str:
    errors = (
        verdict.reasoning
        for pair in unresolved
        for child in pair.children
        for verdict in child.verdicts
        if verdict.outcome == "judge_error"
    )
    first = next(errors, None)
    text = f"{len(unresolved)} of {pairs} aligned pairs have a field without a verdict"
    return f"{text}, the first: {first}" if first else text


# --- profile strict: the leaves of array items count in place of their array ----------------------

# Leaves of missed items are omissions; leaves of spurious items and undeclared predicted leaves are
# hallucinations. If items were not aligned, none of their leaves has a verdict.


def count_leaves(walk: Traversal, array: ArrayRecord) -> None:
    """Count item leaves instead of an array, and give missed and spurious items their rows."""
    if not array.counted or not _gives_way(array):
        return
    paired = [pair for pair in array.pairs if pair.status in PAIRED]
    gold_indices = {pair.gold_index for pair in paired}
    predicted_indices = {pair.predicted_index for pair in paired}
    missed = [i for i in range(len(array.gold_items)) if i not in gold_indices]
    spurious = [j for j in range(len(array.predicted_items)) if j not in predicted_indices]
    one_sided = [
        *(Pair(i, None, status="missed") for i in missed),
        *(Pair(None, j, status="spurious") for j in spurious),
    ]
    for pair in one_sided:
        _enter_one_sided(walk, array, pair)
    array.pairs.extend(one_sided)
    for pair in paired:
        node = array.node.item(pair.gold_index or 0)
        gold = _item(array.gold_items, pair.gold_index)
        predicted = _item(array.predicted_items, pair.predicted_index)
        if not pair.children and node is not None and never_match(gold, predicted):
            paths = array.item_paths(pair.gold_index, pair.predicted_index)
            _enter_present(walk, pair, node, gold, predicted, paths)
    in_items = [child for pair in (*paired, *one_sided) for child in pair.children]
    for child in _without_verdict(array, one_sided, in_items):
        _remove_verdicts(child, array)
    # leaves that are absent on both sides do not count
    present = [child for child in in_items if PRESENT in child.states]
    for child in present:
        child.counted = True
        child.weight = child.node.weight * array.weight
    # if the gold items have no leaves, only the array can count
    in_gold = not array.gold_items or any(child.states[0] == PRESENT for child in present)
    array.counted = not (present and in_gold)


def _gives_way(array: ArrayRecord) -> bool:
    """Whether leaves count in its place; what another metric decides on the whole is one field."""
    return all(spec.entry.aligns for spec in array.node.specs)


def _without_verdict(array: ArrayRecord, one_sided: list[Pair], in_items: list[Leaf]) -> list[Leaf]:
    """Return the records of items that a missing verdict kept from being paired."""
    if array.unaligned:
        return in_items
    unsure = [pair for pair in array.pairs if pair.status == "apart" and pair.unresolved]
    ends = {(p.gold_index, None) for p in unsure} | {(None, p.predicted_index) for p in unsure}
    unknown = [pair for pair in one_sided if (pair.gold_index, pair.predicted_index) in ends]
    return [child for pair in unknown for child in pair.children]


def _remove_verdicts(leaf: Leaf, array: ArrayRecord) -> None:
    """Remove the verdicts of a record inside an array, for the same reason as the array's."""
    array_verdict = array.unaligned or array.verdicts[0]
    no_verdict = array_verdict._replace(score=None, passed=None, outcome="judge_error", calls=())
    leaf.verdicts = [no_verdict._replace(metric=v.metric, weight=v.weight) for v in leaf.verdicts]
    if isinstance(leaf, ArrayRecord):
        leaf.unaligned = no_verdict


def _enter_one_sided(walk: Traversal, array: ArrayRecord, pair: Pair) -> None:
    """Record the values of an item that is on one side only."""
    i, j = pair.gold_index, pair.predicted_index
    node = array.node.item(i if i is not None else (j or 0))
    gold, paths = _item(array.gold_items, i), array.item_paths(i, j)
    predicted = _item(array.predicted_items, j)
    if j is None:
        predicted = _in_place_of_items(array)
        if i is not None and isinstance(predicted, Unusable):  # what is broken may stand elsewhere
            paths = array.paths.below(array.gold_steps[i])
    if node is not None:
        _enter_present(walk, pair, node, gold, predicted, paths)


def _enter_present(
    walk: Traversal, pair: Pair, node: Node, gold: Any, predicted: Any, paths: Paths
) -> None:
    """Record the values of a pair, except those that are absent on both sides."""
    walk.enter(pair, node, gold, predicted, paths)
    pair.children = [child for child in pair.children if PRESENT in child.states]


def _in_place_of_items(array: ArrayRecord) -> Any:
    """Return the predicted value of a missed item: missing, or broken if the array is."""
    if isinstance(array.predicted, Unusable):
        return array.predicted
    outcomes = {verdict.outcome for verdict in array.verdicts}
    reasons = {verdict.reason for verdict in array.verdicts}
    if "structural" in outcomes:
        return BROKEN.of(array.predicted)
    return MISFIT.of(array.predicted) if MISFIT.reason in reasons else MISSING


def _item(items: list[Any], index: int | None) -> Any:
    if index is None:
        return MISSING
    item = items[index]
    return item.item if isinstance(item, MapItem) else item


# --- profile strict: invented values --------------------------------------------------------------


def add_invented(parent: Pair, node: Node, gold: Any, predicted: Any, paths: Paths) -> None:
    """Add a hallucination for each predicted leaf that the schema and gold do not have."""
    parts = list(undeclared(node, predicted, gold, compared=True))
    if not parts:
        return
    scored = {leaf.paths.gold for leaf in parent.children}
    # an invented object that was scored as a whole, in the place of a scalar or an array
    wholes = tuple(
        leaf.paths.gold + mark
        for leaf in parent.children
        if isinstance(leaf.predicted, dict) and leaf.node.kind != "object"
        for mark in ".["
    )
    nodes: dict[str, Node] = {}
    for part in parts:
        path = paths.gold + part.path
        if path in scored or path.startswith(wholes):
            continue
        verdicts = [Scored("undeclared", 0.0, False, "hallucination", part.reason)]
        for name, suffix, value in _beyond_gold(part):
            if name not in nodes:
                at = nodes[name] = copy(NOWHERE)
                at.field, at.depth = (node.field + name).removeprefix("."), node.depth + 1
            leaf = Leaf(nodes[name], paths.below(suffix), MISSING, value, True, verdicts, 1.0)
            parent.children.append(leaf)


def _beyond_gold(part: Part) -> Iterator[tuple[str, str, Any]]:
    """Yield the predicted leaves in excess of gold's, counted per path without indices."""
    gold_leaves, gold_containers = _by_field(part.gold, part.path)
    predicted_leaves, predicted_containers = _by_field(part.value, part.path)
    for field, candidates in predicted_leaves.items():
        own = gold_leaves.get(field, ())
        # a leaf may also stand for an object or array that gold has at this path
        containers = max(0, gold_containers[field] - predicted_containers[field])
        if own:
            # leaves with a value of gold's count first, then those with a path of gold's
            paths, values = {path for path, _ in own}, {json_text(value) for _, value in own}
            candidates = sorted(  # noqa: PLW2901
                candidates,
                key=lambda leaf: (json_text(leaf[1]) not in values, leaf[0] not in paths),
            )
        for path, value in candidates[len(own) + containers :]:
            yield field, path, value


def _by_field(value: Any, path: str) -> tuple[dict[str, list[tuple[str, Any]]], Counter[str]]:
    """Return the leaves below a value by their path without indices, each with its own path.

    Beside them the number of objects and arrays that hold leaves, by their path without indices.
    """
    leaves: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    containers: Counter[str] = Counter()
    stack = [] if value is MISSING else [(path, path, value)]
    while stack:
        field, path, top = stack.pop()
        if isinstance(top, dict):
            steps = [
                (step, step, inner) for key, inner in top.items() for step in [member(str(key))]
            ]
        elif isinstance(top, list | tuple):
            steps = [("[]", f"[{i}]", inner) for i, inner in enumerate(top)]
        else:
            if top is not None:
                leaves[field].append((path, top))
            continue
        containers[field] += holds_something(top)
        stack.extend((field + name, path + step, inner) for name, step, inner in reversed(steps))
    return leaves, containers


# --- the counts of a document ---------------------------------------------------------------------

#: Where a node has several metrics, the first of these that occurs is the node's outcome.
_PRECEDENCE = ("judge_error", "structural", "omission", "hallucination", "incorrect", "correct")


def summarise(counted: Sequence[Leaf], *, by_field: bool) -> dict[str, Any]:
    """Aggregate the counted nodes; `by_field`: ``field_score`` averages schema fields first."""
    verdicts = [node_verdict(leaf.verdicts) for leaf in counted]
    weights = [leaf.weight for leaf in counted]
    passes = [(float(bool(passed)), w) for (_, passed, _), w in zip(verdicts, weights, strict=True)]
    judged = [
        point for point, verdict in zip(passes, verdicts, strict=True) if verdict[1] is not None
    ]
    outcomes = Counter([outcome for *_, outcome in verdicts])
    scores: dict[str | int, list[tuple[float, float]]] = defaultdict(list)
    overall: list[tuple[float, float]] = []
    gold_values = predicted_values = right = 0
    for place, (leaf, verdict) in enumerate(zip(counted, verdicts, strict=True)):
        score, passed, weight = verdict[0] or 0.0, bool(verdict[1]), leaf.weight
        scores[leaf.node.field if by_field else place].append((score, weight))
        items = len(leaf.gold_items) if isinstance(leaf, ArrayRecord) else 1
        overall.append((score, weight * (items or 1)))
        gold_state, predicted_state = leaf.states
        # an accepted alternative may be a value where gold has none, or none where gold has one
        gold_values += (predicted_state if passed else gold_state) == PRESENT
        if predicted_state == PRESENT:
            predicted_values += 1
            right += passed
    passed_nodes = sum(passed > 0 for passed, _ in judged)
    fields = [(_mean(some), max(weight for _, weight in some)) for some in scores.values()]
    both = gold_values + predicted_values
    return {
        "pass_rate": _mean(passes),
        "overall_score": _mean(overall),
        "field_score": _mean(fields),
        "pass_rate_judged": _mean(judged) if judged or not passes else nan,
        "precision": right / predicted_values if predicted_values else nan,
        "recall": right / gold_values if gold_values else nan,
        "f1": 2 * right / both if both else nan,
        "evaluated": len(passes),
        "judged": len(judged),
        "passed": passed_nodes,
        "failed": len(judged) - passed_nodes,
        "omissions": outcomes["omission"],
        "hallucinations": outcomes["hallucination"],
        "structural": outcomes["structural"],
        "judge_errors": outcomes["judge_error"],
    }


def _mean(values: list[tuple[float, float]]) -> float:
    """Return the weighted mean; the plain one if no weight is above 0, and 1 for no values."""
    if len(values) == 1 and values[0][1] == 1.0:
        return min(1.0, values[0][0])
    weight = sum([w for _, w in values])
    if weight > 0:
        return min(1.0, sum([value * w for value, w in values]) / weight)
    return min(1.0, sum([value for value, _ in values]) / len(values)) if values else 1.0


def null_pass_rate(walk: Traversal, root: Node, gold: Any, profile: Profile) -> float:
    """Return the pass rate of a prediction in which everything is null; without a judge.

    A null is right where gold has nothing. In ``strict`` the leaves of all gold items are omissions
    whatever was predicted, and `walk` has their records. Nulls are recorded only where they may be
    accepted alternatives, or where the prediction is not JSON.
    """
    points, in_items = pair_up(root, gold, None), list[Leaf]()
    if profile.count_array_leaves:
        top = {id(leaf) for leaf in walk.top.children}
        in_items = [
            leaf
            for leaf in in_order(walk.top.children)
            if leaf.counted and id(leaf) not in top and leaf.states[0] == PRESENT
        ]
    accepted = walk.scorer.accepted
    configs = [node.config for node in (*(at[0] for at in points), *(at.node for at in in_items))]
    is_recorded = walk.documents[0] is not NOWHERE or not profile.count_array_leaves
    has_classes = any(config is not None and config.accepted for config in configs)
    if not is_recorded or has_classes or accepted.scalars or accepted.items:
        nulls = Traversal(Scorer(profile, OfflineJudge(), accepted), "optimal")
        nulls.descend(root, gold, None)
        decide(nulls, profile)
        counted = [leaf for leaf in in_order(nulls.top.children) if leaf.counted]
        return _mean([(float(bool(point_score(x.verdicts)[1])), x.weight) for x in counted])
    replaced = {leaf.paths.gold for leaf in walk.top.children if not leaf.counted}
    passes = [
        (float(state_of(value, node) != PRESENT), node.weight)
        for node, value, _, suffix in points
        if not (ROOT.gold + suffix in replaced and array_items(node, value)[0])
    ]
    return _mean(passes + [(0.0, leaf.weight) for leaf in in_items])


def node_verdict(verdicts: Sequence[Scored]) -> tuple[float | None, bool | None, str]:
    """Return score, verdict and outcome of a node from those of its metrics: the gravest one."""
    if len(verdicts) == 1:
        return verdicts[0][1:4]
    outcomes = {v.outcome for v in verdicts}
    outcome = next((o for o in _PRECEDENCE if o in outcomes), "both_absent")
    return *point_score(verdicts), outcome
