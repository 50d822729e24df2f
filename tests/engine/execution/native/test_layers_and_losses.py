"""Which ops that layers, losses and optimizers emit, forward and backward, have no compiled kernel, and why.

None of them cuts a plan: they run in their place among the compiled steps, many steps in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from inspect import signature
from textwrap import dedent
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import engine
from engine.core.errors import AttributeValueError
from engine.core.registry import OPS
from engine.execution.native.coverage import numpy_steps
from engine.graph.shape_inference import dims_at
from engine.nn.layers import LAYERS, loss_declarations
from engine.optim.groups import one_group
from engine.optim.optimizers import CLOSURE_OPTIMIZERS, OPTIMIZERS, make_transform
from engine.training.recipe.options import Precision, Record
from engine.training.recipe.recipe import Recipe
from engine.training.step.plans import plan_training, trained_parameters
from engine.training.train_state import StateLayout, at_precision
from tests.engine.nn.layers.test_layers import OTHERS, SAMPLES
from tests.extent import FULL

IN_NUMPY = {
    "random_beta": "a number for each example, drawn by NumPy's generator",
}
"""The ops that remain NumPy's, and why."""
OF_OPTIONS = {"batch_norm {'affine': False} in float64": "the ones and zeros of the layer are float32"}
"""Where an option leaves more to NumPy, and why."""
BATCH = 8
STRIDE = 2
"""One of this many options is checked in one type; `make chaos` has them all in each."""
MODELS: dict[str, tuple[dict[str, Any], dict[str, list[int]], str]] = {
    "autoencoder": (
        {"x": ["batch", 64]},
        {"w": [64, 16], "v": [8, 64]},
        """mu, spread = chunk(x @ w, chunks=2, axis=1)
        z = mu + exp(spread / 2) * random_normal(shape=[24, 8])
        loss = bce_with_logits_loss(z @ v, sigmoid(x)) - mean(1 + spread - mu ** 2 - exp(spread))
        """,
    ),
    "segmentation": (
        {"x": ["batch", 3, 16, 16], "y": {"shape": ["batch", 16, 16], "dtype": "int64"}},
        {"w": [8, 3, 3, 3], "v": [5, 19, 3, 3]},
        """a = relu(conv2d(x, w, padding=1))
        b = max_pool2d(a, kernel=2)
        c = interpolate(b, scale=2, mode='bilinear')
        d = interpolate(b, size=[16, 16], mode='nearest')
        loss = cross_entropy(conv2d(concat(c, d, x, axis=1), v, padding=1), y)
        """,
    ),
    "mixture density": (
        {"x": ["batch", 4], "y": ["batch", 1]},
        {"w": [4, 5], "v": [4, 5], "u": [4, 5]},
        """s = softplus(x @ u) + 0.01
        loss = -mean(logsumexp(log_softmax(x @ w, axis=1) - 0.5 * ((y - x @ v) / s) ** 2 - log(s), axis=1))
        """,
    ),
    "contrastive": (
        {"x": ["batch", 8], "z": ["batch", 8]},
        {"w": [8, 4]},
        """s = normalize(x @ w, axis=1) @ normalize(z @ w, axis=1).T
        loss = mean(logsumexp(s, axis=0)) + cross_entropy(s.T, arange(stop=24)) - mean(diagonal(s))
        """,
    ),
    "gaussian process": (
        {"x": ["batch", 4], "y": ["batch", 1]},
        {"scale": [4], "noise": []},
        """k = exp(-0.5 * cdist(x / exp(scale), x / exp(scale)) ** 2) + exp(noise) * eye(rows=24)
        l = cholesky(k)
        loss = sum(solve_triangular(l, y, upper=false) ** 2) + sum(log(diagonal(l)))
        """,
    ),
    "tabular": (
        {"x": ["batch", 5], "c": {"shape": ["batch", 3], "dtype": "int64"}, "y": ["batch", 1]},
        {"t": [20, 4], "u": [30, 4], "w": [13, 1]},
        """loss = huber_loss(concat(embedding(t, c[:, 0]), embedding(u, c[:, 1]), x, axis=1) @ w, y)
        """,
    ),
    "codebook": (
        {"x": ["batch", 8]},
        {"w": [8, 4], "codes": [16, 4], "v": [4, 8]},
        """h = x @ w
        q = embedding(codes, argmin(sum(h ** 2, axis=1, keepdims=true) - 2 * h @ codes.T, axis=1))
        loss = mse_loss((h + stop_gradient(q - h)) @ v, x) + mse_loss(q, stop_gradient(h))
        """,
    ),
    "physics": (
        {"x": ["batch", 2], "y": ["batch", 1]},
        {"w": [2, 16], "v": [16, 1]},
        """u = (sin(x @ w) + cos(x @ w)) @ v
        loss = mean(abs(u - y) ** 1.5) + mean(erf(u) + cumsum(u, axis=0))
        """,
    ),
    "padding mask": (
        {"i": {"shape": ["batch", 12], "dtype": "int64"}, "y": {"shape": ["batch"], "dtype": "int64"}},
        {"t": [50, 16], "w": [16, 16], "v": [16, 3]},
        """e = embedding(t, i)
        seen = i != 0
        h = scaled_dot_product_attention(e @ w, e, e, unsqueeze(seen, axis=1))
        m = unsqueeze(cast(seen, dtype='float32'), axis=2)
        loss = cross_entropy((sum(h * m, axis=1) / clamp(sum(m, axis=1), min=1)) @ v, y)
        """,
    ),
    "graph of neighbours": (
        {"x": ["batch", 8], "near": {"shape": ["batch"], "dtype": "int64"}, "y": ["batch", 4]},
        {"w": [8, 4]},
        """h = relu(x @ w)
        loss = mse_loss(index_add(zeros(shape=[24, 4]), near, index_select(h, near)) + h, y)
        """,
    ),
}
"""Inputs, parameters and program of ordinary models."""


def layer_document(kind: str, **changed: Any) -> dict[str, Any]:
    """Return a graph of one layer whose input depends on a parameter, and whose loss is the mean of its square."""
    samples: dict[str, Any] = SAMPLES
    options, spec = samples.get(kind, ({}, ["batch", 4]))
    inputs = {"x": spec, **OTHERS.get(kind, {})}
    layers: list[Any] = [{"layer": kind, **options, **changed}]
    document = engine.parse_graph({"inputs": inputs, "layers": layers}).to_json()
    if isinstance(spec, list):
        document["inputs"]["given"] = document["inputs"].pop("x")
        document["parameters"]["scale"] = {"shape": [], "init": {"kind": "ones"}}
        document["nodes"].insert(0, {"name": "x", "op": "mul", "inputs": ["given", "scale"]})
    (result,) = document["outputs"]
    document["nodes"] += [
        {"name": "squared", "op": "square", "inputs": [result]},
        {"name": "loss", "op": "mean", "inputs": ["squared"]},
    ]
    return {**document, "outputs": [result], "losses": ["loss"]}


def numpy_ops(
    document: dict[str, Any],
    batch: int = BATCH,
    optimizer: Mapping[str, Any] = MappingProxyType({"kind": "adam"}),
    precision: Precision = "float32",
) -> set[str]:
    """Return the ops of a training step that the native executor leaves to NumPy."""
    definition = at_precision(engine.parse_graph(document), precision)
    dims, groups = dims_at(definition, batch), one_group(make_transform(optimizer))
    model = StateLayout(definition, trained_parameters(definition, dims), groups)
    recipe = Recipe(optimizer=groups, precision=precision, record=Record(gradient_norms=False))
    return set(numpy_steps(plan_training(model, dims, recipe)))


def choices(declared: Any) -> Iterator[dict[str, Any]]:
    """Yield each value that an option of a layer or an optimizer may have other than its default, if they are few."""
    hints = get_type_hints(declared.__init__ if isinstance(declared, type) else declared)
    for name, parameter in signature(declared).parameters.items():
        hint = hints.get(name)
        values = get_args(hint) if get_origin(hint) is Literal else (False, True) if hint is bool else ()
        yield from ({name: value} for value in values if value != parameter.default)


def sample_documents(name: str) -> list[dict[str, Any]]:
    """Return graphs of the samples of an op, whose first operand depends on a parameter."""
    documents = []
    for number, each in enumerate(OPS[name].samples):
        arrays = each.arrays(str(number))
        if arrays[0].dtype.kind != "f":
            continue
        inputs = {
            f"x{place}": {
                "shape": list(array.shape),
                "dtype": "float32" if array.dtype.kind == "f" else str(array.dtype),
            }
            for place, array in enumerate(arrays)
        }
        nodes: list[dict[str, Any]] = [
            {"name": "first", "op": "mul", "inputs": ["x0", "scale"]},
            {"name": "made", "op": name, "inputs": ["first", *list(inputs)[1:]], "attrs": each.attrs},
            {"name": "loss", "op": "mean", "inputs": ["made"]},
        ]
        parameters = {"scale": {"shape": [], "init": {"kind": "ones"}}}
        documents.append({"inputs": inputs, "parameters": parameters, "nodes": nodes, "losses": ["loss"]})
    return documents


def remaining() -> set[str]:
    """Return the ops that are left to NumPy in any of all those graphs."""
    documents = [layer_document(kind) for kind in LAYERS]
    documents += [document for name in loss_declarations() for document in sample_documents(name)]
    found = set().union(*map(numpy_ops, documents))
    for inputs, parameters, program in MODELS.values():
        found |= numpy_ops({"inputs": inputs, "parameters": parameters, "program": dedent(program)}, batch=24)
    kinds = set(OPTIMIZERS) - set(CLOSURE_OPTIMIZERS)
    return found.union(*(numpy_ops(LINEAR, optimizer={"kind": kind}) for kind in kinds))


LINEAR = {"inputs": {"x": ["batch", 4]}, "parameters": {"w": [4, 3]}, "program": "loss = mean((x @ w) ** 2)"}


def variants() -> list[tuple[str, Callable[[Precision], set[str]]]]:
    """Return every layer and optimizer as it is, and with each value of an option that has few, by a name."""

    def layer(kind: str, options: dict[str, Any]) -> Callable[[Precision], set[str]]:
        return lambda precision: numpy_ops(layer_document(kind, **options), precision=precision)

    def optimizer(kind: str, options: dict[str, Any]) -> Callable[[Precision], set[str]]:
        return lambda precision: numpy_ops(LINEAR, optimizer={"kind": kind, **options}, precision=precision)

    found = [(f"{k} {o}", layer(k, o)) for k, declared in LAYERS.items() for o in ({}, *choices(declared))]
    kinds = {kind: declared for kind, declared in OPTIMIZERS.items() if kind not in CLOSURE_OPTIMIZERS}
    return found + [(f"{k} {o}", optimizer(k, o)) for k, declared in kinds.items() for o in ({}, *choices(declared))]


PRECISIONS: list[Precision] = ["float64", "mixed_bfloat16", "float32"]


def test_what_remains_numpys_stands_in_the_list_with_its_reason() -> None:
    assert remaining() == set(IN_NUMPY)


def test_other_types_and_options_leave_no_more_to_numpy() -> None:
    rows = [
        (name, found, precision)
        for place, (name, found) in enumerate(variants())
        for number, precision in enumerate(PRECISIONS)
        if FULL or (place % STRIDE == 0 and place // STRIDE % len(PRECISIONS) == number)
    ]
    left: dict[str, set[str]] = {}
    for name, found, precision in rows:
        with suppress(engine.DocumentError, AttributeValueError):  # of options that do not fit the others
            extra = found(precision) - set(IN_NUMPY)
            if extra:
                left[f"{name} in {precision}"] = extra
    assert not left.keys() - OF_OPTIONS.keys(), left
