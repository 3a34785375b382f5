"""The schemas of a batch: each is read and parsed once, whatever form it comes in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from extractbench_nb._json import read_document
from extractbench_nb.errors import SchemaError
from extractbench_nb.inputs import read_schema
from extractbench_nb.profiles import Profile
from extractbench_nb.schema.nodes import Schema

__all__ = ["SchemaShelf"]

_SHOWN_HASH = 8


class SchemaShelf:
    """Parsed schemas by a key that tells their content.

    Parameters
    ----------
    profile : Profile
        The rules under which schemas are read.

    Attributes
    ----------
    schemas : dict of str to Schema
        Parsed schemas by key.
    """

    def __init__(self, profile: Profile) -> None:
        self.schemas: dict[str, Schema] = {}
        self._profile = profile
        self._found: dict[Any, tuple[str, str]] = {}
        self._keep: list[Any] = []

    def named(self, name: str, load: Callable[[str], Any]) -> tuple[str, str]:
        """Return label and key of a schema that a dataset knows by its name.

        Parameters
        ----------
        name : str
            The id.
        load : callable
            Gives the schema of an id.

        Returns
        -------
        tuple of (str, str)
            What results call it, and its key in `schemas`.
        """
        if ("id", name) not in self._found:
            key = self._parse(load(name), f"schema {name!r}")
            self._found["id", name] = (name, key)
        return self._found["id", name]

    def given(self, source: Any, where: str) -> tuple[str, str]:
        """Return label and key of a schema that stands in a cell.

        Parameters
        ----------
        source : dict, str, pathlib.Path or Schema
            As `evaluate` takes it.
        where : str
            What names the cell in errors.

        Returns
        -------
        tuple of (str, str)
            The file's name, else the schema's title, else eight digits of its hash; and its key.
        """
        same = source if isinstance(source, str | Path) else id(source)
        if (type(source), same) not in self._found:
            self._keep.append(source)  # ids stay unique meanwhile
            key = self._parse(source, f"schema of {where}")
            self._found[type(source), same] = (self._label(source, key), key)
        return self._found[type(source), same]

    def _label(self, source: Any, key: str) -> str:
        if isinstance(source, Path):
            return source.name.removesuffix(".json").removesuffix("-schema")
        title = self.schemas[key].document.get("title")
        return title if isinstance(title, str) and title else key[:_SHOWN_HASH]

    def _parse(self, source: Any, what: str) -> str:
        try:
            content = source if isinstance(source, Schema) else read_document(source, what)
            schema = read_schema(content, self._profile)
        except SchemaError as error:
            raise type(error)(error.pointer, f"{error.problem} ({what})") from None
        key = _key(schema.document)
        self.schemas.setdefault(key, schema)
        return key


def _key(document: Mapping[str, Any]) -> str:
    text = json.dumps(dict(document), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
