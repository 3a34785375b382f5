"""Set phrases and values are rewritten before texts are cut into words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.core.text.lexicon import ALIASES
from extractbench_nb.core.text.word_tokens import aliases, prepare, reword
from extractbench_nb.support.folding import unify


@pytest.mark.parametrize(
    "text, expected",
    [
        ("first quarter", "q1"),
        ("4Q21", "q4 2021"),
        ("FY'23", "fy 2023"),
        ("third fiscal quarter of 2021", "q3 fy of 2021"),
        ("Since June 2017", "June 2017 - present"),
        ("minus 5 degrees", "-5 degrees"),
        ("1/2 of the loans", "1/2 of the loans"),
        ("fiscal 2024", "fy 2024"),
        ("fiscal policy", "fiscal policy"),
        ("No. 12", "12"),
        ("No. of employees", "number of employees"),
        ("no employees", "no employees"),
        ("between 5 and 10 staff", "5 to 10 staff"),
        ("between Rome and Bern", "between Rome and Bern"),
        ("the twenty-first day of June, 2020", "the 21 day of June, 2020"),
        ("the first of many", "the first of many"),
        ("Co-Founder", "CoFounder"),
        ("5' 10\"", "5 ft 10 inch"),
        ("Due 1,234.56-", "Due -1,234.56"),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("DE89 3704 1044 1532 1130 01", "DE89 3704 1044 1532 1130 01"),
        ("ISBN 0-306-40615-2", "0306406152"),
        ("0-306-40615-3", "0-306-40615-3"),
        ("979-10-90636-07-1", "9791090636071"),
        ("4111-1111-1111-1111", "4111111111111111"),
        ("2010 2011 2012 2013", "2010 2011 2012 2013"),
        ("Prior to closing", "before closing"),
        ("a claim [12, 14] made", "a claim made"),
        ("p ≤ 0.05", "p atmost 0.05"),
        ("HER2+ and ER-", "HER2 positive and ER negative"),
        ("long- term and pre- or post-war", "long- term and pre- or post-war"),
        ("C++", "C++"),
        ("5 mg/kg", "5 mg per kg"),
        ("and/or", "andor"),
        ("54.5 m2", "54.5 sqm"),
        ("3' - 0\"", "3 ft - 0 inch"),
        ('the "class of 1990" act', 'the "class of 1990" act'),
        ("12:05 AM", "0:05"),
        ("CD4+CD8-", "CD4 plus CD8 negative"),
        ("HBsAg (-)", "HBsAg negative"),
        ("SOFR+2%", "SOFR plus 2%"),
        ("due 2024-01-05T10:00+02:00", "due 2024-01-05T10:00+02:00"),
        ("LDL ↑", "LDL upwardsarrow#"),
        ("Roe v. Wade", "Roe versus Wade"),
        ("Ann V. Wade", "Ann V. Wade"),
        ("1.5 x 10^-3 and 2e+5", "0.0015 and 200000"),
        ("2 x 10^30", "2 x 10 power 30"),
        ("1h 30m", "1 h 30 min"),
        ("2 pM at 2 pm", "2 pM at 14:00"),
        ("you can't and won't", "you can not and will not"),
    ],
)
def test_reword(text, expected):
    assert reword(unify(text)) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("(415) 555-0132", "4155550132"),
        ("+1 415-555-0132", "4155550132"),
        ("1-415-555-0132", "4155550132"),
        ("415.555.0132", "4155550132"),
        ("+44 (0)20 7946 0958", "442079460958"),
        ("+49-30-901820", "4930901820"),
        ("555-0132", "555-0132"),
        ("2019-01-02", "2019-01-02"),
        ("123-45-6789", "123-45-6789"),
    ],
)
def test_phone_numbers_are_written_in_digits(text, expected):
    assert reword(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("pp. 1023-31", "pp. 1023-1031"),
        ("233-51", "233-251"),
        ("2015-16", "2015-2016"),
        ("2015-11", "2015-11"),
        ("2019-01-02", "2019-01-02"),
        ("251-33", "251-33"),
        ("100-200", "100-200"),
    ],
)
def test_a_shortened_range_is_written_in_full(text, expected):
    assert reword(text) == expected


@given(st.text(st.characters(), max_size=80))
def test_any_text(text):
    assert isinstance(reword(unify(text)), str)


def test_each_alias_names_its_row():
    """Most names of the table are taken as they are, which must be what preparing gives."""
    names = [(row, n) for row, found in enumerate(ALIASES) for n in found.split("|") if n[0] != "#"]
    missed = [n for row, n in names if row not in aliases(prepare(n.replace("+", "plus")).tokens)]
    assert missed == []
