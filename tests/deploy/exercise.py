"""What a server must do wherever it is installed, asked of it through its interface, before and after a restart."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import httpx
import numpy as np

from adjoint_client import Client
from tests.support.patience import LONGEST_WAIT, PATIENCE

GRAPH = {
    "inputs": {"x": ["batch", 8], "y": ["batch"]},
    "parameters": {"w": {"shape": [8], "init": {"kind": "zeros"}}},
    "program": "loss = mean((x @ w - y) ** 2)",
}
RECIPE = {"batch_size": 16, "optimizer": {"kind": "sgd", "lr": 0.01}, "seed": 3}
ENDLESS = {"steps": 10**8, "record": {"every_steps": 10**5}, "checkpoint": {"every_epochs": None, "every_steps": 10**5}}
PARQUET = {"content-type": "application/vnd.apache.parquet"}
FITS: Mapping[str, Mapping[str, Any]] = {
    "float32": {"epochs": 4},
    "half precision": {"epochs": 4, "precision": "mixed_bfloat16"},
    "replicas": {"epochs": 4, "resources": {"replicas": 2}},
    "a sweep": {"epochs": 4, "sweep": {"kind": "grid", "parameters": {"optimizer.lr": [0.01, 0.02]}}},
}


@dataclass(frozen=True)
class Begun:
    """What is there after the first part: fits by what they are about, and a session that has made one step."""

    fits: dict[str, dict[str, Any]]
    checkpoint: bytes
    endless: str
    session: str
    parameters: np.ndarray[Any, Any]


def rows() -> dict[str, np.ndarray[Any, Any]]:
    """Return rows that a line fits."""
    x = np.random.default_rng(0).standard_normal((64, 8)).astype("float32")
    return {"x": x, "y": x @ np.arange(8, dtype="float32")}


def begin(
    url: str, key: str | None = None, executor: str = "native", ways: Mapping[str, Mapping[str, Any]] = FITS
) -> Begun:
    """Upload, fit in these ways, open a session, and leave a fit at work; every process is to have the `executor`."""
    with Client(url, key) as client, _http(url, key) as http:
        npz = client.upload(rows()).id
        for dataset in (npz, _created(http, "/v1/datasets", content=_parquet(), headers=PARQUET)["id"]):
            _fitted(http, dataset, FITS["float32"], executor)
        fits = {about: _fitted(http, npz, changes, executor) for about, changes in ways.items()}
        with client.session(GRAPH, optimizer="sgd", lr=0.01, seed=1, keep=True) as session:
            session.forward_backward(**rows())
            session.optim_step()
            parameters = session.parameters["w"]
        assert _found(http, f"/v1/sessions/{session.id}")["executor"] == executor
        endless = _created(http, "/v1/fits", json={"graph": GRAPH, "dataset": npz, **RECIPE, **ENDLESS})["id"]
        _await_event(http, endless, "checkpoint")
        return Begun(fits, _checkpoint(http, fits["float32"]["id"]), endless, session.id, parameters)


def go_on(url: str, begun: Begun, key: str | None = None, executor: str = "native") -> None:
    """See that after a restart all is there as it was, and that what was under way goes on."""
    with Client(url, key) as client, _http(url, key) as http:
        for fit in begun.fits.values():
            again = _found(http, f"/v1/fits/{fit['id']}")
            assert (again["state"], again["runtime"]) == (fit["state"], fit["runtime"])
        assert _checkpoint(http, begun.fits["float32"]["id"]) == begun.checkpoint
        with client.open_session(begun.session) as session:
            np.testing.assert_array_equal(session.parameters["w"], begun.parameters)
            session.forward_backward(**rows())
            session.optim_step()
        _await_event(http, begun.endless, "state", state="running", attempt=2)
        _created(http, f"/v1/fits/{begun.endless}:cancel")
        fit = _found(http, f"/v1/fits/{begun.endless}?wait={LONGEST_WAIT}&until=terminal")
        assert (fit["state"], fit["runtime"]["executor"]) == ("cancelled", executor), fit


def _parquet() -> bytes:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    columns = rows()
    x = arrow.FixedSizeListArray.from_arrays(columns["x"].ravel(), 8)
    buffer = io.BytesIO()
    parquet.write_table(arrow.table({"x": x, "y": columns["y"]}), buffer)
    return buffer.getvalue()


def _http(url: str, key: str | None) -> httpx.Client:
    headers = {"authorization": f"Bearer {key}"} if key else None
    return httpx.Client(base_url=url, headers=headers, timeout=PATIENCE)


def _created(http: httpx.Client, path: str, **request: Any) -> dict[str, Any]:
    answer = http.post(path, **request)
    assert answer.is_success, answer.text
    body: dict[str, Any] = answer.json()
    return body


def _found(http: httpx.Client, path: str) -> dict[str, Any]:
    answer = http.get(path)
    assert answer.is_success, answer.text
    body: dict[str, Any] = answer.json()
    return body


def _fitted(http: httpx.Client, dataset: str, changes: Mapping[str, Any], executor: str) -> dict[str, Any]:
    fit = _created(http, "/v1/fits", json={"graph": GRAPH, "dataset": dataset, **RECIPE, **changes})
    fit = _found(http, f"/v1/fits/{fit['id']}?wait={LONGEST_WAIT}&until=terminal")
    assert (fit["state"], fit["attempt"]) == ("succeeded", 1), fit
    assert fit["runtime"]["executor"] == executor, fit["runtime"]
    return fit


def _await_event(http: httpx.Client, fit_id: str, kind: str, **members: Any) -> None:
    """Wait for an event of this kind with these members."""
    found = ""
    with http.stream("GET", f"/v1/fits/{fit_id}/events") as events:
        for line in events.iter_lines():
            name, _, value = line.partition(": ")
            found = value if name == "event" else found
            if name == "data" and found == kind and members.items() <= json.loads(value).items():
                return
    raise AssertionError(f"no event {kind} with {members}")


def _checkpoint(http: httpx.Client, fit_id: str) -> bytes:
    latest = _found(http, f"/v1/fits/{fit_id}/checkpoints/latest")
    answer = http.get(f"/v1/checkpoints/{latest['id']}/content")
    assert answer.is_success, answer.text
    return answer.content
