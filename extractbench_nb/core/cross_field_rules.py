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
from extractbench_nb.core.values.json_values import private_copy
from extractbench_nb.errors import ConfigError, InputError, nearest
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

_EXPECTED = "expected True, False, None, or the paths at fault (a text or texts)"
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
    summary : str
        First line of the function's docstring.
    """

    name: str
    function: Callable[[Any], Any]
    applies_to: tuple[str, ...] = ()
    summary: str = ""
    OUTCOMES: ClassVar[str] = _OUTCOMES

    @property
    def patterns(self) -> str:
        """The schemas it applies to, as text; ``*`` is every schema."""
        return ", ".join(self.applies_to) or "*"

    def is_for(self, names: Iterable[str]) -> bool:
        """Say whether it applies to a schema.

        Parameters
        ----------
        names : iterable of str
            Names of the schema: id, title, ``$id``. Case is ignored.

        Returns
        -------
        bool
            True if a name equals or matches a pattern of `applies_to`, or if there are no patterns.
        """
        if not self.applies_to:
            return True
        folded = [name.casefold() for name in names]
        patterns = [pattern.casefold() for pattern in self.applies_to]
        return any(n == p or fnmatchcase(n, p) for n in folded for p in patterns)

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
        paths: list[Any] = []
        try:
            return _read(self.function(private_copy(document)), paths)
        except Exception as error:  # noqa: BLE001 - a rule may raise anything
            before = _read(paths, [])  # what it yielded until then
            return RuleOutcome("error", before.paths, _described(error))

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
        sides = {"gold": gold} | ({"predicted": predicted} if predicted is not None else {})
        outcomes = {side: found.outcome for side, found in sides.items()}
        finding: str | None
        messages = [
            f"{side}: {found.message}" if found.outcome == "error" else found.message
            for side, found in sides.items()
            if found.message is not None
        ]
        if gold.outcome == "broken":
            finding = "suspect_gold"
        elif outcomes.get("predicted") == "broken":
            finding = "suspect_prediction"
        else:
            finding = "rule_error" if "error" in outcomes.values() else None
        return (
            self.name,
            self.patterns,
            gold.outcome,
            outcomes.get("predicted"),
            gold.paths,
            predicted.paths if predicted is not None else (),
            "; ".join(messages) or None,
            finding,
        )


def _described(error: Exception) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception of the user's own
        text = "its message cannot be read"
    return cut(f"{type(error).__name__}: {text}".removesuffix(": "), _LONGEST)


def _read(result: Any, found: list[Any]) -> RuleOutcome:
    """Read what a rule returned; its paths are also put into `found`, one after the other."""
    if result is None:
        return RuleOutcome("not_applicable")
    if isinstance(result, bool | np.bool_):
        return RuleOutcome("holds" if result else "broken")
    close = getattr(result, "close", None)
    if inspect.isawaitable(result) and callable(close):
        close()  # otherwise Python warns that it was never awaited
    is_many = isinstance(result, Iterable) and not isinstance(result, Mapping | bytes | bytearray)
    if inspect.isawaitable(result) or not (isinstance(result, str) or is_many):
        return RuleOutcome("error", message=f"it returned {_shown(result)}; {_EXPECTED}")
    found.extend([result] if isinstance(result, str) else islice(result, _MOST_PATHS + 1))
    if len(found) > _MOST_PATHS:
        return RuleOutcome("error", message=f"it returned more than {_MOST_PATHS:,} paths")
    paths = []
    for path in found:
        full = path if not isinstance(path, str) or path.startswith("$") else _rooted(path)
        if not isinstance(full, str) or not _PATH.match(full):
            example = "an instance path such as '$.lines[3].amount'"
            problem = f"it returned {_shown(path)} as a path; expected {example}"
            return RuleOutcome("error", message=problem)
        paths.append(full)
    return RuleOutcome("broken" if paths else "holds", tuple(dict.fromkeys(paths)))


def _rooted(path: str) -> str:
    return f"${path}" if path.startswith("[") else f"$.{path}"


def _shown(value: Any) -> str:
    try:
        return cut(repr(value), _LONGEST)
    except Exception:  # noqa: BLE001 - a class of the user's own
        return f"a {type(value).__name__}"


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
    The function takes one document, gold or predicted, as a plain JSON value, and returns True (the
    rule holds), False (it is broken), None (it does not apply to this document), or the instance
    paths at fault, as a text or an iterable of texts; no path at all means that the rule holds. It
    is given a copy, so it cannot change gold. If it raises an exception or returns anything else,
    its outcome is ``error``, with a message, and with the paths that it yielded before. Rules never
    change a score.

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
    given: object = name
    if given is not None and (not isinstance(given, str) or not given):
        raise ConfigError(None, f"the name of a rule is {given!r}; expected a text")
    patterns = _patterns(applies_to)

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        made = as_rule(function, name, patterns)
        RULES[made.name] = made
        return function

    return register


def _patterns(applies_to: Any) -> tuple[str, ...]:
    if applies_to is None:
        return ()
    patterns = (applies_to,) if isinstance(applies_to, str) else applies_to
    patterns = tuple(patterns) if isinstance(patterns, Iterable) else (patterns,)
    if not patterns or not all(isinstance(p, str) and p for p in patterns):
        expected = "a name or glob pattern of schemas, or several"
        raise ConfigError(None, f"applies_to is {applies_to!r}; expected {expected}")
    return patterns


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
    summary = (inspect.getdoc(function) or "").partition("\n")[0]
    return Rule(name, function, applies_to, summary)


def chosen_rules(rules: Any) -> tuple[Rule, ...]:
    """Return rules that are given by name or as functions; all registered ones by default."""
    if rules is None:
        return tuple(RULES.values())
    items = [rules] if isinstance(rules, str) or callable(rules) else rules
    if not isinstance(items, Iterable):
        raise InputError(f"rules is {rules!r}; expected names of rules or functions")
    chosen = []
    for item in items:
        if isinstance(item, str):
            if item not in RULES:
                raise InputError(f"unknown rule {item!r}; {nearest(item, RULES)}")
            chosen.append(RULES[item])
        elif callable(item):
            registered = (made for made in RULES.values() if made.function is item)
            chosen.append(next(registered, None) or as_rule(item))
        else:
            raise InputError(f"rules has {item!r}; expected names of rules or functions")
    return tuple(chosen)
