"""Results of a session's calls, and the tape that a forward pass keeps for backward passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from engine.core.errors import DocumentError, Finding, escape, nearest
from engine.core.value import Array, Shape, Spec
from engine.graph.tensors import as_numbers


@dataclass(frozen=True, eq=False, slots=True)
class Tape:
    """Copies of what the backward pass reads of one forward pass. Valid until the parameters change.

    Attributes:
        dims: the extents of the graph.
        shapes: of the inputs, in the graph's order.
        training: the mode it ran in.
        ends: shape and dtype of what a cotangent can be given for: the floating outputs and the losses.
        version: the version of the session's parameters at the forward pass.
        saved: the copies.
    """

    owner: object = field(repr=False)
    dims: Mapping[str, int]
    shapes: tuple[Shape, ...]
    training: bool
    ends: Mapping[str, Spec]
    version: int
    saved: Mapping[str, Array] = field(repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return sum(array.nbytes for array in self.saved.values())


def check_cotangents(tape: Tape, given: Mapping[str, Any]) -> dict[str, Array]:
    """Return the cotangents in the order of the tape's ends.

    Raises:
        DocumentError: there are none, or one has an unknown name or another shape than its output, with its pointer.
    """
    findings = []
    found: dict[str, Array] = {}
    if not given:
        known = ", ".join(tape.ends)
        findings.append(Finding("/cotangents", "missing_field", f"give a cotangent for at least one of {known}"))
    for name, value in given.items():
        pointer, spec, array = f"/cotangents/{escape(name)}", tape.ends.get(name), as_numbers(value)
        if spec is None:
            detail = f"the graph has no floating output or loss of this name{nearest(str(name), tape.ends)}"
            findings.append(Finding(pointer, "unknown_name", detail))
        elif array is None:
            findings.append(Finding(pointer, "dtype_mismatch", f"the cotangent of {name!r} must be numbers"))
        elif array.size == prod(spec.shape) == 1:
            # ggml's scalars have the shape [1], PyTorch's none: a loss is taken for either.
            found[name] = array.reshape(spec.shape)
        elif array.shape != spec.shape:
            shapes = f"shape {list(array.shape)}, the output {list(spec.shape)}: they must be equal"
            findings.append(Finding(pointer, "shape_mismatch", f"the cotangent of {name!r} has {shapes}"))
        else:
            found[name] = array
    if findings:
        raise DocumentError(findings)
    return {name: found[name] for name in tape.ends if name in found}


@dataclass(frozen=True, slots=True)
class Forward:
    """A forward pass: declared outputs, losses, and the tape for `backward` if it was requested."""

    outputs: Mapping[str, Array]
    losses: Mapping[str, float]
    tape: Tape | None = None


@dataclass(frozen=True, slots=True)
class Gradients:
    """The accumulated gradients before clipping: global norm, and the norm of each parameter's."""

    norm: float
    norms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PassResult:
    """A forward and backward pass: each loss and their sum with the requested reduction, and norms as in `Gradients`.

    `outputs` are the declared outputs if they were requested.
    """

    losses: Mapping[str, float]
    loss: float
    norm: float
    norms: Mapping[str, float]
    outputs: Mapping[str, Array] | None = None


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """A step of the optimizer.

    Attributes:
        step: number of steps taken.
        norm: of all gradients together, before clipping.
        norms: of each parameter's.
        clipped: whether clipping changed a gradient.
        taken: whether parameters changed: False without a gradient, and for a skipped step that is not finite.
    """

    step: int
    norm: float
    norms: Mapping[str, float]
    clipped: bool
    taken: bool
