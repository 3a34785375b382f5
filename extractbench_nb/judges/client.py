"""Requests to models through LiteLLM, which is imported on first use.

Only requests to the model leave this module: LiteLLM uses its own copy of the price list, sends no
telemetry and logs nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib import import_module, metadata
from typing import Any, NamedTuple, TypeAlias

from extractbench_nb.errors import ExtractBenchError, needs
from extractbench_nb.judges.background import BACKGROUND
from extractbench_nb.judges.base import ClientError
from extractbench_nb.judges.transport import (
    EXCHANGE,
    Exchange,
    Failure,
    failure_of,
    problem_of,
    scrub,
    watch_exchanges,
)

_LITELLM_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
#: Libraries that log addresses and headers, which may contain a key; silenced by default.
_LIBRARIES = ("httpcore", "httpx", "openai")
#: Loggers, of these and of LiteLLM, whose records are cleaned of keys.
_WRITERS = (
    *(*_LITELLM_LOGGERS, "httpx", "openai", "openai._base_client", "openai._response"),
    *("httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy"),
)
_LOADING = threading.Lock()
#: Settings that LiteLLM reads on import: use its own price list and headers, fetch nothing.
_LOCAL = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS")
#: In its default mode LiteLLM reads all of a .env file in the working directory.
_MODE = ("LITELLM_MODE", "PRODUCTION")
#: Seconds that LiteLLM may take to prepare its first request.
_PREPARING = 10.0
#: Higher counts are ignored: no model reads or writes that many tokens.
_MOST_TOKENS = 10**9
#: Sent to servers that need no key, because OpenAI's client requires one.
_NO_KEY = "none-needed"
#: Imported by LiteLLM with the first request; pydantic warns about its types.
_IMPORTED_LATE = "litellm.llms.github_copilot.per_user_auth"
Kinds: TypeAlias = tuple[type[BaseException], ...]
#: Errors of code that does not work; warnings, where a filter makes them errors.
FAULTS: Kinds = (ImportError, AttributeError, NameError, SyntaxError, TypeError, Warning)


class ModelRequest(NamedTuple):
    """One request to a model, with its timeout.

    If `temperature` or `max_tokens` is None, the provider's default applies. A `schema` is sent to
    models that support one according to LiteLLM; if it is `demanded`, to any model. `file_tokens`
    is an upper bound on the tokens of attached files, for a budget.
    """

    model: str
    messages: tuple[Mapping[str, Any], ...]
    temperature: float | None
    max_tokens: int | None
    timeout: float
    api_base: str | None
    schema: Mapping[str, Any] | None
    strict: bool
    schema_name: str = "verdict"
    demanded: bool = False
    file_tokens: int = 0


class Completion(NamedTuple):
    """A response: its text, whether it was cut off, and its tokens and cost, if known."""

    text: str | None
    cut_off: bool
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    finish_reason: str | None = None
    refusal: str | None = None


def litellm() -> Any:
    """Return LiteLLM, imported on the first call; a `ClientError` says why it cannot be."""
    with _LOADING, client_errors():
        return _load()


@contextmanager
def client_errors() -> Iterator[None]:
    """Turn what LiteLLM raises where no request is made into a `ClientError`."""
    try:
        yield
    except ExtractBenchError:
        raise
    except Exception as error:  # noqa: BLE001 - an import may raise anything
        raise client_error(error) from None


def client_error(error: BaseException) -> ClientError:
    """Say what is wrong with LiteLLM, or with what it imports."""
    version = "of unknown version"
    with suppress(metadata.PackageNotFoundError):
        version = metadata.version("litellm")
    advice = "this may help: pip install --upgrade 'extractbench-nb[llm]'"
    if isinstance(error, Warning):
        advice = "a warnings filter makes this an error; exempt the packages that LiteLLM imports"
    return ClientError(
        f"language models cannot be asked, because LiteLLM {version} does not work here: "
        f"{type(error).__name__}: {problem_of(error)}; {advice}"
    )


@lru_cache(maxsize=1)
def _load() -> Any:
    first = "litellm" not in sys.modules
    for variable in _LOCAL:
        os.environ.setdefault(variable, "True")
    os.environ.setdefault(*_MODE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:  # not by `import`: type checkers need minutes for it
            module: Any = import_module("litellm")
        except ModuleNotFoundError as error:
            if error.name == "litellm":
                needs("litellm", "llm")  # says how to install it
            raise
        module.ModelResponse()  # its first use warns as well
        with suppress(ModuleNotFoundError):  # other versions do without it
            import_module(_IMPORTED_LATE)
    module.suppress_debug_info = True
    for name in _LITELLM_LOGGERS if first else ():
        logging.getLogger(name).setLevel(logging.CRITICAL)
    for name in _LIBRARIES:
        if logging.getLogger(name).level == 0:
            logging.getLogger(name).setLevel(logging.WARNING)
    for name in _WRITERS:
        logging.getLogger(name).addFilter(_without_keys)
    BACKGROUND.before_closing.append(_close_clients)
    watch_exchanges()
    return module


def _without_keys(record: logging.LogRecord) -> bool:
    """Remove keys from a log record, and its traceback, which may quote a response."""
    record.msg, record.args = scrub(record.getMessage()), ()
    record.exc_info = record.exc_text = None
    return True


async def _close_clients() -> None:
    """Close connections and drop the clients, because their event loop ends."""
    module = _load()
    await module.close_litellm_async_clients()
    module.in_memory_llm_clients_cache.flush_cache()


async def complete(request: ModelRequest) -> Completion:
    """Ask a model once, without a second attempt; `Failure` says why there is no answer."""
    exchange, response = Exchange(), None
    unread = "it has no choices"
    failure: Exception | None = None  # raised below, without a context that may quote a key

    async def plain() -> Any:
        message = {"role": "user", "content": "-"}
        least = request._replace(messages=(message,), schema=None)
        return await litellm().acompletion(**_arguments(least))

    before = EXCHANGE.set(exchange)
    try:
        async with asyncio.timeout(request.timeout):
            response = await _completed(request, exchange)
    except TimeoutError:
        late = f"no answer within {request.timeout:g} s"
        failure = Failure("timeout", late, transient=True, billed=exchange.sent)
    except Exception as error:  # noqa: BLE001 - LiteLLM raises whatever its providers do
        failure = await failure_in(error, exchange, plain)
        if exchange.failure is None and exchange.succeeded and isinstance(failure, Failure):
            failure, unread = None, problem_of(error)
    finally:
        EXCHANGE.reset(before)
    if failure is not None:
        raise failure
    if not getattr(response, "choices", None):
        text = f"the response cannot be read: {unread}"
        raise Failure("server_error", text, transient=True, billed=True)
    return _completion(request.model, response)


async def failure_in(
    error: Exception, exchange: Exchange, plain: Callable[[], Awaitable[Any]]
) -> Failure | ClientError:
    """Say why a request failed; `plain` makes the simplest request to the same model.

    If LiteLLM fails before it sends even that one, it can send none.
    """
    if exchange.failure is not None:
        return exchange.failure
    if isinstance(error, ClientError):
        return error
    fault = _fault_in(error, exchange)
    if fault is not None and (exchange.sent or await _fails_unsent(plain)):
        return client_error(fault)
    return failure_of(error, exchange.status, exchange.wait)


def _fault_in(error: Exception, exchange: Exchange) -> BaseException | None:
    """Return the error of code that does not work, before a request or after a good response."""
    if exchange.sent and not exchange.succeeded:
        return None
    found = fault_behind(error, (ImportError, Warning) if exchange.sent else FAULTS)
    is_of_provider = exchange.sent or hasattr(error, "status_code")
    return found if found is not None or is_of_provider else error


def fault_behind(error: BaseException | None, kinds: Kinds = FAULTS) -> BaseException | None:
    """Return the error of code that does not work which an error of LiteLLM's was made of."""
    while error is not None and not isinstance(error, kinds):
        error = error.__cause__ or error.__context__
    return error


async def _fails_unsent(plain: Callable[[], Awaitable[Any]]) -> bool:
    """Whether a request fails before it would be sent; it is stopped there."""
    before = EXCHANGE.set(Exchange(stopped=True))
    task = asyncio.ensure_future(plain())
    EXCHANGE.reset(before)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    await asyncio.wait([task], timeout=_PREPARING)
    task.cancel()
    return task.done() and not task.cancelled() and task.exception() is not None


async def _completed(request: ModelRequest, exchange: Exchange) -> Any:
    """Return LiteLLM's response; cancelled once its request is under way, or before it is made.

    A cancellation in between, while LiteLLM prepares the request in a thread, would leave its
    coroutine behind with a warning that it was never awaited.
    """
    task = asyncio.ensure_future(litellm().acompletion(**_arguments(request)))
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        exchange.stopped = True
        if not exchange.sent:
            await asyncio.wait([task], timeout=_PREPARING)
        task.cancel()
        raise


def _arguments(request: ModelRequest) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": request.model,
        "messages": list(request.messages),
        "timeout": request.timeout,
        "drop_params": True,  # some models take no temperature
        "max_retries": 0,
        "num_retries": 0,
        "no-log": True,
    }
    chosen = {"temperature": request.temperature, "max_tokens": request.max_tokens}
    arguments |= {name: value for name, value in chosen.items() if value is not None}
    if request.api_base is not None:
        arguments["api_base"] = request.api_base
        environment = litellm().validate_environment(request.model)
        keys = (name for name in environment["missing_keys"] if name.endswith("_KEY"))
        if not environment["keys_in_environment"] and not any(map(os.environ.get, keys)):
            arguments["api_key"] = _NO_KEY
    if request.schema is not None and (request.demanded or supports_schema(request.model)):
        form = {"name": request.schema_name, "schema": request.schema, "strict": request.strict}
        arguments["response_format"] = {"type": "json_schema", "json_schema": form}
    return arguments


def _completion(model: str, response: Any) -> Completion:
    cost = response._hidden_params.get("response_cost")
    choice, usage = response.choices[0], getattr(response, "usage", None)
    counts = [getattr(usage, f"{kind}_tokens", None) for kind in ("prompt", "completion")]
    valid = all(type(count) is int and 0 <= count <= _MOST_TOKENS for count in counts)
    counted = any(counts) and valid  # otherwise they are zeros of LiteLLM's
    is_cost = isinstance(cost, int | float) and 0 <= cost < math.inf
    # a provider may name its own cost
    is_priced = counted and is_cost and (cost or is_listed(model))
    # a refusal, if the provider reports it separately
    fields = getattr(choice.message, "provider_specific_fields", None) or {}
    refusal = getattr(choice.message, "refusal", None) or fields.get("refusal")
    return Completion(
        choice.message.content,
        choice.finish_reason == "length",
        counts[0] if counted else None,
        counts[1] if counted else None,
        cost if is_priced else None,
        choice.finish_reason,
        refusal if isinstance(refusal, str) and refusal.strip() else None,
    )


@cache
def supports_schema(model: str) -> bool:
    """Say whether a model supports a JSON Schema for its answers, according to LiteLLM."""
    return bool(litellm().supports_response_schema(model=model))


def is_listed(model: str) -> bool:
    """Say whether LiteLLM's list has a model."""
    try:
        key = litellm().get_model_info(model)["key"]
    except Exception:  # noqa: BLE001 - LiteLLM raises bare exceptions here
        return False
    return key in litellm().model_cost


def list_price(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return what a call costs at LiteLLM's list prices."""
    counts = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    if not is_listed(model):
        return None
    try:
        return float(sum(litellm().cost_per_token(model=model, **counts)))
    except Exception:  # noqa: BLE001 - LiteLLM raises bare exceptions here
        return None
