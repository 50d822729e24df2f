"""Models of images: predicted and evaluated over zip files, and over Parquet and Arrow files with images as bytes."""

import io
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.app.api.conftest import created
from tests.security.corpus.npz import archive
from tests.support.patience import LONGEST_WAIT

Image = pytest.importorskip("PIL.Image")
arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ZIP, PARQUET, ARROW = "application/zip", "application/vnd.apache.parquet", "application/vnd.apache.arrow.file"
SAFETENSORS = {"Content-Type": "application/vnd.safetensors"}
NAMES = ("dark", "light")
GRAPH = {
    "inputs": {"image": ["batch", 1, 4, 6], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "flatten"}, {"layer": "linear", "units": 2, "name": "out"}],
    "loss": {"kind": "cross_entropy", "target": "label"},
}
OPTIONS = {"image_size": "4x6", "image_mode": "L", "image_dtype": "float32"}


def picture(bright: int, seed: int) -> bytes:
    """Return a PNG file of a size of its own, dark or light."""
    draw = np.random.default_rng(seed)
    shape = (*draw.integers(3, 12, 2), 3)
    file = io.BytesIO()
    Image.fromarray(draw.integers(128 * bright, 128 * bright + 128, shape, dtype=np.uint8)).save(file, "PNG")
    return file.getvalue()


LABELS = [number % 2 for number in range(24)]
PICTURES = [picture(label, number) for number, label in enumerate(LABELS)]
FOLDERS = archive(*((f"{NAMES[label]}/{k}.png", PICTURES[k]) for k, label in enumerate(LABELS)))


def table(column: str = "image", **more: Any) -> Any:
    return arrow.table({column: PICTURES, "label": [NAMES[label] for label in LABELS], **more})


def parquet_file(rows: Any) -> bytes:
    file = io.BytesIO()
    parquet.write_table(rows, file)
    return file.getvalue()


def arrow_file(rows: Any) -> bytes:
    file = io.BytesIO()
    with arrow.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    return file.getvalue()


TABLES: dict[str, Callable[[Any], bytes]] = {PARQUET: parquet_file, ARROW: arrow_file}


def expected() -> NDArray[np.float32]:
    """Return the images as Pillow converts and scales them."""
    opened = [Image.open(io.BytesIO(each)).convert("L") for each in PICTURES]
    scaled = [image.resize((6, 4), Image.Resampling.BILINEAR) for image in opened]
    return np.stack([np.asarray(image) for image in scaled])[:, None] / np.float32(255)


@pytest.fixture(scope="module")
def dataset(http: httpx.Client) -> dict[str, Any]:
    return created(
        http.post("/v1/datasets", params=OPTIONS, content=parquet_file(table()), headers={"Content-Type": PARQUET})
    )


def trained(http: httpx.Client, dataset: dict[str, Any], **more: Any) -> dict[str, Any]:
    recipe = {"epochs": 60, "batch_size": 8, "optimizer": {"kind": "adam", "lr": 0.05}, "metrics": ["accuracy"]}
    fit = created(http.post("/v1/fits", json={"graph": GRAPH, "dataset": dataset["id"], **recipe, **more}))
    done = http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()
    assert done["state"] == "succeeded", done
    found: dict[str, Any] = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    return found


@pytest.fixture(scope="module")
def model(http: httpx.Client, dataset: dict[str, Any]) -> dict[str, Any]:
    return trained(http, dataset)


def refused(response: httpx.Response, code: str) -> str:
    """Return why a request was refused."""
    assert (response.status_code, response.json()["code"]) == (422, code), response.text
    return str(response.json()["detail"])


def predict(http: httpx.Client, model: dict[str, Any], body: bytes, kind: str, **options: Any) -> Any:
    here = f"/v1/checkpoints/{model['id']}:predict"
    return http.post(here, params={"format": "json", **options}, content=body, headers={"Content-Type": kind})


def evaluate(http: httpx.Client, model: dict[str, Any], body: bytes, kind: str, **options: Any) -> Any:
    here = f"/v1/checkpoints/{model['id']}:evaluate"
    return http.post(here, params=options, content=body, headers={"Content-Type": kind})


@pytest.mark.parametrize("kind", TABLES)
def test_a_column_of_bytes_becomes_images(http: httpx.Client, kind: str) -> None:
    body = TABLES[kind](table())
    made = created(http.post("/v1/datasets", params=OPTIONS, content=body, headers={"Content-Type": kind}))
    image, label = made["columns"]
    assert (image["name"], image["dtype"], image["shape"]) == ("image", "float32", [1, 4, 6])
    assert image["images"] == {"size": "4x6", "mode": "L", "dtype": "float32"}
    assert (label["images"], label["classes"]) == (None, list(NAMES))
    rows = http.get(f"/v1/datasets/{made['id']}/rows").json()["data"]
    np.testing.assert_array_equal(np.array([row["image"] for row in rows], np.float32), expected())


def test_a_model_reads_images_as_those_that_it_was_trained_on(http: httpx.Client, model: dict[str, Any]) -> None:
    answer = http.post(f"/v1/checkpoints/{model['id']}:predict", json={"inputs": {"image": expected().tolist()}}).json()
    (logits,) = answer["outputs"].values()
    wanted = np.reshape(np.array(logits["data"]), logits["shape"])
    for body, kind in ((FOLDERS, ZIP), *((write(table()), kind) for kind, write in TABLES.items())):
        response = predict(http, model, body, kind, raw="true")
        assert response.status_code == 200, response.text
        rows = response.json()["data"]
        np.testing.assert_allclose([row["out"] for row in rows], wanted, rtol=1e-5)
        assert [row["out.class"] for row in rows] == [NAMES[label] for label in LABELS]


def test_rows_of_a_zip_file_are_identified_by_their_files(http: httpx.Client, model: dict[str, Any]) -> None:
    rows = predict(http, model, FOLDERS, ZIP).json()["data"]
    assert [row["file"] for row in rows] == [f"{NAMES[label]}/{k}.png" for k, label in enumerate(LABELS)]
    mixed = archive(("a.png", PICTURES[1]), ("b/c/d.png", PICTURES[0]), ("B.PNG", PICTURES[3]))
    rows = predict(http, model, mixed, ZIP).json()["data"]
    assert [(row["file"], row["out.class"]) for row in rows] == [
        ("a.png", "light"),
        ("b/c/d.png", "dark"),
        ("B.PNG", "light"),
    ]


def test_a_csv_file_in_a_zip_file_orders_rows_and_names_them(http: httpx.Client, model: dict[str, Any]) -> None:
    members = [(f"{k}.png", PICTURES[k]) for k in range(3)]
    labels = "name,id,label\n2.png,z,dark\n0.png,y,dark\n1.png,x,light\n"
    body = archive(*members, ("labels.csv", labels.encode()))
    rows = predict(http, model, body, ZIP).json()["data"]
    assert [(row["file"], row["out.class"]) for row in rows] == [
        ("2.png", "dark"),
        ("0.png", "dark"),
        ("1.png", "light"),
    ]
    rows = predict(http, model, body, ZIP, id_column="id").json()["data"]
    assert [row["id"] for row in rows] == ["z", "y", "x"]
    assert evaluate(http, model, body, ZIP).json()["metrics"]["accuracy"] == 1


def test_evaluation_reads_labels_of_folders_and_columns(
    http: httpx.Client, dataset: dict[str, Any], model: dict[str, Any]
) -> None:
    here = f"/v1/checkpoints/{model['id']}:evaluate"
    stored = http.post(here, json={"dataset": dataset["id"]}).json()
    assert stored["metrics"]["accuracy"] == 1
    for body, kind in ((FOLDERS, ZIP), *((write(table()), kind) for kind, write in TABLES.items())):
        found = evaluate(http, model, body, kind).json()
        assert (found["rows"], found["metrics"]) == (24, pytest.approx(stored["metrics"]))


def test_another_column_may_hold_the_images(http: httpx.Client, dataset: dict[str, Any]) -> None:
    body = parquet_file(table("Foto 1"))
    other = created(http.post("/v1/datasets", params=OPTIONS, content=body, headers={"Content-Type": PARQUET}))
    model = trained(http, other, feeds={"image": "Foto 1"}, epochs=1)
    assert predict(http, model, body, PARQUET).status_code == 200
    found = predict(http, model, parquet_file(table("x")), PARQUET, feeds="image:x")
    assert found.status_code == 200, found.text


def test_a_checkpoint_that_is_uploaded_reads_images_alike(http: httpx.Client, model: dict[str, Any]) -> None:
    content = http.get(f"/v1/checkpoints/{model['id']}/content").content
    graph = http.get(f"/v1/checkpoints/{model['id']}").json()["graph"]
    uploaded = created(http.post("/v1/checkpoints", params={"graph": graph}, content=content, headers=SAFETENSORS))
    assert uploaded["id"] != model["id"]
    assert predict(http, uploaded, FOLDERS, ZIP).json()["data"] == predict(http, model, FOLDERS, ZIP).json()["data"]


def test_options_of_a_request_come_first(http: httpx.Client, model: dict[str, Any]) -> None:
    response = predict(http, model, FOLDERS, ZIP, image_size="5x5")
    fault = refused(response, "shape_mismatch")
    assert "image_size" in fault
    refused(predict(http, model, FOLDERS, ZIP, image_mode="RGB"), "shape_mismatch")
    refused(predict(http, model, FOLDERS, ZIP, image_size="0"), "bad_image_size")
    refused(predict(http, model, FOLDERS, ZIP, columns="x:int8"), "conflict")


def test_rows_that_are_appended_are_read_as_those_before(http: httpx.Client, dataset: dict[str, Any]) -> None:
    body = FOLDERS
    made = http.post(f"/v1/datasets/{dataset['id']}:append", content=body, headers={"Content-Type": ZIP}).json()
    assert (made["rows"], made["columns"][0]["images"]) == (48, dataset["columns"][0]["images"])
    rows = http.get(f"/v1/datasets/{made['id']}/rows", params={"offset": 24}).json()["data"]
    np.testing.assert_array_equal(np.array([row["image"] for row in rows], np.float32), expected())


def test_images_that_were_not_scaled_are_not_scaled_later(http: httpx.Client) -> None:
    same = [np.full((4, 6), shade, np.uint8) for shade in (0, 250)]
    files = []
    for pixels in same:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        files.append(file.getvalue())
    body = archive(("dark/0.png", files[0]), ("light/1.png", files[1]))
    made = created(http.post("/v1/datasets", params={"image_mode": "L"}, content=body, headers={"Content-Type": ZIP}))
    assert made["columns"][0]["images"] == {"size": None, "mode": "L", "dtype": "uint8"}
    model = trained(http, made, epochs=1)
    assert predict(http, model, body, ZIP).status_code == 200
    fault = refused(predict(http, model, archive(("a.png", PICTURES[0])), ZIP), "shape_mismatch")
    assert "image_size" in fault
    assert predict(http, model, FOLDERS, ZIP, image_size="4x6").status_code == 200


def test_a_damaged_image_is_named(http: httpx.Client, model: dict[str, Any]) -> None:
    broken = PICTURES[1][:-20]
    body = archive(("good.png", PICTURES[0]), ("bad one.png", broken))
    for send in (predict, evaluate):
        fault = refused(send(http, model, body, ZIP), "bad_image")
        assert "'bad one.png'" in fault
    rows = arrow.table({"image": [*PICTURES[:3], broken], "label": ["dark"] * 4})
    for kind, write in TABLES.items():
        fault = refused(predict(http, model, write(rows), kind), "bad_image")
        assert "row 4 of column 'image'" in fault
