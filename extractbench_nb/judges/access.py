"""Whether a model can be asked at all: its provider, its key, its price; found before any work."""

from __future__ import annotations

import os
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges.client import litellm, price_is_known
from extractbench_nb.judges.settings import MODEL_VARIABLE, Settings, is_taken

__all__ = ["check_model", "name_of_key"]


class _Ambient(NamedTuple):
    """Where a cloud's credentials may be, other than in the variables that LiteLLM names."""

    variables: tuple[str, ...]
    files: tuple[str, ...]
    hint: str


_AMAZON = _Ambient(
    (
        "AWS_PROFILE",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ),
    ("~/.aws/credentials", "~/.aws/config"),
    "or run `aws configure`",
)
_AMBIENT = {
    "vertex_ai": _Ambient(
        ("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS"),
        (
            "$CLOUDSDK_CONFIG/application_default_credentials.json",
            "$APPDATA/gcloud/application_default_credentials.json",
            "~/.config/gcloud/application_default_credentials.json",
        ),
        "or run `gcloud auth application-default login`",
    ),
    "bedrock": _AMAZON,
    "sagemaker": _AMAZON,
    "azure": _Ambient(("AZURE_AD_TOKEN", "AZURE_CLIENT_ID"), (), ""),
}
_PACKAGES = {"vertex_ai": ("google.auth", "litellm[google]")}
#: What else can be done where a judge has no key.
_OTHER_JUDGES = (
    f"Another model is named by judge=, or by {MODEL_VARIABLE}; judge='offline' needs none"
)


def check_model(settings: Settings, *, otherwise: str = _OTHER_JUDGES) -> None:
    """Check, offline, that a model can be asked.

    Parameters
    ----------
    settings : Settings
        The model, and how it is asked.
    otherwise : str, optional
        What else can be done where there is no key.

    Raises
    ------
    InputError
        LiteLLM is not installed or does not know the provider; the environment lacks the key, named
        in the message; a package for the provider is absent; or there is a budget, but no price.
    """
    provider = _provider(settings.model)
    if settings.api_base is None:
        _check_package(settings.model, provider)
        _check_key(settings.model, provider, otherwise)
    if settings.budget_usd is not None and not price_is_known(settings.model):
        raise InputError(
            f"budget_usd is {settings.budget_usd!r}, but LiteLLM has no price for "
            f"{settings.model!r}: what it costs cannot be told. Give it one with "
            "litellm.register_model, or leave the budget out"
        )


def name_of_key(model: str) -> str:
    """Name the environment variable that a model's key is in, for a message."""
    name = f"{model.partition('/')[0].upper()}_API_KEY"
    return name if name in os.environ else "the environment"


def _provider(model: str) -> str:
    module = litellm()
    try:
        return str(module.get_llm_provider(model)[1])
    except module.exceptions.BadRequestError:
        pass
    first = model.partition("/")[0]
    names = [str(provider.value) for provider in module.provider_list]
    few = get_close_matches(first, names, n=3, cutoff=0.0)
    raise InputError(
        f"no provider is known for the model {model!r}: expected a LiteLLM model id such as "
        f"'openai/gpt-4o-mini'; of the first part, {nearest(first, few)}; LiteLLM's documentation "
        f"lists all {len(names)} providers"
    )


def _check_package(model: str, provider: str) -> None:
    needed = _PACKAGES.get(provider)
    if needed is not None and not _is_installed(needed[0]):
        raise InputError(f"{model!r} needs `pip install '{needed[1]}'`: no {needed[0]} is there")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is not there
        return False


def _check_key(model: str, provider: str, otherwise: str) -> None:
    found = litellm().validate_environment(model)
    ambient = _AMBIENT.get(provider)
    if found["keys_in_environment"] or not found["missing_keys"] or _has_ambient(ambient):
        return
    either = " or " if provider == "gemini" else " and "
    names = found["missing_keys"]
    or_file = " or in a file .env here" if all(map(is_taken, names)) else ""
    ways = [f"set {either.join(names)} in the environment{or_file}"]
    if ambient is not None and ambient.hint:
        ways.append(ambient.hint)
    raise InputError(f"no key for the model {model!r}: {', '.join(ways)}. {otherwise}")


def _has_ambient(ambient: _Ambient | None) -> bool:
    return ambient is not None and (
        any(os.environ.get(name) for name in ambient.variables)
        or any(Path(os.path.expandvars(file)).expanduser().is_file() for file in ambient.files)
    )
