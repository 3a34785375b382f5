"""`suspects`: places where the outputs of several runs agree with each other, but not with gold."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core import (
    PROFILES,
    OptimalAligner,
    Profile,
    resolve_union,
)
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import Children, Node, Schema, parse_schema
from extractbench_nb.core.text import OfflineJudge
from extractbench_nb.core.values import (
    PATH_STEP,
    canonical_unordered,
    json_text,
    scalars,
)
from extractbench_nb.errors import InputError, MissingPdfError
from extractbench_nb.gold.checks import audit
from extractbench_nb.pdf import PdfText, index_of, look_up, squash
from extractbench_nb.runs import Dataset, Evaluations
from extractbench_nb.stats import KIND_COLUMN, mismatch_kind
from extractbench_nb.support.concurrency import progress_bar
from extractbench_nb.support.folding import is_placeholder

#: The kinds of suspects, with their meanings.
SUSPECT_KINDS = {
    "empty_in_gold": "gold has no value, and most runs give the same one",
    "differs_from_gold": "gold has a value, and most runs give the same other one",
    "item_missing_in_gold": "most runs have an array item that gold lacks",
}

SUSPECT_COLUMNS = FrameSpec(
    "suspects",
    "one row per suspected place of gold, the highest score first",
    (
        Column("document", "string", "document id"),
        Column("schema", "string", "schema id"),
        Column("path", "string", "instance path in gold; `$.lines[-]` is a new item of `$.lines`"),
        Column("field", "string", "the path without indices"),
        Column("kind", "string", "what is suspected", ", ".join(SUSPECT_KINDS)),
        Column("gold", "object", "gold's value; None where it has none", nullable=True),
        Column("consensus", "object", "the value that most runs agree on"),
        Column("runs", "int64", "runs with a valid output of the document", "1 and up"),
        Column("agreeing", "int64", "of these, runs that agree on the consensus", "1 to runs"),
        Column("gold_page", "Int64", "page of the PDF with gold's value", "1 and up", True),
        Column("consensus_page", "Int64", "page of the PDF with the consensus", "1 and up", True),
        Column(
            "findings",
            "string",
            "kinds of `audit` at the path, joined by commas; empty if none, missing if not audited",
            nullable=True,
        ),
        Column(
            "difference",
            "string",
            "kind of mismatch of gold and consensus, if both are scalars",
            KIND_COLUMN.values,
            nullable=True,
        ),
        Column("score", "float64", "rank: agreement, evidence and findings together", "0 to 1"),
    ),
)

#: Kinds of mismatch of two ways of writing one value.
STYLE = ("json_type", "writing", "order", "other")
#: Kinds of mismatch of a value and the same with more detail.
DETAIL = ("extra_text", "truncated", "rounding", "unit")
#: Support by the PDF where nothing is known.
_UNKNOWN = 0.5
#: From how many suspects of one field in a document, and which share of its values, they are taken
#: for another convention.
_MANY, _LARGE_SHARE = 3, 0.5
#: Reasons of rows in which the predicted value is a container in place of the field.
_BROKEN = ("type_mismatch", "branch_mismatch")


class _Place(NamedTuple):
    """A place at which runs agree against gold."""

    path: str
    field: str
    kind: str
    gold: Any
    consensus: Any
    agreeing: int


def suspects(
    evs: Evaluations,
    dataset: Dataset | None = None,
    *,
    min_runs: int = 2,
    min_share: float = 0.5,
    progress: bool = False,
) -> pd.DataFrame:
    r"""Find places where gold may be wrong, because the runs agree on something else.

    Parameters
    ----------
    evs : Evaluations
        Results of several runs on the same documents.
    dataset : Dataset, optional
        The dataset of the documents: adds findings of the audit and evidence from the PDFs. Without
        it these columns are NA.
    min_runs : int, optional
        Smallest number of runs that must agree, 1 or more. Documents with fewer valid outputs are
        left out.
    min_share : float, optional
        Smallest share of a document's valid outputs that must agree, in (0, 1].
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    pandas.DataFrame
        One row per suspected place (see `SUSPECT_COLUMNS`), by descending score.

    Raises
    ------
    InputError
        No document has `min_runs` valid outputs, an option is out of range, a document is not in
        the dataset, or the schemas are not available: `evs` was loaded and there is no dataset.

    Notes
    -----
    *Votes.* Every valid output of a document has one vote per place; an output that is not JSON has
    none. Each predicted value that fails is tried as gold, with the metrics of the field and the
    offline judge; the consensus is the value that most of the failing runs would pass. Ties go to
    the most frequent value, then to the first by its JSON text. At least `min_runs` runs and
    `min_share` of all must agree on it, and more than agree with gold.

    *Items.* The spurious items of the runs are aligned with each other as an evaluation aligns
    them with gold. Two items are the same if all of their fields pass, or if they are objects and
    their similarity reaches the ``align_threshold`` of the array. An item is not missing if gold
    has it with fewer fields, or as a text. Items of maps of arrays are not compared.

    *Style.* If the two values differ in writing only (`STYLE`: case, punctuation, format of numbers
    and dates, word order, abbreviation), and the offline judge accepts one for the other, there is
    no suspect unless the audit has a finding there.

    *Score.* With :math:`k` of :math:`n` runs agreeing, it begins with

    .. math:: \frac{k}{n + 1} \cdot \frac{1 + c - g}{2}

    where :math:`c` and :math:`g` are the support of consensus and gold by the PDF: 0 if the
    value is not there, (1 + evidence score) / 2 if it is (see `find_evidence`; the mean over the
    leaves of an object or array), and 1/2 if that is unknown: no value, no PDF, no text layer, or a
    value that cannot be searched. This is

    - halved if one value is the other with more detail (`DETAIL`; not if gold ends within a word);
    - halved if at least 3 values, and half of all values, of the field in that document are
      suspects of the same kind: such a field is likely to follow another convention;
    - moved half of the way to 1 if the audit has a finding at the path.

    The score is in [0, 1). It rises with agreement, evidence for the consensus and findings, and
    falls with evidence for gold. It ranks; it is not a probability.

    Runs of the same model repeat its mistakes; agreement of different models is stronger evidence.

    Examples
    --------
    >>> import pandas as pd
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.gold import suspects
    >>> schema = {"type": "object", "properties": {"total": {"type": "number"}}}
    >>> totals = [1240, 1240, 1204]
    >>> runs = pd.DataFrame({"run": ["a", "b", "c"], "document": "invoice"})
    >>> runs["predicted"] = [{"total": total} for total in totals]
    >>> runs["schema"], runs["gold"] = [schema] * 3, [{"total": 1204}] * 3
    >>> found = suspects(xb.evaluate_runs(runs, progress=False))
    >>> found[["path", "gold", "consensus", "runs", "agreeing"]].values.tolist()
    [['$.total', 1204, 1240, 3, 2]]
    """
    if not isinstance(evs, Evaluations):
        raise InputError(
            f"evs is a {type(evs).__name__}; expected the results of evaluate_runs or "
            "load_evaluations"
        )
    if type(min_runs) is not int or min_runs < 1:
        raise InputError(f"min_runs={min_runs!r}; expected a whole number, 1 or more")
    share: Any = min_share
    is_number = isinstance(share, int | float) and not isinstance(share, bool)
    if not is_number or not 0 < share <= 1:
        raise InputError(f"min_share={min_share!r}; expected a number in (0, 1]")
    valid = evs.summary.query("valid")
    runs_of = valid.groupby("document", sort=False)["run"].agg(sorted).to_dict()
    chosen = {name: runs for name, runs in runs_of.items() if len(runs) >= min_runs}
    if not chosen:
        most = max(map(len, runs_of.values()), default=0)
        raise InputError(
            f"no document has {min_runs} valid outputs, the most is {most}; evaluate more runs "
            "together, or pass a smaller min_runs"
        )
    outputs = valid[["run", "document"]]
    fields, matches = (
        dict(list(frame.merge(outputs, on=["run", "document"]).groupby("document")))
        for frame in (evs.fields, evs.matches)
    )
    profile = PROFILES.get(evs.meta["profile"], PROFILES["strict"])
    places: dict[str, list[tuple[_Place, bool]]] = {}
    for name in progress_bar(list(chosen), shown=progress, desc="suspects", unit="document"):
        runs = chosen[name]
        needed = max(min_runs, math.ceil(min_share * len(runs) - 1e-9))
        votes = _Votes(_schema_of(evs, dataset, runs[0], name), profile, len(runs), needed)
        if name in fields:  # a schema may score nothing
            places[name] = list(_places(fields[name], matches.get(name, evs.matches[:0]), votes))
    suspected = [name for name, rows in places.items() if rows]
    findings = None if dataset is None else _findings(dataset, suspected)
    schemas = dict(zip(valid["document"], valid["schema"], strict=True))
    found: list[dict[str, Any]] = []
    for name in suspected:
        pdf = None
        if dataset is not None:
            with suppress(MissingPdfError, InputError):
                pdf = index_of(dataset.pdf_path(name))
        about = {"document": name, "schema": schemas[name], "runs": len(chosen[name])}
        for place, common in places[name]:
            here = None if findings is None else ", ".join(findings[name, place.path])
            row = _scored(place, len(chosen[name]), here, pdf, common=common)
            found += [about | row] if row is not None else []
    frame = SUSPECT_COLUMNS.from_records(found)
    return frame.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def _places(
    fields: pd.DataFrame, matches: pd.DataFrame, votes: _Votes
) -> Iterator[tuple[_Place, bool]]:
    """Find the suspected places of a document, and whether they are common in their field."""
    arrays = _arrays(fields, matches)
    sizes = Counter(_of_gold(fields.drop_duplicates("path"))["field"])
    gold_items: Counter[str] = Counter()
    of_gold = matches[matches["gold_index"].notna()].drop_duplicates(["path", "gold_index"])
    for path, items in of_gold.groupby("path").size().items():
        if path in arrays:
            gold_items[f"{arrays[path]['field']}[]"] += items
    sizes |= gold_items  # items that are values of their own have a row each in `fields` too
    places = [*_of_fields(fields, arrays, votes), *_of_items(matches, arrays, votes)]
    many = Counter((place.field, place.kind) for place in places)
    for place in places:
        count = many[place.field, place.kind]
        yield place, count >= _MANY and count >= _LARGE_SHARE * sizes[place.field]


def _schema_of(evs: Evaluations, dataset: Dataset | None, run: str, document: str) -> Schema:
    """Return the schema of a document: that of the evaluation, else that of the dataset."""
    with suppress(InputError):
        return evs.inputs(run, document).schema
    if dataset is None:
        raise InputError(
            "the results were loaded or unpickled, so their schemas are not available; pass "
            "dataset="
        )
    listing = dataset.listing
    schema_id = listing.loc[listing["document"] == document, "schema"].iloc[0]
    return parse_schema(dataset.schema(schema_id))


# --- votes ------------------------------------------------------------------------------------


class _Votes:
    """Compares the values that the runs have for one document, by the metrics of their nodes.

    Of `runs` outputs, `needed` must agree. Results are remembered by the identity of values, so all
    values are kept alive.
    """

    def __init__(self, schema: Schema, profile: Profile, runs: int, needed: int) -> None:
        self.schema, self.runs, self.needed = schema, runs, needed
        self._aligner = OptimalAligner.offline(profile)
        self._nodes: dict[str, Node | None] = {}
        self._arrays: dict[int, Node] = {}
        self._kept: list[Any] = []

    def node(self, schema_path: str) -> Node | None:
        """Return the node of a schema path; recursive references are followed as far as needed."""
        if schema_path not in self._nodes:
            stack, found = [self.schema.root], None
            while stack and found is None:
                node = stack.pop()
                if node.schema_path == schema_path:
                    found = node
                elif schema_path.startswith((f"{node.schema_path}.", f"{node.schema_path}[")):
                    stack.extend(reversed(list(node.children)))
            self._nodes[schema_path] = found
        return self._nodes[schema_path]

    def compare(self, node: Node, one: Any, two: Any) -> Any:
        """Return similarity and match of two values, the first in the place of gold."""
        self._kept += [one, two]
        return self._aligner.compare(node, one, two)

    def consensus(self, node: Node, values: Sequence[Any]) -> tuple[Any, int]:
        """Return the value that most values agree with, and how many do."""
        texts = [canonical_unordered(value) for value in values]
        counts, distinct = Counter(texts), dict(zip(texts, values, strict=True))
        ranks = {}
        for text in sorted(distinct):
            agreeing, similarity = 0, 0.0
            for other, count in counts.items():
                if other == text:
                    agreeing, similarity = agreeing + count, similarity + count
                    continue
                score = self.compare(node, distinct[text], distinct[other])
                agreeing += count if score.matched else 0
                similarity += count * score.similarity
            ranks[text] = agreeing, counts[text], similarity
        best = max(ranks, key=lambda text: ranks[text])  # of equal ones the first
        return distinct[best], ranks[best][0]

    def groups(self, array: Node, node: Node, lists: Sequence[list[Any]]) -> list[list[Any]]:
        """Group the items of several lists that are the same; one of each list at most."""
        ordered = sorted(lists, key=len, reverse=True)
        groups = [[item] for item in ordered[0]]
        stated = array.alignment_params["align_threshold"]
        threshold = 0.5 if stated is None else stated
        for items in ordered[1:]:
            firsts, joined = [group[0] for group in groups], set()
            for i, j in self._aligned(node, firsts, items):
                # single fields of the same thing may differ
                score = self.compare(node, firsts[i], items[j])
                is_object = isinstance(firsts[i], dict) or isinstance(items[j], dict)
                if score.matched or (is_object and score.similarity >= threshold):
                    groups[i].append(items[j])
                    joined.add(j)
            groups += [[item] for j, item in enumerate(items) if j not in joined]
        return groups

    def known(self, node: Node, missed: list[Any], paired: list[Any], items: list[Any]) -> set[int]:
        """Return which items gold has with fewer fields, or as a text."""
        texts = [squash(item) for item in (*missed, *paired) if isinstance(item, str)]
        found = set()
        for j, item in enumerate(items):
            parts = scalars(item) if isinstance(item, dict) else ()
            name = squash(max(map(json_text, parts), key=len, default=""))
            if name and any(name in text for text in texts):
                found.add(j)
        for i, j in self._aligned(node, missed, items):
            item, gold = items[j], missed[i]
            if not isinstance(item, dict) or not isinstance(gold, dict):
                continue
            part = {key: value for key, value in item.items() if _has_value(gold.get(key))}
            if _has_value(part) and self.compare(node, gold, part).matched:
                found.add(j)
        return found

    def _aligned(self, node: Node, one: list[Any], two: list[Any]) -> list[tuple[int, int]]:
        if id(node) not in self._arrays:
            self._kept.append(node)
            below = Children(items=node)
            array = replace(node, kind="array", loaded=below, loader=None, choices={})
            self._arrays[id(node)] = array
        self._kept += [one, two]
        return self._aligner(self._arrays[id(node)], one, two)


def _has_value(value: Any) -> bool:
    """Whether a value has a leaf other than null."""
    return next(scalars(value), None) is not None


def _of_fields(fields: pd.DataFrame, arrays: Mapping[str, Any], votes: _Votes) -> Iterator[_Place]:
    """Find the places that gold leaves empty, or at which the runs agree against it."""
    failing = _failing_rows(fields)
    failing = failing[~failing["path"].isin(arrays)]
    passed = fields["passed"].fillna(value=False).astype(bool)
    passes = passed.groupby([fields["path"], fields["run"]]).all()  # all metrics of a field
    supporters = passes.groupby(level=0).sum()
    for path, rows in failing.groupby("path", sort=False):
        needed = max(votes.needed, int(supporters[path]) + 1)
        first = rows.iloc[0]
        node = votes.node(first["schema_path"])
        if len(rows) < needed or node is None:
            continue
        consensus, agreeing = votes.consensus(node, rows["predicted"].tolist())
        if agreeing >= needed and _says_something(consensus):
            present = first["gold_state"] == "present"
            kind = "differs_from_gold" if present else "empty_in_gold"
            yield _Place(str(path), first["field"], kind, first["gold"], consensus, agreeing)


def _failing_rows(fields: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in which a run gives a value that fails, one per run and place."""
    rows = fields[
        fields["outcome"].isin(["hallucination", "incorrect"])
        & fields["passed"].eq(other=False).fillna(value=False)
        & ~fields["reason"].isin(_BROKEN)
        & ~(fields["reason"].eq("gold_type_mismatch") & fields["field"].str.endswith("[]"))
        & fields["schema_path"].notna()
    ]
    return _of_gold(rows.drop_duplicates(["run", "path"]))


def _of_gold(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows at places of gold, without those of spurious items."""
    of_gold = [
        not any((s[3] or "").startswith("+") for s in PATH_STEP.finditer(path))
        for path in rows["path"]
    ]
    return rows[np.array(of_gold, dtype=bool)]


def _says_something(value: Any) -> bool:
    """Whether a value is more than null, blanks and placeholders."""
    return any(
        not isinstance(leaf, str) or (leaf.strip() and not is_placeholder(leaf))
        for leaf in scalars(value)
    )


def _arrays(fields: pd.DataFrame, matches: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return one row of ``fields`` for each array that has items, by path."""
    rows = fields[fields["path"].isin(matches["path"].unique()) & fields["schema_path"].notna()]
    # a run without the array does not show what a union is for it
    rows = rows.sort_values("predicted_state", key=lambda s: s.ne("present"), kind="stable")
    records: list[dict[Any, Any]] = rows.drop_duplicates("path").to_dict("records")
    return {row["path"]: row for row in records}


def _of_items(
    matches: pd.DataFrame, arrays: Mapping[str, dict[str, Any]], votes: _Votes
) -> Iterator[_Place]:
    """Find the items that most runs have and gold lacks; one place if gold has no item at all."""
    for path, rows in matches.groupby("path", sort=False):
        about = arrays.get(str(path))
        node = about and votes.node(about["schema_path"])
        if not about or not node:
            continue
        array = resolve_union(node, about["gold"], about["predicted"])
        spurious = rows[rows["status"] == "spurious"]
        few = spurious["run"].nunique() < votes.needed
        if array.kind != "array" or array.flattened or few:  # a map of arrays is left out
            continue
        lists = [
            list(zip(items["predicted_index"], items["predicted"], strict=True))
            for _, items in spurious.groupby("run")
        ]
        of_gold = rows[rows["gold_index"].notna()].sort_values(
            "status", key=lambda s: s != "missed"
        )
        gold = of_gold.drop_duplicates("gold_index")
        missed = gold["status"] == "missed"
        sides = gold["gold"][missed].tolist(), gold["gold"][~missed].tolist()
        new = list(_new_items(array, *sides, lists, votes))
        if len(gold):
            kind = "item_missing_in_gold"
            for item, agreeing in new:
                yield _Place(f"{path}[-]", f"{about['field']}[]", kind, None, item, agreeing)
        elif new:
            items, agreeing = [item for item, _ in new], min(count for _, count in new)
            yield _Place(str(path), about["field"], "empty_in_gold", about["gold"], items, agreeing)


def _new_items(
    array: Node,
    missed: list[Any],
    paired: list[Any],
    lists: list[list[tuple[int, Any]]],
    votes: _Votes,
) -> Iterator[tuple[Any, int]]:
    """Yield the items that most runs have, and how many; those of ``prefixItems`` by position."""
    prefix = len(array.children.prefix)
    needed = max(votes.needed, votes.runs // 2 + 1)
    for place in range(prefix + 1):
        node = array.item(place)
        if node is None:
            continue
        chosen = [[item for at, item in items if min(at, prefix) == place] for items in lists]
        groups = [group for group in votes.groups(array, node, chosen) if len(group) >= needed]
        items = [votes.consensus(node, group)[0] for group in groups]
        known = votes.known(node, missed, paired, items)
        for at, (item, group) in enumerate(zip(items, groups, strict=True)):
            if at not in known and _says_something(item):
                yield item, len(group)


# --- evidence -----------------------------------------------------------------------------------

_JUDGE = OfflineJudge()
#: Score of the offline judge from which two texts mean the same.
_SAME = 0.7


def _scored(
    place: _Place, runs: int, findings: str | None, pdf: PdfText | None, *, common: bool
) -> dict[str, Any] | None:
    """Return the row of a place, with evidence and score; None for a difference of style."""
    gold, consensus = place.gold, place.consensus
    is_container = any(isinstance(value, dict | list) for value in (gold, consensus))
    difference = None if gold is None or is_container else mismatch_kind(gold, consensus)
    is_style = difference in STYLE and not findings
    # 1.25 and 12.5 are not the same
    if is_style and _JUDGE.compare(json_text(gold), json_text(consensus)).score >= _SAME:
        return None
    gold_page, of_gold = _evidence(gold, pdf)
    page, of_consensus = _evidence(consensus, pdf)
    score = place.agreeing / (runs + 1) * (1 + of_consensus - of_gold) / 2
    texts = isinstance(gold, str) and isinstance(consensus, str) and consensus.startswith(gold)
    is_cut = texts and gold[-1:].isalnum() and consensus[len(gold) :][:1].isalnum()
    score /= (2 if difference in DETAIL and not is_cut else 1) * (2 if common else 1)
    return place._asdict() | {
        "gold_page": gold_page,
        "consensus_page": page,
        "findings": findings,
        "difference": difference,
        "score": (1 + score) / 2 if findings else score,
    }


def _findings(dataset: Dataset, documents: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Return the kinds of findings of the audit by document and path."""
    found: Any = audit(dataset, documents=documents).findings[["document", "path", "kind"]]
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for document, path, kind in found.drop_duplicates().itertuples(index=False):
        kinds[document, path].append(kind)
    return kinds


def _evidence(value: Any, index: PdfText | None) -> tuple[int | None, float]:
    """Return the page with a value (most of its leaves), and how well the PDF supports it."""
    if index is None:
        return None, _UNKNOWN
    found = [g for g in look_up(scalars(value), index) if g.grounded is not None]
    if not found:
        return None, _UNKNOWN
    there = [(g.score or 0.0, g.page) for g in found if g.grounded]
    support = sum((1 + score) / 2 for score, _ in there) / len(found)
    if 2 * len(there) < len(found):
        return None, support
    return max(there, key=lambda hit: hit[0])[1], support
