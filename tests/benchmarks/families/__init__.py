"""The shapes of models that are trained: each draws its rows, says what graph it is and counts its multiplications.

NumPy only: contenders of every library read their model from here.
"""

from __future__ import annotations

from tests.benchmarks.families.dense import Logistic, Mlp
from tests.benchmarks.families.images import Autoencoder, ConvNet, ResidualNet, SeparableNet
from tests.benchmarks.families.normed_images import ConvNext, Discriminator
from tests.benchmarks.families.pairs import Contrastive
from tests.benchmarks.families.probabilistic import GaussianProcess, MixtureDensity, VariationalAutoencoder
from tests.benchmarks.families.segmentation import Segmenter
from tests.benchmarks.families.sequences import Encoder, Recurrent, Transformer
from tests.benchmarks.families.shared import Array, Columns
from tests.benchmarks.families.speech import Recogniser
from tests.benchmarks.families.tables import FactorizationMachine, Factors, Tabular
from tests.benchmarks.families.texts import Vocabulary

Family = (
    Mlp
    | Logistic
    | ConvNet
    | ResidualNet
    | SeparableNet
    | Autoencoder
    | Transformer
    | Encoder
    | Recurrent
    | Tabular
    | Factors
    | Vocabulary
    | ConvNext
    | Discriminator
    | FactorizationMachine
    | Recogniser
    | Contrastive
    | GaussianProcess
    | MixtureDensity
    | Segmenter
    | VariationalAutoencoder
)

__all__ = [
    "Array",
    "Autoencoder",
    "Columns",
    "Contrastive",
    "ConvNet",
    "ConvNext",
    "Discriminator",
    "Encoder",
    "FactorizationMachine",
    "Factors",
    "Family",
    "GaussianProcess",
    "Logistic",
    "MixtureDensity",
    "Mlp",
    "Recogniser",
    "Recurrent",
    "ResidualNet",
    "Segmenter",
    "SeparableNet",
    "Tabular",
    "Transformer",
    "VariationalAutoencoder",
    "Vocabulary",
]
