"""A step as a call of its verb: the first time, and in a replay."""

from collections.abc import Mapping
from functools import partial

from app.domain.frames import Step
from app.ingest.arrays import read_arrays
from app.ingest.limits import IngestLimits
from app.worker.session.bench import Array, Call, Result, Verb
from app.worker.session.folder import Folder

_LIMITS = IngestLimits()


def perform(
    verb: Verb, step: Step, body: bytes, seq: int | None, folder: Folder, arrays: Mapping[str, Array] | None = None
) -> Result:
    """Call a verb; `arrays` are what the body holds, if that is known.

    Raises:
        AdjointError: the body cannot be read.
        EngineError, AdjointError, MemoryError: as the verb does.
    """
    if arrays is None:
        arrays = read_arrays(body, step.media, _LIMITS).arrays if step.media else {}
    return verb.run(Call(step.options, arrays, seq, step.files or {}, step.accept, partial(folder.put_saved, seq or 0)))
