"""Tables as drawings: one line per row, cells between bars, so that a test shows what it is about.

# Item | Sales | <       a row of the header; "<" continues the cell on the left
# ^    | 2020  | 2021    "^" continues the cell above
= Paper| <     | <       a projected row header
  A4   | 5     | 7       any other row; nothing between bars is a blank cell
"""

from extractbench_nb.tables.cells import Cell, Table, table_of_cells

MARKS = {"#": (True, False), "=": (False, True), " ": (False, False)}


def table_of(drawing: str) -> Table:
    lines = [line.strip("\n") for line in drawing.splitlines() if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    margin = margin if any(line[margin] in "#=" for line in lines) else margin - 2
    rows = [[text.strip() for text in line[margin + 1 :].split("|")] for line in lines]
    marks = [line[margin] for line in lines]
    corners: list[list[tuple[int, int]]] = []
    covered: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for r, row in enumerate(rows):
        assert len(row) == len(rows[0]), f"row {r} has {len(row)} columns"
        corners.append([])
        for c, text in enumerate(row):
            above, left = corners[r - 1][c : c + 1], corners[r][c - 1 :]
            found = {"^": above, "<": left}.get(text, [(r, c)])
            corners[r].extend(found)
            covered.setdefault(found[0], []).append((r, c))
    return table_of_cells(
        Cell(
            tuple(sorted({r for r, _ in positions})),
            tuple(sorted({c for _, c in positions})),
            rows[top][left],
            None,
            *MARKS[marks[top]],
        )
        for (top, left), positions in covered.items()
    )


def drawing_of(table: Table) -> str:
    """Draw a table; each row has the mark of its cells, all of them where they differ."""
    lines = []
    for r, numbers in enumerate(table.grid.tolist()):
        texts = []
        marks = set()
        for c, number in enumerate(numbers):
            cell = table.cells[number]
            is_left = c > 0 and numbers[c - 1] == number
            is_above = r > 0 and table.grid[r - 1, c] == number
            texts.append("^" if is_above else "<" if is_left else cell.text)
            if not is_above:
                marks.add((cell.is_header, cell.is_projected))
        mark = "".join(sorted(name for name, flags in MARKS.items() if flags in marks)) or "^"
        lines.append(f"{mark} {' | '.join(texts)}")
    return "\n".join(lines)
