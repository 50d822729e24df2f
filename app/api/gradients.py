"""Routes of captured gradients."""

from typing import Annotated

from fastapi import Query, Request, Response

from app.api.deps import FitId, GradientsDep, PageDep
from app.api.downloads import TensorFormatDep, open_file, send_file, tensor_answer
from app.api.openapi_parts import binary_answer
from app.api.routing import router
from app.api.schemas.fits import GradientList, GradientStatistics, gradient_path
from app.api.schemas.values import Tensor
from app.domain.documents import NPY
from app.domain.errors import Finding, Invalid
from app.http.responses import JsonResponse, matches, not_modified

routes = router("gradients")

STEP_MAX = 10**15

Step = Annotated[
    int | None,
    Query(
        ge=0,
        le=STEP_MAX,
        description="Number of optimizer steps before the gradient was captured; by default the latest, in a list all.",
    ),
]


@routes.get("/v1/fits/{fit_id}/gradients", response_model=GradientList)
def list_gradients(
    fit_id: FitId,
    page: PageDep,
    gradients: GradientsDep,
    step: Step = None,
    parameter: Annotated[str | None, Query(description="Only gradients with respect to this parameter.")] = None,
) -> Response:
    """List captured gradients.

    Lists the gradients that a fit has captured, ordered by step and then by parameter.
    """
    return JsonResponse(GradientList.show(gradients.list(fit_id, page, step=step, parameter=parameter)))


@routes.get(
    "/v1/fits/{fit_id}/gradients/{parameter:path}",
    response_model=Tensor | GradientStatistics,
    responses=binary_answer(NPY),
)
def get_gradient(
    fit_id: FitId,
    parameter: str,
    request: Request,
    gradients: GradientsDep,
    format: TensorFormatDep,
    step: Step = None,
    stats: Annotated[bool, Query(description="Return statistics of the values instead of the values.")] = False,
) -> Response:
    """Get a captured gradient.

    Returns one captured gradient as JSON or `.npy`, or its statistics with `stats`. By default the latest step.
    """
    if stats and request.query_params.get("format") == "npy":
        detail = "query parameter: statistics are JSON; leave format out, or stats"
        raise Invalid(detail, code="conflict", findings=[Finding("/format", "conflict", detail)])
    gradient = gradients.find(fit_id, parameter, step)
    place = {"Content-Location": gradient_path(gradient)}
    if format == "npy" and not stats:
        name = f"gradient-{gradient.step}.npy"
        return _placed(
            send_file(request, open_file(gradients.file(gradient), NPY, name, gradient.digest, gradient.digest)), place
        )
    # Made of numbers that never change: known before they are read.
    tag = f'"{gradient.digest}.{"stats" if stats else "json"}"'
    if matches(request.headers.get("if-none-match"), tag):
        return not_modified(tag)
    if stats:
        answer: Response = JsonResponse(GradientStatistics.summarizing(gradient, gradients.statistics(gradient)))
    else:
        answer = tensor_answer(gradients.array(gradient), "json")
    return _placed(answer, {**place, "ETag": tag})


def _placed(answer: Response, headers: dict[str, str]) -> Response:
    answer.headers.update(headers)
    return answer
