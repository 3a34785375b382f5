"""One of each view, for what must hold for all of them; a new view is one line in `VIEWS`."""

from __future__ import annotations

#: What the views show.
SETUP = """
import extractbench_nb as xb
ds = xb.load_dataset()
gold = ds.gold("brindlemoor_10q_q2_fy2031")
predicted = ds.root / "runs/osprey-7b/brindlemoor_10q_q2_fy2031.json"
ev = xb.evaluate(ds.schema("quarterly_report"), gold, predicted)
evaluation = xb.show(ev)
evaluation.selected_row = "$.filing.audited"
"""
#: Names of views, and the expressions that make them.
VIEWS = {
    "schema": "xb.show(ev.schema, ev)",
    "evaluation": "evaluation",
    "explore": "xb.explore(ev)",
    "matches": 'xb.show_matches(ev, "$.divisions.sales")',
}
MAKING = f"{SETUP}\nviews = [{', '.join(VIEWS.values())}]"
