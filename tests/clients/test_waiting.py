"""How long a lost server is waited for."""

import ssl

import pytest

from adjoint_client.http1 import Answer
from adjoint_client.waiting import Waiting


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def answered(status, **headers):
    return Answer(status, headers, b"")


def test_pauses_grow_until_the_patience_is_over(clock):
    waiting, pauses = Waiting(10.0, clock), []
    while (pause := waiting.after_failure(ConnectionResetError(), kept=False)) is not None:
        pauses.append(pause)
        clock.now += pause
    assert pauses == sorted(pauses)
    assert pauses[-1] == 1.0
    assert 9.0 < sum(pauses) <= 10.0
    assert waiting.repeated


def test_the_patience_begins_with_the_first_failure(clock):
    waiting = Waiting(1.0, clock)
    clock.now = 100.0
    assert waiting.after_failure(ConnectionResetError(), kept=False) is not None


def test_a_connection_that_was_idle_is_made_again_at_once(clock):
    assert Waiting(0.0, clock).after_failure(ConnectionResetError(), kept=True) == 0.0


def test_a_client_without_answers_waits_longer_and_gives_up_in_the_end(clock):
    waiting = Waiting(60.0, clock)
    silences = [waiting.silence]
    while waiting.after_failure(TimeoutError(), kept=True) is not None:
        silences.append(waiting.silence)
    assert silences == [120.0, 240.0, 480.0]


def test_a_certificate_that_is_not_trusted_is_not_tried_again(clock):
    assert Waiting(60.0, clock).after_failure(ssl.SSLCertVerificationError(), kept=False) is None


@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        (answered(200), None),
        (answered(422), None),
        (answered(429), None),
        (answered(500), None),
        (answered(503, **{"retry-after": "3"}), 3.0),
        (answered(409, **{"retry-after": "1"}), 1.0),
        (answered(429, **{"retry-after": "61"}), None),
        (answered(502), 0.02),
        (answered(503), 0.02),
    ],
)
def test_an_answer_is_taken_unless_it_asks_for_patience(answer, pause, clock):
    waiting = Waiting(60.0, clock)
    assert waiting.after_answer(answer) == pause
    assert waiting.repeated == (pause is not None or "retry-after" in answer.headers)
