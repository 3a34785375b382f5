"""Views for the notebook: schemas, evaluations, tables, objects, evidence, with static twins.

Each view is one widget. Its static twin is plain HTML without JavaScript, an output of its own that
is shown where there is no kernel. `keep_static` drops the live parts from a saved notebook.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb._frames import as_pandas
from extractbench_nb.batch.results import Evaluations
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.tables.batches import TableScores
from extractbench_nb.tables.canonical import Canonical
from extractbench_nb.tables.cells import Table
from extractbench_nb.tables.drawing import GriTS
from extractbench_nb.tables.images import TableImage, TableImages
from extractbench_nb.tables.resolution import ResolvedTable
from extractbench_nb.widgets.static import keep_static, notebook_libraries

if TYPE_CHECKING:
    from pathlib import Path

    from extractbench_nb.benchmark.dataset import Dataset
    from extractbench_nb.construction.dataset import TableDataset
    from extractbench_nb.construction.retrieval import Documents, Retriever
    from extractbench_nb.evaluation import Profile
    from extractbench_nb.gold.annotations import Annotations
    from extractbench_nb.judges.base import Judge
    from extractbench_nb.widgets.view import View

__all__ = ["explore", "keep_static", "show", "show_evidence", "show_matches", "workbench"]


def show(  # noqa: PLR0913 - options, all but two by name
    subject: Any,
    evaluation: Any = None,
    *,
    name: str | None = None,
    title: str = "",
    pdf: str | Path | None = None,
    annotations: Annotations | str | Path | None = None,
    documents: Documents | None = None,
    retriever: str | Retriever | None = None,
    image: Any = None,
    true: Any = None,
) -> View:
    """Show a schema, an evaluation, the evaluations of many runs, two tables, or detected objects.

    Parameters
    ----------
    subject : Schema, dict, pathlib.Path, str, or a result
        A schema as `evaluate` takes it: a tree to fold, to search and to drive by keys. An
        Evaluation: the same tree beside the fields, gold against predicted. Evaluations and
        TableEvaluations: the view of `explore`. What `grits` or ``construction.compare`` returns:
        both tables side by side, aligned. What `from_objects` returns: the boxes of the objects
        beside the table. A TableImage: its true objects over its picture.
    evaluation : Evaluation, Evaluations or pandas.DataFrame, optional
        Gives every node of a schema its mean score and a bar of its outcomes.
    name : str, optional
        What an Evaluation, TableComparison or ResolvedTable is called in the notebook, for the code
        that can be copied: ``"ev"``, ``"results['quill']"``; by default ``"ev"``, ``"comparison"``
        or ``"found"``.
    title : str, optional
        What the view of an Evaluation is called. By default run and document, where the Evaluation
        comes from ``Evaluations.evaluation``; else `name`.
    pdf : str or pathlib.Path, optional
        The document of an Evaluation: its fields can be looked up on the page.
    annotations : xb.gold.Annotations, str or pathlib.Path, optional
        Where decisions of people about fields of an Evaluation are kept; a path is a JSON file,
        which is read if it exists and written at each change. None: only in the view.
    documents : TableTask, dict, list, str or pathlib.Path, optional
        The documents of a TableComparison: the chunks that hold a chosen value are shown.
    retriever : str or construction.Retriever, optional
        How chunks of `documents` were found, ``"bm25"``: each is shown with its rank. The query is
        that of a TableTask, else the names of gold's columns.
    image : PIL.Image.Image, ndarray, PageImage, str or pathlib.Path, optional
        The picture in which the objects of a ResolvedTable were detected. By default boxes and
        words are drawn on white.
    true : Table or whatever `read_table` reads, optional
        The true table, with which the table of a ResolvedTable is compared by `grits`.

    Returns
    -------
    View
        A widget, to be the last value of a cell. ``selected_path`` is the schema path of the chosen
        node; a schema path or a field can be assigned. The view of an Evaluation has also
        ``selected_row``, ``outcome``, ``reason``, ``metric``, ``text``, ``only_counted``,
        ``only_failed``, ``sort`` and ``page``, to read, assign and observe; ``rows``, the rows that
        it shows, ``code``, an expression that gives them, and ``annotations``. The view of two
        tables has ``metric``, ``selected`` (``["true", 0, 3]``: side, row, column),
        ``only_differing`` and ``page``; that of a TableComparison ``threshold``, ``selected``
        (``["gold", 0, "name"]``), ``only_lost`` and ``page``, and ``comparison`` at this threshold;
        that of a ResolvedTable ``threshold``, ``selected`` (position of an object), ``labels`` and
        ``boxes``, and ``result`` at this threshold.

    Raises
    ------
    InputError
        There is no view of `subject`; `evaluation` is given with something that is not a schema,
        holds no fields, or is of other schemas; `name` is not a name; `image` cannot be read, or
        has another size than the image of the objects.
    SchemaError
        `subject` is not a valid schema.
    ConfigError
        ipywidgets or anywidget are not installed.
    """
    is_comparison = _is_of_construction(subject, "result", "TableComparison")
    is_batch = _is_of_construction(subject, "evaluations", "TableEvaluations")
    is_table = isinstance(subject, GriTS | ResolvedTable | TableImage) or is_comparison
    is_result = isinstance(subject, Evaluation | Evaluations) or is_table or is_batch
    if is_result and evaluation is not None:
        raise InputError(
            f"show() got a second argument beside {type(subject).__name__}; "
            "show(schema, evaluation) colours a schema's tree"
        )
    if isinstance(subject, Evaluations) or is_batch:
        return explore(subject)
    notebook_libraries()
    named: dict[str, Any] = {} if name is None else {"name": name}
    if isinstance(subject, Evaluation):
        from extractbench_nb.widgets.evaluation_view import EvaluationView

        return EvaluationView(subject, title=title, pdf=pdf, annotations=annotations, **named)
    if is_comparison:
        from extractbench_nb.widgets.construction_view import ConstructionView

        return ConstructionView(subject, documents=documents, retriever=retriever, **named)
    if isinstance(subject, ResolvedTable | TableImage):
        from extractbench_nb.widgets.objects_view import ObjectsView

        return ObjectsView(subject, image=image, true=true, **named)
    if isinstance(subject, GriTS):
        from extractbench_nb.widgets.tables_view import TableView

        return TableView(subject)
    if isinstance(subject, Table | Canonical | TableScores):
        raise InputError(
            f"subject is of type {type(subject).__name__}, which shows itself as the last value of "
            "a cell; show() takes what grits() or from_objects() returns"
        )
    if isinstance(as_pandas(subject), pd.DataFrame | TableImages | list | tuple):
        raise InputError(
            f"subject is of type {type(subject).__name__}; show() takes a schema, an Evaluation, "
            "Evaluations, what construction.compare(), grits() or from_objects() returns, or one "
            "image of load_images(); explore() also takes frames of fields and lists"
        )
    from extractbench_nb.widgets.schema_view import SchemaExplorer

    return SchemaExplorer(parse_schema(subject), evaluation)


def _is_of_construction(subject: Any, module: str, kind: str) -> bool:
    """Whether something is of a class of `construction`: who has one has imported its module."""
    found = sys.modules.get(f"extractbench_nb.construction.{module}")
    return found is not None and isinstance(subject, getattr(found, kind))


def show_matches(
    ev: Evaluation, path: str | None = None, *, name: str = "ev", pdf: str | Path | None = None
) -> View:
    """Show how the items of an array are paired: gold and predicted items side by side.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    path : str, optional
        The array: its instance path, ``$.authors``, or its field, ``authors`` or ``authors[]``,
        where the field has one array. May be left out where the evaluation has one array.
    name : str, optional
        The variable of the Evaluation in the notebook, for the code that can be copied.
    pdf : str or pathlib.Path, optional
        The PDF of the document: each value of a pair can then be shown on its page.

    Returns
    -------
    View
        A widget, to be the last value of a cell. ``path``, ``selected_pair``, ``thresholds``,
        ``status``, ``text``, ``sort`` and ``page`` can be read, assigned and observed; ``matches``
        and ``summary`` hold at these thresholds. ``rows`` are the matches that are listed, and
        ``code`` a line of pandas that gives them.

    Raises
    ------
    InputError
        `ev` is not an Evaluation, `name` is not a name, or no array is meant, or more than one.
    ConfigError
        ipywidgets or anywidget are not installed.

    Notes
    -----
    A change of ``align_threshold`` or ``pass_threshold`` decides the recorded pairs anew: the
    alignment does not depend on them. At another threshold of a field the items are aligned anew by
    the offline judge. Where another judge, an alignment of the user's or a metric that is awaited
    took part, nothing is asked again: thresholds are applied to the recorded pairs and scores, and
    the view says so. After pickling there are no records, and thresholds are fixed.
    """
    notebook_libraries()
    from extractbench_nb.widgets.matches_view import MatchesView

    return MatchesView(ev, path, name=name, pdf=pdf)


def explore(  # noqa: PLR0913 - keyword options
    source: Any,
    *,
    rows: str = "field",
    columns: str | None = None,
    measure: str = "score",
    dataset: Dataset | TableDataset | None = None,
    name: str | None = None,
    annotations: Annotations | str | Path | None = None,
) -> View:
    """Show where and how runs fail: a heatmap, the values behind its cells, counts of reasons.

    Parameters
    ----------
    source : Evaluations, Evaluation, TableEvaluations, pandas.DataFrame, mapping or list
        Where the rows of `fields` are, as `breakdown` takes them. From a frame, no output opens;
        from TableEvaluations, an output opens as the view of both tables.
    rows : str, optional
        What has a row: ``field``, ``document`` or ``run``.
    columns : str, optional
        What has a column. By default documents; runs, where the rows are documents, there is only
        one document, or most schemas have only one; fields, where there is one of either.
    measure : str, optional
        What the cells show: ``score``, the mean over documents, each of which counts once as in
        ``Evaluations.by_run``; ``pass_rate``; ``outcome``, the most frequent one.
    dataset : Dataset or TableDataset, optional
        Where the PDFs are, to see a value on its page; or the documents of tables, to see the
        chunks that hold a value.
    name : str, optional
        What `source` is called in the notebook, for the code that can be copied: by default
        ``"evs"``, and ``"fields"`` for a frame.
    annotations : xb.gold.Annotations, str or pathlib.Path, optional
        Where decisions of people about fields of opened outputs are kept, as in `show`.

    Returns
    -------
    View
        A widget, to be the last value of a cell. ``selection`` has the rows of the chosen cells,
        and ``code`` is a line of pandas that gives them; ``selected_cell``, ``selected_block`` and
        all filters can be read, assigned and observed. ``location`` is all of that as JSON values,
        with the views opened from this one; it can be assigned to open another view there.
        ``annotations`` is a frame of the decisions.

    Raises
    ------
    InputError
        The source holds no fields, or there is no such axis or measure; `name` is not a name.
    ConfigError
        ipywidgets or anywidget are not installed.
    """
    notebook_libraries()
    from extractbench_nb.widgets.failures_view import FailureExplorer

    return FailureExplorer(
        source,
        rows=rows,
        columns=columns,
        measure=measure,
        dataset=dataset,
        name=name,
        annotations=annotations,
    )


def show_evidence(
    ds: Dataset | None, document: str | Path, subject: Any = None, *, side: str = "predicted"
) -> View:
    """Show where values are found in a document: gold beside predicted, next to the PDF page.

    Parameters
    ----------
    ds : Dataset or None
        As `load_dataset` returns it; None if `document` is a path.
    document : str or pathlib.Path
        The id of a document, or the path of any PDF.
    subject : Evaluation, dict, list, str, int, float or None, optional
        Whose values: an Evaluation has gold's and the predicted ones, side by side; a JSON value
        has its leaves. None: the gold of `document`.
    side : {"predicted", "gold"}, optional
        The side of an Evaluation that ``selected_path`` and ``values`` refer to at first.

    Returns
    -------
    View
        A widget, to be the last value of a cell. ``selected_path``, ``side``, ``sought``, ``page``,
        ``zoom`` and the filters (``text``, ``outcome``, ``gold_finding``, ``predicted_finding``)
        can be read, assigned and observed; ``values`` and ``evidence`` are DataFrames, as
        `ground_values` and `find_evidence` return them; ``rows`` has the listed pairs, and ``code``
        is an expression for the selection. Where there is gold, a chosen value of it can be
        corrected: ``edits`` has the corrections, which ``xb.gold.corrections(view)`` takes.

    Raises
    ------
    InputError
        There is nothing to show, `side` is something else, or the PDF cannot be read.
    DatasetError
        The dataset has no such document.
    MissingPdfError
        The document has no PDF.
    ConfigError
        ipywidgets or anywidget are not installed.
    """
    notebook_libraries()
    from extractbench_nb.widgets.evidence_view import EvidenceView

    return EvidenceView(ds, document, subject, side=side, editable=True)


def workbench(
    metric: str | Callable[..., Any] | Mapping[str, Any],
    cases: Any,
    *,
    baseline: str | Callable[..., Any] | Mapping[str, Any] | None = None,
    field: str | None = None,
    judge: str | Judge = "offline",
    profile: str | Profile = "paper",
) -> View:
    """Tune a metric on cases: its params as sliders, live scores, flips, a threshold curve.

    Parameters
    ----------
    metric : str, callable or dict
        Name of a metric or preset, a function registered with `metric`, or an
        ``evaluation_config``; its declared params become controls.
    cases : pandas.DataFrame, list, Evaluation or Evaluations
        Columns gold and predicted, perhaps expected (bool: the verdict of people), and any others,
        which are shown; a list of tuples ``(gold, predicted)`` or ``(gold, predicted, expected)``;
        or an Evaluation, Evaluations or a frame of their fields, whose values of the types that the
        metric is meant for are taken.
    baseline : str, callable or dict, optional
        Another metric to compare with, in the same forms; by default this one as it is at first.
    field : str, optional
        For an Evaluation: the field whose values to take, ``authors[].name``.
    judge : str or Judge, optional
        See `evaluate`. It is asked once about each pair of texts, however the params change.
    profile : str or Profile, optional
        See `evaluate`.

    Returns
    -------
    View
        A widget, to be the last value of a cell. ``params`` can be read, assigned and observed;
        ``results`` and ``curve`` are DataFrames, ``config`` is what to write in a schema.

    Raises
    ------
    ConfigError
        The metric is not known, its params are wrong, or ipywidgets or anywidget are not installed.
    InputError
        The cases cannot be read, the field or the judge is not known, or the function is not
        registered.
    """
    notebook_libraries()
    from extractbench_nb.widgets.workbench_view import Workbench

    return Workbench(metric, cases, baseline=baseline, field=field, judge=judge, profile=profile)
