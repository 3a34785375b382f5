"""One request to a model through LiteLLM: a `Completion`, or a `Failure` that says why not.

LiteLLM is imported on first use and given our HTTP client: its own ones follow redirects with the
key in the headers, and it words and prints the same error differently for each provider. Nothing
of LiteLLM is changed, and neither is anything else in the process, but for three variables that
are set while LiteLLM is imported.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import math
import os
import re
import sys
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from extractbench_nb.errors import ExtractBenchError, UnavailableError, needs
from extractbench_nb.judges.environment import key_arguments, scrub
from extractbench_nb.support.wording import cut

# --- the event loop of all requests -------------------------------------------------------------
#
# Callers come from many loops, threads and notebook cells, and their loops end. On one loop in a
# thread of its own, connections stay open between evaluations, and one limit holds for all callers.

T = TypeVar("T")

_CLOSING_TIMEOUT_S = 5.0


class BackgroundLoop:
    """The event loop, its thread and its HTTP client; they start on first use."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Reset in a forked process, which has no copy of the thread."""
        self._lock = threading.Lock()
        self._started: tuple[asyncio.AbstractEventLoop, threading.Thread] | None = None
        self.http: Any = None

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
        if started is not None:
            loop, thread = started
            with suppress(Exception):
                asyncio.run_coroutine_threadsafe(self._end(), loop).result(_CLOSING_TIMEOUT_S)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CLOSING_TIMEOUT_S)
            if not thread.is_alive():
                loop.close()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        http, self.http = self.http, None
        if http is not None:
            await http.aclose()


BACKGROUND = BackgroundLoop()
atexit.register(BACKGROUND.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BACKGROUND.forget)

# --- LiteLLM ------------------------------------------------------------------------------------
_LOADING = threading.Lock()
#: Variables that LiteLLM reads while it is imported, and that are restored afterwards: use its own
#: price list and headers, fetch nothing, and read no .env file in the working directory.
_ON_IMPORT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
}


def litellm() -> Any:
    """Return LiteLLM, imported on the first call."""
    with _LOADING, client_errors():
        return _load()


@contextmanager
def client_errors() -> Iterator[None]:
    """Raise an `UnavailableError` if LiteLLM, or what it imports, does not work here."""
    try:
        yield
    except ExtractBenchError:
        raise
    except Exception as error:  # noqa: BLE001 - an import may raise anything
        raise UnavailableError(
            f"language models cannot be asked, because LiteLLM does not work here: "
            f"{type(error).__name__}: {shortened(str(error))}; this may help: "
            "pip install --upgrade 'extractbench-nb[llm]'"
        ) from None


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


def list_price(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return what a call costs at LiteLLM's list prices; None for a model that is not listed."""
    counts = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    if model_info(model).get("key") not in litellm().model_cost:
        return None
    try:
        return float(sum(litellm().cost_per_token(model=model, **counts)))
    except Exception:  # noqa: BLE001 - LiteLLM raises bare exceptions here
        return None


# --- failures -----------------------------------------------------------------------------------

#: Seconds; a provider that asks to wait longer than this is not asked again.
LONGEST_WAIT = 300.0
_LONGEST_TEXT = 500
#: Characters of a message or body that are looked at.
_MOST_READ = 20_000
_REFUSED = {401: "bad_key", 402: "quota", 403: "forbidden", 404: "not_found"}
_REFUSED[413] = "context_window"
_PASSING = {408: "timeout", 409: "conflict", 425: "too_early", 429: "rate_limit"}
_SERVER_ERROR = 500
_CODES = {"insufficient_quota": "quota", "context_length_exceeded": "context_window"}
#: Gemini's waiting time, in the body.
_RETRY_INFO = re.compile(r'"retryDelay"\s*:\s*"([\d.]{1,20})s"')


@dataclass(eq=False)
class Failure(Exception):  # noqa: N818 - callers convert it to a `JudgeError`
    """A request without an answer.

    `reason` is an identifier, `problem` a description without keys. `transient`: another attempt
    may succeed, after `retry_after` seconds if the provider asks for that. `billed`: the provider
    may bill the request nevertheless.
    """

    reason: str
    problem: str
    _: KW_ONLY
    transient: bool = False
    retry_after: float = 0.0
    billed: bool = False

    def __str__(self) -> str:
        """Write reason and problem."""
        return f"{self.reason}: {self.problem}"


@dataclass(eq=False)
class Failed(BaseException):
    """Carries a `Failure` through LiteLLM, which would catch, reword and print an `Exception`."""

    failure: Failure


def failure_of_response(status: int, headers: Mapping[str, str], body: str) -> Failure:
    """Convert a response that is an error; providers have their own forms of it."""
    body, error = body[:_MOST_READ], None
    with suppress(ValueError, RecursionError):
        error = json.loads(body)
    error = error[0] if isinstance(error, list) and error else error  # as Gemini may write it
    error = error.get("error", error) if isinstance(error, dict) else None
    details = error if isinstance(error, dict) else {"message": error}
    message = details.get("message")
    text = shortened(message if isinstance(message, str) else body) or f"HTTP status {status}"
    reason = _CODES.get(str(details.get("code")))
    if status < _SERVER_ERROR and (reason is not None or status not in _PASSING):
        return Failure(reason or _REFUSED.get(status, "bad_request"), text)
    asked = [headers.get("retry-after", ""), *_RETRY_INFO.findall(body)]
    wait = max(float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else 0.0 for text in asked)
    reason = _PASSING.get(status, "server_error")
    return Failure(reason, text, transient=wait <= LONGEST_WAIT, retry_after=wait)


def shortened(message: str) -> str:
    """Return a message as one short line without keys and without a traceback."""
    message = message[:_MOST_READ].partition("Traceback (most recent call last)")[0]
    return cut(" ".join(scrub(message).split()), _LONGEST_TEXT)


# --- requests -----------------------------------------------------------------------------------
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
#: Higher counts are ignored: no model reads or writes that many tokens.
_MOST_TOKENS = 10**9
#: Sent to servers that need no key, because OpenAI's client requires one.
_NO_KEY = "none-needed"
_ERRORS = 400
#: The responses that were received for the current request.
_RECEIVED: ContextVar[list[int]] = ContextVar("_RECEIVED")


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


async def complete(request: ModelRequest) -> Completion:
    """Ask a model once, without a second attempt; `Failure` says why there is no answer."""
    received: list[int] = []
    before = _RECEIVED.set(received)
    try:
        async with asyncio.timeout(request.timeout):
            return _completion(request.model, await litellm().acompletion(**_arguments(request)))
    except TimeoutError:
        late = f"no answer within {request.timeout:g} s"
        failure: Exception = Failure("timeout", late, transient=True, billed=True)
    except Failed as failed:
        failure = failed.failure
    except ExtractBenchError as error:
        failure = error
    except Exception as error:  # noqa: BLE001 - LiteLLM raises whatever its providers do
        text, status = shortened(str(error)), getattr(error, "status_code", None)
        if received:
            text = f"the response cannot be read: {text}"
            failure = Failure("server_error", text, transient=True, billed=True)
        elif isinstance(status, int):  # of a client of LiteLLM's own
            failure = failure_of_response(status, {}, text)
        else:
            failure = Failure("model_failed", text)
    finally:
        _RECEIVED.reset(before)
    raise failure  # without a context, which may quote a key


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
    optional = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "api_base": request.api_base,
    }
    arguments |= {name: value for name, value in optional.items() if value is not None}
    missing = litellm().validate_environment(request.model)["missing_keys"]
    provider = litellm().get_llm_provider(request.model)[1]
    arguments |= key_arguments(provider, missing)
    keys = [name for name in missing if name.endswith("_KEY")]
    if request.api_base is not None and keys and not any(map(os.environ.get, keys)):
        arguments.setdefault("api_key", _NO_KEY)
    if request.schema is not None and (request.demanded or supports_schema(request.model)):
        form = {"name": request.schema_name, "schema": request.schema, "strict": request.strict}
        arguments["response_format"] = {"type": "json_schema", "json_schema": form}
    client = _client_for(arguments)
    return arguments if client is None else arguments | {"client": client}


def _client_for(arguments: Mapping[str, Any]) -> Any:
    """Return the client to give LiteLLM for a request; None if it takes none."""
    module = litellm()
    model, base, key = (arguments.get(name) for name in ("model", "api_base", "api_key"))
    _, provider, provider_key, provider_base = module.get_llm_provider(
        model, api_base=base, api_key=key
    )
    if model_info(str(model)).get("mode") == "responses":
        return None
    if provider in _HTTP_PROVIDERS:
        return _handler()
    if provider != "openai" and provider not in module.openai_compatible_providers:
        return None
    variables = map(os.environ.get, ("OPENAI_BASE_URL", "OPENAI_API_BASE"))
    return import_module("openai").AsyncOpenAI(
        base_url=next(filter(None, (base, provider_base, *variables)), None),
        api_key=key or provider_key or os.environ.get("OPENAI_API_KEY") or _NO_KEY,
        http_client=_http_client(),
        max_retries=0,
    )


def _handler() -> Any:
    """Return the object in which LiteLLM takes an HTTP client."""
    module: Any = import_module("litellm.llms.custom_httpx.http_handler")

    class Handler(module.AsyncHTTPHandler):  # type: ignore[misc]
        def create_client(self, *_: Any, **__: Any) -> Any:
            return _http_client()

    handler = Handler()
    handler.client = _http_client()  # so that it never closes it
    return handler


def _http_client() -> Any:
    """Return the HTTP client of the background loop.

    It raises `Failed` for everything but a success, and follows no redirect: another server would
    receive the key.
    """
    if BACKGROUND.http is not None:
        return BACKGROUND.http
    import httpx

    unsent = (
        *(httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError),
        httpx.UnsupportedProtocol,
    )

    class ModelClient(httpx.AsyncClient):
        async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
            try:
                response = await super().send(request, **options | {"stream": False})
            except httpx.RequestError as error:
                late = isinstance(error, httpx.TimeoutException)
                reason, text = "timeout" if late else "connection", shortened(str(error))
                text = text or type(error).__name__
                billed = not isinstance(error, unsent)
                failure = Failure(reason, text, transient=True, billed=billed)
            else:
                if response.next_request is not None:
                    target = response.next_request.url
                    text = f"the server redirects to {scrub(f'{target.scheme}://{target.host}')}, "
                    text += "which would receive the key and the texts; set api_base to it if it "
                    failure = Failure("redirect", text + "is the right server")
                elif response.status_code >= _ERRORS:
                    answer = response.status_code, response.headers, response.text
                    failure = failure_of_response(*answer)
                else:
                    _RECEIVED.get([]).append(response.status_code)
                    return response
            raise Failed(failure)

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
    BACKGROUND.http = ModelClient(timeout=None, follow_redirects=False, limits=limits)
    return BACKGROUND.http


def _completion(model: str, response: Any) -> Completion:
    choice, usage = response.choices[0], getattr(response, "usage", None)
    counts = [getattr(usage, f"{kind}_tokens", None) for kind in ("prompt", "completion")]
    # otherwise they are zeros of LiteLLM's, or nonsense
    counted = any(counts) and all(type(n) is int and 0 <= n <= _MOST_TOKENS for n in counts)
    prompt_tokens, completion_tokens = counts if counted else (None, None)
    cost = response._hidden_params.get("response_cost")
    # a provider may name its own cost
    is_cost = counted and isinstance(cost, int | float) and 0 <= cost < math.inf
    is_cost = is_cost and (cost > 0 or list_price(model, 1, 1) is not None)
    # a refusal, if the provider reports it separately
    fields = getattr(choice.message, "provider_specific_fields", None) or {}
    refusal = getattr(choice.message, "refusal", None) or fields.get("refusal")
    return Completion(
        choice.message.content,
        choice.finish_reason == "length",
        prompt_tokens,
        completion_tokens,
        cost if is_cost else None,
        choice.finish_reason,
        refusal if isinstance(refusal, str) and refusal.strip() else None,
    )
