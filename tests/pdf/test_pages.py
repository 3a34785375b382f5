"""The text of PDFs: read in a process of its own, with limits, once."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import perf_counter

import pytest

from extractbench_nb import InputError, load_dataset, show_evidence
from extractbench_nb.pdf import pages as pdf
from extractbench_nb.pdf import pdf_worker
from extractbench_nb.pdf.evidence import find_evidence
from extractbench_nb.pdf.pages import read_layers, read_pages, render_page
from extractbench_nb.runs.extracting import document_text
from tests.waiting import PATIENCE

SAMPLE = load_dataset("sample").listing["pdf_path"].tolist()


@pytest.mark.parametrize("content", [None, b"", b"%PDF-1.4", b"text"])
def test_a_pdf_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.pdf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"PDF '.*x\.pdf' cannot be read: "):
        read_pages(path)
    assert read_pages(SAMPLE[0])


def packed_page(once: bytes) -> bytes:
    """Make a PDF of one page, whose content is compressed twice."""
    packed = zlib.compress(once, 9)
    filters = b"/Filter [/FlateDecode /FlateDecode]"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
            b"/Resources<</Font<</F1 5 0 R>>>>>>"
        ),
        b"<</Length %d %s>>stream\n%s\nendstream" % (len(packed), filters, packed),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    parts, places = [b"%PDF-1.7\n"], []
    for number, content in enumerate(objects, 1):
        places.append(sum(map(len, parts)))
        parts.append(b"%d 0 obj%s endobj\n" % (number, content))
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = sum(map(len, parts))
    parts.append(b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\n" % table)
    return b"".join([*parts, b"startxref\n%d\n%%%%EOF" % start])


@cache
def bomb() -> bytes:
    """Make a PDF of a few kilobytes, whose one page unpacks to 1 GB."""
    megabyte, count = b" " * 2**20, 1024
    once = zlib.compressobj(9)
    first, next_ = (once.compress(megabyte) + once.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    checksum = 1
    for _ in range(count):
        checksum = zlib.adler32(megabyte, checksum)
    end = once.flush()[:-4] + checksum.to_bytes(4, "big")
    return packed_page(first + next_ * (count - 1) + end)


def scribble() -> bytes:
    """Make a PDF of a few kilobytes, whose one page has a word and 300,000 strokes."""
    text = b"BT /F1 12 Tf 10 780 Td (Northwind) Tj ET "
    return packed_page(zlib.compress(text + b"0 0 m " + b"600 799 l 1 1 l " * 150_000 + b"S", 9))


READING: dict[str, Callable[[Path], object]] = {
    "pages": read_pages,
    "picture": lambda path: render_page(None, path, 1),
    "evidence": lambda path: find_evidence(None, path, "x"),
    "extraction": document_text,
}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
@pytest.mark.parametrize("name", READING)
def test_a_pdf_that_unpacks_to_a_gigabyte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(pdf, "LIMITS", pdf.LIMITS._replace(memory=600_000_000))
    path = tmp_path / "bomb.pdf"
    path.write_bytes(bomb())
    assert path.stat().st_size < 64_000
    with pytest.raises(InputError, match=r"bomb\.pdf' cannot be read: .* GB of memory"):
        READING[name](path)
    assert READING[name](SAMPLE[0]) is not None


@pytest.mark.parametrize("read", [read_pages, read_layers])
def test_a_pdf_is_read_once_until_it_changes(
    read: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "copy.pdf"
    path.write_bytes(SAMPLE[0].read_bytes())
    first = read(path)
    with monkeypatch.context() as patch:
        patch.setattr(pdf_worker, "__file__", str(tmp_path / "nothing"))  # no reader any more
        assert read(path) == first
        path.write_bytes(SAMPLE[1].read_bytes())
        with pytest.raises(InputError, match="cannot be read"):
            read(path)
    assert read(path) == read(SAMPLE[1]) != first


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", READING)
def test_a_pipe_is_no_pdf(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe.pdf")
    with pytest.raises(InputError, match=r"pipe\.pdf' cannot be read: it is not a regular file"):
        READING[name](tmp_path / "pipe.pdf")


def test_a_page_that_takes_too_long_to_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scribble.pdf"
    path.write_bytes(scribble())
    assert path.stat().st_size < 10_000
    assert pdf.LIMITS.seconds == 20
    assert find_evidence(None, path, "Northwind")["page"].tolist() == [1]
    monkeypatch.setattr(pdf, "LIMITS", pdf.LIMITS._replace(seconds=0.5))
    started = perf_counter()
    with pytest.raises(InputError, match=r"scribble\.pdf' cannot be drawn within 0\.5"):
        render_page(None, path, 1, scale=4)
    assert perf_counter() - started < PATIENCE


def test_a_view_says_that_a_page_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scribble.pdf"
    path.write_bytes(scribble())
    read_layers(path)
    monkeypatch.setattr(pdf, "LIMITS", pdf.LIMITS._replace(seconds=3))  # enough to read it
    view = show_evidence(None, path, {"name": "Northwind"})
    html = view.to_html()
    assert "Page 1 is not shown: PDF" in html
    assert "cannot be drawn within 3" in html
    assert "Northwind" in html
    view.close()
