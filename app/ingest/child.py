"""The limited process that reads one upload: `python -m app.ingest.child`, a request on stdin, a verdict on stdout."""

import errno
import os
import sys

from app.ingest.confinement import confine, die_with_parent
from app.ingest.errors import IngestError
from app.ingest.formats import IngestResult, prepare, read_file
from app.ingest.verdict import IngestRequest, decode_request, encode_verdict


def main() -> None:
    """Serve one request. Anything but a verdict on stdout means that the file broke the reader."""
    die_with_parent()
    request = decode_request(sys.stdin.buffer.readline())
    prepare(request.format)
    confine(request.limits, request.path.stat().st_size)
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
