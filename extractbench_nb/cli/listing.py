"""Commands that show what there is: schemas, datasets, profiles, metrics, shell completion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from extractbench_nb.cli.group import COMMAND, FILE, commands, json_option
from extractbench_nb.cli.output import print_json, print_table, print_text, records

#: Columns of the documents' table.
_SHOWN = ("document", "domain", "schema", "pages", "gold_values", "array_items", "gold_tokens")
_COMPLETION_HELP = """Print a completion script.

\b
bash:  eval "$(extractbench-nb completion bash)"    in ~/.bashrc
zsh:   eval "$(extractbench-nb completion zsh)"     in ~/.zshrc
fish:  extractbench-nb completion fish | source     in ~/.config/fish/config.fish
"""


@commands.command()
@click.argument("schema", type=FILE)
@json_option
def schema(schema: Path, *, as_json: bool) -> None:
    """Print a schema as a tree.

    Every node of the file SCHEMA with its type, metric and params.
    """
    from extractbench_nb.schema import parse_schema

    tree = parse_schema(schema)
    if as_json:
        print_json(records(tree.to_frame()))
    else:
        print_text(repr(tree))


@commands.command()
@click.argument("name", required=False)
@json_option
def datasets(name: str | None, *, as_json: bool) -> None:
    """List datasets, or one's documents.

    NAME is sample, extractbench or a folder. Without it: which named datasets are at hand.
    """
    from extractbench_nb.benchmark.dataset import load_dataset

    if name is None:
        _show_datasets(as_json=as_json)
        return
    dataset = load_dataset(name)
    if as_json:
        documents, runs = records(dataset.documents), records(dataset.runs)
        print_json(
            {"name": dataset.name, "root": str(dataset.root), "documents": documents}
            | {"runs": runs}
        )
        return
    print_text(repr(dataset))
    shown = dataset.documents[list(_SHOWN)]
    print_table(shown)


def _show_datasets(*, as_json: bool) -> None:
    from extractbench_nb.benchmark.dataset import NAMED_DATASETS, load_dataset
    from extractbench_nb.errors import DatasetError

    rows: list[dict[str, Any]] = []
    for name in NAMED_DATASETS:
        try:
            found = load_dataset(name)
        except DatasetError as error:
            rows.append({"name": name, "documents": None, "where": None, "problem": str(error)})
        else:
            count, root = len(found.listing), str(found.root)
            rows.append({"name": name, "documents": count, "where": root, "problem": None})
    if as_json:
        print_json(rows)
        return
    for row in rows:
        if row["problem"] is None:
            print_text(f"{row['name']}: {row['documents']} documents in {row['where']}")
        else:
            print_text(f"{row['name']}: not at hand; {row['problem']}")


@commands.command()
@json_option
def profiles(*, as_json: bool) -> None:
    """Show the scoring rules.

    Those of all profiles, side by side.
    """
    from extractbench_nb.profiles import profiles as all_rules

    table = all_rules().reset_index()
    if as_json:
        print_json(records(table))
    else:
        print_table(table)


@commands.command()
@json_option
def metrics(*, as_json: bool) -> None:
    """List metrics.

    All that an evaluation_config can name.
    """
    from extractbench_nb.metrics import metrics as all_metrics

    table = all_metrics()
    if as_json:
        print_json(records(table))
    else:
        print_table(table[["metric", "applies_to", "pass_rule", "summary"]])


@commands.command(help=_COMPLETION_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click knows the three
    variable = f"_{COMMAND.upper().replace('-', '_')}_COMPLETE"
    print_text(found(commands, {}, COMMAND, variable).source())
