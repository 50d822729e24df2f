"""Checkpoints that clients bring."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import engine
from tests.support.server import ServerProcess

from .conftest import created

SAFETENSORS = {"Content-Type": "application/vnd.safetensors"}
NORMED = {
    "inputs": {"x": ["batch", 2], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 3}, {"layer": "batch_norm"}],
    "loss": {"kind": "cross_entropy", "target": "label"},
}


def safetensors(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """Encode arrays as a file."""
    codes = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "bool": "BOOL"}
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, array in tensors.items():
        offsets = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": codes[array.dtype.name], "shape": list(array.shape), "data_offsets": offsets}
        data += array.tobytes()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


W, C = np.array([2.0, -1.0], np.float32), np.array(0.5, np.float32)
PLAIN = safetensors({"w": W, "c": C})


def upload(http: httpx.Client, graph: str, content: bytes, **headers: str) -> httpx.Response:
    return http.post("/v1/checkpoints", params={"graph": graph}, content=content, headers={**SAFETENSORS, **headers})


def test_parameters_from_elsewhere_become_a_checkpoint(http: httpx.Client, line: dict[str, Any]) -> None:
    checkpoint = created(upload(http, line["id"], PLAIN))
    assert (checkpoint["fit"], checkpoint["graph"], checkpoint["step"]) == (None, line["id"], 0)
    assert (checkpoint["digest"], checkpoint["size_bytes"]) == (hashlib.sha256(PLAIN).hexdigest(), len(PLAIN))
    here = f"/v1/checkpoints/{checkpoint['id']}"
    assert http.get(here).json() == checkpoint
    assert http.get(f"{here}/content").content == PLAIN
    answer = http.post(f"{here}:predict", json={"inputs": {"x": [[1, 2], [3, 4]]}}).json()
    assert answer["outputs"]["pred"]["data"] == [0.5, 2.5]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_of_any_width_are_taken(http: httpx.Client, line: dict[str, Any], dtype: str) -> None:
    content = safetensors({"w": W.astype(dtype), "c": C.astype(dtype)})
    checkpoint = created(upload(http, line["id"], content))
    answer = http.post(f"/v1/checkpoints/{checkpoint['id']}:predict", json={"inputs": {"x": [[1, 2]]}}).json()
    assert answer["outputs"]["pred"]["data"] == [0.5]


def test_a_downloaded_checkpoint_comes_back_with_its_step(http: httpx.Client, checkpoint: dict[str, Any]) -> None:
    content = http.get(f"/v1/checkpoints/{checkpoint['id']}/content").content
    again = created(upload(http, checkpoint["graph"], content))
    assert {name: again[name] for name in ("step", "epoch", "digest")} == {
        name: checkpoint[name] for name in ("step", "epoch", "digest")
    }
    assert again["id"] != checkpoint["id"]


def test_buffers_may_stand_among_the_parameters_as_in_pytorch(http: httpx.Client) -> None:
    graph = created(http.post("/v1/graphs", json=NORMED))
    definition = engine.parse_graph(NORMED)
    plain = {
        name: np.ones(spec.shape, spec.dtype) for name, spec in {**definition.parameters, **definition.buffers}.items()
    }
    created(upload(http, graph["id"], safetensors(plain)))
    reported = {f"buffer:{name}" if name in definition.buffers else name: array for name, array in plain.items()}
    created(upload(http, graph["id"], safetensors(reported)))
    lacking = {name: array for name, array in plain.items() if name in definition.parameters}
    refused = upload(http, graph["id"], safetensors(lacking))
    assert refused.status_code == 422
    assert {error["code"] for error in refused.json()["errors"]} == {"missing_field"}


def about(cursor: Any) -> dict[str, str]:
    return {"adjoint": json.dumps({"cursor": cursor})}


FAULTS: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "nothing": (b"", [("", "checkpoint_invalid")]),
    "no safetensors": (b"\x80\x04pickle" * 100, [("", "checkpoint_invalid")]),
    "cut off": (PLAIN[:-1], [("", "checkpoint_invalid")]),
    "more behind": (PLAIN + b"x", [("", "checkpoint_invalid")]),
    "a deep header": ((60_000).to_bytes(8, "little") + b"[" * 60_000, [("", "checkpoint_invalid")]),
    "a large header": ((3 << 20).to_bytes(8, "little") + b" " * (4 << 20), [("", "header_too_large")]),
    "a missing parameter": (safetensors({"w": W}), [("", "missing_field")]),
    "an unknown one": (safetensors({"w": W, "c": C, "b/1~": C}), [("/b~11~0", "unknown_name")]),
    "an unreadable name": (safetensors({"w": W, "c": C, "\ud800": C}), [("", "checkpoint_invalid")]),
    "another shape": (safetensors({"w": W[:1], "c": C}), [("/w", "shape_mismatch")]),
    "another dtype": (safetensors({"w": W.astype(np.int64), "c": C}), [("/w", "dtype_mismatch")]),
    "several": (
        safetensors({"w": C, "v": C}),
        [("/w", "shape_mismatch"), ("", "missing_field"), ("/v", "unknown_name")],
    ),
    "averages of another shape": (
        safetensors({"w": W, "c": C, "state:average/w": W[:1]}),
        [("/w", "shape_mismatch")],
    ),
    "a step that is none": (
        safetensors({"w": W, "c": C}, about({"step": -1})),
        [("/__metadata__/adjoint", "out_of_range")],
    ),
    "a step without end": (
        safetensors({"w": W, "c": C}, {"adjoint": '{"cursor": {"step": 1e999}}'}),
        [("/__metadata__/adjoint", "out_of_range")],
    ),
    "an epoch of many digits": (
        safetensors({"w": W, "c": C}, about({"epoch": 10**30})),
        [("/__metadata__/adjoint", "out_of_range")],
    ),
    "no cursor": (safetensors({"w": W, "c": C}, about([])), [("", "checkpoint_invalid")]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_checkpoint_of_the_graph_is_refused_and_leaves_nothing(
    server: ServerProcess, line: dict[str, Any], fault: str
) -> None:
    content, findings = FAULTS[fault]
    logged = len(server.log)
    response = upload(server.http, line["id"], content)
    assert response.status_code == 422, response.text
    assert [(error["pointer"], error["code"]) for error in response.json()["errors"]] == findings
    digest = hashlib.sha256(content).hexdigest()
    assert not (server.data_dir / "blobs" / "sha256" / digest[:2] / digest).exists()
    assert not [*(server.data_dir / "blobs" / "tmp").iterdir()]
    assert not [text for text in [*server.log][logged:] if "Traceback" in text]


@pytest.mark.parametrize("graph", ["graph_00000000000000000000000000", "fit_1", "../x", "g\u00e4"])
def test_a_graph_that_is_not_there_is_pointed_at(http: httpx.Client, graph: str) -> None:
    response = upload(http, graph, PLAIN)
    assert response.status_code == 422
    assert [(error["pointer"], error["code"]) for error in response.json()["errors"]] == [("/graph", "not_found")]


def test_the_graph_has_to_be_named_and_the_type_to_be_right(http: httpx.Client, line: dict[str, Any]) -> None:
    assert http.post("/v1/checkpoints", content=PLAIN, headers=SAFETENSORS).status_code == 422
    assert upload(http, line["id"], PLAIN, **{"Content-Type": "application/json"}).status_code == 415
    assert upload(http, line["id"], PLAIN, **{"Content-Encoding": "gzip"}).status_code == 415


def test_an_upload_is_checked_against_its_digest(http: httpx.Client, line: dict[str, Any]) -> None:
    right, wrong = (f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:" for data in (PLAIN, b"x"))
    assert upload(http, line["id"], PLAIN, **{"Content-Digest": right}).status_code == 201
    assert upload(http, line["id"], PLAIN, **{"Content-Digest": wrong}).json()["code"] == "content_digest"


def test_an_upload_that_is_sent_again_is_stored_once(http: httpx.Client, line: dict[str, Any]) -> None:
    key = {"Idempotency-Key": "upload-once"}
    first, second = (upload(http, line["id"], PLAIN, **key) for _ in range(2))
    assert first.content == second.content
    assert second.headers["idempotent-replayed"] == "true"
    assert upload(http, line["id"], PLAIN + b" ", **key).json()["code"] == "idempotency_key_reused"


def test_an_upload_that_is_too_large_is_refused(cramped: ServerProcess) -> None:
    response = upload(cramped.http, "graph_00000000000000000000000000", b"x" * 4000)
    assert (response.status_code, response.json()["limit"]) == (413, 2000)
    assert not [*(Path(cramped.data_dir) / "blobs" / "tmp").iterdir()]


def test_a_graph_stays_as_long_as_a_checkpoint_is_of_it(http: httpx.Client) -> None:
    program = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "y = x * w", "outputs": ["y"]}
    graph = created(http.post("/v1/graphs", json=program))
    checkpoint = created(upload(http, graph["id"], safetensors({"w": C})))
    assert http.delete(f"/v1/graphs/{graph['id']}").json()["code"] == "in_use"
    assert http.delete(f"/v1/checkpoints/{checkpoint['id']}").status_code == 204
    assert http.delete(f"/v1/graphs/{graph['id']}").status_code == 204
