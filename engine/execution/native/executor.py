"""The native executor: the steps of a plan as tables of compiled kernel calls, run without Python in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from engine.core.errors import ComputeError
from engine.core.value import Array
from engine.execution.native import kernels
from engine.execution.native.blas import numpy_blas
from engine.execution.native.call_blocks import call_blocks
from engine.execution.native.call_interpreter import BARRIER, call_interpreter
from engine.execution.native.callbacks import PythonCall, PythonCalls
from engine.execution.native.compilation import compile_missing
from engine.execution.native.gradient_squares import joined_squares
from engine.execution.native.inline.shared_loops import LINE
from engine.execution.native.kernels.arrangement import copied
from engine.execution.native.kernels.chains import ChainBlocks
from engine.execution.native.lowering import Call, Status, Work, address_of
from engine.execution.native.packing import calls_of
from engine.execution.native.thread_pool import thread_pool
from engine.execution.plan.numpy_executor import NumpyExecutor, aligned, prepare, view
from engine.execution.plan.plan import Phase, Plan, Step
from engine.execution.plan.schedule import BufferView, StepRun, schedule_phase
from engine.execution.plan.sharding import ALL_REDUCE

assert kernels  # declares the lowerings


@dataclass
class Segment:
    """Calls of one run: for each phase those of each shard; a joint phase is one of shard 0."""

    phases: list[list[list[tuple[int, int]]]] = field(default_factory=list)
    _tables: dict[tuple[int, int], tuple[int, Array]] = field(default_factory=dict)

    def table(self, worker: int, workers: int) -> tuple[int, Array]:
        """Return the calls of one of `workers` threads, and their address: its shards of each phase, then a barrier."""
        found = self._tables.get((worker, workers))
        if found is None:
            made = self._made(worker, workers)
            found = self._tables[worker, workers] = address_of(made), made
        return found

    def _made(self, worker: int, workers: int) -> Array:
        pairs: list[tuple[int, int]] = []
        for phase in self.phases:
            for shard in range(worker, len(phase), workers):
                pairs += phase[shard]
            if workers > 1:
                pairs.append((BARRIER, 0))
        return np.array(pairs, np.int64).reshape(-1, 2)


class NativeExecutor(NumpyExecutor):
    """A plan bound to memory, as the NumPy executor's; the steps that have kernels run compiled.

    The numbers do not depend on how many threads there are.
    """

    def __init__(self, plan: Plan, state: Mapping[str, Array], threads: int | None = None) -> None:
        """Bind `plan` to memory and compile what is not on disk yet.

        Args:
            plan: what to run.
            state: for each state of the plan a row-major array of its shape and dtype, which is read and updated.
            threads: how many may work at a time; as many as there are cores by default, and never more.
        """
        self.threads = threads
        self.python_steps: list[str] = []
        self.calls: list[Call] = []
        self._blocks: list[Array] = []
        self._checks: list[PythonCall] = []
        self._read_by_python: list[Array] = []
        self._chained = ChainBlocks()
        self._scratch: list[Array] = []
        self._scratch_addresses: list[int] = []
        self._halt = np.zeros(8, np.int64)
        self._python = PythonCalls(self._halt)
        super().__init__(plan, state)

    def _bind(self) -> None:
        self._of_shards = [self._shard_arrays() for _ in range(self.plan.shards)] if self.plan.shards > 1 else []
        self._steps = Segment()
        self._status = np.zeros(8 * (len(self.plan.steps) * self.plan.shards + 1), np.int64)
        lowered = [self._lowered_phase(phase) for phase in self.plan.phases]
        lowered.append([[self._copied(target, source) for target, source in self.plan.copies]])
        self._make_scratch(lowered)
        items = (item for phase in lowered for items in phase for item in items)
        calls = (call for item in items if isinstance(item, list) for call in item)
        compile_missing(code for call in calls for code in call.codes)
        for phase in lowered:
            encoded = [
                [pair for item in items for pair in self._encoded(item, shard)] for shard, items in enumerate(phase)
            ]
            if any(encoded):
                self._steps.phases.append(encoded)
        self._team = aligned(LINE * (1 + self.plan.shards))
        self._words = address_of(self._halt), address_of(self._team)
        self._run_table = call_interpreter()

    @property
    def whole(self) -> Segment:
        """All steps; those without a kernel are calls of Python functions."""
        return self._steps

    @property
    def halt_address(self) -> int:
        """The address of the word by which a kernel says that nothing is to run after this run."""
        return self._words[0]

    def input_words(self, name: str) -> list[tuple[int, int]] | None:
        """Return where kernels find addresses in an input, and how many bytes from its start each of these is.

        The input lies elsewhere for them if these words are changed. None if Python functions or outputs read it.
        """
        whole = self.inputs[name]
        if any(np.may_share_memory(whole, array) for array in (*self._read_by_python, *self.outputs.values())):
            return None
        return [
            (address_of(block) + place * block.itemsize, address_of(argument) - address_of(whole))
            for call, block in zip(self.calls, self._blocks, strict=True)
            for place, argument in enumerate(call.arguments)
            if isinstance(argument, np.ndarray) and np.may_share_memory(whole, argument)
        ]

    def run_many(self, segment: Segment, times: int) -> int:
        """Run a segment of all steps `times` times; return how often it ran, which is less when a kernel halts it.

        Raises:
            EngineError: an operand was not what an op takes.
        """
        self._halt.fill(0)
        with numpy_blas().one_thread():
            done = self.run_segment(segment, times)
        self._halt.fill(0)
        if self._checks and self._status.any():
            self._refuse()
        self._python.raise_failure()
        return done

    def run(self) -> None:
        """Run every step once."""
        self.run_many(self._steps, 1)

    def _refuse(self) -> None:
        """Let the NumPy kernel of a step whose operands were refused say why."""
        place = int(np.flatnonzero(self._status)[0])
        self._status.fill(0)
        self._checks[place]()
        raise ComputeError("a kernel has refused its operands; they have changed since")

    def run_segment(self, segment: Segment, times: int = 1) -> int:
        """Run a segment `times` times, unless a kernel halts it; return how often it ran."""
        if self.plan.shards == 1:
            return self._go(*segment.table(0, 1), 1, times)
        with thread_pool().members(min(self.threads or self.plan.shards, self.plan.shards)) as helpers:
            workers = 1 + len(helpers)
            for worker, jobs in enumerate(helpers, 1):
                jobs.put(partial(self._go, *segment.table(worker, workers), workers, times, worker))
            return self._go(*segment.table(0, workers), workers, times)

    def _go(self, address: int, table: Array, workers: int, times: int, worker: int = 0) -> int:
        return int(self._run_table(address, len(table), times, *self._words, workers, worker))

    def _lowered_phase(self, phase: Phase) -> list[list[list[Call] | PythonCall]]:
        """Return, for each shard, calls or a Python function for each step."""
        return [self._lowered_steps(phase, shard) for shard in range(self.plan.shards if phase.sharded else 1)]

    def _lowered_steps(self, phase: Phase, shard: int) -> list[list[Call] | PythonCall]:
        """Return calls or a Python function for each step, or for each fused group."""
        group_of = {place: group for group in self.plan.groups for place in group}
        items: list[list[Call] | PythonCall] = []
        for place, run in zip(phase.steps, schedule_phase(self.plan, phase, shard), strict=True):
            item = self._lowered(run)
            group = group_of.get(place, (place,))
            if place != group[0] and isinstance(item, list) and isinstance(items[-1], list):
                items[-1] += item
            else:
                items.append(item)
        return joined_squares(items)

    def _lowered(self, run: StepRun) -> list[Call] | PythonCall:
        inputs, outputs = ([self._array(seen) for seen in values] for values in (run.inputs, run.outputs))
        item = self._lowered_step(run.step, inputs, outputs)
        if not isinstance(item, list):
            self._read_by_python += inputs
        return item

    def _lowered_step(self, step: Step, inputs: list[Array], outputs: list[Array]) -> list[Call] | PythonCall:
        if step.op is ALL_REDUCE:
            return _all_reduced(inputs, outputs[0])
        if step.op.memory.packs:
            return _packed(step, inputs, outputs[0])
        calls = calls_of(step.op.name, Work(inputs, outputs, step.attrs))
        if calls is not None:
            body = partial(step.op.body, *inputs, **step.attrs)
            return [self._checked(call, body, inputs) for call in calls]
        call = prepare(step, inputs, outputs)
        if call is None:
            return []
        self.python_steps.append(step.op.name)
        return call

    def _array(self, seen: BufferView) -> Array:
        """Return the array of a value as a step reads it."""
        arrays = self.arrays if seen.owner is None else self._of_shards[seen.owner]
        array = arrays[seen.number]
        if seen.axis is None:
            return array
        extent = array.shape[seen.axis] // self.plan.shards
        part: Array = array[(slice(None),) * seen.axis + (slice(seen.part * extent, (seen.part + 1) * extent),)]
        return part

    def _copied(self, target: int, source: int) -> list[Call] | PythonCall:
        item = _copy(self.arrays[source], self.arrays[target])
        if not isinstance(item, list):
            self._read_by_python.append(self.arrays[source])
        return item

    def _shard_arrays(self) -> dict[int, Array]:
        """Return arrays in memory of a shard's own."""
        plan, memory = self.plan, list(self._memory)
        arena = aligned(plan.shard_bytes)
        for place, allocation in enumerate(plan.allocations):
            if allocation.kind == "shard":
                memory[place] = arena[allocation.offset : allocation.offset + allocation.nbytes]
            elif allocation.kind == "partial":
                memory[place] = aligned(allocation.nbytes)
        own = {n: b for n, b in plan.buffers.items() if plan.allocations[b.allocation].kind in ("shard", "partial")}
        return {number: view(buffer, memory) for number, buffer in own.items()}

    def _checked(self, call: Call, body: PythonCall, inputs: list[Array]) -> Call:
        """Allocate the status word of a call that reports invalid operands, which `body` raises an error for."""
        if Status not in map(type, call.arguments):
            return call
        self._read_by_python += inputs
        word = self._status[len(self._checks) :]
        self._checks.append(body)
        return replace(call, arguments=tuple(word if isinstance(a, Status) else a for a in call.arguments))

    def _make_scratch(self, phases: Sequence[Sequence[Sequence[list[Call] | PythonCall]]]) -> None:
        """Make the memory that calls use while they run: each shard has its own, and as much as the others."""
        items = [calls for phase in phases for items in phase for calls in items if isinstance(calls, list)]
        needed = max((call.scratch for calls in items for call in calls), default=0)
        self._scratch = [aligned(needed) for _ in range(self.plan.shards)]
        self._scratch_addresses = [address_of(scratch) for scratch in self._scratch]

    def _encoded(self, item: list[Call] | PythonCall, shard: int) -> list[tuple[int, int]]:
        """Return the pairs of words of a step in the table: the address of a kernel, and that of its block."""
        if not isinstance(item, list):
            return [self._python.added(item)]
        pairs = []
        for call in self._chained.joined(item):
            # Threads that take part in what another one shares use the scratch memory of the shard with their number.
            blocks, encoded = call_blocks(call, self._scratch_addresses, shard)
            self.calls += [call] * len(blocks)
            self._blocks += blocks
            pairs.append((call.kernel.address(call.dtype), encoded))
        return pairs


def _copy(source: Array, target: Array) -> list[Call] | PythonCall:
    calls = copied(source, target)
    return partial(np.copyto, target, source) if calls is None else calls


def _packed(step: Step, pieces: list[Array], vector: Array) -> list[Call] | PythonCall:
    """Copy what was not computed in its place in the vector; the gaps between are zero from the start."""
    calls: list[Call] = []
    for array, offset in zip(pieces, step.attrs["offsets"], strict=True):
        place = vector[offset : offset + array.size].reshape(array.shape)
        if array.size and address_of(place) != address_of(array):
            copied = _copy(array, place)
            if not isinstance(copied, list):
                return prepare(step, pieces, [vector]) or []
            calls += copied
    return calls


def _all_reduced(parts: Sequence[Array], out: Array) -> list[Call] | PythonCall:
    """Add up the summands of all shards, in their order."""
    calls: list[Call] = []
    total = parts[0]
    for part in parts[1:]:
        added = calls_of("add", Work([total, part], [out], {}))
        if added is None:
            return partial(_add_up, parts, out)
        calls += added
        total = out
    return calls


def _add_up(parts: Sequence[Array], out: Array) -> None:
    np.copyto(out, parts[0])
    for part in parts[1:]:
        np.add(out, part, out=out)
