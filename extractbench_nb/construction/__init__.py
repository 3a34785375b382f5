"""One table from many documents (AOE): comparing it, its data, retrieval, statistics, figures."""

from extractbench_nb.construction import aoe
from extractbench_nb.construction.batches import evaluate_tables
from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.dataset import TableDataset, TableTask
from extractbench_nb.construction.embeddings import Embedding
from extractbench_nb.construction.evaluations import TableEvaluations
from extractbench_nb.construction.evidence import EvidenceRecall, evidence_recall, losses
from extractbench_nb.construction.loading import load
from extractbench_nb.construction.profiles import profiles, rules_of
from extractbench_nb.construction.reading import Reading, read_answer
from extractbench_nb.construction.replies import RecordedAnswers, released_answer
from extractbench_nb.construction.result import TableComparison
from extractbench_nb.construction.retrieval import (
    Chunk,
    Index,
    Retrieved,
    Retriever,
    retrieve,
    split_documents,
)
from extractbench_nb.construction.runs import construct
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
    "Reading",
    "RecordedAnswers",
    "Retrieved",
    "Retriever",
    "TableComparison",
    "TableDataset",
    "TableEvaluations",
    "TableTask",
    "aoe",
    "compare",
    "construct",
    "evaluate_tables",
    "evidence_recall",
    "fixed_level",
    "level_statistics",
    "load",
    "losses",
    "profiles",
    "quantile_levels",
    "read_answer",
    "released_answer",
    "released_statistics",
    "retrieve",
    "rules_of",
    "split_documents",
]
