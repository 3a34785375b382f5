"""One evaluation: the schema's tree beside the fields, with what differs marked."""

from extractbench_nb.widgets.evaluation.view import EvaluationView

__all__ = ["EvaluationView"]
