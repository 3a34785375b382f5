"""Chunks for other processes: options and metrics travel packed, unpacked once a process."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from extractbench_nb.batch.worker import Context, Done, run_chunk
from extractbench_nb.errors import InputError
from extractbench_nb.metrics import REGISTRY, Metric

__all__ = ["pack_context", "run_packed"]

_TOKEN = uuid.uuid4().hex
#: What stood in the registry before metrics of another process took its place.
_replaced: dict[str, Metric | None] = {}


class _Packed(NamedTuple):
    """Metrics come first: the schemas in the context name them."""

    origin: tuple[int, str]
    metrics: Mapping[str, Metric]
    context: bytes


def pack_context(context: Context, metrics: Mapping[str, Metric]) -> bytes:
    """Pack options, schemas and the metrics of the user's, functions of a notebook included.

    Parameters
    ----------
    context : Context
        Options and schemas.
    metrics : mapping of str to Metric
        What is not built in.

    Returns
    -------
    bytes
        For `run_packed`.

    Raises
    ------
    InputError
        The judge, the aligner or a metric cannot be sent to another process.
    """
    import cloudpickle

    try:
        packed = _Packed(_origin(), dict(metrics), cloudpickle.dumps(context))
        return bytes(cloudpickle.dumps(packed))
    except Exception as error:
        raise InputError(
            f"the judge, the alignment or a metric cannot be sent to another process "
            f"({type(error).__name__}: {error}); use n_jobs=1 or executor=ThreadPoolExecutor()"
        ) from error


def run_packed(context: bytes, tasks: bytes) -> Done:
    """Run a chunk in a worker process.

    Parameters
    ----------
    context : bytes
        From `pack_context`.
    tasks : bytes
        A pickled sequence of Task.

    Returns
    -------
    list of Finished or Failed
        As `run_chunk` gives it.
    """
    return run_chunk(_unpacked(context), pickle.loads(tasks))  # noqa: S301 - packed by this package


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Context:
    found: _Packed = pickle.loads(packed)  # noqa: S301 - packed by this package
    if found.origin != _origin():
        _install(found.metrics)
    context: Context = pickle.loads(found.context)  # noqa: S301 - packed by this package
    return context


def _origin() -> tuple[int, str]:
    """Tell this process from others; a fork has the same token."""
    return os.getpid(), _TOKEN


def _install(metrics: Mapping[str, Metric]) -> None:
    for name, before in _replaced.items():
        REGISTRY.entries.pop(name, None)
        if before is not None:
            REGISTRY.entries[name] = before
    _replaced.clear()
    _replaced.update({name: REGISTRY.entries.get(name) for name in metrics})
    REGISTRY.entries.update(metrics)
