"""How long a lost server is waited for, without any I/O."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable

from adjoint_client.errors import retry_after
from adjoint_client.http1 import Answer

PATIENCE_SECONDS = 60.0
"""How long a lost server is waited for."""

_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 1.0
# A step may take long. Without an answer the request is sent again with twice the time limit; the step runs once.
_FIRST_SILENCE_SECONDS = 120.0
_LONGEST_SILENCE_SECONDS = 500.0
# Said by a server that starts or ends, and by a proxy whose server does.
_PASSING = frozenset({502, 503, 504})


class Waiting:
    """Decides after each attempt to send one request whether there is another, and when.

    Attributes:
        silence: how many seconds the server may be silent in the next attempt.
        repeated: whether there was an attempt that may have had an effect.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        self._end: float | None = None
        self._pause = _FIRST_PAUSE_SECONDS
        self.silence = _FIRST_SILENCE_SECONDS
        self.repeated = False

    def after_failure(self, error: OSError, *, kept: bool) -> float | None:
        """Return the seconds to wait after a failure, on a connection that was kept or a new one; None to give up."""
        self.repeated = True
        if isinstance(error, ssl.SSLCertVerificationError):
            return None
        if isinstance(error, TimeoutError):
            # The server is there, and slow.
            self.silence *= 2
            return 0.0 if self.silence <= _LONGEST_SILENCE_SECONDS else None
        pause = self._next(None)
        # Servers close what has been idle for long: that is no reason to wait.
        return 0.0 if kept else pause

    def after_answer(self, answer: Answer) -> float | None:
        """Return the seconds to wait before the request is sent again; None to take this answer."""
        asked = retry_after(answer.headers)
        if answer.is_success or (asked is None and answer.status not in _PASSING):
            return None
        self.repeated = True
        return self._next(asked)

    def _next(self, asked: float | None) -> float | None:
        now = self._clock()
        if self._end is None:
            self._end = now + self._patience
        pause = self._pause if asked is None else asked
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
        return pause if now + pause <= self._end else None
