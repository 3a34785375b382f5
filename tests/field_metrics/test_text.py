"""Text normalisation: what folds together and what stays apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.support import folding as language
from extractbench_nb.support.folding import fold, normalize, strip_punctuation, unify


@pytest.mark.parametrize(
    "text, expected",
    [
        ("  two   words\t", "two words"),
        ("eﬃcient", "efficient"),
        ("naïve café", "naive cafe"),
        ("Łódź Ørsted Straße", "Lodz Orsted Strasse"),
        ("Nguyễn Văn", "Nguyen Van"),
        ("a – b — c", "a - b - c"),
        ("“quoted” ‘single’", "\"quoted\" 'single'"),
        ("trans-\nformer", "transformer"),
        ("docu-\r\n  ments", "documents"),
        ("T-\nCell", "T- Cell"),
        ("soft\u00adhyphen", "softhyphen"),
        ("no\u00a0break", "no break"),
        ("CO₂ x²", "CO2 x2"),
        ("10 × 3", "10 x 3"),
        ("Office™", "Office"),
        ("3½", "3 1/2"),
        ("が", "が"),
        ("", ""),
    ],
)
def test_unify(text, expected):
    assert unify(text) == expected


def test_fold_drops_case():
    assert fold("STRASSE") == fold("Straße") == "strasse"


@pytest.mark.parametrize(
    "a, b, equal",
    [
        ("State-of-the-Art", "state of the art", True),
        ("A; B", "a, b.", True),
        ("snake_case", "snake case", True),
        ("ab", "a b", False),
        ("+", "-", False),
        ("2021", "2022", False),
    ],
)
def test_normalize(a, b, equal):
    assert (normalize(a) == normalize(b)) is equal


def test_strip_punctuation_keeps_letters_of_any_script():
    assert strip_punctuation("東京, 京都!") == "東京 京都"


LETTERS = "aé`´“”–™ﬁøß\u0301\u0338\u00a0²½⅓1゙かｶÅ가=≠"


@given(st.text(LETTERS) | st.text())
def test_letters_are_mapped_one_by_one_only_where_that_changes_nothing(text):
    text = text.replace("\n", " ")
    whole = language._compose(language._FRACTION.sub(r"\1 ", text)).replace("`", "'")
    assert unify(text) == " ".join(whole.split())


@given(st.text())
def test_unify_is_idempotent_enough_for_comparison(text):
    folded = normalize(text)
    assert normalize(folded) == normalize(normalize(folded))


@given(st.text(st.characters(categories=("Cs", "Cc", "Ll", "Mn"))))
def test_any_string_is_accepted(text):
    assert isinstance(normalize(text), str)
