"""Takes the pictures of the web page for the documentation: `python -m tools.screenshots`.

Runs a server, trains the models of the demo, and opens the page in Chromium. Needs Playwright and Chromium.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from adjoint_client import Client
from app.cli.demo import dataset_path
from app.cli.demo.examples import EXAMPLES, Example
from app.cli.demo.runner import running_server

IMAGES = Path(__file__).parents[1] / "docs/images"
WIDTH, HEIGHT = 1200, 820
RATES = (0.002, 0.005, 0.02)
"""Learning rates of the fits that are compared."""

LONG = {"epochs": 100_000, "labels": {"team": "vision", "run": "long"}}
"""A fit that is still running when the pictures are taken."""


def main() -> None:
    """Train, and write the pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, running_server(Path(name) / "data") as url, Client(url) as client:
        ids = [fit_id for example in EXAMPLES for fit_id in _train(client, example)]
        running = _start(client, EXAMPLES[0], {**EXAMPLES[0].fields, **LONG})
        addresses = {
            "fits": "#/fits",
            "fit": f"#/fits/{ids[-1]}?smooth=0.8",
            "gradients": f"#/fits/{ids[-1]}/gradients",
            "graph": f"#/fits/{ids[-1]}/graph",
            "plan": f"#/fits/{ids[-1]}/graph?part=plan&step=30",
            "playground": "#/playground?example=rosenbrock",
            "compare": f"#/compare?fits={','.join(ids[: len(RATES)])}&smooth=0.7",
        }
        _take(url, addresses)
        running.cancel()


def _train(client: Client, example: Example) -> list[str]:
    fits = []
    for rate in RATES:
        optimizer = {**example.fields["optimizer"], "lr": rate}
        labels = {"team": "vision" if example.name == "digits" else "tables", "lr": str(rate)}
        fits.append(_start(client, example, {**example.fields, "optimizer": optimizer, "labels": labels}))
    for fit in fits:
        fit.wait()
    return [fit.id for fit in fits]


def _start(client: Client, example: Example, fields: dict[str, Any]) -> Any:
    dataset = client.upload(dataset_path(example.name), name=example.name, columns=example.columns)
    return client.fit(example.graph(), dataset, validation=0.2, **fields)


def _take(url: str, addresses: dict[str, str]) -> None:
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for name, address in addresses.items():
            page.goto(f"{url}/{address}")
            page.wait_for_selector("main canvas, main svg")
            page.wait_for_timeout(1500)  # for all curves, of which there may be any number
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()
    print(json.dumps({name: (IMAGES / f"{name}.png").stat().st_size for name in addresses}))  # noqa: T201


if __name__ == "__main__":
    main()
