"""A Python assertion for promptfoo: a file with one import, named as ``value: file://check.py``.

``from extractbench_nb.integrations.promptfoo import get_assert``
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.integrations.scorer import as_scorer, field_line

_MOST = 50


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Score an output against gold, as promptfoo calls a Python assertion.

    Parameters
    ----------
    output : str or object
        The provider's output.
    context : mapping
        ``config`` of the assertion has ``schema`` (a file, or the schema itself), optionally
        ``gold`` (name of the variable with gold, ``"gold"`` by default), and options of
        `as_scorer`. ``vars`` has the variables of the test.

    Returns
    -------
    dict
        A GradingResult: pass, score, reason, namedScores, and componentResults, one per field that
        failed (50 at most).

    Raises
    ------
    InputError
        The config has no schema or an unknown key, or the test has no gold. promptfoo
        reports it as an error.
    """
    options, variables = dict(context.get("config") or {}), context.get("vars") or {}
    schema, name = options.pop("schema", None), options.pop("gold", "gold")
    if schema is None or name not in variables:
        problem = "config has no 'schema'" if schema is None else f"vars has no {name!r}"
        raise InputError(f"{problem}; expected the schema in config and gold in vars")
    known = signature(as_scorer).parameters
    if unknown := next((key for key in options if key not in known), None):
        hint = nearest(unknown, ["gold", *known])
        raise InputError(f"config has an unknown key {unknown!r}; {hint}")
    is_file = isinstance(schema, str) and not schema.lstrip().startswith("{")
    source = Path(schema.removeprefix("file://")) if is_file else schema
    found = as_scorer(source, **options)(output, variables[name])
    failed = found.evaluation.worst(_MOST) if found.evaluation is not None else []
    parts = [{"pass": False, "score": r["score"] or 0.0, "reason": field_line(r)} for r in failed]
    summary = found.metadata.get("summary", {})
    return {
        "pass": found.passed,
        "score": found.value,
        "reason": found.explanation,
        "namedScores": {k: summary[k] for k in ("field_score", "pass_rate") if k in summary},
        "componentResults": parts,
    }
