"""Which values stand in their PDF, for one result, a batch and any JSON; and how telling it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb import evaluate, evaluate_runs, load_dataset
from extractbench_nb.errors import DatasetError, InputError
from extractbench_nb.pdf import page_text as index_room
from extractbench_nb.pdf.evidence import (
    GROUNDED_COLUMNS,
    LEAF_COLUMNS,
    ground_values,
    grounded,
    leaves,
    specificity,
)
from extractbench_nb.pdf.page_text import PdfText

Write = Callable[..., Path]
SAMPLE = load_dataset()
DOCUMENT = "night bus demand"
ADDED = GROUNDED_COLUMNS.names


def evaluated(**changes: Any) -> Any:
    gold = SAMPLE.gold(DOCUMENT)
    return evaluate(SAMPLE.schema("preprint"), gold, gold | changes, profile="strict")


def test_invented_values_are_told_from_those_of_the_document() -> None:
    ev = evaluated(heading="Who Drives the Day Tram?", outlet="NA", page_count=1)
    found = grounded(ev, SAMPLE, DOCUMENT).set_index("path")
    assert found.loc["$.heading", ADDED].tolist() == [False, pd.NA, pd.NA]
    assert found.loc["$.summary", "grounded"]
    assert found.loc["$.summary", "evidence_page"] == 1
    assert found.loc["$.summary", "evidence_score"] > 0.9
    assert found.loc["$.page_count", "evidence_score"] < 0.5, "a 1 is found anywhere"
    nothing = found.loc[["$.outlet", "$.persistent_id", "$.topics"], "grounded"]
    assert nothing.isna().all(), "NA, null and an array"
    assert (
        grounded(ev, SAMPLE, DOCUMENT, side="gold").set_index("path").loc["$.heading", "grounded"]
    )


def test_the_frame_is_that_of_the_fields_with_three_columns_more() -> None:
    ev = evaluated()
    before = ev.fields
    found = grounded(ev, SAMPLE, DOCUMENT)
    assert found.columns.tolist() == [*before.columns, *ADDED]
    assert found[before.columns].equals(before)
    assert [str(found[name].dtype) for name in ADDED] == ["boolean", "Int64", "Float64"]
    shuffled = before.sample(frac=1, random_state=1)
    again = grounded(shuffled, SAMPLE, DOCUMENT)
    assert again.sort_index().equals(found)
    assert "grounded" not in shuffled
    assert len(grounded(before.iloc[:0], SAMPLE, DOCUMENT)) == 0


def test_a_batch_is_looked_up_in_the_pdf_of_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = SAMPLE.runs[SAMPLE.runs["run"].isin(["quill-large", "quill-mini"])]
    evs = evaluate_runs(runs, dataset=SAMPLE, progress=False)
    read: list[Path] = []
    real = index_room.read_layers
    monkeypatch.setattr(index_room, "read_layers", lambda path: read.append(path) or real(path))
    index_room._index.cache_clear()
    found = grounded(evs, SAMPLE)
    assert len(found) == len(evs.fields)
    assert len(read) == len(set(read)) == found["document"].nunique()
    for document, rows in found.groupby("document"):
        alone = grounded(rows.drop(columns=ADDED), SAMPLE, str(document))
        assert alone[ADDED].equals(rows[ADDED])
    assert found["grounded"].dropna().mean() > 0.5


def test_documents_without_a_pdf_are_left_open_in_a_batch(tmp_path: Path) -> None:
    folder = tmp_path / "d" / "s" / "pdf+gold"
    folder.mkdir(parents=True)
    (folder.parent / "s-schema.json").write_text("{}")
    (folder / "a.gold.json").write_text("{}")
    rows = pd.DataFrame({"document": ["a"], "predicted": ["text"]})
    assert grounded(rows, load_dataset(tmp_path))["grounded"].isna().all()


def test_a_pdf_without_text_leaves_it_open(write_pdf: Write) -> None:
    found = ground_values(None, write_pdf([]), ["text", 1])
    assert found["grounded"].isna().all()
    assert grounded(evaluated(), None, write_pdf([]))["grounded"].isna().all()


def test_every_leaf_of_a_value_has_a_row() -> None:
    value = {"a": ["Night bus", None, {"b c": True}], "d": {}, "e": [], "f": "Airships"}
    found = ground_values(SAMPLE, DOCUMENT, value)
    assert found.columns.tolist() == LEAF_COLUMNS.names
    assert found["path"].tolist() == ["$.a[0]", "$.a[1]", "$.a[2]['b c']", "$.f"]
    assert found["field"].tolist() == ["a[]", "a[]", "a[]['b c']", "f"]
    assert found["value"].tolist() == ["Night bus", None, True, "Airships"]
    assert found["grounded"].tolist() == [True, pd.NA, pd.NA, False]
    assert len(ground_values(SAMPLE, DOCUMENT, {})) == 0
    assert ground_values(SAMPLE, DOCUMENT, "Night bus")["path"].tolist() == ["$"]


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_paths_lead_to_different_leaves(value: Any) -> None:
    found = list(leaves(value))
    assert len({path for path, *_ in found}) == len(found)
    assert all(not isinstance(leaf, dict | list) for *_, leaf in found)


def test_a_least_score_leaves_out_what_stands_anywhere() -> None:
    values = ["Verrin Transit Authority", 1]
    assert ground_values(SAMPLE, DOCUMENT, values)["grounded"].tolist() == [True, True]
    found = ground_values(SAMPLE, DOCUMENT, values, min_score=0.5)
    assert found["grounded"].tolist() == [True, False]


CIRCULAR: dict[str, Any] = {"a": 1}
CIRCULAR["b"] = [CIRCULAR]


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda ev: grounded(ev, SAMPLE), InputError, "the rows have no column 'document'"),
        (lambda ev: grounded(ev, SAMPLE, "x"), DatasetError, "no document 'x'"),
        (lambda ev: grounded(ev, SAMPLE, DOCUMENT, side="both"), InputError, "side='both'"),
        (lambda ev: grounded(ev, SAMPLE, DOCUMENT, min_score=2), InputError, "min_score=2"),
        (lambda ev: grounded([1], SAMPLE, DOCUMENT), InputError, "found list"),
        (lambda ev: grounded(ev.arrays, SAMPLE, DOCUMENT), InputError, "column 'predicted'"),
        (lambda ev: ground_values(SAMPLE, DOCUMENT, 1, min_score=None), InputError, "min_score"),
        (lambda ev: ground_values(SAMPLE, DOCUMENT, CIRCULAR), InputError, "contains itself"),
    ],
)
def test_errors_say_what_would_be_right(
    call: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(evaluated())


# --- how telling a value is -------------------------------------------------------------------


LONG = PdfText(["the revenue of 1,204 in 2024, 7 of 12 and 3.5 on 1 May 2023\n" * 1_000])
SHORT = PdfText(["A short note of 1 May 2023."])


@pytest.mark.parametrize(
    "more, less",
    [
        ("Verrin Transit Authority", "Authority"),
        ("Okonkwo-Lindqvist", "revenue"),
        ("revenue recognition", "revenue"),
        ("the", "a"),
        (1204.5, 1204),
        (1204, 12),
        (1234, 5000),
        (17, 7),
        (1999.5, 1999),
        ("2023-05-01", "2023-05"),
        ("2023-05", "2023"),
        ("北京大学", "的"),
        ("1,204.5", "7"),
        ("1.5 km to the north", "$7"),
        (10**40 + 1, 7),
    ],
)
@pytest.mark.parametrize("index", [LONG, SHORT], ids=["long", "short"])
def test_what_is_rarer_tells_more(more: str | float, less: str | float, index: Any) -> None:
    assert specificity(more, index) > specificity(less, index)


@pytest.mark.parametrize("value", ["the", "7", 7, 0, 1000, "2024", 2024, "a", "的"])
def test_what_stands_anywhere_tells_next_to_nothing(value: str | float) -> None:
    assert specificity(value, LONG) < 0.2
    assert specificity(value, SHORT) < 0.2


@given(
    st.text(min_size=1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.just("\ud800")
    | st.dates().map(str)
)
def test_it_is_a_share(value: str | float) -> None:
    assert 0 < specificity(value, LONG) <= 1
