"""Scripts and style sheets of the views: plain files beside the classes that use them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["asset"]


@cache
def asset(*names: str) -> str:
    """Join files of this package to one text.

    Parameters
    ----------
    *names : str
        Paths from the folder of this module, ``shared/dom.js``, in the order wanted. Scripts share
        one scope: the last one has the ``export default``, the others declare functions.

    Returns
    -------
    str
        Their texts, one after the other.
    """
    here = files("extractbench_nb.widgets")
    return "\n".join(here.joinpath(name).read_text(encoding="utf-8") for name in names)
