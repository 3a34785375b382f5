"""Names that have moved or gone: each says where it is now, and what the table names exists."""

import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.cli import main
from extractbench_nb.support.moved import moved_hint, moved_rows

COMMAND = "extractbench-nb "
ROWS = list(moved_rows().values())
rows = pytest.mark.parametrize("row", ROWS, ids=[row["old"] for row in ROWS])


def is_public(name: str) -> bool:
    """Whether each part is in `__all__` of the namespace before it, or an attribute of a class."""
    value: Any = xb
    for part in name.split(".")[1:]:
        names = getattr(value, "__all__", None)
        is_named = names is None or part in names
        if not is_named or not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


@rows
def test_a_row_says_where_the_name_is(row: Mapping[str, str], capsys: pytest.CaptureFixture[str]):
    old, new = row["old"], row["new"]
    assert new or row["note"]
    assert not new or is_public(new)
    if old.startswith(COMMAND):
        with pytest.raises(SystemExit, match="2"):
            main(old.removeprefix(COMMAND).split())
        assert moved_hint(old) in capsys.readouterr().err
        return
    assert not is_public(old)
    gone = first_unknown(old)
    if gone:  # the name itself or its namespace; what other rooms use is there, though not public
        assert moved_hint(gone)
        with pytest.raises(AttributeError, match=re.escape(moved_hint(gone)) + "$"):
            attrgetter(gone.removeprefix("xb."))(xb)


def first_unknown(name: str) -> str:
    """The first namespace in a name, or the name itself, that is not there; empty if all are."""
    value: Any = xb
    parts = name.split(".")
    for at, part in enumerate(parts[1:], 2):
        if not hasattr(value, part):
            return ".".join(parts[:at])
        value = getattr(value, part)
    return ""


@pytest.mark.parametrize(
    "old, hint",
    [
        ("xb.paper.table", "xb.paper.table is now xb.benchmark.table"),
        ("xb.paper", "xb.paper is now xb.benchmark, e.g. xb.paper.claims is now "),
        (
            "xb.gold.SUSPECT_KINDS",
            "xb.gold.SUSPECT_KINDS is no longer available. The kinds are listed in ",
        ),
        ("xb.nothing", ""),
    ],
)
def test_hints(old: str, hint: str):
    assert moved_hint(old).startswith(hint)
    assert bool(moved_hint(old)) == bool(hint)


def test_other_names_get_no_hint():
    with pytest.raises(AttributeError, match=r"'extractbench_nb.gold' has no attribute 'no'$"):
        _ = xb.gold.no
