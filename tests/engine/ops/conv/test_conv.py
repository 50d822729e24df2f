"""Convolutions against sums written out position by position, their adjoints, and errors that name the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DTypeError, EngineError, ShapeError
from engine.core.value import Array, Value, tensor
from engine.ops import OPS
from engine.ops.conv import columns
from tests.support.rows import each_row

Shape = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


def written_out(x: Array, weight: Array, stride: Shape, padding: Pairs, dilation: Shape, groups: int) -> Array:
    """Cross-correlation by its definition, in float64."""
    rank = len(stride)
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *padding])
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:], strict=True)]
    extents = [(e - span) // s + 1 for e, span, s in zip(padded.shape[2:], spans, stride, strict=True)]
    result = np.zeros((len(x), len(weight), *extents))
    inputs, outputs = weight.shape[1], len(weight) // groups
    for place in np.ndindex(*extents):
        window = tuple(
            slice(p * s, p * s + span, d) for p, s, span, d in zip(place, stride, spans, dilation, strict=True)
        )
        for channel in range(len(weight)):
            first = channel // outputs * inputs
            part = padded[(slice(None), slice(first, first + inputs), *window)]
            result[(slice(None), channel, *place)] = (part * weight[channel]).sum(axis=tuple(range(1, rank + 2)))
    return result


# input, weight, stride, padding, dilation, groups
GEOMETRIES: list[tuple[Shape, Shape, Shape, Pairs, Shape, int]] = [
    ((2, 3, 7), (4, 3, 3), (1,), ((0, 0),), (1,), 1),
    ((2, 4, 9), (6, 2, 2), (3,), ((2, 0),), (2,), 2),
    ((2, 1, 5, 6), (3, 1, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    ((2, 4, 5, 6), (8, 1, 3, 2), (2, 1), ((1, 0), (0, 2)), (1, 2), 4),
    ((3, 4, 4, 4), (5, 4, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    ((3, 4, 5, 5), (5, 4, 1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), 1),
    ((2, 1, 4, 4), (9, 1, 2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1), 1),
    ((1, 2, 3, 3), (2, 2, 3, 3), (1, 1), ((3, 3), (4, 0)), (1, 1), 1),
    ((1, 2, 4, 3, 5), (4, 1, 2, 2, 3), (2, 1, 1), ((1, 1), (0, 0), (0, 1)), (1, 2, 1), 2),
    ((0, 2, 5), (3, 2, 2), (1,), ((0, 0),), (1,), 1),
]
every_geometry = pytest.mark.parametrize(("x_shape", "w_shape", "stride", "padding", "dilation", "groups"), GEOMETRIES)


def _draw(*shapes: Shape, dtype: str = "float64") -> list[Array]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype(dtype) for shape in shapes]


@every_geometry
def test_a_convolution_is_its_definition(
    x_shape: Shape, w_shape: Shape, stride: Shape, padding: Pairs, dilation: Shape, groups: int
) -> None:
    x, weight = _draw(x_shape, w_shape)
    y = OPS["convolution"](x, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)
    np.testing.assert_allclose(y.numpy(), written_out(x, weight, stride, padding, dilation, groups), atol=1e-12)


@every_geometry
@pytest.mark.parametrize("limit", [1, columns.COLUMN_BYTES])
def test_the_three_primitives_are_adjoint_in_blocks_of_any_size(
    x_shape: Shape,
    w_shape: Shape,
    stride: Shape,
    padding: Pairs,
    dilation: Shape,
    groups: int,
    limit: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columns, "COLUMN_BYTES", limit)
    monkeypatch.setattr(columns, "IMAGE_BYTES", limit)
    window: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    x, weight = _draw(x_shape, w_shape)
    y = OPS["convolution"](x, weight, **window)
    (g,) = _draw(y.shape)
    gx = OPS["convolution_input"](g, weight, shape=x_shape, **window)
    gw = OPS["convolution_weight"](x, g, kernel=w_shape[2:], **window)
    inner = (y.numpy() * g).sum()
    assert (gx.shape, gw.shape) == (x_shape, w_shape)
    assert (gx.numpy() * x).sum() == pytest.approx(inner)
    assert (gw.numpy() * weight).sum() == pytest.approx(inner)


def test_float32_stays_close_to_float64() -> None:
    x, weight = _draw((8, 16, 14, 14), (32, 16, 3, 3))
    exact = OPS["conv2d"](x, weight, padding=1).numpy()
    rough = OPS["conv2d"](x.astype("float32"), weight.astype("float32"), padding=1)
    assert rough.dtype == "float32"
    np.testing.assert_allclose(rough.numpy(), exact, atol=1e-4)


def test_float16_accumulates_in_float32() -> None:
    x, weight = np.ones((1, 4096, 2), np.float16), np.ones((1, 4096, 2), np.float16)
    y = OPS["conv1d"](x, weight)
    assert y.dtype == y.numpy().dtype == "float16"
    assert y.item() == 8192


# Values of PyTorch 2.13 for x = 0, 1, 2, ... and weight = 1, 2, 3, ...
KNOWN: list[tuple[str, Shape, Shape, dict[str, Any], Any]] = [
    ("conv1d", (1, 1, 4), (1, 1, 2), {}, [[[2, 5, 8]]]),
    ("conv1d", (1, 1, 4), (1, 1, 3), {"padding": "same"}, [[[3, 8, 14, 8]]]),
    ("conv1d", (1, 1, 4), (1, 1, 2), {"padding": "same"}, [[[2, 5, 8, 3]]]),
    ("conv1d", (1, 4), (1, 1, 2), {"stride": 2}, [[2, 8]]),
    ("conv2d", (1, 1, 3, 3), (1, 1, 2, 2), {"padding": "valid"}, [[[[27, 37], [57, 67]]]]),
    ("conv2d", (1, 2, 2, 2), (2, 1, 1, 1), {"groups": 2}, [[[[0, 1], [2, 3]], [[8, 10], [12, 14]]]]),
    ("conv_transpose1d", (1, 1, 3), (1, 1, 2), {}, [[[0, 1, 4, 4]]]),
    ("conv_transpose1d", (1, 1, 3), (1, 1, 2), {"stride": 2, "output_padding": 1}, [[[0, 0, 1, 2, 2, 4, 0]]]),
    ("conv_transpose1d", (1, 1, 3), (1, 1, 3), {"stride": 2, "padding": 1}, [[[0, 1, 2, 5, 4]]]),
    ("conv_transpose2d", (1, 2, 2), (1, 1, 1, 2), {"stride": (1, 2)}, [[[0, 0, 1, 2], [2, 4, 3, 6]]]),
]


@each_row(("name", "x_shape", "w_shape", "attrs", "wanted"), KNOWN)
def test_known_answers(name: str, x_shape: Shape, w_shape: Shape, attrs: dict[str, Any], wanted: Any) -> None:
    x = np.arange(np.prod(x_shape), dtype=float).reshape(x_shape)
    weight = np.arange(1, np.prod(w_shape) + 1, dtype=float).reshape(w_shape)
    assert OPS[name](x, weight, **attrs).numpy().tolist() == wanted


def test_a_bias_is_added_to_its_channel() -> None:
    y = OPS["conv2d"](np.zeros((2, 1, 3, 3)), np.ones((2, 1, 2, 2)), np.array([1.0, 2.0]))
    assert y.shape == (2, 2, 2, 2)
    assert y.numpy()[:, 0].tolist() == np.ones((2, 2, 2)).tolist()
    assert y.numpy()[:, 1].tolist() == np.full((2, 2, 2), 2.0).tolist()


def test_a_transposed_convolution_undoes_the_shape_of_a_convolution() -> None:
    (x,) = _draw((2, 3, 8, 9))
    window = {"stride": (2, 3), "padding": (1, 0), "dilation": (1, 2)}
    y = OPS["conv2d"](x, np.ones((5, 3, 3, 2)), **window)
    back = OPS["conv_transpose2d"](y, np.ones((5, 3, 3, 2)), output_padding=(1, 0), **window)
    assert back.shape == x.shape


def test_shapes_are_inferred_without_data() -> None:
    x = Value((8, 3, 32, 32), np.dtype("float32"), None)
    weight = tensor(np.zeros((6, 3, 5, 5), np.float32))
    y = OPS["conv2d"](x, weight, stride=2, padding=2)
    assert y.spec == ((8, 6, 16, 16), np.dtype("float32"))
    assert y.data is None


REFUSED: list[tuple[str, list[Shape], dict[str, Any], type[EngineError], str]] = [
    ("conv2d", [(1, 1, 4), (1, 1, 2)], {}, ShapeError, r"2 spatial axes .* got \[1, 1, 4\] and \[1, 1, 2\]"),
    ("conv2d", [(1, 2, 4, 4), (1, 3, 2, 2)], {}, ShapeError, "takes 3 channels a group, the input .* has 2"),
    ("conv2d", [(1, 3, 4, 4), (2, 1, 2, 2)], {"groups": 2}, ShapeError, "groups 2 must divide the 3 input and"),
    ("conv2d", [(1, 2, 4, 4), (2, 1, 2, 2)], {"groups": 0}, ShapeError, "groups 0 must divide"),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 5, 2)], {}, ShapeError, r"kernel \[5, 2\] .* more than .* \[4, 4\]"),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 3, 2)], {"dilation": 2}, ShapeError, r"spans \[5, 3\], more than"),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 0, 2)], {}, ShapeError, "kernel must be at least 1"),
    ("conv2d", [(1, 0, 4, 4), (1, 0, 2, 2)], {}, ShapeError, "at least one channel on both sides"),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 2, 2), (2,)], {}, ShapeError, r"bias has shape \[2\], the output 1 channels"),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 2, 2)], {"stride": 0}, AttributeValueError, "stride must be .*at least 1"),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 2, 2)], {"stride": (1, 2, 3)}, AttributeValueError, r"got \[1, 2, 3\]"),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 2, 2)], {"padding": -1}, AttributeValueError, "padding must be .* at least 0"),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 2, 2)], {"padding": "full"}, AttributeValueError, "'valid', not 'full'"),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 2, 2)], {"padding": "same", "stride": 2}, AttributeValueError, "needs stride 1"),
    ("conv_transpose2d", [(1, 3, 2, 2), (2, 1, 2, 2)], {}, ShapeError, r"has 3 channels, the weight \[2, 1, 2, 2\]"),
    ("conv_transpose1d", [(1, 1, 2), (1, 1, 2)], {"output_padding": 1}, AttributeValueError, "must be smaller than"),
    ("conv_transpose1d", [(1, 1, 1), (1, 1, 2)], {"padding": 1}, ShapeError, r"an output of extents \[0\]"),
]


@each_row(("name", "shapes", "attrs", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused(
    name: str, shapes: list[Shape], attrs: dict[str, Any], error: type[EngineError], message: str
) -> None:
    with pytest.raises(error, match=message):
        OPS[name](*[np.ones(shape) for shape in shapes], **attrs)


def test_integers_are_refused() -> None:
    with pytest.raises(DTypeError, match="convolution needs floating inputs, got int64"):
        OPS["conv1d"](np.ones((1, 1, 3), int), np.ones((1, 1, 2), int))


def test_a_cotangent_of_another_shape_is_refused() -> None:
    window = {"stride": (1,), "padding": ((0, 0),), "dilation": (1,)}
    with pytest.raises(ShapeError, match=r"g has shape \[1, 1, 3\], a convolution of these shapes gives \[1, 1, 2\]"):
        OPS["convolution_input"](np.ones((1, 1, 3)), np.ones((1, 1, 2)), shape=(1, 1, 3), **window)
    with pytest.raises(ShapeError, match=r"g has shape \[1, 1, 3\], a convolution of these shapes gives \[1, 1, 2\]"):
        OPS["convolution_weight"](np.ones((1, 1, 3)), np.ones((1, 1, 3)), kernel=(2,), **window)
