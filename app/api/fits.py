"""Routes of fits."""

from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response

from app.api.deps import FitControlDep, FitId, FitRevisionDep, FitsDep, IfMatch, IfNoneMatch, PageDep
from app.api.once import OnceDep
from app.api.polling import PolledRoute, fit_answer, tag_of
from app.api.routing import router
from app.api.schemas.fit_changes import FitChanges, FitExtension
from app.api.schemas.fit_request import FitRequest
from app.api.schemas.fits import Fit, FitList
from app.api.schemas.sweeps import VariantList
from app.domain.errors import PreconditionFailed
from app.domain.fit import FitState
from app.http.responses import JsonResponse, matches
from app.http.validation import validated
from app.service.fits.view import FitView

routes = router("fits")

WAIT_MAX = 60.0

State = Annotated[FitState | None, Query(description="Only fits in this state.")]
Label = Annotated[str | None, Query(pattern=r"^[^:]{1,64}:.{0,256}$", description="Only fits with this key:value.")]
Parent = Annotated[str | None, Query(description="Only variants of the sweep of this fit, else none of any sweep.")]
Origin = Annotated[str | None, Query(description="Only fits that were forked from this fit's checkpoints.")]
Wait = Annotated[float, Query(ge=0, le=WAIT_MAX, description="Seconds to wait for what `until` says.")]
Until = Annotated[
    Literal["terminal", "change"],
    Query(description="terminal: it has ended. change: it is not what If-None-Match names, or what it was just now."),
]


@routes.post("/v1/fits", status_code=202, response_model=Fit)
def create_fit(request: FitRequest, fits: FitsDep, once: OnceDep) -> Response:
    """Check a fit in full and queue it."""
    return once.answer(lambda keep: fits.submit(request.document(), keep), Fit.of, status=202)


@routes.get("/v1/fits", response_model=FitList)
def list_fits(
    page: PageDep,
    fits: FitsDep,
    state: State = None,
    label: Label = None,
    parent: Parent = None,
    origin: Origin = None,
) -> Response:
    """List fits; the variants of a sweep where its id is given as `parent`."""
    key, _, value = (label or "").partition(":")
    return JsonResponse(FitList.of(fits.list(page, state, (key, value) if label else None, parent, origin)))


async def get_fit(
    fit_id: FitId,
    request: Request,
    fits: FitsDep,
    wait: Wait = 0,
    until: Until = "terminal",
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return a fit, at once or when there is something to tell."""

    def news(view: FitView) -> bool:
        return until == "change" and if_none_match is not None and not matches(if_none_match, tag_of(view))

    view = await fits.wait(fit_id, seconds=wait, any_change=until == "change", news=news)
    return fit_answer(request, view)


routes.add_api_route("/v1/fits/{fit_id}", get_fit, response_model=Fit, route_class_override=PolledRoute)


@routes.get("/v1/fits/{fit_id}/variants", response_model=VariantList)
def list_variants(fit_id: FitId, fits: FitsDep) -> Response:
    """List the variants of a fit's sweep, the best first."""
    return JsonResponse(VariantList.of(fits.variants(fit_id)))


@routes.post("/v1/fits/{fit_id}:cancel", status_code=202, response_model=Fit)
def cancel_fit(fit_id: FitId, control: FitControlDep) -> Response:
    """Ask a fit to stop, after a last checkpoint if a process works on it; with a sweep, all its variants."""
    return _answer(control.cancel(fit_id), 202)


@routes.post("/v1/fits/{fit_id}:kill", status_code=202, response_model=Fit)
def kill_fit(fit_id: FitId, control: FitControlDep) -> Response:
    """End a fit now, without a last checkpoint; with a sweep, all its variants."""
    return _answer(control.kill(fit_id), 202)


@routes.post("/v1/fits/{fit_id}:pause", status_code=202, response_model=Fit)
def pause_fit(fit_id: FitId, control: FitControlDep) -> Response:
    """Ask a fit to rest, after a checkpoint if a process works on it, which frees the worker."""
    return _answer(control.pause(fit_id), 202)


@routes.post("/v1/fits/{fit_id}:resume", status_code=202, response_model=Fit)
def resume_fit(fit_id: FitId, control: FitControlDep) -> Response:
    """Let a fit that is paused, cancelled or failed go on from its last checkpoint.

    Of a sweep that has ended, the variants go on that it kept from their end: those that had come to it, were cancelled
    by themselves or failed by their numbers stay as they are.
    """
    return _answer(control.resume(fit_id), 202)


@routes.post("/v1/fits/{fit_id}:extend", status_code=202, response_model=Fit)
def extend_fit(fit_id: FitId, extension: FitExtension, revision: FitRevisionDep, once: OnceDep) -> Response:
    """Let a fit that has ended go on for more epochs or steps than it has made; with a sweep, all its variants but
    those that were left behind, cancelled by themselves or failed by their numbers.
    """
    return once.answer(
        lambda keep: revision.extend(fit_id, extension.wanted(), keep), Fit.of, status=202, within="/v1/fits"
    )


@routes.patch("/v1/fits/{fit_id}", response_model=Fit)
def update_fit(fit_id: FitId, changes: FitChanges, revision: FitRevisionDep, if_match: IfMatch = None) -> Response:
    """Merge changes into a fit's labels and request.

    Labels, priority and limits of time may always change; the recipe before the first step, and hyperparameters also
    while the fit is paused.
    """

    def check(view: FitView) -> None:
        if if_match is not None and not matches(if_match, tag_of(view)):
            raise PreconditionFailed(f"fit {fit_id} has changed since; read it again and repeat the change")

    def read(document: dict[str, Any]) -> dict[str, Any]:
        return validated(FitRequest, document).document()

    return _answer(revision.update(fit_id, changes.document(), check, read))


@routes.delete("/v1/fits/{fit_id}", status_code=204)
def delete_fit(fit_id: FitId, fits: FitsDep) -> None:
    """Delete a terminal fit with its journal, its checkpoints and its variants."""
    fits.delete(fit_id)


def _answer(view: FitView, status: int = 200) -> Response:
    return JsonResponse(Fit.of(view), status, {"ETag": tag_of(view)})
