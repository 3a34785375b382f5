"""The loader, and what the sample dataset promises in its README."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pypdfium2
import pytest

from extractbench_nb.batch import evaluate_runs
from extractbench_nb.benchmark.dataset import (
    DOCUMENT_COLUMNS,
    EXTRACTBENCH_VARIABLE,
    LISTING_COLUMNS,
    RUN_COLUMNS,
    SCHEMA_COLUMNS,
    load_dataset,
)
from extractbench_nb.errors import DatasetError, InputError, MissingPdfError

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


def resolve(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """Follow `$ref` to its end; sibling keywords win."""
    while "$ref" in node:
        target: Any = root
        for token in node["$ref"].removeprefix("#/").split("/"):
            target = target[token]
        node = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
    return node


def complexity(node: dict[str, Any], root: dict[str, Any], depth: int = 0) -> tuple[int, int]:
    """Count scored leaves and the deepest nesting, without any code of the package."""
    node = resolve(node, root)
    if branches := node.get("anyOf") or node.get("oneOf"):
        found = [complexity(branch, root, depth) for branch in branches]
        return max(keys for keys, _ in found), max(deep for _, deep in found)
    children: list[dict[str, Any]] = list(node.get("properties", {}).values())
    if isinstance(node.get("additionalProperties"), dict):
        children.append(node["additionalProperties"])
    if "items" in node:
        children.append(node["items"])
    if not children:
        return int(node.get("evaluation_config") != "skip"), depth
    found = [complexity(child, root, depth + 1) for child in children]
    return sum(keys for keys, _ in found), max(deep for _, deep in found)


@pytest.mark.parametrize("schema_id", SCHEMAS)
def test_schema_has_the_complexity_of_its_domain(schema_id: str) -> None:
    schema = unwrapped(schema_id)
    assert complexity(schema, schema) == COMPLEXITY[schema_id]


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


@pytest.mark.parametrize(
    "keyword", ["anyOf", "enum", "nullable", "required", "format", "$ref", "$defs", "pattern"]
)
def test_schemas_use_the_keyword(keyword: str) -> None:
    assert any(keyword in n for s in SCHEMAS for n in subschemas(SAMPLE.schema(s)))


def test_one_schema_is_in_an_envelope_and_has_a_map() -> None:
    assert [s for s in SCHEMAS if "schema_definition" in SAMPLE.schema(s)] == ["cv"]
    assert isinstance(unwrapped("cv")["properties"]["tongues"]["additionalProperties"], dict)


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


def test_every_schema_has_two_documents_or_more() -> None:
    assert (SAMPLE.schemas["documents"] >= 2).all()
    assert SAMPLE.schemas["documents"].equals(SAMPLE.schemas["pdfs"])


@pytest.mark.parametrize("document", ["brindlemoor_10q_q2_fy2031", "castellan_10k_fy2030"])
def test_wide_gold_is_filled(document: str) -> None:
    assert sum(value is not None for value in scalars(SAMPLE.gold(document))) >= 150


def test_papers_have_many_citations_with_authors() -> None:
    for document in ("moss drift tidal turbines", "[okafor30] ledger parsing"):
        references = SAMPLE.gold(document)["references"]
        assert len(references) >= 25
        assert sum(len(r.get("written_by", [])) for r in references) >= 40


def test_gold_holds_nulls_and_empty_arrays() -> None:
    golds = [SAMPLE.gold(document) for document in DOCUMENTS]
    assert any(value is None for gold in golds for value in scalars(gold))
    assert any('": []' in json.dumps(gold) for gold in golds)


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


@pytest.mark.parametrize("document", ["moss drift tidal turbines", "night bus demand"])
def test_page_count_is_the_pdfs(document: str) -> None:
    pdf = pypdfium2.PdfDocument(SAMPLE.pdf_path(document))
    try:
        assert len(pdf) == SAMPLE.gold(document)["page_count"]
    finally:
        pdf.close()


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


def test_every_model_answers_every_document() -> None:
    assert len(RUNS) == 4
    counts = SAMPLE.runs.groupby("document")["run"].nunique()
    assert counts.to_dict() == dict.fromkeys(sorted(DOCUMENTS), 4)


@needs_scripts
def test_outputs_and_table_are_what_the_script_makes() -> None:
    outputs = script("make_outputs")
    for path, raw in outputs.render_all(FOLDER):
        assert path.read_text(encoding="utf-8") == raw
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert outputs.readme(page) == page


@needs_scripts
def test_an_unknown_failure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = script("make_outputs")
    (tmp_path / "m.json").write_text('{"d": [["ommission", "a", null]]}', encoding="utf-8")
    monkeypatch.setattr(outputs, "EDITS", tmp_path)
    with pytest.raises(SystemExit, match=r"edits/m\.json, 'd': no failure 'ommission'"):
        outputs.all_edits()


def test_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 3_000_000


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


def test_documents_of_broken_files(folder: Path) -> None:
    (folder / "law" / "lease" / "pdf+gold" / "beta.gold.json").write_text("{")
    figures = load_dataset(folder).documents.loc[1]
    assert figures[["gold_values", "array_items", "fields", "gold_tokens"]].isna().all()
    assert len(figures["gold_sha256"]) == 64


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


def test_frames_are_new_objects(folder: Path) -> None:
    dataset = load_dataset(folder)
    frame = dataset.documents
    frame.loc[0, "domain"] = "changed"
    assert dataset.documents.loc[0, "domain"] == "law"


def test_dataset_is_frozen(folder: Path) -> None:
    with pytest.raises(AttributeError):
        load_dataset(folder).name = "other"  # type: ignore[misc]


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


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"dataset folder: no folder '.*nowhere'"):
        load_dataset(tmp_path / "nowhere")


def test_a_misspelt_name_is_recognised() -> None:
    with pytest.raises(DatasetError, match="did you mean the dataset named 'extractbench'"):
        load_dataset("extract-bench")


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DatasetError, match=r"x\.json is a file, expected a folder"):
        load_dataset(tmp_path / "x.json")


def test_a_folder_above_the_dataset_names_the_right_one(folder: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset(folder.parent)
    assert "found no {domain}/{schema}/{schema}-schema.json here" in str(caught.value)
    assert f"did you mean {folder}?" in str(caught.value)


def test_no_schema_file(folder: Path) -> None:
    (folder / "law" / "lease" / "lease-schema.json").unlink()
    with pytest.raises(DatasetError, match=r"lease: no schema file, expected lease-schema\.json"):
        load_dataset(folder)


def test_two_schema_files(folder: Path) -> None:
    (folder / "law" / "lease" / "old-schema.json").write_text("{}")
    with pytest.raises(
        DatasetError, match=r"2 schema files \('lease-schema\.json', 'old-schema\.json'\)"
    ):
        load_dataset(folder)


def test_two_documents_of_one_name(folder: Path) -> None:
    documents = second_schema(folder, "trade")
    (documents / "beta.gold.json").write_text("{}")
    with pytest.raises(DatasetError, match=r"two documents have the id 'beta': .* and .*; rename"):
        load_dataset(folder)


@pytest.mark.parametrize(
    "content, message",
    [
        (b'{"rent": 5,\n "term": }', r"beta\.gold\.json.* at line 2 column 10"),
        (b"", r"beta\.gold\.json.* at line 1 column 1"),
        (b'{"rent": "\xff"}', r"beta\.gold\.json.* is not UTF-8"),
    ],
)
def test_broken_gold(folder: Path, content: bytes, message: str) -> None:
    (folder / "law" / "lease" / "pdf+gold" / "beta.gold.json").write_bytes(content)
    dataset = load_dataset(folder)
    assert dataset.gold("[a24] one & two") == {"rent": 5}
    with pytest.raises(DatasetError, match=message):
        dataset.gold("beta")


def test_gold_that_went_away(folder: Path) -> None:
    dataset = load_dataset(folder)
    (folder / "law" / "lease" / "pdf+gold" / "beta.gold.json").unlink()
    with pytest.raises(DatasetError, match=r"beta\.gold\.json.* cannot be read: No such file"):
        dataset.gold("beta")


def test_schema_that_is_not_an_object(folder: Path) -> None:
    (folder / "law" / "lease" / "lease-schema.json").write_text("[]")
    with pytest.raises(DatasetError, match=r"lease-schema\.json: .* JSON object, found list"):
        load_dataset(folder).schema("lease")


def test_unknown_document_and_schema(folder: Path) -> None:
    dataset = load_dataset(folder)
    with pytest.raises(DatasetError, match="no document 'betta'; did you mean 'beta'"):
        dataset.gold("betta")
    with pytest.raises(DatasetError, match="no schema 'leese'; did you mean 'lease'"):
        dataset.schema("leese")


def test_no_pdf(folder: Path) -> None:
    with pytest.raises(MissingPdfError, match=r"'beta' has no PDF: expected .*beta\.pdf") as caught:
        load_dataset(folder).pdf_path("beta")
    assert isinstance(caught.value, DatasetError)
    assert isinstance(caught.value, FileNotFoundError)


def test_output_of_an_unknown_document(folder: Path) -> None:
    (folder / "runs" / "model" / "bets.json").write_text("{}")
    with pytest.raises(DatasetError, match=r"bets\.json: no document 'bets'; did you mean 'beta'"):
        _ = load_dataset(folder).runs


def test_path_goes_with_a_name(folder: Path) -> None:
    assert load_dataset("extractbench", path=folder).name == "extractbench"
    with pytest.raises(DatasetError, match="path= goes with a dataset's name"):
        load_dataset("other", path=folder)


def test_extractbench_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXTRACTBENCH_VARIABLE, str(folder))
    assert load_dataset("extractbench").root == folder
    monkeypatch.setenv(EXTRACTBENCH_VARIABLE, str(folder / "gone"))
    with pytest.raises(DatasetError, match=r"variable EXTRACTBENCH_DATASET: no folder '.*gone'"):
        load_dataset("extractbench")
    monkeypatch.delenv(EXTRACTBENCH_VARIABLE)
    with pytest.raises(DatasetError, match=r"fetch_dataset.* path=\.\.\..* EXTRACTBENCH_DATASET"):
        load_dataset("extractbench")


# --- the real dataset ----------------------------------------------------------------------


@pytest.mark.skipif(
    not os.environ.get(EXTRACTBENCH_VARIABLE),
    reason=f"the published dataset is not here: set {EXTRACTBENCH_VARIABLE} to its folder",
)
def test_the_published_dataset_loads() -> None:
    dataset = load_dataset("extractbench")
    assert (len(dataset.documents), len(dataset.schemas)) == (35, 5)
    assert dataset.documents["has_pdf"].sum() == 34
    assert len(dataset.runs) == 0
    for row in dataset.documents.itertuples():
        assert isinstance(dataset.schema(row.schema), dict)
        assert isinstance(dataset.gold(row.document), dict)


def small(root: Path, documents: str = "pdf+gold") -> Path:
    folder = root / "trade/invoice"
    (folder / documents).mkdir(parents=True)
    (folder / "invoice-schema.json").write_text('{"type": "object"}')
    (folder / documents / "a.gold.json").write_text("{}")
    (folder / documents / "b.pdf").write_text("")
    return root


@pytest.mark.parametrize("name", ["pdf_gold", "gold", "."])
def test_gold_in_a_folder_of_another_name_is_an_error(tmp_path: Path, name: str) -> None:
    root = small(tmp_path, name)
    expected = re.escape(str(root / "trade/invoice/pdf+gold"))
    with pytest.raises(DatasetError, match=rf"holds \*\.gold\.json; expected them in {expected}$"):
        load_dataset(root)


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
