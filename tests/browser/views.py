"""One of each view, for what must hold for all of them; a new view is one line in `VIEWS`."""

from __future__ import annotations

#: What the views show.
SETUP = """
import extractbench_nb as xb
from extractbench_nb.tables.grid_similarity import grits
ds = xb.load_dataset()
document = "brindlemoor_10q_q2_fy2031"
gold = ds.gold(document)
predicted = ds.root / "runs/osprey-7b/brindlemoor_10q_q2_fy2031.json"
ev = xb.evaluate(ds.schema("quarterly_report"), gold, predicted)
evaluation = xb.show(ev)
evaluation.selected_row = "$.filing.audited"
true, other = ([{"row_nums": [row], "column_nums": [column], "text": f"{row} {column} {word}"}
    for row in range(4) for column in range(3)] for word in ("true", "other"))
task = xb.construction.load()["retailer_results"]
answer = task.gold.assign(stores="66").drop(columns="auditor").iloc[1:]
comparison = xb.construction.compare(task.gold, answer, keys=list(task.keys))
construction = xb.show(comparison, documents=task)
construction.selected = ["gold", 4, "stores"]
boxes = [{"label": f"table {name}", "bbox": box} for name, box in (
    ("row", (0, 0, 90, 10)), ("row", (0, 10, 90, 20)), ("column", (0, 0, 50, 20)),
    ("column", (50, 0, 90, 20)), ("spanning cell", (0, 0, 90, 10)))]
objects = xb.show(xb.tables.from_objects(boxes))
objects.selected = 4
cases = [("Northwind Inc.", "Northwind"), ("Zurich", "Zurich"), ("pen", "ink")]
"""
#: Names of views, and the expressions that make them.
VIEWS = {
    "schema": "xb.show(ev.schema, ev)",
    "evaluation": "evaluation",
    "explore": "xb.explore(ev)",
    "matches": 'xb.show_matches(ev, "$.divisions.sales")',
    "evidence": "xb.show_evidence(ds, document, ev)",
    "tables": "xb.show(grits(true, other))",
    "construction": "construction",
    "objects": "objects",
    "workbench": 'xb.workbench("string_fuzzy", cases)',
}
#: What cells that are run apart from `SETUP` need of it.
NAMES = "xb, ds, document, ev, evaluation, grits, true, other, cases, construction, objects"
MAKING = f"{SETUP}\nviews = [{', '.join(VIEWS.values())}]"
