"""A look into a step as a document: timings, losses by row, what is not finite."""

from collections.abc import Mapping, Sequence
from typing import Any

import engine
from app.domain.documents import finite_part, nonfinite_name


def computed_document(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an evaluation of a graph gave: outputs, losses, gradients, derivatives; tensors are still arrays."""
    losses, nonfinite = finite_part(result["losses"])
    answer: dict[str, Any] = {"losses": losses, "nonfinite": nonfinite}
    return {**answer, **{kind: result[kind] for kind in ("outputs", "gradients", "derivatives") if kind in result}}


def gradcheck_document(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether gradients agree with central differences."""
    gradients = {name: _checked(found) for name, found in report["gradients"].items()}
    numbers, nonfinite = finite_part({**report, "gradients": gradients})
    return {**numbers, "nonfinite": nonfinite}


def _checked(report: Mapping[str, Any]) -> dict[str, Any]:
    worst = report["worst"]
    if worst is not None:
        numbers_there, nonfinite_there = finite_part(worst)
        worst = {**numbers_there, "nonfinite": nonfinite_there}
    numbers, nonfinite = finite_part({**report, "worst": worst})
    return {**numbers, "nonfinite": nonfinite}


def row_losses_document(found: engine.RowLosses) -> dict[str, Any]:
    """Return the loss of each row, and the rows that spike: those that are not finite, then the largest."""
    finite, nonfinite = finite_part({str(row): loss for row, loss in enumerate(found.losses.tolist())})
    return {
        "losses": list(finite.values()),
        "nonfinite": nonfinite,
        "top": [{"row": row, "loss": finite[str(row)], "nonfinite": nonfinite.get(str(row))} for row in found.top],
    }


def profile_document(timings: Sequence[engine.Timing]) -> dict[str, Any]:
    """Return a step node by node, and how long each of its phases takes."""
    phases: dict[str, float] = {}
    for timing in timings:
        phases[timing.phase] = phases.get(timing.phase, 0.0) + timing.seconds
    return {
        "object": "list",
        "data": [_node(timing) for timing in timings],
        "seconds": sum(phases.values()),
        "phase_seconds": phases,
        "peak_bytes": max((timing.live_bytes for timing in timings), default=0),
        "flops": sum(timing.operations for timing in timings),
    }


def _node(timing: engine.Timing) -> dict[str, Any]:
    return {
        "name": timing.name,
        "op": timing.op,
        "phase": timing.phase,
        "shape": list(timing.shape),
        "dtype": timing.dtype,
        "seconds": timing.seconds,
        "bytes": timing.bytes_made,
        "bytes_read": timing.bytes_read,
        "live_bytes": timing.live_bytes,
        "flops": timing.operations,
    }


def trace_document(found: engine.Nonfinite | None) -> dict[str, Any]:
    """Return where the first number that is not finite comes from."""
    if found is None:
        return {"finite": True, "first": None}
    first = {
        "name": found.name,
        "kind": found.kind if found.phase is None else "node",
        "phase": found.phase,
        "op": found.op,
        "shape": list(found.shape),
        "dtype": found.dtype,
        "nan": found.nan,
        "inf": found.inf,
        "index": list(found.index),
        "value": nonfinite_name(found.value),
        "inputs": [_operand(operand) for operand in found.inputs],
    }
    return {"finite": False, "first": first}


def _operand(operand: engine.Operand) -> dict[str, Any]:
    finite, nonfinite = finite_part({"min": operand.min, "max": operand.max})
    told = {"name": operand.name, "shape": list(operand.shape), "dtype": operand.dtype}
    return {**told, **finite, "nonfinite": nonfinite, "nan": operand.nan, "inf": operand.inf}
