"""Names in files and bodies that no answer could encode: refused by every route and reader, with a problem document."""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import numpy as np
import pytest

from tests.extent import paired

from .conftest import LINE, created

NAMES = ("\ud800", "\udfffx", "\0", "", "a\nb", "\x85", "n" * 600)


def safetensors(name: str) -> bytes:
    header = json.dumps({name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0\0\0\0"


def told_by_texts(name: str) -> bytes:
    header = json.dumps({"__metadata__": {name: name, "adjoint": json.dumps({name: name})}}).encode()
    return struct.pack("<Q", len(header)) + header


def npz(name: str) -> bytes:
    file = io.BytesIO()
    array = io.BytesIO()
    np.save(array, np.zeros(1, np.float32))
    halved = "\ud800" <= name[:1] <= "\udfff"
    with zipfile.ZipFile(file, "w") as archive:
        member = zipfile.ZipInfo("x.npy")
        member.filename = ("€" if halved else name) + ("é.npy" if name else ".npy")  # as it is, also with NUL
        archive.writestr(member, array.getvalue())
    return file.getvalue().replace("€".encode(), name[:1].encode("utf-8", "surrogatepass"))


def in_json(name: str) -> bytes:
    tensors = {name: [0.0]}
    return json.dumps({"inputs": tensors, "parameters": tensors}).encode()


BODIES: Mapping[str, tuple[str, Callable[[str], bytes]]] = {
    "safetensors": ("application/vnd.safetensors", safetensors),
    "safetensors texts": ("application/vnd.safetensors", told_by_texts),
    "npz": ("application/x-npz", npz),
    "json": ("application/json", in_json),
}
FILES: Mapping[str, tuple[str, Callable[[str], bytes]]] = {
    **BODIES,
    "json": ("application/json", lambda name: json.dumps({"columns": {name: [1.0, 2.0]}}).encode()),
    "ndjson": ("application/x-ndjson", lambda name: json.dumps({name: 1.0}).encode() + b"\n"),
    "csv": ("text/csv", lambda name: b'"' + (name or "\x7f").encode("utf-8", "surrogatepass") + b'",b\n1,2\n'),
}
VERBS = ("forward", "forward_backward", "predict", "set", "row_losses", "trace_nonfinite")


@pytest.fixture(scope="module")
def session(http: httpx.Client) -> dict[str, Any]:
    return created(http.post("/v1/sessions", json={"graph": LINE, "optimizer": {"kind": "sgd"}}))


def check_refused(answer: httpx.Response) -> None:
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document = json.loads(answer.content.decode("utf-8"))
    assert document["code"] not in ("internal", "internal_error")
    assert document["errors"]


@pytest.mark.parametrize("reader", BODIES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_session_refuses_arrays_of_such_names(
    http: httpx.Client, session: dict[str, Any], verb: str, reader: str
) -> None:
    kind, encode = BODIES[reader]
    for name in NAMES:
        url = f"/v1/sessions/{session['id']}:{verb}"
        answer = http.post(url, content=encode(name), headers={"Content-Type": kind})
        if answer.status_code != 200 or encode is not told_by_texts:  # texts beside the arrays stand for nothing here
            check_refused(answer)


def test_an_upload_of_such_names_is_refused(http: httpx.Client) -> None:
    # A process is started for each: tests of the readers go further.
    for reader, name in paired([*FILES], NAMES):
        kind, encode = FILES[reader]
        check_refused(http.post("/v1/datasets", content=encode(name), headers={"Content-Type": kind}))


@pytest.mark.parametrize("encode", [safetensors, told_by_texts])
def test_a_checkpoint_of_such_names_is_refused(
    http: httpx.Client, line: dict[str, Any], encode: Callable[[str], bytes]
) -> None:
    for name in NAMES:
        headers = {"Content-Type": "application/vnd.safetensors"}
        check_refused(http.post(f"/v1/checkpoints?graph={line['id']}", content=encode(name), headers=headers))


@pytest.mark.parametrize("action", ["predict", "compute"])
def test_a_request_in_json_of_such_names_is_refused(
    http: httpx.Client, checkpoint: dict[str, Any], line: dict[str, Any], action: str
) -> None:
    thing = f"/v1/checkpoints/{checkpoint['id']}" if action == "predict" else f"/v1/graphs/{line['id']}"
    for name in NAMES:
        answer = http.post(f"{thing}:{action}", content=in_json(name), headers={"Content-Type": "application/json"})
        check_refused(answer)
