"""Compute and draw the sensitivity of the metrics: docs/reference/metrics/sensitivity.csv, curves/.

    python -m scripts.draw_sensitivity            # about two minutes
    python -m scripts.draw_sensitivity figures    # only the figures, from the CSV file

The values are those of the sample dataset, by kind: names, codes, dates and so on. Each is
corrupted at several strengths and compared with the original by the configs listed for its kind.
Strings and numbers are corrupted by themselves: the strength is the share of their words, letters
or digits that change. Booleans and arrays are corrupted as documents: it is the share of places.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.views.plots.axes import BLUE, GREY, INK, VERMILLION

mpl.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference" / "metrics"
CSV, CURVES = FOLDER / "sensitivity.csv", FOLDER / "curves"
STRENGTHS = (0.1, 0.3, 0.6, 1.0)
SEED = 21
#: At most this many values of a kind, taken at equal distances; corruptions need at least `FEWEST`.
MOST, FEWEST = 60, 4
COLUMNS = ["kind", "metric", "profile", "corruption", "meaning", "rate", "n", "score", "pass_rate"]


class Kind(NamedTuple):
    """A kind of value: the fields of the sample that have it, and the configs to try.

    ``fields`` is a pattern of ``field`` and metric, as in ``"filing.ticker string_exact"``.
    ``leaves_out`` are corruptions whose meaning is not what the catalogue says for this kind.
    """

    fields: str
    configs: tuple[Any, ...]
    form: str = "value"
    leaves_out: tuple[str, ...] = ()


def _with(metric_id: str, **params: Any) -> dict[str, Any]:
    return {"metric_id": metric_id, "params": params}


_TEXTS = ("string_exact", "string_case_insensitive", "string_normalized", "string_fuzzy")
_MONTH = _with("date", precision="month")
_LENIENT = _with("number_tolerance", parse="lenient")
KINDS: Mapping[str, Kind] = {
    "names": Kind(
        r"(.*\.(name|employer|club|stroke|umpire|school)|.*(obligor|creditors\[\]|registrant|"
        r"auditor|chief_executive|finance_chief)) string_.*",
        (*_TEXTS, _with("string_fuzzy", threshold=0.9), "string_semantic"),
    ),
    "codes": Kind(
        r"(persistent_id|filing\.(form|span|ticker)|.*\.(boat_class|finish)) string_exact",
        (*_TEXTS, "string_semantic"),
    ),
    "enum values": Kind(
        r".*(kind|iso_code|currency|country_code|unit|tongues\.\*|cut|basis|grade) string_.*",
        (*_TEXTS, "string_semantic"),
    ),
    "dates": Kind(
        r".* date",
        (
            "date",
            _with("date", precision="month"),
            "string_exact",
            "string_fuzzy",
            "string_semantic",
        ),
        leaves_out=("word_order", "abbreviation"),
    ),
    "URLs": Kind(
        r".* string_url", ("string_url", "string_exact", "string_fuzzy", "string_semantic")
    ),
    "free texts": Kind(
        r".*(summary|profile|purpose|drawdown_notice|duties\[\]|matter|weakness|later_events\[\]|"
        r"work_title|heading) string_.*",
        (*_TEXTS, "string_semantic", "string_llm"),
    ),
    "amounts": Kind(
        r".* number_(tolerance|exact)",
        (
            "number_exact",
            "number_tolerance",
            _with("number_tolerance", tolerance=0.01),
            _with("number_tolerance", tolerance=0.05),
        ),
    ),
    "amounts as text": Kind(
        r".*(face|now|principal\.value) number_.*",
        (_LENIENT, "string_exact", "string_normalized", "string_fuzzy", "string_semantic"),
        form="amount",
    ),
    "counts": Kind(
        r".* integer_exact",
        ("integer_exact", "number_exact", _with("number_tolerance", tolerance=0.05)),
    ),
    "booleans": Kind(r".* boolean_exact", ("boolean_exact",), form="boolean"),
    "lists of words": Kind(
        r".*(topics|creditors|remarks|risk_topics|memberships) set_f1",
        ("set_f1", _with("set_f1", normalize_text=False), "array_llm", "table_grits"),
        form="words",
    ),
    "arrays of objects": Kind(
        r"(contributors|studies|certificates|writings|notes\.(borrowings|fair_value)) array_llm",
        ("array_llm", "table_grits", _with("table_grits", measure="top")),
        form="records",
    ),
}

#: Corruptions of arrays, where those of single values concern the items.
_OF_ARRAYS = (
    *("case", "whitespace", "date_format", "shuffle_items", "typo", "substitute", "omit"),
    *("drop_items", "duplicate_items", "spurious_items", "split_items", "merge_items"),
)
_OF_BOOLEANS = ("wrong_type", "substitute")


class Value(NamedTuple):
    """One value of the sample: its field and metric, and where its schema declares it."""

    field: str
    schema: Mapping[str, Any]
    path: str
    value: Any


@cache
def sample() -> list[Value]:
    """Return the values of all fields of the sample; missing and empty ones are left out."""
    dataset = xb.load_dataset()
    found = []
    for document, name in zip(dataset.listing["document"], dataset.listing["schema"], strict=True):
        schema = xb.schema.parse_schema(dataset.schema(name)).document  # without its envelope
        gold = dataset.gold(document)
        fields = xb.evaluate(schema, gold, gold, profile="paper").fields
        columns = (fields[c] for c in ("field", "metric", "schema_path", "gold"))
        for field, metric, path, value in zip(*columns, strict=True):
            if value is not None and value != []:
                found.append(Value(f"{field} {metric}", schema, path, value))
    return found


def schema_of(value: Value) -> dict[str, Any]:
    """Return a schema of objects whose ``v`` is declared as the field of a value."""
    if isinstance(value.value, bool):
        return {"type": "object", "properties": {"v": {"type": "boolean"}}}
    schema, path = value.schema, value.path
    node: Any = schema
    for key in re.findall(r"[^.\[\]$]+", path):
        while "$ref" in node:
            node = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
        node = node[int(key)] if isinstance(node, list) else node[key]
    return {"type": "object", "$defs": schema.get("$defs", {}), "properties": {"v": node}}


def values_of(kind: Kind) -> list[Value]:
    """Return the values of a kind: distinct ones, at equal distances, at most `MOST`."""
    pattern = re.compile(kind.fields)
    values = [v for v in sample() if pattern.fullmatch(v.field)]
    values = [v for v in values if isinstance(v.value, str) == isinstance(values[0].value, str)]
    if kind.form != "boolean":
        values = list({repr(v.value): v for v in values}.values())
    # at equal distances, so that all documents are represented
    return values[:: max(1, -(-len(values) // MOST))]


def label_of(config: Any) -> str:
    """Return the label of a config, as `xb.sensitivity` writes it: name and params."""
    if isinstance(config, str):
        return config
    params = ", ".join(f"{name}={value!r}" for name, value in config["params"].items())
    return f"{config['metric_id']}({params})"


def measure(name: str, only: str | None = None) -> pd.DataFrame:
    """Return one row per config, corruption and strength of a kind; `only`: of one corruption."""
    kind = KINDS[name]
    values = values_of(kind)
    of_text = kind.form in ("value", "amount")
    options = {"seed": SEED, "profile": "paper"}
    frames = []
    what: Any = only
    if not of_text:
        what = only or (_OF_BOOLEANS if kind.form == "boolean" else _OF_ARRAYS)
        data = [(schema_of(v), {"v": v.value}) for v in values]
        tried = list(kind.configs)
        frames.append(xb.sensitivity(tried, data, what, STRENGTHS, **options))
        if kind.form != "boolean":
            options["profile"] = "strict"
            frames.append(xb.sensitivity("array_llm", data, what, STRENGTHS, **options))
    else:
        plain = [f"{v.value:,.2f} EUR" if kind.form == "amount" else v.value for v in values]
        frames.append(xb.sensitivity(list(kind.configs), plain, what, STRENGTHS, **options))
        if only is None:
            frames += [substituted(config, plain) for config in kind.configs]
    found = pd.concat(frames, ignore_index=True)
    kept = (found["n"] >= FEWEST) & ~found["corruption"].isin(kind.leaves_out)
    found = found[kept].assign(kind=name)
    return found[COLUMNS].round({"score": 4, "pass_rate": 4})


def substituted(config: Any, values: list[Any]) -> pd.DataFrame:
    """Compare each value with another one of its kind, as documents of one field."""
    types = "string" if isinstance(values[0], str) else "number"
    node = {"type": types, "evaluation_config": config}
    data = [({"type": "object", "properties": {"v": node}}, {"v": value}) for value in values]
    options = {"seed": SEED, "measure": "field_score"}
    found = xb.sensitivity("paper", data, "substitute", [1.0], **options)
    return found.assign(metric=label_of(config))


#: The kind of value on which the curve of a metric is drawn.
HOME: Mapping[str, str] = {
    "string_exact": "codes",
    "string_case_insensitive": "enum values",
    "string_normalized": "names",
    "string_fuzzy": "names",
    "string_semantic": "free texts",
    "string_llm": "free texts",
    "string_url": "URLs",
    "date": "dates",
    "number_exact": "amounts",
    "number_tolerance": "amounts",
    "integer_exact": "counts",
    "boolean_exact": "booleans",
    "set_f1": "lists of words",
    "array_llm": "arrays of objects",
    "table_grits": "arrays of objects",
}
_STYLES: Mapping[str, dict[str, Any]] = {
    "kept": {"color": BLUE, "label": "meaning kept: should stay at 1"},
    "unclear": {"color": GREY, "label": "unclear", "linestyle": "--"},
    "changed": {"color": VERMILLION, "label": "meaning changed: should fall"},
}


def name_lines(ax: Any, ends: list[tuple[str, float, str]]) -> None:
    """Label lines at their right ends, from the lowest up, without overlaps."""
    gap = 13.0 / (ax.get_window_extent().height / ax.figure.dpi * 72)
    arrow = {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2, "relpos": (0, 0.5)}
    ends = sorted(ends, key=lambda end: end[1])
    heights = [max(0.01, end) for _, end, _ in ends]
    for n in range(1, len(heights)):
        heights[n] = max(heights[n], heights[n - 1] + gap)
    top = ax.get_ylim()[1]
    for n in reversed(range(len(heights))):
        heights[n] = min(heights[n], top)
        top = heights[n] - gap
    for (name, end, colour), height in zip(ends, heights, strict=True):
        ax.annotate(
            name,
            xy=(ax.get_xlim()[1], end),
            xytext=(10, height),
            textcoords=("offset points", "data"),
            annotation_clip=False,
            arrowprops={**arrow, "color": colour},
            va="center",
            fontsize=8.5,
            color=INK,
        )


def draw(metric: str, table: pd.DataFrame) -> None:
    """Draw the mean score of a metric against the strength, one line per corruption."""
    kind = HOME[metric]
    own = table[
        (table["kind"] == kind) & (table["metric"] == metric) & (table["profile"] == "paper")
    ]
    figure, ax = plt.subplots(figsize=(6.8, 4.2))
    figure.subplots_adjust(left=0.09, right=0.66, bottom=0.14, top=0.78)
    mark = REGISTRY.get(metric).pass_mark({})
    if mark < 1:
        ax.axhline(mark, color=GREY, linewidth=0.8, linestyle=":")
        ax.annotate(
            f"passes from {mark:g}", (0.99, mark + 0.015), color=GREY, fontsize=8, ha="right"
        )
    ends = []
    for (corruption, meaning), rows in own.groupby(["corruption", "meaning"], sort=False):
        rate, score = rows["rate"].tolist(), rows["score"].tolist()
        start = [] if len(rate) == 1 else [0.0]  # a substitute has no strength
        style = {**_STYLES[meaning], "label": None, "marker": "o", "markersize": 3.5}
        ax.plot(start + rate, [1.0] * len(start) + score, linewidth=1.6, **style, clip_on=False)
        ends.append((corruption.replace("_", " "), score[-1], _STYLES[meaning]["color"]))
    for style in _STYLES.values():
        ax.plot([], [], linewidth=1.6, **style)
    where = (
        "words, letters or digits" if own["corruption"].eq("substitute").sum() == 1 else "places"
    )
    ax.set(xlim=(0, 1), ylim=(0, 1.03), ylabel="mean score", xlabel=f"share of {where} changed")
    name_lines(ax, ends)
    title = f"{metric} on {own['n'].max()} {kind}"
    ax.set_title(title, loc="left", fontsize=10.5, color=INK, y=1.18)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.09),
        borderaxespad=0,
        borderpad=0,
        frameon=False,
        ncols=3,
        fontsize=8.5,
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#0002")
    figure.savefig(CURVES / f"{metric}.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def main() -> None:
    """Write the CSV file and all figures; with the argument ``figures`` only these."""
    plt.rcParams |= {"svg.hashsalt": "sensitivity", "svg.fonttype": "none"}
    if sys.argv[1:] != ["figures"]:
        found = pd.concat(map(measure, KINDS), ignore_index=True)
        found.to_csv(CSV, index=False, lineterminator="\n")
    table = pd.read_csv(CSV)
    for metric in HOME:
        draw(metric, table)


if __name__ == "__main__":
    main()
