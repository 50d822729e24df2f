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
    """Create an API key.

    Creates a key and returns its secret, which cannot be retrieved later. The first key must have the scope
    `admin`; from then on every request needs a key (`closed_server`), until `adjoint keys reset` while the server
    is stopped. Idempotency-Key is not accepted, since the response is not stored: revoke a key whose response was
    lost, and create another.
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
    """List API keys.

    Lists all API keys without their secrets, including expired and revoked ones. Requires the scope `admin`.
    """
    return JsonResponse(ApiKeyList.show(keys.list(page)))


@routes.get("/v1/keys/{key_id}", response_model=ApiKey)
def get_key(key_id: KeyId, keys: KeysDep) -> Response:
    """Get an API key.

    Returns the record of a key without its secret. Requires the scope `admin`.
    """
    return JsonResponse(ApiKey.show(keys.get(key_id)))


@routes.delete("/v1/keys/{key_id}", status_code=204)
def revoke_key(key_id: KeyId, keys: KeysDep) -> None:
    """Revoke an API key.

    Revokes a key at once. Its record is kept.
    """
    keys.revoke(key_id)


audit_routes = router("audit")


@audit_routes.get("/v1/audit", response_model=AuditList)
def list_audit_entries(page: PageDep, audit: AuditDep) -> Response:
    """List audit entries.

    Lists who requested which change, and its result. Each entry holds the hash of the entry before it; `adjoint
    audit verify` checks the whole chain. Requires the scope `admin`.
    """
    return JsonResponse(AuditList.show(audit.list(page)))


backup_routes = router("system")

TAR = "application/x-tar"
BACKUP_DESCRIPTION = "A tar of the database, of every blob that it refers to, and of a manifest, which comes last."


@backup_routes.get("/v1/backup", response_class=Response, responses=binary_answer(TAR, description=BACKUP_DESCRIPTION))
async def download_backup(backups: BackupsDep, slow: SlowDep) -> Response:
    """Download a backup.

    Streams a consistent snapshot of everything that is stored; running fits are not interrupted. Requires the scope
    `admin`.
    """
    return BackupAnswer(await to_thread.run_sync(backups.open, limiter=slow))


class BackupAnswer(StreamingResponse):
    """Sends a backup as it is made, and closes it however that ends."""

    def __init__(self, backup: Backup) -> None:
        self._backup = backup
        headers = {"Content-Disposition": f'attachment; filename="{backup.name}"', "Cache-Control": "no-store"}
        super().__init__(backup.chunks, headers=headers, media_type=TAR)

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Send it and close it, also on an error: it holds blobs, and other backups wait."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._backup.close)
