"""Language models as judges and aligners: client, cache, budget, votes, replay."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.core.text import JudgeCall, JudgeError, OfflineJudge, Question, Verdict
from extractbench_nb.judges.cache import JudgeCache, judge_cache
from extractbench_nb.judges.call_failures import Failure as Failure
from extractbench_nb.judges.call_failures import scrub as scrub
from extractbench_nb.judges.calls import CallQueue as CallQueue
from extractbench_nb.judges.calls import most_tokens as most_tokens
from extractbench_nb.judges.client import BACKGROUND as BACKGROUND
from extractbench_nb.judges.client import Completion as Completion
from extractbench_nb.judges.client import ModelRequest as ModelRequest
from extractbench_nb.judges.client import client_errors as client_errors
from extractbench_nb.judges.client import list_price as list_price
from extractbench_nb.judges.client import litellm as litellm
from extractbench_nb.judges.environment import read_environment as read_environment
from extractbench_nb.judges.field_judges import gather_verdicts as gather_verdicts
from extractbench_nb.judges.llm import Ensemble, LLMJudge
from extractbench_nb.judges.model_aligner import Answering as Answering
from extractbench_nb.judges.model_aligner import LLMAligner
from extractbench_nb.judges.prompts import Unparsable as Unparsable
from extractbench_nb.judges.prompts import message as message
from extractbench_nb.judges.prompts import placeholders_of as placeholders_of
from extractbench_nb.judges.prompts import quoted as quoted
from extractbench_nb.judges.prompts import sendable as sendable
from extractbench_nb.judges.rehearsal import Notes as Notes
from extractbench_nb.judges.rehearsal import PlannedCall as PlannedCall
from extractbench_nb.judges.rehearsal import RehearsedAligner as RehearsedAligner
from extractbench_nb.judges.rehearsal import rehearsing as rehearsing
from extractbench_nb.judges.replay import ReplayJudge
from extractbench_nb.judges.replay import document_hash as document_hash
from extractbench_nb.judges.settings import Settings as Settings
from extractbench_nb.judges.settings import check_model as check_model
from extractbench_nb.support.moved import moved_names

__all__ = [
    "Ensemble",
    "JudgeCache",
    "JudgeCall",
    "JudgeError",
    "LLMAligner",
    "LLMJudge",
    "OfflineJudge",
    "Question",
    "ReplayJudge",
    "Verdict",
    "judge_cache",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
