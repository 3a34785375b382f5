"""Tables of the columns of a frame, from its declaration (`FrameSpec`).

A line ``ev.fields: core.evaluation_frames.FIELD_COLUMNS`` of the directive ``frames`` is a section
on the frame that `ev.fields` returns, with its declaration named by its module in the package. With
``like core.evaluation_frames.FIELD_COLUMNS`` behind it, only the columns are listed that this other
declaration, shown elsewhere, does not have. ``CHANGE_COLUMNS`` in single
backticks in a docstring refers to the declaration that its module has under this name.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import extractbench_nb
from extractbench_nb.core.frames import Column, FrameSpec

PACKAGE = extractbench_nb.__name__
_CODE = re.compile(r"(`+)([^`]+)\1")
_HEADER = ("column", "meaning", "dtype", "values")


def declarations() -> dict[str, FrameSpec]:
    """Return the public declarations by their place, each once, where it is assigned."""
    names = [m.name for m in pkgutil.walk_packages(extractbench_nb.__path__, f"{PACKAGE}.")]
    modules = [
        import_module(n) for n in names if ".compat.evaluation" not in n and "__main__" not in n
    ]
    found: dict[int, tuple[str, FrameSpec]] = {}
    # names before entries of dicts, which often hold declarations that have a name
    for specs_of in (_named, _in_dicts):
        for module in modules:
            source = inspect.getsource(module)
            for key, spec in specs_of(module):
                name = key.partition(".")[0]
                is_assigned = re.search(rf"^(.+, )?{name}\b.* = ", source, re.MULTILINE)
                if is_assigned:
                    place = f"{module.__name__.removeprefix(f'{PACKAGE}.')}.{key}"
                    found.setdefault(id(spec), (place, spec))
    return dict(found.values())


def _named(module: Any) -> Iterator[tuple[str, FrameSpec]]:
    public = ((name, value) for name, value in vars(module).items() if not name.startswith("_"))
    return ((name, value) for name, value in public if isinstance(value, FrameSpec))


def _in_dicts(module: Any) -> Iterator[tuple[str, FrameSpec]]:
    for name, value in vars(module).items():
        if isinstance(value, dict) and not name.startswith("_"):
            yield from ((f"{name}.{k}", v) for k, v in value.items() if isinstance(v, FrameSpec))


def declaration(place: str) -> FrameSpec:
    """Return the declaration at a place, ``runs.storage.FRAMES.fields`` for example."""
    parts = place.split(".")
    at = next(i for i, part in enumerate(parts) if part.isupper() or part.startswith("_"))
    value = getattr(import_module(".".join([PACKAGE, *parts[:at]])), parts[at])
    return value[parts[at + 1]] if parts[at + 1 :] else value


def label(place: str) -> str:
    """Return the name of a declaration as a target of references."""
    return f"frame-{place}".lower().replace(".", "-")


#: What a reader calls the declarations that others are compared with.
SHOWN = {
    "core.evaluation_frames.SUMMARY": "ev.summary",
    "core.evaluation_frames.FIELD_COLUMNS": "ev.fields",
    "core.evaluation_frames.ARRAY_COLUMNS": "ev.arrays",
    "core.evaluation_frames.MATCH_COLUMNS": "ev.matches",
    "core.evaluation_frames.CALL_COLUMNS": "ev.judge_calls",
    "core.evaluation_frames.MISMATCH_COLUMNS": "ev.mismatches",
    "core.cross_field_rules.RULE_COLUMNS": "ev.rules",
}
#: A frame: what returns it, its declaration, the declaration that it is compared with.
LINE = re.compile(r"^(?P<shown>.+): (?P<place>[\w.]+)(?: like (?P<like>[\w.]+))?$")


class Frames(SphinxDirective):
    """``{frames}``: for each line a section with what a row is, and a table of the columns."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Build the sections."""
        found: list[nodes.Node] = []
        for line in filter(None, self.content):
            frame = LINE.match(line)
            if frame is None:
                raise self.error(f"{line!r} is no frame and declaration")
            name = frame["shown"].removesuffix(" (a Series)")
            is_code = "`" not in name and ("." in name or "(" in name)
            title = _inline(f"`{name}`" if is_code else name)
            section = nodes.section("", nodes.title("", "", *title), ids=[nodes.make_id(name)])
            self.state.document.note_explicit_target(section)
            section += self.frame(frame["place"], frame["like"])
            found.append(section)
        return found

    def frame(self, place: str, like: str | None) -> list[nodes.Node]:
        """Return what a row is, and the table of columns."""
        try:
            spec = declaration(place)
        except (ImportError, AttributeError, KeyError) as error:
            raise self.error(f"{place} is no declaration: {error}") from error
        name = label(place)
        target = nodes.target("", "", ids=[name], names=[name])
        standard = self.env.domains.standard_domain
        standard.anonlabels[name] = (self.env.docname, name)
        standard.labels[name] = (self.env.docname, name, spec.name)
        grain = spec.grain[:1].upper() + spec.grain[1:]
        text = nodes.paragraph("", "", *_inline(f"{grain}."))
        columns: Iterable[Column] = spec.columns
        if like:
            known = declaration(like).columns
            columns = [column for column in spec.columns if column not in known]
            lacks = [f"`{column.name}`" for column in known if column not in spec.columns]
            text += [nodes.Text(" It has the columns of "), self._reference(like, SHOWN[like])]
            text += _inline(f", except {', '.join(lacks)}" if lacks else "")
            text += nodes.Text(", and these:" if columns else ".")
        return [target, text, *([table_of(columns)] if columns else [])]

    def _reference(self, place: str, shown: str) -> pending_xref:
        return pending_xref(
            "",
            nodes.literal("", shown),
            refdomain="std",
            reftype="ref",
            reftarget=label(place),
            refexplicit=True,
            refwarn=True,
            refdoc=self.env.docname,
        )


def table_of(columns: Iterable[Column]) -> nodes.table:
    """Return a table of columns."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=w) for w in (20, 40, 12, 28)), cols=4)
    group += nodes.thead("", _row([nodes.Text(name)] for name in _HEADER))
    body = nodes.tbody()
    for column in columns:
        dtype = [nodes.Text(column.dtype + (", NA" if column.nullable else ""))]
        name = [nodes.literal("", column.name)]
        body += _row([name, _inline(column.meaning), dtype, _inline(column.values)])
    group += body
    return nodes.table("", group, classes=["frame-columns"])


def _row(cells: Iterable[list[nodes.Node]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))


def _inline(text: str) -> list[nodes.Node]:
    """Return text with its parts between backticks as code."""
    parts = _CODE.split(text)
    found: list[nodes.Node] = []
    for at in range(0, len(parts), 3):
        found.append(nodes.Text(parts[at]))
        if at + 2 < len(parts):
            found.append(nodes.literal("", parts[at + 2]))
    return found


def refer_to_frames(
    _: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Make the names of declarations in a docstring references to their tables."""
    function = inspect.unwrap(getattr(obj, "fget", None) or obj)
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    places = {id(spec): place for place, spec in declarations_once().items()}

    def reference(found: re.Match[str]) -> str:
        place = places.get(id(vars(module).get(found[1]))) if module is not None else None
        return f":ref:`{found[1]} <{label(place)}>`" if place else found[0]

    for at, line in enumerate(lines):
        lines[at] = re.sub(r"(?<![`:])`([A-Z_]+)`(?!`)", reference, line)


_declared: dict[str, FrameSpec] = {}


def declarations_once() -> dict[str, FrameSpec]:
    """Return `declarations`, which are looked for once."""
    if not _declared:
        _declared.update(declarations())
    return _declared


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the references."""
    app.add_directive("frames", Frames)
    app.connect("autodoc-process-docstring", refer_to_frames, priority=90)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
