"""One table from many documents: data, retrieval, statistics, published figures (AOE)."""

from extractbench_nb.construction import aoe
from extractbench_nb.construction.chunks import Chunk, split_documents
from extractbench_nb.construction.dataset import TableDataset, TableTask
from extractbench_nb.construction.embeddings import Embedding
from extractbench_nb.construction.evidence import EvidenceRecall, evidence_recall
from extractbench_nb.construction.loading import load
from extractbench_nb.construction.retrieval import Index, Retrieved, Retriever, retrieve
from extractbench_nb.construction.statistics import (
    fixed_level,
    level_statistics,
    quantile_levels,
    released_statistics,
)

__all__ = [
    "Chunk",
    "Embedding",
    "EvidenceRecall",
    "Index",
    "Retrieved",
    "Retriever",
    "TableDataset",
    "TableTask",
    "aoe",
    "evidence_recall",
    "fixed_level",
    "level_statistics",
    "load",
    "quantile_levels",
    "released_statistics",
    "retrieve",
    "split_documents",
]
