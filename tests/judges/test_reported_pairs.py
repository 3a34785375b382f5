"""Pairs that were judged wrongly once, by kind, with pairs that resemble them."""

import pytest

from extractbench_nb.core.text.dates import Date, parse_date
from extractbench_nb.core.text.offline_judge import OfflineJudge
from tests.judges.pairs import PASS

JUDGE = OfflineJudge()
DIFFERENT = {
    "words that resemble typing errors": [
        ("contact", "contract"),
        ("deceased", "decreased"),
        ("mortality", "morality"),
        ("mediation", "medication"),
        ("Johnson", "Johnston"),
        ("Cameron", "Cameroon"),
        ("the mediation of the parties", "the medication of the parties"),
    ],
    "words made of two stop words": [
        ("James Dean", "James"),
        ("Leon County", "County"),
        ("Diet Coke", "Coke"),
    ],
    "a slash between single digits": [
        ("10YR 4/2", "10YR 6/3"),
        ("Room 4/2", "Room 6/3"),
        ("Room 2/4", "Room 3/6"),
        ("Room 4/2", "Room 2"),
        ("Room 10 4/2", "Room 12"),
    ],
    "a sign": [
        ("1,234.56-", "1,234.56"),
        ("Balance 1,234.56-", "Balance 1,234.56"),
        ("007", "-007"),
        ("Ref 007", "Ref -007"),
        ("1.2.3", "-1.2.3"),
        ("Lap 1:03.28", "Lap -1:03.28"),
        ("4111111111111111", "-4111111111111111"),
        ("12345-6", "12345-6-"),
        ("1) Scope", "-1) Scope"),
        ("1. Scope", "-1. Scope"),
        ("(1) Scope (2) Fees", "(-1) Scope (2) Fees"),
        ("A-12", "-A-12"),
        ("B52", "-B52"),
        ("Form 10-K", "Form -10-K"),
        ("5 items", "-5 items"),
        ("2024-03-05", "-2024-03-05"),
    ],
    "a unit without a number": [
        ("MW", "mW"),
        ("Power (MW)", "Power (mW)"),
        ("nM", "nm"),
        ("GB", "Gb"),
        ("Mg", "mg"),
        ("MPa", "mPa"),
        ("MV", "mV"),
    ],
    "a word that is said twice": [
        ("Baden-Baden", "Baden"),
        ("Pago Pago", "Pago"),
        ("New York, New York", "York, New York"),
    ],
    "formats of numbers and codes": [
        ("1 234,56 €", "1 234,57 €"),
        ("1 234,56 €", "123 456 €"),
        ("1'000.00", "1'000.01"),
        ("AED 100", "SAR 100"),
        ("₱100", "₦100"),
        ("ALL 50 STATES", "50 STATES"),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013001"),
        ("978-3-16-148410-0", "9783161484101"),
        ("10000-20000", "1000020000"),
        ("https://doi.org/10.1145/3292500.3330701", "10.1145/3292500.3330702"),
        ("2024年3月5日", "2024-03-06"),
        ("5 марта 2024 г.", "2024-04-05"),
    ],
}
SAME = {
    "dates": [
        ("2024年3月5日", "2024-03-05"),
        ("2024 年 3 月 5 日", "March 5, 2024"),
        ("2024년 3월 5일", "2024-03-05"),
        ("2024年3月", "March 2024"),
        ("签订于2024年3月5日", "签订于2024-03-05"),
        ("5 марта 2024 г.", "2024-03-05"),
        ("5 марта 2024 года", "5 March 2024"),
        ("Май 2024", "May 2024"),
        ("5 marca 2024 r.", "2024-03-05"),
        ("1 września 2023", "2023-09-01"),
        ("5. března 2024", "2024-03-05"),
        ("12. července 2021", "2021-07-12"),
    ],
    "amounts": [
        ("1 234,56 €", "1234.56 EUR"),
        ("1 234,56 €", "€1,234.56"),
        ("12 345 678,90", "12,345,678.90"),
        ("1'000.00", "1000"),
        ("CHF 1'234'567.50", "CHF 1,234,567.50"),
        ("12,34,567.89", "1,234,567.89"),
        ("1,234.56-", "-1,234.56"),
        ("$100", "100"),
        ("AED 100", "100"),
        ("100 RON", "100"),
        ("₱1,000", "1000"),
        ("PHP 1,000", "₱1000"),
        ("R$ 1.234,56", "BRL 1,234.56"),
        ("S$50", "SGD 50"),
        ("1.234,56 zł", "PLN 1234.56"),
        ("1 500 Kč", "CZK 1,500"),
        ("Rs. 500", "INR 500"),
        ("1,5 Mrd. EUR", "EUR 1.5 billion"),
        ("2.5 crore", "25,000,000"),
    ],
    "codes": [
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("GB29 NWBK 6016 1331 9268 19", "IBAN: GB29NWBK60161331926819"),
        ("978-3-16-148410-0", "9783161484100"),
        ("ISBN 978-3-16-148410-0", "9783161484100"),
        ("0-306-40615-2", "ISBN 0306406152"),
        ("4111 1111 1111 1111", "4111111111111111"),
        ("https://doi.org/10.1145/3292500.3330701", "10.1145/3292500.3330701"),
        ("doi:10.1145/3292500.3330701", "http://dx.doi.org/10.1145/3292500.3330701"),
        ("DOI: 10.1000/xyz123", "https://doi.org/10.1000/XYZ123"),
        ("https://orcid.org/0000-0002-1825-0097", "0000-0002-1825-0097"),
    ],
    "fractions": [("1/2 inch", "0.5 inch"), ("5 3/4 %", "5.75%"), ("MW", "megawatt")],
}


def rows(tables):
    return [pytest.param(*pair, id=f"{kind}: {pair}") for kind in tables for pair in tables[kind]]


@pytest.mark.parametrize("gold, predicted", rows(DIFFERENT))
def test_different(gold, predicted):
    assert JUDGE.compare(gold, predicted).score < PASS


@pytest.mark.parametrize("gold, predicted", rows(SAME))
def test_same(gold, predicted):
    assert JUDGE.compare(gold, predicted).score >= PASS


@pytest.mark.parametrize(
    "text",
    [
        "2024年3月5日",
        "2024年03月05日",
        "2024년 3월 5일",
        "5 марта 2024 г.",
        "5 marca 2024",
        "5. března 2024",
    ],
)
def test_the_metric_date_reads_them(text):
    assert parse_date(text) == Date(2024, 3, 5)
