"""Views for notebooks: each is one widget with a static fallback, plain HTML without JavaScript."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import as_pandas
from extractbench_nb.core.schema import parse_schema
from extractbench_nb.errors import InputError
from extractbench_nb.runs import Evaluations
from extractbench_nb.views.static import notebook_libraries

if TYPE_CHECKING:
    from pathlib import Path

    from extractbench_nb.construction import Documents, Retriever, TableDataset
    from extractbench_nb.core import Profile
    from extractbench_nb.core.text import Judge
    from extractbench_nb.runs import Dataset
    from extractbench_nb.views.view import View


def show(  # noqa: PLR0913 - options, all but two by name
    subject: Any,
    evaluation: Any = None,
    *,
    name: str | None = None,
    title: str = "",
    pdf: str | Path | None = None,
    documents: Documents | None = None,
    retriever: str | Retriever | None = None,
    image: Any = None,
    true: Any = None,
) -> View:
    """Show a schema, an evaluation, the evaluations of many runs, two tables, or detected objects.

    Parameters
    ----------
    subject : Schema, dict, pathlib.Path, str, or a result
        A schema in a form that `evaluate` accepts; an Evaluation; Evaluations or TableEvaluations,
        which are shown as by `explore`; the result of `grits`, ``construction.compare`` or
        `from_objects`; or one TableImage from `load_images`.
    evaluation : Evaluation, Evaluations or pandas.DataFrame, optional
        Adds a mean score and a bar of outcomes to every node of a schema.
    name : str, optional
        Expression for the result in the notebook, such as ``"results['quill']"``, used in the code
        to copy; by default ``"ev"``, ``"comparison"`` or ``"found"``.
    title : str, optional
        Title of the view of an Evaluation; by default run and document, or `name`.
    pdf : str or pathlib.Path, optional
        The document of an Evaluation, to look up its fields on the page.
    documents : TableTask, dict, list, str or pathlib.Path, optional
        The documents of a TableComparison, to show the chunks that contain the selected value.
    retriever : str or construction.Retriever, optional
        The retriever whose rank is shown with each chunk, such as ``"bm25"``.
    image : PIL.Image.Image, ndarray, PageImage, str or pathlib.Path, optional
        The picture in which the objects of a ResolvedTable were detected; white by default.
    true : Table, or an input of `read_table`, optional
        The true table, for a comparison with the table of a ResolvedTable by `grits`.

    Returns
    -------
    View
        A widget, which is displayed as the last value of a notebook cell. Its selection and filters
        are attributes that can be read, assigned and observed. ``code`` is an expression for the
        shown data, and ``save(path)`` and ``to_html()`` write a static fallback.

    Raises
    ------
    InputError
        `subject` has no view. `evaluation` is given although `subject` is not a schema, or it has
        no fields or belongs to other schemas. `name` is not a Python expression for a variable.
        `image` cannot be read, or its size differs from the image of the objects.
    SchemaError
        `subject` is neither a result nor a valid schema.
    UnavailableError
        ipywidgets or anywidget are not installed.
    """
    is_batch = isinstance(subject, Evaluations) or _is_a(
        subject, "construction", "TableEvaluations"
    )
    is_comparison = _is_a(subject, "construction", "TableComparison")
    is_grits = _is_a(subject, "tables", "GriTS")
    has_objects = _is_a(subject, "tables", "ResolvedTable", "TableImage")
    is_result = is_batch or is_comparison or is_grits or has_objects
    if evaluation is not None and (is_result or isinstance(subject, Evaluation)):
        raise InputError(
            f"show() got a second argument beside {type(subject).__name__}; "
            "show(schema, evaluation) colours a schema's tree"
        )
    if is_batch:
        return explore(subject)
    notebook_libraries()
    named: dict[str, Any] = {} if name is None else {"name": name}
    if isinstance(subject, Evaluation):
        from extractbench_nb.views.evaluation_view import EvaluationView

        return EvaluationView(subject, title=title, pdf=pdf, **named)
    if is_comparison:
        from extractbench_nb.views.construction_view import ConstructionView

        return ConstructionView(subject, documents=documents, retriever=retriever, **named)
    if has_objects:
        from extractbench_nb.views.objects_view import ObjectsView

        return ObjectsView(subject, image=image, true=true, **named)
    if is_grits:
        from extractbench_nb.views.tables_view import TableView

        return TableView(subject)
    is_frame = isinstance(as_pandas(subject), pd.DataFrame | list | tuple)
    if is_frame or _is_a(subject, "tables", "TableResult"):
        raise InputError(
            f"subject is of type {type(subject).__name__}; show() takes a schema, an Evaluation, "
            "Evaluations, what construction.compare(), grits() or from_objects() returns, or one "
            "image of load_images(); explore() also takes frames of fields and lists"
        )
    from extractbench_nb.views.schema_view import SchemaExplorer

    return SchemaExplorer(parse_schema(subject), evaluation)


def _is_a(subject: Any, room: str, *kinds: str) -> bool:
    """Whether something is of a class of a room: who has one has imported the room."""
    module = sys.modules.get(f"extractbench_nb.{room}")
    return module is not None and isinstance(subject, tuple(getattr(module, k) for k in kinds))


def show_matches(
    ev: Evaluation, path: str | None = None, *, name: str = "ev", pdf: str | Path | None = None
) -> View:
    """Show how the items of an array are paired: gold and predicted items side by side.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    path : str, optional
        The array: its instance path, ``$.authors``, or its field, ``authors`` or ``authors[]``.
        Optional if the evaluation has one array.
    name : str, optional
        Variable of the Evaluation in the notebook, used in the code to copy.
    pdf : str or pathlib.Path, optional
        The PDF of the document, to show values of a pair on their page.

    Returns
    -------
    View
        A widget. ``path``, ``selected_pair``, ``thresholds``, ``status``, ``field``, ``text``,
        ``sort`` and ``page`` can be read, assigned and observed; ``matches`` and ``summary`` are
        frames at these thresholds, and ``rows`` has the listed matches.

    Raises
    ------
    InputError
        `ev` is not an Evaluation, `name` is not a valid name, or `path` does not identify one
        array.
    UnavailableError
        ipywidgets or anywidget are not installed.

    Notes
    -----
    At another ``align_threshold`` or ``pass_threshold`` the document is evaluated again. These are
    fixed if a judge, a matcher or accepted alternatives were used.
    """
    notebook_libraries()
    from extractbench_nb.views.matches_view import MatchesView

    return MatchesView(ev, path, name=name, pdf=pdf)


def explore(  # noqa: PLR0913 - options by name
    source: Any,
    *,
    rows: str = "field",
    columns: str | None = None,
    measure: str = "score",
    dataset: Dataset | TableDataset | None = None,
    citations: pd.DataFrame | None = None,
    name: str | None = None,
) -> View:
    """Show where and how runs fail, with a heatmap and the values of its cells, failures first.

    Parameters
    ----------
    source : Evaluations, Evaluation, ScoredResult, pandas.DataFrame, mapping or list
        Results with the frame `fields` or `rows`, or this frame, in a form that `breakdown`
        accepts.
    rows : str, optional
        Rows of the heatmap: ``field``, ``document`` or ``run``.
    columns : str, optional
        Columns of the heatmap; by default ``document``, or the axis with more than one value.
    measure : str, optional
        Values of the cells: ``score``, the mean over documents, with the same weight for each as in
        ``Evaluations.by_run``, or ``pass_rate``.
    dataset : Dataset or TableDataset, optional
        The dataset with the PDFs or documents, to show values in their context.
    citations : pandas.DataFrame, optional
        The pages that outputs cite for their values, as `xb.pdf.score_citations` takes them with
        `dataset`; ``selection`` has the verdicts in the column citation.
    name : str, optional
        Variable of `source` in the notebook, used in the code to copy; by default ``"evs"``, or
        ``"fields"`` for a frame.

    Returns
    -------
    View
        A widget. ``selection`` has the rows of the selected cells, and ``code`` is a line of pandas
        that returns them; ``location`` has all selections as JSON values, to be assigned to another
        view.

    Raises
    ------
    InputError
        The source has no fields, an axis or the measure is unknown, `name` is not a valid name, or
        a citation is invalid.
    UnavailableError
        ipywidgets or anywidget are not installed.
    """
    notebook_libraries()
    from extractbench_nb.views.failures_view import FailureExplorer

    return FailureExplorer(
        source,
        rows=rows,
        columns=columns,
        measure=measure,
        dataset=dataset,
        citations=citations,
        name=name,
    )


def show_evidence(
    ds: Dataset | None,
    document: str | Path,
    subject: Any = None,
    *,
    side: str = "predicted",
    citations: pd.DataFrame | None = None,
) -> View:
    """Show where values occur in a document: gold and predicted values next to the PDF page.

    Parameters
    ----------
    ds : Dataset or None
        As `load_dataset` returns it; None if `document` is a path.
    document : str or pathlib.Path
        The id of a document, or the path of any PDF.
    subject : Evaluation, dict, list, str, int, float or None, optional
        The values to find: those of gold and prediction of an Evaluation, or the leaves of a JSON
        value. By default the gold of `document`.
    side : {"predicted", "gold"}, optional
        The side of an Evaluation that ``selected_path`` and ``values`` initially refer to.
    citations : pandas.DataFrame, optional
        The pages that an output cites for its values, as `xb.pdf.score_citations` takes them; the
        list shows the verdict of each.

    Returns
    -------
    View
        A widget. ``values`` and ``evidence`` are frames, as `ground_values` and `find_evidence`
        return them. A selected gold value can be corrected: ``xb.gold.corrections(view)``.

    Raises
    ------
    InputError
        There are no values to show, `side` is unknown, or the PDF cannot be read.
    DatasetError
        The document is not in the dataset. One without a PDF is listed without places.
    UnavailableError
        ipywidgets or anywidget are not installed.
    """
    notebook_libraries()
    from extractbench_nb.views.evidence_view import EvidenceView

    return EvidenceView(ds, document, subject, side=side, citations=citations, editable=True)


def workbench(
    metric: str | Callable[..., Any] | Mapping[str, Any],
    cases: Any,
    *,
    baseline: str | Callable[..., Any] | Mapping[str, Any] | None = None,
    field: str | None = None,
    judge: str | Judge = "offline",
    profile: str | Profile = "strict",
) -> View:
    """Try a metric on cases, with controls for its params, live scores and a threshold curve.

    Parameters
    ----------
    metric : str, callable or dict
        Name of a metric or preset, a function registered with `metric`, or an
        ``evaluation_config`` of one metric; its declared params become controls.
    cases : pandas.DataFrame, list, Evaluation or Evaluations
        A frame with the columns gold and predicted, optionally expected (bool: the verdict of
        people); a list of such tuples; or an Evaluation, Evaluations or a frame of their fields,
        from which the values of the metric's types are taken.
    baseline : str, callable or dict, optional
        A metric to compare with, in the same forms. By default the verdicts that the cases bring
        in a column ``passed``, else `metric` with its initial params.
    field : str, optional
        For an Evaluation: the field whose values are the cases, such as ``authors[].name``.
    judge, profile : object, optional
        See `evaluate`. A judge is called once per pair of texts, also if the params change.

    Returns
    -------
    View
        A widget. ``params`` can be read, assigned and observed; ``results`` and ``curve`` are
        frames, and ``config`` is the ``evaluation_config`` for a schema.

    Raises
    ------
    ConfigError
        The metric is unknown, or its params are wrong.
    UnavailableError
        ipywidgets or anywidget are not installed.
    InputError
        The cases cannot be read, the field or the judge is unknown, or the function is not
        registered.
    """
    notebook_libraries()
    from extractbench_nb.views.workbench_view import Workbench

    return Workbench(metric, cases, baseline=baseline, field=field, judge=judge, profile=profile)
