"""A budget in US dollars: each request first reserves the most that it can cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from extractbench_nb._tokens import count_tokens
from extractbench_nb.judges.client import Completion, ModelRequest, list_price, litellm
from extractbench_nb.judges.transport import Failure

__all__ = ["Budget", "Reservation", "highest_cost", "most_tokens"]


#: Tokenizers differ: digits one by one, other scripts. Twice GPT-2's count bounds those in use.
_MARGIN = 2
#: Tokens around a message, and of the instructions that providers add for a schema.
_PER_REQUEST, _PER_MESSAGE, _PER_SCHEMA = 50, 20, 600


def highest_cost(request: ModelRequest) -> float:
    """Bound what a request can cost: its own tokens, and an answer of the maximum length."""
    longest = request.max_tokens or _longest_answer(request.model)
    if longest is None:
        raise Failure(
            "budget", f"the longest answer of {request.model!r} is not known; set max_tokens"
        )
    cost = list_price(request.model, _prompt_tokens(request), longest)
    if cost is None:
        raise Failure("budget", f"LiteLLM has no price for {request.model!r}")
    return cost


def most_tokens(text: str) -> int:
    """Bound the number of tokens of a text, whatever the tokenizer."""
    return min(_MARGIN * count_tokens(text), len(text.encode("utf-8", "surrogatepass")))


def _prompt_tokens(request: ModelRequest) -> int:
    texts = [text for message in request.messages for text in _texts(message["content"])]
    total = _PER_REQUEST + _PER_MESSAGE * len(request.messages) + request.file_tokens
    if request.schema is not None:
        total += _PER_SCHEMA
        texts.append(json.dumps(request.schema))
    return total + sum(map(most_tokens, texts))


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if part.get("type") == "text"]


def _longest_answer(model: str) -> int | None:
    try:
        info = litellm().get_model_info(model)
    except Exception:  # noqa: BLE001 - LiteLLM raises bare exceptions here
        return None
    found = info.get("max_output_tokens") or info.get("max_tokens")
    return int(found) if found else None


class Reservation:
    """What one request holds of a budget.

    Parameters
    ----------
    most : float
        What it may cost at most.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.charged = 0.0

    def charge(self, said: Completion) -> None:
        """Charge an answer: its cost, or the whole reservation where it does not tell."""
        self.charged = said.cost_usd or self.most


class Budget:
    """What may be spent, what was spent, and what requests under way may still cost.

    To be used on one event loop.

    Parameters
    ----------
    limit : float or None
        US dollars, 0 and up; None for no limit.

    Attributes
    ----------
    spent_usd : float
        What answers cost so far. With a limit, an answer that does not tell its tokens counts as
        much as it can have cost, and so does a request that broke off without an answer.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent_usd = 0.0
        self._held: list[Reservation] = []
        self._returned = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, request: ModelRequest) -> AsyncIterator[Reservation]:
        """Hold what a request may cost at most until it has ended.

        Waits while the amount is left, but not beside what other requests hold.
        """
        most = 0.0
        if self.limit is not None:
            most = await asyncio.to_thread(highest_cost, request)
        held = Reservation(most)
        async with self._returned:
            await self._returned.wait_for(lambda: self._fits(most) or self._is_too_much(most))
            if self._is_too_much(most):
                raise Failure("budget", self._refusal(request, most))
            self._held.append(held)
        try:
            yield held
        except Failure as failure:
            if failure.billed:
                held.charged = most
            raise
        except BaseException:  # cancelled: the provider goes on
            held.charged = held.charged or most
            raise
        finally:
            self._held.remove(held)
            self.spent_usd += held.charged
            async with self._returned:
                self._returned.notify_all()

    def _fits(self, most: float) -> bool:
        held = sum(one.most for one in self._held)
        return self.limit is None or self.spent_usd + held + most <= self.limit

    def _is_too_much(self, most: float) -> bool:
        return self.limit is not None and self.spent_usd + most > self.limit

    def _refusal(self, request: ModelRequest, most: float) -> str:
        advice = "" if request.max_tokens else "; a max_tokens makes that less"
        return (
            f"{self.spent_usd:.6g} of {self.limit:.6g} US dollars are spent, and the next request "
            f"may cost up to {most:.6g}{advice}"
        )
