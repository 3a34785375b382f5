"""Pydantic: a model class as schema, instances as gold and prediction, nothing edited by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import pandas as pd
import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    TypeAdapter,
    computed_field,
)
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY


class Plain(BaseModel):
    name: str
    year: int
    ratio: float
    signed: bool


class Money(BaseModel):
    total: Decimal
    tax: Annotated[Decimal, Field(max_digits=8, decimal_places=2)] = Decimal("0.00")


class Times(BaseModel):
    day: date
    at: datetime
    clock: time
    took: timedelta


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Enums(BaseModel):
    color: Color
    colors: list[Color]
    level: Level
    kind: Literal["a", "b", 3, None]


class Line(BaseModel):
    item: str
    amount: float


class Invoice(BaseModel):
    """An invoice with a total that follows from its lines."""

    number: str
    lines: list[Line]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def total(self) -> float:
        return sum(line.amount for line in self.lines)


class Optionals(BaseModel):
    note: str | None = None
    line: Line | None = None
    lines: list[Line | None] | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    breed: str


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]] = []


class Tree(BaseModel):
    name: str
    size: int = 1
    leaf: bool = False
    children: list[Tree] = []


class Point(NamedTuple):
    x: float
    y: float


class Containers(BaseModel):
    pair: tuple[str, int]
    many: tuple[int, ...]
    words: set[str]
    ids: frozenset[int]
    point: Point


class Maps(BaseModel):
    lines: dict[str, Line]
    years: dict[int, float]
    groups: dict[str, list[Line]]


class Names(RootModel[list[str]]):
    pass


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    rows: list[T]
    best: T | None = None


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    invoice_number: str
    billing_lines: list[Line]


class Renamed(BaseModel):
    """Input and dumps use other names."""

    model_config = ConfigDict(populate_by_name=True)
    number: str = Field(validation_alias="No", serialization_alias="nr")
    place: str = Field(validation_alias=AliasChoices("city", AliasPath("address", 0)))
    first: str = Field(validation_alias=AliasPath("names", 0))
    inner: dict[str, list[Inner]] = {}


class Inner(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    value: int = Field(alias="Val", serialization_alias="v")
    unit: str = "kg"


@dataclass
class Corner:
    x: int
    label: str


class Shape(TypedDict, total=False):
    corners: list[Corner]
    closed: bool


class Foreign(BaseModel):
    corner: Corner
    shape: Shape


class Default(BaseModel):
    """Defaults that JSON does not have."""

    when: timedelta = timedelta(hours=1)
    words: set[str] = {"a"}
    object_: Any = Field(default=object, exclude=True)


_LINE = Line(item="bolt", amount=2.5)
_NUT = Line(item="nut", amount=1.0)


def _tree(leaf: str) -> Tree:
    return Tree(name="a", children=[Tree(name="b", children=[Tree(name=leaf)])])


#: Name: schema, gold, a prediction with one error, the path of the error.
MODELS: dict[str, tuple[Any, Any, Any, str]] = {
    "Decimal": (Money, Money(total="12.50"), Money(total="12.60"), "$.total"),
    "date and time": (
        Times,
        Times(day="2024-05-06", at=datetime(2024, 5, 6, 7, tzinfo=UTC), clock="07:30", took=60),
        Times(day="2024-05-06", at=datetime(2024, 5, 6, 7, tzinfo=UTC), clock="07:30", took=90),
        "$.took",
    ),
    "Enum": (
        Enums,
        Enums(color="red", colors=["red", "blue"], level=1, kind=3),
        Enums(color="red", colors=["red", "blue"], level=2, kind=3),
        "$.level",
    ),
    "computed field": (
        Invoice,
        Invoice(number="7", lines=[_LINE, _NUT]),
        Invoice(number="7", lines=[_LINE, Line(item="nut", amount=9)]),
        "$.lines[1].amount",
    ),
    "Optional": (
        Optionals,
        Optionals(line=_LINE, lines=[_LINE, None]),
        Optionals(line=_NUT.model_copy(update={"item": "bolt"}), lines=[_LINE, None]),
        "$.line.amount",
    ),
    "discriminated union": (
        Owner,
        Owner(pet=Cat(kind="cat", lives=9), pets=[Dog(kind="dog", breed="pug")]),
        Owner(pet=Cat(kind="cat", lives=7), pets=[Dog(kind="dog", breed="pug")]),
        "$.pet.lives",
    ),
    "recursive": (Tree, _tree("c"), _tree("x"), "$.children[0].children[0].name"),
    "tuples and sets": (
        Containers,
        Containers(pair=("a", 1), many=(1, 2), words={"x", "y"}, ids=[3], point=Point(1, 2)),
        Containers(pair=("a", 2), many=(1, 2), words={"y", "x"}, ids=[3], point=Point(1, 2)),
        "$.pair[1]",
    ),
    "maps": (
        Maps,
        Maps(lines={"a": _LINE}, years={2024: 1.5}, groups={"g": [_LINE]}),
        Maps(lines={"a": _LINE}, years={2024: 2.5}, groups={"g": [_LINE]}),
        "$.years['2024']",
    ),
    "RootModel": (Names, Names(["x", "y"]), Names(["x"]), "$"),
    "alias generator": (
        Camel,
        Camel(invoice_number="7", billing_lines=[_LINE]),
        Camel(invoice_number="8", billing_lines=[_LINE]),
        "$.invoiceNumber",
    ),
    "aliases of input and dump": (
        Renamed,
        Renamed(number="7", place="Rome", first="Ann", inner={"a": [Inner(Val=1)]}),
        Renamed(number="7", place="Oslo", first="Ann", inner={"a": [Inner(Val=1)]}),
        "$.city",
    ),
    "TypeAdapter of a list": (
        TypeAdapter(list[Line]),
        [_LINE, _NUT],
        [_LINE, Line(item="nut", amount=3)],
        "$[1].amount",
    ),
    "wrong types": (
        Line,
        _LINE,
        Line.model_construct(item="bolt", amount="none"),
        "$.amount",
    ),
}


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("name", MODELS)
def test_models_are_evaluated_as_they_are(name: str, profile: str) -> None:
    schema, gold, wrong, path = MODELS[name]
    same = xb.evaluate(schema, gold, gold, profile=profile)
    assert (same.summary["overall_score"], same.summary["pass_rate"]) == (1.0, 1.0)
    assert same.summary["evaluated"] > 0
    assert same.warnings.empty
    ev = xb.evaluate(schema, gold, wrong, profile=profile)
    failed = set(ev.fields.loc[~ev.fields["passed"].astype(bool), "path"])
    arrays = set(ev.arrays["path"])
    assert path in failed | ({path} & arrays)
    below = (f"{path}[",)
    assert all(one == path or one.startswith(below) for one in failed - arrays)
    kinds = set(ev.warnings["kind"])
    assert kinds <= ({"type"} if name == "wrong types" else set())


@pytest.mark.filterwarnings("ignore:Default value:UserWarning")  # in the schema made here
@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_its_schema_and_json_give(name: str) -> None:
    """What a model writes in answer to the schema is compared with an instance as gold."""
    source, gold, wrong, _ = MODELS[name]
    options = {"by_alias": True}
    is_class = isinstance(source, type)
    schema = source.model_json_schema(**options) if is_class else source.json_schema(**options)
    read = xb.evaluate(source, gold, wrong)
    documents = (json.dumps(getattr(read.inputs, side)) for side in ("gold", "predicted"))
    written = xb.evaluate(schema, *documents)
    if name != "secrets":
        pd.testing.assert_frame_equal(read.fields, written.fields)
    adapter = TypeAdapter(source) if is_class else source
    assert adapter.validate_python(read.inputs.gold) is not None


AMOUNTS = [
    ("12.50", 12.5, True),
    (12.5, "12.50", True),
    ("12.50", "12.5", True),
    ("1E+3", 1000, True),
    ("-5", -5.0, True),
    ("12.50", 12.6, False),
    ("12.50", "-12.50", False),
    ("12.50", 125, False),
    ("100", "101", False),
]


@pytest.mark.parametrize("gold, predicted, passed", AMOUNTS)
def test_decimals_are_compared_as_numbers(gold: Any, predicted: Any, passed: bool) -> None:
    for golds in ({"total": gold}, Money(total=gold)):
        ev = xb.evaluate(Money, golds, {"total": predicted, "tax": "0.00"})
        assert ev.fields.set_index("path")["passed"]["$.total"] == passed


@pytest.mark.parametrize(
    "text, value",
    [
        ("12.50", 12.5),
        ("0.1", 0.1),
        ("100", 100),
        ("1E+3", 1000),
        ("-0.00", 0),
        ("123456789012345678.01", "123456789012345678.01"),
        ("12345678901234567890", "12345678901234567890"),
        ("1E+400", "1E+400"),
        ("NaN", "NaN"),
    ],
)
def test_decimals_of_instances_are_numbers_where_no_digit_is_lost(text: str, value: Any) -> None:
    amount = TypeAdapter(dict[str, list[Money]])
    gold = {"a": [Money.model_construct(total=Decimal(text))]}
    found = xb.evaluate(amount, gold, gold).inputs.gold["a"][0]["total"]
    assert (type(found), found) == (type(value), value)


def test_metrics_of_numbers_apply_to_decimals() -> None:
    @xb.metric("half_price", applies_to="number")
    def half_price(gold: float, predicted: float) -> float:
        return float(predicted * 2 == gold)

    gold = Money(total="12.50")
    for predicted in (Money(total="6.25"), {"total": 6.25, "tax": 0}):
        ev = xb.evaluate(Money, gold, predicted, metrics={"total": half_price})
        assert ev.fields["outcome"].tolist() == ["correct", "correct"]
    del REGISTRY.entries["half_price"]


def test_computed_fields_are_not_scored() -> None:
    invoice = Invoice(number="7", lines=[_LINE])
    ev = xb.evaluate(Invoice, invoice, {"number": "7", "lines": [_LINE]})
    assert ev.fields["path"].tolist()[:2] == ["$.number", "$.lines"]
    assert "total" not in ev.inputs.gold
    assert ev.summary["pass_rate"] == 1.0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_batches_take_models_and_know_their_content(n_jobs: int, tmp_path: Path) -> None:
    golds = [Renamed(number=str(n), place="Rome", first="Ann") for n in range(3)]

    def runs(last: str) -> pd.DataFrame:
        answers = [*golds[:2], golds[2].model_copy(update={"place": last})]
        return pd.DataFrame(
            {
                "run": "r",
                "document": [f"d{n}" for n in range(3)],
                "gold": golds,
                "predicted": answers,
                "schema": pd.Series([Renamed] * 3, dtype=object),
            }
        )

    options: dict[str, Any] = {"n_jobs": n_jobs, "progress": False, "resume": tmp_path / "batch"}
    first = xb.evaluate_runs(runs("Rome"), **options)
    assert first.summary["pass_rate"].tolist() == [1.0, 1.0, 1.0]
    assert first.summary["schema"].tolist() == ["Renamed"] * 3
    second = xb.evaluate_runs(runs("Oslo"), **options)
    assert second.meta["evaluated"] == 1
    failed = second.fields[~second.fields["passed"].astype(bool)]
    assert failed[["document", "path"]].to_numpy().tolist() == [["d2", "$.city"]]
