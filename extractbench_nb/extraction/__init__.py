"""What models say and do: outputs read, failures named, repaired; gold corrupted on purpose."""

from extractbench_nb.extraction.baseline import BaselineTables, baseline_tables
from extractbench_nb.extraction.catalogue import corruptions
from extractbench_nb.extraction.checking import SimulationCheck, check_simulation
from extractbench_nb.extraction.failing import failure_modes, failure_positions
from extractbench_nb.extraction.forgiving import forgive, repair_effect
from extractbench_nb.extraction.lengths import length_correlations, validity_by_length
from extractbench_nb.extraction.mixture import corrupt_mixed
from extractbench_nb.extraction.model_profiles import ModelProfile, model_profiles
from extractbench_nb.extraction.parsing import ParsedOutput, parse_output
from extractbench_nb.extraction.reading import read_outputs
from extractbench_nb.extraction.repair import Repaired, repair_output
from extractbench_nb.extraction.runs import Run, extract
from extractbench_nb.extraction.serving import SimulationServer, serve_simulations
from extractbench_nb.extraction.simulate import Corrupted, corrupt_document
from extractbench_nb.extraction.simulation import Simulation, simulate

__all__ = [
    "BaselineTables",
    "Corrupted",
    "ModelProfile",
    "ParsedOutput",
    "Repaired",
    "Run",
    "Simulation",
    "SimulationCheck",
    "SimulationServer",
    "baseline_tables",
    "check_simulation",
    "corrupt_document",
    "corrupt_mixed",
    "corruptions",
    "extract",
    "failure_modes",
    "failure_positions",
    "forgive",
    "length_correlations",
    "model_profiles",
    "parse_output",
    "read_outputs",
    "repair_effect",
    "repair_output",
    "serve_simulations",
    "simulate",
    "validity_by_length",
]
