"""Writes what scikit-learn and PyTorch say of small sets of predictions: run it with a Python that has both.

python tests/engine/training/metrics/make_golden.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.metrics as sk
import torch

GOLDEN = Path(__file__).parent / "golden" / "metrics.json"
AVERAGES = ("macro", "micro", "weighted")
SCORES = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}
NORMALIZED = {None: None, "targets": "true", "predictions": "pred", "all": "all"}
Row = dict[str, float]
Measured = list[tuple[dict[str, Any], Row]]


def classes(generator: np.random.Generator, rows: int, present: int, count: int) -> dict[str, Any]:
    """Logits [rows, count] rounded to float32, so that both precisions see the same; `present` classes are targets."""
    logits = generator.normal(size=(rows, count)).astype(np.float32).astype(np.float64)
    targets = generator.integers(0, present, rows)
    logits[np.arange(rows), targets] += np.float32(0.75)
    logits = logits.astype(np.float32).astype(np.float64)
    predicted, probabilities = logits.argmax(1), torch.tensor(logits).softmax(1).numpy()
    measured = [({"kind": "accuracy"}, {"accuracy": sk.accuracy_score(targets, predicted)})]
    for k in (1, 2, 3) if count > 2 else ():
        share = sk.top_k_accuracy_score(targets, logits, k=k, labels=range(count))
        measured.append(({"kind": "top_k_accuracy", "k": k}, {f"top_{k}_accuracy": share}))
    measured += counted(targets, predicted, count)
    nll = torch.nn.functional.cross_entropy(torch.tensor(logits), torch.tensor(targets))
    measured.append(({"kind": "perplexity"}, {"perplexity": nll.exp().item()}))
    if present == count and count > 2:
        for average in ("macro", "weighted"):
            area = sk.roc_auc_score(targets, probabilities, multi_class="ovr", average=average)
            measured.append(({"kind": "auc", "average": average}, {"auc": area}))
    if count == 2:
        measured.append(({"kind": "auc"}, {"auc": sk.roc_auc_score(targets, probabilities[:, 1])}))
    return case("cross_entropy", logits, targets, measured)


def binary(generator: np.random.Generator, rows: int) -> dict[str, Any]:
    """Logits [rows, 1] with many ties."""
    targets = generator.integers(0, 2, rows)
    logits = np.round((generator.normal(size=rows) + targets) * 2) / 2 + 0.125
    measured: Measured = [({"kind": "auc"}, {"auc": sk.roc_auc_score(targets, logits)})]
    for threshold in (0.5, 0.2):
        predicted = (1 / (1 + np.exp(-logits)) > threshold).astype(int)
        options = {"threshold": threshold}
        measured += [({**document, **options}, row) for document, row in counted(targets, predicted, 2)]
        accuracy = sk.accuracy_score(targets, predicted)
        measured.append(({"kind": "accuracy", **options}, {"accuracy": accuracy}))
    return case("bce_with_logits_loss", logits[:, None], targets[:, None].astype(float), measured)


def counted(targets: np.ndarray, predicted: np.ndarray, count: int) -> Measured:
    """Every average of precision, recall and F1, and every confusion matrix."""
    measured: Measured = []
    for kind, score in SCORES.items():
        for average in AVERAGES + (("binary",) if count == 2 else ()):
            value = score(targets, predicted, average=average, zero_division=0)
            measured.append(({"kind": kind, "average": average}, {kind: value}))
        default = "binary" if count == 2 else "macro"
        row = {kind: score(targets, predicted, average=default, zero_division=0)}
        each = score(targets, predicted, average=None, labels=range(count), zero_division=0)
        measured.append(({"kind": kind, "per_class": True}, {**row, **{f"{kind}/{k}": v for k, v in enumerate(each)}}))
    for ours, theirs in NORMALIZED.items():
        matrix = sk.confusion_matrix(targets, predicted, labels=range(count), normalize=theirs)
        row = {f"confusion_matrix/{i}/{j}": float(v) for (i, j), v in np.ndenumerate(matrix)}
        measured.append(({"kind": "confusion_matrix", **({"normalize": ours} if ours else {})}, row))
    return measured


def numbers(generator: np.random.Generator, shape: tuple[int, ...], offset: float) -> dict[str, Any]:
    """Numbers of float32, all of them `offset` away from 0."""
    targets = (generator.normal(size=shape) * 3 + offset).astype(np.float32).astype(np.float64)
    predictions = (targets + generator.normal(size=shape)).astype(np.float32).astype(np.float64)
    error = torch.tensor(predictions - targets)
    measured: Measured = [
        ({"kind": "mae"}, {"mae": error.abs().mean().item()}),
        ({"kind": "rmse"}, {"rmse": error.square().mean().sqrt().item()}),
    ]
    for ours, theirs in {"uniform": "uniform_average", "weighted": "variance_weighted"}.items():
        value = sk.r2_score(targets, predictions, multioutput=theirs)
        measured.append(({"kind": "r2", "average": ours}, {"r2": value}))
    return case("mse_loss", predictions, targets, measured)


def case(loss: str, predictions: np.ndarray, targets: np.ndarray, measured: Measured) -> dict[str, Any]:
    """Write one set of predictions and its metrics."""
    metrics = [{"document": document, "values": {k: float(v) for k, v in row.items()}} for document, row in measured]
    return {"loss": loss, "predictions": predictions.tolist(), "targets": targets.tolist(), "metrics": metrics}


def main() -> None:
    """Write every case."""
    generator = np.random.default_rng(0)
    cases = {
        "four classes": classes(generator, 31, 4, 4),
        "a class that is never the target": classes(generator, 23, 3, 5),
        "two classes": classes(generator, 29, 2, 2),
        "binary with ties": binary(generator, 37),
        "a column of numbers": numbers(generator, (27, 1), 0.0),
        "three numbers a row": numbers(generator, (26, 3), 0.0),
        "numbers far from 0": numbers(generator, (30,), 1e5),
    }
    GOLDEN.write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
