"""Progress bars: where one is asked for, in a terminal or a notebook."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["progress_bar"]


def progress_bar(items: Any = None, *, shown: bool, **options: Any) -> Any:
    """Make a tqdm bar; where none is asked for, nothing of a notebook is imported.

    Parameters
    ----------
    items : iterable, optional
        What to iterate over.
    shown : bool
        Whether to show the bar.
    **options
        Of tqdm: ``total``, ``desc``, ``unit`` and so on.

    Returns
    -------
    tqdm.tqdm
        The bar.
    """
    if not shown:
        from tqdm import tqdm

        return tqdm(items, disable=True, **options)
    with warnings.catch_warnings():  # a notebook without ipywidgets gets a bar of text
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm as auto
    return auto(items, **options)
