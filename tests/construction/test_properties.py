"""What holds for all tables: F1 at most 1, no order matters, no judge that fails raises a score."""

import random
import zlib
from typing import Any

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.construction.comparing import compare
from extractbench_nb.core.text.judging import JudgeError, Verdict
from extractbench_nb.core.text.offline_judge import OfflineJudge

KEYS = (
    "Report 2020",
    "report 2020.md",
    "Report 2021",
    "Report",
    "",
    "N/A",
    "报告2020年",
    "reports",
)
CELLS = (
    "",
    "1",
    "1,000",
    "1000",
    "12.5%",
    "0.125",
    "2020年",
    "2020",
    "abc",
    "ABC",
    "abd",
    "-",
    "<b>",
)
NAMES = ("key", "Key", "sales (元)", "sales（元）", "sales", "note", "notes", "2020", "2021")
MEASURES = ("cell_f1", "cell_precision", "cell_recall", "row_f1", "column_recall")


RENAMED = {("name", "nom"), ("note", "key"), ("sales (元)", "Key"), ("Report", "reports")}


@st.composite
def tables(draw: st.DrawFn, keys_named: tuple[str, ...] = ("name",)) -> pd.DataFrame:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    rows = draw(st.integers(0, 7))
    cells = st.lists(st.sampled_from(CELLS), min_size=rows, max_size=rows)
    keys = st.lists(st.sampled_from(KEYS), min_size=rows, max_size=rows)
    key = draw(st.sampled_from(keys_named))
    return pd.DataFrame({key: draw(keys), **{name: draw(cells) for name in names}}, dtype=object)


def shuffled(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    chance = random.Random(seed)
    columns = chance.sample(list(frame.columns), frame.shape[1])
    rows = chance.sample(range(len(frame)), len(frame))
    return frame.iloc[rows][columns].reset_index(drop=True)


def content(found: Any) -> list[Any]:
    """Return outcomes by content instead of by position."""
    cells = found.cells
    columns = ["field", "score", "outcome", "reason", "gold", "predicted"]
    return sorted(map(str, cells[columns].astype(object).to_numpy().tolist()))


class Sulking:
    """A judge that fails on one question in some, or on none, and accepts odd pairs."""

    name = "sulking"

    def __init__(self, every: int) -> None:
        self.every = every

    def compare(self, gold: str, predicted: str) -> Verdict:
        if self.every and hash_of(gold, predicted) % self.every == 0:
            raise JudgeError("sulks")
        if (gold, predicted) in RENAMED or hash_of(predicted, gold) % 3 == 0:
            return Verdict(0.7 + hash_of(gold, gold + predicted) % 30 / 100, "odd")
        return OfflineJudge().compare(gold, predicted)


def hash_of(*texts: str) -> int:
    return zlib.crc32("|".join(texts).encode())


@settings(max_examples=60)
@given(tables(), tables())
def test_scores_are_shares(gold: pd.DataFrame, predicted: pd.DataFrame) -> None:
    found = compare(gold, predicted)
    s = found.summary
    for name in MEASURES:
        assert 0 <= s[name] <= 1, name
    assert s["score_sum"] <= s["gold_cells"] or s["gold_cells"] == 0
    matched = found.matches[found.matches["status"] == "matched"]
    assert matched["gold_row"].is_unique
    assert matched["predicted_row"].is_unique
    assert s["evaluated"] == len(found.cells)


@settings(max_examples=60)
@given(tables(), tables(), st.integers(0, 9))
def test_order_changes_nothing(gold: pd.DataFrame, predicted: pd.DataFrame, seed: int) -> None:
    one = compare(gold, predicted, keys="name")
    other = compare(shuffled(gold, seed), shuffled(predicted, seed + 1), keys="name")
    assert content(one) == content(other)
    pd.testing.assert_series_equal(one.summary, other.summary)


@settings(max_examples=60)
@given(tables())
def test_the_same_table_has_one(gold: pd.DataFrame) -> None:
    found = compare(gold, shuffled(gold, 3))
    assert found.summary["cell_f1"] == 1.0
    assert found.summary["row_f1"] == 1.0


@settings(max_examples=60)
@given(tables(), tables(("name", "names", "nom")), st.integers(1, 4))
def test_a_judge_that_fails_never_raises_a_score(
    gold: pd.DataFrame, predicted: pd.DataFrame, every: int
) -> None:
    judges: tuple[Any, Any] = Sulking(0), Sulking(every)
    with_answers, without = (
        compare(gold, predicted, keys="name", judge=judge).summary for judge in judges
    )
    assert without["cell_f1"] <= with_answers["cell_f1"] + 1e-12
    assert without["cell_recall"] <= with_answers["cell_recall"] + 1e-12


@settings(max_examples=60)
@given(tables(), tables())
def test_more_predicted_rows_or_columns_never_help(
    gold: pd.DataFrame, predicted: pd.DataFrame
) -> None:
    before = compare(gold, predicted, keys="name").summary
    more = predicted.assign(**{"an invented column": "x"})
    assert compare(gold, more, keys="name").summary["cell_f1"] <= before["cell_f1"] + 1e-12
    extra = pd.DataFrame([["an invented row 1999", *["x"] * (predicted.shape[1] - 1)]])
    longer = pd.concat([predicted, extra.set_axis(predicted.columns, axis=1)], ignore_index=True)
    assert compare(gold, longer, keys="name").summary["cell_f1"] <= before["cell_f1"] + 1e-12


@settings(max_examples=60)
@given(st.text(max_size=200), st.text(max_size=60))
def test_any_text_is_a_result(answer: str, cell: str) -> None:
    found = compare("k,v\na,1\nb,2\n", answer)
    assert 0 <= found.summary["cell_f1"] <= 1
    frame = pd.DataFrame({"k": ["a", "b"], "v": [cell, "2"]})
    assert compare(frame, frame).summary["cell_f1"] == 1.0
    assert found._repr_html_()
    for name in ("strict", "aoe"):
        compare("k,v\na,1\n", f"```csv\n{answer}\n```", profile=name, keys="k")
