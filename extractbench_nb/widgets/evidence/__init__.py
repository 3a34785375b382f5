"""Where values stand in a PDF: the values beside the page, with the places marked."""

from extractbench_nb.widgets.evidence.view import EvidenceView

__all__ = ["EvidenceView"]
