"""One table from many documents: data, retrieval, statistics, published figures (AOE)."""

from extractbench_nb.construction.chunks import Chunk, split
from extractbench_nb.construction.embeddings import Embedding
from extractbench_nb.construction.evidence import EvidenceRecall, evidence_recall
from extractbench_nb.construction.loading import TableDataset, TableTask, load
from extractbench_nb.construction.retrieval import Index, Retrieved, Retriever, retrieve

__all__ = [
    "Chunk",
    "Embedding",
    "EvidenceRecall",
    "Index",
    "Retrieved",
    "Retriever",
    "TableDataset",
    "TableTask",
    "evidence_recall",
    "load",
    "retrieve",
    "split",
]
