"""What the shapes of models have in common; NumPy only."""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import NDArray

Array = NDArray[Any]
Columns = dict[str, Array]
Graph = dict[str, Any]
Loss = Literal[
    "cross_entropy",
    "binary_cross_entropy_with_logits",
    "mse",
    "ctc_loss",
    "marginal_likelihood",
    "mixture",
    "evidence_bound",
]

LABEL = {"shape": ["batch"], "dtype": "int64"}

# A product of a step is computed forward, for the gradient of its weight and, unless its input is data, of its input.
OF_DATA, WITHIN = 2, 3


def of_layers(inputs: Graph, layers: list[Any], loss: Loss = "cross_entropy") -> Graph:
    """Return the graph of layers over the first input; without a `label` among the inputs it is one class a row."""
    labelled = inputs if "label" in inputs else {**inputs, "label": LABEL}
    return {"inputs": labelled, "layers": layers, "loss": {"kind": loss, "target": "label"}}
