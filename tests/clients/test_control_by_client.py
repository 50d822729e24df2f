"""Fits under the control of the Python client: stopped, taken up, changed, forked, reproduced, looked into."""

import asyncio
import json
import time

import numpy as np
import pytest

from adjoint_client import AsyncClient, CapturedGradient, ServerError, Verdict

X = np.random.default_rng(5).standard_normal((32, 2)).astype(np.float32)
Y = (X @ np.array([1.0, -2.0], np.float32)).astype(np.float32)
FIELDS = {"epochs": 3, "batch_size": 8, "optimizer": {"kind": "sgd", "lr": 0.05}}
ENDLESS = {**FIELDS, "epochs": 1_000_000}


@pytest.fixture
def fit(client, line):
    """A fit of 12 steps that has succeeded."""
    handle = client.fit(line, {"x": X, "y": Y}, **FIELDS)
    handle.wait()
    return handle


@pytest.fixture
def endless(client, line):
    """A fit that goes on for longer than any test."""
    handle = client.fit(line, {"x": X, "y": Y}, **ENDLESS)
    until(handle, "running")
    yield handle
    if not handle.refresh().terminal:
        handle.kill()


def until(handle, state):
    end = time.monotonic() + 30
    while handle.refresh().state != state:
        assert time.monotonic() < end, handle.info
        time.sleep(0.02)


def test_a_fit_is_paused_changed_resumed_and_killed(endless):
    assert endless.pause().state in ("pausing", "paused")
    until(endless, "paused")
    assert endless.update(optimizer={"lr": 0.01}, labels={"a": "b"}).labels == {"a": "b"}
    assert endless.info.request["optimizer"] == {"kind": "sgd", "lr": 0.01}
    assert endless.resume().state == "queued"
    until(endless, "running")
    assert endless.kill().state == "cancelled"
    assert endless.info.stop_reason == "killed"


def test_a_fit_that_has_ended_is_extended(fit):
    assert fit.extend(epochs=2).total_steps == 20
    assert fit.wait().step == 20
    fit.extend(steps=4)
    assert (fit.wait().step, len(fit.metrics())) == (24, 24)


def test_a_fit_is_forked_from_a_checkpoint(fit):
    fork = fit.fork(optimizer={"kind": "sgd", "lr": 0.01}, epochs=4)
    assert fork.wait().step == 16
    again = fit.fork(fit.checkpoint("latest"), restore="parameters", epochs=1)
    assert again.wait().step == 4
    named = fit.fork(fit.checkpoint("latest").id, epochs=5)
    assert named.wait().step == 20


def test_a_checkpoint_is_pinned(fit):
    checkpoint = fit.checkpoint()
    assert checkpoint.pin().pinned
    with pytest.raises(ServerError):
        fit.delete()
    assert not checkpoint.pin(False).pinned


def test_a_fit_is_replayed_by_id_handle_and_bundle(client, fit):
    assert fit.verdict is None
    kept = json.loads(json.dumps(fit.bundle()))
    for what in (fit.id, fit, kept):
        replay = client.replay(what, labels={"why": "proof"}, priority="high")
        assert replay.wait().state == "succeeded"
        assert replay.verdict == Verdict(bit_exact=True, differences=(), first_row=None)
        assert replay.verdict
    kept["result"]["buffers"] = "0" * 64
    replay = client.replay(kept)
    replay.wait()
    assert replay.verdict == Verdict(bit_exact=False, differences=("buffers",), first_row=None)
    assert not replay.verdict


def test_captured_gradients_are_listed_and_fetched(client, line):
    fit = client.fit(line, {"x": X, "y": Y}, **FIELDS, record={"gradients": {"steps": [0, 5]}})
    fit.wait()
    assert fit.captured_gradients(step=5) == [
        CapturedGradient(5, "b", "float32", ()),
        CapturedGradient(5, "w", "float32", (2,)),
    ]
    assert [gradient.step for gradient in fit.captured_gradients()] == [0, 0, 5, 5]
    first, latest = fit.gradient("w", step=0), fit.gradient("w")
    assert first.shape == latest.shape == (2,)
    assert np.array_equal(latest, fit.gradient("w", step=5))
    assert not np.array_equal(first, latest)
    with pytest.raises(ServerError):
        fit.gradient("w", step=1)


def test_control_is_awaited(url, line):
    async def run():
        async with AsyncClient(url) as client:
            fit = await client.fit(line, {"x": X, "y": Y}, **FIELDS, start_paused=True)
            assert fit.info.state == "paused"
            await fit.resume()
            await fit.wait()
            replay = await client.replay(await fit.bundle())
            await replay.wait()
            return replay.verdict

    assert asyncio.run(run()).bit_exact
