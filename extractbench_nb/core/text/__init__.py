"""The meaning of texts: normalisation, numbers, dates, names, and who judges two texts.

The offline judge is here; judges that call models are in `extractbench_nb.judges`.
"""

from extractbench_nb.core.text.dates import Date, dates_equal, parse_date
from extractbench_nb.core.text.differences import abbreviates
from extractbench_nb.core.text.judging import Judge, JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.core.text.lexicon import ANTONYMS, NEGATIVE_PREFIXES, STOP_WORDS
from extractbench_nb.core.text.offline_judge import (
    OfflineJudge,
    check_judge,
    choose_judge,
    judge_of_document,
    verdict_of,
)
from extractbench_nb.core.text.quantities import Quantity, other_writings, read_number

__all__ = [
    "ANTONYMS",
    "NEGATIVE_PREFIXES",
    "STOP_WORDS",
    "Date",
    "Judge",
    "JudgeCall",
    "JudgeError",
    "OfflineJudge",
    "Quantity",
    "Question",
    "Verdict",
    "abbreviates",
    "check_judge",
    "choose_judge",
    "dates_equal",
    "judge_of_document",
    "other_writings",
    "parse_date",
    "read_number",
    "verdict_of",
]
