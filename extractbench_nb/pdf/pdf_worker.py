"""Reads one PDF in a separate process with limited memory: a small file may unpack to gigabytes.

Run as a script by `pages`, and therefore without imports from this package. A request is one JSON
object on standard input; the answer is a line of JSON and then bytes: pixels, or boxes.
"""

from __future__ import annotations

import json
import math
import re
import sys
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

Answer = tuple[dict[str, Any], bytes]


def _read_texts(pdf: PdfDocument, request: dict[str, Any]) -> Answer:
    """Read the text of each page: as PDFium writes it, or with one character per index."""
    read_page = _layer if request["operation"] == "layers" else _text
    texts, total = [], 0
    for index in range(len(pdf)):
        page = pdf[index]
        try:
            texts.append(read_page(page))
        finally:
            page.close()  # and its text page: a long document is not kept in memory
        total += len(texts[-1])
        if total > request["characters"]:
            raise ValueError(f"it has more than {request['characters']:,} characters of text")
    return {"texts": texts}, b""


def _text(page: PdfPage) -> str:
    text: str = page.get_textpage().get_text_bounded()
    return text


def _layer(page: PdfPage) -> str:
    layer = page.get_textpage()
    characters = _characters(layer)
    if page.get_cropbox() == page.get_mediabox():
        return characters
    left, bottom, right, top = page.get_bbox()

    def is_seen(index: int) -> bool:
        x0, y0, x1, y1 = layer.get_charbox(index)
        return bool(left <= (x0 + x1) / 2 <= right and bottom <= (y0 + y1) / 2 <= top)

    return "".join(c if c.isspace() or is_seen(i) else " " for i, c in enumerate(characters))


def _characters(layer: PdfTextPage) -> str:
    """Return one character per index of PDFium, which are UTF-16 units.

    PDFium returns them as one text only if there are no surrogates among them. A pair of surrogates
    is joined; a zero-width space keeps the indices of what follows.
    """
    from pypdfium2.raw import FPDFText_GetUnicode

    count: int = layer.count_chars()
    text: str = layer.get_text_range()
    if len(text) == count and not re.search("[\ud800-\udfff]", text):
        return text
    units = "".join(chr(FPDFText_GetUnicode(layer, index)) for index in range(count))
    return re.sub(
        "[\ud800-\udbff][\udc00-\udfff]",
        lambda pair: pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le") + "\u200b",
        units,
    )


def _find_boxes(pdf: PdfDocument, request: dict[str, Any]) -> Answer:
    """Return five numbers per character of some pages: its box, and its direction.

    The direction is 1 for text that runs up or down the page, 0 for other text, and -1 for a
    character without a visible box, such as a line break.
    """
    from pypdfium2.raw import FPDFText_GetCharAngle, FPDFText_IsGenerated

    packed, counts = array("f"), []
    for number in range(request["first"], min(request["end"], len(pdf))):
        page = pdf[number]
        layer = page.get_textpage()
        counts.append(layer.count_chars())
        for index in range(counts[-1]):
            x0, y0, x1, y1 = layer.get_charbox(index, loose=True)
            angle = FPDFText_GetCharAngle(layer, index)
            direction = abs(math.sin(angle)) > abs(math.cos(angle))
            is_drawn = x0 < x1 and y0 < y1 and FPDFText_IsGenerated(layer, index) != 1
            packed.extend((x0, y0, x1, y1, direction if is_drawn else -1))
        page.close()
    return {"counts": counts}, packed.tobytes()


def _draw(pdf: PdfDocument, request: dict[str, Any]) -> Answer:
    """Render a page; no pixels if the page does not exist or would have too many."""
    answer: dict[str, Any] = {"pages": len(pdf)}
    if not 1 <= request["page"] <= len(pdf):
        return answer, b""
    page = pdf[request["page"] - 1]
    width, height = answer["points"] = page.get_size()
    scale = request["scale"]
    if width * height * scale**2 > request["pixels"]:
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

    operations = {"boxes": _find_boxes, "draw": _draw}
    content = b""
    try:
        with pypdfium2.PdfDocument(request["path"]) as pdf:
            head, content = operations.get(request["operation"], _read_texts)(pdf, request)
    except (pypdfium2.PdfiumError, OSError, ValueError) as error:
        head = {"error": str(error)}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + content)


if __name__ == "__main__":
    main()
