"""The files of a report hold what the documents hold, whatever that is, and are whole or absent."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import extractbench_nb as xb
from extractbench_nb.compat.reports import ReportBuilder, ReportConfig
from extractbench_nb.errors import InputError, OutputError
from extractbench_nb.support.wording import columns, value_text

FILES = {"report.json", "summary.txt", "fields.csv", "fields.md", "report.html"}
CSV_COLUMNS = (
    "path normalized_path metric_id score passed gold_value extracted_value reasoning matched "
    "missed_gold spurious_pred precision recall f1"
).split()
NASTY = [
    "<script>alert(1)</script>",
    "a|b\n| c |",
    "`code` **bold** [x](javascript:alert(1)) ![i](http://x/y.png)",
    "https://example.org www.example.org a@b.org",
    *("=1+1", "+49 170 1234", "-3.5", "@SUM(A1)", "'=kept'", "''", "\t=tab", "\r\n=line"),
    *('"quoted", "twice"', "\u202eevil\u2066", "\ud800 lone", "nul\0byte", "\x1b[31mred"),
    *("日本語" * 40, "e\u0301" * 90, "x" * 5_000, "NaN", "null", "", " "),
]
texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(), max_size=20))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
OPEN = {"type": "object", "additionalProperties": {"type": ["string", "array", "number"]}}
EXACT = {"type": "string", "evaluation_config": "string_exact"}


def files_of(ev: Any, folder: Path) -> dict[str, str]:
    ev.save(folder)
    return {path.name: path.read_bytes().decode("utf-8") for path in folder.iterdir()}


def strict_json(text: str) -> Any:
    """Parse JSON that has neither NaN nor Infinity nor a key twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    return json.loads(text, parse_constant=pytest.fail, object_pairs_hook=unique)


# --- whatever the documents hold --------------------------------------------------------------


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(gold=values, extracted=values)
def test_any_values_in_every_file(tmp_path: Path, gold: Any, extracted: Any) -> None:
    files = files_of(xb.evaluate(OPEN, {"k": gold}, {"k": extracted}), tmp_path)
    read = strict_json(files["report.json"])["field_outcomes"]
    written = list(csv.DictReader(io.StringIO(files["fields.csv"], newline="")))
    assert len(written) == len(read)
    for row, outcome in zip(written, read, strict=True):
        assert list(row) == CSV_COLUMNS
        for name in ("path", "gold_value", "extracted_value"):
            text = value_text(outcome[name]).encode("utf-8", "backslashreplace").decode()
            assert unescaped(row[name]) == text.replace("\0", "\ufffd")
        assert row["passed"] == str(outcome["passed"]).lower()
    assert len(table_cells(files["fields.md"])) == 8 * (len(read) + 1)
    check_summary(files["summary.txt"])
    check_page(files["report.html"])


def unescaped(cell: str) -> str:
    """Take back the apostrophe before a formula."""
    return cell[1:] if re.match(r"''*[=+\-@\t\r\n＝＋－＠]", cell) else cell


def table_cells(text: str) -> list[str]:
    """The cells of a Markdown text, which must be one table in which nothing is marked up."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    assert [t.type for t in tokens if t.level == 0] == ["table_open", "table_close"]
    cells = [t for t in tokens if t.type == "inline"]
    kinds = {child.type for cell in cells for child in cell.children or ()}
    assert kinds <= {"text", "text_special"}, kinds
    return ["".join(child.content for child in cell.children or ()) for cell in cells]


def check_summary(text: str) -> None:
    lines = text.split("\n")
    assert len(lines) <= 130
    for line in lines:
        assert columns(line) <= 80
        assert line.isprintable() or "\u200d" in line or "\u200c" in line


def check_page(page: str) -> None:
    assert re.findall(r"<(?:script|img|iframe|b><b|svg on)", page) == ["<script"]  # its own
    assert page.count("<style>") == page.count("</body>") == 1


@pytest.mark.parametrize(
    "value, cell",
    [
        *(("=1+1", "'=1+1"), ("+49 170", "'+49 170"), ("-x", "'-x"), ("@SUM(A1)", "'@SUM(A1)")),
        *(("\t=1", "'\t=1"), ("＝1", "'＝1"), ("'=1", "''=1"), ("-1-2", "'-1-2")),
        *(("'s-Hertogenbosch", "'s-Hertogenbosch"), ("-3.5", "-3.5"), ("+1e5", "+1e5")),
        *(("-12%", "-12%"), (-3.5, "-3.5"), (-4, "-4"), ("a\0b", "a\ufffdb")),
        *((["=1"], '["=1"]'), ({"a": None}, '{"a": null}'), (True, "true"), (None, "")),
        (math.nan, "NaN"),
    ],
)
def test_no_cell_is_a_formula(value: Any, cell: str, tmp_path: Path) -> None:
    metric = {"metrics": [{"metric_id": "string_exact"}]}
    schema = {"type": "object", "properties": {"x": {"evaluation_config": metric}}}
    text = files_of(xb.evaluate(schema, {"x": value}, {"x": value}), tmp_path)["fields.csv"]
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row["gold_value"] == row["extracted_value"] == cell


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "odd",
    [
        *(math.nan, -math.inf, 10**5_000, deep(150), deep(5_000)),
        *({1: "a", None: "b", (1, 2): "c"}, {"s": {1, 2}}, b"bytes", "\ud83d"),
        {"\udfff": "\0"},
    ],
    ids=lambda odd: type(odd).__name__,
)
def test_odd_predictions_are_saved(odd: Any, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "r": {"type": "array"}}}
    gold = {"a": "x", "r": [{"k": deep(90), "id": 1}]}
    for extracted in ({"a": odd}, odd, {"r": [{"k": odd, "id": 1}]}, {"r": [odd, odd]}):
        strict_json(files_of(xb.evaluate(schema, gold, extracted), tmp_path)["report.json"])


def test_text_that_is_no_json(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    files = files_of(xb.evaluate(schema, {"a": "x"}, "Sure! ```json {"), tmp_path)
    read = strict_json(files["report.json"])
    assert "Expecting value at line 1 column 1" in read["problem"]
    assert (read["overall_score"], read["summary"]["structural"]) == (0.0, 1)
    assert (read["coverage"]["missing_paths"], read["coverage"]["spurious_paths"]) == (["a"], [])
    assert [row["path"] for row in read["field_outcomes"]] == ["$"]
    for name in ("summary.txt", "report.html"):
        assert "The prediction is not JSON" in files[name]


def test_a_thousand_rows_by_the_strict_profile(tmp_path: Path) -> None:
    item = {"type": "object", "properties": {f"f{i}": {"type": "integer"} for i in range(9)}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": item}}}
    gold = {"rows": [{f"f{i}": 10 * n + i for i in range(9)} for n in range(500)]}
    extracted = {"rows": [dict(row, f3=-1) if n % 2 else row for n, row in enumerate(gold["rows"])]}
    files = files_of(xb.evaluate(schema, gold, extracted, profile="strict"), tmp_path)
    assert "more in fields.csv" in files["report.html"]
    assert "225 more in report.json" in files["report.html"]
    assert len(files["report.html"]) < 2_000_000
    assert len(files["fields.csv"].splitlines()) == 4_501
    assert len(json.loads(files["report.json"])["field_outcomes"]) == 4_500


def test_outputs_of_the_sample(tmp_path: Path) -> None:
    dataset = xb.load_dataset()
    documents = dataset.documents.set_index("document")
    for n, run in enumerate(dataset.runs.iloc[::4].itertuples()):
        row = documents.loc[run.document]
        gold = dataset.gold(run.document)
        ev = xb.evaluate(dataset.schema(row["schema"]), gold, Path(run.predicted))
        files = files_of(ev, tmp_path / str(n))
        assert set(files) == FILES
        check_summary(files["summary.txt"])
        check_page(files["report.html"])
        read = strict_json(files["report.json"])
        assert read["outcomes"]["total_passed"] == ev.summary.passed
        for array in read["arrays"]:
            pairs = [pair["status"] for pair in array["matches"]]
            assert pairs.count("matched") == array["matched"]


@pytest.mark.usefixtures("own_rules")
def test_rules_are_in_each_file_and_escaped(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"total": {"type": "number"}}}
    hostile = "</code><script>alert(1)</script>"
    files = files_of(xb.evaluate(schema, {"total": 1}, {"total": 2}), tmp_path)
    assert "broken" not in files["report.html"]
    xb.rule("is_one")(lambda doc: doc["total"] == 1 or "$.total")
    xb.rule(hostile)(lambda doc: doc[hostile])
    ev = xb.evaluate(schema, {"total": 1}, {"total": 2})
    files = files_of(ev, tmp_path)
    (first, _) = json.loads(files["report.json"])["rules"]
    assert first["outcome_predicted"] == "broken"
    assert first["paths_predicted"] == ["$.total"]
    assert "extraction: $.total" in files["report.html"]
    check_page(files["report.html"])
    files = files_of(xb.evaluate(schema, {"total": 1}, "{"), tmp_path)
    assert ">not JSON</td>" in files["report.html"]


# --- where files go ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, problem",
    [
        *(
            ({"output_name": name}, f"output_name is {name!r}; expected the name of a folder")
            for name in ("../x", "..", ".", "", "/etc/x", "a/../../b", "a\\..\\b", "nul\0", "a\nb")
        ),
        ({"output_name": "\ud800"}, "output_name is "),
        ({"max_reasoning_length": -1}, "max_reasoning_length is -1; expected an integer"),
        ({"top_n_lowest_fields": True}, "top_n_lowest_fields is True; expected an integer"),
        ({"save_json": "no"}, "save_json is 'no'; expected True or False"),
        ({"output_dir": ""}, "output_dir is ''; expected a pathlib.Path"),
        ({"judge": 5}, "judge is 5; expected"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(problem)):
        ReportConfig(**options)


@pytest.mark.parametrize("file", sorted(FILES))
def test_each_switch_leaves_out_its_file(cv: Any, tmp_path: Path, file: str) -> None:
    switch = {"summary.txt": "text", "fields.md": "markdown"}.get(file, file.split(".")[1])
    options: dict[str, Any] = {f"save_{switch}": False}
    builder = ReportBuilder(ReportConfig(output_dir=str(tmp_path), output_name="a", **options))
    folder = builder.save(builder.build(*cv))
    assert {path.name for path in folder.iterdir()} == FILES - {file}


def test_folders_that_cannot_be(cv: Any, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(OutputError, match="taken' is a file, not a folder"):
        xb.evaluate(*cv).save(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"
    with pytest.raises(OutputError, match="cannot be written: File name too long"):
        xb.evaluate(*cv).save(tmp_path / ("n" * 300))


FULL = """
    import resource, signal, sys
    import extractbench_nb as xb

    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))
    try:
        xb.evaluate(schema, {"a": "y" * 9_000}, {"a": "z"}).save(sys.argv[1])
    except xb.OutputError as error:
        print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_no_space_for_a_file(tmp_path: Path) -> None:
    """The kernel refuses to write on; what was there stays, and nothing half-written is left."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    xb.evaluate(schema, {"a": "x"}, {"a": "x"}).save(tmp_path)
    script = [sys.executable, "-c", textwrap.dedent(FULL), str(tmp_path)]
    run = subprocess.run(script, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"'.*report\.json' cannot be written: File too large\n", run.stdout)
    assert {path.name for path in tmp_path.iterdir()} == FILES
    assert "Overall Score: 1.000" in (tmp_path / "summary.txt").read_text(encoding="utf-8")
