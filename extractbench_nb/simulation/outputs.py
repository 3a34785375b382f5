"""`simulate`: what a model might have said about a dataset, made from gold, with a record.

The outputs are texts and metas as a run keeps them, so that parser, evaluator and tables take them
as they take a real model's. Wherever they appear they are named a simulation.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._files import read_own_json, write_texts
from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import canonical
from extractbench_nb._tokens import count_tokens
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.conforming import Conformance
from extractbench_nb.extraction.folders import RunFolder, describe_run, folder_path
from extractbench_nb.extraction.plans import dataset_of
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.schema.states import MISSING
from extractbench_nb.simulation.catalogue import CORRUPTIONS
from extractbench_nb.simulation.corrupt import (
    RECORD_COLUMNS,
    Mixed,
    mixed_copy,
    record_columns,
    violated,
)
from extractbench_nb.simulation.invalid import (
    CALL_FAILURES,
    TEXT_FAILURES,
    Spoken,
    call_error,
    json_of,
    spoil,
    wrap,
)
from extractbench_nb.simulation.profiles import ModelProfile, assigned, model_profile
from extractbench_nb.simulation.tasks import Document, Pool, generator, pool_of

__all__ = [
    "SIMULATED_COLUMNS",
    "SIMULATED_RECORD_COLUMNS",
    "SIMULATION_FILE",
    "ArrayLayout",
    "Kept",
    "Simulation",
    "Stop",
    "TracedOutput",
    "Way",
    "alike",
    "columns_of",
    "is_of_item",
    "prefixes",
    "read_kept",
    "simulate",
    "steps",
    "write_kept",
]


#: A step of an instance path: a name, a quoted key, or an index, with a plus if gold has no such.
_STEP = re.compile(r"\.([A-Za-z_$][\w$-]*)|\['((?:[^'\\]|\\.)*)'\]|\[\+?(\d+)\]", re.DOTALL)


class ArrayLayout(NamedTuple):
    """Where the items of a gold array went.

    ``own`` are the indices of what stands for an item of gold, ``added`` those of what was put
    there by a change, one of which is too many. ``written`` is what the output holds if the record
    is right, with `MISSING` for an item that is changed inside.
    """

    own: dict[int, list[int]]
    added: dict[int, list[int]]
    written: list[Any]


class Stop(NamedTuple):
    """An item on the way to a place: its array, gold's index, and what the output has there."""

    array: str
    number: int
    items: list[Any]
    layout: ArrayLayout

    @property
    def own(self) -> list[int]:
        """The indices in the output of what stands for the item."""
        return self.layout.own[self.number]


class Way(NamedTuple):
    """The way to a place of gold in the output: the items on it, what holds it, and what it is."""

    stops: list[Stop]
    box: Any
    value: Any


class TracedOutput:
    """The output that a record is about: where gold's places are in it, and what they hold."""

    def __init__(self, gold: Any, value: Any, changes: Iterable[Any]) -> None:
        self._gold, self._value = gold, value
        self.changed: set[str] = set()
        self.touched: set[str] = set()
        self._rewrites: dict[str, dict[int, Any]] = defaultdict(dict)
        self._moves: dict[str, list[Any]] = defaultdict(list)
        self._layouts: dict[str, ArrayLayout | None] = {}
        for change in changes:
            self._note(change)

    def _note(self, change: Any) -> None:
        *above, path = prefixes(change.path)
        self.changed.add(path)
        self.touched.update(above)
        if not is_of_item(change) or pd.isna(change.item):
            self.touched.add(path)
        elif change.corruption == "shuffle_items":
            self._moves[above[-1]].append(change)
        else:
            self._rewrites[above[-1]][int(change.item)] = change

    def held(self, change: Any) -> Way | None:
        """Return the way to a change, if what the record says of it is so."""
        way = self.way(change.path)
        if way is None or is_of_item(change):
            return None if way is None or pd.isna(change.item) else way
        if change.corruption == "omit":
            return way if way.value is MISSING and isinstance(way.box, dict) else None
        return way if alike(way.value, change.after) else None

    def way(self, path: str) -> Way | None:
        """Return the way to a place of gold; None where the output is not as the record says."""
        gold, value, box = self._gold, self._value, None
        stops: list[Stop] = []
        for above, key in steps(path):
            box = value
            if isinstance(key, str):
                gold, value = _member(gold, key), _member(value, key)
                continue
            layout = self._layout(above, gold, value)
            if layout is None or key not in layout.own:
                return None
            stop = Stop(above, key, value, layout)
            stops.append(stop)
            gold, value = gold[key], value[stop.own[0]] if len(stop.own) == 1 else MISSING
        return Way(stops, box, value)

    def _layout(self, array: str, gold: Any, value: Any) -> ArrayLayout | None:
        """Return where the items of an array are, if they are there."""
        if array not in self._layouts:
            laid = self._laid_out(array, gold) if isinstance(gold, list) else None
            fits = laid is not None and isinstance(value, list)
            if fits and laid is not None:
                pairs = zip(laid.written, value, strict=False)
                fits = len(laid.written) == len(value) and all(
                    one is MISSING or alike(one, other) for one, other in pairs
                )
            self._layouts[array] = laid if fits else None
        return self._layouts[array]

    def _laid_out(self, array: str, gold: list[Any]) -> ArrayLayout:
        laid = ArrayLayout({}, {}, [])
        rewrites = self._rewrites[array]
        for i in self._order(array, len(gold)):
            own = MISSING if f"{array}[{i}]" in self.touched else gold[i]
            change, before = rewrites.get(i), rewrites.get(i - 1)
            if change is None and before is not None and before.corruption == "merge_items":
                continue
            stands = [own] if change is None else _instead(change, own)
            first = len(laid.written)
            there = list(range(first, first + len(stands)))
            laid.written.extend(stands)
            invented = change is not None and change.corruption == "spurious_items"
            laid.own[i] = there[:1] if invented else there
            laid.added[i] = there[1:] if invented else there
            if change is not None and change.corruption == "merge_items":
                laid.own[i + 1] = there
        return laid

    def _order(self, array: str, items: int) -> list[int]:
        """Return gold's indices in the output's order: each moved item is another one's value."""
        order = list(range(items))
        moved = sorted(self._moves[array], key=lambda change: int(change.item))
        free = [*moved[1:], *moved[:1]]
        for change in moved:
            other = next((one for one in free if alike(one.before, change.after)), None)
            if other is not None and change.item < items:
                free.remove(other)
                order[int(change.item)] = int(other.item)
        return order


def _instead(change: Any, own: Any) -> list[Any]:
    """Return what stands in place of an item of gold."""
    if change.corruption == "drop_items":
        return []
    if change.corruption == "spurious_items":
        return [own, change.after]
    several = change.corruption != "merge_items" and isinstance(change.after, list)
    return change.after if several else [change.after]


def _member(value: Any, key: str) -> Any:
    return value.get(key, MISSING) if isinstance(value, dict) else MISSING


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    return one is not MISSING and canonical(one) == canonical(other)


def is_of_item(change: Any) -> bool:
    """Whether a change is one of a whole item."""
    return CORRUPTIONS[change.corruption].level == "item"


def prefixes(path: str) -> list[str]:
    """Return a path and those of what it is inside of, the root first."""
    return ["$", *(path[: step.end()] for step in _STEP.finditer(path))]


def steps(path: str) -> Iterator[tuple[str, str | int]]:
    """Yield the steps of a path: that of what it is a step in, and the key or index."""
    for step in _STEP.finditer(path):
        name, quoted, index = step.groups()
        key = name if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        yield path[: step.start()], int(index) if index else key


SIMULATION_FILE = "simulation.json"

Columns = Mapping[str, list[Any]]


class Kept(NamedTuple):
    """What is kept; of the outputs all but their texts and metas, which the run has."""

    profile: ModelProfile
    seed: int | str
    outputs: Columns
    record: Columns


def columns_of(frame: pd.DataFrame, *without: str) -> Columns:
    """Return the cells of a frame by column, a missing one as None, but for the columns named."""
    return {
        str(name): [None if cell is pd.NA else cell for cell in frame[name].tolist()]
        for name in frame.columns
        if name not in without
    }


def write_kept(folder: Path, kept: Kept) -> None:
    """Write ``simulation.json``."""
    profile = {one.name: getattr(kept.profile, one.name) for one in fields(kept.profile)}
    found = {**kept._asdict(), "profile": profile}
    text = json.dumps(found, default=_plain)
    write_texts({folder / SIMULATION_FILE: f"{text}\n"})


def _plain(value: Any) -> Any:
    """Return a mapping or number of any kind as one of JSON's."""
    return dict(value) if isinstance(value, Mapping) else float(value)


def read_kept(folder: Path) -> Kept:
    """Read ``simulation.json``."""
    path = folder / SIMULATION_FILE
    if not path.is_file():
        raise InputError(f"no simulation in {str(folder)!r}: expected a folder with {path.name}")
    found = read_own_json(path, "simulation")
    try:
        kept = Kept(**{**found, "profile": ModelProfile(**found["profile"])})
    except (TypeError, KeyError, InputError) as error:
        raise InputError(f"{str(path)!r} describes no simulation: {error}") from None
    for name, columns in (("outputs", kept.outputs), ("record", kept.record)):
        if not _are_columns(columns):
            raise InputError(f"{str(path)!r} describes no simulation: {name} has no columns")
    return kept


def _are_columns(found: object) -> bool:
    return isinstance(found, dict) and all(isinstance(cells, list) for cells in found.values())


SIMULATED_COLUMNS = FrameSpec(
    "outputs",
    "one row a document",
    (
        Column("run", "string", "name of the run, which says that it is simulated"),
        Column("document", "string", "document id"),
        Column("domain", "string", "domain of its schema"),
        Column("schema", "string", "schema id"),
        Column("raw", "object", "the text; None where there was none", "", True),
        Column("meta", "object", "what is known of the call, a dict"),
        Column("failure", "string", "the failure that was made", "as `parse_output` names them"),
        Column("variant", "string", "how exactly it fails", "", True),
        Column("wrapping", "string", "what stands around the text", "fence, bom", True),
    ),
)

SIMULATED_RECORD_COLUMNS = FrameSpec(
    "record",
    "one row a change, in the order of outputs and of gold",
    (
        Column("run", "string", "name of the run"),
        Column("document", "string", "document id"),
        Column("kind", "string", "what was changed", "value, presence, item, structure"),
        *RECORD_COLUMNS.columns,
    ),
)


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """A simulated run and what was done to make it.

    Attributes
    ----------
    run : str
        Its name.
    profile : ModelProfile
        What the model does.
    seed : int or str
        The same seed gives the same simulation.
    outputs : pandas.DataFrame
        One row a document: run, document, domain, schema, raw, meta, failure, variant, wrapping.
    record : pandas.DataFrame
        One row a change: run, document, kind, path, field, corruption, item, before, after.
        Documents without text have none.
    """

    run: str
    profile: ModelProfile
    seed: int | str
    outputs: pd.DataFrame
    record: pd.DataFrame

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the outputs as a run, to be read like one of a real model, and by `open`.

        Parameters
        ----------
        folder : str or path
            A folder that does not exist yet, or is empty.

        Returns
        -------
        pathlib.Path
            The folder, for `Run.open`; ``run.json`` says that it is a simulation, and
            ``simulation.json`` has the profile and the record.

        Raises
        ------
        InputError
            The folder holds something, or is no path.
        OutputError
            It cannot be written.
        """
        rows = self.outputs.to_dict("records")
        places = {r["document"]: {name: r[name] for name in ("domain", "schema")} for r in rows}
        parameters = {"seed": self.seed, "profile": self.profile.name}
        mode = self.profile.mode
        description = describe_run(
            "simulation", self.run, mode=mode, parameters=parameters, documents=places
        )
        kept = RunFolder.create(folder_path(folder), description)
        outputs = columns_of(self.outputs, "raw", "meta")  # these are in files of their own
        write_kept(kept.path, Kept(self.profile, self.seed, outputs, columns_of(self.record)))
        for row in rows:
            kept.write(row["document"], row["raw"], row["meta"])
        return kept.path

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Simulation:
        """Read a simulation from its folder, to be checked or served again.

        Parameters
        ----------
        folder : str or path
            Where `save` wrote it.

        Returns
        -------
        Simulation
            As it was saved; only a lone surrogate in a text is its escape now.

        Raises
        ------
        InputError
            There is no simulation, an output is not there, or a file cannot be read.
        """
        run = RunFolder.open(folder_path(folder))
        kept = read_kept(run.path)
        try:
            found = [run.read(document) for document in kept.outputs["document"]]
            texts: list[Any] = [one.raw for one in found]
            metas: list[Any] = [one.meta for one in found]
            outputs = SIMULATED_COLUMNS.build({**kept.outputs, "raw": texts, "meta": metas})
            record = SIMULATED_RECORD_COLUMNS.build(kept.record)
            seed = _seed(kept.seed)
        except (TypeError, KeyError, ValueError) as error:
            raise InputError(f"simulation in {str(run.path)!r} cannot be read: {error}") from None
        return cls(run.description["model"], kept.profile, seed, outputs, record)

    def __repr__(self) -> str:
        """Say how many outputs failed in which way, and how much was changed."""
        counts = Counter(self.outputs["failure"])
        valid = counts.pop("none", 0)
        failed = "".join(f", {count} {name}" for name, count in counts.most_common())
        return (
            f"Simulation({self.run!r}: {len(self.outputs)} outputs, {valid} valid{failed}; "
            f"{len(self.record):,} changes)"
        )


def simulate(
    dataset: Dataset | str | os.PathLike[str] | None,
    profile: ModelProfile | str,
    seed: int | str = 0,
    *,
    run: str | None = None,
) -> Simulation:
    """Simulate what a model says about a dataset.

    Parameters
    ----------
    dataset : Dataset, str or path
        A dataset, or what `load_dataset` takes; None is the sample dataset.
    profile : ModelProfile or str
        What the model does; or one of the paper's six models by name, calibrated on its published
        validity, failures and pass rates by domain.
    seed : int or str, optional
        The same seed gives the same simulation.
    run : str, optional
        Name of the run; by default ``simulated`` and the profile's name, and its mode where that
        is ``structured``.

    Returns
    -------
    Simulation
        ``.outputs`` has the texts, ``.record`` what was done to which path.

    Raises
    ------
    InputError
        The profile is not known, `dataset`, `seed` or `run` is something else, or a document
        cannot fail as it should.
    DatasetError
        The dataset cannot be read.

    Notes
    -----
    Failures are drawn without replacement for each kind of document, so that their counts are the
    profile's, rounded by largest remainders. An output that is to be valid has only changes that
    the schema allows, violations of gold's own aside; that of a ``schema_violation`` has one more.
    Texts that fail otherwise carry their changes too, for what a repair brings back; where nothing
    would be left to break, or no place for a violation, the document is not changed before.
    ``completion_tokens`` are GPT-2's.

    Examples
    --------
    >>> made = simulate("sample", "Gemini 3 Flash")
    >>> int((made.outputs["failure"] == "none").sum())
    11
    >>> made.run
    'simulated Gemini 3 Flash'
    """
    data, seed = dataset_of(dataset), _seed(seed)
    model = model_profile(profile)
    name = _name_of(run, model)
    makers = _Makers(data, model, str(seed))
    made = [makers.output(document) for document in makers.documents]
    return Simulation(name, model, seed, _outputs(name, made), _record(name, made))


def _seed(seed: Any) -> int | str:
    if isinstance(seed, str):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise InputError(f"seed is {seed!r}; expected an integer or a text")
    return int(seed)


def _name_of(run: Any, profile: ModelProfile) -> str:
    if run is None:
        return f"simulated {profile.label}"
    if not isinstance(run, str) or not run:
        raise InputError(f"run is {run!r}; expected a name")
    return run


class _Document(NamedTuple):
    id: str
    domain: str
    schema: str
    kind: str


class _Made(NamedTuple):
    document: _Document
    failure: str
    spoken: Spoken
    wrapping: str | None
    meta: dict[str, Any]
    changes: list[tuple[str, Any]]


class _Makers:
    """Makes the outputs of one model; schemas and gold are read once."""

    def __init__(self, data: Dataset, profile: ModelProfile, seed: str) -> None:
        self.profile, self.seed = profile, f"{seed}\x1f{profile.label}"
        columns = (data.listing[name] for name in ("document", "domain", "schema"))
        rows = zip(*columns, strict=True)
        self.documents = [_Document(d, o, s, profile.kind_of(s, o)) for d, o, s in rows]
        self.schemas = {s: parse_schema(data.schema(s)) for s in {d.schema for d in self.documents}}
        self.gold = {d.id: data.gold(d.id) for d in self.documents}
        self.pools = {
            d.id: pool_of(self.schemas[d.schema].root, self.gold[d.id]) for d in self.documents
        }
        self.failures = dict(self._failures())

    def _failures(self) -> Iterator[tuple[str, str]]:
        for kind in dict.fromkeys(document.kind for document in self.documents):
            to = [document.id for document in self.documents if document.kind == kind]
            shares = self.profile.failures_of(kind)
            yield from assigned(shares, to, f"{self.seed}\x1f{kind}").items()

    def output(self, document: _Document) -> _Made:
        """Make the output of one document."""
        failure = self.failures[document.id]
        rng = generator(f"{self.seed}\x1f{document.id}\x1foutput")
        if failure in CALL_FAILURES and not (failure == "refused" and rng.random() < 1 / 2):
            error = call_error(failure, self.profile.provider)
            meta = _meta(self.profile, None, None, error)
            return _Made(document, failure, Spoken(None, "", None), None, meta, [])
        mixed = self._mixed(document, failure, rng)
        spoken = _spoken(document, failure, mixed, rng)
        wrapping = None if failure in _BARE else self._wrapping(rng)
        if wrapping is not None and spoken.raw is not None:
            cut_off = failure == "truncated_json"
            spoken = spoken._replace(raw=wrap(wrapping, spoken.raw, cut_off=cut_off))
        meta = _meta(self.profile, spoken.raw, spoken.finish_reason, None)
        changes = [] if failure in _EMPTY else mixed.changes
        return _Made(document, failure, spoken, wrapping, meta, changes)

    def _mixed(self, document: _Document, failure: str, rng: Random) -> Mixed:
        """Corrupt gold; what the schema does not allow is done only where that is the failure."""
        rates = self.profile.corruptions_of(document.kind)
        if failure != "schema_violation":
            mixed = self._corrupted(document, rates, fits=failure == "none")[1]
            left = mixed.value or failure not in TEXT_FAILURES
            return mixed if left else self._corrupted(document, {}, fits=False)[1]
        for these in (rates, {}):  # a document with one value has none left where that is changed
            copy, mixed, allowed = self._corrupted(document, these, fits=True)
            found = violated(copy, mixed, allowed, rng) if allowed is not None else None
            if found is not None:
                return found
        raise InputError(
            f"document {document.id!r}: no schema_violation is possible, its schema allows every "
            "type at every place"
        )

    def _corrupted(
        self, document: _Document, rates: Mapping[str, float], *, fits: bool
    ) -> tuple[Document, Mixed, Conformance | None]:
        schema, gold = self.schemas[document.schema], self.gold[document.id]
        copy = Document(schema.root, gold)
        how = self.profile.strength, self._donors(document)
        allowed = Conformance(schema, gold) if fits else None
        seed = f"{self.seed}\x1f{document.id}"
        return copy, mixed_copy(copy, rates, seed, how, allowed), allowed

    def _donors(self, document: _Document) -> Sequence[Pool]:
        return [
            self.pools[other.id]
            for other in self.documents
            if other.schema == document.schema and other.id != document.id
        ]

    def _wrapping(self, rng: Random) -> str | None:
        """Draw what stands around a text: the first that is drawn."""
        hits = [name for name, rate in self.profile.wrappings.items() if rng.random() < rate]
        return hits[0] if hits else None


#: Failures whose text shows nothing of the document, and those that have nothing around them.
_EMPTY = ("empty_response", "refused")
_BARE = (*_EMPTY, "malformed_json")


def _spoken(document: _Document, failure: str, mixed: Mixed, rng: Random) -> Spoken:
    if failure not in TEXT_FAILURES:
        return Spoken(json_of(mixed.value, rng), "stop", None)
    try:
        return spoil(failure, mixed.value, rng)
    except InputError as error:
        raise InputError(f"document {document.id!r}: {error}") from None


def _meta(
    profile: ModelProfile, raw: str | None, reason: str | None, error: Mapping[str, str] | None
) -> dict[str, Any]:
    return {
        "finish_reason": reason,
        "prompt_tokens": None,
        "completion_tokens": None if error else count_tokens(raw or ""),
        "cost_usd": None,
        "latency_seconds": None,
        "error": None if error is None else dict(error),
        "input": "file",
        "simulated": True,
        "model": f"simulated {profile.label}",
    }


def _outputs(run: str, made: Sequence[_Made]) -> pd.DataFrame:
    return SIMULATED_COLUMNS.build(
        {
            "run": [run] * len(made),
            "document": [one.document.id for one in made],
            "domain": [one.document.domain for one in made],
            "schema": [one.document.schema for one in made],
            "raw": [one.spoken.raw for one in made],
            "meta": [one.meta for one in made],
            "failure": [one.failure for one in made],
            "variant": [_cell(one.spoken.variant) for one in made],
            "wrapping": [_cell(one.wrapping) for one in made],
        }
    )


def _cell(text: str | None) -> Any:
    return pd.NA if text is None else text


def _record(run: str, made: Sequence[_Made]) -> pd.DataFrame:
    rows = [(one.document.id, change) for one in made for change in one.changes]
    return SIMULATED_RECORD_COLUMNS.build(
        {
            "run": [run] * len(rows),
            "document": [document for document, _ in rows],
            "kind": [CORRUPTIONS[name].level for _, (name, _) in rows],
            **record_columns([change for _, change in rows]),
        }
    )
