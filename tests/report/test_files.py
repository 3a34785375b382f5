"""The files of a report hold what the documents hold, whatever that is."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import extractbench_nb as xb
from extractbench_nb.display.text import columns, document_json, fitted, value_text
from extractbench_nb.report.builder import ReportBuilder, ReportConfig
from extractbench_nb.report.formats import (
    CSV_COLUMNS,
    csv_text,
    json_text,
    markdown_text,
    summary_text,
)

NASTY = [
    "<script>alert(1)</script>",
    "a|b\n| c |",
    "`code` **bold** [x](javascript:alert(1)) ![i](http://x/y.png)",
    "https://example.org www.example.org a@b.org",
    "=1+1",
    "+49 170 1234",
    "-3.5",
    "@SUM(A1)",
    "'=kept'",
    "''",
    "\t=tab",
    "\r\n=line",
    '"quoted", "twice"',
    "\u202eevil\u2066",
    "\ud800 lone",
    "nul\0byte",
    "\x1b[31mred",
    "日本語" * 40,
    "e\u0301" * 90,
    "x" * 5_000,
    "NaN",
    "null",
    "",
    " ",
]
texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(), max_size=20))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
quick = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def open_report(gold: Any, extracted: Any, **options: Any) -> Any:
    """A report on a document whose keys, values and types are anything at all."""
    schema = {"type": "object", "additionalProperties": {"type": ["string", "array", "number"]}}
    return ReportBuilder(ReportConfig(**options)).build(schema, {"k": gold}, {"k": extracted})


def nasty_report(**options: Any) -> Any:
    schema = {
        "type": "object",
        "additionalProperties": {"type": "string", "evaluation_config": "string_exact"},
    }
    gold = {f"{i} {text[:40]}": text for i, text in enumerate(NASTY)}
    extracted = {key: value + "?" for key, value in gold.items()}
    return ReportBuilder(ReportConfig(**options)).build(schema, gold, extracted)


@quick
@given(gold=values, extracted=values)
def test_json_is_strict_and_complete(gold: Any, extracted: Any) -> None:
    report = open_report(gold, extracted)
    encoded = json_text(report).encode("utf-8", "backslashreplace")
    read = json.loads(encoded, parse_constant=pytest.fail)
    assert len(read["field_outcomes"]) == len(report.field_outcomes)
    for row, outcome in zip(read["field_outcomes"], report.field_outcomes, strict=True):
        assert row["gold_value"] == document_json(outcome.gold_value)
        assert row["extracted_value"] == document_json(outcome.extracted_value)
    assert read["overall_score"] == report.overall_score
    assert "evaluation" not in read


@quick
@given(gold=values, extracted=values)
def test_csv_round_trip(gold: Any, extracted: Any) -> None:
    report = open_report(gold, extracted)
    text = csv_text(report.field_outcomes).encode("utf-8", "backslashreplace").decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == len(report.field_outcomes)
    for row, outcome in zip(rows, report.field_outcomes, strict=True):
        assert None not in row
        for name in CSV_COLUMNS:
            assert unescaped(row[name]) == written(getattr(outcome, name))
    frame = pd.read_csv(io.StringIO(text, newline=""), keep_default_na=False, dtype=str)
    assert list(frame.columns) == list(CSV_COLUMNS)
    assert len(frame) == len(rows)


def unescaped(cell: str) -> str:
    """Take back the apostrophe, as `csv_text` says how."""
    return cell[1:] if re.match(r"''*[=+\-@\t\r\n＝＋－＠]", cell) else cell


def written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value_text(value).encode("utf-8", "backslashreplace").decode()
    return text.replace("\0", "\ufffd")


@pytest.mark.parametrize(
    "value, cell",
    [
        ("=1+1", "'=1+1"),
        ("+49 170", "'+49 170"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("＝1", "'＝1"),
        ("'=1", "''=1"),
        ("'s-Hertogenbosch", "'s-Hertogenbosch"),
        ("-3.5", "-3.5"),
        ("+1e5", "+1e5"),
        ("-12%", "-12%"),
        ("-1-2", "'-1-2"),
        (-3.5, "-3.5"),
        (-4, "-4"),
        ("a\0b", "a\ufffdb"),
        (["=1"], '["=1"]'),
        ({"a": None}, '{"a": null}'),
        (True, "true"),
        (None, ""),
        (math.nan, '"NaN"'),
    ],
)
def test_no_cell_is_a_formula(value: Any, cell: str) -> None:
    from extractbench_nb.report.formats import escaped_cell

    assert escaped_cell(value) == cell


def test_csv_columns_and_types(cv: Any, report_on: Any) -> None:
    text = csv_text(report_on(cv).field_outcomes)
    frame = pd.read_csv(io.StringIO(text, newline="")).set_index("normalized_path")
    readme = (
        "path metric_id score passed gold_value extracted_value reasoning matched missed_gold "
        "spurious_pred precision recall f1"
    )
    assert list(frame.columns)[: len(readme.split())] == readme.split()
    assert str(frame["passed"].dtype) == "bool"
    assert frame.loc["workExperience", "recall"] == 2 / 3
    assert frame.loc["workExperience", ["matched", "missed_gold"]].tolist() == [2, 1]
    arrays = ["matched", "missed_gold", "spurious_pred", "precision", "recall", "f1"]
    assert frame.loc["name", arrays].isna().all()


def test_numbers_stay_numbers() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
    report = ReportBuilder().build(schema, {"a": -1.5, "b": 2}, {"a": -2, "b": 1e300})
    frame = pd.read_csv(io.StringIO(csv_text(report.field_outcomes)))
    assert frame["gold_value"].tolist() == [-1.5, 2]
    assert frame["extracted_value"].tolist() == [-2, 1e300]


@quick
@given(gold=values, extracted=values)
def test_markdown_is_one_table_of_text(gold: Any, extracted: Any) -> None:
    report = open_report(gold, extracted)
    cells = table_cells(markdown_text(report.field_outcomes, 80))
    assert len(cells) == 8 * (len(report.field_outcomes) + 1)


def test_markdown_of_nasty_texts() -> None:
    report = nasty_report()
    text = markdown_text(report.field_outcomes, 80)
    assert not set("<>`\0\t\r") & set(text)
    cells = table_cells(text)
    rows = [cells[i : i + 8] for i in range(8, len(cells), 8)]
    gold = [row[5] for row in rows]
    assert gold[0] == "<script>alert(1)</script>"
    assert gold[1] == "a|b | c |"
    assert gold[2] == "`code` **bold** [x](javascript:alert(1)) ![i](http\u200b://x/y.png)"
    assert all(len(text) <= 90 for text in gold)


def table_cells(text: str) -> list[str]:
    """The cells of a Markdown text, which must be one table in which nothing is marked up."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    assert [t.type for t in tokens if t.level == 0] == ["table_open", "table_close"]
    cells = [t for t in tokens if t.type == "inline"]
    kinds = {child.type for cell in cells for child in cell.children or ()}
    assert kinds <= {"text", "text_special"}, kinds
    return [cell_text(cell) for cell in cells]


def cell_text(cell: Any) -> str:
    return "".join(child.content for child in cell.children or ())


@quick
@given(gold=values, extracted=values)
def test_summary_is_plain_and_narrow(gold: Any, extracted: Any) -> None:
    check_summary(summary_text(open_report(gold, extracted)))


def test_summary_of_nasty_texts() -> None:
    check_summary(summary_text(nasty_report(output_name="x" * 200)))


def check_summary(text: str) -> None:
    lines = text.split("\n")
    assert len(lines) <= 130
    for line in lines:
        assert columns(line) <= 80
        assert line.isprintable() or "\u200d" in line or "\u200c" in line


def test_summary_of_long_names(report_on: Any) -> None:
    """Every place where a name can stand: arrays, failed fields, metrics, warnings."""
    long = "a very long name " * 20
    array = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {long: array, "日本" * 90: array}}
    gold = {long: ["a", "b"], "日本" * 90: ["c"]}
    report = report_on((schema, gold, {long: ["a"], "x" * 200: 1}))
    text = summary_text(report)
    check_summary(text)
    assert "… [FAIL] score=0.500" in text


@pytest.mark.parametrize(
    "profile, told", [("paper", "item-weighted"), ("extract-bench-0.1.0", "mean of all scores")]
)
def test_the_summary_says_how_the_score_is_weighed(
    cv: Any, report_on: Any, profile: str, told: str
) -> None:
    report = report_on(cv, profile=profile)
    line = f"Overall Score: {report.overall_score:.3f} ({told})"
    assert line in summary_text(report)


def test_summary_of_a_large_report_stays_one_page(every_outcome: Any, failing_judge: Any) -> None:
    array = {"type": "array", "items": {"type": "string"}}
    names = [f"field{i}" for i in range(400)]
    schema = {"type": "object", "properties": dict.fromkeys(names, array)}
    gold = {name: ["a", "b"] for name in names}
    report = ReportBuilder().build(schema, gold, {name: ["a", "c", name] for name in names})
    text = summary_text(report)
    check_summary(text)
    assert "… 390 more arrays with better F1" in text
    assert "… 390 more in fields.csv" in text


@pytest.mark.parametrize(
    "text, width, expected",
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("a\n\tb", 10, "a b"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
        ("\u202ex", 5, "\ufffdx"),
    ],
)
def test_fitted(text: str, width: int, expected: str) -> None:
    assert fitted(text, width) == expected


class Odd:
    """Something that JSON does not know and that cannot even be written."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "odd",
    [
        math.nan,
        -math.inf,
        10**5_000,
        deep(150),
        deep(5_000),
        {1: "a", None: "b", (1, 2): "c"},
        {"s": {1, 2}},
        object(),
        b"bytes",
        "\ud83d",
        {"\udfff": "\0"},
    ],
    ids=lambda odd: type(odd).__name__,
)
def test_odd_predictions_are_saved(odd: Any, tmp_path: Path, strict_json: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "r": {"type": "array"}}}
    gold = {"a": "x", "r": [{"k": deep(90), "id": 1}]}
    for extracted in ({"a": odd}, odd, {"r": [{"k": odd, "id": 1}]}, {"r": [odd, odd]}):
        folder = xb.evaluate(schema, gold, extracted).save(tmp_path)
        strict_json((folder / "report.json").read_text(encoding="utf-8"))
        (folder / "report.html").read_text(encoding="utf-8")


def test_an_object_that_cannot_be_written() -> None:
    assert re.fullmatch(r"<.*Odd object at 0x\w+>", document_json([Odd()])[0])


def test_values_that_are_no_json_numbers(report_on: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    report = report_on((schema, {"a": math.nan}, {"a": math.inf}))
    row = json.loads(json_text(report))["field_outcomes"][0]
    assert (row["gold_value"], row["extracted_value"]) == ("NaN", "Infinity")


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "string"}, {"type": "array"}])
@pytest.mark.parametrize("value", [None, {}, '"x"', [1, [2]]], ids=repr)
def test_schemas_with_nothing_below(
    schema: Any, value: Any, tmp_path: Path, strict_json: Any
) -> None:
    folder = xb.evaluate(schema, value, [value]).save(tmp_path)
    read = strict_json((folder / "report.json").read_text(encoding="utf-8"))
    assert read["outcomes"]["total_evaluated"] == len(read["field_outcomes"])


def test_text_that_is_no_json(report_on: Any, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    report = report_on((schema, {"a": "x"}, "Sure! ```json {"))
    fence = "a code fence, which xb.read_outputs removes: "
    assert report.problem == f"{fence}Expecting value at line 1 column 1"
    assert (report.overall_score, report.outcomes.split.structural) == (0.0, 1)
    assert report.coverage.missing_paths == ["a"]
    assert report.coverage.spurious_paths == []
    assert "The extracted text is not JSON" in summary_text(report)
    assert json.loads(json_text(report))["field_outcomes"][0]["path"] == "$"


def test_a_program_that_reads_the_published_report_reads_ours(cv: Any, report_on: Any) -> None:
    """The keys of the published report.json, written down from one; see test_published.py."""
    read = json.loads(json_text(report_on(cv)))
    assert read["outcomes"]["confusion"]["f1"] == pytest.approx(11 / 12)
    assert read["outcomes"]["pass_by_metric"]["array_llm"] == {"passed": 4, "failed": 2}
    work = next(a for a in read["array_breakdowns"] if a["normalized_path"] == "workExperience")
    assert work["spurious_items"][0]["extracted_value"]["company"] == "Quay Ltd"
    assert work["missed_items"][0]["gold_value"]["company"] == "Harbour Works"


def test_a_field_that_is_an_array_carries_its_items() -> None:
    text = {"type": "string", "evaluation_config": "string_exact"}
    schema = {"type": "object", "properties": {"a": text, "r": {"type": "array", "items": text}}}
    gold, extracted = {"a": "x", "r": ["one", "two", "three"]}, {"a": "x", "r": ["one", "2", "9"]}
    report = ReportBuilder().build(schema, gold, extracted)
    plain, array = json.loads(json_text(report))["field_outcomes"]
    assert plain["array_breakdown"] is None
    found = array["array_breakdown"]
    assert [found[name] for name in ("matched", "missed_gold", "spurious_pred")] == [1, 2, 2]
    assert found["matched_items"] == ["one"]
    assert sorted(found["missed_gold_items"]) == ["three", "two"]
    assert sorted(found["spurious_pred_items"]) == ["2", "9"]
    assert report.field_outcomes[1].array_breakdown is report.array_breakdowns[0]
