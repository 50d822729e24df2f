"""What an open page costs its server, and how soon it is painted: `python -m tests.benchmarks.page`.

The cost is CPU time of the server's process, workers left out, while a fit trains: in turns with no page, an open one
and a hidden one, so that other load of the machine meets all of them. Paints are those of new browser sessions, with
nothing in their caches. Medians are printed. Needs Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from adjoint_client import Client
from app.cli.demo import dataset_path
from app.cli.demo.examples import EXAMPLES
from tests.support.server import COMMAND, serving

SETTLE_SECONDS = 3.0
"""Time between a change of the page and the measurement."""
HIDE = (
    "() => { Object.defineProperty(document, 'visibilityState', {value: 'hidden', configurable: true});"
    " document.dispatchEvent(new Event('visibilitychange')); }"
)
PAINTED = "() => performance.getEntriesByName('first-contentful-paint').length > 0"
PAINTS = "() => performance.getEntriesByType('paint').map(each => [each.name, each.startTime])"


def main() -> None:
    """Start a server and a fit, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="of one measurement of CPU time")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--visits", type=int, default=9)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium") or shutil.which("google-chrome")
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), command=COMMAND) as server,
        Client(server.url) as client,
        sync_playwright() as driver,
    ):
        fit = _start(client)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for address in ("#/fits", f"#/fits/{fit.id}"):
            url = f"{server.url}/{address}"
            for name, times in _paints(browser, url, arguments.visits).items():
                print(f"{address[:6]:8}{name:26}{median(times):8.0f} ms")
            for name, shares in _costs(browser, url, server.process.pid, arguments).items():
                print(f"{address[:6]:8}{name:26}{median(shares):8.2f} % of a core", flush=True)
        print(f"steps of the fit in all: {fit.refresh().step}")
        fit.cancel()
        browser.close()


def _start(client: Client) -> Any:
    example = next(each for each in EXAMPLES if each.name == "digits")
    dataset = client.upload(dataset_path(example.name), name=example.name, columns=example.columns)
    return client.fit(example.graph(), dataset, validation=0.2, **{**example.fields, "epochs": 10**6})


def _paints(browser: Any, url: str, visits: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(visits):
        page = browser.new_context().new_page()
        page.goto(url)
        page.wait_for_function(PAINTED)
        for name, moment in page.evaluate(PAINTS):
            found[name].append(moment)
        page.context.close()
    return found


def _costs(browser: Any, url: str, pid: int, arguments: argparse.Namespace) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    page = browser.new_page()
    for _ in range(arguments.rounds):
        page.goto("about:blank")
        found["no page"].append(_share(pid, arguments.seconds))
        page.goto(url)
        found["an open page"].append(_share(pid, arguments.seconds))
        page.evaluate(HIDE)
        found["a hidden page"].append(_share(pid, arguments.seconds))
    page.close()
    return found


def _share(pid: int, seconds: float) -> float:
    """Return the CPU time of a process in percent of the time that passes."""
    time.sleep(SETTLE_SECONDS)
    used, start = _cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (_cpu_seconds(pid) - used) / (time.monotonic() - start)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
