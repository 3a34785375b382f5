"""Keys and the default model: from the environment, and from ``.env`` files beside it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from extractbench_nb.errors import InputError

#: Environment variable with the default model of judges.
MODEL_VARIABLE = "DEFAULT_LLM_MODEL"
#: The model if that variable is not set, as in the published package.
DEFAULT_MODEL = "vertex_ai/gemini-2.5-flash"

#: Names of variables with a provider's key, but not those of LiteLLM or this package.
KEY_NAME = re.compile(
    r"(?!LITELLM_|EXTRACTBENCH_)[A-Z0-9_]+_API_(?:KEY|TOKEN)"
    r"|AWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|BEARER_TOKEN_BEDROCK)|HF_TOKEN"
)
#: Keys of the ``.env`` files that were read in this process; `os.environ` stays as it is.
KEYS_OF_FILES: dict[str, str] = {}
_OTHER_NAMES = {
    "huggingface": "HF_TOKEN",
    "cohere": "CO_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
}
_AMAZON = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def read_environment() -> str:
    """Read keys from ``.env`` in the working directory; return the default model.

    The model is that of ``DEFAULT_LLM_MODEL`` in the environment or in the file. The file may come
    from a stranger, so nothing else is read from it, such as the address of a server, a proxy or a
    cache folder, and references to other variables are not expanded.
    """
    path, variables = Path.cwd() / ".env", dict[str, str | None]()
    if path.is_file():
        from dotenv import dotenv_values

        try:
            variables = dotenv_values(path, interpolate=False)
        except (OSError, ValueError) as error:
            raise InputError(f"{str(path)!r} cannot be read: {error}") from None
    known = {name: value for name, value in variables.items() if value and "\0" not in value}
    KEYS_OF_FILES.update({name: known[name] for name in known if KEY_NAME.fullmatch(name)})
    model = known.get(MODEL_VARIABLE, "")
    if "://" in model:  # LiteLLM would send requests to an address within a model id
        model = ""
    return os.environ.get(MODEL_VARIABLE, model) or DEFAULT_MODEL


def key_arguments(provider: str, names: list[str]) -> dict[str, str]:
    """Return the keys of ``.env`` files for a provider, as arguments of LiteLLM's.

    `names` are the variables that LiteLLM misses. A key in the environment, which LiteLLM finds by
    itself, takes precedence.
    """
    if not KEYS_OF_FILES:
        return {}
    if provider.startswith(("bedrock", "sagemaker")):
        pairs = {name: KEYS_OF_FILES[name] for name in _AMAZON if name in KEYS_OF_FILES}
        if pairs and not any(name in os.environ for name in _AMAZON):
            return {name.lower(): value for name, value in pairs.items()}
    stem = provider.upper()
    stems = (stem, stem.removesuffix("_AI"), stem.removesuffix("_CHAT"))
    usual = [f"{one}_API_{kind}" for one in stems for kind in ("KEY", "TOKEN")]
    others = [name for key, name in _OTHER_NAMES.items() if provider.startswith(key)]
    possible = [name for name in (*names, *usual, *others) if KEY_NAME.fullmatch(name)]
    if any(name in os.environ for name in possible):
        return {}
    key = next((KEYS_OF_FILES[name] for name in possible if name in KEYS_OF_FILES), None)
    return {} if key is None else {"api_key": key}
