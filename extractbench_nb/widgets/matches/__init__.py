"""The items of an array beside each other, and the thresholds that decide what matches."""

from extractbench_nb.widgets.matches.view import MatchesView

__all__ = ["MatchesView"]
