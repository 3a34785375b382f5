"""Change the evaluator in small seeded ways, and see whether the tests notice.

    python scripts/mutation_check.py [--count 40] [--seed 0] [--area stats ...] [--list]

Each mutant changes one expression of a copy of the repository: an operator, a comparison, a number,
a negation, `min` for `max`, two arguments swapped. The tests closest to the changed module run
first, then those of the whole evaluator for what is left. A mutant that no test fails on has
survived: either a test is missing, or the change makes no difference.

Texts, annotations, error messages and what is only displayed are left alone.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "extractbench_nb"
#: Tests of all that an evaluation does; a mutant that these overlook has survived.
WIDE = ("semantics", "properties", "parity", "sensitivity", "report", "real")
#: Area -> its modules, and the tests that know it best, the quickest first.
AREAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "scoring": (
        ("scoring.py", "pairing.py", "leafwise.py", "rollup.py", "values.py", "coverage.py"),
        ("semantics", "parity", "properties"),
    ),
    "alignment": (
        ("alignment/assignment.py", "alignment/proxy.py", "alignment/similarity.py"),
        ("alignment", "semantics"),
    ),
    "aligning models": (
        ("alignment/batches.py", "alignment/llm.py", "alignment/questions.py"),
        ("alignment/test_batches.py", "alignment/test_estimate.py", "judges/llm/test_aligning.py"),
    ),
    "metrics": (("metrics",), ("metrics", "compat", "semantics", "parity")),
    "offline judge": (
        tuple(f"judges/{name}.py" for name in ("offline", "differences", "tokens", "names")),
        ("judges/test_offline.py", "judges/test_labelled_pairs.py"),
    ),
    "judging models": (
        tuple(f"judges/{n}.py" for n in ("answers", "asking", "ensemble", "replay", "voting")),
        ("judges/llm",),
    ),
    "stats": (("stats",), ("stats",)),
    "grits": (("grits",), ("grits", "tables", "widgets/tables")),
    "paper": (("benchmark/paper",), ("benchmark", "extraction/test_baseline.py")),
}
#: Data and drawing: a change there is seen by the eye or by nobody.
LEFT_OUT = re.compile(r"lexicon|drawing|card|_html|styl|layout|/html\.py|__init__|wording")
SECONDS_OF_A_HANG = 1800.0

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil"}
#: Their operators mean something else than arithmetic.
DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
#: Calls whose two arguments commute, or whose order only an error can tell.
NOT_SWAPPED = {"isinstance", "issubclass", "getattr", "hasattr", "setattr", "min", "max", "cast"}


@dataclass(frozen=True)
class Mutant:
    """One changed expression: where it stands, and the text before and after."""

    area: str
    path: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: `{self.before}` -> `{self.after}`"


# --- what can be changed ------------------------------------------------------------------------


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield changed copies of one node."""
    match node:
        case ast.BinOp(left, op, right) if not any(isinstance(n, DISPLAYS) for n in (left, right)):
            yield ast.BinOp(left, opposite(op), right)
        case ast.AugAssign(target, op, value):
            yield ast.AugAssign(target, opposite(op), value)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(opposite(op), values)
        case ast.Compare(left, ops, right):
            for i, op in enumerate(ops):
                yield ast.Compare(left, [*ops[:i], opposite(op), *ops[i + 1 :]], right)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool() | int() | float() as value):
            yield ast.Constant(not value if isinstance(value, bool) else value + 1)
        case ast.If(test) | ast.While(test) | ast.IfExp(test):
            yield ast.UnaryOp(ast.Not(), test)
        case ast.Call(ast.Name(name)):
            yield from changed_calls(node, name)


def opposite(operator: ast.AST) -> ast.AST:
    """Return the operator that takes the place of one; a few have none."""
    return OPERATORS.get(type(operator), type(operator))()


def changed_calls(node: ast.Call, name: str) -> Iterator[ast.AST]:
    """Yield a call of the opposite function, or with its two arguments swapped."""
    if name in NAMES:
        yield ast.Call(ast.Name(NAMES[name]), node.args, node.keywords)
    match node.args:
        case [first, second] if name not in NOT_SWAPPED:
            if not isinstance(second, ast.Starred) and ast.dump(first) != ast.dump(second):
                yield ast.Call(node.func, [second, first], node.keywords)


def candidates(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each node that may be changed, and what becomes of it."""
    match tree:
        case ast.Raise() | ast.JoinedStr() | ast.If(ast.Name("TYPE_CHECKING")):
            return
        case ast.FunctionDef(name) if name.startswith(("__repr", "__str", "_repr_")):
            return
    for name, value in ast.iter_fields(tree):
        if name not in ("annotation", "returns", "decorator_list", "bases"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from candidates(child)
    place = tree.test if isinstance(tree, ast.If | ast.While | ast.IfExp) else tree
    for changed in changes(tree):
        yield place, changed


def mutants_of(area: str, path: Path) -> list[Mutant]:
    """Return all mutants of one module, in the order of its text."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = {}
    for node, changed in candidates(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        after = ast.unparse(ast.fix_missing_locations(changed))
        after = after if isinstance(node, ast.AugAssign | ast.Constant) else f"({after})"
        before = source[start:end].decode()
        if ast.dump(changed) == ast.dump(node):
            continue
        mutant = Mutant(area, str(path.relative_to(ROOT)), node.lineno, start, end, before, after)
        found[start, end, after] = mutant
    return [found[key] for key in sorted(found)]


def chosen(count: int, seed: int, areas: list[str]) -> list[Mutant]:
    """Draw mutants: as many of each area, each on a line of its own."""
    piles = []
    for area in areas:
        top = ROOT / PACKAGE
        named = [top / name for name in AREAS[area][0]]
        paths = [path for one in named for path in (sorted(one.rglob("*.py")) or [one])]
        kept = [p for p in paths if not LEFT_OUT.search(p.relative_to(top).as_posix())]
        pile = [mutant for path in kept for mutant in mutants_of(area, path)]
        random.Random(f"{seed} {area}").shuffle(pile)
        piles.append(list({(m.path, m.line): m for m in pile}.values()))
    drawn = [pile[i] for i in range(max(map(len, piles))) for pile in piles if i < len(pile)]
    return drawn[:count]


# --- whether a test notices ---------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """A copy of the repository whose package is changed, tested and put right again."""

    folder: Path
    workers: int
    wide: bool
    sound: set[str] = field(default_factory=set)

    def is_broken(self, killer: str) -> bool:
        """Whether a test that noticed a mutant fails without one; each is asked once."""
        if "::" not in killer or killer in self.sound:
            return False
        self.sound.add(killer)
        return bool(self.test((killer.removeprefix("tests/"),)))

    def test(self, names: tuple[str, ...]) -> str:
        """Run directories of tests; return the first failure, or nothing."""
        paths = [f"tests/{name}" for name in names]
        options = ["-x", "-q", "-n", str(self.workers), "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, "--benchmark-disable", *paths]
        environment = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        environment["CI"] = "true"  # the same examples of hypothesis each time
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(  # noqa: S603 - pytest, on a copy of this repository
                command,
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(SECONDS_OF_A_HANG)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                return "a hang"
            output.seek(0)
            return "" if status == 0 else first_failure(output.read())

    def killer(self, mutant: Mutant) -> str:
        """Return what notices a mutant: its area's tests are asked first, then the wide ones."""
        path = self.folder / mutant.path
        source = path.read_bytes()
        path.write_bytes(source[: mutant.start] + mutant.after.encode() + source[mutant.end :])
        near = AREAS[mutant.area][1]
        try:
            others = tuple(name for name in WIDE if self.wide and name not in near)
            return self.test(near) or (self.test(others) if others else "")
        finally:
            path.write_bytes(source)


def first_failure(output: str) -> str:
    """Return the first test that pytest says failed, or the last line."""
    named = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    lines = output.strip().splitlines() or ["no output"]
    return named[1] if named else lines[-1]


def copied(folder: Path) -> Path:
    """Copy what the tests need."""
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
    return shutil.copytree(ROOT, folder / "copy", ignore=ignored)


def check(
    mutants: list[Mutant], bench: Bench, report: Callable[[str], object], start: int = 1
) -> int:
    """Test every mutant and report it; return how many survived."""
    survivors = 0
    for number, mutant in enumerate(mutants, start):
        began = time.perf_counter()
        killer = bench.killer(mutant)
        if bench.is_broken(killer):
            raise SystemExit(f"{killer} fails without any change")
        survivors += not killer
        verdict = f"killed by {killer}" if killer else "SURVIVED"
        report(f"{number:3} {mutant}\n    {verdict} ({time.perf_counter() - began:.0f} s)")
    return survivors


def main() -> int:
    """Draw mutants, test them, and return the exit status: 1 if one survived."""
    parser = argparse.ArgumentParser(description="Seeded mutation check of the evaluator.")
    parser.add_argument("--count", type=int, default=40, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=1, help="number of the first one to test")
    parser.add_argument("--area", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--workers", type=int, default=2, help="processes of pytest")
    parser.add_argument("--near", action="store_true", help="ask the closest tests only")
    parser.add_argument("--list", action="store_true", help="print the mutants, test nothing")
    asked = parser.parse_args()
    mutants = chosen(asked.count, asked.seed, asked.area)[asked.start - 1 :]
    if asked.list:
        print(*mutants, sep="\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(copied(Path(folder)), asked.workers, not asked.near)
        report = partial(print, flush=True)
        survivors = check(mutants, bench, report, asked.start)
    print(f"{len(mutants) - survivors} of {len(mutants)} killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
