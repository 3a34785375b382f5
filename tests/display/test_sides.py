"""Two values beside each other: what is shown of long ones."""

from __future__ import annotations

import pytest

from extractbench_nb.display.sides import Pair, excerpts, whole

WORDS = "word " * 30_000


@pytest.mark.parametrize("limit", [2_000, 100_000])
@pytest.mark.parametrize(
    "gold, predicted, changed",
    [
        (WORDS, WORDS + "more", "more"),
        (WORDS + "a", WORDS + "b", "b"),
        (WORDS[:75_000] + "X" + WORDS, WORDS[:75_000] + "Y" + WORDS, "Y"),
        ("X" + WORDS, "Y" + WORDS, "Y"),
        (WORDS + "X" * 300_000, WORDS + "Y" * 300_000, "Y" * 40),
    ],
    ids=["added at the end", "end", "middle", "beginning", "second half"],
)
def test_as_much_as_there_is_room_for_is_shown_with_the_difference(
    gold: str, predicted: str, changed: str, limit: int
) -> None:
    pair = Pair(gold, predicted, "present", "present")
    left, right = (side for side in whole(pair, limit))
    texts = ["".join(s.text for s in one.segments if s.kind != "note") for one in (left, right)]
    assert limit - len("… ") <= max(map(len, texts)) <= limit
    assert [one.hidden for one in (left, right)] == [len(gold) - limit, len(predicted) - limit]
    marked = ("".join(s.text for s in side if s.kind == "changed") for side in (right.segments,))
    assert changed in next(marked)
    row = excerpts(pair)[1]
    assert any(s.kind == "changed" and s.text.startswith(changed[:20]) for s in row)
    assert sum(len(s.text) for s in row[:-1]) <= 200
