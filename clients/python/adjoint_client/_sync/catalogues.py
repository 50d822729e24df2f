# Made from _async/catalogues.py by clients/generate.py: change that file.
"""What graphs and fits are made of, as the server's version has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint_client._sync.transport import Transport
    from adjoint_client.generated.schemas import CatalogueEntry, LossEntry, MetricEntry, OpEntry


class Catalogues:
    """Lists the ops, layers, losses, optimizers and so on that the server has."""

    _transport: Transport

    def ops(self) -> list[OpEntry]:
        """Return all ops: what they compute, their inputs and options."""
        entries: list[OpEntry] = self._catalogue("ops")
        return entries

    def op(self, name: str) -> OpEntry:
        """Return one op by its name or one of its aliases."""
        entry: OpEntry = self._transport.get(f"/v1/ops/{name}")
        return entry

    def layers(self) -> list[CatalogueEntry]:
        """Return the kinds of layers, with their options."""
        entries: list[CatalogueEntry] = self._catalogue("layers")
        return entries

    def losses(self) -> list[LossEntry]:
        """Return the kinds of losses, with their options."""
        entries: list[LossEntry] = self._catalogue("losses")
        return entries

    def optimizers(self) -> list[CatalogueEntry]:
        """Return the kinds of optimizers, with their options."""
        entries: list[CatalogueEntry] = self._catalogue("optimizers")
        return entries

    def schedules(self) -> list[CatalogueEntry]:
        """Return the kinds of learning rate schedules, with their options."""
        entries: list[CatalogueEntry] = self._catalogue("schedules")
        return entries

    def metrics(self) -> list[MetricEntry]:
        """Return the kinds of metrics, with their options."""
        entries: list[MetricEntry] = self._catalogue("metrics")
        return entries

    def initializers(self) -> list[CatalogueEntry]:
        """Return the kinds of initial values of parameters, with their options."""
        entries: list[CatalogueEntry] = self._catalogue("initializers")
        return entries

    def _catalogue(self, name: str) -> Any:
        return (self._transport.get(f"/v1/{name}"))["data"]
