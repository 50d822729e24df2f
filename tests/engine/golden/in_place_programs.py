"""Random programs over in-place operations, assignments, views and saved values, and what runs them.

A program is a list of instructions, each a list of an operation, value numbers and options. Operations that make a
value give it the next number. `generate_program` draws one, `run_program` executes it on a machine: arrays of NumPy
here, PyTorch in `in_place_verdicts`, the engine in the tests. All arithmetic is in float64.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

Instruction = list[Any]
Program = list[Instruction]
Array = np.ndarray

LARGEST = 1e3
"""Programs whose values grow beyond this are drawn again: differences would say nothing there."""
UNARY: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sin": np.sin,
    "cos": np.cos,
    "square": np.square,
    "neg": np.negative,
    "relu": lambda x: np.maximum(x, 0),
    "abs": np.abs,
    "exp": np.exp,
    "sqrt": np.sqrt,
}
BINARY: dict[str, Callable[[Array, Any], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
}
SHAPES = ([3], [2, 3], [3, 2], [4], [2, 2], [2, 1], [1, 3])
NUMBERS = (0.5, -0.75, 1.5, 2.0)


class Machine(Protocol):
    """What executes instructions; values are of a type of its own."""

    def leaf(self, data: Array, tracked: bool) -> Any:
        """Make a leaf that requires a gradient, or a constant."""

    def apply(self, name: str, value: Any, *operands: Any) -> Any:
        """Run an operation that makes a new value; operands are values or numbers."""

    def view(self, name: str, value: Any, *options: Any) -> Any:
        """Return a view."""

    def write(self, name: str, value: Any, *operands: Any) -> None:
        """Run an in-place operation."""

    def assign(self, value: Any, index: Any, source: Any) -> None:
        """Run value[index] = source."""

    def unrecorded(self) -> Any:
        """Return a context manager in which no operation is recorded."""

    def backward(self, outputs: Sequence[Any], twice: bool) -> None:
        """Differentiate the sum of the outputs, weighted by `weights`; `twice` differentiates the gradient too."""


def run_program(program: Program, machine: Machine, values: list[Any]) -> None:
    """Execute `program`; `values` receives what it makes, also when the machine refuses an instruction."""
    for instruction in program:
        if instruction[0] == "no_grad":
            with machine.unrecorded():
                _execute(instruction[1], machine, values)
        else:
            _execute(instruction, machine, values)


def _execute(instruction: Instruction, machine: Machine, values: list[Any]) -> None:
    kind, *rest = instruction
    if kind in ("leaf", "const"):
        values.append(machine.leaf(make_data(*rest), kind == "leaf"))
    elif kind == "op":
        values.append(machine.apply(rest[0], values[rest[1]], *_operands(rest[2:], values)))
    elif kind == "view":
        values.append(machine.view(rest[0], values[rest[1]], *rest[2:]))
    elif kind == "write":
        machine.write(rest[0], values[rest[1]], *_operands(rest[2:], values))
    elif kind == "assign":
        (source,) = _operands(rest[2:], values)
        machine.assign(values[rest[0]], make_index(rest[1]), source)
    else:
        machine.backward([values[number] for number in rest[0]], kind == "backward_twice")


def _operands(encoded: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Decode operands: an integer is the number of a value, a float is a number, a list is an option."""
    return [values[operand] if isinstance(operand, int) else operand for operand in encoded]


def make_data(shape: list[int], seed: int) -> Array:
    """Return distinct numbers between -1.3 and 1.3, none of them 0."""
    places = np.arange(int(np.prod(shape)), dtype=np.float64)
    return (((places * 7 + seed * 5) % 13 - 6) / 5 + 0.03 + seed / 100).reshape(shape)


def weights(shape: Sequence[int]) -> Array:
    """Return the weights of an output in the sum that is differentiated."""
    return 1 + np.arange(int(np.prod(shape)), dtype=np.float64).reshape(tuple(shape)) / 3


def make_index(encoded: list[Any]) -> Any:
    """Decode an index: integers, ["s", start, stop, step], "...", ["i", [integers]] or ["m", [truth values]]."""
    entries = []
    for entry in encoded:
        if isinstance(entry, int):
            entries.append(entry)
        elif entry == "...":
            entries.append(Ellipsis)
        elif entry[0] == "s":
            entries.append(slice(*entry[1:]))
        else:
            entries.append(np.array(entry[1], bool if entry[0] == "m" else np.int64))
    return tuple(entries) if len(entries) > 1 else entries[0]


class NumpyMachine:
    """Runs the forward part on arrays of NumPy, whose views share memory as those of PyTorch do."""

    def leaf(self, data: Array, tracked: bool) -> Array:
        """Return the array."""
        return data.copy()

    def apply(self, name: str, value: Array, *operands: Any) -> Array:
        """Compute a new array."""
        return np.array(self._compute(name, value, *operands), order="C")

    def _compute(self, name: str, value: Array, *operands: Any) -> Array:
        if name in UNARY:
            return UNARY[name](value)
        if name in BINARY:
            return BINARY[name](value, *operands)
        if name == "clone":
            return value
        if name == "matmul":
            return value @ operands[0]
        if name == "clamp":
            return np.clip(value, *operands[0])
        (axis,) = operands[0]
        if name == "softmax":
            shifted = np.exp(value - value.max(axis, keepdims=True))
            return shifted / shifted.sum(axis, keepdims=True)
        return np.flip(value, axis) if name == "flip" else getattr(np, name)(value, axis)

    def view(self, name: str, value: Array, *options: Any) -> Array:
        """Return a view, of the same object where nothing changes."""
        return view_array(name, value, *options)

    def write(self, name: str, value: Array, *operands: Any) -> None:
        """Compute and store."""
        if name in ("fill_", "copy_"):
            value[...] = operands[0]
        else:
            value[...] = self._compute(name[:-1], value.copy(), *operands)

    def assign(self, value: Array, index: Any, source: Any) -> None:
        """Assign."""
        value[index] = source

    def unrecorded(self) -> Any:
        """Return a context manager without effect."""
        return np.errstate()

    def backward(self, outputs: Sequence[Any], twice: bool) -> None:
        """Do nothing."""


def view_array(name: str, value: Array, *options: Any) -> Array:
    """Return the view of an array of NumPy that an instruction describes."""
    if name == "slice":
        axis, *bounds = options
        return value[(slice(None),) * axis + (slice(*bounds),)]
    if name == "select":
        return value[(slice(None),) * options[0] + (options[1], ...)]
    if name == "permute":
        return value.transpose(options[0])
    if name == "reshape":
        return value.reshape(options[0])
    if name == "expand":
        return np.broadcast_to(value, options[0])
    if name == "unsqueeze":
        return np.expand_dims(value, options[0])
    if name == "squeeze":
        return np.squeeze(value)
    return value[...]  # detach


def generate_program(seed: int) -> Program:
    """Draw the program of a seed; NumPy has run its forward part without a value beyond LARGEST."""
    attempt = 0
    while True:
        drawn = _Generator(random.Random(f"{seed}/{attempt}")).draw()
        if drawn is not None:
            return drawn
        attempt += 1


class _Generator:
    """Draws one program, and runs it on NumPy to compute shapes and ranges."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.program: Program = []
        self.values: list[Array] = []
        self.machine = NumpyMachine()
        self.computed: list[int] = []
        """Values that an operation made: those that may be written while operations are recorded."""

    def draw(self) -> Program | None:
        """Return the program, or None if it leaves the domain."""
        shape = self.chance.choice(SHAPES)
        self._add(["leaf", shape, self.chance.randrange(9)])
        for _ in range(self.chance.randint(1, 2)):
            near = self.chance.random() < 0.7
            kind = self.chance.choice(["leaf", "const"])
            self._add([kind, shape if near else self.chance.choice(SHAPES), self.chance.randrange(9)])
        self._add(["op", "mul", 0, self.chance.choice(NUMBERS)])
        for _ in range(self.chance.randint(3, 11)):
            drawn = self._draw_instruction()
            if drawn is not None:
                self._add(["no_grad", drawn] if self.chance.random() < 0.1 else drawn)
            if any(value.size and np.abs(value).max() > LARGEST for value in self.values):
                return None
        self.program.append([self.chance.choice(["backward", "backward", "backward_twice"]), self._outputs()])
        return self.program

    def _add(self, instruction: Instruction) -> None:
        self.program.append(instruction)
        inner = instruction[1] if instruction[0] == "no_grad" else instruction
        _execute(inner, self.machine, self.values)
        if inner[0] == "op" or (inner[0] == "view" and inner[2] in self.computed):
            self.computed.append(len(self.values) - 1)

    def _outputs(self) -> list[int]:
        count = len(self.values)
        return sorted({count - 1, *(self.chance.randrange(count) for _ in range(self.chance.randint(0, 2)))})

    def _pick(self) -> int:
        """Return a value, the latest ones more often."""
        count = len(self.values)
        return max(self.chance.randrange(count), self.chance.randrange(count))

    def _pick_target(self) -> int:
        """Return a value to write to: seldom a leaf."""
        return self.chance.choice(self.computed) if self.chance.random() < 0.9 else self._pick()

    def _draw_instruction(self) -> Instruction | None:
        roll = self.chance.random()
        if roll < 0.3:
            return self._draw_op()
        if roll < 0.48:
            return self._draw_view()
        if roll < 0.78:
            return self._draw_write()
        if roll < 0.94:
            return self._draw_assignment()
        return ["backward", self._outputs()]

    def _draw_op(self) -> Instruction | None:
        number = self._pick()
        value = self.values[number]
        roll = self.chance.random()
        if roll < 0.35:
            return self._bounded("op", self.chance.choice(list(UNARY)), number)
        if roll < 0.65:
            return self._draw_binary("op", number, fits=_broadcast)
        if roll < 0.75:
            return ["op", "clone", number]
        if not value.ndim or not value.size:
            return None
        axis = self.chance.randrange(value.ndim)
        name = self.chance.choice(["softmax", "cumsum", "sum", "mean", "flip", "clamp", "matmul"])
        if name == "matmul":
            fitting = [
                n for n, v in enumerate(self.values) if value.ndim == v.ndim == 2 and v.shape[0] == value.shape[1]
            ]
            return ["op", name, number, self.chance.choice(fitting)] if fitting else None
        return ["op", name, number, [-0.6, 0.6] if name == "clamp" else [axis]]

    def _draw_view(self) -> Instruction | None:
        number = self._pick()
        value = self.values[number]
        name = self.chance.choice(["slice", "slice", "select", "permute", "reshape", "expand", "unsqueeze", "detach"])
        if name in ("slice", "select", "permute", "expand") and not value.ndim:
            return None
        axis = self.chance.randrange(max(value.ndim, 1))
        options: list[Any] = []
        if name == "slice":
            start = self.chance.randrange(value.shape[axis])
            options = [axis, start, self.chance.randint(start + 1, value.shape[axis]), self.chance.choice([1, 1, 2])]
        elif name == "select":
            options = [axis, self.chance.randrange(value.shape[axis])]
        elif name == "permute":
            options = [self.chance.sample(range(value.ndim), value.ndim)]
        elif name == "reshape":
            options = [self.chance.choice([[-1], [1, -1], [-1, 1], list(value.shape)[::-1]])]
        elif name == "expand":
            options = [[2, *value.shape] if self.chance.random() < 0.5 else [3 if e == 1 else e for e in value.shape]]
        elif name == "unsqueeze":
            options = [axis]
        return ["view", name, number, *options]

    def _draw_write(self) -> Instruction | None:
        number = self._pick_target()
        if not self.values[number].flags.writeable:
            return None
        roll = self.chance.random()
        if roll < 0.35:
            return self._bounded("write", self.chance.choice(list(UNARY)), number)
        if roll < 0.75:
            return self._draw_binary("write", number, fits=_stretches)
        if roll < 0.85:
            return ["write", "fill_", number, self.chance.choice(NUMBERS)]
        if roll < 0.9:
            return ["write", "clamp_", number, [-0.6, 0.6]]
        fitting = [n for n, v in enumerate(self.values) if _stretches(self.values[number], v)]
        return ["write", "copy_", number, self.chance.choice(fitting)] if fitting else None

    def _draw_binary(self, kind: str, number: int, fits: Callable[[Array, Array], bool]) -> Instruction | None:
        value, suffix = self.values[number], "_" if kind == "write" else ""
        if self.chance.random() < 0.3:
            return [
                kind,
                self.chance.choice(["add", "mul", "sub", "div"]) + suffix,
                number,
                self.chance.choice(NUMBERS),
            ]
        if self.chance.random() < 0.1:
            return [kind, "pow" + suffix, number, 2.0]
        fitting = [n for n, v in enumerate(self.values) if fits(value, v)]
        if not fitting:
            return None
        other = self.chance.choice(fitting)
        safe = self.values[other].size and np.abs(self.values[other]).min() > 0.1
        name = self.chance.choice(["add", "sub", "mul", "mul", "div"] if safe else ["add", "sub", "mul", "mul"])
        return [kind, name + suffix, number, other]

    def _bounded(self, kind: str, name: str, number: int) -> Instruction | None:
        value = self.values[number]
        if (name == "exp" and value.max() > 2) or (name == "sqrt" and value.min() < 0.05):
            return None
        return [kind, f"{name}_" if kind == "write" else name, number]

    def _draw_assignment(self) -> Instruction | None:
        number = self._pick_target()
        value = self.values[number]
        if not value.ndim or not value.flags.writeable:
            return None
        index = self._draw_index(value)
        part = value[make_index(index)]
        fitting = [n for n, v in enumerate(self.values) if _stretches(np.asarray(part), v)]
        if not fitting or self.chance.random() < 0.3:
            return ["assign", number, index, self.chance.choice(NUMBERS)]
        return ["assign", number, index, self.chance.choice(fitting)]

    def _draw_index(self, value: Array) -> list[Any]:
        extent = value.shape[0]
        roll = self.chance.random()
        if roll < 0.35:
            return [self.chance.randrange(-extent, extent)]
        if roll < 0.6:
            start = self.chance.randrange(extent)
            return [["s", start, None, self.chance.choice([1, 2])]]
        if roll < 0.7:
            return ["...", self.chance.randrange(value.shape[-1])]
        if roll < 0.85:
            return [["i", self.chance.sample(range(extent), self.chance.randint(1, extent))]]
        return [["m", (value > 0).tolist()]]


def _broadcast(a: Array, b: Array) -> bool:
    try:
        return len(np.broadcast_shapes(a.shape, b.shape)) <= 3
    except ValueError:
        return False


def _stretches(target: Array, source: Array) -> bool:
    """Return whether `source` can be broadcast to the shape of `target`."""
    return _broadcast(target, source) and np.broadcast_shapes(target.shape, source.shape) == target.shape
