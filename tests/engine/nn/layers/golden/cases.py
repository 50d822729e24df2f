"""A case or more of each layer, with the module of PyTorch's that it stands for."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch import nn
from wrapped import Attention, Bag, Decoder, Encoder, Encoders, Last, Parallel, Positions, Residual, Two, Whole

IMAGE = {1: (2, 4, 7), 2: (2, 4, 5, 6), 3: (2, 4, 3, 3, 4)}

Case = tuple[str, dict[str, Any], tuple[int, ...], nn.Module]
CASES: dict[str, Case] = {}
OTHERS: dict[str, dict[str, Any]] = {}
"""Other inputs by case: a shape of floats, or the numbers themselves."""
INTEGERS: dict[str, list[list[int]]] = {}
"""The input of cases that take integers."""


def case(
    name: str, kind: str, options: dict[str, Any], shape: tuple[int, ...], module: nn.Module, **others: Any
) -> None:
    CASES[name] = (kind, options, shape, module)
    OTHERS[name] = others


def dense() -> None:
    case("linear", "linear", {"units": 3}, (2, 5, 4), nn.Linear(4, 3))
    case("linear, of rank 1", "linear", {"units": 3, "bias": False}, (6, 4), nn.Linear(4, 3, bias=False))
    case(
        "linear, gelu",
        "linear",
        {"units": 3, "bias": False, "activation": "gelu"},
        (5, 4),
        nn.Sequential(OrderedDict(network=nn.Linear(4, 3, bias=False), act=nn.GELU())),
    )
    case("bilinear of itself", "bilinear", {"units": 3}, (5, 4), Two(nn.Bilinear(4, 4, 3)))
    case(
        "bilinear",
        "bilinear",
        {"units": 3, "other": "other", "bias": False},
        (5, 4),
        Two(nn.Bilinear(4, 2, 3, bias=False)),
        other=(5, 2),
    )


def convolution() -> None:
    for rank in IMAGE:
        conv = getattr(nn, f"Conv{rank}d")
        transposed = getattr(nn, f"ConvTranspose{rank}d")
        case(
            f"conv{rank}d",
            f"conv{rank}d",
            {"channels": 6, "kernel": 3, "stride": 2, "padding": 1, "groups": 2},
            IMAGE[rank],
            conv(4, 6, 3, 2, 1, groups=2),
        )
        case(
            f"conv_transpose{rank}d",
            f"conv_transpose{rank}d",
            {"channels": 6, "kernel": 3, "stride": 2, "padding": 1, "output_padding": 1, "groups": 2},
            IMAGE[rank],
            transposed(4, 6, 3, 2, 1, 1, groups=2),
        )
        case(
            f"conv_transpose{rank}d, dilated",
            f"conv_transpose{rank}d",
            {"channels": 2, "kernel": 2, "dilation": 2, "bias": False},
            IMAGE[rank],
            transposed(4, 2, 2, dilation=2, bias=False),
        )
        for mode in ("reflect", "replicate", "circular"):
            case(
                f"conv{rank}d, {mode} on all sides",
                f"conv{rank}d",
                {"channels": 3, "kernel": 3, "padding": 2 if rank < 3 else 1, "padding_mode": mode},
                IMAGE[rank],
                conv(4, 3, 3, padding=2 if rank < 3 else 1, padding_mode=mode),
            )
        for padding in ("same", "valid"):
            case(
                f"conv{rank}d, {padding}",
                f"conv{rank}d",
                {"channels": 3, "kernel": 2, "padding": padding, "dilation": 2},
                IMAGE[rank],
                conv(4, 3, 2, padding=padding, dilation=2),
            )
    for mode in ("reflect", "replicate", "circular"):
        case(
            f"conv2d, {mode}",
            "conv2d",
            {"channels": 3, "kernel": [3, 2], "padding": [1, 2], "padding_mode": mode},
            IMAGE[2],
            nn.Conv2d(4, 3, (3, 2), padding=(1, 2), padding_mode=mode),
        )
    case(
        "conv2d, same and circular",
        "conv2d",
        {"channels": 3, "kernel": [2, 3], "padding": "same", "dilation": [1, 2], "padding_mode": "circular"},
        IMAGE[2],
        nn.Conv2d(4, 3, (2, 3), padding="same", dilation=(1, 2), padding_mode="circular"),
    )


def pooling() -> None:
    for rank in IMAGE:

        def module(name: str, *args: Any, rank: int = rank, **options: Any) -> nn.Module:
            return getattr(nn, f"{name}{rank}d")(*args, **options)

        shape = IMAGE[rank]
        case(
            f"max_pool{rank}d",
            f"max_pool{rank}d",
            {"kernel": 3, "stride": 2, "padding": 1, "ceil_mode": True},
            shape,
            module("MaxPool", 3, 2, 1, ceil_mode=True),
        )
        case(
            f"avg_pool{rank}d",
            f"avg_pool{rank}d",
            {"kernel": 3, "stride": 2, "padding": 1, "count_include_pad": False},
            shape,
            module("AvgPool", 3, 2, 1, count_include_pad=False),
        )
        case(f"lp_pool{rank}d", f"lp_pool{rank}d", {"kernel": 2, "p": 2.0}, shape, module("LPPool", 2, 2))
        for what in ("Max", "Avg"):
            kind = f"adaptive_{what.lower()}_pool{rank}d"
            case(kind, kind, {"output_size": 2}, shape, module(f"Adaptive{what}Pool", 2))


def normalization() -> None:
    for rank in IMAGE:
        batch, instance = getattr(nn, f"BatchNorm{rank}d"), getattr(nn, f"InstanceNorm{rank}d")
        case(f"batch_norm of rank {rank}", "batch_norm", {"momentum": 0.3}, IMAGE[rank], batch(4, momentum=0.3))
        case(f"instance_norm of rank {rank}", "instance_norm", {"affine": True}, IMAGE[rank], instance(4, affine=True))
        case(
            f"instance_norm of rank {rank}, tracked",
            "instance_norm",
            {"affine": True, "track_running_stats": True, "momentum": 0.2},
            IMAGE[rank],
            instance(4, affine=True, track_running_stats=True, momentum=0.2),
        )
    case(
        "batch_norm, a plain mean of batches",
        "batch_norm",
        {"momentum": None, "eps": 1e-3},
        (6, 4),
        nn.BatchNorm1d(4, momentum=None, eps=1e-3),
    )
    case(
        "instance_norm, without momentum",
        "instance_norm",
        {"momentum": None, "track_running_stats": True},
        IMAGE[1],
        nn.InstanceNorm1d(4, momentum=None, track_running_stats=True),
    )
    case("batch_norm, plain", "batch_norm", {"affine": False}, (6, 4), nn.BatchNorm1d(4, affine=False))
    case(
        "batch_norm, untracked",
        "batch_norm",
        {"track_running_stats": False},
        (6, 4),
        nn.BatchNorm1d(4, track_running_stats=False),
    )
    case(
        "instance_norm, tracked and plain",
        "instance_norm",
        {"track_running_stats": True},
        IMAGE[2],
        nn.InstanceNorm2d(4, track_running_stats=True),
    )
    case("instance_norm, plain", "instance_norm", {}, IMAGE[2], nn.InstanceNorm2d(4))
    case("group_norm", "group_norm", {"groups": 2, "eps": 1e-3}, IMAGE[2], nn.GroupNorm(2, 4, eps=1e-3))
    case("group_norm, plain", "group_norm", {"groups": 4, "affine": False}, IMAGE[1], nn.GroupNorm(4, 4, affine=False))
    case("layer_norm", "layer_norm", {"axes": 2}, (2, 3, 5), nn.LayerNorm((3, 5)))
    case("layer_norm, without bias", "layer_norm", {"bias": False}, (2, 3, 5), nn.LayerNorm(5, bias=False))
    case("layer_norm, plain", "layer_norm", {"affine": False}, (2, 3, 5), nn.LayerNorm(5, elementwise_affine=False))
    case("rms_norm", "rms_norm", {}, (2, 3, 5), nn.RMSNorm(5))
    case("rms_norm of two axes", "rms_norm", {"axes": 2, "eps": 1e-3}, (2, 3, 5), nn.RMSNorm((3, 5), eps=1e-3))
    case(
        "local_response_norm",
        "local_response_norm",
        {"size": 3, "alpha": 0.1, "k": 2.0},
        IMAGE[2],
        nn.LocalResponseNorm(3, alpha=0.1, k=2.0),
    )


def recurrent() -> None:
    for kind in ("rnn", "lstm", "gru"):
        network = getattr(nn, kind.upper())
        case(kind, kind, {"units": 3}, (2, 5, 4), Last(network(4, 3, batch_first=True), False))
        case(
            f"{kind}, the last state",
            kind,
            {"units": 3, "bias": False, "result": "last"},
            (2, 5, 4),
            Last(network(4, 3, batch_first=True, bias=False), True),
        )
        deep = {"units": 3, "layers": 2, "bidirectional": True}
        for last in (False, True):
            case(
                f"{kind}, deep in both directions{', last' * last}",
                kind,
                {**deep, "result": "last" if last else "sequence"},
                (2, 5, 4),
                Last(network(4, 3, 2, batch_first=True, bidirectional=True), last),
            )
        lengths = [3, 5, 1]
        for last in (False, True):
            case(
                f"{kind} of lengths{', last' * last}",
                kind,
                {**deep, "lengths": "lengths", "result": "last" if last else "sequence"},
                (3, 5, 4),
                Last(network(4, 3, 2, batch_first=True, bidirectional=True), last),
                lengths=lengths,
            )
    for last in (False, True):
        case(
            f"lstm, projected{', last' * last}",
            "lstm",
            {"units": 4, "layers": 2, "bidirectional": True, "proj_size": 2, "result": "last" if last else "sequence"},
            (2, 5, 3),
            Last(nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True, proj_size=2), last),
        )
        case(
            f"lstm, projected, of lengths{', last' * last}",
            "lstm",
            {
                "units": 3,
                "bidirectional": True,
                "proj_size": 1,
                "bias": False,
                "lengths": "lengths",
                "result": "last" if last else "sequence",
            },
            (3, 4, 2),
            Last(nn.LSTM(2, 3, 1, bias=False, batch_first=True, bidirectional=True, proj_size=1), last),
            lengths=[1, 4, 2],
        )
    case(
        "rnn, relu",
        "rnn",
        {"units": 3, "nonlinearity": "relu"},
        (2, 5, 4),
        Last(nn.RNN(4, 3, nonlinearity="relu", batch_first=True), False),
    )


def attention() -> None:
    mask = [[False, True, False], [False, False, True], [True, False, False]]
    padding = [[False, False, True], [False, False, False]]
    kind, heads = "multi_head_attention", {"heads": 2}

    def network(**options: Any) -> nn.Module:
        return nn.MultiheadAttention(4, 2, batch_first=True, **options)

    case(kind, kind, heads, (2, 3, 4), Attention(network()))
    case(
        f"{kind}, causal",
        kind,
        {**heads, "causal": True, "bias": False},
        (2, 3, 4),
        Attention(network(bias=False), causal=True),
    )
    case(f"{kind}, to a memory", kind, {**heads, "memory": "memory"}, (2, 3, 4), Attention(network()), memory=(2, 5, 4))
    case(
        f"{kind}, masked",
        kind,
        {**heads, "mask": "mask", "padding_mask": "padding"},
        (2, 3, 4),
        Attention(network()),
        mask=mask,
        padding=padding,
    )
    case(
        f"{kind}, padded, without bias",
        kind,
        {**heads, "padding_mask": "padding", "bias": False},
        (2, 3, 4),
        Attention(network(bias=False)),
        padding=padding,
    )
    for more in ({"bias_kv": True}, {"zero_attn": True}, {"bias_kv": True, "zero_attn": True, "bias": False}):
        torch_names = {"bias_kv": "add_bias_kv", "zero_attn": "add_zero_attn", "bias": "bias"}
        created = {torch_names[name]: value for name, value in more.items()}
        case(f"{kind}, {', '.join(more)}", kind, {**heads, **more}, (2, 3, 4), Attention(network(**created)))
        case(
            f"{kind}, {', '.join(more)}, masked",
            kind,
            {**heads, **more, "mask": "mask", "padding_mask": "padding"},
            (2, 3, 4),
            Attention(network(**created)),
            mask=mask,
            padding=padding,
        )
    case(
        f"{kind}, causal with more keys",
        kind,
        {**heads, "causal": True, "bias_kv": True},
        (2, 3, 4),
        Attention(network(add_bias_kv=True), causal=True),
    )
    for bias in (True, False):
        case(
            f"{kind}, of other widths{', without bias' * (not bias)}",
            kind,
            {**heads, "memory": "memory", "values": "values", "bias": bias},
            (2, 3, 4),
            Attention(network(kdim=3, vdim=5, bias=bias)),
            memory=(2, 5, 3),
            values=(2, 5, 5),
        )
    case(
        f"{kind}, with its weights",
        kind,
        {**heads, "weights": "mean", "mask": "mask"},
        (2, 3, 4),
        Attention(network()),
        mask=mask,
    )
    for first in (False, True):
        for bias in (True, False):
            options = {"heads": 2, "width": 6, "dropout": 0.0, "norm_first": first, "bias": bias}
            torch_options = {"dropout": 0.0, "batch_first": True, "norm_first": first, "bias": bias}
            name = f"{', norm first' * first}{', without bias' * (not bias)}"
            case(
                f"transformer_encoder_layer{name}",
                "transformer_encoder_layer",
                {**options, "activation": "gelu"},
                (2, 3, 4),
                Encoder(nn.TransformerEncoderLayer(4, 2, 6, activation="gelu", **torch_options)),
            )
            case(
                f"transformer_decoder_layer{name}",
                "transformer_decoder_layer",
                {**options, "memory": "memory"},
                (2, 3, 4),
                Decoder(nn.TransformerDecoderLayer(4, 2, 6, **torch_options)),
                memory=(2, 5, 4),
            )
    options = {"heads": 2, "width": 6, "dropout": 0.0}
    case(
        "transformer_encoder_layer, masked",
        "transformer_encoder_layer",
        {**options, "mask": "mask", "padding_mask": "padding"},
        (2, 3, 4),
        Encoder(nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)),
        mask=mask,
        padding=padding,
    )
    case(
        "transformer_decoder_layer, padded memory",
        "transformer_decoder_layer",
        {**options, "memory": "memory", "memory_padding_mask": "padding"},
        (2, 3, 4),
        Decoder(nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0, batch_first=True)),
        memory=(2, 3, 4),
        padding=padding,
    )
    for norm in (False, True):
        case(
            f"transformer_encoder{', with a norm' * norm}",
            "transformer_encoder",
            {**options, "layers": 2, "norm": norm, "norm_first": norm, "padding_mask": "padding"},
            (2, 3, 4),
            Encoders(
                nn.TransformerEncoder(
                    nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True, norm_first=norm),
                    2,
                    nn.LayerNorm(4) if norm else None,
                    enable_nested_tensor=False,
                )
            ),
            padding=padding,
        )
        case(
            f"transformer_decoder{', with a norm' * norm}",
            "transformer_decoder",
            {**options, "layers": 2, "norm": norm, "activation": "gelu", "memory": "memory"},
            (2, 3, 4),
            Decoder(
                nn.TransformerDecoder(
                    nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0, batch_first=True, activation="gelu"),
                    2,
                    nn.LayerNorm(4) if norm else None,
                )
            ),
            memory=(2, 5, 4),
        )
    for first in (False, True):
        case(
            f"transformer{', norm first' * first}",
            "transformer",
            {
                **options,
                "encoder_layers": 2,
                "decoder_layers": 1,
                "norm_first": first,
                "target": "target",
                "padding_mask": "padding",
                "memory_padding_mask": "padding",
            },
            (2, 3, 4),
            Whole(nn.Transformer(4, 2, 2, 1, 6, dropout=0.0, batch_first=True, norm_first=first)),
            target=(2, 4, 4),
            padding=padding,
        )
    case("learned_positions", "learned_positions", {"length": 5}, (2, 3, 4), Positions(5, 4))


def activations() -> None:
    shape = (3, 4, 6)
    for kind, options, module in (
        ("prelu", {}, nn.PReLU()),
        ("prelu", {"channels": 4, "init": 0.1}, nn.PReLU(4, 0.1)),
        ("leaky_relu", {"slope": 0.2}, nn.LeakyReLU(0.2)),
        ("elu", {"alpha": 0.7}, nn.ELU(0.7)),
        ("celu", {"alpha": 0.7}, nn.CELU(0.7)),
        ("selu", {}, nn.SELU()),
        ("gelu", {"approximate": "tanh"}, nn.GELU("tanh")),
        ("softmax", {"axis": 1}, nn.Softmax(1)),
        ("log_softmax", {"axis": 1}, nn.LogSoftmax(1)),
        ("softmin", {"axis": 1}, nn.Softmin(1)),
        ("softplus", {"beta": 2.0, "threshold": 1.0}, nn.Softplus(2.0, 1.0)),
        ("hardtanh", {"min": -0.5, "max": 0.7}, nn.Hardtanh(-0.5, 0.7)),
        ("hardshrink", {"lambd": 0.3}, nn.Hardshrink(0.3)),
        ("softshrink", {"lambd": 0.3}, nn.Softshrink(0.3)),
        ("threshold", {"threshold": 0.1, "value": 20.0}, nn.Threshold(0.1, 20.0)),
        ("glu", {"axis": 2}, nn.GLU(2)),
        ("mish", {}, nn.Mish()),
        ("relu6", {}, nn.ReLU6()),
        ("relu", {}, nn.ReLU()),
        ("sigmoid", {}, nn.Sigmoid()),
        ("silu", {}, nn.SiLU()),
        ("tanh", {}, nn.Tanh()),
        ("hardswish", {}, nn.Hardswish()),
        ("hardsigmoid", {}, nn.Hardsigmoid()),
        ("logsigmoid", {}, nn.LogSigmoid()),
        ("softsign", {}, nn.Softsign()),
        ("tanhshrink", {}, nn.Tanhshrink()),
        ("rrelu", {"lower": 0.2, "upper": 0.2}, nn.RReLU(0.2, 0.2)),
    ):
        case(f"{kind} {options}" if options else kind, kind, options, shape, module)


def shapes() -> None:
    case("flatten", "flatten", {"start": 1, "end": 2}, IMAGE[2], nn.Flatten(1, 2))
    case("unflatten", "unflatten", {"axis": 1, "sizes": [2, -1]}, IMAGE[1], nn.Unflatten(1, (2, -1)))
    case("pixel_shuffle", "pixel_shuffle", {"factor": 2}, IMAGE[2], nn.PixelShuffle(2))
    case("pixel_unshuffle", "pixel_unshuffle", {"factor": 2}, (2, 3, 4, 6), nn.PixelUnshuffle(2))
    case("channel_shuffle", "channel_shuffle", {"groups": 2}, IMAGE[2], nn.ChannelShuffle(2))
    case("upsample", "upsample", {"scale": 2.0}, IMAGE[1], nn.Upsample(scale_factor=2))
    case(
        "upsample, bilinear",
        "upsample",
        {"size": [7, 4], "mode": "bilinear", "align_corners": True},
        IMAGE[2],
        nn.Upsample((7, 4), mode="bilinear", align_corners=True),
    )
    for rank in IMAGE:
        widths = [1, 2, 2, 0, 1, 1][: 2 * rank]
        for name, kind in (
            ("Zero", "zero"),
            ("Reflection", "reflection"),
            ("Replication", "replication"),
            ("Circular", "circular"),
        ):
            case(
                f"{kind}_pad{rank}d",
                f"{kind}_pad{rank}d",
                {"padding": widths},
                IMAGE[rank],
                getattr(nn, f"{name}Pad{rank}d")(tuple(widths)),
            )
        case(
            f"constant_pad{rank}d",
            f"constant_pad{rank}d",
            {"padding": 1, "value": -1.5},
            IMAGE[rank],
            getattr(nn, f"ConstantPad{rank}d")(1, -1.5),
        )


def nesting() -> None:
    linear = {"layer": "linear", "units": 4}
    case(
        "sequential",
        "sequential",
        {"layers": [linear, "tanh", {**linear, "units": 3}]},
        (5, 4),
        nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3)),
    )
    case(
        "sequential of names",
        "sequential",
        {"layers": [{**linear, "name": "first"}, "tanh", {**linear, "units": 3, "name": "last"}]},
        (5, 4),
        nn.Sequential(OrderedDict(first=nn.Linear(4, 4), act=nn.Tanh(), last=nn.Linear(4, 3))),
    )
    case(
        "sequential within",
        "sequential",
        {"layers": [{"layer": "sequential", "layers": [linear, "relu"]}, "batch_norm", {**linear, "name": "7"}]},
        (5, 4),
        nn.Sequential(
            OrderedDict(
                [
                    ("0", nn.Sequential(nn.Linear(4, 4), nn.ReLU())),
                    ("1", nn.BatchNorm1d(4)),
                    ("7", nn.Linear(4, 4)),
                ]
            )
        ),
    )
    case(
        "residual",
        "residual",
        {"layers": [linear, "tanh", linear]},
        (5, 4),
        Residual({"0": nn.Linear(4, 4), "1": nn.Tanh(), "2": nn.Linear(4, 4)}),
    )
    case(
        "residual, projected",
        "residual",
        {"layers": [{**linear, "units": 3}], "projection": "linear", "bias": False},
        (5, 4),
        Residual({"0": nn.Linear(4, 3)}, nn.Linear(4, 3, bias=False)),
    )
    case(
        "residual, convolved",
        "residual",
        {
            "layers": [{"layer": "conv2d", "channels": 6, "kernel": 3, "stride": 2, "padding": 1}, "batch_norm"],
            "projection": "convolution",
            "stride": 2,
        },
        IMAGE[2],
        Residual({"0": nn.Conv2d(4, 6, 3, 2, 1), "1": nn.BatchNorm2d(6)}, nn.Conv2d(4, 6, 1, 2)),
    )
    for join in ("concat", "sum", "mean", "product"):
        case(
            f"parallel, {join}",
            "parallel",
            {"layers": [linear, {"layer": "sequential", "layers": [linear, "tanh"]}, "sigmoid"], "join": join},
            (5, 4),
            Parallel([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Sigmoid()], join),
        )


def rows() -> None:
    picked = [[1, 2, 1], [3, 1, 0]]
    for name, options, module in (
        ("embedding", {}, nn.Embedding(5, 3)),
        ("embedding, padded", {"padding_idx": 1}, nn.Embedding(5, 3, padding_idx=1)),
        ("embedding, padded from the end", {"padding_idx": -2}, nn.Embedding(5, 3, padding_idx=-2)),
        ("embedding, limited", {"max_norm": 0.5}, nn.Embedding(5, 3, max_norm=0.5)),
        (
            "embedding, limited by sums",
            {"max_norm": 0.7, "norm_type": 1.0, "padding_idx": 2},
            nn.Embedding(5, 3, padding_idx=2, max_norm=0.7, norm_type=1.0),
        ),
        ("embedding, by how often", {"scale_grad_by_freq": True}, nn.Embedding(5, 3, scale_grad_by_freq=True)),
    ):
        case(name, "embedding", {"rows": 5, "units": 3, **options}, (), module)
        INTEGERS[name] = picked
    for mode in ("sum", "mean", "max"):
        for padding in (None, 1):
            name = f"embedding_bag, {mode}{', padded' * (padding is not None)}"
            case(
                name,
                "embedding_bag",
                {"rows": 5, "units": 3, "mode": mode, "padding_idx": padding},
                (),
                nn.EmbeddingBag(5, 3, mode=mode, padding_idx=padding),
            )
            INTEGERS[name] = picked
    for padding in (None, 1):
        name = f"embedding_bag, weighted{', padded' * (padding is not None)}"
        case(
            name,
            "embedding_bag",
            {"rows": 5, "units": 3, "mode": "sum", "weights": "weights", "padding_idx": padding},
            (),
            Bag(nn.EmbeddingBag(5, 3, mode="sum", padding_idx=padding)),
            weights=(2, 3),
        )
        INTEGERS[name] = picked
    case(
        "embedding_bag, limited",
        "embedding_bag",
        {"rows": 5, "units": 3, "max_norm": 0.5},
        (),
        nn.EmbeddingBag(5, 3, max_norm=0.5),
    )
    INTEGERS["embedding_bag, limited"] = picked


FAMILIES = (dense, convolution, pooling, normalization, recurrent, attention, activations, shapes, nesting, rows)
