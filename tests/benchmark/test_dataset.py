"""The loader, and the sample dataset."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from extractbench_nb.benchmark.complexities import complexity
from extractbench_nb.errors import DatasetError, InputError, MissingPdfError
from extractbench_nb.runs.dataset import (
    DOCUMENT_COLUMNS,
    EXTRACTBENCH_VARIABLE,
    LISTING_COLUMNS,
    RUN_COLUMNS,
    SCHEMA_COLUMNS,
    load_dataset,
)
from extractbench_nb.runs.evaluate import evaluate_runs
from extractbench_nb.runs.inputs import recorded_outputs

SAMPLE = load_dataset("sample")
FOLDER = SAMPLE.root

# schema -> scored leaves, depth: the paper's Table 1 for the five domains.
COMPLEXITY = {
    "rowing": (12, 6),
    "facility_agreement": (13, 3),
    "preprint": (16, 5),
    "cv": (31, 4),
    "quarterly_report": (369, 4),
}

needs_scripts = pytest.mark.skipif(
    not (FOLDER / "make_pdfs.py").is_file(), reason="the scripts are in the source checkout only"
)


@cache
def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"sample_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- the sample ------------------------------------------------------------------------------


def test_schemas_have_the_complexity_of_the_papers_domains() -> None:
    sizes = complexity(SAMPLE, by="domain").set_index("schema")[["keys", "depth"]]
    assert {name: tuple(row) for name, row in sizes.iterrows()} == COMPLEXITY


@needs_scripts
def test_pdfs_are_what_the_script_makes() -> None:
    made = dict(script("make_pdfs").render_all(FOLDER))
    assert set(made) == set(SAMPLE.documents["pdf_path"])
    assert [path.name for path, content in made.items() if path.read_bytes() != content] == []


@needs_scripts
def test_outputs_are_what_the_script_makes() -> None:
    outputs = script("make_outputs")
    for path, raw in outputs.render_all(FOLDER):
        assert path.read_text(encoding="utf-8") == raw


# --- the loader ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of one schema, two documents, one PDF and one run."""
    root = tmp_path / "mine <b>"
    documents = root / "law" / "lease" / "pdf+gold"
    documents.mkdir(parents=True)
    (root / "law" / "lease" / "lease-schema.json").write_text('{"type": "object"}')
    (documents / "[a24] one & two.gold.json").write_text('{"rent": 5}')
    (documents / "[a24] one & two.pdf").write_bytes(b"%PDF-1.4")
    (documents / "beta.gold.json").write_text('{"rent": null}')
    (root / "runs" / "model").mkdir(parents=True)
    (root / "runs" / "model" / "beta.json").write_text('{"rent":')
    return root


def second_schema(root: Path, domain: str, name: str = "lease") -> Path:
    documents = root / domain / name / "pdf+gold"
    documents.mkdir(parents=True)
    (documents.parent / f"{name}-schema.json").write_text('{"title": "second"}')
    (documents / "gamma.gold.json").write_text("[]")
    return documents


def test_listing(folder: Path) -> None:
    documents = folder / "law" / "lease" / "pdf+gold"
    one, two = "[a24] one & two", "beta"
    pdf = documents / f"{one}.pdf"
    assert list(load_dataset(folder).listing.itertuples(index=False, name=None)) == [
        (one, "law", "lease", documents / f"{one}.gold.json", pdf, True),
        (two, "law", "lease", documents / f"{two}.gold.json", pd.NA, False),
    ]


def test_documents_are_the_listing_with_figures(folder: Path) -> None:
    dataset = load_dataset(folder)
    documents = dataset.documents
    assert documents[LISTING_COLUMNS.names].equals(dataset.listing)
    figures = documents.drop(columns=LISTING_COLUMNS.names).astype(object).T
    assert figures[0].tolist()[1:5] == [1, 0, 1, 5]
    assert figures[1].tolist()[1:5] == [1, 0, 1, 5]
    assert figures.loc[["pages", "pdf_tokens"]].isna().all(axis=None)
    assert figures.loc["pdf_sha256"].isna().tolist() == [False, True]


def test_reading(folder: Path) -> None:
    dataset = load_dataset(str(folder))
    assert dataset.name == "mine <b>"
    assert dataset.schema("lease") == dataset.schema("law/lease") == {"type": "object"}
    assert dataset.gold("[a24] one & two") == {"rent": 5}
    assert dataset.pdf_path("[a24] one & two").read_bytes() == b"%PDF-1.4"
    assert dataset.runs.to_dict("records") == [
        {"run": "model", "document": "beta", "predicted": folder / "runs" / "model" / "beta.json"}
    ]


def test_frames_have_their_declared_dtypes_when_empty(tmp_path: Path) -> None:
    (tmp_path / "d" / "s").mkdir(parents=True)
    (tmp_path / "d" / "s" / "s-schema.json").write_text("{}")
    empty, full = load_dataset(tmp_path), SAMPLE
    for spec, small, large in (
        (LISTING_COLUMNS, empty.listing, full.listing),
        (DOCUMENT_COLUMNS, empty.documents, full.documents),
        (RUN_COLUMNS, empty.runs, full.runs),
        (SCHEMA_COLUMNS, empty.schemas, full.schemas),
    ):
        declared = [(column.name, column.dtype) for column in spec.columns]
        assert [(n, str(t)) for n, t in small.dtypes.items()] == declared
        assert [(n, str(t)) for n, t in large.dtypes.items()] == declared
    assert len(empty.documents) == len(empty.runs) == 0


def test_hidden_and_foreign_files_are_ignored(folder: Path) -> None:
    lease = folder / "law" / "lease"
    (lease / "._lease-schema.json").write_text("")
    (lease / "pdf+gold" / ".beta.gold.json").write_text("")
    (lease / "pdf+gold" / "notes.txt").write_text("")
    (folder / ".git" / "x" / "pdf+gold").mkdir(parents=True)
    (folder / "docs" / "pictures").mkdir(parents=True)
    (folder / "runs" / "model" / ".DS_Store").write_text("")
    dataset = load_dataset(folder)
    assert (len(dataset.documents), len(dataset.schemas), len(dataset.runs)) == (2, 1, 1)


def test_a_schema_name_in_two_domains_must_be_qualified(folder: Path) -> None:
    second_schema(folder, "trade")
    dataset = load_dataset(folder)
    assert dataset.schemas["schema"].tolist() == ["law/lease", "trade/lease"]
    assert dataset.documents["schema"].tolist() == ["law/lease", "law/lease", "trade/lease"]
    assert dataset.schema("trade/lease") == {"title": "second"}
    with pytest.raises(DatasetError, match="more than one domain: use 'law/lease', 'trade/lease'"):
        dataset.schema("lease")


def test_repr_is_short_and_escaped(folder: Path) -> None:
    dataset = load_dataset(folder)
    assert repr(dataset).splitlines() == [
        "Dataset 'mine <b>': 2 documents, 1 schema, 1 with PDF, 1 run",
        f"  {folder}",
        f"  {'law/lease':<40} 2 documents, 1 without PDF",
    ]
    page = dataset._repr_html_()
    assert "mine &lt;b&gt;" in page
    assert "<b>" not in page


# --- the loader: errors --------------------------------------------------------------------

LEASE = "law/lease"
BETA = f"{LEASE}/pdf+gold/beta.gold.json"


def write(place: str, content: bytes = b"{}") -> Callable[[Path], object]:
    def change(root: Path) -> None:
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return change


#: What is done to a folder, the call, and the message.
ERRORS = [
    (None, lambda root: load_dataset(root / "no"), r"dataset folder: no folder '.*no'"),
    (None, lambda _: load_dataset("extract-bench"), "named ones are extractbench and sample"),
    (
        None,
        lambda root: load_dataset(root / BETA),
        r"beta\.gold\.json is a file, expected a folder",
    ),
    (
        None,
        lambda root: load_dataset(root.parent),
        r"found no \{domain\}/\{schema\}/\{schema\}-schema\.json here",
    ),
    (
        lambda root: (root / LEASE / "lease-schema.json").unlink(),
        load_dataset,
        r"lease: no schema file, expected one, lease-schema\.json",
    ),
    (
        write(f"{LEASE}/old-schema.json"),
        load_dataset,
        r"2 schema files \('lease-schema\.json', 'old-schema\.json'\)",
    ),
    (
        lambda root: (second_schema(root, "trade") / "beta.gold.json").write_text("{}"),
        load_dataset,
        r"two documents have the id 'beta': .* and .*; rename",
    ),
    (
        lambda root: (root / LEASE / "pdf+gold").rename(root / LEASE / "pdf_gold"),
        load_dataset,
        r"holds \*\.gold\.json; expected them in .*pdf\+gold$",
    ),
    (
        write("runs/model/bets.json"),
        lambda root: load_dataset(root).runs,
        r"bets\.json: no document 'bets'; did you mean 'beta'",
    ),
    (None, lambda root: load_dataset(root).gold("betta"), "no document 'betta'; did you mean"),
    (None, lambda root: load_dataset(root).schema("leese"), "no schema 'leese'; did you mean"),
    (None, lambda root: load_dataset("other", path=root), "path= goes with a dataset's name"),
    (
        write(f"{LEASE}/lease-schema.json", b"[]"),
        lambda root: load_dataset(root).schema("lease"),
        r"lease-schema\.json: expected a JSON object, found list",
    ),
    *(
        (write(BETA, content), lambda root: load_dataset(root).gold("beta"), message)
        for content, message in [
            (b'{"rent": 5,\n "term": }', r"beta\.gold\.json.* at line 2 column 10"),
            (b"", r"beta\.gold\.json.* at line 1 column 1"),
            (b'{"rent": "\xff"}', r"beta\.gold\.json.* is not UTF-8"),
        ]
    ),
]


@pytest.mark.parametrize("change, call, message", ERRORS)
def test_errors_name_the_place(
    folder: Path,
    change: Callable[[Path], object] | None,
    call: Callable[[Path], object],
    message: str,
) -> None:
    if change:
        change(folder)
    with pytest.raises(DatasetError, match=message):
        call(folder)


def test_broken_gold_has_no_figures_and_a_file_may_go_away(folder: Path) -> None:
    dataset = load_dataset(folder)
    (folder / BETA).write_text("{")
    figures = dataset.documents.loc[1]
    assert figures[["gold_values", "array_items", "fields", "gold_tokens"]].isna().all()
    assert len(figures["gold_sha256"]) == 64
    assert dataset.gold("[a24] one & two") == {"rent": 5}
    (folder / BETA).unlink()
    with pytest.raises(DatasetError, match=r"beta\.gold\.json.* cannot be read: No such file"):
        dataset.gold("beta")


def test_no_pdf(folder: Path) -> None:
    with pytest.raises(MissingPdfError, match=r"'beta' has no PDF: expected .*beta\.pdf") as caught:
        load_dataset(folder).pdf_path("beta")
    assert isinstance(caught.value, DatasetError)
    assert isinstance(caught.value, FileNotFoundError)


def test_extractbench_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXTRACTBENCH_VARIABLE, str(folder))
    assert load_dataset("extractbench").root == folder
    monkeypatch.setenv(EXTRACTBENCH_VARIABLE, str(folder / "gone"))
    with pytest.raises(DatasetError, match=r"variable EXTRACTBENCH_DATASET: no folder '.*gone'"):
        load_dataset("extractbench")
    monkeypatch.delenv(EXTRACTBENCH_VARIABLE)
    with pytest.raises(DatasetError, match=r"fetch_dataset.* path=\.\.\..* EXTRACTBENCH_DATASET"):
        load_dataset("extractbench")


def test_recorded_outputs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no \{run\}/\{document\}\.pred\.json"):
        recorded_outputs(tmp_path)
    document = "night bus demand"
    for run, value in (("b", {}), ("a", SAMPLE.gold(document))):
        path = tmp_path / "setup" / run / f"{document}.pred.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(value))
    outputs = recorded_outputs(tmp_path)
    assert outputs[["run", "document"]].to_numpy().tolist() == [["a", document], ["b", document]]
    evs = evaluate_runs(outputs, dataset=SAMPLE, progress=False)
    assert evs.by_run.set_index("run").loc["a", "pass_rate"] == 1.0
    shutil.copytree(tmp_path / "setup" / "a", tmp_path / "again" / "a")
    with pytest.raises(InputError, match=f"run 'a' has two outputs for document '{document}'"):
        recorded_outputs(tmp_path)
