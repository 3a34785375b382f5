"""The quantities behind the numbers of the text, each recomputed from tables or dataset."""

from __future__ import annotations

from collections.abc import Iterator

from extractbench_nb.benchmark.paper.cells import Cell, Cells, ratio, said, value_of
from extractbench_nb.benchmark.paper.counts import tally
from extractbench_nb.benchmark.paper.dataset_tables import NO_PDF, REVISED, scale
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import CLAUDE, DOMAINS, MODELS, TOTAL
from extractbench_nb.benchmark.paper.results import FAILURES
from extractbench_nb.benchmark.published import rows_of
from extractbench_nb.schema.presets import PRESETS

__all__ = ["quantities", "statement_cells"]

_COUNTS = "Tables 9-13"
_KINDS = "Table 7"
_SETTING = "a setting of the authors' runs, not a result"
_NO_VALID = "valid outputs with structured output were printed in sums only"


def statement_cells(facts: Facts) -> Cells:
    """Recompute every number of the text: cells by the statement's id and quantity."""
    known = quantities(facts)
    return {(f.row, f.column): known[f.column] for f in rows_of("text")}


def quantities(facts: Facts) -> dict[str, Cell]:
    """Recompute the quantities that the text mentions, by name."""
    groups = (
        _sizes(facts),
        _domains(facts),
        _extremes(facts),
        _validity(),
        _passed(),
        _accuracy(facts),
        _failures(),
        _with_structured_output(),
        _settings(),
    )
    return {name: cell for group in groups for name, cell in group}


Named = Iterator[tuple[str, Cell]]


def _sizes(facts: Facts) -> Named:
    whole = scale(facts)
    yield "documents", whole[TOTAL, "documents"]
    yield "pages", whole[TOTAL, "pages"]
    yield "gold values", whole[TOTAL, "gold_values"]
    note = "the README counts the folders of the dataset; finance holds two of the paper's domains"
    yield "domains", Cell(len(DOMAINS), "Table 1, rows", note)
    yield "schemas", Cell(facts.frame["schema"].nunique(), facts.source)
    yield (
        "properties of growth metric",
        Cell(
            facts.growth_metric,
            "definition growth_metric of the 10-K/Q schema",
            "the definition of the released schema has fewer; income_statement has that many",
        ),
    )
    hours = sum(value_of(3, domain, "hours") for domain in DOMAINS)
    yield "hours", Cell(hours, "Table 3, sum of the rows")
    tenk = value_of(3, "10-K/Q", "hours")
    yield "hours of 10-K/Q", Cell(tenk, "Table 3")
    yield "hours a document of 10-K/Q", Cell(tenk / facts.documents["10-K/Q"], "Table 3")


def _domains(facts: Facts) -> Named:
    for domain in DOMAINS:
        for name, column in (
            ("keys", "keys"),
            ("depth", "depth"),
            ("documents", "documents"),
            ("pages", "pages"),
            ("tokens", "tokens"),
            ("array items", "array_items"),
        ):
            value = facts.figure(domain, column)
            changed = domain == "research" and name in ("tokens", "array items")
            note = REVISED if changed else "as counted in the released gold"
            note = NO_PDF if value is None else note
            yield f"{name} of {domain}", Cell(value, facts.source, note)


def _extremes(facts: Facts) -> Named:
    source = facts.source
    pages, cited = facts.of("credit", "pages"), facts.of("research", "citations")
    yield "shortest credit", Cell(int(pages.min()), source, f"the shortest has {pages.min():.0f}")
    yield "longest credit", Cell(int(pages.max()), source, f"the longest has {pages.max():.0f}")
    few = [str(int(n)) for n in sorted(cited) if n < (said("fewest citations").value or 0)]
    note = f"{len(few)} of {len(cited)} papers have fewer: {', '.join(few)}"
    yield "fewest citations", Cell(int(cited.min()), source, note)
    yield "fewest keys", Cell(min(facts.keys.values()), source, "sports has fewer keys than credit")
    others = [facts.figure(d, "tokens") or 0.0 for d in DOMAINS if d != "credit"]
    yield "fewest tokens without credit", Cell(min(others), source)
    yield "most tokens without credit", Cell(max(others), source)


def _validity() -> Named:
    whole = tally()
    yield "attempts", Cell(whole.documents, _COUNTS)
    yield "valid", Cell(whole.valid, _COUNTS)
    yield "validity", Cell(whole.validity, _COUNTS)
    for domain in DOMAINS:
        counted = tally(domains=(domain,))
        yield f"attempts of {domain}", Cell(counted.documents, _COUNTS)
        yield f"valid of {domain}", Cell(counted.valid, _COUNTS)
        yield f"validity of {domain}", Cell(counted.validity, _COUNTS)
    for model in MODELS:
        yield f"valid of {model}", Cell(tally(models=(model,)).valid, _COUNTS)
        yield f"validity of {model}", Cell(tally(models=(model,)).validity, _COUNTS)
    research = [tally(models=(m,), domains=("research",)).validity for m in MODELS]
    yield "lowest validity on research", Cell(min(research), _COUNTS)
    yield "highest validity on research", Cell(max(research), _COUNTS)
    alone = {d: tally(models=("GPT-5",), domains=(d,)).validity for d in DOMAINS}
    yield "validity of GPT-5 on credit", Cell(alone.pop("credit"), _COUNTS)
    yield "lowest validity of GPT-5 without credit", Cell(min(alone.values()), _COUNTS)
    yield (
        "highest validity of GPT-5 without credit",
        Cell(max(alone.values()), _COUNTS, "Table 13: GPT-5 has 2 of 5 sports results valid"),
    )
    claude = [tally(models=(m,)).valid for m in CLAUDE]
    yield "fewest valid of Claude", Cell(min(claude), _COUNTS)
    yield "most valid of Claude", Cell(max(claude), _COUNTS)


def _passed() -> Named:
    whole, narrow = tally(), tally(domains=DOMAINS[:-1])
    yield "passed", Cell(whole.passed, _COUNTS)
    yield "fields", Cell(whole.fields, _COUNTS)
    yield "pass rate", Cell(whole.pass_rate, _COUNTS)
    yield "models", Cell(len(MODELS), "Table 5, rows")
    yield "fields a model", Cell(tally(models=MODELS[:1]).fields, _COUNTS)
    yield "fields without 10-K/Q", Cell(narrow.fields, _COUNTS)
    yield "pass rate without 10-K/Q", Cell(narrow.pass_rate, _COUNTS)
    tenk = whole.fields - narrow.fields
    yield "share of 10-K/Q", Cell(ratio(tenk, whole.fields), _COUNTS)
    for domain in DOMAINS:
        counted = tally(domains=(domain,))
        yield f"fields of {domain}", Cell(counted.fields, _COUNTS)
        yield f"pass rate of {domain}", Cell(counted.pass_rate, _COUNTS)
    rates = {m: tally(models=(m,)).pass_rate for m in MODELS}
    yield "best pass rate", Cell(max(rates.values()), _COUNTS)
    for model, rate in rates.items():
        yield f"pass rate of {model}", Cell(rate, _COUNTS)
    yield from _credit()


def _credit() -> Named:
    rates = {m: tally(models=(m,), domains=("credit",)).pass_rate for m in MODELS}
    listed = ", ".join(f"{rate:.1f}" for rate in sorted(rates.values()) if rate)
    yield (
        "lowest credit pass rate that is not 0",
        Cell(min(rate for rate in rates.values() if rate), _COUNTS, f"the rates are {listed}"),
    )
    able = tuple(m for m in MODELS if m not in CLAUDE)
    counted = tally(models=able, domains=("credit",))
    note = f"{counted.passed}/{counted.fields}; the printed share counts Claude's fields as well"
    yield "credit pass rate of models that read it", Cell(counted.pass_rate, _COUNTS, note)
    claude = tally(models=CLAUDE, domains=("credit",))
    yield "passed of Claude on credit", Cell(claude.passed, _COUNTS)
    yield "fields of credit a model", Cell(claude.fields // len(CLAUDE), _COUNTS)
    yield "pass rate of GPT-5 on credit", Cell(rates["GPT-5"], _COUNTS)


def _accuracy(facts: Facts) -> Named:
    from extractbench_nb.benchmark.paper.results import results

    cells = results(facts)
    shares = [value_of(5, model, "accuracy") for model in MODELS]
    yield "lowest accuracy", Cell(min(shares), "Table 5")
    yield "highest accuracy", Cell(max(shares), "Table 5")
    yield "accuracy", cells[TOTAL, "accuracy"]
    yield "accuracy of GPT-5", cells["GPT-5", "accuracy"]


def _failures() -> Named:
    counted = {kind: sum(int(value_of(7, kind, model)) for model in MODELS) for kind in FAILURES}
    whole = tally()
    invalid = whole.documents - whole.valid
    yield "failures", Cell(invalid, _COUNTS)
    yield "failure rate", Cell(ratio(invalid, whole.documents), _COUNTS)
    yield "failure kinds", Cell(len(FAILURES), f"{_KINDS}, rows")
    for kind, number in counted.items():
        yield f"failures by {kind}", Cell(number, _KINDS)
        yield f"share of {kind}", Cell(ratio(number, invalid), _KINDS)
    malformed = counted["trailing comma"] + counted["truncated"]
    note = f"{malformed} of {invalid}, as section 4.3 has it: two fifths"
    yield "share of malformed", Cell(ratio(malformed, invalid), _KINDS, note)
    yield "failures of GPT-5 by empty", Cell(value_of(7, "empty", "GPT-5"), _KINDS)
    unknown = "failures by kind and domain were not printed"
    yield "empty on 10-K/Q", _unknown(unknown)
    yield "trailing comma on 10-K/Q", _unknown(unknown)


def _with_structured_output() -> Named:
    source = "Table 8, counts behind its percentages"
    yield "structured valid", _unknown(_NO_VALID)
    total = said("structured valid").value or 0.0
    yield "structured validity", Cell(ratio(total, tally().documents), "section 4.3, 77/210")
    rates = [tally("structured", models=(m,)).pass_rate for m in MODELS]
    yield "structured best pass rate", Cell(max(rates), source)
    yield "structured valid of resumes", _unknown(_NO_VALID)
    yield "structured valid of Claude", _unknown(_NO_VALID)
    credit = tally("structured", domains=("credit",))
    yield "structured passed of credit", Cell(credit.passed, source)
    yield "structured pass rate of credit", Cell(credit.pass_rate, source)
    alone = tally("structured", models=("GPT-5",), domains=("credit",))
    yield "structured pass rate of GPT-5 on credit", Cell(alone.pass_rate, source)
    yield "structured validity of 10-K/Q", _unknown(_NO_VALID)


def _settings() -> Named:
    for name in ("page limit", "judge threshold", "annotators"):
        yield name, _unknown(_SETTING)
    yield "fuzzy threshold", Cell(PRESETS["string_fuzzy"].params["threshold"], "presets()")


def _unknown(missing: str) -> Cell:
    return Cell(None, "", missing)
