"""A real JupyterLab on 127.0.0.1, its notebook in Chromium, and the kernel behind it."""

from __future__ import annotations

import itertools
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import nbformat
from jupyter_client.blocking.client import BlockingKernelClient

from tests.browser.chromium import SECONDS, new_context
from tests.waiting import wait_until

QUIET = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
#: An animation while JupyterLab loads: without a graphics card it costs more than the rest.
SPLASH = "@jupyterlab/apputils-extension:splash"
THEMES = {
    dark: {"apputils-extension/themes": {"theme": f"JupyterLab {name}"}}
    for dark, name in ((False, "Light"), (True, "Dark"))
}
#: Console lines of JupyterLab itself that say nothing about a widget of ours.
HARMLESS = re.compile(r"Jupyter(Lab)? (News|announcements)|favicon|preloaded using link preload")
#: Messages of a kernel come in order: once an execution the page asks for is done, the page has
#: been given all that was sent before it.
HEARD = """async () => {
    const panel = window.jupyterapp.shell.currentWidget;
    const kernel = panel.sessionContext.session.kernel;
    await kernel.requestExecute({ code: "", silent: true, store_history: false }).done;
    await new Promise((resolve) => setTimeout(resolve, 0));
}"""

THEME = """theme => window.jupyterapp.commands.execute("apputils:change-theme", { theme })"""


@dataclass
class Notebook:
    """A notebook whose cells have run: the page, and the kernel to ask what Python sees."""

    page: Any
    client: Any
    problems: list[str] = field(default_factory=list)

    @property
    def panel(self) -> Any:
        """The notebook on the page."""
        return self.page.locator(".jp-NotebookPanel:visible").first

    def output(self, cell: int) -> Any:
        """The output of a code cell, counted from 0, scrolled into view."""
        found = self.panel.locator(".jp-CodeCell").nth(cell).locator(".jp-OutputArea-output").last
        found.scroll_into_view_if_needed()
        return found

    def python(self, expression: str) -> Any:
        """The value of an expression in the kernel, by way of JSON."""
        text: list[str] = []

        def keep(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                text.append(message["content"]["text"])

        code = f"import json as _json; print(_json.dumps({expression}))"
        reply = self.client.execute_interactive(code, timeout=SECONDS, output_hook=keep)
        assert reply["content"]["status"] == "ok", reply["content"]
        return json.loads("".join(text))

    def run(self, code: str) -> None:
        """Run statements in the kernel, and wait until the page has heard all they sent."""
        reply = self.client.execute_interactive(code, timeout=SECONDS, output_hook=lambda _: None)
        assert reply["content"]["status"] == "ok", reply["content"]
        self.page.evaluate(HEARD)

    def wait_python(self, expression: str, expected: Any) -> None:
        """Wait until the kernel sees a value; an expression may fail until then."""
        end = time.monotonic() + SECONDS
        while True:
            try:
                found = self.python(expression)
                failure = None
            except AssertionError as error:
                found, failure = None, error
            if (found == expected and failure is None) or time.monotonic() > end:
                break
            self.page.wait_for_timeout(50)
        if failure is not None:
            raise failure
        assert found == expected

    @contextmanager
    def dark(self) -> Iterator[None]:
        """Show the page in the dark theme, and in the light one again afterwards."""
        self._show_theme("Dark")
        try:
            yield
        finally:
            self._show_theme("Light")

    def _show_theme(self, name: str) -> None:
        self.page.evaluate(THEME, f"JupyterLab {name}")
        body = f'body[data-jp-theme-name="JupyterLab {name}"]'
        self.page.wait_for_selector(body, state="attached")

    def check(self) -> None:
        """Nothing went wrong on the page."""
        assert self.problems == []


class Lab:
    """A JupyterLab server with settings of its own; `close` stops it and its kernels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = secrets.token_hex(16)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.base = f"http://127.0.0.1:{free.getsockname()[1]}"
        self.home = folder / "home"
        self._settings(QUIET)
        config = self.home / "config/labconfig/page_config.json"
        config.parent.mkdir(parents=True)
        config.write_text(json.dumps({"disabledExtensions": {SPLASH: True}}))
        self.log = (folder / "lab.log").open("w")
        self.process = self._start()
        self.browser: Any = None
        self.clients: list[Any] = []
        self.contexts: list[Any] = []
        self.failure: Exception | None = None
        self._numbers = itertools.count()

    @contextmanager
    def used_by(self, browser: Any, *, dark: bool = False) -> Iterator[Self]:
        """Open notebooks in a browser; in the end their pages are closed and their kernels gone."""
        before = self.browser, self.clients, self.contexts
        running = {session["id"] for session in self.sessions()}
        self.browser, self.clients, self.contexts = browser, [], []
        self._settings(THEMES[dark])
        try:
            yield self
        finally:
            for context in self.contexts:
                context.close()
            for client in self.clients:
                client.stop_channels()
            for session in self.sessions():
                if session["id"] not in running:
                    self._ask(f"sessions/{session['id']}", "DELETE").close()
            self._settings(THEMES[False])
            self.browser, self.clients, self.contexts = before

    def _settings(self, settings: dict[str, dict[str, object]]) -> None:
        for name, values in settings.items():
            path = self.home / "lab/user-settings/@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))

    def _start(self) -> subprocess.Popen[bytes]:
        places = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "IPYTHONDIR": "ipython",
            "JUPYTERLAB_SETTINGS_DIR": "lab/user-settings",
            "JUPYTERLAB_WORKSPACES_DIR": "lab/workspaces",
        }
        environment = os.environ | {name: str(self.home / at) for name, at in places.items()}
        command = [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={self.base.rsplit(':')[-1]}"),
            *("--ServerApp.port_retries=0", f"--IdentityProvider.token={self.token}"),
            *(f"--ServerApp.root_dir={self.folder}", "--LabApp.extension_manager=readonly"),
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.expose_app_in_browser=True",
        ]
        # a session of its own: its kernels end with it
        process = subprocess.Popen(
            command,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        wait_until_it_answers(process, f"{self.base}/api", self.folder / "lab.log")
        return process

    def _ask(self, path: str, method: str = "GET") -> Any:
        token = {"Authorization": f"token {self.token}"}
        address = f"{self.base}/api/{path}"
        request = urllib.request.Request(address, method=method, headers=token)  # noqa: S310
        return urllib.request.urlopen(request, timeout=SECONDS)  # noqa: S310

    def sessions(self) -> list[dict[str, Any]]:
        with self._ask("sessions") as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found

    def _kernel(self, name: str) -> Any:
        """Wait for a connected kernel that is idle, and connect to it as well."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for session in self.sessions():
                kernel = session["kernel"]
                idle = kernel["execution_state"] == "idle" and kernel["connections"]
                if session["path"] == name and idle:
                    return self._connect(kernel["id"])
            time.sleep(0.1)
        raise TimeoutError("no idle kernel with a connection")

    def _connect(self, kernel: str) -> Any:
        connection = self.home / "runtime" / f"kernel-{kernel}.json"
        client = BlockingKernelClient(connection_file=str(connection))
        client.load_connection_file()
        client.start_channels(hb=False)  # a late heartbeat does not mean a dead kernel
        client.wait_for_ready(timeout=SECONDS)
        self.clients.append(client)
        return client

    def open(
        self,
        cells: list[str],
        *,
        width: int = 1400,
        run: bool = True,
        saved: dict[int, str] | None = None,
    ) -> Notebook:
        """Open a notebook of code cells and run them all; some have saved outputs, of HTML."""
        from nbformat.v4 import new_code_cell, new_notebook, new_output
        from playwright.sync_api import expect

        name = f"test{next(self._numbers)}"
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        last = "print('all', 'done')"
        nodes = [new_code_cell(source.strip()) for source in (*cells, last)]
        for at, html in (saved or {}).items():
            nodes[at].outputs = [new_output("display_data", {"text/html": html})]
        notebook = new_notebook(cells=nodes, metadata={"kernelspec": kernel})
        nbformat.write(notebook, self.folder / f"{name}.ipynb")
        if self.failure is not None:  # every other notebook would wait as long
            raise AssertionError("no notebook could be opened") from self.failure
        context = new_context(self.browser, viewport={"width": width, "height": 1000})
        self.contexts.append(context)
        page = context.new_page()
        opened = Notebook(page, None)
        _watch(page, opened.problems, self.base)
        try:
            page.goto(f"{self.base}/lab/tree/{name}.ipynb?reset&token={self.token}")
            expect(opened.panel.locator(".jp-CodeCell").first).to_be_visible()
            opened.client = self._kernel(f"{name}.ipynb")
            expect(page.locator("#jp-bottom-panel")).to_contain_text(re.compile(r"\| Idle"))
        except Exception as error:
            self.failure = error
            raise
        page.keyboard.press("Control+b")  # folds the file browser away
        if run:
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            done = opened.panel.locator(".jp-OutputArea-output", has_text="all done")
            failed = opened.panel.locator('[data-mime-type="application/vnd.jupyter.error"]')
            failed = failed.or_(opened.panel.locator('[data-mime-type$="stderr"]'))
            expect(done.or_(failed).first).to_be_visible()
            assert failed.all_inner_texts() == [], "a cell failed"
        return opened

    def close(self) -> None:
        """Stop the server and its kernels."""
        stop(self.process)
        self.log.close()


def wait_until_it_answers(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Wait until a server answers, with an error or without; a server that has ended never does."""

    def answers() -> bool:
        try:
            urllib.request.urlopen(address, timeout=SECONDS).close()  # noqa: S310
        except urllib.error.HTTPError:
            return True
        except OSError:
            assert process.poll() is None, log.read_text()[-2000:]
            return False
        return True

    wait_until(answers)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a server that leads its processes, and then what has not stopped by itself."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(OSError):  # it has ended
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS)


def _watch(page: Any, problems: list[str], base: str) -> None:
    """Note every error on the console and every request that leaves this machine."""
    inside = (base, base.replace("http", "ws", 1), "data:", "blob:")

    def message(line: Any) -> None:
        if line.type == "error" and not HARMLESS.search(line.text):
            problems.append(line.text)

    def request(asked: Any) -> None:
        if not asked.url.startswith(inside):
            problems.append(f"request to {asked.url}")

    page.on("console", message)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", request)


def serious_findings(notebook: Notebook, cell: int) -> list[str]:
    """What axe-core finds in an output that is serious or critical: rule, and the element."""
    from axe_playwright_python.sync_playwright import Axe

    notebook.output(cell).evaluate("element => element.setAttribute('data-axe', '')")
    options = {"resultTypes": ["violations"]}
    found = Axe().run(notebook.page, "[data-axe]", options).response
    notebook.output(cell).evaluate("element => element.removeAttribute('data-axe')")
    return [
        f"{finding['id']}: {node['html'][:300]} {node.get('failureSummary', '')[:300]}"
        for finding in found["violations"]
        if finding["impact"] in ("serious", "critical")
        for node in finding["nodes"]
    ]
