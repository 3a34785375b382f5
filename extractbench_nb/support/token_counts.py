"""Count GPT-2 tokens, the unit of the paper's token columns, without any download.

GPT-2's vocabulary (Radford et al. 2019, MIT license) is in ``gpt2.xz``; `tiktoken` does the work.
"""

from __future__ import annotations

import lzma
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from extractbench_nb.errors import needs

if TYPE_CHECKING:
    from tiktoken import Encoding

_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_END = "<|endoftext|>"


def count_tokens(text: str) -> int:
    """Count the GPT-2 tokens of a text.

    Examples
    --------
    >>> count_tokens("Hello world")
    2
    """
    return len(gpt2().encode_ordinary(text))


#: Between the tokens of the file, which are written in ISO 8859-1 otherwise.
_SEPARATOR = "\u0100"


@cache
def gpt2() -> Encoding:
    """Build GPT-2's byte-pair encoding.

    Examples
    --------
    >>> gpt2().encode_ordinary("Hello world")
    [15496, 995]
    """
    tiktoken = needs("tiktoken", "benchmark")
    text = lzma.decompress((files("extractbench_nb.support") / "gpt2.xz").read_bytes()).decode()
    ranks = {token.encode("latin-1"): n for n, token in enumerate(text.split(_SEPARATOR))}
    encoding: Encoding = tiktoken.Encoding(
        "gpt2", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={_END: len(ranks)}
    )
    return encoding
