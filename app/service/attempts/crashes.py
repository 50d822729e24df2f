"""Reasons of crashes, and advice for each."""

from collections.abc import Mapping
from types import MappingProxyType

from app.domain.messages import Failed

_LESS_MEMORY = "give it less to hold: a smaller batch_size or model, fewer workers, or a machine with more memory"

CRASHES: Mapping[str, str] = MappingProxyType(
    {
        "killed": "find out who kills it (the kernel's log may tell), then {again}",
        "out_of_memory": _LESS_MEMORY,
        "blas_abort": _LESS_MEMORY,
        "stalled": "find out what holds it up (a disk, a paused process, an overloaded machine), then {again}",
        "fork_server": "put that right (the server's log has the whole of it), then {again}",
        "error": "the server's log says where it died; once that is put right, {again}",
        "not_started": "see that the server may start processes (its log says what the system refused), then {again}",
    }
)
"""Reasons that count as a crash, each with advice; that the server went down, or stopped it, does not."""

FOR_MEMORY = frozenset({"out_of_memory", "blas_abort"})
"""The reasons that mean a lack of memory."""

OUT_OF_MEMORY = Failed(
    "out_of_memory", "the fit needs more memory than it was given; try a smaller batch_size, or a smaller model"
)
"""The verdict on a fit that ran out of the memory that it was granted; another attempt would not help."""

_LOOP = "{losses} processes in a row died without getting any further; the last one ({reason}): {detail}; {advice}"


def advice(reason: str, again: str) -> str:
    """Return advice for a crash; `again` is what to do afterwards."""
    return CRASHES[reason].format(again=again)


def crash_loop(losses: int, reason: str, detail: str) -> dict[str, str]:
    """Return the error of a fit that is given up after too many crashes in a row."""
    text = _LOOP.format(losses=losses, reason=reason, detail=detail, advice=advice(reason, "resume it"))
    return {"code": OUT_OF_MEMORY.code if reason in FOR_MEMORY else "crash_loop", "detail": text}
