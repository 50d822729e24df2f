"""Federated averaging: two owners of images that neither shows the other, and one model.

One has the digits 0 to 4, the other 5 to 9. Each trains in a session of its own; after some steps their parameters are
averaged, by the numbers of their rows, and both go on from the mean (McMahan et al., 2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adjoint_client import Client, Session
from rows import DEMO, Floats, Table, accuracy, part
from running import Result, main

GRAPH = {
    "name": "digits of two owners",
    "inputs": {"x": ["batch", 64], "digit": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 64, "activation": "relu"}, {"layer": "linear", "units": 10}],
    "loss": {"kind": "cross_entropy"},
}
BATCH, STEPS_A_ROUND = 64, 4


@dataclass(frozen=True, slots=True)
class Owner:
    """Someone with images, and the session that sees them."""

    session: Session
    pixels: Floats
    digits: NDArray[np.int64]

    def train(self, order: np.random.Generator) -> None:
        """Take some steps over rows of one's own."""
        with self.session.pipeline() as steps:
            for _ in range(STEPS_A_ROUND):
                rows = order.integers(0, len(self.digits), BATCH)
                steps.forward_backward(x=self.pixels[rows], digit=self.digits[rows])
                steps.optim_step()


def run(client: Client, rounds: int = 60) -> Result:
    """Train both, and return how many images held out, of all digits, the common model reads."""
    table = Table.read(DEMO / "digits.csv")
    pixels, digits = table.features / np.float32(16), table.classes()
    known, unseen = part(len(digits), held_out=360, seed=0)
    small, large = known[digits[known] < 5], known[digits[known] >= 5]
    order = np.random.default_rng(0)
    with client.session(GRAPH, optimizer="sgd", lr=0.3) as a, client.session(GRAPH, optimizer="sgd", lr=0.3) as b:
        owners = [Owner(a, pixels[small], digits[small]), Owner(b, pixels[large], digits[large])]
        for number in range(rounds):
            average(owners)
            for owner in owners:
                owner.train(order)
            if number % 20 == 0:
                alone = ", ".join(f"{_score(owner.session, pixels, digits, unseen):.4f}" for owner in owners)
                print(f"round {number}: accuracy of each by itself {alone}")
        average(owners)
        score = _score(a, pixels, digits, unseen)
    return Result("federated", "accuracy on held-out images of all digits", score, 0.9)


def average(owners: Sequence[Owner]) -> None:
    """Give all of them the mean of their parameters, each weighted by its rows."""
    rows = [len(owner.digits) for owner in owners]
    theirs = [owner.session.parameters.load() for owner in owners]
    mean = {name: np.average([each[name] for each in theirs], axis=0, weights=rows) for name in theirs[0]}
    for owner in owners:
        owner.session.set(mean)


def _score(session: Session, pixels: Floats, digits: NDArray[np.int64], unseen: NDArray[np.int64]) -> float:
    (logits,) = session.predict(x=pixels[unseen]).values()
    return accuracy(logits, digits[unseen])


if __name__ == "__main__":
    main(run, __doc__)
