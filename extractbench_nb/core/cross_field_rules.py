"""Cross-field rules: `@rule`, and the outcome of each rule for gold and for the prediction.

A rule is a plain function of one document. Rules never change a score: they are run when
``Evaluation.rules`` is read, on copies of the two documents.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values.json_values import private_copy
from extractbench_nb.errors import ConfigError
from extractbench_nb.support.wording import cut

_OUTCOMES = "holds, broken, not_applicable, error"
FINDINGS = "suspect_gold, suspect_prediction, rule_error"

RULE_COLUMNS = FrameSpec(
    "rules",
    "one row per rule that applies to the schema",
    (
        Column("rule", "string", "name of the rule"),
        Column("applies_to", "string", "patterns of schema names; * is every schema"),
        Column("outcome_gold", "string", "what the rule says of gold", _OUTCOMES),
        Column(
            "outcome_predicted",
            "string",
            "what the rule says of the prediction; missing if it is not JSON",
            _OUTCOMES,
            nullable=True,
        ),
        Column("paths_gold", "object", "instance paths at fault in gold, as a tuple"),
        Column("paths_predicted", "object", "those in the prediction, with its own indices"),
        Column("message", "string", "why there is no verdict", nullable=True),
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
    """What a rule says of one document.

    Attributes
    ----------
    outcome : str
        ``holds``, ``broken``, ``not_applicable`` or ``error``.
    paths : tuple of str
        Instance paths at fault, where the rule names them; of a function that yields paths and then
        raises, those before the exception.
    message : str or None
        What went wrong, if the outcome is ``error``.
    """

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
    """A rule as a value; `rule` makes and registers it.

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
        """The schemas it applies to, as text; ``*`` is every schema."""
        return ", ".join(self.applies_to) or "*"

    def is_for(self, names: Iterable[str]) -> bool:
        """Say whether the rule applies to a schema.

        Parameters
        ----------
        names : iterable of str
            Names of the schema: id, title, ``$id``. Case is ignored.

        Returns
        -------
        bool
            True if a name equals or matches a pattern of `applies_to`, or if there are no patterns.
        """
        pairs = product(names, self.applies_to)
        folded = ((name.casefold(), pattern.casefold()) for name, pattern in pairs)
        return not self.applies_to or any(n == p or fnmatchcase(n, p) for n, p in folded)

    def check(self, document: Any) -> RuleOutcome:
        """Run the rule on a copy of a document; nothing that the function does raises.

        Parameters
        ----------
        document : object
            A JSON value.

        Returns
        -------
        RuleOutcome
            Its outcome, paths and message.
        """
        paths: list[str] = []
        try:
            result = self.function(private_copy(document))
            if result is None:
                return RuleOutcome("not_applicable")
            if isinstance(result, bool | np.bool_):
                return RuleOutcome("holds" if result else "broken")
            for path in _reported(result):
                paths.append(path)  # noqa: PERF402 - those before an exception count
            return RuleOutcome("broken" if paths else "holds", tuple(dict.fromkeys(paths)))
        except _BadResultError as error:
            return RuleOutcome("error", message=str(error))
        except Exception as error:  # noqa: BLE001 - a rule may raise anything
            reason = f"{type(error).__name__}: {_shown(error, str, 'its message cannot be read')}"
            message = cut(reason.removesuffix(": "), _LONGEST)
            return RuleOutcome("error", tuple(dict.fromkeys(paths)), message)

    def row(self, gold: RuleOutcome, predicted: RuleOutcome | None) -> tuple[Any, ...]:
        """Return a row of ``rules`` for the outcomes of this rule.

        Parameters
        ----------
        gold : RuleOutcome
            The outcome on gold.
        predicted : RuleOutcome or None
            The outcome on the prediction; None without a document.

        Returns
        -------
        tuple
            The values of `RULE_COLUMNS`.
        """
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


class _BadResultError(Exception):
    """A rule returned something else than a verdict or instance paths."""


def _reported(result: Any) -> Iterator[str]:
    """Yield the instance paths that a rule reports, from the root, `$`."""
    if not isinstance(result, Iterable) or isinstance(result, Mapping | bytes | bytearray):
        shown = _shown(result, repr, f"a {type(result).__name__}")
        if inspect.iscoroutine(result):
            result.close()  # otherwise Python warns that it was never awaited
        expected = "expected True, False, None, or the paths at fault (a text or texts)"
        raise _BadResultError(f"it returned {shown}; {expected}")
    for count, path in enumerate([result] if isinstance(result, str) else result):
        full = path
        if isinstance(path, str) and not path.startswith("$"):
            full = f"${path}" if path.startswith("[") else f"$.{path}"
        if not isinstance(full, str) or not _PATH.match(full):
            shown = _shown(path, repr, f"a {type(path).__name__}")
            example = "an instance path such as '$.lines[3].amount'"
            raise _BadResultError(f"it returned {shown} as a path; expected {example}")
        if count == _MOST_PATHS:
            raise _BadResultError(f"it returned more than {_MOST_PATHS:,} paths")
        yield full


def _shown(value: Any, write: Callable[[Any], str], otherwise: str) -> str:
    """Write a value of a user's class."""
    try:
        return cut(write(value), _LONGEST)
    except Exception:  # noqa: BLE001 - whatever the class does
        return otherwise


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
    """Make a function a cross-field rule; running the cell again replaces it.

    Parameters
    ----------
    name : str, optional
        The name in frames; the function's own name by default. A later rule of the same name
        replaces the earlier one.
    applies_to : str or iterable of str, optional
        The schemas it applies to: id, title, ``$id``, or a glob pattern of these such as
        ``"finance/*"``, whatever the case; by default every schema.

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
    as a text or an iterable of texts; no path at all means that the rule holds. If it raises an
    exception or returns anything else, its outcome is ``error``, with a message, and with the paths
    that it yielded before. Rules never change a score.

    ``Evaluation.rules``, ``Evaluations.rules`` and `gold.check_rules` run the rules that are
    registered at that time.

    Sums of floats are rarely equal to the last digit: compare them with ``math.isclose``.

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
    if name is not None and not _is_text(name):
        raise ConfigError(None, f"the name of a rule is {name!r}; expected a text")
    is_several = isinstance(applies_to, Iterable) and not isinstance(applies_to, str)
    patterns: tuple[Any, ...] = tuple(applies_to or ()) if is_several else (applies_to,)
    if applies_to is None:
        patterns = ()
    elif not patterns or not all(map(_is_text, patterns)):
        expected = "a name or glob pattern of schemas, or several"
        raise ConfigError(None, f"applies_to is {applies_to!r}; expected {expected}")

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        made = as_rule(function, name, patterns)
        RULES[made.name] = made
        return function

    return register


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def as_rule(
    function: Callable[[Any], Any], name: str | None = None, applies_to: tuple[str, ...] = ()
) -> Rule:
    """Make a rule of a function, without registering it."""
    name = name or getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise ConfigError(None, f"the rule {function!r} has no name; use @rule('name')")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(None, f"rule {name!r} is asynchronous; expected a plain function")
    try:
        inspect.signature(function).bind({})
    except TypeError:
        problem = f"rule {name!r} must take one document and nothing else without a default"
        raise ConfigError(None, problem) from None
    except ValueError:  # a built-in function without a signature
        pass
    return Rule(name, function, applies_to)
