"""The workloads: a model, its batch, its optimizer, and the pool of batches that every contender goes through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tests.benchmarks.families import (
    Autoencoder,
    Columns,
    Contrastive,
    ConvNet,
    ConvNext,
    Discriminator,
    Encoder,
    FactorizationMachine,
    Factors,
    Family,
    GaussianProcess,
    Logistic,
    MixtureDensity,
    Mlp,
    Recogniser,
    Recurrent,
    ResidualNet,
    Segmenter,
    SeparableNet,
    Tabular,
    Transformer,
    VariationalAutoencoder,
    Vocabulary,
)

POOL = 16
"""Batches that are drawn; after the last one the first comes again."""

CHECKED = (POOL, 2 * POOL)
"""The steps whose losses must agree between contenders."""

ADAM_PASSES = 7
"""Arrays as large as the parameters that a step of Adam reads (parameters, gradients, both moments) or writes."""


@dataclass(frozen=True)
class Workload:
    """What is trained, and how.

    Weights and batches are of `dtype`; if `mixed`, products are of bfloat16 by automatic mixed precision. `copies`
    models of other first weights are trained on the same batches. Losses agree when they differ by no more than
    `tolerance`, relative to the larger of 1 and their median.
    """

    name: str
    title: str
    model: Family
    batch: int
    optimizer: Literal["adam", "adamw", "sgd"] = "adamw"
    dtype: Literal["float32", "float64"] = "float32"
    mixed: bool = False
    copies: int = 1
    tolerance: float = 1e-3
    lr: float = 1e-3

    @property
    def decay(self) -> float:
        """The decoupled weight decay."""
        return 0.01 if self.optimizer == "adamw" else 0.0

    @property
    def flops(self) -> int:
        """Operations of the matrix products of one step, all copies together."""
        return self.copies * self.model.flops(self.batch)

    def columns(self) -> Columns:
        """Draw the rows of the pool, batch after batch."""
        drawn = self.model.columns(np.random.default_rng(0), POOL * self.batch)
        dtypes = {"f": self.dtype, "i": "int64", "b": "bool"}
        return {name: array.astype(dtypes[array.dtype.kind]) for name, array in drawn.items()}

    def batches(self) -> list[Columns]:
        """Return the batches of the pool, each contiguous."""
        size, columns = self.batch, self.columns()
        return [{n: a[k * size : (k + 1) * size].copy() for n, a in columns.items()} for k in range(POOL)]

    def recipe(self, **fields: Any) -> dict[str, Any]:
        """Return the fields of a fit."""
        optimizer: dict[str, Any] = {"kind": self.optimizer, "lr": self.lr}
        if self.optimizer == "adamw":
            optimizer["weight_decay"] = self.decay
        return {
            "optimizer": optimizer,
            "batch_size": self.batch,
            "shuffle": False,
            "precision": "mixed_bfloat16" if self.mixed else self.dtype,
            **fields,
        }


TINY, USUAL = Mlp((4, 64, 32, 3)), Mlp((784, 512, 256, 10))
NARROW = Mlp((64, *[64] * 12, 10), norm=True)
MACHINE = FactorizationMachine()
LABELS = Recurrent("lstm", layers=2, label_each_step=True)

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("W1", "tiny MLP 4-64-32-3, batch 32, Adam", TINY, 32, "adam"),
        Workload("W2", "MLP 784-512-256-10, batch 128", USUAL, 128),
        Workload("W3", "CNN 28x28, 16 and 32 channels, batch 64", ConvNet(), 64),
        Workload("W4", "transformer 4x128, 4 heads, 64 steps, batch 16", Transformer(), 16),
        Workload("W2-bf16", "MLP 784-512-256-10, batch 128, mixed bfloat16", USUAL, 128, mixed=True, tolerance=0.02),
        Workload("W3-bf16", "CNN 28x28, mixed bfloat16", ConvNet(), 64, mixed=True, tolerance=0.02),
        Workload("W4-bf16", "transformer 4x128, mixed bfloat16", Transformer(), 16, mixed=True, tolerance=0.02),
        Workload("W1-b256", "tiny MLP, batch 256, Adam", TINY, 256, "adam"),
        Workload("W2-b16", "MLP 784-512-256-10, batch 16", USUAL, 16),
        Workload("W2-b512", "MLP 784-512-256-10, batch 512", USUAL, 512),
        Workload("W2-f64", "MLP 784-512-256-10, batch 128, float64", USUAL, 128, dtype="float64", tolerance=1e-9),
        Workload("deep", "MLP of 8 hidden layers of 256, batch 128", Mlp((64, *[256] * 8, 10)), 128, lr=1e-4),
        Workload("wide", "MLP 784-2048-2048-10, batch 256", Mlp((784, 2048, 2048, 10)), 256),
        Workload("lstm", "LSTM of 128 units, 32 steps, batch 32", Recurrent("lstm"), 32),
        Workload("gru", "GRU of 128 units, 32 steps, batch 32", Recurrent("gru"), 32),
        Workload("tabular", "8 embeddings of 16 and 16 numbers, MLP 256-128-2, batch 256", Tabular(), 256),
        Workload("residual", "residual CNN with batch norm, 32x32, batch 32", ResidualNet(), 32),
        Workload(
            "tanh-f64",
            "MLP 64-256-256-10 with tanh, batch 128, float64",
            Mlp((64, 256, 256, 10), "tanh"),
            128,
            dtype="float64",
            tolerance=1e-9,
        ),
        Workload("narrow", "MLP of 12 hidden layers of 64 with layer norm, batch 128", NARROW, 128),
        Workload("labels", "LSTM of 2 x 128 units, a label for each of 32 steps, batch 32", LABELS, 32),
        Workload("logistic", "logistic regression of 20 features, batch 256", Logistic(20), 256),
        Workload("logistic-wide", "logistic regression of 4096 features, batch 256", Logistic(4096), 256),
        Workload("tables", "8 tables of embeddings, MLP 256-128-2, batch 256", Tabular(own_tables=True), 256),
        Workload("factors", "matrix factorisation, 20,000 x 5,000 x 32, batch 1024", Factors(), 1024),
        Workload("padded", "transformer encoder 2x128, 64 steps and a padding mask, batch 16", Encoder(), 16),
        Workload("separable", "depthwise separable CNN with batch norm and ReLU6, 32x32, batch 32", SeparableNet(), 32),
        Workload("autoencoder", "convolutional autoencoder 28x28, batch 64", Autoencoder(), 64),
        Workload("vocabulary", "language model of 4 words before, 8,000 classes, batch 128", Vocabulary(), 128),
        Workload("convnext", "ConvNeXt blocks of 32 channels, 64x64, batch 32", ConvNext(), 32),
        Workload("discriminator", "discriminator with group norm and leaky ReLU, 32x32, batch 32", Discriminator(), 32),
        Workload("factorization-machine", "factorisation machine and MLP, 10 fields, batch 256", MACHINE, 256),
        Workload("ctc", "speech recogniser with CTC, 64 steps, batch 16", Recogniser(), 16),
        Workload(
            "gaussian-process",
            "Gaussian process of 128 points, float64, Adam",
            GaussianProcess(),
            128,
            "adam",
            dtype="float64",
            tolerance=1e-9,
        ),
        Workload("mixture", "mixture density network 8-64-64 of 8 components, batch 128", MixtureDensity(), 128),
        Workload("segmentation", "U-Net of 16 to 64 channels, bilinear, 32x32, batch 16", Segmenter(), 16),
        Workload("contrastive", "contrastive loss of 256 views, MLP 64-256-64", Contrastive(), 128),
        Workload("vae", "variational autoencoder 784-256-20, batch 128", VariationalAutoencoder(), 128),
        Workload("sweep", "32 tiny MLPs at a time, batch 32, Adam", TINY, 32, "adam", copies=32),
    )
}
OPTIMIZERS: tuple[Literal["adam", "sgd"], ...] = ("adam", "sgd")
LARGE = {
    workload.name: workload
    for workload in (
        Workload(f"{kind}-{width}", f"MLP of 2 hidden layers of {width}", Mlp((16, width, width, 10)), 8, kind)
        for width in (85, 300, 980, 3130, 9900)
        for kind in OPTIMIZERS
    )
}
"""Those of `large_models`: ten thousand to a hundred million parameters."""

STANDARD = ("W1", "W2", "W3", "W4")
"""Those of the second table, and of a quick run."""


def is_plain_mlp(workload: Workload) -> bool:
    """Tell whether one model is trained of linear layers with ReLU between them and cross entropy, in one dtype."""
    model = workload.model
    return (
        isinstance(model, Mlp)
        and model.activation == "relu"
        and not model.norm
        and workload.copies == 1
        and not workload.mixed
    )
