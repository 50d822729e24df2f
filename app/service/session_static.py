"""Sessions of kind "static" as they are asked for: made of a request, and whether they can be."""

import math
from collections.abc import Mapping
from typing import Any

import engine
from app.domain.errors import Finding, TooLarge
from app.service.engine_faults import engine_faults
from app.service.memory import memory_budget

MADE_WITH = ("dims", "size", "grads", "order", "mem_size", "no_alloc", "training")
"""What of a request says how the first graph and its context are made."""


def static_session(definition: engine.Definition, request: Mapping[str, Any]) -> engine.StaticSession:
    """Make a session of the engine as `request` says.

    Raises:
        EngineError, Invalid: it cannot be made so.
    """
    asked = request["static"]
    pool = asked.get("threadpool")
    return engine.StaticSession(
        definition,
        **{name: asked[name] for name in MADE_WITH if name in asked},
        seed=request["seed"],
        precision=request["precision"],
        threadpool=None if pool is None else threadpool_params(pool, "/threadpool"),
    )


def threadpool_params(document: Mapping[str, Any], pointer: str) -> engine.ThreadpoolParams:
    """Read the parameters of a thread pool, which stand at `pointer`; Invalid with what is wrong."""
    given = dict(document)
    if isinstance(given.get("prio"), str):
        given["prio"] = engine.Priority[given["prio"].upper()]
    with engine_faults(pointer):
        return engine.ThreadpoolParams.read(given)


def check_static(definition: engine.Definition, request: Mapping[str, Any]) -> engine.StaticSession:
    """Make a session, to see whether it can be, without threads; Invalid or TooLarge if not."""
    with engine_faults():
        _check_memory(definition, request["static"].get("dims") or {})
        made = static_session(definition, request)
    made.close()
    return made


def _check_memory(definition: engine.Definition, dims: Mapping[str, int]) -> None:
    """Refuse inputs that the machine cannot hold: their extents are the client's to choose."""
    extents = engine.checked_extents(definition, dims)
    needed, budget = 0, memory_budget()
    for spec in definition.inputs.values():
        shape = [extents[extent] if isinstance(extent, str) else extent for extent in spec.shape]
        needed += math.prod(shape) * spec.dtype.itemsize
    if needed > budget:
        detail = f"inputs of these extents need {needed} bytes of memory; this server gives {budget}"
        finding = Finding("/dims", "memory_exceeded", detail)
        raise TooLarge(detail, limit=budget, code="memory_exceeded", findings=[finding])
