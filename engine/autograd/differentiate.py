"""Derivatives of Python functions of Values, all built on the one chain rule and free to be nested.

A function takes Values (or arrays, or numbers), or dicts, tuples and lists of them, and returns a Value. Everything
works on values with data and, inside a trace, on values without. Names and conventions are those of torch.func and
torch.autograd.functional.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.autograd.backward import initial_cotangent, pull_back, reachable
from engine.autograd.vmap import vmap
from engine.core.dtypes import is_float
from engine.core.errors import DTypeError, GradientError, ShapeError
from engine.core.modes import differentiating, no_grad
from engine.core.trees import Tree, leaves_like, leaves_of, with_leaves
from engine.core.value import Array, Operand, Value, as_value, tensor
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.elementwise import mul
from engine.ops.reduce.reduce import sum
from engine.ops.shape.arrangement import movedim
from engine.ops.shape.creation import zeros
from engine.ops.shape.shape import reshape, stack

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def grad(function: Function, argnums: Argnums = 0) -> Function:
    """Return a function that computes the gradient of a scalar `function` by the arguments `argnums`."""
    both = value_and_grad(function, argnums)
    return lambda *args: both(*args)[1]


def value_and_grad(function: Function, argnums: Argnums = 0) -> Function:
    """Return a function that computes `function` and its gradient by `argnums`, each part like its argument."""

    def value_and_gradient(*args: Tree) -> tuple[Value, Any]:
        call = _Call(function, args, (argnums,) if isinstance(argnums, int) else argnums)
        output = call.run()
        gradients = call.like_arguments(_pull(output, initial_cotangent(output, None), call))
        return _outer(output, call.nested), gradients[0] if isinstance(argnums, int) else gradients

    return value_and_gradient


def vjp(function: Function, *primals: Tree) -> tuple[Value, Callable[[Operand], tuple[Any, ...]]]:
    """Return function(*primals) and the function that maps a cotangent of it to cotangents of the primals."""
    call = _Call(function, primals, tuple(range(len(primals))))
    output = call.run()

    def pull(cotangent: Operand) -> tuple[Any, ...]:
        return call.like_arguments(_pull(output, initial_cotangent(output, cotangent), call))

    return _outer(output, call.nested), pull


def jvp(function: Function, primals: Sequence[Tree], tangents: Sequence[Tree]) -> tuple[Value, Value]:
    """Return function(*primals) and its derivative in the direction of `tangents`."""
    output, push = linearize(function, *primals)
    return output, push(*tangents)


def linearize(function: Function, *primals: Tree) -> tuple[Value, Callable[..., Value]]:
    """Return function(*primals) and the function that maps tangents of the primals to the tangent of it.

    Forward mode as the transpose of the transpose: the VJP is linear in its cotangent, so pulling tangents back through
    it pushes them forward through the function (J. Townsend 2017).
    """
    call = _Call(function, primals, tuple(range(len(primals))))
    output = call.run()
    with differentiating():
        cotangent = zeros(shape=output.shape, dtype=output.dtype)
        cotangent.requires_grad = True
        pulled = pull_back([output], [cotangent], call.wrt)

    def push(*tangents: Tree) -> Value:
        given = leaves_like(primals, tangents, "the tangents")
        directions = [_match_direction(tangent, value) for tangent, value in zip(given, call.wrt, strict=True)]
        pairs = [(p, d) for p, d in zip(pulled, directions, strict=True) if p is not None and p.requires_grad]
        watched = call.nested or any(direction.requires_grad for direction in directions)
        with differentiating() if watched else no_grad():
            pushed = pull_back([p for p, _ in pairs], [d for _, d in pairs], [cotangent])[0]
        return _zeros(cotangent) if pushed is None else pushed

    return _outer(output, call.nested), push


def jacobian(function: Function, argnum: int = 0, *, forward: bool = False, vectorize: bool = False) -> Function:
    """Return a function that computes the Jacobian [output..., input...] by the argument `argnum`.

    One VJP a row, or with `forward` one JVP a column: the cheaper way is the one with fewer of them. With `vectorize`
    all of them are one batch, which is faster and takes as many times the memory.
    """

    def jacobian_of(*args: Operand) -> Value:
        x = _argument(args[argnum])

        def of_one(value: Operand) -> Any:
            return function(*args[:argnum], value, *args[argnum + 1 :])

        output, linear = linearize(of_one, x) if forward else _transpose(of_one, x)
        with differentiating() if output.requires_grad or output.data is None else no_grad():
            lines = _map(linear, _basis(x if forward else output), vectorize)
        if forward:
            return reshape(movedim(lines, source=0, destination=-1), shape=(*output.shape, *x.shape))
        return reshape(lines, shape=(*output.shape, *x.shape))

    return jacobian_of


def hessian(function: Function, argnum: int = 0, *, forward: bool = False, vectorize: bool = False) -> Function:
    """Return a function that computes the matrix of second derivatives [input..., input...] of a scalar function.

    `forward` takes the outer derivative in forward mode; for `vectorize` see `jacobian`.
    """
    return jacobian(grad(function, argnum), argnum, forward=forward, vectorize=vectorize)


def hvp(function: Function, primals: Sequence[Tree], vectors: Sequence[Tree]) -> tuple[Any, ...]:
    """Return the Hessian of a scalar function times `vectors`, without forming it; by its symmetry this is `vhp`."""
    return vhp(function, primals, vectors)


def vhp(function: Function, primals: Sequence[Tree], vectors: Sequence[Tree]) -> tuple[Any, ...]:
    """Return `vectors` times the Hessian of a scalar function, without forming it: the gradient of <gradient, v>."""
    numbers = tuple(range(len(primals)))
    given = leaves_like(tuple(primals), tuple(vectors), "the vectors")

    def directional(*values: Tree) -> Value:
        gradients = leaves_of(grad(function, numbers)(*values))
        terms = [sum(mul(g, _match_direction(v, g))) for g, v in zip(gradients, given, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    return grad(directional, numbers)(*primals)  # type: ignore[no-any-return]


def gradcheck(
    function: Function, args: Sequence[Operand], *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3
) -> bool:
    """Compare the gradient of a function with central differences in float64.

    Args:
        function: takes Values and returns one floating Value of any shape.
        args: arrays or Values; the float64 ones are varied, in copies.
        eps: step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.

    Raises:
        GradientError: naming the argument and the largest error, when they differ.
    """
    arrays = [np.array(arg.numpy() if isinstance(arg, Value) else arg) for arg in args]
    varied = tuple(index for index, array in enumerate(arrays) if is_float(array.dtype))
    if any(arrays[index].dtype != np.float64 for index in varied):
        raise DTypeError("gradcheck needs float64 arguments: in float32 the differences are mostly rounding")
    held = [Value(array.shape, array.dtype, array) for array in arrays]
    output, pull = vjp(lambda *values: function(*_merge(held, varied, values)), *(held[index] for index in varied))
    weights = np.cos(np.arange(output.size, dtype=np.float64)).reshape(output.shape)
    analytic = pull(weights)

    def weighted() -> float:
        with no_grad():
            made = _single(function(*held))
        return float((made.numpy() * weights).sum())

    for index, gradient in zip(varied, analytic, strict=True):
        numeric = _differences(weighted, arrays[index], eps)
        error = np.abs(gradient.numpy() - numeric)
        if not bool(np.all(error <= atol + rtol * np.abs(numeric))):
            raise GradientError(f"the gradient by argument {index} is off by up to {error.max():.3g}")
    return True


def gradgradcheck(function: Function, args: Sequence[Operand], **tolerances: float) -> bool:
    """Compare second derivatives with central differences of the first ones; see `gradcheck`."""
    floating = tuple(index for index, arg in enumerate(args) if is_float(as_value(arg).dtype))

    def first(*values: Value) -> Value:
        gradients = vjp(lambda *inner: function(*_merge(values, floating, inner)), *(values[i] for i in floating))
        output, pull = gradients
        pulled = pull(np.cos(np.arange(output.size, dtype=np.float64)).reshape(output.shape))
        total = sum(mul(pulled[0], pulled[0]))
        for one in pulled[1:]:
            total = total + sum(mul(one, one))
        return total

    return gradcheck(first, args, **tolerances)


class _Call:
    """A call of a function with the leaves of some of its arguments tracked.

    Attributes:
        wrt: those leaves.
        nested: whether an outer derivative watches, so that this one has to be recorded.
    """

    def __init__(self, function: Function, args: Sequence[Tree], argnums: tuple[int, ...]) -> None:
        self.function = function
        self.args = args
        self.argnums = argnums
        self.tracked = {number: leaves_of(args[number]) for number in argnums}
        self.wrt: list[Value] = []
        self.nested = any(
            isinstance(leaf, Value) and leaf.requires_grad
            for number, arg in enumerate(args)
            if number not in self.tracked
            for leaf in leaves_of(arg)
        )
        for number, leaves in self.tracked.items():
            self.tracked[number] = [self._track(leaf, number) for leaf in leaves]
        self.wrt = [leaf for number in argnums for leaf in self.tracked[number]]

    def _track(self, leaf: Operand, number: int) -> Value:
        value = _argument(leaf)
        if not is_float(value.dtype):
            raise DTypeError(f"argument {number} is {value.dtype.name}: only floating arguments have a gradient")
        if value.requires_grad or value.data is None:
            self.nested = True
            tracked = reshape(value, shape=value.shape)
        else:
            data = value.data.astype(value.dtype) if value.weak else value.data
            tracked = Value(value.shape, value.dtype, data)
        tracked.requires_grad = True
        return tracked

    def run(self) -> Value:
        """Call the function; find out whether it takes in values from outside that are watched."""
        args = [
            with_leaves(arg, iter(self.tracked[number] if number in self.tracked else map(_argument, leaves_of(arg))))
            for number, arg in enumerate(self.args)
        ]
        with differentiating():
            output = _single(self.function(*args))
        own = {value.key for value in self.wrt}
        self.nested = self.nested or any(
            value.requires_grad and value.node is None and value.key not in own
            for node in reachable([output])
            for value in node.inputs
        )
        return output

    def like_arguments(self, results: Sequence[Value]) -> tuple[Any, ...]:
        """Return results for each leaf as trees like the arguments."""
        leaves = iter(results)
        return tuple(with_leaves(self.args[number], leaves) for number in self.argnums)


def _argument(leaf: Operand) -> Value:
    """Return an argument as a Value: numbers of NumPy keep their type, though np.float64 is a Python float too."""
    return tensor(leaf) if isinstance(leaf, np.generic) else as_value(leaf)


def _pull(output: Value, cotangent: Value, call: _Call) -> tuple[Value, ...]:
    with differentiating() if call.nested or cotangent.requires_grad else no_grad():
        pulled = pull_back([output], [cotangent], call.wrt)
    return tuple(_zeros(value) if found is None else found for found, value in zip(pulled, call.wrt, strict=True))


def _single(output: Any) -> Value:
    if not isinstance(output, Value):
        raise GradientError(f"the function must return one Value, not {type(output).__name__}")
    return output


def _outer(output: Value, nested: bool) -> Value:
    return output if nested or output.data is None else output.detach()


def _match_direction(operand: Operand, value: Value) -> Value:
    direction = as_value(operand)
    if direction.shape != value.shape:
        raise ShapeError(f"a direction of shape {list(direction.shape)} does not fit a value of {list(value.shape)}")
    if direction.dtype == value.dtype and not direction.weak:
        return direction
    return cast(direction, dtype=value.dtype)


def _zeros(value: Value) -> Value:
    return Value(value.shape, value.dtype, np.zeros(value.shape, value.dtype))


def _basis(value: Value) -> Array:
    """Return the unit vectors of a value's space [size, shape...]."""
    return np.eye(value.size, dtype=value.dtype).reshape(value.size, *value.shape)


def _transpose(function: Function, x: Value) -> tuple[Value, Callable[[Operand], Value]]:
    output, pull = vjp(function, x)
    return output, lambda cotangent: pull(cotangent)[0]


def _map(linear: Callable[[Operand], Value], basis: Array, vectorize: bool) -> Value:
    """Apply a linear function to every vector of a basis."""
    if vectorize or not len(basis):
        return vmap(linear)(basis)  # type: ignore[no-any-return]
    return stack(*(linear(direction) for direction in basis))


def _merge(values: Sequence[Any], numbers: Sequence[int], replacements: Sequence[Any]) -> list[Any]:
    merged = list(values)
    for number, replacement in zip(numbers, replacements, strict=True):
        merged[number] = replacement
    return merged


def _differences(function: Callable[[], float], array: Array, eps: float) -> Array:
    """Return the central differences of `function`, which reads `array`, by each element of it."""
    result = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        kept = array[place]
        array[place] = kept + eps
        above = function()
        array[place] = kept - eps
        result[place] = (above - function()) / (2 * eps)
        array[place] = kept
    return result
