"""ggmlR's tutorial: the tape, the modules and the loop on iris. Rows are examples here, where they are columns in R."""

import csv
import math
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

from adjoint_client import Client

SIZE = 32
IRIS = {
    "inputs": {"x": ["batch", 4], "y": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "linear", "units": 64, "activation": "relu"},
        {"layer": "batch_norm"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 32, "activation": "relu"},
        {"layer": "linear", "units": 3},
    ],
    "loss": {"kind": "cross_entropy"},
}
Data = tuple[NDArray[np.float32], NDArray[np.int64]]


@pytest.fixture(scope="module")
def flowers() -> tuple[Data, Data]:
    """120 flowers to learn from and 30 others, standardised."""
    with files("app.cli.demo").joinpath("iris.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    x = np.array([[float(cell) for cell in row[:4]] for row in rows])
    x = ((x - x.mean(0)) / x.std(0, ddof=1)).astype(np.float32)
    y = np.unique([row[4] for row in rows], return_inverse=True)[1].astype(np.int64)
    order = np.random.default_rng(42).permutation(150)
    return (x[order[:120]], y[order[:120]]), (x[order[120:]], y[order[120:]])


def test_the_tape_gives_gradients_by_the_names_of_the_parameters(client: Client) -> None:
    primitives = {
        "inputs": {"x": [2, 3]},
        "parameters": {"W": [2, 2], "b": [2, 1]},
        "program": "h = relu(W @ x + b)\nloss = mean(h * h)",
    }
    x = (np.arange(1, 7) / 6).reshape(3, 2).T  # matrix(1:6 / 6, nrow = 2) goes down its columns
    w = np.array([[0.5, -0.25], [1.0, 0.75]])
    with client.session(primitives) as session:
        session.set(W=w, b=np.zeros((2, 1)))
        session.forward_backward(x=x)
        h = np.maximum(w @ x, 0)
        gradient = 2 * h / h.size
        np.testing.assert_allclose(session.gradients["W"], gradient @ x.T, rtol=1e-6)
        np.testing.assert_allclose(session.gradients["b"], gradient.sum(1, keepdims=True), rtol=1e-6)
        assert session.gradients.names() == ["W", "b"]


def test_the_iris_network_has_8_parameter_tensors_and_learns(client: Client, flowers: tuple[Data, Data]) -> None:
    (x, y), (x_unseen, y_unseen) = flowers
    optimizer = {"kind": "adam", "lr": 1e-3}
    rng = np.random.default_rng(1)
    losses = []
    with client.session(IRIS, optimizer=optimizer, clip={"norm": 5.0}, seed=1) as session:
        assert len(session.parameters.names()) == 8
        with session.pipeline() as steps:
            for epoch in range(60):
                rate = cosine(epoch, 60, 1e-2, 1e-5)
                order = rng.permutation(len(y))
                for start in range(0, len(y), SIZE):
                    chosen = order[start : start + SIZE]
                    done = steps.forward_backward(x=x[chosen], y=y[chosen])
                    steps.optim_step(lr=rate)
                losses.append(done)
        assert losses[-1].result().loss < 0.5 * losses[0].result().loss
        logits = session.predict(x=x_unseen, chunk=8)["linear_2"]
    probabilities = np.exp(logits - logits.max(1, keepdims=True))
    probabilities /= probabilities.sum(1, keepdims=True)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    assert (probabilities.argmax(1) == y_unseen).mean() >= 0.9


def test_the_schedules_are_the_clients(client: Client) -> None:
    steps = [0.1 * 0.5 ** (epoch // 30) for epoch in range(90)]
    assert steps[0] == 0.1
    assert steps[-1] == 0.025
    decayed = {"parameters": {"w": []}, "program": "loss = w"}
    with client.session(decayed, optimizer="sgd") as session:
        session.parameters["w"] = 0.0
        for rate in (0.5, 0.25, 0.125):
            session.forward_backward()
            session.optim_step(lr=rate)
        assert session.parameters["w"] == -0.875


def test_evaluation_drops_nothing_and_leaves_running_statistics(client: Client, flowers: tuple[Data, Data]) -> None:
    (x, y), _ = flowers
    with client.session(IRIS, seed=3) as session:
        session.forward(x=x, y=y)
        before = session.buffers.load()
        once, again = (session.predict(x=x)["linear_2"] for _ in range(2))
        np.testing.assert_array_equal(once, again)
        session.forward(x=x, y=y, training=False)
        after = session.buffers.load()
        assert before.keys() == after.keys() != set()
        assert all((before[name] == after[name]).all() for name in before)
        session.forward(x=x, y=y)
        moved = session.buffers.load()
        assert any((before[name] != moved[name]).any() for name in before)


def test_a_network_from_scratch_learns_with_raw_parameters(client: Client, flowers: tuple[Data, Data]) -> None:
    (x, y), (x_unseen, y_unseen) = flowers
    rng = np.random.default_rng(7)
    raw = {
        "inputs": {"x": ["batch", 4], "y": {"shape": ["batch"], "dtype": "int64"}},
        "parameters": {"W1": [4, 64], "b1": [64], "W2": [64, 3], "b2": [3]},
        "program": "logits = relu(x @ W1 + b1) @ W2 + b2\nloss = cross_entropy(logits, y)",
        "outputs": ["logits"],
    }
    with client.session(raw, optimizer={"kind": "adam", "lr": 1e-2}) as session:
        session.set(
            W1=rng.standard_normal((4, 64)) * math.sqrt(2 / 4),
            b1=np.zeros(64),
            W2=rng.standard_normal((64, 3)) * math.sqrt(2 / 64),
            b2=np.zeros(3),
        )
        with session.pipeline() as steps:
            for _ in range(40):
                order = rng.permutation(len(y))
                for start in range(0, len(y), SIZE):
                    chosen = order[start : start + SIZE]
                    steps.forward_backward(x=x[chosen], y=y[chosen])
                    steps.optim_step()
        assert (session.predict(x=x_unseen)["logits"].argmax(1) == y_unseen).mean() >= 0.9


@pytest.mark.parametrize("precision", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_keeps_its_masters_in_float32(
    client: Client, flowers: tuple[Data, Data], precision: str
) -> None:
    (x, y), _ = flowers
    with client.session(IRIS, optimizer={"kind": "adam", "lr": 1e-2}, precision=precision, seed=2) as session:
        losses = []
        for _ in range(15):
            losses.append(session.forward_backward(x=x, y=y).loss)
            session.optim_step()
        assert losses[-1] < 0.7 * losses[0]
        assert session.parameters["linear_0.weight"].dtype == np.float32


def cosine(epoch: int, epochs: int, high: float, low: float) -> float:
    return low + (high - low) * (1 + math.cos(math.pi * epoch / epochs)) / 2
