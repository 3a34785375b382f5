"""Why a score is low: the fields that cost most, and the score without their failures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.similarity import array_score
from extractbench_nb.core.values import canonical, json_type
from extractbench_nb.support.wording import one_line, plural, ratio_text

#: A branch is named instead of its parent if it has this share of the parent's loss.
_MOST_OF = 0.8
#: A field's weight is named if it is more than this share of all weights.
_OUTWEIGHS = 0.5
_NAMED, _LONGEST = 3, 32
_DOCUMENT, _INVALID = "$", "invalid_output"
#: Reasons of an output that has no values.
_NOT_JSON = ("invalid_output", "unparsable_json")

#: What failed, by reason or outcome; other reasons are written with spaces.
_WORDS = {
    "different": "different texts",
    "different_number": "different numbers",
    "different_date": "different dates",
    "value_mismatch": "different values",
    "type_mismatch": "another type than the schema declares",
    "gold_type_mismatch": "gold has another type than the schema declares",
    "gold_missing": "gold has none",
    "gold_null": "gold null",
    "predicted_missing": "missing",
    "predicted_null": "predicted null",
    "predicted_empty": "predicted empty",
    "required_missing": "missing",
    "undeclared": "not in the schema",
    "items_differ": "items differ",
    "judge_error": "no verdict",
}
_TYPES = {"string": "text", "object": "objects", "array": "arrays", "null": "null"}
_FIELD_STEP = re.compile(r"\['(?:[^'\\]|\\.)*'\]|\[\]|\.?[^.\[\]]+", re.DOTALL)
#: The outermost item of a path.
_ITEM = r"^((?:[^\[]|\[')*?\[\+?\d+\])"


class Cause(NamedTuple):
    """One cause of a score: failures that would raise it by `cost` if they were gone.

    ``failing`` of ``of`` are outputs' fields, or items for an array; ``fields`` are those that
    fail, ``kind`` is the reason code, ``missing_items``, ``spurious_items`` or ``fails_only_in``.
    """

    fields: tuple[str, ...]
    kind: str
    failing: int
    of: int
    cost: float
    text: str


class Causes(NamedTuple):
    """Why a score is low; `text` is one sentence, empty if nothing fails."""

    score: float
    causes: tuple[Cause, ...]
    #: The score if what `text` names first did not fail.
    without: float
    text: str


def find_causes(result: Any, path: str | None = None, *, measure: str = "pass_rate") -> Causes:
    """Find what a document, an array or a batch loses its score to.

    Parameters
    ----------
    result : Evaluation, Evaluations or pandas.DataFrame
        A result, or its frame ``fields``, which may be a selection of runs and documents.
    path : str, optional
        Instance path of an array of an Evaluation, for the causes of the array's score.
    measure : {"pass_rate", "overall_score"}
        The measure, a mean over counted fields; over several outputs, the mean over outputs.

    Returns
    -------
    Causes
        The most expensive cause first. A wrong or missing value is taken away by the gold value; an
        invented one by its absence; a missing or spurious item by adding or removing the item.
    """
    if path is not None:
        return _array_causes(result, path)
    fields = result if isinstance(result, pd.DataFrame) else result.fields
    arrays = None if measure == "pass_rate" else result.arrays
    return CountedNodes(fields, arrays).causes(result)


class CountedNodes:
    """The counted fields of outputs: one row per node, whatever its number of metrics."""

    def __init__(self, fields: pd.DataFrame, arrays: pd.DataFrame | None) -> None:
        ids = [name for name in ("run", "document") if name in fields]
        counted = fields[fields["counted"].to_numpy(dtype=bool)].reset_index(drop=True)
        labels = counted[[*ids, "path", "gold_state", "predicted_state"]].astype(object)
        # the metrics of a node follow each other; its row is that of the first one that fails
        node = (labels != labels.shift()).any(axis=1).cumsum()
        passes = counted["passed"].fillna(False).astype(bool).groupby(node)
        rows = counted.loc[passes.idxmin().to_numpy(dtype=int)].reset_index(drop=True)
        passed = passes.all().to_numpy(dtype=bool)
        score = counted["score"].fillna(0.0).astype(float).groupby(node).mean().to_numpy()
        weight = rows["weight"].to_numpy(dtype=float)
        if arrays is not None:
            items = arrays.set_index([*(i for i in ids if i in arrays), "path"])["gold_items"]
            keys = rows["path"] if not ids else pd.MultiIndex.from_frame(rows[[*ids, "path"]])
            found = items[~items.index.duplicated()].reindex(keys).to_numpy(dtype=float)
            weight = weight * np.fmax(1.0, found)
        self.rows, self.failing, self.weight = rows, ~passed, weight
        lost = 1.0 - (passed if arrays is None else score)
        self.outputs, self.output = 1, np.zeros(len(rows), dtype=int)
        if ids:
            outputs = pd.MultiIndex.from_frame(fields[ids].drop_duplicates())
            self.outputs = max(1, len(outputs))
            self.output = outputs.get_indexer(pd.MultiIndex.from_frame(rows[ids]))
        in_items = rows["field"].str.contains(r"\[\]|\.\*", regex=True).to_numpy(dtype=bool)
        invented = (rows["outcome"] == "hallucination").to_numpy(dtype=bool)
        is_undeclared = (rows["metric"] == "undeclared").to_numpy(dtype=bool)
        #: Those that do not count any more if the value is gone.
        self.vanishing = invented & (in_items | is_undeclared)
        is_flat = (self._sums(weight) == 0)[self.output]  # only weights of 0 count all the same
        self.weight = np.where(is_flat, 1.0, weight)
        self.gains = self.weight * lost
        self.score = self.without(np.zeros(len(rows), dtype=bool))

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """Sum up a value of the nodes for each output."""
        return np.bincount(self.output, values, self.outputs).astype(float)

    def without(self, taken: np.ndarray) -> float:
        """Return the score if some of the nodes did not fail."""
        kept = np.where(taken & self.vanishing, 0.0, self.weight)
        totals = self._sums(kept)
        lost = self._sums(np.where(taken, 0.0, self.gains))
        shares = np.divide(lost, totals, out=np.zeros_like(lost), where=totals > 0)
        return float(np.clip(1.0 - shares, 0.0, 1.0).mean()) if len(shares) else 1.0

    def causes(self, result: Any) -> Causes:
        """Find the branch that costs most, and what costs most in it."""
        if not self.failing.any():
            return Causes(self.score, (), self.score, "")
        fields, kinds, items = self.named()
        groups: dict[tuple[str, str], list[int]] = {}
        for at in np.flatnonzero(self.failing):
            groups.setdefault((fields[at], kinds[at]), []).append(int(at))
        totals = self._sums(self.weight)
        loss = self.gains / np.where(totals > 0, totals, 1.0)[self.output]
        losses = {key: float(loss[some].sum()) for key, some in groups.items()}
        branch = _branch(losses)
        inside = {key: cost for key, cost in losses.items() if _is_below(key[0], branch)} or losses
        ranked = sorted(inside, key=lambda key: -round(inside[key], 9))
        of = Counter(fields)
        causes = []
        for key in ranked[:_NAMED]:
            some = groups[key]
            number = len(set(zip(self.output[some], items[some], strict=True)))
            without = self._without(some)
            what = self._what(key[1], some, number, result)
            causes.append(Cause((key[0],), key[1], number, of[key[0]], without - self.score, what))
        taken = [at for key in inside for at in groups[key]]
        without = self._without(taken)
        text = self._sentence(branch, causes, taken, without)
        return Causes(self.score, tuple(causes), without, text)

    def _without(self, nodes: Sequence[int]) -> float:
        taken = np.zeros(len(self.rows), dtype=bool)
        taken[list(nodes)] = True
        return self.without(taken)

    def named(self) -> tuple[list[str], list[str], np.ndarray]:
        """Name the field, the kind of failure and the item of each node.

        The nodes of an item that is on one side only are one failure of their array, and those of
        an output that is not JSON one failure of the document.
        """
        rows, names = self.rows, self.rows["field"].replace("", _DOCUMENT).astype(object).tolist()
        kinds = rows["reason"].astype(object).tolist()
        paths = rows["path"].astype(object)
        item = paths.str.extract(_ITEM, expand=False)
        is_missing = (rows["outcome"] == "omission") & (rows["predicted_state"] == "missing")
        # as numbers, since groupby cannot hold a lone surrogate
        keys = [self.output, pd.factorize(item.fillna("").to_numpy(dtype=object))[0]]
        whole = is_missing.groupby(keys).transform("all") & item.notna()
        extra = item.str.contains("[+", regex=False).fillna(False) & self.failing
        invalid = rows["reason"].isin(_NOT_JSON).to_numpy(dtype=bool)
        one_sided = np.flatnonzero(((whole & self.failing) | extra) & ~invalid)
        named = paths.to_numpy().copy()
        for at in np.flatnonzero(invalid):
            names[at] = named[at] = _DOCUMENT
            kinds[at] = _INVALID
        for at in one_sided:
            names[at] = names[at].partition("[]")[0]
            kinds[at] = "spurious_items" if extra.iloc[at] else "missing_items"
            named[at] = item.iloc[at]
        return names, kinds, named

    def _what(self, kind: str, some: Sequence[int], number: int, result: Any) -> str:
        """Say how some nodes fail: by their values if these are short and the same, or by kind."""
        if kind == _INVALID:
            return f"{plural(number, 'output')} {'is' if number == 1 else 'are'} not JSON"
        if kind.endswith("_items"):
            return f"{plural(number, 'item')} {kind.removesuffix('_items')}"
        rows = self.rows.iloc[list(some)]
        if kind == "gold_type_mismatch" and hasattr(result, "schema"):
            return _types_differ(rows.iloc[0], result.schema)
        if kind == "items_differ" and len(rows) == 1 and hasattr(result, "array_path"):
            inner = _array_causes(result, rows.iloc[0]["path"]).causes
            return inner[0].text if inner else _WORDS[kind]
        sides = (
            ["missing" if is_missing else _text(value) for is_missing, value in pairs]
            for pairs in (
                zip(rows[f"{side}_state"] == "missing", rows[side], strict=True)
                for side in ("gold", "predicted")
            )
        )
        return _values_text(*sides) or _WORDS.get(kind, kind.replace("_", " "))

    def _sentence(
        self, branch: str, causes: Sequence[Cause], taken: Sequence[int], without: float
    ) -> str:
        score, name, first = ratio_text(self.score), _quoted(branch), causes[0]
        if not branch:
            return f"{score} because {_several(causes)}"
        if first.kind == _INVALID:
            return f"{score} because {first.text}; without that {ratio_text(without)}"
        weight, total = self.weight[list(taken)].sum(), self.weight.sum()
        if len(causes) > 1:
            failing = int(self.failing.sum())
            share = "all" if len(taken) == failing else f"{len(taken):,} of"
            # gold of another type than the schema's explains what is missing and spurious beside it
            types = [cause.text for cause in causes if cause.kind == "gold_type_mismatch"]
            parts = ", ".join(_part(cause, branch) for cause in causes)
            how = f" and its {types[0]}" if types else f": {parts}"
            why = f"{share} {failing:,} failing fields are in {name}{how}"
        elif len(taken) == 1 and weight > max(1, _OUTWEIGHS * total):
            what = first.text
            fails = f"its {what}" if what.startswith("gold is ") else f"fails ({what})"
            why = f"{name} weighs {weight:,.6g} of {total:,.6g} and {fails}"
        elif first.kind.endswith("_items"):
            items, _, gone = first.text.rpartition(" ")
            why = f"{items} of {name} {'is' if first.failing == 1 else 'are'} {gone}"
        else:
            often = f" in {first.failing:,} of {first.of:,}" if first.of > 1 else ""
            why = f"{_quoted(first.fields[0])} fails{often} ({first.text})"
        if self.outputs > 1:
            why += f", in {plural(len(set(self.output[list(taken)])), 'output')}"
        return f"{score} because {why}; without that {ratio_text(without)}"


def _part(cause: Cause, branch: str) -> str:
    """Write one of several causes in a branch, with its number of failures."""
    if cause.kind.endswith("_items"):
        return cause.text
    rest = cause.fields[0].removeprefix(branch).removeprefix("[]").removeprefix(".")
    return f"{_quoted(rest or branch)} {cause.failing:,} ({cause.text})"


def _several(causes: Sequence[Cause]) -> str:
    """Join causes with what each costs; those that cost the same are named together."""
    by_cost: dict[tuple[bool, str], list[Cause]] = {}
    for cause in causes:
        by_cost.setdefault((cause.kind == _INVALID, ratio_text(cause.cost)), []).append(cause)
    parts = []
    for (is_invalid, cost), some in by_cost.items():
        if is_invalid:
            parts.append(f"{some[0].text}, which costs {cost}")
        else:
            names = [f"{_quoted(cause.fields[0])} ({cause.text})" for cause in some]
            costs, each = ("costs", "") if len(names) == 1 else ("cost", " each")
            parts.append(f"{_and(names)} {costs} {cost}{each}")
    return ", ".join(parts)


def _branch(losses: dict[tuple[str, str], float]) -> str:
    """Go down from the document to the branch that has most of the loss; an empty text for none."""
    below: dict[tuple[str, ...], float] = {}
    for (field, _), loss in losses.items():
        steps = tuple(_FIELD_STEP.findall(field))
        for end in range(1, len(steps) + 1):
            below[steps[:end]] = below.get(steps[:end], 0.0) + loss
    here: tuple[str, ...] = ()
    whole = sum(losses.values())
    while True:
        next_ones = [s for s in below if len(s) == len(here) + 1 and s[: len(here)] == here]
        best = max(next_ones, key=below.__getitem__, default=None)
        if best is None or below[best] < _MOST_OF * whole:
            return "".join(here).removeprefix(".").removesuffix("[]")
        here, whole = best, max(below[best], 0.0)


def _is_below(field: str, branch: str) -> bool:
    return not branch or field == branch or field.startswith((branch + ".", branch + "["))


def _quoted(name: str) -> str:
    return f"`{one_line(name)}`"


def _and(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _values_text(gold: Sequence[str | None], predicted: Sequence[str | None]) -> str:
    """Write the values of a failure if they are short and the same in most of its places."""
    for (one, other), n in Counter(zip(gold, predicted, strict=True)).most_common(1):
        if one is None or other is None or n < _MOST_OF * len(gold):
            break
        return f"{'' if n == len(gold) else 'mostly '}gold {one}, predicted {other}"
    return ""


def _text(value: Any) -> str | None:
    """Write a value that is short and no object or array."""
    if isinstance(value, dict | list):
        return None
    text = canonical(value)
    return text if len(text) <= _LONGEST else None


def _types_differ(row: pd.Series[Any], schema: Any) -> str:
    """Say which type gold has and which one the schema declares."""
    node = next((n for n in schema.nodes() if n.schema_path == row["schema_path"]), None)
    values = [row["gold"]]
    if isinstance(row["gold"], list):
        values, node = row["gold"], node and node.children.items
    found, declared = (
        {_TYPES.get(kind, kind): None for kind in kinds}
        for kinds in (map(json_type, values), node.types if node is not None else ())
    )
    declared.pop("null", None)
    if len(found) != 1 or not declared:
        return _WORDS["gold_type_mismatch"]
    return f"gold is {next(iter(found))} where the schema declares {' or '.join(declared)}"


# --- arrays ---------------------------------------------------------------------------------------


def _array_causes(ev: Any, path: str) -> Causes:
    """Find why items of an array do not match, by the fields that fail together."""
    arrays, matches = ev.arrays, ev.matches
    array = arrays[arrays["path"] == ev.array_path(path)].iloc[0]
    if array["matched"] is pd.NA:
        return Causes(float("nan"), (), float("nan"), "its items were not aligned")
    matched, gold, predicted = (
        int(array[name]) for name in ("matched", "gold_items", "predicted_items")
    )
    kind = Profile.named(ev.profile).array_score
    score = array_score(matched, gold, predicted, kind)
    matches = matches[(matches["path"] == array["path"]) & (matches["status"] != "matched")]
    groups: dict[tuple[str, ...] | str, list[int]] = {}
    for at, (status, failed) in enumerate(
        zip(matches["status"], matches["failed_fields"], strict=True)
    ):
        groups.setdefault(status if status != "differing" else tuple(failed), []).append(at)
    causes = []
    fields: tuple[str, ...]
    for key, some in groups.items():
        n = len(some)
        if key == "missed":
            fields, of, mended = (), gold, (matched + n, gold, predicted + n)
            text = f"{n:,} of {gold:,} gold items {'is' if n == 1 else 'are'} missed"
        elif key == "spurious":
            fields, of, mended = (), predicted, (matched, gold, predicted - n)
            text = f"{n:,} of {predicted:,} predicted items {'is' if n == 1 else 'are'} spurious"
        else:
            fields, of, mended = tuple(key), gold, (matched + n, gold, predicted)
            text = f"{n:,} of {gold:,} items {'fails' if n == 1 else 'fail'} only in "
            text += _fields_text(fields, array["field"], matches.iloc[some])
        name = f"{key}_items" if isinstance(key, str) else "fails_only_in"
        causes.append(Cause(fields, name, n, of, array_score(*mended, kind) - score, text))
    causes.sort(key=lambda cause: -round(cause.cost, 9))
    if not causes:
        return Causes(score, (), score, "")
    cost = causes[0].cost
    same = [cause.text for cause in causes if round(cause.cost - cost, 9) == 0][:_NAMED]
    what = "one of them" if len(same) > 1 else "that"
    text = f"{ratio_text(score)} because {_and(same)}; without {what} {ratio_text(score + cost)}"
    return Causes(score, tuple(causes), score + cost, text)


def _fields_text(failed: Sequence[str], array: str, matches: pd.DataFrame) -> str:
    """Name the fields that fail together in items, with the values of a single one."""
    names = [name.removeprefix(f"{array}[]").removeprefix(".") or name for name in failed]
    shown = [_quoted(name) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        shown.append(f"{len(names) - _NAMED} more")
    if len(names) > 1:
        return _and(shown)
    sides = (
        [_text(_under(item, names[0])) for item in matches[side]] for side in ("gold", "predicted")
    )
    values = _values_text(*sides)
    return f"{shown[0]} ({values})" if values else shown[0]


def _under(item: Any, field: str) -> Any:
    """Return the value of a field of an item; the item itself if it is not in an object."""
    for step in _FIELD_STEP.findall(field):
        if isinstance(item, dict):
            item = item.get(step.removeprefix("."))
    return item
