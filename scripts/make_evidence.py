"""Make the shipped counts of evidence anew: how much of gold stands in which PDFs.

    EXTRACTBENCH_DATASET=path/to/extract-bench/dataset python scripts/make_evidence.py

Reads the released dataset; writes extractbench_nb/benchmark/data/evidence_*.csv. Only figures,
document ids and names of fields are written, nothing of what the documents say. Prints how long
it took.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import pandas as pd

from extractbench_nb import load_dataset
from extractbench_nb.benchmark import Dataset
from extractbench_nb.gold.evidence_study import EvidenceCounts, count_evidence
from extractbench_nb.pdf.evidence import leaves, look_up
from extractbench_nb.pdf.pages import read_layers
from extractbench_nb.pdf.text import PdfText

DATA = Path(__file__).resolve().parents[1] / "extractbench_nb" / "benchmark" / "data"


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
