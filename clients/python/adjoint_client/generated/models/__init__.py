"""Contains all the data models used in inputs/outputs"""

from .adaptive_clip_choice import AdaptiveClipChoice
from .adaptive_clip_choice_units_type_0 import AdaptiveClipChoiceUnitsType0
from .api_key import ApiKey
from .api_key_list import ApiKeyList
from .api_key_scopes_item import ApiKeyScopesItem
from .audit_entry import AuditEntry
from .audit_list import AuditList
from .average_choice import AverageChoice
from .average_choice_kind_type_0 import AverageChoiceKindType0
from .backward_expand_answer import BackwardExpandAnswer
from .backward_request import BackwardRequest
from .backward_request_cotangents import BackwardRequestCotangents
from .batch_answer import BatchAnswer
from .batch_request import BatchRequest
from .batched_answer import BatchedAnswer
from .batched_answer_answer_type_0 import BatchedAnswerAnswerType0
from .batched_step import BatchedStep
from .blas import Blas
from .budget_choice import BudgetChoice
from .build_backward_expand_request import BuildBackwardExpandRequest
from .build_backward_expand_request_accumulators_type_0 import BuildBackwardExpandRequestAccumulatorsType0
from .build_forward_expand_request import BuildForwardExpandRequest
from .build_forward_expand_request_order_type_0 import BuildForwardExpandRequestOrderType0
from .build_forward_select_request import BuildForwardSelectRequest
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
from .class_names_choice import ClassNamesChoice
from .clip_choice import ClipChoice
from .clip_choice_nonfinite_type_0 import ClipChoiceNonfiniteType0
from .compute_plan_answer import ComputePlanAnswer
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
from .create_dataset_header import CreateDatasetHeader
from .dataset import Dataset
from .dataset_column import DatasetColumn
from .dataset_list import DatasetList
from .dataset_rows import DatasetRows
from .dataset_rows_data_item import DatasetRowsDataItem
from .derivative import Derivative
from .derivative_kind import DerivativeKind
from .derivative_spec import DerivativeSpec
from .derivative_tensors import DerivativeTensors
from .divergence_choice import DivergenceChoice
from .divergence_choice_action_type_0 import DivergenceChoiceActionType0
from .draw_graph_plan_executor import DrawGraphPlanExecutor
from .draw_session_graph_of import DrawSessionGraphOf
from .early_stopping_choice import EarlyStoppingChoice
from .early_stopping_choice_mode_type_0 import EarlyStoppingChoiceModeType0
from .element_answer import ElementAnswer
from .element_choice import ElementChoice
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
from .fit_request_classes_type_0 import FitRequestClassesType0
from .fit_request_feeds_type_0 import FitRequestFeedsType0
from .fit_request_labels_type_0 import FitRequestLabelsType0
from .fit_request_normalize_type_0 import FitRequestNormalizeType0
from .fit_request_precision_type_0 import FitRequestPrecisionType0
from .fit_runtime import FitRuntime
from .fit_runtime_fingerprint import FitRuntimeFingerprint
from .fit_state import FitState
from .fork_choice import ForkChoice
from .fork_choice_restore_type_0 import ForkChoiceRestoreType0
from .forward_answer import ForwardAnswer
from .forward_answer_losses import ForwardAnswerLosses
from .forward_answer_nonfinite import ForwardAnswerNonfinite
from .forward_answer_outputs import ForwardAnswerOutputs
from .forward_backward_answer import ForwardBackwardAnswer
from .forward_backward_answer_grad_norms import ForwardBackwardAnswerGradNorms
from .forward_backward_answer_losses import ForwardBackwardAnswerLosses
from .forward_backward_answer_nonfinite import ForwardBackwardAnswerNonfinite
from .forward_backward_answer_outputs_type_0 import ForwardBackwardAnswerOutputsType0
from .forward_backward_request import ForwardBackwardRequest
from .forward_backward_request_feeds_type_0 import ForwardBackwardRequestFeedsType0
from .forward_backward_request_inputs_type_0 import ForwardBackwardRequestInputsType0
from .forward_backward_request_reduction_type_0 import ForwardBackwardRequestReductionType0
from .forward_request import ForwardRequest
from .forward_request_feeds_type_0 import ForwardRequestFeedsType0
from .forward_request_inputs_type_0 import ForwardRequestInputsType0
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
from .gradient_norms import GradientNorms
from .gradient_norms_grad_norms import GradientNormsGradNorms
from .gradient_norms_nonfinite import GradientNormsNonfinite
from .gradient_statistics import GradientStatistics
from .gradient_statistics_nonfinite import GradientStatisticsNonfinite
from .gradient_want import GradientWant
from .gradient_want_cotangents_type_0 import GradientWantCotangentsType0
from .gradients_choice import GradientsChoice
from .graph import Graph
from .graph_answer import GraphAnswer
from .graph_canonical_definition import GraphCanonicalDefinition
from .graph_clear_request import GraphClearRequest
from .graph_compute_answer import GraphComputeAnswer
from .graph_compute_answer_gradients import GraphComputeAnswerGradients
from .graph_compute_answer_losses import GraphComputeAnswerLosses
from .graph_compute_answer_nonfinite import GraphComputeAnswerNonfinite
from .graph_compute_answer_status import GraphComputeAnswerStatus
from .graph_compute_answer_tensors import GraphComputeAnswerTensors
from .graph_compute_request import GraphComputeRequest
from .graph_compute_request_feeds_type_0 import GraphComputeRequestFeedsType0
from .graph_compute_request_inputs_type_0 import GraphComputeRequestInputsType0
from .graph_cpy_request import GraphCpyRequest
from .graph_definition import GraphDefinition
from .graph_definition_buffers_type_0 import GraphDefinitionBuffersType0
from .graph_definition_constants_type_0 import GraphDefinitionConstantsType0
from .graph_definition_inputs import GraphDefinitionInputs
from .graph_definition_layers_type_0_item import GraphDefinitionLayersType0Item
from .graph_definition_loss_type_0 import GraphDefinitionLossType0
from .graph_definition_nodes_type_0_item import GraphDefinitionNodesType0Item
from .graph_definition_parameters_type_0 import GraphDefinitionParametersType0
from .graph_description import GraphDescription
from .graph_dup_request import GraphDupRequest
from .graph_finding import GraphFinding
from .graph_finding_severity import GraphFindingSeverity
from .graph_free_request import GraphFreeRequest
from .graph_gradient import GraphGradient
from .graph_list import GraphList
from .graph_memory import GraphMemory
from .graph_node import GraphNode
from .graph_node_counts import GraphNodeCounts
from .graph_node_kind import GraphNodeKind
from .graph_node_list import GraphNodeList
from .graph_nodes import GraphNodes
from .graph_nodes_data_item import GraphNodesDataItem
from .graph_plan import GraphPlan
from .graph_plan_buffers_item import GraphPlanBuffersItem
from .graph_plan_phases_item import GraphPlanPhasesItem
from .graph_plan_steps_item import GraphPlanStepsItem
from .graph_report import GraphReport
from .graph_report_canonical_definition import GraphReportCanonicalDefinition
from .graph_report_memory import GraphReportMemory
from .graph_report_node_counts import GraphReportNodeCounts
from .graph_report_shapes import GraphReportShapes
from .graph_reset_request import GraphResetRequest
from .graph_shapes import GraphShapes
from .graph_summary import GraphSummary
from .graph_view_request import GraphViewRequest
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
from .key_request import KeyRequest
from .key_request_scopes_item import KeyRequestScopesItem
from .limits import Limits
from .list_audit_entries_order import ListAuditEntriesOrder
from .list_checkpoints_order import ListCheckpointsOrder
from .list_datasets_order import ListDatasetsOrder
from .list_fits_order import ListFitsOrder
from .list_gradients_order import ListGradientsOrder
from .list_graphs_order import ListGraphsOrder
from .list_keys_order import ListKeysOrder
from .list_metrics_format import ListMetricsFormat
from .list_metrics_split_type_0 import ListMetricsSplitType0
from .list_sessions_order import ListSessionsOrder
from .load_answer import LoadAnswer
from .load_request import LoadRequest
from .loss_entry import LossEntry
from .loss_list import LossList
from .loss_operand import LossOperand
from .loss_scaling_choice import LossScalingChoice
from .match_answer import MatchAnswer
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
from .new_api_key import NewApiKey
from .new_api_key_scopes_item import NewApiKeyScopesItem
from .new_graph_request import NewGraphRequest
from .new_graph_request_order import NewGraphRequestOrder
from .node_input import NodeInput
from .node_input_nonfinite import NodeInputNonfinite
from .noise_choice import NoiseChoice
from .nonfinite_array import NonfiniteArray
from .nonfinite_array_kind import NonfiniteArrayKind
from .nonfinite_array_phase_type_0 import NonfiniteArrayPhaseType0
from .nonfinite_trace import NonfiniteTrace
from .normalize_choice import NormalizeChoice
from .normalize_choice_kind import NormalizeChoiceKind
from .op_entry import OpEntry
from .op_entry_gradient_notes import OpEntryGradientNotes
from .op_entry_outputs import OpEntryOutputs
from .op_entry_second_order_type_0 import OpEntrySecondOrderType0
from .op_input import OpInput
from .op_list import OpList
from .operation import Operation
from .operation_answer_type_0 import OperationAnswerType0
from .opt_step_adamw_request import OptStepAdamwRequest
from .opt_step_sgd_request import OptStepSgdRequest
from .optim_step_answer import OptimStepAnswer
from .optim_step_answer_grad_norms import OptimStepAnswerGradNorms
from .optim_step_answer_nonfinite import OptimStepAnswerNonfinite
from .optim_step_request import OptimStepRequest
from .optim_step_request_groups_type_0_item import OptimStepRequestGroupsType0Item
from .optimizer_choice import OptimizerChoice
from .order_want import OrderWant
from .overhead_answer import OverheadAnswer
from .parameter_list import ParameterList
from .parameter_summary import ParameterSummary
from .paused_answer import PausedAnswer
from .plan_graph_executor import PlanGraphExecutor
from .predict_request import PredictRequest
from .predict_request_inputs import PredictRequestInputs
from .predict_with_checkpoint_format_type_0 import PredictWithCheckpointFormatType0
from .prediction import Prediction
from .prediction_classes import PredictionClasses
from .prediction_outputs import PredictionOutputs
from .print_graph_plan_executor import PrintGraphPlanExecutor
from .problem import Problem
from .problem_error import ProblemError
from .profile import Profile
from .profile_phase_seconds import ProfilePhaseSeconds
from .profile_request import ProfileRequest
from .profile_request_buffers_type_0 import ProfileRequestBuffersType0
from .profile_request_inputs_type_0 import ProfileRequestInputsType0
from .profile_request_optimizer_type_1 import ProfileRequestOptimizerType1
from .profile_request_parameters_type_0 import ProfileRequestParametersType0
from .profiled_node import ProfiledNode
from .profiled_node_phase import ProfiledNodePhase
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
from .reset_request import ResetRequest
from .resource_changes import ResourceChanges
from .resource_changes_priority_type_0 import ResourceChangesPriorityType0
from .resources_choice import ResourcesChoice
from .resources_choice_executor_type_0 import ResourcesChoiceExecutorType0
from .resources_choice_priority import ResourcesChoicePriority
from .row_loss import RowLoss
from .row_losses import RowLosses
from .row_losses_nonfinite import RowLossesNonfinite
from .row_losses_request import RowLossesRequest
from .row_losses_request_buffers_type_0 import RowLossesRequestBuffersType0
from .row_losses_request_inputs_type_0 import RowLossesRequestInputsType0
from .row_losses_request_parameters_type_0 import RowLossesRequestParametersType0
from .rows_choice import RowsChoice
from .run_forward_backward_reduction import RunForwardBackwardReduction
from .sampling_choice import SamplingChoice
from .save_request import SaveRequest
from .schedule_choice import ScheduleChoice
from .session import Session
from .session_classes import SessionClasses
from .session_error import SessionError
from .session_kind import SessionKind
from .session_labels import SessionLabels
from .session_links import SessionLinks
from .session_list import SessionList
from .session_nonfinite_trace import SessionNonfiniteTrace
from .session_optimizer_type_0 import SessionOptimizerType0
from .session_predict_request import SessionPredictRequest
from .session_predict_request_feeds_type_0 import SessionPredictRequestFeedsType0
from .session_predict_request_inputs_type_0 import SessionPredictRequestInputsType0
from .session_prediction import SessionPrediction
from .session_prediction_outputs import SessionPredictionOutputs
from .session_profile import SessionProfile
from .session_profile_phase_seconds import SessionProfilePhaseSeconds
from .session_profile_request import SessionProfileRequest
from .session_profile_request_feeds_type_0 import SessionProfileRequestFeedsType0
from .session_profile_request_inputs_type_0 import SessionProfileRequestInputsType0
from .session_request import SessionRequest
from .session_request_classes_type_0 import SessionRequestClassesType0
from .session_request_dims_type_0 import SessionRequestDimsType0
from .session_request_feeds_type_0 import SessionRequestFeedsType0
from .session_request_kind import SessionRequestKind
from .session_request_labels_type_0 import SessionRequestLabelsType0
from .session_request_order_type_0 import SessionRequestOrderType0
from .session_request_precision_type_0 import SessionRequestPrecisionType0
from .session_request_restore_type_0 import SessionRequestRestoreType0
from .session_resources_choice import SessionResourcesChoice
from .session_resources_choice_executor_type_0 import SessionResourcesChoiceExecutorType0
from .session_row_losses import SessionRowLosses
from .session_row_losses_nonfinite import SessionRowLossesNonfinite
from .session_row_losses_request import SessionRowLossesRequest
from .session_row_losses_request_feeds_type_0 import SessionRowLossesRequestFeedsType0
from .session_row_losses_request_inputs_type_0 import SessionRowLossesRequestInputsType0
from .session_state import SessionState
from .session_static_type_0 import SessionStaticType0
from .session_trace_request import SessionTraceRequest
from .session_trace_request_feeds_type_0 import SessionTraceRequestFeedsType0
from .session_trace_request_inputs_type_0 import SessionTraceRequestInputsType0
from .set_loss_request import SetLossRequest
from .set_name_request import SetNameRequest
from .set_param_request import SetParamRequest
from .set_request import SetRequest
from .set_request_parameters import SetRequestParameters
from .shuffle_choice import ShuffleChoice
from .shuffle_choice_kind_type_0 import ShuffleChoiceKindType0
from .status import Status
from .status_status import StatusStatus
from .step_answer import StepAnswer
from .step_problem import StepProblem
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
from .tensor_list import TensorList
from .tensor_nonfinite import TensorNonfinite
from .tensor_set_request import TensorSetRequest
from .tensor_set_request_accumulators_type_0 import TensorSetRequestAccumulatorsType0
from .tensor_set_request_tensors_type_0 import TensorSetRequestTensorsType0
from .tensor_statistics import TensorStatistics
from .tensor_statistics_nonfinite import TensorStatisticsNonfinite
from .tensor_summary import TensorSummary
from .tensor_summary_nonfinite import TensorSummaryNonfinite
from .threadpool_answer import ThreadpoolAnswer
from .threadpool_choice import ThreadpoolChoice
from .threadpool_choice_prio_type_1 import ThreadpoolChoicePrioType1
from .threadpool_description import ThreadpoolDescription
from .threadpool_match_request import ThreadpoolMatchRequest
from .threadpool_new_request import ThreadpoolNewRequest
from .threadpool_step_request import ThreadpoolStepRequest
from .trace_nonfinite_request import TraceNonfiniteRequest
from .trace_nonfinite_request_buffers_type_0 import TraceNonfiniteRequestBuffersType0
from .trace_nonfinite_request_inputs_type_0 import TraceNonfiniteRequestInputsType0
from .trace_nonfinite_request_parameters_type_0 import TraceNonfiniteRequestParametersType0
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
from .zero_grad_request import ZeroGradRequest

__all__ = (
    "AdaptiveClipChoice",
    "AdaptiveClipChoiceUnitsType0",
    "ApiKey",
    "ApiKeyList",
    "ApiKeyScopesItem",
    "AuditEntry",
    "AuditList",
    "AverageChoice",
    "AverageChoiceKindType0",
    "BackwardExpandAnswer",
    "BackwardRequest",
    "BackwardRequestCotangents",
    "BatchAnswer",
    "BatchRequest",
    "BatchedAnswer",
    "BatchedAnswerAnswerType0",
    "BatchedStep",
    "Blas",
    "BudgetChoice",
    "BuildBackwardExpandRequest",
    "BuildBackwardExpandRequestAccumulatorsType0",
    "BuildForwardExpandRequest",
    "BuildForwardExpandRequestOrderType0",
    "BuildForwardSelectRequest",
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
    "ClassNamesChoice",
    "ClipChoice",
    "ClipChoiceNonfiniteType0",
    "ComputePlanAnswer",
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
    "CreateDatasetHeader",
    "Dataset",
    "DatasetColumn",
    "DatasetList",
    "DatasetRows",
    "DatasetRowsDataItem",
    "Derivative",
    "DerivativeKind",
    "DerivativeSpec",
    "DerivativeTensors",
    "DivergenceChoice",
    "DivergenceChoiceActionType0",
    "DrawGraphPlanExecutor",
    "DrawSessionGraphOf",
    "EarlyStoppingChoice",
    "EarlyStoppingChoiceModeType0",
    "ElementAnswer",
    "ElementChoice",
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
    "FitRequestClassesType0",
    "FitRequestFeedsType0",
    "FitRequestLabelsType0",
    "FitRequestNormalizeType0",
    "FitRequestPrecisionType0",
    "FitRuntime",
    "FitRuntimeFingerprint",
    "FitState",
    "ForkChoice",
    "ForkChoiceRestoreType0",
    "ForwardAnswer",
    "ForwardAnswerLosses",
    "ForwardAnswerNonfinite",
    "ForwardAnswerOutputs",
    "ForwardBackwardAnswer",
    "ForwardBackwardAnswerGradNorms",
    "ForwardBackwardAnswerLosses",
    "ForwardBackwardAnswerNonfinite",
    "ForwardBackwardAnswerOutputsType0",
    "ForwardBackwardRequest",
    "ForwardBackwardRequestFeedsType0",
    "ForwardBackwardRequestInputsType0",
    "ForwardBackwardRequestReductionType0",
    "ForwardRequest",
    "ForwardRequestFeedsType0",
    "ForwardRequestInputsType0",
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
    "GradientNorms",
    "GradientNormsGradNorms",
    "GradientNormsNonfinite",
    "GradientStatistics",
    "GradientStatisticsNonfinite",
    "GradientWant",
    "GradientWantCotangentsType0",
    "GradientsChoice",
    "Graph",
    "GraphAnswer",
    "GraphCanonicalDefinition",
    "GraphClearRequest",
    "GraphComputeAnswer",
    "GraphComputeAnswerGradients",
    "GraphComputeAnswerLosses",
    "GraphComputeAnswerNonfinite",
    "GraphComputeAnswerStatus",
    "GraphComputeAnswerTensors",
    "GraphComputeRequest",
    "GraphComputeRequestFeedsType0",
    "GraphComputeRequestInputsType0",
    "GraphCpyRequest",
    "GraphDefinition",
    "GraphDefinitionBuffersType0",
    "GraphDefinitionConstantsType0",
    "GraphDefinitionInputs",
    "GraphDefinitionLayersType0Item",
    "GraphDefinitionLossType0",
    "GraphDefinitionNodesType0Item",
    "GraphDefinitionParametersType0",
    "GraphDescription",
    "GraphDupRequest",
    "GraphFinding",
    "GraphFindingSeverity",
    "GraphFreeRequest",
    "GraphGradient",
    "GraphList",
    "GraphMemory",
    "GraphNode",
    "GraphNodeCounts",
    "GraphNodeKind",
    "GraphNodeList",
    "GraphNodes",
    "GraphNodesDataItem",
    "GraphPlan",
    "GraphPlanBuffersItem",
    "GraphPlanPhasesItem",
    "GraphPlanStepsItem",
    "GraphReport",
    "GraphReportCanonicalDefinition",
    "GraphReportMemory",
    "GraphReportNodeCounts",
    "GraphReportShapes",
    "GraphResetRequest",
    "GraphShapes",
    "GraphSummary",
    "GraphViewRequest",
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
    "KeyRequest",
    "KeyRequestScopesItem",
    "Limits",
    "ListAuditEntriesOrder",
    "ListCheckpointsOrder",
    "ListDatasetsOrder",
    "ListFitsOrder",
    "ListGradientsOrder",
    "ListGraphsOrder",
    "ListKeysOrder",
    "ListMetricsFormat",
    "ListMetricsSplitType0",
    "ListSessionsOrder",
    "LoadAnswer",
    "LoadRequest",
    "LossEntry",
    "LossList",
    "LossOperand",
    "LossScalingChoice",
    "MatchAnswer",
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
    "NewApiKey",
    "NewApiKeyScopesItem",
    "NewGraphRequest",
    "NewGraphRequestOrder",
    "NodeInput",
    "NodeInputNonfinite",
    "NoiseChoice",
    "NonfiniteArray",
    "NonfiniteArrayKind",
    "NonfiniteArrayPhaseType0",
    "NonfiniteTrace",
    "NormalizeChoice",
    "NormalizeChoiceKind",
    "OpEntry",
    "OpEntryGradientNotes",
    "OpEntryOutputs",
    "OpEntrySecondOrderType0",
    "OpInput",
    "OpList",
    "Operation",
    "OperationAnswerType0",
    "OptStepAdamwRequest",
    "OptStepSgdRequest",
    "OptimStepAnswer",
    "OptimStepAnswerGradNorms",
    "OptimStepAnswerNonfinite",
    "OptimStepRequest",
    "OptimStepRequestGroupsType0Item",
    "OptimizerChoice",
    "OrderWant",
    "OverheadAnswer",
    "ParameterList",
    "ParameterSummary",
    "PausedAnswer",
    "PlanGraphExecutor",
    "PredictRequest",
    "PredictRequestInputs",
    "PredictWithCheckpointFormatType0",
    "Prediction",
    "PredictionClasses",
    "PredictionOutputs",
    "PrintGraphPlanExecutor",
    "Problem",
    "ProblemError",
    "Profile",
    "ProfilePhaseSeconds",
    "ProfileRequest",
    "ProfileRequestBuffersType0",
    "ProfileRequestInputsType0",
    "ProfileRequestOptimizerType1",
    "ProfileRequestParametersType0",
    "ProfiledNode",
    "ProfiledNodePhase",
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
    "ResetRequest",
    "ResourceChanges",
    "ResourceChangesPriorityType0",
    "ResourcesChoice",
    "ResourcesChoiceExecutorType0",
    "ResourcesChoicePriority",
    "RowLoss",
    "RowLosses",
    "RowLossesNonfinite",
    "RowLossesRequest",
    "RowLossesRequestBuffersType0",
    "RowLossesRequestInputsType0",
    "RowLossesRequestParametersType0",
    "RowsChoice",
    "RunForwardBackwardReduction",
    "SamplingChoice",
    "SaveRequest",
    "ScheduleChoice",
    "Session",
    "SessionClasses",
    "SessionError",
    "SessionKind",
    "SessionLabels",
    "SessionLinks",
    "SessionList",
    "SessionNonfiniteTrace",
    "SessionOptimizerType0",
    "SessionPredictRequest",
    "SessionPredictRequestFeedsType0",
    "SessionPredictRequestInputsType0",
    "SessionPrediction",
    "SessionPredictionOutputs",
    "SessionProfile",
    "SessionProfilePhaseSeconds",
    "SessionProfileRequest",
    "SessionProfileRequestFeedsType0",
    "SessionProfileRequestInputsType0",
    "SessionRequest",
    "SessionRequestClassesType0",
    "SessionRequestDimsType0",
    "SessionRequestFeedsType0",
    "SessionRequestKind",
    "SessionRequestLabelsType0",
    "SessionRequestOrderType0",
    "SessionRequestPrecisionType0",
    "SessionRequestRestoreType0",
    "SessionResourcesChoice",
    "SessionResourcesChoiceExecutorType0",
    "SessionRowLosses",
    "SessionRowLossesNonfinite",
    "SessionRowLossesRequest",
    "SessionRowLossesRequestFeedsType0",
    "SessionRowLossesRequestInputsType0",
    "SessionState",
    "SessionStaticType0",
    "SessionTraceRequest",
    "SessionTraceRequestFeedsType0",
    "SessionTraceRequestInputsType0",
    "SetLossRequest",
    "SetNameRequest",
    "SetParamRequest",
    "SetRequest",
    "SetRequestParameters",
    "ShuffleChoice",
    "ShuffleChoiceKindType0",
    "Status",
    "StatusStatus",
    "StepAnswer",
    "StepProblem",
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
    "TensorList",
    "TensorNonfinite",
    "TensorSetRequest",
    "TensorSetRequestAccumulatorsType0",
    "TensorSetRequestTensorsType0",
    "TensorStatistics",
    "TensorStatisticsNonfinite",
    "TensorSummary",
    "TensorSummaryNonfinite",
    "ThreadpoolAnswer",
    "ThreadpoolChoice",
    "ThreadpoolChoicePrioType1",
    "ThreadpoolDescription",
    "ThreadpoolMatchRequest",
    "ThreadpoolNewRequest",
    "ThreadpoolStepRequest",
    "TraceNonfiniteRequest",
    "TraceNonfiniteRequestBuffersType0",
    "TraceNonfiniteRequestInputsType0",
    "TraceNonfiniteRequestParametersType0",
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
    "ZeroGradRequest",
)
