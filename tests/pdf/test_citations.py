"""Citations of outputs: the place of a value against the place that the output names."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.pdf import find_evidence, score_citations

NIGHT = "night bus demand"


@pytest.fixture(scope="module")
def dataset() -> xb.runs.Dataset:
    return xb.load_dataset()


@pytest.fixture(scope="module")
def ev(dataset: xb.runs.Dataset) -> xb.core.Evaluation:
    """An output with one wrong value, one that is not printed, and one that is left out."""
    gold = dataset.gold(NIGHT)
    changed = {"kind": "Memo", "issued": None}
    return xb.evaluate(dataset.schema("preprint"), gold, gold | changed)


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows)


CASES = [
    ("$.heading", 1, "right_place", True),
    ("$.heading", 2, "elsewhere", False),
    ("$.heading", 99, "elsewhere", False),
    ("$.kind", 1, "wrong_value", False),
    ("$.issued", 1, "wrong_value", None),  # null in place of a value cannot be looked up
]


@pytest.mark.parametrize("path, page, verdict, on_page", CASES)
def test_a_citation_is_worth_what_the_page_says(
    ev: xb.core.Evaluation,
    dataset: xb.runs.Dataset,
    path: str,
    page: int,
    verdict: str,
    on_page: bool | None,
) -> None:
    cited = frame({"path": "$.heading", "page": 1}, {"path": path, "page": page})
    found = score_citations(ev, cited, dataset, NIGHT).iloc[1]
    assert found["verdict"] == verdict
    assert (None if pd.isna(found["on_page"]) else bool(found["on_page"])) == on_page


def test_unknown_paths_are_named_in_one_warning(
    ev: xb.core.Evaluation, dataset: xb.runs.Dataset
) -> None:
    paths = ["$.heading", "$.headng", "$.a", "$.headng", "$.b", "$.c"]
    cited = pd.DataFrame({"path": paths, "page": 1})
    with pytest.warns(UserWarning, match=r"'\$.headng', '\$.a', '\$.b' and 1 more; .*'\$.heading'"):
        found = score_citations(ev, cited, dataset, NIGHT)
    assert found["verdict"].tolist() == ["right_place"] + ["unknown"] * 5
    assert found["on_page"].isna().tolist() == [False] + [True] * 5


def test_a_box_is_compared_with_the_boxes_of_the_value(
    ev: xb.core.Evaluation, dataset: xb.runs.Dataset
) -> None:
    place = find_evidence(dataset, NIGHT, ev.inputs.gold["heading"]).iloc[0]
    box = {name: place[name] for name in ("x0", "y0", "x1", "y1")}
    turned = {"x0": box["x1"], "x1": box["x0"], "y0": box["y1"], "y1": box["y0"]}
    below = box | {"y0": box["y0"] - 300, "y1": box["y1"] - 300}
    rows = [{"path": "$.heading", "page": int(place["page"])} | one for one in (box, turned, below)]
    found = score_citations(ev, frame(*rows), dataset, NIGHT)
    assert found["in_box"].tolist() == [True, True, False]
    assert found["on_page"].all()
    assert found["verdict"].tolist() == ["right_place", "right_place", "elsewhere"]


def test_chance_is_the_share_of_pages_with_the_value(
    ev: xb.core.Evaluation, dataset: xb.runs.Dataset
) -> None:
    found = score_citations(ev, frame({"path": "$.heading", "page": 1}), dataset, NIGHT).iloc[0]
    evidence = find_evidence(dataset, NIGHT, ev.inputs.gold["heading"])
    assert found["chance"] == evidence["page"].nunique() / evidence.attrs["pages"]
    assert found["found_page"] == evidence["page"].iloc[0]


def test_results_of_many_documents_and_runs(dataset: xb.runs.Dataset) -> None:
    evs = xb.evaluate_runs(dataset, progress=False)
    rows = evs.fields.query("run == 'quill-large' and field == 'heading'")
    cited = rows[["run", "document", "path"]].assign(page=1)
    found = score_citations(evs, cited, dataset)
    assert found["document"].tolist() == rows["document"].tolist()
    assert set(found["verdict"]) <= {"right_place", "elsewhere", "wrong_value"}
    for name in ("run", "document"):
        with pytest.raises(xb.InputError, match=f"several {name}s"):
            score_citations(evs, cited.drop(columns=name), dataset)
    with pytest.raises(xb.InputError, match=r"no run, document, path is .* is 'other', 'night bus"):
        score_citations(evs, cited.query("document == @NIGHT").assign(run="other"), dataset)


def test_items_are_cited_by_their_own_index(dataset: xb.runs.Dataset) -> None:
    """The output has the authors in another order: `$.writers[0]` is its first one."""
    schema = {
        "type": "object",
        "properties": {"names": {"type": "array", "items": {"type": "string"}}},
    }
    gold = {"names": ["Verrin Transit Authority", "1 December 2029"]}
    predicted = {"names": gold["names"][::-1]}
    ev = xb.evaluate(schema, gold, predicted)
    cited = frame({"path": "$.names[0]", "page": 1}, {"path": "$.names[1]", "page": 1})
    found = score_citations(ev, cited, dataset, NIGHT)
    assert found["predicted"].tolist() == predicted["names"]


def test_a_document_without_text_or_pdf_has_no_verdict(
    ev: xb.core.Evaluation, tmp_path: Path, dataset: xb.runs.Dataset
) -> None:
    with pytest.raises(xb.InputError):
        score_citations(ev, frame({"path": "$.heading", "page": 1}), None, tmp_path / "no.pdf")
    with pytest.raises(xb.errors.DatasetError):
        score_citations(ev, frame({"path": "$.heading", "page": 1}), dataset, "no document")


@pytest.mark.parametrize(
    "row, problem",
    [
        ({"path": "$.heading"}, "no column 'page'"),
        ({"page": 1}, "no column 'path'"),
        ({"path": "$.heading", "page": 0}, "expected 1 or more"),
        ({"path": "$.heading", "page": 1.5}, "expected 1 or more"),
        ({"path": "$.heading", "page": "p. 1"}, "page of .* is 'p. 1'; expected 1 or more"),
        ({"path": "$.heading", "page": None}, "expected 1 or more"),
        ({"path": "$.heading", "page": 1, "x0": 3.0}, "needs all of"),
        ({"path": "$.nothing", "page": 1}, "no path is one"),
    ],
)
def test_what_is_refused(
    ev: xb.core.Evaluation, dataset: xb.runs.Dataset, row: dict[str, Any], problem: str
) -> None:
    with pytest.raises(xb.InputError, match=problem):
        score_citations(ev, frame(row), dataset, NIGHT)
    with pytest.raises(xb.InputError):
        score_citations(ev, frame(row), dataset)  # no document
