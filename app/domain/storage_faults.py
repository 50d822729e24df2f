"""What a disk may do to whoever writes, as errors of ours."""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from app.domain.errors import StorageFailed, StorageFull

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_logger = logging.getLogger(__name__)


@contextmanager
def storage_faults(what: str) -> Iterator[None]:
    """Have it named that `what` could not be written: StorageFull if there was no room, StorageFailed otherwise.

    Neither may be tried again with the same file: after a sync has failed, the next one tells nothing, since the
    system may have dropped what it could not write.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise StorageFull(f"the disk has no room for {what}; free some space, then try again") from error
        _logger.error("%s could not be written", what, exc_info=error)
        raise StorageFailed(
            f"the disk failed ({errno.errorcode.get(error.errno or 0, 'unknown error')}), so {what} was not kept; "
            "have the server's disk checked, then try again"
        ) from error
