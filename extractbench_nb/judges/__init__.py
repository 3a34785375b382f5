"""Use language models as judges and aligners, with a cache, a budget, votes and replay."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.core.text import JudgeCall, JudgeError, OfflineJudge, Question, Verdict
from extractbench_nb.judges.cache import JudgeCache, judge_cache
from extractbench_nb.judges.client import BACKGROUND as BACKGROUND
from extractbench_nb.judges.client import Completion as Completion
from extractbench_nb.judges.client import Failure as Failure
from extractbench_nb.judges.client import ModelRequest as ModelRequest
from extractbench_nb.judges.client import client_errors as client_errors
from extractbench_nb.judges.client import list_price as list_price
from extractbench_nb.judges.client import litellm as litellm
from extractbench_nb.judges.environment import scrub as scrub
from extractbench_nb.judges.llm import LLM
from extractbench_nb.judges.llm import CallQueue as CallQueue
from extractbench_nb.judges.llm import chosen_llm as chosen_llm
from extractbench_nb.judges.llm import most_tokens as most_tokens
from extractbench_nb.judges.llm import refuse_options as refuse_options
from extractbench_nb.judges.llm_judge import Ensemble, LLMJudge
from extractbench_nb.judges.llm_judge import ModelJudge as ModelJudge
from extractbench_nb.judges.llm_judge import gather_verdicts as gather_verdicts
from extractbench_nb.judges.model_aligner import LLMAligner
from extractbench_nb.judges.prompts import MARK_SCHEMA as MARK_SCHEMA
from extractbench_nb.judges.prompts import Unparsable as Unparsable
from extractbench_nb.judges.prompts import mark_of as mark_of
from extractbench_nb.judges.prompts import mark_request as mark_request
from extractbench_nb.judges.prompts import marked_objects as marked_objects
from extractbench_nb.judges.prompts import message as message
from extractbench_nb.judges.prompts import placeholders_of as placeholders_of
from extractbench_nb.judges.prompts import prompt_text as prompt_text
from extractbench_nb.judges.prompts import quoted as quoted
from extractbench_nb.judges.prompts import sendable as sendable
from extractbench_nb.judges.prompts import template_problem as template_problem
from extractbench_nb.judges.replay import VERDICTS as VERDICTS
from extractbench_nb.judges.replay import Notes as Notes
from extractbench_nb.judges.replay import PlannedCall as PlannedCall
from extractbench_nb.judges.replay import RehearsedAligner as RehearsedAligner
from extractbench_nb.judges.replay import ReplayJudge
from extractbench_nb.judges.replay import document_hash as document_hash
from extractbench_nb.judges.replay import rehearsing as rehearsing
from extractbench_nb.support.moved import moved_names

__all__ = [
    "LLM",
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
