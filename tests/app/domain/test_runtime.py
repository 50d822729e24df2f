"""What a fit runs with, and how replays compare."""

from typing import Any

import pytest

from app.domain.runtime import Runtime, allot, changed_numerics

# What is asked for, cores and workers of the machine, and the threads that come of it.
SHARES: dict[str, tuple[dict[str, Any], int, int, int]] = {
    "its share of the cores": ({}, 8, 2, 4),
    "its share, rounded down": ({}, 8, 3, 2),
    "one where workers outnumber cores": ({}, 2, 8, 1),
    "a share of the share for each replica": ({"replicas": 2}, 8, 2, 2),
    "what it asks for": ({"threads": 6}, 8, 8, 6),
    "no more than there are cores": ({"threads": 64}, 8, 8, 8),
    "no more than there are cores for its replicas": ({"threads": 8, "replicas": 4}, 8, 1, 2),
    "one at least": ({"threads": 8, "replicas": 16}, 8, 1, 1),
    "no more than it has CPUs": ({"affinity": [3, 1, 3]}, 8, 1, 2),
    "no more than it has CPUs, whatever it asks for": ({"affinity": [0], "threads": 4}, 8, 1, 1),
    "nulls": ({"threads": None, "affinity": None, "replicas": None, "executor": None}, 4, 1, 4),
}


@pytest.mark.parametrize("name", SHARES)
def test_a_fit_gets(name: str) -> None:
    resources, cores, workers, threads = SHARES[name]
    runtime = allot(resources, None, cores=cores, workers=workers)
    assert (runtime.threads, runtime.threads_requested) == (threads, resources.get("threads"))


@pytest.mark.parametrize(("cores", "workers", "replicas"), [(1, 1, 1), (2, 2, 1), (8, 3, 2), (16, 4, 4), (64, 5, 3)])
def test_threads_of_all_workers_are_no_more_than_the_cores(cores: int, workers: int, replicas: int) -> None:
    threads = allot({"replicas": replicas}, None, cores=cores, workers=workers).threads
    assert threads * workers * replicas <= cores


def test_processes_are_bound_to_each_cpu_once_and_stand_back_as_the_priority_says() -> None:
    bound = allot({"affinity": [5, 2, 5], "priority": "low"}, None, cores=8, workers=1)
    assert bound.affinity == [2, 5]
    assert [allot({"priority": p}, None, cores=1, workers=1).niceness for p in ("low", "normal", "high")] == [19, 10, 5]


@pytest.mark.parametrize(("executor", "threads"), [("numpy", 3), ("native", 8)])
def test_a_fit_that_goes_on_keeps_what_its_bits_depend_on(executor: str, threads: int) -> None:
    before = Runtime(executor, 3, None, None, 10, {"executor": executor}).to_json()
    runtime = allot({"executor": "auto"}, before, cores=8, workers=1)
    assert (runtime.executor, runtime.threads) == (executor, threads)


def test_a_runtime_is_read_as_it_was_written() -> None:
    runtime = Runtime("native", 2, 4, [0, 1], 5, {"executor": "native"})
    assert Runtime.from_json(runtime.to_json()) == runtime


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing": ({"blas": "a", "machine": "m"}, {"machine": "m", "blas": "a"}, []),
    "values": ({"blas": "a", "machine": "m"}, {"blas": "b", "machine": "n"}, ["blas", "machine"]),
    "an entry that only one has": ({"blas": "a"}, {"blas": "a", "simd": "avx2"}, ["simd"]),
    "everything, where nothing is known": ({}, {"b": "1", "a": "1"}, ["a", "b"]),
}


@pytest.mark.parametrize("what", CASES)
def test_entries_of_fingerprints_differ_by(what: str) -> None:
    before, now, apart = CASES[what]
    assert changed_numerics(before, now) == changed_numerics(now, before) == apart
