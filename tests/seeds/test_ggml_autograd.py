"""ggml's autograd guide: f(x) = a x² + b, windows of accumulation, losses that add up."""

import httpx
import numpy as np
import pytest

from adjoint_client import Client

PARABOLA = {"inputs": {"a": [1], "b": [1]}, "parameters": {"x": [1]}, "program": "f = a * (x * x) + b"}


def test_the_full_example_prints_12(client: Client) -> None:
    with client.session(PARABOLA) as session:
        session.parameters["x"] = [2.0]
        session.reset()
        assert session.forward_backward(a=[3.0], b=[4.0]).loss == 16.0
        assert session.gradients["x"].item() == 12.0


def test_the_full_example_prints_12_without_a_session(http: httpx.Client) -> None:
    graph = http.post("/v1/graphs", json=PARABOLA).json()["id"]
    given = {"inputs": {"a": [3.0], "b": [4.0]}, "parameters": {"x": [2.0]}, "want": ["outputs", "gradients"]}
    found = http.post(f"/v1/graphs/{graph}:compute", json=given).json()
    assert (found["losses"]["f"], found["gradients"]["x"]["data"]) == (16.0, [12.0])


def test_gradients_add_up_over_a_window_and_are_reset_before_the_next(client: Client) -> None:
    with client.session(PARABOLA) as session:
        session.parameters["x"] = [2.0]
        for _ in range(2):
            for step in range(3):
                if step == 0:
                    session.reset()
                session.forward_backward(a=[3.0], b=[4.0])
            assert session.gradients["x"].item() == 36.0
        session.reset()
        assert session.gradients["x"].item() == 0.0


def test_four_micro_batches_are_one_batch_of_their_sum(client: Client) -> None:
    line = {
        "inputs": {"x": {"shape": ["batch", 3], "dtype": "float64"}},
        "parameters": {"w": {"shape": [3], "dtype": "float64"}},
        "program": "loss = sum((x @ w - 1) ** 2)",
    }
    x = np.random.default_rng(0).standard_normal((16, 3))
    with (
        client.session(line, precision="float64", seed=1) as parts,
        client.session(line, precision="float64", seed=1) as whole,
    ):
        for rows in np.split(x, 4):
            parts.forward_backward(x=rows)
        whole.forward_backward(x=x)
        np.testing.assert_allclose(parts.gradients["w"], whole.gradients["w"], rtol=1e-12)
        whole.zero_grad()
        whole.forward_backward(x=x, micro_batch_size=4, reduction="sum")
        np.testing.assert_array_equal(parts.gradients["w"], whole.gradients["w"])


def test_several_losses_add_up(client: Client) -> None:
    losses = {"parameters": {"x": []}, "program": "first = x * x\nsecond = 3 * x", "losses": ["first", "second"]}
    with client.session(losses) as session:
        session.parameters["x"] = 5.0
        done = session.forward_backward()
        assert (done.loss, done.losses) == (40.0, {"first": 25.0, "second": 15.0})
        assert session.gradients["x"] == 13.0


@pytest.mark.parametrize("seed", [0.5, 2.0])
def test_the_seed_of_a_loss_scales_its_gradients(client: Client, seed: float) -> None:
    with client.session(PARABOLA) as session:
        session.parameters["x"] = [2.0]
        tape = session.forward(a=[3.0], b=[4.0], keep=True).tape
        session.backward(tape, f=[seed])
        assert session.gradients["x"].item() == 12.0 * seed


def test_no_gradient_flows_where_no_parameter_is_reached(client: Client) -> None:
    idle = PARABOLA | {"parameters": {"x": [1], "unused": [1]}}
    with client.session(idle) as session:
        session.forward_backward(a=[3.0], b=[4.0])
        assert session.gradients["unused"] is None


def test_the_high_level_interface_fits_with_a_part_held_out(client: Client) -> None:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((512, 8)).astype(np.float32)
    labels = (data[:, :2].sum(1) > 0).astype(np.int64)
    model = {
        "inputs": {"data": ["batch", 8], "labels": {"shape": ["batch"], "dtype": "int64"}},
        "layers": [{"layer": "linear", "units": 16, "activation": "relu"}, {"layer": "linear", "units": 2}],
        "loss": {"kind": "cross_entropy"},
    }
    fit = client.fit(
        model,
        {"data": data, "labels": labels},
        optimizer={"kind": "adamw", "lr": 0.01},
        epochs=10,
        batch_size=256,
        micro_batch_size=64,
        validation=0.1,
        metrics=["accuracy"],
    )
    fit.wait()
    assert fit.info.state == "succeeded"
    assert fit.losses("validation")[-1] < 0.69
