"""A graph as a NumPy script: a training step or an evaluation, with initial values and a command line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.diagnostics.report import STANDARD_BATCH, plan_step
from engine.execution.plan import Plan, Sequel, plan_program
from engine.execution.plan.module_source import literal
from engine.graph.definition import Definition, StateSpec
from engine.graph.tensors import row_inputs
from engine.graph.trace import KEY
from engine.nn.initializers import resolve
from engine.training.step.names import rate_input
from engine.training.train_state import StateLayout

ABOUT = """{what} of the graph {name} on {batch} rows, as a NumPy program: {steps} steps, {bytes} bytes, about {flops}
operations a run. It gives the bits of the NumPy executor with the same versions of NumPy and its BLAS.

    python program.py                 runs it on numbers that are made up
    python program.py data.npz        on yours: an array for each of the inputs below; see --help for the rest

{usage}
PARAMETERS and BUFFERS hold the arrays by name, windows on STATE; start(seed) sets them to the first values that a fit
of this seed has. step(inputs), which all of it comes down to, runs the plan once: it takes an array for every entry of
INPUTS, updates STATE in place, and returns the outputs by name.
"""
TRAINING_USAGE = """    import program
    for outputs in program.train([{"x": ..., "y": ...}, ...], lr=0.01):
        print(outputs["loss"])
"""
EVALUATION_USAGE = """    import program
    program.PARAMETERS[name][...] = trained
    outputs = program.evaluate({"x": ...})
"""
NAMES = (
    "BATCH", "BUFFERS", "BY_ROW", "FED", "FIRST", "PARAMETERS", "RATES", "argparse", "arguments", "batches", "evaluate",
    "load", "main", "made_up", "read", "save", "start", "train", "zipfile", "zlib",
)  # fmt: skip
"""Names of the script beside those of the step."""

TABLES = """
BATCH = {batch}
BY_ROW = {by_row}
FED = {fed}
RATES = {rates}
PARAMETERS = {{{parameters}}}
BUFFERS = {{{buffers}}}
FIRST = {{{first}}}
"""
DATA = '''

def start(seed=0):
    """Set parameters and buffers to their first values, which the seed decides, and all other state to 0."""
    for array in STATE.values():
        array.fill(0)
    for name, array in {**PARAMETERS, **BUFFERS}.items():
        draw, options = FIRST[name]
        key = np.array([seed % 2**64, zlib.crc32(name.encode())], np.uint64)
        generator = np.random.Generator(np.random.Philox(key=key))
        with np.errstate(all="ignore"):
            array[...] = np.asarray(draw(generator, array.shape, **options)).astype(array.dtype)


def load(path):
    """Take parameters and buffers from an .npz file."""
    arrays = {**PARAMETERS, **BUFFERS}
    with np.load(path) as file:
        for name in file.files:
            if name not in arrays:
                raise SystemExit(f"{path}: nothing is called {name!r}; there are {', '.join(arrays)}")
            if file[name].shape != arrays[name].shape:
                raise SystemExit(f"{path}: {name!r} has shape {file[name].shape}, not {arrays[name].shape}")
            arrays[name][...] = file[name]


def save(path, arrays):
    """Write an .npz file; unlike np.savez it takes arrays of any name."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array)


def read(path):
    """Return the inputs in an .npz file."""
    with np.load(path) as file:
        data = {name: file[name] for name in FED if name in file.files}
    for name in FED:
        if name not in data:
            raise SystemExit(f"{path} has no array {name!r}")
        shape, taken, row = data[name].shape, INPUTS[name].shape, name in BY_ROW
        if len(shape) != len(taken) or shape[row:] != taken[row:]:
            raise SystemExit(f"{path}: {name!r} has shape {shape}; batches of {taken} are cut off it")
    return data


def made_up():
    """Return a batch of numbers: floats between 0 and 1, integers all 0."""
    generator, batch = np.random.default_rng(0), {}
    for name in FED:
        shape, dtype = INPUTS[name].shape, INPUTS[name].dtype
        batch[name] = generator.uniform(size=shape) if dtype.kind in "fV" else np.zeros(shape, dtype)
    return batch


def batches(data, count=None):
    """Yield whole batches of rows in order, from the first again after the last; once through without a count."""
    rows = min([len(data[name]) for name in BY_ROW], default=BATCH)
    if rows < BATCH:
        raise SystemExit(f"{rows} rows are no batch; this program takes {BATCH} at a time")
    for number in range(rows // BATCH if count is None else count):
        first = number % (rows // BATCH) * BATCH
        yield {name: array[first : first + BATCH] if name in BY_ROW else array for name, array in data.items()}


def arguments(description, saved):
    """Return what reads the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", nargs="?", help="an .npz file with an array for each input; without, made-up numbers")
    parser.add_argument("--seed", type=int, default=0, help="of first values and random draws")
    parser.add_argument("--parameters", help="an .npz file with values to start from, by name")
    parser.add_argument("--save", help=f"where to write {saved}: an .npz file")
    return parser
'''
TRAIN = '''

def train(batches, seed=0, lr=None, first=0):
    """Step once for each batch, a dict of arrays; yield the outputs of every step, its loss among them.

    Random draws follow from the seed and the number of the step, the first of which is `first`.
    """
    rates = RATES if lr is None else dict.fromkeys(RATES, lr)
    for number, batch in enumerate(batches, first):
        yield step({**batch, **rates, ":key": (seed, number)})


def main():
    """Train."""
    parser = arguments("Trains the graph that this program was made of.", "parameters and buffers")
    parser.add_argument("--steps", type=int, help="by default once through the data, or 10 on made-up numbers")
    parser.add_argument("--lr", type=float, help=f"the learning rate; by default {RATES}")
    given = parser.parse_args()
    start(given.seed)
    if given.parameters:
        load(given.parameters)
    data = read(given.data) if given.data else made_up()
    steps = 10 if given.steps is None and not given.data else given.steps
    for number, outputs in enumerate(train(batches(data, steps), given.seed, given.lr), 1):
        print(f"step {number} loss {outputs['loss']}")
    if given.save:
        save(given.save, {**PARAMETERS, **BUFFERS})
'''
EVALUATE = '''

def evaluate(batch, seed=0):
    """Return the outputs for a batch, a dict of arrays, in evaluation mode."""
    return step({**INPUTS, **{name: batch[name] for name in FED}, ":key": (seed, 0)})


def main():
    """Evaluate."""
    parser = arguments("Evaluates the graph that this program was made of.", "the outputs of the first batch")
    given = parser.parse_args()
    start(given.seed)
    if given.parameters:
        load(given.parameters)
    for number, batch in enumerate(batches(read(given.data) if given.data else made_up())):
        outputs = evaluate(batch, given.seed)
        for name, output in outputs.items():
            print(name, output)
        if given.save and not number:
            save(given.save, outputs)
'''
LAST = """

start()
if __name__ == "__main__":
    main()
"""


def graph_program(
    definition: Definition, batch: int = STANDARD_BATCH, optimizer: Mapping[str, Any] | None = None
) -> str:
    """Print a training step (with an optimizer) or an evaluation (without) as a script that needs NumPy only.

    Steps from the first values of a seed, on batches in order, give the bits of a fit by the NumPy executor.

    Raises:
        DocumentError: the batch or the optimizer does not fit the graph.
        EngineError: the source of a kernel cannot be had.
    """
    form, plan = plan_step(definition, batch, optimizer)
    specs = {**definition.parameters, **definition.buffers}
    draws = {name: resolve(spec.init) for name, spec in specs.items()}
    about = ABOUT.format(
        what="A training step" if optimizer else "An evaluation",
        name=re.sub(r"[^A-Za-z0-9 ._-]+", "_", definition.name),
        batch=batch,
        steps=len(plan.steps),
        bytes=plan.peak_bytes,
        flops=plan.flops,
        usage=TRAINING_USAGE if optimizer else EVALUATION_USAGE,
    )

    fed = [name for name in definition.inputs if optimizer or _reads(plan, name)]

    def text(named: Callable[[Any], str]) -> str:
        first = (f"{name!r}: ({named(draw)}, {literal(options)})" for name, (draw, options) in draws.items())
        tables = TABLES.format(
            batch=batch,
            by_row=literal([name for name in row_inputs(definition) if name in fed]),
            fed=literal(fed),
            rates=literal(_rates(form, plan)),
            parameters=", ".join(_windows(form, plan)),
            buffers=", ".join(
                f"{n!r}: STATE[{f'buffer:{n}'!r}]" for n in _states_of(definition.buffers, "buffer:", plan)
            ),
            first=", ".join(first),
        )
        return tables + DATA + (TRAIN if optimizer else EVALUATE) + LAST

    functions = [draw for draw, _ in draws.values()]
    return plan_program(plan, Sequel(about, functions, NAMES, ("argparse", "zipfile", "zlib"), text))


def _reads(plan: Plan, name: str) -> bool:
    """Return whether a plan needs one of its inputs."""
    read = {plan.buffers[number].allocation for step in plan.steps for number in step.inputs}
    read.update(plan.buffers[number].allocation for number in plan.outputs.values())
    return plan.buffers[plan.inputs[name]].allocation in read


def _rates(form: StateLayout, plan: Plan) -> dict[str, float]:
    groups = form.groups.groups if form.groups is not None else ()
    rates = {rate_input(place): group.optimizer.lr for place, group in enumerate(groups)}
    assert plan.inputs.keys() <= {*form.definition.inputs, KEY, *rates}
    return {name: rate for name, rate in rates.items() if name in plan.inputs}


def _windows(form: StateLayout, plan: Plan) -> Iterator[str]:
    """Yield each parameter that the plan has as a window on the program's state."""
    for name in _states_of(form.definition.parameters, "parameter:", plan):
        yield f"{name!r}: STATE[{f'parameter:{name}'!r}]"
    for flat in form.flat_groups:
        for name, offset in flat.offsets.items():
            window = f"[{offset}:{offset + math.prod(flat.shapes[name])}].reshape({flat.shapes[name]!r})"
            yield f"{name!r}: STATE[{flat.name!r}]{window}"


def _states_of(specs: Mapping[str, StateSpec], prefix: str, plan: Plan) -> list[str]:
    return [name for name in specs if prefix + name in plan.state]
