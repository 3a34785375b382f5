"""The registry: one entry per metric, with its params, ranges, pass rule and source."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple, TypeVar, overload

import pandas as pd

from extractbench_nb.core.field_metrics.estimates import Estimated, judged_texts, similar_texts
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import private_copy
from extractbench_nb.errors import ConfigError, InputError, nearest

APPLIES_TO = ("string", "number", "integer", "boolean", "array", "any")


class MetricScore(NamedTuple):
    """A score with a reason, which a metric may return instead of a number.

    Parameters
    ----------
    score : float
        In [0, 1].
    passed : bool, optional
        The verdict; by default the metric's pass rule decides.
    reason : str, optional
        Short code of the reason, such as ``value_mismatch``.
    reasoning : str, optional
        An explanation for people.
    """

    score: float
    passed: bool | None = None
    reason: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a metric: its type, default and range.

    ``kind`` is ``number``, ``boolean``, ``string``, ``object``, ``any``, or ``names``: a text or a
    list of texts. ``meaning`` is empty if the docstring of the metric's function has it.
    """

    name: str
    kind: str = "any"
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Any, ...] = ()
    meaning: str = ""

    def problem(self, value: Any) -> str | None:
        """Return what is wrong with a value, or None."""
        is_valid = _is_of_kind(value, self.kind) and (not self.choices or value in self.choices)
        if is_valid and self.kind == "number":  # NaN is in no range
            lowest = -inf if self.minimum is None else self.minimum
            is_valid = lowest <= value <= (inf if self.maximum is None else self.maximum)
            is_valid = is_valid and (not self.is_whole or float(value).is_integer())
        return None if is_valid else f"{self.name} is {value!r}; expected {self.expected}"

    @property
    def is_whole(self) -> bool:
        """Whether it takes whole numbers only: its default is one, and it is not a share."""
        is_share = (self.minimum, self.maximum) == (0, 1)
        return self.kind == "number" and type(self.default) is int and not is_share

    @property
    def expected(self) -> str:
        """The allowed values in words."""
        number = "a whole number" if self.is_whole else "a number"
        if self.choices:
            return "one of " + ", ".join(repr(c) for c in self.choices)
        if self.minimum is not None and self.maximum is not None:
            return f"{number} from {self.minimum:g} to {self.maximum:g}"
        if self.minimum is not None:
            return f"{number} that is {self.minimum:g} or more"
        if self.kind == "names":
            return "the name of a field, or a list of names"
        article = "an" if self.kind in ("object", "any") else "a"
        return number if self.kind == "number" else f"{article} {self.kind}"


_KINDS: dict[str, type | tuple[type, ...]] = {
    "boolean": bool,
    "number": (int, float),
    "string": str,
    "object": dict,
}


def _is_of_kind(value: Any, kind: str) -> bool:
    if kind == "names":
        names = [value] if isinstance(value, str) else value
        return isinstance(names, list) and bool(names) and all(isinstance(n, str) for n in names)
    if kind == "any" or isinstance(value, bool):
        return kind in ("any", "boolean")
    return isinstance(value, _KINDS[kind])


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A metric as a value: what is declared here is all that the core knows about it."""

    name: str
    #: Maps ``(gold, predicted, **params)`` to a score in [0, 1], a bool or a `MetricScore`; sync or
    #: async. None if the evaluator computes the metric itself.
    function: Callable[..., Any] | None
    #: JSON Schema types; ``any``: values of other types are compared by their JSON text.
    applies_to: tuple[str, ...]
    params: tuple[Param, ...] = ()
    pass_rule: str = "score is 1"
    source: str = "user"
    summary: str = ""
    #: The param that a score must reach to pass; None: only 1.0 passes.
    threshold: str | None = None
    #: Numpydoc text with formula and params.
    doc: str = ""
    #: Whether a judge decides it.
    judged: bool = False
    #: Whether it scores arrays by aligning their items.
    aligns: bool = False
    #: Whether it leaves nodes out of the scores.
    skips: bool = False
    #: Whether its function is that of a class: it is async, takes the schema node, gold, predicted
    #: and the metric's spec, and its params are not checked.
    takes_node: bool = False
    #: Maps ``(gold values, predicted values, params)`` to the similarity of all pairs and which are
    #: likely to pass; it chooses the items of large arrays that the metric then compares.
    estimate: Callable[..., Estimated] = similar_texts
    #: Types of scalars of which two equal values always get the same verdict.
    reflexive: Collection[type] = ()
    #: What the preset of its name is for; empty: there is none. And the params that it sets.
    use: str = ""
    preset: Mapping[str, Any] = field(default_factory=dict)
    #: JSON Schema type of nodes that it scores if they declare no metric.
    default_for: str | None = None
    #: Metrics that take its place, by the JSON Schema ``format`` of a node.
    by_format: Mapping[str, str] = field(default_factory=dict)
    #: Whether the function must be awaited.
    is_async: bool = field(init=False)

    def __post_init__(self) -> None:
        """Note whether the function must be awaited."""
        is_async = self.takes_node or inspect.iscoroutinefunction(self.function)
        object.__setattr__(self, "is_async", is_async)

    @property
    def defaults(self) -> dict[str, Any]:
        """The default values of its params."""
        return {p.name: p.default for p in self.params}

    def pass_mark(self, params: Mapping[str, Any]) -> float:
        """Return the lowest score in [0, 1] that passes under the params of a field."""
        if self.threshold is None:
            return 1.0
        value = params.get(self.threshold, self.defaults.get(self.threshold))
        return 1.0 if value is None else float(value)

    def problem_with(self, params: Mapping[str, Any]) -> str | None:
        """Return what is wrong with the params that a schema declares, or None."""
        declared = {param.name: param for param in self.params}
        for name, value in () if self.takes_node else params.items():
            if name not in declared:
                return f"{self.name} has no param {name!r}; {nearest(name, declared)}"
            if problem := declared[name].problem(value):
                return f"{self.name}: {problem}"
        return None

    @property
    def named_types(self) -> tuple[str, ...]:
        """The JSON Schema types that it names; it may compare others as well."""
        return tuple(name for name in self.applies_to if name != "any")

    @property
    def is_for_arrays(self) -> bool:
        """Whether it compares arrays and nothing else."""
        return self.named_types == ("array",)

    @property
    def is_for_scalars(self) -> bool:
        """Whether it compares anything but arrays; a judge compares texts."""
        return self.judged or bool(self.named_types and "array" not in self.named_types)

    def __repr__(self) -> str:
        """Return name and params with their defaults."""
        params = ", ".join(f"{p.name}={p.default!r}" for p in self.params)
        return f"Metric({self.name!r}, {params})" if params else f"Metric({self.name!r})"


METRIC_COLUMNS = FrameSpec(
    "metrics",
    "one row per metric",
    (
        Column("metric", "string", "name to use in evaluation_config"),
        Column("applies_to", "string", "JSON types that it compares"),
        Column("params", "object", "params and their defaults, as a dict"),
        Column("ranges", "string", "allowed values of each param"),
        Column("pass_rule", "string", "condition under which a score passes"),
        Column("judged", "bool", "whether a judge decides it"),
        Column("source", "string", "source of the definition"),
        Column("summary", "string", "what it compares"),
    ),
)


@dataclass(slots=True)
class Registry:
    """All metrics by name; schemas are checked against its names and params."""

    entries: dict[str, Metric] = field(default_factory=dict)
    #: Those of this package, before anybody added or replaced one.
    built_in: dict[str, Metric] = field(default_factory=dict)

    def add(self, entry: Metric) -> None:
        """Add a metric, or replace the one of the same name."""
        self.entries[entry.name] = entry

    def get(self, name: str) -> Metric:
        """Return a metric by name, or raise `ConfigError` with the nearest known names."""
        try:
            return self.entries[name]
        except KeyError:
            hint = nearest(name, self.entries)
            raise ConfigError(None, f"unknown metric {name!r}; {hint}") from None

    def built_in_that(self, flag: str) -> Metric:
        """Return the built-in metric that declares a flag: ``aligns`` or ``skips``."""
        return next(entry for entry in self.built_in.values() if getattr(entry, flag))

    def config_of(self, metric: Any) -> Any:
        """Return the ``evaluation_config`` that names a function; others as they are, copied."""
        if not callable(metric) and not isinstance(metric, Metric):
            return private_copy(metric)
        for entry in self.entries.values():
            if metric is entry.function or metric is entry:
                return entry.name
        raise InputError(f"{metric!r} is not registered; decorate it with @metric")


#: What a name stands for that no metric has: nothing is declared about it.
UNKNOWN = Metric("", None, (), estimate=judged_texts)
#: The metrics that exist, built in and of the user's own.
REGISTRY = Registry()

#: Where the definitions of most built-in metrics come from.
README = "ExtractBench README, metrics table"
_Function = TypeVar("_Function", bound=Callable[..., Any])


def built_in(
    applies_to: tuple[str, ...],
    summary: str,
    *,
    source: str = README,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    equal_formula: str = "",
    **declared: Any,
) -> Callable[[_Function], _Function]:
    """Register a function of this package under its own name.

    The arguments are fields of `Metric`; `params` has fields of `Param` that the function's
    signature does not give: ranges, choices, meanings. `equal_formula` says when values are equal.
    """

    def register(function: _Function) -> _Function:
        entry = _entry(function.__name__, function, applies_to, source)
        ranged = tuple(replace(p, **(params or {}).get(p.name, {})) for p in entry.params)
        doc = entry.doc + (_EQUALITY % equal_formula if equal_formula else "")
        REGISTRY.add(replace(entry, params=ranged, summary=summary, doc=doc, **declared))
        return function

    return register


_EQUALITY = r"""

Notes
-----
.. math::

    s(g, p) = \begin{cases} 1 & \text{if } %s \\ 0 & \text{otherwise} \end{cases}
"""


def _entry(
    name: str, function: Callable[..., Any], applies_to: tuple[str, ...], source: str
) -> Metric:
    """Return the metric that a function is, by its signature and docstring."""
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) < len(("gold", "predicted")):
        problem = f"metric {name!r} must take (gold, predicted, *, params with defaults)"
        raise ConfigError(None, problem)
    params = []
    for p in parameters[2:]:
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            continue
        if p.default is p.empty:
            raise ConfigError(None, f"param {p.name!r} of metric {name!r} needs a default")
        kind = next((kind for kind in _KINDS if _is_of_kind(p.default, kind)), "any")
        is_share = kind == "number" and p.name in (*_THRESHOLDS, "align_threshold")
        params.append(Param(p.name, kind, p.default, *((0.0, 1.0) if is_share else ())))
    names = [param.name for param in params]
    threshold = next((t for t in _THRESHOLDS if t in names), None)
    rule = f"score >= {threshold}" if threshold else "score is 1"
    doc = inspect.getdoc(function) or ""
    summary = doc.partition("\n")[0]
    return Metric(name, function, applies_to, tuple(params), rule, source, summary, threshold, doc)


_THRESHOLDS = ("threshold", "pass_threshold")


@overload
def metric(name: Callable[..., Any], /) -> Callable[..., Any]: ...
@overload
def metric(
    name: str | None = None,
    /,
    *,
    applies_to: str | Iterable[str] = "any",
    source: str = "user",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def metric(
    name: str | Callable[..., Any] | None = None,
    /,
    *,
    applies_to: str | Iterable[str] = "any",
    source: str = "user",
) -> Any:
    """Register a function as a metric; running the cell again replaces it.

    Parameters
    ----------
    name : str, optional
        The name to use in an ``evaluation_config``; the function's own name by default.
    applies_to : str or iterable of str, optional
        ``string``, ``number``, ``integer``, ``boolean``, ``array`` or ``any``.
    source : str, optional
        The source of the definition.

    Returns
    -------
    callable
        A decorator that returns the function unchanged.

    Raises
    ------
    ConfigError
        The function does not take ``(gold, predicted)`` and keyword params with defaults, or the
        name is that of a built-in metric.

    Warns
    -----
    UserWarning
        The name belongs to another function, which is replaced.

    Notes
    -----
    The function returns a score in [0, 1], a bool, or a `MetricScore`. A value passes if its score
    reaches the param ``threshold`` (or ``pass_threshold``) or, without such a param, 1.0. The
    function is called only if both values are present, with copies of arrays and objects. It may be
    ``async``. If it raises an exception, the outcome is ``judge_error``.

    Examples
    --------
    >>> @metric("same_length", applies_to="string")
    ... def same_length(gold, predicted, *, threshold=0.9):
    ...     return min(len(gold), len(predicted)) / max(len(gold), len(predicted), 1)
    >>> REGISTRY.get("same_length").pass_rule
    'score >= threshold'
    >>> unregister("same_length")
    """
    if callable(name):
        return metric()(name)
    kinds = (applies_to,) if isinstance(applies_to, str) else tuple(applies_to)
    for kind in kinds:
        if kind not in APPLIES_TO:
            raise ConfigError(None, f"applies_to is {kind!r}; {nearest(kind, APPLIES_TO)}")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        metric_name = name or function.__name__
        if metric_name in REGISTRY.built_in:
            raise ConfigError(None, f"{metric_name!r} is a built-in metric; choose another name")
        entry = _entry(metric_name, function, kinds, source)
        before = REGISTRY.entries.get(metric_name)
        if before is not None and _place(before.function) != _place(function):
            place = ".".join(_place(before.function))
            warnings.warn(f"metric {metric_name!r} replaces {place}", stacklevel=2)
        REGISTRY.add(entry)
        return function

    return register


def _place(function: Any) -> tuple[str, str]:
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", repr(function))


def unregister(name: str) -> None:
    """Remove a metric that was added with `metric`.

    Parameters
    ----------
    name : str
        Its name.

    Raises
    ------
    ConfigError
        There is no such metric, or it is built in.
    """
    if name in REGISTRY.built_in:
        raise ConfigError(None, f"{name!r} is a built-in metric; it cannot be removed")
    REGISTRY.get(name)
    del REGISTRY.entries[name]


def metrics() -> pd.DataFrame:
    """List the metrics that an ``evaluation_config`` can select, including the user's own.

    Returns
    -------
    pandas.DataFrame
        One row per metric: metric, applies_to, params, ranges, pass_rule, judged, source, summary.

    Examples
    --------
    >>> metrics().set_index("metric").loc["number_tolerance", "pass_rule"]
    '|gold - predicted| <= tolerance * |gold|'
    """
    return METRIC_COLUMNS.from_rows(
        (
            metric.name,
            ", ".join(metric.applies_to),
            metric.defaults,
            "; ".join(f"{param.name}: {param.expected}" for param in metric.params),
            metric.pass_rule,
            metric.judged,
            metric.source,
            metric.summary,
        )
        for metric in REGISTRY.entries.values()
    )
