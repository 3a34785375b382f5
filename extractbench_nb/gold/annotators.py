"""`agreement`: how far annotators of the same documents agree, and where not."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import canonical_unordered, read_document
from extractbench_nb.errors import InputError
from extractbench_nb.runs import (
    GOLD_SUFFIX,
    Dataset,
    Evaluations,
    evaluate_runs,
    list_files,
    load_dataset,
)

FIELDS = FrameSpec(
    "fields",
    "one row per field, lowest alpha first",
    (
        Column("schema", "string", "schema id, or the schema's title or hash"),
        Column("field", "string", "path without indices"),
        Column("documents", "int64", "documents with such a value", "1 and up"),
        Column("units", "int64", "values that were compared", "1 and up"),
        Column("disagreed", "int64", "values on which not all annotators agree", "0 to units"),
        Column("alpha", "Float64", "Krippendorff's alpha; NA if all are equal", "up to 1", True),
    ),
)
DISAGREEMENTS = FrameSpec(
    "disagreements",
    "one row per value on which annotators disagree; the column of each annotator, `value_` and "
    "the name, comes before `majority`",
    (
        Column("document", "string", "document id"),
        Column("schema", "string", "schema id, or the schema's title or hash"),
        Column("path", "string", "instance path in the gold of the document's first annotator"),
        Column("field", "string", "path without indices"),
        Column("majority", "object", "value of more than half of the annotators, if any", "", True),
    ),
)


class AnnotatorAgreement(NamedTuple):
    """The agreement between annotators. Made by `agreement`.

    ``alpha`` is Krippendorff's over all fields, up to 1, or NaN if all values are equal.
    """

    alpha: float
    fields: pd.DataFrame
    disagreements: pd.DataFrame


def agreement(
    golds: Mapping[str, Any], *, schema: Any = None, dataset: Dataset | str | Path | None = None
) -> AnnotatorAgreement:
    """Compare the gold data from several annotators of the same documents.

    Parameters
    ----------
    golds : mapping
        The gold of each annotator, by name; two annotators or more. Each is a Dataset, a folder in
        its layout, a folder of ``{document}.json`` or ``{document}.gold.json``, or a mapping from
        document to value or ``pathlib.Path``.
    schema, dataset : optional
        The schema of all documents, in a form that `evaluate` accepts; or the dataset that has the
        schemas, by default the first in `golds`.

    Returns
    -------
    AnnotatorAgreement
        ``alpha`` over all fields, ``fields``, and ``disagreements`` with the value of each
        annotator: None if absent, NA if they did not annotate the document.

    Raises
    ------
    InputError
        Fewer than two annotators, no document in common, no schema, or gold that is not JSON.

    Notes
    -----
    The first annotator of each document is its reference, against which the others are evaluated
    with profile ``strict`` and the offline judge. Values that pass are in the reference's category;
    another value is its own category, and so is an absent one. An array item that the reference
    lacks is the same for all who have it literally. Alpha is that for nominal data [1]_; over all
    fields, observed and expected disagreement are summed by field.

    References
    ----------
    .. [1] K. Krippendorff, Content Analysis, 4th ed. (2018), chapter 12.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> ada = {"a": {"year": 2020}, "b": {"year": 2021}, "c": {"year": 2020}}
    >>> bo = {"a": {"year": 2020}, "b": {"year": 2022}, "c": {"year": 2020}}
    >>> found = agreement({"ada": ada, "bo": bo, "cy": {"b": {"year": 2022}}}, schema=schema)
    >>> round(found.alpha, 3)
    0.571
    >>> found.disagreements.drop(columns="schema").values.tolist()
    [['b', '$.year', 'year', 2021, 2022, 2022, 2022]]
    """
    given: object = golds
    if not isinstance(given, Mapping) or len(given) <= 1:
        raise InputError("golds: expected a mapping from annotator to gold, two annotators or more")
    if schema is None and dataset is None:
        dataset = next((gold for gold in golds.values() if isinstance(gold, Dataset)), None)
        if dataset is None:
            raise InputError("golds: no schema; pass schema= or dataset=")
    loaded = load_dataset(dataset) if isinstance(dataset, str | Path) else dataset
    sources = {str(name): _documents(name, source) for name, source in golds.items()}
    annotators: dict[str, list[str]] = defaultdict(list)
    for name, documents in sources.items():
        for document in documents:
            annotators[document].append(name)
    rows = [
        {
            "run": name,
            "document": document,
            "gold": json.dumps(sources[names[0]][document]),
            "predicted": json.dumps(sources[name][document]),
            **({} if schema is None else {"schema": schema}),
        }
        for document, names in annotators.items()
        if len(names) > 1
        for name in names
    ]
    if not rows:
        raise InputError("golds: no document was annotated by two annotators")
    evs = evaluate_runs(pd.DataFrame(rows), dataset=loaded, profile="strict", progress=False)
    units: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
    documents_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    disagreements = []
    for (document, schema_id, path, field, _), values in _values(evs).items():
        names = annotators[document]
        said = {name: values.get(name, (_ABSENT, None)) for name in names}
        categories = [category for category, _ in said.values()]
        units[schema_id, field].append(categories)
        documents_of[schema_id, field].add(document)
        (category, votes), *others = Counter(categories).most_common()
        if others:
            winner = said[names[categories.index(category)]][1]
            majority = winner if 2 * votes > len(names) else pd.NA
            own = [said[name][1] if name in said else pd.NA for name in sources]
            disagreements.append((document, schema_id, path, field, *own, majority))
    rows_of_fields, totals = [], [0.0, 0.0]
    for key, of_field in units.items():
        observed, expected = _disagreement(of_field)
        totals = [totals[0] + observed, totals[1] + expected]
        disagreed = sum(len(set(categories)) > 1 for categories in of_field)
        alpha = round(1 - observed / expected, 12) if expected else None
        rows_of_fields.append((*key, len(documents_of[key]), len(of_field), disagreed, alpha))
    *first, last = DISAGREEMENTS.columns
    own_columns = [Column(f"value_{name}", "object", "JSON", nullable=True) for name in sources]
    return AnnotatorAgreement(
        1 - totals[0] / totals[1] if totals[1] else float("nan"),
        FIELDS.from_rows(rows_of_fields).sort_values("alpha", kind="stable", ignore_index=True),
        FrameSpec("disagreements", "", (*first, *own_columns, last)).from_rows(disagreements),
    )


def _disagreement(units: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Return observed and expected disagreement; alpha is 1 less their quotient.

    With n values in all, n_c of category c, and in unit u m values, m_c of category c, these are
    the sums of (m² - Σ m_c²) / (m - 1) and (n² - Σ n_c²) / (n - 1). The package krippendorff, with
    which a test compares, needs memory for units times squared categories: 42 GB for one field of
    texts in the 35 documents.
    """

    def share(categories: Iterable[str]) -> float:
        counts = Counter(categories)
        total = counts.total()
        return (total**2 - sum(count**2 for count in counts.values())) / (total - 1)

    return sum(map(share, units)), share(category for unit in units for category in unit)


_ABSENT = canonical_unordered(None)
#: The path up to the first item that the reference lacks.
_LACKING = re.compile(r".*?\[\+\d+\]")


def _documents(name: str, source: Any) -> dict[str, Any]:
    """Read the gold of one annotator."""
    if isinstance(source, str | Path):
        files = list_files(Path(source).expanduser(), ".json")
        texts = {path.name.removesuffix(GOLD_SUFFIX).removesuffix(".json"): path for path in files}
        source = texts or load_dataset(source)
    if isinstance(source, Dataset):
        return {document: source.gold(document) for document in source.listing["document"]}
    if not isinstance(source, Mapping):
        raise InputError(
            f"golds[{name!r}] is {type(source).__name__}; expected a Dataset, a folder, or a "
            "mapping from document to value"
        )
    return {
        str(document): read_document(value, f"gold of {name!r} for {document!r}")
        if isinstance(value, Path)
        else value
        for document, value in source.items()
    }


def _values(evs: Evaluations) -> dict[tuple[str, ...], dict[str, tuple[str, Any]]]:
    """Return category and value by document, schema, path, field and item, then by annotator.

    Items that the reference lacks are joined by their whole text, since their index is that of an
    annotator's own gold.
    """
    spurious = evs.matches[evs.matches["status"] == "spurious"]
    items = {
        (row.run, row.document, f"{row.path}[+{row.predicted_index}]"): row.predicted
        for row in spurious.itertuples()
    }
    values: dict[tuple[str, ...], dict[str, tuple[str, Any]]] = defaultdict(dict)
    paths: dict[tuple[str, ...], str] = {}
    for row in evs.fields[evs.fields["counted"]].to_dict("records"):
        run, document, path = row["run"], row["document"], row["path"]
        value = row["predicted"] if row["predicted_state"] == "present" else None
        item = within = ""
        if lacking := _LACKING.match(path):
            text = items.get((run, document, lacking[0]), lacking[0])
            item, within = canonical_unordered(text), path[lacking.end() :]
        at = document, path.partition("[+")[0] + within, item
        place = values[document, row["schema"], paths.setdefault(at, path), row["field"], item]
        category = canonical_unordered(row["gold"] if row["passed"] else value)
        if run not in place or not row["passed"]:  # all metrics of a field must pass
            place[run] = category, value
    return values
