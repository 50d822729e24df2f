"""A fit: wait for it, watch it, look at its curves, take its checkpoints."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, overload

from numpy.typing import ArrayLike, NDArray

from adjoint_client._async.checkpoint import AsyncCheckpointHandle
from adjoint_client._async.events import follow
from adjoint_client._async.transport import AsyncTransport
from adjoint_client.errors import FitFailed
from adjoint_client.events import Event
from adjoint_client.generated.models import Checkpoint, Fit
from adjoint_client.metrics import Curve, MetricRow, Split, curve, gradient_norms
from adjoint_client.progress import ProgressTracker, Show, TextProgress

_LONG_POLL_SECONDS = 30
_ROWS_A_PAGE = 10_000
_CHECKPOINTS_A_PAGE = 1000


class AsyncFitHandle:
    """A fit on the server; `info` is what the server said about it last."""

    def __init__(self, transport: AsyncTransport, info: Fit) -> None:
        self._transport = transport
        self.info = info

    def __repr__(self) -> str:
        return f"<fit {self.id}, {self.info.state} when last seen>"

    @property
    def id(self) -> str:
        """Its id, `fit_...`."""
        return self.info.id

    async def refresh(self) -> Fit:
        """Ask the server how the fit is."""
        return self._seen(await self._transport.get(self._path()))

    async def wait(self, *, progress: bool | Show = False) -> Fit:
        """Wait until the fit has ended; `progress` shows how far it is, as text or by a function of your own.

        Raises:
            FitFailed: it ended in the state `failed`.
        """
        if progress:
            await self._show(TextProgress() if progress is True else progress)
        while not self.info.terminal:
            self._seen(await self._transport.get(self._path(), {"wait": _LONG_POLL_SECONDS, "until": "terminal"}))
        if self.info.error is not None:
            raise FitFailed(self.id, self.info.error.to_dict())
        return self.info

    async def _show(self, show: Show) -> None:
        fit = await self.refresh()
        tracker = ProgressTracker(fit.state, fit.step, fit.total_steps)
        async for event in self.watch():
            if event.kind in ("metric", "state"):
                show(tracker.take(event))
        await self.refresh()

    async def watch(self, after: int = 0) -> AsyncIterator[Event]:
        """Yield what happens to the fit, from the event behind `after` on, until its end.

        Connections that break are made anew; no event is left out or comes twice.
        """
        async for event in follow(self._transport, self._path("/events"), after):
            yield event

    async def metrics(self, after: int = 0) -> list[MetricRow]:
        """Return the metric rows so far, from the one behind `after` on."""
        rows: list[MetricRow] = []
        more = True
        while more:
            page = await self._transport.get(self._path("/metrics"), {"after": after, "limit": _ROWS_A_PAGE})
            rows += map(MetricRow.from_wire, page["data"])
            after, more = page["next_after"], page["has_more"]
        return rows

    async def losses(self, split: Split = "train") -> Curve:
        """Return the loss of each recorded step so far, or of each validation."""
        return curve(await self.metrics(), "loss", split)

    async def gradients(self) -> dict[str, Curve]:
        """Return the norm of the gradient at each recorded step by parameter; the global norm is under ""."""
        return gradient_norms(await self.metrics())

    async def cancel(self) -> Fit:
        """Have the fit write a checkpoint and stop; returns without waiting for that."""
        return self._seen(await self._transport.post(self._path(":cancel")))

    async def delete(self) -> None:
        """Forget the fit, its curves and its checkpoints; it must have ended."""
        await self._transport.send("DELETE", self._path(), repeatable=True)

    async def checkpoints(self) -> list[AsyncCheckpointHandle]:
        """Return the checkpoints that are kept, oldest first."""
        query = {"limit": _CHECKPOINTS_A_PAGE, "order": "asc"}
        page = await self._transport.get(self._path("/checkpoints"), query)
        return [AsyncCheckpointHandle(self._transport, Checkpoint.from_dict(item)) for item in page["data"]]

    async def checkpoint(self, which: Literal["latest", "best"] = "latest") -> AsyncCheckpointHandle:
        """Return the last checkpoint, or the one with the best validation loss."""
        info = await self._transport.get(self._path(f"/checkpoints/{which}"))
        return AsyncCheckpointHandle(self._transport, Checkpoint.from_dict(info))

    @overload
    async def predict(self, inputs: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]: ...

    @overload
    async def predict(self, inputs: ArrayLike) -> NDArray[Any]: ...

    async def predict(self, inputs: Mapping[str, ArrayLike] | ArrayLike) -> dict[str, NDArray[Any]] | NDArray[Any]:
        """Predict with the latest checkpoint; see `AsyncCheckpointHandle.predict`."""
        return await (await self.checkpoint()).predict(inputs)

    def _seen(self, document: Mapping[str, Any]) -> Fit:
        self.info = Fit.from_dict(document)
        return self.info

    def _path(self, rest: str = "") -> str:
        return f"/v1/fits/{self.id}{rest}"
