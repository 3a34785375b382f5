"""`compare`: scores, outcomes, rows, columns, judges."""

import pickle
import re
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest

from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.table_rules import rules_of
from extractbench_nb.core.evaluation_frames import FIELD_COLUMNS
from extractbench_nb.core.text.judging import JudgeError, Verdict
from extractbench_nb.errors import InputError
from extractbench_nb.stats.breakdowns import breakdown
from tests.construction.recorded_judge import Recorded, no_row

COLUMNS = (
    "报表所属期,资产总额(元),资产总额增长率(%),营业收入(元),营业收入增长率(%),所有者权益(元),"
    "加权平均净资产收益率(%)"
)
#: The example of AOE's README: years, and the values of seven columns.
VALUES = {
    2020: '"360,382,603,000",,"284,221,249,000",,"117,516,260,000",24.95',
    2021: '"387,946,104,000",7.65,"341,233,208,000",20.06,"124,868,124,000",24.09',
    2022: '"422,555,267,000",8.92,"343,917,531,000",0.79,"142,935,236,000",22.21',
    2023: '"486,038,184,000",15.02,"372,037,280,000",8.18,"162,878,825,000",22.23',
}
GOLD = f"文档名称,{COLUMNS}\n" + "".join(
    f"美的集团{year}年年度报告摘要,{year},{values}\n" for year, values in VALUES.items()
)
HEADER = f"文档名称,{COLUMNS.rpartition(',')[0]}\n"
FILLED = VALUES | {2020: VALUES[2020].replace(',,"284', ',19.35,"284').replace(",,", ",2.16,")}
NUMERIC = COLUMNS.split(",")


def example(years: Any, suffix: str = ".md", mark: str = "年") -> str:
    rows = [
        f"美的集团{year}年年度报告摘要{suffix},{year}{mark},{FILLED[at].rpartition(',')[0]}\n"
        for year, at in years
    ]
    return HEADER + "".join(rows)


SAME_YEARS = [(year, year) for year in VALUES]
#: Predicted for 2019 to 2022: an invented year, and three that gold has.
SHIFTED = [(2019, 2020), (2020, 2020), (2021, 2021), (2022, 2022)]


def f1(gold: Any, predicted: Any, **options: Any) -> float:
    options = {"keys": "文档名称", "numeric": NUMERIC} | options
    return float(compare(gold, predicted, **options).summary["cell_f1"])


NOBODY = Recorded(no_row, 0.0)


@pytest.mark.parametrize(
    "profile, expected",
    [
        ("aoe", 18 / 28),
        ("strict", 22 / 28),
        (rules_of("aoe", rows="exact"), 0.0),
        (rules_of("aoe", threshold=101), 0.0),
    ],
)
def test_example_of_the_readme(profile: Any, expected: float) -> None:
    judge = "offline" if isinstance(profile, str) else NOBODY
    assert f1(GOLD, example(SAME_YEARS), profile=profile, judge=judge) == pytest.approx(expected)


def test_column_recall_of_the_example() -> None:
    for name, expected in {"strict": 6 / 7, "aoe": 1.0}.items():
        found = compare(GOLD, example(SAME_YEARS), keys="文档名称", profile=name)
        assert found.summary["column_recall"] == pytest.approx(expected)


def test_reports_of_other_years_do_not_match() -> None:
    for order in (SHIFTED, SHIFTED[::-1], [SHIFTED[n] for n in (2, 0, 3, 1)]):
        assert f1(GOLD, example(order, "", "")) == pytest.approx(16 / 28)
    released = f1(GOLD, example(SHIFTED, "", ""), profile="aoe", judge=NOBODY)
    assert released == pytest.approx(10 / 28)


def test_each_cell_says_what_it_is() -> None:
    gold = "k,a,b,c\nr1,1,x,\nr2,2,y,z\nr3,3,w,v\n"
    answer = "k,a,b,c,d\nr1,1,x1,5,extra\nr2,,y,z,\nr9,9,q,,e\n"
    found = compare(gold, answer, keys="k")
    outcomes = dict(zip(found.cells["path"], found.cells["outcome"], strict=True))
    assert outcomes == {
        "$[0].a": "correct",
        "$[0].b": "incorrect",
        "$[0].c": "hallucination",
        "$[1].a": "omission",
        "$[1].b": "correct",
        "$[1].c": "correct",
        "$[2].a": "omission",
        "$[2].b": "omission",
        "$[2].c": "omission",
        "$[+2].a": "hallucination",
        "$[+2].b": "hallucination",
        "$[+2].c": "hallucination",
        "$[0].d": "hallucination",
        "$[+2].d": "hallucination",
    }
    s = found.summary
    assert s["score_sum"] == 3
    assert s["cell_recall"] == pytest.approx(3 / 9)
    assert s["cell_precision"] == pytest.approx(3 / (9 + 2))
    assert s["cell_f1"] == pytest.approx(6 / 20)
    statuses = found.columns.set_index("predicted_column")["status"]
    assert statuses["d"] == "extra"
    assert found.matches["status"].tolist() == ["matched", "matched", "missed", "spurious"]


def test_cells_have_the_columns_of_fields() -> None:
    comparison = compare("k,v\na,1\nb,\n", "k,v,w\na,2,x\n", keys="k")
    found = comparison.cells
    assert set(FIELD_COLUMNS.names) - set(found.columns) == {"predicted_path", "accepted_as"}
    assert found["schema_path"].isna().all()
    assert (found["depth"] == 2).all()
    assert (found["weight"] == 1.0).all()
    assert found.set_index("field")["required"].to_dict() == {"[].v": True, "[].w": False}
    groups = breakdown(comparison, "required").set_index("required")["hallucination"]
    assert groups.to_dict() == {False: 1, True: 0}


def test_a_failed_reply_matches_no_row() -> None:
    tables = "k,v\n,1\na,2\n", "k,v\nzzz,1\na,2\n"
    found = compare(*tables, keys="k", judge=Recorded(), profile="aoe")
    assert found.matches["status"].tolist() == ["missed", "matched", "spurious"]
    assert "without a verdict" in found.meta["problem"]


@pytest.mark.parametrize(
    "column, gold, predicted, outcome",
    [
        ("sales", "1,200", "1200.0", "correct"),
        ("sales", "1,200", "１２００", "correct"),
        ("sales", "1200", "1201", "incorrect"),
        ("sales", "-5", "(5)", "correct"),
        ("sales (元)", "500000000", "5亿元", "correct"),
        ("sales (元)", "5", "5元", "correct"),
        ("sales", "5", "5元", "incorrect"),
        ("growth (%)", "7.65", "7.65%", "correct"),
        ("growth", "7.65", "7.65%", "incorrect"),
        ("growth", "0.0765", "7.65%", "correct"),
        ("rate", "0.125", "125‰", "correct"),
        ("rate (‰)", "125", "125‰", "correct"),
        ("share", "0.3", "0.30000000000000004", "correct"),  # 15 digits count
        ("share", "0.3", "0.3000000000001", "incorrect"),
        ("year", "2020", "2020年", "correct"),
        ("code", "007", "7", "incorrect"),
        ("note", "ACME Inc.", "acme  inc.", "correct"),
        ("note", "ACME Inc.", "Acme Incorporated", "correct"),
        ("note", "N/A", "", "both_absent"),
        ("note", "", "null", "both_absent"),
        ("note", "yes", "--", "omission"),
        ("note", "-", "yes", "hallucination"),
        ("note", "Figure 3", "Figure 4", "incorrect"),
    ],
)
def test_cells(column: str, gold: str, predicted: str, outcome: str) -> None:
    sides = [pd.DataFrame({"k": ["r"], column: [text]}) for text in (gold, predicted)]
    assert compare(*sides, keys="k").cells.loc[0, "outcome"] == outcome


@pytest.mark.parametrize(
    "gold, predicted, rule",
    [
        ("Report A", "Report A", "exact"),
        ("Report A", "report a.md", "normalised"),
        ("2020", "2020年", "normalised"),
        ("ACME annual report", "ACME anual report", "similar"),
        ("J. Smith and Sons", "Smith and Sons J.", "similar"),
        ("Report 2020", "Report 2021", None),
        ("Report 07", "Report 7", None),
        ("二〇二〇年年度报告全文", "二〇二一年年度报告全文", None),
        ("ACME Incorporated", "Acme Inc", "judge"),
        ("apples", "pears", None),
    ],
)
def test_keys(gold: str, predicted: str, rule: str | None) -> None:
    found = compare(f"k,v\n{gold},1\n", f"k,v\n{predicted},1\n", keys="k")
    rules = found.matches["rule"].dropna().tolist()
    assert rules == ([] if rule is None else [rule])


def test_rows_are_matched_optimally() -> None:
    gold = "k,v\nalpha report one,1\nalpha report ones,2\n"
    answer = "k,v\nalpha report onesy,2\nalpha report one,1\n"
    assert compare(gold, answer, keys="k").summary["cell_f1"] == 1.0


def test_repeated_keys_are_matched_by_their_cells() -> None:
    gold = "k,v,w\na,1,x\na,2,y\na,3,z\nb,4,u\n"
    answer = "k,v,w\na,3,z\na,1,x\nb,4,u\na,2,q\n"
    found = compare(gold, answer, keys="k")
    assert found.summary["cell_f1"] == pytest.approx(7 / 8)
    assert found.matches["predicted_row"].tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize(
    "gold, predicted, status, rule",
    [
        ("sales", "sales", "matched", "name"),
        ("资产总额(元)", "资产总额（元）", "renamed", "normalised"),
        ("Net Profit", "net_profit", "renamed", "normalised"),
        ("Net Profit (CNY)", "Net Profit (%)", "missing", None),
        ("Revenue (2020)", "Revenue (2021)", "missing", None),
        ("organisation", "organization", "renamed", "judge"),
    ],
)
def test_columns(gold: str, predicted: str, status: str, rule: str | None) -> None:
    found = compare(f"k,{gold}\nr,1\n", f"k,{predicted}\nr,1\n", keys="k")
    row = found.columns.set_index("column").loc[gold]
    assert (row["status"], None if row["rule"] is pd.NA else row["rule"]) == (status, rule)
    assert found.summary["cell_f1"] == (1.0 if status != "missing" else 0.0)


class Dead:
    """A judge that never answers."""

    name = "dead"

    def compare(self, gold: str, predicted: str) -> Verdict:
        raise JudgeError("no answer", reason="timeout")


class Generous:
    """A judge that accepts everything."""

    name = "generous"

    async def compare(self, gold: str, predicted: str) -> Verdict:
        return Verdict(1.0, "fine")


class Scoring:
    """A judge with a score for each pair of texts, 0 for all others."""

    name = "scoring"

    def __init__(self, scores: dict[tuple[str, str], float]) -> None:
        self.scores = scores

    def compare(self, gold: str, predicted: str) -> Verdict:
        return Verdict(self.scores.get((gold, predicted), 0.0), "as listed")


SEVENTY = {("case", "file"): 0.7, ("Crown v A", "A trial"): 0.7, ("bribery", "taking bribes"): 0.7}


@pytest.mark.parametrize("profile", ["strict", "aoe"])
def test_a_score_at_the_mark_passes(profile: str) -> None:
    gold, answer = "case,crime\nCrown v A,bribery\n", "file,crime\nA trial,taking bribes\n"
    if profile == "aoe":  # it aligns columns by name
        answer = answer.replace("file", "case")
    # keys that are a little alike are asked about
    renamed = {(one, two.replace("A trial", "Crown, A")): s for (one, two), s in SEVENTY.items()}
    answer = answer.replace("A trial", '"Crown, A"')
    found = compare(gold, answer, keys="case", judge=Scoring(renamed), profile=profile)
    assert found.matches["rule"].tolist() == ["judge"]
    assert found.cells["outcome"].tolist() == ["correct"]
    assert found.cells["passed"].all()
    if profile == "strict":
        assert found.columns["rule"].tolist() == ["judge", "name"]
        below = Scoring(dict.fromkeys(renamed, 0.69))
        assert compare(gold, answer, keys="case", judge=below).summary["column_recall"] == 1.0
        assert compare(gold, answer, keys="case", judge=below).summary["cell_f1"] == 0.0


def test_as_many_columns_as_possible_are_aligned() -> None:
    """Eight pairs of 0.7 come before seven of 1.0, of which each blocks two."""
    letters = "abcdefgh"
    scores = {(f"gold {a}", f"predicted {a}"): 0.7 for a in letters}
    scores |= {(f"gold {a}", f"predicted {b}"): 1.0 for a, b in pairwise(letters)}
    sides = (",".join(f"{side} {a}" for a in letters) for side in ("gold", "predicted"))
    tables = [f"k,{names}\nr{',x' * len(letters)}\n" for names in sides]
    found = compare(*tables, keys="k", judge=Scoring(scores))
    assert found.summary["column_recall"] == 1.0
    assert found.summary["cell_f1"] == 1.0


def test_as_many_rows_as_possible_are_matched() -> None:
    """Two pairs at 45 come before one at 95."""
    first, close = "abcdefghijklmnopqrst", "abcdefghijklmnopqrsu"
    gold = f"k,v\n{first},1\nabcdefghivvvvvvvvvvv,2\n"
    answer = f"k,v\n{close},2\nwwwwwwwwwwwlmnopqrst,1\n"
    found = compare(gold, answer, keys="k", profile=rules_of("strict", threshold=44))
    assert found.matches["predicted_row"].tolist() == [1, 0]
    assert found.summary["cell_f1"] == 1.0


def test_released_similarities_are_rounded() -> None:
    gold, answer = f"k,v\nr,{'a' * 30}bbb\n", f"k,v\nr,{'a' * 30}cccc\n"  # 89.55
    found = compare(gold, answer, keys="k", profile=rules_of("aoe", cells="fuzzy"))
    assert found.summary["cell_f1"] == 1.0


JUDGED = ("k,v,name\nalpha,x,ACME\nbeta,y,Big Co\n", "k,v,label\nalpha,z,ACME\nbetta 's,y,Big\n")


def test_a_judge_that_fails_is_no_verdict() -> None:
    dead = compare(*JUDGED, keys="k", judge=Dead())
    assert dead.summary["cell_f1"] <= compare(*JUDGED, keys="k").summary["cell_f1"]
    assert dead.summary["judge_errors"] > 0
    errors = dead.cells[dead.cells["outcome"] == "judge_error"]
    assert errors["score"].isna().all()
    assert errors["passed"].isna().all()
    assert dead.summary["evaluated"] == len(dead.cells)
    assert "judge_error" in set(dead.matches["status"])
    assert "without a verdict" in repr(dead)
    generous = compare(*JUDGED, keys="k", judge=Generous())
    assert generous.summary["cell_f1"] == 1.0


def test_partial_credit_and_failures_by_profile() -> None:
    tables = "k,v\nr,abc def\n", "k,v\nr,abc xyz\n"
    for profile, score, failed in (("strict", 0.0, None), ("aoe", 0.5, 0.0)):
        half = compare(*tables, keys="k", judge=Recorded(None, 0.5), profile=profile)
        assert half.summary["cell_f1"] == score
        dead = compare(*tables, keys="k", judge=Dead(), profile=profile).cells.loc[0]
        assert dead["outcome"] == "judge_error"
        assert (None if pd.isna(dead["score"]) else dead["score"]) == failed


def test_no_table_is_a_result() -> None:
    gold = "k,v\na,1\nb,2\n"
    for answer in (None, "", "I cannot do that.", "```csv\n```"):
        found = compare(gold, answer, keys="k")
        assert found.summary["cell_f1"] == 0.0
        assert set(found.cells["outcome"]) == {"structural"}
        assert set(found.cells["reason"]) <= {"no_answer", "no_table"}
    header = compare(gold, "k,v\n", keys="k")
    assert set(header.cells["outcome"]) == {"omission"}
    assert header.meta["problem"] == "a header without rows"


@pytest.mark.parametrize(
    "gold, key",
    [
        ("sales,city\n1,Oslo\n1,Rome\n", "city"),
        ("a,b\n1,2\n3,4\n", "a"),
        ("a,b\nx,y\nX,y\n", "a"),  # nothing better: the first column
    ],
)
def test_the_first_column_that_names_the_rows_is_the_key(gold: str, key: str) -> None:
    assert compare(gold, gold).meta["keys"] == [key]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"keys": "nam"}, "gold has no column 'nam'; did you mean 'name'"),
        ({"keys": []}, "keys is empty"),
        ({"values": "salse"}, "gold has no column 'salse'"),
        ({"profile": "strikt"}, "unknown profile 'strikt'; did you mean 'strict'"),
        ({"judge": "ofline"}, "unknown judge 'ofline'"),
    ],
)
def test_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        compare("name,sales\na,1\n", "name,sales\na,1\n", **options)


def test_columns_that_gold_lacks_are_left_out() -> None:
    tables = "k,v\na,1\n", "k,v\na,1\n"
    found = compare(*tables, keys="k", values=["v", "w"], numeric=["vv"])
    assert found.meta["problem"] == "gold has no columns 'w'"
    configured = compare(*tables, keys="k", values=["v", "w"], profile="aoe")
    assert configured.summary["column_recall"] == 0.5


def test_gold_must_be_a_table() -> None:
    for gold in (None, "", "words only"):
        with pytest.raises(InputError, match="gold holds no table"):
            compare(gold, "k,v\na,1\n")


def test_rules() -> None:
    with pytest.raises(InputError, match="'aoe' has no rule 'row'; did you mean 'rows'"):
        rules_of("aoe", row="exact")
    with pytest.raises(InputError, match="'strict' has no rule 'rows'; expected threshold"):
        rules_of("strict", rows="exact")
    with pytest.raises(InputError, match="cells is 'maybe'"):
        rules_of("aoe", cells="maybe")


def test_the_result_is_complete() -> None:
    found = compare("k,v\n<script>alert(1)</script>,1\n", "k,v\n<script>alert(1)</script>,2\n")
    page = found._repr_html_()
    assert "<script>" not in page
    assert "cell_f1 0.000" in page
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    for name in ("rows", "matches", "cells", "columns", "judge_calls"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(found, name))
    assert found.cells.loc[0, "kind"] == "other"


@pytest.mark.parametrize(
    "gold, predicted, kind",
    [
        ("1200", "1300", "typo"),  # no years
        ("1,200", "2,470", "other_item"),
        ("-5", "5", "sign"),
        ("12.5", "1250", "power_of_ten"),
        ("1200", "1200 boxes", "extra_text"),
        ("1200", "many", "other"),
    ],
)
def test_numbers_differ_as_numbers(gold: str, predicted: str, kind: str) -> None:
    columns = ["k", "sales"]
    ours = pd.DataFrame([["a", gold], ["b", "2470"]], columns=columns)
    theirs = pd.DataFrame([["a", predicted], ["b", "2470"]], columns=columns)
    found = compare(ours, theirs, keys="k")
    assert found.cells.loc[0, "kind"] == kind
    assert found.cells.loc[0, ["gold", "predicted"]].tolist() == [gold, predicted]


def test_the_released_rules_where_nothing_can_be_compared() -> None:
    for values in ([], ["no such column"]):
        found = compare("k,v\na,1\n", "k,v\na,1\n", keys="k", values=values, profile="aoe")
        assert found.summary[["gold_rows", "predicted_rows"]].tolist() == [1, 1]
        assert found.summary["cell_f1"] == 0.0
        assert "none of the compared columns" in repr(found)
        with pytest.raises(InputError, match="values: "):
            compare("k,v\na,1\n", "k,v\na,1\n", keys="k", values=values)


def test_a_table_of_keys_alone() -> None:
    found = compare("k\na\nb\n", "k\na\nc\n")
    assert found.meta["values"] == ["k"]
    assert found.summary["cell_f1"] == 0.5
