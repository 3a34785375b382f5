"""A budget in US dollars: each request first reserves the most that it can cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from extractbench_nb._tokens import count_tokens
from extractbench_nb.judges.client import ModelRequest, list_price, litellm
from extractbench_nb.judges.transport import Failure

#: Tokenizers differ: digits one by one, other scripts. Twice GPT-2's count bounds those in use.
_MARGIN = 2
#: Tokens around a message, and of the instructions that providers add for a schema.
_PER_REQUEST, _PER_MESSAGE, _PER_SCHEMA = 50, 20, 600


def highest_cost(request: ModelRequest) -> float:
    """Bound what a request can cost: its own tokens, and an answer of the maximum length."""
    longest = request.max_tokens
    if not longest:
        with suppress(Exception):  # LiteLLM raises bare exceptions here
            info = litellm().get_model_info(request.model)
            longest = info.get("max_output_tokens") or info.get("max_tokens")
    if not longest:
        raise Failure(
            "budget", f"the longest answer of {request.model!r} is not known; set max_tokens"
        )
    contents = [message["content"] for message in request.messages]
    texts = [content for content in contents if isinstance(content, str)]
    parts = [part for content in contents if not isinstance(content, str) for part in content]
    texts += [part["text"] for part in parts if part.get("type") == "text"]
    tokens = _PER_REQUEST + _PER_MESSAGE * len(request.messages) + request.file_tokens
    if request.schema is not None:
        tokens += _PER_SCHEMA
        texts.append(json.dumps(request.schema))
    cost = list_price(request.model, tokens + sum(map(most_tokens, texts)), int(longest))
    if cost is None:
        raise Failure("budget", f"LiteLLM has no price for {request.model!r}")
    return cost


def most_tokens(text: str) -> int:
    """Bound the number of tokens of a text, whatever the tokenizer."""
    return min(_MARGIN * count_tokens(text), len(text.encode("utf-8", "surrogatepass")))


@dataclass(eq=False)
class Reservation:
    """What one request may cost at most, and what it is charged when it ends."""

    most: float
    charged: float = 0.0


class Budget:
    """What may be spent, what was spent, and what requests under way may still cost.

    To be used on one event loop. With a `limit` (in US dollars), an answer that does not tell its
    tokens counts as much as it can have cost, and so does a request that broke off without an
    answer.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent_usd = 0.0
        self._held: list[Reservation] = []
        self._returned = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, request: ModelRequest) -> AsyncIterator[Reservation]:
        """Hold what a request may cost at most until it has ended.

        Waits where only the reservations of other requests stand in the way.
        """
        most = 0.0
        if self.limit is not None:
            most = await asyncio.to_thread(highest_cost, request)
        held = Reservation(most)
        async with self._returned:
            await self._returned.wait_for(lambda: self._fits(most) is not None)
            if not self._fits(most):
                advice = "" if request.max_tokens else "; a max_tokens makes that less"
                raise Failure(
                    "budget",
                    f"{self.spent_usd:.6g} of {self.limit:.6g} US dollars are spent, and the next "
                    f"request may cost up to {most:.6g}{advice}",
                )
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

    def _fits(self, most: float) -> bool | None:
        """Whether `most` dollars are left; None if that depends on requests under way."""
        held = sum(one.most for one in self._held)
        if self.limit is None or self.spent_usd + held + most <= self.limit:
            return True
        return False if self.spent_usd + most > self.limit else None
