"""Recompute the errata of the ExtractBench paper, for notebooks 09 to 12.

Each function returns what it computed by the id of the erratum; `beside` shows it with the printed
figures, and fails if it is not what ``xb.benchmark.errata()`` records.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import binomtest

import extractbench_nb as xb

DOMAINS = ["academic", "finance", "hiring", "sport"]
DOMAIN_OF_SCHEMA = {
    "swimming": "sports",
    "credit_agreement": "credit",
    "research": "research",
    "resume": "resumes",
    "10kq": "10-K/Q",
}
#: Errata that are one printed figure: table, row and column.
_OF_DATASET = {
    "hours-per-document": ("3", "total", "hours_per_document"),
    "simplest-schema": ("text", "s4.1-25", "fewest keys"),
    "narrowest-schema": ("text", "s5-01", "fewest keys"),
    "readme-domains": ("text", "readme-03", "domains"),
    "citations-100": ("text", "s2.1-02", "fewest citations"),
    "growth-metric": ("text", "s1-02", "properties of growth metric"),
    "resumes-tokens": ("6", "resumes", "tokens"),
    "resumes-array-items": ("6", "resumes", "array_items"),
    "10-kq-array-items": ("6", "10-K/Q", "array_items"),
}
_OF_RESULTS = {
    "accuracy-on-valid": ("5", "total", "accuracy"),
    "credit-able-models": ("text", "s4.1-26", "credit pass rate of models that read it"),
    "structured-research-total": ("8", "total", "research rate"),
    "structured-sports-total": ("8", "total", "sports rate"),
    "structured-overall-total": ("8", "total", "overall rate"),
    "gpt-5-elsewhere": ("text", "s4.2-10", "highest validity of GPT-5 without credit"),
    "credit-85-percent": ("text", "s2.1-09", "lowest credit pass rate that is not 0"),
    "malformed-share": ("text", "s4.2-51", "share of malformed"),
}
_COUNTS = ["documents", "valid", "fields", "passed"]


def audit_figures() -> pd.DataFrame:
    """Return how many findings the audit of the released dataset has, by kind and domain.

    The last columns are a reader's decisions about 60 findings, an equal number of every kind.
    """
    file = Path(__file__).with_name("audit_figures.csv")
    return pd.read_csv(file, index_col=["kind", "severity"]).rename_axis(columns="domain")


def judged_findings(figures: pd.DataFrame) -> pd.DataFrame:
    """Return how many of the judged findings are real, by severity, with Wilson's intervals."""
    decided = figures[["real", "no_fault", "undecidable"]]
    counts = pd.DataFrame({"findings": figures[DOMAINS].sum(axis=1), "drawn": decided.sum(axis=1)})
    rows = counts.join(decided).groupby("severity").sum().loc[["error", "warning", "info"]]
    rows.loc["all"] = rows.sum()
    rows["precision"] = rows["real"] / rows["drawn"]
    rows[["low", "high"]] = [
        binomtest(int(real), int(drawn)).proportion_ci(method="wilson")
        for real, drawn in zip(rows["real"], rows["drawn"], strict=True)
    ]
    return rows.rename_axis("group").reset_index()


def beside(recomputed: Mapping[str, str]) -> pd.DataFrame:
    """Return the errata with these ids; raise ValueError if a recorded figure is another."""
    errata = xb.benchmark.errata().set_index("id")
    errata = errata.loc[[name for name in errata.index if name in recomputed]]
    recorded = errata["recomputed"].to_dict()
    for name, text in recomputed.items():
        if recorded.get(name) != text:
            raise ValueError(f"{name}: recorded is {recorded.get(name)!r}, computed is {text!r}")
    return errata[["severity", "where", "published", "recomputed", "explanation"]]


def of_dataset(dataset: xb.runs.Dataset | None = None) -> dict[str, str]:
    """Recompute the errata that follow from schemas, gold and PDFs."""
    figures = xb.benchmark.compare(dataset=dataset).set_index(["table", "row", "column"])
    found = {name: figures.loc[place, "shown"] for name, place in _OF_DATASET.items()}
    figure_2 = xb.benchmark.table("figure2", dataset=dataset)
    found["figure-2-credit"] = f"{figure_2.loc['credit', 'ratio']:.1f}×"
    all_, least, most = figure_2.loc["research", ["ratio_all", "ratio_all_low", "ratio"]]
    found["figure-2-research"] = f"{all_:.1f}× ({least:.1f}× to {most:.1f}×)"
    apart = figures[figures["status"] == "differs"].reset_index()
    drifted = apart["reason"].str.contains("gained array items", na=False)
    undefined = apart["table"].eq("6") & apart["column"].eq("fields")
    order = [*apart.index[apart["table"] == "6"], *apart.index[apart["table"] == "2"]]
    for name, chosen in (("research-drift", drifted), ("table-6-fields", undefined)):
        rows = apart.loc[[at for at in order if chosen[at]]]
        found[name] = ", ".join(rows["row"] + " " + rows["column"] + " " + rows["shown"])

    documents = xb.benchmark.complexity(dataset).merge(xb.benchmark.gold_figures(dataset))
    documents["domain"] = documents["schema"].map(DOMAIN_OF_SCHEMA)
    pages = documents.loc[documents["domain"] == "credit", "pages"]
    found["credit-pages"] = f"{pages.min()}–{pages.max()} pages"
    filings = documents.loc[documents["domain"] == "10-K/Q", "document"]
    found["no-10-k"] = f"{filings.str.contains('_10q_').sum()} of {len(filings)} are 10-Q"
    broken = (documents["violations"] > 0).sum()
    found["gold-breaks-schema"] = f"{broken} of {len(documents)} do not"
    found["evaluable-fields"] = f"{documents['scored'].sum()} scored"
    sports = documents[documents["domain"] == "sports"]
    absent = sports["scored"].sum() - sports["present"].sum()
    found["sports-gold"] = f"{sports['present'].sum()} with a gold value"
    keys = len(sports) * sports["keys"].iloc[0]
    found["sports-nothing-extracted"] = f"an empty object, {absent / keys:.1%}"
    scale, complexity = (
        xb.benchmark.table(2, values="published"),
        xb.benchmark.table(6, values="published"),
    )
    values = scale["gold_values"] / scale["documents"]
    worst = (values - complexity["fields"] - complexity["array_items"]).astype(float).idxmax()
    found["fields-and-items"] = f"{values[worst]:.1f}"
    return found


def of_results() -> dict[str, str]:
    """Recompute the errata that follow from the printed counts."""
    figures = xb.benchmark.compare().set_index(["table", "row", "column"])
    found = {name: figures.loc[place, "shown"] for name, place in _OF_RESULTS.items()}
    counts, structured = xb.benchmark.counts(), xb.benchmark.counts("structured")
    claude = counts["model"].str.startswith("Claude")
    domains = counts.groupby("domain", sort=False)[_COUNTS].sum()
    gold = xb.benchmark.gold_figures()
    scored = gold.groupby(gold["schema"].map(DOMAIN_OF_SCHEMA))["scored"].sum()
    models = counts["model"].nunique()
    found["pass-rate-ceiling"] = f"{scored.sum() / (domains['fields'].sum() / models):.1%}"
    attainable = (domains["passed"] / (scored * models)).drop("10-K/Q").astype(float)
    ranked = attainable.sort_values(ascending=False)
    found["order-of-domains"] = ", ".join(f"{d} {rate:.1%}" for d, rate in ranked.items())

    accepted = counts["domain"].isin(["sports", "credit", "research"])
    before, after = (frame.loc[accepted, "passed"].sum() for frame in (counts, structured))
    found["structured-accuracy"] = f"{before} to {after} fields"
    gpt_5 = structured.query("model == 'GPT-5' and domain == 'research'").iloc[0]
    found["structured-long-outputs"] = f"{gpt_5['passed'] / gpt_5['fields']:.1%}"
    failures = xb.benchmark.table(7, values="published")
    kinds = failures.drop(index="total")
    invalid = domains["documents"].sum() - domains["valid"].sum()
    unexplained = f"{invalid - int(kinds.to_numpy().sum())} of {invalid}"
    found["valid-means-parsing"] = f"{unexplained} invalid outputs violate it"
    able = counts[~claude & counts["domain"].eq("credit")]
    found["credit-validity"] = f"{able['valid'].sum() / able['documents'].sum():.0%}"

    by_model = counts.groupby("model", sort=False)[_COUNTS].sum()
    least = by_model["valid"].idxmin()
    found["lowest-validity"] = f"{least}, {_of(by_model.loc[least])}"
    rates = counts.assign(rate=100 * counts["valid"] / counts["documents"])
    spans = rates.groupby("domain")["rate"].agg(["min", "max"]).astype(float)
    widest = (spans["max"] - spans["min"]).idxmax()
    low, high = spans.loc[widest]
    found["research-variation"] = f"{widest}, {low:.0f}% to {high:.0f}%"
    cells = counts.set_index(["model", "domain"])
    sports, resumes = (_of(cells.loc["GPT-5.2", domain]) for domain in ("sports", "resumes"))
    found["gpt-models-elsewhere"] = f"GPT-5.2: {sports} sports, {resumes} resumes valid"
    credit = xb.benchmark.complexity().query("schema == 'credit_agreement'")
    found["page-limit"] = f"{(credit['pages'] > 100).sum()}"
    tokens = xb.benchmark.table(6, values="published").loc["research", "tokens"]
    found["output-capacity"] = (
        f"research: {tokens:,.0f} tokens, {_of(domains.loc['research'])} valid"
    )
    for name, column in (("research-bold", "research passed"), ("validity-bold", "valid")):
        best = xb.benchmark.table(5, values="published").drop(index="total")[column].astype(int)
        found[name] = f"{best.idxmax()}, {best.max()}"
    nothing = cells.xs("credit", level="domain")["passed"].eq(0)
    found["credit-all-models"] = f"{(~nothing).sum()} of {len(nothing)}"
    found["contributions"] = "two contributions"  # the text of sections 1 and 5
    return found


def _of(row: pd.Series) -> str:
    return f"{row['valid']}/{row['documents']}"


_TEXT = "no later than ten days after a notice the agent tells the lenders; " * 4
#: The default of extract-bench 0.1.0's number_tolerance, in its source.
_RELEASED_TOLERANCE = 1e-6


def of_metrics() -> dict[str, str]:
    """Recompute the errata on metrics: the paper's rules here, and extract-bench 0.1.0's."""
    listed = set(xb.benchmark.table(4, values="published").index)
    defaults = {"string_semantic", "number_tolerance", "integer_exact", "boolean_exact"}
    shorter = _TEXT.replace("later ", "", 1)
    absolute = _is_near_released(1_000_000.0, 1_000_500.0, 0.001)
    ranges = [("33–37", "90–99"), ("unknown", "12 to 14")]
    passing = sum(_is_near_released(*pair) for pair in ranges)
    items = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": items}}}
    rows = [{"name": "one"}, {"name": "two"}]
    invented = [{"name": f"invented {number}"} for number in range(50)]
    pair = {"rows": rows}, {"rows": rows + invented}
    array = xb.evaluate(schema, *pair, profile="paper").arrays.iloc[0]
    scored = xb.benchmark.gold_figures().groupby("schema")["scored"].agg(["sum", "size"])
    return {
        "table-4-presets": f"without {', '.join(sorted(defaults - listed))}",
        "levenshtein-or-difflib": f"{_ratio_released(_TEXT, shorter):.3f} (difflib)",
        "relative-or-absolute-tolerance": "passes" if absolute else "fails",
        "default-tolerance": f"{_RELEASED_TOLERANCE:.0e}",
        "two-texts-are-equal": f"{passing} of {len(ranges)}",
        "recall-only": f"{array['score']:.3f}",
        "fields-inside-arrays": "no row inside an array",
        # one anyOf without a metric of its own per resume
        "unscored-union": f"{scored['sum'].sum() - scored.loc['resume', 'size']}",
    }


def _ratio_released(gold: str, predicted: str) -> float:
    """Return the score of string_fuzzy in extract-bench 0.1.0."""
    return difflib.SequenceMatcher(None, gold.lower(), predicted.lower()).ratio()


def _is_near_released(gold: Any, predicted: Any, tolerance: float = _RELEASED_TOLERANCE) -> bool:
    """Return whether number_tolerance of extract-bench 0.1.0 passes; texts become None."""
    one, two = (value if isinstance(value, (int, float)) else None for value in (gold, predicted))
    return one == two if one is None or two is None else abs(one - two) <= tolerance


def of_judge_calls(reports: pd.DataFrame) -> dict[str, str]:
    """Recompute the pass rate of reports with failed calls, without the rows that were added."""
    failed = reports[reports["failed_calls"] > 0].sum(numeric_only=True)
    rest = failed["passed"] - failed["added_passed"], failed["rows"] - failed["added"]
    return {"failed-judge-calls": f"{rest[0] / rest[1]:.1%}"}


def modes(
    before: pd.DataFrame, after: pd.DataFrame, domain: str | None = None, *, ax: Axes
) -> None:
    """Draw the pass rate of each model in two modes: a line from the hollow to the full point."""
    rates = []
    for counts in (before, after):
        of_domain = counts if domain is None else counts[counts["domain"] == domain]
        sums = of_domain.groupby("model", sort=False)[["passed", "fields"]].sum().astype(float)
        rates.append(100 * sums["passed"] / sums["fields"])
    old, new = pd.concat(rates, axis=1, join="inner").T.to_numpy()
    models = [name for name in rates[0].index if name in rates[1].index]
    colours = np.select([new > old, new < old], ["#005b96", "#b6530b"], "#767676")
    ax.hlines(models, old, new, colors=colours)
    ax.scatter(old, models, facecolors="white", edgecolors=colours, zorder=2)
    ax.scatter(new, models, color=colours, zorder=2)
    ax.invert_yaxis()
    ax.set_title(domain or "all domains", loc="left")
    ax.set_xlabel("passed fields (%)")
