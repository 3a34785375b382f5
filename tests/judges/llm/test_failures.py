import time
from email.utils import formatdate
from typing import Any

import pytest

from extractbench_nb.judges import transport as failures
from extractbench_nb.judges.calls import pause_after
from extractbench_nb.judges.transport import Failure, asked_wait, failure_of


class RaisedError(Exception):
    def __init__(self, text: str, **attributes: Any) -> None:
        super().__init__(text)
        vars(self).update(attributes)


def limited(value: str) -> Failure:
    return failure_of(RaisedError("x"), 429, asked_wait({"retry-after": value}, ""))


@pytest.mark.parametrize(
    "value, seconds",
    [("3", 3), ("0.5", 0.5), ("-5", 0), ("soon", 0), ("", 0), ("nan", 0), ("inf", 0)],
)
def test_retry_after_in_seconds(value: str, seconds: float) -> None:
    assert (limited(value).retry_after, limited(value).transient) == (seconds, True)


def test_retry_after_as_a_date(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_800_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    assert limited(formatdate(now + 60, usegmt=True)).retry_after == 60
    assert limited(formatdate(now - 60, usegmt=True)).retry_after == 0
    later = limited(formatdate(now + 9_000, usegmt=True))
    assert not later.transient
    assert "asks to wait" in later.problem


def test_the_text_is_one_short_line() -> None:
    text = (
        "litellm.APIError: APIError: OpenAIException - a\n b Traceback (most recent call last): c"
    )
    assert failure_of(RaisedError(text, status_code=500)).problem == "a b"
    assert len(failure_of(RaisedError("x" * 9_999, status_code=500)).problem) == 501


def test_a_long_text_is_cut_before_it_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    monkeypatch.setattr(failures, "scrub", lambda text: lengths.append(len(text)) or text)
    failure_of(RaisedError("x" * 10_000_000, status_code=500))
    assert lengths == [20_000]


def test_what_is_not_known_is_not_tried_again() -> None:
    found = failure_of(ValueError("boom"))
    assert (found.reason, found.problem, found.transient) == ("model_failed", "boom", False)


def test_waits_double_with_jitter_and_heed_the_provider() -> None:
    usual, patient = Failure("x", "x"), Failure("x", "x", retry_after=30.0)
    for number, least in ((1, 1), (2, 2), (3, 4), (4, 8)):
        waits = [pause_after(number, usual, 1.0) for _ in range(50)]
        assert least <= min(waits) < max(waits) <= least + 1
    assert pause_after(1, patient, 1.0) == 30.0
    assert pause_after(10**9, usual, 1.0) <= 301
    assert pause_after(3, usual, 0.0) == 0
