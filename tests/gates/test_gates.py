"""The contract of imports names every package of the evaluator."""

import configparser
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_contract_names_every_package_of_the_evaluator() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter", encoding="utf-8")
    order = config["importlinter:contract:layers"]["layers"].replace("(", "").replace(")", "")
    layers = [layer.strip() for line in order.splitlines() for layer in line.split(":")]
    evaluator = config["importlinter:contract:evaluator"]["source_modules"].split()
    named = {module.removeprefix("extractbench_nb.").partition(".")[0] for module in evaluator}
    assert named <= set(layers)
    assert named == set(layers[layers.index("evaluation") : layers.index("display") + 1])
