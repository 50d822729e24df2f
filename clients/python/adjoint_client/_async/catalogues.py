"""What graphs and fits are made of, as the server's version has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint_client._async.transport import AsyncTransport
    from adjoint_client.generated.schemas import CatalogueEntry, LossEntry, MetricEntry, OpEntry


class AsyncCatalogues:
    """Lists the ops, layers, losses, optimizers and so on that the server has."""

    _transport: AsyncTransport

    async def ops(self) -> list[OpEntry]:
        """Return all ops: what they compute, their inputs and options."""
        entries: list[OpEntry] = await self._catalogue("ops")
        return entries

    async def op(self, name: str) -> OpEntry:
        """Return one op by its name or one of its aliases."""
        entry: OpEntry = await self._transport.get(f"/v1/ops/{name}")
        return entry

    async def layers(self) -> list[CatalogueEntry]:
        """Return the kinds of layers, with their options."""
        entries: list[CatalogueEntry] = await self._catalogue("layers")
        return entries

    async def losses(self) -> list[LossEntry]:
        """Return the kinds of losses, with their options."""
        entries: list[LossEntry] = await self._catalogue("losses")
        return entries

    async def optimizers(self) -> list[CatalogueEntry]:
        """Return the kinds of optimizers, with their options."""
        entries: list[CatalogueEntry] = await self._catalogue("optimizers")
        return entries

    async def schedules(self) -> list[CatalogueEntry]:
        """Return the kinds of learning rate schedules, with their options."""
        entries: list[CatalogueEntry] = await self._catalogue("schedules")
        return entries

    async def metrics(self) -> list[MetricEntry]:
        """Return the kinds of metrics, with their options."""
        entries: list[MetricEntry] = await self._catalogue("metrics")
        return entries

    async def initializers(self) -> list[CatalogueEntry]:
        """Return the kinds of initial values of parameters, with their options."""
        entries: list[CatalogueEntry] = await self._catalogue("initializers")
        return entries

    async def _catalogue(self, name: str) -> Any:
        return (await self._transport.get(f"/v1/{name}"))["data"]
