"""What a report says about the evaluated fields, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from extractbench_nb.report.items import ArrayBreakdown

__all__ = [
    "ConfusionCounts",
    "ErrorBreakdown",
    "ErrorGroup",
    "ErrorSplit",
    "FieldOutcome",
    "LlmStats",
    "LowScoringField",
    "ModelCalls",
    "OutcomeStats",
]


@dataclass(frozen=True)
class ConfusionCounts:
    """Counted rows (one a field and metric) that have a verdict, as the published package counts.

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
    """What went wrong: every evaluated field that did not pass is in exactly one count.

    A field with several metrics counts once, with its gravest outcome; the sum is
    ``OutcomeStats.total_failed``.

    Attributes
    ----------
    omission : int
        Gold has a value, the extracted document has none.
    hallucination : int
        The extracted document has a value, gold has none.
    wrong_value : int
        Both have one, and they differ.
    structural : int
        The extracted value is of a type that neither schema nor gold has.
    judge_error : int
        No verdict: a judge or a metric failed.
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
        The judge's words, shortened; ``""`` where it gave none.
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
    cached : int
        Answers that were at hand: nothing was asked for them.
    failed : int
        Calls without an answer that can be read.
    requests : int
        Requests that were made, those for another attempt included.
    prompt_tokens, completion_tokens : int
        Tokens of all requests, as far as the provider counts them.
    cost_usd : float or None
        In US dollars; None where the price or the tokens of an answer are not known.
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
    """What a judge decided, and what that cost.

    Attributes
    ----------
    call_count : int
        Calls of a language model; 0 with the offline judge.
    avg_score : float or None
        Mean over the judged rows, in [0, 1]; None where there is none.
    median_score : float or None
        Their median.
    score_distribution : dict of str to int
        Judged rows by score, in five buckets of 0.2.
    top_lowest_fields : list of LowScoringField
        The lowest scores first.
    judged_fields : int
        Counted rows in which both values are present and a judge gave the verdict.
    cost_usd : float or None
        What the calls cost, in US dollars; None where the price or the tokens of an answer are not
        known.
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
    count : int
        Rows.
    paths : list of str
        Their normalized paths.
    """

    category: str
    count: int
    paths: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ErrorBreakdown:
    """The counted rows that did not pass, grouped three ways.

    Attributes
    ----------
    by_path_prefix : dict of str to int
        By the first step of the path.
    by_metric_type : dict of str to int
        By metric.
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
        In [0, 1]; None where no verdict was given.
    passed : bool
        Whether the score passes; False where no verdict was given.
    reason : str or None
        Why, in the words of the published package.
    gold_value : object
        Gold's value; None where null or missing.
    extracted_value : object
        The extracted value; None where null or missing.
    reasoning : str or None
        A judge's words, shortened.
    matched : int or None
        Gold items that were found, where the field is an array.
    missed_gold : int or None
        Gold items that were not.
    spurious_pred : int or None
        Extracted items that gold does not have.
    precision : float or None
        matched / (matched + spurious_pred); None also where that is 0 / 0.
    recall : float or None
        matched / (matched + missed_gold); None also where that is 0 / 0.
    f1 : float or None
        Harmonic mean of the two; None also where there are no items.
    outcome : str
        ``correct``, ``incorrect``, ``omission``, ``hallucination``, ``structural``,
        ``both_absent`` or ``judge_error``.
    gold_state : str
        ``present``, ``null``, ``missing`` or ``empty``.
    extracted_state : str
        The same of the other side.
    field : str
        The normalized path with the indices taken out.
    required : bool
        Whether the schema requires the key.
    weight : float
        The node's ``aggregation_weight``.
    array_breakdown : ArrayBreakdown or None
        The counts again with the items themselves, where the field is an array.
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


@dataclass(frozen=True)
class OutcomeStats:
    """Counts over what was evaluated.

    The totals count fields, a field with several metrics once. The ``pass_by_...`` counts and the
    confusion matrix count rows, one a field and metric.

    Attributes
    ----------
    total_evaluated : int
        Fields.
    total_passed : int
        Fields that pass.
    total_failed : int
        ``total_evaluated - total_passed``: those without a verdict are among them.
    pass_rate : float
        In [0, 1], weighted by ``aggregation_weight`` where the profile says so.
    pass_by_metric : dict of str to dict
        ``{"passed": rows, "failed": rows}`` by metric.
    pass_by_type : dict of str to dict
        The same by the type of the metric, else of the value.
    pass_by_required : dict of str to dict
        The same by ``required`` and ``optional``.
    confusion : ConfusionCounts
        Rows with a verdict.
    llm_stats : LlmStats or None
        None where no judge was needed.
    error_breakdown : ErrorBreakdown or None
        None where every row passed.
    split : ErrorSplit
        What went wrong; sums to ``total_failed``.
    judge_errors : int
        Fields without a verdict.
    pass_rate_judged : float or None
        Pass rate of the fields with a verdict; None where there is none.
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
