"""Accumulation: batches that do not fit into memory, as sums over their parts.

Gradients add up until the optimizer steps, and with the reduction "sum" the parts of a batch come to the gradient of
the whole: not nearly, but bit for bit. A second session, which is given whole batches, shows it.
"""

import numpy as np
from numpy.typing import NDArray

from adjoint_client import Client, Session
from rows import DEMO, Floats, Table, part
from running import Result, main

GRAPH = {
    "name": "digits, in parts",
    "inputs": {"x": ["batch", 64], "digit": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 32, "activation": "relu"}, {"layer": "linear", "units": 10}],
    "loss": {"kind": "cross_entropy"},
}
BATCH, PART = 256, 32


def run(client: Client, epochs: int = 3) -> Result:
    """Train one model with parts and one with whole batches, and count the weights in which they differ."""
    table = Table.read(DEMO / "digits.csv")
    pixels, digits = table.features / np.float32(16), table.classes()
    known, _ = part(len(digits), held_out=360, seed=0)
    with (
        client.session(GRAPH, optimizer="adam", lr=0.01, seed=0) as parts,
        client.session(GRAPH, optimizer="adam", lr=0.01, seed=0) as whole,
    ):
        for _ in range(epochs):
            for start in range(0, len(known), BATCH):
                rows = known[start : start + BATCH]
                loss = step_in_parts(parts, pixels[rows], digits[rows])
                whole.forward_backward(x=pixels[rows], digit=digits[rows], reduction="sum", micro_batch_size=PART)
                whole.optim_step()
            print(f"loss of the last batch: {loss:.4f}")
        differing = sum(np.count_nonzero(parts.parameters[name] != whole.parameters[name]) for name in parts.parameters)
    return Result("accumulation", "weights that differ", float(differing), 1.0, higher_is_better=False)


def step_in_parts(session: Session, pixels: Floats, digits: NDArray[np.int64]) -> float:
    """Take a step over a batch of which the server sees one part at a time; return the mean loss of its rows."""
    total = 0.0
    for start in range(0, len(digits), PART):
        here = slice(start, start + PART)
        total += session.forward_backward(x=pixels[here], digit=digits[here], reduction="sum").loss
    session.optim_step()
    return total / len(digits)


if __name__ == "__main__":
    main(run, __doc__)
