import io
import math
from typing import Any

import httpx
import numpy as np
import pytest

from tests.app.api.conftest import refused
from tests.support.patience import LONGEST_WAIT

from .conftest import created

MODEL = {
    "inputs": {"x": ["batch", 2], "y": ["batch"]},
    "parameters": {
        "block/w.1": {"shape": [2], "init": {"kind": "zeros"}},
        "c": {"shape": [], "init": {"kind": "zeros"}},
    },
    "nodes": [
        {"name": "h", "op": "matmul", "inputs": ["x", "block/w.1"]},
        {"name": "pred", "op": "add", "inputs": ["h", "c"]},
        {"name": "loss", "op": "mse_loss", "inputs": ["pred", "y"]},
    ],
    "losses": ["loss"],
}
NAMES = {"block/w.1": "block%2Fw.1", "c": "c"}


def run(http: httpx.Client, **request: Any) -> dict[str, Any]:
    fit = created(http.post("/v1/fits", json={"graph": MODEL, "batch_size": 4, "seed": 1, **request}))
    done: dict[str, Any] = http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()
    assert done["terminal"], done
    return done


@pytest.fixture(scope="module")
def looked_into(http: httpx.Client, points: dict[str, Any]) -> dict[str, Any]:
    """Return a fit of 12 steps that captured gradients at steps 0, 5 and 10."""
    record = {"gradients": {"every_steps": 5}}
    return run(http, dataset=points["id"], epochs=3, record=record, optimizer={"kind": "sgd", "lr": 0.01})


def rows(http: httpx.Client, fit: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    answer = http.get(f"/v1/fits/{fit['id']}/gradients", params=params)
    assert answer.status_code == 200, answer.text
    listed: list[dict[str, Any]] = answer.json()["data"]
    return listed


def test_captured_gradients_are_listed_by_step_and_parameter(http: httpx.Client, looked_into: dict[str, Any]) -> None:
    assert looked_into["links"]["gradients"] == f"/v1/fits/{looked_into['id']}/gradients"
    listed = rows(http, looked_into, order="asc")
    assert [(row["step"], row["parameter"]) for row in listed] == [
        (step, name) for step in (0, 5, 10) for name in NAMES
    ]
    assert {(row["dtype"], tuple(row["shape"])) for row in listed} == {("float32", (2,)), ("float32", ())}
    assert [row["step"] for row in rows(http, looked_into)] == [10, 10, 5, 5, 0, 0]
    assert {row["parameter"] for row in rows(http, looked_into, step=5)} == {*NAMES}
    assert [row["step"] for row in rows(http, looked_into, parameter="c", order="asc")] == [0, 5, 10]
    for filters in ({"step": 6}, {"parameter": "nobody"}, {"step": 5, "parameter": "nobody"}):
        answer = http.get(f"/v1/fits/{looked_into['id']}/gradients", params=filters)
        assert refused(answer) == [(f"/{name}", "no_match") for name in sorted(filters)]


def test_pages_of_gradients_make_up_the_whole(http: httpx.Client, looked_into: dict[str, Any]) -> None:
    gathered: list[Any] = []
    cursor: dict[str, str] = {}
    more = True
    while more:
        page = http.get(looked_into["links"]["gradients"], params={"limit": 4, **cursor}).json()
        gathered += page["data"]
        more, cursor = page["has_more"], {"cursor": page["next_cursor"]}
    assert gathered == rows(http, looked_into)


def test_every_format_holds_the_same_numbers(http: httpx.Client, looked_into: dict[str, Any]) -> None:
    for row in rows(http, looked_into):
        here = row["links"]["self"]
        npy = http.get(here, headers={"Accept": "application/x-npy"})
        assert npy.headers["content-type"] == "application/x-npy"
        assert npy.headers["etag"] == f'"{row["digest"]}"'
        assert len(npy.content) == row["size_bytes"]
        array = np.load(io.BytesIO(npy.content), allow_pickle=False)
        assert (array.dtype.name, list(array.shape)) == (row["dtype"], row["shape"])
        tensor = http.get(here).json()
        assert (tensor["dtype"], tensor["shape"], tensor["nonfinite"]) == (row["dtype"], row["shape"], {})
        assert np.array(tensor["data"], row["dtype"]).tobytes() == array.tobytes()


def test_a_captured_gradient_is_that_of_the_loss_and_its_norm_that_of_the_row(
    http: httpx.Client, points: dict[str, Any]
) -> None:
    # One batch of all rows, at the parameters that are computed with here: zeros.
    whole = run(http, dataset=points["id"], steps=1, batch_size=16, record={"gradients": {"steps": [0]}})
    x = np.array([[i / 8, -i / 16] for i in range(16)])
    y = np.array([i / 4 for i in range(16)])
    expected = {"block/w.1": -2 * (y[:, None] * x).mean(0), "c": np.array(-2 * y.mean())}
    (row,) = http.get(f"/v1/fits/{whole['id']}/metrics").json()["data"]
    for name, quoted in NAMES.items():
        here = f"/v1/fits/{whole['id']}/gradients/{quoted}"
        array = np.array(http.get(here).json()["data"]).reshape(expected[name].shape)
        np.testing.assert_allclose(array, expected[name], rtol=1e-6)
        stats = http.get(here, params={"stats": True}).json()
        assert stats["norm"] == pytest.approx(row["values"][f"grad_norm/{name}"], rel=1e-6)
    total = math.sqrt(sum(row["values"][f"grad_norm/{name}"] ** 2 for name in NAMES))
    assert row["values"]["grad_norm"] == pytest.approx(total, rel=1e-6)


def test_a_few_numbers_say_what_a_gradient_looks_like(http: httpx.Client, looked_into: dict[str, Any]) -> None:
    here = f"/v1/fits/{looked_into['id']}/gradients/block%2Fw.1"
    # The numbers are encoded as what they are, float32: fewer digits than the sums in float64 have.
    data = np.array(http.get(here, params={"step": 5}).json()["data"], np.float32).astype(float).tolist()
    stats = http.get(here, params={"step": 5, "stats": True}).json()
    assert (stats["step"], stats["parameter"], stats["elements"]) == (5, "block/w.1", 2)
    assert stats["norm"] == pytest.approx(math.hypot(*data), rel=1e-12)
    assert (stats["min"], stats["max"], stats["abs_max"]) == (min(data), max(data), max(map(abs, data)))
    assert (stats["zeros"], stats["nan"], stats["inf"], stats["nonfinite"]) == (0, 0, 0, {})
    assert sum(stats["histogram"]["counts"]) == 2
    assert (stats["histogram"]["edges"][0], stats["histogram"]["edges"][-1]) == (min(data), max(data))


def test_the_latest_gradient_is_the_one_that_no_step_asks_for(http: httpx.Client, looked_into: dict[str, Any]) -> None:
    here = f"/v1/fits/{looked_into['id']}/gradients/c"
    latest = http.get(here)
    assert latest.headers["content-location"] == f"{here}?step=10"
    assert latest.json() == http.get(here, params={"step": 10}).json()
    assert latest.json() != http.get(here, params={"step": 5}).json()


@pytest.mark.parametrize("params", [{}, {"format": "npy"}, {"stats": True}], ids=["json", "npy", "stats"])
def test_what_a_client_has_is_not_sent_again(http: httpx.Client, looked_into: dict[str, Any], params: Any) -> None:
    here = f"/v1/fits/{looked_into['id']}/gradients/c"
    tag = http.get(here, params=params).headers["etag"]
    again = http.get(here, params=params, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert http.get(here, params={**params, "step": 0}, headers={"If-None-Match": tag}).status_code == 200


def test_a_part_of_a_gradient_can_be_fetched(http: httpx.Client, looked_into: dict[str, Any]) -> None:
    here = f"/v1/fits/{looked_into['id']}/gradients/c"
    whole = http.get(here, params={"format": "npy"}).content
    part = http.get(here, params={"format": "npy"}, headers={"Range": "bytes=-4"})
    assert (part.status_code, part.content) == (206, whole[-4:])


@pytest.mark.parametrize(("name", "params"), [("c", {"step": 6}), ("d", {}), ("block", {}), ("", {})])
def test_what_was_not_captured_is_answered_by_what_was(
    http: httpx.Client, looked_into: dict[str, Any], name: str, params: dict[str, Any]
) -> None:
    answer = http.get(f"/v1/fits/{looked_into['id']}/gradients/{name}", params=params)
    assert (answer.status_code, answer.json()["code"]) == (404, "no_gradient")
    assert "block/w.1, c at steps 0, 5, 10" in answer.json()["detail"]


def test_a_fit_that_captures_nothing_says_how_to(http: httpx.Client, fit: dict[str, Any]) -> None:
    assert rows(http, fit) == []
    answer = http.get(f"/v1/fits/{fit['id']}/gradients/w")
    assert answer.status_code == 404
    assert "record.gradients" in answer.json()["detail"]


@pytest.mark.parametrize("place", ["gradients", "gradients/w"])
def test_there_is_nothing_of_an_unknown_fit(http: httpx.Client, place: str) -> None:
    assert http.get(f"/v1/fits/fit_01m7xpv32a4ykd0nsmnkebvv3p/{place}").status_code == 404
    assert http.get(f"/v1/fits/fit_1/{place}").status_code == 404


@pytest.mark.parametrize(
    ("place", "params", "pointer"),
    [
        ("", {"step": -1}, "/step"),
        ("", {"step": 10**16}, "/step"),
        ("", {"cursor": "Zml0XzE"}, "/cursor"),
        ("/c", {"step": "x"}, "/step"),
        ("/c", {"format": "xml"}, "/format"),
        ("/c", {"stats": "perhaps"}, "/stats"),
    ],
)
def test_nonsense_is_refused_with_a_pointer(
    http: httpx.Client, looked_into: dict[str, Any], place: str, params: dict[str, Any], pointer: str
) -> None:
    answer = http.get(f"{looked_into['links']['gradients']}{place}", params=params)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize(
    ("gradients", "pointer"),
    [
        ({}, "/record/gradients"),
        ({"steps": [-1]}, "/record/gradients/steps"),
        ({"steps": [0], "parameters": ["v*"]}, "/record/gradients/parameters/0"),
        ({"steps": [0], "step": 1}, "/record/gradients/step"),
        ({"steps": ["0"]}, "/record/gradients/steps/0"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused_with_a_pointer(
    http: httpx.Client, points: dict[str, Any], gradients: dict[str, Any], pointer: str
) -> None:
    request = {"graph": MODEL, "dataset": points["id"], "steps": 4, "record": {"gradients": gradients}}
    answer = http.post("/v1/fits", json=request)
    assert answer.status_code == 422
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def test_gradients_that_are_not_finite_are_reported(http: httpx.Client, points: dict[str, Any]) -> None:
    fit = run(
        http,
        dataset=points["id"],
        steps=60,
        optimizer={"kind": "sgd", "lr": 1e6},
        divergence={"action": "continue"},
        record={"gradients": {"steps": [50]}},
    )
    here = f"/v1/fits/{fit['id']}/gradients/block%2Fw.1"
    tensor = http.get(here).json()
    assert tensor["data"] == [None, None]
    assert set(tensor["nonfinite"].values()) <= {"nan", "inf", "-inf"}
    assert [*tensor["nonfinite"]] == ["0", "1"]
    stats = http.get(here, params={"stats": True}).json()
    assert stats["norm"] is None
    assert stats["nonfinite"]["norm"] in ("nan", "inf")
    assert stats["nan"] + stats["inf"] == 2
    assert stats["histogram"] == {"edges": [], "counts": []}


def test_the_variants_of_a_sweep_capture_gradients_of_their_own(http: httpx.Client, points: dict[str, Any]) -> None:
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": [0.01, 0.02]}}
    parent = run(
        http,
        dataset=points["id"],
        steps=6,
        optimizer={"kind": "sgd"},
        sweep=sweep,
        record={"gradients": {"steps": [0, 3]}},
    )
    assert parent["state"] == "succeeded"
    variants = http.get("/v1/fits", params={"parent": parent["id"]}).json()["data"]
    listed = [rows(http, variant, parameter="c", order="asc") for variant in variants]
    assert [[row["step"] for row in each] for each in listed] == [[0, 3], [0, 3]]
    (first, third), (other_first, other_third) = listed
    assert first["digest"] == other_first["digest"]
    assert third["digest"] != other_third["digest"]
    assert http.delete(f"/v1/fits/{parent['id']}").status_code == 204
    assert http.get(first["links"]["self"]).status_code == 404
