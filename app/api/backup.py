"""The route of backups."""

from anyio import CancelScope, to_thread
from fastapi import Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api.deps import BackupsDep, SlowDep
from app.api.openapi_parts import binary_answer
from app.api.routing import router
from app.service.admin.backup import Backup

routes = router("system")

TAR = "application/x-tar"
DESCRIPTION = "A tar of the database, of every blob that it refers to, and of a manifest, which comes last."


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
        """Send it, and close it whatever comes between: blobs are kept for it, and others wait."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._backup.close)
