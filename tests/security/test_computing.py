"""Predictions and computations that are too large, too long, or left alone: they cost the server nothing."""

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import psutil
import pytest

from adjoint_client.tensors import from_wire
from app.domain.documents import SAFETENSORS
from app.ingest.encoding import safetensors_body
from tests.security import memory
from tests.security.target_server import AttackFixture
from tests.support.patience import PATIENCE
from tests.support.server import ServerProcess, StartServer
from tests.support.standby import PREPARE
from tests.support.workers import at_orders

MIB = 1024**2
WIDE = {"inputs": {"x": ["n", 1]}, "parameters": {"w": [1, 1_000_000]}, "program": "y = x @ w", "outputs": ["y"]}
SPREAD = {"inputs": {"x": []}, "program": "y = broadcast_to(x, shape=[3000000])", "outputs": ["y"]}
DEEP = {
    "inputs": {"x": ["n", 500]},
    "parameters": {"w": [500, 500]},
    "program": "y = x" + " @ w" * 20,
    "outputs": ["y"],
}
DRAWN = {"parameters": {"w": {"shape": [240_000_000], "init": {"kind": "normal"}}}, "program": "y = sum(w)"}
FACTORED = {"parameters": {"w": {"shape": [3000, 3000], "init": {"kind": "orthogonal"}}}, "program": "y = sum(w)"}
HELD = {"parameters": {"w": {"shape": [30_000_000], "init": {"kind": "zeros"}}}, "program": "y = sum(w)"}
CHAIN = [f"h{place + 1} = digamma(h{place} + x)" for place in range(900)]
# Takes minutes of the fastest processor.
ENDLESS = {
    "inputs": {"x": []},
    "parameters": {"w": [2_000_000]},
    "program": "\n".join(["h0 = w + x", *CHAIN, "y = sum(h900)"]),
    "outputs": ["y"],
}
LINE = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "y = x * w", "outputs": ["y"]}
EXPANDED = {"inputs": {"x": []}, "program": "y = sum(broadcast_to(x, shape=[200000000]) * x)", "outputs": ["y"]}
ROW = {"inputs": {"x": [3.0]}}


def graph(http: httpx.Client, document: dict[str, Any]) -> str:
    answer = http.post("/v1/graphs", json={"inputs": {}, "outputs": ["y"], **document})
    assert answer.status_code in (200, 201), answer.text
    return f"/v1/graphs/{answer.json()['id']}"


def model(http: httpx.Client, document: dict[str, Any], **parameters: Any) -> str:
    body = safetensors_body({name: np.asarray(value, np.float32) for name, value in parameters.items()})
    where = f"/v1/checkpoints?graph={graph(http, document).rpartition('/')[2]}"
    answer = http.post(where, content=body, headers={"Content-Type": SAFETENSORS})
    assert answer.status_code == 201, answer.text
    return f"/v1/checkpoints/{answer.json()['id']}"


def computing(server: ServerProcess) -> list[psutil.Process]:
    """Return the processes that compute, where there are no fits and sessions."""
    return [child for each in psutil.Process(server.process.pid).children() for child in at_orders(each)]


def await_that(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def at_work(server: ServerProcess) -> list[psutil.Process]:
    return [each for each in computing(server) if sum(each.cpu_times()[:2]) > 0.2]


def later(server: ServerProcess, path: str, body: dict[str, Any], answers: list[httpx.Response]) -> threading.Thread:
    def send() -> None:
        answers.append(httpx.post(server.url + path, json=body, timeout=PATIENCE, verify=False))

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.fixture(scope="module")
def small(attack: AttackFixture) -> ServerProcess:
    """Return a server with little memory for processes."""
    return attack.start(memory_budget_bytes=700 * MIB, max_answer_bytes=16 * MIB, compute_operations=5 * 10**9)


@pytest.fixture(scope="module")
def wide(small: ServerProcess) -> str:
    return model(small.http, WIDE, w=np.ones((1, 1_000_000)))


@pytest.mark.parametrize(
    ("rows", "code", "figure"),
    [(1000, "memory_exceeded", "plan_bytes 2440002480"), (6, "answer_too_large", f"{16 * MIB} bytes")],
)
def test_a_prediction_that_is_too_large_is_refused_with_the_figures(
    small: ServerProcess, wide: str, rows: int, code: str, figure: str
) -> None:
    answer = small.http.post(f"{wide}:predict", json={"inputs": {"x": [[1.0]] * rows}})
    assert (answer.status_code, answer.json()["code"]) == (413, code), answer.text
    assert figure in answer.json()["detail"]


def test_a_prediction_of_too_many_operations_is_refused(attack: AttackFixture, small: ServerProcess) -> None:
    attack.files_may_be_left = True  # the folder of its blob
    deep = model(small.http, DEEP, w=np.ones((500, 500)))
    assert small.http.post(f"{deep}:predict", json={"inputs": {"x": [[0.5] * 500]}}).status_code == 200
    answer = small.http.post(f"{deep}:predict", json={"inputs": {"x": [[0] * 500] * 1001}})
    assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (413, "limit_exceeded", 5 * 10**9)


@pytest.mark.parametrize(("document", "said"), [(DRAWN, "bytes of memory: 48"), (FACTORED, "operations, the limit")])
def test_what_drawing_parameters_takes_counts_without_derivatives(
    small: ServerProcess, document: dict[str, Any], said: str
) -> None:
    answer = small.http.post(f"{graph(small.http, document)}:compute", json={"want": ["outputs"]})
    assert (answer.status_code, answer.json()["code"]) == (422, "limit_exceeded"), answer.text
    assert said in answer.json()["detail"]


def test_millions_of_numbers_that_are_not_finite_are_named_by_their_runs(small: ServerProcess) -> None:
    spread = graph(small.http, SPREAD)
    nothing = {"x": {"dtype": "float32", "shape": [], "data": [None], "nonfinite": {"0": "nan"}}}
    answer = small.http.post(f"{spread}:compute", json={"inputs": nothing, "want": ["outputs"]})
    assert answer.status_code == 200, answer.text[:500]
    response = answer.json()["outputs"]["y"]
    assert response["nonfinite"] == {"0-2999999": "nan"}
    assert np.isnan(from_wire(response)).all()


def test_a_computation_for_which_there_is_no_memory_now_may_come_again(
    attack: AttackFixture, small: ServerProcess
) -> None:
    attack.files_may_be_left = True  # the folder of sessions
    held, request = graph(small.http, HELD), {"want": ["outputs"]}
    assert small.http.post(f"{held}:compute", json=request).status_code == 200
    session: dict[str, Any] = {"graph": LINE, "optimizer": "sgd", "resources": {"executor": "numpy"}}
    sessions = [f"/v1/sessions/{small.http.post('/v1/sessions', json=session).json()['id']}" for _ in range(2)]
    for each in sessions:
        assert small.http.post(f"{each}:predict", json={"inputs": {"x": [1.0]}}).status_code == 200
    answer = small.http.post(f"{held}:compute", json=request)
    assert (answer.status_code, answer.json()["code"]) == (429, "memory_full"), answer.text
    assert answer.headers["retry-after"]
    assert str(700 * MIB) in answer.json()["detail"]
    for each in sessions:
        assert small.http.delete(each).status_code == 204
    assert small.http.post(f"{held}:compute", json=request).status_code == 200


def test_computations_hold_up_neither_others_nor_the_end_of_the_server(start_server: StartServer) -> None:
    server = start_server(compute_seconds=600)
    line, endless = model(server.http, LINE, w=2.0), graph(server.http, ENDLESS)
    request: dict[str, Any] = {"inputs": {"x": 1.0}, "want": ["outputs"]}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.url}{endless}:compute", json=request, timeout=1)
    await_that(lambda: not computing(server))  # its client has left
    answers: list[httpx.Response] = []
    asked = [later(server, f"{endless}:compute", request, answers) for _ in range(3)]
    await_that(lambda: at_work(server))
    assert server.http.post("/v1/datasets", json={"columns": {"x": [1.0, 2.0, 3.0]}}).status_code == 201
    assert server.http.post(f"{line}:predict", json=ROW).json()["outputs"]["y"]["data"] == [6.0]
    assert not answers
    assert server.stop() == 0
    for thread in asked:
        thread.join()
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(503, "draining")}


def test_a_computation_that_takes_too_long_is_stopped(start_server: StartServer) -> None:
    server = start_server(compute_seconds=1)
    answer = server.http.post(
        f"{graph(server.http, ENDLESS)}:compute", json={"inputs": {"x": 1.0}, "want": ["outputs"]}
    )
    assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (503, "compute_timeout", 1.0)
    assert "ADJOINT_COMPUTE_SECONDS" in answer.json()["detail"]
    await_that(lambda: not computing(server))


def test_memory_that_was_not_estimated_is_refused_and_the_process_is_replaced(start_server: StartServer) -> None:
    underestimating = {PREPARE: f"{memory.__name__}:{memory.admit_all.__name__}"}
    server = start_server(environment=underestimating, memory_budget_bytes=700 * MIB)
    line, wide = model(server.http, LINE, w=2.0), model(server.http, WIDE, w=np.ones((1, 1_000_000)))
    predicted = server.http.post(f"{line}:predict", json=ROW).content
    requests = {
        f"{wide}:predict": {"inputs": {"x": [[1.0]] * 1000}},
        f"{graph(server.http, EXPANDED)}:compute": {"inputs": {"x": 1.0}, "want": ["outputs"]},
    }
    for path, body in requests.items():
        answer = server.http.post(path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (413, "memory_exceeded"), answer.text
        assert "found no more memory within" in answer.json()["detail"]
        assert server.http.post(f"{line}:predict", json=ROW).content == predicted
    assert server.http.get("/readyz").status_code == 200
    assert not server.tracebacks()


def test_a_prediction_whose_process_is_lost_is_made_by_another(start_server: StartServer) -> None:
    server = start_server(lease_seconds=3)
    line = model(server.http, LINE, w=2.0)
    predicted = server.http.post(f"{line}:predict", json=ROW)
    assert predicted.status_code == 200, predicted.text
    (first,) = computing(server)
    first.send_signal(signal.SIGSTOP)  # and is killed once it has been silent for too long
    assert server.http.post(f"{line}:predict", json=ROW).content == predicted.content
    (second,) = computing(server)
    assert second.pid != first.pid
    second.send_signal(signal.SIGSTOP)
    answer = server.http.post(f"{graph(server.http, LINE)}:compute", json={**ROW, "want": ["outputs"]})
    assert (answer.status_code, answer.json()["code"]) == (503, "computation_lost"), answer.text
    assert answer.headers["retry-after"]
