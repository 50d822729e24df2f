"""Clipping gradients on the tape: by their common norm, each by its own, by element, or by the parameters' norm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, MutableMapping, Sequence

from engine.autograd.gradients import NORM_EPSILON
from engine.core.dtypes import FLOAT64, computing_dtype
from engine.core.errors import AttributeValueError, NumericalError
from engine.core.modes import no_grad
from engine.core.value import Value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.elementwise import clamp
from engine.ops.reduce.norms import norm
from engine.ops.shape.shape import stack
from engine.optim.transforms.clipping import Units, clip_adaptively

Parameters = Value | Iterable[Value] | Mapping[str, Value]
"""One leaf, several, or several by name, as `Module.parameters()` returns them."""


def clip_grad_norm_(
    parameters: Parameters, max_norm: float, norm_type: float = 2.0, *, error_if_nonfinite: bool = False
) -> float:
    """Scale the `.grad` of all parameters by max_norm / (norm + 1e-6), at most 1; return their common norm before.

    Semantics of torch.nn.utils.clip_grad_norm_: the factor is always applied, so that an infinite norm makes finite
    gradients 0 and infinite ones NaN.

    Args:
        parameters: leaves; those without a gradient are ignored. Without any gradient the norm is 0.
        max_norm: the maximum norm.
        norm_type: p of the norm; math.inf takes the largest absolute element.
        error_if_nonfinite: raise an error if the norm is NaN or infinite, before anything is changed.
    """
    leaves = _with_gradient(parameters)
    with no_grad():
        total = total_norm([gradient for _, gradient in leaves], norm_type)
        if error_if_nonfinite and not math.isfinite(total):
            raise NumericalError(
                f"the norm of order {norm_type} of the gradients is {total}, so they cannot be clipped; scale them "
                "anyway with error_if_nonfinite=False"
            )
        factor = min(max_norm / (total + NORM_EPSILON), 1.0) if total == total else math.nan
        for leaf, gradient in leaves:
            _replace(leaf, gradient, gradient * factor)
    return total


def clip_grad_norm_each_(parameters: Parameters, max_norm: float, norm_type: float = 2.0) -> list[float]:
    """Scale the `.grad` of each parameter by max_norm / (norm + 1e-6), at most 1, with its own norm.

    Args:
        parameters: leaves; those without a gradient are ignored.
        max_norm: the maximum norm.
        norm_type: p of the norm; math.inf takes the largest absolute element.

    Returns:
        The norms before, of the parameters that have a gradient.
    """
    return [clip_grad_norm_(leaf, max_norm, norm_type) for leaf, _ in _with_gradient(parameters)]


def clip_grad_adaptive_(
    parameters: Parameters, clipping: float = 0.01, eps: float = 1e-3, *, units: Units = "last"
) -> None:
    """Scale each unit's `.grad` down to `clipping` times the unit's norm (Brock et al. 2021).

    Semantics of optax.adaptive_grad_clip.

    Args:
        parameters: leaves; those without a gradient are ignored.
        clipping: the maximum ratio of both norms.
        eps: the minimum norm of a unit, so that units of zeros can move.
        units: the axis that counts the units: "last" is optax's convention (matrices by columns, kernels HWIO), "first"
            that of weights [out, in, ...], which our layers have.
    """
    if not (clipping > 0 and eps > 0):
        raise AttributeValueError(f"clipping and eps must be greater than 0, not {clipping} and {eps}")
    with no_grad():
        for leaf, gradient in _with_gradient(parameters):
            _replace(leaf, gradient, clip_adaptively(gradient, leaf, clipping, eps, units))


def clip_grad_value_(parameters: Parameters, clip_value: float) -> None:
    """Limit every element of the `.grad` of all parameters to -clip_value..clip_value."""
    if clip_value < 0:
        raise AttributeValueError(f"clip_value must be at least 0, not {clip_value}")
    with no_grad():
        for leaf, gradient in _with_gradient(parameters):
            _replace(leaf, gradient, clamp(gradient, min=-clip_value, max=clip_value))


def clip_gradients(gradients: MutableMapping[str, Value], max_norm: float) -> float:
    """Scale the gradients of a map by max_norm / (norm + 1e-6) if their norm exceeds max_norm; return the norm.

    ggmlR's clip_grad_norm: the entries of the map are replaced, `.grad` is not touched, and a norm within the limit
    does not change a bit.
    """
    with no_grad():
        total = total_norm(list(gradients.values()), 2.0)
        if total > max_norm:
            for name, gradient in gradients.items():
                gradients[name] = gradient * (max_norm / (total + NORM_EPSILON))
    return total


def total_norm(gradients: Sequence[Value], p: float = 2.0) -> float:
    """Return the norm of order p of all elements together; 0 when there are none."""
    if not gradients:
        return 0.0
    wide = [cast(gradient, dtype=computing_dtype(gradient.dtype)) for gradient in gradients]
    lengths = [cast(norm(gradient, p=_order(p)), dtype=FLOAT64) for gradient in wide]
    return norm(stack(*lengths), p=_order(p)).item()


def _order(p: float) -> float | str:
    return ("inf" if p > 0 else "-inf") if math.isinf(p) else float(p)


def _with_gradient(parameters: Parameters) -> list[tuple[Value, Value]]:
    if isinstance(parameters, Mapping):
        parameters = parameters.values()
    leaves = [parameters] if isinstance(parameters, Value) else list(parameters)
    return [(leaf, leaf.grad) for leaf in leaves if leaf.grad is not None]


def _replace(leaf: Value, gradient: Value, clipped: Value) -> None:
    """Overwrite a gradient in place; one in read-only memory is replaced."""
    if gradient.numpy().flags.writeable:
        gradient.copy_(clipped)
    else:
        leaf.grad = clipped
