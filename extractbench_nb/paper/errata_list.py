"""`errata`: everything that does not add up; here what the text says against the tables."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.published import rows_of
from extractbench_nb.paper.cells import (
    CLAUDE,
    DOMAINS,
    GPT,
    MODELS,
    TOTAL,
    printed,
    ratio,
    said,
    value_of,
)
from extractbench_nb.paper.errata_numbers import (
    HIGH,
    LOW,
    MEDIUM,
    SEVERITIES,
    Finding,
    against,
    scores,
    totals,
)
from extractbench_nb.paper.errata_sources import gold, software
from extractbench_nb.paper.facts import Facts, facts_of, tally
from extractbench_nb.paper.regression import associations
from extractbench_nb.schema.config import DEFAULT_METRICS

__all__ = ["ERRATA_COLUMNS", "errata", "wording"]


def wording(facts: Facts) -> Iterator[Finding]:
    """Find the statements that the paper's own tables contradict."""
    yield _gpt5_elsewhere()
    yield _gpt_elsewhere()
    yield _fewest_keys("section 4.1", "simplest-schema", "credit agreements are called simplest")
    yield _fewest_keys("section 5", "narrowest-schema", "the range of the conclusion leaves it out")
    yield _credit_85()
    yield _nearly_a_third()
    yield _page_limit(facts)
    yield _output_capacity()
    yield _readme_domains()
    yield _table_4()
    yield _all_models_on_credit()
    yield _valid_means_parsing()
    yield _dominant(facts)


def _gpt5_elsewhere() -> Finding:
    figure = said("highest validity of GPT-5 without credit")
    others = {d: tally(models=("GPT-5",), domains=(d,)) for d in DOMAINS if d != "credit"}
    best = max(others, key=lambda domain: others[domain].validity)
    counted = others[best]
    return Finding(
        "gpt-5-elsewhere",
        "section 4.2, output volume",
        *against(figure, counted.validity),
        f"the range leaves out {best}: Table 13 has {counted.valid} of {counted.documents} valid",
        MEDIUM,
        "counts()",
    )


def _gpt_elsewhere() -> Finding:
    sports, resumes = (tally(models=("GPT-5.2",), domains=(d,)) for d in ("sports", "resumes"))
    best = max(tally(models=(m,), domains=("resumes",)).valid for m in MODELS)
    return Finding(
        "gpt-models-elsewhere",
        "section 4.2, output volume",
        "GPT models struggle outside credit",
        f"GPT-5.2: {sports.valid}/{sports.documents} sports, "
        f"{resumes.valid}/{resumes.documents} resumes valid",
        None,
        f"what holds for {GPT[1]} does not hold for {GPT[0]}: no model has more than "
        f"{sports.documents} valid sports results or {best} valid resumes",
        MEDIUM,
        "counts()",
    )


def _fewest_keys(place: str, name: str, how: str) -> Finding:
    figure = said("fewest keys", place)
    fewest = min(DOMAINS, key=lambda domain: value_of(1, domain, "keys"))
    return Finding(
        name,
        place,
        *against(figure, value_of(1, fewest, "keys")),
        f"{how}: {fewest} has fewer keys (Table 1)",
        LOW,
        "published(1)",
    )


def _credit_85() -> Finding:
    figure = said("lowest credit pass rate that is not 0")
    able = [m for m in MODELS if m not in CLAUDE]
    rates = {m: tally(models=(m,), domains=("credit",)).pass_rate for m in able}
    below = [f"{m} {rate:.1f}%" for m, rate in rates.items() if rate < (figure.value or 0)]
    return Finding(
        "credit-85-percent",
        "section 2.1",
        *against(figure, min(rates.values())),
        f"below it are {len(below)} of the {len(able)} models: {', '.join(below)}",
        LOW,
        "counts()",
    )


def _nearly_a_third() -> Finding:
    figure = said("share of malformed", "section 4.2")
    again = said("share of malformed", "section 4.3")
    malformed, failures = (
        int(sum(value_of(7, row, model) for row in rows for model in MODELS))
        for rows in (("trailing comma", "truncated"), ("total",))
    )
    _, shown, difference = against(figure, ratio(malformed, failures))
    return Finding(
        "malformed-share",
        "section 4.2, last sentence",
        figure.printed,
        shown,
        difference,
        f"trailing commas and truncation are {malformed} of {failures} failures; "
        f"section 4.3 prints {again.printed}",
        LOW,
        "published(7)",
    )


def _page_limit(facts: Facts) -> Finding:
    limit = said("page limit", "section 4.2").value or 0
    pages = facts.of("credit", "pages")
    over, under = int((pages > limit).sum()), pages[pages <= limit]
    known = facts.of("research", "pages")
    survey = value_of(2, "research", "pages") - float(known.sum())
    long_research = int((known.dropna() > limit).sum()) + int(survey > limit)
    counted = int(value_of(7, "page limit", CLAUDE[0]))
    return Finding(
        "page-limit",
        "section 4.2, page limit",
        f"{len(pages)} credit agreements over {limit:.0f} pages",
        f"{over}",
        float(over - len(pages)),
        f"one has {int(under.iloc[0])} pages; the {counted} rejections a model of Table 7 fit the "
        f"{over} longer agreements and the {long_research} research paper of {survey:.0f} pages",
        MEDIUM,
        "pages of the PDFs; Tables 2 and 7",
    )


def _output_capacity() -> Finding:
    tenk, research = (value_of(6, d, "tokens") for d in ("10-K/Q", "research"))
    counted = tally(domains=("research",))
    return Finding(
        "output-capacity",
        "section 4.2, schema breadth",
        f"10-K/Q: {tenk:,.0f} tokens are too many",
        f"research: {research:,.0f} tokens, {counted.valid}/{counted.documents} valid",
        research - tenk,
        "the length of the output cannot by itself explain that no 10-K/Q output is valid: "
        "research papers need more tokens on average, and some of their outputs are valid (one "
        "long paper makes that average, and which papers were valid is not published)",
        MEDIUM,
        "published(6); counts()",
    )


def _readme_domains() -> Finding:
    figure = said("domains", "README")
    return Finding(
        "readme-domains",
        "README against Table 1",
        *against(figure, len(DOMAINS)),
        "the README counts top folders (finance holds two of them), the paper counts schemas",
        LOW,
        "figures('text'), README; published(1)",
    )


def _table_4() -> Finding:
    listed = set(_preset_names())
    lacking = sorted(set(DEFAULT_METRICS.values()) - listed)
    return Finding(
        "table-4-presets",
        "Table 4 against appendix C",
        f"{len(listed)} presets",
        f"without {', '.join(lacking)}",
        None,
        "the table leaves out what is the default of a JSON type and has an example in appendix C",
        LOW,
        "published(4); presets()",
    )


def _preset_names() -> list[str]:
    """List the presets that Table 4 names."""
    return list(dict.fromkeys(figure.row for figure in rows_of("4")))


def _all_models_on_credit() -> Finding:
    none = [m for m in MODELS if tally(models=(m,), domains=("credit",)).passed == 0]
    share = printed(10, none[0], "rate").printed
    return Finding(
        "credit-all-models",
        "section 4.1, model patterns",
        "all models are accurate on credit",
        f"{len(MODELS) - len(none)} of {len(MODELS)}",
        float(-len(none)),
        f"{' and '.join(none)} pass {share}: none of the documents could be read",
        LOW,
        "published(10)",
    )


def _valid_means_parsing() -> Finding:
    kinds = [row for row in dict.fromkeys(f.row for f in rows_of("7")) if row != TOTAL]
    counted = sum(int(value_of(7, kind, model)) for kind in kinds for model in MODELS)
    whole = tally()
    invalid = whole.documents - whole.valid
    return Finding(
        "valid-means-parsing",
        "section 4 against Table 7",
        "valid outputs fit the schema",
        f"{invalid - counted} of {invalid} invalid ones broke it",
        float(invalid - counted),
        f"the {len(kinds)} kinds of failure ({', '.join(kinds)}) make up all {invalid} invalid "
        "outputs, and none of them is an output that parses and does not fit its schema: "
        "validity seems to mean that there was JSON",
        HIGH,
        "published(7); counts()",
    )


def _dominant(facts: Facts) -> Finding:
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
    return Finding(
        "dominant-predictor",
        "section 1 and 4.2 against section 5",
        "schema breadth; output volume",
        "not to be told apart",
        None,
        "introduction and analysis call the number of keys the dominant predictor, the conclusion "
        "calls output volume so; absolute rank correlations with validity over the five domains, "
        f"with all attempts and without those Claude's page limit blocked: {told}",
        HIGH,
        "claims(); correlations()",
    )


ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row a thing that does not add up",
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
    """List what does not add up in the paper, its README, the dataset and the published package.

    Every number is computed from the published figures, the dataset's statistics and the
    evaluator at the time of the call.

    Parameters
    ----------
    dataset : Dataset, optional
        The released dataset, read and counted anew; the shipped statistics by default.

    Returns
    -------
    pandas.DataFrame
        One row an erratum, the gravest first: id, where, published, recomputed, difference,
        explanation, severity (``high``: a result or conclusion changes; ``medium``: a printed
        figure or a rule is wrong; ``low``: wording, marks, small differences), check.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["structured-research-total", ["published", "recomputed"]].tolist()
    ['14.7%', '24.5%']
    """
    found = sorted(_all(facts_of(dataset)), key=lambda row: SEVERITIES.index(row.severity))
    columns = zip(*found, strict=True)
    return ERRATA_COLUMNS.build(dict(zip(Finding._fields, columns, strict=True)))


def _all(facts: Facts) -> Iterator[Finding]:
    for chapter in (scores, totals, wording, gold, software):
        yield from chapter(facts)
