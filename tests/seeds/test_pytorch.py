"""PyTorch's C++ autograd: each sample as a client would write it, with the values that PyTorch gives."""

import numpy as np
import pytest

from adjoint_client import Client

OVERVIEW = {"parameters": {"x": [2, 2]}, "program": "y = x + 2\nz = y * y * 3\nout = mean(z)"}
MIXED = {
    "inputs": {},
    "parameters": {"x": {"shape": [2, 2], "dtype": "float64"}, "y": {"shape": [2, 2], "dtype": "float64"}},
    "program": "z = x + 2 * y + x * y\nout = sum(z)",
    "losses": ["out"],
    "outputs": ["z"],
}
X = np.array([[0.5, -1.0], [2.0, 0.0]])
Y = np.array([[1.0, 3.0], [-0.5, 4.0]])


def test_the_overview_gives_four_and_a_half_everywhere(client: Client) -> None:
    with client.session(OVERVIEW) as session:
        session.parameters["x"] = np.ones((2, 2))
        assert session.forward_backward().loss == 27.0
        assert (session.gradients["x"] == 4.5).all()


def test_backward_takes_a_gradient_for_what_is_no_scalar(client: Client) -> None:
    doubled = {"parameters": {"x": [3]}, "program": "y = x * 2", "outputs": ["y"]}
    with client.session(doubled) as session:
        done = session.forward(keep=True)
        session.backward(done.tape, y=np.ones(3))
        assert (session.gradients["x"] == 2.0).all()
        session.backward(done.tape, y=[1.0, 0.0, -3.0])
        assert session.gradients["x"].tolist() == [4.0, 2.0, -4.0]


def test_backward_of_a_sum_gives_both_gradients(client: Client) -> None:
    with client.session(MIXED, precision="float64") as session:
        session.set(x=X, y=Y)
        session.forward_backward()
        np.testing.assert_array_equal(session.gradients["x"], 1 + Y)
        np.testing.assert_array_equal(session.gradients["y"], 2 + X)


def test_a_retained_graph_doubles_the_gradient(client: Client) -> None:
    square = {"parameters": {"x": [2, 2]}, "program": "y = x * x", "outputs": ["y"]}
    with client.session(square) as session:
        session.parameters["x"] = X
        tape = session.forward(keep=True).tape
        session.backward(tape, y=np.ones((2, 2)))
        first = session.gradients["x"]
        session.backward(tape, y=np.ones((2, 2)))
        np.testing.assert_array_equal(session.gradients["x"], 2 * first)


def test_grad_returns_gradients_and_accumulates_nothing(client: Client) -> None:
    graph = client.graph(MIXED)
    wants = {"gradient_of": ["z"], "cotangents": {"z": np.ones((2, 2))}}
    computed = client.compute(graph.id, parameters={"x": X, "y": Y}, want=[wants])
    (found,) = computed.derivatives
    np.testing.assert_array_equal(found["x"], 1 + Y)
    np.testing.assert_array_equal(found["y"], 2 + X)


def test_gradients_of_gradients_are_a_hessian_vector_product(client: Client) -> None:
    # z_x = 1 + y and z_y = 2 + x, so that the derivative by x of sum(2 z_x + z_y) is 1 everywhere.
    graph = client.graph(MIXED)
    wants = {"hvp": {"of": "out", "by": {"x": np.full((2, 2), 2.0), "y": np.ones((2, 2))}}}
    (found,) = client.compute(graph.id, parameters={"x": X, "y": Y}, want=[wants]).derivatives
    np.testing.assert_array_equal(found["x"], np.ones((2, 2)))
    np.testing.assert_array_equal(found["y"], np.full((2, 2), 2.0))


def test_three_passes_accumulate_zero_plus_one_plus_two(client: Client) -> None:
    scaled = {"inputs": {"i": []}, "parameters": {"x": [2, 2]}, "program": "y = sum(x * i)"}
    with client.session(scaled) as session:
        for i in range(3):
            session.forward_backward(i=float(i))
        assert (session.gradients["x"] == 3.0).all()


def test_gradients_are_cleared_to_zero_or_to_nothing(client: Client) -> None:
    with client.session(OVERVIEW) as session:
        assert session.gradients["x"] is None
        session.forward_backward()
        session.zero_grad()
        assert (session.gradients["x"] == 0.0).all()
        session.zero_grad(set_to_none=True)
        assert session.gradients["x"] is None


def test_inference_leaves_no_gradient(client: Client) -> None:
    with client.session(OVERVIEW | {"outputs": ["z"]}) as session:
        session.parameters["x"] = np.ones((2, 2))
        assert (session.predict()["z"] == 27.0).all()
        assert session.gradients["x"] is None


def test_a_custom_function_is_a_cotangent_of_the_client(client: Client) -> None:
    """MyMultiply: the client computes input * weight itself, and gives back what its backward would."""
    leaves = {"parameters": {"x": [2, 2], "w": [2, 2]}, "program": "input = x * 1\nweight = w * 1"}
    with client.session(leaves | {"outputs": ["input", "weight"]}) as session:
        session.set(x=X, w=Y)
        done = session.forward(keep=True)
        saved = done.outputs["input"], done.outputs["weight"]
        y = saved[0] * saved[1]
        grad_output = np.ones_like(y)
        session.backward(done.tape, input=grad_output * saved[1], weight=grad_output * saved[0])
        np.testing.assert_array_equal(session.gradients["x"], Y.astype(np.float32))
        np.testing.assert_array_equal(session.gradients["w"], X.astype(np.float32))


def test_linear_regression_finds_the_line(client: Client) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 1)).astype(np.float32)
    y = 3 * x + 2 + np.float32(0.1) * rng.standard_normal((100, 1)).astype(np.float32)
    line = {
        "inputs": {"x": ["batch", 1], "y": ["batch", 1]},
        "parameters": {
            "w": {"shape": [1, 1], "init": {"kind": "normal"}},
            "b": {"shape": [1], "init": {"kind": "zeros"}},
        },
        "program": "pred = x @ w + b\nloss = mean((pred - y) ** 2)",
    }
    with client.session(line, optimizer={"kind": "sgd", "lr": 0.01}) as session, session.pipeline() as steps:
        losses = []
        for _ in range(300):
            losses.append(steps.forward_backward(x=x, y=y))
            steps.optim_step()
        assert losses[-1].result().loss < losses[0].result().loss
        w, b = session.parameters["w"], session.parameters["b"]
    assert w == pytest.approx(3.0, abs=0.1)
    assert b == pytest.approx(2.0, abs=0.1)


def test_the_loop_by_hand_is_the_loop_of_the_optimizer(client: Client) -> None:
    line = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((w * x - 1) ** 2)"}
    x = np.linspace(0.1, 2.0, 20, dtype=np.float32)
    with client.session(line, seed=5) as by_hand, client.session(line, seed=5, optimizer="sgd") as by_optimizer:
        for _ in range(10):
            by_hand.zero_grad()
            by_hand.forward_backward(x=x)
            rate = np.float32(0.01)
            by_hand.parameters["w"] = by_hand.parameters["w"] - rate * by_hand.gradients["w"]
            by_optimizer.forward_backward(x=x)
            by_optimizer.optim_step(lr=0.01)
        np.testing.assert_allclose(by_hand.parameters["w"], by_optimizer.parameters["w"], rtol=1e-6)


def test_a_jacobian_is_a_row_for_each_output(client: Client) -> None:
    product = {
        "parameters": {"x": {"shape": [3], "dtype": "float64"}},
        "program": "y = stack(x[0] * x[1], sin(x[2]))",
        "outputs": ["y"],
    }
    at = np.array([2.0, 3.0, 0.5])
    expected = np.array([[3.0, 2.0, 0.0], [0.0, 0.0, np.cos(0.5)]])
    with client.session(product, precision="float64") as session:
        session.parameters["x"] = at
        tape = session.forward(keep=True).tape
        rows = []
        for row in np.eye(2):
            session.zero_grad()
            session.backward(tape, y=row)
            rows.append(session.gradients["x"])
    np.testing.assert_allclose(rows, expected, rtol=1e-12)
    graph = client.graph(product)
    wants = {"jacobian": {"of": "y", "by": "x"}}
    (found,) = client.compute(graph.id, parameters={"x": at}, want=[wants]).derivatives
    np.testing.assert_allclose(found["x"], expected, rtol=1e-12)


def test_gradients_are_clipped_by_norm_or_by_value(client: Client) -> None:
    steep = {"parameters": {"x": [2]}, "program": "y = sum(x * x) * 5"}
    sgd = {"kind": "sgd", "lr": 1.0}
    for clip, moved in (({"norm": 1.0}, [0.6, 0.8]), ({"value": 1.0}, [1.0, 1.0])):
        with client.session(steep, optimizer=sgd, clip=clip) as session:
            session.parameters["x"] = [3.0, 4.0]
            done = session.forward_backward()
            assert done.grad_norm == pytest.approx(50.0)
            step = session.optim_step()
            assert step.clipped
            assert step.grad_norm == pytest.approx(50.0)
            np.testing.assert_allclose([3.0, 4.0] - session.parameters["x"], moved, rtol=1e-5)


def test_parameters_are_frozen_by_their_names(client: Client) -> None:
    model = {
        "inputs": {"x": ["batch", 3]},
        "parameters": {"conv.weight": [3, 2], "head.weight": [2]},
        "nodes": [
            {"name": "h", "op": "matmul", "inputs": ["x", "conv.weight"]},
            {"name": "y", "op": "matmul", "inputs": ["h", "head.weight"]},
            {"name": "loss", "op": "mean", "inputs": ["y"]},
        ],
    }
    optimizer = {"kind": "sgd", "lr": 0.1, "groups": [{"match": "conv*", "frozen": True}]}
    with client.session(model, optimizer=optimizer) as session:
        before = session.parameters.load()
        session.forward_backward(x=np.ones((4, 3)))
        assert session.gradients["conv.weight"] is None
        session.optim_step()
        np.testing.assert_array_equal(session.parameters["conv.weight"], before["conv.weight"])
        assert (session.parameters["head.weight"] != before["head.weight"]).any()
