"""`GoldenCase`: what is worse than a baseline, and baselines that cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.stats.gates import GoldenCase, GoldenError

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "year": {"type": "integer"},
        "name": {"type": "string", "evaluation_config": "string_fuzzy"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "keys": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}
GOLD = {"year": 2024, "name": "abcdefghij", "tags": [*"abcde"], "keys": {"k": 1}}


@pytest.fixture
def case(tmp_path: Path) -> GoldenCase:
    folder = tmp_path / "goldens/one"
    folder.mkdir(parents=True)
    (folder / "gold.json").write_text(json.dumps(GOLD))
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    return GoldenCase("one", folder, tmp_path / "goldens")


def update(case: GoldenCase, **options: Any) -> GoldenCase:
    """Write the baseline of an output, and return the case as it was."""
    new = GoldenCase(case.name, case.folder, case.root, update=True)
    new.check({**GOLD, **options.pop("output", {})}, **options)
    return case


WORSE = [
    ({}, {}, []),
    ({}, {"year": 2025}, ["$.year"]),
    ({"year": 2025}, {"year": 2026}, []),
    ({"year": 2025}, {}, []),
    ({}, {"name": "abcdefghix"}, ["$.name"]),
    ({"name": "abcdefghix"}, {"name": "abcdefghxx"}, ["$.name"]),
    ({"name": "abcdefghxx"}, {"name": "abcdefghix"}, []),
    ({}, {"tags": [*"abcd"]}, ["$.tags"]),
    ({"tags": [*"abcd"]}, {"tags": [*"bcde"]}, []),
    ({}, {"tags": [*"edcba"]}, []),
    ({}, {"keys": {"k": 1, "j": 2}}, ["$.keys['j']"]),
    ({"keys": {"k": 1, "j": 2}}, {}, []),
    ({"year": 2025}, {"year": 2025, "name": None}, ["$.name"]),
]


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("was, now, worse", WORSE)
def test_what_is_worse(case: GoldenCase, was: Any, now: Any, worse: Any, profile: str) -> None:
    update(case, output=was, profile=profile)
    if profile == "strict" and "tags" in now:  # items are counted themselves
        worse = ["$.tags[4]"] if worse or now["tags"] == [*"bcde"] else []
        worse = ["$.tags[0]"] if now["tags"] == [*"bcde"] else worse
    if not worse:
        case.check({**GOLD, **now}, profile=profile)
        return
    with pytest.raises(GoldenError) as raised:
        case.check({**GOLD, **now}, profile=profile)
    assert [
        line.split(": was")[0].strip() for line in str(raised.value).splitlines() if ": was" in line
    ] == worse


#: Scores before and after; whether it is worse, and whether it is better.
NEAR = [
    (0.8, 0.8, False, False),
    (0.8, 0.8 - 5e-10, False, False),
    (0.8, 0.8 + 5e-10, False, False),
    (0.8, 0.8 - 2e-9, True, False),
    (0.8, 0.8 + 2e-9, False, True),
    (1.0, 1.0 - 5e-10, False, False),
    (1.0, 1.0 - 2e-9, True, False),
]


@pytest.mark.parametrize("was, now, worse, better", NEAR)
def test_scores_are_equal_but_for_rounding(
    case: GoldenCase, was: float, now: float, worse: bool, better: bool
) -> None:
    @xb.metric("goldens_stated")
    def stated(_gold: Any, predicted: Any) -> xb.MetricScore:
        return xb.MetricScore(predicted, True)

    score = {"type": "number", "evaluation_config": "goldens_stated"}
    schema = {"type": "object", "properties": {"score": score}}
    (case.folder / "schema.json").write_text(json.dumps(schema))
    (case.folder / "gold.json").write_text('{"score": 1}')
    GoldenCase("one", case.folder, case.root, update=True).check({"score": was})
    noted: list[str] = []
    again = GoldenCase("one", case.folder, case.root, record=lambda key, _value: noted.append(key))
    if worse:
        with pytest.raises(GoldenError, match="1 field worse"):
            again.check({"score": now})
    else:
        again.check({"score": now})
    assert ("golden_improved" in noted) == better


def test_a_baseline_holds_only_what_fails(case: GoldenCase) -> None:
    update(case, output={"year": 2025, "tags": []})
    stored = json.loads((case.folder / "baseline.json").read_text())
    assert [(row["path"], row["predicted"]) for row in stored["fields"]] == [
        ("$.year", 2025),
        *((f"$.tags[{at}]", None) for at in range(len(GOLD["tags"]))),
    ]
    assert 0 < stored["scores"]["pass_rate"] < 1


def test_there_must_be_a_baseline_and_it_must_be_json(case: GoldenCase) -> None:
    with pytest.raises(GoldenError, match=r"has no baseline.json; run pytest --update-baseline"):
        case.check(GOLD)
    folder, root = case.folder, case.root
    with pytest.raises(GoldenError, match=r"the output is not JSON, so it is no baseline"):
        GoldenCase("one", folder, root, update=True).check("Sorry, {")
    assert not (folder / "baseline.json").exists()
    update(case)
    with pytest.raises(GoldenError, match=r"(?s)1 field worse .* the output is not JSON: "):
        case.check("Sorry, {")


REPLACED = [
    ("gold.json", {**GOLD, "year": 2023}, "made with other gold.json"),
    ("gold.json", {**GOLD, "title": "other"}, "made with other gold.json"),
    ("schema.json", {**SCHEMA, "properties": {}}, "made with other schema.json"),
    ("baseline.json", {"format": 2}, "is not a baseline of this version"),
    ("baseline.json", [], "is not a baseline of this version"),
    ("baseline.json", {"fields": None}, "is damaged"),
    ("baseline.json", {"fields": [{"path": "$.a"}]}, "is damaged"),
]


@pytest.mark.parametrize("file, content, message", REPLACED)
def test_a_baseline_of_other_inputs_is_refused(
    case: GoldenCase, file: str, content: Any, message: str
) -> None:
    update(case)
    path = case.folder / file
    if file == "baseline.json" and "fields" in content:
        content = json.loads(path.read_text()) | content
    path.write_text(json.dumps(content))
    again = GoldenCase(case.name, case.folder, case.root)
    with pytest.raises((GoldenError, xb.InputError), match=message):
        again.check(GOLD)


def test_another_profile_is_refused_and_another_description_is_not(case: GoldenCase) -> None:
    update(case)
    with pytest.raises(GoldenError, match=r"made with profile 'strict', not with 'paper'"):
        case.check(GOLD, profile="paper")
    described = json.dumps({**SCHEMA, "description": "of a year"})
    (case.folder / "schema.json").unlink()
    (case.root / "schema.json").write_text(described)
    GoldenCase(case.name, case.folder, case.root).check(GOLD)
    (case.root / "schema.json").unlink()
    with pytest.raises(xb.InputError, match=r"'one' has no schema.json, neither in"):
        GoldenCase(case.name, case.folder, case.root).check(GOLD)


def test_a_judge_error_fails_and_is_no_baseline(case: GoldenCase) -> None:
    @xb.metric("goldens_flaky")
    def flaky(gold: Any, predicted: Any) -> float:
        if predicted == 2025:
            raise TimeoutError("no answer")
        return float(gold == predicted)

    year = {"type": "integer", "evaluation_config": {"metric_id": "goldens_flaky"}}
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "year": year}}
    (case.folder / "schema.json").write_text(json.dumps(schema))
    update(case)
    with pytest.raises(GoldenError, match=r"0 fields worse .*, 1 field without a verdict"):
        case.check({**GOLD, "year": 2025})
    with pytest.raises(GoldenError, match=r"a judge gave no verdict; a baseline needs all"):
        update(case, output={"year": 2025})


TEXT = json.dumps(GOLD)


@pytest.mark.parametrize(
    "output",
    [GOLD, TEXT, f"```json\n{TEXT}\n```", f"\ufeff{TEXT}", TEXT.encode(), f"~~~\n{TEXT}\n~~~"],
)
def test_outputs_are_read_as_a_scorer_reads_them(case: GoldenCase, output: Any) -> None:
    update(case).check(output)
    assert xb.as_scorer(SCHEMA)(output, GOLD).passed


@pytest.mark.parametrize("output", [None, b"\xff", "", "no", "```json\n{\n```"])
def test_no_output_is_worse_and_no_baseline(case: GoldenCase, output: Any) -> None:
    with pytest.raises(GoldenError, match="the output is not JSON"):
        update(case).check(output)
    with pytest.raises(GoldenError, match="not JSON, so it is no baseline"):
        GoldenCase("one", case.folder, case.root, update=True).check(output)


OPTIONS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    # what passes only with the option, the option, and another one
    (
        {"name": "abXXXXXXij"},
        {"metrics": {"name": {"metric_id": "string_fuzzy", "params": {"threshold": 0.2}}}},
        {"metrics": {"name": {"metric_id": "string_fuzzy", "params": {"threshold": 0.1}}}},
    ),
    (
        {"year": 2025},
        {"accepted": [{"path": "$.year", "value": 2025}]},
        {"accepted": [{"path": "$.year", "value": 2026}]},
    ),
]


@pytest.mark.parametrize("output, option, other", OPTIONS)
def test_metrics_and_accepted_values(
    case: GoldenCase, output: Any, option: Any, other: Any
) -> None:
    update(case)
    with pytest.raises(GoldenError, match="1 field worse"):
        case.check(GOLD | output)
    (name,) = option
    with pytest.raises(GoldenError, match=f"made with other {name}="):
        case.check(GOLD | output, **option)
    update(case, output=output, **option)
    found = case.check(GOLD | output, **option)
    assert found.summary["passed"] == found.summary["evaluated"]
    for options in ({}, other):
        with pytest.raises(GoldenError, match=f"made with other {name}="):
            case.check(GOLD, **options)
