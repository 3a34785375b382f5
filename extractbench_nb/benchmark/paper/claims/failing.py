"""Claims about who fails where, and how."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from extractbench_nb.benchmark.paper.cells import said, value_of
from extractbench_nb.benchmark.paper.claims.claim import (
    CONTRADICTED,
    LEVEL,
    SUPPORTED,
    WEAK,
    Claim,
    of_p_value,
)
from extractbench_nb.benchmark.paper.claims.design import attempts
from extractbench_nb.benchmark.paper.counts import Tally, tally
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import CLAUDE, DOMAINS, GPT, MODELS

__all__ = ["about_failures"]


def about_failures(facts: Facts) -> Iterator[Claim]:
    """Test the claims about models, domains and kinds of failure."""
    yield _gpt_5_elsewhere()
    yield _gpt_elsewhere()
    yield _claude_on_credit(facts)
    yield _profiles(facts)
    yield _concentrated("empty", "empty-on-10-k", "empty on 10-K/Q")
    yield _concentrated("trailing comma", "trailing-commas-on-10-k", "trailing comma on 10-K/Q")
    yield _silent_threshold()
    yield _flash_over_pro()


def _shown(counted: Tally) -> str:
    return f"{counted.valid} of {counted.documents}"


def _gpt_5_elsewhere() -> Claim:
    claimed = said("highest validity of GPT-5 without credit").value or 0
    others = {d: attempts("GPT-5", d) for d in DOMAINS if d != "credit"}
    worst = max(counted.validity for counted in others.values())
    return Claim(
        "gpt-5-elsewhere",
        "section 4.2, output volume",
        f"outside credit agreements at most {claimed:.0f}% of GPT-5's outputs are valid",
        "valid: " + ", ".join(f"{d} {_shown(c)}" for d, c in others.items()),
        None,
        SUPPORTED if round(worst) <= claimed else CONTRADICTED,
        f"the highest share is {worst:.0f}%",
    )


def _gpt_elsewhere() -> Claim:
    rows = {d: attempts(GPT[0], d) for d in DOMAINS if d != "credit"}
    best = {d: max(tally(models=(m,), domains=(d,)).valid for m in MODELS) for d in rows}
    level = [d for d, c in rows.items() if c.valid and c.valid == best[d]]
    return Claim(
        "gpt-models-elsewhere",
        "section 4.2, output volume",
        "both GPT models fail in every domain but credit agreements",
        f"{GPT[0]} valid: " + ", ".join(f"{d} {_shown(c)}" for d, c in rows.items()),
        None,
        CONTRADICTED if level else SUPPORTED,
        f"{GPT[0]} has as many valid outputs as any model on {' and '.join(level)}",
    )


def _claude_on_credit(facts: Facts) -> Claim:
    from scipy.stats import fisher_exact

    claude = tally(models=CLAUDE, domains=("credit",))
    others = attempts("able", "credit")
    table = np.array([[c.valid, c.documents - c.valid] for c in (claude, others)])
    p_value = float(fisher_exact(table).pvalue)
    limit = said("page limit", "section 4.2").value or 0
    short = facts.of("credit", "pages")
    short = short[short <= limit]
    return Claim(
        "page-limit-blocks-claude",
        "section 4.2, page limit",
        f"a limit of {limit:.0f} pages keeps Claude out of credit agreements",
        f"valid: Claude {_shown(claude)}, others {_shown(others)}; page limit rejections: "
        + ", ".join(f"{m} {value_of(7, 'page limit', m):.0f}" for m in CLAUDE),
        p_value,
        of_p_value(p_value),
        f"the rejections name the limit; {len(short)} of the agreements has {short.iloc[0]:.0f} "
        "pages and must have failed for another reason",
    )


def _profiles(facts: Facts) -> Claim:
    from scipy.stats import fisher_exact

    two = {domain: attempts("pooled", domain) for domain in ("resumes", "sports")}
    table = np.array([[c.valid, c.documents - c.valid] for c in two.values()])
    resumes, sports = two.values()
    as_said = resumes.validity < sports.validity and resumes.pass_rate > sports.pass_rate
    p_value = float(fisher_exact(table).pvalue)
    ceiling = {d: 100 * facts.scored[d] / facts.keys[d] for d in two}
    return Claim(
        "profiles-differ",
        "section 4.2, diversity",
        "resumes have fewer valid outputs than sports results and more passed fields",
        "; ".join(
            f"{d}: {_shown(c)} valid, pass rate {c.pass_rate:.1f}% of at most {ceiling[d]:.1f}%"
            for d, c in two.items()
        ),
        p_value,
        WEAK if as_said else CONTRADICTED,
        f"the test takes attempts as independent, and these are {len(MODELS)} models on "
        f"{facts.documents['resumes']} and {facts.documents['sports']} documents; the sports golds "
        "lack most of their scored fields",
    )


def _concentrated(kind: str, name: str, quantity: str) -> Claim:
    from scipy.stats import hypergeom

    figure = said(quantity)
    prone = [model for model in MODELS if value_of(7, kind, model)]
    own = int(sum(value_of(7, kind, model) for model in prone))
    answered = int(
        sum(value_of(7, "total", m) - value_of(7, "page limit", m) for m in prone)
    )  # what is rejected for its pages cannot fail otherwise
    tenk = tally(models=tuple(prone), domains=("10-K/Q",))
    drawn = hypergeom(answered, tenk.documents - tenk.valid, own)
    p_value = float(drawn.sf((figure.value or 0) - 1))
    return Claim(
        name,
        "section 4.2, failure modes",
        f"failures of the kind {kind!r} gather on 10-K/Q",
        f"{figure.printed} of {own} on 10-K/Q, which has {tenk.documents - tenk.valid} of the "
        f"{answered} failures that models prone to it had without being rejected for their pages: "
        f"{drawn.mean():.1f} would be expected",
        p_value,
        WEAK,
        "more than its share of these failures, but attempts are taken as independent"
        if p_value <= LEVEL
        else "hardly more than its share of these failures",
    )


def _silent_threshold() -> Claim:
    model = "GPT-5"
    empty = int(value_of(7, "empty", model))
    invalid = {d: attempts(model, d).documents - attempts(model, d).valid for d in DOMAINS}
    only = empty == sum(invalid.values())
    shortest = min((d for d in DOMAINS if invalid[d]), key=lambda d: value_of(6, d, "tokens"))
    return Claim(
        "silent-above-a-threshold",
        "section 4.2, failure modes",
        "models return nothing once an extraction is too complex",
        f"all {empty} failures of {model} are empty: "
        + ", ".join(f"{d} {n}" for d, n in invalid.items()),
        None,
        WEAK if only else CONTRADICTED,
        f"{model} returns nothing for {invalid[shortest]} {shortest} too, at "
        f"{value_of(6, shortest, 'tokens'):,.0f} gold tokens, while some of the other "
        f"{shortest} outputs are valid: no single threshold of length parts the two",
    )


def _flash_over_pro() -> Claim:
    flash, pro = (
        {d: tally(models=(model,), domains=(d,)).passed for d in DOMAINS} for model in MODELS[:2]
    )
    ahead = [d for d in DOMAINS if flash[d] > pro[d]]
    largest = max(ahead, key=lambda d: flash[d] - pro[d])
    gaps = ", ".join(f"{d} {flash[d] - pro[d]:+d}" for d in DOMAINS)
    return Claim(
        "flash-over-pro",
        "section 4.1, model patterns",
        "Gemini 3 Flash passes more fields than Gemini 3 Pro in most domains",
        f"difference in passed fields: {gaps}",
        None,
        WEAK if 2 * len(ahead) > len(DOMAINS) else CONTRADICTED,
        f"ahead in {len(ahead)} of {len(DOMAINS)} domains; nearly all of the lead is {largest}",
    )
