"""Change the evaluator in small seeded ways, and see whether the tests notice.

    python scripts/mutation_check.py [--count 40] [--seed 0] [--start 1] [--area stats ...] [--list]

Each mutant changes one expression of a copy of the repository: an operator, a comparison, a number,
a negation, `min` for `max`, two arguments swapped. The doctests of the changed module run first,
then the tests named after it, then the other tests of its area, until one fails. A mutant that no
test fails on has survived: either a test is missing, or the change makes no difference.

Texts, annotations, error messages and what is only displayed are left alone. Which mutants are
drawn depends on the seed and on the text of their lines, not on where these stand: moving code
keeps the draw. The output is a Markdown table and the kill rate.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "extractbench_nb"
#: Area -> its packages and modules, and the tests that know them best, the quickest first.
AREAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "scoring": (
        (
            "core/scoring.py",
            "core/pairing.py",
            "core/traversal.py",
            "core/accepted.py",
            "core/schema/schema_nodes.py",
        ),
        (
            "evaluation/test_[fjsu]*.py",
            "compat",
            "parity",
            "properties",
            "evaluation",
            "schema",
        ),
    ),
    "alignment": (
        (
            "core/similarity.py",
            "core/alignment.py",
            "core/field_metrics/estimates.py",
            "judges/model_aligner.py",
        ),
        ("engine", "judges/llm/test_aligning.py", "evaluation/test_[ksu]*.py", "parity"),
    ),
    "metrics": (
        (
            "core/field_metrics",
            "core/text/dates.py",
            "core/text/quantities.py",
            "support/folding.py",
        ),
        ("field_metrics", "evaluation/test_[js]*.py", "compat", "parity"),
    ),
    "judges": (
        (
            "judges",
            "core/text/offline_judge.py",
            "core/text/differences.py",
            "core/text/people.py",
            "core/text/rewording.py",
            "core/text/word_tokens.py",
        ),
        ("judges/test_*.py", "evaluation/test_judged.py", "judges"),
    ),
    "stats": (("stats",), ("stats",)),
    "grits": (
        ("tables",),
        ("tables/test_*.py", "tables", "field_metrics/test_metrics.py", "widgets/tables"),
    ),
    "benchmark": (("benchmark",), ("benchmark", "extraction/test_baseline.py")),
}
#: Data and drawing: a change there is seen by the eye or by nobody.
LEFT_OUT = re.compile(
    r"lexicon|tables/(keep_curves|batches)|benchmark/paper_(tables|errata)|__init__"
)
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
    text: str
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.path}:{self.line}: `{before}` -> `{after}`"

    def tests(self) -> list[str]:
        """Return what to run: the module's doctests, tests named after it or naming it, others."""
        path = Path(self.path)
        dotted = ".".join(path.with_suffix("").parts)

        def distance(file: Path) -> tuple[bool, bool]:
            return path.stem not in file.stem, dotted not in file.read_text()

        found = [file for name in AREAS[self.area][1] for file in files("tests", name, "test_*.py")]
        closest = sorted(dict.fromkeys(found), key=distance)
        return [self.path, *(file.relative_to(ROOT).as_posix() for file in closest)]


def files(folder: str, pattern: str, names: str) -> list[Path]:
    """Return the modules that a pattern of AREAS stands for, each package's by their names."""
    places = sorted((ROOT / folder).glob(pattern))
    if not places:
        raise SystemExit(f"{folder}/{pattern} does not exist: correct AREAS in {__file__}")
    return [file for p in places for file in (sorted(p.rglob(names)) if p.is_dir() else [p])]


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
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
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
        name, text = path.relative_to(ROOT).as_posix(), lines[node.lineno - 1].decode().strip()
        mutant = Mutant(area, name, node.lineno, text, start, end, before, after)
        found[start, end, after] = mutant
    return [found[key] for key in sorted(found)]


def chosen(count: int, seed: int, areas: list[str]) -> list[Mutant]:
    """Draw mutants: as many of each area, each on a line of its own."""

    def rank(mutant: Mutant) -> bytes:
        return sha256(f"{seed} {mutant.text} {mutant.before} {mutant.after}".encode()).digest()

    top = ROOT / PACKAGE
    piles = []
    for area in areas:
        paths = [path for name in AREAS[area][0] for path in files(PACKAGE, name, "*.py")]
        kept = [p for p in paths if not LEFT_OUT.search(p.relative_to(top).as_posix())]
        pile = sorted((mutant for path in kept for mutant in mutants_of(area, path)), key=rank)
        lines: dict[str, Mutant] = {}
        for mutant in pile:
            lines.setdefault(mutant.text, mutant)
        piles.append(list(lines.values()))
    drawn = [pile[i] for i in range(max(map(len, piles))) for pile in piles if i < len(pile)]
    return drawn[:count]


# --- whether a test notices ---------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """A copy of the repository whose package is changed, tested and put right again."""

    folder: Path
    workers: int
    sound: set[str] = field(default_factory=set)

    def is_broken(self, killer: str) -> bool:
        """Whether a test that noticed a mutant fails without one; each is asked once."""
        if "::" not in killer or killer in self.sound:
            return False
        self.sound.add(killer)
        return bool(self.test([killer]))

    def test(self, paths: list[str]) -> str:
        """Run tests; return the first failure, or nothing."""
        options = ["-x", "-q", "-n", str(self.workers), "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, "--benchmark-disable", *paths]
        # CI: the same examples of hypothesis each time
        environment = os.environ | {"PYTHONPATH": str(self.folder), "CI": "true"}
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
                return "a hang"
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            # 5: a module without doctests, and nothing else to run
            return "" if status in (0, 5) else first_failure(output.read())

    def killer(self, mutant: Mutant) -> str:
        """Return the first test that notices a mutant, or nothing."""
        path = self.folder / mutant.path
        source = path.read_bytes()
        self.write(path, source[: mutant.start] + mutant.after.encode() + source[mutant.end :])
        try:
            return self.test(mutant.tests())
        finally:
            self.write(path, source)

    def write(self, path: Path, source: bytes) -> None:
        """Write a module with a time of its own, so that no bytecode of another state is used."""
        before = path.stat().st_mtime
        path.write_bytes(source)
        os.utime(path, (before + 10, before + 10))


def first_failure(output: str) -> str:
    """Return the first test that pytest says failed, or the last line."""
    named = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    lines = output.strip().splitlines() or ["no output"]
    return named[1] if named else lines[-1]


def copied(folder: Path) -> Path:
    """Copy what the tests need, readable for all: a test reads a cache as another user."""
    folder.chmod(0o755)
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
    return shutil.copytree(ROOT, folder / "copy", ignore=ignored)


def check(mutants: list[Mutant], bench: Bench, start: int) -> Counter[str]:
    """Test every mutant, print its row of the table, and count the verdicts."""
    print("| | Mutant | Verdict | Seconds |", "|---|---|---|---|", sep="\n")
    counts: Counter[str] = Counter()
    for number, mutant in enumerate(mutants, start):
        began = time.perf_counter()
        killer = bench.killer(mutant)
        if not killer:
            verdict = "SURVIVED"
        elif bench.is_broken(killer):
            verdict, killer = "UNCLEAR", f": {killer} fails without any change"
        else:
            verdict, killer = "killed", f" by {killer}"
        counts[verdict] += 1
        row = (str(number), str(mutant), verdict + killer, f"{time.perf_counter() - began:.0f}")
        print("|", " | ".join(cell.replace("|", "\\|") for cell in row), "|", flush=True)
    return counts


def main() -> int:
    """Draw mutants, test them, and return the exit status: 0 if all were killed."""
    parser = argparse.ArgumentParser(description="Seeded mutation check of the evaluator.")
    parser.add_argument("--count", type=int, default=40, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=1, help="number of the first one to test")
    parser.add_argument("--area", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--workers", type=int, default=0, help="processes of pytest-xdist")
    parser.add_argument("--list", action="store_true", help="print the mutants, test nothing")
    asked = parser.parse_args()
    mutants = chosen(asked.count, asked.seed, asked.area)[asked.start - 1 :]
    if asked.list:
        print(*mutants, sep="\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        counts = check(mutants, Bench(copied(Path(folder)), asked.workers), asked.start)
    killed = counts["killed"]
    print(f"\nKilled {killed} of {len(mutants)}.")
    return 0 if killed == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
