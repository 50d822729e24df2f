"""Models whose loss is the likelihood of a distribution."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tests.benchmarks.families.shared import OF_DATA, WITHIN, Columns, Graph, Loss


@dataclass(frozen=True)
class GaussianProcess:
    """Regression by a Gaussian process with a squared exponential kernel: a batch is the data of one process.

    Trained are the length scale of each feature, the amplitude and the noise, as logarithms. The loss is the negative
    logarithm of the marginal likelihood for each row, up to a constant (Rasmussen and Williams, algorithm 2.1).
    """

    rows: int = 128
    features: int = 4
    jitter: float = 1e-6

    loss: ClassVar[Loss] = "marginal_likelihood"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw points, and a smooth function of them with noise."""
        x = rng.standard_normal((rows, self.features))
        return {"x": x, "label": np.sin(x.sum(axis=1)) + 0.1 * rng.standard_normal(rows)}

    def graph(self) -> Graph:
        """Return the graph document."""
        lines = [
            "scaled = x / exp(log_length)",
            "norms = sum(scaled * scaled, axis=1, keepdims=true)",
            "distances = clamp_min(norms + norms.T - 2 * (scaled @ scaled.T), 0)",
            f"noise = exp(log_noise) + {self.jitter}",
            f"unit = eye(rows={self.rows}, dtype='float64')",
            "factor = cholesky(exp(2 * log_amplitude - 0.5 * distances) + noise * unit)",
            "white = solve_triangular(factor, unsqueeze(label, axis=1), upper=false)",
            f"loss = (0.5 * sum(white * white) + sum(log(diagonal(factor)))) / {self.rows}",
        ]
        return {
            "inputs": {"x": [self.rows, self.features], "label": [self.rows]},
            "parameters": {"log_length": [self.features], "log_amplitude": [1], "log_noise": [1]},
            "program": "\n".join(lines),
        }

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products: distances, the factor, and the gradients of both."""
        # The gradient of a factor is three products of triangular matrices (Murray 2016, equation 9).
        return 2 * rows**2 * self.features * WITHIN + rows**3 // 3 + 3 * rows**3


@dataclass(frozen=True)
class MixtureDensity:
    """A density network: linear layers with tanh, and a mixture of normal distributions of the target."""

    features: int = 8
    hidden: tuple[int, ...] = (64, 64)
    components: int = 8

    loss: ClassVar[Loss] = "mixture"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw features, and targets on either of two branches."""
        x = rng.standard_normal((rows, self.features))
        return {"x": x, "label": np.abs(x.sum(axis=1)) * rng.choice([-1.0, 1.0], rows)}

    def graph(self) -> Graph:
        """Return the graph document."""
        widths = (self.features, *self.hidden, 3 * self.components)
        parameters: dict[str, Any] = {}
        for place, (before, after) in enumerate(itertools.pairwise(widths)):
            parameters |= {f"w{place}": [after, before], f"b{place}": [after]}
        depth, count = len(self.hidden), self.components
        lines = [f"h{k + 1} = tanh(linear({f'h{k}' if k else 'x'}, w{k}, b{k}))" for k in range(depth)]
        lines += [
            f"out = linear(h{depth}, w{depth}, b{depth})",
            f"shares = log_softmax(out[:, :{count}], axis=1)",
            f"log_scale = out[:, {2 * count}:]",
            f"z = (unsqueeze(label, axis=1) - out[:, {count}:{2 * count}]) * exp(-log_scale)",
            "loss = -mean(logsumexp(shares - log_scale - 0.5 * z * z, axis=1))",
        ]
        inputs = {"x": ["batch", self.features], "label": ["batch"]}
        return {"inputs": inputs, "parameters": parameters, "program": "\n".join(lines)}

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        widths = (self.features, *self.hidden, 3 * self.components)
        pairs = list(itertools.pairwise(widths))
        return sum(2 * rows * a * b * (WITHIN if place else OF_DATA) for place, (a, b) in enumerate(pairs))


@dataclass(frozen=True)
class VariationalAutoencoder:
    """A variational autoencoder of linear layers on pixels of 0 to 1; the normal noise is a column of the data."""

    pixels: int = 784
    hidden: int = 256
    codes: int = 20

    loss: ClassVar[Loss] = "evidence_bound"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw pixels, which are the targets too, and noise."""
        x = rng.random((rows, self.pixels))
        return {"x": x, "noise": rng.standard_normal((rows, self.codes)), "label": x}

    def graph(self) -> Graph:
        """Return the graph document."""
        shapes = {
            "encode": [self.hidden, self.pixels], "code": [2 * self.codes, self.hidden],
            "widen": [self.hidden, self.codes], "decode": [self.pixels, self.hidden],
        }  # fmt: skip
        biases = {f"{name}_bias": shape[:1] for name, shape in shapes.items()}
        lines = [
            "moments = linear(relu(linear(x, encode, encode_bias)), code, code_bias)",
            f"centre = moments[:, :{self.codes}]",
            f"log_variance = moments[:, {self.codes}:]",
            "sample = centre + exp(0.5 * log_variance) * noise",
            "logits = linear(relu(linear(sample, widen, widen_bias)), decode, decode_bias)",
            "divergence = -0.5 * sum(1 + log_variance - centre * centre - exp(log_variance), axis=1)",
            f"fit = {self.pixels} * binary_cross_entropy_with_logits(logits, label)",
            "loss = fit + mean(divergence)",
        ]
        pixels = ["batch", self.pixels]
        inputs = {"x": pixels, "noise": ["batch", self.codes], "label": pixels}
        return {"inputs": inputs, "parameters": {**shapes, **biases}, "program": "\n".join(lines)}

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        ends = self.pixels * self.hidden * (OF_DATA + WITHIN)
        return 2 * rows * (ends + 3 * self.codes * self.hidden * WITHIN)
