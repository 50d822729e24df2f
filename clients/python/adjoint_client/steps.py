"""The steps of a session, each declared once: sessions carry them out, pipelines submit them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from adjoint_client.generated.records import Checkpoint
from adjoint_client.npy import npy_bytes
from adjoint_client.passes import Backward, Forward, ForwardBackward, OptimizerStep, RowLosses, Tape
from adjoint_client.rows import Rows
from adjoint_client.safetensors import Block, block
from adjoint_client.step import Arrays, Document, GradientStep, Step

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

T = TypeVar("T")

Inputs: TypeAlias = "Mapping[str, ArrayLike] | Rows"


def forward(
    inputs: Inputs | None = None, /, *, training: bool = True, keep: bool = False, **arrays: ArrayLike
) -> Step[Forward]:
    """Run a forward pass: outputs and losses; with `keep` there is a `tape` for `backward`.

    Inputs are arrays by name, in a mapping or as keywords, or `rows`. `training` is whether dropout drops and running
    statistics are updated.
    """
    options: Document = ({} if training else {"training": False}) | ({"keep": True} if keep else {})
    return _fed(
        "forward",
        lambda answer, outputs: Forward.from_wire(answer, outputs or {}),
        inputs,
        arrays,
        options,
        outputs=True,
    )


def backward(
    tape: Tape | str, cotangents: Mapping[str, ArrayLike] | None = None, /, **arrays: ArrayLike
) -> Step[Backward]:
    """Add the vector-Jacobian product of outputs and losses with these cotangents to the gradients.

    Cotangents are arrays by output or loss, in a mapping or as keywords, each of the shape of its output.
    """
    blocks = _blocks({**(cotangents or {}), **arrays})
    tape_id = tape if isinstance(tape, str) else tape.id
    return Step("backward", _without_arrays(Backward.from_wire), {"tape_id": tape_id}, blocks)


def forward_backward(
    inputs: Inputs | None = None,
    /,
    *,
    reduction: str | None = None,
    micro_batch_size: int | None = None,
    outputs: bool = False,
    **arrays: ArrayLike,
) -> Step[ForwardBackward]:
    """Run forward and backward, and add the gradients of the sum of the losses.

    Inputs are arrays by name, in a mapping or as keywords, or `rows`. `reduction` is "sum" or "mean" over rows, by
    default what the loss does; with "sum", calls for the parts of a batch add up to one for the whole, bit for bit.
    `micro_batch_size` is how many rows are computed at a time; `outputs` whether the outputs are wanted.
    """
    options = _given(reduction=reduction, micro_batch_size=micro_batch_size) | ({"outputs": True} if outputs else {})
    return _fed("forward_backward", ForwardBackward.from_wire, inputs, arrays, options, outputs=outputs)


def optim_step(**hyperparameters: Any) -> Step[OptimizerStep]:
    """Let the optimizer step the parameters; their gradients are gone then.

    `lr=0.01`, `weight_decay=0.1`, `betas=(0.9, 0.99)` ... hold for this step alone; `groups` is a list of objects with
    options of single groups.
    """
    return Step("optim_step", _without_arrays(OptimizerStep.from_wire), hyperparameters)


def zero_grad(*, set_to_none: bool = False) -> Step[None]:
    """Set the gradients that there are to 0; with `set_to_none` there are none then."""
    return Step("zero_grad", _nothing, {"set_to_none": True} if set_to_none else {})


def reset(*, gradients: bool = True, momenta: bool = False) -> Step[None]:
    """Set the gradients to 0, as `zero_grad`; with `momenta` the optimizer begins anew."""
    return Step("reset", _nothing, {"gradients": gradients, "momenta": momenta})


def set_parameters(parameters: Mapping[str, ArrayLike] | None = None, /, **arrays: ArrayLike) -> Step[None]:
    """Write arrays into parameters, in a mapping or as keywords: all of them, or none."""
    return Step("set", _nothing, {}, _blocks({**(parameters or {}), **arrays}))


def set_gradient(parameter: str, gradient: ArrayLike | None) -> Step[None]:
    """Put an array in the place of a parameter's gradient, or nothing: None."""
    npy = None if gradient is None else npy_bytes(gradient)
    return GradientStep("set_gradient", _nothing, parameter=parameter, npy=npy)


def load(checkpoint: str, *, optimizer: bool = True) -> Step[int]:
    """Go on from a checkpoint; return the steps that the optimizer had taken."""
    return Step("load", lambda answer, _: int(answer["step"]), {"checkpoint": checkpoint, "optimizer": optimizer})


def save() -> Step[Checkpoint]:
    """Make a checkpoint of the session."""
    return Step("save", _without_arrays(Checkpoint.from_dict))


def row_losses(inputs: Inputs | None = None, /, *, top: int | None = None, **arrays: ArrayLike) -> Step[RowLosses]:
    """Compute the loss of each row by itself, in evaluation mode; `top` is how many of the worst to name."""
    return _fed("row_losses", _without_arrays(RowLosses.from_wire), inputs, arrays, _given(top=top), ordered=False)


def trace_nonfinite(inputs: Inputs | None = None, /, **arrays: ArrayLike) -> Step[Document | None]:
    """Find the first that is not finite: of the leaves, of the nodes in order, then of the backward pass's.

    The result has its name, kind, phase and op, and how many elements are NaN and infinite; None if all is finite.
    """
    return _fed("trace_nonfinite", lambda answer, _: answer["first"], inputs, arrays, {}, ordered=False)


def profile(inputs: Inputs | None = None, /, **arrays: ArrayLike) -> Step[Document]:
    """Measure a training step node by node; nothing is changed.

    The result has the nodes in their order (`data`: name, op, phase, seconds ...) and the seconds of each phase.
    """
    return _fed("profile", lambda answer, _: answer, inputs, arrays, {}, ordered=False)


def predict(inputs: Inputs | None = None, /, *, chunk: int | None = None, **arrays: ArrayLike) -> Step[Arrays]:
    """Compute the outputs in evaluation mode, `chunk` rows at a time."""
    return _fed(
        "predict",
        lambda _, outputs: outputs or {},
        inputs,
        arrays,
        _given(chunk=chunk),
        outputs=True,
        ordered=False,
    )


def _fed(
    verb: str,
    read: Callable[[Document, Arrays | None], T],
    inputs: Inputs | None,
    arrays: Mapping[str, ArrayLike],
    options: Document,
    *,
    outputs: bool = False,
    ordered: bool = True,
) -> Step[T]:
    """A step with inputs."""
    if not isinstance(inputs, Rows):
        blocks = _blocks({**(inputs or {}), **arrays})
        return Step(verb, read, options if blocks else {"inputs": {}, **options}, blocks, ordered, outputs)
    if arrays:
        raise TypeError(f"give rows of a dataset or arrays, not both: {', '.join(arrays)}")
    sent = {"rows": inputs.reference, **_given(feeds=inputs.feeds), **options}
    return Step(verb, read, sent, {}, ordered, outputs)


def _blocks(arrays: Mapping[str, ArrayLike]) -> dict[str, Block]:
    return {name: block(name, value) for name, value in arrays.items()}


def _given(**options: Any) -> Document:
    return {name: value for name, value in options.items() if value is not None}


def _nothing(_document: Document, _arrays: Arrays | None) -> None:
    return None


def _without_arrays(read: Callable[[Document], T]) -> Callable[[Document, Arrays | None], T]:
    return lambda document, _: read(document)
