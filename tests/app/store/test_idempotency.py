from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from app.domain.errors import DatabaseBusy
from app.domain.records import IdempotencyRecord
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock

ANSWER: dict[str, Any] = {
    "body_digest": "a" * 64,
    "status": 202,
    "response_body": '{"id":"fit_1"}',
    "resource_id": "fit_1",
}


def test_the_first_answer_is_kept_for_its_key_and_scope(store: Store) -> None:
    with store.begin() as uow:
        assert uow.idempotency.find("key", "create_fit") is None
        kept = uow.idempotency.add("key", "create_fit", **ANSWER)
        assert kept == IdempotencyRecord(scope="create_fit", key="key", created_at=uow.now, **ANSWER)
        assert uow.idempotency.find("key", "create_fit") == kept
        assert uow.idempotency.find("key", "create_graph") is None
        assert uow.idempotency.find("KEY", "create_fit") is None
        uow.idempotency.add("key", "create_graph", body_digest="b", status=201, response_body="{}")


def test_a_key_is_kept_once(store: Store) -> None:
    with store.begin() as uow:
        uow.idempotency.add("key", "create_fit", **ANSWER)
    with pytest.raises((IntegrityError, DatabaseBusy)), store.begin() as uow:
        uow.idempotency.add("key", "create_fit", **ANSWER)


def test_a_key_is_forgotten_with_the_unit_of_work_that_failed(store: Store) -> None:
    def fail_after_adding() -> None:
        with store.begin() as uow:
            uow.idempotency.add("key", "create_fit", **ANSWER)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_adding()
    with store.begin() as uow:
        assert uow.idempotency.find("key", "create_fit") is None


def test_old_answers_can_be_forgotten(store: Store, clock: ManualClock) -> None:
    with store.begin() as uow:
        uow.idempotency.add("old", "create_fit", **ANSWER)
    clock.advance(60)
    with store.begin() as uow:
        uow.idempotency.add("new", "create_fit", **ANSWER)
        assert uow.idempotency.forget(before=uow.now) == 1
        assert uow.idempotency.find("old", "create_fit") is None
        assert uow.idempotency.find("new", "create_fit") is not None
