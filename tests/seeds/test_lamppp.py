"""Lamp++, "Understanding Autograd": variables are parameters of a graph, backward passes are steps of a session."""

import numpy as np
import pytest

from adjoint_client import Client

F64 = {"shape": [1], "dtype": "float64"}


def test_the_simplest_possible_example_prints_4(client: Client) -> None:
    square = {"parameters": {"x": [1]}, "program": "y = x * x"}
    with client.session(square) as session:
        session.parameters["x"] = [2.0]
        session.forward_backward()
        assert session.gradients["x"] == [4.0]


@pytest.mark.parametrize(("at", "expected"), [(2.0, 12.0), (-1.0, 3.0), (0.0, 0.0)])
def test_the_cube_has_the_derivative_3_x_squared(client: Client, at: float, expected: float) -> None:
    cube = {"parameters": {"x": [1]}, "program": "y = x * x * x"}
    with client.session(cube) as session:
        session.parameters["x"] = [at]
        session.forward_backward()
        assert session.gradients["x"] == [expected]


def test_gradients_accumulate_2_then_5_until_they_are_cleared(client: Client) -> None:
    twice = {"inputs": {"factor": []}, "parameters": {"x": [1]}, "program": "y = x * factor"}
    with client.session(twice) as session:
        session.forward_backward(factor=2.0)
        assert session.gradients["x"] == [2.0]
        session.forward_backward(factor=3.0)
        assert session.gradients["x"] == [5.0]
        session.zero_grad()
        assert session.gradients["x"] == [0.0]
        session.forward_backward(factor=3.0)
        assert session.gradients["x"] == [3.0]


def test_gradients_flow_through_the_chain(client: Client) -> None:
    chain = {"parameters": {"x": {"shape": [3], "dtype": "float64"}}, "program": "a = x * 2\nb = exp(a)\nc = sum(b)"}
    x = np.array([-1.0, 0.0, 0.5])
    with client.session(chain, precision="float64") as session:
        session.parameters["x"] = x
        session.forward_backward()
        np.testing.assert_allclose(session.gradients["x"], 2 * np.exp(2 * x), rtol=1e-12)


def test_the_training_loop_updates_parameters_by_hand(client: Client) -> None:
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((64, 3)).astype(np.float32)
    targets = inputs @ np.array([[1.0], [-2.0], [0.5]], np.float32) + np.float32(0.25)
    line = {
        "inputs": {"input": ["batch", 3], "target": ["batch", 1]},
        "parameters": {"weights": [3, 1], "bias": [1]},
        "program": "output = input @ weights + bias\nloss = mean((output - target) ** 2)",
    }
    with client.session(line) as session:
        losses = []
        for _ in range(8):
            for start in range(0, 64, 16):
                session.zero_grad()
                batch = slice(start, start + 16)
                losses.append(session.forward_backward(input=inputs[batch], target=targets[batch]).loss)
                weights, bias = session.parameters["weights"], session.parameters["bias"]
                rate = 0.1
                session.set(
                    weights=weights - rate * session.gradients["weights"], bias=bias - rate * session.gradients["bias"]
                )
        assert losses[-1] < 0.02 * losses[0]


def test_a_gradient_can_be_added_to_and_cleared_by_hand(client: Client) -> None:
    square = {"parameters": {"x": [1]}, "program": "y = x * x"}
    with client.session(square) as session:
        session.parameters["x"] = [2.0]
        session.forward_backward()
        session.gradients["x"] = session.gradients["x"] + np.float32(1.5)
        assert session.gradients["x"] == [5.5]
        session.zero_grad()
        assert session.gradients["x"] == [0.0]


def test_gradients_show_their_magnitude_and_whether_they_hold_nan(client: Client) -> None:
    root = {"parameters": {"x": [3]}, "program": "y = sum(sqrt(x))"}
    with client.session(root) as session:
        session.parameters["x"] = [1.0, 4.0, 16.0]
        session.forward_backward()
        statistics = session.gradients.statistics("x")
        assert statistics is not None
        assert statistics.norm**2 == pytest.approx(0.25 + 0.0625 + 0.015625)
        assert (statistics.nan_count, statistics.inf_count) == (0, 0)
        session.zero_grad()
        session.parameters["x"] = [-1.0, 0.0, 1.0]
        assert np.isnan(session.forward_backward().loss)
        statistics = session.gradients.statistics("x")
        assert statistics is not None
        assert (statistics.nan_count, statistics.inf_count) == (1, 1)


def test_what_needs_no_gradient_has_none(client: Client) -> None:
    mixed = {
        "inputs": {"b": []},
        "parameters": {"a": [], "c": {"shape": [], "frozen": True}},
        "program": "y = a * b + c",
    }
    with client.session(mixed) as session:
        session.forward_backward(b=3.0)
        assert session.gradients["a"] == 3.0
        assert session.gradients["c"] is None
