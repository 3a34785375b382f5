"""`Evaluations`: the frames of many evaluations, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from extractbench_nb._frames import describe_frames
from extractbench_nb.batch.card import card_html, card_text
from extractbench_nb.batch.columns import BY_RUN, FRAMES, MISSING_PAIRS, UNITS
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation import Evaluation
from extractbench_nb.evaluation.frames import SUMMARY

__all__ = ["Evaluations", "Source"]


class Source(Protocol):
    """Where the frames of a batch are: in memory, or in the files of a folder."""

    def frame(self, name: str) -> pd.DataFrame:
        """Make one of the frames fields, arrays, matches, judge_calls and summary."""
        ...

    def save(self, folder: Path) -> None:
        """Write everything to a folder."""
        ...


Reevaluate = Callable[[str, str], Evaluation]


class Evaluations:
    """The results of many evaluations; frozen. `evaluate_runs` and `load_evaluations` make it.

    Parameters
    ----------
    source : Source
        Where the frames are.
    meta : mapping
        Profile, judge, alignment, versions, counts.
    reevaluate : callable, optional
        ``(run, document)`` to the full evaluation of one output, where the inputs are at hand.

    Attributes
    ----------
    fields, arrays, matches, judge_calls : pandas.DataFrame
        The frames of `Evaluation`, led by run, document, domain and schema. Each access gives a
        copy. What is on disk is read when it is first asked for; `InputError` tells where the
        files have been written anew by then.
    summary : pandas.DataFrame
        One row a run and document: outcome, scores and counts, and the columns of the user's.
    by_run : pandas.DataFrame
        One row a run: means over its documents, sums of counts.
    missing : pandas.DataFrame
        Run and document of the outputs that another run has and this one has not.
    meta : dict
        Profile, judge, alignment, versions, counts.
    """

    _source: Source
    _meta: dict[str, Any]
    _reevaluate: Reevaluate | None

    def __init__(
        self, source: Source, meta: Mapping[str, Any], reevaluate: Reevaluate | None = None
    ) -> None:
        set_ = object.__setattr__
        set_(self, "_source", source)
        set_(self, "_meta", dict(meta))
        set_(self, "_reevaluate", reevaluate)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a result is frozen."""
        raise AttributeError(f"an Evaluations is frozen; cannot set {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the results; the inputs stay behind."""
        return {"_source": self._source, "_meta": self._meta, "_reevaluate": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` kept."""
        self.__dict__.update(state)

    @property
    def fields(self) -> pd.DataFrame:
        """One row an evaluated field and metric of a run and document."""
        return self._fields.copy(deep=False)

    @property
    def arrays(self) -> pd.DataFrame:
        """One row an array of a run and document."""
        return self._arrays.copy(deep=False)

    @property
    def matches(self) -> pd.DataFrame:
        """One row a gold item, plus one a spurious predicted item, of a run and document."""
        return self._matches.copy(deep=False)

    @property
    def judge_calls(self) -> pd.DataFrame:
        """One row a call of a model, of a run and document; none for judges that follow rules."""
        return self._judge_calls.copy(deep=False)

    @property
    def summary(self) -> pd.DataFrame:
        """One row a run and document."""
        return self._summary.copy(deep=False)

    @property
    def by_run(self) -> pd.DataFrame:
        """One row a run, in the order of the runs."""
        return _by_run(self._summary, self.missing)

    @property
    def missing(self) -> pd.DataFrame:
        """One row an output that another run has and this one has not."""
        return _missing_pairs(self._summary)

    @property
    def meta(self) -> dict[str, Any]:
        """Profile, judge, alignment, versions, and how many outputs were evaluated anew."""
        return dict(self._meta)

    def evaluation(self, run: str | int, document: str | int) -> Evaluation:
        """Evaluate one output again, for its full result.

        Parameters
        ----------
        run, document : str or int
            Which one.

        Returns
        -------
        Evaluation
            With warnings, inputs and its own card.

        Raises
        ------
        InputError
            No such output, or its inputs are not at hand: the results were loaded or unpickled.
        """
        run, document = str(run), str(document)
        summary = self._summary
        if not ((summary["run"] == run) & (summary["document"] == document)).any():
            runs = summary["run"].drop_duplicates().tolist()
            known = summary.loc[summary["run"] == run, "document"] if run in runs else runs
            what = f"run {run!r} has no document {document!r}" if run in runs else f"no run {run!r}"
            raise InputError(f"{what}; {nearest(document if run in runs else run, known)}")
        if self._reevaluate is None:
            raise InputError(
                f"the inputs of run {run!r}, document {document!r} are not at hand; "
                "evaluate_runs(..., resume=folder) gives results that know theirs"
            )
        return self._reevaluate(run, document)

    def save(self, folder: str | Path) -> Path:
        """Write the results to a folder, from which `load_evaluations` reads them.

        Parameters
        ----------
        folder : str or pathlib.Path
            Made if it does not exist. What `save` wrote there before is replaced.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        InputError
            The folder holds a batch that can be taken up, or files of the same names that `save`
            did not write; or the results are in files that have been written anew since.
        OutputError
            A file cannot be written.
        """
        self._source.save(Path(folder))
        return Path(folder)

    @staticmethod
    def columns() -> pd.DataFrame:
        """Describe every column of every frame.

        Returns
        -------
        pandas.DataFrame
            One row a column: column, dtype, values, nullable, meaning, frame.
        """
        specs = [*FRAMES.values(), BY_RUN, MISSING_PAIRS]
        return describe_frames(specs)

    @cached_property
    def _fields(self) -> pd.DataFrame:
        return self._source.frame("fields")

    @cached_property
    def _arrays(self) -> pd.DataFrame:
        return self._source.frame("arrays")

    @cached_property
    def _matches(self) -> pd.DataFrame:
        return self._source.frame("matches")

    @cached_property
    def _judge_calls(self) -> pd.DataFrame:
        return self._source.frame("judge_calls")

    @cached_property
    def _summary(self) -> pd.DataFrame:
        return self._source.frame("summary")

    def __len__(self) -> int:
        """Count the outputs."""
        return len(self._summary)

    def __repr__(self) -> str:
        """Write the scores of each run in a line."""
        return card_text(self.by_run, self.missing, self._meta)

    def _repr_html_(self) -> str:
        return card_html(self.by_run, self.missing, self._meta)


#: What is not known of one document is not known of all.
_whole_sum = partial(pd.Series.sum, skipna=False)


def _missing_pairs(summary: pd.DataFrame) -> pd.DataFrame:
    documents = summary.drop_duplicates("document")
    about = documents[["document", "domain", "schema"]].itertuples(index=False, name=None)
    there = set(zip(summary["run"], summary["document"], strict=True))
    runs = summary["run"].drop_duplicates()
    rows = [
        (run, document, None if domain is pd.NA else domain, schema)
        for run, (document, domain, schema) in product(runs, list(about))
        if (run, document) not in there
    ]
    return MISSING_PAIRS.from_rows(rows)


def _by_run(summary: pd.DataFrame, missing: pd.DataFrame) -> pd.DataFrame:
    groups = summary.groupby("run", sort=False)
    how: dict[str, Any] = {
        c.name: "mean" if c.name in UNITS else _whole_sum if c.nullable else "sum"
        for c in BY_RUN.columns
        if c.name in SUMMARY.names
    }
    table = groups.agg(how)
    table["documents"] = groups.size()
    table["invalid"] = summary["outcome"].eq("invalid").groupby(summary["run"]).sum()
    absent = missing.groupby("run").size()
    table["missing"] = [int(absent.get(run, 0)) for run in table.index]
    table = table.reset_index()
    evaluated = table["evaluated"].tolist()
    pooled = [p / n if n else None for p, n in zip(table["passed"], evaluated, strict=True)]
    cells = {name: table[name].tolist() for name in BY_RUN.names if name in table}
    return BY_RUN.build({**cells, "pooled_pass_rate": pooled})
