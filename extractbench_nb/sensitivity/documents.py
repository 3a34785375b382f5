"""Whole documents: gold corrupted at places that the schema declares, and evaluated."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from extractbench_nb._json import canonical, read_document
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation import Evaluation, evaluate
from extractbench_nb.extraction.catalogue import CORRUPTIONS, Corruption
from extractbench_nb.extraction.draws import Draws
from extractbench_nb.extraction.places import copied
from extractbench_nb.extraction.simulate import corrupted_copy
from extractbench_nb.extraction.tasks import Change, Pool, pool_of
from extractbench_nb.inputs import refuse_non_json
from extractbench_nb.schema import Schema, parse_schema
from extractbench_nb.sensitivity.readings import Example, Reading, read
from extractbench_nb.sensitivity.settings import Settings
from extractbench_nb.sensitivity.subjects import Subject

__all__ = ["Documents", "of_dataset", "of_pairs"]


class _Sheet:
    """One schema: parsed, and read by each subject once."""

    def __init__(self, source: Any) -> None:
        self.schema: Schema = parse_schema(source)
        self._read: dict[Subject, Schema] = {}

    def under(self, subject: Subject) -> Schema:
        if subject not in self._read:
            self._read[subject] = subject.schema(self.schema)
        return self._read[subject]


class _Shelf:
    """Schemas by content; one that is given again as the same object is not even parsed."""

    def __init__(self) -> None:
        self._by_object: dict[int, tuple[Any, _Sheet]] = {}
        self._by_content: dict[str, _Sheet] = {}

    def sheet(self, source: Any) -> _Sheet:
        if id(source) not in self._by_object:
            sheet = _Sheet(source)
            sheet = self._by_content.setdefault(canonical(sheet.schema.document), sheet)
            self._by_object[id(source)] = (source, sheet)  # keeps the object, and so its id
        return self._by_object[id(source)][1]


class _Document:
    """One gold document, what it can lend to others, and who lends to it."""

    def __init__(self, name: str, sheet: _Sheet, gold: Any) -> None:
        self.name = name
        self.sheet = sheet
        self.gold = copied(gold)
        self.others: list[_Document] = []
        with _naming(name):
            refuse_non_json(self.gold)

    @cached_property
    def pool(self) -> Pool:
        return pool_of(self.sheet.schema.root, self.gold)

    def corrupted(
        self, corruption: Corruption, rate: float, settings: Settings, repeat: int = 0
    ) -> tuple[Any, list[Change]]:
        draws = Draws(f"{settings.seed}\x1f{self.name}\x1f{repeat}", rate)
        how = (settings.strength, [other.pool for other in self.others])
        return corrupted_copy(self.sheet.schema.root, self.gold, corruption, draws, how)

    def evaluated(self, predicted: Any, subject: Subject, settings: Settings) -> Evaluation:
        sides = [json.dumps(v) if isinstance(v, str) else v for v in (self.gold, predicted)]
        schema = self.sheet.under(subject)
        with _naming(self.name):
            return evaluate(schema, *sides, judge=settings.judge, profile=subject.profile)


@contextmanager
def _naming(document: str) -> Iterator[None]:
    """Say in an error of which document it is."""
    try:
        yield
    except InputError as error:
        raise InputError(f"document {document!r}: {error}") from None


class Documents:
    """Gold documents with their schemas; those of one schema lend values to each other.

    Parameters
    ----------
    documents : iterable of tuple of (str, object, object)
        Name, schema and gold value; the same schema may be given again and again.
    """

    def __init__(self, documents: Iterable[tuple[str, Any, Any]]) -> None:
        shelf = _Shelf()
        self.documents = {
            name: _Document(name, shelf.sheet(source), gold) for name, source, gold in documents
        }
        of_sheet: dict[_Sheet, list[_Document]] = defaultdict(list)
        for document in self.documents.values():
            of_sheet[document.sheet].append(document)
        for document in self.documents.values():
            document.others = [o for o in of_sheet[document.sheet] if o is not document]
        self._whole: dict[tuple[str, Subject], Reading | None] = {}

    def corruptions(self, wanted: list[Corruption] | None) -> list[Corruption]:
        """Return the corruptions of the user, or all."""
        return list(CORRUPTIONS.values()) if wanted is None else wanted

    @property
    def steps(self) -> Sequence[str]:
        """What is done one by one: the documents."""
        return list(self.documents)

    def readings(
        self, name: str, corruption: Corruption, settings: Settings
    ) -> Iterator[tuple[Subject, float, Reading]]:
        """Corrupt and evaluate one document at all rates.

        Parameters
        ----------
        name : str
            The document.
        corruption : Corruption
            What is done to it.
        settings : Settings
            Rates, repeats and subjects.

        Yields
        ------
        tuple of (Subject, float, Reading)
            Whose reading at which rate; nothing where there is nothing to corrupt.
        """
        document = self.documents[name]
        if not document.corrupted(corruption, 1.0, settings)[1]:
            return
        for rate in settings.rates:
            for repeat in range(settings.repeats if rate else 1):
                made, changes = document.corrupted(corruption, rate, settings, repeat)
                for subject in settings.subjects:
                    reading = self._reading(document, made, changes, subject, settings)
                    if reading is not None:
                        yield subject, rate, reading

    def _reading(
        self,
        document: _Document,
        made: Any,
        changes: list[Change],
        subject: Subject,
        settings: Settings,
    ) -> Reading | None:
        if not changes:
            return self._unchanged(document, subject, settings)
        ev = document.evaluated(made, subject, settings)
        reading = read(ev, subject, settings.measure, document.name)
        if reading is None:
            return None
        place, before, after = changes[0]
        example = Example(document.name, place.path, before, after)
        return reading._replace(changed=len(changes), example=example)

    def _unchanged(
        self, document: _Document, subject: Subject, settings: Settings
    ) -> Reading | None:
        """Read off gold against itself, once for each document and subject."""
        key = (document.name, subject)
        if key not in self._whole:
            ev = document.evaluated(document.gold, subject, settings)
            self._whole[key] = read(ev, subject, settings.measure, document.name)
        return self._whole[key]


def of_pairs(pairs: Iterable[tuple[Any, Any]]) -> Documents:
    """Take (schema, gold) pairs; the documents are called ``0``, ``1`` and so on."""
    return Documents(
        (str(i), schema, read_document(gold, "gold")) for i, (schema, gold) in enumerate(pairs)
    )


def of_dataset(dataset: Any, wanted: Iterable[str] | None) -> Documents:
    """Take the documents of a dataset.

    Parameters
    ----------
    dataset : Dataset
        Anything with ``listing`` or ``documents``, ``schema(id)`` and ``gold(id)``.
    wanted : iterable of str or None
        Ids of documents; None for all.

    Returns
    -------
    Documents
        In the order of the dataset.

    Raises
    ------
    InputError
        An id is not known, or there are no documents.
    """
    frame = dataset.listing if hasattr(dataset, "listing") else dataset.documents
    schema_of: Mapping[str, str] = dict(zip(frame["document"], frame["schema"], strict=True))
    chosen = list(schema_of) if wanted is None else list(wanted)
    for name in chosen:
        if name not in schema_of:
            raise InputError(f"documents hold {name!r}; {nearest(name, schema_of)}")
    if not chosen:
        raise InputError("documents: none are left; expected one or more")
    sources = {schema: dataset.schema(schema) for schema in {schema_of[n] for n in chosen}}
    return Documents((n, sources[schema_of[n]], dataset.gold(n)) for n in chosen)
