"""What is found in the text of pages, and what is not."""

from collections.abc import Callable

import pytest

from extractbench_nb.pdf.page_text import PdfText
from extractbench_nb.pdf.search import WRITTEN, search

Found = Callable[..., list[str]]

ABSTRACT = (
    "Door sensors count twice when a passenger steps off to let others out. On the night lines "
    "this happens at busy stops only, so a correction by stop is enough for planning."
)


@pytest.mark.parametrize(
    "value, page, stands",
    [
        # writing: case, spacing, line breaks, hyphens, quotes, ligatures, width, accents
        ("Night Bus", "the NIGHT\r\nbus", ["NIGHT bus"]),
        ("efficient", "an eﬃcient way", ["efficient"]),
        ("transformers", "trans-\r\nformers", ["transformers"]),
        ("transformers", "trans\x02\r\nformers", ["transformers"]),
        ("state-of-the-art", "state‑of–the—art", ["state-of-the-art"]),
        ('the "Act"', "the “Act”", ['the "Act']),
        ("ACME", "ＡＣＭＥ Ltd", ["ACME"]),
        ("Société Générale", "SOCIETE GENERALE", ["SOCIETE GENERALE"]),
        ("in_progress", "In progress", ["In progress"]),
        ("https://www.example.org/a/", "see example.org/a", ["example.org/a"]),
        # whole words, unless the text is long enough to be no chance
        ("art", "the state of the arts", []),
        ("Kyushu Masters", "AtKyushuMastersOpen", ["KyushuMasters"]),
        ("US", "let us go to the US", ["US", "us"]),
        # digits stay grouped
        ("3:20.20", "at 32 020 and 3:20.2 0", []),
        ("3:20.20", "in 3:20.20 min", ["3:20.20"]),
        ("(555) 123-4567", "call 555.123.4567", ["555.123.4567"]),
        ("007", "agent 007, not 7", ["007"]),
        ("5 km", "in 5 km, on page 5", ["5 km"]),
        # other scripts
        ("北京大学", "来自北京大学的论文", ["北京大学"]),
        ("北京大学", "来自北京\r\n大学", ["北京 大学"]),
        ("جامعة القاهرة", "من جامعة القاهرة في", ["جامعة القاهرة"]),
        # words apart, and texts that are much alike
        ("John Smith", "Smith, John A.", ["Smith, John"]),
        ("Smith 2020", "Smith had 17 of 2020", []),
        ("Bacharach and Weatherall", "Bacharach and Wetherall", ["Bacharach and Wetherall"]),
        ("Converse", "they converge", []),
        ("Treaty No 14 of Wexmouth", "Treaty No 15 of Wexmouth", []),
        # long texts in pieces
        (ABSTRACT, ABSTRACT.replace("others out.", "others out. Page 2 of 9"), None),
        (ABSTRACT, ABSTRACT.replace(" ", "  \r\n"), None),
        (ABSTRACT, "Door sensors are sold by the dozen. Night lines run late.", []),
        # words that are signs elsewhere
        ("USD", "it costs $5", ["$"]),
        ("Northwind", "", []),
    ],
)  # fmt: skip
def test_a_text_is_found_whatever_its_writing(
    found: Found, value: str, page: str, stands: list[str] | None
) -> None:
    result = found(value, page)
    if stands is None:
        assert len(result) == 1
        assert result[0].startswith("Door sensors count twice")
        assert result[0].endswith("enough for planning")
    else:
        assert result == stands


@pytest.mark.parametrize(
    "value, page, stands",
    [
        (12, "in 2012, 12.5 and A-12.7 or 1,2,3 or 3.12", []),
        (12, "12 of them", ["12"]),
        (1234.5, "1,234.5 1234.50 1.234,5 1'234.5", ["1,234.5", "1234.50", "1.234,5", "1'234.5"]),
        (12500, "all 12 500 km", ["12 500"]),
        (-1234.5, "a loss of (1,234.5) or -1,234.5 or −$1,234.5", ["1,234.5"] * 3),
        (-1234.5, "a loss of 1,234.5", ["1,234.5"]),
        (0.125, "12.5% and 12.5 percent", ["12.5", "12.5"]),
        (0.12, "12 of them", []),
        (2_500_000, "$2.5 million", ["2.5"]),
        (2_500_000, "2.5 thousand", []),
        (2_500_000, "in thousands: 2,500", ["2,500"]),
        (53_341_000_000, "(In millions) Total 53,341", ["53,341"]),
        (3, "three of 3", ["3", "three"]),
        (25, "twenty-five", ["twenty-five"]),
        (1000, "(in thousands)", ["thousands"]),
        (2024, "on 01/02/2024", ["01/02/2024"]),
        (1.5, "version 1.5.2 at 1:50", []),
        (10**20 + 1, "100000000000000000001", ["100000000000000000001"]),
        (10**20 + 1, "100000000000000000002", []),
        (True + 0, "1", ["1"]),
        (1e308, "nothing", []),
        ("1,234.5", "1234.50", ["1234.50"]),
        ("$1.5 million", "1,500,000", ["1,500,000"]),
        ("12.5%", "12.5 %", ["12.5"]),
    ],
)
def test_a_number_is_found_in_its_written_forms(
    found: Found, value: float, page: str, stands: list[str]
) -> None:
    assert found(value, page) == stands


@pytest.mark.parametrize(
    "value, page, stands",
    [
        ("2024-03-01", "March 1, 2024; 1 Mar 2024; 2024-03-01; 01.03.2024; 2024/3/1", 5),
        ("2024-03-01", "03/01/2024 or 01/03/2024", 2),
        ("2024-03-01", "in March 2024", 1),
        ("2024-03-07", "in March 2024", 0),
        ("2024-03", "on 7 March 2024", 1),
        ("2024", "on 7 March 2024, of 12024", 1),
        ("2019-02-28T23:00:00.000Z", "1 March 2019", 1),
        ("2024-03-01", "1 April 2024", 0),
    ],
)
def test_a_date_is_found_in_its_written_forms(
    found: Found, value: str, page: str, stands: int
) -> None:
    assert len(found(value, page)) == stands


def test_the_best_hit_comes_first_and_says_how_it_is_written() -> None:
    index = PdfText(["revenue of 1,234.5 (first) and a loss of (1,234.5)", "in March 2024"])
    loss, revenue = search(-1234.5, index)
    assert (loss.similarity, revenue.similarity) == (1.0, 0.9)
    assert loss.start > revenue.start
    written = {
        value: search(value, index)[0].written
        for value in ("a loss", 1234.5, "2024-03", "March in", "revenues of 1,234.5 (first)")
    }
    assert list(written.values()) == ["as_is", "number", "date", "apart", "similar"]
    assert {hit.written for hit in search(ABSTRACT, PdfText([ABSTRACT + " ", ABSTRACT]))} == {
        "as_is"
    }
    assert set(written.values()) < set(WRITTEN)


def test_a_text_over_two_pages_is_one_hit() -> None:
    index = PdfText(["it ends with Northwind", "Paper Company and goes on"])
    (hit,) = search("Northwind Paper Company", index)
    assert [part.page for part in index.excerpts(*hit.spans[0])] == [1, 2]
    assert [index.original(part) for part in index.excerpts(*hit.spans[0])] == [
        "Northwind",
        "Paper Company",
    ]


HOSTILE = [
    "",
    "—",
    "a",
    " ",
    "\x00\x01",
    "\ud800",
    "<script>alert(1)</script>",
    "x" * 1_000_000,
    "word " * 200_000,
    "1" * 100_000,
    "1," * 50_000,
    "ht" * 5_000 + "https://" * 5_000,
    "字" * 100_000,
    "(" * 50_000,
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value[:12]))
def test_hostile_values_are_searched_in_bounded_time(value: str) -> None:
    """Nothing here grows faster than the value; without bounds this test would take hours."""
    page = "\n".join(["a word, 1,234.5 and $5 of March 2024; 字字 \ud800 x"] * 200)
    index = PdfText([page, value[:2_000], ""])
    assert len(search(value, index)) <= 5_000


def test_a_page_of_hostile_text_is_indexed() -> None:
    page = "".join(chr(c) for c in range(1, 0x3000)) + "\ud800" + "1" * 5_000 + "1,1," * 500
    index = PdfText([page, "", "plain 42"])
    assert [index.page_of(hit.start) for hit in search(42, index)] == [3]


@pytest.mark.parametrize(
    "value, page, stands",
    [
        (
            "Night Buses of Verrin",
            "A report.\nNight Busses of Verrin\n1 Demand of the lines",
            "Night Busses of Verrin",
        ),
        (
            "Bank Hapoalim Limited",
            "3 BANK HAPOALIM LIMITTED\n4 BANK OF THE NORTH",
            "BANK HAPOALIM LIMITTED",
        ),
        (
            "Delicado, P. Another look at curves",
            "Delicado, P. Anothr look at curves 84",
            "Delicado, P. Anothr look at curves",
        ),
    ],
)
def test_a_similar_text_is_marked_in_whole_words(
    found: Found, value: str, page: str, stands: str
) -> None:
    assert found(value, page) == [stands]
