"""Contains all the data models used in inputs/outputs"""

from .adaptive_clip_choice import AdaptiveClipChoice
from .adaptive_clip_choice_units_type_0 import AdaptiveClipChoiceUnitsType0
from .average_choice import AverageChoice
from .average_choice_kind_type_0 import AverageChoiceKindType0
from .blas import Blas
from .budget_choice import BudgetChoice
from .bundle import Bundle
from .bundle_attempt import BundleAttempt
from .bundle_checkpoint import BundleCheckpoint
from .bundle_column import BundleColumn
from .bundle_dataset import BundleDataset
from .bundle_fit import BundleFit
from .bundle_fit_labels import BundleFitLabels
from .bundle_graph import BundleGraph
from .bundle_metrics import BundleMetrics
from .bundle_origin import BundleOrigin
from .bundle_origin_restore import BundleOriginRestore
from .bundle_result import BundleResult
from .bundle_runtime import BundleRuntime
from .bundle_runtime_fingerprint import BundleRuntimeFingerprint
from .bundle_server import BundleServer
from .bundle_state import BundleState
from .catalogue_attribute import CatalogueAttribute
from .catalogue_entry import CatalogueEntry
from .catalogue_list import CatalogueList
from .checked_gradient import CheckedGradient
from .checked_gradient_nonfinite import CheckedGradientNonfinite
from .checkpoint import Checkpoint
from .checkpoint_changes import CheckpointChanges
from .checkpoint_choice import CheckpointChoice
from .checkpoint_links import CheckpointLinks
from .checkpoint_list import CheckpointList
from .checkpoint_metrics import CheckpointMetrics
from .checkpoint_nonfinite import CheckpointNonfinite
from .clip_choice import ClipChoice
from .clip_choice_nonfinite_type_0 import ClipChoiceNonfiniteType0
from .compute_request import ComputeRequest
from .compute_request_buffers_type_0 import ComputeRequestBuffersType0
from .compute_request_inputs_type_0 import ComputeRequestInputsType0
from .compute_request_parameters_type_0 import ComputeRequestParametersType0
from .compute_request_want_type_0_item_type_0 import ComputeRequestWantType0ItemType0
from .compute_result import ComputeResult
from .compute_result_gradients_type_0 import ComputeResultGradientsType0
from .compute_result_losses import ComputeResultLosses
from .compute_result_nonfinite import ComputeResultNonfinite
from .compute_result_outputs_type_0 import ComputeResultOutputsType0
from .cores import Cores
from .create_dataset_format_type_0 import CreateDatasetFormatType0
from .dataset import Dataset
from .dataset_column import DatasetColumn
from .dataset_list import DatasetList
from .dataset_rows import DatasetRows
from .dataset_rows_data_item import DatasetRowsDataItem
from .derivative import Derivative
from .derivative_kind import DerivativeKind
from .derivative_tensors import DerivativeTensors
from .divergence_choice import DivergenceChoice
from .divergence_choice_action_type_0 import DivergenceChoiceActionType0
from .draw_graph_plan_executor import DrawGraphPlanExecutor
from .early_stopping_choice import EarlyStoppingChoice
from .early_stopping_choice_mode_type_0 import EarlyStoppingChoiceModeType0
from .find_checkpoint_alias import FindCheckpointAlias
from .fit import Fit
from .fit_attempt import FitAttempt
from .fit_best_type_0 import FitBestType0
from .fit_changes import FitChanges
from .fit_changes_labels_type_0 import FitChangesLabelsType0
from .fit_error import FitError
from .fit_extension import FitExtension
from .fit_labels import FitLabels
from .fit_latest import FitLatest
from .fit_links import FitLinks
from .fit_list import FitList
from .fit_nonfinite import FitNonfinite
from .fit_origin import FitOrigin
from .fit_origin_restore import FitOriginRestore
from .fit_replay import FitReplay
from .fit_replay_expected import FitReplayExpected
from .fit_request import FitRequest
from .fit_request_activations_type_0 import FitRequestActivationsType0
from .fit_request_as_sent import FitRequestAsSent
from .fit_request_feeds_type_0 import FitRequestFeedsType0
from .fit_request_labels_type_0 import FitRequestLabelsType0
from .fit_request_normalize_type_0 import FitRequestNormalizeType0
from .fit_request_precision_type_0 import FitRequestPrecisionType0
from .fit_runtime import FitRuntime
from .fit_runtime_fingerprint import FitRuntimeFingerprint
from .fit_state import FitState
from .fork_choice import ForkChoice
from .fork_choice_restore_type_0 import ForkChoiceRestoreType0
from .freeze_choice import FreezeChoice
from .get_fit_until import GetFitUntil
from .get_gradient_format_type_0 import GetGradientFormatType0
from .get_parameter_format_type_0 import GetParameterFormatType0
from .gradcheck_request import GradcheckRequest
from .gradcheck_request_buffers_type_0 import GradcheckRequestBuffersType0
from .gradcheck_request_inputs_type_0 import GradcheckRequestInputsType0
from .gradcheck_request_parameters_type_0 import GradcheckRequestParametersType0
from .gradcheck_result import GradcheckResult
from .gradcheck_result_gradients import GradcheckResultGradients
from .gradcheck_result_nonfinite import GradcheckResultNonfinite
from .gradient import Gradient
from .gradient_links import GradientLinks
from .gradient_list import GradientList
from .gradient_statistics import GradientStatistics
from .gradient_statistics_nonfinite import GradientStatisticsNonfinite
from .gradient_want import GradientWant
from .gradient_want_cotangents_type_0 import GradientWantCotangentsType0
from .gradients_choice import GradientsChoice
from .graph import Graph
from .graph_canonical_spelling import GraphCanonicalSpelling
from .graph_definition import GraphDefinition
from .graph_definition_buffers_type_0 import GraphDefinitionBuffersType0
from .graph_definition_constants_type_0 import GraphDefinitionConstantsType0
from .graph_definition_inputs import GraphDefinitionInputs
from .graph_definition_layers_type_0_item import GraphDefinitionLayersType0Item
from .graph_definition_loss_type_0 import GraphDefinitionLossType0
from .graph_definition_nodes_type_0_item import GraphDefinitionNodesType0Item
from .graph_definition_parameters_type_0 import GraphDefinitionParametersType0
from .graph_finding import GraphFinding
from .graph_list import GraphList
from .graph_memory import GraphMemory
from .graph_node_counts import GraphNodeCounts
from .graph_nodes import GraphNodes
from .graph_nodes_data_item import GraphNodesDataItem
from .graph_plan import GraphPlan
from .graph_plan_buffers_item import GraphPlanBuffersItem
from .graph_plan_phases_item import GraphPlanPhasesItem
from .graph_plan_steps_item import GraphPlanStepsItem
from .graph_report import GraphReport
from .graph_report_canonical_spelling import GraphReportCanonicalSpelling
from .graph_report_memory import GraphReportMemory
from .graph_report_node_counts import GraphReportNodeCounts
from .graph_report_shapes import GraphReportShapes
from .graph_shapes import GraphShapes
from .graph_summary import GraphSummary
from .group_choice import GroupChoice
from .hessian_product_spec import HessianProductSpec
from .hessian_product_spec_by import HessianProductSpecBy
from .hessian_spec import HessianSpec
from .hessian_want import HessianWant
from .histogram import Histogram
from .hvp_want import HvpWant
from .inline_dataset import InlineDataset
from .inline_dataset_columns import InlineDatasetColumns
from .interval_choice import IntervalChoice
from .jacobian_spec import JacobianSpec
from .jacobian_spec_mode_type_0 import JacobianSpecModeType0
from .jacobian_want import JacobianWant
from .jvp_spec import JvpSpec
from .jvp_spec_tangents import JvpSpecTangents
from .jvp_want import JvpWant
from .limits import Limits
from .list_checkpoints_order import ListCheckpointsOrder
from .list_datasets_order import ListDatasetsOrder
from .list_fits_order import ListFitsOrder
from .list_gradients_order import ListGradientsOrder
from .list_graphs_order import ListGraphsOrder
from .list_metrics_format import ListMetricsFormat
from .list_metrics_split_type_0 import ListMetricsSplitType0
from .loss_entry import LossEntry
from .loss_list import LossList
from .loss_operand import LossOperand
from .loss_scaling_choice import LossScalingChoice
from .metric_choice import MetricChoice
from .metric_entry import MetricEntry
from .metric_entry_goal_type_0 import MetricEntryGoalType0
from .metric_entry_predictions import MetricEntryPredictions
from .metric_list import MetricList
from .metric_row import MetricRow
from .metric_row_nonfinite import MetricRowNonfinite
from .metric_row_split import MetricRowSplit
from .metric_row_values import MetricRowValues
from .metric_rows import MetricRows
from .noise_choice import NoiseChoice
from .normalize_choice import NormalizeChoice
from .normalize_choice_kind import NormalizeChoiceKind
from .op_entry import OpEntry
from .op_entry_gradient_notes import OpEntryGradientNotes
from .op_entry_outputs import OpEntryOutputs
from .op_entry_second_order_type_0 import OpEntrySecondOrderType0
from .op_input import OpInput
from .op_list import OpList
from .optimizer_choice import OptimizerChoice
from .parameter_list import ParameterList
from .parameter_summary import ParameterSummary
from .plan_graph_executor import PlanGraphExecutor
from .predict_request import PredictRequest
from .predict_request_inputs import PredictRequestInputs
from .predict_with_checkpoint_format_type_0 import PredictWithCheckpointFormatType0
from .prediction import Prediction
from .prediction_outputs import PredictionOutputs
from .print_graph_plan_executor import PrintGraphPlanExecutor
from .problem import Problem
from .problem_error import ProblemError
from .queue_counts import QueueCounts
from .ranked_variant import RankedVariant
from .ranked_variant_parameters import RankedVariantParameters
from .recompute_choice import RecomputeChoice
from .record_choice import RecordChoice
from .recovery import Recovery
from .replay_request import ReplayRequest
from .replay_request_labels_type_0 import ReplayRequestLabelsType0
from .replay_resources import ReplayResources
from .replay_resources_priority_type_0 import ReplayResourcesPriorityType0
from .replay_verdict import ReplayVerdict
from .resource_changes import ResourceChanges
from .resource_changes_priority_type_0 import ResourceChangesPriorityType0
from .resources_choice import ResourcesChoice
from .resources_choice_executor_type_0 import ResourcesChoiceExecutorType0
from .resources_choice_priority import ResourcesChoicePriority
from .sampling_choice import SamplingChoice
from .schedule_choice import ScheduleChoice
from .shuffle_choice import ShuffleChoice
from .shuffle_choice_kind_type_0 import ShuffleChoiceKindType0
from .status import Status
from .status_status import StatusStatus
from .sweep_choice import SweepChoice
from .sweep_choice_kind import SweepChoiceKind
from .sweep_choice_mode_type_0 import SweepChoiceModeType0
from .sweep_choice_parameters import SweepChoiceParameters
from .sweep_summary import SweepSummary
from .sweep_summary_kind import SweepSummaryKind
from .sweep_summary_mode import SweepSummaryMode
from .sweep_summary_states import SweepSummaryStates
from .system_overview import SystemOverview
from .system_overview_fingerprint import SystemOverviewFingerprint
from .tensor import Tensor
from .tensor_nonfinite import TensorNonfinite
from .validation_choice import ValidationChoice
from .validation_choice_order_type_0 import ValidationChoiceOrderType0
from .variant_info import VariantInfo
from .variant_info_parameters import VariantInfoParameters
from .variant_list import VariantList
from .vhp_want import VhpWant
from .windows_choice import WindowsChoice
from .windows_choice_spans_type_0 import WindowsChoiceSpansType0
from .worker import Worker
from .worst_element import WorstElement
from .worst_element_nonfinite import WorstElementNonfinite

__all__ = (
    "AdaptiveClipChoice",
    "AdaptiveClipChoiceUnitsType0",
    "AverageChoice",
    "AverageChoiceKindType0",
    "Blas",
    "BudgetChoice",
    "Bundle",
    "BundleAttempt",
    "BundleCheckpoint",
    "BundleColumn",
    "BundleDataset",
    "BundleFit",
    "BundleFitLabels",
    "BundleGraph",
    "BundleMetrics",
    "BundleOrigin",
    "BundleOriginRestore",
    "BundleResult",
    "BundleRuntime",
    "BundleRuntimeFingerprint",
    "BundleServer",
    "BundleState",
    "CatalogueAttribute",
    "CatalogueEntry",
    "CatalogueList",
    "CheckedGradient",
    "CheckedGradientNonfinite",
    "Checkpoint",
    "CheckpointChanges",
    "CheckpointChoice",
    "CheckpointLinks",
    "CheckpointList",
    "CheckpointMetrics",
    "CheckpointNonfinite",
    "ClipChoice",
    "ClipChoiceNonfiniteType0",
    "ComputeRequest",
    "ComputeRequestBuffersType0",
    "ComputeRequestInputsType0",
    "ComputeRequestParametersType0",
    "ComputeRequestWantType0ItemType0",
    "ComputeResult",
    "ComputeResultGradientsType0",
    "ComputeResultLosses",
    "ComputeResultNonfinite",
    "ComputeResultOutputsType0",
    "Cores",
    "CreateDatasetFormatType0",
    "Dataset",
    "DatasetColumn",
    "DatasetList",
    "DatasetRows",
    "DatasetRowsDataItem",
    "Derivative",
    "DerivativeKind",
    "DerivativeTensors",
    "DivergenceChoice",
    "DivergenceChoiceActionType0",
    "DrawGraphPlanExecutor",
    "EarlyStoppingChoice",
    "EarlyStoppingChoiceModeType0",
    "FindCheckpointAlias",
    "Fit",
    "FitAttempt",
    "FitBestType0",
    "FitChanges",
    "FitChangesLabelsType0",
    "FitError",
    "FitExtension",
    "FitLabels",
    "FitLatest",
    "FitLinks",
    "FitList",
    "FitNonfinite",
    "FitOrigin",
    "FitOriginRestore",
    "FitReplay",
    "FitReplayExpected",
    "FitRequest",
    "FitRequestActivationsType0",
    "FitRequestAsSent",
    "FitRequestFeedsType0",
    "FitRequestLabelsType0",
    "FitRequestNormalizeType0",
    "FitRequestPrecisionType0",
    "FitRuntime",
    "FitRuntimeFingerprint",
    "FitState",
    "ForkChoice",
    "ForkChoiceRestoreType0",
    "FreezeChoice",
    "GetFitUntil",
    "GetGradientFormatType0",
    "GetParameterFormatType0",
    "GradcheckRequest",
    "GradcheckRequestBuffersType0",
    "GradcheckRequestInputsType0",
    "GradcheckRequestParametersType0",
    "GradcheckResult",
    "GradcheckResultGradients",
    "GradcheckResultNonfinite",
    "Gradient",
    "GradientLinks",
    "GradientList",
    "GradientStatistics",
    "GradientStatisticsNonfinite",
    "GradientWant",
    "GradientWantCotangentsType0",
    "GradientsChoice",
    "Graph",
    "GraphCanonicalSpelling",
    "GraphDefinition",
    "GraphDefinitionBuffersType0",
    "GraphDefinitionConstantsType0",
    "GraphDefinitionInputs",
    "GraphDefinitionLayersType0Item",
    "GraphDefinitionLossType0",
    "GraphDefinitionNodesType0Item",
    "GraphDefinitionParametersType0",
    "GraphFinding",
    "GraphList",
    "GraphMemory",
    "GraphNodeCounts",
    "GraphNodes",
    "GraphNodesDataItem",
    "GraphPlan",
    "GraphPlanBuffersItem",
    "GraphPlanPhasesItem",
    "GraphPlanStepsItem",
    "GraphReport",
    "GraphReportCanonicalSpelling",
    "GraphReportMemory",
    "GraphReportNodeCounts",
    "GraphReportShapes",
    "GraphShapes",
    "GraphSummary",
    "GroupChoice",
    "HessianProductSpec",
    "HessianProductSpecBy",
    "HessianSpec",
    "HessianWant",
    "Histogram",
    "HvpWant",
    "InlineDataset",
    "InlineDatasetColumns",
    "IntervalChoice",
    "JacobianSpec",
    "JacobianSpecModeType0",
    "JacobianWant",
    "JvpSpec",
    "JvpSpecTangents",
    "JvpWant",
    "Limits",
    "ListCheckpointsOrder",
    "ListDatasetsOrder",
    "ListFitsOrder",
    "ListGradientsOrder",
    "ListGraphsOrder",
    "ListMetricsFormat",
    "ListMetricsSplitType0",
    "LossEntry",
    "LossList",
    "LossOperand",
    "LossScalingChoice",
    "MetricChoice",
    "MetricEntry",
    "MetricEntryGoalType0",
    "MetricEntryPredictions",
    "MetricList",
    "MetricRow",
    "MetricRowNonfinite",
    "MetricRowSplit",
    "MetricRowValues",
    "MetricRows",
    "NoiseChoice",
    "NormalizeChoice",
    "NormalizeChoiceKind",
    "OpEntry",
    "OpEntryGradientNotes",
    "OpEntryOutputs",
    "OpEntrySecondOrderType0",
    "OpInput",
    "OpList",
    "OptimizerChoice",
    "ParameterList",
    "ParameterSummary",
    "PlanGraphExecutor",
    "PredictRequest",
    "PredictRequestInputs",
    "PredictWithCheckpointFormatType0",
    "Prediction",
    "PredictionOutputs",
    "PrintGraphPlanExecutor",
    "Problem",
    "ProblemError",
    "QueueCounts",
    "RankedVariant",
    "RankedVariantParameters",
    "RecomputeChoice",
    "RecordChoice",
    "Recovery",
    "ReplayRequest",
    "ReplayRequestLabelsType0",
    "ReplayResources",
    "ReplayResourcesPriorityType0",
    "ReplayVerdict",
    "ResourceChanges",
    "ResourceChangesPriorityType0",
    "ResourcesChoice",
    "ResourcesChoiceExecutorType0",
    "ResourcesChoicePriority",
    "SamplingChoice",
    "ScheduleChoice",
    "ShuffleChoice",
    "ShuffleChoiceKindType0",
    "Status",
    "StatusStatus",
    "SweepChoice",
    "SweepChoiceKind",
    "SweepChoiceModeType0",
    "SweepChoiceParameters",
    "SweepSummary",
    "SweepSummaryKind",
    "SweepSummaryMode",
    "SweepSummaryStates",
    "SystemOverview",
    "SystemOverviewFingerprint",
    "Tensor",
    "TensorNonfinite",
    "ValidationChoice",
    "ValidationChoiceOrderType0",
    "VariantInfo",
    "VariantInfoParameters",
    "VariantList",
    "VhpWant",
    "WindowsChoice",
    "WindowsChoiceSpansType0",
    "Worker",
    "WorstElement",
    "WorstElementNonfinite",
)
