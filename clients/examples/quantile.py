"""A loss that the server has never heard of: the value that four of five patients stay below.

The graph ends in a prediction. The loss and its derivative by the prediction, the cotangent, are computed here in
NumPy; `backward` carries that on to the parameters over the tape of the forward pass.
"""

import numpy as np
from numpy.typing import NDArray

from adjoint_client import Client
from rows import DATA, Floats, Table, part
from running import Result, main

GRAPH = {
    "name": "a quantile of diabetes",
    "inputs": {"x": ["batch", 10]},
    "layers": [{"layer": "linear", "units": 16, "activation": "tanh"}, {"layer": "linear", "units": 1, "name": "out"}],
}
QUANTILE = 0.8


def pinball(predicted: Floats, measured: Floats) -> tuple[float, Floats]:
    """Return the mean pinball loss (Koenker and Bassett, 1978) and its derivative by each prediction."""
    error = measured - predicted
    loss = np.maximum(QUANTILE * error, (QUANTILE - 1) * error).mean()
    return float(loss), np.where(error > 0, -QUANTILE, 1 - QUANTILE).astype(np.float32) / np.float32(error.size)


def run(client: Client, steps: int = 300) -> Result:
    """Train it, and return how far the share of patients below the prediction is from what was asked for."""
    table = Table.read(DATA / "diabetes.csv")
    known, unseen = part(len(table.targets), held_out=111, seed=0)
    x, y = _scaled(table.features, known), _scaled(table.numbers()[:, None], known)
    with client.session(GRAPH, optimizer={"kind": "adam", "weight_decay": 0.01}, lr=0.01, seed=0) as session:
        for step in range(steps):
            forward = session.forward(x=x[known], keep=True)
            assert forward.tape is not None
            ((output, predicted),) = forward.outputs.items()
            loss, cotangent = pinball(predicted, y[known])
            session.backward(forward.tape, {output: cotangent})
            session.optim_step()
            if step % 50 == 0:
                print(f"step {step}: loss {loss:.4f}")
        (predicted,) = session.predict(x=x[unseen]).values()
    below = float(np.mean(y[unseen] <= predicted))
    print(f"{below:.0%} of the patients held out are below the prediction")
    return Result("quantile", f"distance from {QUANTILE:.0%}", abs(below - QUANTILE), 0.1, higher_is_better=False)


def _scaled(numbers: Floats, known: NDArray[np.int64]) -> Floats:
    scaled: Floats = (numbers - numbers[known].mean(axis=0)) / numbers[known].std(axis=0)
    return scaled


if __name__ == "__main__":
    main(run, __doc__)
