"""Tables 1 to 13, Figure 2 and the numbers in the text, recomputed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from extractbench_nb.benchmark.published import rows_of
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.paper.cells import (
    CLAUDE,
    DOMAIN_TABLES,
    DOMAINS,
    MODELS,
    TOTAL,
    Cell,
    Cells,
    given,
    printed,
    ratio,
    said,
    value_of,
)
from extractbench_nb.paper.facts import Facts, Tally, tally
from extractbench_nb.schema.config import PRESETS

#: Percent of gold.
_LARGEST_MARGIN = 100.0
_ITEMS_TRIED = [{"name": "one"}, {"name": "two"}, {"name": "three"}]

#: By preset of Table 4: the words for it, the type, and gold, predicted and score of what tells it
#: from other metrics: from kitten to sitting, of seven letters, there are three edits.
_PROBES: Mapping[str, tuple[str, str, tuple[tuple[Any, Any, float], ...]]] = MappingProxyType(
    {
        "string_exact": ("Exact match", "string", (("Ab", "Ab", 1), ("Ab", "ab", 0))),
        "string_case_insensitive": ("Case-folded", "string", (("Ab", "aB", 1), ("Ab", "Ac", 0))),
        "string_fuzzy": ("Levenshtein", "string", (("kitten", "sitting", 1 - 3 / 7),)),
        "number_exact": ("Exact numeric", "number", ((1e3, 1000, 1), (1e3, 1000.0001, 0))),
        "boolean_exact": ("Exact boolean", "boolean", ((True, True, 1), (True, False, 0))),
        "array_llm": ("Optimal alignment", "array", ((_ITEMS_TRIED, _ITEMS_TRIED[::-1], 1),)),
    }
)
_NOTES = {
    "string_semantic": "the judge is a deterministic one by default; judge= takes an LLM",
    "array_llm": "alignment is optimal and deterministic by default, a judge compares the texts",
}


def presets_tried() -> Cells:
    """Recompute Table 4: each preset is tried on values that tell metrics apart."""
    source = "presets(), each tried"
    told = {
        preset: words if all(_gives(preset, kind, *probe) for probe in probes) else "another metric"
        for preset, (words, kind, probes) in _PROBES.items()
    }
    margin = _margin()
    within = 0 < margin < _LARGEST_MARGIN
    told["number_tolerance"] = "Within margin" if within else "another metric"
    same, other = (
        preset_score("string_semantic", "string", "ABC Corp", name)
        for name in ("ABC Corporation", "XYZ Corporation")
    )
    alike = same > 0.9 > other  # noqa: PLR2004 - a score that says "the same"
    told["string_semantic"] = "Deterministic equivalence" if alike else "another metric"
    cells = {
        (preset, "metric"): Cell(words, source, _NOTES.get(preset, ""))
        for preset, words in told.items()
    }
    return cells | {("number_tolerance", "margin"): Cell(margin, source)}


def _gives(preset: str, kind: str, gold: Any, predicted: Any, score: float) -> bool:
    return math.isclose(preset_score(preset, kind, gold, predicted), score)


def preset_score(preset: str, kind: str, gold: Any, predicted: Any) -> float:
    """Return what a preset scores a field of a JSON type."""
    field = {"type": kind, "evaluation_config": preset}
    schema = {"type": "object", "properties": {"field": field}}
    found = evaluate(schema, {"field": gold}, {"field": predicted})
    return float(found.fields["score"].iloc[0])


def _margin() -> float:
    """Return the largest error that passes, in percent of gold, by bisection."""
    low, high = 0.0, _LARGEST_MARGIN
    for _ in range(30):
        middle = (low + high) / 2
        accepted = preset_score("number_tolerance", "number", 1e6, 1e6 * (1 + middle / 100)) == 1
        low, high = (middle, high) if accepted else (low, middle)
    return low


NO_PDF = "the PDF of one research paper"
NO_HOURS = "the annotators' hours were not released"
REVISED = "the released research golds seem to have gained array items of one value since"

_FIELDS = "leaf values outside arrays; field_definitions() tries others, and none fits throughout"
_ITEMS = "items of all arrays of the released gold, nested ones included"


def characteristics(facts: Facts) -> Cells:
    """Recompute Table 1."""
    return {
        (domain, column): Cell(facts.figure(domain, column), facts.source)
        for domain in DOMAINS
        for column in ("keys", "depth", "documents")
    }


def scale(facts: Facts) -> Cells:
    """Recompute Table 2."""
    cells: Cells = {}
    for domain in DOMAINS:
        cells[domain, "documents"] = Cell(facts.documents[domain], facts.source)
        cells[domain, "pages"] = _pages(facts, domain)
        changed = domain == "research"
        cells[domain, "gold_values"] = Cell(
            facts.total(domain, "gold_values"), facts.source, REVISED if changed else ""
        )
    for column in ("documents", "pages", "gold_values"):
        cells[TOTAL, column] = _sum([cells[domain, column] for domain in DOMAINS], facts)
    return cells


def _pages(facts: Facts, domain: str) -> Cell:
    total = facts.total(domain, "pages")
    if total is not None:
        return Cell(total, facts.source)
    known = facts.of(domain, "pages")
    pages = int(known.sum())
    rest = value_of(2, domain, "pages") - pages
    note = f"{NO_PDF}: the others have {pages} pages, which leaves {rest:.0f} of the printed total"
    return Cell(None, facts.source, note)


def _sum(cells: list[Cell], facts: Facts) -> Cell:
    notes = "; ".join(cell.note for cell in cells if cell.note)
    if any(cell.value is None for cell in cells):
        return Cell(None, facts.source, notes)
    return Cell(sum(float(cell.value or 0) for cell in cells), facts.source, notes)


def annotation(facts: Facts) -> Cells:
    """Recompute the averages and the sum of Table 3 from its hours, which are data of their own."""
    cells: Cells = {}
    hours = {domain: value_of(3, domain, "hours") for domain in DOMAINS}
    for domain in DOMAINS:
        cells[domain, "hours"] = given(3, domain, "hours", NO_HOURS)
        mean = hours[domain] / facts.documents[domain]
        cells[domain, "hours_per_document"] = Cell(mean, "Table 3, hours / documents")
    total, documents = sum(hours.values()), sum(facts.documents.values())
    cells[TOTAL, "hours"] = Cell(total, "Table 3, sum of the rows")
    printed = value_of(3, TOTAL, "hours_per_document")
    note = f"{total:.1f} hours / {documents} documents; {printed} needs {total / printed:.0f}"
    cells[TOTAL, "hours_per_document"] = Cell(total / documents, "Table 3, sums", note)
    return cells


def complexities(facts: Facts) -> Cells:
    """Recompute Table 6."""
    notes = {
        "tokens": "tokens of the released gold file as it is",
        "fields": _FIELDS,
        "array_items": _ITEMS,
    }
    cells: Cells = {}
    for domain in DOMAINS:
        for column in ("pages", "keys", "depth", "tokens", "fields", "array_items"):
            value, note = facts.figure(domain, column), notes.get(column, "")
            if value is None:
                note = NO_PDF
            elif domain == "research" and column in ("tokens", "array_items"):
                note = REVISED
            cells[domain, column] = Cell(value, facts.source, note)
    return cells


def tokens(facts: Facts) -> Cells:
    """Recompute Figure 2: tokens of PDF text and gold a document, and their ratio."""
    cells: Cells = {}
    for domain in DOMAINS:
        source = facts.frame[facts.frame["domain"] == domain].dropna(subset=["pdf_tokens"])
        read, written = float(source["pdf_tokens"].mean()), float(source["gold_tokens"].mean())
        without = int(facts.of(domain, "pdf_tokens").isna().sum())
        note = f"{without} document without PDF left out" if without else ""
        cells[domain, "input_tokens"] = Cell(read, facts.source, note)
        cells[domain, "output_tokens"] = Cell(written, facts.source, note)
        why = f"{read:,.0f} tokens of PDF text / {written:,.0f} of gold JSON a document"
        why = f"{why}; {note}" if note else why
        cells[domain, "ratio"] = Cell(read / written, facts.source, why)
    return cells


#: Kinds of failure, as the rows of Table 7.
FAILURES = ("empty", "trailing comma", "page limit", "truncated", "context length")

NO_OUTPUTS = "the model outputs were not released"


def results(facts: Facts) -> Cells:
    """Recompute Table 5 from the counts of Tables 9 to 13 and the dataset's own figures."""
    cells = _header(facts)
    for row in (*MODELS, TOTAL):
        models = MODELS if row == TOTAL else (row,)
        whole = tally(models=models)
        cells[row, "valid"] = Cell(whole.valid, "Tables 9-13")
        cells[row, "attempts"] = Cell(sum(facts.documents.values()) * len(models), facts.source)
        for domain in DOMAINS:
            _share(cells, row, domain, tally(models=models, domains=(domain,)))
        _share(cells, row, "overall", whole)
        cells[row, "accuracy"] = _accuracy(facts, row, models)
    return cells


def _header(facts: Facts) -> Cells:
    columns = ("documents", "pages", "keys", "tokens")
    return {
        ("header", f"{domain} {column}"): Cell(
            facts.figure(domain, column), facts.source, "" if column != "pages" else NO_PDF
        )
        for domain in DOMAINS
        for column in columns
    }


def _share(cells: Cells, row: str, name: str, counted: Tally) -> None:
    source = "Tables 9-13" if name == "overall" else f"Table {DOMAIN_TABLES[name]}"
    cells[row, f"{name} passed"] = Cell(counted.passed, source)
    cells[row, f"{name} fields"] = Cell(counted.fields, source)
    cells[row, f"{name} rate"] = Cell(counted.pass_rate, source)


def _accuracy(facts: Facts, row: str, models: tuple[str, ...]) -> Cell:
    scored = scored_in_valid(facts, models)
    passed = tally(models=models).passed
    low, high = accuracy_range(row, passed)
    implied = f"{low}" if low == high else f"{low} to {high}"
    note = (
        f"the printed share means {implied} fields, the valid outputs have {scored}: a judge call "
        "that fails adds up to five passing fields, and the released evaluator leaves out one "
        f"field of each resume ({scored_in_valid(facts, models, released=True)} then)"
    )
    return Cell(ratio(passed, scored), "Tables 9-13, scored fields a document", note)


def scored_in_valid(facts: Facts, models: tuple[str, ...], *, released: bool = False) -> int:
    """Count the fields that are scored in the valid outputs of some models."""
    scored = facts.scored_by_package_010 if released else facts.scored
    return sum(
        tally(models=(model,), domains=(domain,)).valid * scored[domain]
        for model in models
        for domain in DOMAINS
    )


def accuracy_range(row: str, passed: int) -> tuple[int, int]:
    """Return the fewest and most fields for which Table 5 would print its accuracy."""
    share = printed(5, row, "accuracy")
    half = 0.5 * 10.0 ** -(share.digits or 0)
    value = share.value or 0.0
    whole = range(passed, 100 * passed)
    fitting = [n for n in whole if abs(ratio(passed, n) - value) <= half + 1e-9]
    if not fitting:
        raise ValueError(f"Table 5, {row}: no number of fields gives {share.printed} of {passed}")
    return fitting[0], fitting[-1]


def domain_results(table: int) -> Cells:
    """Recompute the shares of one of Tables 9 to 13; its counts are data of their own."""
    cells: Cells = {}
    domain = next(d for d, n in DOMAIN_TABLES.items() if n == table)
    documents, keys = (int(value_of(1, domain, c)) for c in ("documents", "keys"))
    for model in MODELS:
        counted = tally(models=(model,), domains=(domain,))
        cells[model, "valid"] = given(table, model, "valid", NO_OUTPUTS)
        cells[model, "documents"] = Cell(documents, "Table 1")
        cells[model, "passed"] = given(table, model, "passed", NO_OUTPUTS)
        cells[model, "fields"] = Cell(documents * keys, "Table 1, documents x keys")
        cells[model, "rate"] = Cell(counted.pass_rate, f"Table {table}, passed / fields")
    return cells


def failures() -> Cells:
    """Recompute the totals of Table 7 from valid outputs; its counts are data of their own."""
    cells: Cells = {
        (kind, model): given(7, kind, model, NO_OUTPUTS) for kind in FAILURES for model in MODELS
    }
    for model in MODELS:
        counted = tally(models=(model,))
        invalid = counted.documents - counted.valid
        cells[TOTAL, model] = Cell(invalid, "Tables 9-13, documents - valid")
    return cells


def structured(facts: Facts) -> Cells:
    """Recompute what Table 8 sums up; the percentages of single domains are its data."""
    cells: Cells = {}
    for domain in ("credit", "research", "sports"):
        for model in MODELS:
            cells[model, f"{domain} rate"] = given(8, model, f"{domain} rate", NO_OUTPUTS)
        whole = tally("structured", domains=(domain,))
        cells[TOTAL, f"{domain} rate"] = Cell(
            whole.pass_rate, "Table 8, counts behind its percentages", divided(domain)
        )
    for row in (*MODELS, TOTAL):
        models = MODELS if row == TOTAL else (row,)
        share = tally("structured", models=models).pass_rate
        note = "the six models' counts add up to another share" if row == TOTAL else ""
        cells[row, "overall rate"] = Cell(share, "Table 8, counts behind its percentages", note)
    return cells


def divided(domain: str) -> str:
    """Say how the printed total of a domain in Table 8 is wrong; empty if it is the rows' mean."""
    rates = [value_of(8, model, f"{domain} rate") for model in MODELS]
    total = value_of(8, TOTAL, f"{domain} rate")
    divisor = round(sum(rates) / total)
    if divisor == len(rates):
        return ""
    return (
        f"the printed total is the sum of the six rows, {sum(rates):.1f}, divided by {divisor} "
        f"instead of {len(rates)}"
    )


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
        _accuracies(facts),
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


def _accuracies(facts: Facts) -> Named:

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
