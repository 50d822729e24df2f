"""Workers report the kernels that they have loaded, and the fork server loads them for later ones."""

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import engine
from app.domain.messages import Assignment
from app.worker import warm_up
from app.worker.last_fit import MEMORY_MAX, describe_fit
from app.worker.warm_up import DATAGRAM_BYTES, FITS_MAX, WarmUp, WorkerReporter
from engine.core.registry import OPS, Op
from engine.core.shape_rules import same
from engine.core.value import Array
from engine.execution.native.code_folder import kept_code
from engine.execution.native.kernel import KERNELS, Kernel


def unloaded_kernels(count: int) -> list[tuple[str, Kernel]]:
    """Return the names of kernels that are on disk, and that this process has not loaded, with the kernels."""
    assert engine.why_native_unusable() is None
    kept, loaded = kept_code(), engine.loaded_kernels()
    found = [
        (f"{kernel.name}_{dtype.name}", kernel)
        for kernel in KERNELS
        for dtype in kernel.dtypes[:1]
        if kernel.code_name(dtype) in kept and f"{kernel.name}_{dtype.name}" not in loaded
    ]
    return found[-count:]


@pytest.fixture
def warming(monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmUp]:
    monkeypatch.setattr(warm_up, "collapse_heap", lambda: iter(()))  # the heap of this process is large
    warming = WarmUp()
    yield warming
    warming.reports.close()
    warming.reporting.close()


def finish(warming: WarmUp) -> None:
    while not warming.is_idle:
        warming.take_step()


def test_a_worker_reports_each_kernel_that_it_loads_once() -> None:
    receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with receiver, sender:
        reporter = WorkerReporter(sender)
        ((name, kernel),) = unloaded_kernels(1)
        reporter.report()
        kernel.address(kernel.dtypes[0])
        reporter.report()
        reporter.report()
        assert receiver.recv(DATAGRAM_BYTES).decode() == name
        with pytest.raises(BlockingIOError):
            receiver.recv(DATAGRAM_BYTES, socket.MSG_DONTWAIT)


def test_reported_kernels_are_loaded_up_to_a_limit(warming: WarmUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "LOADED_MAX", 2)
    warming.start()
    finish(warming)
    names = [name for name, _ in unloaded_kernels(3)]
    warming.reporting.send("\n".join([*names[:2], "no_such_kernel"]).encode())
    warming.reporting.send(names[2].encode())
    for _ in range(2):
        warming.receive()
        finish(warming)
    assert engine.loaded_kernels() & {*names} == {*names[:2]}


def test_an_op_is_prepared_when_the_fork_server_is_warm(warming: WarmUp, monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh(x: Array, *, factor: float = 2.0) -> Array:
        return factor * x

    op = Op(fresh, shape_rule=same)
    monkeypatch.setitem(OPS, "fresh", op)
    warming.start()
    finish(warming)
    assert {"_defaults", "_most_plain", "required_inputs"} <= vars(op).keys()


def test_an_error_ends_the_warming_up(warming: WarmUp, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("no memory may be made executable")

    monkeypatch.setattr(warm_up, "train_once", fail)
    warming.start()
    with pytest.raises(OSError, match="executable"):
        finish(warming)
    assert warming.is_idle


def test_a_fit_is_reported_unless_one_of_the_last_began_alike(
    warming: WarmUp, assign: Callable[..., Assignment]
) -> None:
    fits = [replace(assign(batch_size=size), memory_bytes=MEMORY_MAX) for size in range(1, FITS_MAX + 2)]
    for fit in fits:
        WorkerReporter(warming.reporting, warming.last_fits).report_fit(fit)
        warming.receive()
    assert warming.last_fits == tuple(map(describe_fit, fits[-FITS_MAX:]))
    reporter = WorkerReporter(warming.reporting, warming.last_fits)
    reporter.report_fit(replace(fits[1], fit_id="fit_2", request={**fits[1].request, "seed": 5}))
    with pytest.raises(BlockingIOError):
        warming.reports.recv(DATAGRAM_BYTES, socket.MSG_DONTWAIT)
    # One that knew of no other, and what is no description.
    kept = warming.last_fits
    WorkerReporter(warming.reporting).report_fit(fits[-1])
    warming.receive()
    warming.reporting.send(b"{}")
    warming.receive()
    assert warming.last_fits is kept
