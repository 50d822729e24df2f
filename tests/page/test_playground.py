"""The playground: text with faults marked, values, gradients and Hessian, and the way to a fit."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from tests.page.conftest import tab_of
from tests.support.server import ServerProcess

HOSTILE = "<script>window.hit=1</script><img src=x onerror=window.hit=1>"


def rows_of(page: Any, label: str) -> dict[str, str]:
    """Return the last cell of each row of a table in a region, by the head of the row."""
    shown: dict[str, str] = page.get_by_role("region", name=label, exact=True).evaluate(
        "region => Object.fromEntries([...region.querySelectorAll('tbody tr')].map("
        "row => [row.querySelector('th').textContent, row.lastElementChild.textContent]))"
    )
    return shown


def test_a_line_is_checked_and_computed_while_it_is_typed(browser: Any, served: ServerProcess) -> None:
    before = len(served.http.get("/v1/graphs?limit=200").json()["data"])
    with tab_of(browser, served.url) as tab:
        page = tab.page
        tab.open("#/playground")
        page.get_by_role("region", name="Hessian").wait_for()
        assert rows_of(page, "Outputs and losses") == {"f": "16"}
        assert rows_of(page, "Gradients") == {"∂f/∂a": "4", "∂f/∂b": "1", "∂f/∂x": "12"}
        assert rows_of(page, "Hessian")["x"] == "6"
        page.locator("[data-box='value grad for x']").or_(page.locator("[data-box^='group ∇']")).first.wait_for()
        tab.check_accessibility()
        page.get_by_label("Program", exact=True).fill("g = a * 2\nf = g + tanhh(b)")
        fault = page.get_by_role("button", name=re.compile("line 2: .*did you mean 'tanh'"))
        fault.wait_for()
        assert page.locator("mark").all_text_contents() == ["tanhh"]
        tab.check_accessibility()
        fault.click()
        place = "[document.activeElement.selectionStart, document.activeElement.selectionEnd]"
        assert page.evaluate(place) == [18, 23]
        page.keyboard.type("exp")
        page.get_by_label("Value of b").fill("0")
        page.get_by_role("rowheader", name="∂f/∂b").wait_for()
        seven = (
            page.get_by_role("region", name="Outputs and losses")
            .get_by_role("row")
            .filter(has_text=re.compile("^f.*7$"))
        )
        seven.wait_for()
        page.reload()
        seven.wait_for()
        tab.open("#/graphs")
        page.get_by_label("Search graphs").wait_for()
        page.wait_for_load_state("networkidle")
    assert len(served.http.get("/v1/graphs?limit=200").json()["data"]) <= before + 1


def test_layers_become_a_fit(browser: Any, served: ServerProcess, trained: dict[str, str]) -> None:
    assert trained["dataset"]
    with tab_of(browser, served.url) as tab:
        page = tab.page
        tab.open("#/playground")
        page.get_by_label("Example").select_option("iris")
        editor = page.get_by_label("Graph as JSON")
        editor.wait_for()
        text = editor.input_value()
        editor.fill(text.replace('"units": 16', '"unit": 16'))
        page.get_by_role("button", name=re.compile("layers.1.unit: .*did you mean 'units'")).wait_for()
        assert page.locator("mark").all_text_contents() == ['"unit": 16']
        editor.fill(text[:-1])
        page.get_by_role("button", name=re.compile("is expected here")).wait_for()
        editor.fill(text)
        editor.press("Control+Enter")
        page.get_by_role("rowheader", name="∂loss/∂linear_1.bias").wait_for()
        page.locator("[data-box='group ∇ linear_0']").wait_for()
        tab.check_accessibility()
        page.get_by_label("Epochs").fill("2")
        page.get_by_role("button", name="Start the fit").click()
        page.wait_for_url(re.compile("#/fits/fit_"))
        page.locator("h1 .state-succeeded").wait_for()
        page.go_back()
        page.get_by_label("Graph as JSON").wait_for()


def test_a_graph_is_built_by_forms_and_becomes_a_fit(
    browser: Any, served: ServerProcess, trained: dict[str, str]
) -> None:
    with tab_of(browser, served.url) as tab:
        page = tab.page
        tab.open("#/playground?example=newNodes")
        page.get_by_label("Value of x").fill("3")
        page.get_by_label("Op", exact=True).fill("add")
        page.get_by_label("Name", exact=True).fill("total")
        page.get_by_label("a", exact=True).fill("product")
        page.get_by_label("b", exact=True).fill("1.5")
        page.get_by_label(re.compile("^Role")).select_option("outputs")
        page.get_by_role("button", name="Add the node").click()
        page.get_by_role("region", name="Outputs and losses").get_by_role("rowheader", name="total").wait_for()
        page.get_by_label("Derivatives of").select_option("total")
        page.get_by_role("rowheader", name="∂total/∂w").wait_for()
        assert rows_of(page, "Outputs and losses")["total"] == "1.5"
        assert rows_of(page, "Gradients") == {"∂total/∂x": "0", "∂total/∂w": "3"}
        assert rows_of(page, "Hessian") == {"x": "1", "w": "0"}
        page.get_by_role("button", name="Remove product = mul(w, x)").click()
        page.get_by_role("button", name=re.compile("nothing before this node is called 'product'")).wait_for()
        tab.check_accessibility()

        tab.open("#/playground?example=newLayers")
        for part in ("linear units=1", "x [batch, 4] float32", "y [batch, 1] float32"):
            page.get_by_role("button", name=f"Remove {part}").click()
        page.get_by_role("button", name="Add input").click()
        for name, shape, dtype in (("flower", "batch, 4", "float32"), ("species", "batch", "int64")):
            page.get_by_label("Name", exact=True).fill(name)
            page.get_by_label("Shape").fill(shape)
            page.get_by_label(re.compile("^Type")).select_option(dtype)
            page.get_by_role("button", name="Add the input").click()
            page.get_by_role("button", name=f"Remove {name} ").wait_for()
        page.get_by_role("button", name="Add layer").click()
        page.get_by_label("Layer", exact=True).fill("linear")
        for units, activation in (("3", ""), ("5", "tanh")):
            page.get_by_role("textbox", name="units").fill(units)
            page.get_by_text("Options", exact=True).click()
            page.get_by_role("combobox", name=re.compile("^activation")).select_option(activation)
            page.get_by_text("Options", exact=True).click()
            page.get_by_role("button", name="Add the layer").click()
        page.get_by_role("button", name="Move linear units=5 activation=tanh up").click()
        page.get_by_role("button", name="Loss", exact=True).click()
        page.get_by_label("Loss", exact=True).fill("cross_entropy")
        page.get_by_label(re.compile("^Target")).select_option("species")
        page.get_by_role("button", name="Set the loss").click()
        page.locator("#faults").get_by_text("43 parameters, loss loss").wait_for()
        page.get_by_label("Take the first 4 rows of").select_option(trained["dataset"])
        page.wait_for_function(
            "() => document.querySelector('[aria-label=\"Value of species\"]').value === '[0,0,0,0]'"
        )
        page.get_by_role("rowheader", name="∂loss/∂linear_1.bias").wait_for()
        page.get_by_label("Epochs").fill("2")
        page.get_by_role("button", name="Start the fit").click()
        page.wait_for_url(re.compile("#/fits/fit_"))
        page.locator("h1 .state-succeeded").wait_for()


def test_every_example_is_valid(browser: Any, served: ServerProcess) -> None:
    with tab_of(browser, served.url) as tab:
        tab.open("#/playground")
        choice = tab.page.get_by_label("Example")
        names = [option.get_attribute("value") for option in choice.locator("option").all()]
        for name in filter(None, names):
            choice.select_option(name)
            tab.page.wait_for_url(re.compile(f"example={name}"))
            tab.page.locator("#faults").get_by_text("✓").wait_for()
        graph = served.http.post("/v1/graphs", json={"inputs": {"x": []}, "program": "f = x * 3"}).json()["id"]
        tab.open(f"#/graphs/{graph}")
        tab.page.get_by_role("link", name="Open in the playground").click()
        tab.page.get_by_label("Graph as JSON").wait_for()
        tab.page.locator("#faults").get_by_text("✓ 1 node,").wait_for()


def test_texts_of_an_address_are_never_markup(browser: Any, served: ServerProcess) -> None:
    texts = [f'{{"form": "program", "text": "f = a {HOSTILE}"}}', HOSTILE, '{"form": 3, "text": null}']
    with tab_of(browser, served.url) as tab:
        tab.page.set_viewport_size({"width": 360, "height": 700})
        for text in texts:
            tab.page.goto("about:blank")
            tab.open(f"#/playground?p={quote(text)}&box={quote(HOSTILE)}&open={quote(HOSTILE)}&of={quote(HOSTILE)}")
            tab.page.get_by_role("heading", name="Playground").wait_for()
            tab.page.locator("#faults > *").first.wait_for()
            assert tab.page.evaluate("window.hit") is None
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
