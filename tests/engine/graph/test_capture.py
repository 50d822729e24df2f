"""Functions captured as graphs, and graphs called as functions."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import AttributeValueError, DocumentError, EngineError, GradientError, ShapeError
from tests.support.rows import each_row

X = np.linspace(-1.0, 1.0, 20, dtype=np.float32).reshape(5, 4)
W = np.linspace(0.5, -0.5, 12, dtype=np.float32).reshape(4, 3)
B = np.array([0.1, 0.0, -0.1], np.float32)
Y = np.array([0, 2, 1, 0, 2])


def model(x, y, w, b):
    logits = ops.relu(x @ w + b) * 2.0
    return {"logits": logits, "loss": ops.cross_entropy(logits, y)}


INPUTS = {"x": ["batch", 4], "y": {"shape": ["batch"], "dtype": "int64"}}
PARAMETERS = {"w": [4, 3], "b": [3]}


def test_a_captured_function_is_the_graph_one_would_write():
    definition = engine.capture(model, INPUTS, PARAMETERS, name="small")
    assert [(node.name, node.op) for node in definition.nodes] == [
        ("matmul", "matmul"), ("add", "add"), ("relu", "relu"), ("logits", "mul"), ("loss", "cross_entropy")
    ]  # fmt: skip
    assert definition.losses == ("loss",)
    assert definition.outputs == ("loss", "logits")
    written = engine.parse_graph(
        {
            "inputs": INPUTS,
            "parameters": PARAMETERS,
            "program": "logits = relu(x @ w + b) * 2.0\nloss = cross_entropy(logits, y)",
            "outputs": ["loss", "logits"],
        }
    )
    asked = {"inputs": {"x": X.tolist(), "y": Y.tolist()}, "parameters": {"w": W.tolist(), "b": B.tolist()}}
    asked["want"] = ["outputs", "gradients"]
    mine, theirs = engine.compute(definition, asked), engine.compute(written, asked)
    np.testing.assert_array_equal(mine["outputs"]["logits"], theirs["outputs"]["logits"])
    np.testing.assert_array_equal(mine["gradients"]["w"], theirs["gradients"]["w"])


def test_a_graph_is_a_function_to_call_differentiate_and_batch():
    function = engine.graph_function(engine.capture(model, INPUTS, PARAMETERS))
    loss, logits = function(X, Y, w=W, b=B)
    direct = model(*(engine.tensor(a) for a in (X, Y, W, B)))
    np.testing.assert_array_equal(logits.numpy(), direct["logits"].numpy())
    np.testing.assert_array_equal(loss.numpy(), direct["loss"].numpy())

    def loss_of(w):
        return function(X, Y, w, B)[0]

    np.testing.assert_array_equal(
        engine.grad(loss_of)(W).numpy(),
        engine.grad(lambda w: model(engine.tensor(X), engine.tensor(Y), w, engine.tensor(B))["loss"])(W).numpy(),
    )
    many = np.stack([W, 2 * W, -W])
    np.testing.assert_allclose(
        engine.vmap(loss_of)(many).numpy(), [loss_of(engine.tensor(w)).item() for w in many], rtol=1e-6
    )


@each_row(
    "transform",
    [
        lambda f: engine.grad(f),
        lambda f: lambda w: engine.hvp(f, (w,), (W,))[0],
        lambda f: lambda w: engine.jvp(f, (w,), (W,))[1],
        lambda f: engine.hessian(f, vectorize=True),
        lambda f: engine.hessian(f),
        lambda f: engine.vmap(f),
        lambda f: engine.vmap(engine.grad(f), out_axes=1),
    ],
    ids=["grad", "hvp", "jvp", "hessian in a batch", "hessian", "vmap", "vmap of grad"],
)
def test_a_transformed_function_is_captured_as_a_graph(transform):
    def energy(w):
        return ops.sum(ops.sin(w) ** 2)

    function = transform(energy)
    graph = engine.graph_function(engine.capture(lambda w: function(w), {"w": [4, 3]}))
    np.testing.assert_allclose(graph(W).numpy(), function(W).numpy(), rtol=1e-6, atol=1e-7)


def test_the_captured_document_is_accepted_as_it_is_sent():
    definition = engine.capture(model, INPUTS, PARAMETERS)
    assert engine.parse_graph(definition.to_json()) == definition


def test_constants_and_several_outputs_are_kept():
    table = np.arange(6.0, dtype=np.float32).reshape(2, 3)

    def function(x):
        largest, places = ops.topk(x + table, k=2)
        return largest, places

    definition = engine.capture(function, {"x": [2, 3]})
    assert list(definition.constants) == ["constant"]
    assert definition.outputs == ("topk:0", "topk:1")
    actual = engine.graph_function(definition)(X[:2, :3])
    wanted = function(engine.tensor(X[:2, :3]))
    for mine, theirs in zip(actual, wanted, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_random_ops_draw_again_in_the_graph():
    definition = engine.capture(lambda x: ops.dropout(x, p=0.5, training=True), {"x": [100]})
    function = engine.graph_function(definition)
    engine.seed(3)
    first, second = function(np.ones(100, np.float32)), function(np.ones(100, np.float32))
    assert (first.numpy() != second.numpy()).any()


def test_a_value_cut_off_the_gradient_is_captured():
    graph = engine.graph_function(engine.capture(lambda x: ops.sum(x * x.detach()), {"x": [3]}))
    np.testing.assert_array_equal(engine.grad(graph)(X[0, :3]).numpy(), X[0, :3])


TRACKED = engine.tensor(W, requires_grad=True, name="w")


@each_row(
    ("function", "error", "message"),
    [
        (lambda x: ops.reshape(x, shape=(x.shape[0] * 2, 2)), AttributeValueError, "shape = .*-1"),
        (lambda x: ops.sum(x) if x.shape[0] > 50 else ops.mean(x), EngineError, "other ops"),
        (lambda x: x @ TRACKED, GradientError, "parameters="),
        (lambda x: 3, GradientError, "must return Values"),
        (lambda x: x * float(x[0, 0]), GradientError, "no data"),
        (lambda x: x * np.full(4, x.shape[0], np.float32), EngineError, "constant changes"),
        (lambda x: x @ np.ones((5, 5)), ShapeError, "matmul"),
    ],
)
def test_what_is_no_graph_is_refused(function, error, message):
    with pytest.raises(error, match=message):
        engine.capture(function, {"x": ["n", 4]})


def test_leaves_are_checked_as_in_a_document():
    with pytest.raises(DocumentError) as caught:
        engine.capture(lambda x, w: x @ w, {"x": [-1, 4]}, {"w": {"shape": [4], "dtype": "int64"}})
    assert {finding.pointer for finding in caught.value.findings} == {"/inputs/x/shape/0", "/parameters/w/dtype"}


@each_row(
    ("operands", "named", "message"),
    [
        ((X, Y, W), {}, "lacks 'b'"),
        ((X, Y, W, B, B), {}, "takes 4 values"),
        ((X, Y, W, B), {"c": B}, "no input or state 'c'"),
        ((X, Y, W, W), {}, "'b' has shape"),
    ],
)
def test_a_graph_called_with_other_values_says_what_it_takes(operands, named, message):
    function = engine.graph_function(engine.capture(model, INPUTS, PARAMETERS))
    with pytest.raises(ShapeError, match=message):
        function(*operands, **named)
