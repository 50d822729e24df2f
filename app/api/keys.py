"""Routes of keys, for administrators."""

from fastapi import Request, Response

from app.api.deps import KeyId, KeysDep, PageDep
from app.api.routing import router
from app.api.schemas.keys import ApiKey, ApiKeyList, KeyRequest, NewApiKey
from app.domain.access import Scope
from app.domain.clock import read_rfc3339
from app.domain.errors import Finding, Invalid
from app.http.responses import JsonResponse

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
