"""Tables from what people have: HTML, frames, CSV, Markdown, records; and back."""

from extractbench_nb.grits.reading.records import read_records
from extractbench_nb.grits.reading.tables import TABLE_FORMATS, read_table
from extractbench_nb.grits.reading.writing import frame_of, html_of

__all__ = ["TABLE_FORMATS", "frame_of", "html_of", "read_records", "read_table"]
