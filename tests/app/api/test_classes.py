"""Text columns are mapped to the class numbers of the model by name, wherever their rows come from."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest

from tests.support.patience import LONGEST_WAIT

from .conftest import bundle_of, created, refused

SPECIES = ("setosa", "versicolor", "virginica")
GRAPH = {
    "inputs": {
        "x": ["batch", 4],
        "colour": {"shape": ["batch"], "dtype": "int64"},
        "species": {"shape": ["batch"], "dtype": "int64"},
    },
    "parameters": {"w": [4, 3], "table": [3, 3]},
    "program": "logits = x @ w + embedding(table, colour)\nloss = cross_entropy(logits, species)",
    "outputs": ["logits"],
}
RECIPE = {
    "epochs": 40,
    "batch_size": 16,
    "optimizer": {"kind": "adam", "lr": 0.05},
    "resources": {"executor": "numpy", "threads": 1},
}
COLOURS = {"setosa": "blue", "versicolor": "red", "virginica": "yellow"}


def rows(names: Sequence[str], count: int = 12) -> dict[str, Any]:
    """Return a dataset in which the species follow from the measurements and the colour together."""
    species = [name for name in names for _ in range(count)]
    x = [[float(SPECIES.index(name) == place if name in SPECIES else 0.3) for place in range(3)] for name in species]
    return {
        "x": [[*values, 0.1 * (place % count)] for place, values in enumerate(x)],
        "colour": [COLOURS.get(name, "red") for name in species],
        "species": species,
    }


def upload(http: httpx.Client, columns: Mapping[str, Any]) -> str:
    return str(created(http.post("/v1/datasets", json={"columns": dict(columns)}))["id"])


def finished(http: httpx.Client, **request: Any) -> dict[str, Any]:
    begun = created(http.post("/v1/fits", json=request))
    fit: dict[str, Any] = http.get(f"/v1/fits/{begun['id']}", params={"wait": LONGEST_WAIT}).json()
    assert fit["state"] == "succeeded", fit["error"]
    return fit


def replay(http: httpx.Client, bundle: Mapping[str, Any]) -> httpx.Response:
    return http.post("/v1/fits:replay", json={"bundle": bundle})


def begin(http: httpx.Client, **request: Any) -> httpx.Response:
    return http.post("/v1/fits", json=request)


@pytest.fixture(scope="module")
def graph(http: httpx.Client) -> str:
    return str(created(http.post("/v1/graphs", json=GRAPH))["id"])


@pytest.fixture(scope="module")
def whole(http: httpx.Client) -> str:
    return upload(http, rows(SPECIES))


@pytest.fixture(scope="module")
def trained(http: httpx.Client, graph: str, whole: str) -> dict[str, Any]:
    return finished(http, graph=graph, dataset=whole, **RECIPE)


@pytest.fixture(scope="module")
def checkpoint(http: httpx.Client, trained: dict[str, Any]) -> str:
    return str(http.get(f"/v1/fits/{trained['id']}/checkpoints/latest").json()["id"])


HELD_OUT = {
    "equal": SPECIES,
    "reordered": SPECIES[::-1],
    "missing the first": SPECIES[1:],
    "missing the second": SPECIES[::2],
    "one only": SPECIES[2:],
}


@pytest.mark.parametrize("names", HELD_OUT.values(), ids=HELD_OUT.keys())
def test_rows_to_validate_on_are_numbered_as_the_training_rows(
    http: httpx.Client, graph: str, whole: str, names: Sequence[str]
) -> None:
    held_out = upload(http, rows(names))
    fit = finished(
        http, graph=graph, dataset=whole, validation={"dataset": held_out}, metrics=["accuracy"], **RECIPE,
        early_stopping={"monitor": "val_loss", "patience": 3, "restore_best": True},
    )  # fmt: skip
    assert fit["latest"]["val_accuracy"] == 1.0
    assert fit["best"]["value"] < 0.3


def test_the_classes_are_in_the_fit_its_bundle_and_its_checkpoint(
    http: httpx.Client, trained: dict[str, Any], checkpoint: str
) -> None:
    expected = {
        "colour": {"names": ["blue", "red", "yellow"], "unknown": None},
        "species": {"names": list(SPECIES), "unknown": None},
    }
    assert trained["request"]["classes"] == expected
    bundle = bundle_of(http, trained["id"])
    assert bundle["request"]["classes"] == expected
    assert [column["classes"] for column in bundle["datasets"][0]["columns"]][1:] == [
        ["blue", "red", "yellow"],
        list(SPECIES),
    ]
    content = http.get(f"/v1/checkpoints/{checkpoint}/content").content
    assert b'\\"classes\\": {\\"colour\\": {\\"names\\": [\\"blue\\", \\"red\\", \\"yellow\\"]' in content


UNKNOWN = [*SPECIES, "albata"]


def _validated(http: httpx.Client, graph: str, whole: str, other: str, **request: Any) -> httpx.Response:
    return begin(http, graph=graph, dataset=whole, validation={"dataset": other}, **{**RECIPE, **request})


def _forked(http: httpx.Client, checkpoint: str, other: str, **request: Any) -> httpx.Response:
    began = {"checkpoint": checkpoint, "restore": "parameters"}
    return begin(http, from_checkpoint=began, dataset=other, epochs=1, **request)


def test_an_unknown_class_is_refused_by_name(http: httpx.Client, graph: str, whole: str, checkpoint: str) -> None:
    other = upload(http, rows(UNKNOWN))
    session = created(http.post("/v1/sessions", json={"checkpoint": checkpoint}))["id"]
    taken = {"rows": {"dataset": other, "start": 0, "stop": 4}}
    answers = {
        "/validation/dataset": _validated(http, graph, whole, other),
        "/dataset": _forked(http, checkpoint, other),
        "/rows/dataset": http.post(f"/v1/sessions/{session}:forward_backward", json=taken),
        "/inputs/colour": http.post(
            f"/v1/checkpoints/{checkpoint}:predict", json={"inputs": {"x": [[0, 0, 0, 0]], "colour": ["green"]}}
        ),
    }
    for pointer, answer in answers.items():
        assert refused(answer) == [(pointer, "unknown_class")]
        assert "'green'" in answer.text or "'albata'" in answer.text


def test_an_unknown_class_goes_to_the_one_that_is_declared_for_it(http: httpx.Client, graph: str) -> None:
    wide = {**GRAPH, "parameters": {"w": [4, 4], "table": [3, 4]}}
    named = {"species": {"unknown": "other"}}
    known, other = upload(http, rows(SPECIES)), upload(http, rows(["albata", "setosa"]))
    fit = finished(http, graph=wide, dataset=known, validation={"dataset": other}, classes=named,
                   **{**RECIPE, "epochs": 2})  # fmt: skip
    assert fit["request"]["classes"]["species"] == {"names": [*SPECIES, "other"], "unknown": "other"}


def test_predictions_take_names_and_show_them(http: httpx.Client, checkpoint: str) -> None:
    x = rows(SPECIES, 1)
    named = {"inputs": {"x": x["x"], "colour": x["colour"]}}
    numbered = {"inputs": {"x": x["x"], "colour": [0, 1, 2]}}
    answers = [http.post(f"/v1/checkpoints/{checkpoint}:predict", json=each).json() for each in (named, numbered)]
    assert answers[0] == answers[1]
    assert answers[0]["classes"] == {"logits": list(SPECIES)}
    logits = answers[0]["outputs"]["logits"]["data"]
    best = [max(range(3), key=lambda place, row=row: logits[3 * row + place]) for row in range(3)]
    assert [answers[0]["classes"]["logits"][place] for place in best] == list(SPECIES)


def test_joined_datasets_with_different_classes_train_as_one(http: httpx.Client, graph: str) -> None:
    parts = [upload(http, rows(names)) for names in (SPECIES[1:], SPECIES[:1])]
    columns = [rows(names) for names in (SPECIES[1:], SPECIES[:1])]
    together = upload(http, {name: columns[0][name] + columns[1][name] for name in columns[0]})
    options = {**RECIPE, "epochs": 3, "validation": {"split": 0.25, "stratify": "species"}}
    one, several = (finished(http, graph=graph, dataset=data, **options) for data in (together, parts))
    curves = [http.get(f"/v1/fits/{fit['id']}/metrics").json()["data"] for fit in (one, several)]
    assert curves[0] == curves[1]
    assert one["request"]["classes"] == several["request"]["classes"]


def test_a_fork_keeps_the_classes_of_its_checkpoint(
    http: httpx.Client, trained: dict[str, Any], checkpoint: str
) -> None:
    other = upload(http, rows(SPECIES[1:]))
    fork = finished(
        http, from_checkpoint={"checkpoint": checkpoint, "restore": "parameters"}, dataset=other, epochs=1,
        optimizer={"kind": "sgd", "lr": 1e-9}, metrics=["accuracy"],
    )  # fmt: skip
    assert fork["request"]["classes"] == trained["request"]["classes"]
    assert fork["latest"]["accuracy"] == 1.0
    repeated = created(
        begin(http, from_checkpoint={"checkpoint": checkpoint, "restore": "parameters"}, dataset=other, epochs=1,
              classes={"species": None}, start_paused=True)
    )  # fmt: skip
    assert repeated["request"]["classes"]["species"]["names"] == list(SPECIES[1:])
    assert repeated["request"]["classes"]["colour"] == trained["request"]["classes"]["colour"]
    continued = begin(http, from_checkpoint=checkpoint, dataset=other, epochs=50)
    assert ("/dataset", "conflict") in refused(continued)


def test_a_sweep_maps_rows_by_name(http: httpx.Client, graph: str, whole: str) -> None:
    held_out = upload(http, rows(SPECIES[1:]))
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": [0.05, 0.04]}}
    fit = finished(
        http, graph=graph, dataset=whole, validation={"dataset": held_out}, metrics=["accuracy"], sweep=sweep, **RECIPE
    )
    variants = http.get("/v1/fits", params={"parent": fit["id"]}).json()["data"]
    assert [variant["latest"]["val_accuracy"] for variant in variants] == [1.0, 1.0]


def test_a_replay_has_the_classes_of_its_bundle(http: httpx.Client, graph: str) -> None:
    dataset, held_out = upload(http, rows(SPECIES)), upload(http, rows(SPECIES[:2]))
    options = {**RECIPE, "epochs": 2, "validation": {"dataset": held_out}}
    order = {"species": ["virginica", "setosa", "versicolor"]}
    fit = finished(http, graph=graph, dataset=dataset, classes=order, **options)
    bundle = bundle_of(http, fit["id"])
    again = replay(http, bundle).json()
    done = http.get(f"/v1/fits/{again['id']}", params={"wait": LONGEST_WAIT}).json()
    assert done["request"]["classes"] == fit["request"]["classes"]
    assert done["replay"]["verdict"]["bit_exact"] is True
    bundle["datasets"][0]["columns"][2]["classes"] = ["a", "b", "c"]
    assert refused(replay(http, bundle)) == [("/bundle/datasets/0/digest", "not_found")]


SESSIONS: dict[str, Any] = {
    "of a checkpoint": lambda graph, whole, checkpoint: {"checkpoint": checkpoint},
    "of a dataset": lambda graph, whole, checkpoint: {"graph": graph, "dataset": whole},
    "of its first dataset": lambda graph, whole, checkpoint: {"graph": graph},
    "of the request": lambda graph, whole, checkpoint: {
        "graph": graph,
        "classes": {"species": list(SPECIES), "colour": ["blue", "red", "yellow"]},
    },
}


@pytest.mark.parametrize("begun", SESSIONS.values(), ids=SESSIONS.keys())
def test_the_rows_of_a_session_are_mapped_by_name(
    http: httpx.Client, graph: str, whole: str, checkpoint: str, begun: Any
) -> None:
    reordered = upload(http, rows(SPECIES[1:]))
    session = created(http.post("/v1/sessions", json=begun(graph, whole, checkpoint)))["id"]
    path = f"/v1/sessions/{session}:forward"
    outcomes = []
    for dataset, start in ((whole, 12), (reordered, 0)):
        taken = {"rows": {"dataset": dataset, "start": start, "stop": start + 24}}
        outcomes.append(http.post(path, json=taken).json()["losses"]["loss"])
    assert outcomes[0] == pytest.approx(outcomes[1], rel=1e-6)
    given = http.post(path, json={"inputs": rows(SPECIES[1:])}).json()
    assert given["losses"]["loss"] == pytest.approx(outcomes[0], rel=1e-6)
    assert http.get(f"/v1/sessions/{session}").json()["classes"]["species"]["names"] == list(SPECIES)


def test_a_session_saves_its_classes_and_loads_no_others(http: httpx.Client, graph: str, checkpoint: str) -> None:
    order = {"species": ["virginica", "setosa", "versicolor"], "colour": ["red", "blue", "yellow"]}
    session = created(http.post("/v1/sessions", json={"graph": graph, "classes": order}))["id"]
    saved = http.post(f"/v1/sessions/{session}:save", json={})
    assert saved.status_code == 201, saved.text
    answer = http.post(
        f"/v1/checkpoints/{saved.json()['id']}:predict", json={"inputs": {"x": [[0, 0, 0, 0]], "colour": ["red"]}}
    )
    assert answer.json()["classes"] == {"logits": order["species"]}
    assert refused(http.post(f"/v1/sessions/{session}:load", json={"checkpoint": checkpoint})) == [
        ("/checkpoint", "conflict")
    ]


REFUSED: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "no such input": ({"classes": {"specis": ["a"]}}, [("/classes/specis", "unknown_name")]),
    "numbers": ({"classes": {"x": ["a"]}}, [("/classes/x", "conflict")]),
    "twice": ({"classes": {"species": ["a", "a"]}}, [("/classes/species/names", "attribute_invalid")]),
    "no such class": (
        {"classes": {"species": {"names": list(SPECIES), "unknown": "else"}}},
        [("/classes/species/unknown", "unknown_name")],
    ),
    "fewer than the data": ({"classes": {"species": list(SPECIES[1:])}}, [("/dataset", "unknown_class")]),
}


@pytest.mark.parametrize(("request_", "findings"), REFUSED.values(), ids=REFUSED.keys())
def test_wrong_classes_are_refused(
    http: httpx.Client, graph: str, whole: str, request_: dict[str, Any], findings: list[tuple[str, str]]
) -> None:
    assert refused(begin(http, graph=graph, dataset=whole, **RECIPE, **request_)) == findings


def test_numbers_in_the_place_of_texts_are_refused(http: httpx.Client, graph: str, whole: str) -> None:
    numbered = upload(http, {**rows(SPECIES), "species": [0] * 36})
    assert refused(_validated(http, graph, whole, numbered)) == [("/validation/dataset", "class_names_missing")]
    assert refused(_validated(http, graph, numbered, whole)) == [("/validation/dataset", "dtype_mismatch")]


TARGETS = {
    "a loss": "pred = x @ w\nloss = mse_loss(pred, y)",
    "a difference": "pred = x @ w\nloss = mean((pred - y) ** 2)",
}


@pytest.mark.parametrize("program", TARGETS.values(), ids=TARGETS.keys())
def test_a_text_target_of_a_regression_is_refused(http: httpx.Client, program: str) -> None:
    graph = {"inputs": {"x": ["n", 4], "y": ["n"]}, "parameters": {"w": [4]}, "program": program}
    dataset = upload(http, {"x": rows(SPECIES)["x"], "y": rows(SPECIES)["species"]})
    answer = begin(http, graph=graph, dataset=dataset, epochs=1)
    assert refused(answer) == [("/dataset", "text_target")]
    assert "cross_entropy" in answer.text
