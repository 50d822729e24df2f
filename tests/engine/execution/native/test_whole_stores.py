"""Kernels write whole registers: AMD's processors with AVX2 take ten times as long to store some lanes of one."""

from __future__ import annotations

import platform
import re

import llvmlite.binding
import pytest

from engine.core.dtypes import FLOAT32
from engine.execution.native.kernel import KERNELS, Kernel

BY_MASK = re.compile(r"vp?maskmov\w+\s+%[xy]mm\d+, %[xy]mm\d+, .*\(")
"""A store of the lanes of a mask; of a load the memory comes first."""


def assembly(kernel: Kernel) -> str:
    """Return the code of a kernel of float32 for a processor with AVX2, whatever this one is."""
    module = llvmlite.binding.parse_assembly(kernel._compile(FLOAT32).inspect_llvm())
    target = llvmlite.binding.Target.from_triple("x86_64-unknown-linux-gnu")
    return target.create_target_machine(cpu="znver3", opt=3).emit_assembly(module)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="code of this processor is no code of that one")
@pytest.mark.parametrize("name", ["relu_backward", "hardtanh_backward", "maximum", "max_pool_inside"])
def test_nothing_is_stored_by_a_mask(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.execution.native.code_folder.code_folder", lambda: None)
    monkeypatch.setattr("engine.execution.native.inline.vectors.vector_bytes", lambda: 32)
    (kernel,) = (each for each in KERNELS if each.name == name)
    assert not BY_MASK.search(assembly(kernel))
