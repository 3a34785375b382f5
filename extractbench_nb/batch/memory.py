"""Results that are kept in memory, packed until a frame is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._files import make_folder
from extractbench_nb._frames import Column
from extractbench_nb.batch.arrow import arrow_schema, to_frame
from extractbench_nb.batch.assemble import Result, part_batch, summary_batch, summary_spec
from extractbench_nb.batch.columns import FRAMES
from extractbench_nb.batch.files import write_files
from extractbench_nb.batch.guards import refuse_foreign

__all__ = ["MemorySource"]


@dataclass(frozen=True)
class MemorySource:
    """The results of a batch.

    Parameters
    ----------
    results : tuple of Result
        One an output, in order.
    extras : tuple of Column
        The columns of the user's.
    description : mapping
        What ``batch.json`` says, but for the rows.
    """

    results: tuple[Result, ...]
    extras: tuple[Column, ...]
    description: Mapping[str, Any]

    def frame(self, name: str) -> pd.DataFrame:
        """Make one of the frames."""
        import pyarrow as pa

        if name == "summary":
            spec = summary_spec(self.extras)
            return to_frame(pa.Table.from_batches([summary_batch(spec, self.results)]), spec)
        spec = FRAMES[name]
        batches = [part_batch(name, result) for result in self.results]
        return to_frame(pa.Table.from_batches(batches, arrow_schema(spec)), spec)

    def save(self, folder: Path) -> None:
        """Write the files of a batch."""
        refuse_foreign(folder)
        make_folder(folder)
        write_files(folder, self.results, self.extras, self.description)
