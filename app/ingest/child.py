"""The process that reads uploads: `python -m app.ingest.child`, requests on stdin, see `exchange` for the answers.

It has loaded what reading takes, and forks for each request: the fork limits itself, and writes a verdict.
"""

import ctypes
import errno
import gc
import os
import signal
import sys
import traceback
from importlib.abc import MetaPathFinder
from typing import NoReturn

from app.ingest.column_ranges import ColumnRange, encode_range
from app.ingest.exchange import pass_on
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
    """Serve requests one after another, until there are no more."""
    die_with_parent()
    gc.freeze()  # a collection in a fork would copy the pages that it shares
    for line in sys.stdin.buffer:
        _serve(line)


def _serve(line: bytes) -> None:
    parent = os.getpid()
    output, written = os.pipe()
    fork = os.fork()
    if fork == 0:
        _serve_in_fork(line, written, parent)
    os.close(written)
    pass_on(output, fork, sys.stdout.fileno())
    os.close(output)


def _serve_in_fork(line: bytes, output: int, parent: int) -> NoReturn:
    """Write a verdict, and exit: tearing NumPy down takes longer than reading a small file.

    Anything but a verdict means that the file broke the reader.
    """
    status = 1
    try:
        die_with_parent()
        if os.getppid() == parent:
            _use_streams(os.open(os.devnull, os.O_RDONLY), output)
            sys.stdout.buffer.write(encode_verdict(_read(decode_request(line))))
            sys.stdout.flush()
            status = 0
    except BaseException:  # noqa: BLE001 (it must not go on as the process that forks)
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _use_streams(given: int, output: int) -> None:
    """Read from `given` and write to `output`.

    Of all other files the errors of the process stay open: the server sees by them whether the fork has ended.
    """
    for place, end in enumerate((given, output, output, os.dup(2))):
        os.dup2(end, place)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))


def _read(request: IngestRequest) -> IngestResult | IngestError:
    os.chdir(request.target)
    prepare(request.path, request.format)
    confine(request.limits, time_bytes(request.path, request.format, request.limits))
    return _verdict(request)


def _write_range(column: ColumnRange) -> None:
    sys.stdout.buffer.write(encode_range(column))
    sys.stdout.flush()


def _verdict(request: IngestRequest) -> IngestResult | IngestError:
    try:
        return read_file(
            request.path,
            request.format,
            request.target,
            request.options,
            request.limits,
            _write_range if request.in_place else None,
        )
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
    os._exit(0)
