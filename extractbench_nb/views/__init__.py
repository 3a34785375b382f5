"""Show results in interactive views with static fallbacks, and in cards, figures and reports."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.support.moved import moved_names
from extractbench_nb.views.formatting import format_frames
from extractbench_nb.views.formatting import frame_html as frame_html
from extractbench_nb.views.report_contents import COUNTS as COUNTS
from extractbench_nb.views.report_contents import field_outcomes as field_outcomes
from extractbench_nb.views.report_contents import report_content as report_content
from extractbench_nb.views.report_files import evaluation_files as evaluation_files
from extractbench_nb.views.report_files import write_files as write_files
from extractbench_nb.views.report_files import write_report
from extractbench_nb.views.showing import explore, show, show_evidence, show_matches, workbench
from extractbench_nb.views.static import keep_static

__all__ = [
    "explore",
    "format_frames",
    "keep_static",
    "show",
    "show_evidence",
    "show_matches",
    "workbench",
    "write_report",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
