"""The things that a server stores: lists, single ones, and their removal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from adjoint_client._async.checkpoint import AsyncCheckpointHandle
from adjoint_client._async.fit import AsyncFitHandle
from adjoint_client._async.sweep import AsyncSweepHandle
from adjoint_client.filters import query_of
from adjoint_client.generated.records import Checkpoint, Dataset, Fit, Graph, GraphSummary
from adjoint_client.generated.records import Session as SessionInfo
from adjoint_client.uploads import SAFETENSORS

if TYPE_CHECKING:
    from os import PathLike
    from typing import Unpack

    from numpy.typing import ArrayLike

    from adjoint_client._async.transport import AsyncTransport
    from adjoint_client.filters import (
        CheckpointFilters,
        DatasetFilters,
        FitFilters,
        GraphFilters,
        SessionFilters,
    )

Order = Literal["asc", "desc"]


class AsyncResources:
    """Lists, reads and deletes fits, datasets, graphs, checkpoints and sessions.

    A list is whole: pages are fetched as needed. It has the newest first, or with `order="asc"` the oldest; `limit` is
    how many it has at most. What is deleted is named by its id, or is what a list or a method returned.
    """

    _transport: AsyncTransport

    async def fits(
        self, *, order: Order = "desc", limit: int | None = None, **filters: Unpack[FitFilters]
    ) -> list[AsyncFitHandle]:
        """Return fits: all, or those that meet the `filters`, such as `state="running"` or `name_prefix="digits"`."""
        found = await self._transport.list("/v1/fits", query_of(filters, order=order), limit)
        return [self._handle(Fit(item)) for item in found]

    async def datasets(
        self, *, order: Order = "desc", limit: int | None = None, **filters: Unpack[DatasetFilters]
    ) -> list[Dataset]:
        """Return the datasets: all, or those that meet the `filters`."""
        found = await self._transport.list("/v1/datasets", query_of(filters, order=order), limit)
        return [Dataset(item) for item in found]

    async def graphs(
        self, *, order: Order = "desc", limit: int | None = None, **filters: Unpack[GraphFilters]
    ) -> list[GraphSummary]:
        """Return the graphs, all or those that meet the `filters`, without definitions; `get_graph` has those."""
        found = await self._transport.list("/v1/graphs", query_of(filters, order=order), limit)
        return [GraphSummary(item) for item in found]

    async def checkpoints(
        self,
        fit: str | Fit | AsyncFitHandle | None = None,
        *,
        order: Order = "desc",
        limit: int | None = None,
        **filters: Unpack[CheckpointFilters],
    ) -> list[AsyncCheckpointHandle]:
        """Return the checkpoints that are kept: all, those of a fit, or those that meet the `filters`."""
        query = query_of(filters, order=order, fit=None if fit is None else id_of(fit))
        found = await self._transport.list("/v1/checkpoints", query, limit)
        return [AsyncCheckpointHandle(self._transport, Checkpoint(item)) for item in found]

    async def sessions(
        self, *, order: Order = "desc", limit: int | None = None, **filters: Unpack[SessionFilters]
    ) -> list[SessionInfo]:
        """Return sessions: all, or those that meet the `filters`; `open_session` goes on with one."""
        found = await self._transport.list("/v1/sessions", query_of(filters, order=order), limit)
        return [SessionInfo(item) for item in found]

    async def get_fit(self, fit_id: str) -> AsyncFitHandle:
        """Return a fit that has been started before; an `AsyncSweepHandle` if it has variants."""
        return self._handle(Fit(await self._transport.get(f"/v1/fits/{fit_id}")))

    async def get_dataset(self, dataset_id: str) -> Dataset:
        """Return a dataset by its id: its rows and columns, without their numbers."""
        return Dataset(await self._transport.get(f"/v1/datasets/{dataset_id}"))

    async def get_graph(self, graph_id: str) -> Graph:
        """Return a graph by its id, with its definition as nodes."""
        return Graph(await self._transport.get(f"/v1/graphs/{graph_id}"))

    async def get_checkpoint(self, checkpoint_id: str) -> AsyncCheckpointHandle:
        """Return a checkpoint by its id."""
        info = await self._transport.get(f"/v1/checkpoints/{checkpoint_id}")
        return AsyncCheckpointHandle(self._transport, Checkpoint(info))

    async def get_session(self, session_id: str) -> SessionInfo:
        """Return what the server says of a session, without opening it."""
        return SessionInfo(await self._transport.get(f"/v1/sessions/{session_id}"))

    async def upload_checkpoint(
        self, source: Mapping[str, ArrayLike] | str | PathLike[str], graph: str | Graph
    ) -> AsyncCheckpointHandle:
        """Store parameters of a graph as a checkpoint: arrays by name, or a safetensors file.

        Raises:
            ServerError: a parameter is missing, or has another shape than the graph says.
        """
        from adjoint_client.safetensors import encode

        content = encode(source) if isinstance(source, Mapping) else Path(source).read_bytes()
        headers = {"Content-Type": SAFETENSORS, "Idempotency-Key": str(uuid4())}
        response = await self._transport.send(
            "POST", "/v1/checkpoints", params={"graph": id_of(graph)}, body=lambda: content, headers=headers
        )
        return AsyncCheckpointHandle(self._transport, Checkpoint(response.json()))

    async def delete_fit(self, fit: str | Fit | AsyncFitHandle) -> None:
        """Delete a fit that has ended, with its curves and checkpoints."""
        await self._delete("fits", fit)

    async def delete_dataset(self, dataset: str | Dataset) -> None:
        """Delete a dataset that no fit or session in progress uses."""
        await self._delete("datasets", dataset)

    async def delete_graph(self, graph: str | Graph | GraphSummary) -> None:
        """Delete a graph that no fit or session in progress uses."""
        await self._delete("graphs", graph)

    async def delete_checkpoint(self, checkpoint: str | Checkpoint | AsyncCheckpointHandle) -> None:
        """Delete a checkpoint."""
        await self._delete("checkpoints", checkpoint)

    async def delete_session(self, session: str | SessionInfo) -> None:
        """Close a session; what it holds is gone, but for checkpoints."""
        await self._delete("sessions", session)

    async def _delete(self, kind: str, thing: Any) -> None:
        await self._transport.send("DELETE", f"/v1/{kind}/{id_of(thing)}", repeatable=True)

    def _handle(self, info: Fit) -> AsyncFitHandle:
        return (AsyncSweepHandle if info.sweep else AsyncFitHandle)(self._transport, info)


def id_of(thing: Any) -> str:
    """Return the id of something that is given as an id, or has one."""
    return thing if isinstance(thing, str) else str(thing.id)
