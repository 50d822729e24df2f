"""Datasets as files: what is downloaded in a format and uploaded again is the same dataset."""

import io
from typing import Any

import httpx
import numpy as np
import pytest

from app.api.datasets import MEDIA_TYPES

from .conftest import refused

arrow = pytest.importorskip("pyarrow", "21", "the extra parquet is not installed")
parquet = pytest.importorskip("pyarrow.parquet")
FORMATS = ("csv", "parquet", "arrow", "npz")
ROWS = 300
WORDS = np.array(["rot", "grün, hell", 'sagt "ja"', "NA", "true", "1,5", " spaced ", "", "日本"])


def everything() -> dict[str, np.ndarray[Any, Any]]:
    """A column of each type, with missing values where there can be any; labels of all sorts."""
    rng = np.random.default_rng(7)
    columns: dict[str, np.ndarray[Any, Any]] = {
        f"an {name}": rng.integers(0, 100, ROWS).astype(name)
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    }
    for name in ("float16", "float32", "float64"):
        columns[name] = rng.normal(size=ROWS).astype(name)
        columns[name][::7] = np.nan
    columns["50 %"] = rng.normal(size=(ROWS, 3)).astype(np.float32)
    columns["2019"] = rng.random(ROWS) < 0.5
    columns["größe"] = np.float64(rng.integers(0, 3, ROWS))  # whole, and nevertheless a float
    columns["huge"] = rng.integers(2**62, 2**63 - 1, ROWS)
    columns['say "x", y=z'] = WORDS[rng.integers(0, len(WORDS), ROWS)]
    columns["flags as texts"] = np.array(["true", "false"])[rng.integers(0, 2, ROWS)]
    return columns


def post(http: httpx.Client, content: bytes, kind: str, **query: str) -> dict[str, Any]:
    answer = http.post("/v1/datasets", content=content, headers={"Content-Type": kind}, params=query)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.fixture(scope="module")
def stored(http: httpx.Client) -> dict[str, Any]:
    file = io.BytesIO()
    np.savez(file, **everything())  # type: ignore[arg-type]  # for the stub a name might be allow_pickle
    return post(http, file.getvalue(), "application/x-npz")


def facts(dataset: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**column, "classes": sorted(column["classes"] or ())} for column in dataset["columns"]]


def rows_of(http: httpx.Client, dataset: dict[str, Any]) -> list[dict[str, Any]]:
    rows = http.get(f"/v1/datasets/{dataset['id']}/rows?limit=1000").json()["data"]
    names = {column["name"]: column["classes"] for column in dataset["columns"] if column["classes"]}
    for row in rows:
        for name, classes in names.items():
            row[name] = None if row[name] is None else classes[int(row[name])]
    return list(rows)


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_is_uploaded_to_the_same_columns_labels_types_and_missing_values(
    http: httpx.Client, stored: dict[str, Any], format: str
) -> None:
    answer = http.get(f"/v1/datasets/{stored['id']}/content", params={"format": format})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="{stored["id"]}.{format}"'
    query = {"columns": stored["csv_columns"]} if format == "csv" else {}
    again = post(http, answer.content, answer.headers["content-type"], **query)
    assert facts(again) == facts(stored)
    assert rows_of(http, again) == rows_of(http, stored)
    assert again["columns"][-1]["classes"] == ["false", "true"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_download_is_resumed_and_not_repeated(http: httpx.Client, stored: dict[str, Any], format: str) -> None:
    path = f"/v1/datasets/{stored['id']}/content?format={format}"
    whole = http.get(path)
    tag = whole.headers["etag"]
    rest = http.get(path, headers={"Range": "bytes=100-", "If-Range": tag})
    assert (rest.status_code, rest.content) == (206, whole.content[100:])
    assert http.get(path, headers={"If-None-Match": tag}).status_code == 304


def test_each_format_has_a_tag_of_its_own(http: httpx.Client, stored: dict[str, Any]) -> None:
    queries = [{}, *({"format": format} for format in FORMATS)]
    tags = {http.get(f"/v1/datasets/{stored['id']}/content", params=query).headers["etag"] for query in queries}
    assert len(tags) == len(FORMATS) + 1


def test_other_programs_see_texts_and_missing_values(http: httpx.Client, stored: dict[str, Any]) -> None:
    def content(format: str) -> io.BytesIO:
        return io.BytesIO(http.get(f"/v1/datasets/{stored['id']}/content", params={"format": format}).content)

    values = everything()
    texts = [text or None for text in values['say "x", y=z'].tolist()]
    arrays = np.load(content("npz"), allow_pickle=False)
    for table in (parquet.read_table(content("parquet")), arrow.ipc.open_file(content("arrow")).read_all()):
        assert table.column_names == [*values]
        assert table['say "x", y=z'].to_pylist() == texts
        assert table["float32"].null_count == np.isnan(values["float32"]).sum()
        assert table["50 %"].to_pylist() == values["50 %"].tolist()
    np.testing.assert_array_equal(arrays["float16"], values["float16"])
    assert arrays["float16"].dtype == np.float16
    assert arrays['say "x", y=z'].tolist() == values['say "x", y=z'].tolist()


def test_a_derived_dataset_has_rows_in_its_files(http: httpx.Client, stored: dict[str, Any]) -> None:
    chosen = http.post(f"/v1/datasets/{stored['id']}:select", json={"rows": {"start": 10, "stop": 12}}).json()
    again = post(http, http.get(f"/v1/datasets/{chosen['id']}/content?format=arrow").content, MEDIA_TYPES["arrow"])
    assert rows_of(http, again) == rows_of(http, stored)[10:12]


def test_a_single_column_of_texts_with_missing_ones_is_read_back(http: httpx.Client) -> None:
    one = post(http, b's\na\n""\nb\n', "text/csv", columns="s:class")
    file = http.get(f"/v1/datasets/{one['id']}/content?format=csv").content
    assert facts(post(http, file, "text/csv", columns=one["csv_columns"])) == facts(one)


def test_what_a_format_does_not_have_is_refused_with_advice(http: httpx.Client) -> None:
    deep = post(http, np_bytes(np.zeros((2, 2, 2))), "application/x-npy")
    path = f"/v1/datasets/{deep['id']}/content"
    refusal = http.get(f"{path}?format=parquet")
    assert refused(refusal) == [("/format", "bad_shape")]
    assert "arrow" in refusal.json()["detail"]
    for format in ("csv", "arrow", "npz"):
        file = http.get(f"{path}?format={format}")
        query = {"columns": deep["csv_columns"]} if format == "csv" else {}
        assert facts(post(http, file.content, file.headers["content-type"], **query)) == facts(deep)
    assert refused(http.get(f"{path}?format=xlsx")) == [("/format", "unknown_name")]
    assert http.get("/v1/datasets/ds_00000000000000000000000000/content?format=csv").status_code == 404


def np_bytes(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
