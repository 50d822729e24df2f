"""Routes of the catalogue."""

from typing import Annotated

from fastapi import Path, Response

from app.api.routing import router
from app.api.schemas.catalogue import CatalogueList, LossList, MetricList, OpEntry, OpList
from app.http.responses import JsonResponse
from app.service.resources.graphs import CATALOGUES, op

routes = router("catalogue")


@routes.get("/v1/ops", response_model=OpList)
def list_ops() -> Response:
    """List every op that a graph can be made of."""
    return _listed("ops")


@routes.get("/v1/ops/{name}", response_model=OpEntry)
def get_op(name: Annotated[str, Path(max_length=64)]) -> Response:
    """Return one op, by its name or an alias."""
    return JsonResponse(op(name))


def _listed(kind: str) -> Response:
    return JsonResponse({"object": "list", "data": CATALOGUES[kind](), "has_more": False, "next_cursor": None})


@routes.get("/v1/optimizers", response_model=CatalogueList)
def list_optimizers() -> Response:
    """List the optimizers of fits. Each takes `groups` too: lists of parameters with a kind or options of their own,
    chosen by patterns of their names (`match`) or numbers of axes (`ndim`), or kept as they are (`frozen`).
    """
    return _listed("optimizers")


@routes.get("/v1/schedules", response_model=CatalogueList)
def list_schedules() -> Response:
    """List the schedules of learning rates."""
    return _listed("schedules")


@routes.get("/v1/losses", response_model=LossList)
def list_losses() -> Response:
    """List the losses of graphs made of layers."""
    return _listed("losses")


@routes.get("/v1/layers", response_model=CatalogueList)
def list_layers() -> Response:
    """List the layers that a graph can be made of."""
    return _listed("layers")


@routes.get("/v1/initializers", response_model=CatalogueList)
def list_initializers() -> Response:
    """List the ways to initialise a parameter."""
    return _listed("initializers")


@routes.get("/v1/metrics", response_model=MetricList)
def list_metric_kinds() -> Response:
    """List the metrics that a fit can compute besides its loss."""
    return _listed("metrics")
