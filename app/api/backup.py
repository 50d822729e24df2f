"""The route of backups."""

import logging
from asyncio import timeout

from anyio import CancelScope, to_thread
from fastapi import Response
from fastapi.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from app.api.bodies import STALL_SECONDS
from app.api.deps import BackupsDep, SlowDep
from app.api.openapi_parts import binary_answer
from app.api.routing import router
from app.service.backup import Backup

routes = router("system")

TAR = "application/x-tar"
DESCRIPTION = "A tar of the database, of every blob that it refers to, and of a manifest, which comes last."

_logger = logging.getLogger(__name__)


@routes.get("/v1/backup", response_class=Response, responses=binary_answer(TAR, description=DESCRIPTION))
async def download_backup(backups: BackupsDep, slow: SlowDep) -> Response:
    """Return everything that is stored, as it is at this moment; fits go on meanwhile."""
    return BackupAnswer(await to_thread.run_sync(backups.open, limiter=slow))


class BackupAnswer(StreamingResponse):
    """Sends a backup as it is made, and closes it however that ends."""

    def __init__(self, backup: Backup) -> None:
        """Take over `backup`."""
        self._backup = backup
        headers = {"Content-Disposition": f'attachment; filename="{backup.name}"', "Cache-Control": "no-store"}
        super().__init__(backup.chunks, headers=headers, media_type=TAR)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it. A client that takes nothing for a while is given up: blobs are kept for it, others wait."""

        async def send_in_time(message: Message) -> None:
            async with timeout(STALL_SECONDS):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        except TimeoutError:
            _logger.warning("a backup was given up: its client took nothing for %g seconds", STALL_SECONDS)
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._backup.close)
