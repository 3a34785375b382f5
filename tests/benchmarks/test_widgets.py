"""The views: how long a person waits for one and for what it answers, and what is sent."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, cycle, islice
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from tests.benchmarks.workloads import citation_objects

#: Items of the long array, and copies of the sample's rows, where it is timed and where it is not.
ITEMS, FEW_ITEMS = 1_000, 150
COPIES, FEW_COPIES = 108, 3
PARAMS = {
    "string_fuzzy": "threshold",
    "string_semantic": "pass_threshold",
    "number_tolerance": "tolerance",
}


@pytest.fixture(scope="module")
def sources(quick: bool) -> dict[str, Any]:
    """What the views show: an evaluation of a long array, and rows of runs, also many times."""
    fields = xb.evaluate_runs(xb.load_dataset(), progress=False).fields
    copies = range(FEW_COPIES if quick else COPIES)
    many = [fields.assign(document=fields["document"] + f" {at}") for at in copies]
    ev = xb.evaluate(*citation_objects(FEW_ITEMS if quick else ITEMS).case)
    assert ev.warnings is not None
    return {"ev": ev, "rows": fields, "many": pd.concat(many, ignore_index=True)}


def cases(fields: pd.DataFrame, metric: str) -> list[tuple[Any, Any, bool]]:
    """A thousand pairs of values, over and over, and made-up verdicts of people."""
    rows = fields[fields["metric"].eq(metric) & fields["gold"].notna()]
    pairs = cycle(zip(rows["gold"], rows["predicted"], rows["passed"].fillna(False), strict=True))
    return list(islice(pairs, 1000))


MAKE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "evaluation": lambda of: xb.show(of["ev"]),
    "matches": lambda of: xb.show_matches(of["ev"], "items"),
    "failures": lambda of: xb.explore(of["rows"]),
    "failures of many documents": lambda of: xb.explore(of["many"]),
    **{
        f"workbench, {metric}": lambda of, m=metric, s=source: xb.workbench(m, cases(of["rows"], s))
        for metric, source in {
            "string_fuzzy": "string_semantic",
            "string_semantic": "string_semantic",
            "number_tolerance": "number_tolerance",
        }.items()
    },
}


def sent(view: Any) -> str:
    size = sum(len(getattr(view, f"_p{at}")) for at in range(view._slots)) / 1024
    return f"{size:.0f} KB sent, static twin {len(view.to_html()) / 1024:.0f} KB"


@pytest.mark.parametrize("name", MAKE)
def test_building(name: str, sources: Any, timed: Any, benchmark: Any) -> None:
    view = timed("views", f"build, {name}", MAKE[name], sources, rounds=3, warm=1)
    benchmark.extra_info["work"] = sent(view)
    assert len(view.to_html()) < 300 * 1024


def typed(view: Any, trait: str, texts: tuple[str, ...]) -> None:
    for text in texts:
        setattr(view, trait, text)


NUMBERS = count(1)
#: The view, and what a person does in it.
USED: dict[str, tuple[str, Callable[[Any], object]]] = {
    "type a letter": ("evaluation", lambda view: typed(view, "text", ("", "abe"))),
    "choose a row": ("evaluation", lambda view: view.perform("row", next(NUMBERS) % 100)),
    "another align_threshold": (
        "matches",
        lambda view: setattr(view, "thresholds", {"align_threshold": next(NUMBERS) % 90 / 100}),
    ),
    "choose an item on another page": (
        "matches",
        lambda view: setattr(view, "selected_pair", (97 * next(NUMBERS) % FEW_ITEMS, None)),
    ),
    "three searches": ("matches", lambda view: typed(view, "text", ("arXiv:1", "ist", ""))),
    "filter twice": (
        "failures of many documents",
        lambda view: typed(view, "text", ("", "balance")),
    ),
    "click on a cell": (
        "failures of many documents",
        lambda view: view.perform("cell", [1 + next(NUMBERS) % 2, 0]),
    ),
    "click on a count": (
        "failures of many documents",
        lambda view: setattr(view, "reason", "value_mismatch" if next(NUMBERS) % 2 else ""),
    ),
    **{
        f"move {metric}.{param}": (
            f"workbench, {metric}",
            lambda view, p=param: setattr(view, "params", {p: next(NUMBERS) % 97 / 100}),
        )
        for metric, param in PARAMS.items()
    },
    "searches in cases": (
        "workbench, string_fuzzy",
        lambda view: typed(view, "text", ("a", "an", "")),
    ),
}


@pytest.mark.parametrize("name", USED)
def test_using(name: str, sources: Any, timed: Any, benchmark: Any) -> None:
    made, use = USED[name]
    view = MAKE[made](sources)
    before = [getattr(view, f"_p{at}") for at in range(view._slots)]
    timed("views", f"{made}: {name}", use, view, rounds=5, warm=1)
    benchmark.extra_info["work"] = sent(view)
    if name not in ("three searches", "searches in cases"):  # they end as they began
        assert before != [getattr(view, f"_p{at}") for at in range(view._slots)]
