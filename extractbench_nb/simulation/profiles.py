"""Profiles of simulated models: the rate of each failure and each corruption.

The profiles of the paper's six models are calibrated on the printed figures.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.calling import MODES
from extractbench_nb.extraction.parsing import FAILURES
from extractbench_nb.paper.cells import DOMAINS, MODELS, SCHEMAS
from extractbench_nb.paper.facts import tally
from extractbench_nb.simulation.corrupt import check_rates, check_share
from extractbench_nb.simulation.documents import generator
from extractbench_nb.simulation.invalid import PROVIDERS, WRAPPINGS

T = TypeVar("T")


def quotas(shares: Mapping[str, float], total: int) -> dict[str, int]:
    """Divide a number by shares, by the method of the largest remainder (Hamilton's)."""
    exact = {name: share * total / sum(shares.values()) for name, share in shares.items()}
    counts = {name: int(part) for name, part in exact.items()}
    largest = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in largest[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def assigned(shares: Mapping[str, float], to: Sequence[T], seed: str) -> dict[T, str]:
    """Assign a name to each item at random, so that the count of each name is its quota."""
    names = list(Counter(quotas(shares, len(to))).elements())
    generator(seed).shuffle(names)
    return dict(zip(to, names, strict=True))


_DATA = json.loads((Path(__file__).parent / "data/models.json").read_text(encoding="utf-8"))

#: By mode, model and domain, how many outputs fail in which way; all others are valid.
FAILED: Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]] = _DATA["failed"]

#: Severity by mode, model and domain at which as many fields pass on the valid documents as in
#: Tables 8 and 10 to 13 (under the rules of the profile ``paper`` and the offline judge).
SEVERITY: Mapping[str, Mapping[str, Mapping[str, float]]] = _DATA["severity"]

#: Severity for a domain without a valid output to calibrate on.
USUAL_SEVERITY = 0.1

#: Rates of corruptions at severity 1: mostly wrong or missing values and missed items, and some
#: changes that keep the meaning.
MIXTURE: Mapping[str, float] = _DATA["mixture"]

#: Domains of schemas: those of the released dataset, and those of the sample dataset.
KINDS: Mapping[str, str] = {schema: domain for domain, schema in SCHEMAS.items()} | _DATA["kinds"]


#: The kind of documents that has no entry of its own.
ANY = "*"


@dataclass(frozen=True)
class ModelProfile:
    """The failure and error rates of a simulated model.

    Parameters
    ----------
    name : str
        The model's name. A run is called ``simulated`` and this name; the mode ``structured`` is
        added.
    failures : mapping of str to mapping
        By kind of document, the weight of each failure, named as by `parse_output`, ``none``
        included. The kind ``*`` stands for all other kinds. If there are as many documents as the
        sum of the weights, the counts are the weights.
    corruptions : mapping of str to mapping, optional
        By kind of document, the probability (0 to 1) of each corruption that `corruptions` lists.
    kinds : mapping of str to str, optional
        The kind of document by schema. Without an entry it is the name of the schema or of its
        domain.
    wrappings : mapping of str to float, optional
        Probability (0 to 1) of a code ``fence`` around a text and of a ``bom`` before it.
    strength : float, optional
        Share of a value that changes, above 0 and up to 1.
    provider : str, optional
        The provider whose error messages are used: ``openai``, ``anthropic`` or ``google``.
    mode : str, optional
        Mode of the run: ``prompt``, or ``structured`` with the schema as the response format.

    Raises
    ------
    InputError
        A name is unknown, or a number is out of range.

    Examples
    --------
    >>> profile = ModelProfile("careless", {"*": {"none": 3, "trailing_comma": 1}},
    ...     {"*": {"typo": 0.1, "drop_items": 0.05}})
    >>> profile.failures_of(profile.kind_of("cv", "hiring"))
    {'none': 3, 'trailing_comma': 1}
    """

    name: str
    failures: Mapping[str, Mapping[str, float]]
    corruptions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    wrappings: Mapping[str, float] = field(default_factory=dict)
    strength: float = 0.3
    provider: str = "openai"
    mode: str = "prompt"

    def __post_init__(self) -> None:
        """Check every name and number."""
        if not self.name or type(self.name) is not str:
            raise InputError(f"name is {self.name!r}; expected a model's name")
        for kind, weights in _mapping("failures", self.failures).items():
            _check_weights(f"failures[{kind!r}]", weights)
        for kind, rates in _mapping("corruptions", self.corruptions).items():
            check_rates(rates, f"corruptions[{kind!r}]")
        for wrapping, rate in _mapping("wrappings", self.wrappings).items():
            _check_name("wrappings", wrapping, WRAPPINGS)
            check_share(f"wrappings[{wrapping!r}]", rate)
        check_share("strength", self.strength, above=0)
        _check_name("provider", self.provider, PROVIDERS)
        _check_name("mode", self.mode, MODES)

    @property
    def label(self) -> str:
        """The name, and the mode unless it is ``prompt``; used in the names of runs."""
        return self.name if self.mode == MODES[0] else f"{self.name} {self.mode}"

    def kind_of(self, schema: str, domain: str) -> str:
        """Return the kind of a schema's documents; ``*`` if the profile does not list one.

        Parameters
        ----------
        schema : str
            Id of the schema.
        domain : str
            Domain of the dataset.

        Returns
        -------
        str
            A key of `failures` and `corruptions`.
        """
        folder = schema.rpartition("/")[2]
        known = (self.kinds.get(schema), self.kinds.get(folder), schema, folder, domain)
        own_kinds = {*self.failures, *self.corruptions}
        return next((kind for kind in known if kind is not None and kind in own_kinds), ANY)

    def failures_of(self, kind: str) -> Mapping[str, float]:
        """Return the weights of failures for a kind, or those of all kinds if it has none.

        Parameters
        ----------
        kind : str
            From `kind_of`.

        Returns
        -------
        mapping of str to float
            Weight by failure.
        """
        weights = self.failures.get(kind, self.failures.get(ANY))
        return weights or _summed(self.failures.values()) or {"none": 1}

    def corruptions_of(self, kind: str) -> Mapping[str, float]:
        """Return the rates of corruptions for a kind, or the mean of all kinds if it has none.

        Parameters
        ----------
        kind : str
            From `kind_of`.

        Returns
        -------
        mapping of str to float
            Rate by corruption.
        """
        rates = self.corruptions.get(kind, self.corruptions.get(ANY))
        if rates is not None:
            return rates
        total = _summed(self.corruptions.values())
        return {name: rate / len(self.corruptions) for name, rate in total.items()}


def _summed(mappings: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: defaultdict[str, float] = defaultdict(float)
    for name, number in chain.from_iterable(mapping.items() for mapping in mappings):
        total[name] += number
    return dict(total)


def _mapping(name: str, value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is {value!r}; expected a dict")
    return value


def _check_weights(name: str, weights: Any) -> None:
    for failure, weight in _mapping(name, weights).items():
        _check_name(name, failure, FAILURES)
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not 0 <= weight < float("inf"):
            raise InputError(f"{name}[{failure!r}] is {weight!r}; expected a number of 0 and up")
    if not any(weights.values()):
        raise InputError(f"{name} is {weights!r}; expected a weight above 0")


def _check_name(what: str, name: Any, known: Iterable[str]) -> None:
    words = tuple(known)
    if name not in words:
        raise InputError(f"{what}: no {name!r}; {nearest(name, words)}")


def severity_rates(severity: float) -> dict[str, float]:
    """Return the rates of `MIXTURE` at a severity, none above 1."""
    return {name: min(1.0, round(rate * severity, 6)) for name, rate in MIXTURE.items()}


_MAKERS = {"GPT": "openai", "Claude": "anthropic", "Gemini": "google"}


def model_profile(name: str | ModelProfile, mode: str = "prompt") -> ModelProfile:
    """Return the profile of one of the paper's models; a profile as it is."""
    if isinstance(name, ModelProfile):
        return name
    if name not in MODELS:
        known = nearest(name, MODELS)
        raise InputError(f"profile is {name!r}; expected a ModelProfile or a model: {known}")
    _check_name("mode", mode, MODES)
    severity = SEVERITY[mode].get(name, {})
    failures: dict[str, dict[str, float]] = {}
    for domain in DOMAINS:
        failed = FAILED[mode][name].get(domain, {})
        documents = tally(mode, models=(name,), domains=(domain,)).documents
        failures[domain] = {"none": documents - sum(failed.values()), **failed}
    return ModelProfile(
        name,
        failures,
        {domain: severity_rates(severity.get(domain, USUAL_SEVERITY)) for domain in DOMAINS},
        KINDS,
        {"fence": 0.5} if mode == "prompt" else {},
        provider=next(maker for start, maker in _MAKERS.items() if name.startswith(start)),
        mode=mode,
    )


def model_profiles(mode: str = "prompt") -> dict[str, ModelProfile]:
    """Return the profiles of the paper's six models by name, in the order of Table 5.

    Parameters
    ----------
    mode : str, optional
        Mode of their runs, ``prompt`` or ``structured``.

    Returns
    -------
    dict of str to ModelProfile
        Profile by name of the model.

    Raises
    ------
    InputError
        The mode is unknown.

    Examples
    --------
    >>> list(model_profiles())[:2]
    ['Gemini 3 Flash', 'Gemini 3 Pro']
    """
    return {name: model_profile(name, mode) for name in MODELS}
