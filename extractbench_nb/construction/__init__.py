"""Tables built from many documents (AOE): comparing them, and where the points were lost."""

from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.profiles import profiles, rules_of
from extractbench_nb.construction.reading import Reading, read_answer
from extractbench_nb.construction.released_texts import (
    gold_table,
    released_answer,
    released_truncation,
)
from extractbench_nb.construction.replies import (
    RecordedAnswers,
    read_cell_reply,
    read_quality_reply,
    read_row_reply,
)
from extractbench_nb.construction.result import TableComparison

__all__ = [
    "Reading",
    "RecordedAnswers",
    "TableComparison",
    "compare",
    "gold_table",
    "profiles",
    "read_answer",
    "read_cell_reply",
    "read_quality_reply",
    "read_row_reply",
    "released_answer",
    "released_truncation",
    "rules_of",
]
