"""Other processes: nothing looked up, nothing left on the screen, nothing asked twice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import extractbench_nb as xb
from tests.judges.llm.conftest import MakeJudge
from tests.judges.llm.test_settings import strangers_folder
from tests.llm_server import HANG, LLMServer, failure, truthful
from tests.loaded import loaded_script
from tests.waiting import PATIENCE, wait_until

COUNT, AT_ONCE = 40, 4
SCHEMA = {"type": "object", "properties": {f"f{i}": {"type": "string"} for i in range(COUNT)}}
GOLD = {f"f{i}": f"gold {i}" for i in range(COUNT)}
PREDICTED = {name: text.upper() if name < "f3" else "other" for name, text in GOLD.items()}
SCRIPT = """
import json, os, socket, sys

before = dict(os.environ)
lookups = []
def watched(function):
    def call(*args, **more):
        lookups.append(repr(args))
        return function(*args, **more)
    return call

connect = socket.socket.connect
def connecting(self, address):
    if self.family != socket.AF_UNIX and address[0] != "127.0.0.1":
        lookups.append(repr(address))
    return connect(self, address)

for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
    setattr(socket, name, watched(getattr(socket, name)))
socket.socket.connect = connecting

import httpx
methods = httpx.AsyncClient.send, httpx.Client.send
import extractbench_nb as xb
from extractbench_nb.judges import LLM, LLMJudge
early = "litellm" in sys.modules

url, folder, schema, gold, predicted = json.loads(sys.argv[1])
model = LLM("openai/test-model", api_base=url, cache=folder, max_concurrency=4, timeout=1800)
judge = LLMJudge(model)
judge.check()
found = xb.evaluate(schema, gold, predicted, judge=judge)
changed = {name: value for name, value in os.environ.items() if before.get(name) != value}
out = {"lookups": lookups, "early": early, "fields": found.fields.to_json()}
out["patched"] = methods != (httpx.AsyncClient.send, httpx.Client.send)
out |= {"model": LLMJudge().name, "changed": changed}
print("RESULT" + json.dumps(out))
"""


def arguments_of(url: str, folder: Path) -> str:
    return json.dumps([url, str(folder), SCHEMA, GOLD, PREDICTED])


def result(arguments: str, folder: Path) -> dict[str, Any]:
    """Run the script in a new interpreter, as a user does, in a stranger's folder.

    As in a notebook, it has no file of its own: LiteLLM would read the ``.env`` there by itself.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, arguments],
        capture_output=True,
        text=True,
        env=strangers_folder(folder),
        cwd=folder,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("RESULT")
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout.removeprefix("RESULT"))  # type: ignore[no-any-return]


def test_killed_finished_elsewhere_and_read_here(
    make: MakeJudge, server: LLMServer, tmp_path: Path
) -> None:
    folder = tmp_path / "answers"
    left = iter(range(20))
    server.respond = lambda request: HANG if next(left, None) is None else truthful(request)
    cache = make(cache=folder).model.cache
    assert cache is not None
    with loaded_script(SCRIPT, arguments_of(server.url, folder)) as killed:
        wait_until(lambda: len(server.requests) == 20 + AT_ONCE or not killed.process.is_alive())
        wait_until(lambda: len(cache.entries()) == 20 or not killed.process.is_alive())
        killed.process.kill()
        killed.process.join(PATIENCE)
    assert len(server.requests) == 20 + AT_ONCE

    server.respond = truthful
    server.forget()
    first = result(arguments_of(server.url, folder), tmp_path / "stranger's")
    assert len(server.requests) == COUNT - 20
    assert first["lookups"] == []
    assert first["early"] is False
    assert first["patched"] is False
    assert (first["model"], first["changed"]) == ("from-file", {})

    server.forget()
    here = xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=make(cache=folder))
    assert len(server.requests) == 0
    assert here.fields.to_json() == first["fields"]
    assert here.summary.judge_errors == 0
    assert 0 < here.summary.passed < COUNT


UNTOUCHED = """
import json, logging, os, signal, socket, sys, warnings
import httpx, litellm, openai
import extractbench_nb as xb

logging.getLogger("LiteLLM").setLevel(logging.ERROR)
litellm.drop_params, litellm.num_retries = False, 3

def state():
    kinds = (httpx.AsyncClient, httpx.Client, httpx.AsyncHTTPTransport, openai.AsyncOpenAI)
    names = [None, *logging.root.manager.loggerDict]
    loggers = {name: logging.getLogger(name) for name in names if "extractbench" not in str(name)}
    signals = [signal.getsignal(number) for number in signal.valid_signals()]
    plain = (bool, int, float, str, type(None), list, dict, set)
    return {
        "environment": {k: v for k, v in os.environ.items() if k != "TIKTOKEN_CACHE_DIR"},
        "methods": {(k, n): v for k in kinds for n, v in vars(k).items()},
        "litellm": {n: repr(v) for n, v in vars(litellm).items()
                    if isinstance(v, plain) and not n.startswith("__")},
        "functions": {n: v for n, v in vars(litellm).items() if callable(v)},
        "loggers": {n: (v.level, v.propagate, v.disabled, list(v.handlers), list(v.filters))
                    for n, v in loggers.items()},
        "warnings": list(warnings.filters),
        "signals": signals,
        "hooks": (sys.excepthook, sys.stdout, sys.stderr, socket.socket, socket.getaddrinfo),
        "folder": os.getcwd(),
    }

url, folder = sys.argv[1:]
def asked(gold):
    judge = xb.LLM("openai/gpt-4o-mini", api_base=url, cache=folder, retry_wait=0)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    return xb.evaluate(schema, {"a": gold}, {"a": "other"}, judge=judge).summary["judged"]

litellm.supports_response_schema(model="openai/gpt-4o-mini")  # loads what it loads itself
before = state()
print(asked("x"), asked("broken"))
after = state()
for name, old in before.items():
    new = after[name]
    if isinstance(old, dict):
        keys = old if name in ("functions", "loggers", "litellm") else {*old, *new}
        for key in keys:
            if old.get(key) != new.get(key):
                print("changed:", name, key)
    elif old != new:
        print("changed:", name)
"""


def test_nothing_of_the_user_s_process_is_touched(server: LLMServer, tmp_path: Path) -> None:
    """Not by a judge's calls, failed ones included: classes, functions, loggers, environment."""
    server.respond = lambda r: failure(500) if '"broken"' in r.quoted["gold"] else truthful(r)
    environment = strangers_folder(tmp_path / "stranger's")
    environment |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    done = subprocess.run(
        [sys.executable, "-c", UNTOUCHED, server.url, str(tmp_path / "answers")],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path / "stranger's",
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "1 0\n"), done.stderr
