"""The one way a parser refuses a file."""

from app.domain.errors import AdjointError, Finding, Invalid, StorageFull, TooLarge


class IngestError(Exception):
    """A file that is not taken as a data set.

    `code` is stable snake case; `pointer` is a JSON pointer into what was uploaded (`/columns/x`, `/lines/3`, `""` for
    the whole file); `detail` says what is wrong and what to change, and never repeats bytes of the file. `limit` is
    set when the file is well-formed and merely exceeds a limit of this server.
    """

    def __init__(self, code: str, pointer: str, detail: str, limit: int | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.pointer = pointer
        self.detail = detail
        self.limit = limit


def too_large(code: str, pointer: str, what: str, limit: int) -> IngestError:
    """An error for something that exceeds `limit`; `what` names it with its unit ("rows", "bytes of header")."""
    return IngestError(code, pointer, f"more than {limit} {what}; this server takes no more", limit=limit)


def domain_error(error: IngestError) -> AdjointError:
    """Return the same refusal as the service's other errors are."""
    findings = (Finding(error.pointer, error.code, error.detail),)
    if error.code == "storage_full":
        return StorageFull(error.detail)
    if error.limit is not None:
        return TooLarge(error.detail, limit=error.limit, code=error.code, findings=findings)
    return Invalid(error.detail, code=error.code, findings=findings)
