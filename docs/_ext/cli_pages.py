"""The directive `cli-command`: usage, description and options of a command, from its definition."""

from collections.abc import Iterable
from inspect import cleandoc

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from extractbench_nb.cli.commands import COMMAND, commands


class CommandDirective(SphinxDirective):
    """Writes the reference of the command that its argument names; of a group, its commands."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Write Markdown, and parse it."""
        words = self.arguments[0].split() if self.arguments else []
        command, context = find_command(words)
        if isinstance(command, click.Group):
            lines = _commands_table(command, words)
        else:
            usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
            options = [
                _option_row(option, context)
                for option in command.params
                if isinstance(option, click.Option)
            ]
            lines = ["```text", usage, "```", *_description(command)]
            if options:
                lines += ["", *_table(("option", "meaning", "default", "values"), options)]
        return self.parse_text_to_nodes("\n".join(lines))


def find_command(words: list[str]) -> tuple[click.Command, click.Context]:
    """Return the command that the words name, and a context with its full name."""
    command: click.Command = commands
    context = click.Context(command, info_name=COMMAND)
    for word in words:
        if not isinstance(command, click.Group) or word not in command.commands:
            raise ValueError(f"cli-command: no command {' '.join(words)!r}")
        command = command.commands[word]
        context = click.Context(command, info_name=word, parent=context)
    return command, context


def _commands_table(group: click.Group, words: list[str]) -> list[str]:
    """Link each command of a group to its heading."""
    rows = [
        (f"[`{name}`](#{'-'.join([*words, name])})", child.get_short_help_str(limit=200))
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
            lines += ["", paragraph]
    return lines


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
    return names, option.help or "", shown, values


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [heads, ("---",) * len(heads), *rows]
    return [f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |" for cells in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("cli-command", CommandDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
