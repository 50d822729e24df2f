"""A checkpoint: download it, load it into NumPy, predict with it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from adjoint_client._async.download import Remote, download
from adjoint_client._async.tables import AsyncTableCalls
from adjoint_client._async.transport import AsyncTransport
from adjoint_client.generated.records import Checkpoint
from adjoint_client.npy import NPY, npy_bytes, read_npy
from adjoint_client.safetensors import Tensors, decode
from adjoint_client.tensors import all_from_wire, all_to_wire

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_STATE_PREFIXES = ("buffer:", "optimizer:", "state:")


class AsyncCheckpointHandle(AsyncTableCalls):
    """A checkpoint on the server; `info` says which step it is of, how good and how large it is."""

    def __init__(self, transport: AsyncTransport, info: Checkpoint) -> None:
        self._transport = transport
        self.info = info

    def __repr__(self) -> str:
        return f"<checkpoint {self.id} of step {self.info.step}>"

    @property
    def id(self) -> str:
        """Its id, `ckpt_...`."""
        return self.info.id

    async def download(self, path: str | PathLike[str]) -> Path:
        """Write the safetensors file to `path` and return that.

        The bytes gather in a file beside it, named after their digest, and a later call goes on from there.

        Raises:
            DownloadDamaged: what arrived is not what the server holds.
            ServerUnreachable: the connection was lost and could not be had back.
        """
        path = Path(path)
        partial = path.with_name(f"{path.name}.{self.info.digest[:12]}.part")
        with partial.open("a+b") as target:
            await download(self._transport, self._content, target)
        return partial.replace(path)

    async def tensors(self) -> Tensors:
        """Return everything in the checkpoint, the state of the optimizer (`optimizer:...`) included."""
        target = io.BytesIO()
        await download(self._transport, self._content, target)
        return decode(target.getvalue())

    async def load(self) -> dict[str, NDArray[Any]]:
        """Return the parameters by name."""
        arrays = (await self.tensors()).arrays
        return {name: array for name, array in arrays.items() if not name.startswith(_STATE_PREFIXES)}

    async def pin(self, pinned: bool = True) -> Checkpoint:
        """Pin the checkpoint, so that newer ones do not replace it, or unpin it."""
        response = await self._transport.send(
            "PATCH", f"/v1/checkpoints/{self.id}", json={"pinned": pinned}, repeatable=True
        )
        self.info = Checkpoint(response.json())
        return self.info

    async def delete(self) -> None:
        """Delete the checkpoint; what was downloaded stays."""
        await self._transport.send("DELETE", f"/v1/checkpoints/{self.id}", repeatable=True)

    @overload
    async def predict(self, inputs: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]: ...

    @overload
    async def predict(self, inputs: ArrayLike) -> NDArray[Any]: ...

    async def predict(self, inputs: Mapping[str, ArrayLike] | ArrayLike) -> dict[str, NDArray[Any]] | NDArray[Any]:
        """Run the graph in evaluation mode on the rows in `inputs`.

        Given arrays by input, return arrays by output; given one array for the only input that the outputs depend
        on, return the first output.
        """
        if isinstance(inputs, Mapping):
            answer = await self._transport.post(self._predict, {"inputs": all_to_wire(inputs)})
            return all_from_wire(answer["outputs"])
        content = npy_bytes(inputs)
        headers = {"Content-Type": NPY, "Accept": NPY}
        response = await self._transport.send(
            "POST", self._predict, body=lambda: content, headers=headers, repeatable=True
        )
        return read_npy(response.content)

    @property
    def _predict(self) -> str:
        return f"/v1/checkpoints/{self.id}:predict"

    @property
    def _content(self) -> Remote:
        return Remote(f"/v1/checkpoints/{self.id}/content", self.info.digest, self.info.size_bytes)
