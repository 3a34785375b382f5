"""The rows behind the failure explorer: which are selected, their means, and a line of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import TEXT, as_pandas
from extractbench_nb.errors import ExtractBenchError, InputError
from extractbench_nb.pdf import score_citations
from extractbench_nb.stats import chosen_rows, gather, mismatch_kinds
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import one_line
from extractbench_nb.views.controls import Page, Term, equal_term, page_of, text_term

if TYPE_CHECKING:
    from extractbench_nb.construction import TableComparison

#: What can be the rows or the columns of the heatmap.
AXES = ("field", "document", "run")
#: The columns of `fields` whose values can be asked for, by the traits of the same names.
ASKED = ("outcome", "metric", "reason", "mismatch", "citation")
#: What the cells show, and its words on the page.
MEASURES: Final = {"score": "mean score", "pass_rate": "pass rate"}
#: Which paths are shown by what runs make of them, and its words on the page.
COMPARISONS: Final = {
    "": "all",
    "disagree": "differences only",
    "gained": "gained: wrong in A, right in B",
    "lost": "lost: right in A, wrong in B",
}
NOT_GIVEN = "(none)"
#: Items of the heatmap on a page.
ROWS_A_PAGE, COLUMNS_A_PAGE = 40, 24
#: What became of the items of an array.
ITEMS = ("matched", "differing", "missed", "spurious")

#: Reasons of rows whose whole output is not JSON.
_INVALID = ["invalid_output", "unparsable_json"]
_NEEDED = (
    *("field", "path", "metric", "score", "passed", "outcome", "reason", "reasoning", "counted"),
    *("gold", "predicted", "gold_state", "predicted_state"),
)
_LONGEST_CODE = 4000

Places = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


class Selection(NamedTuple):
    """What is shown: each part is a trait of the explorer; None or no text stands for all."""

    rows: str
    columns: str
    measure: str
    a: str | None
    b: str | None
    compare: str
    schema: str | None
    inside_arrays: bool
    valid_only: bool
    selected_cell: tuple[str | None, ...]
    outcome: str
    metric: str
    reason: str
    mismatch: str
    citation: str
    text: str
    failures_only: bool

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two runs or versions that are compared."""
        return None if self.a is None or self.b is None else (self.a, self.b)

    @property
    def cell(self) -> list[tuple[str, str]]:
        """The axes, and the name on each, of the chosen cell or line."""
        axes = zip((self.rows, self.columns), self.selected_cell, strict=False)
        return [(axis, name) for axis, name in axes if name is not None]

    def filters_in_words(self) -> list[str]:
        """Describe what the heatmap leaves out."""
        one_side = " ".join(name for name in {self.a, self.b} if name and self.pair is None)
        parts = [f"schema {self.schema}" if self.schema is not None else "", one_side]
        parts += [COMPARISONS[self.compare] if self.compare else ""]
        parts += ["without invalid outputs" if self.valid_only else ""]
        return [one_line(text) for text in parts if text]


class Query(NamedTuple):
    """Positions of rows, and the code of those listed.

    `compared` are shown, or left out by `Selection.compare`; `chosen` are in the chosen cell.
    """

    compared: Places
    shown: Places
    chosen: Places
    listed: Places
    code: str


class Heatmap(NamedTuple):
    """A page of the heatmap: frames of sums by item, and the sums of the cells with rows."""

    rows: pd.DataFrame
    columns: pd.DataFrame
    cells: dict[tuple[Any, Any], Any]
    row_page: Page
    column_page: Page


class Rows:
    """The rows of a source, with the names and numbers that they are counted by."""

    def __init__(self, source: object, citations: object = None, dataset: Any = None) -> None:
        self.source = as_pandas(source)
        self.given, self.versions = _read(self.source)
        #: The columns of the frame that the code begins with.
        self.written = frozenset(self.given.columns)
        if citations is not None:
            self.given = _with_citations(self.given, as_pandas(citations), dataset)
        refuse_missing(self.given, _NEEDED)
        chosen_rows(self.given, counted=False)
        frame = self.frame = _with_kinds(self.given)
        #: What is compared: versions, whose runs are paired, or runs.
        self.compared = "version" if self.versions else "run"
        self.names: dict[str, Any] = {
            name: _names(frame, name) for name in (*AXES, "schema", *ASKED)
        }
        self.names["version"] = _names(frame, "version" if self.versions else "")
        schemas, fields = self.names["schema"], self.names["field"]
        of_schema = pd.DataFrame({"field": fields, "schema": schemas}).drop_duplicates()
        often = set(of_schema.loc[of_schema["field"].duplicated(keep=False), "field"])
        names = [
            f"{schema}: {field}" if field in often else field
            for field, schema in zip(fields, schemas, strict=True)
        ]
        #: The field and the schema of each name of the axis; a field in several schemas is several.
        self.fields = dict(zip(names, zip(fields, schemas, strict=True), strict=True))
        self.names["field"] = _categories(names)
        self.right = frame["passed"].astype("boolean").fillna(value=False).to_numpy(dtype=bool)
        self.counted = frame["counted"].to_numpy(dtype=bool)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.frame)

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of fields, documents and runs."""
        return {name: len(self.names[name].categories) for name in AXES}

    # --- what rows are counted by ---------------------------------------------------------------

    @cached_property
    def keys(self) -> Places:
        """The number of each row's document and path: what the compared sides have a value of."""
        path = pd.factorize(self.frame["path"])[0]
        path = np.where(path < 0, -1 - np.arange(len(path)), path)  # without a path: its own
        codes = {name: self.names[name].codes for name in self._keyed}
        return pd.DataFrame({**codes, "path": path}).groupby([*codes, "path"]).ngroup().to_numpy()

    @property
    def _keyed(self) -> list[str]:
        return ["document", "run"] if self.versions else ["document"]

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """What each row adds to counts and means, beside the codes of what it belongs to.

        A node of an output has one row per metric, which share it, and passes if all of them pass;
        without a verdict of one it scores 0. Means weigh nodes as `Evaluation.summary` does.
        """
        frame = self.frame
        found = pd.DataFrame({name: self.names[name].codes for name in (*AXES, "version")})
        found["output"] = found.groupby(["version", "run", "document"]).ngroup()
        node = found.assign(key=self.keys).groupby(["output", "key", "field"]).ngroup()
        unjudged = pd.Series(frame["passed"].isna().to_numpy()).groupby(node).transform("any")
        score = frame["score"].astype("Float64").fillna(0.0).to_numpy(dtype=float)
        share = 1.0 / node.groupby(node).transform("size")
        weight: Any = share
        if "weight" in frame.columns:
            declared = frame["weight"].astype("Float64").fillna(1.0).to_numpy(dtype=float)
            weight = share * np.maximum(declared, 0.0)
        passed = pd.Series(self.right).groupby(node).transform("all")
        added: dict[str, Any] = {
            "rows": np.ones(len(frame)),
            "passed": self.right,
            "invalid": self.invalid,
        }
        added |= {"share": share, "weight": weight}
        values: dict[str, Any] = {"score": np.where(unjudged, 0.0, score), "pass_rate": passed}
        for name, value in values.items():
            added |= {f"share {name}": share * value, f"weight {name}": weight * value}
        return found.join(pd.DataFrame(added, dtype=float))

    @cached_property
    def invalid(self) -> Mask:
        """The rows of outputs that are not JSON."""
        return self.frame["reason"].isin(_INVALID).to_numpy(dtype=bool)

    @cached_property
    def invented(self) -> pd.Series[bool]:
        """Whether a field is in no schema: a key that predictions made up."""
        undeclared = self.frame["reason"].eq("undeclared").fillna(value=False).to_numpy(dtype=bool)
        return pd.Series(undeclared).groupby(self.names["field"].codes).all()

    def means(self, places: Places, *by: str) -> pd.DataFrame:
        """Sum up rows by items of axes: counts, and the mean over outputs of each measure."""
        numbers = self.numbers.iloc[places]
        groups = [numbers[name] for name in by] or [pd.Series(0, numbers.index)]
        added = numbers.loc[:, "rows":]
        sums = added.groupby([*groups, numbers["output"]], sort=False).sum()
        weighed = sums["weight"] > 0
        for name in MEASURES:
            by_weight, by_share = sums[f"weight {name}"] / sums["weight"], sums[f"share {name}"]
            sums[name] = by_weight.where(weighed, by_share / sums["share"])
        items = sums.groupby(level=[*range(len(groups))])
        counts = items[["rows", "passed", "invalid"]].sum().astype(int)
        return pd.concat([counts, items[[*MEASURES]].mean().round(12)], axis=1)

    def measured(self, places: Places, selection: Selection, *by: str) -> pd.DataFrame:
        """Sum up rows; of two compared sides, the means are B's less A's, missing without both."""
        found = self.means(places, *by)
        if selection.pair is not None and self.compared not in by:
            a, b = (self.means(places[self.of(name)[places]], *by) for name in selection.pair)
            found[[*MEASURES]] = (b[[*MEASURES]] - a[[*MEASURES]]).round(12)
        return found

    def of(self, side: str) -> Mask:
        """Mark the rows of a run or version."""
        return self.has(self.compared, [side])

    def has(self, column: str, names: Sequence[str]) -> Mask:
        """Mark the rows that have one of the names on an axis, or in a column."""
        wanted = set(names)
        codes = [at for at, n in enumerate(self.names[column].categories) if n in wanted]
        return np.isin(self.names[column].codes, codes)

    # --- the selection --------------------------------------------------------------------------

    def query(self, selection: Selection, name: str) -> Query:
        """Find the rows of a selection, and a line of pandas that gives those listed."""
        s = selection
        everything: list[Term] = [] if s.inside_arrays else [('f["counted"]', self.counted)]
        sides = list(dict.fromkeys(side for side in (s.a, s.b) if side is not None))
        everything += self._named("schema", [] if s.schema is None else [s.schema])
        everything += self._named(self.compared, sides)
        if s.valid_only:
            everything.append((f'~f["reason"].isin({_INVALID!r})', ~self.invalid))
        cell = [term for axis, name in s.cell for term in self._named(axis, [name])]
        asked = [(name, getattr(s, name)) for name in ASKED]
        values = [term for name, value in asked if value for term in self._named(name, [value])]
        if s.failures_only:
            values.append(('~f["passed"].fillna(False)', ~self.right))
        if text := s.text.strip().lower():
            values.append(text_term(self.frame, text))
        left = _all(everything, len(self))
        compared = self._compared(left, s) if s.compare else []
        shown = left & _all(compared, len(self))
        chosen = shown & _all(cell, len(self))
        listed = np.flatnonzero(chosen & _all(values, len(self)))
        rest = [*compared, *cell, *values]
        steps = [everything, rest] if compared else [[*everything, *rest]]
        code = name + "".join(
            f"[lambda f: {' & '.join(str(term) for term, _ in terms)}]" for terms in steps if terms
        )
        written = all(term is not None for terms in steps for term, _ in terms)
        if not written or len(code) > _LONGEST_CODE:
            code = f"{name}.iloc[{listed.tolist()}]"
        of_shown, of_cell = np.flatnonzero(shown), np.flatnonzero(chosen)
        return Query(np.flatnonzero(left), of_shown, of_cell, listed, code)

    def _named(self, column: str, names: list[str]) -> list[Term]:
        """Make the condition that a column, or an axis, has one of the names."""
        if not names:
            return []
        mask = self.has(column, names)
        if column == "field":
            field, schema = self.fields[names[0]]
            of_schema = self._named("schema", [schema]) if field != names[0] else []
            return [(equal_term(self.frame, "field", [field])[0], mask), *of_schema]
        if column not in self.frame.columns:
            return []
        is_written = column in self.written and NOT_GIVEN not in names
        return [(equal_term(self.frame, column, names)[0] if is_written else None, mask)]

    def _compared(self, left: Mask, selection: Selection) -> list[Term]:
        """Make the condition that sides differ in a document's path: a path passes with its rows.

        If one of two sides is right and the other wrong, the rows of B are right where it gained.
        """
        of_side = pd.Series(self.names[self.compared].codes)
        right, keys = pd.Series(self.right)[left], pd.Series(self.keys)[left]
        right = right.groupby([keys, of_side[left]]).transform("all")
        found = right.groupby(keys).transform("nunique") > 1
        ids = ", ".join(f'f["{name}"]' for name in (*self._keyed, "path"))
        passed = f'f["passed"].fillna(False).groupby([{ids}, f["{self.compared}"]])'
        code = f'(right := {passed}.transform("all")).groupby([{ids}]).transform("nunique").gt(1)'
        winner = {"gained": selection.b, "lost": selection.a}.get(selection.compare)
        if winner is not None:
            found &= right == self.of(winner)[left]
            code += f' & (right == (f["{self.compared}"] == {winner!r}))'
        mask = found.reindex(range(len(self)), fill_value=False).to_numpy(dtype=bool)
        written = not self.frame["path"].isna().any() and {*self._keyed} <= {*self.frame.columns}
        return [(code if written else None, mask)]

    def changes(self, places: Places, selection: Selection) -> dict[str, int]:
        """Count the paths that B gained and lost against A."""
        left = np.zeros(len(self), dtype=bool)
        left[places] = True
        return {
            name: len(np.unique(self.keys[mask]))
            for name in ("gained", "lost")
            for _, mask in self._compared(left, selection._replace(compare=name))
        }

    # --- what is drawn of it --------------------------------------------------------------------

    def heatmap(self, places: Places, selection: Selection, pages: tuple[int, int]) -> Heatmap:
        """Lay out a page: the worst items first, and the columns that its rows have values in."""
        rows = self._ranked(places, selection, selection.rows)
        row_page = page_of(len(rows), pages[0], ROWS_A_PAGE)
        rows = row_page.of(rows)
        on_page = self.has(selection.rows, rows.index)
        columns = self._ranked(places, selection, selection.columns)
        here = self.names[selection.columns][places[on_page[places]]].unique()
        columns = columns[columns.index.isin(here)]
        column_page = page_of(len(columns), pages[1], COLUMNS_A_PAGE)
        columns = column_page.of(columns)
        on_page &= self.has(selection.columns, columns.index)
        here = places[on_page[places]]
        sums = self.measured(here, selection, selection.rows, selection.columns)
        down, across = (self.names[n].categories for n in (selection.rows, selection.columns))
        found: list[Any] = [*sums.itertuples()]
        cells = {(down[cell.Index[0]], across[cell.Index[1]]): cell for cell in found}
        return Heatmap(rows, columns, cells, row_page, column_page)

    def _ranked(self, places: Places, selection: Selection, axis: str) -> pd.DataFrame:
        """Sum up the items of an axis by name, worst first; what is invented or equal last."""
        lines = self.measured(places, selection, axis)
        last = pd.Series(data=False, index=lines.index)
        if selection.pair is not None and axis != self.compared:
            last = (lines[[*MEASURES]] == 0).all(axis=1)
        elif axis == "field":
            last = self.invented[lines.index]
        order: dict[str, Any] = {
            "last": last,
            "first": lines[selection.measure],
            "rate": lines["pass_rate"],
        }
        order |= {"rows": -lines["rows"], "appeared": lines.index}
        ranked = lines.loc[pd.DataFrame(order).sort_values([*order]).index]
        return ranked.set_axis(self.names[axis].categories[ranked.index])

    def worst_keys(self, places: Places) -> Places:
        """Return the paths of rows, those with the most failures first, what is invented last."""
        invented = self.invented[self.names["field"].codes[places]].to_numpy()
        rows = pd.DataFrame(
            {"key": self.keys[places], "at": places, "failed": ~self.right[places],
             "invented": invented}
        )  # fmt: skip
        found = rows.groupby("key").agg({"invented": "first", "failed": "sum", "at": "first"})
        found["invented"] &= found["failed"] > 0
        order = found.sort_values(["invented", "failed", "at"], ascending=[True, False, True])
        return order.index.to_numpy()

    @cached_property
    def arrays(self) -> dict[tuple[str, ...], dict[str, int]]:
        """The numbers of items by what became of them: of version, run, document and path."""
        found: dict[tuple[str, ...], dict[str, int]] = {}
        for version, source in self.source.items() if self.versions else [(NOT_GIVEN, self.source)]:
            try:
                arrays = None if isinstance(source, pd.DataFrame) else gather(source, "arrays")
            except InputError:  # a result of tables
                continue
            if arrays is None:
                continue
            arrays = arrays[arrays["matched"].notna()]
            ids = arrays.reindex(columns=["run", "document", "path"]).fillna(NOT_GIVEN).astype(str)
            counts: Any = arrays[[*ITEMS]].astype(int).to_dict("records")
            for key, numbers in zip(ids.itertuples(index=False, name=None), counts, strict=True):
                found[str(version), *key] = numbers
        return found

    def output(self, at: int) -> tuple[str, str, str]:
        """Return version, run and document of a row."""
        version, run, document = (self.names[name][at] for name in ("version", "run", "document"))
        return version, run, document


def _all(terms: Sequence[Term], size: int) -> Mask:
    kept = np.ones(size, dtype=bool)
    for _, mask in terms:
        kept &= np.asarray(mask, dtype=bool)
    return kept


def _read(source: object) -> tuple[pd.DataFrame, bool]:
    """Return the rows, and whether they are of versions that each have several runs."""
    if isinstance(source, Mapping):
        parts = {str(key): as_pandas(getattr(part, "fields", part)) for key, part in source.items()}
        frames = [part for part in parts.values() if isinstance(part, pd.DataFrame)]
        paired = len(frames) == len(parts) and all("run" in frame.columns for frame in frames)
        if paired and any(len(frame["run"].unique()) > 1 for frame in frames):
            names = np.repeat([*parts], [len(frame) for frame in frames])
            rows = gather([*source.values()], "fields")
            return rows.assign(version=pd.array(names, dtype=TEXT)), True
    return gather(source, "fields"), False


def _with_kinds(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the kind of mismatch of each row; cells of tables have it in their column ``kind``."""
    if "mismatch" in frame.columns:
        return frame
    kinds = frame["kind"].tolist() if "kind" in frame.columns else mismatch_kinds(frame)
    return frame.assign(mismatch=pd.Series(kinds, index=frame.index, dtype=TEXT))


def _with_citations(fields: pd.DataFrame, citations: Any, dataset: Any) -> pd.DataFrame:
    """Add what the citations of a value are worth: of several, the first that is not right."""
    scored = score_citations(fields, citations, dataset)
    keys = [name for name in ("run", "document") if name in fields and name in citations]
    verdicts: dict[tuple[str, ...], str] = {}
    for *ids, verdict in scored[[*keys, "path", "verdict"]].astype(str).to_numpy():
        if verdicts.get(tuple(ids), "right_place") == "right_place":
            verdicts[tuple(ids)] = verdict
    paths = fields["predicted_path"].fillna(fields["path"])
    rows = zip(*(fields[name].astype(str) for name in keys), paths, strict=True)
    return fields.assign(citation=pd.array([verdicts.get(row) for row in rows], dtype=TEXT))


def _names(frame: pd.DataFrame, column: str) -> pd.Categorical:
    """Return the names of a column as texts, in the order in which they appear."""
    if column not in frame.columns:
        return _categories([NOT_GIVEN] * len(frame))
    pairs = zip(frame[column], frame[column].isna(), strict=True)
    return _categories([NOT_GIVEN if is_absent else str(cell) for cell, is_absent in pairs])


def _categories(cells: list[str]) -> pd.Categorical:
    """Code texts of any characters, in the order in which they appear."""
    places = {name: at for at, name in enumerate(dict.fromkeys(cells))}
    codes = [places[cell] for cell in cells]
    return pd.Categorical.from_codes(codes, categories=pd.Index([*places], dtype=object))


# --- the outputs that rows are of -----------------------------------------------------------------


def evaluation_of(
    source: Any, run: str, document: str, version: str = NOT_GIVEN
) -> Evaluation | TableComparison | None:
    """Find or rebuild the result for one output in what `gather` reads; None without one."""
    if isinstance(source, Evaluation):
        return source
    if isinstance(source, Mapping):
        named = {str(key): value for key, value in source.items()}
        if version in named:
            return evaluation_of(named[version], run, document)
        return evaluation_of(named.get(run, named.get(document)), run, document)
    if isinstance(source, list | tuple):
        numbers = {str(at): part for at, part in enumerate(source) if isinstance(part, Evaluation)}
        if document in numbers:
            return evaluation_of(numbers[document], run, document)
        for part in source:
            if not isinstance(part, Evaluation | pd.DataFrame):
                with suppress(ExtractBenchError):
                    return evaluation_of(part, run, document)
    rebuild = getattr(source, "evaluation", getattr(source, "comparison", None))
    return rebuild(run, document) if callable(rebuild) else None


def cell_of(row: Any) -> list[Any] | None:
    """Return side, row and column of a cell of two tables; None for any other row of `fields`."""
    for side, names in (
        ("gold", ("gold_row", "column")),
        ("predicted", ("predicted_row", "predicted_column")),
    ):
        at, column = (row.get(name) for name in names)
        if not (pd.isna(at) or pd.isna(column)):
            return [side, int(at), str(column)]
    return None
