"""Models in PyTorch whose loss is the likelihood of a distribution, and these losses."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tests.benchmarks.contenders.torch_weights import Named, Weights
from tests.benchmarks.families import GaussianProcess, MixtureDensity, VariationalAutoencoder


class Covariance(Named):
    """The covariance of the targets of a Gaussian process."""

    def __init__(self, family: GaussianProcess, weights: Weights) -> None:
        super().__init__(weights, ["log_length", "log_amplitude", "log_noise"])
        self.jitter = family.jitter
        self.unit = torch.eye(family.rows, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        scaled = x / self.of["log_length"].exp()
        norms = (scaled * scaled).sum(1, keepdim=True)
        distances = (norms + norms.T - 2 * (scaled @ scaled.T)).clamp_min(0)
        noise = self.of["log_noise"].exp() + self.jitter
        return torch.exp(2 * self.of["log_amplitude"] - 0.5 * distances) + noise * self.unit


def marginal_likelihood(covariance: Tensor, label: Tensor) -> Tensor:
    """Return the negative logarithm of the likelihood for each row, up to a constant."""
    factor = torch.linalg.cholesky(covariance)
    white = torch.linalg.solve_triangular(factor, label[:, None], upper=False)
    return (0.5 * (white * white).sum() + factor.diagonal().log().sum()) / len(label)


class Mixture(Named):
    """Linear layers with tanh: logits, means and logarithms of scales of the components of a mixture."""

    def __init__(self, family: MixtureDensity, weights: Weights) -> None:
        self.depth = len(family.hidden)
        super().__init__(weights, [f"{kind}{place}" for place in range(self.depth + 1) for kind in "wb"])

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        h = x
        for place in range(self.depth):
            h = torch.tanh(functional.linear(h, self.of[f"w{place}"], self.of[f"b{place}"]))
        return functional.linear(h, self.of[f"w{self.depth}"], self.of[f"b{self.depth}"]).chunk(3, 1)


def mixture(created: tuple[Tensor, Tensor, Tensor], label: Tensor) -> Tensor:
    """Return the mean negative logarithm of the density, up to a constant."""
    logits, means, log_scale = created
    z = (label[:, None] - means) * torch.exp(-log_scale)
    return -torch.logsumexp(functional.log_softmax(logits, 1) - log_scale - 0.5 * z * z, 1).mean()


class Codes(Named):
    """A variational autoencoder: logits of pixels, means and logarithms of variances of codes."""

    def __init__(self, family: VariationalAutoencoder, weights: Weights) -> None:
        names = ("encode", "code", "widen", "decode")
        super().__init__(weights, [name + kind for name in names for kind in ("", "_bias")])

    def forward(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self._linear("code", functional.relu(self._linear("encode", x))).chunk(2, 1)
        sample = mean + torch.exp(0.5 * log_variance) * noise
        return self._linear("decode", functional.relu(self._linear("widen", sample))), mean, log_variance

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return functional.linear(x, self.of[name], self.of[f"{name}_bias"])


def evidence_bound(created: tuple[Tensor, Tensor, Tensor], label: Tensor) -> Tensor:
    """Return the negative evidence lower bound for each row (Kingma and Welling 2014)."""
    logits, mean, log_variance = created
    divergence = -0.5 * (1 + log_variance - mean * mean - log_variance.exp()).sum(1)
    return label.shape[1] * functional.binary_cross_entropy_with_logits(logits, label) + divergence.mean()
