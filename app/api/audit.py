"""The route of the audit trail, for administrators."""

from fastapi import Response

from app.api.deps import AuditDep, PageDep
from app.api.routing import router
from app.api.schemas.audit import AuditList
from app.http.responses import JsonResponse

routes = router("audit")


@routes.get("/v1/audit", response_model=AuditList)
def list_audit_entries(page: PageDep, audit: AuditDep) -> Response:
    """List who asked for which change, and what came of it.

    Each entry vouches for the one before it; `adjoint audit verify` checks them all.
    """
    return JsonResponse(AuditList.of(audit.list(page)))
