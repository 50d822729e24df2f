"""The operations of the contract by name."""

from collections.abc import Mapping

from adjoint_client.operation import Operation

OPERATIONS: Mapping[str, Operation] = {
    "append_adamw_step": Operation(
        "POST", "/v1/sessions/{session_id}:opt_step_adamw", (), ("application/json",), ("GraphAnswer", "Operation")
    ),
    "append_sgd_step": Operation(
        "POST", "/v1/sessions/{session_id}:opt_step_sgd", (), ("application/json",), ("GraphAnswer", "Operation")
    ),
    "append_to_dataset": Operation(
        "POST",
        "/v1/datasets/{dataset_id}:append",
        (
            "name",
            "format",
            "column",
            "image_size",
            "image_mode",
            "image_dtype",
            "columns",
            "header",
            "missing",
            "delimiter",
            "decimal",
            "encoding",
        ),
        (
            "application/json",
            "application/octet-stream",
            "application/vnd.apache.arrow.file",
            "application/vnd.apache.arrow.stream",
            "application/vnd.apache.parquet",
            "application/vnd.safetensors",
            "application/x-ndjson",
            "application/x-npy",
            "application/x-npz",
            "application/zip",
            "text/csv",
        ),
        ("Dataset",),
    ),
    "cancel_fit": Operation("POST", "/v1/fits/{fit_id}:cancel", (), (), ("Fit",)),
    "check_graph_gradients": Operation(
        "POST", "/v1/graphs/{graph_id}:gradcheck", (), ("application/json",), ("GradcheckResult",)
    ),
    "check_health": Operation("GET", "/healthz", (), (), ("Status",)),
    "check_readiness": Operation("GET", "/readyz", (), (), ("Readiness",)),
    "clear_session_graph": Operation(
        "POST", "/v1/sessions/{session_id}:graph_clear", (), ("application/json",), ("GraphAnswer", "Operation")
    ),
    "close_session": Operation("DELETE", "/v1/sessions/{session_id}", (), (), ()),
    "compute_graph": Operation("POST", "/v1/graphs/{graph_id}:compute", (), ("application/json",), ("ComputeResult",)),
    "compute_graph_row_losses": Operation(
        "POST", "/v1/graphs/{graph_id}:row_losses", (), ("application/json",), ("RowLosses",)
    ),
    "compute_session_graph": Operation(
        "POST",
        "/v1/sessions/{session_id}:graph_compute",
        ("seq", "graph", "n_threads", "abort_after", "auto_resume", "with_ctx", "work_size", "use_ref"),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("GraphComputeAnswer", "Operation", "application/vnd.safetensors"),
    ),
    "compute_session_row_losses": Operation(
        "POST",
        "/v1/sessions/{session_id}:row_losses",
        ("seq", "top"),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("Operation", "SessionRowLosses"),
    ),
    "copy_session_graph": Operation(
        "POST", "/v1/sessions/{session_id}:graph_cpy", (), ("application/json",), ("GraphAnswer", "Operation")
    ),
    "create_checkpoint": Operation(
        "POST", "/v1/checkpoints", ("graph",), ("application/vnd.safetensors",), ("Checkpoint",)
    ),
    "create_dataset": Operation(
        "POST",
        "/v1/datasets",
        (
            "name",
            "format",
            "column",
            "image_size",
            "image_mode",
            "image_dtype",
            "columns",
            "header",
            "missing",
            "delimiter",
            "decimal",
            "encoding",
        ),
        (
            "application/json",
            "application/octet-stream",
            "application/vnd.apache.arrow.file",
            "application/vnd.apache.arrow.stream",
            "application/vnd.apache.parquet",
            "application/vnd.safetensors",
            "application/x-ndjson",
            "application/x-npy",
            "application/x-npz",
            "application/zip",
            "text/csv",
        ),
        ("Dataset",),
    ),
    "create_fit": Operation("POST", "/v1/fits", (), ("application/json",), ("Fit",)),
    "create_graph": Operation("POST", "/v1/graphs", (), ("application/json",), ("Graph",)),
    "create_key": Operation("POST", "/v1/keys", (), ("application/json",), ("NewApiKey",)),
    "create_session": Operation("POST", "/v1/sessions", (), ("application/json",), ("Session",)),
    "create_session_graph": Operation(
        "POST", "/v1/sessions/{session_id}:new_graph", (), ("application/json",), ("GraphAnswer", "Operation")
    ),
    "create_session_threadpool": Operation(
        "POST", "/v1/sessions/{session_id}:threadpool_new", (), ("application/json",), ("Operation", "ThreadpoolAnswer")
    ),
    "delete_checkpoint": Operation("DELETE", "/v1/checkpoints/{checkpoint_id}", (), (), ()),
    "delete_dataset": Operation("DELETE", "/v1/datasets/{dataset_id}", (), (), ()),
    "delete_fit": Operation("DELETE", "/v1/fits/{fit_id}", (), (), ()),
    "delete_graph": Operation("DELETE", "/v1/graphs/{graph_id}", (), (), ()),
    "differentiate_session_graph": Operation(
        "POST",
        "/v1/sessions/{session_id}:build_backward_expand",
        (),
        ("application/json",),
        ("BackwardExpandAnswer", "Operation"),
    ),
    "download_backup": Operation("GET", "/v1/backup", (), (), ("application/x-tar",)),
    "download_checkpoint": Operation(
        "GET", "/v1/checkpoints/{checkpoint_id}/content", ("only",), (), ("application/vnd.safetensors",)
    ),
    "download_dataset": Operation(
        "GET",
        "/v1/datasets/{dataset_id}/content",
        ("format",),
        (),
        (
            "application/json",
            "application/octet-stream",
            "application/vnd.apache.arrow.file",
            "application/vnd.apache.arrow.stream",
            "application/vnd.apache.parquet",
            "application/vnd.safetensors",
            "application/x-ndjson",
            "application/x-npy",
            "application/x-npz",
            "application/zip",
            "text/csv",
        ),
    ),
    "draw_graph": Operation("GET", "/v1/graphs/{graph_id}/dot", ("backward",), (), ("text/plain", "text/vnd.graphviz")),
    "draw_graph_plan": Operation(
        "GET",
        "/v1/graphs/{graph_id}/plan/dot",
        ("batch", "optimizer", "executor"),
        (),
        ("text/plain", "text/vnd.graphviz"),
    ),
    "draw_session_graph": Operation(
        "GET",
        "/v1/sessions/{session_id}/graph/dot",
        ("graph", "of", "cgraph"),
        (),
        ("application/json", "text/vnd.graphviz"),
    ),
    "duplicate_session_graph": Operation(
        "POST", "/v1/sessions/{session_id}:graph_dup", (), ("application/json",), ("GraphAnswer", "Operation")
    ),
    "evaluate_checkpoint": Operation(
        "POST",
        "/v1/checkpoints/{checkpoint_id}:evaluate",
        (
            "feeds",
            "image_size",
            "image_mode",
            "image_dtype",
            "columns",
            "header",
            "missing",
            "delimiter",
            "decimal",
            "encoding",
            "start",
            "stop",
            "threshold",
            "batch_size",
            "bins",
            "points",
        ),
        (
            "application/json",
            "application/vnd.apache.arrow.file",
            "application/vnd.apache.arrow.stream",
            "application/vnd.apache.parquet",
            "application/vnd.safetensors",
            "application/x-ndjson",
            "application/x-npz",
            "application/zip",
            "text/csv",
        ),
        ("Evaluation",),
    ),
    "expand_session_graph": Operation(
        "POST",
        "/v1/sessions/{session_id}:build_forward_expand",
        (),
        ("application/json",),
        ("GraphAnswer", "Operation"),
    ),
    "extend_fit": Operation("POST", "/v1/fits/{fit_id}:extend", (), ("application/json",), ("Fit",)),
    "find_checkpoint": Operation("GET", "/v1/fits/{fit_id}/checkpoints/{alias}", (), (), ("Checkpoint",)),
    "free_session_graph": Operation(
        "POST", "/v1/sessions/{session_id}:graph_free", (), ("application/json",), ("Operation", "StepAnswer")
    ),
    "free_session_threadpool": Operation(
        "POST", "/v1/sessions/{session_id}:threadpool_free", (), ("application/json",), ("Operation", "StepAnswer")
    ),
    "get_bundle": Operation("GET", "/v1/fits/{fit_id}/bundle", (), (), ("Bundle",)),
    "get_checkpoint": Operation("GET", "/v1/checkpoints/{checkpoint_id}", (), (), ("Checkpoint",)),
    "get_dataset": Operation("GET", "/v1/datasets/{dataset_id}", (), (), ("Dataset",)),
    "get_fit": Operation("GET", "/v1/fits/{fit_id}", ("wait", "until"), (), ("Fit",)),
    "get_gradient": Operation(
        "GET",
        "/v1/fits/{fit_id}/gradients/{parameter}",
        ("step", "stats", "format"),
        (),
        ("Tensor", "application/x-npy"),
    ),
    "get_graph": Operation("GET", "/v1/graphs/{graph_id}", (), (), ("Graph",)),
    "get_key": Operation("GET", "/v1/keys/{key_id}", (), (), ("ApiKey",)),
    "get_op": Operation("GET", "/v1/ops/{name}", (), (), ("OpEntry",)),
    "get_operation": Operation("GET", "/v1/sessions/{session_id}/operations/{seq}", ("wait",), (), ("Operation",)),
    "get_parameter": Operation(
        "GET", "/v1/checkpoints/{checkpoint_id}/parameters/{name}", ("format",), (), ("Tensor", "application/x-npy")
    ),
    "get_session": Operation("GET", "/v1/sessions/{session_id}", ("wake",), (), ("Session",)),
    "get_session_buffer": Operation(
        "GET", "/v1/sessions/{session_id}/buffers/{name}", ("stats",), (), ("Tensor", "application/x-npy")
    ),
    "get_session_gradient": Operation(
        "GET", "/v1/sessions/{session_id}/gradients/{name}", ("stats",), (), ("Tensor", "application/x-npy")
    ),
    "get_session_graph": Operation("GET", "/v1/sessions/{session_id}/graph", ("graph",), (), ("GraphDescription",)),
    "get_session_graph_gradient": Operation(
        "GET",
        "/v1/sessions/{session_id}/graph/gradients/{name}",
        ("graph", "accumulator"),
        (),
        ("GraphGradient", "application/x-npy"),
    ),
    "get_session_graph_node": Operation(
        "GET", "/v1/sessions/{session_id}/graph/nodes/{node}", ("graph",), (), ("GraphNode",)
    ),
    "get_session_graph_overhead": Operation(
        "GET", "/v1/sessions/{session_id}/graph/overhead", ("graph", "size", "grads"), (), ("OverheadAnswer",)
    ),
    "get_session_graph_tensor": Operation(
        "GET",
        "/v1/sessions/{session_id}/graph/tensors/{name}",
        ("graph", "index"),
        (),
        ("Tensor", "application/vnd.safetensors", "application/x-npy"),
    ),
    "get_session_parameter": Operation(
        "GET", "/v1/sessions/{session_id}/parameters/{name}", ("stats",), (), ("Tensor", "application/x-npy")
    ),
    "get_session_threadpool": Operation(
        "GET", "/v1/sessions/{session_id}/threadpool", (), (), ("ThreadpoolDescription",)
    ),
    "get_system": Operation("GET", "/v1/system", (), (), ("SystemOverview",)),
    "join_datasets": Operation("POST", "/v1/datasets:join", (), ("application/json",), ("Dataset",)),
    "kill_fit": Operation("POST", "/v1/fits/{fit_id}:kill", (), (), ("Fit",)),
    "list_all_checkpoints": Operation(
        "GET",
        "/v1/checkpoints",
        ("fit", "session", "graph", "order_by", "limit", "cursor", "order", "created_after", "created_before"),
        (),
        ("CheckpointList",),
    ),
    "list_audit_entries": Operation("GET", "/v1/audit", ("limit", "cursor", "order"), (), ("AuditList",)),
    "list_checkpoints": Operation(
        "GET",
        "/v1/fits/{fit_id}/checkpoints",
        ("order_by", "limit", "cursor", "order", "created_after", "created_before"),
        (),
        ("CheckpointList",),
    ),
    "list_dataset_rows": Operation("GET", "/v1/datasets/{dataset_id}/rows", ("offset", "limit"), (), ("DatasetRows",)),
    "list_datasets": Operation(
        "GET",
        "/v1/datasets",
        ("origin", "order_by", "limit", "cursor", "order", "name", "name_prefix", "created_after", "created_before"),
        (),
        ("DatasetList",),
    ),
    "list_fits": Operation(
        "GET",
        "/v1/fits",
        (
            "parent",
            "origin",
            "state",
            "order_by",
            "limit",
            "cursor",
            "order",
            "label",
            "name",
            "name_prefix",
            "created_after",
            "created_before",
        ),
        (),
        ("FitList",),
    ),
    "list_gradients": Operation(
        "GET", "/v1/fits/{fit_id}/gradients", ("step", "parameter", "limit", "cursor", "order"), (), ("GradientList",)
    ),
    "list_graph_nodes": Operation("GET", "/v1/graphs/{graph_id}/nodes", ("backward", "batch"), (), ("GraphNodes",)),
    "list_graphs": Operation(
        "GET",
        "/v1/graphs",
        ("order_by", "limit", "cursor", "order", "name", "name_prefix", "created_after", "created_before"),
        (),
        ("GraphList",),
    ),
    "list_initializers": Operation("GET", "/v1/initializers", (), (), ("CatalogueList",)),
    "list_keys": Operation("GET", "/v1/keys", ("limit", "cursor", "order"), (), ("ApiKeyList",)),
    "list_layers": Operation("GET", "/v1/layers", (), (), ("CatalogueList",)),
    "list_losses": Operation("GET", "/v1/losses", (), (), ("LossList",)),
    "list_metric_kinds": Operation("GET", "/v1/metrics", (), (), ("MetricList",)),
    "list_metrics": Operation(
        "GET",
        "/v1/fits/{fit_id}/metrics",
        ("after", "limit", "format", "downsample", "keys", "every", "split", "timestamps"),
        (),
        ("MetricRows", "application/x-ndjson"),
    ),
    "list_ops": Operation("GET", "/v1/ops", (), (), ("OpList",)),
    "list_optimizers": Operation("GET", "/v1/optimizers", (), (), ("CatalogueList",)),
    "list_parameters": Operation("GET", "/v1/checkpoints/{checkpoint_id}/parameters", (), (), ("ParameterList",)),
    "list_schedules": Operation("GET", "/v1/schedules", (), (), ("CatalogueList",)),
    "list_session_buffers": Operation(
        "GET", "/v1/sessions/{session_id}/buffers", ("stats",), (), ("TensorList", "application/vnd.safetensors")
    ),
    "list_session_gradients": Operation(
        "GET", "/v1/sessions/{session_id}/gradients", ("stats",), (), ("TensorList", "application/vnd.safetensors")
    ),
    "list_session_graph_nodes": Operation(
        "GET", "/v1/sessions/{session_id}/graph/nodes", ("graph", "index", "name", "leafs"), (), ("GraphNodeList",)
    ),
    "list_session_parameters": Operation(
        "GET", "/v1/sessions/{session_id}/parameters", ("stats",), (), ("TensorList", "application/vnd.safetensors")
    ),
    "list_sessions": Operation(
        "GET",
        "/v1/sessions",
        (
            "state",
            "order_by",
            "limit",
            "cursor",
            "order",
            "label",
            "name",
            "name_prefix",
            "created_after",
            "created_before",
        ),
        (),
        ("SessionList",),
    ),
    "list_variants": Operation("GET", "/v1/fits/{fit_id}/variants", (), (), ("VariantList",)),
    "load_session": Operation(
        "POST", "/v1/sessions/{session_id}:load", (), ("application/json",), ("LoadAnswer", "Operation")
    ),
    "mark_session_losses": Operation(
        "POST", "/v1/sessions/{session_id}:set_loss", (), ("application/json",), ("Operation", "StepAnswer")
    ),
    "mark_session_parameters": Operation(
        "POST", "/v1/sessions/{session_id}:set_param", (), ("application/json",), ("Operation", "StepAnswer")
    ),
    "match_session_threadpool": Operation(
        "POST",
        "/v1/sessions/{session_id}:threadpool_params_match",
        (),
        ("application/json",),
        ("MatchAnswer", "Operation"),
    ),
    "name_session_tensor": Operation(
        "POST", "/v1/sessions/{session_id}:set_name", (), ("application/json",), ("Operation", "StepAnswer")
    ),
    "pause_fit": Operation("POST", "/v1/fits/{fit_id}:pause", (), (), ("Fit",)),
    "pause_session": Operation("POST", "/v1/sessions/{session_id}:pause", (), (), ("Session",)),
    "pause_session_threadpool": Operation(
        "POST", "/v1/sessions/{session_id}:threadpool_pause", (), ("application/json",), ("Operation", "PausedAnswer")
    ),
    "plan_graph": Operation(
        "GET", "/v1/graphs/{graph_id}/plan", ("batch", "optimizer", "executor"), (), ("GraphPlan",)
    ),
    "plan_session_graph": Operation(
        "GET", "/v1/sessions/{session_id}/graph/plan", ("graph", "n_threads"), (), ("ComputePlanAnswer",)
    ),
    "predict_with_checkpoint": Operation(
        "POST",
        "/v1/checkpoints/{checkpoint_id}:predict",
        (
            "input",
            "output",
            "feeds",
            "image_size",
            "image_mode",
            "image_dtype",
            "columns",
            "header",
            "missing",
            "delimiter",
            "decimal",
            "encoding",
            "format",
            "start",
            "stop",
            "threshold",
            "id_column",
            "probabilities",
            "top_k",
            "raw",
        ),
        (
            "application/json",
            "application/vnd.apache.arrow.file",
            "application/vnd.apache.arrow.stream",
            "application/vnd.apache.parquet",
            "application/vnd.safetensors",
            "application/x-ndjson",
            "application/x-npy",
            "application/x-npz",
            "application/zip",
            "text/csv",
        ),
        (
            "Prediction",
            "application/vnd.apache.parquet",
            "application/x-ndjson",
            "application/x-npy",
            "application/x-npz",
            "text/csv",
        ),
    ),
    "predict_with_session": Operation(
        "POST",
        "/v1/sessions/{session_id}:predict",
        ("seq", "chunk"),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("Operation", "SessionPrediction", "application/vnd.safetensors", "application/x-npy"),
    ),
    "print_graph": Operation("GET", "/v1/graphs/{graph_id}/text", ("backward",), (), ("text/plain",)),
    "print_graph_plan": Operation(
        "GET", "/v1/graphs/{graph_id}/plan/text", ("batch", "optimizer", "executor"), (), ("text/plain",)
    ),
    "print_graph_program": Operation(
        "GET", "/v1/graphs/{graph_id}/program", ("batch", "optimizer"), (), ("text/plain", "text/x-python")
    ),
    "print_session_graph": Operation(
        "GET", "/v1/sessions/{session_id}/graph/print", ("graph",), (), ("application/json", "text/plain")
    ),
    "profile_dataset": Operation("GET", "/v1/datasets/{dataset_id}/profile", ("target",), (), ("DatasetProfile",)),
    "profile_graph": Operation("POST", "/v1/graphs/{graph_id}:profile", (), ("application/json",), ("Profile",)),
    "profile_session": Operation(
        "POST",
        "/v1/sessions/{session_id}:profile",
        ("seq",),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("Operation", "SessionProfile"),
    ),
    "replace_session_gradient": Operation(
        "PUT",
        "/v1/sessions/{session_id}/gradients/{name}",
        ("seq",),
        ("application/json", "application/x-npy"),
        ("Operation", "StepAnswer"),
    ),
    "replace_session_parameter": Operation(
        "PUT",
        "/v1/sessions/{session_id}/parameters/{name}",
        ("seq",),
        ("application/json", "application/x-npy"),
        ("Operation", "StepAnswer"),
    ),
    "replay_fit": Operation("POST", "/v1/fits:replay", (), ("application/json",), ("Fit",)),
    "reset_session": Operation(
        "POST", "/v1/sessions/{session_id}:reset", (), ("application/json",), ("Operation", "StepAnswer")
    ),
    "reset_session_graph": Operation(
        "POST", "/v1/sessions/{session_id}:graph_reset", (), ("application/json",), ("Operation", "StepAnswer")
    ),
    "resume_fit": Operation("POST", "/v1/fits/{fit_id}:resume", (), (), ("Fit",)),
    "resume_session": Operation("POST", "/v1/sessions/{session_id}:resume", (), (), ("Session",)),
    "resume_session_threadpool": Operation(
        "POST", "/v1/sessions/{session_id}:threadpool_resume", (), ("application/json",), ("Operation", "PausedAnswer")
    ),
    "revoke_key": Operation("DELETE", "/v1/keys/{key_id}", (), (), ()),
    "run_backward": Operation(
        "POST",
        "/v1/sessions/{session_id}:backward",
        ("seq", "tape_id"),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("GradientNorms", "Operation"),
    ),
    "run_batch": Operation(
        "POST",
        "/v1/sessions/{session_id}:batch",
        ("stop_on_error",),
        ("application/json", "application/vnd.safetensors"),
        ("BatchAnswer", "Operation"),
    ),
    "run_forward": Operation(
        "POST",
        "/v1/sessions/{session_id}:forward",
        ("seq", "training", "keep"),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("ForwardAnswer", "Operation", "application/vnd.safetensors", "application/x-npy"),
    ),
    "run_forward_backward": Operation(
        "POST",
        "/v1/sessions/{session_id}:forward_backward",
        ("seq", "reduction", "micro_batch_size", "outputs"),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("ForwardBackwardAnswer", "Operation", "application/vnd.safetensors", "application/x-npy"),
    ),
    "run_optim_step": Operation(
        "POST", "/v1/sessions/{session_id}:optim_step", (), ("application/json",), ("Operation", "OptimStepAnswer")
    ),
    "save_session": Operation(
        "POST", "/v1/sessions/{session_id}:save", (), ("application/json",), ("Checkpoint", "Operation")
    ),
    "scrape_metrics": Operation("GET", "/metrics", (), (), ("text/plain",)),
    "select_dataset_rows": Operation(
        "POST", "/v1/datasets/{dataset_id}:select", (), ("application/json",), ("Dataset",)
    ),
    "select_session_branch": Operation(
        "POST",
        "/v1/sessions/{session_id}:build_forward_select",
        (),
        ("application/json",),
        ("GraphAnswer", "Operation"),
    ),
    "set_parameters": Operation(
        "POST",
        "/v1/sessions/{session_id}:set",
        ("seq",),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("Operation", "StepAnswer"),
    ),
    "set_session_tensors": Operation(
        "POST",
        "/v1/sessions/{session_id}:tensor_set",
        ("seq", "graph"),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("Operation", "StepAnswer"),
    ),
    "split_dataset": Operation("POST", "/v1/datasets/{dataset_id}:split", (), ("application/json",), ("DatasetSplit",)),
    "stream_events": Operation(
        "GET",
        "/v1/fits/{fit_id}/events",
        ("after", "max_events", "timeout", "interval", "metrics", "timestamps"),
        (),
        ("text/event-stream",),
    ),
    "trace_graph_nonfinite": Operation(
        "POST", "/v1/graphs/{graph_id}:trace_nonfinite", (), ("application/json",), ("NonfiniteTrace",)
    ),
    "trace_session_nonfinite": Operation(
        "POST",
        "/v1/sessions/{session_id}:trace_nonfinite",
        ("seq",),
        ("application/json", "application/vnd.safetensors", "application/x-npy", "application/x-npz"),
        ("Operation", "SessionNonfiniteTrace"),
    ),
    "update_checkpoint": Operation(
        "PATCH", "/v1/checkpoints/{checkpoint_id}", (), ("application/json",), ("Checkpoint",)
    ),
    "update_fit": Operation("PATCH", "/v1/fits/{fit_id}", (), ("application/json",), ("Fit",)),
    "validate_graph": Operation("POST", "/v1/graphs:validate", (), ("application/json",), ("GraphReport",)),
    "view_session_graph": Operation(
        "POST", "/v1/sessions/{session_id}:graph_view", (), ("application/json",), ("GraphAnswer", "Operation")
    ),
    "zero_gradients": Operation(
        "POST", "/v1/sessions/{session_id}:zero_grad", (), ("application/json",), ("Operation", "StepAnswer")
    ),
}
