# Made from _async/named_arrays.py by clients/generate.py: change that file.
"""The gradients, parameters or buffers of a session, by name."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal

from adjoint_client import steps
from adjoint_client.by_name import Array, Assignable
from adjoint_client.errors import ServerError
from adjoint_client.http1 import Request
from adjoint_client.npy import NPY, read_npy
from adjoint_client.safetensors import decode
from adjoint_client.statistics import ArrayInfo, Statistics
from adjoint_client.step import named
from adjoint_client.tensors import from_wire
from adjoint_client.uploads import SAFETENSORS

if TYPE_CHECKING:
    from adjoint_client._sync.held_session import HeldSession
    from numpy.typing import ArrayLike

Kind = Literal["gradients", "parameters", "buffers"]


class NamedArrays(Assignable):
    """Reads and writes arrays of a session, each when it is asked for; nothing is kept here."""

    def __init__(self, session: HeldSession, kind: Kind) -> None:
        self._session = session
        self._kind: Kind = kind

    def __getitem__(self, name: str) -> Array | None:
        try:
            answer = self._session.read(Request("GET", named(self._kind, name), accept=NPY))
        except ServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise KeyError(str(error)) from error  # as a mapping does it
            raise
        if answer.media.startswith(NPY):
            return read_npy(answer.body)
        document = json.loads(answer.body)
        return None if document is None else from_wire(document)

    def set(self, name: str, value: ArrayLike | None) -> None:
        """Write an array; None in the place of a gradient removes it."""
        if self._kind == "gradients":
            self._session.carry_out(steps.set_gradient(name, value))
        elif self._kind == "parameters" and value is not None:
            self._session.carry_out(steps.set_parameters({name: value}))
        else:
            raise TypeError(f"{self._kind} cannot be {'written' if self._kind == 'buffers' else 'removed'}")

    def names(self) -> list[str]:
        """Return the names."""
        return [info.name for info in self.infos()]

    def infos(self) -> list[ArrayInfo]:
        """Return what there is, with norms, without its numbers."""
        answer = self._session.read(Request("GET", f"/{self._kind}"))
        return [ArrayInfo.from_wire(item) for item in json.loads(answer.body)["data"]]

    def load(self) -> dict[str, Array]:
        """Return all of them, but gradients that there are not."""
        answer = self._session.read(Request("GET", f"/{self._kind}", accept=SAFETENSORS))
        return decode(answer.body).arrays

    def statistics(self, name: str) -> Statistics | None:
        """Return one in a few numbers; None for a gradient that there is not."""
        answer = self._session.read(Request("GET", f"{named(self._kind, name)}?stats=true"))
        document = json.loads(answer.body)
        return None if document["histogram"] is None else Statistics.from_wire(document)
