"""Records of a report: an array with its items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["ArrayBreakdown", "ArrayItem"]


@dataclass(frozen=True)
class ArrayItem:
    """One item of an array and what became of it.

    Attributes
    ----------
    gold_index : int or None
        Its place in gold.
    extracted_index : int or None
        Its place in the extracted array.
    similarity : float or None
        Mean score of its fields, in [0, 1]; None where it has no partner.
    failed_fields : list of str
        The fields that keep the pair from matching.
    gold_value : object
        Gold's item.
    extracted_value : object
        The extracted item.
    """

    gold_index: int | None
    extracted_index: int | None
    similarity: float | None
    failed_fields: list[str]
    gold_value: Any
    extracted_value: Any


@dataclass(frozen=True)
class ArrayBreakdown:
    """One array that stands in no other array, with all its items.

    A partial pair counts as one missed and one spurious item, and is listed as partial only.

    Attributes
    ----------
    path : str
        Path in the schema, with the keys of maps.
    normalized_path : str
        Path in the document.
    counted : bool
        Whether the array is a field of its own; in profile ``strict`` its leaves count instead.
    matched : int or None
        Gold items that were found; None, as the next three, where the items were not aligned.
    missed_gold : int or None
        Gold items that were not.
    spurious_pred : int or None
        Extracted items that gold does not have.
    partial : int or None
        Pairs that are alike without matching.
    precision : float or None
        matched / (matched + spurious_pred), in [0, 1]; None where that is 0 / 0.
    recall : float or None
        matched / (matched + missed_gold), in [0, 1]; None where that is 0 / 0.
    f1 : float or None
        Harmonic mean of the two, in [0, 1]; None where there are no items.
    score : float or None
        In [0, 1], under the profile; None where a judge failed.
    passed : bool or None
        Whether the score passes.
    matched_items : list of ArrayItem
        Pairs that match.
    partial_items : list of ArrayItem
        Pairs that are alike.
    missed_items : list of ArrayItem
        Gold items without a partner.
    spurious_items : list of ArrayItem
        Extracted items without a partner.
    """

    path: str
    normalized_path: str
    counted: bool
    matched: int | None
    missed_gold: int | None
    spurious_pred: int | None
    partial: int | None
    precision: float | None
    recall: float | None
    f1: float | None
    score: float | None
    passed: bool | None
    matched_items: list[ArrayItem] = field(default_factory=list)
    partial_items: list[ArrayItem] = field(default_factory=list)
    missed_items: list[ArrayItem] = field(default_factory=list)
    spurious_items: list[ArrayItem] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether neither side has an item."""
        return self.matched is not None and not (
            self.matched or self.missed_gold or self.spurious_pred
        )
