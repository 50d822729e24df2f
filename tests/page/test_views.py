"""The page in Chromium: every view with real fits of a real server."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.store.database import FILE_NAME
from tests.extent import FULL
from tests.page.conftest import create_graph, start_fit, tab_of, upload_iris
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import ServerProcess, StartServer

HOSTILE = "<script>window.hit=1</script><img src=x onerror=window.hit=1>"
KEY = "a-key-for-the-tests-of-the-page"


SHOW = (
    "state => { Object.defineProperty(document, 'visibilityState', {value: state, configurable: true});"
    " document.dispatchEvent(new Event('visibilitychange')); }"
)


def wait_for_rows(page: Any, least: int) -> dict[str, int]:
    """Wait until the curves have so many rows; return how many there are and the number of the last."""
    page.wait_for_function("least => Number(document.querySelector('[data-rows]')?.dataset.rows) >= least", arg=least)
    shown = page.evaluate("() => ({...document.querySelector('[data-rows]').dataset})")
    return {name: int(value) for name, value in shown.items()}


def test_a_first_visit_trains_with_one_click(browser: Any, start_server: StartServer) -> None:
    with tab_of(browser, start_server().url) as tab:
        tab.open()
        tab.page.get_by_role("button", name="Train iris").wait_for()
        tab.check_accessibility()
        tab.page.get_by_role("button", name="Train iris").click()
        tab.page.wait_for_url(re.compile("#/fits/fit_"))
        tab.page.locator("h1 .state-succeeded").wait_for()
        shown = wait_for_rows(tab.page, 540)
        assert shown == {"rows": 540, "last": 540}
        tab.page.go_back()
        tab.page.get_by_role("row", name=re.compile("iris")).locator("svg.spark").wait_for()


VIEWS = {
    "#/fits": "loss from",
    "#/fits/{fit}": "metric rows",
    "#/fits/{fit}?x=epoch&smooth=0.6&log=1": "metric rows",
    "#/fits/{fit}?x=time": "metric rows",
    "#/fits/{fit}/gradients": "Norm of the weights by parameter",
    "#/fits/{fit}/gradients?parameter=linear_0.weight": "Statistics as a table",
    "#/fits/{fit}/graph": "Nodes as a table",
    "#/fits/{fit}/timeline": "attempt 1",
    "#/fits/{fit}/checkpoints?predict={checkpoint}&row=3": "0 to 149",
    "#/fits/{fit}/request?as=python": "client.fit(",
    "#/compare?fits={fit},{other}": "Ranking by",
    "#/graphs": "iris",
    "#/playground?example=rosenbrock": "Second derivatives",
    "#/graphs/{graph}": "Nodes as a table",
    "#/datasets": "flower float32[4]",
    "#/datasets/{dataset}": "computed from all rows",
    "#/system": "Usable cores",
    "#/system/sessions": "POST /v1/sessions",
    "#/system/keys": "Create a key",
    "#/system/audit": "adjoint audit verify",
}
LABELS = {"loss from", "Norm of the weights by parameter"}
"""Those of the texts above that are labels."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(browser: Any, served: ServerProcess, trained: dict[str, str], scheme: str) -> None:
    with tab_of(browser, served.url, color_scheme=scheme) as tab:
        for address, text in VIEWS.items():
            tab.open(address.format(**trained))
            shown = tab.page.get_by_label(text) if text in LABELS else tab.page.get_by_text(text)
            shown.first.wait_for()
            # Of all rules, only that of contrast depends on the colours.
            tab.check_accessibility("color-contrast" if scheme == "dark" else None)


def test_every_view_fits_a_narrow_screen(browser: Any, served: ServerProcess, trained: dict[str, str]) -> None:
    with tab_of(browser, served.url) as tab:
        tab.page.set_viewport_size({"width": 360, "height": 700})
        for address in VIEWS:
            tab.open(address.format(**trained))
            tab.page.locator("main h1, main h2").first.wait_for()
            width = tab.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, (address, width)


def test_curves_continue_after_the_server_was_killed(browser: Any, start_server: StartServer) -> None:
    first = start_server()
    dataset, graph = upload_iris(first.http), create_graph(first.http)
    fit = start_fit(first.http, graph=graph, dataset=dataset, epochs=None, steps=10**7, record={"every_steps": 20})
    with tab_of(browser, first.url) as tab:
        tab.open(f"#/fits/{fit}")
        before = wait_for_rows(tab.page, 20)
        first.stop(signal.SIGKILL)
        tab.page.get_by_text("No connection to the server").wait_for()
        start_server(port=urlsplit(first.url).port)
        tab.page.get_by_text("2 attempts").wait_for()
        tab.page.locator("h1 .state-running").wait_for()
        wait_for_rows(tab.page, before["rows"] + 50)
        tab.page.get_by_role("button", name="Cancel").click()
        tab.page.locator("h1 .state-cancelled").wait_for()
        # Numbers grow from row to row: as many rows as the last number are all of them, each once.
        tab.page.wait_for_function(
            "() => { const {rows, last} = document.querySelector('[data-rows]').dataset; return rows === last; }"
        )


def test_texts_of_users_are_never_markup(browser: Any, served: ServerProcess) -> None:
    http = served.http
    dataset, graph = upload_iris(http, HOSTILE[:60]), create_graph(http, HOSTILE[:60])
    fit = start_fit(http, graph=graph, dataset=dataset, start_paused=True, labels={"team": HOSTILE, "b": "'\"`"})
    with tab_of(browser, served.url) as tab:
        for address in (
            "#/fits",
            f"#/fits/{fit}",
            f"#/fits/{fit}/graph",
            f"#/datasets/{dataset}",
            f"#/compare?fits={fit}",
        ):
            tab.open(address)
            tab.page.get_by_text("<script>window").first.wait_for()
            assert tab.page.evaluate("window.hit") is None
        tab.open("#/fits?q=" + "%3Cimg&sort=%22%3E%3Cscript%3E&state=%3Cb%3E")
        tab.page.get_by_text("No fit matches").wait_for()


def test_the_table_is_used_by_keyboard(browser: Any, served: ServerProcess, trained: dict[str, str]) -> None:
    with tab_of(browser, served.url) as tab:
        page = tab.page
        tab.open("#/fits")
        page.get_by_role("row", name=re.compile("team:vision")).wait_for()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("/")
        page.keyboard.type("speech succeeded")
        page.get_by_text(re.compile(r"^1 of \d+ fits$")).wait_for()
        assert "q=speech" in page.url
        page.get_by_text("Curves", exact=False).first.focus()
        page.keyboard.press("Enter")
        page.get_by_role("checkbox", name="validation accuracy").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Escape")
        page.get_by_role("columnheader", name="Val. accuracy").wait_for()
        page.get_by_label(re.compile("^validation accuracy from")).wait_for()
        page.get_by_role("group", name="Values that are drawn").wait_for(state="hidden")
        page.get_by_role("checkbox", name=re.compile("^Select iris")).focus()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Delete").focus()
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for()
        assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
        tab.check_accessibility()
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
        page.locator("button:focus", has_text="Delete").wait_for()
        page.locator("td.name a").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/#/fits/{trained['other']}")


def test_many_fits_are_a_few_rows(browser: Any, start_server: StartServer) -> None:
    server, count = start_server(), 500 if FULL else 45
    dataset, graph = upload_iris(server.http), create_graph(server.http)
    for number in range(count):
        start_fit(server.http, graph=graph, dataset=dataset, start_paused=True, labels={"number": f"n{number:03}"})
    with tab_of(browser, server.url) as tab:
        tab.open("#/fits?sort=created")
        tab.page.get_by_text(f"{count} fits").wait_for()
        assert tab.page.locator("tbody tr").count() < 42
        tab.page.evaluate("document.querySelector('.table-box').scrollTop = 1e9")
        tab.page.get_by_text(f"number:n{count - 1:03}").wait_for()
        tab.page.get_by_role("checkbox", name="Select all fits").check()
        tab.page.get_by_role("button", name="Cancel").click()
        tab.page.get_by_role("button", name=re.compile(f"cancelled {count}")).wait_for()
    states = server.http.get("/v1/fits?state=cancelled&limit=1000").json()["data"]
    assert len(states) == count


@pytest.mark.sqlite
def test_a_long_curve_is_drawn_by_its_extremes(browser: Any, start_server: StartServer) -> None:
    count, spike = (1_000_000 if FULL else 30_000), 777
    first = start_server()
    fit = start_fit(first.http, graph=create_graph(first.http), dataset=upload_iris(first.http), start_paused=True)
    first.stop()
    with sqlite3.connect(first.data_dir / FILE_NAME) as database:
        rows = (
            (fit, 10 + seq, "metric", long_curve_row(seq, 9.5 if seq == spike else seq / count), seq, seq * 1000)
            for seq in range(1, count + 1)
        )
        database.executemany(
            "INSERT INTO events (fit_id, seq, kind, body, metric_seq, created_at) VALUES (?, ?, ?, ?, ?, ?)", rows
        )
        database.execute("UPDATE fits SET latest = ? WHERE id = ?", ('{"loss":1.0}', fit))
    database.close()
    http = start_server().http
    answer = http.get(f"/v1/fits/{fit}/metrics?downsample=200&keys=loss", timeout=LONGEST_WAIT).json()
    assert len(answer["data"]) <= 200
    assert max(answer["data"], key=lambda row: row["values"]["loss"])["seq"] == spike
    with tab_of(browser, str(http.base_url).rstrip("/")) as tab:
        tab.open(f"#/fits/{fit}")
        tab.page.locator(f"[data-last='{count}']").wait_for()
        assert 1000 < wait_for_rows(tab.page, 1000)["rows"] <= 10_000
        tab.open(f"#/fits/{fit}/gradients")
        tab.page.get_by_text("No gradient was captured").wait_for()


def long_curve_row(seq: int, loss: float) -> str:
    values = f'{{"loss":{loss},"grad_norm/linear_0.weight":{loss}}}'
    return f'{{"seq":{seq},"step":{seq},"epoch":1,"split":"train","values":{values},"nonfinite":{{}}}}'


def test_a_key_is_asked_for_and_kept_for_the_tab(browser: Any, start_server: StartServer) -> None:
    server = start_server(api_key=KEY)
    headers = {"Authorization": f"Bearer {KEY}"}
    server.http.headers.update(headers)
    fit = start_fit(server.http, graph=create_graph(server.http), dataset=upload_iris(server.http))
    with tab_of(browser, server.url) as tab:
        tab.open(f"#/fits/{fit}")
        field = tab.page.get_by_label("API key")
        field.fill("not-the-key-of-this-server")
        tab.check_accessibility()
        field.press("Enter")
        tab.page.locator("#sign-in-problem:not(:empty)").wait_for()
        field.fill(KEY)
        field.press("Enter")
        tab.page.locator("h1 .state-succeeded").wait_for()
        wait_for_rows(tab.page, 45)
        assert tab.page.evaluate("Object.values(localStorage).concat(document.cookie)") == ["", ""]
        with tab.page.expect_download() as download:
            tab.open(f"#/fits/{fit}/checkpoints")
            tab.page.get_by_role("button", name="Download").first.click()
        assert download.value.suggested_filename.endswith(".safetensors")


def test_a_checkpoint_is_evaluated_on_a_dataset(browser: Any, served: ServerProcess, trained: dict[str, str]) -> None:
    with tab_of(browser, served.url) as tab:
        tab.open("#/fits/{fit}/checkpoints?evaluate={checkpoint}".format(**trained))
        tab.page.locator("form").get_by_role("button", name="Evaluate").click()
        tab.page.get_by_role("region", name="Confusion matrix").wait_for()
        counts = tab.page.locator(".matrix td").all_text_contents()
        assert sum(map(int, counts)) == 150
        tab.check_accessibility()


def test_a_hidden_page_closes_its_stream_and_misses_nothing(browser: Any, start_server: StartServer) -> None:
    http = (server := start_server()).http
    record = {"every_steps": 20}
    fit = start_fit(http, graph=create_graph(http), dataset=upload_iris(http), epochs=None, steps=10**7, record=record)
    with tab_of(browser, server.url) as tab:
        tab.open(f"#/fits/{fit}")
        wait_for_rows(tab.page, 20)
        with tab.page.expect_event("requestfailed", lambda request: "/events?" in request.url):
            tab.page.evaluate(SHOW, "hidden")
        step = http.get(f"/v1/fits/{fit}").json()["step"]
        answer = http.get(f"/v1/fits/{fit}")
        while answer.json()["step"] < step + 1000:
            known = {"If-None-Match": answer.headers["ETag"]}
            changed = http.get(f"/v1/fits/{fit}", params={"wait": 1, "until": "change"}, headers=known)
            answer = changed if changed.status_code == 200 else answer
        before = tab.page.evaluate("() => Number(document.querySelector('[data-rows]').dataset.rows)")
        tab.page.evaluate(SHOW, "visible")
        assert wait_for_rows(tab.page, before + 50)["rows"] >= before + 50
        http.post(f"/v1/fits/{fit}:cancel")
        tab.page.locator("h1 .state-cancelled").wait_for()
        tab.page.wait_for_function(
            "() => { const {rows, last} = document.querySelector('[data-rows]').dataset; return rows === last; }"
        )


@pytest.mark.usefixtures("trained")
def test_a_hidden_page_asks_nothing_and_the_table_one_thing_at_a_time(browser: Any, served: ServerProcess) -> None:
    with tab_of(browser, served.url) as tab:
        tab.page.clock.install()
        tab.open("#/fits")
        tab.page.get_by_text("team:vision").first.wait_for()
        tab.page.evaluate(SHOW, "hidden")
        tab.page.wait_for_load_state("networkidle")
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(request.url))
        tab.page.clock.run_for(120_000)
        assert asked == []
        with tab.page.expect_request("**/v1/fits?*"):
            tab.page.evaluate(SHOW, "visible")
        deadline = time.monotonic() + PATIENCE
        while sum("/v1/fits?" in url for url in asked) < 5:
            assert time.monotonic() < deadline
            tab.page.clock.run_for(2000)
        # However many fits there are: those that have ended are listed together, and never asked for one by one.
        assert not [url for url in asked if re.fullmatch("/v1/fits/[^/]+", urlsplit(url).path)]


def test_kernels_that_a_fit_waits_for_are_counted(browser: Any, served: ServerProcess, trained: dict[str, str]) -> None:
    """The events are none of the server's: that has compiled its kernels."""
    count = 3

    def answer(route: Any) -> None:
        log = json.dumps({"code": "compiling", "count": count, "total": 12})
        route.fulfill(content_type="text/event-stream", body=f"id: {10**9 + count}\nevent: log\ndata: {log}\n\n")

    with tab_of(browser, served.url) as tab:
        tab.page.route("**/events?*", answer)
        tab.open(f"#/fits/{trained['fit']}")
        tab.page.get_by_text("compiling 3/12").wait_for()
        count = 12
        tab.page.get_by_text("compiling").wait_for(state="detached")


DRAWN = (
    "count => { const images = [...document.querySelectorAll('canvas.pixels')]; return images.length === count"
    " && images.every(image => image.getContext('2d').getImageData(0, 0, 1, 1).data[3] === 255); }"
)
"""JavaScript: whether `count` images are drawn."""


def test_images_and_texts_of_a_dataset_are_shown_as_such(browser: Any, served: ServerProcess) -> None:
    side = range(4)
    # Red grows to the right, green downwards; blue is 0 but for the second row, which is all blue.
    first = [
        [[list(side) for _ in side], [[y for _ in side] for y in side], [[3 * row for _ in side] for _ in side]]
        for row in (0, 1)
    ]
    last = [[[[image[channel][y][x] for channel in range(3)] for x in side] for y in side] for image in first]
    texts = ["A text that is as long as a sentence.", HOSTILE]
    columns = {"first": first, "last": last, "text": texts, "codes": [[*b"Some text!"], [*b"another\0\0\0"]]}
    dataset = served.http.post("/v1/datasets?name=mixed", json={"columns": columns})
    assert dataset.status_code == 201, dataset.text
    with tab_of(browser, served.url) as tab:
        page = tab.page
        tab.open(f"#/datasets/{dataset.json()['id']}")
        page.get_by_role("region", name="Rows").get_by_text(texts[0], exact=True).wait_for()
        page.wait_for_function(DRAWN, arg=4)
        images = page.get_by_role("img", name="image of 4 by 4").all()
        pixels = [
            [
                page.evaluate(
                    "([canvas, x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]",
                    [image.element_handle(), x, y],
                )
                for x, y in ((3, 0), (0, 3))
            ]
            for image in images
        ]
        assert pixels == 2 * [[[255, 0, 0, 255], [0, 255, 0, 255]]] + 2 * [[[255, 0, 255, 255], [0, 255, 255, 255]]]
        page.get_by_role("cell", name="Some text!", exact=True).wait_for()
        page.get_by_role("button", name="numbers").click()
        page.get_by_role("cell", name="[83, 111, 109, 101,").wait_for()
        page.get_by_role("button", name="image of 4 by 4").first.click()
        page.locator(".thumbnail[aria-expanded=true] .big").wait_for()
        assert page.evaluate("window.hit") is None
        tab.check_accessibility()


def test_keys_are_created_and_revoked(browser: Any, start_server: StartServer) -> None:
    server = start_server()
    with tab_of(browser, server.url) as tab:
        page = tab.page
        tab.open("#/system/keys")
        page.get_by_label("Name").fill("<b>first</b>")
        page.get_by_role("button", name="Create key").click()
        page.get_by_text("this tab uses the new one").wait_for()
        tab.check_accessibility()
        secret = page.get_by_label("the new key", exact=True).text_content()
        server.http.headers["Authorization"] = f"Bearer {secret}"
        page.get_by_label("Name").fill("second")
        page.get_by_label("Scope").select_option("read")
        page.get_by_role("button", name="Create key").click()
        page.get_by_role("row", name=re.compile("^second")).get_by_role("button", name="Revoke").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        page.get_by_role("row", name=re.compile("^second.*revoked")).wait_for()
        keys = {key["name"]: key for key in server.http.get("/v1/keys").json()["data"]}
        assert keys["<b>first</b>"]["revoked_at"] is None
        assert keys["second"]["scopes"] == ["read"]
        assert keys["second"]["revoked_at"]
        tab.open("#/system/audit")
        page.get_by_text("revoke key").wait_for()


def test_a_checkpoint_predicts_a_row_of_the_dataset(
    browser: Any, served: ServerProcess, trained: dict[str, str]
) -> None:
    with tab_of(browser, served.url) as tab:
        page = tab.page
        tab.open("#/fits/{fit}/checkpoints".format(**trained))
        row = page.get_by_label("Row of the dataset")
        # What is typed stays when the form is drawn again, with the values of the first row.
        page.route(re.compile(r"/rows\?offset=0&"), lambda route: (row.fill("149"), route.continue_()))
        page.get_by_role("button", name="Predict").first.click()
        page.wait_for_function("() => document.querySelector('.input textarea')?.value.startsWith('[5.1')")
        assert row.input_value() == "149"
        page.keyboard.press("Tab")
        page.wait_for_function("() => document.querySelector('.input textarea')?.value.startsWith('[5.9')")
        page.locator("form").get_by_role("button", name="Predict").click()
        page.get_by_text("in the dataset", exact=False).last.wait_for()
        shown = [page.locator(".bars meter").nth(place).get_attribute("value") for place in range(3)]
        assert sum(map(float, shown)) == pytest.approx(1)
        page.locator(".input textarea").fill("[1, 2")
        page.locator("form").get_by_role("button", name="Predict").click()
        page.get_by_text("expected JSON of one row").wait_for()


def test_the_page_works_behind_a_prefix(browser: Any, served: ServerProcess, trained: dict[str, str]) -> None:
    with tab_of(browser, f"{served.url}/some/prefix") as tab:
        tab.page.route("**/*", lambda route: route.continue_(url=route.request.url.replace("/some/prefix", "", 1)))
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(urlsplit(request.url).path))
        tab.open(f"#/fits/{trained['fit']}")
        wait_for_rows(tab.page, 45)
        assert all(path.startswith("/some/prefix/") for path in asked)


def test_dead_and_exploding_parameters_are_marked(browser: Any, served: ServerProcess) -> None:
    small = {"kind": "uniform", "low": 0.05, "high": 0.1}
    graph = {
        "inputs": {"x": ["batch", 1]},
        "parameters": {"steep": {"shape": [1, 1], "init": small}, "unused": {"shape": [1, 2], "init": small}},
        "program": "loss = mean((x @ steep - 1.0) ** 2) + mean(relu(x @ unused - 1000.0))",
    }
    rows = {"columns": {"x": [[0.1]] * 19 + [[1000.0]]}}
    options = {"epochs": 1, "batch_size": 1, "shuffle": False, "optimizer": {"kind": "sgd", "lr": 1e-3}}
    answer = served.http.post("/v1/fits", json={"graph": graph, "dataset": rows, **options})
    assert answer.status_code == 202, answer.text
    with tab_of(browser, served.url) as tab:
        tab.open(f"#/fits/{answer.json()['id']}/gradients")
        norms = tab.page.get_by_label("Norm of the gradient by parameter")
        norms.get_by_role("row", name=re.compile("unused")).get_by_text("dead", exact=True).wait_for()
        norms.get_by_role("row", name=re.compile("steep")).get_by_text("exploding", exact=True).wait_for()


def test_any_number_of_fits_is_compared(browser: Any, served: ServerProcess) -> None:
    http, count = served.http, 30
    rates = [0.05 + 0.01 * place for place in range(count)]
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": rates}}
    data = {"graph": create_graph(http), "dataset": upload_iris(http)}
    fit = start_fit(http, **data, epochs=2, optimizer={"kind": "sgd"}, sweep=sweep)
    with tab_of(browser, served.url) as tab:
        tab.open(f"#/compare?sweep={fit}")
        picture = tab.page.get_by_label(f"loss, train: {count} curves")
        box = box_of(tab.page, picture.locator(".u-over"))
        assert [*filter(None, named_under_the_pointer(tab.page, picture, box))]
        tab.check_accessibility()
        assert on_one_axis(tab.page, 3) == [[0, 2, 4], [1, 2, 3], [None, 5, None]]
        assert on_one_axis(tab.page, 2) == [[0, 4], [1, 3], [None, None]]


def box_of(page: Any, part: Any) -> dict[str, float]:
    """Return where a part of a picture is; a picture has none for a moment while it is redrawn."""
    end = time.monotonic() + PATIENCE
    while (box := part.bounding_box()) is None:
        assert time.monotonic() < end, "the picture is not drawn"
        page.evaluate("new Promise(requestAnimationFrame)")
    found: dict[str, float] = box
    return found


def on_one_axis(page: Any, most: int) -> Any:
    """Return two curves over an axis of at most so many places."""
    module = "new URL('lib/curves.js', document.querySelector('script[type=module]').src)"
    curves = "[{x: [0, 2, 4], y: [1, 2, 3]}, {x: [2], y: [5]}]"
    return page.evaluate(f"import({module}).then(found => found.onOneAxis({curves}, {most}))")


def named_under_the_pointer(page: Any, picture: Any, box: dict[str, float]) -> Iterator[str]:
    """Move the pointer down a picture, and yield the curve that is named at each place."""
    for place in range(20):
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * (place + 0.5) / 20)
        page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        yield picture.locator("figcaption span").text_content()
