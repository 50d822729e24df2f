"""What graphs and fits can be made of, read off the engine's tables."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import engine
from app.domain.errors import NotFound

Entries = list[dict[str, Any]]

CATALOGUES: Mapping[str, Callable[[], Entries]] = MappingProxyType(
    {
        "ops": engine.op_catalogue,
        "optimizers": engine.optimizer_catalogue,
        "schedules": engine.schedule_catalogue,
        "losses": engine.loss_catalogue,
        "layers": engine.layer_catalogue,
        "initializers": engine.initializer_catalogue,
        "metrics": engine.metric_catalogue,
    }
)


def op(name: str) -> dict[str, Any]:
    """Return the entry of one op, by its name or an alias; NotFound, with the nearest name, if there is none.

    An operation of other engines that this one does not support has an entry too, which says so.
    """
    try:
        return engine.op_entry(name)
    except engine.UnknownName as error:
        raise NotFound(str(error), code="unknown_name") from error
