"""`View`, the base class of all views: state, one HTML tree, and what events do to the state.

A view draws its page as trees of `display.nodes` in `View.draw`. They are shown by ``view.js`` in a
live page, inside a shadow root, and by `View.to_html` without scripts. Traits are the state: when
one changes, the page is drawn again, and only parts that differ are sent.
"""

from __future__ import annotations

import ast
import functools
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, TypeVar

import anywidget
import traitlets

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.cards import NO_MATHS
from extractbench_nb.support.files import write_texts
from extractbench_nb.support.nodes import Html, Node, h, static_html, wire
from extractbench_nb.support.wording import trimmed
from extractbench_nb.views.palette import DARK, ESSENTIAL, LIGHT, css_variables, over_essential
from extractbench_nb.views.static import WIDGET, asset, page

#: Trees that a view can send one by one: the page, and the parts in it.
_SLOTS = 12

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: JupyterLab delivers messages to the main thread of the kernel or to a subshell of it. Whoever
#: draws last must have seen all that was set before. One lock for all views: they may be linked.
_TURN = threading.RLock()


def in_turn(act: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let `act` wait until no other thread handles an event of a view."""

    @functools.wraps(act)
    def acted(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with _TURN:
            return act(*args, **kwargs)

    return acted


def part(name: str, tag: str = "div", **attributes: Any) -> Node:
    """Make the place of a part that is drawn and sent by itself."""
    return h(tag, part=name, **attributes)


def known(trait: str, value: object, names: Iterable[str]) -> str:
    """Return a name that is one of those known, or raise `TraitError`."""
    allowed = list(names)
    if not isinstance(value, str) or value not in allowed:
        raise traitlets.TraitError(f"{trait} is {value!r}; {nearest(value, allowed)}")
    return value


def checked_name(name: object) -> str:
    """Check the name of an evaluation's variable in a notebook."""
    try:
        code = ast.parse(name, mode="eval").body if isinstance(name, str) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        code = None
    named = code.func if isinstance(code, ast.Call) else code  # a method may return it
    kinds = ast.Attribute if named is not code else ast.Name | ast.Attribute | ast.Subscript
    if not isinstance(name, str) or not isinstance(named, kinds):
        raise InputError(
            f"name is {name!r}; expected the variable of the evaluation in your notebook, such as "
            "'ev' or 'evs[0]'"
        )
    return name


class Choice(traitlets.Unicode[str, str | bytes]):
    """A name that is one of `View.choices`, or the default if that is empty."""

    def validate(self, obj: Any, value: Any) -> str:
        """Raise `TraitError` for other names."""
        if value == self.default_value == "":
            return str(value)
        return known(str(self.name), value, obj.choices(str(self.name)))


class View(anywidget.AnyWidget):
    """A view in a notebook: one widget, with a static fallback for pages without a kernel.

    Messages from the page and assignments in Python are handled one after the other, in whichever
    threads they arrive. A subclass declares its state as traits, draws it in `draw`, and handles an
    event ``do="name"`` of its page in a method ``do_name(value)``; ``do="set:trait"`` sets a trait
    named in `settable`, and ``do="toggle:trait"`` to its default if it has the value already.

    Attributes
    ----------
    trail : tuple of View
        The views that were opened from this one; the last is shown, `back` closes it.
    """

    #: Class of its pages, ``xb-<kind>``.
    kind: ClassVar[str]
    #: The stylesheets besides base.css; all their rules are nested below ``.xb-<kind>``.
    styles: ClassVar[tuple[str, ...]] = ()
    #: The traits that controls of the page may set.
    settable: ClassVar[frozenset[str]] = frozenset()

    _esm = asset("view.js")
    _name = traitlets.Unicode("").tag(sync=True)
    _style = traitlets.Unicode("").tag(sync=True)
    _slots = traitlets.Int(_SLOTS).tag(sync=True)
    #: The number of the last event that was handled: the page waits for it.
    _heard = traitlets.Int(0).tag(sync=True)

    def __init__(self, **options: Any) -> None:
        """Draw the page, then open the widget: a subclass sets its state before."""
        self._changes = 0
        self._shown: dict[str, Node] = {}
        self._host: View | None = None
        self._opened: list[tuple[str, View]] = []
        slots = {f"_p{at}": traitlets.Unicode("").tag(sync=True) for at in range(_SLOTS)}
        self.add_traits(**slots)
        self._styled: list[str] = []
        self._name = uuid.uuid4().hex[:12]
        self.redraw()
        super().__init__(**options)
        state = set(self.trait_names()) - set(anywidget.AnyWidget.class_trait_names())
        shown = [name for name in state if not name.startswith("_")]
        self.observe(lambda _: self.redraw(), shown)
        if self.comm is not None:
            self.comm.on_msg(in_turn(self._handle_msg))
        self.on_msg(self._received)

    # --- what a subclass says ---------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the page, first, and the parts whose places are in it, by name."""
        raise NotImplementedError

    def choices(self, trait: str) -> Iterable[str]:
        """Return the names that a trait of the kind `Choice` may have."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Say in one line what is shown."""
        raise NotImplementedError

    # --- events -----------------------------------------------------------------------------------

    def _received(self, _: object, content: Any, __: object) -> None:
        if isinstance(content, dict) and isinstance(content.get("do"), str):
            try:
                self.perform(content["do"], content.get("value"))
            finally:
                if type(at := content.get("at")) is int:
                    self._heard = at

    @in_turn
    def perform(self, name: str, value: Any = None) -> None:
        """Do what an event of the page asks for; one that cannot be done is ignored."""
        if name == "back":
            self.back(int(value) if type(value) is int else None)
            return
        if self._opened:
            self._opened[-1][1].perform(name, value)
            return
        verb, _, trait = name.partition(":")
        with self.changing():
            if verb in ("set", "toggle"):
                if trait in self.settable:
                    is_off = verb == "toggle" and getattr(self, trait) == value
                    with suppress(traitlets.TraitError):
                        self.set_trait(trait, self.trait_defaults(trait) if is_off else value)
            elif callable(act := getattr(self, f"do_{verb}", None)):
                act(value)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Draw once, after all changes."""
        self._changes += 1
        try:
            yield
        finally:
            self._changes -= 1
            self.redraw()

    @in_turn
    def notify_change(self, change: Any) -> None:
        """Call the observers of a trait; no other event of a view is handled meanwhile."""
        super().notify_change(change)

    def redraw(self) -> None:
        """Draw the page; parts that are as they were are not sent."""
        if self._changes:
            return
        if self._host is not None:
            self._host.redraw()
            return
        trees = self.trees()
        names = {name: f"_p{at}" for at, name in enumerate(trees)}
        with self.hold_sync():  # one message: the page never shows some new and some old parts
            if (kinds := [self.kind, *(view.kind for view in self.trail)]) != self._styled:
                self._style, self._styled = style(self, *self.trail), kinds
            for name, tree in trees.items():
                if self._shown.get(names[name]) is not tree:
                    setattr(self, names[name], wire(tree, names))
        self._shown = {names[name]: tree for name, tree in trees.items()}

    def trees(self) -> dict[str, Node]:
        """Return the page and its parts: those of the opened view, under the way back, if any."""
        shown = self._opened[-1][1] if self._opened else self
        (name, page), *rest = shown.draw().items()
        framed = h("div", page, cls=f"xb xb-{shown.kind}")
        return {name: h("div", self._way_back(), framed) if self._opened else framed, **dict(rest)}

    # --- views opened from this one ---------------------------------------------------------------

    @property
    def trail(self) -> tuple[View, ...]:
        """The views that were opened from this one, one from the other."""
        return tuple(view for _, view in self._opened)

    def open_view(self, view: View, label: str) -> None:
        """Show another view in the place of this one, with a way back."""
        if self._host is not None:
            self._host.open_view(view, label)
            return
        view._host = self
        self._opened.append((label, view))
        self.redraw()

    def back(self, to: int | None = None) -> None:
        """Close the last opened view, or all behind the first `to`."""
        depth = len(self._opened) - 1 if to is None else to
        for _, view in self._opened[max(0, depth) :]:
            view._host = None
            view.close()
        del self._opened[max(0, depth) :]
        self.redraw()

    def _way_back(self) -> Node:
        steps = [(0, trimmed(self.title, 60))]
        steps += [(at, trimmed(label, 60)) for at, (label, _) in enumerate(self._opened, 1)]
        links = [
            h("li", h("button", label, do="back", send=at, type="button"))
            for at, label in steps[:-1]
        ]
        here = h("li", h("span", steps[-1][1], aria_current="page", tabindex=-1))
        return h(
            "nav",
            h("ol", links, here),
            cls="xb xb-trail",
            aria_label="Way back",
            escape="back",
            live=True,
        )

    @property
    def title(self) -> str:
        """What this view is called in the way back."""
        return repr(self).split(" · ")[0]

    # --- static fallback --------------------------------------------------------------------------

    def to_html(self) -> str:
        """Return the static fallback, which is HTML of the current view without JavaScript."""
        trees = self.trees()
        page, *parts = trees
        shown = self._opened[-1][1] if self._opened else self
        text = static_html(trees[page], {name: trees[name] for name in parts}, styles=ESSENTIAL)
        sheet = style(shown, static=True)
        title = static_html(h("p", repr(shown), cls="xb-title"), styles=ESSENTIAL)
        classes = f"xb-twin xb-theme xb-of-{shown.kind} {NO_MATHS}"
        return static_html(h("div", h("style", sheet), Html(title), Html(text), cls=classes))

    def save(self, path: str | Path) -> Path:
        """Write the static fallback as a page of its own, which sorts, filters and unfolds."""
        target = Path(path)
        html = page(repr(self), asset("page.css"), Html(self.to_html()), is_strict=False)
        write_texts({target: html})
        return target

    def _repr_mimebundle_(self, **options: Any) -> Any:
        data = {"text/html": self.to_html(), "text/plain": repr(self)}
        return data, {}

    def _ipython_display_(self) -> None:
        """Display the static fallback and the widget; each hides if the other is shown.

        As two representations of one output, the live one would hide the fallback if there is no
        kernel.
        """
        from IPython.core.display_functions import publish_display_data

        publish: Any = publish_display_data
        bundle, _ = self._repr_mimebundle_()
        html = bundle["text/html"].replace(" class=", f' data-xb="{self._name}" class=', 1)
        publish({**bundle, "text/html": html})
        publish({WIDGET: {"version_major": 2, "version_minor": 0, "model_id": self.model_id}})


_DARK = (
    '.xb-theme.xb-dark, body[data-jp-theme-light="false"] .xb-theme, body.vscode-dark .xb-theme, '
    'html[theme="dark"] .xb-theme'
)
#: What a notebook says about tables, lists and code does not hold in a static fallback.
_RESET = ".xb :where(:not(svg, svg *, img)) { all: revert; }\n"


def style(*views: View, static: bool = False) -> str:
    """Return the stylesheet of views, for a live page or for the static fallback of a view.

    All its rules are as strong as rules with an id, so that those of a notebook do not change a
    static fallback, and those of a fallback apply to its kind only: their order says which holds.
    """
    colours = f".xb-theme {{{css_variables(LIGHT)}}}\n{_DARK} {{{css_variables(DARK)}}}\n"
    around = asset("theme.css", *(["static.css"] if static else []))
    own = asset("base.css", *dict.fromkeys(sheet for view in views for sheet in view.styles))
    scope, reset = (f"xb-of-{views[0].kind}", _RESET) if static else ("xb-theme", "")
    over = over_essential() if static else ""
    text = f"{colours}{around}\n:is(#xb, .{scope}) {{\n{reset}{own}\n{over}\n}}"
    return "\n".join(line.strip() for line in text.splitlines())
