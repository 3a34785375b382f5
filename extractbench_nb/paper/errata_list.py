"""`errata`: contradictions in the paper, its README, the dataset and the published package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark import reliability
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.published import Figure, rows_of
from extractbench_nb.benchmark.statistics import shipped_rows
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
    compared_figure,
    formatted,
    printed,
    ratio,
    rounded,
    stated,
    status_of,
    value_of,
)
from extractbench_nb.paper.facts import Facts, attempts, facts_of, tally
from extractbench_nb.paper.regression import associations
from extractbench_nb.paper.results import (
    FAILURES,
    REVISED,
    accuracy_range,
    largest_accepted,
    preset_score,
    recompute,
    scored_in_valid,
)
from extractbench_nb.schema.config import DEFAULT_METRICS, PRESETS

#: high: a result or conclusion changes; medium: a printed figure or a rule is wrong; low: wording,
#: marks, small differences.
SEVERITIES = ("high", "medium", "low")
#: Whose erratum it is.
ABOUT = ("paper", "dataset", "package 0.1.0", "package README")


class _Recount(NamedTuple):
    """The computed part of one erratum; its place, severity and check are in the catalogue."""

    id: str
    published: str
    recomputed: str
    explanation: str
    difference: float | None = None

    @classmethod
    def of_figure(
        cls, name: str, figure: Figure, value: float | str | None, explanation: str
    ) -> _Recount:
        """Compare a printed figure with a computed one."""
        row = compared_figure(figure, value)
        return cls(name, row["printed"], row["shown"], explanation, row["difference"])


def percent(value: float) -> str:
    """Write a share as 22.4%."""
    return f"{rounded(value, 1)}%"


def _scored_fields(facts: Facts) -> Iterator[_Recount]:
    """Compare documents x keys, which the paper divides by, with the fields that are scored."""
    scored = {d: facts.documents[d] * facts.scored[d] for d in DOMAINS}
    fields_of = {d: attempts(MODELS[0], d).fields for d in DOMAINS}
    total, keys = sum(scored.values()), sum(fields_of.values())
    share = ratio(total, keys)
    each = ", ".join(f"{facts.scored[d]} for {d}" for d in DOMAINS)
    yield _Recount(
        "pass-rate-ceiling",
        "100.0%",
        percent(share),
        f"the pass rate divides by documents x keys ({keys:,} per model), but a perfect extraction "
        f"has only {total} scored fields: an array counts as one field and the keys of its items "
        f"are not scored (scored fields per document: {each})",
        share - 100,
    )

    counted = {d: attempts("pooled", d) for d in DOMAINS[:-1]}
    rates = {d: c.pass_rate for d, c in counted.items()}
    attainable = {d: ratio(c.passed, scored[d] * len(MODELS)) for d, c in counted.items()}
    as_printed, of_scored = (
        ", ".join(f"{d} {percent(r)}" for d, r in sorted(by.items(), key=lambda item: -item[1]))
        for by in (rates, attainable)
    )
    yield _Recount(
        "order-of-domains",
        as_printed,
        of_scored,
        "the order of the domains changes when passed fields are divided by scored fields instead "
        "of by all keys; the share of keys that are scored is "
        + ", ".join(f"{percent(ratio(scored[d], fields_of[d]))} for {d}" for d in DOMAINS),
    )

    present, sports = facts.of("sports", "present"), counted["sports"]
    with_value = int(present.sum())
    yield _Recount(
        "sports-gold",
        f"{scored['sports']} scored fields",
        f"{with_value} with a gold value",
        f"{int((present == 1).sum())} of {len(present)} sports golds store their results under a "
        "key that the schema does not declare, so only "
        f"{percent(ratio(with_value, scored['sports']))} of the scored fields have a gold value, "
        "and correct values under the declared keys count as hallucinations; the text attributes "
        f"the result ({sports.passed} of {sports.fields} fields passed) to array scoring alone",
        float(with_value - scored["sports"]),
    )

    by_model = {m: attempts(m, "sports").pass_rate for m in MODELS}
    best = max(by_model, key=lambda model: by_model[model])
    absent = scored["sports"] - with_value
    nothing = ratio(absent, fields_of["sports"])
    yield _Recount(
        "sports-nothing-extracted",
        f"{best}, {printed(13, best, 'rate').printed}",
        f"an empty object, {percent(nothing)}",
        f"{absent} scored fields of the sports golds are absent, and a field that is absent on "
        f"both sides passes: an empty object conforms to the schema and passes {absent} of "
        f"{fields_of['sports']} fields, more than the best model",
        nothing - by_model[best],
    )

    figure = stated("gold values", "abstract")
    yield _Recount(
        "evaluable-fields",
        figure.printed,
        f"{total} scored",
        f"the same name is used for three counts: {figure.printed} leaf values in gold, {keys:,} "
        f"documents x keys, and {total} scored fields",
        total - (figure.value or 0.0),
    )


def _blocked_documents(facts: Facts) -> Iterator[_Recount]:
    """Compute averages without the two models that could not read the credit agreements."""
    able = tuple(m for m in MODELS if m not in CLAUDE)
    credit, research = (tally(models=able, domains=(d,)) for d in ("credit", "research"))
    yield _Recount.of_figure(
        "credit-validity",
        stated("validity of credit"),
        credit.validity,
        "the comparison of credit agreements and research papers confounds a page limit with the "
        "schema: for the models that can read the documents, "
        f"{percent(credit.validity)} of credit outputs and {percent(research.validity)} of "
        "research outputs are valid, so credit agreements, not sports results, have the highest "
        "validity",
    )


def _structured_mode() -> Iterator[_Recount]:
    """Compare Table 8 with the counts behind its percentages."""
    accepted = ("sports", "credit", "research")
    before, after = (tally(mode, domains=accepted) for mode in ("prompt", "structured"))
    yield _Recount(
        "structured-accuracy",
        "accuracy falls",
        f"{before.passed} to {after.passed} fields",
        "the loss with structured output comes only from the rejected resume schema "
        f"({attempts('pooled', 'resumes').passed} passed fields); on the domains whose schemas "
        f"were accepted, more of the {after.fields:,} fields pass than before",
        float(after.passed - before.passed),
    )

    prompt = {m: attempts(m, "research") for m in MODELS}
    changed = {m: tally("structured", models=(m,), domains=("research",)) for m in MODELS}
    gains = {m: changed[m].passed - prompt[m].passed for m in MODELS}
    changes = ", ".join(f"{m} {gain:+d}" for m, gain in gains.items())
    lost = sum(gains[m] for m in CLAUDE)
    yield _Recount(
        "structured-long-outputs",
        f"{prompt['GPT-5'].pass_rate:.1f}% (GPT-5, research)",
        percent(changed["GPT-5"].pass_rate),
        "the text says that structured output harms long extractions most, and that output volume "
        "limits the GPT models; on research papers, which have the longest outputs, the GPT models "
        f"pass more of their {prompt['GPT-5'].fields} fields with structured output, while the "
        f"Claude models, which reject the schema, lose {-lost}: {changes}",
        changed["GPT-5"].pass_rate - prompt["GPT-5"].pass_rate,
    )


def _marks_and_accuracies(facts: Facts) -> Iterator[_Recount]:
    """Recompute the last column of Table 5 and its best cells."""
    by_model = [f for f in rows_of("5") if f.row in MODELS]
    column = [f for f in by_model if f.column == "research passed"]
    marked = next(f for f in column if f.bold)
    best = max(column, key=lambda f: f.value or 0.0)
    appendix = next(f for f in rows_of("12") if f.column == "passed" and f.bold)
    yield _Recount(
        "research-bold",
        f"{marked.row}, {marked.printed}",
        f"{best.row}, {best.printed}",
        "bold marks the best value of a column, but another row has the maximum; "
        f"Table 12 marks {appendix.row}, {appendix.printed}",
        (best.value or 0.0) - (marked.value or 0.0),
    )
    column = [f for f in by_model if f.column == "valid"]
    best = max(column, key=lambda f: f.value or 0.0)
    yield _Recount(
        "validity-bold",
        ", ".join(f.row for f in column if f.bold) or "no mark",
        f"{best.row}, {best.printed}",
        "the caption announces bold for the best value of each column; this column has none",
    )

    rows = (*MODELS, TOTAL)
    figures = {row: printed(5, row, "accuracy") for row in rows}
    cells = {row: cell for (row, name), cell in recompute(5, facts).items() if name == "accuracy"}
    computed = {row: float(cells[row].value or 0) for row in rows}
    apart = [row for row in rows if status_of(figures[row], cells[row]) != EQUAL]
    low = sum(computed[row] > (figures[row].value or 0) for row in apart)
    surplus = []  # fields that a printed accuracy implies beyond those of the valid outputs
    for model in MODELS:
        fewest, _ = accuracy_range(model, tally(models=(model,)).passed)
        beyond = fewest - scored_in_valid(facts, (model,), released=True)
        surplus.append(f"{model} {beyond:+d}")
    yield _Recount.of_figure(
        "accuracy-on-valid",
        figures[TOTAL],
        computed[TOTAL],
        f"{len(apart)} of {len(rows)} accuracies do not follow from valid documents x scored "
        f"fields ({low} are printed lower, the others higher; how many fields the authors divided "
        f"by is not known): {cells[TOTAL].note};"
        " fields that the printed shares imply beyond those of the released evaluator: "
        + ", ".join(surplus),
    )


def _statements_on_results(facts: Facts) -> Iterator[_Recount]:
    """Check what sections 1 to 5 say about models, failures, page limits and contributions."""
    valid = {model: tally(models=(model,)) for model in MODELS}
    least = min(MODELS, key=lambda model: valid[model].valid)
    yield _Recount(
        "lowest-validity",
        f"GPT-5, {valid['GPT-5'].valid}/{valid['GPT-5'].documents}",
        f"{least}, {valid[least].valid}/{valid[least].documents}",
        "section 4.1 names GPT-5 as the model with the lowest validity; Table 5 has a lower one",
        float(valid[least].valid - valid["GPT-5"].valid),
    )
    spans = {}
    for domain in DOMAINS:
        shares = [attempts(model, domain).validity for model in MODELS]
        spans[domain] = min(shares), max(shares)
    widest = max(DOMAINS, key=lambda domain: spans[domain][1] - spans[domain][0])
    low, high = spans["research"]
    yield _Recount(
        "research-variation",
        f"research, {low:.0f}% to {high:.0f}%",
        f"{widest}, {spans[widest][0]:.0f}% to {spans[widest][1]:.0f}%",
        "section 4.1 says that validity varies most from model to model on research papers; on "
        f"{widest} it varies more, because a page limit blocks two models there",
    )
    yield _Recount(
        "contributions",
        "four contributions",
        "two contributions",
        "section 1 lists four contributions of the paper, section 5 two: the baselines and the "
        "analysis are not among them",
        -2.0,
    )

    sports, resumes = (attempts("GPT-5.2", domain) for domain in ("sports", "resumes"))
    most = max(attempts(model, "resumes").valid for model in MODELS)
    yield _Recount(
        "gpt-models-elsewhere",
        "GPT models struggle outside credit",
        f"GPT-5.2: {sports.valid}/{sports.documents} sports, "
        f"{resumes.valid}/{resumes.documents} resumes valid",
        f"the statement holds for {GPT[1]} but not for {GPT[0]}: no model has more than "
        f"{sports.documents} valid sports results or {most} valid resumes",
    )

    limit = stated("page limit", "section 4.2").value or 0
    pages, research_pages = facts.of("credit", "pages"), facts.of("research", "pages")
    over, under = int((pages > limit).sum()), pages[pages <= limit]
    survey = value_of(2, "research", "pages") - float(research_pages.sum())
    long_research = int((research_pages.dropna() > limit).sum()) + int(survey > limit)
    yield _Recount(
        "page-limit",
        f"{len(pages)} credit agreements over {limit:.0f} pages",
        f"{over}",
        f"one agreement has {int(under.iloc[0])} pages; the "
        f"{value_of(7, 'page limit', CLAUDE[0]):.0f} rejections per model in Table 7 match the "
        f"{over} longer agreements and the {long_research} research paper of {survey:.0f} pages",
        float(over - len(pages)),
    )

    tenk, research = (value_of(6, d, "tokens") for d in ("10-K/Q", "research"))
    counted = attempts("pooled", "research")
    yield _Recount(
        "output-capacity",
        f"10-K/Q: {tenk:,.0f} tokens are too many",
        f"research: {research:,.0f} tokens, {counted.valid}/{counted.documents} valid",
        "output length alone cannot explain that no 10-K/Q output is valid: research papers need "
        "more tokens on average, and some of their outputs are valid (one long paper dominates "
        "that average, and the paper does not say which research outputs were valid)",
        research - tenk,
    )


def _definitions(facts: Facts) -> Iterator[_Recount]:
    """Check the paper's use of domain, preset, model, valid and dominant predictor."""
    listed = {figure.row for figure in rows_of("4")}
    lacking = sorted(set(DEFAULT_METRICS.values()) - listed)
    yield _Recount(
        "table-4-presets",
        f"{len(listed)} presets",
        f"without {', '.join(lacking)}",
        "the table omits the default preset of a JSON type, which has an example in appendix C",
    )
    none = [m for m in MODELS if attempts(m, "credit").passed == 0]
    yield _Recount(
        "credit-all-models",
        "all models are accurate on credit",
        f"{len(MODELS) - len(none)} of {len(MODELS)}",
        f"{' and '.join(none)} pass {printed(10, none[0], 'rate').printed}: they could read "
        "none of the documents",
        float(-len(none)),
    )

    counted = sum(int(value_of(7, kind, model)) for kind in FAILURES for model in MODELS)
    invalid = tally().invalid
    yield _Recount(
        "valid-means-parsing",
        "valid outputs conform to the schema",
        f"{invalid - counted} of {invalid} invalid outputs violate it",
        f"the {len(FAILURES)} kinds of failure ({', '.join(FAILURES)}) account for all "
        f"{invalid} invalid outputs, and none of them is an output that parses but violates its "
        "schema: an output seems to be called valid if it parses as JSON",
        float(invalid - counted),
    )

    correlations = associations(facts)
    sizes = {
        factor: " and ".join(
            f"{correlations[group, 'validity', factor, 'spearman'].size:.1f}"
            for group in ("pooled", "able")
        )
        for factor in ("keys", "tokens", "array_items")
    }
    yield _Recount(
        "dominant-predictor",
        "schema breadth; output volume",
        "indistinguishable",
        "the introduction and the analysis name the number of keys as the dominant predictor, the "
        "conclusion names output volume; absolute rank correlations with validity over the five "
        "domains, with all attempts and without those that Claude's page limit blocked: "
        + "; ".join(f"{factor} {both}" for factor, both in sizes.items()),
    )


#: Errata that are one printed figure: its table, row and column. The note of the recomputed cell
#: is the explanation.
_FIGURES = {
    "credit-able-models": ("text", "s4.1-26", "credit pass rate of models that read it"),
    "hours-per-document": ("3", TOTAL, "hours_per_document"),
    "structured-research-total": ("8", TOTAL, "research rate"),
    "structured-sports-total": ("8", TOTAL, "sports rate"),
    "structured-overall-total": ("8", TOTAL, "overall rate"),
    "gpt-5-elsewhere": ("text", "s4.2-10", "highest validity of GPT-5 without credit"),
    "simplest-schema": ("text", "s4.1-25", "fewest keys"),
    "narrowest-schema": ("text", "s5-01", "fewest keys"),
    "credit-85-percent": ("text", "s2.1-09", "lowest credit pass rate that is not 0"),
    "malformed-share": ("text", "s4.2-51", "share of malformed"),
    "readme-domains": ("text", "readme-03", "domains"),
    "citations-100": ("text", "s2.1-02", "fewest citations"),
    "growth-metric": ("text", "s1-02", "properties of growth metric"),
}


def _single_figures(facts: Facts) -> Iterator[_Recount]:
    """List printed figures that differ from the recomputed ones."""
    cells = {part: recompute(part, facts) for part in ("2", "3", "8", "text")}
    for name, (part, row, column) in _FIGURES.items():
        cell = cells[part][row, column]
        yield _Recount.of_figure(name, printed(part, row, column), cell.value, cell.note)


def _complexities(facts: Facts) -> Iterator[_Recount]:
    """List the averages of Table 6 and the ratios of Figure 2 that differ.

    Figures that the change of the released research golds explains are one erratum, and so is the
    column whose definition is not known.
    """
    cells = {("6", *key): cell for key, cell in recompute(6, facts).items()}
    cells |= {("2", *key): cell for key, cell in recompute(2, facts).items()}
    apart = {key: (printed(*key), cell) for key, cell in cells.items()}
    apart = {k: pair for k, pair in apart.items() if status_of(*pair) == DIFFERS}
    drifted = {k: pair for k, pair in apart.items() if REVISED in pair[1].note}
    undefined = {k: pair for k, pair in apart.items() if k[2] == "fields"}
    for id_, pairs in (("research-drift", drifted), ("table-6-fields", undefined)):
        if not pairs:
            continue
        yield _Recount(
            id_,
            ", ".join(f"{row} {column} {f.printed}" for (_, row, column), (f, _) in pairs.items()),
            ", ".join(
                f"{row} {column} {formatted(f, cell.value)}"
                for (_, row, column), (f, cell) in pairs.items()
            ),
            next(iter(pairs.values()))[1].note,
        )
    for (_, domain, column), (figure, cell) in apart.items():
        if any((figure, cell) in group.values() for group in (drifted, undefined)):
            continue
        number, documents = float(cell.value or 0), facts.documents[domain]
        yield _Recount.of_figure(
            f"{domain.replace('/', '').lower()}-{column.replace('_', '-')}",
            figure,
            cell.value,
            f"{cell.note}; total of {documents} documents: about "
            f"{(figure.value or 0) * documents:,.0f} printed, {number * documents:,.0f} counted",
        )

    ratio_cells = recompute("figure2", facts)
    ratios = {domain: float(ratio_cells[domain, "ratio"].value or 0) for domain in DOMAINS}
    longer = [domain for domain in DOMAINS if ratios[domain] < 1]
    for domain, more in (
        ("research", f"; {' and '.join(longer)} have more output than input"),
        ("credit", ""),
    ):
        yield _Recount(
            f"figure-2-{domain}",
            printed("figure2", domain, "ratio").printed,
            f"{ratios[domain]:.1f}×",
            f"{ratio_cells[domain, 'ratio'].note}{more}; counted with the tokenizer of Table 6, "
            "GPT-2's, since Figure 2 names none",
            ratios[domain] - value_of("figure2", domain, "ratio"),
        )


def _released_files(facts: Facts) -> Iterator[_Recount]:
    """Compare descriptions of the dataset with the released files."""
    pages = facts.of("credit", "pages")
    in_table, in_text = (
        [stated(name, place).printed for name in ("shortest credit", "longest credit")]
        for place in ("Table 1", "section 4.2")
    )
    yield _Recount(
        "credit-pages",
        f"{in_table[0]}–{in_table[1]} pages",
        f"{int(pages.min())}–{int(pages.max())} pages",
        f"the PDFs have the page counts of section 4.2, {in_text[0]} to {in_text[1]}",
    )
    sums = {d: value_of(6, d, "fields") + value_of(6, d, "array_items") for d in DOMAINS}
    values = {d: value_of(2, d, "gold_values") / value_of(2, d, "documents") for d in DOMAINS}
    fitting = [d for d in DOMAINS if round(sums[d], 1) == round(values[d], 1)]
    worst = max(DOMAINS, key=lambda domain: values[domain] - sums[domain])
    yield _Recount(
        "fields-and-items",
        f"{sums[worst]:.1f} per {worst} document",
        f"{values[worst]:.1f}",
        "the caption says that fields and array items make up the extraction target; their sum "
        f"equals the gold values of Table 2 only for {' and '.join(fitting)}, because an array "
        "item with several values counts once",
        values[worst] - sums[worst],
    )

    broken = facts.frame[facts.frame["violations"] > 0]
    by_domain = broken.groupby("domain").size()
    listed = ", ".join(f"{by_domain[d]} of {facts.documents[d]} {d}" for d in by_domain.index)
    yield _Recount(
        "gold-breaks-schema",
        "every annotation conforms to its schema",
        f"{len(broken)} of {len(facts.frame)} do not",
        f"{listed} golds violate their own JSON Schema; an output counts as valid only if it "
        "conforms to the schema (section 4), so these golds would count as invalid outputs",
        float(len(broken)),
    )
    names = facts.frame.loc[facts.frame["schema"] == SCHEMAS["10-K/Q"], "document"]
    yield _Recount(
        "no-10-k",
        "10-K and 10-Q filings",
        f"{sum('_10q_' in name for name in names)} of {len(names)} are 10-Q",
        "by their file names, all released filings are quarterly reports",
    )


#: From 200 characters on, difflib ignores characters that are frequent in a text.
_TEXT = "no later than ten days after a notice the agent tells the lenders; " * 4
_SHORTER = _TEXT.replace("later ", "", 1)


def _released(metric: str, params: Mapping[str, Any], gold: Any, predicted: Any) -> float:
    """Return the score of the published package."""
    compare = package_010_metric(metric, params)
    return compare(gold, predicted)[0] if compare else float("nan")


def _package(facts: Facts) -> Iterator[_Recount]:
    """Compare the paper and the README with the scores and rules of the published package."""
    reports = reliability.reports()
    failed = reports[reports["failed_calls"] > 0]
    passed, rows = int(failed["passed"].sum()), int(failed["rows"].sum())
    extra, more = int(failed["added_passed"].sum()), int(failed["added"].sum())
    before, after = ratio(passed, rows), ratio(passed - extra, rows - more)
    yield _Recount(
        "failed-judge-calls",
        percent(before),
        percent(after),
        f"in {len(failed)} of {len(reports)} recorded reports a judge call failed; the evaluator "
        f"then scored the node's children, found both sides absent and added {extra} passing "
        f"fields to {rows - more}: the pass rate of these reports rises because calls failed",
        after - before,
    )

    keys, scored, released = facts.keys, facts.scored, facts.scored_by_package_010
    all_keys, all_scored, all_released = (
        sum(number * each[domain] for domain, number in facts.documents.items())
        for each in (keys, scored, released)
    )
    release, readme = PROFILES["extract-bench-0.1.0"], PROFILES["extract-bench-readme"]
    yield _Recount(
        "fields-inside-arrays",
        "item fields scored by their metrics",
        "item fields scored" if release.rows_inside_arrays else "no row inside an array",
        "the release gives an array one row, by a judge that does not see the fields' metrics: of "
        f"{all_keys:,} documents x keys, {all_scored} have a row ({scored['10-K/Q']} of "
        f"{keys['10-K/Q']} keys of 10-K/Q); metrics declared inside arrays, such "
        "as number_tolerance, never run",
    )

    apart = [d for d in DOMAINS if scored[d] != released[d]]
    valid = scored_in_valid(facts, ("GPT-5",), released=True)
    accuracy = ratio(tally(models=("GPT-5",)).passed, valid)
    yield _Recount(
        "unscored-union",
        f"{all_scored} scored fields",
        f"{all_released}",
        f"the release does not score an anyOf without its own metric ({', '.join(apart)}: "
        f"{released[apart[0]]} fields per document instead of {scored[apart[0]]}); with its "
        f"count, GPT-5's accuracy on valid outputs would be {percent(accuracy)}",
        float(all_released - all_scored),
    )
    rules = [f.name for f in fields(Profile) if f.name != "name"]
    changed = [rule for rule in rules if getattr(release, rule) != getattr(readme, rule)]
    yield _Recount(
        "readme-ahead-of-release",
        f"{len(changed)} rules",
        "a different rule each",
        "the README describes rules that the release on PyPI does not implement: "
        + ", ".join(changed),
    )


def _metrics_of_the_package() -> Iterator[_Recount]:
    """Compare the metrics that paper and README describe with those of the published package."""
    levenshtein = preset_score("string_fuzzy", "string", _TEXT, _SHORTER)
    ratio_of_difflib = _released("string_fuzzy", {}, _TEXT, _SHORTER)
    swapped = _released("string_fuzzy", {}, _SHORTER, _TEXT)
    yield _Recount(
        "levenshtein-or-difflib",
        f"{levenshtein:.3f} (Levenshtein)",
        f"{ratio_of_difflib:.3f} (difflib)",
        "the release computes difflib's ratio, but README and paper say Levenshtein; these are the "
        f"scores of a text of {len(_TEXT)} characters and the same text without one word; with the "
        f"sides swapped, difflib gives {swapped:.3f}; the threshold is 0.8",
        ratio_of_difflib - levenshtein,
    )

    params = dict(PRESETS["number_tolerance"].params)
    margin = float(params["tolerance"])
    gold, near, small, double = 1_000_000.0, 1_000_500.0, 0.0005, 0.001
    verdict = {True: "passes", False: "fails"}
    pairs: list[tuple[Any, Any]] = [(gold, near), (small, double)]
    described = [verdict[preset_score("number_tolerance", "number", *pair) == 1] for pair in pairs]
    released = [verdict[_released("number_tolerance", params, *pair) == 1] for pair in pairs]
    yield _Recount(
        "relative-or-absolute-tolerance",
        f"{near:,.0f} for {gold:,.0f}: {described[0]}",
        released[0],
        f"the paper's margin is relative ({percent(100 * margin)}), the release's is "
        f"absolute: {double} for {small}, which is twice as large, {released[1]} in the release "
        f"and {described[1]} by the paper's rule",
    )
    default = largest_accepted(
        lambda x: _released("number_tolerance", {}, 0.0, x) == 1, highest=1.0, steps=60
    )
    yield _Recount(
        "default-tolerance",
        f"{margin:g}",
        f"{default:.0e}",
        "the metric's own default applies where a schema names the metric, without params, instead "
        "of the preset",
        default - margin,
    )
    pairs = [("33–37", "90–99"), ("unknown", "12 to 14")]
    passing = sum(_released("number_tolerance", {}, *pair) == 1 for pair in pairs)
    right = sum(preset_score("number_tolerance", "number", *pair) == 1 for pair in pairs)
    yield _Recount(
        "two-texts-are-equal",
        f"{right} of {len(pairs)} different texts pass",
        f"{passing} of {len(pairs)}",
        "the release converts texts that are not numbers to None, and two Nones are equal; the "
        "10-K/Q schema allows texts such as ranges where it declares number_tolerance",
        float(passing - right),
    )

    items = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": items}}}
    rows = [{"name": "one"}, {"name": "two"}]
    invented = [{"name": f"invented {number}"} for number in range(50)]
    array = evaluate(schema, {"rows": rows}, {"rows": rows + invented}).arrays.iloc[0]
    yield _Recount(
        "recall-only",
        f"F1 {array['f1']:.3f}",
        f"{array['score']:.3f}",
        f"precision, recall and F1 are computed, but an array's score is its recall: "
        f"{len(rows)} correct rows among {len(invented)} invented ones score {array['score']:.0f}",
        float(array["score"] - array["f1"]),
    )


ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row per erratum",
    (
        Column("id", "string", "short name"),
        Column("about", "string", "whose erratum it is", ", ".join(ABOUT)),
        Column("where", "string", "table, figure or section; in comparisons, both sources"),
        Column("published", "string", "the printed figure or statement"),
        Column("recomputed", "string", "the recomputed figure or finding"),
        Column("difference", "Float64", "recomputed - published, for numbers", "", True),
        Column("explanation", "string", "why, with the numbers behind it"),
        Column("severity", "string", "effect on the results", ", ".join(SEVERITIES)),
        Column("check", "string", "function call or source for checking it"),
    ),
)


def errata(*, dataset: Dataset | None = None) -> pd.DataFrame:
    """List contradictions in the paper, its README, the dataset and the published package.

    Every number is computed at the time of the call, from the published figures, the dataset's
    statistics and the evaluator.

    Parameters
    ----------
    dataset : Dataset, optional
        The released dataset, whose files are read and counted. By default the statistics shipped
        with this package.

    Returns
    -------
    pandas.DataFrame
        One row per erratum, highest severity first, then by ``about`` (paper, dataset, package
        0.1.0, package README): id, about, where, published, recomputed, difference, explanation,
        severity (``high``: a result or conclusion changes; ``medium``: a printed
        figure or a rule is wrong; ``low``: wording, marks, small differences), check.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["structured-research-total", ["published", "recomputed"]].tolist()
    ['14.7%', '24.5%']
    """
    return errata_of(facts_of(dataset))


def errata_of(facts: Facts) -> pd.DataFrame:
    """Return all errata in the order of the catalogue, which is by severity."""
    catalogue = {row["id"]: row for row in shipped_rows("data/errata.csv")}
    recounts = (
        *_scored_fields(facts),
        *_blocked_documents(facts),
        *_structured_mode(),
        *_marks_and_accuracies(facts),
        *_statements_on_results(facts),
        *_definitions(facts),
        *_single_figures(facts),
        *_complexities(facts),
        *_released_files(facts),
        *_package(facts),
        *_metrics_of_the_package(),
    )
    order = list(catalogue)
    ordered = sorted(recounts, key=lambda recount: order.index(recount.id))
    return ERRATA_COLUMNS.from_records(catalogue[row.id] | row._asdict() for row in ordered)
