"""Initialisers of parameters and buffers: a table, with the semantics of torch.nn.init.

Every draw comes from a Philox stream keyed by the seed and the name of the parameter, so that it is independent of
other draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal
from zlib import crc32

import numpy as np

from engine.core.attributes import (
    Attribute,
    Count,
    Length,
    NonNegative,
    Positive,
    Range,
    Share,
    attributes_of,
    bind,
)
from engine.core.dtypes import DType
from engine.core.errors import AttributeValueError, UnknownName, accepted_names
from engine.core.value import Array, Shape

Fan = Literal["fan_in", "fan_out"]
Fans = Annotated[int | None, Range(0)]
"""The number of elements that each result takes or enters; null is that of the shape."""
Nonlinearity = Literal["linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]
Draw = Callable[..., Array]

FAN_KINDS = ("xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal")
"""Initializers whose scale depends on the fan-in or the fan-out."""

RAREST = 1e-3
"""Minimum probability of a range for which rejection sampling is fast enough."""

TEMPORARIES: Mapping[str, int] = {
    "orthogonal": 6, "sinusoidal": 5, "sparse": 4, "truncated_normal": 4,
    "normal": 2, "xavier_normal": 2, "kaiming_normal": 2,
}  # fmt: skip
"""Maximum number of float64 arrays of the size of the result that an initialiser allocates at a time; default 1."""

DRAW_OPERATIONS = 20
"""Cost of drawing a random number, in arithmetic operations."""

INITIALIZERS: dict[str, Draw] = {}
"""Every initialiser by its kind."""


def initializer(draw: Draw) -> Draw:
    """Register an initialiser under its function's name."""
    INITIALIZERS[draw.__name__] = draw
    return draw


def initialize(kind: Mapping[str, Any], name: str, shape: Shape, dtype: DType, seed: int) -> Array:
    """Return the initial value of the parameter `name`; `kind` is {"kind": ..., options}."""
    draw, options = resolve(kind)
    key = np.array([seed % 2**64, crc32(name.encode())], np.uint64)
    generator = np.random.Generator(np.random.Philox(key=key))
    with np.errstate(all="ignore"):
        return np.asarray(draw(generator, shape, **options)).astype(dtype)


def initial_cost(kind: Mapping[str, Any], shape: Shape) -> tuple[int, int]:
    """Return the maximum bytes that `initialize` allocates beside its result, and the approximate operations."""
    size = math.prod(shape)
    taken = 8 * size * TEMPORARIES.get(str(kind.get("kind")), 1)
    factored = min(shape[0], math.prod(shape[1:])) if shape and kind.get("kind") == "orthogonal" else 0
    return taken, size * (DRAW_OPERATIONS + 4 * factored)


def resolve(kind: Mapping[str, Any]) -> tuple[Draw, dict[str, Any]]:
    """Look up {"kind": ..., options} and check the options."""
    name = kind.get("kind")
    if not isinstance(name, str) or name not in INITIALIZERS:
        shown = str(name)[:64]
        raise UnknownName(
            f"there is no initializer called {shown!r}{accepted_names(shown, INITIALIZERS, 'GET /v1/initializers')}"
        )
    given = {key: value for key, value in kind.items() if key != "kind"}
    return INITIALIZERS[name], bind(name, options_of(name), given)


def options_of(name: str) -> dict[str, Attribute]:
    """Return the options of the initialiser `name`."""
    return _options(INITIALIZERS[name])


@cache
def _options(draw: Draw) -> dict[str, Attribute]:
    return {attribute.name: attribute for attribute in attributes_of(draw)}


def default_kind(shape: Shape) -> dict[str, Any]:
    """Return the default initialiser of a parameter: Kaiming-uniform for matrices, zeros for others.

    In nodes and programs its fan-in is that of the product which the parameter enters, see `engine.graph.fans`.
    """
    return {"kind": "kaiming_uniform"} if len(shape) >= 2 else {"kind": "zeros"}


def fans(shape: Shape) -> tuple[int, int]:
    """Return (fan in, fan out) of a weight of shape [out, in, window...]."""
    if len(shape) < 2:
        raise AttributeValueError(f"this initializer needs a shape with at least two axes, got {list(shape)}")
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _fans(shape: Shape, fan_in: int | None, fan_out: int | None) -> tuple[int, int]:
    """Return the given fans, and for others those of a weight of shape [out, in, window...]."""
    if fan_in is not None and fan_out is not None:
        return max(fan_in, 1), max(fan_out, 1)
    found = fans(shape)
    return (found[0] if fan_in is None else max(fan_in, 1)), (found[1] if fan_out is None else max(fan_out, 1))


def gain(nonlinearity: Nonlinearity, a: float) -> float:
    """Return the recommended scale before a nonlinearity (He et al. 2015; values as torch.nn.init.calculate_gain)."""
    scales = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}
    return math.sqrt(2 / (1 + a * a)) if nonlinearity == "leaky_relu" else scales[nonlinearity]


@initializer
def zeros(generator: np.random.Generator, shape: Shape) -> Array:
    """All 0."""
    return np.zeros(shape)


@initializer
def ones(generator: np.random.Generator, shape: Shape) -> Array:
    """All 1."""
    return np.ones(shape)


@initializer
def constant(generator: np.random.Generator, shape: Shape, *, value: float) -> Array:
    """All `value`."""
    return np.full(shape, value)


@initializer
def uniform(generator: np.random.Generator, shape: Shape, *, low: float = 0.0, high: float = 1.0) -> Array:
    """Uniform between `low` and `high`."""
    if not 0 <= high - low < math.inf:
        raise AttributeValueError(f"uniform needs low <= high, both finite, got {low} and {high}")
    return generator.uniform(low, high, shape)


@initializer
def normal(generator: np.random.Generator, shape: Shape, *, mean: float = 0.0, std: NonNegative = 1.0) -> Array:
    """Normal with `mean` and standard deviation `std`."""
    return generator.standard_normal(shape) * std + mean


def _mass(mean: float, std: NonNegative, low: float, high: float) -> float:
    """Return the probability that a normal number lies between `low` and `high`."""
    return (math.erf((high - mean) / std / math.sqrt(2)) - math.erf((low - mean) / std / math.sqrt(2))) / 2


@initializer
def truncated_normal(
    generator: np.random.Generator,
    shape: Shape,
    *,
    mean: float = 0.0,
    std: NonNegative = 1.0,
    low: float = -2.0,
    high: float = 2.0,
) -> Array:
    """Normal, restricted to `low`..`high` by rejection sampling."""
    if not low < high:
        raise AttributeValueError(f"truncated_normal needs low < high, got {low} and {high}")
    if not std > 0 or _mass(mean, std, low, high) < RAREST:
        raise AttributeValueError(
            f"truncated_normal: normal numbers of mean {mean} and deviation {std} hardly ever lie in {low}..{high}"
        )
    draw = generator.standard_normal(shape) * std + mean
    outside = (draw < low) | (draw > high)
    while outside.any():
        draw[outside] = generator.standard_normal(int(outside.sum())) * std + mean
        outside = (draw < low) | (draw > high)
    return draw


@initializer
def xavier_uniform(
    generator: np.random.Generator,
    shape: Shape,
    *,
    scale: float = 1.0,
    fan_in: Fans = None,
    fan_out: Fans = None,
) -> Array:
    """Uniform within scale * sqrt(6 / (fan in + fan out)) (Glorot and Bengio 2010)."""
    bound = scale * math.sqrt(6 / max(sum(_fans(shape, fan_in, fan_out)), 1))
    return uniform(generator, shape, low=-bound, high=bound)


@initializer
def xavier_normal(
    generator: np.random.Generator,
    shape: Shape,
    *,
    scale: float = 1.0,
    fan_in: Fans = None,
    fan_out: Fans = None,
) -> Array:
    """Normal with deviation scale * sqrt(2 / (fan in + fan out)) (Glorot and Bengio 2010)."""
    return generator.standard_normal(shape) * (scale * math.sqrt(2 / max(sum(_fans(shape, fan_in, fan_out)), 1)))


@initializer
def kaiming_uniform(
    generator: np.random.Generator,
    shape: Shape,
    *,
    a: float = 0.0,
    mode: Fan = "fan_in",
    nonlinearity: Nonlinearity = "leaky_relu",
    fan_in: Fans = None,
    fan_out: Fans = None,
) -> Array:
    """Uniform within gain * sqrt(3 / fan) (He et al. 2015); `a` is the slope of a leaky ReLU.

    A fan that is not given is that of a weight of shape [out, in, window...].
    """
    bound = gain(nonlinearity, a) * math.sqrt(3 / max(_fans(shape, fan_in, fan_out)[mode == "fan_out"], 1))
    return uniform(generator, shape, low=-bound, high=bound)


@initializer
def kaiming_normal(
    generator: np.random.Generator,
    shape: Shape,
    *,
    a: float = 0.0,
    mode: Fan = "fan_in",
    nonlinearity: Nonlinearity = "leaky_relu",
    fan_in: Fans = None,
    fan_out: Fans = None,
) -> Array:
    """Normal with deviation gain / sqrt(fan) (He et al. 2015); `a` is the slope of a leaky ReLU.

    A fan that is not given is that of a weight of shape [out, in, window...].
    """
    return generator.standard_normal(shape) * (
        gain(nonlinearity, a) / math.sqrt(max(_fans(shape, fan_in, fan_out)[mode == "fan_out"], 1))
    )


@initializer
def eye(generator: np.random.Generator, shape: Shape) -> Array:
    """The identity matrix."""
    if len(shape) != 2:
        raise AttributeValueError(f"eye needs a shape with two axes, got {list(shape)}")
    return np.eye(*shape)


@initializer
def normal_rows(generator: np.random.Generator, shape: Shape, *, zero_row: Count) -> Array:
    """Standard normal except for the row `zero_row`, which is 0: a table with a row for padding."""
    if not shape or not 0 <= zero_row < max(shape[0], 1):
        raise AttributeValueError(f"normal_rows: zero_row {zero_row} must be a row of the shape {list(shape)}")
    table = generator.standard_normal(shape)
    table[zero_row : zero_row + 1] = 0
    return table


@initializer
def dirac(generator: np.random.Generator, shape: Shape, *, groups: Length = 1) -> Array:
    """The weight [out, in, window...] of an identity convolution: 1 at the centre of window (k, k), else 0.

    The output channels are divided into `groups`; each passes on as many channels as there are inputs.
    """
    if not 3 <= len(shape) <= 5:
        raise AttributeValueError(f"dirac needs a shape with three to five axes, got {list(shape)}")
    if shape[0] % groups:
        raise AttributeValueError(f"dirac: groups {groups} must divide the {shape[0]} outputs of {list(shape)}")
    weight = np.zeros(shape)
    each = shape[0] // groups
    middle = tuple(extent // 2 for extent in shape[2:])
    for group in range(groups if math.prod(shape) else 0):
        for channel in range(min(each, shape[1])):
            weight[(group * each + channel, channel, *middle)] = 1
    return weight


@initializer
def sparse(generator: np.random.Generator, shape: Shape, *, sparsity: Share, std: NonNegative = 0.01) -> Array:
    """Normal with deviation `std`, and in each column the share `sparsity` (rounded up) of rows 0 (Martens 2010)."""
    if len(shape) != 2:
        raise AttributeValueError(f"sparse needs a shape with two axes, got {list(shape)}")
    matrix = generator.standard_normal(shape) * std
    order = generator.permuted(np.tile(np.arange(shape[0])[:, None], (1, shape[1])), axis=0)
    matrix[order < math.ceil(sparsity * shape[0])] = 0
    return matrix


@initializer
def sinusoidal(generator: np.random.Generator, shape: Shape, *, base: Positive = 10000.0) -> Array:
    """Positions [steps, width]: sin(t / base^(2i / width)) in feature 2i, cosine in 2i + 1 (Vaswani et al. 2017)."""
    if len(shape) != 2:
        raise AttributeValueError(f"sinusoidal needs a shape with two axes, got {list(shape)}")
    steps, width = shape
    pairs = np.arange(width) // 2 * 2
    angles = np.arange(steps)[:, None] * base ** (-pairs / max(width, 1))
    return np.where(np.arange(width) % 2, np.cos(angles), np.sin(angles))


@initializer
def orthogonal(generator: np.random.Generator, shape: Shape, *, scale: float = 1.0) -> Array:
    """Rows or columns of a random orthogonal matrix, times `scale` (Saxe et al. 2014)."""
    if len(shape) < 2:
        raise AttributeValueError(f"orthogonal needs a shape with at least two axes, got {list(shape)}")
    rows, columns = shape[0], math.prod(shape[1:])
    q, r = np.linalg.qr(generator.standard_normal((max(rows, columns), min(rows, columns))))
    q *= np.sign(np.diag(r))
    return scale * (q if rows >= columns else q.T).reshape(shape)
