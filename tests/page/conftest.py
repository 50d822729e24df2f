"""A browser for the tests of the page: Chromium, driven by Playwright. Without one of them tests are skipped."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from app.cli.demo import dataset_path, graph_path
from app.cli.demo.examples import EXAMPLES
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import ServerProcess, serving

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
AXE = Path(__file__).with_name("vendor") / "axe.min.js"
RELOADS = 10
IRIS = next(example for example in EXAMPLES if example.name == "iris")


@dataclass
class Tab:
    """A page of a browser at a server's address, and what went wrong in it."""

    page: Any
    url: str
    errors: list[str] = field(default_factory=list)

    def open(self, address: str = "") -> None:
        """Show an address of the page.

        Tests of clusters add network interfaces, at which Chromium aborts what it loads: then the page is loaded again.
        """
        known = len(self.errors)
        self.page.goto(f"{self.url}/{address}")
        for _ in range(RELOADS):
            if not any("net::ERR_NETWORK_CHANGED" in error for error in self.errors[known:]):
                return
            known = len(self.errors)
            self.page.reload()

    def check_accessibility(self, only: str | None = None) -> None:
        """Fail with what axe-core finds by the rules of WCAG 2.2 A and AA, or by `only` one of them."""
        # As an init script would be: a script element is what the policy of the page refuses.
        if self.page.evaluate("typeof axe === 'undefined'"):
            self.page.evaluate(AXE.read_text())
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
        checked = {"type": "tag", "values": tags} if only is None else {"type": "rule", "values": [only]}
        found = self.page.evaluate(
            "checked => axe.run(document, {runOnly: checked}).then(result => result.violations.map("
            "each => [each.id, each.nodes.map(node => node.html + node.failureSummary)]))",
            checked,
        )
        assert not found, json.dumps(found, indent=1)


_running = ExitStack()


@pytest.fixture
def browser() -> Any:
    """Return Chromium, started once for all tests."""
    return _start_browser()


@cache
def _start_browser() -> Any:
    """Start Chromium with one context: a page in a new one takes twice as long to show."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install '.[test]'")
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium-headless-shell")
    driver = _running.enter_context(playwright.sync_playwright())
    # The sandbox of Chromium does not start for root, and the pages are our own. All tabs share a process.
    options = ["--no-sandbox", "--disable-gpu", "--renderer-process-limit=1", "--disable-site-isolation-trials"]
    started = driver.chromium.launch(executable_path=path, args=options)
    _running.callback(started.close)
    context = started.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE * 1000)
    context.new_page()  # keeps that process
    return context


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Close Chromium after the last test of this folder: no other event loop can run in this thread before."""
    yield
    if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
        _start_browser.cache_clear()
        _running.close()


@contextmanager
def tab_of(browser: Any, url: str, color_scheme: str | None = None) -> Iterator[Tab]:
    """Open a tab to which earlier ones have left nothing; fails in the end if the console has shown an error."""
    page = browser.new_page()
    browser.clear_cookies()
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    browser.new_cdp_session(page).send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    page.emulate_media(color_scheme=color_scheme)
    tab = Tab(page, url)
    tab.page.on("pageerror", lambda error: tab.errors.append(str(error)))
    tab.page.on("console", lambda message: tab.errors.append(message.text) if message.type == "error" else None)
    pending: set[Any] = set()
    # Playwright takes no methods of built-in types.
    tab.page.on("request", lambda request: pending.add(request))
    for end in ("requestfinished", "requestfailed"):
        tab.page.on(end, lambda request: pending.discard(request))
    try:
        yield tab
    except Exception as error:
        error.add_note(f"errors of the page: {tab.errors}; unfinished requests: {[each.url for each in pending]}")
        raise
    finally:
        page.close()
    assert not [error for error in tab.errors if "net::ERR" not in error and "status of 4" not in error]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server for the tests of a module."""
    with serving(tmp_path_factory.mktemp("page")) as started:
        yield started


def upload_iris(http: httpx.Client, name: str = "iris") -> str:
    """Upload the flowers and return the dataset's id."""
    query = {"name": name, "columns": IRIS.columns}
    headers = {"Content-Type": "text/csv"}
    answer = http.post("/v1/datasets", params=query, headers=headers, content=dataset_path("iris").read_bytes())
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def create_graph(http: httpx.Client, name: str = "iris") -> str:
    """Create the graph that learns them and return its id."""
    answer = http.post("/v1/graphs", json={**json.loads(graph_path("iris").read_text()), "name": name})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def start_fit(http: httpx.Client, **fields: Any) -> str:
    """Start a fit and return its id."""
    given = {"epochs": 5, "batch_size": 16, "seed": 0, "metrics": ["accuracy"], "validation": {"split": 0.2}, **fields}
    answer = http.post("/v1/fits", json=given)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def trained(served: ServerProcess) -> dict[str, str]:
    """Ids of a dataset, a graph and two fits that have ended."""
    http = served.http
    dataset, graph = upload_iris(http), create_graph(http)
    captured = {"gradients": {"every_steps": 10}, "weight_norms": True}
    fits = [
        start_fit(http, graph=graph, dataset=dataset, labels={"team": team}, record=captured)
        for team in ("vision", "speech")
    ]
    for fit in fits:
        assert http.get(f"/v1/fits/{fit}?wait={LONGEST_WAIT}&until=terminal").json()["state"] == "succeeded"
    checkpoint = http.get(f"/v1/fits/{fits[0]}/checkpoints/best").json()["id"]
    return {"dataset": dataset, "graph": graph, "fit": fits[0], "other": fits[1], "checkpoint": checkpoint}
