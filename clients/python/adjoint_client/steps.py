"""The steps of a session, each declared once: what is sent, and how the answer is read."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjoint_client.generated.models import Checkpoint, Dataset
from adjoint_client.http1 import Answer, Request
from adjoint_client.npy import NPY, npy_bytes
from adjoint_client.passes import Backward, Forward, ForwardBackward, OptimizerStep, Tape
from adjoint_client.safetensors import Block, Buffer, block, decode, encode_blocks
from adjoint_client.tensors import all_from_wire
from adjoint_client.uploads import SAFETENSORS

T = TypeVar("T")
Array = NDArray[Any]
Document = dict[str, Any]
Arrays = dict[str, Array]

JSON = "application/json"
_OUTPUT = "outputs/"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a dataset as the inputs of a step; see `Session.rows`."""

    reference: Mapping[str, Any]
    feeds: Mapping[str, str] | None = None


Inputs = Mapping[str, ArrayLike] | Rows


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """A verb with its options and arrays.

    Attributes:
        verb: what to do.
        read: makes a result of the answer and of the arrays that came with it, None if they were not asked for.
        options: the fields of the request that are no arrays.
        blocks: the arrays.
        ordered: whether it takes a place in the order of steps, and so carries a `seq`.
        outputs: whether arrays come with the answer.
    """

    verb: str
    read: Callable[[Document, Arrays | None], T]
    options: Mapping[str, Any] = field(default_factory=dict)
    blocks: Mapping[str, Block] = field(default_factory=dict)
    ordered: bool = True
    outputs: bool = False

    @property
    def size(self) -> int:
        """Bytes of its arrays."""
        return sum(len(found.content) for found in self.blocks.values())

    def copied(self) -> "Step[T]":
        """Return a step that stays as it is when the arrays change that it was made of."""
        return replace(self, blocks={name: found.copied() for name, found in self.blocks.items()})

    def request(self, session: str, seq: int | None) -> Request:
        """Return the request that carries it out in the session at this path."""
        options = self.options if seq is None else {"seq": seq, **self.options}
        target, accept = f"{session}:{self.verb}", SAFETENSORS if self.outputs else JSON
        if not self.blocks:
            return Request("POST", target, [_spelled(options)], JSON, accept)
        query = urlencode({name: value if isinstance(value, str) else _text(value) for name, value in options.items()})
        return Request("POST", f"{target}?{query}", encode_blocks(self.blocks), SAFETENSORS, accept)


@dataclass(frozen=True, slots=True)
class GradientStep(Step[None]):
    """Puts an array in the place of a parameter's gradient, or nothing: None."""

    parameter: str = ""
    npy: bytes | None = None

    def request(self, session: str, seq: int | None) -> Request:
        """Return the request that carries it out in the session at this path."""
        target = f"{session}{named('gradients', self.parameter)}" + ("" if seq is None else f"?seq={seq}")
        body, media = (b"null", JSON) if self.npy is None else (self.npy, NPY)
        return Request("PUT", target, [body], media)


def forward(
    inputs: Inputs | None = None, /, *, training: bool = True, keep: bool = False, **arrays: ArrayLike
) -> Step[Forward]:
    """Run a forward pass: outputs and losses; with `keep` there is a `tape` for `backward`.

    Inputs are arrays by name, in a mapping or as keywords, or `rows`. `training` is whether dropout drops and running
    statistics are updated.
    """
    options: Document = ({} if training else {"training": False}) | ({"keep": True} if keep else {})
    return _fed(
        "forward", lambda answer, outputs: Forward.from_wire(answer, outputs or {}), inputs, arrays, options, True
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
    return _fed("forward_backward", ForwardBackward.from_wire, inputs, arrays, options, outputs)


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


def save(labels: Mapping[str, str] | None = None) -> Step[Checkpoint]:
    """Make a checkpoint of the session."""
    return Step("save", _without_arrays(Checkpoint.from_dict), _given(labels=labels))


def row_losses(inputs: Inputs | None = None, /, **arrays: ArrayLike) -> Step[Document]:
    """Compute the loss of each row by itself, in evaluation mode: which rows spike."""
    return _fed("row_losses", _document, inputs, arrays, {}, False, ordered=False)


def trace_nonfinite(inputs: Inputs | None = None, /, **arrays: ArrayLike) -> Step[Document]:
    """Find the first that is not finite: of the leaves, of the nodes in order, then of the backward pass's."""
    return _fed("trace_nonfinite", _document, inputs, arrays, {}, False, ordered=False)


def profile(inputs: Inputs | None = None, /, **arrays: ArrayLike) -> Step[Document]:
    """Measure a training step node by node; nothing is changed."""
    return _fed("profile", _document, inputs, arrays, {}, False, ordered=False)


def predict(inputs: Inputs | None = None, /, *, chunk: int | None = None, **arrays: ArrayLike) -> Step[Arrays]:
    """Compute the outputs in evaluation mode, so many rows (`chunk`) at a time."""
    return _fed("predict", lambda _, outputs: outputs or {}, inputs, arrays, _given(chunk=chunk), True, ordered=False)


def request_for_all(path: str, steps: Sequence[tuple[Step[Any], int | None]]) -> Request:
    """Return the request that carries out several steps in order, up to the first that fails."""
    listed = [{"verb": step.verb, **({} if seq is None else {"seq": seq}), **step.options} for step, seq in steps]
    blocks = {f"{place}/{name}": found for place, (step, _) in enumerate(steps) for name, found in step.blocks.items()}
    body: list[Buffer] = encode_blocks(blocks, {"steps": _text(listed)}) if blocks else [_spelled({"steps": listed})]
    return Request("POST", f"{path}:batch", body, SAFETENSORS if blocks else JSON)


def read_answer(step: Step[T], answer: Answer) -> tuple[T, int | None]:
    """Return the result of a step, and the place that it took."""
    if answer.head.headers.get("content-type", "").startswith(SAFETENSORS):
        tensors = decode(answer.body)
        document = json.loads(tensors.metadata["answer"])
        outputs = {name.removeprefix(_OUTPUT): array for name, array in tensors.arrays.items()}
        return step.read(document, outputs), document.get("seq")
    return read_document(step, json.loads(answer.body))


def read_document(step: Step[T], document: Document) -> tuple[T, int | None]:
    """Return the result of a step whose answer is JSON throughout, and the place that it took."""
    outputs = document.get("outputs")
    return step.read(document, None if outputs is None else all_from_wire(outputs)), document.get("seq")


def named(kind: str, name: str) -> str:
    """Return the path, below that of a session, of an array by its name."""
    return f"/{kind}/{quote(name, safe='')}"


def rows_of(dataset: str | Dataset | None, which: slice | ArrayLike, feeds: Mapping[str, str] | None = None) -> Rows:
    """Return a reference to rows of a dataset.

    Raises:
        ValueError: the slice goes backwards, in steps, or has no end.
    """
    reference = {} if dataset is None else {"dataset": dataset if isinstance(dataset, str) else dataset.id}
    if not isinstance(which, slice):
        indices = np.asarray(which)
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise ValueError(f"rows are numbered by a list of integers, not by {indices.dtype} {list(indices.shape)}")
        return Rows({**reference, "indices": indices.tolist()}, feeds)
    start, stop = which.start or 0, which.stop
    if stop is None or which.step not in (None, 1) or min(start, stop) < 0:
        raise ValueError(f"rows {which} are not from one number up to another; list their indices instead")
    return Rows({**reference, "start": int(start), "stop": int(stop)}, feeds)


def _fed(
    verb: str,
    read: Callable[[Document, Arrays | None], T],
    inputs: Inputs | None,
    arrays: Mapping[str, ArrayLike],
    options: Document,
    outputs: bool,
    *,
    ordered: bool = True,
) -> Step[T]:
    """A step with inputs."""
    if not isinstance(inputs, Rows):
        blocks = _blocks({**(inputs or {}), **arrays})
        return Step(verb, read, options if blocks else {"inputs": {}, **options}, blocks, ordered, outputs)
    if arrays:
        raise TypeError(f"give rows of a dataset or arrays, not both: {', '.join(arrays)}")
    told = {"rows": inputs.reference, **_given(feeds=inputs.feeds), **options}
    return Step(verb, read, told, {}, ordered, outputs)


def _blocks(arrays: Mapping[str, ArrayLike]) -> dict[str, Block]:
    return {name: block(name, value) for name, value in arrays.items()}


def _given(**options: Any) -> Document:
    return {name: value for name, value in options.items() if value is not None}


def _document(document: Document, _arrays: Arrays | None) -> Document:
    return document


def _nothing(_document: Document, _arrays: Arrays | None) -> None:
    return None


def _without_arrays(read: Callable[[Document], T]) -> Callable[[Document, Arrays | None], T]:
    return lambda document, _: read(document)


def _spelled(document: Any) -> bytes:
    return _text(document).encode()


def _text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """NumPy's numbers, which schedules are often made of, as Python's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be written as JSON")
