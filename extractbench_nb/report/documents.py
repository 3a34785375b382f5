"""What a report says about schema, gold and extracted document, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = [
    "ArrayStats",
    "ContentStats",
    "CoverageStats",
    "ReportWarning",
    "SchemaStats",
]


@dataclass(frozen=True)
class SchemaStats:
    """The shape of the schema, references unfolded, a recursive one once.

    Attributes
    ----------
    total_nodes : int
        Constructs of the schema: the root, properties, items, maps, branches.
    counts_by_type : dict of str to int
        Nodes by type; ``anyof`` for every kind of union, ``any`` where no type is given.
    required_keys_count : int
        Properties that their object requires.
    optional_keys_count : int
        The other properties.
    required_by_type : dict of str to int
        Required properties by type.
    optional_by_type : dict of str to int
        The others by type.
    """

    total_nodes: int
    counts_by_type: dict[str, int]
    required_keys_count: int
    optional_keys_count: int
    required_by_type: dict[str, int] = field(default_factory=dict)
    optional_by_type: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ArrayStats:
    """The arrays of one document, nested ones included.

    Attributes
    ----------
    array_field_count : int
        Arrays.
    total_items : int
        Items of all of them.
    min_length : int
        Items of the shortest.
    median_length : float
        Median of the lengths.
    max_length : int
        Items of the longest.
    """

    array_field_count: int
    total_items: int
    min_length: int
    median_length: float
    max_length: int


@dataclass(frozen=True)
class ContentStats:
    """What one document holds.

    Attributes
    ----------
    label : str
        ``gold`` or ``extracted``.
    total_keys : int
        Keys of all objects, at any depth.
    counts_by_type : dict of str to int
        The values of those keys by JSON type; items of arrays are not among them.
    array_stats : ArrayStats or None
        None where there is no array.
    null_count : int
        Keys whose value is null.
    missing_count : int
        Evaluated fields that this document has no key for.
    """

    label: str
    total_keys: int
    counts_by_type: dict[str, int]
    array_stats: ArrayStats | None = None
    null_count: int = 0
    missing_count: int = 0


@dataclass(frozen=True)
class CoverageStats:
    """Which leaves the two documents have, whatever their values; array items by index.

    A leaf is a scalar, a null, or an empty array or object under a key.

    Attributes
    ----------
    present_in_both : int
        Leaves in both.
    missing_in_extracted : int
        Leaves in gold only.
    spurious_in_extracted : int
        Leaves in the extracted document only.
    required_missing : int
        Keys that the schema requires, gold has and the extracted document has not, outside of
        arrays.
    missing_paths : list of str
        The leaves in gold only, sorted.
    spurious_paths : list of str
        The leaves in the extracted document only, sorted.
    required_missing_paths : list of str
        The required keys that are missing, sorted.
    """

    present_in_both: int
    missing_in_extracted: int
    spurious_in_extracted: int
    required_missing: int
    missing_paths: list[str] = field(default_factory=list)
    spurious_paths: list[str] = field(default_factory=list)
    required_missing_paths: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReportWarning:
    """Something that is wrong without being a score.

    Attributes
    ----------
    side : str
        ``gold``, ``predicted`` or ``schema``.
    path : str
        Where.
    kind : str
        ``undeclared``, ``ignored_param``, or the violated keyword.
    message : str
        What was found.
    """

    side: str
    path: str
    kind: str
    message: str
