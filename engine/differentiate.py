"""Derivatives of Python functions of Values, all built on the one chain rule and free to be nested.

A function takes Values (or arrays, or numbers) and returns a Value. Everything works on values with data and, inside a
trace, on values without. Names and conventions are those of torch.func and torch.autograd.functional.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.backward import pull_back, seed_of
from engine.dtypes import is_float
from engine.errors import DTypeError, GradientError, ShapeError
from engine.modes import differentiating, no_grad
from engine.ops.arrangement import movedim
from engine.ops.casting import cast
from engine.ops.creation import zeros
from engine.ops.elementwise import mul
from engine.ops.reduce import sum
from engine.ops.shape import reshape, stack
from engine.value import Array, Operand, Value, as_value
from engine.vectorize import vmap

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def grad(function: Function, argnums: Argnums = 0) -> Function:
    """Return a function that computes the gradient of a scalar `function` by the arguments `argnums`."""
    both = value_and_grad(function, argnums)
    return lambda *args: both(*args)[1]


def value_and_grad(function: Function, argnums: Argnums = 0) -> Function:
    """Return a function that computes `function` and its gradient by the arguments `argnums`."""

    def value_and_gradient(*args: Operand) -> tuple[Value, Any]:
        inputs, wrt, nested = _track(args, argnums)
        with differentiating():
            output = _single(function(*inputs))
        gradients = _pull(output, seed_of(output, None), wrt, nested)
        return _outer(output, nested), gradients[0] if isinstance(argnums, int) else gradients

    return value_and_gradient


def vjp(function: Function, *primals: Operand) -> tuple[Value, Callable[[Operand], tuple[Value, ...]]]:
    """Return function(*primals) and the function that maps a cotangent of it to cotangents of the primals."""
    inputs, wrt, nested = _track(primals, tuple(range(len(primals))))
    with differentiating():
        output = _single(function(*inputs))
    return _outer(output, nested), lambda cotangent: _pull(output, seed_of(output, cotangent), wrt, nested)


def jvp(function: Function, primals: Sequence[Operand], tangents: Sequence[Operand]) -> tuple[Value, Value]:
    """Return function(*primals) and its derivative in the direction of `tangents`."""
    output, push = linearize(function, *primals)
    return output, push(*tangents)


def linearize(function: Function, *primals: Operand) -> tuple[Value, Callable[..., Value]]:
    """Return function(*primals) and the function that maps tangents of the primals to the tangent of it.

    Forward mode as the transpose of the transpose: the VJP is linear in its cotangent, so pulling tangents back through
    it pushes them forward through the function (J. Townsend 2017).
    """
    inputs, wrt, nested = _track(primals, tuple(range(len(primals))))
    with differentiating():
        output = _single(function(*inputs))
        cotangent = zeros(shape=output.shape, dtype=output.dtype)
        cotangent.requires_grad = True
        pulled = pull_back([output], [cotangent], wrt)

    def push(*tangents: Operand) -> Value:
        directions = [_like(tangent, value) for tangent, value in zip(tangents, wrt, strict=True)]
        pairs = [(p, d) for p, d in zip(pulled, directions, strict=True) if p is not None and p.requires_grad]
        watched = nested or any(direction.requires_grad for direction in directions)
        with differentiating() if watched else no_grad():
            pushed = pull_back([p for p, _ in pairs], [d for _, d in pairs], [cotangent])[0]
        return _zeros(cotangent) if pushed is None else pushed

    return _outer(output, nested), push


def jacobian(function: Function, argnum: int = 0, *, forward: bool = False, vectorize: bool = False) -> Function:
    """Return a function that computes the Jacobian [output..., input...] by the argument `argnum`.

    One VJP a row, or with `forward` one JVP a column: the cheaper way is the one with fewer of them. With `vectorize`
    all of them are one batch, which is faster and takes as many times the memory.
    """

    def jacobian_of(*args: Operand) -> Value:
        x = as_value(args[argnum])

        def of_one(value: Operand) -> Any:
            return function(*args[:argnum], value, *args[argnum + 1 :])

        output, linear = linearize(of_one, x) if forward else _transposed(of_one, x)
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


def hvp(function: Function, primals: Sequence[Operand], vectors: Sequence[Operand]) -> tuple[Value, ...]:
    """Return the Hessian of a scalar function times `vectors`, without forming it; by its symmetry this is `vhp`."""
    return vhp(function, primals, vectors)


def vhp(function: Function, primals: Sequence[Operand], vectors: Sequence[Operand]) -> tuple[Value, ...]:
    """Return `vectors` times the Hessian of a scalar function, without forming it: the gradient of <gradient, v>."""
    numbers = tuple(range(len(primals)))

    def directional(*values: Value) -> Value:
        gradients = grad(function, numbers)(*values)
        terms = [sum(mul(g, _like(v, g))) for g, v in zip(gradients, vectors, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    return grad(directional, numbers)(*primals)  # type: ignore[no-any-return]


def gradcheck(
    function: Function, args: Sequence[Array], *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3
) -> bool:
    """Compare the gradient of a function with central differences in float64.

    Args:
        function: takes Values and returns one floating Value of any shape.
        args: arrays; the float64 ones are varied.
        eps: step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.

    Raises:
        GradientError: naming the argument and the largest error, when they differ.
    """
    arrays = [np.asarray(arg) for arg in args]
    varied = tuple(index for index, array in enumerate(arrays) if is_float(array.dtype))
    if any(arrays[index].dtype != np.float64 for index in varied):
        raise DTypeError("gradcheck needs float64 arguments: in float32 the differences are mostly rounding")
    output, pull = vjp(lambda *values: function(*_merged(arrays, varied, values)), *(arrays[index] for index in varied))
    weights = np.cos(np.arange(output.size, dtype=np.float64)).reshape(output.shape)
    analytic = pull(weights)
    for index, gradient in zip(varied, analytic, strict=True):
        numeric = _differences(lambda: float((function(*arrays).numpy() * weights).sum()), arrays[index], eps)
        error = np.abs(gradient.numpy() - numeric)
        if not bool(np.all(error <= atol + rtol * np.abs(numeric))):
            raise GradientError(f"the gradient by argument {index} is off by up to {error.max():.3g}")
    return True


def gradgradcheck(function: Function, args: Sequence[Array], **tolerances: float) -> bool:
    """Compare second derivatives with central differences of the first ones; see `gradcheck`."""
    floating = tuple(index for index, arg in enumerate(args) if is_float(np.asarray(arg).dtype))

    def first(*values: Value) -> Value:
        gradients = vjp(lambda *inner: function(*_merged(values, floating, inner)), *(values[i] for i in floating))
        output, pull = gradients
        pulled = pull(np.cos(np.arange(output.size, dtype=np.float64)).reshape(output.shape))
        total = sum(mul(pulled[0], pulled[0]))
        for one in pulled[1:]:
            total = total + sum(mul(one, one))
        return total

    return gradcheck(first, args, **tolerances)


def _track(args: Sequence[Operand], argnums: Argnums) -> tuple[list[Value], list[Value], bool]:
    """Return the arguments with some of them tracked, those alone, and whether an outer derivative watches."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    values = [as_value(arg) for arg in args]
    nested = False
    for number in numbers:
        value = values[number]
        if not is_float(value.dtype):
            raise DTypeError(f"argument {number} is {value.dtype.name}: only floating arguments have a gradient")
        watched = value.requires_grad or value.data is None
        nested = nested or watched
        data = value.data if value.data is None or not value.weak else value.data.astype(value.dtype)
        values[number] = reshape(value, shape=value.shape) if watched else Value(value.shape, value.dtype, data)
        values[number].requires_grad = True
    nested = nested or any(value.requires_grad for index, value in enumerate(values) if index not in numbers)
    return values, [values[number] for number in numbers], nested


def _pull(output: Value, cotangent: Value, wrt: Sequence[Value], nested: bool) -> tuple[Value, ...]:
    with differentiating() if nested or cotangent.requires_grad else no_grad():
        pulled = pull_back([output], [cotangent], wrt)
    return tuple(_zeros(value) if found is None else found for found, value in zip(pulled, wrt, strict=True))


def _single(output: Any) -> Value:
    if not isinstance(output, Value):
        raise GradientError(f"the function must return one Value, not {type(output).__name__}")
    return output


def _outer(output: Value, nested: bool) -> Value:
    return output if nested or output.data is None else output.detach()


def _like(operand: Operand, value: Value) -> Value:
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


def _transposed(function: Function, x: Value) -> tuple[Value, Callable[[Operand], Value]]:
    output, pull = vjp(function, x)
    return output, lambda cotangent: pull(cotangent)[0]


def _map(linear: Callable[[Operand], Value], basis: Array, vectorize: bool) -> Value:
    """Apply a linear function to every vector of a basis."""
    if vectorize or not len(basis):
        return vmap(linear)(basis)  # type: ignore[no-any-return]
    return stack(*(linear(direction) for direction in basis))


def _merged(values: Sequence[Any], numbers: Sequence[int], replacements: Sequence[Any]) -> list[Any]:
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
