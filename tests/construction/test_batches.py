"""Many answers against many tables: frames for the statistics, averages, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.construction.comparing import (
    CELL_COLUMNS,
    COLUMN_COLUMNS,
    MATCH_COLUMNS,
    compare,
)
from extractbench_nb.construction.table_batches import (
    BY_RUN,
    SUMMARY_COLUMNS,
    TableEvaluations,
    evaluate_tables,
)
from extractbench_nb.construction.table_dataset import TableDataset, TableTask, load
from extractbench_nb.core.frames import ROW_COLUMNS, SCORE_COLUMNS, ScoredResult
from extractbench_nb.errors import DatasetError, InputError

GOLD = "k,v,w\na,1,x\nb,2,y\n"
RIGHT = f"```csv\n{GOLD}```"
WRONG = "```csv\nk,v,w\na,1,x\nb,3,y\n```"
MARKDOWN = "| k | v | w |\n|---|---|---|\n| a | 1 | x |\n"


@pytest.fixture(scope="module")
def sample() -> TableEvaluations:
    return evaluate_tables(load(), progress=False)


def tables(**more: Any) -> TableDataset:
    header, *rows = (line.split(",") for line in GOLD.split())
    gold = pd.DataFrame(rows, columns=header)
    task = TableTask("", "d", "prices", "en", "", ("k",), ("v", "w"), _gold=gold)
    tasks = [replace(task, id=f"t{n}", domain="d" if n < 2 else "e", **more) for n in range(4)]
    return TableDataset("small", Path("small"), tuple(tasks))


def frame() -> pd.DataFrame:
    answers = {"one": [RIGHT, WRONG, "I cannot help.", None], "two": [RIGHT, RIGHT, MARKDOWN]}
    rows = [
        {"run": run, "table": f"t{n}", "predicted": answer}
        for run, given in answers.items()
        for n, answer in enumerate(given)
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def small() -> TableEvaluations:
    return evaluate_tables(frame(), dataset=tables(), progress=False)


def test_the_sample(sample: TableEvaluations) -> None:
    summary, dataset = sample.summary, load()
    assert summary["domain"].tolist() == ["legal", "academic", "finance"] * 3
    assert summary["documents"].tolist() == [5, 5, 6] * 3
    for row in summary.to_dict("records"):
        task = dataset[row["document"]]
        path = dataset.root / f"runs/{row['run']}/{row['document']}.txt"
        roles = {name: getattr(task, name) for name in ("keys", "values", "numeric")}
        alone = compare(task.gold, path.read_text(encoding="utf-8"), **roles)
        assert {name: row[name] for name in alone.summary.index} == alone.summary.to_dict()
        assert row["direct"] == alone.meta["direct"]
        one = sample.comparison(row["run"], row["document"])
        pd.testing.assert_frame_equal(one.cells, alone.cells)
    problems = summary.set_index(["run", "document"])["problem"]
    assert "never ends" in problems["quill-mini", "extraction_papers"]


def test_parsability_and_outcomes(small: TableEvaluations) -> None:
    found = small.summary.set_index(["run", "document"])
    assert found["valid"].tolist() == [True] * 2 + [False] * 2 + [True] * 3
    assert found["direct"].tolist() == [True, True, False, False, True, True, False]
    assert found["mapped"].tolist() == [True, True, False, False, True, True, True]
    assert found["problem"].isna().tolist() == [True] * 2 + [False] * 2 + [True] * 3
    assert "no table" in found.loc[("one", "t2"), "problem"]
    assert found["cell_f1"].tolist() == pytest.approx([1, 0.75, 0, 0, 1, 1, 2 / 3])
    assert set(small.summary["schema"]) == {"prices (en)"}


def test_averages(small: TableEvaluations) -> None:
    by_run = small.by_run.set_index("run")
    assert by_run[["tables", "invalid", "missing"]].to_numpy().tolist() == [[4, 2, 0], [3, 0, 1]]
    assert by_run["direct"].tolist() == pytest.approx([0.5, 2 / 3])
    assert by_run["cell_f1"].tolist() == pytest.approx([1.75 / 4, (2 + 2 / 3) / 3])
    # the mean of the means of tasks: here one task in each of two domains
    assert by_run["task_cell_f1"].tolist() == pytest.approx([1.75 / 4, (1 + 2 / 3) / 2])
    assert "two" in small._repr_html_()


def test_the_statistics_take_the_frames(small: TableEvaluations) -> None:
    compared = xb.compare_runs(small, resamples=200)
    assert compared.measures == ("cell_f1", "row_f1", "column_recall")
    scores = compared.scores.set_index(["group", "measure"])
    assert scores.loc[("one", "cell_f1"), ["mean", "invalid"]].tolist() == [1.75 / 4, 2]
    assert compared.differences["documents"].tolist() == [3, 3, 3]
    outcomes = xb.breakdown(small, ["run", "outcome"]).set_index(["run", "outcome"])["rows"]
    assert outcomes["one"].to_dict() == {"correct": 7, "incorrect": 1, "structural": 8}
    assert xb.breakdown(small, "task")["rows"].tolist() == [len(small.rows)]
    hardest = xb.difficulty(small)
    assert hardest["field"].tolist() == ["[].v", "[].w"]
    assert hardest["schema"].unique().tolist() == ["prices (en)"]
    assert len(xb.agreement(small.rows, small.rows).disagreements) == 0


def test_the_explorer_opens_both_tables(sample: TableEvaluations) -> None:
    view = xb.explore(sample, dataset=load(), name="found")
    rows = sample.rows
    for reason, side in (("number_differs", "gold"), ("row_spurious", "predicted")):
        at = int(rows.index[rows["reason"] == reason][-1])
        view.do_open(["evaluation", at])
        opened, row = view.trail[-1], rows.loc[at]
        places = {
            "gold": ("gold_row", "column"),
            "predicted": ("predicted_row", "predicted_column"),
        }
        assert opened.comparison.meta["document"] == row["document"]
        assert opened.selected == [side, *(row[name] for name in places[side])]
        assert opened._evidence is not None
        by_hand = eval(opened.code, {"found": sample})  # noqa: S307
        assert by_hand.index.tolist() == [row["path"]]
        again = xb.explore(sample, name="found")
        again.location = view.location
        assert again.trail[-1].selected == opened.selected
        view.back(0)


def test_every_frame_has_the_declared_columns(sample: TableEvaluations) -> None:
    assert sample.by_run.columns.tolist() == BY_RUN.names
    summary = [name for name in SUMMARY_COLUMNS.names if not name.startswith("quality")]
    assert sample.summary.columns.tolist() == summary
    ids = ["run", "document", "domain", "schema"]
    specs = {"rows": CELL_COLUMNS, "matches": MATCH_COLUMNS, "columns": COLUMN_COLUMNS}
    for name, spec in specs.items():
        assert getattr(sample, name).columns.tolist() == ids + spec.names, name


RECORD = {
    "record_id": "financial_3_0_zh",
    "language": "zh",
    "query": "收入?",
    "input_doc": ["a.md", "b.md"],
}
ROWS = [
    {"文档名称": "a", "营业收入(元)": 1.5, "报表所属期": "2020"},
    {"文档名称": "b", "营业收入(元)": 2, "报表所属期": "2021"},
]


def test_aoe_records(tmp_path: Path) -> None:
    record = {**RECORD, "answers": ROWS}
    (tmp_path / "all_AOE_tables.jsonl").write_text(json.dumps(record), encoding="utf-8")
    answers = {
        "bad": "```csv\n文档名称,营业收入(元)\nb,3\n```",
        "good": "```csv\n文档名称,营业收入(元),报表所属期\na,1.50,2020\nb.md,2.0,2021年\n```",
    }
    for run, text in answers.items():
        (tmp_path / "runs" / run).mkdir(parents=True)
        path = tmp_path / "runs" / run / "financial_3_0_zh.txt"
        path.write_text(text, encoding="utf-8")
    dataset = load(tmp_path)
    task = dataset["financial_3_0_zh"]
    roles = {"keys": task.keys, "values": task.values, "numeric": task.numeric}
    found = evaluate_tables(dataset, profile="aoe", progress=False)
    for run, text in answers.items():
        alone = compare(ROWS, text, profile="aoe", **roles)
        pd.testing.assert_series_equal(found.comparison(run, task.id).summary, alone.summary)
    assert found.summary["cell_f1"].tolist() == pytest.approx([0.0, 0.5])


def test_folders(tmp_path: Path, sample: TableEvaluations) -> None:
    root = load().root
    for found in (
        evaluate_tables(str(root), progress=False),
        evaluate_tables(root / "runs", dataset="sample", progress=False),
    ):
        pd.testing.assert_frame_equal(found.summary, sample.summary)
    with pytest.raises(InputError, match="holds no answers"):
        evaluate_tables(tmp_path, dataset="sample", progress=False)
    (tmp_path / "m").mkdir()
    (tmp_path / "m/retailer_result.txt").write_text(RIGHT)
    with pytest.raises(DatasetError, match="did you mean 'retailer_results'"):
        evaluate_tables(tmp_path, dataset="sample", progress=False)


@pytest.mark.parametrize(
    "runs, options, problem",
    [
        (frame(), {"dataset": None}, "pass dataset="),
        (frame().drop(columns="predicted"), {}, "outputs has no column 'raw'"),
        (frame().drop(columns="run"), {}, "there is no column 'run'"),
        (frame().assign(run="one"), {}, "more than once"),
        (frame().iloc[:0], {}, "no answers"),
        (frame(), {"dataset": tables(keys=("q",))}, "table 't0': keys: gold has no column 'q'"),
        (frame(), {"profile": "stric"}, "did you mean 'strict'"),
        (frame(), {"judge": "offlin"}, "offline"),
        (frame(), {"quality": "offline"}, "expected a model"),
        (3, {}, "expected a DataFrame"),
    ],
)
def test_refused(runs: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        evaluate_tables(runs, progress=False, **{"dataset": tables()} | options)


def test_a_single_comparison_and_a_mapping_follow_the_protocol(sample: TableEvaluations) -> None:
    one = sample.comparison("quill-mini", "court_rulings")
    for found in (one, sample):
        assert isinstance(found, ScoredResult)
        assert set(ROW_COLUMNS.names) <= set(found.rows.columns)
        assert found.scores.columns.tolist() == SCORE_COLUMNS.names
        assert found.scores["score"].between(0, 1).all()
    measures = one.scores.set_index("measure")["score"]
    assert measures.to_dict() == one.summary[list(measures.index)].to_dict()
    nested = {
        run: {table: sample.comparison(run, table) for table in part["document"]}
        for run, part in sample.summary.groupby("run")
    }
    for measure in ("cell_f1", "pass_rate"):
        found = xb.compare_runs(nested, measures=measure, resamples=100)
        expected = xb.compare_runs(sample, measures=measure, resamples=100)
        pd.testing.assert_frame_equal(
            found.scores.drop(columns="invalid"), expected.scores.drop(columns="invalid")
        )


def test_the_files_of_aoe(small: TableEvaluations, tmp_path: Path) -> None:
    small.write_aoe(tmp_path)
    written = json.loads((tmp_path / "one/t1.json").read_text(encoding="utf-8"))
    rows = dict.fromkeys(["column_recall", "row_precision", "row_recall", "row_f1"], 1.0)
    cells = ("cell_precision", "cell_recall", "cell_f1", "average_cell_score_in_matched")
    assert written == {
        "if_csv_parsed": {"direct": 1, "mapped": 1},
        "one_piece": dict.fromkeys(["score1", "score2", "score3", "score4"]),
        "cell_scores": rows | dict.fromkeys(cells, 0.75) | {"total_compared_cells_in_matched": 4},
    }
    thirds = json.loads((tmp_path / "two/t2.json").read_text(encoding="utf-8"))
    assert thirds["cell_scores"]["cell_f1"] == 0.667
    unread = json.loads((tmp_path / "one/t2.json").read_text(encoding="utf-8"))
    assert unread["if_csv_parsed"] == {"direct": 0, "mapped": 0}
    means = pd.read_csv(tmp_path / "statistics.csv").set_index(["run", "domain"])
    assert means.index.tolist() == [
        (run, name) for run in ("one", "two") for name in ("d", "e", "all")
    ]
    assert means.loc[("one", "d"), "cell_f1"] == 0.875
    assert means.loc[("one", "all"), "cell_f1"] == pytest.approx(1.75 / 4)
    odd = evaluate_tables(frame().assign(run="a/b").head(1), dataset=tables(), progress=False)
    with pytest.raises(InputError, match="cannot be the name of a file"):
        odd.write_aoe(tmp_path)


def test_an_unknown_answer(small: TableEvaluations) -> None:
    with pytest.raises(InputError, match="did you mean 'one, t0'"):
        small.comparison("onee", "t0")
