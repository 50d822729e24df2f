"""A fit: wait for it, watch it, look at its curves, take its checkpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload
from urllib.parse import quote

from adjoint_client._async.checkpoint import AsyncCheckpointHandle
from adjoint_client._async.events import follow
from adjoint_client._async.transport import AsyncTransport
from adjoint_client.errors import FitFailed
from adjoint_client.events import Event
from adjoint_client.generated.records import Checkpoint, Evaluation, Fit
from adjoint_client.gradients import CapturedGradient
from adjoint_client.metrics import Curve, MetricRow, MetricRows, Split, curve, gradient_norms
from adjoint_client.notebook import AsyncDisplayed, fit_card
from adjoint_client.npy import read_npy
from adjoint_client.progress import ProgressTracker, Show, TextProgress
from adjoint_client.replay import Verdict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from adjoint_client._async.tables import TableLike

_LONG_POLL_SECONDS = 30
_ROWS_A_PAGE = 10_000
_CHECKPOINTS_A_PAGE = 1000
_GRADIENTS_A_PAGE = 1000
_CURVE_POINTS = 200


class AsyncFitHandle(AsyncDisplayed):
    """A fit on the server; `info` is the latest answer about it."""

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
            if event.kind in ("metric", "state", "log"):
                show(tracker.take(event))
        await self.refresh()

    async def watch(self, after: int = 0) -> AsyncIterator[Event]:
        """Yield what happens to the fit, from the event behind `after` on, until its end.

        Broken connections are opened again; no event is left out or comes twice.
        """
        async for event in follow(self._transport, self._path("/events"), after):
            yield event

    async def metrics(self, after: int = 0) -> MetricRows:
        """Return the metric rows so far, from the one behind `after` on: a list with `to_pandas()`, `to_polars()`."""
        rows = MetricRows()
        more = True
        while more:
            page = await self._transport.get(self._path("/metrics"), {"after": after, "limit": _ROWS_A_PAGE})
            rows += map(MetricRow.from_wire, page["data"])
            after, more = page["next_after"], page["has_more"]
        return rows

    async def plot(self, *names: str, ax: Any = None) -> Any:
        """Draw metrics over steps, by default the loss, of both splits; return the axes of matplotlib.

        Raises:
            ImportError: matplotlib is not installed.
            ValueError: the fit has no such metric, or none yet.
        """
        return (await self.metrics()).plot(*names, ax=ax)

    async def html(self) -> str:
        """Return what notebooks show: state, latest values, and the curve of the loss."""
        info = await self.refresh()
        query = {"downsample": _CURVE_POINTS, "keys": "loss"}
        page = await self._transport.get(self._path("/metrics"), query)
        rows = MetricRows(map(MetricRow.from_wire, page["data"]))
        return fit_card(info, {"loss": rows.series("loss", "train"), "val_loss": rows.series("loss", "validation")})

    async def losses(self, split: Split = "train") -> Curve:
        """Return the loss of each recorded step so far, or of each validation."""
        return curve(await self.metrics(), "loss", split)

    async def gradients(self) -> dict[str, Curve]:
        """Return the norm of the gradient at each recorded step by parameter; the global norm is under "".

        For gradients themselves see `captured_gradients` and `gradient`.
        """
        return gradient_norms(await self.metrics())

    async def cancel(self) -> Fit:
        """Have the fit write a checkpoint and stop; returns without waiting for that."""
        return self._seen(await self._transport.post(self._path(":cancel")))

    async def kill(self) -> Fit:
        """Stop the fit now, without a checkpoint; what it did since the last one is lost."""
        return self._seen(await self._transport.post(self._path(":kill")))

    async def pause(self) -> Fit:
        """Have the fit write a checkpoint and leave its worker to others, until it is resumed."""
        return self._seen(await self._transport.post(self._path(":pause")))

    async def resume(self) -> Fit:
        """Have a fit that is paused, failed or cancelled go on from its last checkpoint."""
        return self._seen(await self._transport.post(self._path(":resume")))

    async def extend(self, *, epochs: int | None = None, steps: int | None = None) -> Fit:
        """Extend a fit that has ended by further epochs, or steps."""
        more = {name: count for name, count in (("epochs", epochs), ("steps", steps)) if count is not None}
        return self._seen(await self._transport.create(self._path(":extend"), more))

    async def update(self, **changes: Any) -> Fit:
        """Change labels or, while the fit is queued or paused, hyperparameters: `update(optimizer={"lr": 0.001})`.

        What is not named stays as it is; `None` removes a label, or goes back to the default.
        """
        response = await self._transport.send("PATCH", self._path(), json=changes, repeatable=True)
        return self._seen(response.json())

    async def fork(
        self,
        checkpoint: str | AsyncCheckpointHandle = "latest",
        *,
        restore: Literal["all", "parameters"] = "all",
        **changes: Any,
    ) -> AsyncFitHandle:
        """Start a new fit that begins at a checkpoint of this one: "latest", "best", an id or a handle.

        The `changes` are fields of a fit; those that are left out are as in this one. With `restore="parameters"` only
        the values of parameters and buffers are taken over, and the fit begins at step 0.
        """
        named = checkpoint if isinstance(checkpoint, str) else checkpoint.id
        if named in ("latest", "best"):
            named = (await self._transport.get(self._path(f"/checkpoints/{named}")))["id"]
        request = {"from_checkpoint": {"checkpoint": named, "restore": restore}, **changes}
        return AsyncFitHandle(self._transport, Fit(await self._transport.create("/v1/fits", request)))

    async def bundle(self) -> dict[str, Any]:
        """Return all that decides about the result of a fit that has succeeded, and that result.

        Hand it to `AsyncClient.replay`, of this server or another one; kept as JSON, its names must stay in order.
        """
        document: dict[str, Any] = await self._transport.get(self._path("/bundle"))
        return document

    @property
    def verdict(self) -> Verdict | None:
        """Whether a replay came out as the fit that it runs again, bit for bit; None until it has succeeded."""
        replay = self.info.to_dict().get("replay") or {}
        return None if replay.get("verdict") is None else Verdict.from_wire(replay["verdict"])

    async def captured_gradients(self, step: int | None = None) -> list[CapturedGradient]:
        """Return which gradients were captured (see `record`), of all steps or of one."""
        query: dict[str, Any] = {"limit": _GRADIENTS_A_PAGE, "order": "asc"} | ({} if step is None else {"step": step})
        found: list[CapturedGradient] = []
        while True:
            page = await self._transport.get(self._path("/gradients"), query)
            found += map(CapturedGradient.from_wire, page["data"])
            if not page["has_more"]:
                return found
            query["cursor"] = page["next_cursor"]

    async def gradient(self, parameter: str, step: int | None = None) -> NDArray[Any]:
        """Return the captured gradient of the loss by a parameter after `step` steps, by default the latest."""
        query: dict[str, Any] = {"format": "npy"} | ({} if step is None else {"step": step})
        path = self._path(f"/gradients/{quote(parameter, safe='')}")
        return read_npy((await self._transport.send("GET", path, params=query)).content)

    async def delete(self) -> None:
        """Forget the fit, its curves and its checkpoints; it must have ended."""
        await self._transport.send("DELETE", self._path(), repeatable=True)

    async def checkpoints(self) -> list[AsyncCheckpointHandle]:
        """Return the checkpoints that are kept, oldest first."""
        query = {"limit": _CHECKPOINTS_A_PAGE, "order": "asc"}
        page = await self._transport.get(self._path("/checkpoints"), query)
        return [AsyncCheckpointHandle(self._transport, Checkpoint(item)) for item in page["data"]]

    async def checkpoint(self, which: Literal["latest", "best"] = "latest") -> AsyncCheckpointHandle:
        """Return the last checkpoint, or the one with the best validation loss."""
        info = await self._transport.get(self._path(f"/checkpoints/{which}"))
        return AsyncCheckpointHandle(self._transport, Checkpoint(info))

    @overload
    async def predict(self, inputs: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]: ...

    @overload
    async def predict(self, inputs: ArrayLike) -> NDArray[Any]: ...

    async def predict(self, inputs: Mapping[str, ArrayLike] | ArrayLike) -> dict[str, NDArray[Any]] | NDArray[Any]:
        """Predict with the latest checkpoint; see `AsyncCheckpointHandle.predict`."""
        return await (await self.checkpoint()).predict(inputs)

    async def evaluate(self, source: TableLike, **options: Any) -> Evaluation:
        """Evaluate the latest checkpoint; see `AsyncCheckpointHandle.evaluate`."""
        return await (await self.checkpoint()).evaluate(source, **options)

    def _seen(self, document: Mapping[str, Any]) -> Fit:
        self.info = Fit(document)
        return self.info

    def _path(self, rest: str = "") -> str:
        return f"/v1/fits/{self.id}{rest}"
