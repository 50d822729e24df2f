"""The gradients of sessions: the samples of the documents, vector-Jacobian products, and what is None."""

import numpy as np
import pytest

import engine

TWO_ENDS = "h = tanh(x @ w)\ny = h * b\nz = exp(b)"


def test_the_gradient_of_a_times_x_squared_plus_b_is_12(program):
    session = program("loss = a * x * x + b", {"x": 2.0}, {"a": [], "b": []})
    stepped = session.forward_backward({"a": 3.0, "b": 4.0})
    assert (stepped.loss, stepped.losses, stepped.norm) == (16.0, {"loss": 16.0}, 12.0)
    assert session.gradients["x"] == 12.0
    for _ in range(2):
        session.forward_backward({"a": 3.0, "b": 4.0})
    assert session.gradients["x"] == 36.0
    session.reset()
    assert session.gradients["x"] == 0.0


def test_gradients_add_up_to_2_and_then_5(program):
    session = program("y = x * factor", {"x": 1.0}, {"factor": []})
    for factor, total in ((2.0, 2.0), (3.0, 5.0)):
        tape = session.forward({"factor": factor}, keep=True).tape
        session.backward(tape, {"y": 1.0})
        assert session.gradients["x"] == total
    session.zero_grad()
    assert session.gradients["x"] == 0.0
    session.zero_grad(set_to_none=True)
    assert session.gradients["x"] is None


def test_several_losses_add_up(program):
    session = engine.Session(
        engine.parse_graph(
            {"parameters": {"x": {"shape": [], "init": {"kind": "constant", "value": 5.0}}},
             "program": "a = x * x\nb = 3 * x", "losses": ["a", "b"]}
        ), "sgd"
    )  # fmt: skip
    stepped = session.forward_backward({})
    assert (stepped.losses, stepped.loss, session.gradients["x"]) == ({"a": 25.0, "b": 15.0}, 40.0, 13.0)


def test_linear_regression_by_hand_ends_at_the_line(program):
    x = np.linspace(-1, 1, 100)[:, None]
    data = {"x": x, "y": 3 * x + 2}
    session = program("loss = mean((x @ w + b - y) ** 2)", {"w": [[0.5]], "b": [0.0]}, {"x": ["n", 1], "y": ["n", 1]})
    w, b = 0.5, 0.0
    for _ in range(100):
        session.forward_backward(data)
        session.optim_step(lr=0.1)
        off = w * x + b - data["y"]
        w, b = w - 0.1 * 2 * (off * x).mean(), b - 0.1 * 2 * off.mean()
        np.testing.assert_allclose([session.parameters["w"].item(), session.parameters["b"].item()], [w, b], rtol=1e-9)
    assert abs(b - 2) < 0.01


def test_a_custom_function_of_the_caller_is_a_cotangent(program):
    session = program("y = x * w", {"w": [[2.0, 3.0], [4.0, 5.0]]}, {"x": [2, 2]})
    x = np.array([[1.0, -1.0], [0.5, 2.0]])
    done = session.forward({"x": x}, keep=True)
    np.testing.assert_array_equal(done.outputs["y"], x * session.parameters["w"])
    session.backward(done.tape, {"y": 3 * done.outputs["y"] ** 2})  # of sum(y ** 3), which is not part of the graph
    np.testing.assert_allclose(session.gradients["w"], 3 * (x * session.parameters["w"]) ** 2 * x, rtol=1e-15)


def test_gradients_are_those_of_the_tape_engine(matrices, pairs):
    session = matrices(precision="float64")
    session.forward_backward(pairs)

    def loss(v, w):
        return ((engine.ops.tanh(engine.tensor(pairs["x"].astype(np.float64)) @ v) @ w - pairs["y"]) ** 2).mean()

    leaves = [engine.tensor(session.parameters[name].copy()) for name in "vw"]
    for name, expected in zip("vw", engine.grad(loss, (0, 1))(*leaves), strict=True):
        np.testing.assert_allclose(session.gradients[name], expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("executor", engine.executors())
@pytest.mark.parametrize("training", [True, False])
def test_a_loss_with_cotangent_1_gives_what_forward_backward_gives(classifier, batch, executor, training):
    session, twin = classifier(execution=engine.Execution(executor)), classifier(execution=engine.Execution(executor))
    for one in (session, twin):
        one.forward({"x": batch["x"] * 2 + 1, "label": batch["label"]})  # moves the running statistics
    tape = session.forward(batch, training=training, keep=True).tape
    found = session.backward(tape, {"loss": 1.0})
    if training:
        stepped = twin.forward_backward(batch)
        np.testing.assert_allclose(found.norm, stepped.norm, rtol=1e-6)
        for name, gradient in twin.gradients.items():
            np.testing.assert_allclose(session.gradients[name], gradient, rtol=1e-5, atol=1e-7)
    else:
        before = {name: gradient.copy() for name, gradient in session.gradients.items()}
        session.forward(batch)  # what the running statistics become is no concern of the tape
        session.zero_grad()
        session.backward(tape, {"loss": 1.0})
        for name, gradient in before.items():
            np.testing.assert_array_equal(session.gradients[name], gradient)


def test_a_tape_is_a_vector_jacobian_product_of_any_ends(program):
    parameters = {"w": np.arange(6.0).reshape(2, 3) / 7, "b": np.array([0.5, -1.0, 2.0]), "idle": np.ones(2)}
    session = program(TWO_ENDS, parameters, {"x": ["n", 2]})
    x, rng = np.linspace(-1, 1, 8).reshape(4, 2), np.random.default_rng(0)
    done = session.forward({"x": x}, keep=True)
    h = np.tanh(x @ parameters["w"])
    u, v = rng.standard_normal((4, 3)), rng.standard_normal(3)
    by_w = x.T @ (u * parameters["b"] * (1 - h * h))
    by_b = {"y": (u * h).sum(0), "z": v * np.exp(parameters["b"])}
    for given in ({"y": u}, {"z": v}, {"z": v, "y": u}):
        session.zero_grad(set_to_none=True)
        found = session.backward(done.tape, given)
        gradients = session.gradients
        assert gradients["idle"] is None
        assert set(found.norms) == {name for name, gradient in gradients.items() if gradient is not None}
        np.testing.assert_allclose(gradients["b"], sum(by_b[name] for name in given), rtol=1e-12)
        if "y" in given:
            np.testing.assert_allclose(gradients["w"], by_w, rtol=1e-12)
        else:
            assert gradients["w"] is None
        squares = [np.square(g).sum() for g in gradients.values() if g is not None]
        np.testing.assert_allclose(found.norm, np.sqrt(sum(squares)), rtol=1e-12)


def test_many_tapes_live_side_by_side_and_each_serves_again_and_again(program):
    session = program("y = exp(x * w)", {"w": 0.5}, {"x": []})
    tapes = [session.forward({"x": x}, keep=True).tape for x in (1.0, 2.0, 3.0)]
    for _ in range(2):
        for place, x in ((2, 3.0), (0, 1.0), (1, 2.0)):
            session.zero_grad()
            session.backward(tapes[place], {"y": 1.0})
            np.testing.assert_allclose(session.gradients["w"], x * np.exp(0.5 * x), rtol=1e-15)


CHANGES = {
    "optim_step": lambda session: session.optim_step(),
    "set_parameters": lambda session: session.set_parameters({"w": 2.0}),
    "restore": lambda session: session.restore(session.snapshot()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_tape_of_other_parameters_is_refused(program, change):
    session = program("y = x * w", {"w": 0.5}, {"x": []})
    tape = session.forward({"x": 1.0}, keep=True).tape
    session.backward(tape, {"y": 1.0})
    CHANGES[change](session)
    with pytest.raises(engine.GradientError, match="parameters have changed"):
        session.backward(tape, {"y": 1.0})


def test_a_tape_of_another_session_is_refused(program):
    one, other = (program("y = x * w", {"w": 0.5}, {"x": []}) for _ in range(2))
    tape = one.forward({"x": 1.0}, keep=True).tape
    with pytest.raises(engine.GradientError, match="another session"):
        other.backward(tape, {"y": 1.0})


@pytest.mark.parametrize(
    ("cotangents", "pointer", "code"),
    [
        ({}, "/cotangents", "missing_field"),
        ({"nobody": 1.0}, "/cotangents/nobody", "unknown_name"),
        ({"y": [1.0, 2.0]}, "/cotangents/y", "shape_mismatch"),
        ({"y": "one"}, "/cotangents/y", "dtype_mismatch"),
    ],
)
def test_cotangents_that_do_not_suit_are_refused(program, state, cotangents, pointer, code):
    session = program("y = x * w", {"w": 0.5}, {"x": []})
    tape = session.forward({"x": 1.0}, keep=True).tape
    before = state(session)
    with pytest.raises(engine.DocumentError) as error:
        session.backward(tape, cotangents)
    assert [(finding.pointer, finding.code) for finding in error.value.findings] == [(pointer, code)]
    assert state(session) == before


@pytest.mark.parametrize("precision", ["mixed_float16", "mixed_bfloat16"])
def test_at_half_precision_gradients_are_reported_without_the_scale_of_the_loss(matrices, pairs, precision):
    exact, half = matrices(), matrices("sgd", precision=precision)
    taken = False
    while not taken:  # the scale of the loss falls until it suits float16
        half.forward_backward(pairs)
        taken = half.optim_step(lr=0.0).taken
    expected, stepped = exact.forward_backward(pairs), half.forward_backward(pairs)
    np.testing.assert_allclose(stepped.norm, expected.norm, rtol=0.02)
    for name, gradient in exact.gradients.items():
        np.testing.assert_allclose(half.gradients[name], gradient, rtol=0.1, atol=0.01)
    tape = half.forward(pairs, keep=True).tape
    half.zero_grad()
    assert half.backward(tape, {"loss": 1.0}).norm == pytest.approx(stepped.norm, rel=0.02)
    half.set_gradient("w", np.full((3, 2), 0.25))
    np.testing.assert_array_equal(half.gradients["w"], np.full((3, 2), 0.25, np.float32))
    assert half.optim_step().taken


LINEAR = [{"layer": "flatten"}, {"layer": "linear", "units": 3}]
NETWORKS = {
    "recurrent": ([5, 4], [{"layer": "lstm", "units": 6}, *LINEAR]),
    "attention": ([5, 4], [{"layer": "transformer_encoder_layer", "heads": 2}, *LINEAR]),
    "convolution": (
        [1, 8, 8],
        [
            {"layer": "conv2d", "channels": 4, "kernel": 3, "activation": "relu"},
            {"layer": "max_pool2d", "kernel": 2},
            {"layer": "dropout", "p": 0.5},
            *LINEAR,
        ],
    ),
}


@pytest.mark.parametrize("network", NETWORKS)
def test_what_a_tape_keeps_is_enough_for_any_network(network):
    shape, layers = NETWORKS[network]
    inputs = {"x": ["n", *shape], "label": {"shape": ["n"], "dtype": "int64"}}
    definition = engine.parse_graph({"inputs": inputs, "layers": layers, "loss": "cross_entropy"})
    rng = np.random.default_rng(0)
    rows = {"x": rng.standard_normal((6, *shape)).astype(np.float32), "label": rng.integers(0, 3, 6)}
    session, twin = (engine.Session(definition, execution=engine.Execution("numpy")) for _ in range(2))
    done = session.forward(rows, keep=True)
    stepped = twin.forward_backward(rows, outputs=True)
    session.backward(done.tape, {"loss": 1.0})
    assert done.tape.nbytes == sum(array.nbytes for array in done.tape.saved.values()) > 0
    np.testing.assert_allclose(done.losses["loss"], stepped.loss, rtol=1e-6)
    for name, array in stepped.outputs.items():
        np.testing.assert_allclose(done.outputs[name], array, rtol=1e-5, atol=1e-6)
    for name, gradient in twin.gradients.items():
        np.testing.assert_allclose(session.gradients[name], gradient, rtol=1e-3, atol=1e-6)
