# ruff: noqa: N818 (a class is named as its answer is: NotFound, Conflict)
"""The one tree of errors the service answers with.

Every class carries what a problem document needs (RFC 9457): a stable `code`, the HTTP `status` and a `title`.
Every instance carries a `detail` that names the resource, the value and what to change; `findings` that point into
the request; `headers` that must survive into the answer; and `extensions`, what else a program can decide by.
"""

import errno
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

SECONDS_UNTIL_RETRY = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault in a request: a JSON pointer to it (`""` is the whole body), a stable code, and advice.

    A fault in a text that the pointer names, such as a program, also has its line and column, counted from 1.
    """

    pointer: str
    code: str
    detail: str
    line: int | None = None
    column: int | None = None


class ApiError(Exception):
    """Root of the tree. Raised as itself it means a fault of the server."""

    code: str = "internal"
    status: int = 500
    title: str = "The server failed"

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        findings: Iterable[Finding] = (),
        headers: Mapping[str, str] | None = None,
        extensions: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep `detail`; `code` replaces the class's where a more precise one helps a program decide.

        `extensions` are further members of the answer by name, such as the limit that was exceeded.
        """
        super().__init__(detail)
        self.detail = detail
        self.findings = tuple(findings)
        self.headers: Mapping[str, str] = MappingProxyType(dict(headers or {}))
        self.extensions: Mapping[str, Any] = MappingProxyType(dict(extensions or {}))
        if code is not None:
            self.code = code


class Unparsable(ApiError):
    """The request body is not in the format it claims to be in."""

    code = "unparsable"
    status = 400
    title = "The request cannot be parsed"


class Unauthorized(ApiError):
    """No key was sent, or one that this server does not have."""

    code = "unauthorized"
    status = 401
    title = "A key is required"

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        """Tell the client which scheme to use, as RFC 9110 demands of a 401."""
        super().__init__(detail, code=code, headers={"WWW-Authenticate": 'Bearer realm="adjoint"'})


class Forbidden(ApiError):
    """The request is understood and refused for every client (a foreign Host or Origin, for example)."""

    code = "forbidden"
    status = 403
    title = "The request is refused"


class NotFound(ApiError):
    """The resource does not exist, and as far as is known it never did."""

    code = "not_found"
    status = 404
    title = "Not found"


class FileReplaced(NotFound):
    """What stands where a file of the server was is a link, or has a second name: it was put there from outside."""

    code = "file_replaced"
    title = "A file of the server was replaced"


class Conflict(ApiError):
    """The request does not fit the present state of the resource it names."""

    code = "conflict"
    status = 409
    title = "Conflict with the present state"


class Superseded(Conflict):
    """Another server runs the fits: what this one has recorded of their processes must not be written any more."""

    code = "fenced"


class Corrupt(ApiError):
    """A stored file is missing, or does not hold the bytes that its digest names.

    It stays so until the same bytes are stored again, or the file is restored from a backup.
    """

    code = "blob_corrupt"
    status = 409
    title = "Stored data are damaged"

    def __init__(
        self, detail: str, *, blob: str, problem: str, code: str | None = None, findings: Iterable[Finding] = ()
    ) -> None:
        """Keep the digest of the `blob`, and what is wrong with its file, as part of a sentence.

        `code` is given where a process has reported the error, in place of the class.
        """
        super().__init__(detail, code=code, findings=findings, extensions={"blob": blob})
        self.blob = blob
        self.problem = problem


class CheckpointCorrupt(Corrupt):
    """The file of a checkpoint is missing or damaged."""

    code = "checkpoint_corrupt"


class DatasetCorrupt(Corrupt):
    """A file of a dataset is missing or damaged."""

    code = "dataset_corrupt"


class GradientCorrupt(Corrupt):
    """The file of a captured gradient is missing or damaged."""

    code = "gradient_corrupt"


class Gone(ApiError):
    """The resource existed; its content was deleted."""

    code = "gone"
    status = 410
    title = "Deleted"


class PreconditionFailed(ApiError):
    """`If-Match` names another version of the resource than the present one."""

    code = "precondition_failed"
    status = 412
    title = "Precondition failed"


class TooLarge(ApiError):
    """The request, or what it expands to, exceeds a limit of this server."""

    code = "too_large"
    status = 413
    title = "Too large"

    def __init__(self, detail: str, *, limit: int, code: str | None = None, findings: Iterable[Finding] = ()) -> None:
        """Keep the `limit` that was exceeded, in the unit that `detail` speaks of."""
        super().__init__(detail, code=code, findings=findings, extensions={"limit": limit})


class UnsupportedMedia(ApiError):
    """The request's content type or encoding is not one that this route reads."""

    code = "unsupported_media_type"
    status = 415
    title = "Unsupported media type"


class RangeNotSatisfiable(ApiError):
    """The requested byte range lies outside the content."""

    code = "range_not_satisfiable"
    status = 416
    title = "Range not satisfiable"

    def __init__(self, detail: str, *, size_bytes: int) -> None:
        """Tell the client how long the content is."""
        super().__init__(detail, headers={"Content-Range": f"bytes */{size_bytes}"})


class Invalid(ApiError):
    """The request is well-formed and says something that cannot be done."""

    code = "invalid"
    status = 422
    title = "Invalid request"


class StepRefused(ApiError):
    """A step of a session, or a computation, was not executed, and has changed nothing.

    `extensions` are further members of the problem document, such as `expected_seq`.
    """

    code = "step_refused"
    status = 409
    title = "The step is refused"

    @classmethod
    def from_json(cls, document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Self:
        """Return the error that a process replied with; members it does not define become extensions."""
        fields = dict(document)
        status, title = fields.pop("status"), fields.pop("title")
        detail, code = fields.pop("detail"), fields.pop("code")
        findings = [Finding(**finding) for finding in fields.pop("findings", ())]
        error = cls(detail, code=code, findings=findings, headers=headers, extensions=fields)
        error.status, error.title = status, title
        return error


class ComputeTimeout(ApiError):
    """A prediction or computation took longer than one may, and was stopped."""

    code = "compute_timeout"
    status = 503
    title = "The computation took too long"

    def __init__(self, detail: str, *, limit: float) -> None:
        """Keep the `limit`, in seconds. There is no Retry-After: the same would take as long again."""
        super().__init__(detail, extensions={"limit": limit})


class IdempotencyMismatch(ApiError):
    """An Idempotency-Key was sent again with another body."""

    code = "idempotency_key_reused"
    status = 422
    title = "Idempotency key reused"


class RetryLater(ApiError):
    """A refusal that time cures; carries `Retry-After`. Raise one of its subclasses."""

    def __init__(self, detail: str, *, retry_after: int = SECONDS_UNTIL_RETRY, code: str | None = None) -> None:
        """Ask the client to come back after `retry_after` seconds."""
        super().__init__(detail, code=code, headers={"Retry-After": str(retry_after)})


class IdempotencyInFlight(RetryLater):
    """The first request with this Idempotency-Key is still being answered."""

    code = "idempotency_in_flight"
    status = 409
    title = "The same request is being answered"


class BackupInProgress(RetryLater):
    """Another backup is being downloaded."""

    code = "backup_in_progress"
    status = 409
    title = "A backup is being made"


class QueueFull(RetryLater):
    """The queue holds as many fits as this server accepts."""

    code = "queue_full"
    status = 429
    title = "The queue is full"


class SessionsFull(RetryLater):
    """There are as many sessions, or as many steps of one wait, as this server takes; or all their processes work."""

    code = "sessions_full"
    status = 429
    title = "Too many sessions or steps"


class ComputationsFull(RetryLater):
    """As many predictions and computations wait as may, or there is no memory for this one now."""

    code = "computations_full"
    status = 429
    title = "Too many computations"


class ComputationLost(RetryLater):
    """The process of a prediction or computation is gone before it has answered; it may be sent again."""

    code = "computation_lost"
    status = 503
    title = "The computation's process was lost"


class ProcessLost(RetryLater):
    """The process of a session is gone again and again before it has answered; what was asked may be sent again."""

    code = "process_lost"
    status = 503
    title = "The session's process was lost"


class SessionElsewhere(RetryLater):
    """The process of a session is at another server, which does not answer, or holds what it continues from."""

    code = "session_elsewhere"
    status = 503
    title = "The session is at another server"


class Draining(RetryLater):
    """The server is shutting down and takes no new work."""

    code = "draining"
    status = 503
    title = "The server is shutting down"


class DatabaseBusy(RetryLater):
    """Another program (a backup, a person's shell) keeps the database locked for longer than we wait."""

    code = "database_busy"
    status = 503
    title = "The database is busy"


class TransactionConflict(DatabaseBusy):
    """Concurrent transactions got in each other's way, and this one was rolled back: nothing was changed."""


class DatabaseUnavailable(RetryLater):
    """The connection to the database is lost, or cannot be made. Nothing was changed, unless the detail says so."""

    code = "database_unavailable"
    status = 503
    title = "The database is unavailable"


class StorageUnavailable(RetryLater):
    """The object storage cannot be reached, or does not take or give what it should. Nothing was changed."""

    code = "storage_unavailable"
    status = 503
    title = "The object storage is unavailable"


class TransferPending(RetryLater):
    """A file is being transferred to or from the object storage; repeat the call for the result."""

    code = "transfer_pending"
    status = 503
    title = "A stored file is being transferred"


class StorageFull(ApiError):
    """The disk (or its quota) has no space for what was to be written."""

    code = "storage_full"
    status = 507
    title = "Storage is full"


class StorageFailed(ApiError):
    """The disk failed while something was written. It is not kept; what was acknowledged before still is."""

    code = "storage_failed"
    status = 503
    title = "The storage failed"


class DataDirectoryInUse(ApiError):
    """Another server holds the data directory; met at start, never in an answer."""

    code = "data_directory_in_use"
    status = 503
    title = "The data directory is in use"


class InsecureBind(ApiError):
    """Other machines could use the server without a key; met at start, never in an answer."""

    code = "door_open"
    status = 503
    title = "The server needs a key"


class DatabaseUnusable(ApiError):
    """The database file cannot be used as it is; met at start, never in an answer."""

    code = "database_unusable"
    status = 503
    title = "The database cannot be used"


class BlobStorageUnusable(ApiError):
    """The object storage cannot be used as it is; met at start, never in an answer."""

    code = "blob_storage_unusable"
    status = 503
    title = "The object storage cannot be used"


class RayUnusable(ApiError):
    """The Ray cluster cannot be used as it is; met at start, never in an answer."""

    code = "ray_unusable"
    status = 503
    title = "The Ray cluster cannot be used"


class BadMessage(ApiError):
    """What came down the pipe between server and worker is not a message of theirs."""

    code = "bad_message"
    title = "The worker's message cannot be read"


NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_logger = logging.getLogger(__name__)


@contextmanager
def storage_faults(what: str) -> Iterator[None]:
    """Raise that `what` could not be written: StorageFull if there was no space, StorageFailed otherwise.

    Neither may be tried again with the same file: after a sync has failed, the next one proves nothing, since the
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
