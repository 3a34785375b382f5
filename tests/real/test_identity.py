"""The 35 real golds against themselves, as they are and with every key renamed."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb

#: Counted fields in profile ``paper``, by schema.
EVALUATED = {"resume": 13, "research": 10, "credit_agreement": 13, "swimming": 5, "10kq": 55}


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_gold_against_itself(
    gold_file: Path, itself: Callable[..., Any], check: Any, profile: str
) -> None:
    ev = itself(gold_file, profile)
    s = ev.summary
    assert s["evaluated"] == s["passed"]
    if profile == "paper":
        assert s["evaluated"] == EVALUATED[gold_file.parent.parent.name]
    assert s[["pass_rate", "field_score", "overall_score"]].tolist() == [1.0, 1.0, 1.0]
    assert set(ev.fields["outcome"]) <= {"correct", "both_absent"}
    assert set(ev.matches["status"]) <= {"matched"}
    check(ev)


def test_faults_of_the_annotation_are_listed(gold_file: Path, itself: Callable[..., Any]) -> None:
    warnings = itself(gold_file).warnings
    sides = [
        warnings[warnings["side"] == side].drop(columns="side").reset_index(drop=True)
        for side in ("gold", "predicted")
    ]
    assert sides[0].equals(sides[1])
    if gold_file.parent.parent.name == "research":
        assert ((warnings["kind"] == "type") | (warnings["kind"] == "anyOf")).any()


def renamed(name: str) -> str:
    return "q" + hashlib.sha256(name.encode()).hexdigest()[:9]


def rename_schema(schema: Any) -> Any:
    """Rename every property in a JSON Schema; keywords and the names of definitions stay."""
    if isinstance(schema, list):
        return [rename_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            out[key] = {renamed(name): rename_schema(part) for name, part in value.items()}
        elif key == "required":
            out[key] = [renamed(name) for name in value]
        elif key in ("$defs", "definitions"):
            out[key] = {name: rename_schema(part) for name, part in value.items()}
        elif key in ("items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems"):
            out[key] = rename_schema(value)
        else:
            out[key] = value
    return out


def rename_document(value: Any) -> Any:
    if isinstance(value, dict):
        return {renamed(key): rename_document(v) for key, v in value.items()}
    return [rename_document(v) for v in value] if isinstance(value, list) else value


def test_with_every_key_renamed(
    gold_file: Path, read: Callable[[Path], Any], schema_for: Any, itself: Callable[[Path], Any]
) -> None:
    gold, schema, plain = read(gold_file), schema_for(gold_file), itself(gold_file)
    new = xb.schema.parse_schema(rename_schema(dict(schema.document)))
    ev = xb.evaluate(new, rename_document(gold), rename_document(copy.deepcopy(gold)))
    assert ev.summary.to_dict() == plain.summary.to_dict()
    assert ev.fields["outcome"].tolist() == plain.fields["outcome"].tolist()
    assert ev.fields["metric"].tolist() == plain.fields["metric"].tolist()
    counts = ["gold_items", "matched", "missed", "spurious"]
    assert ev.arrays[counts].equals(plain.arrays[counts])
    assert not set(ev.fields["field"]) & set(plain.fields["field"])


def test_nothing_predicted(gold_file: Path, read: Callable[[Path], Any], schema_for: Any) -> None:
    gold, schema = read(gold_file), schema_for(gold_file)
    for predicted in ({}, None):
        ev = xb.evaluate(schema, gold, predicted)
        counted = ev.fields[ev.fields["counted"]]
        assert set(counted["outcome"]) <= {"omission", "both_absent"}
        assert ev.summary["omissions"] == (counted["gold_state"] == "present").sum()
        assert set(ev.matches["status"]) <= {"missed"}
