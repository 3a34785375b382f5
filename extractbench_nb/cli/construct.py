"""The commands of `construct`: one table from many documents."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from extractbench_nb.cli.output import (
    OrderedGroup,
    json_option,
    judge_option,
    print_json,
    print_table,
    print_text,
    records,
)
from extractbench_nb.support.wording import cut, plural

_FILE = click.Path(path_type=Path)
_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Largest number of wrong cells to print, and of characters of a value.
_MOST, _LONGEST = 20, 60
_BY_RUN = (
    *("run", "tables", "invalid", "direct", "mapped"),
    *("cell_f1", "cell_precision", "cell_recall", "row_f1", "column_recall"),
)
_profile_option = click.option(
    "--profile",
    default="strict",
    show_default=True,
    metavar="NAME",
    help="Scoring rules: strict or aoe.",
)


@click.group(name="construct", cls=OrderedGroup)
def construct() -> None:
    """Build tables from documents, and compare them with gold."""


def _columns_option(name: str, meaning: str) -> Callable[[_Function], _Function]:
    return click.option(f"--{name}", multiple=True, metavar="COLUMN", help=meaning)


@construct.command()
@click.argument("dataset")
@click.option("--model", required=True, help="LiteLLM id of the model, such as openai/gpt-4o-mini.")
@click.option(
    "--folder", required=True, type=_FILE, help="Folder for the run; an existing run is resumed."
)
@click.option(
    "--setting",
    default="plain",
    show_default=True,
    metavar="NAME",
    help="Parts of the prompt: all (demonstration and reasoning), no_teach, no_cot, plain.",
)
@click.option("--with-schema", is_flag=True, help="List the gold table's columns in the prompt.")
@click.option("--domain", "domains", multiple=True, help="Build only this domain; repeatable.")
@click.option(
    "--table", "tables", multiple=True, metavar="ID", help="Build only this table; repeatable."
)
@click.option("--rag", metavar="METHOD", help="Send only retrieved chunks: bm25 or embedding.")
@click.option("--k", default=50, show_default=True, help="Number of chunks to retrieve.")
@click.option("--embedding-model", metavar="NAME", help="Embedding model, such as bge-m3.")
@click.option("--embedding-base", metavar="URL", help="OpenAI-compatible server for embeddings.")
@click.option("--store", type=_FILE, help="Folder in which Chroma stores embeddings.")
@click.option("--api-base", metavar="URL", help="Address of your own server.")
@click.option(
    "--max-concurrency", default=4, show_default=True, help="Maximum number of requests at a time."
)
@click.option("--budget-usd", type=float, help="Maximum cost at list prices, in US dollars.")
@click.option("--temperature", type=float, help="Sampling temperature. Default: the provider's.")
@click.option(
    "--max-tokens", type=int, help="Maximum length of an answer. Default: the provider's."
)
@click.option("--progress/--no-progress", default=True, help="Show a progress bar.")
def build(*, dataset: str, progress: bool, **options: Any) -> None:
    """Let a model build the tables in a dataset.

    DATASET is sample, a folder of tables, or AOE's JSONL. The answers are saved in the folder, so
    that `construct batch` can compare them.
    """
    from extractbench_nb.construction import Retriever
    from extractbench_nb.construction import construct as build_tables
    from extractbench_nb.judges import LLM

    client = ("api_base", "max_concurrency", "budget_usd", "temperature", "max_tokens")
    llm = LLM(options.pop("model"), **{name: options.pop(name) for name in client})
    named = {"k": "k", "embedding_model": "model", "embedding_base": "api_base", "store": "store"}
    how = {name: options.pop(option) for option, name in named.items()}
    method = options.pop("rag")
    retriever = None if method is None else Retriever(method, **how)
    for name in ("domains", "tables"):
        options[name] = list(options[name]) or None
    shown = progress and sys.stderr.isatty()
    print_text(
        repr(build_tables(dataset, model=llm, retriever=retriever, progress=shown, **options))
    )


@construct.command()
@click.argument("gold", type=_FILE)
@click.argument("predicted", type=_FILE)
@_columns_option(
    "keys",
    "Column in GOLD that identifies a row; repeatable. Default: the first without repeats.",
)
@_columns_option("values", "Column in GOLD to compare; repeatable. Default: all but the keys.")
@_columns_option("numeric", "Column that contains numbers; repeatable. Default: detected in GOLD.")
@_profile_option
@judge_option
@json_option
def compare(*, gold: Path, predicted: Path, as_json: bool, **options: Any) -> None:
    """Compare one table with its gold table.

    Prints scores, lost points by stage, and the wrong cells. GOLD is a table in CSV, JSON, Markdown
    or HTML. PREDICTED is a table, the raw answer of a model, or - for standard input.
    """
    from extractbench_nb.construction import compare as compare_tables

    source: Path | str = predicted
    if str(predicted) == "-":
        source = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    for name in ("keys", "values", "numeric"):
        options[name] = list(options[name]) or None
    found = compare_tables(gold, source, **options)
    if as_json:
        frames = {n: records(getattr(found, n)) for n in ("columns", "matches", "cells")}
        about = {name: found.meta[name] for name in ("keys", "direct", "mapped", "problem")}
        print_json({"summary": found.summary.to_dict(), **about, **frames})
        return
    print_text(repr(found))
    statuses = found.matches["status"].value_counts()
    print_text(f"  rows: {', '.join(f'{count} {name}' for name, count in statuses.items())}")
    if not found.profile.released:
        losses = found.losses()
        for side, part in losses[losses["lost"] > 0].groupby("side", sort=False):
            stages = (
                f"{stage} {lost:g}" for stage, lost in zip(part["stage"], part["lost"], strict=True)
            )
            print_text(f"  points lost ({side}): {' · '.join(stages)}")
    cells = found.cells
    wrong = cells[~cells["passed"].fillna(value=False).astype(bool)]
    for path, outcome, *sides in (
        wrong[["path", "outcome", "gold", "predicted"]].head(_MOST).itertuples(index=False)
    ):
        texts = ("nothing" if side is None else cut(repr(side), _LONGEST) for side in sides)
        print_text(f"  {outcome:<13} {path}: {' -> '.join(texts)}")
    if len(wrong) > _MOST:
        print_text(f"  ... {len(wrong) - _MOST} more; --json has all")


@construct.command()
@click.argument("runs", metavar="RUNS")
@click.option(
    "--dataset",
    metavar="NAME",
    help="Source of gold tables: sample, a folder, or AOE's JSONL. Not needed if RUNS is itself a "
    "dataset with runs.",
)
@click.option("--quality", metavar="MODEL", help="Model that rates every answer from 0 to 100.")
@click.option(
    "--out",
    type=_FILE,
    metavar="FOLDER",
    help="Also write AOE's files, one JSON file per table and statistics.csv.",
)
@click.option(
    "--progress/--no-progress", default=True, help="Show a progress bar on standard error."
)
@_profile_option
@judge_option
@json_option
def batch(runs: str, *, out: Path | None, progress: bool, as_json: bool, **options: Any) -> None:
    """Compare the answers of many runs.

    Prints one line per run, with means over its tables. RUNS is sample, a dataset with runs, or a
    folder that contains one subfolder per run, in which each answer is named after its table
    (RUN/TABLE.txt). An answer without a table scores 0.
    """
    from extractbench_nb.construction import evaluate_tables

    found = evaluate_tables(runs, progress=progress and sys.stderr.isatty(), **options)
    if out is not None:
        found.write_aoe(out)
    if as_json:
        names = {"runs": found.by_run, "answers": found.summary}
        print_json({name: records(frame) for name, frame in names.items()})
        return
    by_run = found.by_run
    rated = ["quality"] if by_run["quality"].notna().any() else []
    print_table(by_run[[*_BY_RUN, *rated]])
    for run, count in by_run.loc[by_run["missing"] > 0, ["run", "missing"]].itertuples(index=False):
        print_text(f"note: run {run} has no answer for {plural(count, 'table')}")
