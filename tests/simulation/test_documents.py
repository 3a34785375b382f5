"""Scores follow the corruption as theory says, in every profile; and the frame says over what."""

import os
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.profile_rules import PROFILES
from extractbench_nb.errors import InputError
from extractbench_nb.simulation.curves import SENSITIVITY_COLUMNS, sensitivity
from extractbench_nb.simulation.document_corruptions import CORRUPTIONS

TEXT = {"type": "string", "evaluation_config": "string_exact"}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


WORDS = an_object(words={"type": "array", "items": TEXT})
ITEMS, DOCUMENTS = 100, 6
RATES = [0.1, 0.3, 0.5, 0.8]


def lists(schema: dict[str, Any] = WORDS) -> list[tuple[Any, Any]]:
    return [
        (schema, {"words": [f"{document} street {n}" for n in range(ITEMS)]})
        for document in range(DOCUMENTS)
    ]


def curve(tried: Any, data: Any, corruption: str, **options: Any) -> pd.Series:
    frame = sensitivity(tried, data, corruption, RATES, **options)
    return frame.set_index("rate")["score"].astype(float)


# --- what theory says ------------------------------------------------------------------------


def recall(rate: float) -> float:
    return 1 - rate


def f1(rate: float) -> float:
    return 2 * (1 - rate) / (2 - rate)


def kept_of_all(rate: float) -> float:
    """Right leaves among those of gold and the invented ones."""
    return 1 / (1 + rate)


def f1_of_spurious(rate: float) -> float:
    return 2 / (2 + rate)


def unchanged(_: float) -> float:
    return 1.0


@pytest.mark.parametrize(
    "tried, profile, corruption, expected",
    [
        ("paper", "strict", "drop_items", recall),
        ("strict", "strict", "drop_items", recall),
        ("array_llm", "paper", "drop_items", recall),
        ("array_llm", "strict", "drop_items", f1),
        ("string_fuzzy", "strict", "drop_items", recall),
        ("paper", "strict", "spurious_items", unchanged),
        ("strict", "strict", "spurious_items", kept_of_all),
        ("array_llm", "paper", "spurious_items", unchanged),
        ("array_llm", "strict", "spurious_items", f1_of_spurious),
        ("paper", "strict", "duplicate_items", unchanged),
        ("strict", "strict", "duplicate_items", kept_of_all),
        ("paper", "strict", "typo", recall),
    ],
)
def test_the_score_is_the_expected_one(
    tried: str, profile: str, corruption: str, expected: Any
) -> None:
    measure = "overall_score"
    found = curve(tried, lists(), corruption, profile=profile, measure=measure, repeats=2)
    for rate, score in found.items():
        # of a share of drawn items; no score here moves faster than twice that share
        error = 2 * (rate * (1 - rate) / (ITEMS * DOCUMENTS * 2)) ** 0.5
        assert abs(score - expected(rate)) <= 3.5 * error, rate


MIXED = an_object(
    title=TEXT,
    people={
        "type": "array",
        "items": an_object(name=TEXT, age={"type": "integer"}, tags={"type": "array"}),
    },
    words={"type": "array", "items": TEXT},
    numbers={"type": "array", "items": {"type": "number"}, "evaluation_config": "set_f1"},
)
MIXED_GOLD = {
    "title": "x",
    "people": [{"name": f"n{i % 4}", "age": i % 3, "tags": ["a", "b"]} for i in range(9)],
    "words": ["red", "red", "blue", "green", "grey"],
    "numbers": [1, 2, 2, 3],
}


@pytest.mark.parametrize("profile", PROFILES)
def test_order_never_counts(profile: str) -> None:
    frame = sensitivity(profile, [(MIXED, MIXED_GOLD)], "shuffle_items", [0.5, 1.0], repeats=5)
    assert frame["score"].tolist() == [1.0, 1.0]
    assert (frame["changed"] > 3).all()


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("name", ["omit", "null_out", "wrong_type", "drop_items", "substitute"])
def test_more_corruption_never_raises_the_score(profile: str, name: str) -> None:
    people = {"type": "array", "items": an_object(name=TEXT, city=TEXT)}
    data = [
        (
            an_object(title=TEXT, people=people),
            {"title": w, "people": [{"name": f"{w}{i}", "city": f"{w}-{i}"} for i in range(12)]},
        )
        for w in ("oak", "elm", "ash")
    ]
    rates = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    scores = sensitivity(profile, data, name, rates, measure="overall_score")["score"]
    assert scores.iloc[0] == 1
    assert (scores.diff().dropna() <= 1e-12).all()
    assert scores.iloc[-1] < 0.3


# --- what the frame says ---------------------------------------------------------------------


def test_the_frame() -> None:
    data = [*lists()[:2], (an_object(total={"type": "number"}), {"total": 3})]
    frame = sensitivity(["paper", "string_fuzzy"], data, ["sign", "drop_items"], [0, 1])
    assert frame.columns.tolist() == SENSITIVITY_COLUMNS.names
    keys = frame[["metric", "profile", "measure", "corruption", "rate"]].fillna("-")
    assert keys.to_numpy().tolist() == [
        [metric, profile, measure, corruption, rate]
        for metric, profile, measure in (
            ("-", "paper", "pass_rate"),
            ("string_fuzzy", "strict", "field mean"),
        )
        for corruption in ("sign", "drop_items")
        for rate in (0.0, 1.0)
    ]
    assert frame["n"].tolist() == [1, 1, 2, 2, 0, 0, 2, 2]  # no text in the third document
    assert frame["score"].tolist()[:4] == [1, 0, 1, 0]
    assert frame["changed"].tolist()[:4] == [0, 1, 0, ITEMS]
    example = frame[["document", "path", "gold", "corrupted"]].iloc[1].tolist()
    assert example == ["2", "$.total", 3, -3]
    assert frame["interval"].tolist()[:4] == ["none", "none", "all equal", "all equal"]


def test_whatever_is_scored_the_corruptions_are_the_same() -> None:
    columns = ["n", "changed"]
    alone = sensitivity("paper", lists(), "typo", RATES)
    together = sensitivity(["string_exact", "paper"], lists(), ["drop_items", "typo"], RATES)
    same = together[together["metric"].isna() & together["corruption"].eq("typo")]
    pd.testing.assert_frame_equal(alone, same.reset_index(drop=True))
    other = together[together["metric"].notna() & together["corruption"].eq("typo")]
    assert other[columns].to_numpy().tolist() == alone[columns].to_numpy().tolist()


def test_all_corruptions_at_once_and_gold_as_it_was() -> None:
    gold = {**MIXED_GOLD, "people": [dict(person) for person in MIXED_GOLD["people"]]}
    frame = sensitivity("strict", [(MIXED, gold), (MIXED, {"words": ["new"]})], rates=[0, 0.5])
    assert frame["corruption"].unique().tolist() == list(CORRUPTIONS)
    assert gold == MIXED_GOLD
    assert frame.loc[frame["rate"].eq(0) & frame["n"].gt(0), "score"].eq(1).all()


# --- a metric on every field it applies to ---------------------------------------------------


def test_a_metric_is_put_on_its_fields_and_no_others() -> None:
    schema = {
        **an_object(
            maybe={"anyOf": [{"type": "string"}, {"type": "null"}]},
            either={"type": ["string", "number"]},
            words={"type": "array", "items": {"$ref": "#/$defs/word"}},
            by_key={"type": "object", "additionalProperties": TEXT},
            total={"type": "number"},
            count={"type": "integer"},
            hidden={"type": "string", "evaluation_config": "skip"},
        ),
        "$defs": {"word": TEXT},
    }
    gold = {"maybe": "ab", "either": "cd", "words": ["de", "ef"], "by_key": {"k": "fg"}}
    gold |= {"total": 1.5, "count": 2, "hidden": "gh"}
    data = [(schema, gold)]
    metrics = ["string_exact", "number_exact", "integer_exact", "set_f1"]
    text, *_ = sensitivity(metrics, data, "case", [1])["score"]
    assert text == 0  # every text is compared; the numbers are not among them
    scores = sensitivity(metrics, data, "sign", [1])["score"]
    assert scores.tolist() == [1, 0, 0, 1]
    whole = sensitivity("integer_exact", [(schema, {**gold, "count": None})], "sign", [1])
    assert whole["n"].tolist() == [1]


# --- data ------------------------------------------------------------------------------------


def test_a_dataset_is_its_documents() -> None:
    dataset = xb.load_dataset()
    pairs = [
        (dataset.schema(schema), dataset.gold(document))
        for document, schema in dataset.listing[["document", "schema"]].to_numpy()
    ]
    one, two = (sensitivity("paper", d, "drop_items", [0, 1], repeats=1) for d in (dataset, pairs))
    assert one["n"].tolist() == [14, 14]
    assert one["document"].iloc[1] in dataset.listing["document"].tolist()
    assert one["score"].tolist() == two["score"].tolist()


def test_hostile_documents() -> None:
    nasty = {"\ud800": TEXT, "<script>": TEXT, "a\nb|.['": TEXT}
    schema = an_object(a=TEXT, b={"type": "array", "items": TEXT}, c={"type": "number"})
    data = [
        (an_object(**nasty), dict.fromkeys(nasty, "12 million words")),
        (schema, {"a": "\ud800 12", "b": ["<b>", "\x00", "a\nb"], "c": float("nan")}),
        (schema, {"a": "x" * 100_000, "b": ["\udfff"], "c": 10**400}),
        (TEXT, '"a root that is text"'),
    ]
    frame = sensitivity(["paper", "strict", "string_exact"], data, rates=[0, 0.7], repeats=1)
    assert frame["score"].notna().any()


LARGE = an_object(**{f"field_{n}": TEXT for n in range(200)})


def test_an_error_says_in_which_document() -> None:
    with pytest.raises(InputError, match=r"document '1': gold at \$.a is a set"):
        sensitivity("paper", [(WORDS, {}), (WORDS, {"a": {1}})])
    deep: Any = "bottom"
    for _ in range(3_000):
        deep = [deep]
    data = [({"type": "array", "items": {}}, deep), (WORDS, {})]
    with pytest.raises(InputError, match="document '0': gold has 3000 levels"):
        sensitivity("paper", data, "drop_items", [0])


# --- real documents --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> xb.runs.Dataset:
    if not os.environ.get("EXTRACTBENCH_DATASET"):
        pytest.skip("EXTRACTBENCH_DATASET is not set: no real documents")
    return xb.load_dataset("extractbench")


def test_only_paper_is_blind_to_spurious_items_in_real_documents(
    real: xb.runs.Dataset,
) -> None:
    frame = sensitivity(["paper", "strict"], real, "spurious_items", [0.5], repeats=1)
    paper, strict = frame["score"]
    assert paper == 1
    assert strict < 0.85
    assert frame["errors"].eq(0).all()
