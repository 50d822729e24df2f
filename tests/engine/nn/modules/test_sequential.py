"""Stacks of layers on the tape: names, first values, layouts, training as PyTorch's, precision."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import AttributeValueError, DeviceError, DocumentError, ShapeError
from engine.nn.layers import LAYERS
from tests.support.rows import each_row

GOLDEN = Path(__file__).parent / "golden"
IRIS = [
    {"layer": "linear", "units": 64, "activation": "relu", "start": "glorot"},
    "batch_norm",
    ("dropout", {"p": 0.3}),
    {"layer": "linear", "units": 32, "activation": "relu", "start": "glorot"},
    {"layer": "linear", "units": 3, "start": "glorot"},
]


@pytest.fixture
def _narrow_default(request) -> Iterator[None]:
    before = engine.set_default_dtype(request.param)
    yield
    engine.set_default_dtype(before)


def iris(**options):
    return engine.Sequential(*IRIS, inputs=(4,), **{"seed": 7, "dtype": "float64", **options})


def examples(count=12):
    return np.sin(np.arange(count * 4.0) * 1.7).reshape(count, 4)


def test_the_iris_model_has_eight_parameters_with_the_names_of_ggmlr():
    shapes = {name: leaf.shape for name, leaf in iris(naming="ggmlR").parameters().items()}
    assert shapes == {
        "layer1_W": (64, 4),
        "layer1_b": (64,),
        "layer2_gamma": (64,),
        "layer2_beta": (64,),
        "layer4_W": (32, 64),
        "layer4_b": (32,),
        "layer5_W": (3, 32),
        "layer5_b": (3,),
    }


def test_the_names_of_pytorch_are_those_of_a_graph_with_the_same_layers():
    model = engine.Sequential(*IRIS, inputs=(4,), seed=7)
    layers = [
        {"layer": e} if isinstance(e, str) else {"layer": e[0], **e[1]} if isinstance(e, tuple) else e for e in IRIS
    ]
    definition = engine.parse_graph({"inputs": {"x": ["n", 4]}, "layers": layers})
    assert list(model.parameters()) == list(definition.parameters)
    assert list(model.buffers()) == list(definition.buffers)
    x = examples().astype("float32")
    result = engine.compute(definition, {"inputs": {"x": x.tolist()}, "want": ["outputs"], "seed": 7})
    (expected,) = result["outputs"].values()
    np.testing.assert_array_equal(model.eval()(x).numpy(), expected)


def test_one_list_and_separate_layers_are_the_same_model():
    together, apart = engine.Sequential(IRIS, inputs=(4,), seed=1), engine.Sequential(*IRIS, inputs=(4,), seed=1)
    for name, leaf in apart.parameters().items():
        np.testing.assert_array_equal(together.parameters()[name].numpy(), leaf.numpy())


def test_glorot_weights_are_uniform_within_their_bound_and_biases_are_0():
    draw = iris().parameters()
    bound = math.sqrt(6 / (4 + 64))
    w = draw["linear_0.weight"].numpy()
    assert w.shape == (64, 4)
    assert 0.9 * bound < np.abs(w).max() <= bound
    assert not draw["linear_0.bias"].numpy().any()
    np.testing.assert_array_equal(iris().parameters()["linear_0.weight"].numpy(), w)
    assert (iris(seed=8).parameters()["linear_0.weight"].numpy() != w).any()


def test_without_a_seed_the_keys_of_the_thread_decide():
    draws = []
    for _ in range(2):
        engine.seed(3)
        draws += [iris(seed=None).parameters()["linear_0.weight"].numpy() for _ in range(2)]
    np.testing.assert_array_equal(draws[0], draws[2])
    assert (draws[0] != draws[1]).any()


@each_row("activation", ["relu", "sigmoid", "tanh", "softmax", "none"])
def test_a_linear_layer_takes_an_activation(activation):
    model = engine.Sequential({"layer": "linear", "units": 3, "activation": activation}, inputs=(4,), seed=0)
    w, b = model.parameters().values()
    y = ops.linear(examples().astype("float32"), w, b)
    expected = y if activation == "none" else getattr(ops, activation)(y)
    np.testing.assert_array_equal(model(examples().astype("float32")).numpy(), expected.numpy())
    columns = engine.Sequential(
        {"layer": "linear", "units": 3, "activation": activation}, inputs=(4,), seed=0, layout="col"
    )
    np.testing.assert_array_equal(columns(examples().T.astype("float32")).numpy(), expected.numpy().T)


def test_the_mathematics_does_not_depend_on_the_layout():
    row, col = iris(), iris(layout="col")
    x, y = examples(), np.arange(12) % 3
    for model, inputs, layout in ((row, x, "row"), (col, x.T, "col")):
        engine.seed(5)
        engine.softmax_cross_entropy_loss(model(inputs), y, layout=layout).backward()
    for name, leaf in row.parameters().items():
        np.testing.assert_array_equal(leaf.grad.numpy(), col.parameters()[name].grad.numpy())
    np.testing.assert_array_equal(row.eval()(x).numpy(), col.eval()(x.T).numpy().T)


def test_five_steps_of_training_and_the_running_statistics_are_pytorchs(waves):
    expected = json.loads((GOLDEN / "normed.json").read_text())
    model = engine.Sequential(
        ("linear", {"units": 6}), "relu", "batch_norm", ("linear", {"units": 3}), inputs=(4,), seed=0, dtype="float64"
    )
    start = {
        name: 0.5 * waves(*leaf.shape, start=float(place)) + (place == 2)
        for place, (name, leaf) in enumerate(model.parameters().items())
    }
    model.load_state_dict({**model.state_dict(), **start})
    optimizer = engine.TapeOptimizer(model.parameters(), "adam", lr=0.01)
    x, y = waves(12, 4, start=0.5), np.arange(12) % 3
    losses = []
    for step in range(5):
        loss = ops.cross_entropy(model(x), y)
        gradients = engine.gradients_by_name(loss)
        if step == 0:
            for name, wanted in zip(model.parameters(), expected["first_gradients"], strict=True):
                np.testing.assert_allclose(gradients[name].numpy(), wanted, rtol=1e-11, atol=1e-14)
        optimizer.step(gradients)
        optimizer.zero_grad()
        losses.append(loss.item())
    np.testing.assert_allclose(losses, expected["losses"], rtol=1e-12)
    for leaf, wanted in zip(model.parameters().values(), expected["parameters"], strict=True):
        np.testing.assert_allclose(leaf.numpy(), wanted, rtol=1e-9, atol=1e-12)
    mean, variance, count = model.buffers().values()
    assert count.numpy() > 0
    np.testing.assert_allclose(mean.numpy(), expected["running_mean"], rtol=1e-11)
    np.testing.assert_allclose(variance.numpy(), expected["running_var"], rtol=1e-11)
    np.testing.assert_allclose(model.eval()(x).numpy(), expected["evaluated"], rtol=1e-9)


def test_training_and_evaluation_differ_and_evaluation_leaves_the_statistics_alone():
    model = engine.Sequential("batch_norm", inputs=(4,), dtype="float64")
    x = examples() + 1
    trained = model(x).numpy()
    mean = model.buffers()["batch_norm_0.running_mean"].numpy().copy()
    np.testing.assert_allclose(mean, 0.1 * x.mean(axis=0))
    evaluated = model.eval()(x).numpy()
    assert np.abs(trained - evaluated).max() > 0.1
    np.testing.assert_array_equal(model.buffers()["batch_norm_0.running_mean"].numpy(), mean)


@pytest.mark.parametrize("momentum", [0.1, 0.3])
def test_running_statistics_move_by_the_momentum_towards_the_unbiased_variance(momentum):
    model = engine.Sequential(("batch_norm", {"momentum": momentum, "eps": 0.5}), inputs=(1,), dtype="float64")
    y = model(np.array([[1.0], [3.0]])).numpy()
    np.testing.assert_allclose(y, np.array([[-1.0], [1.0]]) / np.sqrt(1.5))
    mean, variance, _ = model.buffers().values()
    np.testing.assert_allclose(mean.numpy(), [2 * momentum])
    np.testing.assert_allclose(variance.numpy(), [1 - momentum + 2 * momentum])  # PyTorch: 1.1 at 0.1
    evaluated = model.eval()(np.array([[1.0]])).numpy()
    np.testing.assert_allclose(evaluated, [[(1 - 2 * momentum) / np.sqrt(1 + momentum + 0.5)]])


def test_dropout_keeps_the_mean_in_training_and_everything_in_evaluation():
    model = engine.Sequential(("dropout", {"p": 0.3}), inputs=(10_000,), dtype="float64")
    x = np.ones((2, 10_000))
    engine.seed(0)
    y = model(x).numpy()
    assert set(np.unique(y)) == {0.0, 1 / 0.7}
    assert y.mean() == pytest.approx(1, abs=0.02)
    np.testing.assert_array_equal(model.eval()(x).numpy(), x)


@pytest.mark.parametrize("rate", [1.0, -0.1])
def test_a_dropout_rate_outside_0_to_1_is_refused(rate):
    with pytest.raises(DocumentError, match="dropout"):
        engine.Sequential(("dropout", {"p": rate}), inputs=(4,))


def test_an_embedding_takes_classes_from_0():
    model = engine.Sequential(
        ("embedding", {"rows": 5, "units": 3}), ("multi_head_attention", {"heads": 1, "causal": True}),
        inputs=(4,), input_dtype="int64", seed=0,
    )  # fmt: skip
    first, second = model(np.array([[0, 1, 2, 3]])).numpy(), model(np.array([[0, 1, 2, 4]])).numpy()
    np.testing.assert_array_equal(first[:, :3], second[:, :3])
    assert (first[:, 3] != second[:, 3]).any()


def rounded(array, dtype):
    return np.asarray(array, "float32").astype(engine.tensor([0.0], dtype=dtype).dtype).astype("float32")


@pytest.mark.parametrize("_narrow_default", ["float16", "bfloat16"], indirect=True)
@pytest.mark.usefixtures("_narrow_default")
def test_with_a_narrow_default_the_forward_pass_is_rounded_and_weights_and_gradients_stay_wide():
    dtype = engine.get_default_dtype()
    model = engine.Sequential(("linear", {"units": 3}), inputs=(4,), seed=0)
    w, b = model.parameters().values()
    assert w.dtype == b.dtype == np.float32
    x = examples().astype("float32")
    y = model(x)
    expected = rounded(rounded(x, dtype) @ rounded(w.numpy(), dtype).T + rounded(b.numpy(), dtype), dtype)
    np.testing.assert_allclose(y.numpy(), expected, rtol=2e-2 if dtype == "bfloat16" else 2e-3)
    np.testing.assert_array_equal(rounded(y.numpy(), dtype), y.numpy())
    ops.mean(y).backward()
    np.testing.assert_allclose(
        w.grad.numpy(), np.tile(rounded(x, dtype).sum(axis=0) / 36, (3, 1)), rtol=1e-5, atol=1e-7
    )
    assert (rounded(w.grad.numpy(), dtype) != w.grad.numpy()).any()


def test_a_precision_can_be_asked_for_without_a_default():
    model, wide = (engine.Sequential("tanh", inputs=(4,), precision=precision) for precision in ("float16", None))
    x = examples().astype("float32")
    assert np.abs(model(x).numpy() - wide(x).numpy()).max() > 1e-5


OF_OTHER_INPUTS = {
    "embedding", "embedding_bag", "mixup", "transformer_decoder_layer", "transformer_decoder", "transformer",
}  # fmt: skip


@pytest.mark.slow
@each_row("kind", sorted(set(LAYERS) - OF_OTHER_INPUTS))
def test_every_layer_of_the_table_is_a_module(kind):
    options, shape = {
        "linear": ({"units": 5}, (4,)),
        "reshape": ({"shape": (2, 2)}, (4,)),
        "multi_head_attention": ({"heads": 2}, (3, 4)),
        "flatten": ({}, (4, 2)),
        "global_avg_pool": ({}, (4, 2)),
        "bilinear": ({"units": 5}, (4,)),
        "threshold": ({"threshold": 0.5, "value": 1.0}, (4,)),
        "unflatten": ({"axis": 1, "sizes": (2, 2)}, (4,)),
        "permute": ({"axes": (0, 2, 1)}, (4, 3)),
        "sequential": ({"layers": ("relu", {"layer": "linear", "units": 2})}, (4,)),
        "residual": ({"layers": ["relu", {"layer": "linear", "units": 4}]}, (4,)),
        "parallel": ({"layers": ["relu", {"layer": "linear", "units": 4}]}, (4,)),
        "transformer_encoder_layer": ({"heads": 2, "width": 5}, (3, 4)),
        "transformer_encoder": ({"heads": 2, "width": 5, "layers": 2}, (3, 4)),
        **{f"{what}_positions": ({}, (3, 4)) for what in ("sinusoidal", "learned", "rotary")},
        **{kind: ({"units": 5}, (3, 4)) for kind in ("rnn", "lstm", "gru")},
        **{kind: ({"factor": 2}, (4, 2, 2)) for kind in ("pixel_shuffle", "pixel_unshuffle")},
        "channel_shuffle": ({"groups": 2}, (4, 2)),
        "squeeze": ({}, (4, 1)),
        "random_crop": ({"size": 2, "padding": 1}, (4, 3, 3)),
        "random_rotation": ({"degrees": 10}, (4, 3, 3)),
        "time_masking": ({"longest": 2}, (4, 3)),
        **{f"random_{what}": ({}, (4, 3, 3)) for what in ("affine", "erasing", "horizontal_flip", "vertical_flip")},
        "upsample": ({"size": 3}, (4, 2)),
        "group_norm": ({"groups": 2}, (4,)),
        "instance_norm": ({"track_running_stats": True}, (4, 2)),
        "local_response_norm": ({"size": 2}, (4, 2)),
        **{f"dropout{n}d": ({}, (2, *(4,) * n)) for n in (1, 2, 3)},
        **{f"lp_pool{n}d": ({"kernel": 2}, (2, *(4,) * n)) for n in (1, 2, 3)},
        **{f"adaptive_{w}_pool{n}d": ({"output_size": 2}, (2, *(4,) * n)) for n in (1, 2, 3) for w in ("max", "avg")},
        **{f"conv_transpose{n}d": ({"channels": 2, "kernel": 3}, (2, *(4,) * n)) for n in (1, 2, 3)},
        **{f"constant_pad{n}d": ({"padding": 1, "value": 2.0}, (2, *(4,) * n)) for n in (1, 2, 3)},
        **{
            f"{what}_pad{n}d": ({"padding": 1}, (2, *(4,) * n))
            for n in (1, 2, 3)
            for what in ("zero", "reflection", "replication", "circular")
        },
        **{f"conv{n}d": ({"channels": 2, "kernel": 3}, (2, *(4,) * n)) for n in (1, 2, 3)},
        **{f"{what}_pool{n}d": ({"kernel": 2}, (2, *(4,) * n)) for n in (1, 2, 3) for what in ("max", "avg")},
    }.get(kind, ({}, (4,)))
    model = engine.Sequential((kind, options), inputs=shape, seed=0)
    x = np.sin(np.arange(3.0 * math.prod(shape))).reshape(3, *shape).astype("float32")
    y = model.eval()(x)
    assert y.shape == (3, *model[0].output.shape[1:])
    assert np.isfinite(y.numpy()).all()


REFUSED = {
    "no layers": (lambda: engine.Sequential(inputs=(4,)), DocumentError, "/layers: give at least one"),
    "an unknown layer": (lambda: engine.Sequential("batch_nor", inputs=(4,)), DocumentError, "'batch_norm'"),
    "a layer that does not fit": (
        lambda: engine.Sequential("relu", ("conv2d", {"channels": 2, "kernel": 3}), inputs=(4,)),
        DocumentError,
        "/layers/1: conv2d",
    ),
    "a layer of another input": (
        lambda: engine.Sequential(("transformer_decoder_layer", {"heads": 2, "memory": "m"}), inputs=(3, 4)),
        DocumentError,
        "/layers/0: this layer has no other input called 'm'",
    ),
    "a faulty layer within a layer": (
        lambda: engine.Sequential(("residual", {"layers": ["relu", "rely"]}), inputs=(4,)),
        DocumentError,
        "/layers/0/layers/1/layer: there is no layer called 'rely'",
    ),
    "a name twice": (
        lambda: engine.Sequential(*[{"layer": "relu", "name": "a"}] * 2, inputs=(4,)),
        DocumentError,
        "/layers/1: the name 'a' is already taken",
    ),
    "the name of a method": (
        lambda: engine.Sequential({"layer": "relu", "name": "forward"}, inputs=(4,)),
        DocumentError,
        "'forward' is an attribute",
    ),
    "an unknown naming": (lambda: engine.Sequential("relu", inputs=(4,), naming="R"), AttributeValueError, "naming"),
    "another device": (lambda: engine.Sequential("relu", inputs=(4,), device="gpu"), DeviceError, "gpu"),
}


@each_row(("act", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_a_faulty_stack_is_refused(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_an_input_of_another_width_is_refused_by_the_name_of_the_weight():
    with pytest.raises(ShapeError, match=r"linear_0\.weight has shape \[64, 4\]"):
        iris()(np.zeros((2, 5)))
