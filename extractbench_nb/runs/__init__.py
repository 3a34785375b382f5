"""Evaluate many documents and runs: load datasets, call models, read outputs, save results."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.runs.dataset import ACCEPTED_FILES as ACCEPTED_FILES
from extractbench_nb.runs.dataset import GOLD_SUFFIX as GOLD_SUFFIX
from extractbench_nb.runs.dataset import LICENCE_FILES as LICENCE_FILES
from extractbench_nb.runs.dataset import NAMED_DATASETS as NAMED_DATASETS
from extractbench_nb.runs.dataset import RUN_FOLDER as RUN_FOLDER
from extractbench_nb.runs.dataset import Dataset
from extractbench_nb.runs.dataset import DatasetLike as DatasetLike
from extractbench_nb.runs.dataset import Documents as Documents
from extractbench_nb.runs.dataset import documents_of as documents_of
from extractbench_nb.runs.dataset import fetch_dataset as fetch_dataset
from extractbench_nb.runs.dataset import list_files as list_files
from extractbench_nb.runs.dataset import list_folders as list_folders
from extractbench_nb.runs.dataset import load_dataset as load_dataset
from extractbench_nb.runs.dataset_statistics import DEPTH as DEPTH
from extractbench_nb.runs.dataset_statistics import DOCUMENT as DOCUMENT
from extractbench_nb.runs.dataset_statistics import DOMAIN as DOMAIN
from extractbench_nb.runs.dataset_statistics import KEYS as KEYS
from extractbench_nb.runs.dataset_statistics import SCHEMA as SCHEMA
from extractbench_nb.runs.dataset_statistics import STATISTICS as STATISTICS
from extractbench_nb.runs.dataset_statistics import count_gold as count_gold
from extractbench_nb.runs.dataset_statistics import shipped_frame as shipped_frame
from extractbench_nb.runs.dataset_statistics import shipped_rows as shipped_rows
from extractbench_nb.runs.dataset_statistics import shipped_schemas as shipped_schemas
from extractbench_nb.runs.dataset_statistics import shipped_statistics as shipped_statistics
from extractbench_nb.runs.estimate import estimate_cost
from extractbench_nb.runs.evaluate import evaluate_runs as evaluate_runs
from extractbench_nb.runs.extracting import NO_KEY as NO_KEY
from extractbench_nb.runs.extracting import TIMEOUT as TIMEOUT
from extractbench_nb.runs.extracting import Described as Described
from extractbench_nb.runs.extracting import Request as Request
from extractbench_nb.runs.extracting import ask_all as ask_all
from extractbench_nb.runs.extracting import begun_run as begun_run
from extractbench_nb.runs.extracting import check_template as check_template
from extractbench_nb.runs.extracting import client_of as client_of
from extractbench_nb.runs.extracting import extract as extract
from extractbench_nb.runs.extracting import prompt_version as prompt_version
from extractbench_nb.runs.folders import PASSING as PASSING
from extractbench_nb.runs.folders import Run
from extractbench_nb.runs.folders import describe_run as describe_run
from extractbench_nb.runs.folders import folder_path as folder_path
from extractbench_nb.runs.folders import is_run as is_run
from extractbench_nb.runs.inputs import content_digest as content_digest
from extractbench_nb.runs.inputs import frame_of_runs as frame_of_runs
from extractbench_nb.runs.inputs import read_bytes as read_bytes
from extractbench_nb.runs.inputs import read_output as read_output
from extractbench_nb.runs.inputs import recorded_outputs
from extractbench_nb.runs.inputs import scoring_digest as scoring_digest
from extractbench_nb.runs.outputs import FAILURES as FAILURES
from extractbench_nb.runs.outputs import frame_of_outputs as frame_of_outputs
from extractbench_nb.runs.outputs import parse_output, repair_output
from extractbench_nb.runs.outputs import predictions as predictions
from extractbench_nb.runs.outputs import read_outputs as read_outputs
from extractbench_nb.runs.results import UNITS as UNITS
from extractbench_nb.runs.results import Evaluations
from extractbench_nb.runs.results import load_evaluations as load_evaluations
from extractbench_nb.runs.storage import first_difference as first_difference
from extractbench_nb.runs.storage import write_evaluation as write_evaluation
from extractbench_nb.support.moved import moved_names

__all__ = [
    "Dataset",
    "Evaluations",
    "Run",
    "estimate_cost",
    "fetch_dataset",
    "parse_output",
    "recorded_outputs",
    "repair_output",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
