"""GPT-2 tokens without any download."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.support.token_counts import count_tokens, gpt2

text = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    "words, tokens",
    [
        ("", []),
        ("Hello world", [15496, 995]),
        ("<|endoftext|>", [27, 91, 437, 1659, 5239, 91, 29]),
        ('{"a": null}', [4895, 64, 1298, 9242, 92]),
    ],
)
def test_gpt2(words: str, tokens: list[int]) -> None:
    assert gpt2().encode_ordinary(words) == tokens
    assert count_tokens(words) == len(tokens)


def test_the_vocabulary_is_the_released_one() -> None:
    """Each token and its number; the digest was taken from OpenAI's ``encoder.json``."""
    released = hashlib.sha256()
    for number in range(50256):
        token = gpt2().decode_single_token_bytes(number)
        released.update(len(token).to_bytes(2, "big") + token)
    digest = "a05c98a9bb6636f0d0778ef0e593770bac1befc392db5f1156cc5714b8afa64f"
    assert released.hexdigest() == digest


@given(text)
def test_tokens_decode_to_the_text(words: str) -> None:
    assert gpt2().decode(gpt2().encode_ordinary(words)) == words


def test_a_lone_surrogate_counts_as_a_replacement_character() -> None:
    assert count_tokens("a\ud800b") == count_tokens("a\ufffdb")


@pytest.mark.parametrize("piece", ["a", " ", "\n", "é", "…", "a b ", "0"])
def test_long_texts_of_one_piece(piece: str) -> None:
    assert count_tokens(piece * 100_000) > 0
