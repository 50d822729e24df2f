"""Layers without parameters that move, join, pad and resample elements."""

from __future__ import annotations

from engine.core.attributes import Window
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.value import Value
from engine.nn.layers.table import Layer, Scope, layer, layer_of_op


@layer
def flatten(scope: Scope, x: Value, *, start: int = 1, end: int = -1) -> Value:
    """Join the axes from `start` to `end` into one."""
    return scope.apply("flatten", x, start=start, end=end)


@layer
def unflatten(scope: Scope, x: Value, *, axis: int, sizes: tuple[int, ...]) -> Value:
    """Split the axis `axis` into axes of the extents `sizes`, one of which may be -1; see torch.nn.Unflatten."""
    place = axis + x.ndim if axis < 0 else axis
    if not 0 < place < x.ndim:
        raise ShapeError(f"unflatten: axis {axis} must be one of {list(x.shape)} after the first")
    return scope.apply("reshape", x, shape=(-1, *_split_extent(x, place, sizes)))


def _split_extent(x: Value, place: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    known = 1
    for size in sizes:
        known *= 1 if size == -1 else size
    open_ = sizes.count(-1)
    if open_ > 1 or known < 1 or (x.shape[place] % known if open_ else x.shape[place] != known):
        raise ShapeError(
            f"unflatten: the extents {list(sizes)} do not multiply to that of axis {place} of {list(x.shape)}"
        )
    found = (x.shape[place] // known if size == -1 else size for size in sizes)
    return (*x.shape[1:place], *found, *x.shape[place + 1 :])


@layer
def squeeze(scope: Scope, x: Value, *, axis: int = -1) -> Value:
    """Drop the axis `axis`, whose extent is 1, such as the last one of predictions [rows, 1]."""
    place = axis + x.ndim if axis < 0 else axis
    if not 0 < place < x.ndim or x.shape[place] != 1:
        raise ShapeError(f"squeeze: axis {axis} must be one of {list(x.shape)} after the first, of extent 1")
    return scope.apply("squeeze", x, axis=axis)


@layer
def reshape(scope: Scope, x: Value, *, shape: tuple[int, ...]) -> Value:
    """Reshape each row (everything but the first axis)."""
    return scope.apply("reshape", x, shape=(-1, *shape))


@layer
def permute(scope: Scope, x: Value, *, axes: tuple[int, ...]) -> Value:
    """Permute the axes: axis k of the result is axis axes[k] of x; the first axis, that of rows, is fixed."""
    if not axes or axes[0] != 0:
        raise AttributeValueError(f"permute: axes {list(axes)} must begin with 0, so that rows stay rows")
    return scope.apply("permute", x, axes=axes)


layer_of_op("pixel_shuffle")
layer_of_op("pixel_unshuffle")
layer_of_op("channel_shuffle")
layer_of_op("interpolate", kind="upsample")


def _padding(rank: int, name: str, mode: str) -> Layer:
    kind = f"{name}_pad{rank}d"

    def pairs(x: Value, padding: Window) -> tuple[tuple[int, int], ...]:
        if x.ndim != rank + 2:
            raise ShapeError(f"{kind} needs an input [batch, channels, {rank} more], got shape {list(x.shape)}")
        widths = (padding,) * (2 * rank) if isinstance(padding, int) else padding
        if len(widths) != 2 * rank:
            raise AttributeValueError(f"{kind}.padding {list(widths)} must be one number, or {2 * rank}: two an axis")
        around = tuple((widths[2 * k], widths[2 * k + 1]) for k in reversed(range(rank)))
        return ((0, 0), (0, 0), *around)

    def constant(scope: Scope, x: Value, *, padding: Window, value: float) -> Value:
        return scope.apply("pad", x, widths=pairs(x, padding), value=value)

    def own(scope: Scope, x: Value, *, padding: Window) -> Value:
        return scope.apply("pad", x, widths=pairs(x, padding), mode=mode)

    build: Layer = constant if name == "constant" else own
    what = {
        "constant": "`value`",
        "zero": "0",
        "reflection": "its own elements mirrored at the outermost",
        "replication": "copies of the outermost element",
        "circular": "its own elements from the other end",
    }[name]
    build.__name__ = kind
    build.__doc__ = (
        f"Surround the {rank} spatial {'axis' if rank == 1 else 'axes'} of [batch, channels, ...] with {what}.\n\n"
        "`padding` is one width for all sides, or two for each axis, the last axis first, as in "
        f"torch.nn.{name.capitalize()}Pad{rank}d."
    )
    return layer(build)


for _name, _mode in (
    ("constant", "constant"),
    ("zero", "constant"),
    ("reflection", "reflect"),
    ("replication", "replicate"),
    ("circular", "circular"),
):
    for _rank in (1, 2, 3):
        _padding(_rank, _name, _mode)
