"""What differs between two runs: fields, items of arrays, and the scores of documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError
from extractbench_nb.runs import Evaluations
from extractbench_nb.stats.breakdowns import join_rows
from extractbench_nb.support.pandas_helpers import stacked
from extractbench_nb.support.wording import cut

#: Verdicts on a field or an item, the worst first.
CHANGES = ("regressed", "unknown", "other_failure", "lower", "higher", "improved")
#: Verdicts on a document, the worst first.
DOCUMENT_VERDICTS = (
    "regressed",
    "only_baseline",
    "unknown",
    "improved",
    "only_candidate",
    "same",
)

_IDS = (
    Column("document", "string", "document id"),
    Column("domain", "string", "domain of the document, if known", nullable=True),
    Column("schema", "string", "schema id, or the schema's title or hash"),
)

REGRESSION_COLUMNS = FrameSpec(
    "fields",
    "one row per field and metric, or array item, that differs; the worst first",
    (
        *_IDS,
        Column("path", "string", "instance path with gold's index; a spurious item: its array"),
        Column("field", "string", "path with the indices taken out"),
        Column("metric", "string", "metric id; missing for an item of an array", nullable=True),
        Column("counted", "bool", "whether the node enters the field-level scores"),
        Column("verdict", "string", "what became of it", ", ".join(CHANGES)),
        Column("score_was", "Float64", "score in the baseline", "0 to 1", True),
        Column("score_is", "Float64", "score in the candidate", "0 to 1", True),
        Column("outcome_was", "string", "outcome of the field, or status of the item", "", True),
        Column("outcome_is", "string", "the same in the candidate", nullable=True),
        Column("reason", "string", "why, in the candidate; missing for an item", nullable=True),
        Column("gold", "object", "gold's value", nullable=True),
        Column("was", "object", "value in the baseline; None also where missing", nullable=True),
        Column("is", "object", "value in the candidate; None also where missing", nullable=True),
    ),
)

DOCUMENT_COLUMNS = FrameSpec(
    "by_document",
    "one row per document of either side, the largest drop first",
    (
        *_IDS,
        Column("verdict", "string", "by its score", ", ".join(DOCUMENT_VERDICTS)),
        Column("valid_was", "boolean", "whether the baseline's output is JSON", nullable=True),
        Column("valid_is", "boolean", "whether the candidate's output is JSON", nullable=True),
        Column("was", "Float64", "score in the baseline; 0 if invalid", "0 to 1", True),
        Column("is", "Float64", "score in the candidate; 0 if invalid", "0 to 1", True),
        Column("difference", "Float64", "is - was", "-1 to 1", True),
        Column("regressed", "int64", "counted rows of `fields` that regressed", "0 and up"),
        Column("improved", "int64", "counted rows of `fields` that improved", "0 and up"),
        Column("unknown", "int64", "counted nodes without a verdict, both sides", "0 and up"),
    ),
)

#: What fields and items have in common; document and schema are added to both.
_COMMON = [n for n in REGRESSION_COLUMNS.names if n not in ("domain", "schema")]
_RENAMED = {"predicted_was": "was", "predicted_is": "is", "reason_is": "reason"}

SIDES = ("baseline", "candidate")
_TIMES = ("was", "is")
#: Scores that differ by less are equal.
SAME = 1e-9


class Side(NamedTuple):
    """The frames of one run; `summary` is indexed by document."""

    summary: pd.DataFrame
    fields: pd.DataFrame
    matches: pd.DataFrame
    arrays: pd.DataFrame

    @classmethod
    def of(cls, source: Evaluations, run: str) -> Side:
        """Take the frames of one run of a batch."""
        frames = (source.summary, source.fields, source.matches, source.arrays)
        summary, *parts = (frame[(frame["run"] == run).to_numpy()] for frame in frames)
        return cls(summary.set_index("document"), *parts)


def join(a: pd.DataFrame, b: pd.DataFrame, keys: list[str], common: list[str]) -> pd.DataFrame:
    """Join rows of both sides, the nth of equal keys with the nth; `side` tells who has a row."""
    chosen = (rows[rows["document"].isin(common)].reset_index(drop=True) for rows in (a, b))
    first, second = (rows.assign(at=np.arange(len(rows))) for rows in chosen)
    joined = join_rows(first, second, keys, how="outer", suffixes=("_was", "_is"), indicator="side")
    joined["side"] = joined["side"].astype(str)
    return joined.sort_values(["document", "at_is", "at_was"], kind="stable", ignore_index=True)


def refuse_other_gold(joined: pd.DataFrame) -> None:
    """Raise `InputError` that names the first place with other gold or another metric.

    Items of arrays are left out: the row of their array has all of gold.
    """
    both, was, is_ = (joined["side"] == name for name in ("both", "left_only", "right_only"))
    field = joined["field_is"].fillna(joined["field_was"])
    outside = ~field.str.contains("[]", regex=False).astype(bool)
    present = [(joined[f"gold_state_{side}"] == "present").fillna(value=False) for side in _TIMES]
    alone = joined[outside & ((was & present[0]) | (is_ & present[1]))]
    for row in alone.to_dict("records"):
        has, lacks = SIDES if row["side"] == "left_only" else SIDES[::-1]
        raise InputError(
            f"document {row['document']!r}: {row['path']} is scored by {row['metric']} in the "
            f"{has} and not in the {lacks}, so gold, schema or metrics differ; evaluate the "
            "baseline again"
        )
    rows = joined[outside & both & (present[0] | present[1])]
    for document, path, was_, now in zip(
        rows["document"], rows["path"], rows["gold_was"], rows["gold_is"], strict=True
    ):
        if canonical(was_) != canonical(now):
            raise InputError(
                f"document {document!r}: gold at {path} is {cut(canonical(was_), 60)} in the "
                f"baseline and {cut(canonical(now), 60)} in the candidate; evaluate the baseline "
                "again with this gold"
            )


# --- changes ----------------------------------------------------------------------------------


def node_changes(joined: pd.DataFrame, sides: list[Side], common: list[str]) -> pd.DataFrame:
    """Build ``fields``: the changed fields, the items lost or found, and spurious items."""
    evaluated = [name for name in common if all(side.summary.loc[name, "valid"] for side in sides)]
    changes = stacked([_field_changes(joined), _item_changes(sides, evaluated)])
    for name in ("domain", "schema"):
        changes[name] = changes["document"].map(sides[1].summary[name])
    scores = [changes[f"score_{side}"].astype("Float64").fillna(0.0) for side in _TIMES]
    changes = changes.assign(
        rank=changes["verdict"].map(CHANGES.index),
        inner=~changes["counted"].astype(bool),
        rise=(scores[1] - scores[0]).to_numpy(dtype=np.float64).round(12),
    )
    order = ["rank", "inner", "rise", "document"]
    return REGRESSION_COLUMNS.from_records(
        changes.sort_values(order, kind="stable", ignore_index=True)
    )


def _field_changes(joined: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that differ, with their verdicts.

    A row that only one side has is a key or an item that it invented: such a row fails.
    """
    # an absent field of an item is counted only where it was invented
    counted = pd.Series(False, index=joined.index)
    for side in _TIMES:
        counted |= joined[f"counted_{side}"].astype("boolean").fillna(value=False).astype(bool)
    passed = [joined[f"passed_{side}"].astype("boolean") for side in _TIMES]
    scores = [
        joined[f"score_{side}"].astype("Float64").to_numpy(np.float64, na_value=np.nan)
        for side in _TIMES
    ]
    known = [side.notna().to_numpy() for side in passed]
    passes = [side.fillna(value=False).to_numpy(dtype=bool) for side in passed]
    has = [(joined["side"] != name).to_numpy() for name in ("right_only", "left_only")]
    both = has[0] & has[1]
    judged = both & known[0] & known[1]
    other = pd.Series(False, index=joined.index)
    for name in ("outcome", "reason"):
        other |= (joined[f"{name}_was"] != joined[f"{name}_is"]).fillna(value=True).astype(bool)
    alone = ~both & counted.to_numpy()
    with np.errstate(invalid="ignore"):
        rise = scores[1] - scores[0]
    cases = {
        "unknown": both & (known[0] != known[1]),
        "regressed": (judged & passes[0] & ~passes[1]) | (alone & has[1] & known[1] & ~passes[1]),
        "improved": (judged & ~passes[0] & passes[1]) | (alone & has[0] & known[0] & ~passes[0]),
        "lower": judged & (rise < -SAME),
        "higher": judged & (rise > SAME),
        "other_failure": judged & ~passes[0] & ~passes[1] & other.to_numpy(),
    }
    verdict = np.select(list(cases.values()), list(cases), default="")
    changed = joined.rename(columns=_RENAMED).assign(
        field=joined["field_is"].fillna(joined["field_was"]),
        gold=pd.Series(np.where(has[1], joined["gold_is"], joined["gold_was"]), dtype=object),
        counted=counted,
        verdict=verdict,
    )
    return changed.loc[changed["verdict"] != "", _COMMON]


def _item_changes(sides: list[Side], evaluated: list[str]) -> pd.DataFrame:
    """Return gold items that one side alone finds, and spurious items that one side alone has."""
    gold, spurious = [], []
    for side in sides:
        is_gold = side.matches["gold_index"].notna().to_numpy(dtype=bool)
        gold.append(side.matches[is_gold])
        invented = side.matches[~is_gold]
        spurious.append(invented.assign(text=[canonical(item) for item in invented["predicted"]]))
    items = join(gold[0], gold[1], ["document", "path", "gold_index"], evaluated)
    missed = [(items[f"status_{side}"] == "missed").fillna(value=False) for side in _TIMES]
    both = items["side"] == "both"
    items = items.assign(verdict=np.where(missed[1], "regressed", "improved"))
    items = items[(both & (missed[0] != missed[1])).to_numpy(dtype=bool)]
    items = items.assign(
        gold=items["gold_is"],
        item=[f"{p}[{i}]" for p, i in zip(items["path"], items["gold_index"], strict=True)],
    )
    more = join(spurious[0], spurious[1], ["document", "path", "text"], evaluated)
    more = more[(more["side"] != "both").to_numpy()]
    verdicts = np.where(more["side"] == "right_only", "regressed", "improved")
    more = more.assign(verdict=verdicts, gold=None, item=more["path"])
    found = stacked([items, more])
    arrays = pd.concat([side.arrays for side in sides])
    fields = dict(zip(arrays["path"], arrays["field"], strict=True))
    outcomes = {f"status_{side}": f"outcome_{side}" for side in _TIMES}
    scores = {f"similarity_{side}": f"score_{side}" for side in _TIMES}
    found = found.rename(columns={**_RENAMED, **outcomes, **scores}).assign(
        path=found["item"],
        field=[f"{fields[path]}[]" for path in found["path"]],
        metric=None,
        counted=False,
        reason=None,
    )
    return found[_COMMON]


def document_changes(sides: list[Side], changes: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Build ``by_document``; a document without all verdicts has no difference."""
    rows = []
    counts = changes[changes["counted"]].groupby(["document", "verdict"]).size().to_dict()
    outputs = [side.summary.to_dict("index") for side in sides]
    for document in dict.fromkeys([*outputs[0], *outputs[1]]):
        found = [of_side.get(document) for of_side in outputs]
        first = next(row for row in found if row is not None)
        row = {name: first[name] for name in ("domain", "schema")} | {"document": document}
        for time, output in zip(_TIMES, found, strict=True):
            if output is not None:  # an output that is not JSON has a score of 0
                row[time] = float(output[measure]) if output["valid"] else 0.0
                row[f"valid_{time}"] = output["valid"]
        row |= {name: counts.get((document, name), 0) for name in ("regressed", "improved")}
        row["unknown"] = sum(int(output["judge_errors"]) for output in found if output is not None)
        if None in found:
            row["verdict"] = "only_candidate" if found[0] is None else "only_baseline"
        elif row["unknown"]:
            row["verdict"] = "unknown"
        else:
            row["difference"] = rise = row["is"] - row["was"]
            verdict = "improved" if rise > 0 else "regressed"
            row["verdict"] = "same" if abs(rise) <= SAME else verdict
        rows.append(row)
    rows.sort(key=lambda row: (DOCUMENT_VERDICTS.index(row["verdict"]), row.get("difference", 0)))
    return DOCUMENT_COLUMNS.from_records(rows)
