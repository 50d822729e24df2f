"""A loop of one's own: digits, with a schedule, an order of rows and an end that no server knows.

The images are stored once; each step names rows of them. Steps are submitted in a pipeline, so that the next one is on
its way while the server computes the last.
"""

import math

import numpy as np

from adjoint_client import Client
from rows import DEMO, Table, accuracy, part
from running import Result, main

GRAPH = {
    "name": "digits, in a loop",
    "inputs": {"x": ["batch", 64], "digit": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 64, "activation": "relu"}, {"layer": "linear", "units": 10}],
    "loss": {"kind": "cross_entropy"},
}
BATCH, RATE, ENOUGH = 64, 0.01, 0.05


def run(client: Client, epochs: int = 20) -> Result:
    """Train until the loss is small enough, and return how many of the images held out are read."""
    table = Table.read(DEMO / "digits.csv")
    pixels, digits = table.features / np.float32(16), table.classes()
    known, unseen = part(len(digits), held_out=360, seed=0)
    dataset = client.upload({"x": pixels[known], "digit": digits[known]}, name="digits, to learn from")
    order = np.random.default_rng(0)
    with client.session(GRAPH, optimizer="adam", dataset=dataset, seed=0) as session:
        for epoch in range(epochs):
            rate = RATE * (1 + math.cos(math.pi * epoch / epochs)) / 2
            rows = order.permutation(len(known))
            with session.pipeline() as steps:
                passes = []
                for start in range(0, len(rows), BATCH):
                    passes.append(steps.forward_backward(session.rows(rows[start : start + BATCH])))
                    steps.optim_step(lr=rate)
            loss = np.mean([done.result().loss for done in passes])
            print(f"epoch {epoch + 1}: loss {loss:.4f}, learning rate {rate:.4f}")
            if loss < ENOUGH:
                break
        (logits,) = session.predict(x=pixels[unseen]).values()
        score = accuracy(logits, digits[unseen])
    return Result("loop", "accuracy on held-out images", score, 0.96)


if __name__ == "__main__":
    main(run, __doc__)
