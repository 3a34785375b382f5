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


def display_name(value: Any, column: str = "") -> str:
    """Return the name that people read for a value of a column; a missing one is named too.

    Schemas of the released dataset have their names in the paper. Runs, models, documents, fields,
    metrics, profiles and corruptions are shown as they are; elsewhere underscores are spaces.

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
