"""Two models x the sample's documents x two modes: simulated, asked over a socket, killed, resumed.

The child process does what a user's script would; it is killed where half of all is answered and
four more requests are under way.
"""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from extractbench_nb.benchmark.dataset import Dataset, load_dataset
from extractbench_nb.extraction.calling import MODES
from extractbench_nb.extraction.folders import RunFolder, is_run
from extractbench_nb.extraction.reading import read_outputs
from extractbench_nb.extraction.runs import Run
from extractbench_nb.simulation.outputs import Simulation, simulate
from extractbench_nb.simulation.profiles import model_profile
from extractbench_nb.simulation.server import Replay, Reply, SimulationServer
from tests.extraction.runs.test_killed import contents
from tests.loaded import loaded_script
from tests.waiting import PATIENCE, wait_until

PROGRAM = """
import sys, warnings
from itertools import product
import extractbench_nb as xb
from extractbench_nb.extraction.runs import extract
warnings.simplefilter("error")
url, root, *models = sys.argv[1:]
dataset = xb.load_dataset("sample")
for model, mode in product(models, ("prompt", "structured")):
    folder = f"{root}/{model.rpartition('/')[2]} {mode}"
    extract(dataset, model=model, folder=folder, mode=mode, api_base=url, progress=False)
"""
#: Requests under way at once, by default.
AT_ONCE = 4
#: Models whose outputs together have all `FAILURES`.
MODELS = ("Claude Opus 4.5", "GPT-5")
#: In the midst of the third run of four, so that two are through.
ANSWERED = 35

#: Texts of all kinds, and errors of calls: what the paper names, and what a schema adds.
FAILURES = {
    *("none", "empty_response", "trailing_comma", "truncated_json"),
    *("page_limit", "schema_rejected"),
}

Place = tuple[str, str]


@cache
def simulations() -> dict[Place, Simulation]:
    """By model and mode."""
    return {
        (model, mode): simulate(load_dataset("sample"), model_profile(model, mode), "matrix")
        for model in MODELS
        for mode in MODES
    }


class Halting(Replay):
    """Answers so many requests, and leaves the others waiting until it is released."""

    def __init__(self, dataset: Dataset, count: int) -> None:
        super().__init__(simulations().values(), dataset)
        self.held = 0
        self.released = threading.Event()
        self._left = count
        self._turn = threading.Lock()

    def reply(self, body: bytes) -> Reply:
        found = super().reply(body)
        with self._turn:
            self._left -= 1
            waits = self._left < 0
            self.held += waits
        if waits:
            self.released.wait(PATIENCE)
        return found


def arguments_of(server: SimulationServer, root: Path) -> list[str]:
    return [server.url, str(root), *server.models.values()]


@contextmanager
def serving(dataset: Dataset, count: int) -> Iterator[tuple[SimulationServer, Halting]]:
    replay = Halting(dataset, count)
    with SimulationServer(replay) as server:
        try:
            yield server, replay
        finally:
            replay.released.set()


def folders(server: SimulationServer, root: Path) -> dict[Place, Path]:
    """Where the run of each model and mode is kept."""
    names = {model: one.rpartition("/")[2] for model, one in server.models.items()}
    return {(model, mode): root / f"{names[model]} {mode}" for model, mode in simulations()}


def finished(runs: Mapping[Place, Path]) -> set[tuple[str, str, str]]:
    """Model, mode and document of the outputs that are there."""
    begun = {place: RunFolder.open(path) for place, path in runs.items() if is_run(path)}
    return {(*place, one) for place, run in begun.items() for one in run.documents}


def asked(server: SimulationServer) -> dict[tuple[str, str, str], int]:
    """How often each output was asked for."""
    return {(r.model, r.mode, r.document): r.requests for r in server.requests.itertuples()}


def check_outputs(runs: Mapping[Place, Path], dataset: Dataset) -> None:
    """Check that texts and failures are those that were put in, for every attempt."""
    for place, path in runs.items():
        made = simulations()[place].outputs.set_index("document")
        run = Run.open(path)
        assert run.unasked == []
        found = read_outputs(run.outputs, dataset).set_index("document")
        assert found["failure"].to_dict() == made["failure"].to_dict()
        assert found["raw"].to_dict() == made["raw"].to_dict()
        for document, meta in run.outputs.set_index("document")["meta"].items():
            injected = made.loc[str(document), "meta"]["error"] or {}
            assert (meta["error"] or {}).get("reason") == injected.get("reason")


def test_the_matrix_killed_half_way_and_resumed(dataset: Dataset, tmp_path: Path) -> None:
    everything = {
        (*place, document) for place in simulations() for document in dataset.listing["document"]
    }
    assert len(everything) == len(MODELS) * len(MODES) * len(dataset.listing) == 56
    assert {one for made in simulations().values() for one in made.outputs["failure"]} >= FAILURES

    with serving(dataset, len(everything)) as (server, _):
        arguments = arguments_of(server, tmp_path / "whole")
        with loaded_script(PROGRAM, *arguments) as script:
            assert script.result() == ""
        assert asked(server) == dict.fromkeys(everything, 1)
        whole = folders(server, tmp_path / "whole")
    check_outputs(whole, dataset)

    with serving(dataset, ANSWERED) as (server, replay):
        runs = folders(server, tmp_path / "killed")
        arguments = arguments_of(server, tmp_path / "killed")
        with loaded_script(PROGRAM, *arguments) as killed:
            wait_until(
                lambda: (
                    not killed.process.is_alive()
                    or (replay.held >= AT_ONCE and len(finished(runs)) >= ANSWERED)
                )
            )
            killed.process.kill()
            killed.process.join(PATIENCE)
            assert killed.process.exitcode == -signal.SIGKILL
        done, once = finished(runs), asked(server)
        assert len(done) == ANSWERED
        assert sum(once.values()) == ANSWERED + AT_ONCE
        replay.released.set()

        with loaded_script(PROGRAM, *arguments) as resumed:
            assert resumed.result() == ""
        again = {place: count - once[place] for place, count in asked(server).items()}
    assert again == {one: int(one not in done) for one in everything}
    check_outputs(runs, dataset)
    assert {place: contents(path) for place, path in runs.items()} == {
        place: contents(path) for place, path in whole.items()
    }
