"""A sweep: many variants of one fit, ranked."""

import math

from adjoint_client._async.fit import AsyncFitHandle
from adjoint_client.generated.records import Fit, RankedVariant
from adjoint_client.progress import ProgressTracker, Show

_LONG_POLL_SECONDS = 30


class AsyncSweepHandle(AsyncFitHandle):
    """A fit with a sweep: it stands for all its variants, each of which is a fit of its own."""

    async def variants(self) -> list[RankedVariant]:
        """Return all variants, the best first: their fits' ids, ranks, values, parameters, states and steps."""
        page = await self._transport.get(self._path("/variants"))
        return [RankedVariant(item) for item in page["data"]]

    async def variant(self, fit_id: str) -> AsyncFitHandle:
        """Return one of its variants as a fit."""
        return AsyncFitHandle(self._transport, Fit(await self._transport.get(f"/v1/fits/{fit_id}")))

    async def best(self) -> AsyncFitHandle:
        """Return the variant that is the best so far."""
        return await self.variant((await self.variants())[0].fit)

    async def _show(self, show: Show) -> None:
        # The rows are those of the variants; of the whole there are steps and the best value.
        fit = await self.refresh()
        tracker = ProgressTracker(fit.state, fit.step, fit.total_steps)
        while True:
            show(tracker.at(fit.state, fit.step, _best_value(fit)))
            if fit.terminal:
                return
            fit = self._seen(await self._transport.get(self._path(), {"wait": _LONG_POLL_SECONDS, "until": "change"}))


def _best_value(fit: Fit) -> dict[str, float]:
    """Return the metric that variants are ranked by, of the best one, by its name."""
    if not fit.sweep or not fit.sweep.ranking:
        return {}
    value = fit.sweep.ranking[0].value
    return {f"best {fit.sweep.monitor}": math.nan if value is None else value}
