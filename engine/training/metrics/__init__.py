"""Metrics of predictions, streamed over batches: statistics written in ops, joined, and read as numbers."""

from engine.training.metrics.accuracies import Accuracy, TopKAccuracy
from engine.training.metrics.areas import Auc
from engine.training.metrics.class_counts import F1, ConfusionMatrix, Precision, Recall
from engine.training.metrics.comparisons import Comparison, find_comparison, find_operands
from engine.training.metrics.forms import FORMS, PredictionForm
from engine.training.metrics.metric import Metric
from engine.training.metrics.operands import Operands
from engine.training.metrics.perplexities import Perplexity
from engine.training.metrics.regression import R2, Mae, Rmse
from engine.training.metrics.table import METRICS, metric_catalogue, read_metrics
from engine.training.metrics.tally import Tally, metric_statistics

__all__ = [
    "F1",
    "FORMS",
    "METRICS",
    "R2",
    "Accuracy",
    "Auc",
    "Comparison",
    "ConfusionMatrix",
    "Mae",
    "Metric",
    "Operands",
    "Perplexity",
    "Precision",
    "PredictionForm",
    "Recall",
    "Rmse",
    "Tally",
    "TopKAccuracy",
    "find_comparison",
    "find_operands",
    "metric_catalogue",
    "metric_statistics",
    "read_metrics",
]
