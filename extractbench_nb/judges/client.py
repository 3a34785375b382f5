"""Requests to models through LiteLLM, which is imported on first use and given our HTTP client.

Nothing of LiteLLM is changed, and neither is anything else in the process, but for three variables
that are set while LiteLLM is imported.
"""

from __future__ import annotations

import asyncio
import atexit
import math
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib import import_module, metadata
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from extractbench_nb.errors import ExtractBenchError, UnavailableError, needs
from extractbench_nb.judges.call_failures import (
    EXCHANGE,
    Exchange,
    Failed,
    Failure,
    failure_of_error,
    problem_of,
)
from extractbench_nb.judges.environment import key_arguments

# --- the event loop of all requests -------------------------------------------------------------
#
# Callers come from many loops, threads and notebook cells, and their loops end. On one loop in a
# thread of its own, connections stay open between evaluations, one concurrency limit holds for all
# callers, and equal questions of different callers are asked once.

T = TypeVar("T")

_CLOSING_TIMEOUT_S = 5.0


class BackgroundLoop:
    """The event loop and its thread; both start on first use."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Reset in a forked process, which has no copy of the thread."""
        self._lock = threading.Lock()
        self._started: tuple[asyncio.AbstractEventLoop, threading.Thread] | None = None

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the background loop and await it; cancelling either cancels both."""
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self.loop())
        except BaseException:  # interrupted before it was submitted: it will not be awaited
            coroutine.close()
            raise
        return await asyncio.wrap_future(future)

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop, running."""
        with self._lock:
            if self._started is None:
                loop, name = asyncio.new_event_loop(), "extractbench-judges"
                thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
                thread.start()
                self._started = loop, thread
            return self._started[0]

    def close(self) -> None:
        """Cancel all tasks, close connections, and end the loop and its thread."""
        with self._lock:
            started, self._started = self._started, None
        if started is None:
            return
        loop, thread = started
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(_end_tasks(), loop).result(_CLOSING_TIMEOUT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSING_TIMEOUT_S)
        if not thread.is_alive():
            with suppress(Exception):  # tasks that were added while closing
                loop.run_until_complete(_end_tasks())
            loop.close()


async def _end_tasks() -> None:
    """Cancel the other tasks of the running loop, and close its connections."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    http, _ = _CLIENTS.pop(asyncio.get_running_loop(), (None, None))
    if http is not None:
        await http.aclose()


class Shared(Generic[T]):
    """Runs work once for all concurrent callers with the same key; for use on one loop only."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, tuple[asyncio.Task[T], list[None]]] = {}

    async def get(
        self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> tuple[T, bool]:
        """Await the running work for a key, or start it; also return whether it was running."""
        joined = key in self._tasks and not self._tasks[key][0].done()
        if not joined:
            self._tasks[key] = (asyncio.ensure_future(work()), [])
            self._tasks[key][0].add_done_callback(_retrieve)
        task, waiting = shared = self._tasks[key]
        waiting.append(None)
        try:
            return await asyncio.shield(task), joined
        finally:
            waiting.pop()
            if not waiting:
                task.cancel()
                if self._tasks.get(key) is shared:
                    del self._tasks[key]

    def forget(self) -> None:
        """Reset in a forked process, which has no copy of the tasks."""
        self._tasks = {}


def _retrieve(done: asyncio.Task[Any]) -> None:
    """Take the exception of a task, which asyncio logs if no caller is left to do so."""
    _ = done.cancelled() or done.exception()


BACKGROUND = BackgroundLoop()
atexit.register(BACKGROUND.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BACKGROUND.forget)

# --- requests -----------------------------------------------------------------------------------
_LOADING = threading.Lock()
#: Variables that LiteLLM reads while it is imported, and that are restored afterwards: use its own
#: price list and headers, fetch nothing, and read no .env file in the working directory.
_ON_IMPORT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
}
#: Providers for which LiteLLM takes an HTTP client. For OpenAI and the providers that it calls
#: compatible with it, it takes a client of OpenAI's; for others, such as Azure, it uses its own.
_HTTP_PROVIDERS = frozenset(
    (
        *("anthropic", "azure_ai", "bedrock", "bedrock_mantle", "cometapi", "compactifai"),
        *("databricks", "deepseek", "edenai", "fireworks_ai", "gemini", "groq", "heroku"),
        *("hosted_vllm", "huggingface", "minimax", "mistral", "ollama", "ollama_chat"),
        *("opencode_go", "openrouter", "ovhcloud", "sagemaker_chat", "snowflake", "together_ai"),
        *("vercel_ai_gateway", "vertex_ai", "vertex_ai_beta", "watsonx", "xai"),
    )
)
#: Seconds that LiteLLM may take to prepare its first request.
_PREPARING = 10.0
#: Higher counts are ignored: no model reads or writes that many tokens.
_MOST_TOKENS = 10**9
#: Sent to servers that need no key, because OpenAI's client requires one.
_NO_KEY = "none-needed"
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


class ClientError(UnavailableError):
    """The client for language models cannot be imported or configured, so nothing can be asked.

    It ends the work, and is never the verdict on a field.
    """


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


@cache
def _load() -> Any:
    first = "litellm" not in sys.modules
    changed = {name: v for name, v in _ON_IMPORT.items() if first and name not in os.environ}
    try:
        os.environ.update(changed)
        module: Any = import_module("litellm")  # type checkers need minutes for `import litellm`
        if first:
            with suppress(ModuleNotFoundError, AttributeError):  # other versions do without it
                import_module("litellm.anthropic_beta_headers_manager").reload_beta_headers_config()
    except ModuleNotFoundError as error:
        if error.name == "litellm":
            needs("litellm", "llm")  # says how to install it
        raise
    finally:
        for name in changed:
            os.environ.pop(name, None)
    return module


#: The HTTP client of an event loop, and the handler in which LiteLLM takes it.
_CLIENTS: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, Any]] = WeakKeyDictionary()


def _http_clients() -> tuple[Any, Any]:
    """Return the client of the running event loop, and the handler in which LiteLLM takes it."""
    loop = asyncio.get_running_loop()
    if loop not in _CLIENTS:
        import httpx

        from extractbench_nb.judges.transport import ModelClient

        module: Any = import_module("litellm.llms.custom_httpx.http_handler")
        http = ModelClient(
            verify=module.get_ssl_configuration(),
            cert=os.environ.get("SSL_CERTIFICATE") or litellm().ssl_certificate,
            cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=())),  # no cookies
            timeout=None,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
        )

        class Handler(module.AsyncHTTPHandler):  # type: ignore[misc]
            def create_client(self, *_: Any, **__: Any) -> Any:
                return http

        handler = Handler()
        handler.client = http  # so that it never closes it
        _CLIENTS[loop] = http, handler
    return _CLIENTS[loop]


def _client_for(arguments: Mapping[str, Any]) -> Any:
    """Return the client to give LiteLLM for a request; None if it takes none."""
    module = litellm()
    model, base, key = (arguments.get(name) for name in ("model", "api_base", "api_key"))
    _, provider, provider_key, provider_base = module.get_llm_provider(
        model, api_base=base, api_key=key
    )
    http, handler = _http_clients()
    if model_info(str(model)).get("mode") == "responses":
        return None
    if provider in _HTTP_PROVIDERS:
        return handler
    if provider != "openai" and provider not in module.openai_compatible_providers:
        return None
    variables = map(os.environ.get, ("OPENAI_BASE_URL", "OPENAI_API_BASE"))
    bases = (base, provider_base, module.api_base, *variables)
    keys = (key, provider_key, module.api_key, module.openai_key, os.environ.get("OPENAI_API_KEY"))
    return import_module("openai").AsyncOpenAI(
        base_url=next(filter(None, bases), "https://api.openai.com/v1"),
        api_key=next(filter(None, keys), _NO_KEY),
        http_client=http,
        max_retries=0,
    )


async def complete(request: ModelRequest) -> Completion:
    """Ask a model once, without a second attempt; `Failure` says why there is no answer."""
    exchange, response = Exchange(), None
    failure: Exception | None = None  # raised below, without a context that may quote a key
    before = EXCHANGE.set(exchange)
    try:
        async with asyncio.timeout(request.timeout):
            response = await _called(request, exchange)
        if not getattr(response, "choices", None):
            failure = _unreadable("it has no choices")
    except TimeoutError:
        late = f"no answer within {request.timeout:g} s"
        failure = Failure("timeout", late, transient=True, billed=exchange.sent)
    except Failed as failed:
        failure = failed.failure
    except ExtractBenchError as error:
        failure = error
    except Exception as error:  # noqa: BLE001 - LiteLLM raises whatever its providers do
        fault = fault_behind(error, (ImportError, Warning))
        if fault is not None:
            failure = client_error(fault)
        else:
            read = exchange.answered
            failure = _unreadable(problem_of(error)) if read else failure_of_error(error)
    finally:
        EXCHANGE.reset(before)
    if failure is not None:
        raise failure
    return _completion(request.model, response)


def _unreadable(problem: str) -> Failure:
    text = f"the response cannot be read: {problem}"
    return Failure("server_error", text, transient=True, billed=True)


def fault_behind(error: BaseException | None, kinds: Kinds = FAULTS) -> BaseException | None:
    """Return the error of code that does not work which an error of LiteLLM's was made of."""
    while error is not None and not isinstance(error, kinds):
        error = error.__cause__ or error.__context__
    return error


async def _called(request: ModelRequest, exchange: Exchange) -> Any:
    """Return LiteLLM's response; cancelled once its request is under way, or before it is made.

    A cancellation in between, while LiteLLM prepares the request in a thread, would leave its
    coroutine behind with a warning that it was never awaited.
    """

    async def begin() -> Any:
        with client_errors():
            arguments = _arguments(request)
            client, acompletion = _client_for(arguments), litellm().acompletion
        if client is not None:
            arguments["client"] = client
        else:  # LiteLLM's own client does not tell when it sends
            exchange.sent = True
        return await acompletion(**arguments)

    task = asyncio.ensure_future(begin())
    task.add_done_callback(_retrieve)
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
    environment = litellm().validate_environment(request.model)
    missing = environment["missing_keys"]
    arguments |= key_arguments(litellm().get_llm_provider(request.model)[1], missing)
    if request.api_base is not None:
        arguments["api_base"] = request.api_base
        keys = (name for name in missing if name.endswith("_KEY"))
        if not environment["keys_in_environment"] and not any(map(os.environ.get, keys)):
            arguments.setdefault("api_key", _NO_KEY)
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
    prompt_tokens, completion_tokens = counts if counted else (None, None)
    is_cost = isinstance(cost, int | float) and 0 <= cost < math.inf
    # a provider may name its own cost
    is_priced = counted and is_cost and (cost or is_listed(model))
    # a refusal, if the provider reports it separately
    fields = getattr(choice.message, "provider_specific_fields", None) or {}
    refusal = getattr(choice.message, "refusal", None) or fields.get("refusal")
    return Completion(
        choice.message.content,
        choice.finish_reason == "length",
        prompt_tokens,
        completion_tokens,
        cost if is_priced else None,
        choice.finish_reason,
        refusal if isinstance(refusal, str) and refusal.strip() else None,
    )


@cache
def supports_schema(model: str) -> bool:
    """Say whether a model supports a JSON Schema for its answers, according to LiteLLM."""
    return bool(litellm().supports_response_schema(model=model))


def model_info(model: str) -> Mapping[str, Any]:
    """Return what LiteLLM knows about a model; nothing if it does not know it."""
    try:
        return dict(litellm().get_model_info(model))
    except Exception:  # noqa: BLE001 - LiteLLM raises bare exceptions here
        return {}


def is_listed(model: str) -> bool:
    """Say whether LiteLLM's list has a model."""
    return model_info(model).get("key") in litellm().model_cost


def list_price(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return what a call costs at LiteLLM's list prices."""
    counts = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    if not is_listed(model):
        return None
    try:
        return float(sum(litellm().cost_per_token(model=model, **counts)))
    except Exception:  # noqa: BLE001 - LiteLLM raises bare exceptions here
        return None
