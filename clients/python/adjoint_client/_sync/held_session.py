# Made from _async/held_session.py by clients/generate.py: change that file.
"""A session of either kind while a client has it: opened, used, rested, closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, overload

from adjoint_client import steps
from adjoint_client._sync.checkpoint import CheckpointHandle
from adjoint_client._sync.named_arrays import NamedArrays
from adjoint_client._sync.pipeline import Pipeline
from adjoint_client._sync.stepper import Stepper
from adjoint_client._sync.transport import Transport
from adjoint_client.background import Result
from adjoint_client.declaring import declared
from adjoint_client.errors import AdjointError
from adjoint_client.generated.records import Dataset
from adjoint_client.generated.records import Session as SessionInfo
from adjoint_client.http1 import Answer, Request
from adjoint_client.rows import Rows, rows_of
from adjoint_client.step import Step

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

P = ParamSpec("P")
T = TypeVar("T")


def carries_out(build: Callable[P, Step[T]]) -> Callable[Concatenate[HeldSession, P], Result[T]]:
    """Make a method that carries out the steps that `build` makes."""

    def carry_out(self: HeldSession, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.carry_out(build(*args, **kwargs))

    return declared(carry_out, build)


class HeldSession:
    """What sessions of both kinds have; `info` is the latest answer about it."""

    def __init__(self, transport: Transport, info: SessionInfo, patience: float, keep: bool = False) -> None:
        self._transport = transport
        self._stepper = Stepper(transport.connection(), self._path_of(info.id), info.next_seq or 1, patience)
        self._pipeline: Pipeline | None = None
        self._keep = keep
        self.info = info
        self.gradients = NamedArrays(self, "gradients")
        """The gradients by parameter, before clipping; None where no backward pass has reached."""
        self.parameters = NamedArrays(self, "parameters")
        """The parameters by name."""
        self.buffers = NamedArrays(self, "buffers")
        """The buffers by name, such as running statistics; they are only read."""

    def __repr__(self) -> str:
        return f"<session {self.id}, {self.info.state} when last seen>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            (self.detach() if self._keep else self.close())
        except AdjointError:
            if error is None:  # what happened before says more than that the session could not be closed
                raise

    @property
    def id(self) -> str:
        """Its id, `sess_...`."""
        return self.info.id

    @property
    def next_seq(self) -> int:
        """The place in the order of steps that the next one takes."""
        return self._stepper.next_seq

    @overload
    def rows(self, which: slice | ArrayLike, /, *, feeds: Mapping[str, str] | None = None) -> Rows: ...

    @overload
    def rows(
        self, dataset: str | Dataset, which: slice | ArrayLike, /, *, feeds: Mapping[str, str] | None = None
    ) -> Rows: ...

    def rows(self, *given: Any, feeds: Mapping[str, str] | None = None) -> Rows:
        """Return rows of a dataset as the inputs of a step: `rows(dataset, [3, 1])`, or `rows(slice(0, 32))`.

        Rows are a list of numbers or a slice from one up to another; without a dataset they are of the session's.
        `feeds` names the column of an input, where that is not its own name.
        """
        dataset, which = given if len(given) > 1 else (None, *given)
        return rows_of(dataset, which, feeds)

    def save(self) -> CheckpointHandle:
        """Make a checkpoint of the session as it is now."""
        return CheckpointHandle(self._transport, self.carry_out(steps.save()))

    def carry_out(self, step: Step[T]) -> T:
        """Carry out a step behind those that were submitted; the verbs are made of this."""
        self._drained()
        return self._stepper.carry_out(step)

    def read(self, request: Request) -> Answer:
        """Send a request that changes nothing, behind the steps that were submitted; its path is below the session."""
        self._drained()
        below = Request(request.method, f"{self._path()}{request.path}", accept=request.accept)
        return self._stepper.read(below)

    def refresh(self) -> SessionInfo:
        """Ask the server how the session is."""
        return self._seen(self._transport.get(self._path()))

    def pause(self) -> SessionInfo:
        """Have the session leave its place to others; until it is resumed no step is carried out."""
        self._drained()
        return self._seen(self._transport.post(self._path(":pause")))

    def resume(self) -> SessionInfo:
        """Have a paused session take steps again."""
        return self._seen(self._transport.post(self._path(":resume")))

    def close(self) -> None:
        """End the session: what it holds is gone, but for checkpoints."""
        self._drained()
        self._stepper.close()
        self._transport.send("DELETE", self._path(), repeatable=True)

    def detach(self) -> None:
        """Leave the session to the server, to be opened later; it expires when nobody uses it."""
        self._drained()
        self._stepper.close()

    def _drained(self) -> None:
        if self._pipeline is not None:
            self._pipeline.drained()

    def _seen(self, document: Mapping[str, Any]) -> SessionInfo:
        self.info = SessionInfo(document)
        return self.info

    def _path(self, rest: str = "") -> str:
        return f"{self._path_of(self.id)}{rest}"

    @staticmethod
    def _path_of(session_id: str) -> str:
        return f"/v1/sessions/{session_id}"
