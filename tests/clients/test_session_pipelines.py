"""Steps that are submitted without waiting."""

import threading

import numpy as np
import pytest

from adjoint_client import Client, ServerError

X = np.random.default_rng(3).standard_normal((12, 2)).astype(np.float32)
Y = X @ np.float32([1, -2])
BAD = np.ones((3, 5), np.float32)


@pytest.fixture
def session(sessions, line):
    with Client(sessions.url) as client, client.session(line, optimizer="sgd", lr=0.1) as session:
        yield session


@pytest.fixture
def held(sessions):
    """Let nothing through but what has been let go."""
    gate = threading.Event()
    sessions.fault = lambda path: gate.wait(30) and None
    yield gate
    gate.set()


def test_what_is_submitted_gives_the_numbers_of_what_is_waited_for(sessions, line):
    with Client(sessions.url) as client:
        with client.session(line, optimizer="sgd", lr=0.1) as session:
            waited = [(session.forward_backward(x=X, y=Y).loss, session.optim_step().step) for _ in range(30)]
        with client.session(line, optimizer="sgd", lr=0.1) as session, session.pipeline() as steps:
            futures = [(steps.forward_backward(x=X, y=Y), steps.optim_step()) for _ in range(30)]
            assert [(passed.result().loss, step.result().step) for passed, step in futures] == waited


def test_steps_travel_together_while_another_is_under_way(session, sessions, held):
    with session.pipeline() as steps:
        futures = [steps.forward_backward(x=X, y=Y) for _ in range(21)]
        assert not futures[0].done()
        held.set()
    batches = [request for request in sessions.requests if ":batch" in request]
    assert len(batches) <= 2
    assert session.next_seq == 22
    assert all(future.done() for future in futures)


def test_what_changes_after_it_was_submitted_is_sent_as_it_was(session, sessions, held):
    changing = np.zeros((20_000, 2), np.float32)
    with session.pipeline() as steps:
        steps.zero_grad()
        future = steps.forward(x=changing, y=np.zeros(20_000, np.float32), training=False)
        changing[:] = 7
        held.set()
        np.testing.assert_array_equal(future.result().outputs["pred"], np.zeros(20_000))


def test_after_a_failure_nothing_is_carried_out(session, sessions):
    futures = []

    def submit():
        with session.pipeline() as steps:
            futures.extend([steps.forward_backward(x=X, y=Y), steps.forward_backward(x=BAD, y=Y)])
            futures.extend(steps.optim_step() for _ in range(5))
            assert futures[1].exception() is not None
            futures.append(steps.optim_step())

    with pytest.raises(ServerError, match="shape") as raised:
        submit()
    good, bad, *late = futures
    assert good.result().loss > 0
    assert raised.value is bad.exception()
    assert [future.exception().code for future in late] == 6 * ["not_carried_out"]
    assert sessions.session.carried_out == ["forward_backward"]
    assert session.optim_step().step == 1
    assert session.next_seq == 4, "what was not carried out takes no place"


def test_plain_steps_and_reads_come_behind_what_was_submitted(session, sessions, held):
    with session.pipeline() as steps:
        steps.forward_backward(x=X, y=Y)
        steps.optim_step()
        threading.Timer(0.05, held.set).start()
        assert session.gradients["w"] is None, "the optimizer has taken it"
        assert session.optim_step().step == 1
    assert sessions.session.carried_out == ["forward_backward", "optim_step", "optim_step"]


def test_a_client_that_submits_too_much_waits(session, sessions, held):
    submitted = []

    def submit():
        with session.pipeline() as steps:
            submitted.extend(steps.zero_grad() for _ in range(2000))

    thread = threading.Thread(target=submit)
    thread.start()
    thread.join(0.5)
    assert 0 < len(submitted) < 2000
    held.set()
    thread.join(30)
    assert len(submitted) == session.next_seq - 1 == 2000


def test_what_was_submitted_before_an_error_of_the_caller_is_carried_out(session, sessions):
    with pytest.raises(ZeroDivisionError), session.pipeline() as steps:
        raise ZeroDivisionError(steps.zero_grad())
    assert sessions.session.carried_out == ["zero_grad"]


def test_only_one_pipeline_of_a_session_is_open(session):
    with session.pipeline(), pytest.raises(RuntimeError, match="open"):
        session.pipeline()


def test_a_pipeline_that_was_left_takes_nothing(session):
    with session.pipeline() as steps:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        steps.zero_grad()


def test_every_verb_can_be_submitted(session):
    with session.pipeline() as steps:
        steps.set(w=[1.0, 2.0])
        steps.reset(momenta=True)
        kept = steps.forward(x=X, y=Y, keep=True)
        norms = steps.backward(kept.result().tape, loss=1.0)
        predicted = steps.predict(x=X)
        steps.zero_grad(set_to_none=True)
    np.testing.assert_allclose(predicted.result()["pred"], X @ [1, 2], rtol=1e-6)
    assert norms.result().grad_norm > 0
    assert session.gradients["w"] is None
