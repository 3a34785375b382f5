"""Names as people read them: of schemas, outcomes, measures, and of groups without a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extractbench_nb.support.pandas_helpers import is_missing

#: What the ExtractBench paper calls the schemas of its dataset, in its order, by their folders.
SCHEMA_NAMES: Mapping[str, str] = {
    "swimming": "sports",
    "credit_agreement": "credit",
    "research": "research",
    "resume": "resumes",
    "10kq": "10-K/Q",
}

#: Columns whose values are typed in code or chosen by users; they are shown as they are.
_AS_IS = frozenset(("run", "model", "document", "field", "path", "metric", "profile", "corruption"))


#: Parts of model ids that are names; others, such as `preview`, are written as they are.
_PARTS = frozenset(("gemini", "claude", "flash", "pro", "opus", "sonnet", "haiku", "llama", "qwen"))


def model_name(model: str) -> str:
    """Return the name that people read for a provider's model id, as the paper writes names.

    Examples
    --------
    >>> [model_name(id_) for id_ in ("openai/gpt-5.2", "google/gemini-3-flash", "claude-opus-4.5")]
    ['GPT-5.2', 'Gemini 3 Flash', 'Claude Opus 4.5']
    """
    parts = [p.capitalize() if p in _PARTS else p for p in model.rpartition("/")[2].split("-")]
    return " ".join(parts).replace("gpt ", "GPT-")


def display_name(value: Any, column: str = "") -> str:
    """Return the name that people read for a value of a column; a missing one is named too.

    A schema of the released dataset has its name in the paper, and one whose folder occurs in two
    domains the folder's name with the domain. Runs, models, documents, fields, metrics, profiles
    and corruptions are shown as they are; in other values underscores are spaces.

    Examples
    --------
    >>> display_name("10kq", "schema"), display_name("finance/quarterly_report", "schema")
    ('10-K/Q', 'quarterly report (finance)')
    >>> display_name("both_absent", "outcome"), display_name("gpt_5", "run")
    ('both absent', 'gpt_5')
    >>> display_name(None, "domain")
    '(no domain)'
    """
    if is_missing(value):
        return f"(no {column.replace('_', ' ') or 'name'})"
    text = str(value)
    if column in _AS_IS:
        return text
    if column == "schema":
        domain, _, folder = text.rpartition("/")
        name = SCHEMA_NAMES.get(folder, folder.replace("_", " "))
        return f"{name} ({domain})" if domain else name
    return text.replace("_", " ")
