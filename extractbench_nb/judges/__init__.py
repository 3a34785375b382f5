"""Judges decide whether two texts mean the same: by rules, language models or recorded verdicts.

Judges that call models are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from extractbench_nb.core.text.judging import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.core.text.choosing import Ensemble
from extractbench_nb.core.text.offline_judge import OfflineJudge

if TYPE_CHECKING:
    from extractbench_nb.judges.cache import CacheInfo, JudgeCache, judge_cache
    from extractbench_nb.judges.llm import LLMJudge
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

#: Modules of the names that are loaded on first use.
_HOMES = {
    "CacheInfo": "cache",
    "JudgeCache": "cache",
    "judge_cache": "cache",
    "LLMJudge": "llm",
    "ReplayJudge": "replay",
}


def __getattr__(name: str) -> Any:
    """Load a name on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
