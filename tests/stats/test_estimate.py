"""Estimates without gold: against known truth, the warning signs, and on real outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError

PROPERTIES = {f"f{n}": {"type": "string"} for n in range(10)}
ITEM = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
SCHEMA = {
    "type": "object",
    "properties": PROPERTIES | {"lines": {"type": "array", "items": ITEM}},
}
VENDORS = ["claude", "gemini", "gpt", "llama", "qwen", "grok"]


def outputs_of(
    rates: dict[str, float], *, documents: int = 12, shared: float = 0.0, seed: int = 0
) -> pd.DataFrame:
    """Runs with known rates of mistakes of their own, and of mistakes that all make."""
    random = Random(seed)
    rows = []
    for n in range(documents):
        gold = {name: f"value {n} {name}" for name in PROPERTIES}
        gold["lines"] = [{"a": f"item {n} {i}", "b": f"amount {n} {i}"} for i in range(3)]
        read = dict(gold)
        for name in PROPERTIES:
            if random.random() < shared:
                read[name] = f"shared mistake {n} {name}"
        for run, rate in rates.items():
            own = {
                name: f"{run} mistake" if random.random() < rate else value
                for name, value in read.items()
            } | {"lines": read["lines"]}
            rows.append((run, f"d{n}", own, gold, SCHEMA))
    return pd.DataFrame(rows, columns=["run", "document", "predicted", "gold", "schema"])


def rates_by_run(estimate: xb.stats.Estimate) -> pd.DataFrame:
    return estimate.runs.set_index("run")


@pytest.mark.parametrize(
    "rates, largest",
    [
        pytest.param([0.0] * 3, 0.0, id="all right"),
        pytest.param([0.05, 0.1, 0.2], 0.04, id="three"),
        pytest.param([0.02, 0.05, 0.1, 0.2], 0.04, id="four"),
        pytest.param([0.02, 0.05, 0.1, 0.2, 0.3, 0.4], 0.04, id="six"),
    ],
)
def test_independent_mistakes(rates: list[float], largest: float) -> None:
    runs = outputs_of(dict(zip(VENDORS, rates, strict=False)))
    gold = xb.evaluate_runs(runs, progress=False)
    found = xb.stats.estimate(runs.drop(columns="gold"), gold=gold)
    assert found.signs == ()
    rows = rates_by_run(found)
    assert rows["gap"].abs().max() <= largest
    assert rows["gold"].between(rows["low"] - 1e-9, rows["high"] + 1e-9).all()
    assert rows["estimate"].between(rows["low"], rows["high"]).all()
    assert rows["estimate"].rank().tolist() == rows["gold"].rank().tolist()
    truth = gold.summary.set_index(["run", "document"])["pass_rate"]
    documents = found.documents.set_index(["run", "document"])
    pd.testing.assert_series_equal(
        documents["gold"], truth.reindex(documents.index), check_names=False
    )
    field = found.fields.set_index(["run", "field"])
    assert set(field.index.get_level_values("field")) == {*PROPERTIES, "lines[].a", "lines[].b"}
    assert field["gap"].abs().mean() <= largest


@pytest.mark.parametrize(
    "change, options, sign",
    [
        pytest.param({}, {}, None, id="none"),
        pytest.param({"runs": 2}, {}, "2 vendors (anthropic, google), three", id="few runs"),
        pytest.param(
            {"names": ["gpt-4o", "GPT 5", "openai_o3"]}, {}, "1 vendor (openai)", id="one"
        ),
        pytest.param({"names": ["run 1", "run 2", "run 3"]}, {}, "1 vendor (run)", id="repeated"),
        pytest.param({"names": ["1", "2", "3"]}, {}, "1 vendor (unnamed)", id="numbers"),
        pytest.param({}, {"vendors": {"gpt": "google"}}, "2 vendors (anthropic, go", id="given"),
        pytest.param(
            {"names": ["1", "2", "3"]}, {"vendors": {"1": "x", "2": "y"}}, None, id="some"
        ),
        pytest.param({"rate": 0.6}, {}, "the mean agreement is 0.", id="low agreement"),
        pytest.param({"shared": 0.3}, {"gold": True}, "from gold, max_gap is 0.1", id="gold"),
        pytest.param({"shared": 0.3}, {"gold": True, "max_gap": 0.5}, None, id="gap allowed"),
        pytest.param({"shared": 0.3}, {}, None, id="shared mistakes are not seen without gold"),
        pytest.param({"broken": 1}, {}, "no document has readable outputs of three", id="unread"),
    ],
)
def test_warning_signs(change: dict[str, Any], options: dict[str, Any], sign: str | None) -> None:
    names = change.get("names", VENDORS[: change.get("runs", 3)])
    rates = dict.fromkeys(names, change.get("rate", 0.05))
    runs = outputs_of(rates, documents=8, shared=change.get("shared", 0.0))
    if "gold" in options:
        options = options | {"gold": xb.evaluate_runs(runs, progress=False)}
    for n in range(change.get("broken", 0)):
        runs.loc[runs["run"] == names[n], "predicted"] = "{"
    found = xb.stats.estimate(runs, **options)
    frames = [found.runs, found.fields, found.documents]
    if sign is None:
        assert found.signs == ()
        assert all(frame["estimate"].notna().all() for frame in frames)
        assert repr(found).startswith("Estimated pass rates without gold, 3 runs of 3 vendors")
        return
    assert sign in found.signs[0]
    for frame in frames:
        assert frame[["estimate", "low", "high"]].isna().all(axis=None)
        assert frame["reason"].eq("; ".join(found.signs)).all()
    assert found.runs["agreement"].notna().all()
    assert found.signs[0] in repr(found)


def test_an_unreadable_output_has_the_rate_0_and_no_vote() -> None:
    runs = outputs_of(dict.fromkeys(VENDORS[:4], 0.0), documents=2)
    runs.loc[0, "predicted"] = "{"
    found = xb.stats.estimate(runs)
    rows = found.documents.set_index(["run", "document"])["estimate"]
    assert rows["claude", "d0"] == 0.0
    assert rows.drop(("claude", "d0")).eq(1.0).all()
    assert rates_by_run(found).loc["claude", "estimate"] == 0.5


def test_a_document_with_too_few_vendors_has_a_reason_and_is_left_out() -> None:
    runs = outputs_of(dict.fromkeys(VENDORS[:3], 0.0), documents=3)
    found = xb.stats.estimate(runs.drop(index=0))
    rows = found.documents
    assert rows[rows["estimate"].isna()][["run", "document", "reason"]].values.tolist() == [
        ["gemini", "d0", "readable outputs of fewer than three vendors"],
        ["gpt", "d0", "readable outputs of fewer than three vendors"],
    ]
    assert found.runs["documents"].tolist() == [2, 2, 2]


def test_items_that_an_output_lacks_are_wrong() -> None:
    runs = outputs_of(dict.fromkeys(VENDORS[:4], 0.0), documents=2)
    runs["predicted"] = [
        value | {"lines": value["lines"][:1]} if run == "gpt" else value
        for run, value in zip(runs["run"], runs["predicted"], strict=True)
    ]
    gold = xb.evaluate_runs(runs, progress=False)
    rows = rates_by_run(xb.stats.estimate(runs, gold=gold))
    assert rows.loc["gpt", "estimate"] == pytest.approx(12 / 16)
    assert rows["gap"].tolist() == pytest.approx([0.0] * 4)


def test_runs_of_one_vendor_share_a_vote() -> None:
    names = ["gpt-1", "gpt-2", "gpt-3", "claude", "qwen"]
    runs = outputs_of(dict.fromkeys(names, 0.0), documents=2)
    runs["predicted"] = [
        value | {"f0": "mistake of GPT"} if run.startswith("gpt") else value
        for run, value in zip(runs["run"], runs["predicted"], strict=True)
    ]
    rows = xb.stats.estimate(runs).fields.query("field == 'f0'").set_index("run")
    assert rows["agreement"].to_dict() == dict.fromkeys(names[:3], 0.0) | {
        "claude": 0.5,
        "qwen": 0.5,
    }
    apart = xb.stats.estimate(runs, vendors={name: name for name in names})
    of_gpt = apart.fields.query("field == 'f0' and run == 'gpt-1'")
    assert of_gpt["agreement"].tolist() == [0.5]  # their shared mistake counts as right


def test_a_run_under_two_names_has_one_vote() -> None:
    runs = outputs_of({"claude": 0.2, "gemini": 0.1, "gpt": 0.1}, documents=4)
    copy = runs[runs["run"] == "claude"].assign(run="llama")
    expected = rates_by_run(xb.stats.estimate(runs)).drop(columns="gold")
    with pytest.warns(UserWarning, match="'claude', 'llama' have the same outputs"):
        found = xb.stats.estimate(pd.concat([runs, copy]))
    assert found.vendors == {
        "claude": "anthropic", "gemini": "google", "gpt": "openai", "llama": "anthropic"
    }  # fmt: skip
    columns = ["agreement", "estimate"]
    rows = rates_by_run(found)[columns]
    assert rows.loc["llama"].tolist() == rows.loc["claude"].tolist()
    pd.testing.assert_frame_equal(rows.drop(index="llama").sort_index(),
                                  expected[columns].sort_index())  # fmt: skip
    with pytest.warns(UserWarning, match="same outputs"):
        found = xb.stats.estimate(pd.concat([runs[runs["run"] != "gpt"], copy]))
    assert found.signs[0].startswith("2 vendors (anthropic, google)")


def test_a_broken_rule_takes_the_paths_that_it_names() -> None:
    runs = outputs_of(dict.fromkeys(VENDORS[:3], 0.0), documents=2)

    def doubtful(document: dict[str, Any]) -> Any:
        return ["$.f1", "$.lines[0]"] if document["f0"].startswith("value 0") else None

    rules = xb.gold.check_rules(runs.drop(columns="gold"), rules=doubtful)
    found = xb.stats.estimate(runs, rules=rules)
    rows = found.documents.groupby("document")[["estimate", "high", "doubted"]].mean()
    assert rows.loc["d0"].tolist() == pytest.approx([13 / 16, 1.0, 3 / 16])
    assert rows.loc["d1"].tolist() == [1.0, 1.0, 0.0]


def test_an_agreed_value_that_is_not_in_the_pdf_is_doubted() -> None:
    dataset = xb.load_dataset()
    name = "night bus demand"
    preprints = dataset.listing.query("schema == 'preprint'")["document"]
    invented = dataset.gold(name) | {"heading": "Who Drives the Day Tram?"}
    golds = {other: dataset.gold(other) for other in preprints} | {name: invented}
    rows = [(run, *document) for run in VENDORS[:3] for document in golds.items()]
    runs = pd.DataFrame(rows, columns=["run", "document", "predicted"])
    with_pdf = xb.stats.estimate(runs, dataset=dataset).fields
    schemas = [dataset.schema("preprint")] * len(runs)
    without = xb.stats.estimate(runs.assign(schema=schemas)).fields
    headings = [f.query("field == 'heading'")["estimate"].iloc[0] for f in (with_pdf, without)]
    assert headings[0] < headings[1] == 1.0
    assert without["grounded"].isna().all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"max_gap": 2}, "max_gap=2; it is a share from 0 to 1"),
        ({"confidence": 95}, "confidence=95"),
        ({"vendors": {"gtp": "openai"}}, "vendors: unknown run 'gtp'.*'gpt'"),
        ({"rules": pd.DataFrame({"run": []})}, "rules"),
        ({"gold": 3}, "int has no frame 'summary'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        xb.stats.estimate(outputs_of(dict.fromkeys(VENDORS[:3], 0.0), documents=1), **options)


def test_runs_without_a_schema_are_told_what_to_pass() -> None:
    runs = outputs_of(dict.fromkeys(VENDORS[:3], 0.0), documents=1).drop(columns="schema")
    with pytest.raises(InputError, match="no column 'schema'; pass schema= or dataset="):
        xb.stats.estimate(runs)


def test_a_folder_is_read_like_a_frame(tmp_path: Path) -> None:
    runs = outputs_of(dict.fromkeys(VENDORS[:3], 0.2), documents=2)
    for run, document, predicted in runs[["run", "document", "predicted"]].itertuples(index=False):
        (tmp_path / run).mkdir(exist_ok=True)
        (tmp_path / run / f"{document}.json").write_text(json.dumps(predicted), encoding="utf-8")
    read, given = xb.stats.estimate(tmp_path, schema=SCHEMA), xb.stats.estimate(runs)
    pd.testing.assert_frame_equal(rates_by_run(read).sort_index(), rates_by_run(given).sort_index())


def test_six_systems_on_real_documents() -> None:
    folder = os.environ.get("EXTRACTBENCH_DOCUBENCH")
    if not folder:
        pytest.skip("DocuBench is not here: set EXTRACTBENCH_DOCUBENCH to a copy of it")
    dataset = xb.benchmark.load_docubench(folder)
    gold = xb.evaluate_runs(dataset, progress=False)
    rows = xb.stats.estimate(dataset, gold=gold).runs
    assert rows["gap"].abs().max() <= 0.025
    assert rows["estimate"].corr(rows["gold"], method="spearman") >= 0.9
    assert rows["gold"].between(rows["low"], rows["high"]).all()


def test_runs_of_two_vendors_with_broken_gold_are_refused() -> None:
    folder, published = map(os.environ.get, ("EXTRACTBENCH_RUNS", "EXTRACTBENCH_DATASET"))
    if not folder or not published:
        pytest.skip("set EXTRACTBENCH_RUNS and EXTRACTBENCH_DATASET to the folders of real data")
    dataset, runs = xb.load_dataset(published), xb.runs.recorded_outputs(Path(folder))
    gold = xb.evaluate_runs(runs, dataset=dataset, progress=False)
    found = xb.stats.estimate(runs, dataset=dataset, gold=gold)
    assert found.signs[0].startswith("2 vendors (anthropic, google)")
    assert "from gold" in found.signs[1]
    assert found.runs["gap"].min() > 0.1
    assert found.runs["estimate"].isna().all()
