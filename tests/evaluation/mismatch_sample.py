"""The labelled mismatches, and how often the rules agree with the labels."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import extractbench_nb as xb
from extractbench_nb.core.text.dates import parse_date
from extractbench_nb.simulation.catalogue import corrupt
from extractbench_nb.stats import mismatch_kind

HERE = Path(__file__).parent / "data"
#: What each corruption of texts or numbers makes, where one kind says it.
SIMULATED = {
    ("whitespace", str): "writing",
    ("case", str): "writing",
    ("date_format", str): "writing",
    ("typo", str): "typo",
    ("word_order", str): "order",
    ("truncation", str): "truncated",
    ("dropped_word", str): "truncated",
    ("changed_digit", str): "other",
    ("changed_digit", float): "typo",
    ("unit", float): "power_of_ten",
    ("sign", float): "sign",
    ("rounding", float): "rounding",
}
PER_CORRUPTION = 12
_STRENGTH = 0.1
_WORD = re.compile(r"[^\W\d_]{3,}")
_EXACT = {"string": "string_exact", "number": "number_exact", "integer": "integer_exact"}


class Labelled(NamedTuple):
    """Two values, the kind that a person or the corruption says, and where they come from."""

    source: str
    kind: str
    gold: Any
    predicted: Any
    siblings: Sequence[Any] = ()
    items: Sequence[Any] = ()

    @property
    def named(self) -> str:
        """The kind that the rules name."""
        return mismatch_kind(self.gold, self.predicted, siblings=self.siblings, items=self.items)


def committed() -> list[Labelled]:
    """Return the pairs that are in the repository, and the simulated ones."""
    with (HERE / "mismatch_pairs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    values = ("gold", "predicted", "siblings", "items")
    pairs = [Labelled(r["source"], r["kind"], *(json.loads(r[v]) for v in values)) for r in rows]
    return pairs + list(simulated())


def simulated() -> Iterator[Labelled]:
    """Corrupt gold values of the sample dataset, the same number for each corruption."""
    golds = [
        json.loads(p.read_text("utf-8")) for p in xb.load_dataset("sample").documents.gold_path
    ]
    leaves = sorted({repr(v): v for gold in golds for v in _scalars(gold)}.items(), key=_order)
    for (name, kind), label in SIMULATED.items():
        found = 0
        for text, value in leaves:
            if type(value) is not kind and not (kind is float and type(value) is int):
                continue
            if name == "changed_digit" and kind is str and not _has_words(value):
                continue
            if kind is float and abs(value) < 1_000:
                continue
            changed = corrupt(name, value, _STRENGTH, text)
            if changed is None or found == PER_CORRUPTION:
                continue
            found += 1
            yield Labelled("simulated", label, value, changed)


def _order(leaf: tuple[str, Any]) -> str:
    return hashlib.sha256(leaf[0].encode()).hexdigest()


def _has_words(text: str) -> bool:
    return _WORD.search(text) is not None and parse_date(text) is None


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _scalars(child)
    elif not isinstance(value, bool) and value is not None:
        yield value


def real() -> list[Labelled]:
    """Return the real mismatches that are labelled; none where the data is not given.

    Real outputs are compared with gold by the schema's metrics (``gold``), with gold by exact
    metrics (``exact``), and with the outputs of another run by exact metrics.
    """
    if not {"EXTRACTBENCH_RUNS", "EXTRACTBENCH_DATASET"} <= set(os.environ):
        return []
    folder = Path(os.environ["EXTRACTBENCH_DATASET"], "academic", "research")
    schema = json.loads((folder / "research-schema.json").read_text("utf-8"))
    golds = {p.name.removesuffix(".gold.json"): p for p in folder.rglob("*.gold.json")}
    runs = Path(os.environ["EXTRACTBENCH_RUNS"])
    outputs = {
        (p.parent.name.partition("_")[0], p.name.removesuffix(".pred.json")): p
        for p in runs.rglob("*.pred.json")
    }
    with (HERE / "mismatch_labels.csv").open(encoding="utf-8", newline="") as file:
        labels = list(csv.DictReader(file))
    fields: dict[tuple[str, ...], Any] = {}
    pairs = []
    for row in labels:
        reference, document = row["reference"], row["document"]
        key = (reference, row["run"], document)
        if key not in fields:
            of_gold = reference in ("gold", "exact")
            gold = golds[document] if of_gold else outputs[reference, document]
            metrics = schema if reference == "gold" else _exact(schema)
            ev = xb.evaluate(metrics, gold, outputs[row["run"], document], profile="paper")
            fields[key] = ev.fields.set_index("path")
        found = fields[key].loc[[row["path"]]].iloc[0]
        if pair_hash(found.gold, found.predicted) != row["hash"]:
            raise ValueError(f"the values at {key} {row['path']} are not those that were labelled")
        pairs.append(Labelled("real", row["kind"], found.gold, found.predicted))
    return pairs


def pair_hash(gold: Any, predicted: Any) -> str:
    """Hash two values."""
    key = repr((type(gold).__name__, gold, type(predicted).__name__, predicted))
    return hashlib.sha256(key.encode()).hexdigest()[:10]


def _exact(node: Any) -> Any:
    """Return a schema in which every scalar has an exact metric."""
    if isinstance(node, list):
        return [_exact(child) for child in node]
    if not isinstance(node, dict):
        return node
    exact = {key: _exact(child) for key, child in node.items() if key != "evaluation_config"}
    kind = node.get("type")
    if isinstance(kind, str) and kind in _EXACT:
        exact["evaluation_config"] = _EXACT[kind]
    return exact
