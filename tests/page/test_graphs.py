"""Graphs on the page: the picture, the plan, the profile and the program, of real graphs, by mouse and by keyboard."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.page.conftest import tab_of
from tests.support.server import ServerProcess

HOSTILE = "<script>window.hit=1</script>"
BLOCKS = 70
UPWARD = (
    "() => [...document.querySelectorAll('path.edge:not(.saved)')].map(path => path.getAttribute('d').split(/[MC ]/))"
    ".filter(d => Number(d.at(-1)) <= Number(d[2])).length"
)
"""How many edges lead upward."""


@pytest.fixture(scope="module")
def deep(served: ServerProcess) -> str:
    """Id of a graph of more than a thousand nodes with its backward pass, and of a name that is markup."""
    layers = [{"layer": "linear", "units": 8, "activation": "gelu"}, {"layer": "layer_norm"}] * BLOCKS
    document = {
        "name": HOSTILE,
        "inputs": {"x": ["batch", 8], "y": ["batch", 8]},
        "layers": layers,
        "loss": {"kind": "mse", "target": "y"},
    }
    answer = served.http.post("/v1/graphs", json=document)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_a_graph_is_drawn_with_its_backward_pass_and_opened_by_layer(
    browser: Any, served: ServerProcess, trained: dict[str, str]
) -> None:
    with tab_of(browser, served.url) as tab:
        page = tab.page
        tab.open(f"#/fits/{trained['fit']}/graph")
        page.get_by_text("at 16 rows: forward").wait_for()
        boxes = page.locator("[data-box]")
        # The gradient of the batch norm is one op, and those of each linear layer are a group.
        assert page.locator("[data-box^='group ∇']").count() == page.locator("[data-box='group ∇ loss']").count() + 2
        assert page.locator("[data-box^='value ']", has_text="batch_norm_backward").count() == 1
        closed = boxes.count()
        page.locator("[data-box='value flower']").focus()
        for key, focused in (
            ("ArrowDown", "group batch_norm_0"), ("ArrowDown", "group linear_0"), ("ArrowUp", "group batch_norm_0")
        ):  # fmt: skip
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement.dataset.box") == focused
        page.keyboard.press("Enter")
        page.get_by_role("complementary").get_by_role("heading", name="batch_norm_0").wait_for()
        page.keyboard.press("+")
        page.locator("[data-box='value batch_norm_0.weight']").wait_for()
        assert boxes.count() > closed
        assert "open=batch_norm_0" in page.url
        tab.check_accessibility()
        page.reload()
        page.locator("[data-box='value batch_norm_0.weight']").wait_for()
        page.get_by_role("button", name="Backward pass").click()
        page.locator("[data-box='group ∇ loss']").wait_for(state="detached")
        assert page.evaluate(UPWARD) == 0


def test_a_plan_a_profile_and_a_program_are_shown(browser: Any, served: ServerProcess, trained: dict[str, str]) -> None:
    with tab_of(browser, served.url) as tab:
        page = tab.page
        tab.open(f"#/graphs/{trained['graph']}")
        page.get_by_role("link", name="Plan").click()
        page.get_by_role("img", name=re.compile(r"Time line of \d+ steps")).wait_for()
        page.get_by_label("Rows of a step").fill("64")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("batch=64"))
        page.get_by_role("slider").focus()
        page.keyboard.press("ArrowRight")
        page.get_by_role("heading", name=re.compile("^Step 1: ")).wait_for()
        layers = page.get_by_role("region", name="Steps of the plan").get_by_role("row").filter(has_text="linear_0")
        assert "linear_0forward" in layers.first.text_content()
        page.locator(".run.backward text", has_text="linear_0").wait_for()
        tab.check_accessibility()
        page.get_by_role("link", name="Profile").click()
        page.get_by_role("button", name="Measure a step of 64 rows").click()
        page.get_by_role("cell", name="matrix_product").first.wait_for()
        page.get_by_role("button", name="by phase").click()
        page.get_by_role("rowheader", name="update").wait_for()
        tab.check_accessibility()
        page.get_by_role("link", name="Program").click()
        page.get_by_text("import numpy as np").wait_for()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the script").click()
        assert download.value.suggested_filename == "iris.py"
        page.go_back()
        page.get_by_role("link", name="Profile", exact=True).and_(page.locator("[aria-current=page]")).wait_for()


def test_a_thousand_nodes_are_usable_and_names_are_never_markup(browser: Any, served: ServerProcess, deep: str) -> None:
    nodes = served.http.get(f"/v1/graphs/{deep}/nodes?backward=true").json()["data"]
    assert len(nodes) > 1000
    with tab_of(browser, served.url) as tab:
        page = tab.page
        tab.open("#/graphs")
        page.get_by_role("link", name=HOSTILE).click()
        page.locator("[data-box='group ∇ linear_0']").wait_for()
        page.get_by_role("button", name="Backward pass").click()
        page.locator("[data-box='group ∇ linear_0']").wait_for(state="detached")
        assert page.evaluate(UPWARD) == 0
        page.get_by_role("button", name="Backward pass").click()
        page.locator("[data-box='group ∇ linear_0']").wait_for()
        assert page.locator("[data-box]").count() < 300
        page.get_by_role("button", name="Open all layers").click()
        page.locator("[data-box='value linear_0.weight']").wait_for()
        page.get_by_role("button", name="Close all layers").click()
        page.locator("[data-box='value linear_0.weight']").wait_for(state="detached")
        page.get_by_text("Nodes as a table").click()
        page.get_by_role("rowheader", name=re.compile("grad for linear_0.weight")).wait_for()
        assert page.evaluate("window.hit") is None
