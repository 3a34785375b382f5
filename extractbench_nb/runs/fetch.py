"""Download the released dataset, file by file, and verify each by its SHA-256."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import quote

from extractbench_nb.errors import DatasetError, nearest, needs
from extractbench_nb.runs.dataset import (
    COMMIT,
    EXTRACTBENCH_VARIABLE,
    RAW_URL,
    REPOSITORY,
    Dataset,
    ReleasedFile,
    download_folder,
    load_dataset,
    released_files,
)
from extractbench_nb.support.concurrency import progress_bar
from extractbench_nb.support.files import file_hash, make_folder

RETRIES = 2
TIMEOUT_SECONDS = 30
_MAGIC = b"%PDF-"
_NOT_FOUND = 404
_SHOWN = 3


def fetch_dataset(
    name: str = "extractbench",
    *,
    path: str | os.PathLike[str] | None = None,
    progress: bool = True,
    base_url: str | None = None,
) -> Dataset:
    """Download the released ExtractBench dataset, or its missing files.

    About 35 MB from ``github.com/ContextualAI/extract-bench`` (MIT licence), pinned to one commit.
    Each file is verified by its SHA-256 and appears under its name only when it is complete; a
    verified file is never downloaded again. One PDF was not available when the hashes were made: it
    is not verified; if the source lacks it, the document stays without PDF, with a warning. A
    downloaded file with another hash raises an error.

    Parameters
    ----------
    name : str, optional
        ``"extractbench"``; the sample comes with this package.
    path : str or path, optional
        Folder to fill. By default a folder in the user's cache, or in the folder that the
        environment variable ``EXTRACTBENCH_CACHE`` names; `load_dataset` looks there.
    progress : bool, optional
        Whether to show a progress bar.
    base_url : str, optional
        A mirror that serves the repository's files below this address.

    Returns
    -------
    Dataset
        The same as ``load_dataset("extractbench", path=...)``.

    Raises
    ------
    DatasetError
        If the name is unknown, a file cannot be downloaded (the server sends nothing for 30
        seconds, for example) or is not the released one, or `path` holds a file with other content,
        which is not changed.
    OutputError
        If the folder cannot be made.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> xb.runs.fetch_dataset("extractbenhc")
    Traceback (most recent call last):
    extractbench_nb.errors.DatasetError: ...extractbench...
    """
    if name == "sample":
        raise DatasetError("the sample dataset comes with this package: load_dataset('sample')")
    if name != "extractbench":
        raise DatasetError(f"no dataset {name!r} to fetch; {nearest(name, ['extractbench'])}")
    root = make_folder(Path(path).expanduser() if path is not None else download_folder())
    hashes = {file: file_hash(root / file.path) for file in released_files()}
    wanted = [f for f, digest in hashes.items() if digest is None or f.sha256 not in (digest, None)]
    others = [file.path for file in wanted if path is not None and (root / file.path).exists()]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        raise DatasetError(
            f"{root}: {', '.join(map(repr, others[:_SHOWN]))}{more} differ from the released "
            "files; move them away or name another folder"
        )
    total, shown = sum(file.size or 0 for file in wanted), progress and bool(wanted)
    address = (base_url or RAW_URL).rstrip("/")
    with progress_bar(shown=shown, total=total, unit="B", unit_scale=True, desc="fetch") as bar:
        for file in wanted:
            _fetch_one(f"{address}/{quote(file.source)}", file, root / file.path)
            bar.update(file.size or 0)
    return load_dataset(name, path=root)


def _fetch_one(url: str, file: ReleasedFile, path: Path) -> None:
    """Download one file, or raise `DatasetError`; a PDF without known hash may be absent."""
    # `Pooch.fetch`, which calls this, writes a line per file beside the progress bar
    stream_download = needs("pooch.core", "benchmark").stream_download
    from requests import HTTPError, RequestException  # which pooch needs

    try:
        stream_download(url, path, file.sha256, _download, retry_if_failed=RETRIES)
        return
    except HTTPError as error:
        response: Any = error.response
        response.close()  # pooch leaves it open
        if file.sha256 is None and response.status_code == _NOT_FOUND:
            absent = f"{url} does not exist; the document stays without its PDF ({file.path})"
            warnings.warn(absent, stacklevel=3)
            return
        problem = f"the server answered {response.status_code} {response.reason}"
    except RequestException as error:
        reason: Any = getattr(error.args[0], "reason", error) if error.args else error
        problem = f"the connection failed ({type(reason).__name__})"
    except ValueError:
        problem = f"the downloaded file is not {'the released file' if file.sha256 else 'a PDF'}"
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written: {error.strerror}") from None
    raise DatasetError(
        f"{url}: {problem}; to get the data by hand, take the folder 'dataset' of {REPOSITORY} at "
        f"commit {COMMIT[:12]} and set {EXTRACTBENCH_VARIABLE} to it"
    )


def _download(url: str, output_file: str, _: object) -> None:
    """Download a file; one that is to be a PDF and is none is a `ValueError`."""
    downloader = needs("pooch", "benchmark").HTTPDownloader(timeout=TIMEOUT_SECONDS)
    downloader(url, output_file, None)
    with Path(output_file).open("rb") as file:
        if url.endswith(".pdf") and file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError
