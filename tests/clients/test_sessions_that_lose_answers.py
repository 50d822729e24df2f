"""Steps over a network that fails: nothing is doubled, nothing is lost."""

import asyncio
import random
import threading

import numpy as np
import pytest

from adjoint_client import AsyncClient, Client, ServerError, ServerUnreachable

X = np.random.default_rng(3).standard_normal((12, 2)).astype(np.float32)
Y = X @ np.float32([1, -2])
FAULTS = ("lost", "swallowed", "busy", "torn")


@pytest.fixture
def client(sessions):
    with Client(sessions.url) as client:
        yield client


@pytest.fixture
def session(client, line):
    with client.session(line, optimizer="adam", lr=0.1) as session:
        yield session


def failing(seed, share=0.4):
    """Fail so many of the steps, each time in another way."""
    dice = random.Random(seed)
    return lambda path: dice.choice(FAULTS) if ":" in path and dice.random() < share else None


def undisturbed(sessions, line):
    with Client(sessions.url) as client, client.session(line, optimizer="adam", lr=0.1) as session:
        return loop(session)


def loop(session):
    losses = []
    for _ in range(15):
        losses += [session.forward_backward(x=X[:6], y=Y[:6]).loss, session.forward_backward(x=X[6:], y=Y[6:]).loss]
        losses.append(session.optim_step().grad_norm)
    return losses


@pytest.mark.parametrize("seed", range(4))
def test_a_loop_is_the_same_whatever_answers_are_lost(seed, sessions, line):
    expected = undisturbed(sessions, line)
    sessions.fault = failing(seed)
    assert undisturbed(sessions, line) == expected
    first, second = sessions.sessions.values()
    assert second.carried_out == first.carried_out


@pytest.mark.parametrize("seed", range(4))
def test_a_pipeline_is_the_same_whatever_answers_are_lost(seed, sessions, line):
    expected = undisturbed(sessions, line)
    sessions.fault = failing(seed, share=0.6)
    with Client(sessions.url) as client, client.session(line, optimizer="adam", lr=0.1) as session:
        found = []
        with session.pipeline() as steps:
            for _ in range(15):
                found += [steps.forward_backward(x=X[:6], y=Y[:6]), steps.forward_backward(x=X[6:], y=Y[6:])]
                found.append(steps.optim_step())
    assert [f.result().grad_norm if n % 3 == 2 else f.result().loss for n, f in enumerate(found)] == expected


def test_with_asyncio_too(sessions, line):
    expected = undisturbed(sessions, line)
    sessions.fault = failing(5)

    async def both():
        async with AsyncClient(sessions.url) as client:
            async with await client.session(line, optimizer="adam", lr=0.1) as session:
                waited = []
                for _ in range(15):
                    waited.append((await session.forward_backward(x=X[:6], y=Y[:6])).loss)
                    waited.append((await session.forward_backward(x=X[6:], y=Y[6:])).loss)
                    waited.append((await session.optim_step()).grad_norm)
                weights = await session.parameters["w"]
            async with await client.session(line, optimizer="adam", lr=0.1) as session:
                futures = []
                async with session.pipeline() as steps:
                    for _ in range(15):
                        futures.append(await steps.forward_backward(x=X[:6], y=Y[:6]))
                        futures.append(await steps.forward_backward(x=X[6:], y=Y[6:]))
                        futures.append(await steps.optim_step())
                submitted = [await f for f in futures]
                np.testing.assert_array_equal(await session.parameters["w"], weights)
                with pytest.raises(TypeError, match="await"):
                    session.parameters["w"] = weights
                await session.parameters.set("w", weights)
            return waited, [f.grad_norm if n % 3 == 2 else f.loss for n, f in enumerate(submitted)]

    assert asyncio.run(both()) == (expected, expected)


def test_a_server_that_starts_again_is_waited_for(session, sessions):
    session.forward_backward(x=X, y=Y)
    sessions.stop()
    threading.Timer(0.3, sessions.start).start()
    assert session.optim_step().step == 1
    assert sessions.session.carried_out == ["forward_backward", "optim_step"]


def test_a_server_that_stays_away_is_given_up(client, sessions, line):
    session = client.session(line, patience=0.3)
    sessions.stop()
    with pytest.raises(ServerUnreachable, match=sessions.url):
        session.zero_grad()
    sessions.start()
    session.zero_grad()
    assert sessions.session.carried_out == ["zero_grad"]


def test_a_step_that_was_given_up_and_comes_again_is_not_doubled(client, sessions, line):
    session = client.session(line, patience=0.0)
    sessions.fault = lambda path: "swallowed" if "forward_backward" in path else None
    with pytest.raises(ServerUnreachable):
        session.forward_backward(x=X, y=Y)
    sessions.fault = lambda path: None
    once = session.forward_backward(x=X, y=Y)
    assert sessions.session.carried_out == ["forward_backward"]
    assert once.grad_norm == pytest.approx(np.hypot(*once.grad_norms.values()))


def test_another_step_after_one_that_was_given_up_takes_the_next_place(client, sessions, line):
    session = client.session(line, patience=0.0)
    sessions.fault = lambda path: "swallowed" if "forward_backward" in path else None
    with pytest.raises(ServerUnreachable):
        session.forward_backward(x=X, y=Y)
    sessions.fault = lambda path: None
    session.optim_step()
    assert sessions.session.carried_out == ["forward_backward", "optim_step"]
    assert session.next_seq == 3


def test_two_clients_take_steps_in_turn(session, client, sessions):
    other = client.open_session(session.id)
    for rate in (0.1, 0.2, 0.3):
        session.forward_backward(x=X, y=Y)
        other.optim_step(lr=rate)
    with other.pipeline() as steps:
        session.zero_grad()
        future = steps.forward_backward(x=X, y=Y)
        later = steps.optim_step(lr=0.1)
    assert (future.result().loss > 0, later.result().step) == (True, 4)
    assert sessions.session.next_seq == 10
    assert len(sessions.session.carried_out) == 9


def test_a_call_that_was_interrupted_leaves_no_answer_behind(sessions, line):
    gate = threading.Event()
    sessions.fault = lambda path: (gate.wait(30) and None) if "zero_grad" in path else None

    async def interrupted():
        async with AsyncClient(sessions.url) as client, await client.session(line) as session:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await session.zero_grad()
            gate.set()
            assert (await session.forward_backward(x=X, y=Y)).loss > 0

    asyncio.run(interrupted())
    assert sessions.session.carried_out == ["zero_grad", "forward_backward"]


def test_an_error_in_the_block_is_not_hidden_by_closing(client, sessions, line):
    with pytest.raises(KeyError), client.session(line):
        raise KeyError(sessions.stop())


def test_a_refusal_is_not_repeated(session, sessions):
    with pytest.raises(ServerError):
        session.forward_backward(x=X)
    assert sum("forward_backward" in request for request in sessions.requests) == 1


def test_the_key_travels_with_every_request(sessions, line):
    with Client(sessions.url, api_key="a-key") as client, client.session(line) as session:
        session.zero_grad()
    assert [request.partition("/")[0] for request in sessions.requests] == ["POST ", "POST ", "DELETE "]
    assert sessions.keys == 3 * ["Bearer a-key"]
