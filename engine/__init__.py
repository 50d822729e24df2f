"""The numeric engine: autograd, graphs, plans, optimizers, fits. Usable alone; knows nothing of servers."""

from engine import ops, tape
from engine.catalogue import initializer_catalogue, metric_catalogue, op_catalogue, op_entry
from engine.check import ColumnInfo, FitEstimate, check_fit
from engine.checkpoint import Checkpoint, read_tensors, write_tensors
from engine.differentiate import grad, gradcheck, gradgradcheck, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from engine.errors import (
    AttributeValueError,
    CheckpointError,
    DataError,
    DocumentError,
    DTypeError,
    EngineError,
    Finding,
    GradientError,
    LimitError,
    ShapeError,
    UnknownName,
)
from engine.fit import Fit, Point
from engine.function import Function, once_differentiable, recompute
from engine.graph.codec import parse_graph
from engine.graph.definition import Definition, tensor_to_json
from engine.graph.printer import graph_dot, graph_nodes, graph_text
from engine.graph.tensors import read_tensor_document
from engine.laboratory import compute
from engine.layers import layer_catalogue, loss_catalogue
from engine.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    training_mode,
)
from engine.numerics import fingerprint
from engine.ops.random import seed
from engine.optim import make_optimizer, optimizer_catalogue, schedule_catalogue
from engine.plan import NumpyExecutor, Plan, make_plan
from engine.predict import Predictor
from engine.recipe import CheckpointPolicy, Recipe, Record, read_recipe
from engine.report import graph_report, plan_report
from engine.value import Value, tensor

__all__ = [
    "AttributeValueError",
    "Checkpoint",
    "CheckpointError",
    "CheckpointPolicy",
    "ColumnInfo",
    "DTypeError",
    "DataError",
    "Definition",
    "DocumentError",
    "EngineError",
    "Finding",
    "Fit",
    "FitEstimate",
    "Function",
    "GradientError",
    "LimitError",
    "NumpyExecutor",
    "Plan",
    "Point",
    "Predictor",
    "Recipe",
    "Record",
    "ShapeError",
    "UnknownName",
    "Value",
    "check_fit",
    "compute",
    "detect_anomaly",
    "enable_grad",
    "fingerprint",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph_dot",
    "graph_nodes",
    "graph_report",
    "graph_text",
    "hessian",
    "hvp",
    "inference_mode",
    "initializer_catalogue",
    "is_grad_enabled",
    "jacobian",
    "jvp",
    "layer_catalogue",
    "loss_catalogue",
    "make_optimizer",
    "make_plan",
    "metric_catalogue",
    "no_grad",
    "once_differentiable",
    "op_catalogue",
    "op_entry",
    "ops",
    "optimizer_catalogue",
    "parse_graph",
    "plan_report",
    "read_recipe",
    "read_tensor_document",
    "read_tensors",
    "recompute",
    "schedule_catalogue",
    "seed",
    "set_grad_enabled",
    "tape",
    "tensor",
    "tensor_to_json",
    "training_mode",
    "value_and_grad",
    "vjp",
    "write_tensors",
]
