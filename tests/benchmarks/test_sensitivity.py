"""Curves of a score over rates of corruption: documents corrupted, evaluated and summed up."""

import pytest

import extractbench_nb as xb
from tests.benchmarks.evaluators import label

OURS = label("extractbench-nb")
CORRUPTIONS = ("drop_items", "typo", "null_out", "shuffle_items")
RATES = (0.0, 0.3, 1.0)


@pytest.mark.parametrize(
    "name, count", [("extractbench", 35), ("sample", 14)], ids=["real", "sample"]
)
def test_documents(name, count, dataset, timed, benchmark):
    def curves(source):
        return xb.sensitivity("paper", source, CORRUPTIONS, RATES, repeats=1)

    found = timed(
        "sensitivity", f"{OURS}, {count} documents", curves, dataset(name), rounds=2, warm=0
    )

    assert len(found) == len(CORRUPTIONS) * len(RATES)
    assert found.loc[found["corruption"].eq("typo"), "n"].eq(count).all()
    scores = found.pivot_table(index="corruption", columns="rate", values="score")
    assert scores[0.0].eq(1).all()
    assert scores.loc["shuffle_items"].eq(1).all()
    assert (scores.drop("shuffle_items")[1.0] < 0.9).all()  # nulls still pass without items
    copies = int(found.loc[found["rate"] > 0, "n"].sum())
    benchmark.extra_info["work"] = f"{len(CORRUPTIONS)} corruptions, {copies} corrupted copies"


def test_values(dataset, timed, benchmark):
    source = dataset("sample")
    fields = xb.evaluate_runs(source, progress=False).fields
    texts = fields.loc[fields["metric"].eq("string_semantic"), "gold"].drop_duplicates()
    texts = [text for text in texts if isinstance(text, str)][:: 10 if benchmark.disabled else 1]

    def scores():
        return xb.sensitivity("string_semantic", texts, rates=RATES, repeats=1)

    found = timed("sensitivity", f"{OURS}, {len(texts)} texts", scores, rounds=3, warm=1)

    assert found["n"].max() == len(texts)
    assert found.loc[found["rate"].eq(0), "score"].eq(1).all()
    benchmark.extra_info["work"] = f"{found['corruption'].nunique()} corruptions, judged"
