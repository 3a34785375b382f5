"""Table 4: what our presets do, found by trying them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from extractbench_nb.benchmark.paper.cells import Cell, Cells
from extractbench_nb.evaluation import evaluate

__all__ = ["presets_tried"]

#: Percent of gold; a score that says "the same".
_LARGEST_MARGIN = 100.0
_SAME = 0.9

_SAID = ("ABC Corporation", "XYZ Corporation")
_BY_JUDGE = "the judge is a deterministic one by default; judge= takes an LLM"
_BY_DEFAULT = "alignment is optimal and deterministic by default, a judge compares the texts"


def presets_tried() -> Cells:
    """Recompute Table 4: each preset is tried on values that tell metrics apart."""
    source = "presets(), each tried"
    cells = {
        (preset, "metric"): Cell(words if probe(preset) else "another metric", source)
        for preset, (words, probe) in _PROBES.items()
    }
    cells["string_semantic", "metric"] = Cell(
        "Deterministic equivalence" if _equivalent("string_semantic") else "another metric",
        source,
        _BY_JUDGE,
    )
    cells["array_llm", "metric"] = Cell(
        "Optimal alignment" if _aligned("array_llm") else "another metric", source, _BY_DEFAULT
    )
    cells["number_tolerance", "margin"] = Cell(_margin(), source)
    return cells


def _score(preset: str, kind: str, gold: Any, predicted: Any) -> float:
    field = {"type": kind, "evaluation_config": preset}
    schema = {"type": "object", "properties": {"field": field}}
    found = evaluate(schema, {"field": gold}, {"field": predicted})
    return float(found.fields["score"].iloc[0])


def _exact_text(preset: str) -> bool:
    return _score(preset, "string", "Ab", "Ab") == 1 and _score(preset, "string", "Ab", "ab") == 0


def _folded_text(preset: str) -> bool:
    return _score(preset, "string", "Ab", "aB") == 1 and _score(preset, "string", "Ab", "Ac") == 0


def _levenshtein(preset: str) -> bool:
    """Three edits from kitten to sitting, of seven letters."""
    return math.isclose(_score(preset, "string", "kitten", "sitting"), 1 - 3 / 7)


def _exact_number(preset: str) -> bool:
    close = _score(preset, "number", 1000.0, 1000.0001)
    return _score(preset, "number", 1000.0, 1000) == 1 and close == 0


def _within_margin(preset: str) -> bool:
    return 0 < _margin(preset) < _LARGEST_MARGIN


def _exact_flag(preset: str) -> bool:
    same, other = (_score(preset, "boolean", True, said) for said in (True, False))
    return (same, other) == (1, 0)


def _equivalent(preset: str) -> bool:
    same, other = (_score(preset, "string", "ABC Corp", said) for said in _SAID)
    return same > _SAME > other


def _aligned(preset: str) -> bool:
    items = [{"name": "one"}, {"name": "two"}, {"name": "three"}]
    return _score(preset, "array", items, items[::-1]) == 1


def _margin(preset: str = "number_tolerance") -> float:
    """Return the largest error that passes, in percent of gold, by bisection."""
    low, high = 0.0, _LARGEST_MARGIN
    for _ in range(30):
        middle = (low + high) / 2
        accepted = _score(preset, "number", 1e6, 1e6 * (1 + middle / 100)) == 1
        low, high = (middle, high) if accepted else (low, middle)
    return low


_PROBES: Mapping[str, tuple[str, Callable[[str], bool]]] = MappingProxyType(
    {
        "string_exact": ("Exact match", _exact_text),
        "string_case_insensitive": ("Case-folded", _folded_text),
        "string_fuzzy": ("Levenshtein", _levenshtein),
        "number_exact": ("Exact numeric", _exact_number),
        "number_tolerance": ("Within margin", _within_margin),
        "boolean_exact": ("Exact boolean", _exact_flag),
    }
)
