"""Generated parts of the pages about metrics: facts of the registry, sensitivity, mismatches."""

from __future__ import annotations

import inspect
import json
import re
from ast import literal_eval
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from docutils import nodes
from docutils.parsers.rst import directives
from numpydoc.docscrape import NumpyDocString
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import extractbench_nb as xb
from extractbench_nb.core.field_metrics import registry
from extractbench_nb.core.field_metrics.registry import REGISTRY, Metric
from extractbench_nb.core.schema import evaluation_config as config
from extractbench_nb.stats import mismatches
from extractbench_nb.stats.mismatches import KINDS

FOLDER = "docs/reference/metrics"
CSV = Path(__file__).parents[1] / "reference" / "metrics" / "sensitivity.csv"
SOURCES = (
    __file__,
    CSV,
    *Path(inspect.getfile(registry)).parent.glob("*.py"),
    inspect.getfile(config),
    inspect.getfile(mismatches),
)

#: Values of a type: gold, one of another JSON type, and the one that counts as empty.
_EXAMPLES: dict[str, tuple[Any, Any, Any]] = {
    "string": ("a", 1, ""),
    "number": (1.5, [1.5], None),
    "boolean": (True, "a", None),
    "array": (["a"], {"a": 1}, []),
}
_STRENGTH = 0.3


def table(head: list[str], rows: list[list[str]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


class Generated(SphinxDirective):
    """A directive whose content is Markdown that `text` returns."""

    has_content = False

    def text(self) -> str:
        """Return the Markdown."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Parse the text in place."""
        for source in SOURCES:
            self.env.note_dependency(str(source))
        return self.parse_text_to_nodes(self.text())


class MetricFacts(Generated):
    """What the registry and the docstring say about a metric, and its curve: ``{metric} NAME``."""

    required_arguments = 1

    def text(self) -> str:
        """Return definition, facts, params, absent values and the curve."""
        metric = REGISTRY.get(self.arguments[0])
        doc = NumpyDocString(metric.doc)
        definition = "\n".join([*doc["Summary"], "", *doc["Extended Summary"]])
        parts = [definition, *_notes(doc), _facts(metric), _params(metric, doc), _absent(metric)]
        if (CSV.parent / "curves" / f"{metric.name}.svg").exists():
            parts.append(_CURVE.format(name=metric.name, folder=FOLDER))
        return "\n\n".join(parts)


def _notes(doc: NumpyDocString) -> list[str]:
    """Return the notes with formulas as Markdown."""
    text = "\n".join(doc["Notes"])
    if not text:
        return []
    formula = re.compile(r"\.\. math::\n\n((?: +.*\n?)+)")
    symbols = "Here $g$ is the gold value and $p$ the predicted value."
    if r"|G|" in text:
        symbols = "Here $G$ is the gold array and $P$ the predicted array."
    return [formula.sub(lambda found: f"$$\n{found[1].rstrip()}\n$$\n\n{symbols}\n", text)]


def _facts(metric: Metric) -> str:
    """Return the table of facts."""
    types = [kind for kind in metric.applies_to if kind != "any"]
    others = (
        "; other values are compared as JSON text"
        if types and len(types) < len(metric.applies_to)
        else ""
    )
    rows = [
        ["Types", (", ".join(types) or "all") + others],
        ["Default for", f"`{metric.default_for}`" if metric.default_for else "no type"],
        ["Passes if", f"`{metric.pass_rule}`"],
        ["Decided by", "the judge of the evaluation" if metric.judged else "rules, not a judge"],
        *(
            [["Preset", f"`{metric.name}`: {metric.use}" + _set(metric.preset)]]
            if metric.use
            else ()
        ),
        ["Source", metric.source],
    ]
    return table(["property", "value"], rows)


def _set(params: Any) -> str:
    return f" (`{dict(params)}`)" if params else ""


def _params(metric: Metric, doc: NumpyDocString) -> str:
    """Return the table of params; meanings that are not declared are in the docstring."""
    meanings = {name: " ".join(lines) for name, _, lines in doc["Parameters"]}
    rows = [
        [f"`{p.name}`", f"`{p.default!r}`", p.expected, (p.meaning or meanings[p.name]).strip()]
        for p in metric.params
    ]
    head = ["param", "default", "allowed", "meaning"]
    text = table(head, rows) if rows else "This metric has no params."
    return f":::{{rubric}} Params\n:::\n\n{text}"


def _absent(metric: Metric) -> str:
    """Return outcome and score of each pair of states, by evaluating one."""
    head = ":::{rubric} Absent values and other types\n:::\n\n"
    if metric.name == "skip":
        return head + "No value at or below the node is scored."
    kind = next((t for t in metric.applies_to if t in _EXAMPLES), "string")
    value, other, empty = _EXAMPLES[kind]
    states: dict[str, Any] = {"missing": {}, "null": {"v": None}}
    if empty is not None:
        states[f"empty, `{empty!r}`".replace("'", '"')] = {"v": empty}
    states["a value"] = {"v": value}
    columns = {**states, "another type": {"v": other}}
    node = {"type": kind, "evaluation_config": metric.name}
    schema = {"type": "object", "properties": {"v": node}}

    def cell(gold: Any, predicted: Any) -> str:
        row = xb.evaluate(schema, gold, predicted).fields.iloc[0]
        return f"{row['outcome']}, {row['score']:g}"

    rows = [
        [f"**{name}**", *(cell(gold, p) for p in columns.values())] for name, gold in states.items()
    ]
    return head + table(["gold \\ predicted", *columns], rows)


_CURVE = """:::{{rubric}} Sensitivity
:::

![Mean score of {name} against the strength of each corruption](/{folder}/curves/{name}.svg)

The figure shows mean scores after values from the sample dataset were corrupted with increasing
strength, three times each. Judged metrics use the offline judge. A blue line that falls indicates
false rejects, and an orange line that stays high indicates false accepts. For the data, see
[`sensitivity.csv`](/{folder}/sensitivity.csv)."""


class Cases(Generated):
    """Pairs that a metric passes or fails wrongly, evaluated: ``{cases} NAME``.

    A line of the content is ``false accept | gold | predicted | why``, the values as Python
    literals. Other kinds than `false accept` and `false reject` are right decisions.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"types": directives.unchanged, "params": directives.unchanged}

    def text(self) -> str:
        """Return the table of pairs."""
        types = self.options.get("types", "string").split()
        params = literal_eval(self.options.get("params", "{}"))
        try:
            return cases_table(self.arguments[0], [*self.content], types, params)
        except ValueError as error:
            raise self.error(str(error)) from error


def cases_table(
    name: str, lines: list[str], types: list[str], params: dict[str, Any] | None = None
) -> str:
    """Return the table of pairs, each with its outcome; a false accept has to pass."""
    node: dict[str, Any] = {"type": types if types[1:] else types[0]}
    node["evaluation_config"] = {"metric_id": name, "params": params or {}}
    if "array" in types:
        node["items"] = {"type": "string"}
    schema = {"type": "object", "properties": {"v": node}}
    rows = []
    for line in lines:
        kind, gold, predicted, why = (part.strip() for part in line.split(" | "))
        g, p = literal_eval(gold), literal_eval(predicted)
        row = xb.evaluate(schema, {"v": g}, {"v": p}).fields.iloc[0]
        if kind.startswith("false") and row["passed"] != (kind == "false accept"):
            raise ValueError(f"{name}: {gold} and {predicted} are no {kind}")
        values = [f"`{json.dumps(value, ensure_ascii=False)}`" for value in (g, p)]
        rows.append([kind, *values, why, f"{row['outcome']}, {row['score']:.2f}"])
    return table(["kind", "gold", "predicted", "reason", "outcome, score"], rows)


class MetricTable(Generated):
    """All metrics with links to their pages: ``{metrics}``."""

    def text(self) -> str:
        """Return the table."""
        found = xb.metrics().sort_values("metric")
        rows = [
            [f"[`{name}`]({name}.md)", types, summary, f"`{rule}`", "yes" if judged else "no"]
            for name, types, summary, rule, judged in zip(
                *(found[c] for c in ("metric", "applies_to", "summary", "pass_rule", "judged")),
                strict=True,
            )
        ]
        return table(["metric", "types", "compares", "passes if", "judged"], rows)


class KindTable(Generated):
    """All kinds of mismatch in order of precedence: ``{mismatch-kinds}``."""

    def text(self) -> str:
        """Return the table."""
        rows = []
        for kind in KINDS:
            values = [f"`{json.dumps(v, ensure_ascii=False)}`" for v in (kind.gold, kind.predicted)]
            rows.append([f"`{kind.name}`", kind.rule, *values])
        return table(["kind", "rule", "gold", "predicted"], rows)


class PresetTable(Generated):
    """All presets with links to the pages of their metrics: ``{presets}``."""

    def text(self) -> str:
        """Return the table."""
        rows = [
            [
                f"[`{p.name}`](/{FOLDER}/{p.name}.md)",
                ", ".join(f"`{name}={value!r}`" for name, value in p.preset.items()),
                p.use,
            ]
            for p in config.PRESETS.values()
        ]
        return table(["preset", "params", "use"], rows)


class SensitivityTable(Generated):
    """Share that passes, or mean score, by corruption and config: ``{sensitivity} KIND``."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"measure": directives.unchanged}

    def text(self) -> str:
        """Return one row per corruption; what is on the wrong side of the limit is bold."""
        measure = self.options.get("measure", "pass_rate")
        found = pd.read_csv(CSV)
        found = found[found["kind"] == self.arguments[0]]
        if found.empty:
            raise self.error(f"{CSV.name} has no rows of {self.arguments[0]!r}")
        found = found.assign(order=found["meaning"].map(_MEANINGS.index))
        # a substitute of a single value has no strength: its rate is 1
        rate = found.groupby("corruption")["rate"].transform("min").clip(lower=_STRENGTH)
        wide = found[found["rate"] == rate].pivot_table(
            measure, ["order", "corruption"], ["metric", "profile"], sort=False
        )
        wide = wide.sort_index(level="order", sort_remaining=False, kind="stable")
        several = len(set(wide.columns.get_level_values("profile"))) > 1
        head = [f"`{m}`" + (f" ({profile})" if several else "") for m, profile in wide.columns]
        limit, shown = _READ[measure]
        rows = [
            [_MEANINGS[order], corruption.replace("_", " "), *(_cell(order, x, limit) for x in row)]
            for (order, corruption), row in zip(wide.index, wide.to_numpy(), strict=True)
        ]
        caption = f"{shown} for {found['n'].max()} {self.arguments[0]} (limit {limit:g}):"
        return f"{caption}\n\n{table(['meaning', 'corruption', *head], rows)}"


_MEANINGS = ("kept", "unclear", "changed")
#: By measure: the limit, and what the cells are. The page explains the bold cells.
_READ = {"pass_rate": (0.5, "Share that passes"), "score": (0.9, "Mean score")}


def _cell(order: int, share: float, limit: float) -> str:
    """Write a share; bold if it is on the wrong side of the limit."""
    is_wrong = share < limit if _MEANINGS[order] == "kept" else share > limit
    text = "" if pd.isna(share) else f"{share:.2f}"
    return f"**{text}**" if is_wrong and _MEANINGS[order] != "unclear" else text


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("metric", MetricFacts)
    app.add_directive("cases", Cases)
    app.add_directive("metrics", MetricTable)
    app.add_directive("mismatch-kinds", KindTable)
    app.add_directive("presets", PresetTable)
    app.add_directive("sensitivity", SensitivityTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
