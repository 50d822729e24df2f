"""A step of a session on the wire: how it is sent, and how its answer is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

from adjoint_client.http1 import Answer, Request
from adjoint_client.npy import NPY
from adjoint_client.safetensors import Block, Buffer, decode, encode_blocks
from adjoint_client.tensors import all_from_wire
from adjoint_client.uploads import SAFETENSORS

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
Array: TypeAlias = "NDArray[Any]"
Document = dict[str, Any]
Arrays = dict[str, Array]

JSON = "application/json"
_OUTPUT = "outputs/"


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

    def copied(self) -> Step[T]:
        """Return a step that stays as it is when the arrays change that it was made of."""
        return replace(self, blocks={name: found.copied() for name, found in self.blocks.items()})

    def request(self, session: str, seq: int | None) -> Request:
        """Return the request that carries it out in the session at this path."""
        accept = SAFETENSORS if self.outputs else JSON
        target = f"{session}:{self.verb}"
        if not self.blocks:
            options = self.options if seq is None else {"seq": seq, **self.options}
            return Request("POST", target, [_encode(options)], JSON, accept)
        query = [] if seq is None else [f"seq={seq}"]
        query += [f"{name}={quote(_plain_text(value), safe='')}" for name, value in self.options.items()]
        if query:
            target += "?" + "&".join(query)
        return Request("POST", target, encode_blocks(self.blocks), SAFETENSORS, accept)


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


def request_for_all(path: str, steps: Sequence[tuple[Step[Any], int | None]]) -> Request:
    """Return the request that carries out several steps in order, up to the first that fails."""
    listed = [{"verb": step.verb, **({} if seq is None else {"seq": seq}), **step.options} for step, seq in steps]
    blocks = {f"{place}/{name}": found for place, (step, _) in enumerate(steps) for name, found in step.blocks.items()}
    body: list[Buffer] = encode_blocks(blocks, {"steps": _text(listed)}) if blocks else [_encode({"steps": listed})]
    return Request("POST", f"{path}:batch", body, SAFETENSORS if blocks else JSON)


def read_answer(step: Step[T], answer: Answer) -> tuple[T, int | None]:
    """Return the result of a step, and the place that it took."""
    if answer.media.startswith(SAFETENSORS):
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


def _encode(document: Any) -> bytes:
    return _text(document).encode()


def _text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain_text(value: Any) -> str:
    return value if isinstance(value, str) else _text(value)


def _plain(value: Any) -> Any:
    """NumPy's numbers, which schedules are often made of, as Python's."""
    import numpy as np

    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be written as JSON")
