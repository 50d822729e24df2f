import base64
import hashlib
import io
import json
import socket
import struct
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import httpx
import numpy as np
import pytest

from tests.security.corpus.images import archive, picture
from tests.support.patience import PATIENCE

X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = np.array([0, 1, 1, 0], dtype=np.int64)


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def safetensors() -> bytes:
    header = {
        "x": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]},
        "y": {"dtype": "I64", "shape": [4], "data_offsets": [48, 80]},
    }
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + X.tobytes() + Y.tobytes()


def parquet() -> bytes:
    arrow, writer = import_module("pyarrow"), import_module("pyarrow.parquet")
    buffer = io.BytesIO()
    writer.write_table(arrow.table({"x": arrow.FixedSizeListArray.from_arrays(X.ravel(), 3), "y": Y}), buffer)
    return buffer.getvalue()


CSV = "a,b,c,y\n" + "".join(f"{','.join(map(str, row))},{label}\n" for row, label in zip(X.tolist(), Y, strict=True))
NDJSON = "".join(json.dumps({"x": row, "y": int(label)}) + "\n" for row, label in zip(X.tolist(), Y, strict=True))
JSON = json.dumps({"columns": {"x": X.tolist(), "y": Y.tolist()}})
PARQUET = find_spec("pyarrow") is not None
"""Whether the extra is installed."""
GROUPED = {"columns": "x:float32[3]=a..c,y:int64"}

BODIES: dict[str, tuple[str, bytes, dict[str, str]]] = {
    "json": ("application/json", JSON.encode(), {}),
    "csv": ("text/csv", CSV.encode(), GROUPED),
    "npz": ("application/x-npz", npz(x=X, y=Y), {}),
    "safetensors": ("application/vnd.safetensors", safetensors(), {}),
    "ndjson": ("application/x-ndjson", NDJSON.encode(), {}),
    **({"parquet": ("application/vnd.apache.parquet", parquet(), {})} if PARQUET else {}),
}

REFUSED: dict[str, tuple[str, bytes, dict[str, str], int, str]] = {
    "no type": ("", b"1", {}, 415, "unsupported_media_type"),
    "multipart": ("multipart/form-data", b"1", {}, 415, "unsupported_media_type"),
    "octets without a format": ("application/octet-stream", npy(X), {}, 415, "unsupported_media_type"),
    "no bytes": ("text/csv", b"", {}, 422, "empty"),
    "ragged": ("text/csv", b"a,b\n1,2\n3\n", {}, 422, "ragged"),
    "pickled": ("application/x-npy", npy(np.array([{}], object)), {}, 422, "bad_dtype"),
    "cut off": ("application/x-npy", npy(X)[:-1], {}, 422, "truncated"),
    "a path for a name": ("application/x-npy", npy(X), {"column": "../x"}, 422, "bad_name"),
    "NaN in JSON": ("application/json", b'{"columns": {"x": [NaN]}}', {}, 422, "bad_json"),
    "unknown format": ("application/octet-stream", npy(X), {"format": "feather"}, 422, "unknown_name"),
    "a header of no CSV": ("application/x-npy", npy(X), {"header": "true"}, 422, "conflict"),
    "a column of no .npy": ("text/csv", b"a\n1\n", {"column": "y"}, 422, "conflict"),
    "two formats": ("text/csv", b"a\n1\n", {"format": "json"}, 422, "conflict"),
    "an unknown header": ("text/csv", b"a\n1\n", {"header": "yes"}, 422, "unknown_name"),
    "a header that may be data": ("text/csv", b"1\n2\n", {}, 422, "header_unclear"),
    "a misspelt column": ("text/csv", b"sepal\n1\n", {"columns": "x:int64=sepl"}, 422, "bad_columns"),
    "columns of no CSV": ("application/x-npy", npy(X), {"columns": "x:float32"}, 422, "bad_columns"),
}


@pytest.mark.parametrize("format", BODIES)
@pytest.mark.parametrize("as_octets", [False, True])
def test_the_same_rows_are_read_from_every_format(http: httpx.Client, format: str, as_octets: bool) -> None:
    kind, body, params = BODIES[format]
    if as_octets:
        kind, params = "application/octet-stream", {**params, "format": format}
    response = http.post("/v1/datasets", content=body, params=params, headers={"Content-Type": kind})
    dataset = response.json()
    assert response.status_code == 201, dataset
    assert dataset["format"] == format
    assert dataset["digest"] == hashlib.sha256(body).hexdigest()
    assert (dataset["rows"], dataset["size_bytes"]) == (4, len(body))
    columns = {column["name"]: column for column in dataset["columns"]}
    assert columns["x"]["shape"] == [3]
    assert (columns["y"]["dtype"], columns["y"]["minimum"], columns["y"]["maximum"]) == ("int64", 0, 1)
    here = f"/v1/datasets/{dataset['id']}"
    assert http.get(here).json() == dataset
    assert http.get(f"{here}/content").content == body
    rows = http.get(f"{here}/rows", params={"offset": 1, "limit": 2}).json()
    assert rows["data"] == [{"x": X[1].tolist(), "y": 1}, {"x": X[2].tolist(), "y": 1}]
    assert (rows["offset"], rows["total"], rows["has_more"]) == (1, 4, True)


@pytest.mark.parametrize("fault", REFUSED)
def test_what_is_no_dataset_is_refused_and_leaves_nothing(http: httpx.Client, fault: str) -> None:
    kind, body, params, status, code = REFUSED[fault]
    before = http.get("/v1/datasets", params={"limit": 1}).json()["data"]
    response = http.post("/v1/datasets", content=body, params=params, headers={"Content-Type": kind})
    assert response.status_code == status, response.text
    assert response.json()["code"] == code
    assert http.get("/v1/datasets", params={"limit": 1}).json()["data"] == before


def test_one_npy_array_becomes_a_column_of_a_chosen_name(http: httpx.Client) -> None:
    headers = {"Content-Type": "application/x-npy"}
    dataset = http.post("/v1/datasets", content=npy(X), params={"column": "z", "name": "mine"}, headers=headers).json()
    assert dataset["name"] == "mine"
    assert [(column["name"], column["shape"]) for column in dataset["columns"]] == [("z", [3])]


def test_a_value_that_is_missing_is_null_in_rows(http: httpx.Client) -> None:
    dataset = http.post("/v1/datasets", content='a\n1.5\n""\n', headers={"Content-Type": "text/csv"}).json()
    assert dataset["columns"][0]["missing"] == 1
    assert http.get(f"/v1/datasets/{dataset['id']}/rows").json()["data"] == [{"a": 1.5}, {"a": None}]


def test_a_content_digest_is_checked(http: httpx.Client) -> None:
    body = b"a\n1\n"
    right = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    wrong = f"sha-256=:{base64.b64encode(hashlib.sha256(b'other').digest()).decode()}:"
    for digest, status in ((right, 201), (f"md5=:abcd:, {right}", 201), (wrong, 422), ("sha-256=abc", 422)):
        headers = {"Content-Type": "text/csv", "Content-Digest": digest}
        response = http.post("/v1/datasets", content=body, headers=headers)
        assert response.status_code == status, response.text


def test_a_deleted_dataset_is_gone_and_its_twin_stays(http: httpx.Client) -> None:
    body = npy(np.arange(7.0))
    headers = {"Content-Type": "application/x-npy"}
    first, second = (http.post("/v1/datasets", content=body, headers=headers).json()["id"] for _ in range(2))
    assert http.delete(f"/v1/datasets/{first}").status_code == 204
    assert http.get(f"/v1/datasets/{first}").status_code == 404
    assert http.get(f"/v1/datasets/{second}/content").content == body
    assert http.get(f"/v1/datasets/{second}/rows").json()["total"] == 7


def test_text_becomes_classes(http: httpx.Client) -> None:
    body = "x,kind\n1,cat\n2,dog\n3,cat\n"
    dataset = http.post("/v1/datasets", content=body, headers={"Content-Type": "text/csv"}).json()
    assert dataset["columns"][1]["classes"] == ["cat", "dog"]


def test_an_upload_that_is_too_large_is_refused(cramped: Any) -> None:
    server = cramped
    before = server.http.get("/v1/datasets").json()["data"]
    for headers in ({"Content-Type": "text/csv"}, {"Content-Type": "text/csv", "Transfer-Encoding": "chunked"}):
        body = b"a\n" + b"1\n" * 2000
        content = iter([body]) if "Transfer-Encoding" in headers else body
        response = server.http.post("/v1/datasets", content=content, headers=headers)
        assert response.status_code == 413
        assert response.json()["limit"] == 2000
    assert server.http.get("/v1/datasets").json()["data"] == before
    assert not [*(server.data_dir / "blobs" / "tmp").iterdir()]


def test_an_upload_that_breaks_off_leaves_nothing(server: Any) -> None:
    http, logged = server.http, len(server.log)
    before = http.get("/v1/datasets", params={"limit": 1}).json()["data"]
    head = b"POST /v1/datasets HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: 100000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", httpx.URL(server.url).port), timeout=PATIENCE) as connection:
        connection.sendall(head + b"a\n1\n")
    temporary = server.data_dir / "blobs" / "tmp"
    deadline = time.monotonic() + PATIENCE
    while [*temporary.iterdir()]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert http.get("/v1/datasets", params={"limit": 1}).json()["data"] == before
    assert not server.tracebacks(since=logged)


def test_whole_numbers_are_shown_exactly(http: httpx.Client) -> None:
    low, high = -(2**63), 2**63 - 1
    body = f"a,b\n{low},1.5\n{high},2\n".encode()
    dataset = http.post("/v1/datasets", content=body, headers={"Content-Type": "text/csv"}).json()
    whole, fractions = dataset["columns"]
    assert (whole["minimum"], whole["maximum"]) == (low, high)
    assert [type(fractions[end]) for end in ("minimum", "maximum")] == [float, float]
    profile = http.get(f"/v1/datasets/{dataset['id']}/profile").json()
    quantiles = profile["columns"][0]["quantiles"]
    assert (quantiles[0]["value"], quantiles[-1]["value"]) == (low, high)


def test_a_zip_file_of_images_is_a_dataset(http: httpx.Client) -> None:
    pytest.importorskip("PIL")
    body = archive(("cat/1.png", picture()), ("dog/1.jpg", picture("JPEG", size=(9, 9))))
    params = {"image_size": "4x5", "image_mode": "L", "image_dtype": "float32"}
    response = http.post("/v1/datasets", content=body, params=params, headers={"Content-Type": "application/zip"})
    assert response.status_code == 201, response.text
    dataset = response.json()
    assert (dataset["format"], dataset["rows"]) == ("zip", 2)
    image, label = dataset["columns"]
    assert (image["name"], image["dtype"], image["shape"]) == ("image", "float32", [1, 4, 5])
    assert label["classes"] == ["cat", "dog"]
    content = http.get(f"/v1/datasets/{dataset['id']}/content")
    assert (content.content, content.headers["content-type"]) == (body, "application/zip")
    refused = http.post("/v1/datasets", content=body, headers={"Content-Type": "application/zip"})
    assert (refused.status_code, refused.json()["code"]) == (422, "unequal_images")
