"""Two public sets in their own formats: DocuBench, and LlamaIndex's benchmark named ExtractBench.

They are written once into this package's layout, in the cache folder, so that everything that takes
a `Dataset` takes them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from json import JSONDecodeError
from pathlib import Path
from typing import Any, NamedTuple

from extractbench_nb.core.values import read_document, value_at
from extractbench_nb.errors import DatasetError
from extractbench_nb.runs import Dataset, list_files, list_folders, load_dataset
from extractbench_nb.support.files import cache_folder, file_hash, new_folder, read_text

_SPLITS = ("short", "medium", "long")
_SHOWN = 60


class _Document(NamedTuple):
    domain: str
    schema_id: str
    #: JSON text as in the set, since tokens are counted in it.
    schema: str
    gold: str
    pdf: Path


def load_docubench(folder: str | Path) -> Dataset:
    """Load DocuBench, which contains many kinds of documents, each with its own schema.

    Parameters
    ----------
    folder : str or pathlib.Path
        A copy of the repository DocuPipe/DocuBench (labels and outputs are CC BY 4.0):
        ``schemas/{document}.json``, ``labels/{document}.json``, and optionally
        ``results/{system}/{document}.json``, an object with the output in ``data``, and
        ``documents/{document}.pdf``.

    Returns
    -------
    Dataset
        One schema per document; the systems' outputs are its ``runs``.

    Raises
    ------
    DatasetError, InputError
        A file is missing, is not JSON or deviates; the message names file and field.
    """
    root = Path(folder)
    documents, outputs = {}, {}
    for label in list_files(root / "labels", ".json"):
        name, schema = label.stem, root / "schemas" / label.name
        if not schema.is_file():
            raise DatasetError(f"{label}: record {name!r} has no schema; expected {schema}")
        for file in (schema, label):
            _object(read_document(file, "JSON"), str(file))
        texts = read_text(schema, "JSON"), read_text(label, "JSON")
        documents[name] = _Document("docubench", name, *texts, root / "documents" / f"{name}.pdf")
    for system in list_folders(root / "results"):
        for file in list_files(system, ".json"):
            if file.stem in documents:
                result = _object(read_document(file, "result"), str(file))
                outputs[system.name, file.stem] = _field(result, "data", dict, str(file))
    if not documents:
        raise DatasetError(
            f"{root}: no labels/{{document}}.json here; expected a copy of DocuBench"
        )
    return _written("docubench", "CC BY 4.0, DocuPipe/DocuBench", documents, outputs, [])


def load_llamaindex(folder: str | Path, *, results: str | Path | None = None) -> Dataset:
    """Load LlamaIndex's ExtractBench (arXiv 2607.29677), not that of Contextual AI.

    Parameters
    ----------
    folder : str or pathlib.Path
        A copy of the Hugging Face dataset llamaindex/ExtractBench (Apache 2.0): ``short.jsonl``,
        ``medium.jsonl`` and ``long.jsonl``, or some of them, and the PDFs in ``docs``.
    results : str or pathlib.Path, optional
        A copy of llamaindex/ExtractBench-results: ``results/{pipeline}/{split}.jsonl``.

    Returns
    -------
    Dataset
        A domain is a split; documents with equal schemas share one. Results are its ``runs``; other
        values that the evidence of a field accepts are its ``accepted``.

    Raises
    ------
    DatasetError
        A row deviates; the message names file, line, record and field.

    Notes
    -----
    Fields after run-llama/ExtractBench, ``data/download.py``: ``id``, ``pdf``, ``data_schema`` and
    ``expected_output`` (JSON text of an object), and, if present, ``field_rules`` (JSON text); of a
    result ``request.example_id`` and ``output.extracted_data``. Boxes, tags and row identities are
    not used.
    """
    root = Path(folder)
    documents: dict[str, _Document] = {}
    accepted: list[dict[str, Any]] = []
    schema_ids: dict[tuple[str, str], str] = {}
    for split in _SPLITS:
        for line, row in _rows(root / f"{split}.jsonl"):
            identity = _field(row, "id", str, line)
            where, name = f"{line} (record {identity!r})", Path(identity).name
            if name in documents:
                raise DatasetError(f"{where}, field 'id': the document {name!r} occurs twice")
            _, gold = (_embedded(row, f, where) for f in ("data_schema", "expected_output"))
            pdf = Path(_field(row, "pdf", str, where))
            if pdf.is_absolute() or ".." in pdf.parts:
                raise DatasetError(f"{where}, field 'pdf': {str(pdf)!r} leaves the folder")
            texts = row["data_schema"], row["expected_output"]
            same = schema_ids.setdefault((split, texts[0]), name)
            documents[name] = _Document(split, same, *texts, root / pdf)
            accepted += _alternatives(name, gold, row, where)
    if not documents:
        names = ", ".join(f"{split}.jsonl" for split in _SPLITS)
        raise DatasetError(f"{root}: found none of {names}; expected a copy of the dataset")
    outputs = {}
    if results is not None:
        base = Path(results) / "results"
        for pipeline in list_folders(base if base.is_dir() else Path(results)):
            for file in list_files(pipeline, ".jsonl"):
                for where, row in _rows(file):
                    request = _field(row, "request", dict, where)
                    name = Path(_field(request, "example_id", str, f"{where}, request")).name
                    output = _field(row, "output", dict, f"{where} (record {name!r})")
                    data = _field(output, "extracted_data", dict, f"{where}, output of {name!r}")
                    if name in documents:
                        outputs[pipeline.name, name] = data
    licence = "Apache 2.0, llamaindex/ExtractBench"
    return _written("llamaindex-extractbench", licence, documents, outputs, accepted)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a JSONL file with their places; none if there is no such file."""
    lines = read_text(path, "JSONL").splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DatasetError(f"{where}: not JSON ({error})") from None
            yield where, _object(value, where)


def _object(value: Any, where: str, kind: type = dict) -> Any:
    if not isinstance(value, kind):
        expected = "a text" if kind is str else "a JSON object"
        text = json.dumps(value)
        found = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise DatasetError(f"{where}: found {found}; expected {expected}")
    return value


def _field(record: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    """Return a field of a record, or raise `DatasetError` that names both."""
    if name not in record:
        raise DatasetError(f"{where}: no field {name!r}")
    return _object(record[name], f"{where}, field {name!r}", kind)


def _embedded(row: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """Read a field that contains the JSON text of an object."""
    place = f"{where}, field {name!r}"
    try:
        value = json.loads(_field(row, name, str, where))
    except (JSONDecodeError, RecursionError) as error:
        raise DatasetError(f"{place}: not JSON ({error})") from None
    found: dict[str, Any] = _object(value, place)
    return found


def _alternatives(
    document: str, gold: Any, row: Mapping[str, Any], where: str
) -> Iterator[dict[str, Any]]:
    """Yield the values beside gold's that the evidence of a scalar field accepts."""
    place = f"{where}, field 'field_rules'"
    try:
        rules = json.loads(row.get("field_rules") or "{}")
        pairs = rules.items() if isinstance(rules, dict) else [(r["field_path"], r) for r in rules]
        evidence = [(f"$.{path}", rule.get("evidence") or []) for path, rule in pairs]
        values = [(path, entry.get("value")) for path, entries in evidence for entry in entries]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise DatasetError(f"{place}: {problem}; expected rules by field path") from None
    seen: set[tuple[str, str]] = set()
    for path, value in values:
        expected, key = value_at(gold, path), (path, json.dumps(value))
        if any(v is None or isinstance(v, dict | list) for v in (value, expected)):
            continue
        if json.dumps(expected) != key[1] and key not in seen:
            seen.add(key)
            yield {"document": document, "path": path, "value": value, "note": "evidence"}


def _written(
    name: str,
    licence: str,
    documents: Mapping[str, _Document],
    outputs: Mapping[tuple[str, str], Any],
    accepted: Iterable[Mapping[str, Any]],
) -> Dataset:
    """Write a set into a folder of the cache that its content names, and load it."""
    texts = {"LICENSE": licence + "\n"}
    pdfs: dict[str, Path] = {}
    for document, (domain, schema_id, schema, gold, pdf) in documents.items():
        folder = f"{domain}/{schema_id}"
        texts[f"{folder}/{schema_id}-schema.json"] = schema
        texts[f"{folder}/pdf+gold/{document}.gold.json"] = gold
        if pdf.is_file():
            pdfs[f"{folder}/pdf+gold/{document}.pdf"] = pdf
    for (run, document), output in outputs.items():
        texts[f"runs/{run}/{document}.json"] = json.dumps(output)
    if rows := list(accepted):
        texts["accepted.json"] = json.dumps(rows)
    hashes = {place: file_hash(pdf) for place, pdf in pdfs.items()}
    digest = hashlib.sha256(json.dumps([texts, hashes]).encode()).hexdigest()[:16]
    root = cache_folder() / "sets-1" / f"{name}-{digest}"
    if not root.is_dir():
        with new_folder(root) as temporary:
            for place, text in texts.items():
                (temporary / place).parent.mkdir(parents=True, exist_ok=True)
                (temporary / place).write_text(text, encoding="utf-8")
            for place, pdf in pdfs.items():
                shutil.copyfile(pdf, temporary / place)
    return replace(load_dataset(root), name=name)
