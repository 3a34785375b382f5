"""The meaning of texts: normalisation, numbers, dates, names, and who judges two texts.

The offline judge is here; judges that call models are in `extractbench_nb.judges`.
"""

from extractbench_nb.core.text.choosing import (
    check_judge,
    choose_judge,
    fingerprint_of,
    judge_of_document,
    verdict_of,
)
from extractbench_nb.core.text.dates import Date, find_dates, parse_date, unshifted
from extractbench_nb.core.text.differences import abbreviates
from extractbench_nb.core.text.judging import Judge, JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.text.quantities import (
    other_writings,
    read_quantity,
    scale_of,
    values_in,
)

__all__ = [
    "Date",
    "Judge",
    "JudgeCall",
    "JudgeError",
    "OfflineJudge",
    "Question",
    "Verdict",
    "abbreviates",
    "check_judge",
    "choose_judge",
    "find_dates",
    "fingerprint_of",
    "judge_of_document",
    "other_writings",
    "parse_date",
    "read_quantity",
    "scale_of",
    "unshifted",
    "values_in",
    "verdict_of",
]
