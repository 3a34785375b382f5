"""Pydantic: a model class as schema, instances as gold and prediction, nothing edited by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

import pytest
from annotated_types import Ge, Len
from pydantic import (
    AliasChoices,
    AliasPath,
    AnyUrl,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    SecretStr,
    Tag,
    TypeAdapter,
    computed_field,
    field_serializer,
    model_serializer,
)
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

import extractbench_nb as xb


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


class Person(BaseModel):
    name: str
    firm: Firm | None = None


class Firm(BaseModel):
    title: str
    staff: list[Person] = []


class Constrained(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    code: Annotated[str, Field(pattern=r"^[A-Z]{2}\d+$", min_length=3)]
    count: Annotated[int, Ge(0), Field(multiple_of=5)]
    tags: Annotated[list[str], Len(1, 3)]


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


class Table(RootModel[dict[str, Line]]):
    pass


class Roots(BaseModel):
    names: Names
    table: Table


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


class Network(BaseModel):
    id: UUID
    site: AnyUrl
    file: Path
    data: bytes


class Hidden(BaseModel):
    user: str
    password: SecretStr
    token: SecretStr | None = None


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


class Serialized(BaseModel):
    day: date
    tags: list[str]

    @field_serializer("tags")
    def join(self, tags: list[str]) -> list[str]:
        return sorted(tags)


class Whole(BaseModel):
    low: int
    high: int

    @model_serializer(mode="wrap")
    def both(self, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return handler(self)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Loose(BaseModel):
    value: int | float | str | list[str] | None
    anything: Any = None
    raw: dict[str, Any] = {}


class Based(Line):
    currency: Literal["EUR", "USD"] = "EUR"


class Heirs(BaseModel):
    line: Based
    either: Line | Based


def _tag(value: Any) -> str:
    return "line" if isinstance(value, Line) or "item" in value else "invoice"


class Called(BaseModel):
    entry: Annotated[
        Annotated[Line, Tag("line")] | Annotated[Invoice, Tag("invoice")], Discriminator(_tag)
    ]


class Default(BaseModel):
    """Defaults that JSON does not have."""

    when: timedelta = timedelta(hours=1)
    words: set[str] = {"a"}
    object_: Any = Field(default=object, exclude=True)


class Titled(BaseModel):
    model_config = ConfigDict(
        title="Bill", json_schema_extra={"examples": [{"name": 1}]}, use_enum_values=True
    )
    color: Color = Color.RED
    name: Annotated[str, Field(description="who", examples=["x"])]


_LINE = Line(item="bolt", amount=2.5)
_NUT = Line(item="nut", amount=1.0)
_SCREW = Line(item="screw", amount=2.5)


def _person(title: str) -> Person:
    return Person(name="Ann", firm=Firm(title=title, staff=[Person(name="Bo")]))


def _tree(leaf: str) -> Tree:
    return Tree(name="a", children=[Tree(name="b", children=[Tree(name=leaf)])])


#: Name: schema, gold, a prediction with one error, the path of the error.
MODELS: dict[str, tuple[Any, Any, Any, str]] = {
    "scalars": (
        Plain,
        Plain(name="Ann", year=2024, ratio=0.5, signed=True),
        Plain(name="Ann", year=2024, ratio=0.5, signed=False),
        "$.signed",
    ),
    "Decimal": (Money, Money(total="12.50"), Money(total="12.60"), "$.total"),
    "date and time": (
        Times,
        Times(day="2024-05-06", at=datetime(2024, 5, 6, 7, tzinfo=UTC), clock="07:30", took=60),
        Times(day="2024-05-06", at=datetime(2024, 5, 6, 7, tzinfo=UTC), clock="07:30", took=90),
        "$.took",
    ),
    "day and month": (
        Times,
        Times(day="2024-05-06", at=datetime(2024, 5, 6, 7), clock="07:30", took=60),
        Times(day="2024-06-05", at=datetime(2024, 5, 6, 7), clock="07:30", took=60),
        "$.day",
    ),
    "Enum": (
        Enums,
        Enums(color="red", colors=["red", "blue"], level=1, kind=3),
        Enums(color="red", colors=["red", "blue"], level=2, kind=3),
        "$.level",
    ),
    "Literal": (
        Enums,
        Enums(color="red", colors=[], level=1, kind=3),
        Enums(color="red", colors=[], level=1, kind="a"),
        "$.kind",
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
    "omitted": (Optionals, Optionals(note="x", line=_LINE), Optionals(line=_LINE), "$.note"),
    "discriminated union": (
        Owner,
        Owner(pet=Cat(kind="cat", lives=9), pets=[Dog(kind="dog", breed="pug")]),
        Owner(pet=Cat(kind="cat", lives=7), pets=[Dog(kind="dog", breed="pug")]),
        "$.pet.lives",
    ),
    "callable discriminator": (Called, Called(entry=_LINE), Called(entry=_SCREW), "$.entry.item"),
    "recursive": (Tree, _tree("c"), _tree("x"), "$.children[0].children[0].name"),
    "mutually recursive": (Person, _person("Acme"), _person("Zenith"), "$.firm.title"),
    "constrained and frozen": (
        Constrained,
        Constrained(code="AB12", count=5, tags=["x"]),
        Constrained(code="AB13", count=5, tags=["x"]),
        "$.code",
    ),
    "tuples and sets": (
        Containers,
        Containers(pair=("a", 1), many=(1, 2), words={"x", "y"}, ids=[3], point=Point(1, 2)),
        Containers(pair=("a", 2), many=(1, 2), words={"y", "x"}, ids=[3], point=Point(1, 2)),
        "$.pair[1]",
    ),
    "named tuple": (
        Containers,
        Containers(pair=("a", 1), many=(1, 2), words={"x", "y"}, ids=[3], point=Point(1, 2)),
        Containers(pair=("a", 1), many=(1, 2), words={"y", "x"}, ids=[3], point=Point(1, 7)),
        "$.point[1]",
    ),
    "maps": (
        Maps,
        Maps(lines={"a": _LINE}, years={2024: 1.5}, groups={"g": [_LINE]}),
        Maps(lines={"a": _LINE}, years={2024: 2.5}, groups={"g": [_LINE]}),
        "$.years['2024']",
    ),
    "map of models": (
        Maps,
        Maps(lines={"a b": _LINE}, years={}, groups={}),
        Maps(lines={"a b": _LINE.model_copy(update={"amount": 3})}, years={}, groups={}),
        "$.lines['a b'].amount",
    ),
    "RootModel": (Names, Names(["x", "y"]), Names(["x"]), "$"),
    "RootModel inside": (
        Roots,
        Roots(names=["x"], table={"k": _LINE}),
        Roots(names=["x"], table={"k": _LINE.model_copy(update={"amount": 3})}),
        "$.table['k'].amount",
    ),
    "generic": (
        Page[Line],
        Page[Line](rows=[_LINE], best=_NUT),
        Page[Line](rows=[_LINE], best=_NUT.model_copy(update={"amount": 7})),
        "$.best.amount",
    ),
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
    "alias inside containers": (
        Renamed,
        Renamed(number="7", place="Rome", first="Ann", inner={"a": [Inner(Val=1)]}),
        Renamed(number="7", place="Rome", first="Ann", inner={"a": [Inner(Val=2)]}),
        "$.inner['a'][0].Val",
    ),
    "UUID, Url, Path, bytes": (
        Network,
        Network(id=UUID(int=1), site="https://a.example/x", file="a/b.txt", data=b"ab"),
        Network(id=UUID(int=1), site="https://a.example/y", file="a/b.txt", data=b"ab"),
        "$.site",
    ),
    "near UUID": (
        Network,
        Network(id=UUID(int=1), site="https://a.example/x", file="a/b.txt", data=b"ab"),
        Network(id=UUID(int=2), site="https://a.example/x", file="a/b.txt", data=b"ab"),
        "$.id",
    ),
    "secrets": (
        Hidden,
        Hidden(user="ann", password="one"),
        Hidden(user="bob", password="one"),
        "$.user",
    ),
    "dataclass and TypedDict": (
        Foreign,
        Foreign(corner=Corner(1, "a"), shape={"corners": [Corner(2, "b")], "closed": True}),
        Foreign(corner=Corner(1, "z"), shape={"corners": [Corner(2, "b")], "closed": True}),
        "$.corner.label",
    ),
    "field serializer": (
        Serialized,
        Serialized(day="2024-05-06", tags=["b", "a"]),
        Serialized(day="2024-05-07", tags=["a", "b"]),
        "$.day",
    ),
    "model serializer": (Whole, Whole(low=1, high=2), Whole(low=1, high=3), "$.high"),
    "union of scalars": (Loose, Loose(value=1.5), Loose(value=2.5), "$.value"),
    "Any": (Loose, Loose(value="a", raw={}), Loose(value="b", raw={}), "$.value"),
    "inheritance": (
        Heirs,
        Heirs(line=Based(item="a", amount=1), either=_LINE),
        Heirs(line=Based(item="a", amount=1, currency="USD"), either=_LINE),
        "$.line.currency",
    ),
    "defaults that are not JSON": (Default, Default(), Default(when=5), "$.when"),
    "title and examples": (Titled, Titled(name="x"), Titled(name="y"), "$.name"),
    "TypeAdapter of a list": (
        TypeAdapter(list[Line]),
        [_LINE, _NUT],
        [_LINE, Line(item="nut", amount=3)],
        "$[1].amount",
    ),
    "TypeAdapter of a union": (TypeAdapter(Cat | Line), _LINE, _SCREW, "$.item"),
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
