"""Options of a model call: those of the judge, and overrides by the params of a field."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from extractbench_nb.errors import ConfigError, InputError, nearest
from extractbench_nb.judges.client import client_errors, fault_behind, list_price, litellm
from extractbench_nb.judges.environment import KEY_NAME, KEYS_OF_FILES, MODEL_VARIABLE
from extractbench_nb.judges.field_judges import VOTES
from extractbench_nb.judges.prompts import check_template

_LARGEST = 1e300
_MOST_ANSWERS = 100
_MODEL = re.compile(r"[!-~]+")
_ADDRESS = re.compile(r"https?://[!-~]+")


@dataclass(frozen=True)
class Settings:
    """The options of a judge that is a language model, checked; `LLMJudge` describes them."""

    model: str
    temperature: float = 0.0
    max_tokens: int = 2048
    timeout: float = 60.0
    max_concurrency: int = 8
    max_attempts: int = 5
    retry_wait: float = 1.0
    budget_usd: float | None = None
    api_base: str | None = None
    additional_instructions: str | None = None
    n: int = 1
    vote: str = "median"

    def __post_init__(self) -> None:
        """Check every value."""
        for name, (allowed, expected) in _ALLOWED.items():
            value = getattr(self, name)
            if not allowed(value):  # an address may contain a password
                hidden = name == "api_base" and isinstance(value, str)
                shown = "not shown here" if hidden else repr(value)
                raise InputError(f"{name} is {shown}; expected {expected}")

    def for_field(self, params: Mapping[str, Any]) -> Settings:
        """Apply the params of one field, and check those that concern the question."""
        changes = {name: params[name] for name in _OVERRIDES if params.get(name) is not None}
        try:
            settings = replace(self, **changes) if changes else self
        except InputError as error:
            raise ConfigError(None, str(error)) from None
        template, schema = params.get("prompt_template"), params.get("structured_output_schema")
        if template is not None:
            if not _is_text(template):
                raise ConfigError(None, f"prompt_template is {template!r}; expected a text")
            check_template(template)
        if schema is None:
            return settings
        if not isinstance(schema, Mapping):
            raise ConfigError(
                None, f"structured_output_schema is {schema!r}; expected a JSON Schema as an object"
            )
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for

        try:
            validator_for(schema).check_schema(dict(schema))
        except SchemaError as error:
            problem = f"structured_output_schema is not a JSON Schema: {error.message}"
            raise ConfigError(None, problem) from None
        if "score" not in schema.get("properties", {"score": None}):
            raise ConfigError(
                None, "structured_output_schema has no property 'score'; it needs one"
            )
        return settings


class Unchecked(Settings):
    """Settings of a judge that asks no model; any params are accepted."""

    def for_field(self, params: Mapping[str, Any]) -> Settings:
        """Return the same settings."""
        return self


def _number(
    low: float, *, high: float = _LARGEST, included: bool = True, whole: bool = False
) -> Callable[[Any], bool]:
    def allowed(value: Any) -> bool:
        kind = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        return kind and value <= high and (value > low or (included and value == low))

    return allowed


def _or_none(allowed: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or allowed(value)


def _is_address(value: Any) -> bool:
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        return False
    parts = urlsplit(value)
    return not (parts.username or parts.password or parts.query)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


_ALLOWED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "model": (
        lambda value: isinstance(value, str) and bool(_MODEL.fullmatch(value)),
        "a LiteLLM model id such as 'openai/gpt-4o-mini'",
    ),
    "temperature": (_number(0), "a number that is 0 or more"),
    "max_tokens": (_number(1, whole=True), "a whole number that is 1 or more"),
    "timeout": (_number(0, included=False), "a number of seconds that is more than 0"),
    "max_concurrency": (_number(1, whole=True), "a whole number that is 1 or more"),
    "max_attempts": (_number(1, whole=True), "a whole number that is 1 or more"),
    "retry_wait": (_number(0), "a number of seconds that is 0 or more"),
    "budget_usd": (_or_none(_number(0)), "an amount in US dollars that is 0 or more, or None"),
    "api_base": (
        _or_none(_is_address),
        "an http(s) address without user, password and query (a key belongs in the environment)",
    ),
    "additional_instructions": (_or_none(_is_text), "a text or None"),
    "n": (
        _number(1, high=_MOST_ANSWERS, whole=True),
        f"a whole number from 1 to {_MOST_ANSWERS}: how many answers to one question",
    ),
    "vote": (
        lambda value: isinstance(value, str) and value in VOTES,
        "one of " + ", ".join(map(repr, VOTES)),
    ),
}

_OVERRIDES = ("model", "temperature", "max_tokens", "additional_instructions")


_GCLOUD = "gcloud/application_default_credentials.json"
_AMAZON = (
    (
        *("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_WEB_IDENTITY_TOKEN_FILE"),
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
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
            "$CLOUDSDK_CONFIG/application_default_credentials.json",
            f"$APPDATA/{_GCLOUD}",
            f"~/.config/{_GCLOUD}",
        ),
        "or run `gcloud auth application-default login`",
    ),
    "bedrock": _AMAZON,
    "sagemaker": _AMAZON,
    "azure": (("AZURE_AD_TOKEN", "AZURE_CLIENT_ID"), (), ""),
}
#: Providers of which one of several keys is enough.
_ONE_OF_SEVERAL = ("gemini",)
_PACKAGES = {"vertex_ai": ("google.auth", "litellm[google]")}
#: Alternatives that the error message names when a judge has no key.
_OTHER_JUDGES = (
    f"Another model is named by judge=, or by {MODEL_VARIABLE}; judge='offline' needs none"
)


@client_errors()
def check_model(settings: Settings, *, otherwise: str = _OTHER_JUDGES) -> None:
    """Check without network access that requests to a model can succeed."""
    model = settings.model
    provider = _provider(model)
    if settings.api_base is None:
        module, package = _PACKAGES.get(provider, ("", ""))
        if module and not _is_installed(module):
            raise InputError(f"{model!r} needs `pip install '{package}'`: {module} is missing")
        _check_key(model, provider, otherwise)
    if settings.budget_usd is not None and list_price(model, 1, 1) is None:
        raise InputError(
            f"budget_usd is {settings.budget_usd!r}, but LiteLLM has no price for {model!r}. "
            "Add its price with litellm.register_model, or remove the budget"
        )


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


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is not installed
        return False


def _check_key(model: str, provider: str, otherwise: str) -> None:
    """Raise an error unless an environment variable or a file may hold the provider's key."""
    environment = litellm().validate_environment(model)
    missing = [name for name in environment["missing_keys"] if name not in KEYS_OF_FILES]
    if environment["keys_in_environment"] or not missing:
        return
    if provider in _ONE_OF_SEVERAL and len(missing) < len(environment["missing_keys"]):
        return
    variables, paths, hint = _AMBIENT.get(provider, ((), (), ""))
    files = (Path(os.path.expandvars(path)).expanduser() for path in paths)
    if any(map(os.environ.get, variables)) or any(file.is_file() for file in files):
        return
    names = (" or " if provider in _ONE_OF_SEVERAL else " and ").join(missing)
    or_file = " or in a .env file here" if all(map(KEY_NAME.fullmatch, missing)) else ""
    or_command = f", {hint}" if hint else ""
    raise InputError(
        f"no key for the model {model!r}: set {names} in the environment{or_file}{or_command}. "
        f"{otherwise}"
    )
