"""Tables 1 to 13, Figure 2 and the numbers in the text, recomputed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import TypeAlias

from extractbench_nb.benchmark.complexities import Facts
from extractbench_nb.benchmark.published import (
    ABLE,
    CLAUDE,
    DOMAIN_TABLES,
    DOMAINS,
    HEADER,
    MODELS,
    OVERALL,
    TOTAL,
    Cell,
    Cells,
    figures_of,
    printed,
    ratio,
    rows_of,
    stated,
    tally,
    value_of,
)
from extractbench_nb.core.schema import PRESETS

#: What the presets of this package are, in the words of Table 4. A model judges and aligns if
#: `judge` and `alignment` name one, as in the paper; the defaults are no difference of the presets.
_PRESETS = {
    "string_exact": "Exact match",
    "string_case_insensitive": "Case-folded",
    "string_fuzzy": "Levenshtein",
    "string_semantic": "LLM equivalence",
    "number_exact": "Exact numeric",
    "number_tolerance": "Within margin",
    "boolean_exact": "Exact boolean",
    "array_llm": "Semantic alignment",
}


def presets_declared() -> Cells:
    """Return Table 4 as this package declares it, which shows nothing about the paper."""
    advice = Cell(None, "", "advice, not a figure")
    cells = {(preset, "use_case"): advice for preset in _PRESETS}
    margin = f"Amounts ({100 * PRESETS['number_tolerance'].preset['tolerance']:g}%)"
    declared = {(preset, "metric"): words for preset, words in _PRESETS.items()}
    declared["number_tolerance", "use_case"] = margin
    source = "presets()"
    return cells | {key: Cell(text, source, is_declared=True) for key, text in declared.items()}


NO_PDF = "the PDF of one research paper is not available"
REVISED = "the released research golds seem to have gained array items of one value since the paper"


def _measured(facts: Facts, domain: str, column: str, note: str = "") -> Cell:
    """Return a domain's figure, with the note that explains why the printed one may differ."""
    value = facts.figure(domain, column)
    if value is None:
        note = NO_PDF
    elif domain == "research" and column in ("tokens", "array_items"):
        note = REVISED
    return Cell(value, facts.source, note)


def characteristics(facts: Facts) -> Cells:
    """Recompute Table 1."""
    cells = {
        key: _measured(facts, *key) for key in product(DOMAINS, ("keys", "depth", "documents"))
    }
    words = Cell(None, "", "a description, not a figure")
    return cells | {(domain, "challenge"): words for domain in DOMAINS}


def scale(facts: Facts) -> Cells:
    """Recompute Table 2."""
    cells: Cells = {}
    for column, domain in product(("documents", "pages", "gold_values"), DOMAINS):
        note = REVISED if (domain, column) == ("research", "gold_values") else ""
        total = facts.documents[domain] if column == "documents" else facts.total(domain, column)
        if total is None:
            others = facts.of(domain, column).sum()
            rest = value_of(2, domain, column) - others
            note = f"{NO_PDF}: the others have {others} pages, which leaves {rest:.0f} of the "
            note += "printed total"
        cells[domain, column] = Cell(total, facts.source, note)
    for column in ("documents", "pages", "gold_values"):
        rows = [cells[domain, column] for domain in DOMAINS]
        numbers = [float(cell.value) for cell in rows if cell.value is not None]
        total = sum(numbers) if len(numbers) == len(rows) else None
        notes = "; ".join(cell.note for cell in rows if cell.note)
        cells[TOTAL, column] = Cell(total, facts.source, notes)
    return cells


def annotation(facts: Facts) -> Cells:
    """Recompute the averages and the sum of Table 3 from its printed hours."""
    hours = {domain: value_of(3, domain, "hours") for domain in DOMAINS}
    cells: Cells = {
        (domain, "hours_per_document"): Cell(
            n / facts.documents[domain], "Table 3, hours / documents"
        )
        for domain, n in hours.items()
    }
    total, documents = sum(hours.values()), sum(facts.documents.values())
    others = documents - facts.documents["credit"]
    note = (
        f"{total:.1f} hours over {documents} documents; over the {others} documents that are not "
        f"credit agreements the mean is {total / others:.2f}"
    )
    sums = {"hours": Cell(total, "Table 3, sum of the rows")}
    sums["hours_per_document"] = Cell(total / documents, "Table 3, sums", note)
    return cells | {(TOTAL, column): cell for column, cell in sums.items()}


def complexities(facts: Facts) -> Cells:
    """Recompute Table 6."""
    notes = {
        "tokens": "GPT-2 tokens of the released gold files",
        "array_items": "items of all arrays of the released gold, nested ones included",
        "fields": "leaf values outside arrays; the paper does not define the column, and none of "
        "the 20 definitions in scripts/field_definitions.py gives more than 2 of the 5 averages",
    }
    return {
        (domain, column): _measured(facts, domain, column, notes.get(column, ""))
        for domain, column in product(DOMAINS, ("pages", "keys", "depth", *notes))
    }


def tokens(facts: Facts) -> Cells:
    """Recompute Figure 2: tokens of PDF text and gold per document, and their ratio.

    Input, output and ratio are those of the documents whose PDF has text. ``ratio_all`` and
    ``ratio_all_low`` are bounds for all documents: those without text get as many tokens per page
    as the others have, on average or at least.
    """
    cells: Cells = {}
    for domain in DOMAINS:
        every = facts.frame[facts.frame["domain"] == domain]
        read = every.dropna(subset=["pdf_tokens"])
        text, gold = float(read["pdf_tokens"].sum()), float(read["gold_tokens"].sum())
        gold_of_all = float(every["gold_tokens"].sum())
        pages = float(value_of(2, domain, "pages") - read["pages"].sum())  # of those without text
        per_page = (
            text / float(read["pages"].sum()),
            float((read["pdf_tokens"] / read["pages"]).min()),
        )
        mean, low = ((text + pages * rate) / gold_of_all for rate in per_page)
        number, texts = len(read), (f"{text / len(read):,.0f}", f"{gold / len(read):,.0f}")
        note = f"{texts[0]} tokens of PDF text / {texts[1]} of gold JSON per document"
        if number < len(every):
            note += (
                f" in {number} of {len(every)} documents; the others have no text and "
                f"{1 - gold / gold_of_all:.1%} of the gold tokens: with the mean tokens per page "
                f"of those {number}, the ratio of all is {mean:.1f}, with their fewest {low:.1f}"
            )
        figures = {"documents": len(every), "with_text": number, "input_tokens": text / number}
        figures |= {"output_tokens": gold / number, "ratio": text / gold}
        figures |= {"output_all": gold_of_all / len(every), "ratio_all": mean, "ratio_all_low": low}
        cells |= {(domain, name): Cell(n, facts.source, note) for name, n in figures.items()}
    return cells


#: Kinds of failure, as the rows of Table 7.
FAILURES = ("empty", "trailing comma", "page limit", "truncated", "context length")

NO_OUTPUTS = "the model outputs were not released"
_COUNTS = "Tables 9-13"
_BEHIND_8 = "Table 8, counts behind its percentages"
_OF_8 = ("credit", "research", "sports")


def results(facts: Facts) -> Cells:
    """Recompute Table 5 from the counts of Tables 9 to 13 and the dataset's own figures."""
    cells: Cells = {
        (HEADER, f"{domain} {column}"): _measured(facts, domain, column)
        for domain, column in product(DOMAINS, ("documents", "pages", "keys", "tokens"))
    }
    for row in (*MODELS, TOTAL):
        models = MODELS if row == TOTAL else (row,)
        total = tally(models)
        counted = {OVERALL: (total, _COUNTS)}
        for domain, table in DOMAIN_TABLES.items():
            counted[domain] = tally(models, domain), f"Table {table}"
        cells[row, "valid"] = Cell(total.valid, _COUNTS)
        cells[row, "attempts"] = Cell(sum(facts.documents.values()) * len(models), facts.source)
        for name, (part, source) in counted.items():
            shares = {"passed": part.passed, "fields": part.fields, "rate": part.pass_rate}
            cells |= {(row, f"{name} {key}"): Cell(n, source) for key, n in shares.items()}
        cells[row, "accuracy"] = _accuracy(facts, row, models)
    return cells


def _accuracy(facts: Facts, row: str, models: tuple[str, ...]) -> Cell:
    valid = {d: tally(models, d).valid for d in DOMAINS}
    scored = sum(valid[domain] * facts.scored[domain] for domain in DOMAINS)
    passed = tally(models).passed
    low, high = accuracy_range(row, passed)
    implied = f"{low}" if low == high else f"{low} to {high}"
    note = f"the printed share implies {implied} fields, but the valid outputs have {scored}"
    return Cell(ratio(passed, scored), "Tables 9-13, scored fields per document", note)


def accuracy_range(row: str, passed: int) -> tuple[int, int]:
    """Return the fewest and most fields for which Table 5 would print its accuracy."""
    share = printed(5, row, "accuracy")
    value, half = share.value or 0.0, 0.5 * 10.0 ** -(share.digits or 0) + 1e-9
    return math.ceil(100 * passed / (value + half)), math.floor(100 * passed / (value - half))


def domain_results(table: int) -> Cells:
    """Recompute the shares of one of Tables 9 to 13 from its printed counts."""
    domain = next(d for d, n in DOMAIN_TABLES.items() if n == table)
    documents, keys = (int(value_of(1, domain, c)) for c in ("documents", "keys"))
    cells: Cells = {}
    for model in MODELS:
        cells[model, "documents"] = Cell(documents, "Table 1")
        cells[model, "fields"] = Cell(documents * keys, "Table 1, documents x keys")
        rate = tally(model, domain).pass_rate
        cells[model, "rate"] = Cell(rate, f"Table {table}, passed / fields")
    return cells


def failures() -> Cells:
    """Recompute the totals of Table 7 from valid outputs."""
    source = f"{_COUNTS}, documents - valid"
    return {(TOTAL, model): Cell(tally(model).invalid, source) for model in MODELS}


def structured() -> Cells:
    """Recompute the totals of Table 8 from its printed percentages of single domains."""
    rates = {m: tally(m, mode="structured").pass_rate for m in MODELS}
    cells: Cells = {(m, "overall rate"): Cell(rate, _BEHIND_8) for m, rate in rates.items()}
    mean = sum(value_of(8, model, "overall rate") for model in MODELS) / len(MODELS)
    totals = {d: (tally(MODELS, d, "structured"), divided(d)) for d in _OF_8}
    totals[OVERALL] = tally(mode="structured"), f"the six printed rows average {mean:.2f}"
    for name, (total, why) in totals.items():
        note = f"{total.passed} of {total.fields} fields pass; {why}" if why else ""
        cells[TOTAL, f"{name} rate"] = Cell(total.pass_rate, _BEHIND_8, note)
    return cells


def divided(domain: str) -> str:
    """Explain the printed total of a domain in Table 8; empty if it is the mean of the rows."""
    rates = [value_of(8, model, f"{domain} rate") for model in MODELS]
    divisor = round(sum(rates) / value_of(8, TOTAL, f"{domain} rate"))
    if divisor == len(rates):
        return ""
    return (
        f"the printed total is the sum of the six rows, {sum(rates):.1f}, divided by {divisor} "
        f"instead of {len(rates)}"
    )


_Named: TypeAlias = Iterator[tuple[str, Cell]]


def statement_cells(facts: Facts) -> Cells:
    """Recompute every number of the text: cells by the statement's id and quantity."""
    groups = (
        _dataset(facts),
        _counted(facts),
        _failures(),
        _with_structured_output(),
    )
    by_quantity = {name: cell for group in groups for name, cell in group}
    return {(f.row, f.column): by_quantity[f.column] for f in rows_of("text")}


def _dataset(facts: Facts) -> _Named:
    """Yield sizes of the dataset and its domains."""
    source, sizes = facts.source, scale(facts)
    yield "documents", sizes[TOTAL, "documents"]
    yield "pages", sizes[TOTAL, "pages"]
    yield "gold values", sizes[TOTAL, "gold_values"]
    note = "the README counts top folders (finance contains two schemas), the paper counts schemas"
    yield "domains", Cell(len(DOMAINS), "Table 1, rows", note, is_declared=True)
    yield "schemas", Cell(facts.frame["schema"].nunique(), source)
    definition = "definition growth_metric of the 10-K/Q schema"
    note = (
        "the definition in the released 10-K/Q schema has fewer properties; the definition "
        "income_statement has the printed number"
    )
    yield "properties of growth metric", Cell(facts.growth_metric, definition, note)
    hours = sum(value_of(3, domain, "hours") for domain in DOMAINS)
    yield "hours", Cell(hours, "Table 3, sum of the rows")
    tenk = value_of(3, "10-K/Q", "hours")
    yield "hours of 10-K/Q", Cell(tenk, "Table 3")
    yield "hours a document of 10-K/Q", Cell(tenk / facts.documents["10-K/Q"], "Table 3")
    for domain in DOMAINS:
        for column in ("keys", "depth", "documents", "pages", "tokens", "array_items"):
            cell = _measured(facts, domain, column, "as counted in the released gold")
            yield f"{column.replace('_', ' ')} of {domain}", cell
    pages, cited = facts.of("credit", "pages"), facts.of("research", "citations")
    yield "shortest credit", Cell(int(pages.min()), source, f"the shortest has {pages.min():.0f}")
    yield "longest credit", Cell(int(pages.max()), source, f"the longest has {pages.max():.0f}")
    fewest = stated("fewest citations").value or 0
    fewer = [str(int(n)) for n in sorted(cited) if n < fewest]
    note = f"{len(fewer)} of {len(cited)} papers have fewer citations: {', '.join(fewer)}"
    yield "fewest citations", Cell(int(cited.min()), source, note)
    simplest, keys = min(facts.keys.items(), key=lambda item: item[1])
    note = f"{simplest} has fewer keys than credit ({facts.keys['credit']}, Table 1)"
    yield "fewest keys", Cell(keys, source, note)
    others = [facts.figure(d, "tokens") or 0.0 for d in DOMAINS if d != "credit"]
    yield "fewest tokens without credit", Cell(min(others), source)
    yield "most tokens without credit", Cell(max(others), source)


def _counted(facts: Facts) -> _Named:
    """Yield counts and rates of all attempts, and of subsets of them."""
    parts = {
        "": tally(),
        " a model": tally(MODELS[0]),
        " without 10-K/Q": tally(domains=DOMAINS[:-1]),
        " of credit a model": tally(MODELS[0], "credit"),
        " of GPT-5 on credit": tally("GPT-5", "credit"),
        " of Claude on credit": tally(CLAUDE, "credit"),
        **{f" of {domain}": tally(MODELS, domain) for domain in DOMAINS},
        **{f" of {model}": tally(model) for model in MODELS},
    }
    for part, counts in parts.items():
        yield f"attempts{part}", Cell(counts.documents, _COUNTS)
        yield f"valid{part}", Cell(counts.valid, _COUNTS)
        yield f"validity{part}", Cell(counts.validity, _COUNTS)
        yield f"passed{part}", Cell(counts.passed, _COUNTS)
        yield f"fields{part}", Cell(counts.fields, _COUNTS)
        yield f"pass rate{part}", Cell(counts.pass_rate, _COUNTS)
    yield "models", Cell(len(MODELS), "Table 5, rows", is_declared=True)
    yield "share of 10-K/Q", Cell(ratio(parts[" of 10-K/Q"].fields, parts[""].fields), _COUNTS)
    yield "best pass rate", Cell(max(parts[f" of {m}"].pass_rate for m in MODELS), _COUNTS)
    claude = [parts[f" of {model}"].valid for model in CLAUDE]
    yield "fewest valid of Claude", Cell(min(claude), _COUNTS)
    yield "most valid of Claude", Cell(max(claude), _COUNTS)

    research = [tally(model, "research").validity for model in MODELS]
    yield "lowest validity on research", Cell(min(research), _COUNTS)
    yield "highest validity on research", Cell(max(research), _COUNTS)
    others = {domain: tally("GPT-5", domain) for domain in DOMAINS if domain != "credit"}
    low, *_, high = sorted(others, key=lambda domain: others[domain].validity)
    yield "lowest validity of GPT-5 without credit", Cell(others[low].validity, _COUNTS)
    note = f"{others[high].valid} of {others[high].documents} {high} outputs of GPT-5 are valid"
    yield "highest validity of GPT-5 without credit", Cell(others[high].validity, _COUNTS, note)

    stated_rate = stated("lowest credit pass rate that is not 0").value or 0
    rates = {model: tally(model, "credit").pass_rate for model in MODELS}
    above_0 = {model: rate for model, rate in rates.items() if rate}
    below = [f"{model} {rate:.1f}%" for model, rate in above_0.items() if rate < stated_rate]
    note = f"{len(below)} of {len(above_0)} models are below the printed rate: {', '.join(below)}"
    yield "lowest credit pass rate that is not 0", Cell(min(above_0.values()), _COUNTS, note)
    able = tally(ABLE, "credit")
    note = (
        f"models that can read the documents pass {able.passed} of {able.fields} fields; the "
        "printed share also counts the fields of the two models that cannot"
    )
    yield "credit pass rate of models that read it", Cell(able.pass_rate, _COUNTS, note)

    accuracies = [value_of(5, model, "accuracy") for model in MODELS]
    yield "lowest accuracy", Cell(min(accuracies), "Table 5")
    yield "highest accuracy", Cell(max(accuracies), "Table 5")
    yield "accuracy", _accuracy(facts, TOTAL, MODELS)
    yield "accuracy of GPT-5", _accuracy(facts, "GPT-5", ("GPT-5",))


def _failures() -> _Named:
    """Yield counts of failed outputs."""
    counted = {kind: sum(int(value_of(7, kind, model)) for model in MODELS) for kind in FAILURES}
    invalid = tally().invalid
    yield "failures", Cell(invalid, _COUNTS)
    yield "failure rate", Cell(ratio(invalid, tally().documents), _COUNTS)
    yield "failure kinds", Cell(len(FAILURES), "Table 7, rows", is_declared=True)
    for kind, number in counted.items():
        yield f"failures by {kind}", Cell(number, "Table 7")
        yield f"share of {kind}", Cell(ratio(number, invalid), "Table 7")
    malformed = counted["trailing comma"] + counted["truncated"]
    note = (
        f"trailing commas and truncation are {malformed} of {invalid} failures; section 4.3 prints "
        f"{stated('share of malformed', 'section 4.3').printed}"
    )
    yield "share of malformed", Cell(ratio(malformed, invalid), "Table 7", note)
    yield "failures of GPT-5 by empty", Cell(value_of(7, "empty", "GPT-5"), "Table 7")
    unknown = Cell(None, "", "the paper does not print failures by kind and domain")
    yield "empty on 10-K/Q", unknown
    yield "trailing comma on 10-K/Q", unknown


def _with_structured_output() -> _Named:
    """Yield shares with structured output, and settings of the runs."""
    note = "the paper prints only totals of valid outputs with structured output"
    for name in ("valid", "valid of resumes", "valid of Claude", "validity of 10-K/Q"):
        yield f"structured {name}", Cell(None, "", note)
    total = stated("structured valid").value or 0.0
    yield "structured validity", Cell(ratio(total, tally().documents), "section 4.3, 77/210")
    rates = [tally(m, mode="structured").pass_rate for m in MODELS]
    yield "structured best pass rate", Cell(max(rates), _BEHIND_8)
    credit = tally(MODELS, "credit", "structured")
    yield "structured passed of credit", Cell(credit.passed, _BEHIND_8)
    yield "structured pass rate of credit", Cell(credit.pass_rate, _BEHIND_8)
    alone = tally("GPT-5", "credit", "structured")
    yield "structured pass rate of GPT-5 on credit", Cell(alone.pass_rate, _BEHIND_8)

    for name in ("page limit", "judge threshold", "annotators"):
        yield name, Cell(None, "", "a setting of the authors' runs, not a result")
    threshold = PRESETS["string_fuzzy"].preset["threshold"]
    yield "fuzzy threshold", Cell(threshold, "presets()", is_declared=True)


_TABLES: Mapping[str, Callable[[Facts], Cells]] = {
    "1": characteristics,
    "2": scale,
    "3": annotation,
    "4": lambda facts: presets_declared(),
    "5": results,
    "6": complexities,
    "7": lambda facts: failures(),
    "8": lambda facts: structured(),
    "figure2": tokens,
    "text": statement_cells,
}


#: Why the figures that no function recomputes are taken as printed.
_NOT_RELEASED: Mapping[str, str] = {
    "3": "the annotators' hours were not released",
    **dict.fromkeys(("7", "8", *map(str, DOMAIN_TABLES.values())), NO_OUTPUTS),
}


def recompute(part: int | str, facts: Facts) -> Cells:
    """Recompute a table, Figure 2 or the numbers of the text: cells by row and column."""
    name = str(part)
    maker = _TABLES.get(name)
    cells = maker(facts) if maker else domain_results(int(part))
    if name not in _NOT_RELEASED:
        return cells
    source, missing = f"Table {name}, as printed", _NOT_RELEASED[name]
    taken = {
        key: Cell(figure.value, source, missing, is_printed=True)
        for key, figure in figures_of(name).items()
        if key not in cells
    }
    return taken | cells
