"""Make the counts of evidence anew: how much of gold stands in which PDFs.

    EXTRACTBENCH_DATASET=path/to/extract-bench/dataset python scripts/make_evidence.py

Reads the released dataset; writes scripts/evidence_*.csv. Only figures,
document ids and names of fields are written, nothing of what the documents say. Prints how long
it took.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb import load_dataset
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.pdf.evidence import is_asked, leaves, look_up
from extractbench_nb.pdf.page_text import PdfText, index_of
from extractbench_nb.pdf.pages import read_layers
from extractbench_nb.pdf.search import amount_of, date_of
from extractbench_nb.runs.dataset import Dataset
from extractbench_nb.stats.intervals import Drawing, counts_drawn

DATA = Path(__file__).parent

KINDS = ("short text", "long text", "number", "date")
AGAINST = ("own", "same domain", "other domains")
BANDS = ("below 0.1", "0.1 to 0.5", "0.5 to 0.9", "0.9 and up")
_BOUNDS = (0.1, 0.5, 0.9)
_LONG = 60
_HALF, _NINE_TENTHS = 0.5, 0.9
_COUNTS = "0 and up"

COUNT_COLUMNS = FrameSpec(
    "evidence_counts",
    "one row per document, kind of value and PDF that was searched",
    (
        Column("document", "string", "document id"),
        Column("domain", "string", "its domain"),
        Column("kind", "string", "kind of value", ", ".join(KINDS)),
        Column("against", "string", "whose PDF was searched", ", ".join(AGAINST)),
        Column("leaves", "int64", "leaves of gold that were looked for", _COUNTS),
        Column("leaves_found", "int64", "of these, found", "0 to leaves"),
        Column("values", "int64", "different values that were looked for", _COUNTS),
        Column("found", "int64", "of these, found", "0 to values"),
        Column("found_half", "int64", "of these, with a score of 0.5 or more", "0 to found"),
        Column("found_nine", "int64", "of these, with a score of 0.9 or more", "0 to found_half"),
    ),
)

MISSING_COLUMNS = FrameSpec(
    "evidence_missing",
    "one row per document and key of which a value is not in the document's own PDF",
    (
        Column("document", "string", "document id"),
        Column("domain", "string", "its domain"),
        Column("key", "string", "the last key on the way to the value"),
        Column("leaves", "int64", "leaves that were looked for", "1 and up"),
        Column("missing", "int64", "of these, not found", "1 to leaves"),
    ),
)

BAND_COLUMNS = FrameSpec(
    "evidence_bands",
    "one row per document, band of scores and PDF that was searched",
    (
        Column("document", "string", "document id"),
        Column("domain", "string", "its domain"),
        Column("band", "string", "score of the value in the document's own PDF", ", ".join(BANDS)),
        Column("against", "string", "whose PDF was searched", ", ".join(AGAINST[1:])),
        Column("values", "int64", "different values that were looked for", _COUNTS),
        Column("found", "int64", "of these, found", "0 to values"),
    ),
)


class EvidenceCounts(NamedTuple):
    """What was counted for one document, as the three frames above.

    `bands` counts how much of what is in the document's own PDF is in other documents' PDFs too.
    """

    counts: pd.DataFrame
    bands: pd.DataFrame
    missing: pd.DataFrame


def count_evidence(ds: Dataset, document: str) -> EvidenceCounts:
    """Look a document's gold up in its own PDF, and in PDFs of other documents.

    The others are the next document of the same domain, and one document of each other domain at
    the same place of the listing; documents whose PDF is absent or has no text are left out.
    """
    rows: list[Any] = [row for row in ds.listing.itertuples(index=False) if row.has_pdf]
    own = next((row for row in rows if row.document == document), None)
    if own is None or not index_of(own.pdf_path).words:
        raise InputError(f"document {document!r} has no PDF with text to be searched")
    asked = [row for row in leaves(ds.gold(document)) if is_asked(row[2])]
    values = [value for *_, value in asked]
    known = look_up(values, index_of(own.pdf_path))
    all_leaves, different = [], []
    for against, path in _searched(rows, own):
        there = look_up(values, index_of(path))
        scores = pd.Series([found.score or 0.0 for found in there], dtype="float64")
        frame = pd.DataFrame(
            {
                "value": [(isinstance(value, str), value) for value in values],  # 1 and "1" differ
                "kind": [_kind(value) for value in values],
                "band": [BANDS[bisect_right(_BOUNDS, one.score or 0.0)] for one in known],
                "known": [bool(one.grounded) for one in known],
                "against": against,
                "found": [bool(found.grounded) for found in there],
                "half": scores >= _HALF,
                "nine": scores >= _NINE_TENTHS,
            }
        )
        all_leaves.append(frame)
        different.append(frame.drop_duplicates("value"))
    every, once = pd.concat(all_leaves), pd.concat(different)
    counts = every.groupby(["kind", "against"]).agg(
        leaves=("found", "size"), leaves_found=("found", "sum")
    )
    counts[["values", "found", "found_half", "found_nine"]] = once.groupby(["kind", "against"]).agg(
        values=("found", "size"), found=("found", "sum"), half=("half", "sum"), nine=("nine", "sum")
    )
    others = once[once["known"] & (once["against"] != AGAINST[0])].groupby(["band", "against"])
    bands = others.agg(values=("found", "size"), found=("found", "sum"))
    keys = [field.rstrip("[]").rsplit(".", 1)[-1].rstrip("[]") for _, field, _ in asked]
    total = Counter(keys)
    missing = Counter(key for key, one in zip(keys, known, strict=True) if not one.grounded)
    ids = (own.document, own.domain)
    frames = []
    for spec, table, groups in ((COUNT_COLUMNS, counts, KINDS), (BAND_COLUMNS, bands, BANDS)):
        order = [key for key in product(groups, AGAINST) if key in table.index]
        ordered = table.loc[order].reset_index()
        frames.append(spec.from_rows((*ids, *row) for row in ordered.to_numpy()))
    without = ((*ids, key, total[key], count) for key, count in missing.items())
    return EvidenceCounts(frames[0], frames[1], MISSING_COLUMNS.from_rows(without))


def _searched(rows: Sequence[Any], own: Any) -> Iterator[tuple[str, Path]]:
    """Yield whose PDF is searched, and where it is."""
    yield "own", own.pdf_path
    domains = dict.fromkeys(row.domain for row in rows)
    place = [row.document for row in rows if row.domain == own.domain].index(own.document)
    for domain in domains:
        same = domain == own.domain
        turn = [row for row in rows if row.domain == domain]
        for step in range(same, len(turn)):
            other = turn[(place + step) % len(turn)]
            if index_of(other.pdf_path).words:
                yield ("same domain" if same else "other domains"), other.pdf_path
                break


def _kind(value: str | float) -> str:
    if not isinstance(value, str):
        return "number"
    if date_of(value) is not None:
        return "date"
    if amount_of(value) is not None:
        return "number"
    return "long text" if len(value) > _LONG else "short text"


_FEWEST_DOCUMENTS = 5
_DRAWING = Drawing(confidence=0.95, resamples=9_999, seed=0)

SHARE_COLUMNS = FrameSpec(
    "evidence_shares",
    "one row per group of counts",
    (
        Column("documents", "int64", "documents of the group", "1 and up"),
        Column("sought", "int64", "leaves or values that were looked for", "1 and up"),
        Column("share", "float64", "found, of all of the group together", "[0, 1]"),
        Column("lowest", "float64", "the share in the document that has the lowest", "[0, 1]"),
        Column("highest", "float64", "the share in the document that has the highest", "[0, 1]"),
        Column(
            "low",
            "Float64",
            "95 % bootstrap interval over documents, lower end; missing below five documents",
            "[0, 1]",
            True,
        ),
        Column("high", "Float64", "upper end", "[0, 1]", True),
    ),
)


def shares(
    counts: pd.DataFrame, by: Sequence[str], *, found: str = "found", sought: str = "values"
) -> pd.DataFrame:
    """Turn counts into shares, with what they differ by between documents.

    Notes
    -----
    Documents are drawn with replacement, 9,999 times; the interval is from the 2.5th to the 97.5th
    percentile of the shares (percentile bootstrap). Below five documents it would say nothing.
    """
    rows = {}
    for key, group in counts.groupby(list(by), sort=False):
        each = group.groupby("document", sort=False)[[found, sought]].sum()
        parts, wholes = each[found].to_numpy(float), each[sought].to_numpy(float)
        ratios, total = parts / wholes, int(wholes.sum())
        low, high = None, None
        if len(each) >= _FEWEST_DOCUMENTS:
            drawn = np.vstack(list(counts_drawn(len(each), _DRAWING)))
            low, high = np.quantile(
                drawn @ parts / (drawn @ wholes), (1 - _DRAWING.upper, _DRAWING.upper)
            )
        share = parts.sum() / total
        rows[key] = (len(each), total, share, ratios.min(), ratios.max(), low, high)
    frame = SHARE_COLUMNS.from_rows(rows.values())
    return frame.set_axis(pd.MultiIndex.from_tuples(list(rows), names=list(by)), axis=0)


def measure(dataset: Dataset) -> list[str]:
    """Time each step by itself, every PDF once; return the documents whose PDF has text."""
    reading = indexing = searching = 0.0
    pages = values = 0
    readable = []
    for row in dataset.listing[dataset.listing["has_pdf"]].itertuples(index=False):
        started = perf_counter()
        layers = read_layers(row.pdf_path)
        reading += perf_counter() - started
        started = perf_counter()
        index = PdfText(layers)
        _ = index.figures, index.dated, index.places
        indexing += perf_counter() - started
        gold = [leaf for *_, leaf in leaves(dataset.gold(row.document))]
        started = perf_counter()
        look_up(gold, index)
        searching += perf_counter() - started
        pages, values = pages + index.pages, values + len(gold)
        if index.words:
            readable.append(row.document)
    sys.stdout.write(
        f"{pages} pages: reading {1000 * reading / pages:.1f} ms a page, "
        f"indexing {1000 * indexing / pages:.1f} ms a page\n"
        f"{values} leaves: searching {1000 * searching / values:.2f} ms a leaf\n"
    )
    return readable


def main() -> None:
    """Write the files."""
    dataset = load_dataset("extractbench")
    found = [count_evidence(dataset, document) for document in measure(dataset)]
    for name, tables in zip(EvidenceCounts._fields, zip(*found, strict=True), strict=True):
        table = pd.concat(tables, ignore_index=True)
        table.to_csv(DATA / f"evidence_{name}.csv", index=False, lineterminator="\n")
        sys.stdout.write(f"evidence_{name}: {len(table)} rows\n")


if __name__ == "__main__":
    main()
