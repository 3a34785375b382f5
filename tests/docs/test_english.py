"""The pages avoid phrases that readers stumbled over, and stay short enough to be read."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "howto").glob("*.md"))
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("notebooks/*.md")),
    *sorted(ROOT.glob("skills/**/*.md")),
]
#: A phrase to avoid, and what to write.
PHRASES = {
    r"\blets? through\b|\bletting through\b": "accepts falsely; false accepts",
    r"\bstand(?:s|ing)? (?:in|at|on|there|beside|behind|under|alone|where)\b": "occurs, is printed",
    r"\b(?:pages?|columns?|tables?|tests?|notes?|cards?|rows?) (?:says?|knows?|asks?|decides?)\b": (
        "a function, the user or the passive as the subject"
    ),
    r"(?:^|\. )Of (?:a|an|the|each|several|these|those|what|whom)\b": "no sentence begins with Of",
    r"\bis there twice\b|\bthere twice\b": "occurs twice",
    r"\bas it is\b|\bas they are\b": "unchanged, or leave it out",
    r"\bpublished package\b": "extract-bench 0.1.0",
    r"\bhas no say\b|\bhave no say\b": "is ignored",
    r"\bone (?:row|line|file|column) a \w+": "one row per ...",
    r"\bwhat came out\b|\bwhat became of\b": "results, outcomes",
}
WORDS_OF_README, WORDS_OF_A_GUIDE = 600, 1_200


def prose(page: Path) -> str:
    """Return the text of a page without code."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`code`", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_avoid_phrases(page: Path) -> None:
    joined = re.sub(r"(?<!\n)\n(?!\n)", " ", prose(page))
    found = {
        match[0].strip(): better
        for pattern, better in PHRASES.items()
        for match in re.finditer(pattern, joined, flags=re.IGNORECASE | re.MULTILINE)
    }
    assert found == {}


@pytest.mark.parametrize("page", [ROOT / "README.md", *GUIDES], ids=lambda page: page.stem)
def test_pages_are_short(page: Path) -> None:
    words = len(page.read_text(encoding="utf-8").split())
    assert words < (WORDS_OF_README if page.name == "README.md" else WORDS_OF_A_GUIDE)
