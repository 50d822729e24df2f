"""What runs beside the caller, and how it is waited for: tasks with asyncio, threads without.

The names come in pairs with one interface, so that what uses them is written once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar

T = TypeVar("T")

AsyncResult = Coroutine[Any, Any, T]
Result = Annotated[T, "there at once"]

AsyncFuture = asyncio.Future
Future = concurrent.futures.Future

AsyncLock = asyncio.Lock
Lock = threading.Lock

AsyncCondition = asyncio.Condition
Condition = threading.Condition


class AsyncBackground:
    """A coroutine that runs as a task."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._task = asyncio.create_task(function())

    async def ended(self) -> None:
        """Wait until it has ended."""
        await self._task


class Background:
    """A function that runs in a thread."""

    def __init__(self, function: Callable[[], None]) -> None:
        # A daemon: a program that ends in the middle of a block does not hang on its server.
        self._thread = threading.Thread(target=function, daemon=True)
        self._thread.start()

    def ended(self) -> None:
        """Wait until it has ended."""
        self._thread.join()
