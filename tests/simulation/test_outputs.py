"""Simulated runs: what was put in is what parser and evaluator find."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.calling import MODES
from extractbench_nb.extraction.parsing import FAILURES, parse_output
from extractbench_nb.simulation.catalogue import CORRUPTIONS
from extractbench_nb.simulation.outputs import (
    SIMULATED_COLUMNS,
    SIMULATED_RECORD_COLUMNS,
    Simulation,
    simulate,
)
from extractbench_nb.simulation.profiles import (
    MIXTURE,
    ModelProfile,
    model_profile,
    model_profiles,
    severity_rates,
)
from tests.extraction.conftest import sample

EVERY_FAILURE = {"*": dict.fromkeys(FAILURES, 1)}
VALID = {"*": {"none": 1}}


def profile(rates: dict[str, float], failures: Any = VALID, **options: Any) -> ModelProfile:
    return ModelProfile("test", failures, {"*": rates}, **options)


def found(made: Simulation, dataset: xb.benchmark.Dataset) -> list[str]:
    """The failures that the parser finds."""
    return [
        parse_output(
            row.raw, row.meta, dataset.schema(row.schema), gold=dataset.gold(row.document)
        ).failure
        for row in made.outputs.itertuples()
    ]


# The loop: from raw text through the parser.


@pytest.mark.parametrize("seed", range(4))
def test_every_failure_is_found_again(seed: int) -> None:
    options = {"wrappings": {"fence": 0.3, "bom": 0.2}}
    made = simulate(sample(), profile(severity_rates(0.2), EVERY_FAILURE, **options), seed)
    assert found(made, sample()) == made.outputs["failure"].tolist()
    assert sorted(made.outputs["failure"]) == sorted(FAILURES)  # 14 documents, 14 of them


@pytest.mark.parametrize("failure", FAILURES)
def test_one_failure_for_all(failure: str) -> None:
    made = simulate(sample(), profile(severity_rates(0.3), {"*": {failure: 1}}), "s")
    assert set(made.outputs["failure"]) == {failure}
    assert set(found(made, sample())) == {failure}


def test_a_text_or_an_error() -> None:
    made = simulate(sample(), profile({}, EVERY_FAILURE, provider="anthropic"), 2)
    for row in made.outputs.itertuples():
        assert row.meta["simulated"] is True
        assert row.meta["model"] == "simulated test"
        assert json.loads(json.dumps(row.meta)) == row.meta
        if row.meta["error"] is not None:
            assert (row.raw, row.meta["finish_reason"]) == (None, None)
        if row.failure == "context_length":
            assert row.meta["error"]["message"].startswith("prompt is too long")


def test_modes_and_domains_go_together_as_section_4_2_says() -> None:
    total: Counter[tuple[str, str]] = Counter()
    for one in model_profiles().values():
        for domain, failures in one.failures.items():
            total.update({(domain, failure): int(count) for failure, count in failures.items()})
    assert total["10-K/Q", "empty_response"] == 19
    assert total["10-K/Q", "trailing_comma"] == 20
    assert total["credit", "page_limit"] == 20
    assert sum(count for (_, failure), count in total.items() if failure == "none") == 107
    assert sum(total.values()) == 210


# The loop: from the record to the evaluator's outcomes.


def is_below(path: str, other: str) -> bool:
    """Whether a path is another one, or lies below it."""
    return path == other or path.startswith((f"{other}.", f"{other}["))


def test_what_is_left_alone_is_right() -> None:
    made = simulate(sample(), profile({"omit": 0.2, "sign": 0.2, "hallucinate": 0.3}), 1)
    for row in made.outputs.itertuples():
        schema, gold = sample().schema(row.schema), sample().gold(row.document)
        ev = xb.evaluate(schema, gold, json.loads(row.raw), profile="strict")
        wrong = ev.fields[ev.fields["passed"].eq(False) & ~ev.fields["path"].str.contains(r"\[")]
        told = made.record.loc[made.record["document"] == row.document, "path"].tolist()
        for path in wrong["path"]:
            assert any(is_below(path, p) or is_below(p, path) for p in told), path


# What a simulation is.


def test_the_same_seed_gives_the_same_simulation() -> None:
    one, two = (simulate("sample", "Gemini 3 Pro", 5) for _ in range(2))
    pd.testing.assert_frame_equal(one.outputs, two.outputs)
    pd.testing.assert_frame_equal(one.record, two.record)
    other = simulate("sample", "Gemini 3 Pro", 6)
    assert one.outputs["raw"].tolist() != other.outputs["raw"].tolist()


def test_frames_are_as_declared() -> None:
    made = simulate(sample(), profile(dict.fromkeys(CORRUPTIONS, 0.1), EVERY_FAILURE), run="r")
    assert made.outputs.columns.tolist() == SIMULATED_COLUMNS.names
    assert made.record.columns.tolist() == SIMULATED_RECORD_COLUMNS.names
    assert set(made.outputs["run"]) == set(made.record["run"]) == {"r"}
    assert made.outputs["document"].tolist() == sample().listing["document"].tolist()
    assert set(made.record["kind"]) <= {"value", "presence", "item", "structure"}
    assert not made.record.duplicated(["document", "path"]).any()
    mute = made.outputs.loc[made.outputs["raw"].isna(), "document"]
    assert not made.record["document"].isin(mute).any()


def test_nothing_is_done_at_rate_0() -> None:
    made = simulate(sample(), profile({}))
    assert made.record.empty
    for row in made.outputs.itertuples():
        assert json.loads(row.raw) == sample().gold(row.document)
    assert repr(made) == "Simulation('simulated test': 14 outputs, 14 valid; 0 changes)"


def test_repr_counts_failures() -> None:
    made = simulate(sample(), profile({}, {"*": {"none": 5, "timeout": 6, "refused": 3}}))
    assert repr(made) == (
        "Simulation('simulated test': 14 outputs, 5 valid, 6 timeout, 3 refused; 0 changes)"
    )


def test_a_violation_is_in_the_record() -> None:
    made = simulate(sample(), profile({}, {"*": {"schema_violation": 1}}))
    assert made.record["corruption"].tolist() == ["wrong_type"] * 14
    assert made.record["document"].tolist() == made.outputs["document"].tolist()


def test_a_document_of_which_nothing_would_be_left(tmp_path: Any) -> None:
    folder = tmp_path / "domain" / "small" / "pdf+gold"
    folder.mkdir(parents=True)
    schema = '{"type": "object", "properties": {"a": {"type": "string"}}}'
    (folder.parent / "small-schema.json").write_text(schema)
    (folder / "one.gold.json").write_text('{"a": "x"}')
    for failure in ("truncated_json", "schema_violation"):
        made = simulate(tmp_path, profile({"omit": 1}, {"*": {failure: 1}}))
        assert made.outputs["failure"].tolist() == [failure]
        assert "omit" not in set(made.record["corruption"])
    assert json.loads(simulate(tmp_path, profile({"omit": 1})).outputs["raw"][0]) == {}


def test_a_schema_that_allows_everything(tmp_path: Any) -> None:
    folder = tmp_path / "domain" / "free" / "pdf+gold"
    folder.mkdir(parents=True)
    (folder.parent / "free-schema.json").write_text('{"type": "object", "properties": {"a": {}}}')
    (folder / "one.gold.json").write_text('{"a": 1}')
    failing = profile({}, {"*": {"schema_violation": 1}})
    with pytest.raises(InputError, match="document 'one': no schema_violation is possible"):
        simulate(tmp_path, failing)
    (folder / "one.gold.json").write_text("{}")
    with pytest.raises(InputError, match="document 'one': truncated_json needs an object"):
        simulate(tmp_path, profile({}, {"*": {"truncated_json": 1}}))


# Profiles.


@pytest.mark.parametrize(
    "schema, domain, kind",
    [
        ("swimming", "sport", "sports"),
        ("cv", "hiring", "resumes"),
        ("finance/10kq", "finance", "10-K/Q"),
        ("invoice", "billing", "*"),
    ],
)
def test_kinds_of_documents(schema: str, domain: str, kind: str) -> None:
    one = model_profile("GPT-5.2")
    assert one.kind_of(schema, domain) == kind
    assert sum(one.failures_of("*").values()) == 35
    assert set(one.corruptions_of(kind)) == set(MIXTURE)


def test_kinds_by_name() -> None:
    one = ModelProfile("m", {"hiring": {"none": 1}, "rowing": {"timeout": 1}, "*": {"other": 1}})
    made = simulate(sample(), one).outputs
    expected = {"cv": "none", "rowing": "timeout"}
    assert made["failure"].tolist() == [expected.get(s, "other") for s in made["schema"]]


def test_structured_mode_is_another_model() -> None:
    plain, strict = (simulate(sample(), model_profile("GPT-5", mode)) for mode in MODES)
    assert plain.run == "simulated GPT-5"
    assert strict.run == "simulated GPT-5 structured"
    assert set(strict.outputs.loc[strict.outputs["schema"] == "cv", "failure"]) == {
        "schema_rejected"
    }
    assert strict.outputs["wrapping"].isna().all()
    assert plain.outputs["raw"].tolist() != strict.outputs["raw"].tolist()
    assert found(strict, sample()) == strict.outputs["failure"].tolist()


def test_valid_outputs_of_structured_mode() -> None:
    """Section 4.3: 77 of 210, 5 of each Claude model, none on resumes and 10-K/Q filings."""
    profiles = model_profiles("structured")
    valid = {
        (name, domain): int(failures["none"])
        for name, one in profiles.items()
        for domain, failures in one.failures.items()
    }
    assert sum(valid.values()) == 77
    assert sum(v for (_, domain), v in valid.items() if domain in ("resumes", "10-K/Q")) == 0
    for name in ("Claude Sonnet 4.5", "Claude Opus 4.5"):
        assert sum(v for (model, _), v in valid.items() if model == name) == valid[name, "sports"]
        assert valid[name, "sports"] == 5
    documents = {d: sum(f.values()) for d, f in profiles["GPT-5"].failures.items()}
    assert documents == {"sports": 5, "credit": 10, "research": 6, "resumes": 7, "10-K/Q": 7}


def test_the_mixture_is_of_known_corruptions_that_leave_the_form() -> None:
    assert set(MIXTURE) == {n for n, c in CORRUPTIONS.items() if c.level != "structure"} - {
        "word_order",
        "sign",
    }
    assert max(severity_rates(3).values()) == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("", VALID), "name is ''"),
        (("m", {"*": {"trailing_commas": 1}}), "did you mean 'trailing_comma'"),
        (("m", {"*": {"none": 0}}), "expected a weight above 0"),
        (("m", {"*": {"none": -1}}), "expected a number of 0 and up"),
        (("m", {"*": {"none": float("nan")}}), "expected a number of 0 and up"),
        (("m", ["none"]), "failures is .*; expected a dict"),
        (("m", VALID, {"*": {"typos": 0.1}}), "did you mean 'typo'"),
        (("m", VALID, {"*": {"typo": 2}}), "expected a number from 0 to 1"),
        (("m", VALID, {}, {}, {"fences": 1}), "did you mean 'fence'"),
        (("m", VALID, {}, {}, {}, 0), "strength=0; expected above 0"),
        (("m", VALID, {}, {}, {}, 1, "opnai"), "did you mean 'openai'"),
        (("m", VALID, {}, {}, {}, 1, "openai", "json"), "mode: no 'json'; expected one of"),
    ],
)
def test_bad_profiles(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ModelProfile(*arguments)


@pytest.mark.parametrize("name", ["Gemini 3", None, 5])
def test_an_unknown_model(name: Any) -> None:
    with pytest.raises(InputError, match="expected a ModelProfile or a model"):
        simulate("sample", name)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"seed": None}, "seed is None; expected an integer or a text"),
        ({"seed": 1.5}, "seed is 1.5; expected an integer or a text"),
        ({"seed": True}, "seed is True; expected an integer or a text"),
        ({"seed": [1]}, r"seed is \[1\]; expected an integer or a text"),
        ({"run": 3}, "run is 3; expected a name"),
        ({"run": ["a"]}, r"run is \['a'\]; expected a name"),
        ({"run": ""}, "run is ''; expected a name"),
        ({"dataset": 5}, "dataset is int; expected a Dataset, a name or a path"),
        ({"dataset": pd.DataFrame()}, "dataset is DataFrame; expected a Dataset, a name or a path"),
    ],
    ids=str,
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    given: Any = {"dataset": sample(), "profile": profile({})} | options
    with pytest.raises(InputError, match=message):
        simulate(**given)


def test_seeds_and_datasets_that_are_the_same() -> None:
    one, two = simulate("sample", "GPT-5", 3), simulate(None, "GPT-5", np.int64(3))
    pd.testing.assert_frame_equal(one.outputs, two.outputs)
    assert type(two.seed) is int


@pytest.mark.parametrize("folder", [None, 3, b"run", ["run"]])
def test_a_simulation_is_saved_in_a_folder(folder: Any) -> None:
    with pytest.raises(InputError, match=r"folder is .*; expected the path of a run's folder"):
        simulate(sample(), profile({})).save(folder)


def test_an_unknown_mode() -> None:
    with pytest.raises(InputError, match="mode: no 'strict'"):
        model_profiles("strict")


@pytest.mark.parametrize("model", ["Gemini 3 Flash", "Claude Opus 4.5"])
def test_a_saved_simulation_is_read_like_a_run(model: str, tmp_path: Any) -> None:
    made = simulate(sample(), model, seed=1)
    folder = made.save(tmp_path / "run")
    run = xb.extraction.Run.open(folder)
    assert run.description["kind"] == "simulation"
    assert run.description["model"] == f"simulated {model}"
    back = xb.read_outputs(run, sample()).set_index("document")["failure"]
    assert back.to_dict() == made.outputs.set_index("document")["failure"].to_dict()
    with pytest.raises(InputError):
        made.save(folder)


def assert_equal(one: Simulation, other: Simulation) -> None:
    assert (one.run, one.profile, one.seed) == (other.run, other.profile, other.seed)
    pd.testing.assert_frame_equal(one.outputs, other.outputs)
    pd.testing.assert_frame_equal(one.record, other.record)


@pytest.mark.parametrize("seed", [7, "7"])
def test_a_saved_simulation_comes_back(tmp_path: Path, seed: int | str) -> None:
    everything = profile(
        dict.fromkeys(CORRUPTIONS, 0.2),
        EVERY_FAILURE,
        wrappings={"fence": 0.5, "bom": 0.5},
        kinds=MappingProxyType({"cv": "*"}),
        strength=np.float32(0.25),
        mode="structured",
    )
    for name, model in (("all", everything), ("none", profile({}))):
        made = simulate(sample(), model, seed, run="r")
        back = Simulation.open(made.save(tmp_path / name))
        assert_equal(back, made)
        assert_equal(Simulation.open(back.save(tmp_path / f"{name} again")), made)


def test_a_saved_simulation_is_checked_and_served(tmp_path: Path) -> None:
    made = simulate(sample(), "Gemini 3 Flash", 1)
    back = Simulation.open(made.save(tmp_path / "run"))
    one, other = (xb.simulation.check_simulation(which, sample()) for which in (made, back))
    pd.testing.assert_frame_equal(one.summary, other.summary)
    with xb.simulation.serve_simulations(back, sample()) as server:
        assert list(server.models) == ["Gemini 3 Flash"]
    assert sorted(xb.extraction.Run.open(tmp_path / "run").outputs["document"]) == sorted(
        made.outputs["document"]
    )


def test_a_simulation_of_no_document_comes_back(tmp_path: Path) -> None:
    made = simulate(sample(), profile({}))
    none = replace(made, outputs=made.outputs[:0])
    assert_equal(Simulation.open(none.save(tmp_path / "run")), none)


def test_the_record_keeps_lone_surrogates(tmp_path: Path) -> None:
    made = simulate(sample(), profile({"typo": 0.3}))
    made.record["before"] = [{"a\ud800": ["\udfff\\"]}] * len(made.record)
    back = Simulation.open(made.save(tmp_path / "run"))
    pd.testing.assert_frame_equal(back.record, made.record)


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "no simulation in .*: expected a folder with simulation.json"),
        ("{", "is not JSON"),
        ("[]", "is not a simulation"),
        ("{}", "is not a simulation: 'profile'"),
        ('{"profile": {"name": ""}}', "is not a simulation"),
        ('{"profile": {"name": "m", "failures": {}, "odd": 1}}', "is not a simulation"),
        ({"outputs": {}}, "is not a simulation: 'document'"),
        ({"outputs": {"document": ["none"]}}, "no output for document 'none'"),
        ({"record": 3}, "is not a simulation: record has no columns"),
        ({"record": {"path": "$"}}, "is not a simulation: record has no columns"),
        ({"record": {"path": ["$"]}}, "is not a simulation"),
        ({"outputs": [1]}, "is not a simulation: outputs has no columns"),
        ({"seed": None}, "is not a simulation: seed is None"),
        ({"odd": 3}, "is not a simulation: 'odd'"),
    ],
    ids=str,
)
def test_folders_without_a_simulation(tmp_path: Path, content: Any, message: str) -> None:
    file = simulate(sample(), profile({})).save(tmp_path / "run") / "simulation.json"
    if isinstance(content, dict):
        content = json.dumps(json.loads(file.read_text()) | content)
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    with pytest.raises(InputError, match=message):
        Simulation.open(file.parent)


def test_no_dataset_is_the_sample() -> None:
    made = simulate(None, profile({}))
    assert (xb.read_outputs(made.outputs, None)["failure"] == "none").all()
