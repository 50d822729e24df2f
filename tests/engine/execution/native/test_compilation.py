"""Kernels are compiled once for equal sources, and a fit that waits for them reports how many there are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from app.cli.demo import graph_path
from engine.diagnostics.report import plan_report
from engine.execution.native.code_folder import kept_code
from engine.execution.native.codes import find_codes
from engine.execution.native.compilation import COMMON
from engine.execution.native.coverage import kernels_of

FINDS = """
from engine.execution.native.codes import find_codes
from engine.execution.native.compilation import COMMON

for kernel, dtype in find_codes(COMMON):
    print(f"{kernel.name}_{dtype.name}")
"""
TRAINS = """
import sys
import numpy as np
import engine

graph = {"inputs": {"x": {"shape": ["batch", 4], "dtype": "float32"}}, "parameters": {"p": {"shape": [4]}},
         "program": "loss = sum(x * p)"}
recipe = {"optimizer": {"kind": "sgd", "lr": 0.1}, "epochs": 1, "batch_size": 8, "validation": {"split": 0.5},
          "record": {"gradients": {"every_steps": 1}}}
fit = engine.Fit(engine.parse_graph(graph), engine.read_recipe(recipe), {"x": np.ones((20, 4), np.float32)},
                 execution=engine.Execution("native", threads=1))
with engine.report_compilation(lambda count, total: print(count, total)):
    fit.bind()
    print("first step")
    list(fit)
"""


def test_a_new_process_finds_all_common_kernels() -> None:
    """Those that compile for others import no more than what declares kernels."""
    environment = {**os.environ, "PYTHONPATH": str(Path(engine.__file__).parents[1])}
    found = subprocess.run([sys.executable, "-c", FINDS], env=environment, check=True, capture_output=True, text=True)
    assert {*found.stdout.split()} == COMMON


def test_kernels_that_do_not_exist_are_passed_over() -> None:
    assert list(find_codes(["no_such_kernel_float32", "relu", ""])) == []


def test_common_kernels_on_disk_are_loaded_one_at_each_step() -> None:
    kept = kept_code()
    on_disk = [(kernel, dtype) for kernel, dtype in find_codes(COMMON) if kernel.code_name(dtype) in kept]
    assert sum(1 for _ in engine.load_kernels()) == len(on_disk)
    assert all(dtype in kernel.loaded for kernel, dtype in on_disk)
    assert engine.loaded_kernels() >= {f"{kernel.name}_{dtype.name}" for kernel, dtype in on_disk}


@pytest.mark.parametrize(("name", "optimizer"), [("iris", "adam"), ("digits", "adamw")])
def test_the_demo_needs_no_other_kernels(name: str, optimizer: str) -> None:
    graph = engine.parse_graph(json.loads(graph_path(name).read_text()))
    plan, _ = plan_report(graph, batch=16, optimizer={"kind": optimizer, "lr": 0.01}, executor="native")
    needed = {f"{kernel.name}_{dtype.name}" for kernel, dtype in kernels_of(plan)}
    assert needed <= COMMON


@pytest.mark.slow
def test_a_fit_reports_the_kernels_it_waits_for_before_its_first_step_and_the_next_process_waits_for_none(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(Path(engine.__file__).parents[1])}
    command = [sys.executable, "-c", TRAINS]
    first, second = (
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout for _ in range(2)
    )
    *lines, last = first.splitlines()
    assert last == "first step"
    reported = [tuple(map(int, line.split())) for line in lines]
    totals = [total for count, total in reported if count == 0]
    assert reported == [(count, total) for total in totals for count in range(total + 1)]
    assert totals
    assert second == "first step\n"
