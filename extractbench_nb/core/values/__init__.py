"""JSON values: reading a side, canonical form, equality, paths."""

from extractbench_nb.core.values.json_values import (
    PATH_STEP,
    UNLABELED,
    bracketed,
    canonical,
    canonical_unordered,
    equality_key,
    json_text,
    json_type,
    member,
    plain_levels,
    private_copy,
    read_document,
    scalars,
    step_key,
    value_at,
    without_brackets,
)

__all__ = [
    "PATH_STEP",
    "UNLABELED",
    "bracketed",
    "canonical",
    "canonical_unordered",
    "equality_key",
    "json_text",
    "json_type",
    "member",
    "plain_levels",
    "private_copy",
    "read_document",
    "scalars",
    "step_key",
    "value_at",
    "without_brackets",
]
