"""Compare tables that models build from many documents (AOE), and explain lost points."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.construction import aoe
from extractbench_nb.construction.answers import read_answer
from extractbench_nb.construction.comparing import TableComparison as TableComparison
from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.constructing import construct
from extractbench_nb.construction.retrieval import Chunk as Chunk
from extractbench_nb.construction.retrieval import Documents as Documents
from extractbench_nb.construction.retrieval import Holders as Holders
from extractbench_nb.construction.retrieval import Retriever, evidence_recall
from extractbench_nb.construction.retrieval import texts_of as texts_of
from extractbench_nb.construction.table_batches import TableEvaluations as TableEvaluations
from extractbench_nb.construction.table_batches import evaluate_tables
from extractbench_nb.construction.table_dataset import TableDataset, TableTask, load
from extractbench_nb.construction.table_rules import is_absent as is_absent
from extractbench_nb.construction.table_rules import rules_of
from extractbench_nb.support.moved import moved_names

__all__ = [
    "Retriever",
    "TableDataset",
    "TableTask",
    "aoe",
    "compare",
    "construct",
    "evaluate_tables",
    "evidence_recall",
    "load",
    "read_answer",
    "rules_of",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
