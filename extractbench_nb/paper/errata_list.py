"""`errata`: contradictions in the paper, its README, the dataset and the published package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from itertools import product
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark import reliability
from extractbench_nb.benchmark.complexities import field_definitions
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.published import Figure, rows_of
from extractbench_nb.engine.profiles import PROFILES, Profile
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.field_metrics.package_010 import package_010_metric
from extractbench_nb.paper.cells import (
    CLAUDE,
    DIFFERS,
    DOMAINS,
    EQUAL,
    GPT,
    MODELS,
    SCHEMAS,
    TOTAL,
    printed,
    ratio,
    rounded,
    said,
    status_of,
    value_of,
    written,
)
from extractbench_nb.paper.facts import Facts, facts_of, tally
from extractbench_nb.paper.regression import associations
from extractbench_nb.paper.results import (
    REVISED,
    accuracy_range,
    complexities,
    preset_score,
    results,
    scale,
    scored_in_valid,
    tokens,
)
from extractbench_nb.schema.config import DEFAULT_METRICS, PRESETS

#: It changes a result or a conclusion; a printed figure is wrong; a matter of wording or emphasis.
HIGH, MEDIUM, LOW = SEVERITIES = ("high", "medium", "low")


class Finding(NamedTuple):
    """A row of `errata`; the fields are the columns of ``ERRATA_COLUMNS``."""

    id: str
    where: str
    published: str
    recomputed: str
    difference: float | None
    explanation: str
    severity: str
    check: str


class _Told(NamedTuple):
    """The cells of a row that are computed."""

    published: str
    recomputed: str
    difference: float | None
    explanation: str


#: What finds errata, in the order of the rows of one severity.
_CHECKS: list[Callable[[Facts], Iterable[Finding]]] = []
_Tell = TypeVar("_Tell", bound=Callable[..., _Told])


def _erratum(
    id_: str, where: str, severity: str, check: str, *given: str
) -> Callable[[_Tell], _Tell]:
    """Register a function of the facts, and of what is given, that tells of one erratum."""

    def register(tell: _Tell) -> _Tell:
        _CHECKS.append(lambda facts: [Finding(id_, where, *tell(facts, *given), severity, check)])
        return tell

    return register


def against(figure: Figure, value: float) -> tuple[str, str, float]:
    """Return a printed figure, a computed one written the same way, and their difference."""
    return figure.printed, written(figure, value) or "", value - (figure.value or 0.0)


def percent(value: float) -> str:
    """Write a share as 22.4%."""
    return f"{rounded(value, 1)}%"


MODES = ("prompt", "structured")


def _scored(facts: Facts, domain: str) -> int:
    return facts.documents[domain] * facts.scored[domain]


@_erratum(
    "pass-rate-ceiling",
    "Table 5, pass rate",
    HIGH,
    "table(5); scored fields of gold against itself",
)
def _ceiling(facts: Facts) -> _Told:
    scored = {domain: _scored(facts, domain) for domain in DOMAINS}
    keys = tally(models=MODELS[:1]).fields
    total = sum(scored.values())
    each = ", ".join(f"{facts.scored[d]} for {d}" for d in DOMAINS)
    share = ratio(total, keys)
    return _Told(
        "100.0%",
        percent(share),
        share - 100,
        f"the pass rate divides by documents x keys, {keys:,} a model, but a perfect extraction "
        f"has {total} scored fields: an array is one field, its items' keys are not scored "
        f"(a document has {each})",
    )


@_erratum(
    "order-of-domains",
    "Table 5, last row; section 4.1",
    HIGH,
    "counts(); scored fields of gold against itself",
)
def _order_of_domains(facts: Facts) -> _Told:
    narrow = DOMAINS[:-1]
    rates = {d: tally(domains=(d,)).pass_rate for d in narrow}
    attainable = {
        d: ratio(tally(domains=(d,)).passed, _scored(facts, d) * len(MODELS)) for d in narrow
    }
    return _Told(
        _ordered(rates),
        _ordered(attainable),
        None,
        "measured against the fields that are scored, not against all keys, the order of the "
        "domains changes: the share of scored fields among the keys is "
        + ", ".join(f"{percent(_share_scored(facts, d))} for {d}" for d in DOMAINS),
    )


def _share_scored(facts: Facts, domain: str) -> float:
    fields = tally(models=MODELS[:1], domains=(domain,)).fields
    return ratio(_scored(facts, domain), fields)


def _ordered(rates: dict[str, float]) -> str:
    best_first = sorted(rates.items(), key=lambda item: -item[1])
    return ", ".join(f"{domain} {percent(rate)}" for domain, rate in best_first)


@_erratum(
    "sports-gold",
    "section 4.1, Table 13",
    HIGH,
    "gold of the released dataset; audit of undeclared keys",
)
def _sports_ceiling(facts: Facts) -> _Told:
    scored, present = _scored(facts, "sports"), int(facts.of("sports", "present").sum())
    empty = facts.of("sports", "present") == 1
    counted = tally(domains=("sports",))
    share = ratio(present, scored)
    return _Told(
        f"{scored} scored fields",
        f"{present} with a gold value",
        float(present - scored),
        f"{int(empty.sum())} of {len(empty)} sports golds keep their results under a key that the "
        f"schema does not declare, so only {percent(share)} of the scored fields have a gold value "
        "and what is extracted rightly under the declared keys counts as invented; the text "
        f"explains {counted.passed} of {counted.fields} passed fields by array scoring alone",
    )


@_erratum(
    "sports-nothing-extracted",
    "Table 13",
    HIGH,
    "gold of the released dataset; section 3.3 on missing values",
)
def _nothing_extracted(facts: Facts) -> _Told:
    rates = {m: tally(models=(m,), domains=("sports",)).pass_rate for m in MODELS}
    best = max(rates, key=lambda model: rates[model])
    absent = _scored(facts, "sports") - int(facts.of("sports", "present").sum())
    fields = tally(models=MODELS[:1], domains=("sports",)).fields
    nothing = ratio(absent, fields)
    return _Told(
        f"{best}, {printed(13, best, 'rate').printed}",
        f"an empty object, {percent(nothing)}",
        nothing - rates[best],
        f"{absent} scored fields of the sports golds are absent, and absent on both sides passes: "
        f"an empty object fits the schema and passes {absent} of {fields} fields, more than the "
        "best model",
    )


@_erratum(
    "evaluable-fields",
    "abstract, section 2, footnote 1",
    MEDIUM,
    "table(2); table(5); scored fields of gold against itself",
)
def _three_counts(facts: Facts) -> _Told:
    positions = tally(models=MODELS[:1]).fields
    scored = sum(_scored(facts, domain) for domain in DOMAINS)
    figure = said("gold values", "abstract")
    return _Told(
        figure.printed,
        f"{scored} scored",
        scored - (figure.value or 0.0),
        f"three counts go by one name: {figure.printed} leaf values in gold, {positions:,} "
        f"documents x keys, of which {scored} are scored",
    )


@_erratum("credit-able-models", "section 4.1, credit agreements", MEDIUM, "counts()")
def _credit_able(_: Facts) -> _Told:
    able = tuple(m for m in MODELS if m not in CLAUDE)
    counted = tally(models=able, domains=("credit",))
    figure = said("credit pass rate of models that read it")
    return _Told(
        *against(figure, counted.pass_rate),
        f"the text speaks of models that can read the documents: {counted.passed} of "
        f"{counted.fields} fields; the printed share counts the fields of the two models that "
        "cannot",
    )


@_erratum("credit-validity", "section 4.2, arrays", MEDIUM, "counts()")
def _credit_validity(_: Facts) -> _Told:
    able = tuple(m for m in MODELS if m not in CLAUDE)
    credit = tally(models=able, domains=("credit",))
    research = tally(models=able, domains=("research",))
    figure = said("validity of credit")
    return _Told(
        *against(figure, credit.validity),
        "the comparison of validity on credit agreements and research papers mixes a page limit "
        f"with the schema: of the models that can read them, {percent(credit.validity)} of credit "
        f"outputs and {percent(research.validity)} of research outputs are valid, so credit "
        "agreements and not sports results have the highest validity",
    )


@_erratum("structured-accuracy", "section 4.3", HIGH, "counts('prompt') and counts('structured')")
def _structured_mode(_: Facts) -> _Told:
    accepted = ("sports", "credit", "research")
    before, after = (tally(mode, domains=accepted) for mode in ("prompt", "structured"))
    lost = tally(domains=("resumes",)).passed
    return _Told(
        "accuracy falls",
        f"{before.passed} to {after.passed} fields",
        float(after.passed - before.passed),
        f"all of the loss with structured output is the rejected resume schema ({lost} passed "
        "fields); on the domains whose schemas were accepted, more fields pass than before, "
        f"of {after.fields:,}",
    )


@_erratum("structured-long-outputs", "section 4.3", HIGH, "Tables 8 and 12; counts('structured')")
def _structured_research(_: Facts) -> _Told:
    changes = {
        m: tally("structured", models=(m,), domains=("research",)).passed
        - tally(models=(m,), domains=("research",)).passed
        for m in MODELS
    }
    risen = [f"{m} {change:+d}" for m, change in changes.items() if change > 0]
    fields = tally(models=MODELS[:1], domains=("research",)).fields
    gpt5 = {mode: tally(mode, models=("GPT-5",), domains=("research",)) for mode in MODES}
    return _Told(
        f"{gpt5['prompt'].pass_rate:.1f}% (GPT-5, research)",
        percent(gpt5["structured"].pass_rate),
        gpt5["structured"].pass_rate - gpt5["prompt"].pass_rate,
        "the text says that structured output harms long extractions most, and that output volume "
        f"binds the GPT models; on research papers, the longest outputs, {', '.join(risen)} fields "
        f"of {fields} pass with it",
    )


@_erratum(
    "hours-per-document",
    "Table 3, last row",
    MEDIUM,
    "table(3); hours and documents of Tables 2 and 3",
)
def _hours(facts: Facts) -> _Told:
    hours = sum(value_of(3, domain, "hours") for domain in DOMAINS)
    documents = sum(facts.documents.values())
    figure = printed(3, TOTAL, "hours_per_document")
    without = documents - facts.documents["credit"]
    return _Told(
        *against(figure, hours / documents),
        f"{hours:.1f} hours over {documents} documents; {figure.printed} is what {without} "
        f"documents would give ({hours / without:.2f}), those without the credit agreements",
    )


@_erratum(
    "structured-sports-total",
    "Table 8, last row, sports",
    MEDIUM,
    "table(8); counts('structured')",
    "sports",
)
@_erratum(
    "structured-research-total",
    "Table 8, last row, research",
    MEDIUM,
    "table(8); counts('structured')",
    "research",
)
def _structured_total(_: Facts, domain: str) -> _Told:
    figure = printed(8, TOTAL, f"{domain} rate")
    rates = [value_of(8, model, f"{domain} rate") for model in MODELS]
    whole = tally("structured", domains=(domain,))
    divisor = round(sum(rates) / (figure.value or 1))
    return _Told(
        *against(figure, whole.pass_rate),
        f"{whole.passed} of {whole.fields} fields; the mean of the six printed rows is "
        f"{sum(rates) / len(rates):.1f}; their sum divided by {divisor} gives the printed total",
    )


@_erratum(
    "structured-overall-total",
    "Table 8, last row, overall",
    MEDIUM,
    "table(8); counts('structured')",
)
def _structured_overall(_: Facts) -> _Told:
    figure = printed(8, TOTAL, "overall rate")
    whole = tally("structured")
    rows = [value_of(8, model, "overall rate") for model in MODELS]
    return _Told(
        *against(figure, whole.pass_rate),
        f"{whole.passed} of {whole.fields} fields; the mean of the six printed rows is "
        f"{sum(rows) / len(rows):.2f}, and all of them divide by the same number of fields",
    )


def _best(figures: list[Figure]) -> Figure:
    return max(figures, key=lambda figure: figure.value or 0.0)


@_erratum(
    "research-bold", "Table 5, research papers", LOW, "figures(5) and figures(12), column bold"
)
def _research_bold(_: Facts) -> _Told:
    column = [f for f in rows_of("5") if f.column == "research passed" and f.row in MODELS]
    marked = next(f for f in column if f.bold)
    best = _best(column)
    appendix = next(f for f in rows_of("12") if f.column == "passed" and f.bold)
    return _Told(
        f"{marked.row}, {marked.printed}",
        f"{best.row}, {best.printed}",
        (best.value or 0.0) - (marked.value or 0.0),
        "bold stands for the best of a column, and the maximum is another row; "
        f"Table 12 marks {appendix.row}, {appendix.printed}",
    )


@_erratum("validity-bold", "Table 5, valid outputs", LOW, "figures(5), column bold")
def _validity_bold(_: Facts) -> _Told:
    column = [f for f in rows_of("5") if f.column == "valid" and f.row in MODELS]
    best = _best(column)
    marked = [f.row for f in column if f.bold]
    return _Told(
        ", ".join(marked) or "no mark",
        f"{best.row}, {best.printed}",
        None,
        "the caption promises bold for the best of each column; this column has none",
    )


@_erratum("accuracy-on-valid", "Table 5, last column", HIGH, "compare(5), column accuracy")
def _accuracies(facts: Facts) -> _Told:
    cells = results(facts)
    rows = (*MODELS, TOTAL)
    own = {row: float(cells[row, "accuracy"].value or 0) for row in rows}
    figures = {row: printed(5, row, "accuracy") for row in rows}
    apart = [r for r in rows if status_of(figures[r], cells[r, "accuracy"]) != EQUAL]
    low = sum(own[row] > (figures[row].value or 0) for row in apart)
    surplus = []  # fields that a printed accuracy needs beyond those of the valid outputs
    for model in MODELS:
        low_count, _ = accuracy_range(model, tally(models=(model,)).passed)
        beyond = low_count - scored_in_valid(facts, (model,), released=True)
        surplus.append(f"{model} {beyond:+d}")
    return _Told(
        *against(figures[TOTAL], own[TOTAL]),
        f"{len(apart)} of {len(rows)} accuracies do not follow from valid documents x scored "
        f"fields ({low} are printed too low, the others too high): {cells[TOTAL, 'accuracy'].note};"
        f" the printed shares need so many fields beyond the released evaluator's: "
        + ", ".join(surplus),
    )


@_erratum("gpt-5-elsewhere", "section 4.2, output volume", MEDIUM, "counts()")
def _gpt5_elsewhere(_: Facts) -> _Told:
    figure = said("highest validity of GPT-5 without credit")
    others = {d: tally(models=("GPT-5",), domains=(d,)) for d in DOMAINS if d != "credit"}
    best = max(others, key=lambda domain: others[domain].validity)
    counted = others[best]
    return _Told(
        *against(figure, counted.validity),
        f"the range leaves out {best}: Table 13 has {counted.valid} of {counted.documents} valid",
    )


@_erratum("gpt-models-elsewhere", "section 4.2, output volume", MEDIUM, "counts()")
def _gpt_elsewhere(_: Facts) -> _Told:
    sports, resumes = (tally(models=("GPT-5.2",), domains=(d,)) for d in ("sports", "resumes"))
    best = max(tally(models=(m,), domains=("resumes",)).valid for m in MODELS)
    return _Told(
        "GPT models struggle outside credit",
        f"GPT-5.2: {sports.valid}/{sports.documents} sports, "
        f"{resumes.valid}/{resumes.documents} resumes valid",
        None,
        f"what holds for {GPT[1]} does not hold for {GPT[0]}: no model has more than "
        f"{sports.documents} valid sports results or {best} valid resumes",
    )


@_erratum(
    "narrowest-schema",
    "section 5",
    LOW,
    "published(1)",
    "section 5",
    "the range of the conclusion leaves it out",
)
@_erratum(
    "simplest-schema",
    "section 4.1",
    LOW,
    "published(1)",
    "section 4.1",
    "credit agreements are called simplest",
)
def _fewest_keys(_: Facts, place: str, how: str) -> _Told:
    figure = said("fewest keys", place)
    fewest = min(DOMAINS, key=lambda domain: value_of(1, domain, "keys"))
    return _Told(
        *against(figure, value_of(1, fewest, "keys")),
        f"{how}: {fewest} has fewer keys (Table 1)",
    )


@_erratum("credit-85-percent", "section 2.1", LOW, "counts()")
def _credit_85(_: Facts) -> _Told:
    figure = said("lowest credit pass rate that is not 0")
    able = [m for m in MODELS if m not in CLAUDE]
    rates = {m: tally(models=(m,), domains=("credit",)).pass_rate for m in able}
    below = [f"{m} {rate:.1f}%" for m, rate in rates.items() if rate < (figure.value or 0)]
    return _Told(
        *against(figure, min(rates.values())),
        f"below it are {len(below)} of the {len(able)} models: {', '.join(below)}",
    )


@_erratum("malformed-share", "section 4.2, last sentence", LOW, "published(7)")
def _nearly_a_third(_: Facts) -> _Told:
    figure = said("share of malformed", "section 4.2")
    again = said("share of malformed", "section 4.3")
    malformed, failures = (
        int(sum(value_of(7, row, model) for row in rows for model in MODELS))
        for rows in (("trailing comma", "truncated"), ("total",))
    )
    return _Told(
        *against(figure, ratio(malformed, failures)),
        f"trailing commas and truncation are {malformed} of {failures} failures; "
        f"section 4.3 prints {again.printed}",
    )


@_erratum("page-limit", "section 4.2, page limit", MEDIUM, "pages of the PDFs; Tables 2 and 7")
def _page_limit(facts: Facts) -> _Told:
    limit = said("page limit", "section 4.2").value or 0
    pages = facts.of("credit", "pages")
    over, under = int((pages > limit).sum()), pages[pages <= limit]
    known = facts.of("research", "pages")
    survey = value_of(2, "research", "pages") - float(known.sum())
    long_research = int((known.dropna() > limit).sum()) + int(survey > limit)
    counted = int(value_of(7, "page limit", CLAUDE[0]))
    return _Told(
        f"{len(pages)} credit agreements over {limit:.0f} pages",
        f"{over}",
        float(over - len(pages)),
        f"one has {int(under.iloc[0])} pages; the {counted} rejections a model of Table 7 fit the "
        f"{over} longer agreements and the {long_research} research paper of {survey:.0f} pages",
    )


@_erratum("output-capacity", "section 4.2, schema breadth", MEDIUM, "published(6); counts()")
def _output_capacity(_: Facts) -> _Told:
    tenk, research = (value_of(6, d, "tokens") for d in ("10-K/Q", "research"))
    counted = tally(domains=("research",))
    return _Told(
        f"10-K/Q: {tenk:,.0f} tokens are too many",
        f"research: {research:,.0f} tokens, {counted.valid}/{counted.documents} valid",
        research - tenk,
        "the length of the output cannot by itself explain that no 10-K/Q output is valid: "
        "research papers need more tokens on average, and some of their outputs are valid (one "
        "long paper makes that average, and which papers were valid is not published)",
    )


@_erratum("readme-domains", "README against Table 1", LOW, "figures('text'), README; published(1)")
def _readme_domains(_: Facts) -> _Told:
    figure = said("domains", "README")
    return _Told(
        *against(figure, len(DOMAINS)),
        "the README counts top folders (finance holds two of them), the paper counts schemas",
    )


@_erratum("table-4-presets", "Table 4 against appendix C", LOW, "published(4); presets()")
def _table_4(_: Facts) -> _Told:
    listed = {figure.row for figure in rows_of("4")}
    lacking = sorted(set(DEFAULT_METRICS.values()) - listed)
    return _Told(
        f"{len(listed)} presets",
        f"without {', '.join(lacking)}",
        None,
        "the table leaves out what is the default of a JSON type and has an example in appendix C",
    )


@_erratum("credit-all-models", "section 4.1, model patterns", LOW, "published(10)")
def _all_models_on_credit(_: Facts) -> _Told:
    none = [m for m in MODELS if tally(models=(m,), domains=("credit",)).passed == 0]
    share = printed(10, none[0], "rate").printed
    return _Told(
        "all models are accurate on credit",
        f"{len(MODELS) - len(none)} of {len(MODELS)}",
        float(-len(none)),
        f"{' and '.join(none)} pass {share}: none of the documents could be read",
    )


@_erratum("valid-means-parsing", "section 4 against Table 7", HIGH, "published(7); counts()")
def _valid_means_parsing(_: Facts) -> _Told:
    kinds = [row for row in dict.fromkeys(f.row for f in rows_of("7")) if row != TOTAL]
    counted = sum(int(value_of(7, kind, model)) for kind in kinds for model in MODELS)
    whole = tally()
    invalid = whole.documents - whole.valid
    return _Told(
        "valid outputs fit the schema",
        f"{invalid - counted} of {invalid} invalid ones broke it",
        float(invalid - counted),
        f"the {len(kinds)} kinds of failure ({', '.join(kinds)}) make up all {invalid} invalid "
        "outputs, and none of them is an output that parses and does not fit its schema: "
        "validity seems to mean that there was JSON",
    )


@_erratum(
    "dominant-predictor", "section 1 and 4.2 against section 5", HIGH, "claims(); correlations()"
)
def _dominant(facts: Facts) -> _Told:
    found = associations(facts)
    sizes = {
        factor: [
            abs(found[group, "validity", factor, "spearman"].correlation or 0)
            for group in ("pooled", "able")
        ]
        for factor in ("keys", "tokens", "array_items")
    }
    told = "; ".join(
        f"{factor} {all_:.1f} and {able:.1f}" for factor, (all_, able) in sizes.items()
    )
    return _Told(
        "schema breadth; output volume",
        "not to be told apart",
        None,
        "introduction and analysis call the number of keys the dominant predictor, the conclusion "
        "calls output volume so; absolute rank correlations with validity over the five domains, "
        f"with all attempts and without those Claude's page limit blocked: {told}",
    )


_COUNTED = {
    "tokens": "GPT-2 tokens of the released gold files",
    "array_items": "items of all arrays of the released gold, nested ones included",
    "fields": "leaf values outside arrays",
}


@_erratum("total-gold-values", "Table 2, total", LOW, "table(2)", TOTAL)
@_erratum("research-gold-values", "Table 2, research", LOW, "table(2)", "research")
def _values(facts: Facts, row: str) -> _Told:
    cell = scale(facts)[row, "gold_values"]
    return _Told(*against(printed(2, row, "gold_values"), float(cell.value or 0)), REVISED)


def _averages(facts: Facts) -> Iterator[Finding]:
    cells = complexities(facts)
    for column, domain in product(_COUNTED, DOMAINS):
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


_CHECKS.append(_averages)


@cache
def _tried() -> str:
    tried = field_definitions()
    fitting = tried.groupby("definition")["matches"].sum()
    return (
        f"the paper does not define the column, and none of {len(fitting)} definitions that were "
        f"tried gives more than {int(fitting.max())} of the {len(DOMAINS)} averages"
    )


@_erratum("figure-2-credit", "Figure 2, caption, credit", LOW, "table('figure2')", "credit")
@_erratum("figure-2-research", "Figure 2, caption, research", HIGH, "table('figure2')", "research")
def _ratio(facts: Facts, domain: str) -> _Told:
    cells = tokens(facts)
    own = [d for d in DOMAINS if float(cells[d, "ratio"].value or 0) < 1]
    high = domain == "research"
    why = f"; more output than input have {' and '.join(own)}" if high else ""
    return _Told(
        printed("figure2", domain, "ratio").printed,
        f"{float(cells[domain, 'ratio'].value or 0):.1f}×",
        float(cells[domain, "ratio"].value or 0) - value_of("figure2", domain, "ratio"),
        f"{cells[domain, 'ratio'].note}{why}",
    )


@_erratum(
    "citations-100", "Table 1; sections 2.1, 2.2 and 4.2", LOW, "citations in the released gold"
)
def _citations(facts: Facts) -> _Told:
    figure, cited = said("fewest citations"), facts.of("research", "citations")
    few = sorted(int(n) for n in cited if n < (figure.value or 0))
    return _Told(
        *against(figure, float(cited.min())),
        f"{len(few)} of {len(cited)} papers have fewer citations: {', '.join(map(str, few))}",
    )


@_erratum("credit-pages", "Table 1; section 2.1", LOW, "pages of the PDFs")
def _credit_pages(facts: Facts) -> _Told:
    pages = facts.of("credit", "pages")
    low, high = said("shortest credit", "Table 1"), said("longest credit", "Table 1")
    again = [said(name, "section 4.2").printed for name in ("shortest credit", "longest credit")]
    return _Told(
        f"{low.printed}–{high.printed} pages",
        f"{int(pages.min())}–{int(pages.max())} pages",
        None,
        f"the PDFs have the pages that section 4.2 gives, {again[0]} to {again[1]}",
    )


@_erratum(
    "growth-metric", "Figure 1, caption", LOW, "definition growth_metric of the 10-K/Q schema"
)
def _growth_metric(facts: Facts) -> _Told:
    return _Told(
        *against(said("properties of growth metric"), facts.growth_metric),
        "the definition in the released 10-K/Q schema has fewer properties",
    )


@_erratum(
    "fields-and-items", "Table 6, caption, against Table 2", MEDIUM, "published(2) and published(6)"
)
def _decomposition(_: Facts) -> _Told:
    sums, values = {}, {}
    for domain in DOMAINS:
        sums[domain] = value_of(6, domain, "fields") + value_of(6, domain, "array_items")
        documents = value_of(2, domain, "documents")
        values[domain] = value_of(2, domain, "gold_values") / documents
    fitting = [d for d in DOMAINS if round(sums[d], 1) == round(values[d], 1)]
    worst = max(DOMAINS, key=lambda domain: values[domain] - sums[domain])
    return _Told(
        f"{sums[worst]:.1f} a {worst} document",
        f"{values[worst]:.1f}",
        values[worst] - sums[worst],
        "fields and array items are said to make up the extraction target; they add up to the "
        f"gold values of Table 2 for {' and '.join(fitting)} only, since an array item of several "
        "values counts once",
    )


@_erratum(
    "gold-breaks-schema",
    "section 2.3",
    HIGH,
    "JSON Schema Draft 2020-12 on the released gold; audit",
)
def _violations(facts: Facts) -> _Told:
    broken = facts.frame[facts.frame["violations"] > 0]
    by_domain = broken.groupby("domain").size()
    listed = ", ".join(f"{by_domain[d]} of {facts.documents[d]} {d}" for d in by_domain.index)
    return _Told(
        "every annotation fits its schema",
        f"{len(broken)} of {len(facts.frame)} do not",
        float(len(broken)),
        f"{listed} golds break their own JSON Schema; an output counts as valid only if it fits "
        "the schema (section 4), so these golds would count as invalid outputs",
    )


@_erratum("no-10-k", "Tables 1, 2, 5 and 9", LOW, "document names of the released dataset")
def _quarterly(facts: Facts) -> _Told:
    names = facts.frame.loc[facts.frame["schema"] == SCHEMAS["10-K/Q"], "document"]
    quarterly = sum("_10q_" in name for name in names)
    return _Told(
        "10-K and 10-Q filings",
        f"{quarterly} of {len(names)} are 10-Q",
        None,
        "the released filings are quarterly reports throughout, by their file names",
    )


_RELEASE = "extract-bench 0.1.0"
_CHECK = "profile 'extract-bench-0.1.0', checked against the package in tests/parity"

#: A text of our own, longer than the 200 letters from which on difflib drops the frequent ones.
_TEXT = "no later than ten days after a notice the agent tells the lenders; " * 4
_SHORTER = _TEXT.replace("later ", "", 1)


@_erratum(
    "failed-judge-calls",
    f"{_RELEASE}, judge reports",
    HIGH,
    "EXTRACTBENCH_RUNS, reports with a metric error_*; shipped as figures",
)
def _failed_calls(_: Facts) -> _Told:
    reports = reliability.reports()
    failed = reports[reports["failed_calls"] > 0]
    passed, rows = int(failed["passed"].sum()), int(failed["rows"].sum())
    extra, more = int(failed["added_passed"].sum()), int(failed["added"].sum())
    before, after = ratio(passed, rows), ratio(passed - extra, rows - more)
    return _Told(
        percent(before),
        percent(after),
        after - before,
        f"in {len(failed)} of {len(reports)} recorded reports a judge call failed, the evaluator "
        f"went on into the node's children, found both sides absent and added {extra} passing "
        f"fields to {rows - more}: the pass rate of these reports rises because the judge is down",
    )


@_erratum("fields-inside-arrays", f"section 3.4 against {_RELEASE}", HIGH, _CHECK)
def _inside_arrays(facts: Facts) -> _Told:
    keys = _times(facts.documents, facts.keys)
    scored = _times(facts.documents, facts.scored)
    tenk = f"{facts.scored['10-K/Q']} of {facts.keys['10-K/Q']}"
    rule = PROFILES["extract-bench-0.1.0"].rows_inside_arrays
    return _Told(
        "item fields scored by their metrics",
        "item fields scored" if rule else "no row inside an array",
        None,
        "the release gives an array one row, by a judge that sees no metric of a field: of "
        f"{keys:,} documents x keys {scored} get a row ({tenk} keys of 10-K/Q); the metrics "
        "declared inside arrays, number_tolerance among them, never run there",
    )


def _times(documents: dict[str, int], each: Mapping[str, int]) -> int:
    return sum(number * each[domain] for domain, number in documents.items())


def _released(metric: str, params: dict[str, Any], gold: Any, predicted: Any) -> float:
    compare = package_010_metric(metric, params)
    return compare(gold, predicted)[0] if compare else float("nan")


@_erratum("levenshtein-or-difflib", f"README and Table 4 against {_RELEASE}", MEDIUM, _CHECK)
def _fuzzy(_: Facts) -> _Told:
    released = _released("string_fuzzy", {}, _TEXT, _SHORTER)
    own = preset_score("string_fuzzy", "string", _TEXT, _SHORTER)
    back = _released("string_fuzzy", {}, _SHORTER, _TEXT)
    return _Told(
        f"{own:.3f} (Levenshtein)",
        f"{released:.3f} (difflib)",
        released - own,
        "the release computes difflib's ratio where README and paper say Levenshtein; a text of "
        f"{len(_TEXT)} letters without one of its words gives these two, and difflib gives "
        f"{back:.3f} with the sides swapped; the threshold is 0.8",
    )


@_erratum(
    "relative-or-absolute-tolerance", f"Table 4 and appendix C against {_RELEASE}", HIGH, _CHECK
)
def _tolerance(_: Facts) -> _Told:
    gold, near, params = 1_000_000.0, 1_000_500.0, dict(PRESETS["number_tolerance"].params)
    small, double = 0.0005, 0.001
    ours = [
        preset_score("number_tolerance", "number", *pair)
        for pair in ((gold, near), (small, double))
    ]
    theirs = [
        _released("number_tolerance", params, *pair) == 1
        for pair in ((gold, near), (small, double))
    ]
    return _Told(
        f"{near:,.0f} for {gold:,.0f}: {_verdict(ours[0] == 1)}",
        _verdict(theirs[0]),
        None,
        f"the paper's margin is relative ({percent(100 * params['tolerance'])}), the release's "
        f"absolute: {double} for {small}, twice as much, {_verdict(theirs[1])} there and "
        f"{_verdict(ours[1] == 1)} by the paper's rule",
    )


def _verdict(passed: bool) -> str:
    return "passes" if passed else "fails"


@_erratum("default-tolerance", f"Table 4, README against {_RELEASE}", LOW, _CHECK)
def _default_tolerance(_: Facts) -> _Told:
    declared = float(PRESETS["number_tolerance"].params["tolerance"])
    default = _largest_accepted({})
    return _Told(
        f"{declared:g}",
        f"{default:.0e}",
        default - declared,
        "where a schema names the metric and not the preset, without params, the metric's own "
        "default counts",
    )


def _largest_accepted(params: dict[str, Any]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        accepted = _released("number_tolerance", params, 0.0, middle) == 1
        low, high = (middle, high) if accepted else (low, middle)
    return low


@_erratum("two-texts-are-equal", f"Table 4 against {_RELEASE}", MEDIUM, _CHECK)
def _two_texts(_: Facts) -> _Told:
    pairs = [("33–37", "90–99"), ("unknown", "12 to 14")]
    passing = sum(_released("number_tolerance", {}, *pair) == 1 for pair in pairs)
    own = sum(preset_score("number_tolerance", "number", *pair) == 1 for pair in pairs)
    return _Told(
        f"{own} of {len(pairs)} unlike texts pass",
        f"{passing} of {len(pairs)}",
        float(passing - own),
        "the release turns what is not a number into nothing and finds two nothings equal; the "
        "10-K/Q schema allows texts such as ranges where it declares number_tolerance",
    )


@_erratum("recall-only", "section 3.4 against README", MEDIUM, "evaluate(...).arrays")
def _recall_only(_: Facts) -> _Told:
    items = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": items}}}
    gold = [{"name": "one"}, {"name": "two"}]
    invented = [{"name": f"invented {number}"} for number in range(50)]
    array = evaluate(schema, {"rows": gold}, {"rows": gold + invented}).arrays.iloc[0]
    return _Told(
        f"F1 {array['f1']:.3f}",
        f"{array['score']:.3f}",
        float(array["score"] - array["f1"]),
        f"precision, recall and F1 are computed, but an array's score is its recall: "
        f"{len(gold)} right rows among {len(invented)} invented ones score {array['score']:.0f}",
    )


@_erratum("unscored-union", f"README against {_RELEASE}", LOW, _CHECK)
def _unscored_union(facts: Facts) -> _Told:
    apart = [d for d in DOMAINS if facts.scored[d] != facts.scored_by_package_010[d]]
    by_rules = _times(facts.documents, facts.scored)
    released = _times(facts.documents, facts.scored_by_package_010)
    accuracy = ratio(tally(models=("GPT-5",)).passed, _valid_fields(facts, "GPT-5"))
    return _Told(
        f"{by_rules} scored fields",
        f"{released}",
        float(released - by_rules),
        f"the release scores no anyOf without a metric of its own ({', '.join(apart)}: "
        f"{facts.scored_by_package_010[apart[0]]} fields a document instead of "
        f"{facts.scored[apart[0]]}); with its count GPT-5's accuracy on valid outputs would be "
        f"{percent(accuracy)}",
    )


def _valid_fields(facts: Facts, model: str) -> int:
    return sum(
        tally(models=(model,), domains=(d,)).valid * facts.scored_by_package_010[d] for d in DOMAINS
    )


@_erratum("readme-ahead-of-release", f"README against {_RELEASE}", MEDIUM, "profiles()")
def _ahead_of_release(_: Facts) -> _Told:
    release, readme = PROFILES["extract-bench-0.1.0"], PROFILES["extract-bench-readme"]
    rules = [f.name for f in fields(Profile) if f.name != "name"]
    apart = [rule for rule in rules if getattr(release, rule) != getattr(readme, rule)]
    return _Told(
        f"{len(apart)} rules",
        "another rule each",
        None,
        "the README describes what the release on PyPI does not do: " + ", ".join(apart),
    )


ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row per thing that does not add up",
    (
        Column("id", "string", "short name"),
        Column("where", "string", "table, figure, section, or what is compared with what"),
        Column("published", "string", "what is printed or said"),
        Column("recomputed", "string", "what comes out"),
        Column("difference", "Float64", "recomputed - published, for numbers", "", True),
        Column("explanation", "string", "why, with the numbers behind it"),
        Column("severity", "string", "how much hangs on it", ", ".join(SEVERITIES)),
        Column("check", "string", "what to look at, or to call"),
    ),
)


def errata(*, dataset: Dataset | None = None) -> pd.DataFrame:
    """List contradictions in the paper, its README, the dataset and the published package.

    Every number is computed from the published figures, the dataset's statistics and the
    evaluator at the time of the call.

    Parameters
    ----------
    dataset : Dataset, optional
        The released dataset, read and counted anew; the shipped statistics by default.

    Returns
    -------
    pandas.DataFrame
        One row per erratum, the gravest first: id, where, published, recomputed, difference,
        explanation, severity (``high``: a result or conclusion changes; ``medium``: a printed
        figure or a rule is wrong; ``low``: wording, marks, small differences), check.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["structured-research-total", ["published", "recomputed"]].tolist()
    ['14.7%', '24.5%']
    """
    return ERRATA_COLUMNS.from_rows(errata_of(facts_of(dataset)))


def errata_of(facts: Facts) -> list[Finding]:
    """Return all errata, by severity."""
    found = [finding for check in _CHECKS for finding in check(facts)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
