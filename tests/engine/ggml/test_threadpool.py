"""Thread pools: what they can be made to be, who may use them when, where their threads run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from engine import AttributeValueError, PoolBusy, PoolError, PoolPaused, Priority, Status, Threadpool, ThreadpoolParams
from engine.ggml import ggml
from engine.ggml.threadpool import Job
from tests.support.rows import each_row

Build = Callable[..., Any]


def test_the_defaults_are_those_of_ggml() -> None:
    params = ThreadpoolParams(3)
    assert (params.n_threads, params.prio, params.poll) == (3, Priority.NORMAL, 50)
    assert (params.strict_cpu, params.paused, params.cpumask) == (False, False, ())
    assert params == ThreadpoolParams.read({"n_threads": 3})


def test_parameters_are_set_to_the_defaults_in_place() -> None:
    params = ThreadpoolParams(2, [0], Priority.HIGH, poll=0, strict_cpu=True, paused=True)
    with Threadpool(ThreadpoolParams(1)) as pool:
        pool.params.init(1)
    same = params
    ggml.ggml_threadpool_params_init(params, 3)
    assert same == ggml.ggml_threadpool_params_default(3) == ThreadpoolParams(3)
    with pytest.raises(AttributeValueError, match="n_threads must be an integer"):
        params.init(0)
    assert params == ThreadpoolParams(3)


def test_priorities_have_the_numbers_of_ggml() -> None:
    numbers = {"LOW": -1, "NORMAL": 0, "MEDIUM": 1, "HIGH": 2, "REALTIME": 3}
    assert {priority.name: priority.value for priority in Priority} == numbers


@each_row(
    ("document", "message"),
    [
        ({"poll": 101}, "poll must be an integer in 0..100, not 101"),
        ({"poll": -1}, "poll must be an integer in 0..100"),
        ({"poll": 1.5}, "poll must be an integer"),
        ({"n_threads": 0}, "n_threads must be an integer in 1..512, not 0"),
        ({"n_threads": True}, "n_threads must be an integer"),
        ({"prio": 7}, r"prio 7 must be one of -1 \(LOW\), 0 \(NORMAL\)"),
        ({"paused": 1}, "paused must be true or false, not 1"),
        ({"strict_cpu": None}, "strict_cpu must be true or false"),
        ({"cpumask": [512]}, r"an entry of cpumask must be an integer in 0..511"),
        ({"cpumask": [False] * 513}, "cpumask has 513 entries"),
        ({"n_thread": 2}, r"no parameter 'n_thread' \(it has: n_threads, .*\); did you mean 'n_threads'"),
    ],
)
def test_parameters_outside_their_domain_are_named(document: dict[str, Any], message: str) -> None:
    with pytest.raises(AttributeValueError, match=message):
        ThreadpoolParams.read(document)


def test_a_mask_is_numbers_or_booleans() -> None:
    assert ThreadpoolParams(cpumask=[3, 1, 3]).cpumask == (1, 3)
    assert ThreadpoolParams(cpumask=[False, True, False, True]).cpumask == (1, 3)
    assert ThreadpoolParams(cpumask=[False] * 512).cpumask == ()


def test_parameters_match_whether_or_not_the_pool_starts_paused() -> None:
    params = ThreadpoolParams(2, poll=0)
    assert params.matches(ThreadpoolParams(2, poll=0, paused=True))
    assert not params.matches(ThreadpoolParams(2, poll=1))
    assert not params.matches(ThreadpoolParams(3, poll=0))


CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs to bind threads to")
@pytest.mark.parametrize("strict", [True, False])
def test_threads_run_on_the_cpus_of_the_mask(strict: bool) -> None:
    mask = CPUS[:2]
    with Threadpool(ThreadpoolParams(2, cpumask=mask, strict_cpu=strict)) as pool:
        assert pool.affinity() == ([{mask[0]}, {mask[1]}] if strict else [set(mask)] * 2)


@pytest.mark.skipif(not CPUS, reason="threads cannot be bound here")
def test_an_empty_mask_leaves_threads_to_the_system() -> None:
    with Threadpool(ThreadpoolParams(2, cpumask=[False] * 8, strict_cpu=True)) as pool:
        assert pool.affinity() == [set(CPUS)] * 2


@pytest.mark.skipif(not CPUS or 511 in CPUS, reason="needs a CPU that is not there")
def test_a_cpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(PoolError, match=r"no thread can be bound to the CPUs \[511\] here"):
        Threadpool(ThreadpoolParams(2, cpumask=[511]))


def test_a_priority_the_system_denies_is_reported(monkeypatch: pytest.MonkeyPatch, differentiated: Build) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", denied)
    model = differentiated()
    with Threadpool(ThreadpoolParams(2, prio=Priority.HIGH)) as pool:
        assert not pool.prio_applied
        assert model.graph.compute(threadpool=pool, n_threads=2) is Status.SUCCESS


@pytest.mark.parametrize(("prio", "calls"), [(Priority.NORMAL, 0), (Priority.LOW, 2), (Priority.REALTIME, 2)])
def test_each_thread_asks_for_its_priority(monkeypatch: pytest.MonkeyPatch, prio: Priority, calls: int) -> None:
    asked: list[object] = []
    monkeypatch.setattr(os, "sched_setscheduler", lambda *arguments: asked.append(arguments))
    with Threadpool(ThreadpoolParams(2, prio=prio)) as pool:
        assert pool.prio_applied
    assert len(asked) == calls


def test_a_pool_that_does_not_poll_never_looks_for_work_and_computes_the_same(wide: Build) -> None:
    results = []
    for poll in (0, 100):
        graph, leaf, _ = wide(3, 16)
        with Threadpool(ThreadpoolParams(2, poll=poll)) as pool:
            graph.compute(n_threads=2, threadpool=pool)
            results.append(graph.get(graph.grad(leaf)).tobytes())
            looked = any(graph.compute(threadpool=pool) or pool.looks for _ in range(100))
        assert looked == (poll > 0)
    assert results[0] == results[1]


def test_a_pool_serves_many_computations(wide: Build) -> None:
    graph, leaf, _ = wide(3, 16)
    graph.compute()
    once = graph.get(graph.grad(leaf))
    graph.reset()
    with Threadpool(2) as pool:
        assert pool.n_threads == 2
        for _ in range(50):
            graph.compute(n_threads=2, threadpool=pool)
    assert graph.get(graph.grad(leaf)) == pytest.approx(once * 50)


def test_a_paused_pool_refuses_work_until_it_is_resumed(differentiated: Build) -> None:
    model = differentiated()
    with Threadpool(ThreadpoolParams(2, paused=True)) as pool:
        with pytest.raises(PoolPaused, match=r"resume\(\) it, or compute with auto_resume=True"):
            model.graph.compute(threadpool=pool)
        pool.resume()
        assert model.graph.compute(threadpool=pool) is Status.SUCCESS
        pool.pause()
        pool.pause()
        with pytest.raises(PoolPaused):
            model.graph.compute(threadpool=pool)
        assert model.graph.compute(threadpool=pool, auto_resume=True) is Status.SUCCESS
        assert not pool.paused
    assert model.graph.get_at(model.graph.grad(model.x)) == 24.0


def test_a_pool_that_computes_is_not_freed_and_takes_no_second_graph(differentiated: Build) -> None:
    first, second = differentiated(), differentiated()
    refused = []
    with Threadpool(2) as pool:

        def interfere() -> bool:
            for attempt in (pool.free, lambda: second.graph.compute(threadpool=pool)):
                with pytest.raises(PoolBusy, match="the thread pool is computing"):
                    attempt()
                refused.append(True)
            return False

        assert first.graph.compute(threadpool=pool, abort=interfere) is Status.SUCCESS
    assert refused
    assert first.graph.get_at(first.f) == 16.0


def test_a_pool_that_was_freed_does_nothing(differentiated: Build) -> None:
    pool = Threadpool(1)
    pool.free()
    pool.free()
    model = differentiated()
    for attempt in (pool.pause, pool.resume, pool.affinity, lambda: model.graph.compute(threadpool=pool)):
        with pytest.raises(PoolError, match="has been freed"):
            attempt()


def test_tasks_run_after_those_they_wait_for() -> None:
    done: list[int] = []
    tasks = [lambda number=number: bool(done.append(number)) for number in range(6)]
    with Threadpool(3) as pool:
        pool.run(Job(tasks, [[1], [2], [3, 4], [4], [], [0, 0]]))
    assert done == [4, 3, 2, 1, 0, 5]


def test_a_fault_in_a_task_reaches_the_caller_and_the_pool_lives_on() -> None:
    with Threadpool(2) as pool:
        with pytest.raises(ZeroDivisionError):
            pool.run(Job([lambda: 1 / 0 > 0, lambda: False], [[], [0]]))
        pool.run(Job([lambda: False], [[]]))
        pool.run(Job([], []))
