"""Routes of bundles and replays."""

from typing import Any

from fastapi import Response
from pydantic_core import to_json

from app.api.deps import BundlesDep, FitId, ReplaysDep
from app.api.once import OnceDep
from app.api.routing import router
from app.api.schemas.bundles import Bundle, ReplayRequest
from app.api.schemas.fit_request import FitRequest
from app.api.schemas.fits import Fit
from app.http.responses import JsonResponse
from app.http.validation import validated
from app.service.fits.replays import ReplayTerms
from app.service.fits.view import FitView
from app.service.resources.idempotency import Keep

routes = router("fits")


@routes.get("/v1/fits/{fit_id}/bundle", response_model=Bundle)
def get_bundle(fit_id: FitId, bundles: BundlesDep) -> Response:
    """Return all that decides about the result of a fit that has succeeded, and that result."""
    return JsonResponse(to_json(bundles.of_fit(fit_id), inf_nan_mode="null"))


@routes.post("/v1/fits:replay", status_code=202, response_model=Fit)
def replay_fit(request: ReplayRequest, replays: ReplaysDep, once: OnceDep) -> Response:
    """Run a fit again from its bundle, to see whether the same bits come out."""
    priority = None if request.resources is None else request.resources.priority
    terms = ReplayTerms(request.labels or {}, priority)

    def replay(keep: Keep[FitView]) -> FitView:
        if request.fit is not None:
            return replays.of_fit(request.fit, terms, keep)
        return replays.of_bundle(_checked(request.bundle), terms, keep)

    return once.answer(replay, Fit.of, status=202, within="/v1/fits")


def _checked(document: Any) -> dict[str, Any]:
    """Return a bundle as the service reads it; Invalid, with everything that is wrong with its shape."""
    bundle = validated(Bundle, document, "/bundle")
    request = validated(FitRequest, bundle.request, "/bundle/request")
    return {**bundle.model_dump(), "request": request.document()}
