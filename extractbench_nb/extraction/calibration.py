"""What the simulated models of the paper are calibrated on, and what had to be chosen beside it.

Prompt mode. Which outputs were valid, Tables 9 to 13 say by domain, and Table 7 how the others
failed, over all domains. How modes and domains go together the paper says for some (section 4.2:
all page limits are on credit agreements, 19 of 41 empty responses and 20 of 31 trailing commas on
10-K/Q filings). `FAILED` is one table that agrees with all of it; context length is put on the
research papers, the longest.

Structured mode. The paper prints the pass rates of Table 8, and in section 4.3: 77 of 210 outputs
valid, 5 of each Claude model, all of them on sports; none on resumes, whose schema every provider
rejected, and none on 10-K/Q filings. `FAILED` leaves 67 valid outputs to the other four models, as
many as pass rates of about 11 fields a credit agreement, 8 a research paper and 2 a sports result
take. How the invalid ones failed is our choice but for the resumes: schemas that are too large
rejected by Anthropic and Google, page limits as in prompt mode, and otherwise each provider's way
of failing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from extractbench_nb.benchmark.paper.names import SCHEMAS

__all__ = ["FAILED", "KINDS", "SEVERITY", "USUAL_SEVERITY"]

_Counts: TypeAlias = Mapping[str, Mapping[str, Mapping[str, int]]]
_Shares: TypeAlias = Mapping[str, Mapping[str, float]]

#: Schemas that are rejected whoever is asked, and by the providers that limit their size.
_REJECTED = {"resumes": {"schema_rejected": 7}}
_TOO_LARGE = {**_REJECTED, "10-K/Q": {"schema_rejected": 7}}
_CLAUDE = {**_TOO_LARGE, "credit": {"page_limit": 10}, "research": {"schema_rejected": 6}}

#: By mode, model and domain, how many outputs fail in which way; all others are valid.
FAILED: Mapping[str, _Counts] = {
    "prompt": {
        "Gemini 3 Flash": {
            "10-K/Q": {"trailing_comma": 5, "truncated_json": 2},
            "resumes": {"trailing_comma": 2},
            "research": {"truncated_json": 1},
        },
        "Gemini 3 Pro": {
            "10-K/Q": {"empty_response": 5, "trailing_comma": 1, "truncated_json": 1},
            "resumes": {"trailing_comma": 2},
            "research": {"trailing_comma": 2, "truncated_json": 3},
        },
        "GPT-5.2": {
            "10-K/Q": {"empty_response": 7},
            "resumes": {"empty_response": 2},
            "research": {"empty_response": 5},
        },
        "GPT-5": {
            "10-K/Q": {"empty_response": 7},
            "resumes": {"empty_response": 6},
            "research": {"empty_response": 6},
            "sports": {"empty_response": 3},
        },
        "Claude Sonnet 4.5": {
            "10-K/Q": {"trailing_comma": 7},
            "credit": {"page_limit": 10},
            "resumes": {"trailing_comma": 1, "truncated_json": 1},
            "research": {"context_length": 1},
        },
        "Claude Opus 4.5": {
            "10-K/Q": {"trailing_comma": 7},
            "credit": {"page_limit": 10},
            "resumes": {"trailing_comma": 2},
            "research": {"trailing_comma": 2, "truncated_json": 1, "context_length": 1},
        },
    },
    "structured": {
        "Gemini 3 Flash": {**_TOO_LARGE, "sports": {"truncated_json": 1}},
        "Gemini 3 Pro": {
            **_TOO_LARGE,
            "research": {"truncated_json": 5},
            "sports": {"truncated_json": 3},
        },
        "GPT-5.2": {**_REJECTED, "10-K/Q": {"empty_response": 7}},
        "GPT-5": {
            **_REJECTED,
            "10-K/Q": {"empty_response": 7},
            "credit": {"empty_response": 2},
            "research": {"empty_response": 2},
            "sports": {"empty_response": 4},
        },
        "Claude Sonnet 4.5": _CLAUDE,
        "Claude Opus 4.5": _CLAUDE,
    },
}

#: Severity by mode, model and domain at which as many fields pass on the valid documents as in
#: Tables 8 and 10 to 13 (under the rules of the profile ``paper`` and the offline judge).
SEVERITY: Mapping[str, _Shares] = {
    "prompt": {
        "Gemini 3 Flash": {"credit": 0.075, "research": 0.03, "resumes": 0.071, "sports": 0.608},
        "Gemini 3 Pro": {"credit": 0.08, "research": 0.26, "resumes": 0.065, "sports": 0.734},
        "GPT-5.2": {"credit": 0.1, "research": 0.169, "resumes": 0.085, "sports": 0.734},
        "GPT-5": {"credit": 0.067, "resumes": 0.113, "sports": 0.922},
        "Claude Sonnet 4.5": {"research": 0.024, "resumes": 0.065, "sports": 0.734},
        "Claude Opus 4.5": {"research": 0.079, "resumes": 0.037, "sports": 0.734},
    },
    "structured": {
        "Gemini 3 Flash": {"credit": 0.078, "research": 0.047, "sports": 0.669},
        "Gemini 3 Pro": {"credit": 0.063, "research": 0.042, "sports": 0.581},
        "GPT-5.2": {"credit": 0.087, "research": 0.077, "sports": 0.665},
        "GPT-5": {"credit": 0.068, "research": 0.093, "sports": 0.9},
        "Claude Sonnet 4.5": {"sports": 0.616},
        "Claude Opus 4.5": {"sports": 0.735},
    },
}

#: Where there is nothing to calibrate on: no valid output in that domain.
USUAL_SEVERITY = 0.1

#: Schemas of the sample dataset beside those of the released one.
KINDS: Mapping[str, str] = {
    **{schema: domain for domain, schema in SCHEMAS.items()},
    "rowing": "sports",
    "facility_agreement": "credit",
    "preprint": "research",
    "cv": "resumes",
    "quarterly_report": "10-K/Q",
}
