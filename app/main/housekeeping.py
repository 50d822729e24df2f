"""Chores that come round again while the server runs."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

Chore = Callable[[], object]
"""What is done in a thread; or in the event loop, if it is a coroutine function."""

_logger = logging.getLogger(__name__)


@asynccontextmanager
async def housekeeping(chores: Sequence[Chore], seconds: float) -> AsyncIterator[None]:
    """Do the chores at once and then every `seconds` for the length of the block."""
    over = asyncio.Event()
    task = asyncio.create_task(_keep_house(chores, seconds, over))
    try:
        yield
    finally:
        # Not cancelled: the thread of a chore would work on while what it works with is closed.
        over.set()
        await task


async def _keep_house(chores: Sequence[Chore], seconds: float, over: asyncio.Event) -> None:
    while not over.is_set():
        for chore in chores:
            try:
                if inspect.iscoroutinefunction(chore):
                    await chore()
                else:
                    await asyncio.to_thread(chore)
            except Exception:
                # It comes round again, and nothing else must end for it.
                _logger.exception("housekeeping met a fault and goes on")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await over.wait()
