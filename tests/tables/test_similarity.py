"""Texts compared: by difflib or its fast twin alike, and never more alike than by subsequences."""

import random
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.tables.grid_alignment import pair_similarity, text_similarity

KINDS = ("substring", "blocks")
TEXTS = st.text(st.sampled_from("ab1. é\U0001f600"), max_size=12)


@given(TEXTS, TEXTS)
def test_no_other_kind_finds_more_than_subsequences(true: str, predicted: str) -> None:
    most = text_similarity([true], [predicted]).item()
    for kind in KINDS:
        (found,) = pair_similarity([(true, predicted)], kind)
        assert 0 <= found <= most <= 1


@pytest.mark.parametrize("length", [5, 60, 250])  # difflib's heuristic begins at 200
@pytest.mark.parametrize("kind", KINDS)
def test_difflib_and_its_twin_agree(
    kind: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cydifflib")
    rng = random.Random(length)
    texts = ["".join(rng.choices("abc 12", k=rng.randint(0, length))) for _ in range(40)]
    pairs = list(pairwise(texts)) + [(texts[0], text) for text in texts]
    fast = pair_similarity(pairs, kind)
    monkeypatch.setitem(sys.modules, "cydifflib", None)
    assert pair_similarity(pairs, kind) == fast
    assert len(set(fast)) > 10


@pytest.mark.parametrize(
    "true, predicted, kind, expected",
    [
        ("tide", "diet", "blocks", 0.25),
        ("diet", "tide", "blocks", 0.5),
        ("abcd", "bcxd", "substring", 0.5),
        ("abcd", "bcxd", "blocks", 0.75),
        ("", "", "blocks", 1.0),
        ("", "a", "substring", 0.0),
    ],
)
def test_pairs(true: str, predicted: str, kind: str, expected: float) -> None:
    assert pair_similarity([(true, predicted)], kind) == [expected]


def test_subsequences() -> None:
    found = text_similarity(["tide", "", "abc"], ["diet", "", "abc"])
    assert found.tolist() == [[0.5, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
