"""`simulate`: plausible model outputs for a dataset, made from gold, with a record of all changes.

The outputs are texts and metas in the form of a run, so that parser, evaluator and tables treat
them like a real model's. They are labelled as a simulation wherever they appear.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._files import read_own_json, write_texts
from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._tokens import count_tokens
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.folders import RunFolder, describe_run, folder_path
from extractbench_nb.extraction.parsing import Conformance
from extractbench_nb.extraction.plans import dataset_of
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.simulation.catalogue import CORRUPTIONS
from extractbench_nb.simulation.corrupt import (
    RECORD_COLUMNS,
    corrupt_several_ways,
    record_rows,
    violated,
)
from extractbench_nb.simulation.documents import Change, Document, generator, pool_of
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

SIMULATION_FILE = "simulation.json"


SIMULATED_COLUMNS = FrameSpec(
    "outputs",
    "one row per document",
    (
        Column("run", "string", "name of the run, which says that it is simulated"),
        Column("document", "string", "document id"),
        Column("domain", "string", "domain of its schema"),
        Column("schema", "string", "schema id"),
        Column("raw", "object", "the text; None if there was none", "", True),
        Column("meta", "object", "details of the call, a dict"),
        Column("failure", "string", "the injected failure", "as `parse_output` names them"),
        Column("variant", "string", "variant of the failure", "", True),
        Column("wrapping", "string", "what surrounds the text", "fence, bom", True),
    ),
)

SIMULATED_RECORD_COLUMNS = FrameSpec(
    "record",
    "one row per change, in the order of outputs and of gold",
    (
        Column("run", "string", "name of the run"),
        Column("document", "string", "document id"),
        Column("kind", "string", "what was changed", "value, presence, item, structure"),
        *RECORD_COLUMNS.columns,
    ),
)


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """A simulated run and the record of its changes.

    Attributes
    ----------
    run : str
        Name of the run.
    profile : ModelProfile
        The profile of the simulated model.
    seed : int or str
        The same seed gives the same simulation.
    outputs : pandas.DataFrame
        One row per document: run, document, domain, schema, raw, meta, failure, variant, wrapping.
    record : pandas.DataFrame
        One row per change: run, document, kind, path, field, corruption, item, before, after.
        Documents without text have none.
    """

    run: str
    profile: ModelProfile
    seed: int | str
    outputs: pd.DataFrame
    record: pd.DataFrame

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the outputs as a run folder, together with the profile and the record.

        Parameters
        ----------
        folder : str or path
            A folder that does not exist yet, or is empty.

        Returns
        -------
        pathlib.Path
            The folder, for `open` and for `Run.open`. ``run.json`` says that the run is simulated;
            ``simulation.json`` has the profile and the record.

        Raises
        ------
        InputError
            The folder is not empty, or is not a path.
        OutputError
            The folder cannot be written.
        """
        rows = self.outputs.to_dict("records")
        places = {r["document"]: {name: r[name] for name in ("domain", "schema")} for r in rows}
        parameters = {"seed": self.seed, "profile": self.profile.name}
        mode = self.profile.mode
        description = describe_run(
            "simulation", self.run, mode=mode, parameters=parameters, documents=places
        )
        run = RunFolder.create(folder_path(folder), description)
        settings = {
            "profile": vars(self.profile),
            "seed": self.seed,
            # texts and metas are in files of their own
            "outputs": _columns_of(self.outputs.drop(columns=["raw", "meta"])),
            "record": _columns_of(self.record),
        }
        text = json.dumps(settings, default=_plain)
        write_texts({run.path / SIMULATION_FILE: f"{text}\n"})
        for row in rows:
            run.write(row["document"], row["raw"], row["meta"])
        return run.path

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Simulation:
        """Read a simulation from its folder.

        Parameters
        ----------
        folder : str or path
            The folder that `save` wrote.

        Returns
        -------
        Simulation
            As it was saved, except that lone surrogates in texts are escaped.

        Raises
        ------
        InputError
            The folder has no simulation, an output is missing, or a file cannot be read.
        """
        run = RunFolder.open(folder_path(folder))
        path = run.path / SIMULATION_FILE
        if not path.is_file():
            where = str(run.path)
            raise InputError(f"no simulation in {where!r}: expected a folder with {path.name}")
        saved = read_own_json(path, "simulation")
        try:
            profile = ModelProfile(**saved["profile"])
            if unknown := saved.keys() - {"profile", "seed", "outputs", "record"}:
                raise KeyError(", ".join(sorted(unknown)))
            for name in ("outputs", "record"):
                cells = saved[name].values() if isinstance(saved[name], dict) else [None]
                if not all(isinstance(column, list) for column in cells):
                    raise TypeError(f"{name} has no columns")
            outputs = [run.read(document) for document in saved["outputs"]["document"]]
            raw: list[Any] = [output.raw for output in outputs]
            meta: list[Any] = [output.meta for output in outputs]
            frame = SIMULATED_COLUMNS.build({**saved["outputs"], "raw": raw, "meta": meta})
            record = SIMULATED_RECORD_COLUMNS.build(saved["record"])
            seed = _seed(saved["seed"])
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise InputError(f"{str(path)!r} is not a simulation: {error}") from None
        return cls(run.description["model"], profile, seed, frame, record)

    def __repr__(self) -> str:
        """Count the outputs by failure, and the changes."""
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
    """Simulate a model's outputs for a dataset.

    Parameters
    ----------
    dataset : Dataset, str or path
        A dataset, or what `load_dataset` takes; None is the sample dataset.
    profile : ModelProfile or str
        A profile, or the name of one of the paper's six models, whose profile is calibrated on its
        published validity, failures and pass rates by domain.
    seed : int or str, optional
        The same seed gives the same simulation.
    run : str, optional
        Name of the run; by default ``simulated`` and the profile's name, and its mode if that is
        ``structured``.

    Returns
    -------
    Simulation
        ``.outputs`` has the texts, ``.record`` the changes by path.

    Raises
    ------
    InputError
        The profile is unknown, `dataset`, `seed` or `run` has a wrong type, or a document cannot
        have a failure of the profile.
    DatasetError
        The dataset cannot be read.

    Notes
    -----
    Failures are drawn without replacement for each kind of document, so that their counts are those
    of the profile, rounded by largest remainders. The changes of a valid output add no violation of
    the schema that gold does not have; a ``schema_violation`` has one violation more. Texts with
    other failures are corrupted too, so that repaired outputs are realistic, unless the changes
    would remove the only place for the failure. ``completion_tokens`` are GPT-2 tokens.

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
    name: Any = f"simulated {model.label}" if run is None else run
    if not isinstance(name, str) or not name:
        raise InputError(f"run is {run!r}; expected a name")
    maker = _Maker(data, model, str(seed))
    outputs: list[tuple[Any, ...]] = []
    record: list[tuple[Any, ...]] = []
    for document in maker.documents:
        output, changes = maker.output(document)
        outputs.append((name, *document[:3], *output))
        for row, change in zip(record_rows(changes), changes, strict=True):
            record.append((name, document.id, CORRUPTIONS[change.corruption].level, *row))
    return Simulation(
        name,
        model,
        seed,
        SIMULATED_COLUMNS.from_rows(outputs),
        SIMULATED_RECORD_COLUMNS.from_rows(record),
    )


def _columns_of(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the cells of a frame by column, a missing one as None."""
    return {
        str(name): [None if cell is pd.NA else cell for cell in frame[name].tolist()]
        for name in frame.columns
    }


def _plain(value: Any) -> Any:
    """Return a mapping or number of any kind as one of JSON's."""
    return dict(value) if isinstance(value, Mapping) else float(value)


def _seed(seed: Any) -> int | str:
    if isinstance(seed, str):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise InputError(f"seed is {seed!r}; expected an integer or a text")
    return int(seed)


class _Document(NamedTuple):
    id: str
    domain: str
    schema: str
    kind: str


class _Maker:
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
        self.failures: dict[str, str] = {}
        for kind in dict.fromkeys(document.kind for document in self.documents):
            to = [document.id for document in self.documents if document.kind == kind]
            self.failures |= assigned(profile.failures_of(kind), to, f"{self.seed}\x1f{kind}")

    def output(self, document: _Document) -> tuple[tuple[Any, ...], list[Change]]:
        """Return raw, meta, failure, variant and wrapping of one output, and the changes in it."""
        failure = self.failures[document.id]
        rng = generator(f"{self.seed}\x1f{document.id}\x1foutput")
        spoken, wrapping, error = Spoken(None, None, None), None, None
        changes: list[Change] = []
        if failure in CALL_FAILURES and not (failure == "refused" and rng.random() < 1 / 2):
            error = call_error(failure, self.profile.provider)
        else:
            value, corruptions = self._corrupted(document, failure, rng)
            spoken, wrapping = self._spoken(document, failure, value, rng)
            changes = [] if failure in _EMPTY else corruptions
        meta = {
            "finish_reason": spoken.finish_reason,
            "prompt_tokens": None,
            "completion_tokens": None if error else count_tokens(spoken.raw or ""),
            "cost_usd": None,
            "latency_seconds": None,
            "error": error,
            "input": "file",
            "simulated": True,
            "model": f"simulated {self.profile.label}",
        }
        return (spoken.raw, meta, failure, spoken.variant, wrapping), changes

    def _spoken(
        self, document: _Document, failure: str, value: Any, rng: Random
    ) -> tuple[Spoken, str | None]:
        """Write a value as the model would, with a failure, and what is wrapped around it."""
        if failure not in TEXT_FAILURES:
            spoken = Spoken(json_of(value, rng), "stop", None)
        else:
            try:
                spoken = spoil(failure, value, rng)
            except InputError as error:
                raise InputError(f"document {document.id!r}: {error}") from None
        wrapping = None
        if failure not in _BARE:  # every rate takes its number, then the first hit counts
            rates = self.profile.wrappings.items()
            wrapping = next(iter([name for name, rate in rates if rng.random() < rate]), None)
        if wrapping is not None and spoken.raw is not None:
            cut_off = failure == "truncated_json"
            spoken = spoken._replace(raw=wrap(wrapping, spoken.raw, cut_off=cut_off))
        return spoken, wrapping

    def _corrupted(
        self, document: _Document, failure: str, rng: Random
    ) -> tuple[Any, list[Change]]:
        """Corrupt gold, against the schema only if the failure is a schema violation."""
        schema, gold = self.schemas[document.schema], self.gold[document.id]
        others = [d for d in self.documents if d.schema == document.schema and d is not document]
        how = self.profile.strength, [self.pools[other.id] for other in others]
        seed = f"{self.seed}\x1f{document.id}"
        breaks = failure == "schema_violation"
        allowed = Conformance(schema, gold) if breaks or failure == "none" else None
        # corrupted first; not at all if that leaves nothing to break, as in a one-value document
        for rates in (self.profile.corruptions_of(document.kind), {}):
            copy = Document(schema.root, gold)
            changes = corrupt_several_ways(copy, rates, seed, how, allowed)
            if breaks and allowed is not None:
                violation = violated(copy, changes, allowed, rng)
                if violation is not None:
                    return copy.value, [*changes, violation]
            elif copy.value or not rates or failure not in TEXT_FAILURES:
                return copy.value, changes
        raise InputError(
            f"document {document.id!r}: no schema_violation is possible, since its schema allows "
            "every type at every place"
        )


#: Failures whose text has nothing of the document, and those that are not wrapped.
_EMPTY = ("empty_response", "refused")
_BARE = (*_EMPTY, "malformed_json")
