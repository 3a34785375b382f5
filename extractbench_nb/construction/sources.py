"""Documents of table construction tasks, and what AOE's records say about them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._json import read_text
from extractbench_nb.errors import DatasetError, InputError

#: Suffixes of documents, and how they are read.
DOCUMENT_KINDS: Mapping[str, str] = {".md": "md", ".txt": "txt", ".pdf": "pdf", ".docx": "docx"}
#: A larger part of a Word file is taken for a mistake.
_MOST_BYTES = 200_000_000
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"

#: Keys of the cases in AOE's legal records.
CASE_NAME, CASE_NUMBER, CASE_TEXT = "案件名", "入库编号", "基本案情"
#: Column of AOE's legal task 0 with the cited laws.
CITATIONS = "关联索引"
_FOLDERS = {"academic": "academic", "financial": "financial", "legal": "law_docx"}


@dataclass(frozen=True)
class SourceDocument:
    """A document of a task, read on first access.

    Attributes
    ----------
    name : str
        Unique in its task.
    kind : str
        ``md``, ``txt``, ``pdf`` or ``docx``: a file; ``text``: the text is in the dataset.
    path : pathlib.Path or None
        The file.
    """

    name: str
    kind: str
    path: Path | None = None
    _text: str | None = None
    problem: tuple[str, str] | None = None

    @property
    def size(self) -> int | None:
        """Bytes of the file or of the text in UTF-8; None without a file."""
        if self._text is not None:
            return len(self._text.encode("utf-8", "surrogatepass"))
        try:
            return self.path.stat().st_size if self.path is not None else None
        except OSError:
            return None

    @cached_property
    def text(self) -> str:
        """The text of the document.

        Raises
        ------
        DatasetError
            If the file is missing or cannot be read.
        """
        if self._text is not None:
            return self._text
        if self.problem is not None or self.path is None:
            raise DatasetError(self.problem[1] if self.problem else f"{self.name!r} has no text")
        try:
            if self.kind == "pdf":
                from extractbench_nb.pdf.pages import read_pages

                return "\n\n".join(read_pages(self.path))
            if self.kind == "docx":
                return _word_text(self.path)
            return read_text(self.path, "document")
        except InputError as error:
            raise DatasetError(str(error)) from None


def _word_text(path: Path) -> str:
    """Return the paragraphs of a Word file, one per line, without empty ones."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        with zipfile.ZipFile(path) as archive:
            part = archive.getinfo("word/document.xml")
            if part.file_size > _MOST_BYTES:
                raise DatasetError(f"{path}: its text has more than {_MOST_BYTES:,} bytes")
            root = etree.fromstring(archive.read(part), parser)
    except (OSError, KeyError, zipfile.BadZipFile, etree.XMLSyntaxError) as error:
        raise DatasetError(f"{path}: not a Word file: {error}") from None
    paragraphs = (
        "".join(text.text or "" for text in paragraph.iter(f"{_WORD}t"))
        for paragraph in root.iter(f"{_WORD}p")
    )
    return "\n".join(text.strip() for text in paragraphs if text.strip())


# --- AOE -------------------------------------------------------------------------------------


@cache
def shipped(name: str) -> pd.DataFrame:
    """Read a table of this package's data as texts; copy it before changing it."""
    place = files("extractbench_nb.construction").joinpath(f"data/{name}.csv")
    with place.open(encoding="utf-8") as file:
        frame: pd.DataFrame = pd.read_csv(file, dtype=str, keep_default_na=False)
    return frame


def aoe_columns(
    language: str, task: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] | None:
    """Return the key, value and numeric columns that AOE configures for a task.

    Names are as published: one of legal_1 ends in a quotation mark.
    """
    row = _configured().get((language, task))
    if row is None:
        return None
    keys, values = (tuple(row[name].split("|")) for name in ("keys", "values"))
    numeric = values if row["numeric"] == "all" else tuple(filter(None, row["numeric"].split("|")))
    return keys, values, numeric


@cache
def _configured() -> dict[tuple[str, str], dict[Any, Any]]:
    """Return the rows of the table of tasks, typed from ``config/task_config.yaml`` (282e688d)."""
    rows = shipped("aoe_tasks").to_dict("records")
    return {(row["language"], row["task"]): row for row in rows}


def aoe_tasks() -> list[tuple[str, str]]:
    """Return language and name of every task that AOE configures."""
    return list(_configured())


def split_record_id(record_id: str) -> tuple[str, str, str | None]:
    """Split the id of an AOE record into domain, number of the task, and language.

    Examples
    --------
    >>> split_record_id("financial_3_0_zh")
    ('financial', '0', 'zh')
    >>> split_record_id("academic_WikiText-103_1")
    ('academic', '1', None)
    """
    domain, *rest = record_id.split("_")
    language = rest.pop() if len(rest) > 1 and rest[-1] in ("en", "zh") else None
    return domain, rest[-1] if rest else "", language


def law_names(answers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the laws that gold cites, by name: the texts in 《》 that name a law.

    A text counts if it has the character 法 and no slash, colon or parenthesis, as in the released
    code, which loads these laws, and no others, for legal task 0. Full-width parentheses are
    accepted.

    Examples
    --------
    >>> law_names([{"关联索引": ["《刑法》第1条《刑事诉讼法》第2条", "《关于(修改)法的决定》"]}])
    ['刑事诉讼法', '刑法']
    """
    names = set[str]()
    for row in answers:
        cited = row.get(CITATIONS) or []
        for text in [cited] if isinstance(cited, str) else cited:
            names.update(name.strip() for name in re.findall(r"《(.*?)》", str(text)))
    return sorted(name for name in names if "法" in name and not re.search(r"[\\/:()]", name))


#: Labels of a case's name, number and facts, with a full-width colon.
_LABELS: Mapping[str, str] = {
    CASE_NAME: "案件名称\uff1a",
    CASE_NUMBER: "入库编号\uff1a",
    CASE_TEXT: "案件详情\uff1a",
}


def case_text(case: Mapping[str, Any], indent: int = 0) -> str:
    """Write a case of AOE's legal records as a text: name, number and facts, one per line.

    The released code does the same with an indent of 20 spaces before it cuts the text.
    """
    lines = (f"{label}{case.get(key, '')}" for key, label in _LABELS.items())
    return f"\n{' ' * indent}".join(lines)


def aoe_documents(
    record: Mapping[str, Any], domain: str, index: str, folder: Path, laws: str
) -> tuple[tuple[SourceDocument, ...], list[tuple[str, str]]]:
    """List the documents of an AOE record, and problems with them.

    A name is looked up in the domain's folder, with ``.md`` added where it is missing.
    """
    listed = record.get("input_doc") or []
    items = listed if isinstance(listed, list) else [listed]
    home = folder / _FOLDERS.get(domain, domain)
    documents: dict[str, SourceDocument] = {}
    problems: list[tuple[str, str]] = []
    for item in items:
        if isinstance(item, Mapping):
            name = str(item.get(CASE_NAME) or f"case {len(documents) + 1}")
            document = SourceDocument(name, "text", None, case_text(item))
        elif isinstance(item, str):
            name = item if item.endswith(".md") else f"{item}.md"
            document = _file(home, name)
        else:
            problems.append(("unreadable_document", f"input_doc holds {type(item).__name__}"))
            continue
        while document.name in documents:  # two cases may have one name
            document = SourceDocument(f"{document.name}'", document.kind, None, document._text)
        documents[document.name] = document
    if domain == "legal" and index == "0" and laws != "none":
        names = law_names(record.get("answers") or ())
        if laws == "all":
            names = sorted(path.stem for path in home.glob("*.docx"))
        elif names:
            problems.append(("laws_from_gold", f"the laws come from gold: {', '.join(names)}"))
        for name in names:
            document = _file(home, f"{name}.docx")
            documents.setdefault(document.name, document)
    return tuple(documents.values()), problems


def _file(home: Path, name: str) -> SourceDocument:
    """Return a document in a folder; a name may not lead out of it."""
    path, kind = home / name, DOCUMENT_KINDS.get(Path(name).suffix, "txt")
    if not path.resolve().is_relative_to(home.resolve()):
        problem = ("outside_folder", f"{name!r} is not in {home}")
        return SourceDocument(name, kind, None, None, problem)
    if not path.is_file():
        problem = ("missing_document", f"no file {path}")
        return SourceDocument(name, kind, path, None, problem)
    return SourceDocument(name, kind, path)
