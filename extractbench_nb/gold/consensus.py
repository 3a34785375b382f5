"""`suspects`: places where the outputs of several runs agree with each other, but not with gold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core import PROFILES, OptimalAligner, Profile, resolve_union
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import Children, Node, Schema, parse_schema
from extractbench_nb.core.text import OfflineJudge
from extractbench_nb.core.values import PATH_STEP, canonical_unordered, json_text, scalars
from extractbench_nb.errors import InputError, MissingPdfError
from extractbench_nb.gold.findings import audit
from extractbench_nb.pdf import PdfText, index_of, look_up, squash
from extractbench_nb.runs import Dataset, Evaluations
from extractbench_nb.stats import KIND_COLUMN, mismatch_kind
from extractbench_nb.support.folding import is_placeholder

SUSPECT_KINDS = ("empty_in_gold", "differs_from_gold", "item_missing_in_gold")
SUSPECT_COLUMNS = FrameSpec(
    "suspects",
    "one row per suspect, highest score first",
    (
        Column("document", "string", "document id"),
        Column("schema", "string", "schema id"),
        Column("path", "string", "instance path in gold; `$.lines[-]` is a new item of `$.lines`"),
        Column("field", "string", "the path without indices"),
        Column("kind", "string", "what is suspected", ", ".join(SUSPECT_KINDS)),
        Column("gold", "object", "gold's value; None if absent", nullable=True),
        Column("consensus", "object", "value that most runs agree on"),
        Column("runs", "int64", "runs with a valid output for the document", "1 and up"),
        Column("agreeing", "int64", "runs among these that agree on the consensus", "1 to runs"),
        Column("gold_page", "Int64", "page of the PDF with the gold value", "1 and up", True),
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
            "kind of mismatch between gold and consensus, if both are scalars",
            KIND_COLUMN.values,
            nullable=True,
        ),
        Column("score", "float64", "rank, from agreement, evidence and findings", "0 to 1"),
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
    evs: Evaluations, dataset: Dataset | None = None, *, min_runs: int = 2
) -> pd.DataFrame:
    r"""Find gold values that may be wrong, because the runs agree on something else.

    Parameters
    ----------
    evs : Evaluations
        Results of several runs on the same documents.
    dataset : Dataset, optional
        The dataset of the documents, which adds findings of the audit and evidence from the PDFs.
        Without it, these columns are NA.
    min_runs : int, optional
        The smallest number of runs that must agree, 1 or more. Documents with fewer valid outputs
        are left out.

    Returns
    -------
    pandas.DataFrame
        One row per suspect (see `SUSPECT_COLUMNS`), by descending score.

    Raises
    ------
    InputError
        No document has `min_runs` valid outputs, a document is not in the dataset, or `evs` was
        loaded, without its schemas, and there is no dataset.

    Notes
    -----
    *Votes.* Each predicted value that fails is treated as gold, with the field's metrics and the
    offline judge. The consensus is the value with which most of the failing runs would pass. It
    needs the agreement of at least `min_runs` runs and of half of all runs, and of more runs than
    agree with gold.

    *Items.* Predicted items without a gold item are aligned with each other. Two items count as the
    same if all of their fields pass, or if they are objects whose similarity reaches the array's
    ``align_threshold``. An item does not count as missing if gold contains it with fewer fields, or
    as a text. Tuples and maps of arrays are left out.

    *Style.* If two values differ only in notation, and the offline judge accepts one for the other,
    the path is not a suspect unless the audit has a finding there.

    *Score.* If :math:`k` of :math:`n` runs agree, the initial score is

    .. math:: \frac{k}{n + 1} \cdot \frac{1 + c - g}{2}

    where :math:`c` and :math:`g` are the support for consensus and gold in the PDF: 0 if the value
    does not occur, (1 + evidence score) / 2 if it does (averaged over the leaves of an object or
    array), and 1/2 if this is unknown. The score is halved if one value is the other with more
    detail. It is also halved if at least 3 values of the field in the document, and at least half
    of all, are suspects of the same kind. If the audit has a finding at the path, the distance to 1
    is halved. Use the score only for ranking, because it is not a probability.

    Examples
    --------
    >>> import pandas as pd
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.gold import suspects
    >>> schema = {"type": "object", "properties": {"total": {"type": "number"}}}
    >>> runs = pd.DataFrame({"run": ["a", "b", "c"], "document": "invoice"})
    >>> runs["predicted"] = [{"total": total} for total in (1240, 1240, 1204)]
    >>> runs["schema"], runs["gold"] = [schema] * 3, [{"total": 1204}] * 3
    >>> found = suspects(xb.evaluate_runs(runs, progress=False))
    >>> found[["path", "gold", "consensus", "runs", "agreeing"]].values.tolist()
    [['$.total', 1204, 1240, 3, 2]]
    """
    if not isinstance(evs, Evaluations):
        raise InputError(f"evs is a {type(evs).__name__}; expected the results of evaluate_runs")
    if type(min_runs) is not int or min_runs < 1:
        raise InputError(f"min_runs={min_runs!r}; expected a whole number, 1 or more")
    valid = evs.summary.query("valid")
    by_document = valid.groupby("document", sort=False)["run"]
    runs_of: dict[Any, list[str]] = by_document.agg(sorted).to_dict()
    chosen = {name: runs for name, runs in runs_of.items() if len(runs) >= min_runs}
    if not chosen:
        most = max(map(len, runs_of.values()), default=0)
        raise InputError(f"no document has {min_runs} valid outputs, the most is {most}")
    outputs = valid[["run", "document"]]
    fields, matches = (
        dict(list(frame.merge(outputs, on=["run", "document"]).groupby("document")))
        for frame in (evs.fields, evs.matches)
    )
    profile = PROFILES.get(evs.meta["profile"], PROFILES["strict"])
    places: dict[str, list[tuple[_Place, bool]]] = {}
    for name, runs in chosen.items():
        needed = max(min_runs, (len(runs) + 1) // 2)
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
        for place, is_common in places[name]:
            here = None if findings is None else ", ".join(findings[name, place.path])
            row = _scored(place, len(chosen[name]), here, pdf, is_common=is_common)
            found += [about | row] if row is not None else []
    frame = SUSPECT_COLUMNS.from_records(found)
    return frame.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def _schema_of(evs: Evaluations, dataset: Dataset | None, run: str, document: str) -> Schema:
    """Return the schema of a document: that of the evaluation, else that of the dataset."""
    with suppress(InputError):
        return evs.inputs(run, document).schema
    if dataset is None:
        raise InputError("the results were loaded or unpickled, without schemas; pass dataset=")
    schemas = dataset.listing.set_index("document")["schema"]
    return parse_schema(dataset.schema(schemas[document]))


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


# --- votes ------------------------------------------------------------------------------------


class _Votes:
    """Compares the values that the runs have for one document, by the metrics of their nodes.

    Of `runs` outputs, `needed` must agree. The aligner remembers results by the identity of values,
    so all values are kept alive.
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

    def compare(self, node: Node, gold: Any, other: Any) -> Any:
        """Return similarity and match of two values, the first in the place of gold."""
        self._kept += [gold, other]
        return self._aligner.compare(node, gold, other)

    def aligned(self, node: Node, gold: list[Any], other: list[Any]) -> list[tuple[int, int]]:
        """Pair the items of two arrays whose items have this node."""
        if id(node) not in self._arrays:
            below = Children(items=node)
            array = replace(node, kind="array", loaded=below, loader=None, choices={})
            self._arrays[id(node)] = array
        self._kept += [node, gold, other]
        return self._aligner(self._arrays[id(node)], gold, other)

    def consensus(self, node: Node, values: Sequence[Any]) -> tuple[Any, int]:
        """Return the value that most values agree with, and how many do."""
        texts = [canonical_unordered(value) for value in values]
        counts, distinct = Counter(texts), dict(zip(texts, values, strict=True))
        ranks = {}
        for text in sorted(distinct):
            agreeing, similarity = counts[text], float(counts[text])
            for other, count in counts.items():
                if other != text:
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
            for i, j in self.aligned(node, firsts, items):
                # single fields of the same thing may differ
                score = self.compare(node, firsts[i], items[j])
                is_object = isinstance(firsts[i], dict) or isinstance(items[j], dict)
                if score.matched or (is_object and score.similarity >= threshold):
                    groups[i].append(items[j])
                    joined.add(j)
            groups += [[item] for j, item in enumerate(items) if j not in joined]
        return groups

    def in_gold(self, node: Node, gold: pd.DataFrame, items: list[Any]) -> set[int]:
        """Return which items gold has with fewer fields, or as a text."""
        texts = [squash(item) for item in gold["gold"] if isinstance(item, str)]
        missed = gold.loc[gold["status"] == "missed", "gold"].tolist()
        found = set()
        for j, item in enumerate(items):
            parts = scalars(item) if isinstance(item, dict) else ()
            name = squash(max(map(json_text, parts), key=len, default=""))
            if name and any(name in text for text in texts):
                found.add(j)
        for i, j in self.aligned(node, missed, items):
            if isinstance(items[j], dict) and isinstance(missed[i], dict):
                part = {k: v for k, v in items[j].items() if _has_value(missed[i].get(k))}
                if _has_value(part) and self.compare(node, missed[i], part).matched:
                    found.add(j)
        return found


def _has_value(value: Any) -> bool:
    """Whether a value has a leaf other than null."""
    return next(scalars(value), None) is not None


def _says_something(value: Any) -> bool:
    """Whether a value is more than null, blanks and placeholders."""
    return any(
        not isinstance(leaf, str) or (leaf.strip() and not is_placeholder(leaf))
        for leaf in scalars(value)
    )


def _of_fields(fields: pd.DataFrame, arrays: Mapping[str, Any], votes: _Votes) -> Iterator[_Place]:
    """Find the places that gold leaves empty, or at which the runs agree against it."""
    passed = fields["passed"].fillna(value=False).astype(bool)
    passes = passed.groupby([fields["path"], fields["run"]]).all()  # all metrics of a field
    supporters = passes.groupby(level=0).sum()
    failing = fields[
        fields["outcome"].isin(["hallucination", "incorrect"])
        & fields["passed"].eq(other=False).fillna(value=False)
        & ~fields["reason"].isin(_BROKEN)
        & ~(fields["reason"].eq("gold_type_mismatch") & fields["field"].str.endswith("[]"))
        & fields["schema_path"].notna()
        & ~fields["path"].isin(arrays)
    ]
    failing = _of_gold(failing.drop_duplicates(["run", "path"]))
    for path, rows in failing.groupby("path", sort=False):
        needed = max(votes.needed, int(supporters[path]) + 1)
        first = rows.iloc[0]
        node = votes.node(first["schema_path"])
        if len(rows) < needed or node is None:
            continue
        consensus, agreeing = votes.consensus(node, rows["predicted"].tolist())
        if agreeing >= needed and _says_something(consensus):
            is_present = first["gold_state"] == "present"
            kind = "differs_from_gold" if is_present else "empty_in_gold"
            yield _Place(str(path), first["field"], kind, first["gold"], consensus, agreeing)


def _of_gold(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows at places of gold, without those of spurious items."""
    of_gold = [
        not any((s[3] or "").startswith("+") for s in PATH_STEP.finditer(path))
        for path in rows["path"]
    ]
    return rows[np.array(of_gold, dtype=bool)]


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
    needed = max(votes.needed, votes.runs // 2 + 1)
    for path, rows in matches.groupby("path", sort=False):
        about = arrays.get(str(path))
        union = about and votes.node(about["schema_path"])
        if not about or not union:
            continue
        array = resolve_union(union, about["gold"], about["predicted"])
        node = array.item(0)
        # maps of arrays, and tuples, whose items are compared by position, are left out
        if array.kind != "array" or array.flattened or array.children.prefix or node is None:
            continue
        spurious = rows[rows["status"] == "spurious"]
        lists = [items["predicted"].tolist() for _, items in spurious.groupby("run")]
        groups = votes.groups(array, node, lists) if len(lists) >= needed else []
        groups = [group for group in groups if len(group) >= needed]
        items = [votes.consensus(node, group)[0] for group in groups]
        of_gold = rows[rows["gold_index"].notna()]
        of_gold = of_gold.sort_values("status", key=lambda s: s != "missed")
        gold = of_gold.drop_duplicates("gold_index")
        known = votes.in_gold(node, gold, items) if items else set()
        new = [
            (item, len(group))
            for at, (item, group) in enumerate(zip(items, groups, strict=True))
            if at not in known and _says_something(item)
        ]
        for item, agreeing in new if len(gold) else ():
            kind = "item_missing_in_gold"
            yield _Place(f"{path}[-]", f"{about['field']}[]", kind, None, item, agreeing)
        if new and not len(gold):
            items, agreeing = [item for item, _ in new], min(count for _, count in new)
            yield _Place(str(path), about["field"], "empty_in_gold", about["gold"], items, agreeing)


# --- evidence -----------------------------------------------------------------------------------

_JUDGE = OfflineJudge()
#: Score of the offline judge from which two texts mean the same.
_SAME = 0.7


def _scored(
    place: _Place, runs: int, findings: str | None, pdf: PdfText | None, *, is_common: bool
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
    score /= (2 if difference in DETAIL and not is_cut else 1) * (2 if is_common else 1)
    return place._asdict() | {
        "gold_page": gold_page,
        "consensus_page": page,
        "findings": findings,
        "difference": difference,
        "score": (1 + score) / 2 if findings else score,
    }


def _findings(dataset: Dataset, documents: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Return the kinds of findings of the audit by document and path."""
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    found: Any = audit(dataset, documents=documents).findings
    for row in found.drop_duplicates(["document", "path", "kind"]).itertuples():
        kinds[row.document, row.path].append(row.kind)
    return kinds


def _evidence(value: Any, index: PdfText | None) -> tuple[int | None, float]:
    """Return the page with a value (most of its leaves), and how well the PDF supports it."""
    found = [g for g in look_up(scalars(value), index) if g.grounded is not None] if index else []
    if not found:
        return None, _UNKNOWN
    there = [(g.score or 0.0, g.page) for g in found if g.grounded]
    support = sum((1 + score) / 2 for score, _ in there) / len(found)
    is_there = 2 * len(there) >= len(found)
    return max(there, key=lambda hit: hit[0])[1] if is_there else None, support
