import dataclasses
from datetime import timedelta

import pytest

from app.domain.errors import IdempotencyInFlight, IdempotencyMismatch
from app.service.resources.idempotency import KEPT_FOR, Idempotency, Ticket
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock

TICKET = Ticket("POST /v1/graphs", "key", "digest")


def answer(store: Store, ticket: Ticket = TICKET) -> None:
    with store.begin() as work:
        work.idempotency.add(
            ticket.key,
            ticket.scope,
            body_digest=ticket.body_digest,
            status=201,
            response_body="{}",
            resource_id="graph_1",
        )


def test_the_first_answer_is_given_again(store: Store) -> None:
    idempotency = Idempotency(store)
    with idempotency.answering(TICKET) as kept:
        assert kept is None
        answer(store)
    with idempotency.answering(TICKET) as kept:
        assert kept is not None
        assert (kept.status, kept.response_body, kept.resource_id) == (201, "{}", "graph_1")


def test_another_body_under_the_key_is_refused(store: Store) -> None:
    idempotency = Idempotency(store)
    answer(store)
    with pytest.raises(IdempotencyMismatch), idempotency.answering(dataclasses.replace(TICKET, body_digest="other")):
        pass


def test_another_scope_is_another_key(store: Store) -> None:
    answer(store)
    with Idempotency(store).answering(dataclasses.replace(TICKET, scope="POST /v1/fits")) as kept:
        assert kept is None


def test_the_second_waits_for_the_first_to_be_answered(store: Store) -> None:
    idempotency = Idempotency(store)
    with idempotency.answering(TICKET), pytest.raises(IdempotencyInFlight), idempotency.answering(TICKET):
        pass
    with idempotency.answering(TICKET) as kept:
        assert kept is None


def test_a_request_that_failed_may_be_sent_again(store: Store) -> None:
    idempotency = Idempotency(store)
    with pytest.raises(ZeroDivisionError), idempotency.answering(TICKET):
        raise ZeroDivisionError
    with idempotency.answering(TICKET) as kept:
        assert kept is None


def test_old_answers_are_forgotten(store: Store, clock: ManualClock) -> None:
    idempotency = Idempotency(store)
    answer(store)
    clock.advance(KEPT_FOR.total_seconds())
    idempotency.forget_old()
    with idempotency.answering(TICKET) as kept:
        assert kept is not None
    clock.advance(timedelta(seconds=1).total_seconds())
    idempotency.forget_old()
    with idempotency.answering(TICKET) as kept:
        assert kept is None
