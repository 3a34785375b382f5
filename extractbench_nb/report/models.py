"""The content of a report as frozen records; their fields are the keys of ``report.json``.

Names and meanings are those of the published package where it has them, so that a program that
reads its ``report.json`` reads ours too. Other fields are additions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from extractbench_nb.evaluation.result import Evaluation


@dataclass(frozen=True)
class SchemaStats:
    """The shape of the schema, with references resolved, recursive ones once.

    Attributes
    ----------
    total_nodes : int
        Nodes of the schema: the root, properties, items, maps, branches.
    counts_by_type : dict of str to int
        Nodes by type; ``anyof`` for every kind of union, ``any`` for nodes without a type.
    required_keys_count, optional_keys_count : int
        Properties that their object requires, and the other properties.
    required_by_type, optional_by_type : dict of str to int
        The same by type.
    """

    total_nodes: int
    counts_by_type: dict[str, int]
    required_keys_count: int
    optional_keys_count: int
    required_by_type: dict[str, int] = field(default_factory=dict)
    optional_by_type: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ArrayStats:
    """The arrays of one document, nested ones included.

    Attributes
    ----------
    array_field_count : int
        Arrays.
    total_items : int
        Items of all of them.
    min_length, median_length, max_length : int or float
        Shortest, median and longest length.
    """

    array_field_count: int
    total_items: int
    min_length: int
    median_length: float
    max_length: int


@dataclass(frozen=True)
class ContentStats:
    """The content of one document.

    Attributes
    ----------
    label : str
        ``gold`` or ``extracted``.
    total_keys : int
        Keys of all objects, at any depth.
    counts_by_type : dict of str to int
        The values of those keys by JSON type, without array items.
    array_stats : ArrayStats or None
        None if there is no array.
    null_count : int
        Keys whose value is null.
    missing_count : int
        Evaluated fields whose key this document lacks.
    """

    label: str
    total_keys: int
    counts_by_type: dict[str, int]
    array_stats: ArrayStats | None = None
    null_count: int = 0
    missing_count: int = 0


@dataclass(frozen=True)
class CoverageStats:
    """The leaves of the two documents, regardless of their values; array items by index.

    A leaf is a scalar, a null, or an empty array or object under a key.

    Attributes
    ----------
    present_in_both : int
        Leaves in both.
    missing_in_extracted, missing_paths : int, list of str
        Leaves in gold only, and their paths, sorted.
    spurious_in_extracted, spurious_paths : int, list of str
        Leaves in the extracted document only, and their paths, sorted.
    required_missing, required_missing_paths : int, list of str
        Keys outside of arrays that the schema requires, gold has and the extracted document lacks.
    """

    present_in_both: int
    missing_in_extracted: int
    spurious_in_extracted: int
    required_missing: int
    missing_paths: list[str] = field(default_factory=list)
    spurious_paths: list[str] = field(default_factory=list)
    required_missing_paths: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReportWarning:
    """A problem that does not affect the scores.

    Attributes
    ----------
    side : str
        ``gold``, ``predicted`` or ``schema``.
    path : str
        Path of the value.
    kind : str
        ``undeclared``, ``ignored_param``, or the violated keyword.
    message : str
        The problem.
    """

    side: str
    path: str
    kind: str
    message: str


@dataclass(frozen=True)
class ReportRule:
    """What a cross-field rule says of the two documents; see `rule`.

    Attributes
    ----------
    rule, applies_to : str
        Its name, and the schemas it applies to; ``*`` is every schema.
    outcome_gold, outcome_extracted : str or None
        ``holds``, ``broken``, ``not_applicable`` or ``error``; None if the text is not JSON.
    paths_gold, paths_extracted : list of str
        Instance paths at fault.
    message : str or None
        Why there is no verdict.
    finding : str or None
        ``suspect_gold``, ``suspect_prediction``, ``rule_error`` or None.
    """

    rule: str
    applies_to: str
    outcome_gold: str
    outcome_extracted: str | None
    paths_gold: list[str]
    paths_extracted: list[str]
    message: str | None
    finding: str | None


@dataclass(frozen=True)
class ArrayItem:
    """One item of an array and its status.

    Attributes
    ----------
    gold_index, extracted_index : int or None
        Its index in either array; None without a partner.
    similarity : float or None
        Mean score of its fields, in [0, 1]; None without a partner.
    failed_fields : list of str
        The fields that prevent a match.
    gold_value, extracted_value : object
        The item on either side.
    """

    gold_index: int | None
    extracted_index: int | None
    similarity: float | None
    failed_fields: list[str]
    gold_value: Any
    extracted_value: Any


@dataclass(frozen=True)
class ArrayBreakdown:
    """One array outside all other arrays, with all its items.

    A partial pair counts as one missed and one spurious item, and is listed as partial only.

    Attributes
    ----------
    path, normalized_path : str
        Path in the schema, with the keys of maps, and path in the document.
    counted : bool
        Whether the array is a field of its own; in profile ``strict`` its leaves count instead.
    matched, missed_gold : int or None
        Gold items that were found, and gold items that were not. These and the next two are None if
        the items were not aligned.
    spurious_pred : int or None
        Extracted items that gold does not have.
    partial : int or None
        Pairs that are similar but do not match.
    precision, recall : float or None
        matched / (matched + spurious_pred) and matched / (matched + missed_gold), in [0, 1]; None
        for 0 / 0.
    f1 : float or None
        Harmonic mean of the two, in [0, 1]; None if there are no items.
    score : float or None
        In [0, 1], under the profile; None if a judge failed.
    passed : bool or None
        Whether the score passes.
    matched_items, partial_items : list of ArrayItem
        Pairs that match, and pairs that are only similar.
    missed_items, spurious_items : list of ArrayItem
        Gold items and extracted items without a partner.
    """

    path: str
    normalized_path: str
    counted: bool
    matched: int | None
    missed_gold: int | None
    spurious_pred: int | None
    partial: int | None
    precision: float | None
    recall: float | None
    f1: float | None
    score: float | None
    passed: bool | None
    matched_items: list[ArrayItem] = field(default_factory=list)
    partial_items: list[ArrayItem] = field(default_factory=list)
    missed_items: list[ArrayItem] = field(default_factory=list)
    spurious_items: list[ArrayItem] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether neither side has an item."""
        return self.matched is not None and not (
            self.matched or self.missed_gold or self.spurious_pred
        )


@dataclass(frozen=True)
class ConfusionCounts:
    """Counted rows with a verdict (one per field and metric), as the published package counts.

    Attributes
    ----------
    true_positive : int
        Passed, both values present.
    false_positive : int
        Failed, gold absent and the extracted value present.
    false_negative : int
        Failed, gold present: a wrong value, an omission or a structural fault.
    true_negative : int
        Passed, both values absent.
    """

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def precision(self) -> float:
        """TP / (TP + FP); 1 where nothing was extracted."""
        found = self.true_positive + self.false_positive
        return self.true_positive / found if found else 1.0

    @property
    def recall(self) -> float:
        """TP / (TP + FN); 1 where there was nothing to extract."""
        wanted = self.true_positive + self.false_negative
        return self.true_positive / wanted if wanted else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True)
class ErrorSplit:
    """The failed fields by cause: each evaluated field that did not pass is in exactly one count.

    A field with several metrics counts once, with its most severe outcome; the sum is
    ``OutcomeStats.total_failed``.

    Attributes
    ----------
    omission, hallucination : int
        Only gold, or only the extracted document, has a value.
    wrong_value : int
        Both have a value, and the values differ.
    structural : int
        The extracted value has a type that neither schema nor gold has.
    judge_error : int
        There is no verdict, because a judge or a metric failed.
    """

    omission: int
    hallucination: int
    wrong_value: int
    structural: int
    judge_error: int


@dataclass(frozen=True)
class LowScoringField:
    """A field that a judge scored low.

    Attributes
    ----------
    path : str
        Its normalized path.
    metric_id : str
        The judged metric.
    score : float
        In [0, 1].
    reasoning : str
        The judge's reasoning, shortened; ``""`` if there is none.
    """

    path: str
    metric_id: str
    score: float
    reasoning: str


@dataclass(frozen=True)
class ModelCalls:
    """The calls of one model.

    Attributes
    ----------
    calls : int
        Rows of ``Evaluation.judge_calls``.
    cached, failed : int
        Answers from the cache, without a request; calls without a readable answer.
    requests : int
        Requests, retries included.
    prompt_tokens, completion_tokens : int
        Tokens of all requests, as far as the provider reports them.
    cost_usd : float or None
        In US dollars; None if the price or the tokens of an answer are unknown.
    """

    calls: int
    cached: int
    failed: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


@dataclass(frozen=True)
class LlmStats:
    """The scores of a judge, and their cost.

    Attributes
    ----------
    call_count : int
        Calls of a language model; 0 with the offline judge.
    avg_score, median_score : float or None
        Mean and median over the judged rows, in [0, 1]; None if there is none.
    score_distribution : dict of str to int
        Judged rows by score, in five buckets of 0.2.
    top_lowest_fields : list of LowScoringField
        The lowest scores first.
    judged_fields : int
        Counted rows in which both values are present and a judge gave the verdict.
    cost_usd : float or None
        Cost of the calls in US dollars; None if the price or the tokens of an answer are unknown.
    by_model : dict of str to ModelCalls
        The calls of each model; empty with the offline judge.
    """

    call_count: int
    avg_score: float | None
    median_score: float | None
    score_distribution: dict[str, int]
    top_lowest_fields: list[LowScoringField] = field(default_factory=list)
    judged_fields: int = 0
    cost_usd: float | None = 0.0
    by_model: dict[str, ModelCalls] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorGroup:
    """Failed rows of one category.

    Attributes
    ----------
    category : str
        A key of ``ErrorBreakdown.by_reason``.
    count, paths : int, list of str
        Number of rows, and their normalized paths.
    """

    category: str
    count: int
    paths: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ErrorBreakdown:
    """The counted rows that did not pass, grouped three ways.

    Attributes
    ----------
    by_path_prefix, by_metric_type : dict of str to int
        Rows by the first step of the path, and by metric.
    by_reason : dict of str to int
        ``gold_absent``, ``extracted_absent``, ``mismatch`` (of types), ``semantic_mismatch``,
        ``numeric_mismatch``, ``value_mismatch`` or ``judge_error``.
    details : list of ErrorGroup
        The last grouping with its paths, the largest group first.
    """

    by_path_prefix: dict[str, int]
    by_metric_type: dict[str, int]
    by_reason: dict[str, int]
    details: list[ErrorGroup] = field(default_factory=list)


@dataclass(frozen=True)
class FieldOutcome:
    """One counted row: a field and a metric.

    Attributes
    ----------
    path : str
        Path in the schema, with the keys of maps and the indices of items; unique per metric.
    normalized_path : str
        Path in the document, ``borrower.name``.
    metric_id : str
        The metric.
    score : float or None
        In [0, 1]; None if no verdict was given.
    passed : bool
        Whether the score passes; False where no verdict was given.
    reason : str or None
        The reason, with the names of the published package.
    gold_value, extracted_value : object
        The values; None if null or missing.
    reasoning : str or None
        A judge's reasoning, shortened.
    matched, missed_gold, spurious_pred, precision, recall, f1 : int or float or None
        Those of `array_breakdown`; None if the field is not an array.
    outcome : str
        ``correct``, ``incorrect``, ``omission``, ``hallucination``, ``structural``,
        ``both_absent`` or ``judge_error``.
    gold_state, extracted_state : str
        ``present``, ``null``, ``missing`` or ``empty``.
    field : str
        The normalized path without indices.
    required : bool
        Whether the schema requires the key.
    weight : float
        The node's ``aggregation_weight``.
    array_breakdown : ArrayBreakdown or None
        Counts and items if the field is an array.
    accepted_as : str or None
        The value in the accepted alternative that scored, as JSON text; None if gold's own did.
    """

    path: str
    normalized_path: str
    metric_id: str
    score: float | None
    passed: bool
    reason: str | None = None
    gold_value: Any = None
    extracted_value: Any = None
    reasoning: str | None = None
    matched: int | None = None
    missed_gold: int | None = None
    spurious_pred: int | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    outcome: str = ""
    gold_state: str = ""
    extracted_state: str = ""
    field: str = ""
    required: bool = False
    weight: float = 1.0
    array_breakdown: ArrayBreakdown | None = None
    accepted_as: str | None = None


@dataclass(frozen=True)
class OutcomeStats:
    """Counts over the evaluated fields.

    The totals count fields, a field with several metrics once. The ``pass_by_...`` counts and the
    confusion matrix count rows, one per field and metric.

    Attributes
    ----------
    total_evaluated, total_passed : int
        Fields, and fields that pass.
    total_failed : int
        ``total_evaluated - total_passed``, which includes fields without a verdict.
    pass_rate : float
        In [0, 1], weighted by ``aggregation_weight`` if the profile uses weights.
    pass_by_metric, pass_by_type, pass_by_required : dict of str to dict
        ``{"passed": rows, "failed": rows}`` by metric, by the type of the metric or else of the
        value, and by ``required`` and ``optional``.
    confusion : ConfusionCounts
        Rows with a verdict.
    llm_stats : LlmStats or None
        None if no field was judged.
    error_breakdown : ErrorBreakdown or None
        None if every row passed.
    split : ErrorSplit
        The failed fields by cause; sums to ``total_failed``.
    judge_errors : int
        Fields without a verdict.
    pass_rate_judged : float or None
        Pass rate of the fields with a verdict; None if there is none.
    """

    total_evaluated: int
    total_passed: int
    total_failed: int
    pass_rate: float
    pass_by_metric: dict[str, dict[str, int]]
    pass_by_type: dict[str, dict[str, int]]
    pass_by_required: dict[str, dict[str, int]]
    confusion: ConfusionCounts
    llm_stats: LlmStats | None
    error_breakdown: ErrorBreakdown | None
    split: ErrorSplit
    judge_errors: int
    pass_rate_judged: float | None


@dataclass(frozen=True)
class EvaluationReport:
    """The content of a report on one document. Made by `ReportBuilder`.

    Attributes
    ----------
    output_name : str
        Name of the report, and of its folder.
    timestamp : str
        When it was made, ISO 8601, local time.
    schema_hash, gold_hash, extracted_hash : str
        First 8 hex digits of the SHA-256 of schema, gold and extracted document as JSON with
        sorted keys.
    schema_stats : SchemaStats
        The shape of the schema.
    gold_stats, extracted_stats : ContentStats
        The content of the two documents.
    coverage : CoverageStats
        Leaves that both have, or only one.
    outcomes : OutcomeStats
        Counts over the evaluated fields.
    field_outcomes : list of FieldOutcome
        One per counted field and metric.
    overall_score : float
        In [0, 1]; an array weighs as much as gold has items.
    overall_pass_rate : float
        In [0, 1]; fields that pass.
    field_score : float
        In [0, 1]; every field weighs the same.
    array_breakdowns : list of ArrayBreakdown
        The arrays with their items.
    gold_coverage : float
        In [0, 1]; share of gold's leaves that the schema declares.
    warnings : list of ReportWarning
        Undeclared keys, violations of the schema, faults of gold.
    problem : str or None
        The parser's message if the extracted text is not JSON.
    profile, judge, alignment : str
        The profile, the judge, and the alignment of items.
    versions : dict of str to str
        Versions of ``extractbench_nb``, ``pandas`` and ``python``.
    evaluation : Evaluation
        The evaluation behind the report; not in ``report.json``.
    rules : list of ReportRule
        The cross-field rules that apply to the schema.
    """

    output_name: str
    timestamp: str
    schema_hash: str
    gold_hash: str
    extracted_hash: str
    schema_stats: SchemaStats
    gold_stats: ContentStats
    extracted_stats: ContentStats
    coverage: CoverageStats
    outcomes: OutcomeStats
    field_outcomes: list[FieldOutcome]
    overall_score: float
    overall_pass_rate: float
    field_score: float
    array_breakdowns: list[ArrayBreakdown]
    gold_coverage: float
    warnings: list[ReportWarning]
    problem: str | None
    profile: str
    judge: str
    alignment: str
    versions: dict[str, str]
    evaluation: Evaluation = field(repr=False, compare=False)
    rules: list[ReportRule] = field(default_factory=list)

    def __repr__(self) -> str:
        """Write name and scores in one line, outcomes in another."""
        o, split = self.outcomes, self.outcomes.split
        wrong = ", ".join(f"{n} {name}" for name, n in vars(split).items() if n)
        return (
            f"EvaluationReport {self.output_name!r}: overall {self.overall_score:.3f} · "
            f"field {self.field_score:.3f} · pass rate {self.overall_pass_rate:.1%}\n"
            f"  {o.total_passed} of {o.total_evaluated} fields pass"
            + (f"; failed: {wrong.replace('_', ' ')}" if wrong else "")
        )

    def _repr_html_(self) -> str:
        from extractbench_nb.display.html import document_text
        from extractbench_nb.evaluation.result import evaluation_html

        name = document_text(self.output_name, 120)
        return f"<div><strong>Report {name}</strong></div>{evaluation_html(self.evaluation)}"
