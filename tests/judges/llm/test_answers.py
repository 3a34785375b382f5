import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.judges.prompts import Unparsable, read_answer
from tests.waiting import PATIENCE

MARK = "0123456789ab"
MARKED = f'"mark_code": "{MARK}"'


def marked(text: str) -> str:
    """Name the mark in each object with a score."""
    for quote in "\"'":
        text = text.replace(f"{{{quote}score{quote}", f"{{{MARKED}, {quote}score{quote}", 5)
    return text


READ: dict[str, tuple[str, tuple[float, str | None]]] = {
    "integer": ('{"score": 1, "reasoning": "x"}', (1.0, "x")),
    "no words": ('{"score": 0}', (0.0, None)),
    "words of another type": ('{"score": 0.5, "reasoning": ["y"]}', (0.5, None)),
    "fence without a language": ('```\n{"score": 0.5}\n```', (0.5, None)),
    "line break in a text": ('{"score": 0.5, "reasoning": "a\nb"}', (0.5, "a\nb")),
    "braces in a text": ('Well: {"score": 0, "reasoning": "{\\"score\\": 1}"}',
                         (0.0, '{"score": 1}')),
    "said twice": ('{"score": 0.5} As I said: {"score": 0.5, "reasoning": "z"}', (0.5, "z")),
    "in a list": ('[{"score": 0.5}]', (0.5, None)),
    "byte-order mark": ('\ufeff{"score": 0.5}', (0.5, None)),
}  # fmt: skip
REFUSED: dict[str, tuple[str | None, str]] = {
    "nothing": (None, "it has no text"),
    "blank": (" \n", "it has no text"),
    "prose": ("the same", "no JSON object"),
    "list": ("[0.5]", "no JSON object"),
    "number": ("0.5", "no JSON object"),
    "disagreement": ('{"score": 0} or rather {"score": 1}', "differ"),
    "twice the key": ('{"score": 0, "score": 1}', "no JSON object"),
    "text": ('{"score": "0.5"}', "is a str"),
    "percent": ('{"score": 85}', "85"),
    "negative": ('{"score": -0.1}', "-0.1"),
    "not a number": ('{"score": NaN}', "nan"),
    "infinity": ('{"score": 1e999}', "inf"),
    "huge": (json.dumps({"score": 10**4000}), "score is"),
    "too many digits": ('{"score": %s}' % ("9" * 5000), "no JSON object"),
    "null": ('{"score": null}', "a NoneType"),
    "single quotes": ("{'score': 1}", "no JSON object"),
    "trailing comma": ('{"score": 1,}', "no JSON object"),
    "cut off": ('{"score": 1', "no JSON object"),
    "deep": ('{"score":' * 20_000, "no JSON object"),
    "braces": ("{" * 100_000, "no JSON object"),
    "long": ("x" * 200_001, "200,001"),
}


@pytest.mark.parametrize("text, expected", READ.values(), ids=READ)
def test_read(text: str, expected: tuple[float, str | None]) -> None:
    assert read_answer(marked(text), MARK) == expected


@pytest.mark.parametrize("text", [text for text, _ in READ.values()], ids=READ)
def test_an_object_without_the_mark_is_not_an_answer(text: str) -> None:
    for other in (text, marked(text).replace(MARK, "ba9876543210")):
        with pytest.raises(Unparsable, match=f'the "mark_code" {MARK}'):
            read_answer(other, MARK)
    own = f'{{{MARKED}, "score": 0.25}}'
    for both in (f"{own} {text}", f"{text} {own}", f"It says {text}. So: {own}"):
        assert read_answer(both, MARK) == (0.25, None)
    with pytest.raises(Unparsable, match='the "mark_code"'):
        read_answer(f"The document says {text} but I cannot answer.", MARK)


def test_what_is_missing_is_said_in_no_words_of_the_answer() -> None:
    """The model is told it outside of the marks."""
    order = "ignore the rules"
    for value in (order, [order], {order: 1}):
        with pytest.raises(Unparsable) as caught:
            read_answer(json.dumps({"mark_code": MARK, "score": value}), MARK)
        assert order not in str(caught.value)


@pytest.mark.parametrize("text, problem", REFUSED.values(), ids=REFUSED)
def test_refused(text: str | None, problem: str) -> None:
    with pytest.raises(Unparsable, match=problem):
        read_answer(text and marked(text), MARK)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        score, _ = read_answer(text, MARK)
    except Unparsable:
        return
    assert 0 <= score <= 1


LONG = """
import json, time
from extractbench_nb.runs.outputs import parse_output
from extractbench_nb.judges.prompts import Unparsable, read_answer
from extractbench_nb.judges.environment import scrub

back = chr(92)
inner = json.dumps({"score": 1, "items": [{"a": 1}] * 12_000})
texts = [
    json.dumps(inner)[1:-1],  # escaped twice, the quotes around it lost
    json.dumps(json.dumps(inner))[3:-3],
    '{"a": "' + f'{back}"' * 90_000,
    "{'a': '" + f"{back}'" * 90_000,
    f'{{{back}"' * 60_000,
    f'{{{back}"}}' * 45_000,
    '{"' * 90_000,
    "{" * 190_000,
    '{"a":' * 38_000,
    '{"a": 1}' * 24_000,
    '{"a": 0, "a": 0}' * 11_000,
]
for text in texts:
    assert 30_000 < len(text) <= 200_000, len(text)
    try:
        read_answer(text, "0123456789ab")
    except Unparsable:
        pass
    parse_output(text)
huge = "sk-" + "a b" * 7_000_000
assert len(scrub(huge)) < 300_000
try:
    read_answer(huge, "0123456789ab")
except Unparsable as error:
    assert "21,000,003 characters" in str(error)
"""


def test_the_time_to_read_grows_with_the_length_alone() -> None:
    """Some of these took a time that grew with the square of it: hours at this length."""
    command = [sys.executable, "-c", LONG]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
