"""Keys of providers and the default model, from the environment and ``.env``; texts without keys.

`os.environ` is only read: the key of a provider is handed to LiteLLM with each request.
"""

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
    r"|AWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)"
)
#: Keys of the ``.env`` files that were read in this process.
KEYS_OF_FILES: dict[str, str] = {}


def read_environment() -> str:
    """Read keys from ``.env`` in the working directory; return the default model.

    The file may come from a stranger, so nothing else is read from it, such as the address of a
    server, a proxy or a cache folder, and references to other variables are not expanded.
    """
    path, variables = Path.cwd() / ".env", dict[str, str | None]()
    if path.is_file():
        from dotenv import dotenv_values

        try:
            variables = dotenv_values(path, interpolate=False)
        except (OSError, ValueError) as error:
            raise InputError(f"{str(path)!r} cannot be read: {error}") from None
    given = {name: value for name, value in variables.items() if value and "\0" not in value}
    KEYS_OF_FILES.update({name: given[name] for name in given if KEY_NAME.fullmatch(name)})
    model = given.get(MODEL_VARIABLE, "")
    if "://" in model:  # LiteLLM would send requests to an address within a model id
        model = ""
    return os.environ.get(MODEL_VARIABLE, model) or DEFAULT_MODEL


def key_arguments(provider: str, missing: list[str]) -> dict[str, str]:
    """Return the key of a provider from ``.env`` as arguments of LiteLLM's.

    `missing` are the variables that LiteLLM misses; a key in the environment it finds by itself.
    """
    if provider in ("bedrock", "sagemaker"):
        aws = {name: key for name, key in KEYS_OF_FILES.items() if name.startswith("AWS_")}
        return {name.lower(): key for name, key in aws.items()} if missing else {}
    names = [*missing, f"{provider.upper()}_API_KEY"]
    key = next((KEYS_OF_FILES[name] for name in names if name in KEYS_OF_FILES), None)
    return {} if key is None or any(map(os.environ.get, names)) else {"api_key": key}


_HIDDEN = "[hidden]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_MIN_SECRET = 8
#: Longer texts are cut; messages and answers are shorter.
_LONGEST = 250_000
_FORMS = re.compile(
    r"(?<![A-Za-z0-9])(?:sk|pk|gsk|xai|hf|r8|nvapi)[-_][A-Za-z0-9_*.-]{8,}"
    r"|AIza[\w-]{20,}"
    r"|(?i:(?<=bearer ))[\w.~+/=-]{8,}"
    r"|(?i:(?<=key=)|(?<=token=))[\w.~+/%-]{8,}"
    r"|(?<=://)[^/@\s]+(?=@)"
)


def scrub(text: str) -> str:
    """Replace keys in a text: values of variables that are named like one, and usual forms."""
    if len(text) > _LONGEST:  # a key must not be cut in two
        text = text[: max(text.rfind(" ", 0, _LONGEST), _LONGEST // 2)] + "…"
    secrets = {
        value
        for name, value in (*os.environ.items(), *KEYS_OF_FILES.items())
        if len(value) >= _MIN_SECRET and _SECRET_NAME.search(name)
    }
    for secret in sorted(secrets, key=len, reverse=True):  # a secret may be part of another
        text = text.replace(secret, _HIDDEN)
    return _FORMS.sub(_HIDDEN, text)
