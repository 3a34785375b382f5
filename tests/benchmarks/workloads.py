"""What is measured: documents and arrays, and how they are corrupted. Everything is seeded."""

import json
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import extractbench_nb as xb

#: Share of leaves that are dropped, and of strings that are edited.
SHARE = 0.1


class Case(NamedTuple):
    """What an evaluator is given."""

    schema: Any
    gold: Any
    predicted: Any


# --- documents ---------------------------------------------------------------------------------


def corrupted_documents(dataset: xb.runs.Dataset, seed: int = 7) -> list[Case]:
    rng = random.Random(seed)
    cases = []
    for row in dataset.documents.itertuples():
        schema, gold = dataset.schema(row.schema), dataset.gold(row.document)
        cases.append(Case(schema, gold, corrupted(gold, rng, kept=required_keys(schema))))
    return cases


def corrupted(value: Any, rng: random.Random, kept: frozenset[str] = frozenset()) -> Any:
    """Drop leaves, edit strings, shuffle arrays; no value changes its type.

    Keys in `kept` stay outside arrays: extract-bench gives up a document that lacks one of them.
    """
    if isinstance(value, dict):
        return {
            key: corrupted(part, rng, kept)
            for key, part in value.items()
            if not is_leaf(part) or key in kept or rng.random() >= SHARE
        }
    if isinstance(value, list):
        items = [corrupted(v, rng) for v in value if not is_leaf(v) or rng.random() >= SHARE]
        rng.shuffle(items)
        return items
    if isinstance(value, str) and rng.random() < SHARE:
        return edited(value, rng)
    return value


def required_keys(schema: Any) -> frozenset[str]:
    """Return every key that is required somewhere in a schema."""
    if isinstance(schema, list):
        return frozenset().union(*map(required_keys, schema))
    if not isinstance(schema, dict):
        return frozenset()
    own = schema.get("required", [])
    found = frozenset(own) if isinstance(own, list) else frozenset()
    return found.union(*map(required_keys, schema.values()))


def is_leaf(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def leaves(value: Any) -> Iterator[Any]:
    if is_leaf(value):
        yield value
    else:
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)


def count_items(value: Any) -> int:
    """Count the items of all arrays, nested ones included."""
    if isinstance(value, dict):
        return sum(map(count_items, value.values()))
    return len(value) + sum(map(count_items, value)) if isinstance(value, list) else 0


# --- edits -------------------------------------------------------------------------------------


def edited(text: str, rng: random.Random) -> str:
    """Make one to three slips of the pen, in characters or words."""
    found = text
    for _ in range(rng.randint(1, 3)):
        found = rng.choice(EDITS)(found, rng) or found
    return found if found != text else _other_character(text, rng)


def _other_character(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) or 1)
    others = [letter for letter in string.ascii_lowercase if letter != text[at : at + 1]]
    return text[:at] + rng.choice(others) + text[at + 1 :]


def _no_character(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) or 1)
    return text[:at] + text[at + 1 :]


def _extra_character(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(string.ascii_lowercase) + text[at:]


def _no_word(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    del words[rng.randrange(len(words))]
    return " ".join(words)


def _swapped_words(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    at = rng.randrange(len(words))
    return " ".join([*words[:at], *reversed(words[at : at + 2]), *words[at + 2 :]])


EDITS: list[Callable[[str, random.Random], str]] = [
    _other_character,
    _no_character,
    _extra_character,
    _no_word,
    _swapped_words,
]


# --- arrays ------------------------------------------------------------------------------------


class Items(NamedTuple):
    """One array, and for each predicted item the index of the gold item that it was made from."""

    case: Case
    origins: list[int]

    def is_origin(self, gold_index: int, predicted_index: int) -> bool:
        """Say whether a predicted item was made from this gold item, or from one like it."""
        gold = self.case.gold["items"]
        return bool(gold[self.origins[predicted_index]] == gold[gold_index])


def citation_strings(strings: list[str], predicted: int, share: float, seed: int = 3) -> Items:
    """Leave out the last citations, edit a `share` of the others, and shuffle."""
    rng = random.Random(seed)
    items = [edited(s, rng) if rng.random() < share else s for s in strings[:predicted]]
    item = {"type": "string", "evaluation_config": "string_semantic"}
    return _shuffled(item, strings, items, rng)


#: Made-up words of 3 to 10 letters.
WORDS = [
    "".join(random.Random(n).choices("etaoinshrdlucmfgypwbvk", k=3 + n % 8)) for n in range(600)
]
AUTHOR = {"type": "object", "properties": {"name": {"type": "string"}}}
CITATION = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "evaluation_config": "string_semantic"},
        "year": {"type": "integer", "evaluation_config": "integer_exact"},
        "venue": {"type": "string", "evaluation_config": "string_semantic"},
        "ids": {"type": "string", "evaluation_config": "string_exact"},
        "authors": {"type": "array", "items": AUTHOR},
    },
}


def citation_objects(count: int, seed: int = 5) -> Items:
    """Edit every item: the title always, sometimes year and authors; the authors are shuffled."""
    rng = random.Random(seed)
    gold = [_citation(rng) for _ in range(count)]
    return _shuffled(CITATION, gold, [_edited_citation(c, rng) for c in gold], rng)


def _citation(rng: random.Random) -> dict[str, Any]:
    def words(count: int) -> str:
        return " ".join(rng.choices(WORDS, k=count)).capitalize()

    return {
        "title": words(rng.randint(5, 12)),
        "year": rng.randint(1990, 2025),
        "venue": words(rng.randint(2, 5)),
        "ids": f"arXiv:{rng.randrange(10**8):08}",
        "authors": [{"name": words(2).title()} for _ in range(rng.randint(1, 6))],
    }


def _edited_citation(citation: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    authors = [
        {"name": edited(a["name"], rng)} if rng.random() < SHARE else a for a in citation["authors"]
    ]
    rng.shuffle(authors)
    year = citation["year"] + (rng.random() < SHARE)
    return {**citation, "title": edited(citation["title"], rng), "year": year, "authors": authors}


def _shuffled(item: Any, gold: list[Any], predicted: list[Any], rng: random.Random) -> Items:
    origins = rng.sample(range(len(predicted)), k=len(predicted))
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": item}}}
    case = Case(schema, {"items": gold}, {"items": [predicted[i] for i in origins]})
    return Items(case, origins)


# --- arrays in arrays --------------------------------------------------------------------------


def nested(depth: int, width: int, leaf: Callable[[random.Random], str], seed: int = 11) -> Case:
    """Nest arrays in objects, and change every leaf by one character; branches are shuffled."""
    rng = random.Random(seed)
    schema: Any = {"type": "object", "properties": {"name": {"type": "string"}}}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"parts": {"type": "array", "items": schema}}}
    gold = _branch(depth, width, lambda: leaf(rng))
    return Case(schema, gold, _changed_branch(gold, rng))


def _branch(depth: int, width: int, leaf: Callable[[], str]) -> dict[str, Any]:
    if depth == 0:
        return {"name": leaf()}
    return {"parts": [_branch(depth - 1, width, leaf) for _ in range(width)]}


def _changed_branch(branch: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    if "name" in branch:
        return {"name": _other_character(branch["name"], rng)}
    parts = [_changed_branch(part, rng) for part in branch["parts"]]
    rng.shuffle(parts)
    return {"parts": parts}


def three_words(rng: random.Random) -> str:
    return " ".join(rng.sample(WORDS, k=3))


def code(rng: random.Random) -> str:
    """Make a text of which every single character matters."""
    return f"{rng.randrange(10**8):08}"


# --- batches -----------------------------------------------------------------------------------


def synthetic_dataset(
    sample: xb.runs.Dataset, folder: Path, documents: int, runs: int
) -> xb.runs.Dataset:
    """Write a dataset: gold documents edited from the sample's, and for each run their corruptions.

    Every thousandth output is cut off, and so is no JSON.
    """
    rng = random.Random(17)
    originals = [
        (row.schema, row.domain, sample.gold(row.document)) for row in sample.documents.itertuples()
    ]
    for schema, domain, _ in originals:
        home = folder / domain / schema
        (home / "pdf+gold").mkdir(parents=True, exist_ok=True)
        text = json.dumps(sample.schema(schema))
        (home / f"{schema}-schema.json").write_text(text, encoding="utf-8")
    for run in range(runs):
        (folder / "runs" / f"run{run}").mkdir(parents=True)
    for number in range(documents):
        schema, domain, gold = originals[number % len(originals)]
        gold, name = corrupted(gold, rng), f"d{number:05}"
        home = folder / domain / schema / "pdf+gold"
        (home / f"{name}.gold.json").write_text(json.dumps(gold), encoding="utf-8")
        for run in range(runs):
            text = json.dumps(corrupted(gold, rng))
            kept = len(text) // 2 if rng.random() < 0.001 else len(text)
            path = folder / "runs" / f"run{run}" / f"{name}.json"
            path.write_text(text[:kept], encoding="utf-8")
    return xb.load_dataset(folder)


#: Metrics that a generated field of each JSON type may declare; None is the preset of its type.
KINDS: dict[str, tuple[str | None, ...]] = {
    "string": (None, None, "string_exact", "string_fuzzy", "string_semantic", "string_semantic"),
    "number": (None, "number_tolerance", "number_exact"),
    "integer": (None, "integer_exact"),
    "boolean": (None,),
}
NAMES = ("Ann Lee", "J. de Vries", "Acme Holdings, Inc.", "Nordwind GmbH", "Oxford Univ. Press")


def generated_runs(schemas: int = 50, outputs: int = 300, seed: int = 23) -> pd.DataFrame:
    """Return runs of documents under schemas that nobody has seen, of 10 to 400 keys each.

    A schema has nested objects, and arrays of objects and of texts. Every row brings its own copy
    of its schema, as rows that are read from a file do.
    """
    rng = random.Random(seed)
    sizes = [round(10 * 40 ** (i / max(1, schemas - 1))) for i in range(schemas)]
    made = [generated_schema(size, rng) for size in sizes]
    rows = []
    for number in range(outputs):
        schema = json.loads(json.dumps(made[number % schemas]))
        gold = generated_value(schema, rng)
        predicted = corrupted(gold, rng)
        rows.append(("run", f"d{number:04}", schema, gold, predicted))
    return pd.DataFrame(rows, columns=["run", "document", "schema", "gold", "predicted"])


def generated_schema(keys: int, rng: random.Random) -> dict[str, Any]:
    """Return a schema with this many keys."""
    properties: dict[str, Any] = {}
    while keys > 0:
        name = f"{rng.choice(WORDS)}_{len(properties)}"
        if keys > 12 and rng.random() < 0.12:
            size = rng.randint(3, 10)
            below = generated_schema(size, rng)
            if rng.random() < 0.3:
                below = {"type": "array", "items": below}
            keys -= size + 1
        elif rng.random() < 0.02:
            below = {"type": "array", "items": {"type": "string"}}
            keys -= 1
        else:
            below = _generated_leaf(rng)
            keys -= 1
        properties[name] = {**below, "description": " ".join(rng.choices(WORDS, k=8))}
    return {"type": "object", "properties": properties, "required": list(properties)[::2]}


def _generated_leaf(rng: random.Random) -> dict[str, Any]:
    kind = rng.choices(list(KINDS), weights=(6, 2, 1, 1))[0]
    metric = rng.choice(KINDS[kind])
    leaf: dict[str, Any] = {"type": [kind, "null"] if rng.random() < 0.5 else kind}
    return leaf if metric is None else leaf | {"evaluation_config": metric}


def generated_value(schema: dict[str, Any], rng: random.Random) -> Any:
    """Return a document of a generated schema: names, dates, amounts and phrases; some are null."""
    kind = schema["type"]
    if kind == "object":
        return {name: generated_value(s, rng) for name, s in schema["properties"].items()}
    if kind == "array":
        return [generated_value(schema["items"], rng) for _ in range(rng.randint(2, 12))]
    if isinstance(kind, list):
        if rng.random() < SHARE:
            return None
        kind = kind[0]
    if kind == "string":
        return rng.choice(TEXTS)(rng)
    if kind == "boolean":
        return rng.random() < 0.5
    return rng.randint(0, 10_000) if kind == "integer" else round(rng.lognormvariate(8, 3), 2)


TEXTS: list[Callable[[random.Random], str]] = [
    three_words,
    code,
    lambda rng: " ".join(rng.choices(WORDS, k=rng.randint(5, 30))).capitalize() + ".",
    lambda rng: f"{rng.randint(1, 28)} March {rng.randint(1990, 2025)}",
    lambda rng: f"${rng.randint(1, 10**7):,}.{rng.randint(0, 99):02}",
    lambda rng: rng.choice(NAMES),
]
