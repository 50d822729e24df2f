"""Sweeps by the Python client, with and without asyncio."""

import asyncio

import numpy as np
import pytest

from adjoint_client import AsyncClient, AsyncSweepHandle, FitHandle, ServerError, SweepHandle

X = np.random.default_rng(3).standard_normal((32, 2)).astype(np.float32)
Y = (X @ np.array([1.0, -2.0], np.float32)).astype(np.float32)
FIELDS = {"epochs": 3, "batch_size": 8, "optimizer": {"kind": "sgd"}}
RATES = {"optimizer.lr": [0.001, 0.1]}


def test_a_sweep_is_run_ranked_and_predicts_with_its_best(client, line):
    seen = []
    sweep = client.sweep(line, {"x": X, "y": Y}, RATES, **FIELDS)
    assert isinstance(sweep, SweepHandle)
    assert sweep.wait(progress=seen.append).state == "succeeded"
    assert (seen[-1].step, seen[-1].total_steps, seen[-1].terminal) == (24, 24, True)
    assert set(seen[-1].values) == {"best loss"}
    variants = sweep.variants()
    assert [entry.rank for entry in variants] == [1, 2]
    assert [entry.parameters["optimizer.lr"] for entry in variants] == [0.1, 0.001]
    best = sweep.best()
    assert type(best) is FitHandle
    assert (best.id, best.info.parent) == (variants[0].fit, sweep.id)
    assert best.info.best["value"] == variants[0].value == seen[-1].values["best loss"]
    assert best.predict(X[:3]).shape == (3,)
    again = client.get_fit(sweep.id)
    assert isinstance(again, SweepHandle)
    again.delete()
    with pytest.raises(ServerError):
        best.refresh()


def test_samples_are_drawn_from_ranges(client, line):
    ranges = {"optimizer.lr": {"min": 1e-4, "max": 0.1, "log": True}}
    sweep = client.sweep(line, {"x": X, "y": Y}, ranges, kind="random", samples=3, sweep_seed=5, **FIELDS)
    sweep.wait()
    rates = [entry.parameters["optimizer.lr"] for entry in sweep.variants()]
    assert len(set(rates)) == 3
    assert all(1e-4 <= rate <= 0.1 for rate in rates)


def test_a_wrong_value_is_named_by_its_place(client, line):
    with pytest.raises(ServerError, match=r"/sweep/parameters/optimizer\.lr/1"):
        client.sweep(line, {"x": X, "y": Y}, {"optimizer.lr": [0.1, -1.0]}, **FIELDS)


def test_a_sweep_is_awaited(url, line):
    async def run():
        async with AsyncClient(url) as client:
            sweep = await client.sweep(line, {"x": X, "y": Y}, RATES, kind="halving", eta=2, **FIELDS)
            assert isinstance(sweep, AsyncSweepHandle)
            await sweep.wait()
            return [entry.step for entry in await sweep.variants()], (await sweep.best()).info.state

    steps, state = asyncio.run(run())
    assert sorted(steps) == [6, 12]
    assert state == "succeeded"
