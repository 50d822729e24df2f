import pytest

from app.domain import errors
from app.domain.errors import ApiError, Finding

STATUSES = {
    "Invalid": (422, "invalid"),
    "Unparsable": (400, "unparsable"),
    "NotFound": (404, "not_found"),
    "Gone": (410, "gone"),
    "Conflict": (409, "conflict"),
    "PreconditionFailed": (412, "precondition_failed"),
    "TooLarge": (413, "too_large"),
    "UnsupportedMedia": (415, "unsupported_media_type"),
    "IdempotencyMismatch": (422, "idempotency_key_reused"),
    "IdempotencyInFlight": (409, "idempotency_in_flight"),
    "BackupInProgress": (409, "backup_in_progress"),
    "QueueFull": (429, "queue_full"),
    "SessionsFull": (429, "sessions_full"),
    "ProcessLost": (503, "process_lost"),
    "StepRefused": (409, "step_refused"),
    "Draining": (503, "draining"),
    "StorageFull": (507, "storage_full"),
    "StorageFailed": (503, "storage_failed"),
    "RangeNotSatisfiable": (416, "range_not_satisfiable"),
    "Unauthorized": (401, "unauthorized"),
    "Forbidden": (403, "forbidden"),
}

CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ApiError)]


@pytest.mark.parametrize("name", STATUSES)
def test_a_class_knows_its_status_and_its_code(name: str) -> None:
    kind = getattr(errors, name)
    assert (kind.status, kind.code) == STATUSES[name]


def test_every_class_has_a_title_and_only_an_abstract_one_shares_its_code() -> None:
    # A conflict of transactions is a busy database to clients.
    concrete = [kind for kind in CLASSES if kind not in (errors.RetryLater, errors.TransactionConflict)]
    assert all(kind.title and kind.title == kind.title.strip(".") for kind in CLASSES)
    assert len({kind.code for kind in concrete}) == len(concrete)


def test_an_error_keeps_its_detail_and_its_findings() -> None:
    finding = Finding("/epochs", "out_of_range", "epochs is 0; ask for at least 1")
    error = errors.Invalid("the fit cannot run", findings=[finding])
    assert str(error) == error.detail == "the fit cannot run"
    assert error.findings == (finding,)
    assert error.headers == {}


def test_a_more_precise_code_replaces_the_one_of_the_class_for_this_error_only() -> None:
    assert errors.Conflict("late", code="stale_version").code == "stale_version"
    assert errors.Conflict("late").code == "conflict"


@pytest.mark.parametrize("kind", [errors.QueueFull, errors.Draining, errors.IdempotencyInFlight])
def test_a_refusal_that_time_cures_says_when_to_come_back(kind: type[errors.RetryLater]) -> None:
    assert kind("busy", retry_after=7).headers == {"Retry-After": "7"}


def test_errors_carry_the_headers_that_http_demands() -> None:
    assert errors.Unauthorized("send a key").headers["WWW-Authenticate"].startswith("Bearer")
    assert errors.RangeNotSatisfiable("too far", size_bytes=10).headers == {"Content-Range": "bytes */10"}


def test_too_large_keeps_the_limit() -> None:
    assert errors.TooLarge("the body has more than 10 bytes", limit=10).extensions == {"limit": 10}


def test_a_refused_step_says_what_its_process_has_said() -> None:
    finding = {"pointer": "/seq", "code": "used", "detail": "taken"}
    document = {"detail": "taken", "code": "seq_used", "status": 422, "title": "Used", "findings": [finding]}
    error = errors.StepRefused.from_json({**document, "expected_seq": 7}, {"X": "1"})
    assert (error.detail, error.status, error.code, error.title) == ("taken", 422, "seq_used", "Used")
    assert (error.findings, error.extensions) == ((errors.Finding(**finding),), {"expected_seq": 7})
    assert (errors.StepRefused("taken").status, errors.StepRefused("taken").title) == (409, "The step is refused")
