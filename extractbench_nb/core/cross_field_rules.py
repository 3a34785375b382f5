"""Cross-field rules: `@rule`, and the outcome of each rule for gold and for the prediction.

A rule is a plain function of one document. Rules never change a score: they are run when
``Evaluation.rules`` is read, on copies of the two documents.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import private_copy
from extractbench_nb.errors import ConfigError
from extractbench_nb.support.wording import cut

_OUTCOMES = "holds, broken, not_applicable, error"
FINDINGS = "suspect_gold, suspect_prediction, rule_error"

RULE_COLUMNS = FrameSpec(
    "rules",
    "one row per rule that applies to the schema",
    (
        Column("rule", "string", "name of the rule"),
        Column("applies_to", "string", "patterns for schema names; `*` matches every schema"),
        Column("outcome_gold", "string", "result of the rule for gold", _OUTCOMES),
        Column(
            "outcome_predicted",
            "string",
            "result for the prediction; missing if it is not JSON",
            _OUTCOMES,
            nullable=True,
        ),
        Column("paths_gold", "object", "instance paths in gold that break the rule, a tuple"),
        Column("paths_predicted", "object", "the same in the prediction, with its own indices"),
        Column("message", "string", "reason for a missing verdict", nullable=True),
        Column(
            "finding",
            "string",
            "suspect_gold: gold breaks the rule; suspect_prediction: only the prediction does; "
            "rule_error: the rule failed on a document; missing otherwise",
            FINDINGS,
            nullable=True,
        ),
    ),
)

_LONGEST = 200
_MOST_PATHS = 1_000
_PATH = re.compile(r"\$(?:\.[^.\[\]\s][^.\[\]]*|\[\d+\]|\['(?:[^'\\]|\\.)*'\])*\Z", re.DOTALL)


class RuleOutcome(NamedTuple):
    """What a rule says of one document: outcome, instance paths at fault, what went wrong."""

    outcome: str
    paths: tuple[str, ...] = ()
    message: str | None = None


#: The outcome of a rule for certain schemas where the schema has no name.
UNNAMED_SCHEMA = RuleOutcome(
    "not_applicable",
    message="the schema has neither title nor $id; name it with ev.labelled(schema=...)",
)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A cross-field rule, which `rule` creates and registers.

    Attributes
    ----------
    name : str
        The name in frames.
    function : callable
        From a document, a JSON value, to True (it holds), False (it is broken), None (it does not
        apply), or the instance paths at fault: a text, or an iterable of texts.
    applies_to : tuple of str
        Names or glob patterns of schemas; empty for every schema.
    """

    name: str
    function: Callable[[Any], Any]
    applies_to: tuple[str, ...] = ()
    OUTCOMES: ClassVar[str] = _OUTCOMES

    @property
    def patterns(self) -> str:
        """The schemas to which it applies, as text; ``*`` matches every schema."""
        return ", ".join(self.applies_to) or "*"

    def is_for(self, names: Iterable[str]) -> bool:
        """Whether it applies to a schema, according to the schema's id, title or ``$id``."""
        patterns = [pattern.casefold() for pattern in self.applies_to]
        folded = [name.casefold() for name in names]
        return not patterns or any(n == p or fnmatchcase(n, p) for n in folded for p in patterns)

    def check(self, document: Any) -> RuleOutcome:
        """Run the rule on a copy of a document; an exception is the outcome ``error``."""
        try:
            result = self.function(private_copy(document))
            if result is None:
                return RuleOutcome("not_applicable")
            if isinstance(result, bool | np.bool_):
                return RuleOutcome("holds" if result else "broken")
            paths = _paths(result)
        except Exception as error:  # noqa: BLE001 - a rule may raise anything
            message = f"{type(error).__name__}: {error}".removesuffix(": ")
            return RuleOutcome("error", message=cut(message, _LONGEST))
        if paths is None:
            expected = "expected True, False, None, or paths such as '$.lines[3].amount'"
            return RuleOutcome("error", message=f"it returned {cut(repr(result), 80)}; {expected}")
        return RuleOutcome("broken" if paths else "holds", paths)

    def row(self, gold: RuleOutcome, predicted: RuleOutcome | None) -> tuple[Any, ...]:
        """Return a row of ``rules``; without a predicted document its outcome is None."""
        outcome, paths, _ = predicted or (None, (), None)
        messages = [
            f"{side}: {of_side.message}" if of_side.outcome == "error" else of_side.message
            for side, of_side in (("gold", gold), ("predicted", predicted))
            if of_side is not None and of_side.message is not None
        ]
        finding = None
        if gold.outcome == "broken":
            finding = "suspect_gold"
        elif outcome == "broken":
            finding = "suspect_prediction"
        elif "error" in (gold.outcome, outcome):
            finding = "rule_error"
        about = (self.name, self.patterns, gold.outcome, outcome)
        return (*about, gold.paths, paths, "; ".join(messages) or None, finding)


def _paths(result: Any) -> tuple[str, ...] | None:
    """Return the distinct instance paths that a rule reports; None if it reports anything else."""
    if isinstance(result, Mapping | bytes) or not isinstance(result, Iterable):
        return None
    paths = [result] if isinstance(result, str) else list(islice(result, _MOST_PATHS))
    if not all(isinstance(path, str) for path in paths):
        return None
    full = [f"$.{path}" if path[:1] not in ("$", "[") else path for path in paths]
    full = [f"${path}" if path[0] == "[" else path for path in full]
    return tuple(dict.fromkeys(full)) if all(map(_PATH.match, full)) else None


# --- the registry -------------------------------------------------------------------------------

#: The registered rules by name; ``del RULES[name]`` removes one.
RULES: dict[str, Rule] = {}


@overload
def rule(name: Callable[[Any], Any], /) -> Callable[[Any], Any]: ...
@overload
def rule(
    name: str | None = None, /, *, applies_to: str | Iterable[str] | None = None
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]: ...
def rule(
    name: str | Callable[[Any], Any] | None = None,
    /,
    *,
    applies_to: str | Iterable[str] | None = None,
) -> Any:
    """Register a function as a cross-field rule; running the cell again replaces it.

    Parameters
    ----------
    name : str, optional
        The name in frames; the function's own name by default. A later rule of the same name
        replaces the earlier one.
    applies_to : str or iterable of str, optional
        The schemas it applies to: id, title, ``$id``, or a glob pattern of these such as
        ``"finance/*"``, regardless of case; by default every schema.

    Returns
    -------
    callable
        A decorator that returns the function unchanged.

    Raises
    ------
    ConfigError
        The function is asynchronous or does not take one document, or `applies_to` is not text.

    Notes
    -----
    The function takes a copy of one document, gold or predicted, and returns True (the rule holds),
    False (it is broken), None (it does not apply to this document), or the instance paths at fault,
    as a text or an iterable of at most 1,000 texts; no path at all means that the rule holds. If it
    raises an exception or returns anything else, its outcome is ``error``, with a message. Rules
    never change a score.

    ``Evaluation.rules``, ``Evaluations.rules`` and `gold.check_rules` run the rules that are
    registered at that time. Sums of floats are rarely equal to the last digit: compare them with
    ``math.isclose``.

    Examples
    --------
    >>> from math import isclose
    >>> from extractbench_nb.core import RULES, evaluate, rule
    >>> @rule(applies_to="invoice")
    ... def total_adds_up(doc):
    ...     total = sum(line["amount"] for line in doc["lines"])
    ...     return isclose(total, doc["total"], abs_tol=0.005)
    >>> number = {"type": "number"}
    >>> lines = {"type": "array", "items": {"properties": {"amount": number}, "type": "object"}}
    >>> properties = {"lines": lines, "total": number}
    >>> schema = {"title": "Invoice", "type": "object", "properties": properties}
    >>> gold = {"lines": [{"amount": 2.5}, {"amount": 4}], "total": 6.5}
    >>> ev = evaluate(schema, gold, {**gold, "total": 65})
    >>> ev.rules[["rule", "outcome_gold", "outcome_predicted", "finding"]].values.tolist()
    [['total_adds_up', 'holds', 'broken', 'suspect_prediction']]
    >>> del RULES["total_adds_up"]
    """
    if callable(name):
        return rule()(name)
    patterns: tuple[str, ...] = (applies_to,) if isinstance(applies_to, str) else ()
    if isinstance(applies_to, Iterable) and not patterns:
        patterns = tuple(applies_to)
    if (applies_to is not None and not patterns) or not all(map(_is_name, patterns)):
        expected = "a name or glob pattern of schemas, or several"
        raise ConfigError(None, f"applies_to is {applies_to!r}; expected {expected}")

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        made = as_rule(function, name, patterns)
        RULES[made.name] = made
        return function

    return register


def _is_name(text: object) -> bool:
    return isinstance(text, str) and bool(text)


def as_rule(
    function: Callable[[Any], Any], name: str | None = None, applies_to: tuple[str, ...] = ()
) -> Rule:
    """Make a rule of a function, without registering it."""
    name = getattr(function, "__name__", None) if name is None else name
    if not _is_name(name):
        raise ConfigError(None, f"the name of a rule is {name!r}; expected a text")
    try:
        inspect.signature(function).bind({})
        is_plain = not (
            inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        )
    except TypeError:
        is_plain = False
    except ValueError:  # a built-in function without a signature
        is_plain = True
    if not is_plain:
        problem = f"rule {name!r} must be a plain function of one document"
        raise ConfigError(None, problem)
    return Rule(str(name), function, applies_to)
