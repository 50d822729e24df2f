"""Routes of fits, their bundles and replays."""

from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response
from pydantic_core import to_json

from app.api.deps import (
    BundlesDep,
    FitControlDep,
    FitId,
    FitRevisionDep,
    FitsDep,
    IfMatch,
    IfNoneMatch,
    ReplaysDep,
    services_of,
)
from app.api.encoded import EncodedAnswers
from app.api.idempotency import IdempotentDep
from app.api.list_queries import FitQuery
from app.api.routing import MemoryRoute, router
from app.api.schemas.bundles import Bundle, ReplayRequest
from app.api.schemas.fit_request import FitChanges, FitExtension, FitRequest
from app.api.schemas.fits import Fit, FitList
from app.api.schemas.sweeps import VariantList
from app.domain.errors import PreconditionFailed
from app.http.responses import JsonResponse, matches, unless_known
from app.http.validation import validated
from app.service.fits.replays import ReplayOptions
from app.service.fits.view import FitView
from app.service.resources.idempotency import SaveResponse

MAX_ENCODED = 1024


class FitRoute(MemoryRoute):
    """The route of a fit. A question without conditions, about a fit that is in memory, is answered there and then:
    its id is known to be one, so that there is nothing left to check.
    """

    def known_answer(self, request: Request) -> Response | None:
        """Answer about a fit that was asked for before."""
        if request.scope["query_string"]:
            return None
        view = services_of(request).fits.cached(request.path_params["fit_id"])
        return None if view is None else fit_answer(request, view)


def fit_answer(request: Request, view: FitView) -> Response:
    """Show a fit, unless the client has it as it is."""
    encoded: EncodedAnswers[FitView] = request.app.state.encoded_fits
    answer = encoded.of(view.fit.id, view, lambda: JsonResponse(Fit.show(view), headers={"ETag": entity_tag_of(view)}))
    return unless_known(request, answer)


def entity_tag_of(view: FitView) -> str:
    """Return the entity tag of a fit, which changes with its version."""
    return f'"{view.fit.version}"'


routes = router("fits")

WAIT_MAX = 60.0

Parent = Annotated[
    str | None, Query(description="Only variants of the sweep of this fit; by default no variants are listed.")
]
Origin = Annotated[str | None, Query(description="Only fits that were forked from this fit's checkpoints.")]
Wait = Annotated[
    float, Query(ge=0, le=WAIT_MAX, description="Maximum time to wait for the condition in `until`, in seconds.")
]
Until = Annotated[
    Literal["terminal", "change"],
    Query(
        description="Condition to wait for. terminal: the fit has ended. change: its ETag differs from "
        "If-None-Match, or from the one at the time of the request."
    ),
]


@routes.post("/v1/fits", status_code=202, response_model=Fit)
def create_fit(request: FitRequest, fits: FitsDep, idempotent: IdempotentDep) -> Response:
    """Create a fit.

    Validates the request in full, including shapes, class indices and memory, and queues the fit. Follow the
    Location header, the event stream or a long poll for its progress.
    """
    return idempotent.answer(lambda save_response: fits.submit(request.document(), save_response), Fit.show, status=202)


@routes.get("/v1/fits", response_model=FitList)
def list_fits(query: FitQuery, fits: FitsDep, parent: Parent = None, origin: Origin = None) -> Response:
    """List fits.

    Lists fits in pages, newest first by default. The variants of a sweep are listed only with `parent`.
    """
    return JsonResponse(FitList.show(fits.list(query.page, query.filters, parent=parent, origin=origin)))


async def get_fit(
    fit_id: FitId,
    request: Request,
    fits: FitsDep,
    wait: Wait = 0,
    until: Until = "terminal",
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Get a fit.

    Returns the state of a fit. With `wait`, the response is held until the condition in `until` is met or the time
    is over.
    """

    def is_new(view: FitView) -> bool:
        return until == "change" and if_none_match is not None and not matches(if_none_match, entity_tag_of(view))

    view = await fits.wait(fit_id, seconds=wait, any_change=until == "change", changed=is_new)
    return fit_answer(request, view)


routes.add_api_route("/v1/fits/{fit_id}", get_fit, response_model=Fit, route_class_override=FitRoute)


@routes.get("/v1/fits/{fit_id}/variants", response_model=VariantList)
def list_variants(fit_id: FitId, fits: FitsDep) -> Response:
    """List the variants of a sweep.

    Lists the variants of a fit's sweep with their ranks, the best first.
    """
    return JsonResponse(VariantList.show(fits.variants(fit_id)))


@routes.post("/v1/fits/{fit_id}:cancel", status_code=202, response_model=Fit)
def cancel_fit(fit_id: FitId, control: FitControlDep) -> Response:
    """Cancel a fit.

    Stops a fit; a running one writes a last checkpoint first. Cancelling a sweep cancels all its variants.
    """
    return _answer(control.cancel(fit_id), 202)


@routes.post("/v1/fits/{fit_id}:kill", status_code=202, response_model=Fit)
def kill_fit(fit_id: FitId, control: FitControlDep) -> Response:
    """Kill a fit.

    Ends a fit at once, without a last checkpoint. Killing a sweep kills all its variants.
    """
    return _answer(control.kill(fit_id), 202)


@routes.post("/v1/fits/{fit_id}:pause", status_code=202, response_model=Fit)
def pause_fit(fit_id: FitId, control: FitControlDep) -> Response:
    """Pause a fit.

    Pauses a fit; a running one writes a checkpoint first and frees its worker.
    """
    return _answer(control.pause(fit_id), 202)


@routes.post("/v1/fits/{fit_id}:resume", status_code=202, response_model=Fit)
def resume_fit(fit_id: FitId, control: FitControlDep) -> Response:
    """Resume a fit.

    Continues a paused, cancelled or failed fit from its last checkpoint. In a sweep that has ended, variants that
    were completed, cancelled individually or failed by diverging stay as they are.
    """
    return _answer(control.resume(fit_id), 202)


@routes.post("/v1/fits/{fit_id}:extend", status_code=202, response_model=Fit)
def extend_fit(fit_id: FitId, extension: FitExtension, revision: FitRevisionDep, idempotent: IdempotentDep) -> Response:
    """Extend a finished fit.

    Continues a fit that has ended for more epochs or steps. In a sweep, variants that were eliminated, cancelled
    individually or failed by diverging are not continued.
    """
    return idempotent.answer(
        lambda save_response: revision.extend(fit_id, extension.wanted(), save_response),
        Fit.show,
        status=202,
        within="/v1/fits",
    )


@routes.patch("/v1/fits/{fit_id}", response_model=Fit)
def update_fit(fit_id: FitId, changes: FitChanges, revision: FitRevisionDep, if_match: IfMatch = None) -> Response:
    """Change a fit.

    Merges the body into the name, the labels and the request of a fit (RFC 7396). Name, labels, priority and time
    limits may change at any time; the recipe before the first step; hyperparameters also while the fit is paused.
    """

    def check(view: FitView) -> None:
        if if_match is not None and not matches(if_match, entity_tag_of(view)):
            raise PreconditionFailed(f"fit {fit_id} has changed since; read it again and repeat the change")

    def read(document: dict[str, Any]) -> dict[str, Any]:
        return validated(FitRequest, document).document()

    return _answer(revision.update(fit_id, changes.document(), check, read))


@routes.delete("/v1/fits/{fit_id}", status_code=204)
def delete_fit(fit_id: FitId, fits: FitsDep) -> None:
    """Delete a fit.

    Deletes a fit that has ended, with its events, checkpoints, gradients and variants.
    """
    fits.delete(fit_id)


def _answer(view: FitView, status: int = 200) -> Response:
    return JsonResponse(Fit.show(view), status, {"ETag": entity_tag_of(view)})


@routes.get("/v1/fits/{fit_id}/bundle", response_model=Bundle)
def get_bundle(fit_id: FitId, bundles: BundlesDep) -> Response:
    """Get the bundle of a fit.

    Returns everything that determines the result of a succeeded fit, and digests of that result. `POST
    /v1/fits:replay` runs it again.
    """
    return JsonResponse(to_json(bundles.of_fit(fit_id), inf_nan_mode="null"))


@routes.post("/v1/fits:replay", status_code=202, response_model=Fit)
def replay_fit(request: ReplayRequest, replays: ReplaysDep, idempotent: IdempotentDep) -> Response:
    """Replay a fit.

    Runs a fit again, from its id or its bundle, and compares the result bit for bit. The verdict is in `replay` of
    the new fit.
    """
    priority = None if request.resources is None else request.resources.priority
    terms = ReplayOptions(request.labels or {}, priority)

    def replay(save_response: SaveResponse[FitView]) -> FitView:
        if request.fit is not None:
            return replays.of_fit(request.fit, terms, save_response)
        return replays.of_bundle(_validate_bundle(request.bundle), terms, save_response)

    return idempotent.answer(replay, Fit.show, status=202, within="/v1/fits")


def _validate_bundle(document: Any) -> dict[str, Any]:
    """Return a bundle as the service reads it; Invalid, with everything that is wrong with its shape."""
    bundle = validated(Bundle, document, "/bundle")
    request = validated(FitRequest, bundle.request, "/bundle/request")
    return {**bundle.model_dump(), "request": request.document()}
