"""Correlations, logistic fits and claims about complexity, for notebook 12.

A factor has one value per domain, and there are five domains: p-values enumerate all 120 orders,
and ranges leave out one domain at a time. ``document_outcomes.csv`` has one row per recorded output
of a real model, with sizes and counts and no text: 22 of research papers (public repository
``nicolasfwyss/extract-bench-experiments``, MIT), and 150 of six systems on 25 documents of
DocuPipe/DocuBench (CC BY 4.0, DocuPipe), each with a schema of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations as orders
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from paper_checks import DOMAIN_OF_SCHEMA
from scipy import stats

import extractbench_nb as xb

FACTORS = ["keys", "tokens", "pages", "depth", "array_items"]
OUTCOMES = ["validity", "pass_rate", "scored_pass_rate"]
TABLE = xb.benchmark.table(6, values="published")
DOMAINS = TABLE.index.tolist()
COUNTS = xb.benchmark.counts()
CLAUDE = COUNTS["model"].str.startswith("Claude")
#: Attempts that are added up; ``able`` omits those that Claude's page limit blocked.
GROUPS = {
    "pooled": COUNTS["model"].notna(),
    "able": ~(CLAUDE & COUNTS["domain"].eq("credit")),
    "GPT": COUNTS["model"].str.startswith("GPT"),
    **{model: COUNTS["model"].eq(model) for model in ("GPT-5.2", "GPT-5")},
}
_GOLD = xb.benchmark.gold_figures()
#: Scored fields of a document, by domain.
SCORED = _GOLD.groupby(_GOLD["schema"].map(DOMAIN_OF_SCHEMA))["scored"].max()
_ALL = np.array(list(orders(range(len(DOMAINS)))))
_WITHOUT_ONE = [np.delete(np.arange(len(DOMAINS)), i) for i in range(len(DOMAINS))]
_NOISE = 1e-9
BLUE, VERMILLION, GREY, INK = "#0072b2", "#d55e00", "#767676", "#1a1a1a"


def cells(group: str, outcome: str) -> tuple[np.ndarray, np.ndarray]:
    """Return successes and trials, one row per model and one column per domain."""
    rows = COUNTS.assign(scored=COUNTS["documents"] * COUNTS["domain"].map(SCORED))
    names = ("valid", "documents") if outcome == "validity" else ("passed", "fields")
    part, whole = (names[0], "scored") if outcome == "scored_pass_rate" else names
    chosen = rows[[part, whole]].astype(float).where(GROUPS[group], 0)  # others have no trials
    shape = rows["model"].nunique(), len(DOMAINS)
    return tuple(chosen[name].to_numpy().reshape(shape) for name in (part, whole))


def shares(group: str, outcome: str = "validity") -> np.ndarray:
    """Return an outcome by domain, from 0 to 1."""
    successes, trials = cells(group, outcome)
    return successes.sum(0) / trials.sum(0)


def spearman(factor: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    """Return Spearman's rank correlation along the last axis."""
    one, two = (stats.rankdata(v, axis=-1) - (v.shape[-1] + 1) / 2 for v in (factor, outcome))
    with np.errstate(invalid="ignore"):
        return (one * two).sum(-1) / np.sqrt((one**2).sum(-1) * (two**2).sum(-1))


def correlations() -> pd.DataFrame:
    """Correlate each factor with each outcome over the domains, by group of attempts."""
    rows = []
    for group, outcome, factor in product(GROUPS, OUTCOMES, FACTORS):
        values, share = TABLE[factor].to_numpy(float), shares(group, outcome)
        correlation = float(spearman(values, share))
        sizes = np.abs(spearman(values, share[_ALL]))
        without = [float(spearman(values[kept], share[kept])) for kept in _WITHOUT_ONE]
        rows.append(
            {"group": group, "outcome": outcome, "factor": factor, "correlation": correlation}
            | {"p_value": float((sizes >= abs(correlation) - _NOISE).mean())}
            | {"without_one_low": min(without), "without_one_high": max(without)}
        )
    return pd.DataFrame(rows)


def fit(
    design: np.ndarray, successes: np.ndarray, trials: np.ndarray, *, moving: int | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Fit a binomial logistic regression with Firth's penalty, which keeps estimates finite.

    Returns log-odds, their covariance for independent cells, and the penalised log-likelihood. With
    `moving`, the coefficients after that many stay 0. Source: D. Firth, Bias reduction of maximum
    likelihood estimates, Biometrika 80 (1993).
    """
    beta = np.zeros(design.shape[1])
    for _ in range(100):
        chance = 1 / (1 + np.exp(-design @ beta))
        weights = trials * chance * (1 - chance)
        information = design.T @ (design * weights[:, None])
        covariance = np.linalg.inv(information)
        leverage = weights * np.einsum("nk,kl,nl->n", design, covariance, design)
        residual = successes - trials * chance + leverage * (0.5 - chance)
        score = (design.T @ residual)[:moving]
        step = np.clip(np.linalg.solve(information[:moving, :moving], score), -2, 2)
        beta[: len(step)] += step
        if np.abs(step).max() < _NOISE:
            break
    else:
        raise ArithmeticError("the logistic fit did not converge")
    eta = design @ beta
    likelihood = (successes * eta - trials * np.logaddexp(0, eta)).sum()
    return beta, covariance, likelihood + np.linalg.slogdet(information)[1] / 2


def regressions(group: str = "able", outcome: str = "validity") -> pd.DataFrame:
    """Fit one logistic model per factor: an intercept per model, and the factor's logarithm.

    Odds ratios are for a factor twice as large. ``odds_low`` and ``odds_high``, the 95 % interval,
    treat cells as independent and are far too narrow. ``p_value`` permutes whole domains.
    """
    counted = [values.ravel() for values in cells(group, outcome)]
    models = COUNTS["model"].nunique()
    intercepts = np.repeat(np.eye(models), len(DOMAINS), axis=0)
    rows = []
    for name in FACTORS:
        logs = np.log2(TABLE[name].to_numpy(float))
        logs -= logs.mean()
        designs = [np.column_stack([intercepts, np.tile(logs[o], models)]) for o in _ALL]
        beta, covariance, _ = fit(designs[0], *counted)
        ends = beta[-1] + np.array([-1.96, 1.96]) * np.sqrt(covariance[-1, -1])
        weights = np.tile(1 - np.eye(len(DOMAINS)), models)  # no trials, no influence
        without = [fit(designs[0], *(part * w for part in counted))[0][-1] for w in weights]
        gains = np.array(
            [fit(d, *counted)[2] - fit(d, *counted, moving=models)[2] for d in designs]
        )
        ratios = np.exp([beta[-1], *ends, min(without), max(without)])
        rows.append([name, *ratios, (gains >= gains[0] - 1e-7).mean()])
    ranges = ["odds_low", "odds_high", "without_one_low", "without_one_high"]
    return pd.DataFrame(rows, columns=["factor", "odds_ratio", *ranges, "p_value"])


def factor(name: str, group: str = "pooled", outcome: str = "validity", *, ax: Axes) -> None:
    """Draw an outcome against a factor, with a logistic curve.

    Inner band: 95 % if attempts were independent. Outer band: any one domain left out.
    """
    values = TABLE[name].to_numpy(float)
    successes, trials = (counted.sum(0) for counted in cells(group, outcome))
    centre = np.log2(values).mean()  # far from 0 the fit would not converge
    logs = np.log2(values) - centre
    design = np.column_stack([np.ones_like(logs), logs])
    room = 0.12 * np.ptp(logs)
    at = np.linspace(logs.min() - room, logs.max() + room, 81)
    points = np.column_stack([np.ones_like(at), at])
    beta, covariance, _ = fit(design, successes, trials)
    odds, error = points @ beta, 1.96 * np.sqrt(((points @ covariance) * points).sum(1))
    kept = [w for w in 1 - np.eye(len(logs)) if len(np.unique(logs[w > 0])) > 1]
    others = np.stack([points @ fit(design, successes * w, trials * w)[0] for w in kept])
    style: dict[str, Any] = {"color": BLUE, "linewidth": 0}
    at = 2 ** (at + centre)
    ax.fill_between(at, *_percent(others.min(0), others.max(0)), alpha=0.13, **style)
    ax.fill_between(at, *_percent(odds - error, odds + error), alpha=0.3, **style)
    ax.plot(at, *_percent(odds), color=BLUE)
    ax.scatter(values, 100 * successes / trials, s=36, color=INK, zorder=4)
    for domain, x, share in zip(DOMAINS, values, 100 * successes / trials, strict=True):
        is_left = x**2 < values.min() * values.max()
        place = {"xytext": (6 if is_left else -6, 0), "ha": "left" if is_left else "right"}
        options = {"textcoords": "offset points", "va": "center", "fontsize": 8}
        ax.annotate(domain, (x, share), **place, **options)
    ax.set(xscale="log", ylim=(-6, 106), xlabel=name.replace("_", " "))
    ax.set_ylabel(f"{outcome.replace('_', ' ')} (%)")
    ax.set_xticks([values.min(), values.max()], [f"{values.min():,.0f}", f"{values.max():,.0f}"])
    ax.set_xticks([], minor=True)
    ax.spines[["top", "right"]].set_visible(False)


def _percent(*log_odds: np.ndarray) -> list[np.ndarray]:
    return [100 / (1 + np.exp(-odds)) for odds in log_odds]


def draw_correlations(frame: pd.DataFrame, outcome: str = "validity", *, ax: Axes) -> None:
    """Draw the correlation of each factor, its range with one domain left out, and its p-value."""
    for i, (group, colour) in enumerate((("pooled", BLUE), ("able", VERMILLION))):
        rows = frame.query("group == @group and outcome == @outcome")
        at = np.arange(len(rows)) + 0.24 * (i - 0.5)
        ends = rows["without_one_low"], rows["without_one_high"]
        ax.hlines(at, *ends, color=colour, linewidth=2)
        ax.scatter(rows["correlation"], at, color=colour, label=group, zorder=3)
        for y, p in zip(at, rows["p_value"], strict=True):
            ax.text(1.12, y, f"p = {p:.2f}", va="center", fontsize=8, color=colour)
    ax.axvline(0, color=GREY, linewidth=1)
    ax.set_yticks(range(len(FACTORS)), [name.replace("_", " ") for name in FACTORS])
    ax.set(xlim=(-1.08, 1.45), ylim=(len(FACTORS) - 0.5, -0.5), xticks=[-1, -0.5, 0, 0.5, 1])
    ax.set_xlabel(f"Spearman's correlation with {outcome}; line: any one domain left out")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)


def permutations(name: str, *, ax: Axes) -> None:
    """Draw the permutation distribution of the correlation of a factor with validity."""
    values, share = TABLE[name].to_numpy(float), shares("pooled")
    correlation = float(spearman(values, share))
    sizes, heights = np.unique(spearman(values, share[_ALL]).round(9), return_counts=True)
    extreme = np.abs(sizes) >= abs(correlation) - 1e-6
    width = 0.8 * float(np.diff(sizes).min())
    ax.bar(sizes, heights, width=width, color=np.where(extreme, VERMILLION, "#bdbdbd"))
    ax.axvline(correlation, color=INK, linewidth=1.2, linestyle="--")
    n = heights[extreme].sum()
    title = f"{correlation:+.2f}; {n} of {len(_ALL)} orders are as extreme, p = {n / len(_ALL):.3f}"
    ax.set_title(title, loc="left", fontsize=10)
    ax.set(xlabel=f"Spearman's correlation with {name}", ylabel="orders of the domains")
    ax.spines[["top", "right"]].set_visible(False)


# --- documents -------------------------------------------------------------------------------

OUTCOMES_FILE = Path(__file__).parent / "document_outcomes.csv"
PAPERS, DOCUBENCH = "research papers", "DocuBench"
RESAMPLES, LEVEL = 2000, 0.95


def measure_outputs(runs: str, docubench: str) -> pd.DataFrame:
    """Evaluate the recorded outputs in two folders: what ``document_outcomes.csv`` holds."""
    papers, other = xb.load_dataset("extractbench"), xb.benchmark.load_docubench(docubench)
    pages = pd.read_json(Path(docubench) / "sources.json").set_index("doc_id")["pages"]
    frames = []
    for name, dataset, outputs in (
        (PAPERS, papers, xb.runs.recorded_outputs(runs)),
        (DOCUBENCH, other, other.runs),
    ):
        sizes = xb.benchmark.complexity(dataset).rename(columns={"gold_tokens": "tokens"})
        sizes["pages"] = sizes["pages"].fillna(sizes["document"].map(pages))
        valid = xb.read_outputs(outputs, dataset)[["run", "document", "valid"]]
        evs = xb.evaluate_runs(outputs, dataset=dataset, profile="paper", progress=False)
        counts = evs.summary[["run", "document", "passed", "evaluated"]]
        rows = counts.merge(valid).merge(sizes[["document", *FACTORS]], on="document")
        frames.append(rows.assign(set=name, valid=rows["valid"].astype(int)))
    columns = ["set", "run", "document", *FACTORS, "valid", "passed", "evaluated"]
    return pd.concat(frames, ignore_index=True)[columns]


def documents() -> pd.DataFrame:
    """Return one row per document: sizes, and its pass rate over all runs.

    ``low`` to ``high`` is the 95 % interval of the mean over runs (Student's t, within 0 and 1).
    """
    outputs = pd.read_csv(OUTCOMES_FILE)
    outputs["pass_rate"] = outputs["passed"] / outputs["evaluated"]
    groups = outputs.groupby(["set", "document"], sort=False)
    frame = (
        groups[[*FACTORS]].first().join(groups.agg(runs=("run", "size"), valid=("valid", "mean")))
    )
    rates = groups["pass_rate"].agg(["mean", "sem"])
    half = rates["sem"] * stats.t.ppf((1 + LEVEL) / 2, frame["runs"] - 1)
    ends = {"low": rates["mean"] - half, "high": rates["mean"] + half}
    bounded = {name: end.clip(0, 1) for name, end in ends.items()}
    return frame.assign(pass_rate=rates["mean"], **bounded).reset_index()


def document_correlations() -> pd.DataFrame:
    """Correlate each factor with each outcome over documents, with Spearman's coefficient.

    ``low`` to ``high`` is the 95 % percentile interval over 2,000 resamples of the documents. A
    factor that is constant has no row; documents of unknown pages are left out for pages.
    """
    generator = np.random.default_rng(0)
    rows = []
    for (name, group), outcome, factor in product(
        documents().groupby("set", sort=False), ("valid", "pass_rate"), FACTORS
    ):
        values, share = group[[factor, outcome]].dropna().to_numpy(float).T
        if len(np.unique(values)) == 1:
            continue
        drawn = generator.integers(len(values), size=(RESAMPLES, len(values)))
        resampled = spearman(values[drawn], share[drawn])
        low, high = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        rows.append([name, outcome, factor, len(values), float(spearman(values, share)), low, high])
    names = ["set", "outcome", "factor", "documents", "correlation", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def draw_documents(name: str, *, ax: Axes) -> None:
    """Draw the pass rate of each document against a factor, with its interval over runs."""
    for colour, (label, group) in zip((BLUE, VERMILLION), documents().groupby("set"), strict=True):
        ends = 100 * group["low"], 100 * group["high"]
        ax.vlines(group[name], *ends, color=colour, alpha=0.35, linewidth=1.5)
        ax.scatter(group[name], 100 * group["pass_rate"], s=22, color=colour, label=label, zorder=3)
    sizes = documents()[name].dropna()
    ax.set_xscale("symlog", linthresh=1) if sizes.min() == 0 else ax.set_xscale("log")
    ax.set(ylim=(-4, 104), xlabel=name.replace("_", " "), ylabel="passed fields (%)")
    ax.set_xticks([sizes.min(), sizes.max()], [f"{sizes.min():,.0f}", f"{sizes.max():,.0f}"])
    ax.set_xticks([], minor=True)
    ax.spines[["top", "right"]].set_visible(False)
    look = {"frameon": False, "fontsize": 8, "handletextpad": 0.1, "columnspacing": 0.8}
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, **look)


# --- the claims ------------------------------------------------------------------------------


def beside(evidence: Mapping[str, str]) -> pd.DataFrame:
    """Return the claims with these ids; raise ValueError if recorded evidence is another."""
    claims = xb.benchmark.claims().set_index("id")
    claims = claims.loc[[name for name in claims.index if name in evidence]]
    for name, text in evidence.items():
        recorded = claims["evidence"].get(name)
        if recorded != text:
            raise ValueError(f"{name}: recorded is {recorded!r}, computed is {text!r}")
    return claims[["where", "claim", "verdict", "evidence", "reason"]]


def analyses() -> pd.DataFrame:
    """Return the absolute correlations of 36 analyses: outcomes, groups, domains left out."""
    subsets = [np.arange(len(DOMAINS)), *_WITHOUT_ONE]
    rows = []
    for outcome, group, kept in product(OUTCOMES, ("pooled", "able"), subsets):
        share = shares(group, outcome)[kept]
        found = {f: abs(float(spearman(TABLE[f].to_numpy(float)[kept], share))) for f in FACTORS}
        rows.append({f: 0.0 if np.isnan(size) else size for f, size in found.items()})
    return pd.DataFrame(rows)


def of_factors() -> dict[str, str]:
    """Return the evidence on claims about the five factors."""
    sizes = analyses()
    leads = sizes.sub(sizes.max(axis=1), axis=0).gt(-0.0005).sum()
    frame = correlations().set_index(["group", "outcome", "factor"])

    def rank(name: str, group: str = "pooled", outcome: str = "validity") -> str:
        row = frame.loc[(group, outcome, name)]
        ends = f"{row['without_one_low']:+.2f} to {row['without_one_high']:+.2f}"
        return f"{row['correlation']:+.2f} ({ends}), p = {row['p_value']:.2f}"

    def groups(name: str) -> str:
        return f"{rank(name)}; without blocked attempts {rank(name, 'able')}"

    able = {domain: _counts("able", domain) for domain in DOMAINS}
    by_domain = ", ".join(
        f"{d} {TABLE.loc[d, 'tokens']:,.0f}, {_of(counted)}" for d, counted in able.items()
    )
    gaps = TABLE[FACTORS].loc["research"] / TABLE[FACTORS].loc["credit"]
    fisher = stats.fisher_exact([_split(able[domain]) for domain in ("credit", "research")]).pvalue
    depth = TABLE["depth"].to_numpy(float)
    lower = [
        float(spearman(depth[kept], shares(group, "scored_pass_rate")[kept]))
        < min(float(spearman(depth[kept], shares(group)[kept])), 0)
        for group, kept in product(("pooled", "able"), [np.arange(5), *_WITHOUT_ONE])
    ]
    without_credit = [i for i, domain in enumerate(DOMAINS) if domain != "credit"]
    pages = TABLE["pages"].to_numpy(float)[without_credit]
    over = (sizes["tokens"] - sizes["keys"]).gt(0.0005).sum()
    return {
        "breadth-dominant": f"strongest in {leads['keys']} of {len(sizes)} analyses",
        "volume-dominant": f"strongest in {leads['tokens']} of {len(sizes)} analyses",
        "volume-over-breadth": f"stronger in {over} of {len(sizes)} analyses",
        "breadth-lowers-pass-rate": f"pass rate {rank('keys', outcome='pass_rate')}; of the scored "
        f"fields {rank('keys', outcome='scored_pass_rate')}",
        "10-k-exceeds-output-capacity": f"gold tokens and valid outputs: {by_domain}",
        "volume-drives-gpt": f"{rank('tokens', 'GPT')}; array items {rank('array_items', 'GPT')}",
        "arrays-lower-validity": groups("array_items"),
        "arrays-beyond-breadth": f"valid: research {_of(able['research'])}, credit "
        f"{_of(able['credit'])}, p = {fisher:.1g}; research against credit: "
        + ", ".join(f"{name} x{gap:.1f}" for name, gap in gaps.items()),
        "depth-weak": groups("depth"),
        "depth-hurts-accuracy-more": f"lower in {sum(lower)} of {len(lower)} analyses",
        "input-length-no-predictor": f"{groups('pages')}; without credit agreements "
        f"{float(spearman(pages, shares('able')[without_credit])):+.2f}",
    }


def dominant_predictor() -> dict[str, str]:
    """Return the finding of the erratum on breadth and volume, by the analyses above."""
    wins = analyses()
    leads = wins.sub(wins.max(axis=1), axis=0).gt(-0.0005).mean()
    clear = leads[leads > 0.5]
    return {"dominant-predictor": clear.index[0] if len(clear) else "indistinguishable"}


def of_models() -> dict[str, str]:
    """Return the evidence on claims about models, domains and kinds of failure."""
    cells_of = COUNTS.set_index(["model", "domain"])
    models = COUNTS.groupby("model", sort=False)[["documents", "valid", "fields", "passed"]].sum()
    domains = COUNTS.groupby("domain", sort=False)[["documents", "valid", "fields", "passed"]].sum()
    others = [domain for domain in DOMAINS if domain != "credit"]
    claude, rest = (
        COUNTS[chosen & COUNTS["domain"].eq("credit")][["documents", "valid"]].sum()
        for chosen in (CLAUDE, ~CLAUDE)
    )
    p_value = stats.fisher_exact([_split(claude), _split(rest)]).pvalue
    rates = {
        "validity": cells_of["valid"] / cells_of["documents"],
        "pass_rate": cells_of["passed"] / cells_of["fields"],
    }
    higher = [
        rates[outcome].xs(one, level="domain") - rates[outcome].xs(two, level="domain")
        for outcome, one, two in (
            ("validity", "sports", "resumes"),
            ("pass_rate", "resumes", "sports"),
        )
    ]
    lead = cells_of.loc["Gemini 3 Flash", "passed"] - cells_of.loc["Gemini 3 Pro", "passed"]
    by_domain = rates["validity"].astype(float).groupby("domain")
    spread = (by_domain.max() - by_domain.min())[DOMAINS]
    gpt_5, failures = cells_of.loc["GPT-5"], xb.benchmark.table(7, values="published")
    failed = gpt_5.assign(valid=gpt_5["documents"] - gpt_5["valid"])
    return {
        "gpt-5-elsewhere": f"valid: {_listed(gpt_5, others)}",
        "gpt-models-elsewhere": f"valid of GPT-5.2: {_listed(cells_of.loc['GPT-5.2'], others)}",
        "page-limit-blocks-claude": f"valid: Claude {_of(claude)}, others {_of(rest)}, "
        f"p = {p_value:.1g}; page limit rejections "
        f"{failures.loc['page limit', 'Claude Sonnet 4.5']} and "
        f"{failures.loc['page limit', 'Claude Opus 4.5']}",
        "profiles-differ": "sign-flip tests over models: "
        + ", ".join(f"p = {_sign_flips(gap.to_numpy(float)):.3f}" for gap in higher),
        **{name: _concentrated(kind) for name, kind in _CONCENTRATED.items()},
        "silent-above-a-threshold": f"GPT-5: {failures.loc['empty', 'GPT-5']} of "
        f"{failures.loc['total', 'GPT-5']} failures are empty; failed: {_listed(failed, DOMAINS)}",
        "flash-over-pro": "passed fields, " + ", ".join(f"{d} {lead[d]:+d}" for d in DOMAINS),
        "flash-most-valid": _ranked(models["valid"] / models["documents"]),
        "flash-most-passed": _ranked(models["passed"] / models["fields"]),
        "gpt-5-fewest-valid": _ranked(models["valid"] / models["documents"]),
        "gpt-5-most-accurate": _ranked(
            xb.benchmark.table(5, values="published")["accuracy"].drop("total") / 100
        ),
        "credit-most-passed": _ranked(domains["passed"] / domains["fields"]),
        "sports-most-valid": _ranked(domains["valid"] / domains["documents"]),
        "research-most-varied": _ranked(spread),
    }


def of_structured() -> dict[str, str]:
    """Return the evidence on the claims of section 4.3, about structured output."""
    printed = xb.benchmark.compare("text").set_index("row")["published"]
    cells_of = COUNTS.set_index(["model", "domain"])
    cells_of["after"] = xb.benchmark.counts("structured").set_index(["model", "domain"])["passed"]
    resumes = COUNTS.loc[COUNTS["domain"] == "resumes", ["valid", "documents"]].sum()
    before, after = int(printed["s4.3-04"]), int(printed["s4.3-06"])
    lost = int(printed["s4.3-12"])
    accepted = cells_of.drop(index=["resumes", "10-K/Q"], level="domain")
    by_model = accepted.groupby("model", sort=False)[["passed", "after"]].sum()
    domains = cells_of.groupby("domain", sort=False)[["passed", "after", "fields"]].sum()
    models = cells_of.groupby("model", sort=False)[["passed", "after", "fields"]].sum()
    best = (models["passed"].idxmax(), models["after"].idxmax())
    rates = [
        models.loc[model, column] / models.loc[model, "fields"]
        for model, column in zip(best, ("passed", "after"), strict=True)
    ]
    gpt_5 = cells_of.loc[("GPT-5", "credit")]
    table = [[int(n), int(gpt_5["fields"] - n)] for n in gpt_5[["passed", "after"]]]
    claude = cells_of[cells_of.index.get_level_values("model").str.startswith("Claude")]
    of_claude = claude.groupby("domain", sort=False)["after"].sum()
    tenk = COUNTS.loc[COUNTS["domain"] == "10-K/Q", ["valid", "documents"]].sum()
    schemas = TABLE[["keys", "depth"]].astype(int)

    def changes(domain: str) -> str:
        of_domain = cells_of.xs(domain, level="domain")
        able = of_domain[of_domain["after"] > 0]  # the schema or the document was rejected
        return ", ".join(f"{m} {n:+d}" for m, n in (able["after"] - able["passed"]).items())

    return {
        "structured-fewer-valid": f"valid {before} to {after} of {int(printed['s4.3-02'])}, "
        f"p = {stats.fisher_exact([[before, 210 - before], [after, 210 - after]]).pvalue:.3f}; "
        f"resumes {resumes['valid']} to {lost}, all others {before - resumes['valid']} to "
        f"{after - lost}",
        "structured-lower-best": f"{best[0]} {rates[0]:.1%} to {best[1]} {rates[1]:.1%}; without "
        f"resumes {by_model.loc[best[0], 'passed']} to {by_model.loc[best[1], 'after']} fields",
        "structured-lower-accuracy": f"passed fields of accepted schemas "
        f"{by_model['passed'].sum()} to {by_model['after'].sum()}; "
        + ", ".join(f"{m} {n:+d}" for m, n in (by_model["after"] - by_model["passed"]).items()),
        "structured-gpt-5-credit": f"GPT-5 on credit {table[0][0]} to {table[1][0]} of "
        f"{gpt_5['fields']}, p = {stats.fisher_exact(table).pvalue:.3f}",
        "structured-long-most": f"research {changes('research')}; credit {changes('credit')}",
        "structured-resumes-rejected": f"resumes: valid {resumes['valid']} to {lost} of "
        f"{resumes['documents']}",
        "structured-claude-sports": "passed fields of the Claude models: "
        + ", ".join(f"{d} {n}" for d, n in of_claude.items()),
        "structured-credit-strongest": _ranked(domains["after"] / domains["fields"]),
        "structured-credit-comparable": f"credit {domains.loc['credit', 'passed']} to "
        f"{domains.loc['credit', 'after']} of {domains.loc['credit', 'fields']}; without GPT-5 "
        f"{domains.loc['credit', 'passed'] - table[0][0]} to "
        f"{domains.loc['credit', 'after'] - table[1][0]}",
        "structured-10-k-capability": f"10-K/Q: valid {tenk['valid']} to "
        f"{int(printed['s4.3-22'])} of {tenk['documents']}",
        "structured-grammar-size": "keys and depth, accepted: "
        + ", ".join(
            f"{d} {schemas.loc[d, 'keys']} and {schemas.loc[d, 'depth']}"
            for d in ("sports", "credit", "research")
        )
        + "; rejected: resumes "
        f"{schemas.loc['resumes', 'keys']} and {schemas.loc['resumes', 'depth']}",
    }


_CONCENTRATED = {"empty-on-10-k": "empty", "trailing-commas-on-10-k": "trailing comma"}


def _concentrated(kind: str) -> str:
    """Compare the failures of a kind on 10-K/Q with what a random choice of failures gives."""
    figures = xb.benchmark.compare("text").set_index("column")["published"]
    kinds = xb.benchmark.table(7, values="published")
    prone = kinds.columns[kinds.loc[kind] > 0]
    of_kind, on_tenk = int(kinds.loc[kind].sum()), int(figures[f"{kind} on 10-K/Q"])
    # what is rejected for its pages cannot fail otherwise
    answered = int((kinds.loc["total", prone] - kinds.loc["page limit", prone]).sum())
    tenk = COUNTS[COUNTS["model"].isin(prone) & COUNTS["domain"].eq("10-K/Q")]
    drawn = stats.hypergeom(answered, int((tenk["documents"] - tenk["valid"]).sum()), of_kind)
    return f"{on_tenk} of {of_kind}, {drawn.mean():.1f} expected, p = {drawn.sf(on_tenk - 1):.2f}"


def _counts(group: str, domain: str) -> pd.Series:
    return COUNTS[GROUPS[group] & COUNTS["domain"].eq(domain)][["documents", "valid"]].sum()


def _split(counted: pd.Series) -> list[int]:
    return [int(counted["valid"]), int(counted["documents"] - counted["valid"])]


def _of(counted: pd.Series) -> str:
    return f"{counted['valid']} of {counted['documents']}"


def _listed(rows: pd.DataFrame, domains: list[str]) -> str:
    return ", ".join(f"{domain} {_of(rows.loc[domain])}" for domain in domains)


def _ranked(values: pd.Series) -> str:
    ordered = values.astype(float).sort_values(ascending=False, kind="stable")
    return ", ".join(f"{name} {value:.1%}" for name, value in ordered.items())


def _sign_flips(gaps: np.ndarray) -> float:
    """Return the two-sided p-value of the mean over all 2^n sign flips."""
    signs = np.array(list(product([1, -1], repeat=len(gaps))))
    return float((np.abs(signs @ gaps) >= abs(gaps.sum()) - _NOISE).mean())
