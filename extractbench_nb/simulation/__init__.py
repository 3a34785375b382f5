"""Simulated model outputs: corruptions, simulated runs, and their effect on scores."""

from extractbench_nb.simulation.catalogue import corruptions
from extractbench_nb.simulation.checking import SimulationCheck, check_simulation
from extractbench_nb.simulation.corrupt import Corrupted, corrupt_document, corrupt_mixed
from extractbench_nb.simulation.curves import sensitivity
from extractbench_nb.simulation.outputs import Simulation, simulate
from extractbench_nb.simulation.profiles import ModelProfile, model_profiles
from extractbench_nb.simulation.server import SimulationServer, serve_simulations

__all__ = [
    "Corrupted",
    "ModelProfile",
    "Simulation",
    "SimulationCheck",
    "SimulationServer",
    "check_simulation",
    "corrupt_document",
    "corrupt_mixed",
    "corruptions",
    "model_profiles",
    "sensitivity",
    "serve_simulations",
    "simulate",
]
