"""How items are cut into batches for a model, and which candidates they come with."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.core.alignment import OptimalAligner
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.schema.parse import parse_schema
from extractbench_nb.core.scoring import Scorer
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.judges.model_aligner import Limits, batches, likely_partners

sizes = st.lists(st.integers(1, 60), max_size=25)


@st.composite
def tasks(draw):
    gold, predicted = dict(enumerate(draw(sizes))), dict(enumerate(draw(sizes)))
    partners = {
        i: draw(st.dictionaries(st.sampled_from(sorted(predicted)), st.floats(0.1, 2), max_size=4))
        if predicted
        else {}
        for i in gold
    }
    return gold, predicted, partners


@given(tasks(), st.integers(300, 800), st.integers(5, 40))
def test_each_gold_item_is_shown_once_with_its_partners(task, tokens, items):
    gold, predicted, partners = task
    found = batches(gold, predicted, partners, Limits(tokens, items, 2))
    shown = [i for batch in found for i in batch.gold]
    assert sorted(shown) == [i for i in gold if partners[i]]
    for batch in found:
        assert batch.gold == tuple(sorted(batch.gold))
        assert set(batch.predicted) == {j for i in batch.gold for j in partners[i]}
        used = sum(gold[i] for i in batch.gold) + sum(predicted[j] for j in batch.predicted)
        assert used <= tokens or len(batch.gold) == 1
        assert len(batch.gold) + len(batch.predicted) <= items or len(batch.gold) == 1


def test_an_item_fits_with_its_candidates():
    for candidates in (1, 3, 8):
        limits = Limits(1_000, 100, candidates)
        assert (1 + 2 * candidates) * limits.of_an_item <= limits.tokens


SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "evaluation_config": "string_fuzzy"},
            "code": {"type": "string", "evaluation_config": "string_exact"},
            "amount": {"type": "number"},
        },
    },
}


def people(count, rng):
    letters = list("abcdefghijklmnopqrstuvwxyz ")
    return [
        {
            "name": "".join(rng.choice(letters, 20)),
            "code": f"{rng.integers(1e6)}",
            "amount": float(rng.integers(1e4)),
        }
        for _ in range(count)
    ]


def test_the_optimal_partner_is_among_the_candidates():
    rng = np.random.default_rng(4)
    node = parse_schema(SCHEMA).root
    gold = people(150, rng)
    predicted = [dict(item) for item in gold]
    for item in predicted:
        change = rng.integers(3)
        if change == 0:
            item["name"] = item["name"][:12] + "".join(rng.choice(list("xyz"), 8))
        elif change == 1:
            item["code"] = "0"
        else:
            item["amount"] = None
    found = likely_partners(node.children.items, gold, predicted, 5)
    optimal = OptimalAligner(Scorer(Profile.named("paper"), OfflineJudge()))(node, gold, predicted)
    assert len(optimal) == 150
    assert all(j in found[i] for i, j in optimal)
    assert sum(map(len, found)) < 4 * len(gold)  # where the best one is far ahead it is alone


def test_chunks_of_a_huge_array_choose_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    node = parse_schema(SCHEMA).root.children.items
    gold = people(40, rng)
    predicted = gold[10:30]
    whole = likely_partners(node, gold, predicted, 3)
    monkeypatch.setattr("extractbench_nb.core.alignment.DENSE_PAIRS", 4 * 7 * len(predicted))
    parts = likely_partners(node, gold, predicted, 3)
    for i, (one, two) in enumerate(zip(whole, parts, strict=True)):
        assert 10 <= i < 30 or not one or max(one.values()) < 1.5
        if 10 <= i < 30:
            assert next(iter(one)) == next(iter(two)) == i - 10


def test_an_item_that_is_like_none_gets_those_at_its_position():
    node = parse_schema({"type": "array", "items": {"type": "string"}}).root.children.items
    gold, predicted = (list(letters) for letters in ("abcdefghij", "0123456789"))
    found = likely_partners(node, gold, predicted, 3)
    assert [list(row) for row in found] == [
        [max(0, min(place - 1, 7)) + k for k in range(3)] for place in range(10)
    ]


def test_a_batch_is_filled_up_to_its_limits():
    gold = predicted = {0: 1, 1: 1}
    partners = {0: {0: 1.0}, 1: {1: 1.0}}
    for tokens, items, count in ((4, 4, 1), (3, 4, 2), (4, 3, 2)):
        assert len(batches(gold, predicted, partners, Limits(tokens, items, 2))) == count
