"""The numeric engine: autograd, graphs, plans, optimizers, fits. Usable alone; independent of servers."""

from engine import ops
from engine.autograd import tape
from engine.autograd.checkpoint import recompute
from engine.autograd.creation import (
    full,
    ones,
    ones_like,
    parameter,
    rand,
    randn,
    reshape_columns,
    tensor,
    zeros,
    zeros_like,
)
from engine.autograd.differentiate import (
    grad,
    gradcheck,
    gradgradcheck,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vhp,
    vjp,
)
from engine.autograd.function import Function, once_differentiable
from engine.autograd.gradients import GradientStatistics, gradient_statistics, gradients_by_name
from engine.autograd.vmap import vmap
from engine.core.array_statistics import ArrayStatistics, array_statistics
from engine.core.cpu import cpu_quota, usable_cores, usable_cpus
from engine.core.dtypes import get_default_device, get_default_dtype, set_default_device, set_default_dtype
from engine.core.errors import (
    AttributeValueError,
    CheckpointError,
    CollectiveError,
    ComputeError,
    DataError,
    DeviceError,
    DocumentError,
    DTypeError,
    EngineError,
    Finding,
    GradientError,
    GraphError,
    GraphFull,
    LimitError,
    MissingExtra,
    OutOfContextMemory,
    PoolBusy,
    PoolError,
    PoolMissing,
    PoolPaused,
    RankAborted,
    RankLost,
    ShapeError,
    UnknownName,
)
from engine.core.fingerprint import fingerprint, set_blas_threads
from engine.core.garbage import rare_collections
from engine.core.modes import (
    Admit,
    Cost,
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    training_mode,
)
from engine.core.registry import prepare_ops
from engine.core.value import Value
from engine.data.checkpoint import Checkpoint, read_tensors, state_digest, write_tensors
from engine.data.class_encoding import (
    ClassEncoding,
    classes_of_checkpoint,
    encode_texts,
    meta_with_classes,
    read_class_encodings,
)
from engine.data.image_encoding import images_of_checkpoint
from engine.data.loader import Batch, DataLoader
from engine.data.made_columns import open_preprocessed
from engine.data.source import Source
from engine.data.table.facts import ColumnFacts
from engine.data.table.preprocessing import Preprocessing, preprocessing_of_checkpoint
from engine.data.table.proposal import Proposal, propose_columns, propose_fit
from engine.data.table.raw import RawColumn, TextColumn
from engine.data.table.section import transform_catalogue
from engine.data.windows import Windows
from engine.diagnostics.catalogue import initializer_catalogue, op_catalogue, op_entry
from engine.diagnostics.evaluation import compute
from engine.diagnostics.gradient_check import check_gradients
from engine.diagnostics.profiling import Timing, profile_step
from engine.diagnostics.report import graph_report, parse_and_report, plan_report
from engine.diagnostics.row_losses import RowLosses, row_losses
from engine.diagnostics.script import graph_program
from engine.execution.interpreter.nonfinite import Nonfinite, Operand, trace_nonfinite
from engine.execution.native import executors, load_kernels, loaded_kernels, report_compilation
from engine.execution.native import why_unusable as why_native_unusable
from engine.execution.plan import NumpyExecutor, Plan, make_plan, plan_dot, plan_program, plan_text
from engine.ggml import ggml, ggml_opt
from engine.ggml.context import Context, declare, graph_overhead, set_param
from engine.ggml.executor import ComputePlan, Status
from engine.ggml.graph import Graph
from engine.ggml.inspection import describe_graph, describe_tensor
from engine.ggml.opt_context import OptContext, OptOptions
from engine.ggml.opt_data import OptDataset, OptResult
from engine.ggml.opt_fit import opt_epoch, opt_fit
from engine.ggml.session.computing import Computed, ComputeManner
from engine.ggml.session.named_values import checked_extents
from engine.ggml.session.session import ElementWrite, StaticOptions, StaticSession, check_index
from engine.ggml.threadpool import Priority, Threadpool, ThreadpoolParams
from engine.graph.capture import capture, graph_function
from engine.graph.codec import parse_graph, read_checked_graph
from engine.graph.definition import Definition, needed_inputs, tensor_to_json
from engine.graph.limits import GraphLimits
from engine.graph.printer import graph_dot, graph_nodes, graph_text
from engine.graph.tensors import read_tensor_document
from engine.nn.layers import layer_catalogue, loss_catalogue
from engine.nn.modules.data_parallel import DataParallelResult, dp_train
from engine.nn.modules.functional import predict_in_chunks, probability_cross_entropy_loss, softmax_cross_entropy_loss
from engine.nn.modules.layer import Layer
from engine.nn.modules.module import Module
from engine.nn.modules.sequential import Sequential
from engine.ops.random.random import seed
from engine.optim.clipping import (
    clip_grad_adaptive_,
    clip_grad_norm_,
    clip_grad_norm_each_,
    clip_grad_value_,
    clip_gradients,
)
from engine.optim.closure_optimizer import ClosureOptimizer
from engine.optim.loss_scaler import LossScaler
from engine.optim.optimizers import make_optimizer, optimizer_catalogue
from engine.optim.scheduler import Scheduler
from engine.optim.schedules.schedule import schedule_catalogue
from engine.optim.tape_optimizer import TapeOptimizer
from engine.session.results import Forward, Gradients, PassResult, Tape, UpdateResult
from engine.session.session import Session
from engine.training import sweep
from engine.training.check import FitEstimate, check_fit
from engine.training.class_output import ClassOutput
from engine.training.column_info import ColumnInfo
from engine.training.distributed.collective import Alone, Collective
from engine.training.distributed.gloo import join_ranks, lead_ranks
from engine.training.distributed.shared_memory import Rendezvous
from engine.training.evaluation.evaluate import EvaluationOptions, evaluate
from engine.training.execution import Execution
from engine.training.fit.fit import Fit
from engine.training.fit.steps import CapturedGradient, MetricRow
from engine.training.metrics.table import metric_catalogue
from engine.training.predictor import Predictor, prediction_inputs
from engine.training.recipe.continuation import ADJUSTABLE, check_continuation
from engine.training.recipe.options import CheckpointPolicy, GradientRecord, Record
from engine.training.recipe.recipe import Recipe, form_of_recipe, read_recipe
from engine.training.sweep.sweep import Sweep

__all__ = [
    "ADJUSTABLE",
    "Admit",
    "Alone",
    "ArrayStatistics",
    "AttributeValueError",
    "Batch",
    "CapturedGradient",
    "Checkpoint",
    "CheckpointError",
    "CheckpointPolicy",
    "ClassEncoding",
    "ClassOutput",
    "ClosureOptimizer",
    "Collective",
    "CollectiveError",
    "ColumnFacts",
    "ColumnInfo",
    "ComputeError",
    "ComputeManner",
    "ComputePlan",
    "Computed",
    "Context",
    "Cost",
    "DTypeError",
    "DataError",
    "DataLoader",
    "DataParallelResult",
    "Definition",
    "DeviceError",
    "DocumentError",
    "ElementWrite",
    "EngineError",
    "EvaluationOptions",
    "Execution",
    "Finding",
    "Fit",
    "FitEstimate",
    "Forward",
    "Function",
    "GradientError",
    "GradientRecord",
    "GradientStatistics",
    "Gradients",
    "Graph",
    "GraphError",
    "GraphFull",
    "GraphLimits",
    "Layer",
    "LimitError",
    "LossScaler",
    "MetricRow",
    "MissingExtra",
    "Module",
    "Nonfinite",
    "NumpyExecutor",
    "Operand",
    "OptContext",
    "OptDataset",
    "OptOptions",
    "OptResult",
    "OutOfContextMemory",
    "PassResult",
    "Plan",
    "PoolBusy",
    "PoolError",
    "PoolMissing",
    "PoolPaused",
    "Predictor",
    "Preprocessing",
    "Priority",
    "Proposal",
    "RankAborted",
    "RankLost",
    "RawColumn",
    "Recipe",
    "Record",
    "Rendezvous",
    "RowLosses",
    "Scheduler",
    "Sequential",
    "Session",
    "ShapeError",
    "Source",
    "StaticOptions",
    "StaticSession",
    "Status",
    "Sweep",
    "Tape",
    "TapeOptimizer",
    "TextColumn",
    "Threadpool",
    "ThreadpoolParams",
    "Timing",
    "UnknownName",
    "UpdateResult",
    "Value",
    "Windows",
    "array_statistics",
    "capture",
    "check_continuation",
    "check_fit",
    "check_gradients",
    "check_index",
    "checked_extents",
    "classes_of_checkpoint",
    "clip_grad_adaptive_",
    "clip_grad_norm_",
    "clip_grad_norm_each_",
    "clip_grad_value_",
    "clip_gradients",
    "compute",
    "cpu_quota",
    "declare",
    "describe_graph",
    "describe_tensor",
    "detect_anomaly",
    "dp_train",
    "enable_grad",
    "encode_texts",
    "evaluate",
    "executors",
    "fingerprint",
    "form_of_recipe",
    "full",
    "get_default_device",
    "get_default_dtype",
    "ggml",
    "ggml_opt",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "gradient_statistics",
    "gradients_by_name",
    "graph_dot",
    "graph_function",
    "graph_nodes",
    "graph_overhead",
    "graph_program",
    "graph_report",
    "graph_text",
    "hessian",
    "hvp",
    "images_of_checkpoint",
    "inference_mode",
    "initializer_catalogue",
    "is_grad_enabled",
    "jacobian",
    "join_ranks",
    "jvp",
    "layer_catalogue",
    "lead_ranks",
    "linearize",
    "load_kernels",
    "loaded_kernels",
    "loss_catalogue",
    "make_optimizer",
    "make_plan",
    "meta_with_classes",
    "metric_catalogue",
    "needed_inputs",
    "no_grad",
    "once_differentiable",
    "ones",
    "ones_like",
    "op_catalogue",
    "op_entry",
    "open_preprocessed",
    "ops",
    "opt_epoch",
    "opt_fit",
    "optimizer_catalogue",
    "parameter",
    "parse_and_report",
    "parse_graph",
    "plan_dot",
    "plan_program",
    "plan_report",
    "plan_text",
    "predict_in_chunks",
    "prediction_inputs",
    "prepare_ops",
    "preprocessing_of_checkpoint",
    "probability_cross_entropy_loss",
    "profile_step",
    "propose_columns",
    "propose_fit",
    "rand",
    "randn",
    "rare_collections",
    "read_checked_graph",
    "read_class_encodings",
    "read_recipe",
    "read_tensor_document",
    "read_tensors",
    "recompute",
    "report_compilation",
    "reshape_columns",
    "row_losses",
    "schedule_catalogue",
    "seed",
    "set_blas_threads",
    "set_default_device",
    "set_default_dtype",
    "set_grad_enabled",
    "set_param",
    "softmax_cross_entropy_loss",
    "state_digest",
    "sweep",
    "tape",
    "tensor",
    "tensor_to_json",
    "trace_nonfinite",
    "training_mode",
    "transform_catalogue",
    "usable_cores",
    "usable_cpus",
    "value_and_grad",
    "vhp",
    "vjp",
    "vmap",
    "why_native_unusable",
    "write_tensors",
    "zeros",
    "zeros_like",
]
