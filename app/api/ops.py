"""Routes of the catalogue."""

from functools import cache
from typing import Annotated

from fastapi import Path, Response

from app.api.routing import router
from app.api.schemas.catalogue import CatalogueList, LossList, MetricList, OpEntry, OpList
from app.http.responses import JsonResponse, tagged
from app.ingest.encoding import json_body
from app.service.resources.graphs import CATALOGUES, op

routes = router("catalogue")


@routes.get("/v1/ops", response_model=OpList)
def list_ops() -> Response:
    """List ops.

    Lists every op that the nodes of a graph can use.
    """
    return _listed("ops")


@routes.get("/v1/ops/{name}", response_model=OpEntry)
def get_op(name: Annotated[str, Path(max_length=64)]) -> Response:
    """Get an op.

    Returns one op by its name or an alias: documentation, inputs, attributes, outputs.
    """
    return JsonResponse(op(name))


@cache
def _listed(kind: str) -> Response:
    page = {"object": "list", "data": CATALOGUES[kind](), "has_more": False, "next_cursor": None}
    return tagged(json_body(page))


@routes.get("/v1/optimizers", response_model=CatalogueList)
def list_optimizers() -> Response:
    """List optimizers.

    Lists the optimizers of fits and sessions. Each also accepts `groups`: parameters selected by name pattern
    (`match`) or number of axes (`ndim`) with a kind or options of their own, or `frozen`.
    """
    return _listed("optimizers")


@routes.get("/v1/schedules", response_model=CatalogueList)
def list_schedules() -> Response:
    """List learning rate schedules.

    Lists the learning rate schedules with their options.
    """
    return _listed("schedules")


@routes.get("/v1/losses", response_model=LossList)
def list_losses() -> Response:
    """List losses.

    Lists the losses of graphs that are built from layers, with their operands and options.
    """
    return _listed("losses")


@routes.get("/v1/layers", response_model=CatalogueList)
def list_layers() -> Response:
    """List layers.

    Lists the layers that a graph can be built from, with their options.
    """
    return _listed("layers")


@routes.get("/v1/initializers", response_model=CatalogueList)
def list_initializers() -> Response:
    """List initializers.

    Lists the initializers of parameters with their options.
    """
    return _listed("initializers")


@routes.get("/v1/metrics", response_model=MetricList)
def list_metric_kinds() -> Response:
    """List metrics.

    Lists the metrics that a fit can compute in addition to its loss.
    """
    return _listed("metrics")
