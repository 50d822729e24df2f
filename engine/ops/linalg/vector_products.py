"""Products of vectors and matrices beside matmul: outer, Kronecker and cross products, and products with a sum."""

from __future__ import annotations

from engine.core.declarations import COMPUTE_FLOAT32, PRODUCT_COMPOSITION, CallForms
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.shape_rules import broadcast_shapes, normalize_axis, require_rank
from engine.core.value import Value
from engine.ops.elementwise.casting import factor_for, in_common_type
from engine.ops.elementwise.elementwise import mul
from engine.ops.linalg.contraction import einsum, tensordot
from engine.ops.linalg.matmul import matmul
from engine.ops.reduce.reduce import sum
from engine.ops.shape.arrangement import roll
from engine.ops.shape.shape import reshape


@composite(aliases=("ger",), samples=[sample((2,), (3,))])
def outer(a: Value, b: Value) -> Value:
    """The matrix of the products of the elements of two vectors: y[i, j] = a[i] b[j]."""
    require_rank("outer", "a first vector", a, 1)
    require_rank("outer", "a second vector", b, 1)
    return mul(reshape(a, shape=(a.size, 1)), b)


@composite(samples=[sample((2, 3), (2, 2)), sample((2,), (3, 2))])
def kron(a: Value, b: Value) -> Value:
    """The Kronecker product: each element of a times b; the shorter shape gets axes in front."""
    rank = max(a.ndim, b.ndim)
    left, right = ((1,) * (rank - x.ndim) + x.shape for x in (a, b))
    apart = tuple(extent for e in left for extent in (e, 1))
    beside = tuple(extent for e in right for extent in (1, e))
    product = mul(reshape(a, shape=apart), reshape(b, shape=beside))
    return reshape(product, shape=tuple(x * y for x, y in zip(left, right, strict=True)))


@composite(numerics=COMPUTE_FLOAT32, samples=[sample((2, 3), (2, 3)), sample((3, 2), (3, 1), axis=0)])
def cross(a: Value, b: Value, *, axis: int = -1) -> Value:
    """The cross product of vectors of three elements on `axis`; other axes broadcast."""
    shape = broadcast_shapes(a.shape, b.shape)
    if not shape or a.ndim != b.ndim:
        raise ShapeError(f"cross needs two values of one number of axes, got {list(a.shape)} and {list(b.shape)}")
    place = normalize_axis(axis, len(shape))
    if a.shape[place] != 3 or b.shape[place] != 3:
        raise ShapeError(f"cross: axis {axis} of {list(a.shape)} and {list(b.shape)} must have extent 3 on both sides")
    forth, back = {"shifts": -1, "axis": place}, {"shifts": 1, "axis": place}
    return roll(a, **forth) * roll(b, **back) - roll(a, **back) * roll(b, **forth)


def _added(op: str, c: Value, product: Value, beta: float, alpha: float) -> Value:
    if broadcast_shapes(c.shape, product.shape) != product.shape:
        raise ShapeError(f"{op}: {list(c.shape)} does not broadcast to the product's shape {list(product.shape)}")
    c, product = in_common_type(c, product)
    scaled = product if alpha == 1 else product * factor_for(alpha, product)
    if beta == 0:  # what is not used may even be NaN
        return scaled
    return (c if beta == 1 else c * factor_for(beta, c)) + scaled


@composite(
    call=CallForms(by_place=()),
    numerics=PRODUCT_COMPOSITION,
    samples=[sample((2, 4), (2, 3), (3, 4)), sample((4,), (2, 3), (3, 4), beta=0.5, alpha=2.0)],
)
def addmm(c: Value, a: Value, b: Value, *, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """beta c + alpha (a @ b) for two matrices; c broadcasts. With beta 0, c is not read."""
    require_rank("addmm", "a first matrix", a, 2)
    require_rank("addmm", "a second matrix", b, 2)
    return _added("addmm", c, matmul(a, b), beta, alpha)


@composite(
    call=CallForms(by_place=()),
    numerics=PRODUCT_COMPOSITION,
    samples=[sample((2, 2, 4), (2, 2, 3), (2, 3, 4)), sample((4,), (1, 2, 3), (1, 3, 4), beta=0.5, alpha=2.0)],
)
def baddbmm(c: Value, a: Value, b: Value, *, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """beta c + alpha (a @ b) for two batches of matrices; c broadcasts. With beta 0, c is not read."""
    require_rank("baddbmm", "a first batch of matrices", a, 3)
    require_rank("baddbmm", "a second batch of matrices", b, 3)
    if a.shape[0] != b.shape[0]:
        raise ShapeError(f"baddbmm: batches of {a.shape[0]} and {b.shape[0]} matrices must be equally large")
    return _added("baddbmm", c, matmul(a, b), beta, alpha)


@composite(
    call=CallForms(by_place=()),
    numerics=PRODUCT_COMPOSITION,
    samples=[sample((2,), (2, 3), (3,)), sample((), (2, 3), (3,), beta=0.5, alpha=2.0)],
)
def addmv(c: Value, a: Value, b: Value, *, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """beta c + alpha (a @ b) for a matrix and a vector; c broadcasts. With beta 0, c is not read."""
    require_rank("addmv", "a matrix", a, 2)
    require_rank("addmv", "a vector", b, 1)
    return _added("addmv", c, matmul(a, b), beta, alpha)


@composite(
    call=CallForms(by_place=()),
    numerics=PRODUCT_COMPOSITION,
    samples=[sample((2, 3), (2,), (3,)), sample((3,), (2,), (3,), beta=0.5, alpha=2.0)],
)
def addr(c: Value, a: Value, b: Value, *, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """beta c + alpha outer(a, b) for two vectors; c broadcasts. With beta 0, c is not read."""
    return _added("addr", c, outer(a, b), beta, alpha)


@composite(
    call=CallForms(by_place=()),
    numerics=PRODUCT_COMPOSITION,
    samples=[sample((2, 4), (2, 2, 3), (2, 3, 4)), sample((4,), (2, 2, 3), (2, 3, 4), beta=0.5)],
)
def addbmm(c: Value, a: Value, b: Value, *, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """beta c + alpha times the sum of the products of two batches of matrices; c broadcasts (see baddbmm)."""
    require_rank("addbmm", "a first batch of matrices", a, 3)
    require_rank("addbmm", "a second batch of matrices", b, 3)
    if a.shape[0] != b.shape[0]:
        raise ShapeError(f"addbmm: batches of {a.shape[0]} and {b.shape[0]} matrices must be equally large")
    return _added("addbmm", c, sum(matmul(a, b), axis=0), beta, alpha)


@composite(numerics=PRODUCT_COMPOSITION, samples=[sample((2, 3), (4, 3)), sample((3,), (3,)), sample((), (2,))])
def inner(a: Value, b: Value) -> Value:
    """The sums of products over the last axes of both: y[i, j] = sum of a[i, k] b[j, k]; scalars multiply."""
    if not a.ndim or not b.ndim:
        return mul(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(f"inner: the last axes of {list(a.shape)} and {list(b.shape)} must agree")
    return tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


@composite(numerics=PRODUCT_COMPOSITION, samples=[sample((2, 3), (2, 3)), sample((3, 2), (3, 1), axis=0)])
def vecdot(a: Value, b: Value, *, axis: int = -1) -> Value:
    """The sums of the products of vectors along `axis`; other axes broadcast."""
    shape = broadcast_shapes(a.shape, b.shape)
    for x in (a, b):
        normalize_axis(axis, x.ndim)
    if not a.ndim or not b.ndim or a.shape[axis] != b.shape[axis]:
        raise ShapeError(f"vecdot: axis {axis} of {list(a.shape)} and {list(b.shape)} must have one extent")
    normalize_axis(axis, len(shape))
    return sum(mul(a, b), axis=axis)


@composite(
    numerics=PRODUCT_COMPOSITION,
    samples=[sample((2, 3), (3, 4)), sample((2,), (2, 3), (3, 1), (1,)), sample((2, 4), (4, 1), (1, 3))],
)
def multi_dot(*xs: Value) -> Value:
    """The product of two or more matrices in the order of fewest multiplications.

    The first may be a vector, which is a row, and the last one, which is a column.
    """
    if len(xs) < 2:
        raise ShapeError(f"multi_dot needs at least two matrices, got {len(xs)}")
    require_rank("multi_dot", "a first matrix or vector", xs[0], 1, 2)
    require_rank("multi_dot", "a last matrix or vector", xs[-1], 1, 2)
    for x in xs[1:-1]:
        require_rank("multi_dot", "matrices", x, 2)
    rows = xs[0].shape[0] if xs[0].ndim == 2 else 1
    columns = xs[-1].shape[1] if xs[-1].ndim == 2 else 1
    return _chain(xs, _places_to_cut([rows, *(x.shape[0] for x in xs[1:]), columns]), 0, len(xs) - 1)


def _places_to_cut(extents: list[int]) -> dict[tuple[int, int], int]:
    """Return for each run of matrices first..last after which one to split it (dynamic programming over the costs)."""
    count = len(extents) - 1
    cost = {(k, k): 0 for k in range(count)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs = {
                k: cost[first, k] + cost[k + 1, last] + extents[first] * extents[k + 1] * extents[last + 1]
                for k in range(first, last)
            }
            cut[first, last] = min(costs, key=costs.__getitem__)
            cost[first, last] = costs[cut[first, last]]
    return cut


def _chain(xs: tuple[Value, ...], cut: dict[tuple[int, int], int], first: int, last: int) -> Value:
    if first == last:
        return xs[first]
    middle = cut[first, last]
    return matmul(_chain(xs, cut, first, middle), _chain(xs, cut, middle + 1, last))


@composite(numerics=COMPUTE_FLOAT32, samples=[sample((4, 2), (4, 3), (2, 2, 3), (2,)), sample((2,), (3,), (2, 2, 3))])
def bilinear(a: Value, b: Value, weight: Value, bias: Value | None = None) -> Value:
    """y[o] = sum of a[i] weight[o, i, j] b[j], plus the bias, over the last axes; the axes before are a batch."""
    require_rank("bilinear", "a weight [out, in1, in2]", weight, 3)
    if not a.ndim or not b.ndim or a.shape[:-1] != b.shape[:-1] or (a.shape[-1], b.shape[-1]) != weight.shape[1:]:
        raise ShapeError(
            f"bilinear: inputs [..., in1] and [..., in2] must fit the weight [out, in1, in2] {list(weight.shape)}, "
            f"got {list(a.shape)} and {list(b.shape)}"
        )
    y = einsum(a, weight, b, equation="...i,oij,...j->...o")
    return y if bias is None else y + bias
