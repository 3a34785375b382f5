"""Errata between paper, README, the published package 0.1.0 and the released dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from extractbench_nb.benchmark.fields import field_definitions
from extractbench_nb.engine.profiles import PROFILES, Profile
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.field_metrics.package_010 import package_010_metric
from extractbench_nb.paper.cells import (
    DIFFERS,
    DOMAINS,
    SCHEMAS,
    TOTAL,
    printed,
    ratio,
    said,
    status_of,
    value_of,
)
from extractbench_nb.paper.errata_numbers import HIGH, LOW, MEDIUM, Finding, against, percent
from extractbench_nb.paper.facts import Facts, shipped_reports, tally
from extractbench_nb.paper.results import REVISED, complexities, scale, tokens
from extractbench_nb.schema.config import PRESETS

__all__ = ["gold", "software"]


_COUNTED = {
    "tokens": "GPT-2 tokens of the released gold files",
    "array_items": "items of all arrays of the released gold, nested ones included",
    "fields": "leaf values outside arrays",
}


def gold(facts: Facts) -> Iterator[Finding]:
    """Find where the released dataset gives other figures."""
    yield _values(facts, "research", "research-gold-values")
    yield _values(facts, TOTAL, "total-gold-values")
    for column in _COUNTED:
        yield from _averages(facts, column)
    yield _ratio(facts, "research")
    yield _ratio(facts, "credit")
    yield _citations(facts)
    yield _credit_pages(facts)
    yield _growth_metric(facts)
    yield _decomposition()
    yield _violations(facts)
    yield _quarterly(facts)


def _values(facts: Facts, row: str, name: str) -> Finding:
    cell = scale(facts)[row, "gold_values"]
    return Finding(
        name,
        f"Table 2, {row}",
        *against(printed(2, row, "gold_values"), float(cell.value or 0)),
        REVISED,
        LOW,
        "table(2)",
    )


def _averages(facts: Facts, column: str) -> Iterator[Finding]:
    cells = complexities(facts)
    for domain in DOMAINS:
        figure, cell = printed(6, domain, column), cells[domain, column]
        if status_of(figure, cell) != DIFFERS:
            continue
        documents = facts.documents[domain]
        total, mine = (figure.value or 0) * documents, float(cell.value or 0) * documents
        revised = domain == "research" and column != "fields"
        reason = f"{REVISED}; {_COUNTED[column]}" if revised else _COUNTED[column]
        if column == "fields":
            reason = f"{reason}; {_tried()}"
        yield Finding(
            f"{domain.replace('/', '').lower()}-{column.replace('_', '-')}",
            f"Table 6, {domain}",
            *against(figure, float(cell.value or 0)),
            f"{reason}; over {documents} documents about {total:,.0f} printed, {mine:,.0f} counted",
            LOW,
            "table(6)",
        )


@cache
def _tried() -> str:
    tried = field_definitions()
    fitting = tried.groupby("definition")["matches"].sum()
    return (
        f"the paper does not define the column, and none of {len(fitting)} definitions that were "
        f"tried gives more than {int(fitting.max())} of the {len(DOMAINS)} averages"
    )


def _ratio(facts: Facts, domain: str) -> Finding:
    cells = tokens(facts)
    own = [d for d in DOMAINS if float(cells[d, "ratio"].value or 0) < 1]
    high = domain == "research"
    why = f"; more output than input have {' and '.join(own)}" if high else ""
    return Finding(
        f"figure-2-{domain}",
        f"Figure 2, caption, {domain}",
        printed("figure2", domain, "ratio").printed,
        f"{float(cells[domain, 'ratio'].value or 0):.1f}×",
        float(cells[domain, "ratio"].value or 0) - value_of("figure2", domain, "ratio"),
        f"{cells[domain, 'ratio'].note}{why}",
        HIGH if high else LOW,
        "table('figure2')",
    )


def _citations(facts: Facts) -> Finding:
    figure, cited = said("fewest citations"), facts.of("research", "citations")
    few = sorted(int(n) for n in cited if n < (figure.value or 0))
    return Finding(
        "citations-100",
        "Table 1; sections 2.1, 2.2 and 4.2",
        *against(figure, float(cited.min())),
        f"{len(few)} of {len(cited)} papers have fewer citations: {', '.join(map(str, few))}",
        LOW,
        "citations in the released gold",
    )


def _credit_pages(facts: Facts) -> Finding:
    pages = facts.of("credit", "pages")
    low, high = said("shortest credit", "Table 1"), said("longest credit", "Table 1")
    again = [said(name, "section 4.2").printed for name in ("shortest credit", "longest credit")]
    return Finding(
        "credit-pages",
        "Table 1; section 2.1",
        f"{low.printed}–{high.printed} pages",
        f"{int(pages.min())}–{int(pages.max())} pages",
        None,
        f"the PDFs have the pages that section 4.2 gives, {again[0]} to {again[1]}",
        LOW,
        "pages of the PDFs",
    )


def _growth_metric(facts: Facts) -> Finding:
    return Finding(
        "growth-metric",
        "Figure 1, caption",
        *against(said("properties of growth metric"), facts.growth_metric),
        "the definition in the released 10-K/Q schema has fewer properties",
        LOW,
        "definition growth_metric of the 10-K/Q schema",
    )


def _decomposition() -> Finding:
    sums, values = {}, {}
    for domain in DOMAINS:
        sums[domain] = value_of(6, domain, "fields") + value_of(6, domain, "array_items")
        documents = value_of(2, domain, "documents")
        values[domain] = value_of(2, domain, "gold_values") / documents
    fitting = [d for d in DOMAINS if round(sums[d], 1) == round(values[d], 1)]
    worst = max(DOMAINS, key=lambda domain: values[domain] - sums[domain])
    return Finding(
        "fields-and-items",
        "Table 6, caption, against Table 2",
        f"{sums[worst]:.1f} a {worst} document",
        f"{values[worst]:.1f}",
        values[worst] - sums[worst],
        "fields and array items are said to make up the extraction target; they add up to the "
        f"gold values of Table 2 for {' and '.join(fitting)} only, since an array item of several "
        "values counts once",
        MEDIUM,
        "published(2) and published(6)",
    )


def _violations(facts: Facts) -> Finding:
    broken = facts.frame[facts.frame["violations"] > 0]
    by_domain = broken.groupby("domain").size()
    listed = ", ".join(f"{by_domain[d]} of {facts.documents[d]} {d}" for d in by_domain.index)
    return Finding(
        "gold-breaks-schema",
        "section 2.3",
        "every annotation fits its schema",
        f"{len(broken)} of {len(facts.frame)} do not",
        float(len(broken)),
        f"{listed} golds break their own JSON Schema; an output counts as valid only if it fits "
        "the schema (section 4), so these golds would count as invalid outputs",
        HIGH,
        "JSON Schema Draft 2020-12 on the released gold; audit",
    )


def _quarterly(facts: Facts) -> Finding:
    names = facts.frame.loc[facts.frame["schema"] == SCHEMAS["10-K/Q"], "document"]
    quarterly = sum("_10q_" in name for name in names)
    return Finding(
        "no-10-k",
        "Tables 1, 2, 5 and 9",
        "10-K and 10-Q filings",
        f"{quarterly} of {len(names)} are 10-Q",
        None,
        "the released filings are quarterly reports throughout, by their file names",
        LOW,
        "document names of the released dataset",
    )


_RELEASE = "extract-bench 0.1.0"
_CHECK = "profile 'extract-bench-0.1.0', checked against the package in tests/parity"

#: A text of our own, longer than the 200 letters from which on difflib drops the frequent ones.
_TEXT = "no later than ten days after a notice the agent tells the lenders; " * 4
_SHORTER = _TEXT.replace("later ", "", 1)


def software(facts: Facts) -> Iterator[Finding]:
    """Find where the package does not do what the paper or its README says."""
    yield _failed_calls()
    yield _inside_arrays(facts)
    yield _fuzzy()
    yield _tolerance()
    yield _default_tolerance()
    yield _two_texts()
    yield _recall_only()
    yield _unscored_union(facts)
    yield _ahead_of_release()


def _failed_calls() -> Finding:
    reports = shipped_reports()
    failed = reports[reports["failed_calls"] > 0]
    passed, rows = int(failed["passed"].sum()), int(failed["evaluated"].sum())
    extra, more = int(failed["extra_passed"].sum()), int(failed["extra"].sum())
    before, after = ratio(passed, rows), ratio(passed - extra, rows - more)
    return Finding(
        "failed-judge-calls",
        f"{_RELEASE}, judge reports",
        percent(before),
        percent(after),
        after - before,
        f"in {len(failed)} of {len(reports)} recorded reports a judge call failed, the evaluator "
        f"went on into the node's children, found both sides absent and added {extra} passing "
        f"fields to {rows - more}: the pass rate of these reports rises because the judge is down",
        HIGH,
        "EXTRACTBENCH_RUNS, reports with a metric error_*; shipped as figures",
    )


def _inside_arrays(facts: Facts) -> Finding:
    keys = _times(facts.documents, facts.keys)
    scored = _times(facts.documents, facts.scored)
    tenk = f"{facts.scored['10-K/Q']} of {facts.keys['10-K/Q']}"
    rule = PROFILES["extract-bench-0.1.0"].rows_inside_arrays
    return Finding(
        "fields-inside-arrays",
        f"section 3.4 against {_RELEASE}",
        "item fields scored by their metrics",
        "item fields scored" if rule else "no row inside an array",
        None,
        "the release gives an array one row, by a judge that sees no metric of a field: of "
        f"{keys:,} documents x keys {scored} get a row ({tenk} keys of 10-K/Q); the metrics "
        "declared inside arrays, number_tolerance among them, never run there",
        HIGH,
        _CHECK,
    )


def _times(documents: dict[str, int], each: Mapping[str, int]) -> int:
    return sum(number * each[domain] for domain, number in documents.items())


def _released(metric: str, params: dict[str, Any], gold: Any, predicted: Any) -> float:
    compare = package_010_metric(metric, params)
    return compare(gold, predicted)[0] if compare else float("nan")


def _own(preset: str, kind: str, gold: Any, predicted: Any) -> float:
    field = {"type": kind, "evaluation_config": preset}
    schema = {"type": "object", "properties": {"field": field}}
    return float(evaluate(schema, {"field": gold}, {"field": predicted}).fields["score"].iloc[0])


def _fuzzy() -> Finding:
    released = _released("string_fuzzy", {}, _TEXT, _SHORTER)
    own = _own("string_fuzzy", "string", _TEXT, _SHORTER)
    back = _released("string_fuzzy", {}, _SHORTER, _TEXT)
    return Finding(
        "levenshtein-or-difflib",
        f"README and Table 4 against {_RELEASE}",
        f"{own:.3f} (Levenshtein)",
        f"{released:.3f} (difflib)",
        released - own,
        "the release computes difflib's ratio where README and paper say Levenshtein; a text of "
        f"{len(_TEXT)} letters without one of its words gives these two, and difflib gives "
        f"{back:.3f} with the sides swapped; the threshold is 0.8",
        MEDIUM,
        _CHECK,
    )


def _tolerance() -> Finding:
    gold, near, params = 1_000_000.0, 1_000_500.0, dict(PRESETS["number_tolerance"].params)
    small, double = 0.0005, 0.001
    ours = [_own("number_tolerance", "number", *pair) for pair in ((gold, near), (small, double))]
    theirs = [
        _released("number_tolerance", params, *pair) == 1
        for pair in ((gold, near), (small, double))
    ]
    return Finding(
        "relative-or-absolute-tolerance",
        f"Table 4 and appendix C against {_RELEASE}",
        f"{near:,.0f} for {gold:,.0f}: {_verdict(ours[0] == 1)}",
        _verdict(theirs[0]),
        None,
        f"the paper's margin is relative ({percent(100 * params['tolerance'])}), the release's "
        f"absolute: {double} for {small}, twice as much, {_verdict(theirs[1])} there and "
        f"{_verdict(ours[1] == 1)} by the paper's rule",
        HIGH,
        _CHECK,
    )


def _verdict(passed: bool) -> str:
    return "passes" if passed else "fails"


def _default_tolerance() -> Finding:
    declared = float(PRESETS["number_tolerance"].params["tolerance"])
    default = _largest_accepted({})
    return Finding(
        "default-tolerance",
        f"Table 4, README against {_RELEASE}",
        f"{declared:g}",
        f"{default:.0e}",
        default - declared,
        "where a schema names the metric and not the preset, without params, the metric's own "
        "default counts",
        LOW,
        _CHECK,
    )


def _largest_accepted(params: dict[str, Any]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        accepted = _released("number_tolerance", params, 0.0, middle) == 1
        low, high = (middle, high) if accepted else (low, middle)
    return low


def _two_texts() -> Finding:
    pairs = [("33–37", "90–99"), ("unknown", "12 to 14")]
    passing = sum(_released("number_tolerance", {}, *pair) == 1 for pair in pairs)
    own = sum(_own("number_tolerance", "number", *pair) == 1 for pair in pairs)
    return Finding(
        "two-texts-are-equal",
        f"Table 4 against {_RELEASE}",
        f"{own} of {len(pairs)} unlike texts pass",
        f"{passing} of {len(pairs)}",
        float(passing - own),
        "the release turns what is no number into nothing and finds two nothings equal; the "
        "10-K/Q schema allows texts such as ranges where it declares number_tolerance",
        MEDIUM,
        _CHECK,
    )


def _recall_only() -> Finding:
    items = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": items}}}
    gold = [{"name": "one"}, {"name": "two"}]
    invented = [{"name": f"invented {number}"} for number in range(50)]
    array = evaluate(schema, {"rows": gold}, {"rows": gold + invented}).arrays.iloc[0]
    return Finding(
        "recall-only",
        "section 3.4 against README",
        f"F1 {array['f1']:.3f}",
        f"{array['score']:.3f}",
        float(array["score"] - array["f1"]),
        f"precision, recall and F1 are computed, but an array's score is its recall: "
        f"{len(gold)} right rows among {len(invented)} invented ones score {array['score']:.0f}",
        MEDIUM,
        "evaluate(...).arrays",
    )


def _unscored_union(facts: Facts) -> Finding:
    apart = [d for d in DOMAINS if facts.scored[d] != facts.scored_by_package_010[d]]
    by_rules = _times(facts.documents, facts.scored)
    released = _times(facts.documents, facts.scored_by_package_010)
    accuracy = ratio(tally(models=("GPT-5",)).passed, _valid_fields(facts, "GPT-5"))
    return Finding(
        "unscored-union",
        f"README against {_RELEASE}",
        f"{by_rules} scored fields",
        f"{released}",
        float(released - by_rules),
        f"the release scores no anyOf without a metric of its own ({', '.join(apart)}: "
        f"{facts.scored_by_package_010[apart[0]]} fields a document instead of "
        f"{facts.scored[apart[0]]}); with its count GPT-5's accuracy on valid outputs would be "
        f"{percent(accuracy)}",
        LOW,
        _CHECK,
    )


def _valid_fields(facts: Facts, model: str) -> int:
    return sum(
        tally(models=(model,), domains=(d,)).valid * facts.scored_by_package_010[d] for d in DOMAINS
    )


def _ahead_of_release() -> Finding:
    release, readme = PROFILES["extract-bench-0.1.0"], PROFILES["extract-bench-readme"]
    rules = [f.name for f in fields(Profile) if f.name != "name"]
    apart = [rule for rule in rules if getattr(release, rule) != getattr(readme, rule)]
    return Finding(
        "readme-ahead-of-release",
        f"README against {_RELEASE}",
        f"{len(apart)} rules",
        "another rule each",
        None,
        "the README describes what the release on PyPI does not do: " + ", ".join(apart),
        MEDIUM,
        "profiles()",
    )
