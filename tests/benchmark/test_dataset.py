"""The loader, and what the sample dataset promises in its README."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pypdfium2
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
    recorded_outputs,
)
from extractbench_nb.runs.evaluate import evaluate_runs

SAMPLE = load_dataset("sample")
FOLDER = SAMPLE.root
DOCUMENTS = SAMPLE.documents["document"].tolist()
SCHEMAS = SAMPLE.schemas["schema"].tolist()
RUNS = sorted(SAMPLE.runs["run"].unique())

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


def schema_of(document: str) -> dict[str, Any]:
    rows = SAMPLE.documents.set_index("document")
    return unwrapped(rows.loc[document, "schema"])


def unwrapped(schema_id: str) -> dict[str, Any]:
    schema = SAMPLE.schema(schema_id)
    return schema.get("schema_definition", schema)


# --- the sample: schemas -------------------------------------------------------------------


def test_schemas_have_the_complexity_of_the_papers_domains() -> None:
    sizes = complexity(SAMPLE, by="domain").set_index("schema")[["keys", "depth"]]
    assert {name: tuple(row) for name, row in sizes.iterrows()} == COMPLEXITY


def subschemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from subschemas(child)
    elif isinstance(node, list):
        for child in node:
            yield from subschemas(child)


def metric_ids(config: Any) -> set[str]:
    if isinstance(config, str):
        return {config}
    return {entry["metric_id"] for entry in config.get("metrics", [config])}


def test_schemas_use_every_metric_and_every_form_of_config() -> None:
    nodes = [node for schema_id in SCHEMAS for node in subschemas(SAMPLE.schema(schema_id))]
    configs = [n["evaluation_config"] for n in nodes if "evaluation_config" in n]
    used = set().union(*(metric_ids(config) for config in configs))
    assert used == set(
        "string_exact string_case_insensitive string_fuzzy string_semantic string_url "
        "string_normalized number_exact number_tolerance integer_exact boolean_exact array_llm "
        "set_f1 date skip".split()
    )
    assert any(isinstance(config, str) for config in configs)
    assert any("metric_id" in config and "params" in config for config in configs)
    assert any("aggregation_weight" in config for config in configs)
    assert any(len(config["metrics"]) > 1 for config in configs if "metrics" in config)


# --- the sample: gold ----------------------------------------------------------------------


def with_null(node: Any) -> Any:
    """Rewrite `nullable`, which JSON Schema 2020-12 does not know, as an anyOf with null."""
    if isinstance(node, list):
        return [with_null(child) for child in node]
    if not isinstance(node, dict):
        return node
    plain = {key: with_null(child) for key, child in node.items() if key != "nullable"}
    return {"anyOf": [plain, {"type": "null"}]} if node.get("nullable") is True else plain


def scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from scalars(child)
    else:
        yield value


@pytest.mark.parametrize("document", DOCUMENTS)
def test_gold_is_valid(document: str) -> None:
    schema = with_null(schema_of(document))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(SAMPLE.gold(document))] == []


# --- the sample: PDFs ----------------------------------------------------------------------


@cache
def pdf_text(document: str) -> str:
    pdf = pypdfium2.PdfDocument(SAMPLE.pdf_path(document))
    try:
        text = "".join(page.get_textpage().get_text_bounded() for page in pdf)
    finally:
        pdf.close()
    return squeezed(text)


def squeezed(text: str) -> str:
    """Leave out what a line break may change: white space and hyphens; case too."""
    return re.sub(r"[\s\-\u00ad\u2010\u2011\ufffe\x02]+", "", text).casefold()


def printed_forms(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value, *date_forms(value)]
    forms = [f"{abs(value):,}", f"{abs(value):,.1f}", f"{abs(value):,.2f}", f"{value}"]
    return forms + {1000: ["thousands"], 1000000: ["millions"]}.get(value, [])


def date_forms(value: str) -> list[str]:
    if re.fullmatch(r"\d{4}-\d\d", value):
        return [f"{date.fromisoformat(value + '-01'):%B %Y}"]
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        when = date.fromisoformat(value)
        return [f"{when.day} {when:%B} {when.year}", f"{when:%B} {when.day}, {when.year}"]
    return []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_pdf_prints_every_gold_value(document: str) -> None:
    text = pdf_text(document)
    values = {v for v in scalars(SAMPLE.gold(document)) if v is not None and v is not True}
    values.discard(False)
    values.discard(SAMPLE.gold(document).get("page_count"))
    absent = [v for v in values if not any(squeezed(f) in text for f in printed_forms(v))]
    assert absent == []


@needs_scripts
def test_pdfs_are_what_the_script_makes() -> None:
    made = dict(script("make_pdfs").render_all(FOLDER))
    assert set(made) == set(SAMPLE.documents["pdf_path"])
    assert [path.name for path, content in made.items() if path.read_bytes() != content] == []


# --- the sample: model outputs -------------------------------------------------------------


def planted() -> list[tuple[str, str, str, str]]:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    table = page.split("<!-- failures: begin -->")[1].split("<!-- failures: end -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()[2:]]
    return [(r[0], r[1], r[2], r[3].strip("`")) for r in rows if len(r) == 4]


PLANTED = planted()
RAW_FAILURES = {"truncated", "trailing comma", "prose and fence"}
ABSENT = object()


def output(run: str, document: str) -> str:
    return (FOLDER / "runs" / run / f"{document}.json").read_text(encoding="utf-8")


def look(document: Any, path: str) -> Any:
    for part in re.findall(r"[^.\[\]]+|\[\d+\]", path):
        key = int(part[1:-1]) if part.startswith("[") else part
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return document


def bag(items: list[Any]) -> list[str]:
    return sorted(json.dumps(item, sort_keys=True) for item in items)


def is_scaled(gold: Any, predicted: Any) -> bool:
    pairs = list(zip(scalars(gold), scalars(predicted), strict=True))
    numbers = [(g, p) for g, p in pairs if isinstance(g, int | float) and g]
    ratios = {round(p / g, 9) for g, p in numbers}
    return len(ratios) == 1 and ratios != {1.0}


# failure -> whether gold's and the model's value at its path show it.
SHOWS = {
    "omission": lambda g, p: g is not ABSENT and p is ABSENT,
    "wrong nesting": lambda g, p: g is not ABSENT and p is ABSENT,
    "null instead of value": lambda g, p: g is not None and p is None,
    "hallucination": lambda g, p: g in (ABSENT, None, False) and p not in (ABSENT, None, g),
    "undeclared key": lambda g, p: g is ABSENT and p is not ABSENT,
    "wrong type": lambda g, p: type(g) is not type(p),
    "wrong value": lambda g, p: type(g) is type(p) and g != p,
    "other form": lambda g, p: isinstance(g, str) and isinstance(p, str) and g != p,
    "typo": lambda g, p: isinstance(g, str) and isinstance(p, str) and g != p,
    "rounding": lambda g, p: type(p) in (int, float, str) and len(str(p)) <= len(str(g)) and g != p,
    "unit slip": is_scaled,
    "dropped items": lambda g, p: len(p) < len(g) and not set(bag(g)) <= set(bag(p)),
    "spurious items": lambda g, p: not set(bag(p)) <= set(bag(g)),
    "reordered items": lambda g, p: g != p and bag(g) == bag(p),
}


@pytest.mark.parametrize("run, document, failure, path", PLANTED)
def test_output_shows_its_planted_failure(run: str, document: str, failure: str, path: str) -> None:
    raw = output(run, document)
    if failure in RAW_FAILURES:
        with pytest.raises(json.JSONDecodeError):
            json.loads(raw)
    elif RAW_FAILURES & {f for r, d, f, _ in PLANTED if (r, d) == (run, document)}:
        assert raw.strip()
    else:
        gold, predicted = SAMPLE.gold(document), json.loads(raw)
        assert SHOWS[failure](look(gold, path), look(predicted, path))


def test_every_failure_is_planted_in_two_documents_or_more() -> None:
    found = {failure: {d for _, d, f, _ in PLANTED if f == failure} for _, _, failure, _ in PLANTED}
    assert set(found) == set(SHOWS) | RAW_FAILURES
    assert {
        failure: len(documents) for failure, documents in found.items() if len(documents) < 2
    } == {}


def test_outputs_without_a_planted_failure_equal_gold() -> None:
    clean = {(r, d) for r in RUNS for d in DOCUMENTS} - {(r, d) for r, d, _, _ in PLANTED}
    assert clean
    for run, document in clean:
        assert json.loads(output(run, document)) == SAMPLE.gold(document)


@needs_scripts
def test_outputs_and_table_are_what_the_script_makes() -> None:
    outputs = script("make_outputs")
    for path, raw in outputs.render_all(FOLDER):
        assert path.read_text(encoding="utf-8") == raw
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert outputs.readme(page) == page


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
    assert "<td>law</td><td>lease</td><td>2 documents, 1 without PDF</td>" in page


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
    (None, lambda _: load_dataset("extract-bench"), "mean the dataset named 'extractbench'"),
    (
        None,
        lambda root: load_dataset(root / BETA),
        r"beta\.gold\.json is a file, expected a folder",
    ),
    (
        None,
        lambda root: load_dataset(root.parent),
        r"found no \{domain\}/\{schema\}/\{schema\}-schema\.json here; did you mean .*mine <b>\?",
    ),
    (
        lambda root: (root / LEASE / "lease-schema.json").unlink(),
        load_dataset,
        r"lease: no schema file, expected lease-schema\.json",
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
        r"lease-schema\.json: .* JSON object, found list",
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


def small(root: Path, documents: str = "pdf+gold") -> Path:
    folder = root / "trade/invoice"
    (folder / documents).mkdir(parents=True)
    (folder / "invoice-schema.json").write_text('{"type": "object"}')
    (folder / documents / "a.gold.json").write_text("{}")
    (folder / documents / "b.pdf").write_text("")
    return root


def test_a_pdf_without_gold_is_named(tmp_path: Path) -> None:
    dataset = load_dataset(small(tmp_path))
    assert [pdf.name for pdf in dataset.pdfs_without_gold] == ["b.pdf"]
    assert "1 PDF without gold" in repr(dataset)
    with pytest.raises(DatasetError, match="document 'b' has a PDF but no gold: "):
        dataset.gold("b")
    with pytest.raises(DatasetError, match="no document 'c'; "):
        dataset.gold("c")
    runs = pd.DataFrame({"run": ["r"], "document": ["b"], "predicted": [{}]})
    with pytest.raises(InputError, match="document 'b' has a PDF but no gold in the dataset"):
        evaluate_runs(runs, dataset=dataset, progress=False)
    assert SAMPLE.pdfs_without_gold == ()
