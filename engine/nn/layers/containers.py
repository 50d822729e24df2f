"""Layers composed of layers: sequential, residual and parallel."""

from __future__ import annotations

from typing import Any, Literal

from engine.core.attributes import Window, attributes_of, bind
from engine.core.errors import AttributeValueError, DocumentError, EngineError, ShapeError
from engine.core.options import NAME, NAME_RULE, Reader
from engine.core.value import Value
from engine.nn.layers.convolution import per_axis
from engine.nn.layers.dense import linear
from engine.nn.layers.table import Inner, Scope, find_layer, layer

Layers = tuple[str | dict[str, Any], ...]
"""Kinds, or objects with layer, optionally a name, and options."""

DEEPEST = 8
"""Maximum nesting depth of layers."""


def _read_entries(layers: Layers) -> list[tuple[str, str, dict[str, Any]]]:
    """Return name, kind and options of each; the default name is its index, from 0, as in torch.nn.Sequential."""
    if not layers:
        raise AttributeValueError("layers must hold at least one layer")
    named = []
    for place, entry in enumerate(layers):
        options = {"layer": entry} if isinstance(entry, str) else dict(entry)
        kind, name = options.pop("layer", None), options.pop("name", "")
        if not isinstance(kind, str) or not isinstance(name, str):
            raise AttributeValueError("each of layers must be a kind, or an object with layer and perhaps a name")
        named.append((name or str(place), kind, options))
    names = [name for name, _, _ in named]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise AttributeValueError(f"the name {twice[:64]!r} is already taken; give this layer another")
    return named


def _build(scope: Scope, x: Value, entry: tuple[str, str, dict[str, Any]]) -> Value:
    name, kind, options = entry
    build = find_layer(kind)
    attrs = bind(kind, {a.name: a for a in attributes_of(build)}, options)
    try:
        return build(Inner(scope, name), x, **attrs)
    except EngineError as error:
        if not isinstance(error, DocumentError):  # the findings of which have pointers
            error.args = (f"{name} ({kind}): {error}", *error.args[1:])
        raise


def _through(scope: Scope, x: Value, layers: Layers) -> Value:
    for entry in _read_entries(layers):
        x = _build(scope, x, entry)
    return x


@layer
def sequential(scope: Scope, x: Value, *, layers: Layers) -> Value:
    """A sequence of layers as one layer; each is a kind, or an object with layer, optionally a name, and options.

    Parameters are named by the indices of the layers, as in torch.nn.Sequential, or by their names:
    sequential_0.0.weight, block.last.bias.
    """
    return _through(scope, x, layers)


@layer
def parallel(
    scope: Scope,
    x: Value,
    *,
    layers: Layers,
    join: Literal["concat", "sum", "mean", "product"] = "concat",
    axis: int = -1,
) -> Value:
    """The outputs of several layers of x, concatenated on `axis` or combined elementwise.

    The layers are given and named as in sequential; one of them can be a sequential.
    """
    branches = [_build(scope, x, entry) for entry in _read_entries(layers)]
    if join == "concat":
        return scope.apply("concat", *branches, axis=axis)
    if any(branch.shape != branches[0].shape for branch in branches):
        shapes = ", ".join(str(list(branch.shape)) for branch in branches)
        raise ShapeError(f"parallel: join {join!r} needs branches of one shape, got {shapes}; join 'concat' may not")
    y = branches[0]
    for number, branch in enumerate(branches[1:], 2):
        name = "" if number == len(branches) and join != "mean" else f"join{number}"
        y = scope.apply("mul" if join == "product" else "add", y, branch, name=name)
    return scope.apply("scale", y, factor=1 / len(branches)) if join == "mean" else y


@layer
def residual(
    scope: Scope,
    x: Value,
    *,
    layers: Layers,
    projection: Literal["none", "linear", "convolution"] = "none",
    stride: Window = 1,
    bias: bool = True,
) -> Value:
    """The output of a list of layers with x added (He et al. 2016); the layers as in sequential.

    If they change the shape, x is projected: by a linear map of the last axis, or by a convolution of kernel 1 and
    `stride`; `bias` is that of the projection, whose parameters are projection.weight and projection.bias.
    """
    y = _through(scope, x, layers)
    inner = Inner(scope, "projection")
    if projection == "linear":
        x = linear(inner, x, units=y.shape[-1] if y.ndim else 1, bias=bias)
    elif projection == "convolution":
        rank = x.ndim - 2
        if rank not in (1, 2, 3) or y.ndim != x.ndim:
            raise ShapeError(
                "residual: a convolution projects [batch, channels, 1 to 3 more], got "
                f"{list(x.shape)} and {list(y.shape)}"
            )
        strides = per_axis("residual.stride", stride, rank)
        x = find_layer(f"conv{rank}d")(inner, x, channels=y.shape[1], kernel=1, stride=strides, bias=bias)
    if x.shape != y.shape:
        raise ShapeError(
            f"residual: the layers give {list(y.shape)} and {list(x.shape)} is added; "
            "set projection to linear or convolution, or its stride, so that both are alike"
        )
    return scope.apply("add", y, x)


def read_layer(entry: Any, pointer: str, reader: Reader, depth: int = 0) -> tuple[str, str, dict[str, Any]]:
    """Return kind, name ("" when it has none) and checked attributes of a layer; faults go to the reader."""
    if depth > DEEPEST:
        reader.fault(pointer, "limit_exceeded", f"layers within layers go {DEEPEST} deep at most")
        return "", "", {}
    before, kind = len(reader.findings), ""
    entry = {"layer": entry} if isinstance(entry, str) else reader.mapping(entry, pointer)
    if "layer" in entry:
        kind = reader.typed(entry["layer"], str, f"{pointer}/layer", "layer", "")
    elif len(reader.findings) == before:
        reader.fault(pointer, "missing_field", "the field 'layer' is required: the kind of the layer")
    name = reader.typed(entry.get("name", ""), str, f"{pointer}/name", "name", "")
    if name and not NAME.match(
        f"_.{name}" if depth else name
    ):  # inner names are appended to that of the enclosing layer
        reader.fault(f"{pointer}/name", "name_invalid", NAME_RULE)
    attrs: dict[str, Any] = {}
    nested: list[str] = []
    if kind:
        try:
            attributes = {a.name: a for a in attributes_of(find_layer(kind))}
            given = {key: value for key, value in entry.items() if key not in ("layer", "name")}
            attrs = bind(kind, attributes, given)
            nested = [name for name, attribute in attributes.items() if attribute.type == Layers]
        except EngineError as error:
            reader.error(f"{pointer}/layer" if error.code == "unknown_name" else pointer, error)
    for within in nested:
        for index, inner in enumerate(attrs[within]):
            read_layer(inner, f"{pointer}/{within}/{index}", reader, depth + 1)
    return kind, name, attrs
