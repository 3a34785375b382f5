"""Make the shipped figures anew: registry of the released dataset, documents, schemas.

    EXTRACTBENCH_DATASET=path/to/extract-bench/dataset python scripts/make_statistics.py

Reads the released dataset and the sample; writes extractbench_nb/*/data/*.csv. Only
figures, file names and hashes are written, nothing of what the documents say.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from extractbench_nb import load_dataset
from extractbench_nb.benchmark.complexities import gold_figures, schema_complexity
from extractbench_nb.runs.dataset import LISTING_COLUMNS, Dataset, pdf_beside
from extractbench_nb.runs.dataset_statistics import GOLD, PDF, SHIPPED_COLUMNS, FileKind, measure
from extractbench_nb.support.files import file_hash
from scripts.field_definitions import COUNTS, count_dataset

PACKAGE = Path(__file__).resolve().parents[1] / "extractbench_nb"
DATASETS = ("extractbench", "sample")


def registry(dataset: Dataset) -> pd.DataFrame:
    """One row per file of the released dataset; a PDF that is not at hand has no size and hash."""
    listing = dataset.listing
    pdfs = [pdf_beside(gold) for gold in listing["gold_path"]]
    paths = {*dataset.schemas["schema_path"], *listing["gold_path"], *pdfs}
    rows = [_file(path, dataset.root, "dataset/") for path in paths]
    rows.append(_file(dataset.root / "LICENSE", dataset.root, ""))
    return pd.DataFrame(sorted(rows), columns=["path", "source", "size", "sha256"])


def _file(path: Path, root: Path, folder: str) -> tuple[str, str, str, str]:
    name = path.relative_to(root).as_posix()
    size = str(path.stat().st_size) if path.is_file() else ""
    return name, folder + name, size, file_hash(path) or ""


def documents(dataset: Dataset) -> pd.DataFrame:
    """One row per document, every figure counted now."""
    rows = []
    for row in dataset.listing.to_dict("records"):
        figures = {**_figures(row["gold_path"], GOLD)}
        if row["has_pdf"]:
            figures |= _figures(row["pdf_path"], PDF)
        rows.append({name: row[name] for name in row if name in LISTING_COLUMNS.names} | figures)
    return pd.DataFrame(rows, dtype=object).reindex(columns=SHIPPED_COLUMNS.names)


def _figures(path: Path, kind: FileKind) -> dict[str, object]:
    return {**measure(path, kind), kind.hash_column: file_hash(path)}


def schemas(dataset: Dataset) -> pd.DataFrame:
    """One row per schema."""
    names = dataset.schemas[["schema", "domain"]]
    found = [schema_complexity(dataset.schema(schema)) for schema in names["schema"]]
    return names.assign(keys=[f.keys for f in found], depth=[f.depth for f in found])


def _stacked(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, names=["dataset"]).reset_index("dataset")


def main() -> None:
    """Write the files."""
    found = {name: load_dataset(name) for name in DATASETS}
    tables = {
        "runs/data/registry": registry(found["extractbench"]),
        "runs/data/documents": _stacked(
            {name: documents(dataset) for name, dataset in found.items()}
        ),
        "benchmark/data/gold": gold_figures(found["extractbench"]),
        "runs/data/schemas": _stacked({name: schemas(dataset) for name, dataset in found.items()}),
    }
    count_dataset(found["extractbench"]).to_csv(COUNTS, index=False, lineterminator="\n")
    for name, table in tables.items():
        table.to_csv(PACKAGE / f"{name}.csv", index=False, lineterminator="\n")
        sys.stdout.write(f"{name}: {len(table)} rows\n")


if __name__ == "__main__":
    main()
