"""The paper's five domains and six models, and the tables that have one of them each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = [
    "CLAUDE",
    "DOMAINS",
    "DOMAIN_TABLES",
    "GPT",
    "MODELS",
    "OVERALL",
    "SCHEMAS",
    "TOTAL",
]

#: By the number of keys, as the paper orders them.
DOMAINS = ("sports", "credit", "research", "resumes", "10-K/Q")

#: By overall pass rate, as Table 5 orders them.
MODELS = (
    "Gemini 3 Flash",
    "Gemini 3 Pro",
    "GPT-5.2",
    "GPT-5",
    "Claude Sonnet 4.5",
    "Claude Opus 4.5",
)
CLAUDE = MODELS[4:]
GPT = MODELS[2:4]

#: The row of totals, whatever a table calls it.
TOTAL = "total"

#: What is summed up over all domains.
OVERALL = "overall"

#: Schema folder of the released dataset, by domain.
SCHEMAS: Mapping[str, str] = MappingProxyType(
    {
        "sports": "swimming",
        "credit": "credit_agreement",
        "research": "research",
        "resumes": "resume",
        "10-K/Q": "10kq",
    }
)

#: The table of each domain's counts, by domain.
DOMAIN_TABLES: Mapping[str, int] = MappingProxyType(
    {"10-K/Q": 9, "credit": 10, "resumes": 11, "research": 12, "sports": 13}
)
