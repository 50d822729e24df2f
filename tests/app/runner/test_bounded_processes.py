"""Processes within the bounds that they are given: what the kernel holds them to, and what comes of an estimate that is
too small.
"""

import resource

import psutil

from app.worker.resources import FILE_BYTES, MARGIN_BYTES

from .conftest import SupervisorHarness

NUMPY = {"executor": "numpy"}
ENDLESS = {"steps": 10**9, "epochs": None, "record": {"every_steps": 1}}
MIB = 1024**2
# 640 MiB, which nothing touches before there are as many for the gradient.
HEAVY = {
    "inputs": {"x": {"shape": ["batch", 6]}},
    "parameters": {"w": {"shape": [6, 28_000_000], "init": {"kind": "zeros"}}},
    "program": "loss = mean((x @ w - 1.0) ** 2)",
}


def test_a_process_is_held_to_its_estimate_and_stands_back_behind_the_server(harness: SupervisorHarness) -> None:
    harness.submit(**ENDLESS, memory_bytes=100 * MIB, resources=NUMPY)
    supervisor = harness.supervisor()
    harness.until_rows(1)
    (worker,) = supervisor.workers()
    process = psutil.Process(worker.pid)
    space, _ = process.rlimit(psutil.RLIMIT_AS)
    assert process.memory_info().vms < space < process.memory_info().vms + 2 * MARGIN_BYTES + 100 * MIB
    assert process.rlimit(psutil.RLIMIT_FSIZE) == (100 * MIB + FILE_BYTES, 100 * MIB + FILE_BYTES)
    assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
    assert process.rlimit(psutil.RLIMIT_CPU)[0] == resource.RLIM_INFINITY
    assert process.nice() > psutil.Process().nice()


def test_a_fit_that_takes_more_than_was_estimated_fails_alone(harness: SupervisorHarness) -> None:
    harness.graph("graph_2", HEAVY)
    harness.submit("fit_1", steps=200, memory_bytes=100 * MIB, resources=NUMPY)
    harness.submit("fit_2", graph="graph_2", memory_bytes=MIB, batch_size=2, resources=NUMPY)
    harness.supervisor()
    failed = harness.until_state("failed", "fit_2")
    assert failed.error is not None
    assert failed.error["code"] == "out_of_memory"
    assert "batch_size" in failed.error["detail"]
    assert harness.outcomes("fit_2") == ["out_of_memory"]
    harness.until_state("succeeded", "fit_1")
    assert harness.outcomes("fit_1") == ["succeeded"]


def test_every_process_of_a_fit_is_held_to_the_estimate_of_one(harness: SupervisorHarness) -> None:
    harness.submit(**ENDLESS, memory_bytes=100 * MIB, resources={**NUMPY, "replicas": 2})
    supervisor = harness.supervisor()
    harness.until_rows(1)
    (worker,) = supervisor.workers()
    first = psutil.Process(worker.pid)
    (other,) = first.children()
    assert first.rlimit(psutil.RLIMIT_AS) == other.rlimit(psutil.RLIMIT_AS)
    assert other.rlimit(psutil.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    assert other.nice() == first.nice()
