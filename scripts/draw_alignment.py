"""Draw the example of docs/explanation/alignment.md: gold items and their predicted partners.

    python -m scripts.draw_alignment

The page's own code makes the result (`ev`) that is drawn as docs/explanation/alignment.svg.
"""

from __future__ import annotations

from html import escape

import pandas as pd

from scripts.fill_tables import ROOT, names_of

PAGE = ROOT / "docs" / "explanation" / "alignment.md"
PICTURE = PAGE.with_suffix(".svg")
WIDTH, ROW, BOX, LEFT, RIGHT = 640, 52, 150, 4, 350
STYLE = """
  text { font: 15px system-ui, sans-serif; fill: #12263a; }
  .head { font-weight: 600; }
  .note { font-size: 13px; }
  rect { fill: #f4f6f8; stroke-width: 1.5; }
  line { stroke-width: 2.5; }
  .matched { stroke: #1a7f4b; } .differing { stroke: #a65f00; stroke-dasharray: 7 4; }
  .missed, .spurious { stroke: #b3261e; }
"""


def drawing(matches: pd.DataFrame) -> str:
    """Return the SVG text of the rows of `matches` of one array."""
    parts = [
        f'<text class="head" x="{LEFT}" y="22">gold</text>',
        f'<text class="head" x="{RIGHT}" y="22">predicted</text>',
    ]
    lines = []
    for row in matches.to_dict("records"):
        status, ends = row["status"], []
        for side, x in (("gold", LEFT), ("predicted", RIGHT)):
            if pd.isna(row[f"{side}_index"]):
                continue
            y = 36 + ROW * int(row[f"{side}_index"])
            text = escape(", ".join(map(str, row[side].values())))
            parts.append(
                f'<rect class="{status}" x="{x}" y="{y}" width="{BOX}" height="36" rx="5"/>'
                f'<text x="{x + 12}" y="{y + 23}">{text}</text>'
            )
            ends.append((x, y + 18))
        (x, y), (end, bottom) = ends[0], ends[-1]
        shown = status if len(ends) == 1 else f"{status}, {row['similarity']:.2f}"
        parts.append(f'<text class="note" x="{end + BOX + 12}" y="{bottom + 5}">{shown}</text>')
        if ends[0] != ends[-1]:
            lines.append(
                f'<line class="{status}" x1="{x + BOX}" y1="{y}" x2="{end}" y2="{bottom}"/>'
            )
    height = 36 + ROW * int(matches[["gold_index", "predicted_index"]].max().max() + 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<title>Gold items and the predicted items they are compared with</title>\n"
        f"<style>{STYLE}</style>\n" + "\n".join([*lines, *parts]) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawing(names_of(PAGE)["ev"].matches), encoding="utf-8")
