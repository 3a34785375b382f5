"""The columns of a dataset's frames."""

from __future__ import annotations

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.statistics import STATISTICS

__all__ = ["DOCUMENT_COLUMNS", "LISTING_COLUMNS", "RUN_COLUMNS", "SCHEMA_COLUMNS"]

_DOCUMENTS = "one row a document, ordered by domain, schema and document"

LISTING_COLUMNS = FrameSpec(
    "listing",
    _DOCUMENTS,
    (
        Column("document", "string", "document id: the gold file's name without `.gold.json`"),
        Column("domain", "string", "name of the domain folder"),
        Column("schema", "string", "schema id, as `Dataset.schema` takes it"),
        Column("gold_path", "object", "where the gold JSON is", "pathlib.Path"),
        Column("pdf_path", "object", "where the PDF is", "pathlib.Path", nullable=True),
        Column("has_pdf", "bool", "whether there is a PDF"),
    ),
)

DOCUMENT_COLUMNS = FrameSpec("documents", _DOCUMENTS, (*LISTING_COLUMNS.columns, *STATISTICS))

SCHEMA_COLUMNS = FrameSpec(
    "schemas",
    "one row a schema, ordered by domain and schema",
    (
        Column("schema", "string", "the folder's name, or domain/schema where two share a name"),
        Column("domain", "string", "name of the domain folder"),
        Column("schema_path", "object", "where the JSON Schema is", "pathlib.Path"),
        Column("documents", "int64", "documents with a gold JSON", "0 or more"),
        Column("pdfs", "int64", "documents with a PDF", "0 or more"),
    ),
)

RUN_COLUMNS = FrameSpec(
    "runs",
    "one row a model output, ordered by run and document",
    (
        Column("run", "string", "name of the run's folder, mostly a model's name"),
        Column("document", "string", "document id"),
        Column("predicted", "object", "where the raw output is; it may not parse", "pathlib.Path"),
    ),
)
