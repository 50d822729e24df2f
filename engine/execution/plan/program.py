"""A plan as a NumPy program: a script that runs alone and gives the bits that the NumPy executor gives."""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.half_precision import half_precision_kernel
from engine.core.registry import Op
from engine.core.value import Spec
from engine.execution.plan.kernel_source import KernelSource, numpy_call
from engine.execution.plan.memory import ALIGNMENT
from engine.execution.plan.module_source import Name, array_literal, dtype_literal, literal
from engine.execution.plan.numpy_executor import computes_in_float32
from engine.execution.plan.plan import Plan, Step
from engine.execution.plan.printer import shown
from engine.execution.plan.schedule import BufferView, StepRun, buffer_of, schedule
from engine.execution.plan.sharding import ALL_REDUCE

OWN = ("INPUTS", "OUTPUTS", "STATE", "aligned", "arena", "base64", "ml_dtypes", "np", "step", "window")
"""Names of the program beside those of kernels and arrays."""
LOCAL = ("array", "inputs", "name", "out", "output", "result", "state")
"""Names of variables in the program's functions."""
MEMORY_NAME = re.compile(r"(arena|memory)(?:_\d++)+")

ABOUT = """A plan of Adjoint as a NumPy program: {steps} steps, {bytes} bytes, about {flops} operations a run.

    outputs = step(inputs, state)

runs the plan once. It reads an array for each of the inputs, updates the arrays of the state in place, and returns the
outputs by name. STATE, the default of `state`, is the program's own state, all zeros at first: fill in STATE[name][...]
what a run is to start from. The bits are those of the NumPy executor with the same versions of NumPy and its BLAS.
"""

MEMORY = '''

def aligned(nbytes):
    """Zeroed bytes that start at a cache line."""
    block = np.zeros(nbytes + {alignment}, np.uint8)
    start = -block.ctypes.data % {alignment}
    return block[start : start + nbytes]


def window(memory, offset, shape, dtype, strides):
    """A strided array at a byte of some memory."""
    return np.ndarray(shape, dtype, memory.data, offset, strides)

'''

STEP = '''

def step(inputs, state=STATE):
    """Run the plan once: read `inputs`, update the arrays of `state` in place, return the outputs."""
    for name, array in INPUTS.items():
        array[...] = inputs[name]
    if state is not STATE:
        for name, array in STATE.items():
            array[...] = state[name]
    with np.errstate(all="ignore"):
{lines}
    if state is not STATE:
        for name, array in STATE.items():
            state[name][...] = array
    return {{name: array.copy() for name, array in OUTPUTS.items()}}
'''

MAIN = """

if __name__ == "__main__":
    for name, output in step({name: np.zeros_like(array) for name, array in INPUTS.items()}).items():
        print(name, output)
"""


@dataclass(frozen=True, slots=True)
class Sequel:
    """What a program holds beside the plan's step.

    Attributes:
        about: what its first lines say.
        functions: functions of the engine that it takes along.
        names: the global names that `text` binds.
        modules: those of the standard library that it imports.
        text: prints it, given a function that returns the name of a function in the program.
    """

    about: str
    functions: Sequence[Callable[..., Any]]
    names: Sequence[str]
    modules: Sequence[str]
    text: Callable[[Callable[[Any], str]], str]


def plan_program(plan: Plan, sequel: Sequel | None = None) -> str:
    """Print the plan as a script that imports only NumPy and the standard library (and ml_dtypes for bfloat16).

    The script holds the memory of the plan, the source of every kernel that is more than a call of NumPy, and a
    function `step(inputs, state)`; its first lines say how to use it. A `sequel` stands in the place of its last lines.

    Raises:
        EngineError: the source of a kernel cannot be had.
    """
    return _Program(plan, sequel).text()


class _Program:
    def __init__(self, plan: Plan, sequel: Sequel | None) -> None:
        self.plan = plan
        self.sequel = sequel
        self.runs = list(schedule(plan))
        self.source = KernelSource((*OWN, *(sequel.names if sequel is not None else ())))
        narrow = {run.step.op.name for run in self.runs if self._is_narrow(run)}
        ops = {run.step.op.name: run.step.op for run in self.runs}
        self.kernels = {name: self._kernel(op, narrow=name in narrow) for name, op in ops.items()}
        self.narrow = self.source.function(half_precision_kernel) if narrow else None
        self.spec = self.source.function(Spec) if self.narrow else None
        self.taken = {function: self.source.function(function) for function in (sequel.functions if sequel else ())}
        self.names = _names(plan, self.runs, self.source.bind())

    def text(self) -> str:
        plan = self.plan
        about = ABOUT.format(steps=len(plan.steps), bytes=plan.peak_bytes, flops=plan.flops)
        about = about if self.sequel is None else self.sequel.about
        body = "".join(f"\n\n{text}\n" if text.count("\n") else f"\n{text}\n" for text in self.source.text())
        body += MEMORY.format(alignment=ALIGNMENT) + "\n".join(self._memory())
        body += STEP.format(lines="\n".join(f"        {line}" for line in self._lines()))
        body += MAIN if self.sequel is None else self.sequel.text(lambda made: self.source.name(self.taken[made]))
        modules = self.sequel.modules if self.sequel is not None else ()
        needed = [f"import {name}" for name in modules]
        needed += [f"import {name}" for name in ("base64", "ml_dtypes") if f"{name}." in body]
        head = [f'"""{about}"""', "", *self._leaves()]
        return "\n".join([*head, "", *needed, *self.source.imports()]) + "\n" + body

    def _leaves(self) -> Iterator[str]:
        for title, table in (("inputs", self.plan.inputs), ("state", self.plan.state), ("outputs", self.plan.outputs)):
            yield f"# {title}:" if table else f"# {title}: none"
            yield from (f"#     {name!r}: {shown(self.plan.buffers[number].spec)}" for name, number in table.items())

    def _memory(self) -> Iterator[str]:
        plan = self.plan
        yield f"arena = aligned({plan.arena_bytes})"
        if plan.shards > 1:
            yield from (f"arena_{shard} = aligned({plan.shard_bytes})" for shard in range(plan.shards))
        constants = {f"%{number}": array for number, array in plan.constants.items()}
        for place, allocation in enumerate(plan.allocations):
            if allocation.kind == "constant" and allocation.name in constants:
                yield f"memory_{place} = {array_literal(constants[allocation.name])}.reshape(-1).view(np.uint8)"
            elif allocation.kind == "partial":
                yield from (f"memory_{place}_{shard} = aligned({allocation.nbytes})" for shard in range(plan.shards))
            elif allocation.kind not in ("arena", "shard") and allocation.nbytes:
                yield f"memory_{place} = aligned({allocation.nbytes})"
        for seen, name in self.names.items():
            yield f"{name} = {self._window(seen)}"
        for title, table in (("INPUTS", plan.inputs), ("STATE", plan.state), ("OUTPUTS", plan.outputs)):
            pairs = ", ".join(f"{name!r}: {self.names[BufferView(number)]}" for name, number in table.items())
            yield f"{title} = {{{pairs}}}"

    def _window(self, seen: BufferView) -> str:
        buffer = buffer_of(self.plan, seen)
        allocation, (shape, dtype) = self.plan.allocations[buffer.allocation], buffer.spec
        if not allocation.nbytes:
            return f"np.empty({shape!r}, {dtype_literal(dtype)})"
        memory, offset = f"memory_{buffer.allocation}", buffer.offset
        if allocation.kind in ("arena", "shard"):
            memory, offset = "arena", allocation.offset + buffer.offset
        if seen.owner is not None:
            memory = f"{memory}_{seen.owner}"
        return f"window({memory}, {offset}, {shape!r}, {dtype_literal(dtype)}, {buffer.strides!r})"

    def _lines(self) -> Iterator[str]:
        for run in self.runs:
            if run.step.op is ALL_REDUCE:
                yield from self._sums(run)
            elif run.step.op.memory.packs:
                yield from self._pieces(run)
            else:
                yield self._line(run)
        for target, source in self.plan.copies:
            yield f"np.copyto({self.names[BufferView(target)]}, {self.names[BufferView(source)]})"
        if not self.runs and not self.plan.copies:
            yield "pass"

    def _line(self, run: StepRun) -> str:
        """Print a step, by the same cases as the executor prepares it."""
        op = run.step.op
        inputs, outputs = ([self.names[seen] for seen in values] for values in (run.inputs, run.outputs))
        attrs = [f"{name}={literal(value)}" for name, value in run.step.attrs.items()]
        targets = f"({', '.join(outputs)},)" if len(outputs) == 1 else f"({', '.join(outputs)})"
        kernel = self.kernels[op.name]
        called = self.source.name(kernel) if kernel is not None else ""
        if self._is_narrow(run):
            assert self.narrow is not None
            assert self.spec is not None
            spec, specs = self.source.name(self.spec), [buffer_of(self.plan, seen).spec for seen in run.outputs]
            written = ", ".join(f"{spec}({shape!r}, {dtype_literal(dtype)})" for shape, dtype in specs)
            call = f"{self.source.name(self.narrow)}({called}, [{written}])({', '.join([*inputs, *attrs])})"
            return f"for out, result in zip({targets}, {call}): np.copyto(out, result)"
        if op.takes_out:
            if kernel is None:
                return _inlined(run.step, inputs, outputs[0])
            return f"{called}({', '.join([*inputs, *attrs, f'out={targets if op.multi_output else outputs[0]}'])})"
        if op.view:
            return f"np.copyto({outputs[0]}.reshape({buffer_of(self.plan, run.inputs[0]).spec.shape!r}), {inputs[0]})"
        call = f"{called}({', '.join([*inputs, *attrs])})"
        if op.multi_output:
            return f"for out, result in zip({targets}, {call}): np.copyto(out, result)"
        return f"np.copyto({outputs[0]}, {call})"

    def _sums(self, run: StepRun) -> Iterator[str]:
        """Print the sum of what the shards have, in their order."""
        total, out = self.names[run.inputs[0]], self.names[run.outputs[0]]
        for seen in run.inputs[1:]:
            yield f"np.add({total}, {self.names[seen]}, out={out})"
            total = out

    def _pieces(self, run: StepRun) -> Iterator[str]:
        """Print the copies of what is not computed in its place."""
        vector = buffer_of(self.plan, run.outputs[0])
        for seen, offset in zip(run.inputs, run.step.attrs["offsets"], strict=True):
            piece = buffer_of(self.plan, seen)
            size = math.prod(piece.spec.shape)
            place = (vector.allocation, vector.offset + offset * vector.spec.dtype.itemsize)
            if size and (piece.allocation, piece.offset) != place:
                target = f"{self.names[run.outputs[0]]}[{offset}:{offset + size}].reshape({piece.spec.shape!r})"
                yield f"np.copyto({target}, {self.names[seen]})"

    def _kernel(self, op: Op[Any], *, narrow: bool) -> Name | None:
        """Take up the kernel of an op; None where its steps need none or are printed as calls of NumPy."""
        inlined = op.takes_out and not narrow and numpy_call(op.body) is not None
        if op is ALL_REDUCE or op.memory.packs or inlined or (op.view and not op.takes_out):
            return None
        return self.source.function(op.body)

    def _is_narrow(self, run: StepRun) -> bool:
        return any(computes_in_float32(run.step.op, buffer_of(self.plan, seen).spec) for seen in run.inputs)


def _inlined(step: Step, inputs: list[str], out: str) -> str:
    """Print a kernel's call of NumPy with the arrays and attributes of a step in it."""
    found = numpy_call(step.op.body)
    assert found is not None
    function, call = found
    values = {name: literal(value) for name, value in step.attrs.items()} | {"out": out}
    parameters = [argument.arg for argument in function.args.args]
    for name, default in zip(reversed(parameters), reversed(function.args.defaults), strict=False):
        values[name] = ast.unparse(default)
    values.update(zip(parameters, inputs, strict=False))
    if function.args.vararg is not None:
        values[function.args.vararg.arg] = f"({', '.join(inputs[len(parameters) :])},)"
    return ast.unparse(_NameFiller(values).visit(ast.parse(ast.unparse(call), mode="eval")))


class _NameFiller(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        text = self._values.get(node.id)
        return node if text is None else ast.parse(text, mode="eval").body


def _names(plan: Plan, steps: Sequence[StepRun], taken: Iterable[str]) -> dict[BufferView, str]:
    """Name every array that a step works on, and those of inputs, state and outputs."""
    leaves = {number: name for table in (plan.inputs, plan.state) for name, number in table.items()}
    used = [BufferView(number) for number in leaves]
    used += [seen for run in steps for seen in (*run.inputs, *run.outputs)]
    used += [BufferView(number) for number in (*plan.outputs.values(), *(n for pair in plan.copies for n in pair))]
    taken, names = {*taken, *LOCAL}, {}
    for seen in dict.fromkeys(used):
        number = seen.number
        name = re.sub(r"\W+", "_", leaves[number]).strip("_") if number in leaves else f"v{number}"
        name = name if name.isascii() and name.isidentifier() and not keyword.iskeyword(name) else f"leaf_{number}"
        name += "" if seen.owner is None else f"_of_{seen.owner}"
        name += "" if seen.axis is None else f"_part_{seen.part}"
        while name in taken or MEMORY_NAME.fullmatch(name):
            name += "_"
        taken.add(name)
        names[seen] = name
    return names
