"""`feedback`: failures of one or many outputs as a few lines, for people and for optimisers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core import CountedNodes
from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.core.text import read_number
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError
from extractbench_nb.stats.breakdowns import gather
from extractbench_nb.stats.mismatches import mismatch_kinds
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.folding import is_placeholder
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import code_text, ratio_text

FEEDBACK_COLUMNS = FrameSpec(
    "frame",
    "one row per field and kind of failure, the most costly first",
    (
        Column("schema", "string", "schema id; missing if there is none", nullable=True),
        Column("fields", "object", "list of the fields that fail in this way"),
        Column("kind", "string", "kind of mismatch, or what is missing, extra or invalid"),
        Column("failures", "int64", "failing fields, items or outputs", "1 and up"),
        Column("outputs", "int64", "outputs in which they fail", "1 and up"),
        Column("cost", "float64", "increase in the pass rate without these failures", "-1 to 1"),
        Column("problem", "string", "description of the kind"),
        Column("suggestion", "string", "what to change; empty for other kinds"),
        Column("examples", "object", "two dicts: run, document, path, gold, predicted, times"),
    ),
)

_BAD_GOLD = "correct the gold value or the schema; no prompt can fix this"
#: Problem and suggestion, by kind.
_ADVICE = {
    "invalid_output": ("not JSON", "return one JSON value and nothing else"),
    "missing_items": ("items missing", "list every item, to the last page"),
    "spurious_items": ("items extra", "list only the items that this field describes"),
    "extra": ("extra", "leave it out or null unless the document states it"),
    "missing": ("missing", "look for it again; gold has a value"),
    "undeclared": ("not in the schema", "return only fields that the schema declares"),
    "gold_type_mismatch": ("where gold has another type than the schema", _BAD_GOLD),
    "judge_error": ("without a verdict", "run the judge again; the output may be right"),
    "null_word": ("a word for nothing", "return null, not a word for it"),
    "null_word_in_gold": (
        "where gold is a word for nothing",
        "correct the gold value, or copy the word",
    ),
    "json_type": ("of another JSON type", "return the JSON type that the schema declares"),
    "writing": ("written differently", "write it as gold does in the examples"),
    "unit": ("with another unit", "keep the unit that gold has in the examples"),
    "sign": ("with the other sign", "keep the sign; parentheses and a minus are negative"),
    "other_item": ("of another item", "keep the rows apart: each value belongs to its own item"),
    "misplaced": ("of another field", "check the descriptions of the fields of this object"),
    "rounding": ("with other digits", "give as many digits as gold does in the examples"),
    "day_month_swapped": ("with day and month swapped", "check the order of day and month"),
    "date": ("another date", "check which of the dates in the document is meant"),
    "order": ("in another order", "keep the order of the words in the examples"),
    "truncated": ("cut short", "copy the whole value"),
    "extra_text": ("with words added", "return the value alone, without the words around it"),
    "typo": ("a few letters or a digit off", "copy it as printed, character by character"),
    "structural": ("of another type", "return the type that the schema declares"),
    "power_of_ten": ("off by a power of ten", "give the number in the unit of the field"),
    "other": ("another value", "check the description of the field against the examples"),
}
#: Kinds of other failures, by outcome.
_KINDS = {"hallucination": "extra", "omission": "missing", "incorrect": "other"}
#: Kinds with one cause for all fields of a schema, so that their fields go together.
_SHARED = ("power_of_ten", "json_type", "null_word", "day_month_swapped", "undeclared")
_POWERS = {1: ("ten", ""), 2: ("a hundred", ""), 3: ("a thousand", "thousands")}
_POWERS |= {6: ("a million", "millions"), 9: ("a billion", "billions")}
_READ = "path field metric score passed outcome reason gold predicted gold_state predicted_state"
_EXAMPLE = ("run", "document", "path", "gold", "predicted", "times")
_NAMED = 3


@dataclass(frozen=True, repr=False, eq=False)
class Feedback(TextCard, DescribedFrames):
    """Failures by field and kind; ``str`` is its text. Made by `feedback`."""

    _specs = (FEEDBACK_COLUMNS,)

    pass_rate: float
    most: int
    _counts: str
    _frame: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """A copy of the frame with one row per field and kind of failure, most costly first."""
        return self._frame.copy()

    def __repr__(self) -> str:
        """Write a head, a line of Markdown per row of `frame`, and a line about the others."""
        if math.isnan(self.pass_rate):
            return "no field is scored"
        lines = [f"pass rate {ratio_text(self.pass_rate)}: {self._counts}"]
        is_several = len(set(self._frame["schema"].dropna())) > 1
        rows = self._frame.head(self.most).to_dict("records")
        lines.extend(_line(row, row["schema"] if is_several else None) for row in rows)
        if (rest := self._frame["cost"].iloc[self.most :]).size:
            lines.append(f"- {rest.size:,} more (cost {ratio_text(max(0.0, rest.sum()))})")
        return "\n".join(lines)


def feedback(source: object, *, most: int = 10) -> Feedback:
    """Group the failures of one or many outputs by field and kind, most costly first.

    Parameters
    ----------
    source : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with `fields`, as in `breakdown`; filter the frame ``fields`` for a single run.
    most : int, optional
        The maximum number of lines, 1 and up. If there would be more, fields that fail only once
        are grouped by kind.

    Returns
    -------
    Feedback
        ``str`` returns Markdown for people and for models that rewrite prompts; ``frame`` contains
        all lines. The cost is the increase in the mean pass rate without these failures; an item on
        one side only counts as one failure. Suggestions depend only on the kind of failure, so
        check whether gold is wrong instead.

    Raises
    ------
    InputError
        The source contains no fields or mixes two profiles, or `most` is not a positive integer.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> schema = {"type": "object", "properties": {"net": {"type": "number"}}}
    >>> print(xb.feedback(xb.evaluate(schema, {"net": 7000}, {"net": 7})))
    pass rate 0.000: 0 of 1 fields pass
    - 1 x `net` a thousand times too small (cost 1.000): give the number in the unit of the field \
(is the document in thousands?); e.g. `$.net` gold `7000`, predicted `7`
    """
    if type(most) is not int or most < 1:
        raise InputError(f"most is {most!r}; expected an integer, 1 and up")
    fields = gather(source, "fields")
    refuse_missing(fields, (*_READ.split(), "counted"))
    kinds = pd.array(mismatch_kinds(fields), dtype="string")
    fields = fields.assign(mismatch=kinds, weight=fields.get("weight", 1.0))
    nodes = CountedNodes(fields, None)
    passing = int((~nodes.failing).sum())
    among = f", in {nodes.outputs:,} outputs" if nodes.outputs > 1 else ""
    counts = f"{passing:,} of {len(nodes.rows):,} fields pass{among}"
    frame = FEEDBACK_COLUMNS.from_records(_fold(nodes, most) if nodes.failing.any() else [])
    return Feedback(nodes.score if len(nodes.rows) else math.nan, most, counts, frame)


def _fold(nodes: CountedNodes, most: int) -> list[dict[str, Any]]:
    """Fold the failing nodes: one record per line, the most costly first."""
    names, kinds, items = nodes.named()
    rows = nodes.rows.assign(name=names, kind=kinds, item=items, output=nodes.output)
    groups: dict[Any, list[dict[Any, Any]]] = defaultdict(list)
    for row in rows.assign(at=np.arange(len(rows)))[nodes.failing].to_dict("records"):
        kind = _kind(row)
        schema = row.get("schema") if kind != "invalid_output" else None
        groups[schema, row["name"], kind].append(row)
    folded: dict[Any, list[dict[Any, Any]]] = defaultdict(list)
    for (schema, name, kind), group in groups.items():
        is_folded = kind.startswith(_SHARED) or (len(groups) > most and len(group) == 1)
        folded[schema, "" if is_folded else name, kind] += group
    records = []
    for (schema, name, kind), group in folded.items():
        record = _record(kind, group) | {"schema": schema}
        if kind.endswith("_items") and (schema, f"{name}[]", "gold_type_mismatch") in groups:
            record["suggestion"] = f"gold's items have another type: {_BAD_GOLD}"
        taken = np.zeros(len(rows), dtype=bool)
        taken[[row["at"] for row in group]] = True
        records.append(record | {"cost": nodes.without(taken) - nodes.score})
    return sorted(records, key=lambda record: (-round(record["cost"], 9), -record["failures"]))


def _kind(row: Mapping[Any, Any]) -> str:
    """Name the kind of a failing node: of its item or document, its mismatch, or its reason."""
    reason, mismatch = str(row["kind"]), row["mismatch"]
    if reason in _ADVICE:
        return reason
    if mismatch == "power_of_ten":  # with n, where predicted is gold * 10^n
        values = (row["predicted"], row["gold"])
        x, y = (read_number(v) or 1.0 if isinstance(v, str) else v for v in values)
        return f"{mismatch}:{round(math.log10(abs(x / y))) if x and y else 0}"
    if mismatch == "unit" and row["outcome"] == "structural":  # the number alone is asked for
        return "structural"
    if isinstance(mismatch, str):
        is_in_gold = isinstance(row["gold"], str) and is_placeholder(row["gold"])
        return "null_word_in_gold" if mismatch == "null_word" and is_in_gold else mismatch
    return _KINDS.get(row["outcome"], str(row["outcome"]))


def _record(kind: str, group: list[dict[Any, Any]]) -> dict[str, Any]:
    """Fold nodes that fail in the same way; an item is shown by its longest leaf."""
    kind, _, power = kind.partition(":")
    problem, suggestion = _ADVICE.get(kind, (kind.replace("_", " "), ""))
    if n := int(power or 0):
        times, unit = _POWERS.get(abs(n), (f"10^{abs(n)}", ""))
        problem = f"{times} times too {'small' if n < 0 else 'large'}"
        suggestion += f" (is {'the document' if n < 0 else 'gold'} in {unit}?)" if unit else ""
    shown: dict[Any, tuple[str, dict[Any, Any]]] = {}
    for row in sorted(group, key=lambda row: int(row["at"])):
        pair, place = canonical((row["gold"], row["predicted"])), (row["output"], row["item"])
        if place not in shown or len(pair) > len(shown[place][0]):
            shown[place] = (pair, row)
    first = dict(reversed(shown.values()))
    examples = [
        {name: (first[pair] | {"times": times}).get(name) for name in _EXAMPLE}
        for pair, times in Counter(pair for pair, _ in shown.values()).most_common(2)
    ]
    return {
        "fields": [name for name, _ in Counter(row["name"] for row in group).most_common()],
        "kind": kind,
        "failures": len(shown),
        "outputs": len({row["output"] for row in group}),
        "problem": problem,
        "suggestion": suggestion,
        "examples": examples,
    }


def _line(row: Mapping[Any, Any], schema: str | None) -> str:
    names = ", ".join(map(code_text, row["fields"][:_NAMED]))
    if (more := len(row["fields"]) - _NAMED) > 0:
        names += f" and {more:,} more"
    names += f" of {code_text(schema)}" if isinstance(schema, str) else ""
    texts = []
    for example in row["examples"]:
        is_document = row["kind"] == "invalid_output"
        text = code_text("$" if is_document else example["path"])
        text += "" if is_document else f" {values_text(example)}"
        text += f" in {code_text(name)}" if isinstance(name := example["document"], str) else ""
        texts.append(text + (f" ({example['times']:,} x)" if example["times"] > 1 else ""))
    what = f"{names} {row['problem']} (cost {ratio_text(max(0.0, row['cost']))})"
    advice = f": {row['suggestion']}" if row["suggestion"] else ""
    return f"- {row['failures']:,} x {what}{advice}; e.g. {'; '.join(texts)}"


def values_text(row: Mapping[Any, Any]) -> str:
    """Write gold and predicted of a row as Markdown on one line."""
    values = (row["gold"], row["predicted"])
    texts = ("absent" if value is None else code_text(canonical(value)) for value in values)
    return "gold {}, predicted {}".format(*texts)
