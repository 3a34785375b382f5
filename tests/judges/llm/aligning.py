"""What servers answer that are asked which items belong together."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from tests.llm_server import MARK, Reply, Request, truthful

_LINE = re.compile(r"^(\d+): (.*)$", re.MULTILINE)

Items = dict[int, Any]


def asks_to_align(request: Request) -> bool:
    """Whether a request is about two lists of items."""
    return "gold_items" in request.quoted


def shown(request: Request) -> tuple[Items, Items]:
    """Return the gold and the predicted items of a request by their numbers."""
    gold, predicted = (_items(request.quoted[side]) for side in ("gold_items", "predicted_items"))
    return gold, predicted


def _items(text: str) -> Items:
    return {int(number): _loaded(item) for number, item in _LINE.findall(text)}


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # cut in its middle
        return text


def alignment(
    pairs: Iterable[tuple[int, int]], gold: Iterable[int], predicted: Iterable[int]
) -> str:
    """Write down a well-formed answer."""
    pairs = sorted(pairs)
    ours, theirs = {i for i, _ in pairs}, {j for _, j in pairs}
    return json.dumps(
        {
            "mark_code": MARK,
            "pairs": pairs,
            "missed_gold": [i for i in gold if i not in ours],
            "spurious_predicted": [j for j in predicted if j not in theirs],
        }
    )


def knowing(identity: Callable[[Any], Any]) -> Callable[[Request], Reply | str]:
    """Answer as a model that knows what each item is about; other questions by their letters."""

    def respond(request: Request) -> Reply | str:
        if not asks_to_align(request):
            return truthful(request)
        gold, predicted = shown(request)
        theirs = {identity(item): j for j, item in predicted.items()}
        pairs = [(i, theirs[key]) for i, item in gold.items() if (key := identity(item)) in theirs]
        return alignment(pairs, gold, predicted)

    return respond
