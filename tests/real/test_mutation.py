"""One leaf of a real document changed, nulled or removed changes its own row and no other."""

from __future__ import annotations

import copy
import random
import re
from pathlib import Path
from typing import Any

import extractbench_nb as xb

#: All leaves of a document are mutated up to this number, a seeded sample of so many beyond it.
ALL, SAMPLE = 54, 18
KINDS = ("changed", "nulled", "removed")
REMOVED = object()
_STEP = re.compile(r"\.([A-Za-z_$][\w$-]*)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]")

Tokens = tuple[Any, ...]


def always_aligned(schema: Any) -> Any:
    """Copy a schema so that an aligned pair stays one, however little is left of its similarity."""
    if isinstance(schema, list):
        return [always_aligned(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: always_aligned(value) for key, value in schema.items()}
    if out.get("type") == "array" or out.get("evaluation_config") == "array_llm":
        out["evaluation_config"] = {"metric_id": "array_llm", "params": {"align_threshold": 0.0}}
    return out


def tokens(path: str) -> Tokens:
    """Split an instance path into its steps."""
    steps = []
    for name, index, quoted in _STEP.findall(path[1:]):
        steps.append(name or (int(index) if index else re.sub(r"\\(.)", r"\1", quoted)))
    return tuple(steps)


def leaves(value: Any, at: Tokens = ()) -> list[Tokens]:
    if isinstance(value, dict):
        return [leaf for k, v in value.items() for leaf in leaves(v, (*at, k))]
    if isinstance(value, list):
        return [leaf for i, v in enumerate(value) for leaf in leaves(v, (*at, i))]
    return [] if value is None else [at]


def at(value: Any, path: Tokens) -> Any:
    for step in path:
        value = value[step]
    return value


def is_repeated(value: Any, path: Tokens) -> bool:
    """Whether an item on the path has a twin: then either may be taken for the one that changed."""
    for step in path:
        if isinstance(step, int) and value.count(value[step]) > 1:
            return True
        value = value[step]
    return False


def replaced(value: Any, path: Tokens, new: Any) -> Any:
    """Copy what lies on the path, share the rest."""
    if not path:
        return new
    out = copy.copy(value)
    if len(path) == 1 and new is REMOVED:
        del out[path[0]]
    else:
        out[path[0]] = replaced(value[path[0]], path[1:], new)
    return out


def another(value: Any) -> Any:
    """A value of the same type that no metric takes for the same."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 3 + 17
    return "zzqx wvvk 90417 jjpf"


def rows(ev: xb.core.Evaluation) -> dict[Tokens, tuple[Any, ...]]:
    f = ev.fields
    columns = (f["metric"], f["score"], f["outcome"], f["predicted"], f["predicted_path"].isna())
    return dict(zip(map(tokens, f["path"]), zip(*columns, strict=True), strict=True))


def array_rows(ev: xb.core.Evaluation) -> dict[Tokens, tuple[Any, ...]]:
    a = ev.arrays
    names = ["gold_items", "predicted_items", "matched", "differing"]
    return dict(zip(map(tokens, a["path"]), a[names].itertuples(index=False), strict=True))


def differing(one: dict[Tokens, Any], two: dict[Tokens, Any]) -> set[Tokens]:
    return {key for key in one.keys() | two.keys() if one.get(key) != two.get(key)}


def test_one_leaf(gold_file: Path, read: Any, schema_for: Any) -> None:
    gold = read(gold_file)
    schema = xb.schema.parse_schema(always_aligned(dict(schema_for(gold_file).document)))
    base = xb.evaluate(schema, gold, gold)
    fields, arrays = rows(base), array_rows(base)
    everything = leaves(gold)
    scored = [leaf for leaf in everything if leaf in fields]
    assert len(scored) / len(everything) == base.summary["gold_coverage"]
    rng = random.Random(gold_file.name)
    chosen = scored if len(scored) <= ALL else rng.sample(scored, SAMPLE)
    chosen = [leaf for leaf in chosen if not is_repeated(gold, leaf)]
    assert len(chosen) > 0.7 * min(len(scored), SAMPLE)
    for n, leaf in enumerate(chosen):
        kind = KINDS[n % 3]
        if kind == "removed" and isinstance(leaf[-1], int):
            kind = "nulled"  # items are dropped below
        new = {"changed": another(at(gold, leaf)), "nulled": None, "removed": REMOVED}[kind]
        ev = xb.evaluate(schema, gold, replaced(gold, leaf, new))
        above = {leaf[:k] for k in range(len(leaf)) if leaf[:k] in arrays}
        found = rows(ev)
        assert differing(fields, found) == {leaf, *above}, (leaf, kind)
        outcome = "incorrect" if kind == "changed" else "omission"
        assert found[leaf][2] == outcome, (leaf, kind)
        changed = differing(arrays, array_rows(ev))
        innermost = max(above, key=len, default=None)
        assert changed <= above, (leaf, kind)
        assert innermost is None or innermost in changed, (leaf, kind)


def _counts(schema: xb.schema.Schema, gold: Any, predicted: Any, path: Tokens) -> list[int]:
    ev = xb.evaluate(schema, gold, predicted)
    row = ev.arrays[[tokens(p) == path for p in ev.arrays["path"]]].iloc[0]
    return [int(row[name]) for name in ("matched", "differing", "missed", "spurious")]


def _novel(item: Any, n: int) -> Any:
    """An item of the same shape whose every leaf is new."""
    if isinstance(item, dict):
        return {k: _novel(v, n) for k, v in item.items()}
    if isinstance(item, list):
        return [_novel(v, n) for v in item]
    if isinstance(item, str):
        return f"zzqx wvvk {n} jjpf {90417 * (n + 1)}"
    return item if item is None or isinstance(item, bool) else item * 7 + 90_417 + n


def test_items_dropped_added_and_edited(gold_file: Path, read: Any, schema_for: Any) -> None:
    gold = read(gold_file)
    schema = xb.schema.parse_schema(always_aligned(dict(schema_for(gold_file).document)))
    base = xb.evaluate(schema, gold, gold)
    scored, arrays = rows(base), base.arrays
    outer = ~arrays["field"].str.contains("[]", regex=False)
    big = arrays[outer & (arrays["gold_items"] >= 4)]
    rng = random.Random(gold_file.name)
    paths = [tokens(p) for p in big["path"]]
    for path in rng.sample(paths, min(4, len(paths))):
        items = at(gold, path)
        if not isinstance(items, list):
            continue  # a map of arrays, flattened
        n, k = len(items), max(1, len(items) // 4)
        some = set(rng.sample(range(n), k))

        def counts(new: list[Any], path: Tokens = path) -> list[int]:
            return _counts(schema, gold, replaced(gold, path, new), path)

        kept = [item for i, item in enumerate(items) if i not in some]
        assert counts(kept) == [n - k, 0, k, 0], (path, "dropped")
        added = [_novel(items[i], i) for i in some]
        assert counts([*added[: k // 2], *items, *added[k // 2 :]]) == [n, 0, 0, k], (path, "added")
        edited = list(items)
        done = 0
        for i in sorted(some):
            inside = [leaf for leaf in leaves(items[i]) if (*path, i, *leaf) in scored]
            inside = [leaf for leaf in inside if not any(isinstance(s, int) for s in leaf)]
            if inside:
                leaf = rng.choice(inside)
                text = another(at(items[i], leaf))
                edited[i] = replaced(
                    items[i], leaf, f"{text} {i}" if isinstance(text, str) else text
                )
                done += 1
        rng.shuffle(edited)
        assert counts(edited) == [n - done, done, 0, 0], (path, "edited")
