"""The limited process that reads one upload: `python -m app.ingest.child`, a request on stdin, a verdict on stdout."""

import ctypes
import errno
import os
import signal
import sys
from importlib.abc import MetaPathFinder

from app.ingest.ingest import prepare, read_file, time_bytes
from app.ingest.limits import MIB, IngestError, IngestLimits
from app.ingest.verdict import IngestRequest, IngestResult, decode_request, encode_verdict
from app.system.confinement import Confinement

_PR_SET_PDEATHSIG = 1


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is left out", name=fullname)


def confine(limits: IngestLimits, size_bytes: int) -> None:
    """Bound memory, CPU time, written files and open files of this process; it cannot raise them again.

    To be called when every module is loaded. `size_bytes` is the size for which time is allowed. Pandas cannot be
    loaded afterwards: pyarrow would do so at its first use, within the time and the memory of the file.
    """
    sys.meta_path.insert(0, _WithoutPandas())
    Confinement(
        memory_bytes=limits.memory_bytes,
        # There is room for mapping a file that was written within the limits.
        most_memory_bytes=limits.memory_bytes + limits.max_expanded_bytes,
        file_bytes=limits.max_expanded_bytes + MIB,
        cpu_seconds=limits.cpu_budget(size_bytes),
        open_files=limits.open_files,
    ).enter()


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the server dies, however it dies (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Serve one request. Anything but a verdict on stdout means that the file broke the reader."""
    die_with_parent()
    request = decode_request(sys.stdin.buffer.readline())
    os.chdir(request.target)
    prepare(request.path, request.format)
    confine(request.limits, time_bytes(request.path, request.format, request.limits))
    sys.stdout.buffer.write(encode_verdict(_verdict(request)))


def _verdict(request: IngestRequest) -> IngestResult | IngestError:
    try:
        return read_file(request.path, request.format, request.target, request.options, request.limits)
    except IngestError as error:
        return error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return IngestError("storage_full", "", "the server's disk has no room for the unpacked data")
        if error.errno == errno.EFBIG:
            limit = request.limits.max_expanded_bytes
            return IngestError("expanded_too_large", "", f"more than {limit} bytes once unpacked", limit)
        raise


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # tearing NumPy down takes longer than reading a small file
