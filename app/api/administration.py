"""Routes for administrators: API keys, the audit trail, backups."""

from anyio import CancelScope, to_thread
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from app.api.deps import AuditDep, BackupsDep, KeyId, KeysDep, PageDep, SlowDep
from app.api.openapi_parts import binary_answer
from app.api.routing import router
from app.api.schemas.administration import ApiKey, ApiKeyList, AuditList, KeyRequest, NewApiKey
from app.domain.access import Scope
from app.domain.clock import read_rfc3339
from app.domain.errors import Finding, Invalid
from app.http.responses import JsonResponse
from app.service.admin.backup import Backup

routes = router("keys")


@routes.post("/v1/keys", status_code=201, response_model=NewApiKey)
def create_key(request: KeyRequest, http: Request, keys: KeysDep) -> Response:
    """Make a key and tell it, this once.

    The first one, which needs the scope admin, closes a server that was open (`closed_server`): every request needs a
    key from then on. `adjoint keys reset` opens it again, while it does not run.

    It takes no Idempotency-Key, since the answer would have to be kept. A key that was not received is of no use to
    anybody: revoke it, and make another.
    """
    if "idempotency-key" in http.headers:
        detail = "header parameter: each request creates a new key, since the response is not stored; omit this header"
        finding = Finding("/idempotency-key", "unknown_header", detail)
        raise Invalid(detail, code=finding.code, findings=[finding])
    expires_at = None if request.expires_at is None else read_rfc3339(request.expires_at)
    scopes = [Scope(scope) for scope in request.scopes]
    key, text = keys.create(request.name, scopes, expires_at, request.tenant)
    headers = {"Location": f"/v1/keys/{key.id}", "Cache-Control": "no-store"}
    return JsonResponse(NewApiKey.made(key, text, closed_server=keys.closed_by == key.id), 201, headers)


@routes.get("/v1/keys", response_model=ApiKeyList)
def list_keys(page: PageDep, keys: KeysDep) -> Response:
    """List keys, those that have ended too."""
    return JsonResponse(ApiKeyList.of(keys.list(page)))


@routes.get("/v1/keys/{key_id}", response_model=ApiKey)
def get_key(key_id: KeyId, keys: KeysDep) -> Response:
    """Return a key without its secret."""
    return JsonResponse(ApiKey.of(keys.get(key_id)))


@routes.delete("/v1/keys/{key_id}", status_code=204)
def revoke_key(key_id: KeyId, keys: KeysDep) -> None:
    """End a key at once; that it was there stays on record."""
    keys.revoke(key_id)


audit_routes = router("audit")


@audit_routes.get("/v1/audit", response_model=AuditList)
def list_audit_entries(page: PageDep, audit: AuditDep) -> Response:
    """List who asked for which change, and what came of it.

    Each entry vouches for the one before it; `adjoint audit verify` checks them all.
    """
    return JsonResponse(AuditList.of(audit.list(page)))


backup_routes = router("system")

TAR = "application/x-tar"
BACKUP_DESCRIPTION = "A tar of the database, of every blob that it refers to, and of a manifest, which comes last."


@backup_routes.get("/v1/backup", response_class=Response, responses=binary_answer(TAR, description=BACKUP_DESCRIPTION))
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

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Send it, and close it whatever comes between: blobs are kept for it, and others wait."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._backup.close)
