"""Sessions of kind "static" as they are asked for: made of a request, and whether they can be."""

import math
from collections.abc import Mapping
from typing import Any

import engine
from app.service.resources.engine_faults import engine_faults

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
    """Make a session, to see whether it can be, without threads; Invalid if not."""
    with engine_faults():
        made = static_session(definition, request)
    made.close()
    return made


def input_bytes(definition: engine.Definition, dims: Mapping[str, int]) -> int:
    """Return what inputs of the extents take, which are the client's to choose; EngineError if they are none."""
    extents = engine.checked_extents(definition, dims)
    shapes = {
        name: [extents[extent] if isinstance(extent, str) else extent for extent in spec.shape]
        for name, spec in definition.inputs.items()
    }
    return sum(math.prod(shape) * definition.inputs[name].dtype.itemsize for name, shape in shapes.items())
