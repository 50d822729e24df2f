"""One request for every operation of the HTTP interface, in an order in which each succeeds on a new server.

The HTTP reference shows them with their recorded answers; a test sends them all to a server.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = Any


@dataclass(frozen=True)
class Step:
    """A request: `{NAME}` in its path and body is what an earlier step saved; `saves` names a field of its answer.

    `until` repeats the request until the answer contains the text, for what a worker process does in between.
    """

    operation: str
    method: str
    path: str
    body: Json = None
    status: int = 200
    saves: str = ""
    field: str = "id"
    until: str = ""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


def get(operation: str, path: str, **options: Any) -> Step:
    """A GET."""
    return Step(operation, "GET", path, **options)


def post(operation: str, path: str, body: Json = None, **options: Any) -> Step:
    """A POST."""
    return Step(operation, "POST", path, body, **options)


def delete(operation: str, path: str) -> Step:
    """A DELETE."""
    return Step(operation, "DELETE", path, status=204)


LINE = {
    "inputs": {"x": ["batch"], "y": ["batch"]},
    "parameters": {"w": [], "b": []},
    "program": "pred = w * x + b\nloss = mse_loss(pred, y)",
    "outputs": ["pred"],
}
POINTS = {"x": [0, 1, 2, 3], "y": [1, 3, 5, 7]}
FIT = {"name": "points-line",
    "graph": "{GRAPH}", "dataset": "{DATASET}", "epochs": 5, "batch_size": 2, "optimizer": {"kind": "adam", "lr": 0.1},
    "validation": {"split": 0.25}, "record": {"gradients": {"steps": [1], "parameters": ["w"]}}, "seed": 0,
}  # fmt: skip
LONG = {"graph": LINE, "dataset": {"columns": POINTS}, "steps": 50_000_000, "optimizer": {"kind": "sgd", "lr": 0.01}}
PARABOLA = {
    "inputs": {"a": [1], "b": [1]}, "parameters": {"x": [1]}, "program": "f = a * x ** 2 + b", "outputs": ["f"],
}  # fmt: skip
ROWS = {"inputs": POINTS}
POINT = {"inputs": {"x": [1.0], "y": [3.0]}, "parameters": {"w": 1.0, "b": 0.0}}
NUMBER = {"dtype": "float32", "shape": [], "data": [2.0]}
SESSION, STATIC = "/v1/sessions/{SESSION}", "/v1/sessions/{STATIC}"

SYSTEM = (
    get("check_health", "/healthz"),
    get("check_readiness", "/readyz"),
    get("scrape_metrics", "/metrics"),
    get("get_system", "/v1/system"),
)
CATALOGUE = (
    get("list_ops", "/v1/ops"),
    get("get_op", "/v1/ops/relu"),
    *(
        get(f"list_{kind}", f"/v1/{kind}")
        for kind in ("layers", "losses", "optimizers", "schedules", "initializers")
    ),
    get("list_metric_kinds", "/v1/metrics"),
)  # fmt: skip
GRAPHS = (
    post("validate_graph", "/v1/graphs:validate", LINE),
    post("create_graph", "/v1/graphs", {"name": "line", **LINE}, status=201, saves="GRAPH"),
    get("list_graphs", "/v1/graphs?limit=2"),
    get("get_graph", "/v1/graphs/{GRAPH}"),
    get("list_graph_nodes", "/v1/graphs/{GRAPH}/nodes?backward=true"),
    get("print_graph", "/v1/graphs/{GRAPH}/text?backward=true"),
    get("draw_graph", "/v1/graphs/{GRAPH}/dot"),
    get("plan_graph", "/v1/graphs/{GRAPH}/plan?batch=32&optimizer=adamw"),
    get("print_graph_plan", "/v1/graphs/{GRAPH}/plan/text?batch=32&optimizer=adamw"),
    get("draw_graph_plan", "/v1/graphs/{GRAPH}/plan/dot?batch=32&optimizer=adamw"),
    get("print_graph_program", "/v1/graphs/{GRAPH}/program?batch=32&optimizer=adamw"),
    post("compute_graph", "/v1/graphs/{GRAPH}:compute", {**POINT, "want": ["outputs", "gradients"]}),
    post("check_graph_gradients", "/v1/graphs/{GRAPH}:gradcheck", {"inputs": {"x": [1.0], "y": [3.0]}}),
    post("profile_graph", "/v1/graphs/{GRAPH}:profile", POINT),
    post("compute_graph_row_losses", "/v1/graphs/{GRAPH}:row_losses", {**ROWS, "parameters": {"w": 1.0, "b": 0.0}}),
    post("trace_graph_nonfinite", "/v1/graphs/{GRAPH}:trace_nonfinite", {**POINT, "parameters": {"w": 1e38, "b": 0.0}}),
)
DATASETS = (
    post(
        "create_dataset", "/v1/datasets?name=points", "x,y\n0,1\n1,3\n2,5\n3,7\n", status=201, saves="DATASET",
        headers={"Content-Type": "text/csv"},
    ),
    get("list_datasets", "/v1/datasets?limit=2"),
    get("get_dataset", "/v1/datasets/{DATASET}"),
    get("list_dataset_rows", "/v1/datasets/{DATASET}/rows?offset=1&limit=2"),
    get("download_dataset", "/v1/datasets/{DATASET}/content?format=csv"),
    get("profile_dataset", "/v1/datasets/{DATASET}/profile?target=y"),
    post(
        "append_to_dataset", "/v1/datasets/{DATASET}:append", "x,y\n4,9\n5,11\n", status=201, saves="APPENDED",
        headers={"Content-Type": "text/csv"},
    ),
    post(
        "select_dataset_rows", "/v1/datasets/{APPENDED}:select",
        {"where": [{"column": "x", "op": "<", "value": 5}], "sample": {"rows": 3}}, status=201,
    ),
    post("split_dataset", "/v1/datasets/{APPENDED}:split", {"test": 0.25, "seed": 1}, status=201),
    post("join_datasets", "/v1/datasets:join", {"datasets": ["{DATASET}", "{APPENDED}"]}, status=201),
)  # fmt: skip
FITS = (
    post("create_fit", "/v1/fits", FIT, status=202, saves="FIT", headers={"Idempotency-Key": "points-1"}),
    get("get_fit", "/v1/fits/{FIT}?wait=30&until=terminal", until='"succeeded"'),
    get("list_fits", "/v1/fits?state=succeeded&name_prefix=points&limit=2"),
    get("list_metrics", "/v1/fits/{FIT}/metrics?keys=loss,grad_norm&limit=4"),
    get("stream_events", "/v1/fits/{FIT}/events?max_events=3"),
    get("list_gradients", "/v1/fits/{FIT}/gradients"),
    get("get_gradient", "/v1/fits/{FIT}/gradients/w?step=1"),
    get("get_bundle", "/v1/fits/{FIT}/bundle"),
    post("replay_fit", "/v1/fits:replay", {"fit": "{FIT}"}, status=202, saves="REPLAY"),
    post("extend_fit", "/v1/fits/{FIT}:extend", {"epochs": 1}, status=202),
    get("get_fit", "/v1/fits/{FIT}?wait=30&until=terminal", until='"succeeded"'),
    post("create_fit", "/v1/fits", LONG, status=202, saves="LONG"),
    get("stream_events", "/v1/fits/{LONG}/events?max_events=6"),
    post("pause_fit", "/v1/fits/{LONG}:pause", status=202),
    get("get_fit", "/v1/fits/{LONG}", until='"paused"'),
    Step("update_fit", "PATCH", "/v1/fits/{LONG}", {"name": "long", "labels": {"team": "a"}}),
    post("resume_fit", "/v1/fits/{LONG}:resume", status=202),
    post("cancel_fit", "/v1/fits/{LONG}:cancel", status=202),
    get("get_fit", "/v1/fits/{LONG}?wait=30&until=terminal", until='"cancelled"'),
    post("create_fit", "/v1/fits", LONG, status=202, saves="KILLED"),
    post("kill_fit", "/v1/fits/{KILLED}:kill", status=202),
    get("get_fit", "/v1/fits/{KILLED}?wait=30&until=terminal", until='"cancelled"'),
    post(
        "create_fit", "/v1/fits",
        {**FIT, "validation": None, "sweep": {"kind": "grid", "parameters": {"optimizer.lr": [0.01, 0.1]}}},
        status=202, saves="SWEEP",
    ),
    get("get_fit", "/v1/fits/{SWEEP}?wait=30&until=terminal", until='"succeeded"'),
    get("list_variants", "/v1/fits/{SWEEP}/variants"),
)  # fmt: skip
CHECKPOINTS = (
    get("list_checkpoints", "/v1/fits/{FIT}/checkpoints"),
    get("list_all_checkpoints", "/v1/checkpoints?order_by=step&limit=1"),
    get("find_checkpoint", "/v1/fits/{FIT}/checkpoints/latest", saves="CHECKPOINT"),
    get("get_checkpoint", "/v1/checkpoints/{CHECKPOINT}"),
    Step("update_checkpoint", "PATCH", "/v1/checkpoints/{CHECKPOINT}", {"pinned": True}),
    get("list_parameters", "/v1/checkpoints/{CHECKPOINT}/parameters"),
    get("get_parameter", "/v1/checkpoints/{CHECKPOINT}/parameters/w"),
    get("download_checkpoint", "/v1/checkpoints/{CHECKPOINT}/content?only=parameters", saves="FILE"),
    post("predict_with_checkpoint", "/v1/checkpoints/{CHECKPOINT}:predict", {"inputs": {"x": [4.0, 5.0]}}),
    post("evaluate_checkpoint", "/v1/checkpoints/{CHECKPOINT}:evaluate", {"dataset": "{DATASET}"}),
    post(
        "create_checkpoint", "/v1/checkpoints?graph={GRAPH}", "{FILE}", status=201, saves="UPLOADED",
        headers={"Content-Type": "application/vnd.safetensors"},
    ),
    delete("delete_checkpoint", "/v1/checkpoints/{UPLOADED}"),
)  # fmt: skip
TRAINING = (
    post("create_session", "/v1/sessions", {"graph": LINE, "optimizer": {"kind": "sgd"}}, status=201, saves="SESSION"),
    get("list_sessions", "/v1/sessions?limit=2"),
    get("get_session", SESSION),
    post("set_parameters", SESSION + ":set", {"seq": 1, "parameters": {"w": 1.0, "b": 0.0}}),
    post("run_forward", SESSION + ":forward", {"seq": 2, **ROWS, "keep": True}, saves="TAPE", field="tape_id"),
    post("run_backward", SESSION + ":backward", {"seq": 3, "tape_id": "{TAPE}", "cotangents": {"loss": 1.0}}),
    post("zero_gradients", SESSION + ":zero_grad", {"seq": 4}),
    post("run_forward_backward", SESSION + ":forward_backward", {"seq": 5, **ROWS}),
    get("list_session_gradients", SESSION + "/gradients"),
    get("get_session_gradient", SESSION + "/gradients/w"),
    Step("replace_session_gradient", "PUT", SESSION + "/gradients/w?seq=6", NUMBER),
    post("run_optim_step", SESSION + ":optim_step", {"seq": 7, "lr": 0.05}),
    get("list_session_parameters", SESSION + "/parameters"),
    get("get_session_parameter", SESSION + "/parameters/w"),
    Step("replace_session_parameter", "PUT", SESSION + "/parameters/w?seq=8", NUMBER),
    get("list_session_buffers", SESSION + "/buffers"),
    post("predict_with_session", SESSION + ":predict", {"seq": 9, "inputs": {"x": [4.0]}}),
    post("compute_session_row_losses", SESSION + ":row_losses", {"seq": 10, **ROWS}),
    post("trace_session_nonfinite", SESSION + ":trace_nonfinite", {"seq": 11, **ROWS}),
    post("profile_session", SESSION + ":profile", {"seq": 12, **ROWS}),
    post("save_session", SESSION + ":save", {"seq": 13}, status=201, saves="SAVED"),
    post("load_session", SESSION + ":load", {"seq": 14, "checkpoint": "{SAVED}"}),
    post("run_batch", SESSION + ":batch", {"steps": [
        {"verb": "forward_backward", "seq": 15, **ROWS}, {"verb": "optim_step", "seq": 16},
    ]}),
    post("run_optim_step", SESSION + ":optim_step", {"seq": 17}, status=202, headers={"Prefer": "respond-async"}),
    get("get_operation", SESSION + "/operations/17"),
    post("reset_session", SESSION + ":reset", {"seq": 18, "gradients": True, "momenta": True}),
    post("pause_session", SESSION + ":pause"),
    post("resume_session", SESSION + ":resume"),
    delete("close_session", SESSION),
)  # fmt: skip
STATIC_GRAPHS = (
    post("create_session", "/v1/sessions", {"graph": PARABOLA, "kind": "static"}, status=201, saves="STATIC"),
    post("expand_session_graph", STATIC + ":build_forward_expand", {"outputs": ["f"]}),
    post("differentiate_session_graph", STATIC + ":build_backward_expand", {}),
    post("set_session_tensors", STATIC + ":tensor_set", {"tensors": {"x": [2.0], "a": [3.0], "b": [4.0]}}),
    post("reset_session_graph", STATIC + ":graph_reset", {}),
    post("compute_session_graph", STATIC + ":graph_compute", {"fetch": ["f"], "gradients": ["x"]}),
    get("get_session_graph", STATIC + "/graph"),
    get("list_session_graph_nodes", STATIC + "/graph/nodes"),
    get("get_session_graph_node", STATIC + "/graph/nodes/f"),
    get("get_session_graph_tensor", STATIC + "/graph/tensors/f"),
    get("get_session_graph_gradient", STATIC + "/graph/gradients/x"),
    get("print_session_graph", STATIC + "/graph/print"),
    get("draw_session_graph", STATIC + "/graph/dot"),
    get("plan_session_graph", STATIC + "/graph/plan"),
    get("get_session_graph_overhead", STATIC + "/graph/overhead"),
    post("create_session_threadpool", STATIC + ":threadpool_new", {"params": {"n_threads": 2}}),
    get("get_session_threadpool", STATIC + "/threadpool"),
    post("match_session_threadpool", STATIC + ":threadpool_params_match", {"params": {"n_threads": 2}}),
    post("pause_session_threadpool", STATIC + ":threadpool_pause", {}),
    post("resume_session_threadpool", STATIC + ":threadpool_resume", {}),
    post("free_session_threadpool", STATIC + ":threadpool_free", {}),
    post("duplicate_session_graph", STATIC + ":graph_dup", {"name": "copy"}),
    post("copy_session_graph", STATIC + ":graph_cpy", {"name": "copy"}),
    post("view_session_graph", STATIC + ":graph_view", {"name": "head", "start": 0, "stop": 1}),
    post("clear_session_graph", STATIC + ":graph_clear", {"graph": "copy"}),
    post("free_session_graph", STATIC + ":graph_free", {"graph": "copy"}),
    post("name_session_tensor", STATIC + ":set_name", {"tensor": "f", "name": "value"}),
    post("mark_session_parameters", STATIC + ":set_param", {"names": ["a"]}),
    post("mark_session_losses", STATIC + ":set_loss", {"names": ["f"]}),
    post("create_session_graph", STATIC + ":new_graph", {"name": "other", "size": 64, "grads": True}),
    post("select_session_branch", STATIC + ":build_forward_select", {"branches": ["f"], "index": 0, "graph": "other"}),
    post("append_adamw_step", STATIC + ":opt_step_adamw", {"pars": [0.001, 0.9, 0.999, 1e-8, 0.0, 0.1, 0.001]}),
    delete("close_session", STATIC),
    post("create_session", "/v1/sessions", {"graph": PARABOLA, "kind": "static"}, status=201, saves="STATIC"),
    post("expand_session_graph", STATIC + ":build_forward_expand", {"outputs": ["f"]}),
    post("differentiate_session_graph", STATIC + ":build_backward_expand", {}),
    post("append_sgd_step", STATIC + ":opt_step_sgd", {"pars": [0.1, 0.0]}),
    delete("close_session", STATIC),
)  # fmt: skip
NORM = {
    "inputs": {"x": ["batch", 2], "y": ["batch", 2]}, "layers": [{"layer": "batch_norm"}],
    "loss": {"kind": "mse_loss"},
}  # fmt: skip
BUFFERS = (
    post("create_session", "/v1/sessions", {"graph": NORM, "optimizer": "sgd"}, status=201, saves="SESSION"),
    get("get_session_buffer", SESSION + "/buffers/batch_norm_0.running_mean"),
    delete("close_session", SESSION),
)
REMOVAL = (
    delete("delete_fit", "/v1/fits/{KILLED}"),
    post("create_dataset", "/v1/datasets", {"columns": {"x": [1, 2]}}, status=201, saves="DATASET"),
    delete("delete_dataset", "/v1/datasets/{DATASET}"),
    post("create_graph", "/v1/graphs", PARABOLA, status=201, saves="GRAPH"),
    delete("delete_graph", "/v1/graphs/{GRAPH}"),
)
ADMINISTRATION = (
    get("download_backup", "/v1/backup"),
    post("create_key", "/v1/keys", {"name": "admin", "scopes": ["admin"]}, status=201, saves="KEY"),
    get("list_keys", "/v1/keys"),
    get("get_key", "/v1/keys/{KEY}"),
    get("list_audit_entries", "/v1/audit?limit=1"),
    delete("revoke_key", "/v1/keys/{KEY}"),
)
STEPS: tuple[Step, ...] = (
    *SYSTEM, *CATALOGUE, *GRAPHS, *DATASETS, *FITS, *CHECKPOINTS, *TRAINING, *BUFFERS, *STATIC_GRAPHS, *REMOVAL,
    *ADMINISTRATION,
)  # fmt: skip
"""All steps. Keys come last: from the first key on, a server needs one."""
