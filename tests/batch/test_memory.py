"""With a folder to write to, memory does not grow with the batch."""

import gc
import json
import random
import string
import tracemalloc

import pandas as pd

from extractbench_nb.runs.evaluate import evaluate_runs

FEW, MANY = 80, 240
#: Characters of each output, which are in its rows, too.
SIZE = 40_000
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string", "evaluation_config": "string_exact"}},
}


def peak_of(runs, **options):
    """Python memory at its highest while a batch runs, above what was there before."""
    gc.collect()
    thresholds = gc.get_threshold()
    gc.set_threshold(500, 1, 1)  # what waits for the collector is no growth
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        evaluate_runs(runs, progress=False, **options)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
        gc.set_threshold(*thresholds)


def test_three_times_the_outputs_need_no_more_memory(tmp_path):
    rng = random.Random(3)
    paths = [tmp_path / f"{n}.json" for n in range(MANY)]
    for path in paths:
        path.write_text(json.dumps({"a": "".join(rng.choices(string.printable, k=SIZE))}))
    rows = [("r", path.stem, path, SCHEMA, {"a": ""}) for path in paths]
    runs = pd.DataFrame(rows, columns=["run", "document", "predicted", "schema", "gold"])
    evaluate_runs(runs[:1], progress=False, save_to=tmp_path / "warm")
    few = peak_of(runs[:FEW], save_to=tmp_path / "few")
    many = peak_of(runs, save_to=tmp_path / "many")
    in_memory = peak_of(runs) - peak_of(runs[:FEW])
    assert in_memory > SIZE // 2 * (MANY - FEW)  # outputs do not pack to half their size
    assert many - few < in_memory / 3
