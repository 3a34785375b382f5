"""Download the released dataset, file by file, and verify each by its SHA-256."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
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

if TYPE_CHECKING:
    from pooch import Pooch


RETRIES = 2
TIMEOUT_SECONDS = 30
_CHUNK = 65_536
#: Largest number of bytes to download for a file whose size is not known.
_LARGEST = 50_000_000
_MAGIC = b"%PDF-"
_NOT_FOUND = 404
_SHOWN = 3


def fetch_dataset(
    name: str = "extractbench",
    *,
    path: str | os.PathLike[str] | None = None,
    progress: bool = True,
    base_url: str | None = None,
    timeout: float = 3600.0,
) -> Dataset:
    """Download the released ExtractBench dataset, or its missing files.

    About 35 MB from ``github.com/ContextualAI/extract-bench`` (MIT licence), pinned to one commit.
    Each file is verified by its SHA-256 and appears under its name only when it is complete; a
    verified file is never downloaded again. One PDF was not available when the hashes were made: it
    is unverified (see `Dataset.provenance`); if the source lacks it, the document stays without
    PDF, with a warning. A downloaded file with another hash raises an error.

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
    timeout : float, optional
        Time limit for the whole download in seconds, above 0. If the server sends nothing for 30
        seconds, that is an error too.

    Returns
    -------
    Dataset
        The same as ``load_dataset("extractbench", path=...)``.

    Raises
    ------
    DatasetError
        If the name is unknown, a file cannot be downloaded in time or is not the released one (a
        download stops at that file's size), or `path` holds a file with other content, which is not
        changed.
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
    given: object = timeout
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise DatasetError(f"timeout is {timeout!r}; expected a number of seconds above 0")
    until = time.monotonic() + timeout
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
    total = sum(file.size or 0 for file in wanted)
    shown = progress and bool(wanted)
    with (
        _quiet_pooch() as pooch,
        progress_bar(shown=shown, total=total, unit="B", unit_scale=True, desc="fetch") as bar,
    ):
        address = (base_url or RAW_URL).rstrip("/")
        source = pooch.create(
            path=root,
            base_url=f"{address}/",
            registry={file.path: file.sha256 for file in wanted},
            urls={file.path: f"{address}/{quote(file.source)}" for file in wanted},
            retry_if_failed=RETRIES,
        )
        for file in wanted:
            _fetch_one(source, file, until)
            bar.update(file.size or 0)
    return load_dataset(name, path=root)


@contextmanager
def _quiet_pooch() -> Iterator[ModuleType]:
    """Keep pooch from writing one line per file beside the progress bar."""
    pooch: ModuleType = needs("pooch", "benchmark")
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield pooch
    finally:
        logger.setLevel(level)


def _fetch_one(pooch: Pooch, file: ReleasedFile, until: float) -> None:
    """Download one file, or raise `DatasetError`; a PDF without known hash may be absent."""
    from requests import HTTPError, RequestException

    url = pooch.get_url(file.path)
    try:
        max_bytes = file.size if file.size is not None else _LARGEST
        pooch.fetch(file.path, downloader=partial(_download, max_bytes, until))
    except _DownloadLimitError as error:
        raise DatasetError(_by_hand(url, str(error))) from None
    except HTTPError as error:
        response: Any = error.response
        response.close()  # pooch leaves it open
        if file.sha256 is None and response.status_code == _NOT_FOUND:
            absent = f"{url} does not exist; the document stays without its PDF ({file.path})"
            warnings.warn(absent, stacklevel=3)
            return
        status = f"{response.status_code} {response.reason}"
        raise DatasetError(_by_hand(url, f"the server answered {status}")) from None
    except RequestException as error:
        reason: Any = getattr(error.args[0], "reason", error) if error.args else error
        raise DatasetError(
            _by_hand(url, f"the connection failed ({type(reason).__name__})")
        ) from None
    except ValueError:
        expected = "the released file" if file.sha256 else "a PDF"
        raise DatasetError(_by_hand(url, f"the downloaded file is not {expected}")) from None
    except OSError as error:
        raise DatasetError(f"{pooch.abspath}: cannot be written: {error.strerror}") from None


class _DownloadLimitError(Exception):
    """A download exceeds the size of the file, or the time limit."""


def _download(max_bytes: int, until: float, url: str, output_file: str, _: Pooch) -> None:
    """Download at most `max_bytes` of a file, or raise; pooch then removes the partial file."""
    import requests
    from urllib3.exceptions import HTTPError

    headers = {"Accept-Encoding": "identity"}  # a compressed response may expand to any size
    with (
        requests.get(url, stream=True, timeout=TIMEOUT_SECONDS, headers=headers) as response,
        Path(output_file).open("wb") as file,
    ):
        response.raise_for_status()
        read = getattr(response.raw, "read1", response.raw.read)  # read1 returns what has arrived
        try:
            while content := read(_CHUNK):
                file.write(content)
                if file.tell() > max_bytes:
                    raise _DownloadLimitError(
                        f"more than {max_bytes:,} bytes sent: this is not the released file"
                    )
                if time.monotonic() > until:
                    raise _DownloadLimitError(
                        "the timeout is reached; complete files are kept, and another call "
                        "downloads the rest"
                    )
        except HTTPError as error:
            raise requests.ConnectionError(error) from None
    with Path(output_file).open("rb") as file:
        if url.endswith(".pdf") and file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError


def _by_hand(url: str, problem: str) -> str:
    return (
        f"{url}: {problem}; to get the data by hand, take the folder 'dataset' of {REPOSITORY} at "
        f"commit {COMMIT[:12]} and set {EXTRACTBENCH_VARIABLE} to it"
    )
