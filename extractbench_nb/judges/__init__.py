"""Deciding whether two texts mean the same: offline rules, language models, recorded verdicts."""

from extractbench_nb.judges.base import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.judges.cache import CacheInfo, JudgeCache, judge_cache
from extractbench_nb.judges.choosing import Ensemble
from extractbench_nb.judges.llm import LLMJudge
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.judges.replay import ReplayJudge

__all__ = [
    "CacheInfo",
    "Ensemble",
    "JudgeCache",
    "JudgeCall",
    "JudgeError",
    "LLMJudge",
    "OfflineJudge",
    "Question",
    "ReplayJudge",
    "Verdict",
    "judge_cache",
]
