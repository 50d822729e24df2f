"""Fits the stacks of layers that `against_torch` has written down with PyTorch: needs torch and NumPy, nothing else.

python torch_loop.py CASES RESULTS: two files, .npz. Each case is a document and arrays; its results are arrays.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

Tensors = Mapping[str, torch.Tensor]
Layer = Callable[[dict[str, Any], Tensors, torch.Tensor], torch.Tensor]

PLAIN = (
    "relu", "gelu", "silu", "softplus", "leaky_relu", "elu", "relu6", "celu", "selu", "mish", "softsign",
    "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "tanh",
    "sigmoid",
)  # fmt: skip
ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "none": lambda x: x,
    **{name: getattr(F, name) for name in PLAIN},
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "softmin": lambda x: torch.softmax(-x, -1),
    "glu": F.glu,
}
LOSSES = ("cross_entropy", "nll_loss", "multi_margin_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
          "soft_margin_loss", "poisson_nll_loss")  # fmt: skip
OPTIMIZERS = {
    "sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop, "adadelta": torch.optim.Adadelta, "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam, "radam": torch.optim.RAdam, "rprop": torch.optim.Rprop, "asgd": torch.optim.ASGD,
}  # fmt: skip


def _linear(o: dict[str, Any], p: Tensors, x: torch.Tensor) -> torch.Tensor:
    return ACTIVATIONS[o.get("activation", "none")](F.linear(x, p["weight"], p.get("bias")))


def _recurrent(kind: str) -> Layer:
    def run(o: dict[str, Any], p: Tensors, x: torch.Tensor) -> torch.Tensor:
        units, both = o["units"], o.get("bidirectional", False)
        module = getattr(torch.nn, kind)(x.shape[-1], units, o.get("layers", 1), batch_first=True, bidirectional=both)
        y, states = torch.func.functional_call(module.double(), dict(p), (x,))
        if o.get("result", "sequence") == "sequence":
            return y
        last = states[0] if kind == "LSTM" else states
        return torch.cat(list(last[-(2 if both else 1) :]), -1)

    return run


def _attention(o: dict[str, Any], p: Tensors, x: torch.Tensor) -> torch.Tensor:
    module = torch.nn.MultiheadAttention(x.shape[-1], o["heads"], batch_first=True).double()
    return torch.func.functional_call(module, dict(p), (x, x, x), {"attn_mask": _causal(o, x), "need_weights": False})[
        0
    ]


def _encoder(o: dict[str, Any], p: Tensors, x: torch.Tensor) -> torch.Tensor:
    module = torch.nn.TransformerEncoderLayer(
        x.shape[-1], o["heads"], o["width"], 0.0, batch_first=True, norm_first=o["norm_first"]
    ).double()
    return torch.func.functional_call(module, dict(p), (x,), {"src_mask": _causal(o, x)})


def _causal(o: dict[str, Any], x: torch.Tensor) -> torch.Tensor | None:
    steps = x.shape[1]
    return torch.ones(steps, steps, dtype=torch.bool).triu(1) if o.get("causal") else None


def _batch_norm(o: dict[str, Any], p: Tensors, x: torch.Tensor) -> torch.Tensor:
    p["num_batches_tracked"].add_(1)
    return F.batch_norm(x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=True)


def _instance_norm(o: dict[str, Any], p: Tensors, x: torch.Tensor) -> torch.Tensor:
    return F.instance_norm(x, p.get("running_mean"), p.get("running_var"), p.get("weight"), p.get("bias"))


def _convolution(rank: int) -> Layer:
    names = ("stride", "padding", "groups")
    return lambda o, p, x: getattr(F, f"conv{rank}d")(x, p["weight"], p["bias"], **{n: o[n] for n in names if n in o})


def _transposed(rank: int) -> Layer:
    names = ("stride", "groups")
    apply = getattr(F, f"conv_transpose{rank}d")
    return lambda o, p, x: apply(x, p["weight"], p["bias"], **{n: o[n] for n in names if n in o})


def _pool(kind: str) -> Layer:
    apply = getattr(F, kind)
    if kind.startswith("adaptive"):
        return lambda o, p, x: apply(x, o["output_size"])
    before = (2.0,) if kind.startswith("lp") else ()
    return lambda o, p, x: apply(x, *before, o["kernel"], o["stride"])


def _padding(mode: str, rank: int) -> Layer:
    return lambda o, p, x: F.pad(x, (o["padding"],) * (2 * rank), {"zero": "constant", "replication": "replicate",
                                                                  "reflection": "reflect"}.get(mode, mode))  # fmt: skip


def _activation(kind: str) -> Layer:
    return lambda o, p, x: ACTIVATIONS[kind](x)


LAYERS: dict[str, Layer] = {
    **{kind: _activation(kind) for kind in ACTIVATIONS},
    "linear": _linear,
    "rnn": _recurrent("RNN"), "lstm": _recurrent("LSTM"), "gru": _recurrent("GRU"),
    "multi_head_attention": _attention,
    "transformer_encoder_layer": _encoder,
    "batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
    "layer_norm": lambda o, p, x: F.layer_norm(x, p["weight"].shape, p["weight"], p["bias"]),
    "rms_norm": lambda o, p, x: F.rms_norm(x, p["weight"].shape, p["weight"]),
    "group_norm": lambda o, p, x: F.group_norm(x, o["groups"], p["weight"], p["bias"]),
    "local_response_norm": lambda o, p, x: F.local_response_norm(x, o["size"]),
    "prelu": lambda o, p, x: F.prelu(x, p["weight"]),
    "embedding": lambda o, p, x: F.embedding(x, p["weight"]),
    "flatten": lambda o, p, x: x.flatten(1),
    "upsample": lambda o, p, x: F.interpolate(x, scale_factor=o["scale"], mode=o["mode"]),
    "learned_positions": lambda o, p, x: x + p["weight"][: x.shape[1]],
    **{f"conv{rank}d": _convolution(rank) for rank in (1, 2)},
    **{f"conv_transpose{rank}d": _transposed(rank) for rank in (1, 2)},
    **{f"{kind}_pool{rank}d": _pool(f"{kind}_pool{rank}d")
       for rank in (1, 2) for kind in ("max", "avg", "lp", "adaptive_max", "adaptive_avg")},
    **{f"{mode}_pad{rank}d": _padding(mode, rank)
       for rank in (1, 2) for mode in ("zero", "reflection", "replication", "circular")},
}  # fmt: skip


def forward(layers: list[Any], tensors: Tensors, x: torch.Tensor) -> torch.Tensor:
    """Run a stack; parameters and buffers are called after the kind of their layer and its number among such."""
    counts: Counter[str] = Counter()
    for layer in layers:
        options = {"layer": layer} if isinstance(layer, str) else layer
        kind = options["layer"]
        prefix = f"{kind}_{counts[kind]}."
        counts[kind] += 1
        own = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        x = LAYERS[kind](options, own, x)
    return x


def _optimizer(document: dict[str, Any], parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
    options = {name: value for name, value in document.items() if name != "kind"}
    if "decoupled" in options:
        options["decoupled_weight_decay"] = options.pop("decoupled")
    return OPTIMIZERS[document["kind"]](parameters, **options)


def _scheduler(recipe: dict[str, Any], optimizer: torch.optim.Optimizer) -> tuple[Any, bool]:
    """Return the schedule, and whether it goes on with each step: with each epoch, if not."""
    found = recipe.get("schedule")
    if found is None:
        return None, False
    if found["kind"] == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, found["t_max"]), False
    return torch.optim.lr_scheduler.StepLR(optimizer, found["step_size"], found["gamma"]), True


def fit(case: dict[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Fit a case; return the loss of each step, and what parameters and buffers have become."""
    recipe, layers, loss = case["recipe"], case["layers"], case["loss"]
    columns = {name: torch.tensor(arrays[f"column {name}"]) for name in ("x", "target")}
    trained = {name: torch.tensor(arrays[f"parameter {name}"], requires_grad=True) for name in case["parameters"]}
    buffers = {name: torch.tensor(arrays[f"buffer {name}"]) for name in case["buffers"]}
    optimizer = _optimizer(recipe["optimizer"], list(trained.values()))
    scheduler, each_step = _scheduler(recipe, optimizer)
    rows, batch = len(columns["x"]), recipe["batch_size"]
    starts = list(range(0, rows, batch))
    results: dict[str, np.ndarray[Any, Any]] = {}
    for step in range(recipe["steps"]):
        start = starts[step % len(starts)]
        x, target = (column[start : start + batch] for column in columns.values())
        optimizer.zero_grad()
        value = getattr(F, loss)(forward(layers, {**trained, **buffers}, x), target)
        value.backward()
        clip = recipe.get("clip", {})
        if "norm" in clip:
            torch.nn.utils.clip_grad_norm_(trained.values(), clip["norm"])
        if "value" in clip:
            torch.nn.utils.clip_grad_value_(trained.values(), clip["value"])
        optimizer.step()
        if scheduler is not None and (each_step or (step + 1) % len(starts) == 0):
            scheduler.step()
        results[f"train loss after step {step + 1}"] = value.detach().numpy()
    return {**results, **{f"parameter {name}": t.detach().numpy() for name, t in {**trained, **buffers}.items()}}


def main() -> None:
    """Fit every case of a file."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)  # some optimizers keep numbers of their own in it
    with np.load(sys.argv[1]) as file:
        arrays = dict(file)
    results: dict[str, Any] = {}
    for number, text in enumerate(arrays["cases"]):
        prefix = f"{number}/"
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        results.update({prefix + name: array for name, array in fit(json.loads(str(text)), own).items()})
    np.savez(sys.argv[2], **results)


if __name__ == "__main__":
    main()
