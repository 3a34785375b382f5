"""Which PDF a caller means, and its index."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from extractbench_nb.errors import InputError

__all__ = ["HasPdfs", "pdf_of"]


@runtime_checkable
class HasPdfs(Protocol):
    """What knows the PDFs of documents by their ids: a `Dataset`, or one of your own."""

    def pdf_path(self, document: str, /) -> Path:
        """Return the PDF of a document."""


def pdf_of(ds: HasPdfs | None, document: Any) -> Path:
    """Return the PDF that a caller means.

    Parameters
    ----------
    ds : Dataset or None
        The dataset of the document; not used with a path.
    document : str or pathlib.Path
        The id of a document, or the path of any PDF.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InputError
        Neither of the two.
    DatasetError
        The dataset has no such document.
    MissingPdfError
        The document has no PDF.
    """
    if isinstance(document, Path):
        return document
    if not isinstance(document, str):
        raise InputError(
            f"document: expected the id of a document or the pathlib.Path of a PDF, "
            f"found {document!r:.80}"
        )
    if not isinstance(ds, HasPdfs):
        raise InputError(
            f"ds: document {document!r:.80} is looked up in a Dataset as load_dataset returns it, "
            f"found {ds!r:.80}; for a PDF of your own pass document=pathlib.Path(...)"
        )
    return ds.pdf_path(document)
