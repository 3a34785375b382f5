"""The directive `cli-commands`: usage, description and options of commands, from the parsers."""

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from inspect import cleandoc
from pathlib import Path

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from extractbench_nb.cli import commands as command_module
from extractbench_nb.cli.commands import COMMAND, commands


class CommandDirective(SphinxDirective):
    """Writes usage, description and options of every command, a section each."""

    def run(self) -> list[nodes.Node]:
        """Write Markdown, and parse it."""
        source = inspect.getfile(command_module)
        for path in Path(source).parent.glob("*.py"):
            self.env.note_dependency(str(path))
        lines = [line for words in all_commands() for line in reference(words)]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def all_commands(*words: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, a group before its commands."""
    command, _ = find_command(words)
    if words:
        yield words
    if isinstance(command, click.Group):
        for name in command.commands:
            yield from all_commands(*words, name)


def reference(words: tuple[str, ...]) -> list[str]:
    """Return the section of a command."""
    command, context = find_command(words)
    name = " ".join(words)
    heading = ["", f"({'-'.join(['cli', *words])})=", "", f"{'#' * (1 + len(words))} {name}", ""]
    if isinstance(command, click.Group):
        return [*heading, *_description(command), "", *_commands_table(command, words)]
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    options = [_option_row(o, context) for o in command.params if isinstance(o, click.Option)]
    lines = [*heading, "```text", usage, "```", *_description(command)]
    if options:
        lines += ["", *_table(("option", "meaning", "default", "values"), options)]
    return lines


def find_command(words: Sequence[str]) -> tuple[click.Command, click.Context]:
    """Return the command that the words name, and a context with its full name."""
    command: click.Command = commands
    context = click.Context(command, info_name=COMMAND)
    for word in words:
        if not isinstance(command, click.Group) or word not in command.commands:
            raise ValueError(f"cli-commands: no command {' '.join(words)!r}")
        command = command.commands[word]
        context = click.Context(command, info_name=word, parent=context)
    return command, context


def _commands_table(group: click.Group, words: tuple[str, ...]) -> list[str]:
    """Link each command of a group to its heading."""
    rows = [
        (f"[`{name}`](#{'-'.join(['cli', *words, name])})", child.get_short_help_str(limit=200))
        for name, child in group.commands.items()
    ]
    return _table(("command", "what it does"), rows)


def _description(command: click.Command) -> list[str]:
    """Turn a help text into Markdown; click marks a preformatted paragraph by a backspace."""
    lines = []
    for paragraph in cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            lines += ["", "```text", *paragraph.splitlines()[1:], "```"]
        else:
            lines += ["", _with_code(paragraph)]
    return lines


def _with_code(text: str) -> str:
    """Mark the options in a text as code, unless they are."""
    return re.sub(r"(?<![`\w-])--[a-z][a-z-]*(?!`)\b", lambda found: f"`{found[0]}`", text)


def _option_row(option: click.Option, context: click.Context) -> tuple[str, ...]:
    """Write names, meaning, default and allowed values of an option."""
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.metavar:
        names += f" {option.metavar}"
    default = option.get_default(context)
    given = default if isinstance(default, tuple | list) else [default]
    shown = ", ".join(f"`{value}`" for value in given) if option.show_default else ""
    values = ""
    if isinstance(option.type, click.Choice):
        values = ", ".join(f"`{choice}`" for choice in option.type.choices)
    elif isinstance(option.type, click.FloatRange):
        values = f"{option.type.min:g} to {option.type.max:g}"
    elif not option.is_flag and not option.metavar:
        values = option.type.name
    values += ", repeatable" if option.multiple and "repeatable" not in (option.help or "") else ""
    return names, _with_code(option.help or ""), shown, values


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [heads, ("---",) * len(heads), *rows]
    return [f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |" for cells in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("cli-commands", CommandDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
