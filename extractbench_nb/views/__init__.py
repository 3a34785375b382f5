"""Values as text and HTML for people: shortened, cleaned, compared side by side."""

from extractbench_nb.views.formatting import format_frames

__all__ = ["format_frames"]
