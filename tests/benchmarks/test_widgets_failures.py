"""The failure explorer: how long a person waits for it, and what is sent to the page."""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.simulation.corrupt import corrupt_document

GROUP = "failure explorer"
#: Copies of the sample's 6,558 rows where it is timed, and where it is not.
MANY, FEW = 108, 3
#: Generated schemas, one document each, of which six runs are simulated: 300 outputs.
SCHEMAS, FEW_SCHEMAS = 50, 3
WORDS = (
    *("account", "address", "amount", "approval", "author", "balance", "branch", "buyer", "charge"),
    *("claim", "clause", "contact", "contract", "country", "coverage", "credit", "customer"),
    *("delivery", "deposit", "discount", "duration", "employer", "event", "exposure", "fee"),
    *("grade", "holder", "income", "index", "interest", "invoice", "item", "journal", "lease"),
    *("limit", "margin", "notice", "office", "order", "owner", "parcel", "party", "payment"),
    *("premium", "product", "quantity", "rate", "region", "result", "route", "sample", "seller"),
)
TEXT = {"type": "string"}


def _made(rng: random.Random) -> tuple[dict[str, Any], Any]:
    """Generate a schema of sections and an array, and a gold document."""
    schema: dict[str, Any] = {}
    gold: dict[str, Any] = {}
    for section in rng.sample(WORDS, rng.randint(4, 8)):
        fields, values = _fields(rng, rng.randint(4, 9))
        schema[section] = {"type": "object", "properties": fields}
        gold[section] = values
    rows = [_fields(random.Random("items"), 4) for _ in range(rng.randint(3, 30))]
    items = {"type": "object", "properties": rows[0][0]}
    schema["entries"] = {"type": "array", "items": items}
    gold["entries"] = [
        {name: f"{value} {at}" if isinstance(value, str) else at for name, value in row.items()}
        for at, (_, row) in enumerate(rows)
    ]
    return {"type": "object", "properties": schema}, gold


def _fields(rng: random.Random, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    schema, gold = {}, {}
    for name in rng.sample(WORDS, number):
        kind = rng.choice(["string", "string", "number", "integer", "boolean"])
        schema[name] = {"type": kind}
        gold[name] = {
            "string": " ".join(rng.sample(WORDS, rng.randint(1, 8))),
            "number": round(rng.uniform(0, 100_000), 2),
            "integer": rng.randint(0, 5_000),
            "boolean": rng.random() < 0.5,
        }[kind]
    return schema, gold


@pytest.fixture(scope="module")
def simulated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> xb.Evaluations:
    """Six runs of generated schemas, each with more errors than the one before."""
    rng = random.Random("schemas")
    folder = tmp_path_factory.mktemp("generated")
    quick = request.config.getoption("benchmark_disable")
    for at in range(FEW_SCHEMAS if quick else SCHEMAS):
        schema, gold = _made(rng)
        name = f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{at}"
        place = folder / rng.choice(["finance", "health", "law", "trade"]) / name
        (place / "pdf+gold").mkdir(parents=True)
        (place / f"{name}-schema.json").write_text(json.dumps(schema))
        (place / "pdf+gold" / f"report_{at}.gold.json").write_text(json.dumps(gold))
    dataset = xb.load_dataset(folder)
    rows = []
    for at in range(6):
        rates = dict.fromkeys(("typo", "changed_digit", "omit", "drop_items"), 0.01 + 0.02 * at)
        for document, schema in dataset.listing[["document", "schema"]].itertuples(index=False):
            gold, seed = dataset.gold(document), f"{at} {document}"
            made = corrupt_document(dataset.schema(schema), gold, rates, seed=seed).value
            text = json.dumps(made)
            is_cut_off = rng.random() < 0.02 * at
            rows.append((f"model-{at}", document, text[: len(text) // 2] if is_cut_off else text))
    runs = pd.DataFrame(rows, columns=["run", "document", "predicted"])
    return xb.evaluate_runs(runs, dataset=dataset, progress=False)


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return xb.evaluate_runs(xb.load_dataset(), progress=False).fields


@pytest.fixture(scope="module")
def many(sample: pd.DataFrame, request: pytest.FixtureRequest) -> pd.DataFrame:
    copies = FEW if request.config.getoption("benchmark_disable") else MANY
    return pd.concat(
        [sample.assign(document=sample["document"] + f" {i}") for i in range(copies)],
        ignore_index=True,
    )


def _sent(view: Any) -> str:
    size = sum(len(getattr(view, f"_p{at}")) for at in range(view._slots)) / 1024
    return f"{size:.0f} KB sent, static twin {len(view.to_html()) / 1024:.0f} KB"


@pytest.mark.parametrize("size", ["sample", "many", "simulated"])
def test_building(size: str, request: pytest.FixtureRequest, timed: Any, benchmark: Any) -> None:
    from extractbench_nb.views.failures_view import FailureExplorer

    source = request.getfixturevalue(size)
    fields = source if isinstance(source, pd.DataFrame) else source.fields
    documents = fields["document"].nunique()
    name = f"build, {len(fields):,} rows of {documents:,} documents ({size})"
    view = timed(GROUP, name, FailureExplorer, source, rounds=3, warm=1)
    assert len(view.selection) == fields["counted"].sum()
    assert len(view.to_html()) < 300 * 1024
    benchmark.extra_info["work"] = _sent(view)


def test_memory(simulated: xb.Evaluations, timed: Any, benchmark: Any) -> None:
    from extractbench_nb.views.failures_view import FailureExplorer

    len(simulated.fields)
    tracemalloc.start()
    view = FailureExplorer(simulated)
    view.text = "a"
    view.text = ""
    view.perform("cell", [1, 1])
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    timed(GROUP, "static twin (simulated)", view.to_html, rounds=3, warm=1)
    assert held < 300 * 1024 * len(simulated)
    benchmark.extra_info["work"] = f"{held / 2**20:.0f} MB held, {peak / 2**20:.0f} MB at most"


def test_filtering_while_typing(many: pd.DataFrame, timed: Any, benchmark: Any) -> None:
    from extractbench_nb.views.failures_view import FailureExplorer

    view = FailureExplorer(many)

    def typed() -> int:
        view.find = ""
        view.find = "balance"
        return len(view.selection)

    found = timed(GROUP, f"filter twice, {len(many):,} rows", typed, rounds=3, warm=1)
    assert 0 < found < len(many)
    benchmark.extra_info["work"] = _sent(view)


@pytest.mark.parametrize("size", ["many", "simulated"])
@pytest.mark.parametrize("place", ["cell", "count"])
def test_a_click(
    size: str, place: str, request: pytest.FixtureRequest, timed: Any, benchmark: Any
) -> None:
    from extractbench_nb.views.failures_view import FailureExplorer

    source = request.getfixturevalue(size)
    view = FailureExplorer(source)
    columns = [next(at for at, c in enumerate(line, 1) if c) for line in view._shown_grid().cells]

    def clicked() -> int:
        if place == "cell":
            view.perform("cell", [2, columns[1]])
            view.perform("cell", [1, columns[0]])
        else:
            view.perform("mode", [None, None, 0])
            view.perform("mode", [None, None, None])
        return len(view.selection)

    found = timed(GROUP, f"click on a {place} twice ({size})", clicked, rounds=3, warm=1)
    assert found > 0
    benchmark.extra_info["work"] = _sent(view)
