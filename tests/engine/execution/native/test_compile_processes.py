"""Other processes compile kernels beside the one that waits; what they do not compile, that one does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any, cast

import numpy as np
import pytest

import engine
from engine.execution.native import compile_processes
from engine.execution.native.compile_processes import KERNELS_PER_PROCESS, compile_codes


class StandIn:
    """A kernel that no other process knows."""

    def __init__(self, name: str, fails: bool = False) -> None:
        self.name = name
        self.addresses = 0
        self._fails = fails

    def address(self, dtype: np.dtype[Any]) -> int:
        self.addresses += 1
        if self._fails:
            raise ValueError(self.name)
        return 1


def codes_of(kernels: list[StandIn]) -> list[compile_processes.Code]:
    return [(cast("Any", kernel), np.dtype(np.float32)) for kernel in kernels]


@pytest.mark.parametrize("executable", [sys.executable, "/bin/false", "/no/such/program", ""])
@pytest.mark.parametrize("count", [1, 3 * KERNELS_PER_PROCESS])
def test_every_kernel_is_loaded_once_whatever_the_other_processes_do(
    executable: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    kernels = [StandIn(f"kernel{place}") for place in range(count)]
    assert len(list(compile_codes(codes_of(kernels), 2))) == count
    assert [kernel.addresses for kernel in kernels] == [1] * count


def test_every_kernel_is_loaded_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", refuse)
    kernels = [StandIn(f"kernel{place}") for place in range(2 * KERNELS_PER_PROCESS)]
    assert len(list(compile_codes(codes_of(kernels), 2))) == len(kernels)


def test_the_error_of_a_kernel_is_raised_and_no_other_is_compiled() -> None:
    kernels = [StandIn(f"kernel{place}", fails=True) for place in range(3)]
    with pytest.raises(ValueError, match="kernel0"):
        list(compile_codes(codes_of(kernels), 0))
    assert [kernel.addresses for kernel in kernels] == [1, 0, 0]


@pytest.mark.slow
def test_a_process_answers_each_name_and_keeps_the_code_on_disk(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(Path(engine.__file__).parents[1])}
    names = "no_such_kernel\nneg_float32\n"
    command = [sys.executable, "-m", compile_processes.__name__]
    answered = subprocess.run(command, input=names, env=environment, check=True, capture_output=True, text=True)
    assert answered.stdout == names
    assert [path.name for path in tmp_path.rglob("*.neg_float32_*.nbc")]
