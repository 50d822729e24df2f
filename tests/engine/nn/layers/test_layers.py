"""Every layer builds, runs, trains, and starts as PyTorch's."""

import json
import math
from typing import get_args

import numpy as np
import pytest

import engine
from engine.core.errors import DocumentError
from engine.nn.layers import LAYERS, loss_declarations
from engine.nn.layers.activation import PLAIN, Activation
from tests.support.rows import each_row

pytestmark = pytest.mark.law

IMAGE = {1: ["batch", 4, 8], 2: ["batch", 4, 8, 8], 3: ["batch", 4, 4, 4, 4]}
STEPS = ["batch", 3, 4]
INTEGERS = {"shape": ["batch", 2], "dtype": "int64"}
OTHERS = {
    "transformer_decoder_layer": {"memory": ["batch", 5, 4]},
    "transformer_decoder": {"memory": ["batch", 5, 4]},
    "transformer": {"target": ["batch", 2, 4]},
    "bilinear": {"other": ["batch", 2]},
    "mixup": {"target": ["batch", 2]},
}
SAMPLES = {
    "linear": ({"units": 5}, ["batch", 4]),
    "bilinear": ({"units": 5, "other": "other"}, ["batch", 4]),
    "embedding": ({"rows": 7, "units": 3}, INTEGERS),
    "embedding_bag": ({"rows": 7, "units": 3, "mode": "max"}, INTEGERS),
    "group_norm": ({"groups": 2}, IMAGE[2]),
    "instance_norm": ({"track_running_stats": True, "affine": True}, IMAGE[2]),
    "rms_norm": ({"eps": 1e-5}, ["batch", 4, 3]),
    "local_response_norm": ({"size": 3}, IMAGE[2]),
    **{kind: ({"units": 5, "layers": 2, "dropout": 0.2, "bidirectional": True}, STEPS) for kind in ("rnn", "lstm")},
    "gru": ({"units": 5, "result": "last"}, STEPS),
    "transformer_encoder_layer": ({"heads": 2, "width": 6, "causal": True}, STEPS),
    "transformer_decoder_layer": ({"heads": 2, "width": 6, "memory": "memory"}, STEPS),
    "transformer_encoder": ({"heads": 2, "width": 6, "layers": 2, "norm": True}, STEPS),
    "transformer_decoder": ({"heads": 2, "width": 6, "layers": 2, "memory": "memory"}, STEPS),
    "transformer": (
        {"heads": 2, "width": 6, "encoder_layers": 1, "decoder_layers": 1, "target": "target"},
        STEPS,
    ),
    "rotary_positions": ({"heads": 2}, STEPS),
    "tabular": ({"units": [3, 1], "squeeze": True, "normalize": True}, ["batch", 4]),
    "parallel": ({"layers": ["tanh", {"layer": "linear", "units": 2}]}, ["batch", 4]),
    "sinusoidal_positions": ({}, STEPS),
    "learned_positions": ({"length": 5}, STEPS),
    "sequential": ({"layers": ["tanh", {"layer": "linear", "units": 2}]}, ["batch", 4]),
    "residual": ({"layers": [{"layer": "linear", "units": 2}], "projection": "linear"}, ["batch", 4]),
    "prelu": ({"channels": 4}, ["batch", 4]),
    "threshold": ({"threshold": 0.5, "value": 1.0}, ["batch", 4]),
    "squeeze": ({}, ["batch", 4, 1]),
    "unflatten": ({"axis": 1, "sizes": [2, -1]}, ["batch", 4]),
    "permute": ({"axes": [0, 2, 1]}, ["batch", 4, 3]),
    "pixel_shuffle": ({"factor": 2}, IMAGE[2]),
    "pixel_unshuffle": ({"factor": 2}, IMAGE[2]),
    "channel_shuffle": ({"groups": 2}, IMAGE[2]),
    "upsample": ({"scale": 2.0, "mode": "bilinear"}, IMAGE[2]),
    "feature_alpha_dropout": ({"p": 0.2}, ["batch", 4]),
    **{f"dropout{rank}d": ({"p": 0.2}, IMAGE[rank]) for rank in IMAGE},
    **{f"lp_pool{rank}d": ({"kernel": 2}, IMAGE[rank]) for rank in IMAGE},
    **{f"adaptive_{kind}_pool{rank}d": ({"output_size": 2}, IMAGE[rank]) for rank in IMAGE for kind in ("max", "avg")},
    **{f"conv_transpose{rank}d": ({"channels": 6, "kernel": 3, "groups": 2}, IMAGE[rank]) for rank in IMAGE},
    **{
        f"{kind}_pad{rank}d": ({"padding": 1, **({"value": 2.0} if kind == "constant" else {})}, IMAGE[rank])
        for rank in IMAGE
        for kind in ("constant", "zero", "reflection", "replication", "circular")
    },
    "batch_norm": ({"eps": 1e-3, "momentum": 0.2}, ["batch", 4, 3]),
    "layer_norm": ({"axes": 2}, ["batch", 4, 3]),
    "multi_head_attention": ({"heads": 2, "causal": True}, ["batch", 3, 4]),
    "dropout": ({"p": 0.2}, ["batch", 4]),
    **{f"random_{axis}_flip": ({"p": 0.4}, IMAGE[2]) for axis in ("horizontal", "vertical")},
    "random_crop": ({"size": [8, 6], "padding": 2}, IMAGE[2]),
    "random_rotation": ({"degrees": 15.0, "interpolation": "bilinear"}, IMAGE[2]),
    "random_affine": ({"translate": [0.2, 0.1], "scale": [0.8, 1.2], "interpolation": "bilinear"}, IMAGE[2]),
    "random_erasing": ({"p": 0.9}, IMAGE[2]),
    "gaussian_noise": ({"std": 0.2}, ["batch", 4]),
    "time_masking": ({"longest": 2}, STEPS),
    "random_masking": ({"p": 0.3}, STEPS),
    "mixup": ({"target": "target", "alpha": 0.4}, ["batch", 4]),
    "flatten": ({}, ["batch", 4, 3]),
    "reshape": ({"shape": [2, 6]}, ["batch", 4, 3]),
    "global_avg_pool": ({}, IMAGE[2]),
    **{f"conv{rank}d": ({"channels": 6, "kernel": 3, "padding": 1, "groups": 2}, IMAGE[rank]) for rank in IMAGE},
    **{f"{kind}_pool{rank}d": ({"kernel": 2}, IMAGE[rank]) for rank in IMAGE for kind in ("max", "avg")},
}
ACTIVATIONS = [kind for kind in get_args(Activation) if kind != "none"]


def stack(kind, options, shape):
    """Return a graph of one layer."""
    return {"inputs": {"x": shape, **OTHERS.get(kind, {})}, "layers": [{"layer": kind, **options}]}


def feed(spec):
    """Return rows for an input."""
    shape = spec["shape"] if isinstance(spec, dict) else spec
    shape = [6 if extent == "batch" else extent for extent in shape]
    generator = np.random.default_rng(0)
    if isinstance(spec, dict):
        return generator.integers(0, 7, shape).tolist()
    return generator.standard_normal(shape).tolist()


@each_row("kind", LAYERS)
def test_every_layer_builds_and_runs_in_both_modes(kind):
    options, spec = SAMPLES.get(kind, ({}, ["batch", 4]))
    definition = engine.parse_graph(stack(kind, options, spec))
    again = engine.parse_graph(json.loads(json.dumps(definition.to_json())))
    assert again == definition
    assert all(name.startswith(f"{kind}_0.") for name in (*definition.parameters, *definition.buffers))
    for training in (False, True):
        inputs = {name: feed(shape) for name, shape in {"x": spec, **OTHERS.get(kind, {})}.items()}
        result = engine.compute(definition, {"inputs": inputs, "want": ["outputs"], "training": training})
        (output,) = result["outputs"].values()
        assert output.dtype == np.float32
        assert len(output) == 6
        assert np.isfinite(output).all()


@each_row("kind", LAYERS)
def test_every_layer_is_described(kind):
    entry = next(entry for entry in engine.layer_catalogue() if entry["kind"] == kind)
    assert entry["doc"]
    assert all(attribute["type"] for attribute in entry["attrs"])
    assert json.loads(json.dumps(entry))


@each_row("kind", ACTIVATIONS)
def test_an_activation_is_a_layer_and_an_option_of_others(kind):
    alone = engine.parse_graph({"inputs": {"x": ["n", 4]}, "layers": [{"layer": "linear", "units": 3}, kind]})
    inside = engine.parse_graph(
        {"inputs": {"x": ["n", 4]}, "layers": [{"layer": "linear", "units": 3, "activation": kind}]}
    )
    request = {"inputs": {"x": feed(["batch", 4])}, "want": ["outputs"]}
    (first,), (second,) = (engine.compute(d, request)["outputs"].values() for d in (alone, inside))
    np.testing.assert_array_equal(first, second)


def test_every_activation_that_can_be_named_is_a_layer():
    assert tuple(ACTIVATIONS) == PLAIN
    assert set(PLAIN) < set(LAYERS)


NAMES = {
    "lstm": (
        {"units": 5, "layers": 2, "bidirectional": True},
        {
            f"{name}_l{layer}{end}": shape
            for layer, width in ((0, 4), (1, 10))
            for end in ("", "_reverse")
            for name, shape in {
                "weight_ih": (20, width),
                "weight_hh": (20, 5),
                "bias_ih": (20,),
                "bias_hh": (20,),
            }.items()
        },
    ),
    "gru": ({"units": 5, "bias": False}, {"weight_ih_l0": (15, 4), "weight_hh_l0": (15, 5)}),
    "multi_head_attention": (
        {"heads": 2},
        {"in_proj_weight": (12, 4), "in_proj_bias": (12,), "out_proj.weight": (4, 4), "out_proj.bias": (4,)},
    ),
    "transformer_encoder_layer": (
        {"heads": 2, "width": 6},
        {
            "self_attn.in_proj_weight": (12, 4),
            "self_attn.in_proj_bias": (12,),
            "self_attn.out_proj.weight": (4, 4),
            "self_attn.out_proj.bias": (4,),
            "linear1.weight": (6, 4),
            "linear1.bias": (6,),
            "linear2.weight": (4, 6),
            "linear2.bias": (4,),
            "norm1.weight": (4,),
            "norm1.bias": (4,),
            "norm2.weight": (4,),
            "norm2.bias": (4,),
        },
    ),
    "transformer_decoder_layer": (
        {"heads": 2, "width": 6, "bias": False, "memory": "memory"},
        {
            "self_attn.in_proj_weight": (12, 4),
            "self_attn.out_proj.weight": (4, 4),
            "multihead_attn.in_proj_weight": (12, 4),
            "multihead_attn.out_proj.weight": (4, 4),
            "linear1.weight": (6, 4),
            "linear2.weight": (4, 6),
            "norm1.weight": (4,),
            "norm2.weight": (4,),
            "norm3.weight": (4,),
        },
    ),
    "sequential": (
        {"layers": [{"layer": "residual", "layers": [{"layer": "linear", "units": 4}]}, "prelu"]},
        {"0.0.weight": (4, 4), "0.0.bias": (4,), "1.weight": (1,)},
    ),
}


@each_row("kind", NAMES)
def test_parameters_are_called_as_in_a_state_dict_of_pytorch(kind):
    options, names = NAMES[kind]
    definition = engine.parse_graph(stack(kind, options, STEPS))
    assert {name: spec.shape for name, spec in definition.parameters.items()} == {
        f"{kind}_0.{name}": shape for name, shape in names.items()
    }


STARTS = {
    "rnn": ({"units": 16}, "weight_hh_l0", {"kind": "uniform", "low": -0.25, "high": 0.25}),
    "bilinear": ({"units": 3}, "bias", {"kind": "uniform", "low": -0.5, "high": 0.5}),
    "conv_transpose1d": ({"channels": 4, "kernel": 4}, "bias", {"kind": "uniform", "low": -0.25, "high": 0.25}),
    "prelu": ({"init": 0.1}, "weight", {"kind": "constant", "value": 0.1}),
    "learned_positions": ({"std": 0.02}, "weight", {"kind": "normal", "std": 0.02}),
    "transformer_encoder_layer": ({"heads": 2}, "self_attn.in_proj_weight", {"kind": "xavier_uniform"}),
    "group_norm": ({"groups": 1}, "weight", {"kind": "ones"}),
}


@each_row("kind", STARTS)
def test_parameters_start_as_those_of_pytorch(kind):
    options, name, init = STARTS[kind]
    definition = engine.parse_graph({"inputs": {"x": STEPS}, "layers": [{"layer": kind, **options}]})
    assert definition.parameters[f"{kind}_0.{name}"].init == init


def test_the_row_of_an_embedding_that_stands_for_padding_starts_as_zero():
    for kind in ("embedding", "embedding_bag"):
        model = engine.Sequential((kind, {"rows": 7, "units": 3, "padding_idx": 2}), inputs=(2,), input_dtype="int64")
        (table,) = model.state_dict().values()
        assert (table == 0).all(axis=1).tolist() == [row == 2 for row in range(7)]


def output(kind, options, x, training=False):
    model = engine.Sequential((kind, options), inputs=x.shape[1:], input_dtype=x.dtype, seed=3).train(training)
    return model, model(x).numpy()


def test_layers_that_pytorch_has_as_methods_only():
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    np.testing.assert_array_equal(output("permute", {"axes": (0, 2, 1)}, x)[1], x.transpose(0, 2, 1))
    np.testing.assert_array_equal(output("reshape", {"shape": (2, 6)}, x)[1], x.reshape(2, 2, 6))
    np.testing.assert_allclose(output("global_avg_pool", {}, x)[1], x.mean(axis=2))
    np.testing.assert_allclose(
        output("normalize", {"axis": 2}, x + 1)[1], (x + 1) / np.linalg.norm(x + 1, axis=2)[..., None], rtol=1e-6
    )


def test_a_bag_of_an_embedding_is_the_mean_of_its_rows():
    x = np.array([[1, 2], [5, 5]])
    model, y = output("embedding_bag", {"rows": 7, "units": 3}, x)
    (table,) = model.state_dict().values()
    np.testing.assert_allclose(y, table[x].mean(axis=1), rtol=1e-6)
    model, y = output("embedding", {"rows": 7, "units": 3}, x)
    (table,) = model.state_dict().values()
    np.testing.assert_array_equal(y, table[x])


def test_sinusoidal_positions_are_sines_and_cosines_of_falling_frequencies():
    y = output("sinusoidal_positions", {}, np.zeros((1, 5, 4), "float32"))[1][0]
    steps = np.arange(5.0)
    expected = [np.sin(steps), np.cos(steps), np.sin(steps / 100), np.cos(steps / 100)]
    np.testing.assert_allclose(y, np.stack(expected, axis=1), rtol=1e-6, atol=1e-7)


@each_row("kind", [kind for kind in LAYERS if "dropout" in kind])
def test_dropout_drops_elements_or_whole_channels_in_training_only(kind):
    rank = int(kind[-2]) if kind[-1] == "d" else 1
    x = np.ones((40, 50, *(3,) * rank), "float32")
    np.testing.assert_array_equal(output(kind, {"p": 0.25}, x)[1], x)
    y = output(kind, {"p": 0.25}, x, training=True)[1]
    dropped = (y == y.min()).reshape(40, 50, -1)
    assert 0.2 < dropped.mean() < 0.3  # five deviations of 2,000 channels
    whole = (dropped.all(axis=2) | ~dropped.any(axis=2)).all()
    assert whole == (kind not in ("dropout", "alpha_dropout"))


@each_row("kind", [kind for kind in LAYERS if "dropout" in kind])
def test_dropout_of_nothing_leaves_all_and_of_all_leaves_nothing(kind):
    rank = int(kind[-2]) if kind[-1] == "d" else 1
    x = np.ones((4, 3, *(2,) * rank), "float32")
    np.testing.assert_array_equal(output(kind, {"p": 0.0}, x, training=True)[1], x)
    if kind == "dropout":  # as in ggmlR, an error
        with pytest.raises(DocumentError, match="less than 1"):
            output(kind, {"p": 1.0}, x)
    else:
        np.testing.assert_array_equal(output(kind, {"p": 1.0}, x, training=True)[1], 0)


def test_dropout_between_recurrent_layers_is_of_training_alone():
    x = np.ones((4, 3, 4), "float32")
    for kind in ("rnn", "lstm", "gru"):
        plain, dropping = ({"units": 8, "layers": 2, "dropout": p} for p in (0.0, 0.5))
        still = [output(kind, options, x, training)[1] for options, training in ((plain, True), (dropping, False))]
        np.testing.assert_array_equal(*still)
        assert not np.allclose(still[0], output(kind, dropping, x, training=True)[1])


def test_a_mask_of_a_graph_hides_steps():
    def result(hidden):
        document = {
            "inputs": {"x": STEPS, "mask": {"shape": ["batch", 3], "dtype": "bool"}},
            "layers": [{"layer": "transformer_encoder_layer", "heads": 2, "width": 6, "padding_mask": "mask"}],
        }
        x = np.ones((2, 3, 4)) * np.arange(24.0).reshape(2, 3, 4) % 5
        x[:, 2] += hidden
        mask = [[False, False, True]] * 2
        request = {"inputs": {"x": x.tolist(), "mask": mask}, "want": ["outputs"]}
        (y,) = engine.compute(engine.parse_graph(document), request)["outputs"].values()
        return y[:, :2]

    np.testing.assert_array_equal(result(0.0), result(3.0))


def test_running_statistics_of_a_graph_move_in_a_fit():
    document = {
        "inputs": {"x": ["batch", 4, 6], "target": ["batch", 4, 6]},
        "layers": [{"layer": "instance_norm", "affine": True, "track_running_stats": True, "name": "norm"}],
        "loss": "mse_loss",
    }
    definition = engine.parse_graph(document)
    recipe = engine.read_recipe({"steps": 3, "batch_size": 4, "optimizer": {"kind": "sgd", "lr": 0.0}})
    rows = np.random.default_rng(0).standard_normal((4, 4, 6)).astype("float32") + 7
    fit = engine.Fit(definition, recipe, {"x": rows, "target": rows})
    list(fit)
    mean = fit.snapshot().buffers["norm.running_mean"]
    np.testing.assert_allclose(mean, rows.mean(axis=(0, 2)) * (1 - 0.9**3), rtol=1e-5)


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ("learned_positions", "the parameter 'learned_positions_0.weight'"),
        ("sinusoidal_positions", "the buffer 'sinusoidal_positions_0.encoding'"),
        ({"layer": "learned_positions", "length": 100}, "an attribute of the node 'learned_positions_0.rows'"),
    ],
)
def test_a_number_of_steps_that_is_only_a_name_is_refused_where_it_is_needed(entry, what):
    with pytest.raises(DocumentError, match=f"{what} would depend on an extent that is only a name"):
        engine.parse_graph({"inputs": {"x": ["batch", "steps", 4]}, "layers": [entry]})


def nested(depth):
    return {"layer": "sequential", "layers": [nested(depth - 1)]} if depth else "relu"


REFUSED = {
    "an image of another rank": ({"layer": "conv_transpose2d", "channels": 2, "kernel": 3}, "", "2 more"),
    "a window of another rank": (
        {"layer": "conv_transpose1d", "channels": 2, "kernel": [3, 3]}, "", "conv_transpose1d.kernel"),
    "groups that do not divide": ({"layer": "group_norm", "groups": 2}, "", "groups 2"),
    "too few widths": ({"layer": "zero_pad1d", "padding": [1]}, "", "one number, or 2"),
    "a pad too wide": ({"layer": "reflection_pad1d", "padding": 4}, "", "too wide"),
    "heads that do not divide": ({"layer": "transformer_encoder_layer", "heads": 3}, "", "heads 3"),
    "no such memory": (
        {"layer": "transformer_decoder_layer", "heads": 2, "memory": "y"}, "", "no input called 'y'"),
    "positions without steps": (["flatten", "learned_positions"], "", r"\[rows, steps, width\]"),
    "positions too few": ({"layer": "learned_positions", "length": 2}, "", "length 2"),
    "no units": ({"layer": "lstm", "units": 0}, "/units", "at least 1, not 0"),
    "layers without end": ({"layer": "lstm", "units": 2, "layers": 10**6}, "/layers", "at most 100, not 1000000"),
    "an unknown result": ({"layer": "gru", "units": 2, "result": "first"}, "/result", "gru.result"),
    "slopes for other channels": ({"layer": "prelu", "channels": 5}, "", "channels 5"),
    "extents that do not multiply": ({"layer": "unflatten", "axis": 2, "sizes": [3, -1]}, "", "do not multiply"),
    "rows moved away": ({"layer": "permute", "axes": [1, 0, 2]}, "", "begin with 0"),
    "a padding row that is none": (
        {"layer": "embedding", "rows": 3, "units": 2, "padding_idx": 3}, "", "padding_idx 3"),
    "too many trailing axes": ({"layer": "rms_norm", "axes": 4}, "", "at most 3"),
    "an unknown layer within": ({"layer": "residual", "layers": ["relu", "rely"]}, "/layers/1/layer", "'rely'"),
    "an option within that is none": (
        {"layer": "sequential", "layers": [{"layer": "relu", "slope": 1}]}, "/layers/0/slope", "no attribute 'slope'"),
    "nothing within": ({"layer": "sequential", "layers": []}, "", "at least one layer"),
    "no list within": ({"layer": "sequential", "layers": "relu"}, "/layers", "sequential.layers must be a list"),
    "a name twice within": (
        {"layer": "sequential", "layers": [{"layer": "relu", "name": "a"}, {"layer": "tanh", "name": "a"}]},
        "", "'a' is already taken"),
    "layers too deep": (nested(10), "/layers/0" * 9, "8 deep"),
    "a residual of another shape": (
        {"layer": "residual", "layers": [{"layer": "linear", "units": 9}]}, "", "set projection"),
    "a convolution of no image": (
        {"layer": "residual", "layers": ["flatten"], "projection": "convolution"}, "", "a convolution projects"),
    "a fault within": (
        {"layer": "residual", "layers": [{"layer": "conv2d", "channels": 2, "kernel": 1}]}, "", r"0 \(conv2d\): "),
}  # fmt: skip


@each_row(("layers", "below", "message"), REFUSED.values(), ids=REFUSED)
def test_a_layer_that_does_not_fit_is_refused(layers, below, message):
    layers = layers if isinstance(layers, list) else [layers]
    with pytest.raises(DocumentError, match=message) as caught:
        engine.parse_graph({"inputs": {"x": STEPS}, "layers": layers})
    assert caught.value.findings[0].pointer == f"/layers/{len(layers) - 1}{below}"


@each_row(
    ("kind", "options", "shape", "weight", "fan_in"),
    [
        ("linear", {"units": 50}, ["n", 40], (50, 40), 40),
        ("conv1d", {"channels": 30, "kernel": 5}, ["n", 12, 20], (30, 12, 5), 60),
        ("conv2d", {"channels": 30, "kernel": [3, 2], "groups": 3}, ["n", 12, 9, 9], (30, 4, 3, 2), 24),
        ("conv3d", {"channels": 20, "kernel": 2}, ["n", 4, 5, 5, 5], (20, 4, 2, 2, 2), 32),
    ],
)
def test_weights_and_biases_start_within_the_bounds_of_pytorch(kind, options, shape, weight, fan_in):
    definition = engine.parse_graph(stack(kind, options, shape))
    specs = {name.rpartition(".")[2]: spec for name, spec in definition.parameters.items()}
    assert specs["weight"].shape == weight
    assert specs["bias"].shape == weight[:1]
    bound = 1 / math.sqrt(fan_in)
    assert specs["bias"].init == {"kind": "uniform", "low": -bound, "high": bound}
    assert specs["weight"].init == {"kind": "kaiming_uniform", "a": math.sqrt(5)}


def test_layers_are_counted_by_kind_unless_named():
    definition = engine.parse_graph(
        {
            "inputs": {"x": ["n", 4]},
            "layers": [
                "relu",
                {"layer": "linear", "units": 4},
                {"layer": "linear", "units": 4, "name": "last"},
                "relu",
            ],
        }
    )
    assert [node.name for node in definition.nodes] == ["relu_0", "linear_0", "last", "relu_1"]


CLASSES = {"shape": ["batch"], "dtype": "int64"}
TARGETS = {
    **dict.fromkeys(("cross_entropy", "nll_loss", "multi_margin_loss"), CLASSES),
    "multilabel_margin_loss": {"shape": ["batch", 3], "dtype": "int64"},
    "cosine_embedding_loss": {"shape": ["batch"], "dtype": "float32"},
    "ctc_loss": {"shape": ["batch", 2], "dtype": "int64"},
}
NUMBERS = ["batch", 3]
MORE = {
    "gaussian_nll_loss": {"var": NUMBERS},
    "weighted_mse_loss": {"weight": NUMBERS},
    "margin_ranking_loss": {"other": NUMBERS},
    "cosine_embedding_loss": {"other": NUMBERS},
    "triplet_margin_loss": {"positive": NUMBERS, "negative": NUMBERS},
    "ctc_loss": {"target_lengths": {"shape": ["batch"], "dtype": "int64"}},
}
LAST = {
    "nll_loss": ["log_softmax"],
    "kl_div": ["log_softmax"],
    "bce_loss": ["sigmoid"],
    "categorical_cross_entropy": ["softmax"],
    "ctc_loss": [{"layer": "reshape", "shape": [3, 1]}, {"layer": "linear", "units": 3}, "log_softmax"],
}
SIGNED = ("hinge_embedding_loss", "soft_margin_loss", "margin_ranking_loss", "cosine_embedding_loss")


def rows_for(kind, spec, generator):
    """Draw numbers that a loss takes as its targets and other operands."""
    shape = [12 if extent == "batch" else extent for extent in (spec["shape"] if isinstance(spec, dict) else spec)]
    if isinstance(spec, dict) and spec["dtype"] == "int64":
        return generator.integers(1 if kind == "ctc_loss" else 0, 3, shape)
    if kind in SIGNED and isinstance(spec, dict):
        return generator.choice([-1.0, 1.0], shape)
    return generator.uniform(0.1, 0.9, shape)


@each_row("kind", loss_declarations())
def test_every_loss_ends_a_stack_and_trains(kind):
    target = {} if kind == "triplet_margin_loss" else {"t": TARGETS.get(kind, {"shape": NUMBERS, "dtype": "float32"})}
    others = {**target, **MORE.get(kind, {})}
    names = {name: name for name in MORE.get(kind, {})}
    document = {
        "inputs": {"x": ["batch", 4], **others},
        "layers": [{"layer": "linear", "units": 3}, *LAST.get(kind, [])],
        "loss": {"kind": kind, **names},
    }
    definition = engine.parse_graph(document)
    assert (definition.losses, definition.implicit_loss) == (("loss",), False)
    generator = np.random.default_rng(0)
    columns = {"x": generator.standard_normal((12, 4))}
    columns |= {name: rows_for(kind, spec, generator) for name, spec in others.items()}
    if kind == "ctc_loss":
        columns["target_lengths"] = np.ones(12, int)
    recipe = engine.read_recipe({"steps": 15, "batch_size": 12, "optimizer": {"kind": "adam", "lr": 0.05}})
    points = list(engine.Fit(definition, recipe, columns))
    assert points[-1].values["loss"] < points[0].values["loss"]


def test_rotary_positions_turn_pairs_of_features():
    x = np.random.default_rng(0).standard_normal((2, 5, 8))
    y = output("rotary_positions", {"heads": 2}, x)[1].reshape(2, 5, 2, 4)
    angles = np.arange(5)[:, None] * 10000.0 ** (-np.arange(0, 4, 2) / 4)
    turns = np.exp(1j * angles)[None, :, None]
    pairs = x.reshape(2, 5, 2, 2, 2)
    expected = (pairs[..., 0] + 1j * pairs[..., 1]) * turns
    np.testing.assert_allclose(y[..., 0::2] + 1j * y[..., 1::2], expected, rtol=1e-9)


def test_rrelu_draws_slopes_in_training_and_takes_their_mean_in_evaluation():
    x = -np.ones((200, 50), "float32")
    x[0] = 3
    drawn = output("rrelu", {"lower": 0.1, "upper": 0.5}, x, training=True)[1]
    np.testing.assert_array_equal(drawn[0], 3)
    slopes = -drawn[1:]
    assert 0.1 <= slopes.min() < 0.101
    assert 0.499 < slopes.max() < 0.5
    np.testing.assert_allclose(slopes.mean(), 0.3, atol=0.01)
    np.testing.assert_allclose(output("rrelu", {"lower": 0.1, "upper": 0.5}, x)[1][1:], -0.3, rtol=1e-6)


def test_a_table_is_kept_short_in_training():
    model = engine.Sequential(
        ("embedding", {"rows": 5, "units": 3, "max_norm": 0.5}), inputs=(2,), input_dtype="int64", seed=1
    )
    before = model.state_dict()["embedding_0.weight"]
    x = np.array([[0, 1], [1, 3]])
    lengths = np.linalg.norm(model.eval()(x).numpy(), axis=-1)
    np.testing.assert_array_equal(model.state_dict()["embedding_0.weight"], before)
    assert (lengths <= 0.5).all()
    model.train()(x)
    after = np.linalg.norm(model.state_dict()["embedding_0.weight"], axis=1)
    assert (after[[0, 1, 3]] <= 0.5).all()
    np.testing.assert_array_equal(after[[2, 4]], np.linalg.norm(before[[2, 4]], axis=1))


def test_weights_of_an_attention_are_its_second_output():
    document = {
        "inputs": {"x": STEPS},
        "layers": [{"layer": "multi_head_attention", "heads": 2, "weights": "mean", "causal": True, "name": "a"}],
        "outputs": ["a", "a:1"],
    }
    request = {"inputs": {"x": feed(STEPS)}, "want": ["outputs"]}
    y, weights = engine.compute(engine.parse_graph(document), request)["outputs"].values()
    assert (y.shape, weights.shape) == ((6, 3, 4), (6, 3, 3))
    np.testing.assert_allclose(weights.sum(axis=2), 1, rtol=1e-6)
    np.testing.assert_array_equal(np.triu(weights, 1), 0)


def test_a_count_of_batches_moves_in_a_fit():
    document = {
        "inputs": {"x": ["batch", 4], "target": ["batch", 4]},
        "layers": [{"layer": "batch_norm", "momentum": None, "name": "norm"}],
        "loss": "mse_loss",
    }
    recipe = engine.read_recipe({"steps": 6, "batch_size": 4, "optimizer": {"kind": "sgd", "lr": 0.0}})
    rows = np.random.default_rng(0).standard_normal((12, 4)).astype("float32") + 7
    fit = engine.Fit(engine.parse_graph(document), recipe, {"x": rows, "target": rows})
    list(fit)
    buffers = fit.snapshot().buffers
    assert buffers["norm.num_batches_tracked"] == 6
    np.testing.assert_allclose(buffers["norm.running_mean"], rows.mean(axis=0), rtol=1e-5)
