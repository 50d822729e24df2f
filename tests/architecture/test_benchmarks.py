"""The benchmarks measure what they say: models of the right size, honest floors, rows that are merged and judged."""

from __future__ import annotations

import ast
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from tests.benchmarks import large_models
from tests.benchmarks.floor import Peaks, floor_ms
from tests.benchmarks.measure import Outcome, Running, environment
from tests.benchmarks.readme import BEGIN, END, PAGE, RESULTS, with_tables
from tests.benchmarks.results_file import merged, read_results, row, write_results
from tests.benchmarks.roster import ROSTER, Entry
from tests.benchmarks.starts import definition
from tests.benchmarks.summary import of_all
from tests.benchmarks.table import markdown, number, terminal_block
from tests.benchmarks.workloads import POOL, WORKLOADS

ROOT = Path(__file__).parents[2]

PARAMETERS_AND_FLOPS = {
    "W1": (4 * 64 + 64 + 64 * 32 + 32 + 32 * 3 + 3, 2 * 32 * (2 * 4 * 64 + 3 * 64 * 32 + 3 * 32 * 3)),
    "W2": (535_818, 2 * 128 * (2 * 784 * 512 + 3 * 512 * 256 + 3 * 256 * 10)),
    "W3": (144 + 16 + 4608 + 32 + 15_680 + 10, 64 * (2 * 2 * 784 * 144 + 3 * 2 * 196 * 4608 + 3 * 2 * 15_680)),
    "W4": (
        96 * 128 + 64 * 128 + 4 * (12 * 128**2 + (2 + 2 + 3 + 1 + 4 + 1) * 128) + 2 * 128 + 96 * 129,
        3 * (4 * (2 * 1024 * 12 * 128**2 + 2 * 1024 * 128 * 65) + 2 * 1024 * 128 * 96),
    ),
    "lstm": (4 * 128 * (32 + 128 + 2) + 1290, 32 * (32 * 2 * 512 * (2 * 32 + 3 * 128) + 3 * 2 * 1280)),
    "gru": (3 * 128 * (32 + 128 + 2) + 1290, 32 * (32 * 2 * 384 * (2 * 32 + 3 * 128) + 3 * 2 * 1280)),
    "sweep": (2499, 32 * 444_416),
}
PEAKS = Peaks({"float32": 1e11, "float64": 5e10}, {2**14: 1e10, 2**20: 4e10, 2**28: 1e10})


def ran(name: str, ms: float, *losses: float) -> Outcome:
    return Outcome(name, version="1", losses=list(losses) or [2.0, 1.0], seconds=[ms / 1e3] * 3)


def results(*outcomes: Outcome, workload: str = "W1", table: str = "default", **fields: Any) -> dict[str, Any]:
    measured = row(WORKLOADS[workload], 0.5, outcomes)
    machine = {"processor": "abacus", "cores": 2, "python": "3", "numpy": "2", "blas": "beads"}
    found = {
        "machine": machine,
        "load": 0.2,
        "threads": 2,
        "rounds": 3,
        "peaks": {},
        "tables": {table: {workload: measured}},
    }
    return {**found, **fields}


@pytest.mark.parametrize("name", PARAMETERS_AND_FLOPS)
def test_a_model_has_the_parameters_and_operations_counted_by_hand(name: str) -> None:
    workload, (parameters, flops) = WORKLOADS[name], PARAMETERS_AND_FLOPS[name]
    assert sum(math.prod(spec.shape) for spec in definition(workload).parameters.values()) == parameters
    assert workload.flops == flops


@pytest.mark.parametrize("name", WORKLOADS)
def test_columns_feed_the_graph_and_the_recipe_is_one(name: str) -> None:
    workload = WORKLOADS[name]
    graph, columns = definition(workload), workload.columns()
    assert set(columns) == set(graph.inputs)
    assert {len(column) for column in columns.values()} == {POOL * workload.batch}
    assert engine.read_recipe(workload.recipe(steps=1)).batch_size == workload.batch


def test_every_contender_has_a_program_that_is_its_entry() -> None:
    folder = ROOT / "tests/benchmarks/contenders"
    for entry in ROSTER.values():
        functions = {
            node.name
            for node in ast.parse((folder / f"{entry.module}.py").read_text("utf-8")).body
            if isinstance(node, ast.FunctionDef)
        }
        assert "build" in functions, entry.name


def test_a_floor_is_products_and_the_optimizer_at_the_best_rate_of_as_much_memory() -> None:
    mixed = Peaks({**PEAKS.products, "bfloat16": 4e11}, PEAKS.streams)
    assert floor_ms(WORKLOADS["W2-bf16"], 0, mixed) == pytest.approx(floor_ms(WORKLOADS["W2"], 0, PEAKS) / 4)
    assert floor_ms(WORKLOADS["W2-bf16"], 0, PEAKS) == floor_ms(WORKLOADS["W2"], 0, PEAKS)
    expected = 444_416 / 1e11 + 7 * 4 * 2499 / 4e10
    assert floor_ms(WORKLOADS["W1"], 2499, PEAKS) == pytest.approx(1e3 * expected)
    assert PEAKS.stream_rate(2**24) == 1e10
    assert PEAKS.stream_rate(2**30) == 1e10
    faster = Peaks.from_json({"products": {"float32": 1.0}, "streams": {"16": 2.0}}, {"products": {"float32": 3.0}})
    assert (faster.products, faster.streams) == ({"float32": 3.0}, {16: 2.0})


def test_who_computes_something_else_is_found_and_does_not_count() -> None:
    found = results(ran("Adjoint NumPy", 2), ran("jax.jit", 4), ran("mygrad", 1, 2.0, 1.1))
    measured = found["tables"]["default"]["W1"]
    assert [contender["agrees"] for contender in measured["contenders"]] == [True, True, False]
    assert measured["summary"]["best_peer"] == "jax.jit"
    assert "1.000 ≠" in markdown(found).replace("1.00 ≠", "1.000 ≠")
    assert "DIFFER" in terminal_block(measured)
    alone = results(ran("Adjoint NumPy", 1, 2.0, 1.1), ran("jax.jit", 4), ran("mygrad", 4))
    assert alone["tables"]["default"]["W1"]["summary"]["ratio"] is None, "nor do we"


def test_a_row_names_the_best_peer_the_ratio_the_share_of_the_floor_and_the_numpy_steps() -> None:
    native = replace(ran("Adjoint native", 2), numpy_steps=["inv", "qr"])
    found = results(native, ran("Adjoint server", 1), ran("torch eager", 9), ran("jax.jit", 3))
    assert found["tables"]["default"]["W1"]["summary"] == {
        "ms": 2.0, "best_peer": "jax.jit", "best_peer_ms": 3.0, "ratio": 1.5, "floor_share": 0.25,
        "numpy_steps": ["inv", "qr"],
    }  # fmt: skip
    assert "| jax.jit 3.00 | 1.50 | 25% | inv, qr | 0.001 |" in markdown(found)
    assert "floor 25%; NumPy steps inv, qr" in terminal_block(found["tables"]["default"]["W1"])
    assert "NumPy steps none" in terminal_block(row(WORKLOADS["W1"], 1, [replace(native, numpy_steps=[])]))


def test_the_last_line_is_the_mean_of_the_ratios_and_the_rows_behind() -> None:
    rows = [
        row(WORKLOADS[name], 0.5, [ran("Adjoint native", 1), ran("jax.jit", peer)])
        for name, peer in (("W1", 4), ("W2", 1), ("W3", 2))
    ]
    assert of_all(rows) == (pytest.approx(2), 3, ["W2"])
    found = results()
    found["tables"]["default"] = {each["workload"]: each for each in rows}
    assert "Geometric mean of the ratios of 3 rows: 2.00; below 1.1: 1 (W2)." in markdown(found)
    assert of_all([row(WORKLOADS["W1"], 0.5, [ran("jax.jit", 1)])]) is None


def test_a_missing_contender_is_a_dash_and_a_reason() -> None:
    missing = Outcome("jax.jit", missing="No module named 'jax'")
    measured = results(ran("torch eager", 3), missing)["tables"]["default"]
    assert "missing: No module named 'jax'" in terminal_block(measured["W1"])
    found = results(ran("torch eager", 3), missing)
    found["tables"]["default"]["W2"] = row(WORKLOADS["W2"], 0.5, [ran("jax.jit", 3)])
    heads, _, *lines = markdown(found).splitlines()[2:6]
    assert "jax scan" not in heads, "a column that nobody is in"
    assert [line.split(" | ")[1:3] for line in lines] == [["**3.00**", "-"], ["-", "**3.00**"]]


def test_a_table_says_when_the_machine_was_busy() -> None:
    assert "Other programs" not in markdown(results(ran("torch eager", 3)))
    assert "Other programs were running when this began (load 4.5)" in markdown(
        results(ran("torch eager", 3), load=4.5)
    )


def test_new_rows_replace_old_ones_of_the_same_machine_only(tmp_path: Path) -> None:
    old = results(ran("jax.jit", 9), workload="W2")
    new = results(ran("jax.jit", 5), workload="W1")
    write_results(tmp_path / "kept.json", merged(old, new))
    kept = read_results(tmp_path / "kept.json")
    assert kept is not None
    assert list(kept["tables"]["default"]) == ["W1", "W2"]
    assert list(merged(old, results(ran("jax.jit", 5), table="Haswell"))["tables"]) == ["default", "Haswell"]
    assert list(merged(old, {**new, "threads": 1})["tables"]["default"]) == ["W1"]


@pytest.mark.parametrize(("ms", "text"), [(123.4, "123"), (12.34, "12.3"), (1.234, "1.23"), (0.0123, "0.0123")])
def test_milliseconds_are_written_to_three_digits(ms: float, text: str) -> None:
    assert number(ms) == text


def test_a_contender_that_fails_is_missing_for_the_reason_it_gave(tmp_path: Path) -> None:
    program = tmp_path / "fails.py"
    program.write_text("raise SystemExit('no such library')")
    with Running(Entry("fails", "fails"), [sys.executable, str(program)], environment(1, None)) as running:
        running.wait_until_ready()
        running.choose()
        running.go(0.1)
    assert running.outcome.to_json() == {"name": "fails", "missing": "no such library"}


def test_a_contender_chooses_when_it_is_asked_to_and_is_not_timed_again_if_it_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ({"ready": True}, {"setting": "fast", "losses": [1.0], "numpy_steps": []}, {"seconds_per_step": 2.0})
    program = tmp_path / "answers.py"
    program.write_text(f"import json\nfor each in {answers!r}: print(json.dumps(each), flush=True); input()")
    with Running(Entry("slow", "slow"), [sys.executable, str(program)], environment(1, None)) as running:
        running.wait_until_ready()
        running.choose()
        monkeypatch.setattr("tests.benchmarks.measure.SLOW", 0)
        running.go(0.1)
        running.go(0.1)
    assert (running.outcome.missing, running.outcome.setting, running.outcome.seconds) == ("", "fast", [2.0])
    assert running.outcome.numpy_steps == []


def test_contenders_get_equal_threads_and_the_kernels_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    assert "OPENBLAS_CORETYPE" not in environment(2, None)
    found = environment(2, "Haswell")
    assert (found["OPENBLAS_CORETYPE"], found["OMP_NUM_THREADS"], found["OPENBLAS_NUM_THREADS"]) == (
        "Haswell",
        "2",
        "2",
    )


@pytest.mark.parametrize("kind", large_models.TRAFFIC)
def test_a_stream_reads_and_writes_as_many_arrays_as_a_step(kind: str) -> None:
    traffic = large_models.TRAFFIC[kind]
    before = np.full((traffic.reads + traffic.writes, 8), 1, np.float32)
    passes = large_models.passes(before, traffic)
    for each in passes:
        each()
    written = [row for row in before if row[0] != 1]
    assert len(written) == min(traffic.writes, traffic.reads - traffic.writes), "sums are 2, copies stay 1"
    assert large_models.stream_rate(64, traffic, 2, 0.0) > 0


def test_the_page_has_a_place_for_large_models() -> None:
    page = large_models.with_table(PAGE.read_text("utf-8"), "a table")
    assert f"{large_models.BEGIN}\na table\n{large_models.END}" in page


def test_the_tables_in_the_docs_are_those_of_the_results() -> None:
    text, kept = PAGE.read_text("utf-8"), read_results(RESULTS)
    assert kept is not None
    assert with_tables(text, kept) == text, "run python -m tests.benchmarks.readme"
    assert with_tables(f"{BEGIN}\nold\n{END}", kept).count("old") == 0
