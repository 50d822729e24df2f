"""What the process of a session sends, held until what it has written is stored where other servers reach it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Context

from app.domain.errors import ApiError
from app.domain.frames import Frame, Head


class HeldFrames:
    """Passes frames on in their order. Those that arrive while files are being stored wait for the next time.

    In the event loop.
    """

    def __init__(
        self,
        store: Callable[[], None],
        deliver: Callable[[Head, bytes], None],
        refuse: Callable[[Sequence[Frame], ApiError], None],
    ) -> None:
        """Call `store` in a thread, then `deliver` for each frame, or `refuse` with all of them if that fails."""
        self._store = store
        self._deliver = deliver
        self._refuse = refuse
        self._held: list[Frame] = []
        self._storing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def add(self, head: Head, body: bytes) -> None:
        """Deliver a frame as soon as what was written before it is stored."""
        self._held.append((head, body))
        if self._task is None:
            # Without the context of a request: its tenant may be another one than the session's.
            self._task = asyncio.get_running_loop().create_task(self._deliver_all(), context=Context())

    async def flush(self) -> None:
        """Store what was written until now, and deliver what waits for it; raises what storing raises."""
        async with self._storing:
            held, self._held = self._held, []
            try:
                await asyncio.to_thread(self._store)
            except ApiError as error:
                self._refuse(held, error)
                raise
            for head, body in held:
                self._deliver(head, body)

    async def _deliver_all(self) -> None:
        try:
            while self._held:
                with suppress(ApiError):  # the frames are refused with it
                    await self.flush()
        finally:
            self._task = None
