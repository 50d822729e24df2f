"""The front door: an uploaded file in, canonical columns and a verdict out, by way of a limited child process."""

import subprocess
import sys
from pathlib import Path

from app.ingest.errors import IngestError, domain_error
from app.ingest.formats import READERS, IngestResult
from app.ingest.limits import IngestLimits
from app.ingest.options import IngestOptions
from app.ingest.verdict import IngestRequest, decode_verdict, encode_request

FORMATS = tuple(READERS)
"""Names of the formats that `ingest` reads."""

_COMMAND = (sys.executable, "-P", "-m", "app.ingest.child")
_IMPORT_ROOT = Path(__file__).resolve().parents[2]
_ENVIRONMENT = {
    "PYTHONPATH": str(_IMPORT_ROOT),
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_KEPT_STDERR = 2000


class ChildError(Exception):
    """The child ended without a verdict; the cause of an `Invalid` with the code `unreadable`, for the server's log."""


def ingest(path: Path, format: str, target: Path, options: IngestOptions, limits: IngestLimits) -> IngestResult:
    """Read the upload at `path`, of one of `FORMATS`, into the existing empty folder `target`, one `.npy` a column.

    Blocks until the child is done, at most `limits.wall_budget` seconds. Raises `Invalid` (the finding holds the code
    and the pointer; `unreadable` if the child died), `TooLarge` or `StorageFull`, and then leaves `target` empty.
    """
    request = IngestRequest(path.absolute(), format, target.absolute(), options, limits)
    try:
        verdict = _run(request)
    except ChildError as death:
        _empty(target)
        detail = "the file could not be read: its reader was stopped; check that it is whole and of the stated format"
        raise domain_error(IngestError("unreadable", "", detail)) from death
    if isinstance(verdict, IngestError):
        _empty(target)
        raise domain_error(verdict) from verdict
    return verdict


def _run(request: IngestRequest) -> IngestResult | IngestError:
    timeout = request.limits.wall_budget(request.path.stat().st_size)
    process = subprocess.Popen(  # noqa: S603 (the command is fixed)
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
        cwd=request.target,
        start_new_session=True,  # Ctrl-C is for the server, which decides what becomes of the upload
    )
    with process:
        try:
            answer, noise = process.communicate(encode_request(request), timeout)
        except subprocess.TimeoutExpired as error:
            msg = f"no verdict within {timeout:.0f} s"
            raise ChildError(msg) from error
        finally:
            process.kill()
    try:
        return decode_verdict(answer, request.target)
    except ValueError as error:
        msg = f"exit status {process.returncode}: {noise[-_KEPT_STDERR:].decode(errors='replace')}"
        raise ChildError(msg) from error


def _empty(target: Path) -> None:
    for rest in target.iterdir():
        rest.unlink()
