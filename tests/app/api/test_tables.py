"""Tables with text, missing values and a target: one request trains them; mistakes are refused with cause and fix."""

from typing import Any

import httpx
import numpy as np
import pytest

from tests.support.patience import LONGEST_WAIT

from .conftest import created

CSV = "text/csv"


def people(rows: int = 120) -> str:
    """Return a table whose survivors are the women and the young."""
    rng = np.random.default_rng(0)
    lines = ["passenger,age,sex,port,class,boarded,survived"]
    for row in range(rows):
        age, sex = rng.integers(1, 80), ("female", "male")[rng.integers(2)]
        cells = [row + 1, age if row % 5 else "", sex, ("C", "Q", "S", "")[row % 4], row % 3 + 1]
        lines.append(",".join(map(str, [*cells, f"1912-04-{1 + row % 28:02}", "yes" if sex == "female" else "no"])))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def passengers(http: httpx.Client) -> dict[str, Any]:
    return created(http.post("/v1/datasets", content=people(), headers={"content-type": CSV}))


def test_a_table_trains_with_a_target_alone_and_predicts_raw_values(http, passengers):
    proposed = passengers["proposed"]
    kinds = {item["column"]: item["kind"] for items in proposed["columns"].values() for item in items}
    assert kinds == {
        "age": "number", "sex": "category", "port": "category", "class": "category", "boarded": "date",
        "survived": "boolean",
    }  # fmt: skip
    assert proposed["left_out"] == {"passenger": "whole numbers from 1 to 120 in 120 rows: they number the rows"}

    fit = created(http.post("/v1/fits", json={"dataset": passengers["id"], "target": "survived", "seed": 1}))
    fit = http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()
    assert fit["state"] == "succeeded", fit["error"]
    assert fit["latest"]["val_accuracy"] == 1.0
    assert "graph" in fit["request"]
    assert fit["request"]["columns"]["numbers"][0]["column"] == "age"

    checkpoint = http.get(f"/v1/fits/{fit['id']}/checkpoints/best").json()["id"]
    raw = {"age": [30, None], "sex": ["female", "male"], "port": ["S", None], "class": [1, 3]}
    raw["boarded"] = ["1912-04-10", "1912-04-11"]
    answer = http.post(f"/v1/checkpoints/{checkpoint}:predict", json={"inputs": raw})
    assert answer.status_code == 200, answer.text
    logits = np.reshape(answer.json()["outputs"]["tabular_0.outputs"]["data"], (2, 2))
    assert [answer.json()["classes"]["tabular_0.outputs"][place] for place in logits.argmax(1)] == ["yes", "no"]

    found = http.post(f"/v1/checkpoints/{checkpoint}:evaluate", json={"dataset": passengers["id"]})
    assert found.json()["metrics"]["accuracy"] > 0.95
    session = created(http.post("/v1/sessions", json={"checkpoint": checkpoint}))["id"]
    answer = http.post(f"/v1/sessions/{session}:predict", json={"inputs": raw})
    assert answer.status_code == 200, answer.text
    np.testing.assert_allclose(np.reshape(answer.json()["outputs"]["tabular_0.outputs"]["data"], (2, 2)), logits)
    http.delete(f"/v1/sessions/{session}")
    # Rows of the dataset become inputs as in the fit.
    body = {"checkpoint": checkpoint, "dataset": passengers["id"]}
    session = created(http.post("/v1/sessions", json=body))["id"]
    here = f"/v1/sessions/{session}"
    answer = http.post(f"{here}:predict", json={"rows": {"indices": [7, 0]}})
    assert answer.status_code == 200, answer.text
    rows = [people().splitlines()[1 + row].split(",") for row in (7, 0)]
    raw = {name: [row[place] or None for row in rows] for place, name in enumerate(people().split("\n")[0].split(","))}
    raw |= {"age": [int(row[1]) if row[1] else None for row in rows], "class": [int(row[4]) for row in rows]}
    same = http.post(
        f"{here}:predict", json={"inputs": {name: raw[name] for name in ("age", "sex", "port", "class", "boarded")}}
    )
    assert answer.json()["outputs"] == same.json()["outputs"]
    passed = http.post(f"{here}:forward", json={"rows": {"start": 0, "stop": 100}, "training": False})
    assert passed.status_code == 200, passed.text
    [loss] = passed.json()["losses"].values()
    np.testing.assert_allclose(loss, fit_loss(http, checkpoint, passengers["id"], 100), atol=1e-6)
    http.delete(here)
    wrong = created(http.post("/v1/datasets", json={"columns": {"age": [1.5, 2.5]}}))["id"]
    answer = http.post("/v1/sessions", json={"checkpoint": checkpoint, "dataset": wrong})
    assert (answer.status_code, answer.json()["code"], "'sex'" in answer.text) == (422, "invalid", True)


def fit_loss(http: httpx.Client, checkpoint: str, dataset: str, stop: int) -> float:
    answer = http.post(f"/v1/checkpoints/{checkpoint}:evaluate", json={"dataset": dataset, "stop": stop})
    return float(answer.json()["metrics"]["loss"])


LABELS = {"age": "Alter (Jahre)", "sex": "sex %", "port": "2019", "class": "CLASS", "survived": "Überlebt?"}


def test_columns_go_by_their_labels_and_by_their_identifiers(http):
    head, rows = people(60).split("\n", 1)
    labels = [LABELS.get(name, name) for name in head.split(",")]
    table = ",".join(labels) + "\n" + rows
    dataset = created(http.post("/v1/datasets?header=true", content=table.encode(), headers={"content-type": CSV}))
    names = {column["label"]: column["name"] for column in dataset["columns"]}
    assert list(names) == labels
    assert (names["CLASS"], names["2019"][:6]) == ("CLASS", "_2019_")
    items = dataset["proposed"]["columns"]["numbers"]
    assert [item.get("label", item["column"]) for item in items] == [*labels[1:]]

    request = {"dataset": dataset["id"], "seed": 1, "epochs": 1, "validation": {"split": 0.2, "group": "sex %"}}
    request["columns"] = {"numbers": [{"columns": ["CLASS", "2019"], "kind": "category"}, "sex %"]}
    fits = [created(http.post("/v1/fits", json={**request, "target": t})) for t in ("Überlebt?", names["Überlebt?"])]
    done = [http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json() for fit in fits]
    assert done[0]["state"] == "succeeded", done[0]["error"]
    assert done[0]["request"] == done[1]["request"]
    assert done[0]["request"]["columns"]["numbers"][1] == {"column": names["sex %"], "label": "sex %"}

    [checkpoint] = http.get(f"/v1/fits/{fits[0]['id']}/checkpoints").json()["data"]
    url = f"/v1/checkpoints/{checkpoint['id']}"
    raw = {"CLASS": [1, 2], "2019": ["S", None], "sex %": ["female", "male"]}
    by_label = http.post(f"{url}:predict", json={"inputs": raw})
    by_name = http.post(f"{url}:predict", json={"inputs": {names[label]: values for label, values in raw.items()}})
    assert by_label.json()["outputs"] == by_name.json()["outputs"]
    stored = http.post(f"{url}:predict?format=csv", json={"dataset": dataset["id"], "id_column": "sex %"}).text
    # Another order, and fewer columns: what a label is called does not depend on its table.
    cells = [line.split(",") for line in table.strip().split("\n")]
    order = [labels.index(label) for label in ("2019", "sex %", "CLASS")]
    fewer = "\n".join(",".join(line[place] for place in order) for line in cells).encode() + b"\n"
    query = {"header": "true", "id_column": names["sex %"]}
    assert http.post(f"{url}:predict", params=query, content=fewer, headers={"content-type": CSV}).text == stored
    assert stored.startswith("sex %,")

    both = f"'2019' ({names['2019']})"
    answer = http.post(f"{url}:predict", json={"inputs": {**raw, "2019": [1, 2]}})
    assert answer.json()["errors"][0]["pointer"] == "/inputs/2019"
    wrong = {**request, "target": "Überlebt?", "columns": {"numbers": [{"column": "2019", "kind": "number"}]}}
    for refusal in (answer, http.post("/v1/fits", json=wrong)):
        assert (refusal.status_code, both in refusal.json()["detail"]) == (422, True), refusal.text
    answer = http.post("/v1/fits", json={**request, "target": "Überlebt"})
    assert f"did you mean 'Überlebt?' ({names['Überlebt?']})?" in answer.json()["detail"]


UPLOADS = {
    "a word that may be missing": ("a,b\nNA,1\nx,2\n", "", "/columns/a", "missing_value", "missing=NA"),
    "text in a column of numbers": ("a,b\n1,1\n?,2\n", "", "/columns/a", "mixed_types", "missing=TEXT"),
    "every text missing": (
        "a,b\n,1\n?,2\n",
        "columns=a:class,b:int64&missing=?",
        "/columns/a",
        "missing_value",
        "leave",
    ),
    "a truth value missing": ("a,b\n,1\nyes,2\n", "columns=a:bool,b:int64", "/columns/a", "missing_value", "missing"),
}
FITS = {
    "an unknown target": ({"target": "survive"}, "/target", "unknown_column", "did you mean 'survived'"),
    "numbers to classify": ({"target": "age", "task": "classification"}, "/target", "missing_values", "leave these"),
    "text to regress": ({"target": "sex", "task": "regression"}, "/task", "text_target", "take task 'classification'"),
    "a target and a graph": ({"target": "sex", "graph": {}}, "/target", "conflict", "omit it"),
    "an unknown column": ({"x": ["aeg"]}, "/columns/x/0", "unknown_column", "did you mean 'age'"),
    "missing numbers": ({"x": ["age"]}, "/columns/x/0", "missing_values", "add impute"),
    "a column too many": ({"x": ["boarded", "no"]}, "/columns/x/1", "unknown_column", "its columns are"),
    "text as number": ({"x": [{"column": "sex", "scale": "standard"}]}, "/columns/x/0", "text_column", "'category'"),
    "number as text": ({"x": [{"column": "class", "kind": "text"}]}, "/columns/x/0", "type_mismatch", "takes text"),
    "fractions as levels": ({"x": [{"column": "age", "encode": "index"}]}, "/columns/x/0", "type_mismatch", "'number'"),
    "no truth values": ({"x": [{"column": "class", "kind": "boolean"}]}, "/columns/x/0", "out_of_range", "0 and 1"),
    "an unknown kind": ({"x": [{"column": "age", "kind": "numbr"}]}, "/columns/x/0/kind", "unknown_name", "'number'"),
    "an unknown option": ({"x": [{"column": "age", "imput": "mean", "kind": "number"}]}, "/columns/x/0/imput",
        "unknown_field", "did you mean 'impute'"),
    "an unknown statistic": ({"x": [{"column": "age", "impute": "medain"}]}, "/columns/x/0/impute",
        "attribute_invalid", "'median'"),
    "a value without constant": ({"x": [{"column": "age", "impute": "mean", "value": 3.0}]}, "/columns/x/0/value",
        "attribute_invalid", "'constant'"),
    "no column named": ({"x": [{"impute": "mean"}]}, "/columns/x/0", "missing_field", "'column'"),
    "an input fed twice": ({"x": ["class"], "feeds": {"x": "age"}}, "/feeds/x", "attribute_invalid", "leave this out"),
    "an input that is not there": ({"x": ["class"], "z": ["age"]}, "/columns/z", "unknown_name", "no input"),
    "another width": ({"x": ["class", "sex"]}, "/columns/x", "shape_mismatch", "takes rows of shape [2], not [5]"),
    "one-hot for an embedding": ({"i": [{"column": "sex"}]}, "/columns/i", "dtype_mismatch", "takes int64"),
    "missing texts": ({"feeds": {"y": "port", "x": "class"}}, "/feeds/y", "missing_values", "'columns'"),
}  # fmt: skip


@pytest.mark.parametrize("name", UPLOADS)
def test_a_mistake_in_an_upload(name, http):
    text, query, pointer, code, fix = UPLOADS[name]
    answer = http.post(f"/v1/datasets?{query}", content=text, headers={"content-type": CSV})
    check(answer, pointer, code, fix)


@pytest.mark.parametrize("name", FITS)
def test_a_mistake_in_a_fit(name, http, passengers):
    given, pointer, code, fix = FITS[name]
    columns = {key: value for key, value in given.items() if isinstance(value, list)}
    request: dict[str, Any] = {"dataset": passengers["id"], "epochs": 1, "columns": columns or None}
    if "target" not in given:
        indices = {"i": {"shape": ["batch", 4], "dtype": "int64"}, "x": {"shape": ["batch"], "dtype": "int64"}}
        used = {"x": ["batch", 2]} if "x" in columns else {key: indices[key] for key in ("i" if columns else "x")}
        embedding = [] if "x" in columns else [{"layer": "embedding", "rows": 9, "units": 2}, "flatten"]
        request["graph"] = {
            "inputs": {**used, "y": {"shape": ["batch"], "dtype": "int64"}},
            "layers": [*embedding, {"layer": "linear", "units": 3}],
            "loss": "cross_entropy",
        }
        request["feeds"] = {"y": "class"}
    request.update({key: value for key, value in given.items() if not isinstance(value, list)})
    check(http.post("/v1/fits", json=request), pointer, code, fix)


def check(answer: httpx.Response, pointer: str, code: str, fix: str) -> None:
    assert answer.status_code == 422, answer.text
    first = answer.json()["errors"][0]
    assert (first["pointer"], first["code"]) == (pointer, code), first
    assert fix in first["detail"], first
