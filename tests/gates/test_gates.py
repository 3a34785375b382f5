"""The walls between rooms: every room has its contract, and a module's name is used once."""

import configparser
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "extractbench_nb"


def test_every_room_is_known_through_its_face() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter", encoding="utf-8")
    found = [part.get("protected_modules", "") for part in config.values()]
    protected = {name.partition(".*")[0] for part in found for name in part.split()}
    rooms = {f"extractbench_nb.{path.parent.name}" for path in PACKAGE.glob("*/__init__.py")}
    assert protected == rooms - {"extractbench_nb.support"}  # each module of support is a face


def test_a_name_of_a_module_is_used_once() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("*.py"))
    assert [n for n, count in names.items() if count > 1 and not n.startswith("__")] == []
