"""Alignment of array items by a language model: batches, requests, checked pairs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from extractbench_nb.core import estimated_blocks, pair_equal
from extractbench_nb.core.schema import Node
from extractbench_nb.core.text import JudgeCall, JudgeError
from extractbench_nb.errors import ExtractBenchError, InputError
from extractbench_nb.judges.llm import LLM, Shown, check_number
from extractbench_nb.judges.llm_judge import NO_PARAMS, LLMJudge, ModelJudge
from extractbench_nb.judges.prompts import (
    ALIGN_VERSION,
    ALIGNMENT_SCHEMA,
    AROUND_ANSWER,
    LINE_TOKENS,
    NAMED_ITEM,
    Message,
    align_messages,
    describe_fields,
    item_text,
    read_pairs,
    tokens_of,
)

#: The metric that stands for alignment.
ALIGNING = "array_llm"

#: Rounds of batches: the second one is for items that lost their partner, or found none.
_ROUNDS = 2
_FEWEST_ITEMS = 8
_FEWEST_TOKENS = 2_000
#: Candidates that are shown in any case; others must have this share of the best one's worth.
_ALWAYS = 2
_FAR_BEHIND = 0.5

#: The likeliest predicted items of a gold item, with how likely each is.
Partners = dict[int, float]


class Batch(NamedTuple):
    """Items that are shown in one call, by their index in the array."""

    gold: tuple[int, ...]
    predicted: tuple[int, ...]


class Limits(NamedTuple):
    """What fits into one call: tokens of all items, items of both sides, candidates per gold item.

    Each item is named in the answer. Candidates are the predicted items that are shown for a gold
    item if not all are.
    """

    tokens: int
    items: int
    candidates: int

    @property
    def of_an_item(self) -> int:
        """Tokens of one item at most, so that it fits with its candidates."""
        return max(1, self.tokens // (2 * self.candidates + 2))


def batches(
    gold: Mapping[int, int],
    predicted: Mapping[int, int],
    partners: Mapping[int, Partners],
    limits: Limits,
) -> list[Batch]:
    """Cut gold items with their partners into batches; `gold` and `predicted` have their tokens.

    Gold items whose best partners are near each other are gathered until a batch is full.
    """
    asked = [i for i in gold if partners.get(i)]
    asked.sort(key=lambda i: (max(partners[i], key=partners[i].__getitem__), i))
    gathered: list[tuple[set[int], set[int]]] = []
    for i in asked:
        ours, theirs = gathered[-1] if gathered else (set[int](), set[int]())
        ours, theirs = {*ours, i}, {*theirs, *partners[i]}
        tokens = sum(gold[k] for k in ours) + sum(predicted[k] for k in theirs)
        if gathered and tokens <= limits.tokens and len(ours) + len(theirs) <= limits.items:
            gathered[-1] = ours, theirs
        else:
            gathered.append(({i}, {*partners[i]}))
    return [Batch(tuple(sorted(ours)), tuple(sorted(theirs))) for ours, theirs in gathered]


def likely_partners(
    node: Node, gold: Sequence[Any], predicted: Sequence[Any], count: int
) -> list[Partners]:
    """Choose for each gold item the predicted items that are most like it.

    A gold item that is like none gets the items at its position.
    """
    chosen: list[Partners] = []
    for start, worth in estimated_blocks(node, gold, predicted):
        best = np.argsort(-worth, axis=1, kind="stable")[:, :count].tolist()
        for place, (row, columns) in enumerate(zip(worth, best, strict=True), start):
            mark = _FAR_BEHIND * row[columns[0]]
            likely = [j for n, j in enumerate(columns) if n < _ALWAYS or row[j] >= mark]
            partners = {j: float(row[j]) for j in likely if row[j] > 0.0}
            if not partners:
                middle = int(place / len(gold) * len(predicted)) - count // 2
                first = max(0, min(middle, len(predicted) - count))
                partners = dict.fromkeys(range(first, min(len(predicted), first + count)), 0.0)
            chosen.append(partners)
    return chosen


class Alignment(NamedTuple):
    """Which items belong together, as (gold index, predicted index), and the calls behind it."""

    pairs: list[tuple[int, int]]
    calls: tuple[JudgeCall, ...] = ()


@dataclass(eq=False, repr=False)
class LLMAligner(Shown):
    """An aligner of array items that uses a language model (ExtractBench paper, section 3.4).

    Parameters
    ----------
    judge : str, LLM or LLMJudge, optional
        The model: a LiteLLM model id, an `LLM` with its options, or a judge. By default the judge
        of the evaluation, if it is a model, or its first member that is one; else ``LLM()``.
    max_prompt_tokens : int, optional
        Maximum number of tokens of one question, 2,000 or more, counted with GPT-2's tokenizer.
        Larger arrays are sent in batches, and so are arrays whose answer would exceed the model's
        ``max_tokens``: with 2,048, more than 240 items of both sides.
    candidates : int, optional
        In batches, number of predicted items that each gold item is shown with, the most similar
        ones by offline similarity.

    Raises
    ------
    InputError
        An option is not allowed.

    Notes
    -----
    Equal items are paired without a request, and so are two items if no others are left. The answer
    is checked: every number in it must have been shown, and none may be in two pairs. After two bad
    answers, there is no alignment and no verdict on the array. Whether a pair matches is decided by
    the metrics of its fields, as after any other alignment.

    If two batches pair the same predicted item, the pair with the higher offline similarity is
    kept. Items without a partner are shown once more, with the most similar remaining items. An
    item without a similar one, as in a translation, is shown with the items at its position.

    The params of an array's ``array_llm`` override ``model``, ``temperature``, ``max_tokens`` and
    ``additional_instructions``.

    Examples
    --------
    >>> LLMAligner(LLMJudge("openai/gpt-4o-mini"), candidates=3).name
    'llm(openai/gpt-4o-mini)'
    """

    judge: Any = None
    _: KW_ONLY
    max_prompt_tokens: int = 16_000
    candidates: int = 5

    def __post_init__(self) -> None:
        """Check every value, and make the judge."""
        for name, least in (("max_prompt_tokens", _FEWEST_TOKENS), ("candidates", 1)):
            check_number(name, getattr(self, name), least, whole=True)
        if isinstance(self.judge, LLM) or (isinstance(self.judge, str) and "/" in self.judge):
            self.judge = LLMJudge(self.judge)
        if self.judge is not None and not isinstance(self.judge, ModelJudge):
            raise InputError(
                f"judge of an aligner is {self.judge!r}; expected a LiteLLM model id such as "
                "'openai/gpt-4o-mini', an LLM or an LLMJudge"
            )

    @property
    def name(self) -> str:
        """Name shown in results: ``llm(...)`` with the model, once it is chosen."""
        return "llm" if self.judge is None else f"llm({self.judge.name})"

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The settings that determine its alignments; compared when a batch is resumed."""
        judge = self.judge
        own = None if judge is None else getattr(judge, "fingerprint", judge.name)
        limits = {"max_prompt_tokens": self.max_prompt_tokens, "candidates": self.candidates}
        return {"judge": own, "prompts": ALIGN_VERSION} | limits

    def asking(self, judge: object) -> LLMAligner:
        """Return an aligner that uses its own judge, the given one, or the default model.

        Parameters
        ----------
        judge : object
            The judge of an evaluation.

        Returns
        -------
        LLMAligner
            Whose `judge` is not None.
        """
        if self.judge is not None:
            return self
        possible = [judge, *getattr(judge, "judges", ())]
        models = (one for one in possible if isinstance(one, ModelJudge))
        return replace(self, judge=next(models, None) or LLMJudge())

    def check(self, params: Mapping[str, Any] = NO_PARAMS) -> None:
        """Check that the model can be called, before any work and without network access.

        Parameters
        ----------
        params : mapping, optional
            The params of an array, which may name another model.

        Raises
        ------
        InputError, ConfigError, OutputError
            See `LLMJudge.check`.
        """
        if self.judge is not None:
            self.judge.check(params)

    async def align(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Alignment:
        """Align the items of one array.

        Parameters
        ----------
        node : Node
            The array.
        gold, predicted : sequence
            The items of both sides.

        Returns
        -------
        Alignment
            ``prefixItems`` are paired by position.

        Raises
        ------
        JudgeError
            A question has no answer that can be used; with all calls that were made.
        """
        items = node.children.items
        params = next((spec.params for spec in node.specs if spec.metric_id == ALIGNING), {})
        prefix = len(node.children.prefix)
        pairs = [(i, i) for i in range(min(prefix, len(gold), len(predicted)))]
        if items is None:
            return Alignment(pairs)
        try:
            equal, others, spurious = pair_equal(gold, predicted, prefix)
        except RecursionError:
            raise JudgeError("the items are nested too deep", reason="too_deep") from None
        pairs += equal
        # what is left on both sides
        left = {i: gold[i] for i in sorted(others)}
        right = {j: predicted[j] for j in sorted(spurious)}
        if len(left) == len(right) == 1:  # a pair, whatever they say
            return Alignment(sorted([*pairs, *zip(left, right, strict=True)]))
        calls: list[JudgeCall] = []
        shown: dict[int, set[int]] = {}  # predicted items that a gold item was shown with
        worth: dict[tuple[int, int], float] = {}
        for _ in range(_ROUNDS):
            if not left or not right:
                break
            compose, limits = self._form(node, items, params)
            texts = [_texts(side, limits.tokens) for side in (left, right)]
            fits = sum(sum(_sizes(side).values()) for side in texts) <= limits.tokens
            if fits and not shown and len(left) + len(right) <= limits.items:
                parts = [Batch(tuple(left), tuple(right))]
            else:
                if not fits:
                    texts = [_texts(side, limits.of_an_item) for side in (left, right)]
                most = limits.candidates + max(map(len, shown.values()), default=0)
                rows = likely_partners(items, [*left.values()], [*right.values()], most)
                places = list(right)
                partners: dict[int, Partners] = {}
                for i, row in zip(left, rows, strict=True):
                    worth.update({(i, places[place]): value for place, value in row.items()})
                    fresh = [j for j in map(places.__getitem__, row) if j not in shown.get(i, ())]
                    partners[i] = {j: worth[i, j] for j in fresh[: limits.candidates]}
                parts = batches(_sizes(texts[0]), _sizes(texts[1]), partners, limits)
            asks = []
            for part in parts:
                ours, theirs = (
                    {i: side[i][0] for i in ids} for side, ids in zip(texts, part, strict=True)
                )
                messages, mark = compose(ours, theirs)
                read = partial(read_pairs, mark=mark, gold=part.gold, predicted=part.predicted)
                asks.append(self.judge.answer(messages, read, ALIGNMENT_SCHEMA, params=params))
                for i in part.gold:
                    shown.setdefault(i, set()).update(part.predicted)
            claims = _claims(await asyncio.gather(*asks, return_exceptions=True), calls)
            for i, j in sorted(claims, key=lambda pair: (-worth.get(pair, 0.0), pair)):
                if i in left and j in right:  # of two that want the same item, the likelier
                    del left[i], right[j]
                    pairs.append((i, j))
        return Alignment(sorted(pairs), tuple(calls))

    def _form(
        self, node: Node, items: Node, params: Mapping[str, Any]
    ) -> tuple[Callable[..., tuple[tuple[Message, ...], str]], Limits]:
        """Return what composes a question, with the mark of its answer, and what fits into it."""
        llm, instructions = self.judge.settings_for(params)
        most = self.max_prompt_tokens
        fields = describe_fields(items, most // 4)
        compose = partial(align_messages, node, fields, instructions=instructions)
        room = most - tokens_of(m["content"] for m in compose({}, {})[0])
        if room < most // 4:
            raise JudgeError("the instructions take too much of max_prompt_tokens", (), "too_long")
        named = ((llm.max_tokens or 0) // 2 - AROUND_ANSWER) // NAMED_ITEM
        return compose, Limits(room, max(_FEWEST_ITEMS, named), self.candidates)


def _texts(items: Mapping[int, Any], most: int) -> dict[int, tuple[str, int]]:
    """Write down items, each with at most so many tokens, and count these."""
    return {index: item_text(item, most) for index, item in items.items()}


def _sizes(texts: Mapping[int, tuple[str, int]]) -> dict[int, int]:
    return {index: tokens + LINE_TOKENS for index, (_, tokens) in texts.items()}


def _claims(outcomes: Sequence[Any], calls: list[JudgeCall]) -> list[tuple[int, int]]:
    """Gather pairs and calls; one question without an answer leaves the array without alignment."""
    claims, errors = list[tuple[int, int]](), list[BaseException]()
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            errors.append(outcome)
            calls += getattr(outcome, "calls", ())
        else:
            claims += outcome[0]
            calls.append(outcome[1])
    for error in errors:
        if not isinstance(error, Exception) or isinstance(error, ExtractBenchError):
            raise error  # it cannot be asked at all, or is to stop
    if errors:
        first = errors[0]
        if not isinstance(first, JudgeError):
            first = JudgeError(f"{type(first).__name__}: {first}")
        many = f" ({len(errors)} of {len(outcomes)} calls on the array)"
        text = f"no alignment: {first.problem}{many if len(outcomes) > 1 else ''}"
        raise JudgeError(text, calls, first.reason)
    return claims
