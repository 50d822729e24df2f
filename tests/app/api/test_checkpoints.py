import base64
import hashlib
import io
import json
from typing import Any

import httpx
import numpy as np
import pytest

import engine
from tests.support.patience import LONGEST_WAIT

# Range headers, and the bytes they stand for (None: all of them, with 200).
RANGES: dict[str, tuple[int, int] | None] = {
    "bytes=0-0": (0, 1),
    "bytes=10-19": (10, 20),
    "bytes=10-": (10, 10**9),
    "bytes=-7": (-7, 10**9),
    "bytes=5-999999999": (5, 10**9),
    "bytes=-999999999": (0, 10**9),
    "bytes=0-1,4-5": None,
    "bytes=9-3": None,
    "bytes=-": None,
    "items=0-1": None,
}


@pytest.fixture(scope="module")
def content(http: httpx.Client, checkpoint: dict[str, Any]) -> bytes:
    return http.get(f"/v1/checkpoints/{checkpoint['id']}/content").content


def tensors(data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    return header


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_a_fit_lists_its_checkpoints_and_knows_the_latest_and_the_best(
    http: httpx.Client, fit: dict[str, Any], checkpoint: dict[str, Any]
) -> None:
    here = f"/v1/fits/{fit['id']}/checkpoints"
    listed = http.get(here).json()["data"]
    assert listed[0] == checkpoint
    assert (checkpoint["step"], checkpoint["epoch"], checkpoint["fit"]) == (12, 3, fit["id"])
    best = http.get(f"{here}/best").json()
    assert best["is_best"]
    assert best["id"] in [item["id"] for item in listed]
    assert http.get(f"/v1/checkpoints/{checkpoint['id']}").json() == checkpoint
    assert http.get(f"{here}/newest").status_code == 422


def test_the_content_is_a_safetensors_file_that_proves_itself(
    http: httpx.Client, checkpoint: dict[str, Any], content: bytes
) -> None:
    response = http.get(f"/v1/checkpoints/{checkpoint['id']}/content")
    digest = hashlib.sha256(content)
    assert checkpoint["digest"] == digest.hexdigest()
    assert checkpoint["size_bytes"] == len(content) == int(response.headers["content-length"])
    assert response.headers["etag"] == f'"{digest.hexdigest()}"'
    assert response.headers["content-digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    assert response.headers["content-type"] == "application/vnd.safetensors"
    assert {"w", "c"} <= tensors(content).keys()


@pytest.mark.parametrize("header", RANGES)
def test_one_range_of_the_content_is_given(
    http: httpx.Client, checkpoint: dict[str, Any], content: bytes, header: str
) -> None:
    response = http.get(f"/v1/checkpoints/{checkpoint['id']}/content", headers={"Range": header})
    wanted = RANGES[header]
    if wanted is None:
        assert (response.status_code, response.content) == (200, content)
        return
    part = content[slice(*wanted)]
    assert (response.status_code, response.content) == (206, part)
    first = content.index(part) if len(part) > 1 else 0
    assert response.headers["content-range"] == f"bytes {first}-{first + len(part) - 1}/{len(content)}"


@pytest.mark.parametrize("header", ["bytes=999999999-", "bytes=-0"])
def test_a_range_outside_the_content_is_refused(
    http: httpx.Client, checkpoint: dict[str, Any], content: bytes, header: str
) -> None:
    response = http.get(f"/v1/checkpoints/{checkpoint['id']}/content", headers={"Range": header})
    assert response.status_code == 416
    assert response.headers["content-range"] == f"bytes */{len(content)}"


def test_a_download_is_resumed_only_while_the_content_is_the_same(
    http: httpx.Client, checkpoint: dict[str, Any], content: bytes
) -> None:
    here = f"/v1/checkpoints/{checkpoint['id']}/content"
    tag = f'"{checkpoint["digest"]}"'
    assert http.get(here, headers={"Range": "bytes=5-", "If-Range": tag}).content == content[5:]
    assert http.get(here, headers={"Range": "bytes=5-", "If-Range": '"old"'}).content == content
    assert http.get(here, headers={"If-None-Match": tag}).status_code == 304


def test_the_parameters_can_be_had_alone(http: httpx.Client, checkpoint: dict[str, Any], tmp_path: Any) -> None:
    response = http.get(f"/v1/checkpoints/{checkpoint['id']}/content", params={"only": "parameters"})
    path = tmp_path / "parameters.safetensors"
    path.write_bytes(response.content)
    loaded = engine.Checkpoint.load(path)
    assert loaded.parameters.keys() == {"w", "c"}
    assert not loaded.optimizer
    assert response.headers["etag"] == f'"{hashlib.sha256(response.content).hexdigest()}"'


def test_one_parameter_comes_as_json_or_as_npy(http: httpx.Client, checkpoint: dict[str, Any]) -> None:
    here = f"/v1/checkpoints/{checkpoint['id']}/parameters"
    assert http.get(here).json()["data"] == [
        {"name": "w", "dtype": "float32", "shape": [2]},
        {"name": "c", "dtype": "float32", "shape": []},
    ]
    tensor = http.get(f"{here}/w").json()
    for response in (
        http.get(f"{here}/w", headers={"Accept": "application/x-npy"}),
        http.get(f"{here}/w", params={"format": "npy"}),
    ):
        array = np.load(io.BytesIO(response.content), allow_pickle=False)
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, np.array(tensor["data"], np.float32))
    missing = http.get(f"{here}/v")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


def test_predictions_follow_the_parameters(http: httpx.Client, checkpoint: dict[str, Any]) -> None:
    here = f"/v1/checkpoints/{checkpoint['id']}"
    w, c = (np.array(http.get(f"{here}/parameters/{name}").json()["data"], np.float32) for name in ("w", "c"))
    x = np.linspace(-1, 1, 600, dtype=np.float32).reshape(300, 2)
    answer = http.post(f"{here}:predict", json={"inputs": {"x": x.tolist()}})
    assert answer.status_code == 200, answer.text
    predicted = np.array(answer.json()["outputs"]["pred"]["data"], np.float32)
    np.testing.assert_allclose(predicted, x @ w + c, rtol=1e-5, atol=1e-6)
    headers = {"Content-Type": "application/x-npy"}
    for params in ({}, {"input": "x", "output": "pred"}):
        bulk = http.post(f"{here}:predict", content=npy(x), headers=headers, params=params)
        assert bulk.headers["content-type"] == "application/x-npy"
        np.testing.assert_array_equal(np.load(io.BytesIO(bulk.content), allow_pickle=False), predicted)
    as_json = http.post(f"{here}:predict", content=npy(x), headers=headers, params={"format": "json"}).json()
    assert as_json["outputs"]["pred"]["shape"] == [300]


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "", "missing_field"),
        ({"input": {}}, "/input", "unknown_field"),
        ({"inputs": []}, "/inputs", "type_mismatch"),
        ({"inputs": {}}, "/inputs", "missing_field"),
        ({"inputs": {"z": 1, "x": [[1, 2]]}}, "/inputs/z", "unknown_name"),
        ({"inputs": {"x": [[1, 2], [3]]}}, "/inputs/x", "type_mismatch"),
    ],
)
def test_a_faulty_prediction_is_refused_with_a_pointer(
    http: httpx.Client, checkpoint: dict[str, Any], body: dict[str, Any], pointer: str, code: str
) -> None:
    response = http.post(f"/v1/checkpoints/{checkpoint['id']}:predict", json=body)
    assert response.status_code == 422, response.text
    found = [(error["pointer"], error["code"]) for error in response.json()["errors"]]
    assert pointer in [place for place, _ in found], found


@pytest.mark.parametrize(
    ("body", "kind", "params", "status"),
    [
        (b"\x93NUMPY", "application/x-npy", {}, 422),
        (npy(np.array([{}], object)), "application/x-npy", {}, 422),
        (npy(np.zeros((2, 2))) + b"x", "application/x-npy", {}, 422),
        (npy(np.zeros((2, 2))), "application/x-npy", {"output": "loss"}, 422),
        (npy(np.zeros((2, 2))), "application/x-npy", {"input": "z"}, 422),
        (b"x", "text/plain", {}, 415),
        (b"{", "application/json", {}, 400),
    ],
)
def test_a_faulty_body_is_refused(
    http: httpx.Client, checkpoint: dict[str, Any], body: bytes, kind: str, params: dict[str, str], status: int
) -> None:
    here = f"/v1/checkpoints/{checkpoint['id']}:predict"
    response = http.post(here, content=body, headers={"Content-Type": kind}, params=params)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"


def test_a_deleted_checkpoint_is_gone_and_remembered(http: httpx.Client, line: Any, points: Any) -> None:
    fit = http.post("/v1/fits", json={"graph": line["id"], "dataset": points["id"], "steps": 1}).json()
    http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT})
    latest = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    here = f"/v1/checkpoints/{latest['id']}"
    assert http.delete(here).status_code == 204
    for path in (here, f"{here}/content", f"{here}/parameters/w"):
        assert http.get(path).status_code == 410
    assert http.delete(here).status_code == 410
    assert http.get(f"/v1/fits/{fit['id']}/checkpoints").json()["data"] == []
    assert http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()["code"] == "no_checkpoint"
