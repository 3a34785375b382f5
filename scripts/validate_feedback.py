"""Whether an optimiser improves through the text of the feedback: DSPy's GEPA with scripted models.

Needs ``pip install dspy`` (3.4); prints the figures of docs/explanation/validation.md.
"""

import json
import logging
import re
import warnings
from types import SimpleNamespace
from typing import Any

import dspy

import extractbench_nb as xb

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
SCHEMA = {
    "type": "object",
    "properties": {
        "company": TEXT,
        "revenue": NUMBER,
        "signed": TEXT,
        "profit": NUMBER,
        "auditor": {"type": ["string", "null"]},
        "subsidiaries": {"type": "array", "items": TEXT},
    },
}
NAMES = "Alder Birch Cedar Dogwood Elm Fir Gorse Hazel Ivy Juniper Kelp Larch".split()
LINE = re.compile(r"(- [\d,]+ x (`.*?) \(cost [\d.]+\): )(.*?)(; e\.g\. )")
TRAINING = 6


def example(k: int, name: str) -> dspy.Example:
    auditor = f"Roe {name} LLP" if k % 2 else "N/A"
    gold = {
        "company": f"{name} Foods Holdings Limited",
        "revenue": (k + 3) * 111_000,
        "signed": f"2024-{k + 1:02}-17",
        "profit": (k + 2) * 7_000,
        "auditor": auditor if k % 2 else None,
        "subsidiaries": [f"{name} {side}" for side in ("North", "East", "South")],
    }
    text = (
        f"{gold['company']}. In thousands. Revenue {gold['revenue'] // 1000}. "
        f"Profit {gold['profit'] // 1000}. Auditor {auditor}. Signed {gold['signed']}. "
        f"Subsidiaries {', '.join(gold['subsidiaries'])}."
    )
    return dspy.Example(document=text, gold=gold).with_inputs("document")


def extract(prompt: str) -> str:
    """Read the document of a prompt; each of four errors ends with the right rule for its field."""
    instruction, _, text = prompt.rpartition("[[ ## document ## ]]")
    rules: dict[str, str] = {}
    for names, advice in re.findall(r"RULE (.*?): (.*)", instruction):
        for name in re.findall(r"`(\w+)`", names):
            rules[name] = rules.get(name, "") + advice

    def has(field: str, words: str) -> bool:
        return words in rules.get(field, "")

    read = re.compile(
        r"(.*?)\. In thousands\. Revenue (\d+)\. Profit (\d+)\. Auditor (.*?)\. Signed (.*?)\. "
        r"Subsidiaries (.*)\."
    )
    company, revenue, profit, auditor, signed, items = read.search(text).groups()
    names = items.split(", ")
    unit = "unit of the field"
    value = {
        "company": company if has("company", "whole value") else company[:10],
        "revenue": int(revenue) * (1000 if has("revenue", unit) else 1),
        "signed": signed,
        "profit": int(profit) * (1000 if has("profit", unit) else 1),
        "auditor": None if has("auditor", "null") and auditor == "N/A" else auditor,
        "subsidiaries": names if has("subsidiaries", "every item") else names[:1],
    }
    return f"[[ ## extracted ## ]]\n{json.dumps(value)}\n\n[[ ## completed ## ]]"


def reflect(prompt: str) -> str:
    """Append each suggestion of the feedback to the instruction; nothing else is known."""
    inputs = prompt.rpartition("[[ ## current_instruction ## ]]")[2]
    instruction, _, examples = inputs.partition("[[ ## examples_with_feedback ## ]]")
    instruction = instruction.strip()
    for _, names, advice, _ in LINE.findall(examples):
        rule = f"RULE {', '.join(re.findall('`[a-z]+`', names))}: {advice}"
        if rule not in instruction:
            instruction += f"\n{rule}"
    return json.dumps({"new_instruction": instruction})


class Scripted(dspy.BaseLM):
    """A model that is a function of its prompt."""

    def __init__(self, answer: Any) -> None:
        super().__init__("scripted", cache=False)
        self.answer, self.answers = answer, 0

    def forward(self, prompt: Any = None, messages: Any = None, **_: Any) -> Any:
        self.answers += 1
        text = self.answer(prompt or "\n".join(message["content"] for message in messages))
        message = SimpleNamespace(content=text, tool_calls=None)
        choice = SimpleNamespace(message=message, finish_reason="stop", logprobs=None)
        return SimpleNamespace(choices=[choice], usage={}, model="scripted")


def moved(text: str, by: int) -> str:
    """Move the suggestions of a feedback by some lines."""
    advice = [line[2] for line in LINE.findall(text)]
    following = iter(advice[by % len(advice) :] + advice[: by % len(advice)]) if advice else None
    return LINE.sub(lambda line: f"{line[1]}{next(following)}{line[4]}", text)


def optimise(by: int) -> tuple[int, float, float]:
    """Return the proposals, and the pass rate on unseen documents before and after."""
    scorer = xb.as_scorer(SCHEMA)

    def metric(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> dspy.Prediction:
        found = scorer(pred.extracted, gold.gold)
        return dspy.Prediction(score=found.value, feedback=moved(found.explanation, by))

    def rate(program: Any) -> float:
        values = [scorer(program(document=e.document).extracted, e.gold).value for e in unseen]
        return sum(values) / len(values)

    examples = [example(k, name) for k, name in enumerate(NAMES)]
    seen, unseen = examples[:TRAINING], examples[TRAINING:]
    dspy.configure(lm=Scripted(extract))
    program = dspy.Predict(dspy.Signature("document -> extracted", "Extract the report as JSON."))
    proposer = Scripted(reflect)

    options = {"max_metric_calls": 120, "num_threads": 1, "seed": 0}
    gepa = dspy.GEPA(metric=metric, reflection_lm=proposer, **options)
    best = gepa.compile(program, trainset=seen, valset=seen)
    return proposer.answers, rate(program), rate(best)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    print("| moved by | proposals | before | after |")
    for by in (0, 1, 2):
        proposals, before, after = optimise(by)
        print(f"| {by} | {proposals} | {before:.3f} | {after:.3f} |")
