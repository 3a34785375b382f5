"""`feedback`: failures of one or many outputs as a few lines, for people and for optimisers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core import CountedNodes
from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.core.text import read_number
from extractbench_nb.core.values import canonical, json_text
from extractbench_nb.errors import InputError
from extractbench_nb.stats.breakdowns import gather
from extractbench_nb.stats.mismatches import mismatch_kinds
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.folding import is_placeholder
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import one_line, plural, ratio_text

FEEDBACK_COLUMNS = FrameSpec(
    "frame",
    "one row per field and kind of failure, the most costly first",
    (
        Column("schema", "string", "schema id; missing if there is none", nullable=True),
        Column("fields", "object", "list of the fields that fail in this way"),
        Column("kind", "string", "kind of mismatch, or what is missing, extra or invalid"),
        Column("failures", "int64", "failing fields, items or outputs", "1 and up"),
        Column("outputs", "int64", "outputs in which they fail", "1 and up"),
        Column("cost", "float64", "rise of the pass rate without these failures", "-1 to 1"),
        Column("problem", "string", "the kind in words"),
        Column("suggestion", "string", "what to change; empty for other kinds"),
        Column(
            "examples", "object", "up to two dicts: run, document, path, gold, predicted, times"
        ),
    ),
)

_BAD_GOLD = "correct gold or the schema, no prompt mends it"
#: Problem and suggestion, by kind.
_ADVICE = {
    "invalid_output": ("not JSON", "return one JSON value and nothing else"),
    "missing_items": ("items missing", "list every item, to the last page"),
    "spurious_items": ("items extra", "list only the items that this field describes"),
    "extra": ("extra", "leave it out or null unless the document states it"),
    "missing": ("missing", "look for it again; gold has a value"),
    "branch_mismatch": ("of another kind", "return the kind of value that gold has"),
    "undeclared": ("not in the schema", "return only fields that the schema declares"),
    "type_mismatch": ("of another type", "return the type that the schema declares"),
    "gold_type_mismatch": ("where gold has another type than the schema", _BAD_GOLD),
    "judge_error": ("without a verdict", "run the judge again; the output may be right"),
    "null_word": ("a word for nothing", "return null, not a word for it"),
    "null_word_in_gold": ("where gold is a word for nothing", "correct gold, or copy the word"),
    "json_type": ("of another JSON type", "return the JSON type that gold has"),
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
    "power_of_ten": ("off by a power of ten", "give the number in the unit of the field"),
    "other": ("another value", "check the description of the field against the examples"),
}
#: Kinds with one cause for all fields of a schema, so that their fields go together.
_SHARED = r"power_of_ten|json_type|null_word$|day_month_swapped|undeclared"
_FACTORS = {1: "ten", 2: "a hundred", 3: "a thousand", 6: "a million", 9: "a billion"}
_UNITS = {3: "thousands", 6: "millions", 9: "billions"}
_READ = "path field metric score passed outcome reason gold predicted gold_state predicted_state"
_EXAMPLE = ("run", "document", "path", "gold", "predicted", "times")
_NAMED, _LONGEST = 3, 60


@dataclass(frozen=True, repr=False, eq=False)
class Feedback(TextCard, DescribedFrames):
    """Failures by field and kind; ``str`` is its text. Made by `feedback`.

    ``pass_rate`` is the mean over outputs, ``most`` the largest number of lines.
    """

    _specs = (FEEDBACK_COLUMNS,)

    pass_rate: float
    most: int
    _counts: str
    _frame: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """One row per field and kind of failure, the most costly first; a copy."""
        return self._frame.copy()

    def __repr__(self) -> str:
        """Write a head, a line of Markdown per row of `frame`, and a line about the others."""
        lines = [f"pass rate {ratio_text(self.pass_rate)}: {self._counts}"]
        is_several = len(set(self._frame["schema"].dropna())) > 1
        rows = self._frame.head(self.most).to_dict("records")
        lines.extend(_line(row, row["schema"] if is_several else None) for row in rows)
        if (rest := self._frame["cost"].iloc[self.most :]).size:
            lines.append(f"- {rest.size:,} more (cost {ratio_text(max(0.0, rest.sum()))})")
        return "\n".join(lines)


def feedback(source: object, *, most: int = 10) -> Feedback:
    """Fold the failures of one or many outputs by field and kind, the most costly first.

    Parameters
    ----------
    source : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with `fields`, as in `breakdown`; filter the frame ``fields`` for a single run.
    most : int, optional
        Largest number of lines, 1 and up. If there would be more, fields that fail only once are
        folded by kind.

    Returns
    -------
    Feedback
        ``str`` is Markdown for a person, or for the model that rewrites a prompt; ``frame`` has the
        columns of `FEEDBACK_COLUMNS`, for all lines.

    Raises
    ------
    InputError
        The source holds no fields or is of two profiles, or `most` is no positive integer.

    Notes
    -----
    A cost is the mean pass rate over outputs without the failures of the line, less the pass rate.
    Costs do not add up exactly: an invented value no longer counts once it is gone. An item on one
    side only is one failure. A suggestion depends on the kind alone; gold may be wrong instead.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> schema = {"type": "object", "properties": {"net": {"type": "number"}}}
    >>> print(xb.feedback(xb.evaluate(schema, {"net": 7000}, {"net": 7})))
    pass rate 0.000: 0 of 1 fields pass
    - 1 x `net` a thousand times too small (cost 1.000): give the number in the unit of the field \
(is the document in thousands?); e.g. `$.net` gold `7000`, predicted `7`
    """
    if not isinstance(most, int) or most < 1:
        raise InputError(f"most is {most!r}; expected an integer, 1 and up")
    fields = gather(source, "fields")
    refuse_missing(fields, (*_READ.split(), "counted"))
    kinds = pd.array(mismatch_kinds(fields), dtype="string")
    fields = fields.assign(mismatch=kinds, weight=fields.get("weight", 1.0))
    nodes = CountedNodes(fields, None)
    passing = int((~nodes.failing).sum())
    counts = f"{passing:,} of {len(nodes.rows):,} fields pass"
    counts += f", in {nodes.outputs:,} outputs" if nodes.outputs > 1 else ""
    frame = FEEDBACK_COLUMNS.from_records(_fold(nodes, most) if nodes.failing.any() else [])
    return Feedback(nodes.score, most, counts, frame)


def _fold(nodes: CountedNodes, most: int) -> list[dict[str, Any]]:
    """Fold the failing nodes: one record per line, the most costly first."""
    names, kinds, items = nodes.named()
    rows = nodes.rows.assign(name=names, kind=kinds, item=items, output=nodes.output)
    failing = rows[nodes.failing]
    failing = failing.assign(kind=[_kind(row) for row in failing.to_dict("records")])
    schema = failing.get("schema", pd.Series(index=failing.index, dtype=object)).astype(object)
    failing["schema"] = schema.where(schema.notna() & (failing["kind"] != "invalid_output"), None)
    is_folded = failing["kind"].str.match(_SHARED)
    keys = [failing["schema"], failing["name"], failing["kind"]]
    sizes = failing.groupby(keys, dropna=False)["kind"].transform("size")
    if (1 / sizes).sum() > most:
        is_folded |= sizes == 1
    keys[1] = failing["name"].mask(is_folded, "")
    bad = failing[failing["kind"] == "gold_type_mismatch"]
    bad_items = set(zip(bad["schema"], bad["name"].str.removesuffix("[]"), strict=True))
    records = []
    for _, group in failing.groupby(keys, dropna=False, sort=False):
        record = _record(group)
        places = {(record["schema"], name) for name in record["fields"]}
        if record["kind"].endswith("_items") and places & bad_items:
            record["suggestion"] = f"gold's items have another type: {_BAD_GOLD}"
        taken = np.zeros(len(rows), dtype=bool)
        taken[group.index] = True
        records.append(record | {"cost": nodes.without(taken) - nodes.score})
    return sorted(records, key=lambda record: (-round(record["cost"], 9), -record["failures"]))


def _kind(row: Mapping[str, Any]) -> str:
    """Name the kind of a failing node: of its item or document, its mismatch, or its reason."""
    reason, mismatch = str(row["kind"]), row["mismatch"]
    if reason in ("invalid_output", "missing_items", "spurious_items", "undeclared"):
        return reason
    if mismatch == "power_of_ten":  # with n, where predicted is gold * 10^n
        values = (row["predicted"], row["gold"])
        x, y = (read_number(v) or 1.0 if isinstance(v, str) else v for v in values)
        return f"{mismatch}:{round(math.log10(abs(x / y))) if x and y else 0}"
    if isinstance(mismatch, str):
        is_in_gold = isinstance(row["gold"], str) and is_placeholder(row["gold"])
        return "null_word_in_gold" if mismatch == "null_word" and is_in_gold else mismatch
    if reason in ("gold_type_mismatch", "judge_error"):
        return reason
    return {"hallucination": "extra", "omission": "missing"}.get(row["outcome"], reason)


def _record(group: pd.DataFrame) -> dict[str, Any]:
    """Fold nodes that fail in the same way; an item is its first leaf."""
    kind, _, power = str(group["kind"].iloc[0]).partition(":")
    problem, suggestion = _ADVICE.get(kind, (kind.replace("_", " "), ""))
    if n := int(power or 0):
        times = _FACTORS.get(abs(n), f"10^{abs(n)}")
        problem = f"{times} times too {'small' if n < 0 else 'large'}"
        if abs(n) in _UNITS:
            whose = "the document" if n < 0 else "gold"
            suggestion += f" (is {whose} in {_UNITS[abs(n)]}?)"
    failures = group.drop_duplicates(["output", "item"])
    sides = zip(failures["gold"], failures["predicted"], strict=True)
    pairs = [json_text([*pair]) for pair in sides]
    examples = []
    for pair, times in Counter(pairs).most_common(2):
        row = failures.iloc[pairs.index(pair)].to_dict() | {"times": times}
        examples.append({name: row.get(name) for name in _EXAMPLE})
    return {
        "schema": group["schema"].iloc[0],
        "fields": group["name"].value_counts().index.tolist(),
        "kind": kind,
        "failures": len(failures),
        "outputs": group["output"].nunique(),
        "problem": problem,
        "suggestion": suggestion,
        "examples": examples,
    }


def _line(row: Mapping[str, Any], schema: str | None) -> str:
    names, more = ", ".join(map(coded, row["fields"][:_NAMED])), len(row["fields"]) - _NAMED
    names += f" and {more:,} more" if more > 0 else ""
    names += f" of {coded(schema)}" if isinstance(schema, str) else ""
    advice = f": {row['suggestion']}" if row["suggestion"] else ""
    line = f"- {row['failures']:,} x {names} {row['problem']} "
    line += f"(cost {ratio_text(max(0.0, row['cost']))}){advice}; e.g. "
    texts = []
    for example in row["examples"]:
        text = coded("$")
        if row["kind"] != "invalid_output":
            text = f"{coded(example['path'])} {values_text(example)}"
        if isinstance(example["document"], str):
            text += f" in {coded(example['document'])}"
        texts.append(text + (f" ({example['times']:,} x)" if example["times"] > 1 else ""))
    return line + "; ".join(texts)


def values_text(row: Mapping[str, Any]) -> str:
    """Write gold and predicted of a row as Markdown on one line."""
    values = [row["gold"], row["predicted"]]
    is_mixed = None not in values and len({isinstance(value, str) for value in values}) > 1
    for n, value in enumerate(values):
        values[n] = coded(canonical(value) if is_mixed else json_text(value))
        if value is None or isinstance(value, list):
            values[n] = "absent" if value is None else plural(len(value), "item")
    return "gold {}, predicted {}".format(*values)


def coded(text: str) -> str:
    """Write a text of a document as code on one line; nothing in it ends the code."""
    return "`" + one_line(text, _LONGEST).replace("`", "'") + "`"
