"""Typeset every gold document of the sample dataset as a PDF.

Run ``python dataset/make_pdfs.py`` after changing a gold file. The bytes depend on nothing but
the gold, this script, its prose and reportlab: no time stamp, no random id, no compression.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY, TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    HRFlowable,
    KeepTogether,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)

ROOT = Path(__file__).resolve().parent
PROSE = ROOT / "prose"
DASH = "–"
INK = colors.HexColor("#1d2733")
ACCENT = colors.HexColor("#1f5a7a")
FAINT = colors.HexColor("#b8c2cc")
TINT = colors.HexColor("#eef3f6")

Json = Any
Story = list[Flowable]


def style(size: float, *, bold: bool = False, serif: bool = False, **more: Any) -> ParagraphStyle:
    """Make a paragraph style from a size and a face."""
    face = {
        (False, False): "Helvetica",
        (True, False): "Helvetica-Bold",
        (False, True): "Times-Roman",
        (True, True): "Times-Bold",
    }[bold, serif]
    settings = {"leading": size * 1.3, "textColor": INK, "spaceAfter": size * 0.4} | more
    return ParagraphStyle(f"{face}{size}{sorted(more)}", fontName=face, fontSize=size, **settings)


BODY = style(9.5)
SMALL = style(8, textColor=colors.HexColor("#4a5663"))
CELL = style(8.5, spaceAfter=0)
CELL_BOLD = style(8.5, bold=True, spaceAfter=0)
FIGURE = style(8.5, spaceAfter=0, alignment=TA_RIGHT)
FIGURE_BOLD = style(8.5, bold=True, spaceAfter=0, alignment=TA_RIGHT)
TITLE = style(20, bold=True, textColor=ACCENT)
SECTION = style(12, bold=True, textColor=ACCENT, spaceBefore=7)
SERIF = style(10.5, serif=True, alignment=TA_JUSTIFY, spaceAfter=6)
SERIF_HEAD = style(11, serif=True, bold=True, spaceBefore=8, spaceAfter=3)
PAPER = style(9, serif=True, alignment=TA_JUSTIFY, spaceAfter=4)
PAPER_HEAD = style(10.5, serif=True, bold=True, spaceBefore=6, spaceAfter=3)
REFERENCE = style(8, serif=True, leftIndent=14, firstLineIndent=-14, spaceAfter=2)


def text(content: str, how: ParagraphStyle = BODY) -> Paragraph:
    """Typeset plain text: markup in it is printed, not interpreted."""
    return Paragraph(escape(content), how)


def day(iso: str, *, american: bool = False) -> str:
    """Print an ISO date, month or year the way people write it: 6 November 2029."""
    if len(iso) < len("2030-01-01"):
        return f"{date.fromisoformat(iso + '-01'):%B %Y}" if "-" in iso else iso
    when = date.fromisoformat(iso)
    return f"{when:%B} {when.day}, {when.year}" if american else f"{when.day} {when:%B} {when.year}"


def number(value: float | None, *, decimals: int | None = None) -> str:
    """Print an amount with thousands separators, negatives in brackets and null as a dash."""
    if value is None:
        return DASH
    digits = decimals if decimals is not None else _decimals(value)
    printed = f"{abs(value):,.{digits}f}"
    return f"({printed})" if value < 0 else printed


def _decimals(value: float) -> int:
    return len(repr(float(value)).split(".")[1]) if value != int(value) else 0


def percent(value: float | None) -> str:
    """Print a percentage, or a dash for null."""
    return DASH if value is None else f"{value:g}%"


def grid(
    rows: Sequence[Sequence[str]],
    widths: Sequence[float],
    *,
    numeric: Collection[int] = (),
    bold_rows: Iterable[int] = (),
) -> Table:
    """Make a ruled table; the first row is its head, `numeric` columns are set right."""
    strong = {0, *bold_rows}
    faces = {
        (False, False): CELL,
        (False, True): CELL_BOLD,
        (True, False): FIGURE,
        (True, True): FIGURE_BOLD,
    }
    cells = [
        [text(v, faces[column in numeric, row in strong]) for column, v in enumerate(line)]
        for row, line in enumerate(rows)
    ]
    table = Table(cells, colWidths=[w * mm for w in widths], repeatRows=1, hAlign="LEFT")
    table.setStyle(
        TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                ("BACKGROUND", (0, 0), (-1, 0), TINT),
                ("LINEBELOW", (0, 0), (-1, 0), 0.8, ACCENT),
                ("LINEBELOW", (0, 1), (-1, -1), 0.25, FAINT),
                ("TOPPADDING", (0, 0), (-1, -1), 2),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 2.5),
            ]
        )
    )
    return table


def section(title: str, *blocks: Flowable | Story) -> Story:
    """Set blocks under a heading; each stays on one page, the first with the heading."""
    first, *others = [block if isinstance(block, list) else [block] for block in blocks]
    head = text(title, SECTION)
    return [KeepTogether([head, *first]), *(KeepTogether(block) for block in others)]


# --- sport ---------------------------------------------------------------------------------


def rowing(gold: Json, prose: Json) -> Story:
    """Set a results sheet: a head, a table a race, a legend."""
    water = gold["water"]
    course = f", {water['course_m']:,} m" if "course_m" in water else ""
    story: Story = [
        text(gold["regatta"], TITLE),
        text(f"{water['stretch']}{course} · {day(gold['held_on'])}", style(11, spaceAfter=4)),
        HRFlowable(width="100%", color=ACCENT, spaceAfter=6),
        text(prose["opening"]),
    ]
    for number_, race in enumerate(gold["races"], start=1):
        umpire = f" · Umpire: {race['umpire']}" if race.get("umpire") else ""
        name = prose["boats"][race["boat_class"]]
        story += section(f"Final {number_}: {name} ({race['boat_class']}){umpire}", _race(race))
    return [*story, Spacer(1, 8), text(prose["legend"], SMALL)]


def _race(race: Json) -> Table:
    rows = [["Place", "Lane", "Club", "Stroke", "Time", "Remarks"]]
    for entry in race["entries"]:
        crew = entry["crew"]
        rows.append(
            [
                str(entry["place"]),
                str(crew.get("lane", "")),
                crew["club"],
                crew["stroke"],
                entry["finish"] or "",
                ", ".join(entry.get("remarks") or ()),
            ]
        )
    return grid(rows, [14, 13, 56, 45, 20, 22], numeric=[4])


# --- finance: agreements -------------------------------------------------------------------


def agreement(gold: Json, prose: Json) -> Story:
    """Set a contract: title page matter, parties, numbered clauses, signatures."""
    values = _agreement_values(gold, american=prose["american_dates"])
    story: Story = [
        Spacer(1, 30 * mm),
        text(prose["title"], style(18, serif=True, bold=True, alignment=TA_CENTER, spaceAfter=20)),
    ]
    centred = style(11, serif=True, alignment=TA_CENTER, spaceAfter=10)
    story += [text(line.format(**values), centred) for line in prose["cover"]]
    story.append(PageBreak())
    story += [text(line.format(**values), SERIF) for line in prose["preamble"]]
    for index, (title, paragraphs) in enumerate(prose["clauses"], start=1):
        head = text(f"{index}. {title}", SERIF_HEAD)
        body = [
            text(f"{index}.{n}  {p.format(**values)}", SERIF) for n, p in enumerate(paragraphs, 1)
        ]
        story += [KeepTogether([head, body[0]]), *(KeepTogether([p]) for p in body[1:])]
    return story + _signatures(gold)


def _agreement_values(gold: Json, *, american: bool) -> dict[str, str]:
    parties, money, when = gold["signatories"], gold["money"], gold["calendar"]
    principal = money["principal"]
    decimals = 2 if _decimals(principal["value"]) else 0
    return {
        "obligor": parties["obligor"],
        "creditors": _series(parties["creditors"]),
        "agent": parties["facility_agent"] or "",
        "arrangers": _series(parties["arrangers"] or []),
        "sum": f"{principal['iso_code']} {number(principal['value'], decimals=decimals)}",
        "margin": percent(money["margin_percent"]),
        "signed": day(when["signed_on"], american=american),
        "repay": day(when["repay_by"], american=american) if when["repay_by"] else "",
        "notice": when["drawdown_notice"],
        "law": gold["legal"]["applicable_law"],
        "purpose": gold["legal"]["purpose"] or "",
    }


def _series(names: Sequence[str]) -> str:
    return "; ".join(names[:-1]) + "; and " + names[-1] if len(names) > 1 else "".join(names)


def _signatures(gold: Json) -> Story:
    names = [gold["signatories"]["obligor"], *gold["signatories"]["creditors"]]
    head = text("Signed by the parties on the date first written above.", SERIF)
    lines = [text(f"{name}, by: ______________________", SERIF) for name in names]
    return [Spacer(1, 10), KeepTogether([head, Spacer(1, 6), *lines])]


# --- academic ------------------------------------------------------------------------------


def paper(gold: Json, prose: Json) -> Story:
    """Set a two-column paper: heading, abstract, sections, a table, the bibliography."""
    story = [NextPageTemplate("later"), *_paper_head(gold), FrameBreak()]
    for title, paragraphs in prose["sections"]:
        story.append(KeepTogether([text(title, PAPER_HEAD), text(paragraphs[0], PAPER)]))
        story += [text(p, PAPER) for p in paragraphs[1:]]
    story += [KeepTogether([_paper_table(prose["table"]), text(prose["caption"], SMALL)])]
    story.append(text("References", PAPER_HEAD))
    for index, reference in enumerate(gold["references"], start=1):
        story.append(KeepTogether([text(f"[{index}] {_citation(reference)}", REFERENCE)]))
    return story


def _paper_head(gold: Json) -> Story:
    centred = style(10, serif=True, alignment=TA_CENTER, spaceAfter=2)
    about = [gold["kind"], gold["outlet"], day(gold["issued"]), gold["persistent_id"]]
    story: Story = [
        text(" · ".join(part for part in about if part), SMALL),
        text(gold["heading"], style(16, serif=True, bold=True, alignment=TA_CENTER, spaceAfter=8)),
    ]
    for author in gold["contributors"]:
        parts = [author["name"], author.get("institution"), author.get("mailbox")]
        story.append(text(", ".join(part for part in parts if part), centred))
    story += [Spacer(1, 5), text("Abstract. " + gold["summary"], PAPER)]
    if gold["topics"]:
        story.append(text("Keywords: " + ", ".join(gold["topics"]), PAPER))
    if gold["landing_page"]:
        story.append(text("Online: " + gold["landing_page"], PAPER))
    return [*story, HRFlowable(width="100%", color=FAINT, spaceBefore=2, spaceAfter=4)]


def _paper_table(rows: Sequence[Sequence[str]]) -> Table:
    first, *others = rows[0]
    widths = [26, *[54 / len(others)] * len(others)]
    return grid([[first, *others], *rows[1:]], widths, numeric=range(1, len(others) + 1))


def _citation(reference: Json) -> str:
    names = ", ".join(a["name"] for a in reference.get("written_by") or ())
    parts = [names, reference["work_title"], reference.get("source") or "", ""]
    return ". ".join(part for part in parts[:3] if part) + f", {reference['released']}."


# --- hiring --------------------------------------------------------------------------------


def cv(gold: Json, prose: Json) -> Story:
    """Set a curriculum vitae in the order of a hiring file."""
    person = gold["applicant"]
    home = person["home"]
    reach = [*person["reach"]["telephones"], *person["reach"]["mailboxes"], *gold.get("links", [])]
    story: Story = [text(person["display_name"], TITLE)]
    if person["headline"]:
        story.append(text(person["headline"], style(12, spaceAfter=4)))
    story += [
        text(f"{home['town']} ({home['country_code']})  ·  " + "  ·  ".join(reach), SMALL),
        HRFlowable(width="100%", color=ACCENT, spaceAfter=6),
        text(person["profile"]),
    ]
    story += section(prose["posts"], *(_post(post) for post in gold["posts"]))
    story += section(prose["studies"], *(_study(study) for study in gold["studies"]))
    story += [flowable for part in _cv_lists(gold, prose) for flowable in part]
    if "last_edited" in gold:
        story += [Spacer(1, 10), text(gold["last_edited"], SMALL)]
    return story


def _post(post: Json) -> Story:
    until = day(str(post["until"])) if post["until"] else "present"
    place = f", {post['site']}" if post["site"] else ""
    head = f"<b>{escape(post['role'])}</b> · {escape(post['employer'] + place)}"
    when = text(f"{day(str(post['since']))} {DASH} {until}", SMALL)
    bullet = style(9.5, leftIndent=12, bulletIndent=3, spaceAfter=1)
    duties = [Paragraph(escape(duty), bullet, bulletText="•") for duty in post["duties"]]
    return [Paragraph(head, style(9.5, spaceAfter=0)), when, *duties, Spacer(1, 4)]


def _study(study: Json) -> Paragraph:
    finished = str(study["finished"]) if study["finished"] else "in progress"
    line = f"{study['award']}, {study['school']}, {finished}"
    if study.get("grade"):
        line += f". Grade: {study['grade']}"
    if "thesis" in study:
        line += f". Thesis: {study['thesis']}"
    return text(line + ".")


def _cv_lists(gold: Json, prose: Json) -> Iterator[Story]:
    abilities = gold.get("abilities")
    if isinstance(abilities, dict):
        lines = [text(f"{head}: {', '.join(items)}") for head, items in abilities.items()]
        yield section(prose["abilities"], *lines)
    elif abilities:
        yield section(prose["abilities"], text(" · ".join(abilities)))
    tongues = ", ".join(f"{name} ({level})" for name, level in gold["tongues"].items())
    yield section(prose["tongues"], text(tongues))
    if gold.get("certificates"):
        lines = [
            text(f"{c['label']}, {c['issuer']}, {day(c['awarded'])}") for c in gold["certificates"]
        ]
        yield section(prose["certificates"], *lines)
    if gold.get("writings"):
        yield section(prose["writings"], *(_writing(w) for w in gold["writings"]))
    if gold.get("memberships"):
        yield section(prose["memberships"], text("; ".join(gold["memberships"])))
    if prose.get("terms"):
        yield section(prose["terms_title"], text(prose["terms"].format(**gold)))


def _writing(writing: Json) -> Paragraph:
    address = f" {writing['address']}" if "address" in writing else ""
    return text(f"{writing['heading']}. {writing['outlet']}, {writing['year']}.{address}")


# --- finance: reports ----------------------------------------------------------------------


def report(gold: Json, prose: Json) -> Story:
    """Set a report: cover, statements, segment tables, outlook, notes, signatures."""
    story = _report_cover(gold, prose)
    for key in ("income", "balance", "cash_flow"):
        title, now, before = prose["statements"][key]
        story += [PageBreak(), *section(title, _statement(gold[key], now, before, prose))]
    story.append(PageBreak())
    story += _discussion(gold, prose)
    story += _outlook(gold["outlook"], prose)
    story += _notes(gold["notes"], prose)
    return story + _closing(gold, prose)


def _report_cover(gold: Json, prose: Json) -> Story:
    filing = gold["filing"]
    lines = [
        f"Form {filing['form']}",
        f"{prose['period']} ended {_day(filing['closes_on'], prose)} ({filing['span']})",
        f"Fiscal year {filing['fiscal_year']}",
    ]
    if filing["ticker"]:
        lines.append(f"Trading symbol: {filing['ticker']}")
    if filing["website"]:
        lines.append(f"Reports and recordings: {filing['website']}")
    story: Story = [Spacer(1, 25 * mm), text(filing["registrant"], TITLE), Spacer(1, 6)]
    story += [text(line, style(12)) for line in lines]
    story += [HRFlowable(width="100%", color=ACCENT, spaceBefore=6, spaceAfter=8)]
    return story + [text(p.format(**filing)) for p in prose["cover"]]


def _day(iso: str, prose: Json) -> str:
    return day(iso, american=prose["american_dates"])


def _statement(lines: Json, now: str, before: str, prose: Json) -> Table:
    rows = [[prose["unit_head"], now, before]]
    strong = []
    for name, line in lines.items():
        decimals = _column_decimals(name, prose)
        values = [number(line[side], decimals=decimals) for side in ("now", "before")]
        rows.append([line["caption"], *values])
        if name.startswith("total_") or name in prose["strong_lines"]:
            strong.append(len(rows) - 1)
    return grid(rows, [98, 36, 36], numeric=[1, 2], bold_rows=strong)


def _column_decimals(name: str, prose: Json) -> int:
    return 2 if name.endswith("_eps") else int(prose["decimals"])


def _discussion(gold: Json, prose: Json) -> Story:
    story = section(prose["discussion_title"], *(text(p) for p in prose["discussion"]))
    for key, rows in gold["divisions"].items():
        if rows:
            story += section(
                prose["division_titles"][key],
                _slices(rows, 0 if key == "staff" else prose["decimals"]),
            )
    trends = [(key, row) for key, rows in gold["trends"].items() for row in rows]
    table = [["Measure", "For", "Period", "Compared", "Kind", "Change"]]
    for key, row in trends:
        kind = prose["adjusted"] if row["adjusted"] else "as reported"
        label = prose["trend_labels"][key]
        table.append([label, row["name"], row["span"], row["basis"], kind, percent(row["percent"])])
    widths = [36, 27, 24, 35, 30, 18]
    return story + section("Growth in figures", grid(table, widths, numeric=[5]))


def _slices(rows: Json, decimals: int) -> Table:
    table = [["By", "Name", "Period", "Amount"]]
    for row in rows:
        amount = number(row["amount"], decimals=decimals)
        table.append([row["cut"], row["name"], row["span"], amount])
    return grid(table, [30, 72, 34, 34], numeric=[3])


def _outlook(outlook: Json, prose: Json) -> Story:
    table = [["Expected", "Period", "From", "To", "Unit"]]
    for key, rows in outlook.items():
        for row in rows:
            ends = [number(row["low"]), number(row["high"])]
            table.append([prose["outlook_labels"][key], row["span"], *ends, row["unit"]])
    return section(
        "Outlook", text(prose["outlook"]), grid(table, [60, 34, 26, 26, 24], numeric=[2, 3])
    )


def _notes(notes: Json, prose: Json) -> Story:
    story = section("Note A. Borrowings", _borrowings(notes["borrowings"], prose))
    shares = prose["share_labels"]
    rows = [["Shares", "Figure"]]
    rows += [
        [shares[k], number(v, decimals=_share_decimals(k, v))] for k, v in notes["shares"].items()
    ]
    story += section("Note B. Shares (counts in millions)", grid(rows, [130, 40], numeric=[1]))
    tax = notes["tax"]
    story += section(
        "Note C. Income tax",
        text(
            prose["tax"].format(
                effective=percent(tax["effective_percent"]),
                statutory=percent(tax["statutory_percent"]),
                uncertain=number(tax["uncertain_positions"]),
            )
        ),
    )
    rows = [["Instrument", "Level", "Fair value"]]
    rows += [
        [r["instrument"], str(r["level"]), number(r["amount"], decimals=prose["decimals"])]
        for r in notes["fair_value"]
    ]
    story += section("Note D. Fair values", grid(rows, [100, 30, 40], numeric=[1, 2]))
    rows = [["Matter", "Court", "Provision"]]
    rows += [
        [r["matter"], r["court"] or DASH, number(r["provision"], decimals=prose["decimals"])]
        for r in notes["litigation"]
    ]
    story += section("Note E. Legal proceedings", grid(rows, [82, 54, 34], numeric=[2]))
    events = [text(event + ".") for event in notes["later_events"]]
    return story + section("Note F. Events after the period", *(events or [text("None.")]))


def _borrowings(rows: Json, prose: Json) -> Table:
    secured = {True: "secured", False: "unsecured", None: DASH}
    table = [["Instrument", "Face amount", "Rate", "Due", "Security"]]
    for row in rows:
        face = number(row["face"], decimals=prose["decimals"])
        due = _day(row["due"], prose) if row["due"] else DASH
        rate = percent(row["coupon_percent"])
        table.append([row["name"], face, rate, due, secured[row["secured"]]])
    return grid(table, [60, 28, 18, 40, 24], numeric=[1, 2])


def _share_decimals(key: str, value: float | None) -> int | None:
    return 2 if value is not None and key in ("average_price", "dividend_each") else None


def _closing(gold: Json, prose: Json) -> Story:
    people, exposure = gold["people"], gold["exposure"]
    signed = _day(people["signed_on"], prose)
    values = {
        **people,
        "headcount": f"{people['headcount']:,}",
        "signed": signed,
        "largest": percent(exposure["largest_customer_percent"]),
        "customers": _series(exposure["major_customers"]),
    }
    story: Story = []
    for title, paragraphs in prose["closing"]:
        story += section(title, *(text(p.format(**values)) for p in paragraphs))
    story += section("Principal risks", text("; ".join(exposure["risk_topics"]) + "."))
    sign = f"Signed on {signed}: {people['chief_executive']}, chief executive; "
    return [
        *story,
        Spacer(1, 8),
        text(sign + f"{people['finance_chief']}, chief financial officer"),
    ]


# --- pages ---------------------------------------------------------------------------------

RENDERERS: dict[str, Callable[[Json, Json], Story]] = {
    "rowing": rowing,
    "facility_agreement": agreement,
    "preprint": paper,
    "cv": cv,
    "quarterly_report": report,
}


def _single_column() -> list[PageTemplate]:
    frame = Frame(18 * mm, 18 * mm, A4[0] - 36 * mm, A4[1] - 34 * mm, id="page")
    return [PageTemplate("page", [frame], onPage=_page_number)]


def _paper_pages(head: float, columns: int) -> list[PageTemplate]:
    bottom, top, left = 18 * mm, A4[1] - 16 * mm, 17 * mm
    pitch = (A4[0] - 2 * left + 6 * mm) / columns

    def body(height: float) -> list[Frame]:
        starts = [left + index * pitch for index in range(columns)]
        return [Frame(x, bottom, pitch - 6 * mm, height, id=f"{x:.0f}") for x in starts]

    full = Frame(left, top - head, A4[0] - 2 * left, head, id="head")
    first = [full, *body(top - bottom - head)]
    return [
        PageTemplate("first", first, onPage=_page_number),
        PageTemplate("later", body(top - bottom), onPage=_page_number),
    ]


def _page_number(canvas: Canvas, template: BaseDocTemplate) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.setFillColor(colors.HexColor("#4a5663"))
    canvas.drawCentredString(A4[0] / 2, 10 * mm, f"{template.page}")


def render(gold: Json, schema: str, prose: Json, title: str) -> bytes:
    """Typeset one gold document.

    Parameters
    ----------
    gold : dict
        The gold JSON.
    schema : str
        Its schema folder, which chooses the layout.
    prose : dict
        The words around the values.
    title : str
        Title in the PDF's metadata.

    Returns
    -------
    bytes
        The PDF; equal for equal input.
    """
    buffer = io.BytesIO()
    template = BaseDocTemplate(
        buffer, pagesize=A4, invariant=1, pageCompression=0, title=title, author="fictional"
    )
    pages = (
        _paper_pages(prose["head_mm"] * mm, prose["columns"])
        if schema == "preprint"
        else _single_column()
    )
    template.addPageTemplates(pages)
    template.build(RENDERERS[schema](gold, prose))
    return buffer.getvalue()


def render_all(root: Path = ROOT) -> Iterator[tuple[Path, bytes]]:
    """Yield where each PDF belongs and its bytes."""
    for path in sorted(root.glob("*/*/pdf+gold/*.gold.json")):
        document = path.name.removesuffix(".gold.json")
        schema = path.parents[1].name
        prose = json.loads((PROSE / f"{document}.json").read_text(encoding="utf-8"))
        gold = json.loads(path.read_text(encoding="utf-8"))
        yield path.with_name(f"{document}.pdf"), render(gold, schema, prose, document)


def main() -> None:
    """Write all PDFs beside their gold files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.parse_args()
    for path, content in render_all():
        path.write_bytes(content)
        print(f"{len(content):>8,} bytes  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
