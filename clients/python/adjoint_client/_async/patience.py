"""Requests that may be repeated, sent until they are answered."""

from __future__ import annotations

import asyncio

from adjoint_client._async.connection import AsyncConnection
from adjoint_client.errors import ServerUnreachable
from adjoint_client.http1 import Answer, Request
from adjoint_client.waiting import Waiting


async def insist(connection: AsyncConnection, request: Request, patience: float) -> tuple[Answer, bool]:
    """Send a request until it is answered; return the answer, and whether it may have arrived more than once.

    It is repeated after a lost connection, and where the server asks for that, until `patience` seconds after the first
    failure.

    Raises:
        ServerUnreachable: there was no answer; whether the request has taken effect is not known.
    """
    waiting = Waiting(patience)
    while True:
        kept = connection.connected
        try:
            answer = await connection.request(request, waiting.silence)
        except OSError as error:
            pause = waiting.after_failure(error, kept=kept)
            if pause is None:
                reason = str(error) or type(error).__name__
                raise ServerUnreachable(
                    f"no answer from {connection.url} ({reason}); is the server running?"
                ) from error
        else:
            pause = waiting.after_answer(answer)
            if pause is None:
                return answer, waiting.repeated
        await asyncio.sleep(pause)
