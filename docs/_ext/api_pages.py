"""Pages of the API, from `__all__` and the docstrings: nothing is listed by hand.

``.. api:: judges`` expands to a table of the public names of ``extractbench_nb.judges``, of the
top-level names that it defines, and of the classes that their functions return. Each function and
class has a page of its own in `FOLDER`, written when the build starts, with its docstring and the
guides that use it. Constants and exceptions are documented below the table. ``.. api::`` without a
name is a table of the top level, with ``:from: stats gold`` of its names from these rooms. A name
that several namespaces have is documented in the first of `NAMESPACES`; the others link there.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from numpydoc.xref import DEFAULT_LINKS
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from extractbench_nb.core.frames import FrameSpec

PACKAGE = "extractbench_nb"
#: Where the pages of functions and classes are written; git ignores it.
FOLDER = "docs/reference/api/objects"
#: Where a page says how to use a name; most readers want the first kind.
GUIDES = ("docs/start.md", "docs/howto/*.md", "docs/explanation/*.md", "notebooks/*.ipynb")
MOST_GUIDES = 6

#: The namespaces in reading order; `compat`, which has the names of others, is last.
NAMESPACES = (
    *("core", "core.schema", "judges", "runs", "stats", "gold", "simulation", "pdf", "views"),
    *("views.plots", "benchmark", "tables", "construction", "integrations", "errors", "compat"),
)


@dataclass(frozen=True)
class Entry:
    """A public name: its shortest full path, the namespace that documents it, its value."""

    path: str
    space: str
    value: Any

    @property
    def name(self) -> str:
        """The name itself."""
        return self.path.rpartition(".")[2]

    @property
    def doc(self) -> str:
        """The docstring; of a constant the comment ``#:`` above it. Empty if there is none."""
        if isinstance(self.value, FrameSpec):
            return f"Columns of the frame `{self.value.name}`: {self.value.grain}."
        if inspect.ismodule(self.value) or callable(self.value):
            return inspect.getdoc(self.value) or ""
        return comment_of(self.name, self.value)

    @property
    def has_page(self) -> bool:
        """Whether it is a function or a class; exceptions and constants are documented together."""
        is_error = inspect.isclass(self.value) and issubclass(self.value, BaseException)
        return callable(self.value) and not is_error

    @property
    def shown(self) -> str:
        """The name as a user writes it: ``xb.schema.parse_schema``, ``Evaluation``."""
        module = self.path.rpartition(".")[0].removeprefix(PACKAGE).lstrip(".")
        if module not in ("", *NAMESPACES) and not module.startswith("construction."):
            return self.name  # a result, which only functions make
        prefix = {"core.schema": "schema", "views.plots": "plots"}.get(module, module)
        return f"xb.{prefix}.{self.name}" if prefix else f"xb.{self.name}"

    @property
    def page(self) -> str:
        """Name of its page; file systems may not tell ``Metric`` from ``metric``."""
        name = self.path.removeprefix(f"{PACKAGE}.")
        return f"{name}-class" if inspect.isclass(self.value) else name

    @property
    def summary(self) -> str:
        """First paragraph of the docstring on one line."""
        return " ".join(self.doc.partition("\n\n")[0].split())


def namespace(name: str) -> Any:
    """Return the module of a namespace; the top level for an empty name."""
    return import_module(f"{PACKAGE}.{name}" if name else PACKAGE)


def comment_of(name: str, value: object) -> str:
    """Return the comment ``#:`` of a constant in the module of the package that assigns it."""
    for module_name, module in sorted(sys.modules.items()):
        if not module_name.startswith(PACKAGE) or vars(module).get(name) is not value:
            continue
        try:
            comments = ModuleAnalyzer.for_module(module_name).find_attr_docs()
        except PycodeError:  # a module without a file, of `compat`
            continue
        if ("", name) in comments:
            return "\n".join(comments["", name]).strip()
    return ""


def public(space: str) -> dict[str, Any]:
    """Return the public names of a namespace with their values."""
    module = namespace(space)
    return {name: getattr(module, name) for name in module.__all__ if name != "__version__"}


def entry(name: str, value: object, inside: str) -> Entry:
    """Return the entry of a name; `inside` is the namespace that documents it if no other does."""
    spaces = [s for s in NAMESPACES if public(s).get(name) is value]
    is_top = public("").get(name) is value
    if is_top and not inspect.ismodule(value):
        spaces.append(home_room(value))
    space = [*spaces, inside][0]
    at = f"{PACKAGE}.{name}" if is_top or not space else f"{PACKAGE}.{space}.{name}"
    return Entry(at, space, value)


def entries(space: str) -> list[Entry]:
    """Return the names of a namespace: classes, functions, constants, modules."""
    values = public(space)
    values |= {n: v for n, v in public("").items() if space and home_room(v) == space}
    found = [entry(n, v, space) for n, v in values.items()]
    return sorted(found, key=lambda e: (not callable(e.value), inspect.ismodule(e.value), e.name))


def is_public(value: type) -> bool:
    """Whether a namespace lists a class."""
    return any(public(space).get(value.__name__) is value for space in ("", *NAMESPACES))


def results(space: str) -> list[Entry]:
    """Return the classes that the functions of a namespace return and no namespace lists."""
    found = {}
    for each in entries(space):
        if inspect.isfunction(each.value) and each.space == space:
            name = str(inspect.get_annotations(each.value).get("return"))
            value = getattr(inspect.getmodule(each.value), name, None)
            if inspect.isclass(value) and value.__module__.startswith(PACKAGE):
                is_in_face = getattr(namespace(space), name, None) is value
                module = f"{PACKAGE}.{space}" if is_in_face else value.__module__
                if not is_public(value):
                    found[name] = Entry(f"{module}.{name}", space, value)
    return [found[name] for name in sorted(found)]


def home_room(value: object) -> str:
    """Return the room that defines an object: ``stats`` for `compare_runs`."""
    return getattr(value, "__module__", "").removeprefix(PACKAGE).lstrip(".").partition(".")[0]


# --- the directive --------------------------------------------------------------------------------


def source(space: str, rooms: frozenset[str] | None = None) -> Iterator[str]:
    """Yield the reStructuredText of a namespace, or a table of top-level names."""
    found = [e for e in entries(space) if not inspect.ismodule(e.value)]
    if rooms is not None:
        found = [e for e in found if home_room(e.value) in rooms]
    if space:
        yield from (f".. automodule:: {PACKAGE}.{space}", "   :no-members:", "")
        found += results(space)
    yield from (".. list-table::", "   :class: api-summary", "   :widths: 30 70", "")
    for each in found:
        yield f"   * - :py:obj:`{each.name} <{each.path}>`"
        yield f"     - {each.summary}"
    yield ""
    own = [e for e in found if space and e.space == space]
    if any(e.has_page for e in own):
        yield from (".. toctree::", "   :hidden:", "")
        yield from (f"   {e.name} </{FOLDER}/{e.page}>" for e in own if e.has_page)
        yield ""
    for each in own:
        if not each.has_page:
            yield from documented(each)
    for inner in submodules(space):
        yield from (f".. rubric:: xb.{inner}", "")
        yield from source(inner)


def submodules(space: str) -> list[str]:
    """Return the modules that a namespace lists, ``construction.aoe`` for example."""
    found = entries(space) if space else []
    return [e.path.removeprefix(f"{PACKAGE}.") for e in found if inspect.ismodule(e.value)]


def all_entries() -> Iterator[Entry]:
    """Yield every name once, from the namespace that documents it."""
    inner = [module for space in NAMESPACES for module in submodules(space)]
    for space in (*NAMESPACES, *inner):
        yield from (e for e in [*entries(space), *results(space)] if e.space == space)


def documented(each: Entry) -> Iterator[str]:
    """Yield the directives that document an object."""
    if inspect.isclass(each.value):
        kind = "exception" if issubclass(each.value, BaseException) else "class"
        yield from (f".. auto{kind}:: {each.path}", "   :members:")
        bases = [b for b in each.value.__bases__ if b.__module__.startswith(PACKAGE)]
        if not all(map(is_public, bases)):
            yield "   :inherited-members: object"  # no page documents such a base
        yield from ("   :special-members: __call__", "")
    elif callable(each.value):
        yield from (f".. autofunction:: {each.path}", "")
    else:
        module = each.path.rpartition(".")[0]
        yield from (f".. py:data:: {each.name}", f"   :module: {module}", "")
        yield from (f"   {line}" for line in each.doc.splitlines())
        yield ""


# --- a page per function and class ----------------------------------------------------------------


def write_pages(app: Sphinx) -> None:
    """Write the page of each function and class; leave files that would not change."""
    root = Path(app.srcdir)
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    texts = {
        path.relative_to(root).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for pattern in GUIDES
        for path in sorted(root.glob(pattern))
        if path.stem not in ("index", "migrate")
    }
    found = {each.page: each for each in all_entries() if each.has_page}
    for page, each in found.items():
        path = folder / f"{page}.rst"
        text = "\n".join([*page_of(each, guides(each, texts)), ""])
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.rst"):
        if path.stem not in found:
            path.unlink()


def page_of(each: Entry, documents: list[str]) -> Iterator[str]:
    """Yield the page of an object, with links to guides."""
    yield from (each.shown, "=" * len(each.shown), "", *documented(each))
    if documents:
        yield from (".. rubric:: Guides", "")
        yield from (f"- :doc:`/{document}`" for document in documents)


def guides(each: Entry, texts: dict[str, str]) -> list[str]:
    """Return the documents that use a name: by kind, and those that use it most first."""
    used = [rf"\b{re.escape(each.shown)}\b(?!\.\w)"]
    if inspect.isclass(each.value):
        used += [rf"`{each.name}\b"]
    pattern = re.compile("|".join(used))
    counts = Counter({name: len(pattern.findall(text)) for name, text in texts.items()})
    return [name for name, n in counts.most_common(MOST_GUIDES) if n]


@cache
def space_of_page(name: str) -> str:
    """Return the namespace of a page: its own, or that of the object that it documents."""
    spaces = {each.page: each.space for each in all_entries()}
    short = {space.rpartition(".")[2]: space for space in NAMESPACES}
    return spaces.get(name) or short.get(name, name)


class Api(SphinxDirective):
    """``.. api:: NAMESPACE``, with ``:from:`` and rooms for a part of the top level."""

    optional_arguments = 1
    option_spec: ClassVar = {"from": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Expand the namespace and parse the result."""
        rooms = self.options.get("from")
        space = self.arguments[0] if self.arguments else ""
        lines = source(space, rooms and frozenset(rooms.split()))
        section = nodes.section(document=self.state.document)
        self.state.nested_parse(StringList([*lines], self.get_location()), 0, section)
        return section.children


# --- signatures and references --------------------------------------------------------------------


def hide_constructor(
    _: Sphinx, what: str, name: str, obj: Any, options: Any, *shown: str | None
) -> tuple[str, str] | None:
    """Show no arguments of a class that users read and do not make: one without Parameters."""
    signature, _returned = shown
    if what not in ("class", "exception") or not signature:
        return None
    return None if "Parameters\n---" in (inspect.getdoc(obj) or "") else ("", "")


def mark_parameters(
    _: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Write the own parameters of a function or class as code, not as references."""
    try:
        names = [*inspect.signature(obj).parameters]
    except (TypeError, ValueError):
        return
    for at, line in enumerate(lines):
        parts = line.split("`")
        # an odd part between single backticks
        for i in range(1, len(parts) - 1, 2):
            is_single = parts[i] and not parts[i - 1].endswith(":")
            if is_single and parts[i] in names:
                parts[i] = f"`{parts[i]}`"
        lines[at] = "`".join(parts)


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.TextElement
) -> nodes.Node | None:
    """Resolve names that docstrings write shorter than in full: ``LLMJudge``, ``xb.gold.audit``.

    A name in lower case without a namespace is one of the top level or of the page's namespace. A
    name of a class is looked up in all namespaces. ``xb.schema`` is the module ``core.schema``.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].removesuffix("()").removeprefix("xb.").removeprefix(f"{PACKAGE}.")
    objects = env.domains.python_domain.objects
    full = {space.rpartition(".")[2]: space for space in NAMESPACES}
    first, _, rest = target.partition(".")
    page = space_of_page(node["refdoc"].rpartition("/")[2])
    tried = (target, f"{full.get(first, first)}.{rest}", f"{page}.{target}")
    found = [f"{PACKAGE}.{path}" for path in tried if f"{PACKAGE}.{path}" in objects][:1]
    if not found and target[:1].isupper():
        ends = [path for path in objects if path.endswith(f".{target}")]
        found = [path for path in ends if not objects[path].aliased]
    if len(found) != 1:
        return None
    place = objects[found[0]]
    return make_refnode(app.builder, node["refdoc"], place.docname, place.node_id, [text], found[0])


def skip_field(_: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of a NamedTuple, which say nothing themselves."""
    return True if str(getattr(obj, "__doc__", "")).startswith("Alias for field") else None


def link_types(app: Sphinx, config: Config) -> None:
    """Link the classes of the package in the types of parameters, and nothing else."""
    named = [e for space in NAMESPACES for e in (*entries(space), *results(space))]
    found = [e for e in named if inspect.isclass(e.value)]
    own = {e.name: e.path for e in found}
    own |= {e.path.replace(PACKAGE, "xb", 1): e.path for e in found}
    config.numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS} | own
    config.numpydoc_xref_ignore = "all"
    config.numpydoc_xref_param_type = True


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and what its entries need."""
    app.add_directive("api", Api)
    app.add_css_file("reference.css")
    app.connect("builder-inited", write_pages)
    app.connect("config-inited", link_types, priority=100)  # before numpydoc reads the aliases
    app.connect("autodoc-process-signature", hide_constructor, priority=100)
    app.connect("autodoc-process-docstring", mark_parameters, priority=100)
    app.connect("autodoc-skip-member", skip_field)
    app.connect("missing-reference", resolve)
    # a new number makes Sphinx read pages again that an older build has kept
    return {"env_version": 2, "parallel_read_safe": True, "parallel_write_safe": True}
