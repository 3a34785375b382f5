"""`LLM`: a language model and the options of its client, which owns the queue of its calls."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, fields
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from extractbench_nb.core.text import choose_judge
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges.cache import JudgeCache, judge_cache
from extractbench_nb.judges.calls import CallQueue
from extractbench_nb.judges.client import client_errors, fault_behind, list_price, litellm
from extractbench_nb.judges.environment import (
    KEY_NAME,
    KEYS_OF_FILES,
    MODEL_VARIABLE,
    read_environment,
)

#: What the error message names when a judge has no key.
_OTHER_JUDGES = (
    f"Another model is named by judge=, or by {MODEL_VARIABLE}; judge='offline' needs none"
)


@dataclass(frozen=True)
class LLM:
    """A language model, through LiteLLM, with the options of its client.

    ``judge=``, `LLMJudge`, `LLMAligner`, `extract` and `construct` take the id of a model, or an
    `LLM` with options. All that use one object share its limits.

    Parameters
    ----------
    model : str, optional
        A LiteLLM model id such as ``openai/gpt-4o-mini``. By default the value of
        ``DEFAULT_LLM_MODEL`` in the environment or in ``.env`` in the working directory, from which
        only this and keys are read; else ``vertex_ai/gemini-2.5-flash``.
    api_base : str, optional
        Address of the server, if it is not the provider's own. Such a server needs no key.
    temperature : float, optional
        0 or more; by default 0 for judges, and the provider's default for outputs. It is not sent
        to models that take none.
    max_tokens : int, optional
        Maximum number of tokens of one answer, hidden reasoning included; by default 2,048 for
        judges, and the provider's default for outputs.
    timeout : float, optional
        Seconds for one request; by default 60 for judges, and 600 for outputs.
    max_concurrency : int, optional
        Maximum number of concurrent requests, over all event loops and threads of a process.
    max_attempts : int, optional
        Maximum number of requests for one answer while errors are transient: rate limits,
        timeouts, server errors, broken connections.
    retry_wait : float, optional
        Seconds before the second attempt, doubled before each further one, plus a random wait of
        up to as long; longer if the provider asks for it.
    budget_usd : float, optional
        Maximum that all uses of this object may spend in this process, at LiteLLM's list prices.
        Each request reserves its maximum cost, for its own tokens plus `max_tokens`, and is not
        made if less than that is left. A reply without token counts is charged its maximum cost.
    cache : bool, str, pathlib.Path or JudgeCache, optional
        Where the answers of judges are cached: True for `judge_cache`, a folder, or False for no
        cache; then equal questions are asked each time. Outputs are kept in their run.

    Raises
    ------
    InputError
        The value of an option is not allowed.

    Notes
    -----
    LiteLLM reads keys of providers from the environment; they are stored nowhere else. A copy, and
    the object that a worker process gets, has spent nothing.

    Examples
    --------
    >>> LLM("openai/gpt-4o-mini", temperature=0.5)
    LLM('openai/gpt-4o-mini', temperature=0.5)
    """

    model: str = field(default_factory=read_environment)
    _: KW_ONLY
    api_base: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    max_concurrency: int = 8
    max_attempts: int = 5
    retry_wait: float = 1.0
    budget_usd: float | None = None
    cache: Any = True
    #: ``judge=`` takes it as it takes the id of a model.
    is_model: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Read keys, and check every value."""
        read_environment()
        cache = self.cache
        if cache is True:
            cache = judge_cache
        elif isinstance(cache, str | Path) and str(cache).strip():
            cache = JudgeCache(cache)
        object.__setattr__(self, "cache", None if cache is False else cache)
        self._check_values()

    def _check_values(self) -> None:
        for option in fields(self):
            name, value = option.name, getattr(self, option.name)
            allowed, expected = _ALLOWED[name]
            if not allowed(value) and (value is not None or option.default is not None):
                hidden = name == "api_base" and isinstance(value, str)  # may contain a password
                shown = "not shown here" if hidden else repr(value)
                raise InputError(f"{name} is {shown}; expected {expected}")

    def __repr__(self) -> str:
        """Write the call that makes it, without keys."""
        usual = {option.name: option.default for option in fields(self)} | {"cache": judge_cache}
        options = {name: getattr(self, name) for name in usual if name != "model"}
        options["cache"] = self.cache or False
        named = [f"{name}={v!r}" for name, v in options.items() if v != usual[name]]
        return f"LLM({', '.join([repr(self.model), *named])})"

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle the options only, without costs and calls in progress."""
        return {option.name: getattr(self, option.name) for option in fields(self)}

    @property
    def name(self) -> str:
        """Name shown in results: the id."""
        return self.model

    def compare(self, gold: str, predicted: str) -> Any:
        """Judge one pair of texts, as `LLMJudge` does.

        Parameters
        ----------
        gold, predicted : str
            The two texts.

        Returns
        -------
        awaitable of Verdict
            The verdict.
        """
        return choose_judge(self).compare(gold, predicted)

    @property
    def spent_usd(self) -> float:
        """US dollars that were spent in this process, as far as prices are known.

        With a budget, a request of unknown cost counts with its maximum cost.
        """
        return self.queue.budget.spent_usd

    @property
    def queue(self) -> CallQueue:
        """The queue of its calls in this process."""
        name = f"queue in process {os.getpid()}"
        if name not in self.__dict__:
            self.__dict__.setdefault(name, CallQueue(self))
        queue: CallQueue = self.__dict__[name]
        return queue

    @client_errors()
    def check(self, *, otherwise: str = _OTHER_JUDGES) -> None:
        """Check, before any work and without network, that requests can succeed.

        Parameters
        ----------
        otherwise : str, optional
            What the message says if there is no key.

        Raises
        ------
        InputError
            The provider is not known, its key is not in the environment (the message names the
            variable), or there is a budget but no price.
        UnavailableError
            LiteLLM is not installed, or does not work.
        """
        provider = _provider(self.model)
        if self.api_base is None:
            if provider == "vertex_ai" and not _has_google_auth():
                needed = "`pip install 'litellm[google]'`: google.auth is missing"
                raise InputError(f"{self.model!r} needs {needed}")
            _check_key(self.model, provider, otherwise)
        if self.budget_usd is not None and list_price(self.model, 1, 1) is None:
            raise InputError(
                f"budget_usd is {self.budget_usd!r}, but LiteLLM has no price for {self.model!r}. "
                "Add its price with litellm.register_model, or remove the budget"
            )


def with_options(
    llm: LLM, changes: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> LLM:
    """Return a copy with other options, and defaults in place of None; its queue is another."""
    values = {name: v for name, v in (defaults or {}).items() if getattr(llm, name) is None}
    values |= changes
    changed = copy(llm)
    if values:
        changed.__dict__.update(values)
        changed._check_values()
    return changed


def chosen_llm(model: object, **options: Any) -> LLM:
    """Return the `LLM` that an argument ``model`` is or names; `options` are those of an id."""
    return model if isinstance(model, LLM) else LLM(model, **options)  # type: ignore[arg-type]


def refuse_options(where: str, given: Mapping[str, object], allowed: tuple[str, ...] = ()) -> None:
    """Raise an error for options that `where` does not take: those of `LLM`, or unknown ones."""
    for name in given:
        if name in {option.name for option in fields(LLM)}:
            raise InputError(
                f"{where} takes no {name}; it is an option of the model, which takes an LLM in "
                f"place of its id: xb.LLM('openai/gpt-4o-mini', {name}=...)"
            )
        raise InputError(f"unknown option {name!r} of {where}; {nearest(name, allowed)}")


# --- values -------------------------------------------------------------------------------------


def number(low: float, high: float = 1e300, *, above: bool = False, whole: bool = False) -> Any:
    """Return a function that says whether a value is a number in a range."""

    def allowed(value: Any) -> bool:
        kind = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        return kind and value <= high and (value > low or (value == low and not above))

    return allowed


def _is_address(value: Any) -> bool:
    if not isinstance(value, str) or not re.fullmatch(r"https?://[!-~]+", value):
        return False
    parts = urlsplit(value)
    return not (parts.username or parts.password or parts.query)


_COUNT = (number(1, whole=True), "a whole number that is 1 or more")
#: What each option may be, besides None where that is the default.
_ALLOWED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "model": (
        lambda value: isinstance(value, str) and bool(re.fullmatch(r"[!-~]+", value)),
        "a LiteLLM model id such as 'openai/gpt-4o-mini'",
    ),
    "api_base": (
        _is_address,
        "an http(s) address without user, password and query (a key belongs in the environment)",
    ),
    "temperature": (number(0), "a number that is 0 or more"),
    "max_tokens": _COUNT,
    "timeout": (number(0, above=True), "a number of seconds that is more than 0"),
    "max_concurrency": _COUNT,
    "max_attempts": _COUNT,
    "retry_wait": (number(0), "a number of seconds that is 0 or more"),
    "budget_usd": (number(0), "an amount in US dollars that is 0 or more, or None"),
    "cache": (
        lambda value: value is None or isinstance(value, JudgeCache),
        "True, False, a folder or a JudgeCache",
    ),
}

# --- keys ---------------------------------------------------------------------------------------
_GCLOUD = "gcloud/application_default_credentials.json"
_AMAZON = (
    (
        *("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_WEB_IDENTITY_TOKEN_FILE"),
        *(f"AWS_CONTAINER_CREDENTIALS_{kind}_URI" for kind in ("RELATIVE", "FULL")),
    ),
    ("~/.aws/credentials", "~/.aws/config"),
    "or run `aws configure`",
)
#: Credentials of a cloud, besides the variables that LiteLLM checks: other variables, files, and an
#: alternative that the error message names.
_AMBIENT: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "vertex_ai": (
        ("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS"),
        (
            *("$CLOUDSDK_CONFIG/application_default_credentials.json", f"$APPDATA/{_GCLOUD}"),
            f"~/.config/{_GCLOUD}",
        ),
        "or run `gcloud auth application-default login`",
    ),
    "bedrock": _AMAZON,
    "sagemaker": _AMAZON,
    "azure": (("AZURE_AD_TOKEN", "AZURE_CLIENT_ID"), (), ""),
}


def _provider(model: str) -> str:
    module = litellm()
    try:
        return str(module.get_llm_provider(model)[1])
    except module.exceptions.BadRequestError as error:
        fault = fault_behind(error)
    if fault is not None:
        raise fault
    prefix = model.partition("/")[0]
    names = [str(provider.value) for provider in module.provider_list]
    closest = get_close_matches(prefix, names, n=3, cutoff=0.0)
    raise InputError(
        f"unknown provider of the model {model!r}; expected a LiteLLM model id such as "
        f"'openai/gpt-4o-mini'; for the provider, {nearest(prefix, closest)}; "
        f"LiteLLM's documentation lists all {len(names)} providers"
    )


def _has_google_auth() -> bool:
    with suppress(ModuleNotFoundError):  # of its parent package
        return find_spec("google.auth") is not None
    return False


def _check_key(model: str, provider: str, otherwise: str) -> None:
    """Raise an error unless an environment variable or a file may hold the provider's key."""
    environment = litellm().validate_environment(model)
    missing = [name for name in environment["missing_keys"] if name not in KEYS_OF_FILES]
    one_is_enough = provider == "gemini"
    some = one_is_enough and len(missing) < len(environment["missing_keys"])
    if environment["keys_in_environment"] or not missing or some:
        return
    variables, paths, hint = _AMBIENT.get(provider, ((), (), ""))
    files = (Path(os.path.expandvars(path)).expanduser() for path in paths)
    if any(map(os.environ.get, variables)) or any(file.is_file() for file in files):
        return
    names = (" or " if one_is_enough else " and ").join(missing)
    or_file = " or in a .env file here" if all(map(KEY_NAME.fullmatch, missing)) else ""
    or_command = f", {hint}" if hint else ""
    raise InputError(
        f"no key for the model {model!r}: set {names} in the environment{or_file}{or_command}. "
        f"{otherwise}"
    )
