"""Reads one PDF in a separate process with limited memory: a small file may unpack to gigabytes.

Run as a script by `pages`, and therefore without imports from this package. A request is one JSON
object on standard input; the answer is a line of JSON and, for a rendered page, its pixels.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage


_SURROGATES = range(0xD800, 0xE000)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_NO_WIDTH = "\u200b"


def _texts(pdf: PdfDocument, read: Any, most: int) -> list[str]:
    texts, total = [], 0
    for index in range(len(pdf)):
        page = pdf[index]
        try:
            texts.append(read(page))
        finally:
            page.close()  # and its text page: a long document is not kept in memory
        total += len(texts[-1])
        if total > most:
            raise ValueError(f"it has more than {most:,} characters of text")
    return texts


def _text(page: PdfPage) -> str:
    text: str = page.get_textpage().get_text_bounded()
    return text


def _layer(page: PdfPage) -> str:
    layer = page.get_textpage()
    characters = _characters(layer)
    if page.get_cropbox() == page.get_mediabox():
        return characters
    return _visible(page, layer, characters)


def _characters(layer: PdfTextPage) -> str:
    """Return the page's characters, one per index of PDFium.

    PDFium returns them as one text only if there are no surrogates among them.
    """
    from pypdfium2.raw import FPDFText_GetUnicode

    count: int = layer.count_chars()
    text: str = layer.get_text_range()
    if len(text) == count and all(ord(c) not in _SURROGATES for c in set(text)):
        return text
    units = "".join(chr(FPDFText_GetUnicode(layer, index)) for index in range(count))

    def joined(pair: re.Match[str]) -> str:
        """Join two surrogates; a zero-width space keeps the indices of what follows."""
        return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le") + _NO_WIDTH

    return _PAIR.sub(joined, units)


def _visible(page: PdfPage, layer: PdfTextPage, characters: str) -> str:
    left, bottom, right, top = page.get_bbox()

    def is_seen(index: int) -> bool:
        x0, y0, x1, y1 = layer.get_charbox(index)
        return bool(left <= (x0 + x1) / 2 <= right and bottom <= (y0 + y1) / 2 <= top)

    return "".join(c if c.isspace() or is_seen(i) else " " for i, c in enumerate(characters))


def _drawn(pdf: PdfDocument, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Render a page; no pixels if the page does not exist or would have too many."""
    answer: dict[str, Any] = {"pages": len(pdf)}
    if not 1 <= request["page"] <= len(pdf):
        return answer, b""
    page = pdf[request["page"] - 1]
    width, height = answer["points"] = page.get_size()
    scale = request["scale"]
    if width * height * scale**2 > request["most"]:
        return answer, b""
    bitmap = page.render(scale=scale, rev_byteorder=True)
    to_pixels = bitmap.get_posconv(page).to_bitmap
    answer["boxes"] = [
        [to_pixels(x0, y0), to_pixels(x1, y1)] for x0, y0, x1, y1 in request["boxes"]
    ]
    answer["shape"] = (bitmap.height, bitmap.stride, bitmap.width, bitmap.n_channels)
    return answer, bytes(bitmap.buffer)


def _limit(memory: int) -> None:
    """Limit the memory of this process, where the system can."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):  # Windows, or the limit is lower already
        return


def main() -> None:
    """Read a request, and write the answer."""
    request = json.load(sys.stdin)
    _limit(request["memory"])
    import pypdfium2

    content = b""
    try:
        with pypdfium2.PdfDocument(request["path"]) as pdf:
            if request["operation"] == "draw":
                head, content = _drawn(pdf, request)
            else:
                read = {"pages": _text, "layers": _layer}[request["operation"]]
                head = {"texts": _texts(pdf, read, request["most"])}
    except (pypdfium2.PdfiumError, OSError, ValueError) as error:
        head = {"error": str(error)}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + content)


if __name__ == "__main__":
    main()
