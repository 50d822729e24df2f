"""Every option of the engine's recipe, on the wire: known, described, refused with a pointer, and quickly."""

import json
from collections.abc import Iterator
from dataclasses import MISSING, is_dataclass
from typing import Any, get_args

import httpx
import pytest
from pydantic import BaseModel

from app.api.schemas import fit_options as wire
from app.api.schemas.fit_request import FitRequest
from app.service.fits.admission import NOT_RECIPE
from engine.core.options import Option, options_of
from engine.data.normalization import KINDS
from engine.training.recipe.options import Averaging
from engine.training.recipe.recipe import Recipe
from tests.support.patience import LONGEST_WAIT

ROWS = {
    "columns": {
        "x": [[i / 8, -i / 16] for i in range(32)],
        "label": [i % 3 for i in range(32)],
        "part": [i // 4 for i in range(32)],
        "weight": [float(i % 4) for i in range(32)],
    }
}
CLASSES = {
    "inputs": {"x": ["batch", 2], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 4, "activation": "tanh"}, {"layer": "linear", "units": 3}],
    "loss": {"kind": "cross_entropy"},
}
NORMALIZATIONS: dict[str, Any] = dict(KINDS)
SELECTORS = {"optimizer", "schedule", "normalize", "metrics"}
"""Fields of which the engine's type is no set of options: a table of kinds stands behind them."""

BESIDE: dict[str, type[BaseModel]] = {"shuffle": wire.ShuffleChoice, "average": wire.AverageChoice}
"""The shapes of fields that may also be given as something simpler."""


def nested_shape(annotation: Any) -> type[BaseModel] | None:
    """Return the shape of the objects that a field holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((shape for part in get_args(annotation) if (shape := nested_shape(part)) is not None), None)


def pairs(kind: Any, shape: type[BaseModel], path: str = "") -> Iterator[tuple[str, Any, type[BaseModel]]]:
    """Yield every set of options with its shape on the wire."""
    yield path, kind, shape
    for name, option in options_of(kind).items():
        inner = option.nested or option.members
        if name in SELECTORS or not is_dataclass(inner):
            continue
        own = BESIDE.get(name) or nested_shape(shape.model_fields[name].annotation)
        assert own is not None, f"{path}/{name} has no shape on the wire"
        yield from pairs(inner, own, f"{path}/{name}")


PAIRS = {path: (kind, shape) for path, kind, shape in pairs(Recipe, FitRequest)}
ALL = [
    *(
        (path, name, option, shape)
        for path, (kind, shape) in PAIRS.items()
        for name, option in options_of(kind).items()
    ),
    *(
        (f"/normalize/{kind}", name, option, wire.NormalizeChoice)
        for kind, options in NORMALIZATIONS.items()
        for name, option in options_of(options).items()
    ),
]


def test_every_set_of_options_is_compared() -> None:
    assert {"", "/early_stopping", "/clip/adaptive", "/freeze", "/average", "/validation"} <= PAIRS.keys()
    assert PAIRS["/average"] == (Averaging, wire.AverageChoice)


@pytest.mark.parametrize("path", PAIRS)
def test_a_shape_has_the_fields_of_its_options_and_no_others(path: str) -> None:
    kind, shape = PAIRS[path]
    service = NOT_RECIPE if shape is FitRequest else frozenset()
    of_columns = {"images"} if shape is FitRequest else set()  # taken from the dataset
    assert shape.model_fields.keys() - service == options_of(kind).keys() - of_columns


def test_normalisations_have_the_fields_of_their_kinds() -> None:
    known = {"kind"}.union(*(options_of(options) for options in NORMALIZATIONS.values()))
    assert wire.NormalizeChoice.model_fields.keys() == known
    assert get_args(wire.NormalizeChoice.model_fields["kind"].annotation) == tuple(KINDS)


@pytest.mark.parametrize(("path", "name", "option", "shape"), ALL, ids=[f"{path}/{name}" for path, name, *_ in ALL])
def test_a_description_shows_the_default(path: str, name: str, option: Option, shape: type[BaseModel]) -> None:
    default = option.field.default
    if default is MISSING or default is None or default == ():
        return
    assert f"efault {json.dumps(default)}" in (shape.model_fields[name].description or ""), f"{path}/{name}"


@pytest.fixture(scope="module")
def rows(http: httpx.Client) -> str:
    return str(http.post("/v1/datasets", json=ROWS).json()["id"])


@pytest.fixture(scope="module")
def classes(http: httpx.Client) -> str:
    return str(http.post("/v1/graphs", json=CLASSES).json()["id"])


ACCEPTED: dict[str, dict[str, Any]] = {
    "all of the run": {
        "micro_batch_size": 4,
        "shuffle": {"kind": "shards", "size": 4},
        "normalize": {"x": {"kind": "minmax", "low": -1.0}},
        "class_weights": [1.0, 2.0, 0.5],
        "clip": {"norm": 1.0, "p": "inf", "adaptive": {"clipping": 0.1}, "value": 1},
        "noise": {"eta": 0.01},
        "recompute": {"segments": 2},
        "average": {"kind": "ema", "decay": 0.9, "warm_up": True},
        "freeze": [{"match": "linear_0.*", "last_epoch": 1}, {"match": ["*.bias"], "first_epoch": 2}],
        "metrics": ["accuracy", {"kind": "auc"}, {"kind": "accuracy", "name": "right"}],
        "validation": {"split": 0.25, "stratify": "label", "every_steps": 2},
        "early_stopping": {"monitor": "val_accuracy", "patience": 3},
        "divergence": {"action": "roll_back", "factor": 0.25},
        "budget": {"steps": 100, "seconds": 1000},
        "record": {"epochs": True, "every_steps": 2},
        "optimizer": {
            "kind": "adamw",
            "weight_decay": 0.1,
            "groups": [{"match": "*.bias", "weight_decay": 0.0}, {"ndim": [2, 4], "kind": "sgd", "lr": 0.1}],
        },
        "prefetch": 1,
    },
    "half the precision": {"precision": "mixed_float16", "loss_scaling": {"initial": 256, "growth_interval": 2}},
    "the other half": {"precision": "mixed_bfloat16"},
    "drawn rows": {"sampling": {"weights": "balanced", "of": "label"}, "class_weights": "balanced", "average": "swa"},
    "weighted rows": {"sampling": {"weights": "weight", "replacement": False, "examples": 16}, "shuffle": False},
    "a closure": {"optimizer": {"kind": "lbfgs", "line_search": "strong_wolfe"}},
    "a chain": {
        "optimizer": {"kind": "chain", "transforms": [{"kind": "scale_by_adam"}, {"kind": "scale_by_trust_ratio"}]}
    },
    "replicas": {"resources": {"replicas": 2, "priority": "high", "placement": "spread"}},
    "little memory": {"memory_budget": 10**9, "activations": "float16"},
    "a preset": {"preset": "ggml_opt_fit"},
    "groups apart": {"validation": {"split": 0.25, "group": "part"}, "shuffle": {"kind": "window", "size": 3}},
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_fit_runs_with(http: httpx.Client, rows: str, classes: str, name: str) -> None:
    request = {"graph": classes, "dataset": rows, "epochs": 2, "batch_size": 8, **ACCEPTED[name]}
    response = http.post("/v1/fits", json=request)
    assert response.status_code == 202, response.text
    assert response.json()["request"] == request
    fit = http.get(response.headers["location"], params={"wait": LONGEST_WAIT}).json()
    assert fit["state"] == "succeeded", fit["error"]


def test_nulls_mean_the_default_where_they_mean_nothing_else(http: httpx.Client, rows: str, classes: str) -> None:
    given = {"graph", "dataset", "epochs"}
    options: dict[str, Any] = {name: None for name in FitRequest.model_fields if name not in given}
    inner: dict[str, Any] = {
        "early_stopping": {"patience": None},
        "shuffle": {"kind": None},
        "normalize": {"x": {"kind": "robust", "lower": None}},
        "metrics": [{"kind": "accuracy", "name": None}],
        "clip": {"p": None, "nonfinite": None},
        "checkpoint": {"keep_last": None},
        "validation": {"split": None, "dataset": None},
        "resources": {"replicas": None},
    }
    for changes in ({}, inner):
        request = {"graph": classes, "dataset": rows, "epochs": 1, **options, **changes}
        response = http.post("/v1/fits", json=request)
        assert response.status_code == 202, response.text
        assert http.get(response.headers["location"], params={"wait": LONGEST_WAIT}).json()["state"] == "succeeded"


@pytest.mark.parametrize(("every_epochs", "steps"), [({"every_epochs": 1}, [12, 8, 4]), ({"every_epochs": None}, [12])])
def test_null_turns_checkpoints_by_epoch_off(
    http: httpx.Client, rows: str, classes: str, every_epochs: dict[str, Any], steps: list[int]
) -> None:
    policy = {"keep_best": False, "keep_last": 5, **every_epochs}
    request = {"graph": classes, "dataset": rows, "epochs": 3, "batch_size": 8, "checkpoint": policy}
    fit = http.post("/v1/fits", json=request).json()
    assert http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()["state"] == "succeeded"
    kept = http.get(f"/v1/fits/{fit['id']}/checkpoints").json()["data"]
    assert [checkpoint["step"] for checkpoint in kept] == steps


def test_a_fit_that_ends_early_says_why(http: httpx.Client, rows: str, classes: str) -> None:
    stopping = {"monitor": "loss", "patience": 1, "min_delta": 1e9}
    request = {"graph": classes, "dataset": rows, "epochs": 50, "early_stopping": stopping}
    begun = http.post("/v1/fits", json=request).json()
    assert begun["stop_reason"] is None
    fit = http.get(f"/v1/fits/{begun['id']}", params={"wait": LONGEST_WAIT}).json()
    assert (fit["state"], fit["progress"]) == ("succeeded", 1.0)
    assert fit["step"] < fit["total_steps"]
    assert "loss" in fit["stop_reason"]


# What is changed in a good request, where the fault is found, and what its detail says.
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"micro_batch_size": 0}, "/micro_batch_size", "at least 1"),
    ({"micro_batch_size": 9}, "/micro_batch_size", "at most batch_size, 8"),
    ({"batch_size": 2**31 + 1}, "/batch_size", "at most"),
    ({"epochs": 1_000_001}, "/epochs", "at most 1000000"),
    ({"seed": -1}, "/seed", "at least 0"),
    ({"prefetch": 65}, "/prefetch", "at most 64"),
    ({"shuffle": "yes"}, "/shuffle", "true, false or an object"),
    ({"shuffle": {"kind": "window"}}, "/shuffle/size", "needs a 'size'"),
    ({"shuffle": {"kind": "shards", "size": 0}}, "/shuffle/size", "at least 1"),
    ({"shuffle": {"kind": "row"}}, "/shuffle/kind", "'rows'"),
    ({"sampling": {"weights": "balanced"}}, "/sampling/of", "need 'of'"),
    ({"sampling": {"weights": "wait"}}, "/sampling", "'weight'"),
    ({"sampling": {}}, "/sampling", "'weights' is required"),
    ({"windows": {"stride": 0}}, "/windows/stride", "at least 1"),
    ({"windows": {"spans": {"x": [3, 1]}}}, "/windows/spans/x", "start < end"),
    ({"windows": {"spans": {"x": 2**31}}}, "/windows/spans/x", "2147483648"),
    ({"windows": {"spans": {"x": 100}}}, "/windows/spans", "there are 32"),
    ({"normalize": {"x": "standart"}}, "/normalize/x/kind", "'standard'"),
    ({"normalize": {"x": {"kind": "minmax", "low": 1, "high": 0}}}, "/normalize/x/high", "greater than low"),
    ({"normalize": {"z": "standard"}}, "/normalize/z", "no input"),
    ({"class_weights": "even"}, "/class_weights", '"balanced"'),
    ({"class_weights": [1, -1, 1]}, "/class_weights", "at least 0"),
    ({"class_weights": [1, 2]}, "/class_weights", "3 numbers"),
    ({"precision": "half"}, "/precision", "'mixed_float16'"),
    ({"loss_scaling": {"backoff_factor": 1}}, "/loss_scaling/backoff_factor", "less than 1"),
    ({"clip": {"norm": 0}}, "/clip/norm", "greater than 0"),
    ({"clip": {"p": "two"}}, "/clip/p", "inf"),
    ({"clip": {"adaptive": {"units": "all"}}}, "/clip/adaptive/units", "'last' or 'first'"),
    ({"noise": {"eta": -1}}, "/noise/eta", "greater than 0"),
    ({"recompute": {"segments": 1}}, "/recompute/segments", "at least 2"),
    ({"recompute": {}}, "/recompute", "exactly one"),
    ({"memory_budget": 64}, "/memory_budget", "needs at least"),
    ({"memory_budget": -1}, "/memory_budget", "at least 1"),
    ({"memory_budget": 10**9, "recompute": {"segments": 2}}, "/memory_budget", "not both"),
    ({"activations": "float16", "precision": "float64"}, "/activations", "float32"),
    ({"activations": "half"}, "/activations", "'float16'"),
    ({"recompute": {"match": ["nothing"]}}, "/recompute/match/0", "no node"),
    ({"average": "mean"}, "/average/kind", "'swa'"),
    ({"average": {"decay": 1.5}}, "/average/decay", "at most 1"),
    ({"freeze": [{"match": "w*"}]}, "/freeze/0/match", "no parameter"),
    ({"freeze": [{"match": "*", "first_epoch": 2, "last_epoch": 1}]}, "/freeze/0/last_epoch", "at least first_epoch"),
    ({"freeze": [{}]}, "/freeze/0", "'match' is required"),
    ({"metrics": [{"kind": "top_k_accuracy", "k": 0}]}, "/metrics/0/k", "at least 1"),
    ({"metrics": ["accuracy", "accuracy"]}, "/metrics/1", "another metric"),
    ({"validation": {"split": 0.5, "order": "first"}}, "/validation/order", "'random' or 'last'"),
    ({"validation": {"split": 0.5, "stratify": "labels"}}, "/validation/stratify", "'label'"),
    ({"early_stopping": {"patience": -1}}, "/early_stopping/patience", "at least 0"),
    ({"early_stopping": {"monitor": "val_loss"}}, "/early_stopping/monitor", "'loss'"),
    ({"divergence": {"factor": 1}}, "/divergence/factor", "less than 1"),
    ({"divergence": {"action": "skip"}, "clip": {"nonfinite": "error"}}, "/clip/nonfinite", "only one of them"),
    ({"budget": {"seconds": 0}}, "/budget/seconds", "greater than 0"),
    ({"checkpoint": {"every_epochs": 0}}, "/checkpoint/every_epochs", "at least 1"),
    ({"record": {"every_steps": 0}}, "/record/every_steps", "at least 1"),
    ({"optimizer": {"kind": "sgd", "groups": [{"lr": 1}]}}, "/optimizer/groups/0", "'match' or 'ndim'"),
    ({"optimizer": {"kind": "sgd", "groups": [{"match": 3}]}}, "/optimizer/groups/0/match", "a pattern"),
    ({"optimizer": {"kind": "sgd", "groups": [{"match": "*", "kind": "adm"}]}}, "/optimizer/groups/0", "'adam'"),
    ({"optimizer": {"kind": "chain", "transforms": [{"kind": "scale"}]}}, "/optimizer/transforms/0", "required"),
    ({"optimizer": {"kind": "sgd", "lr": -1}}, "/optimizer/lr", "at least 0"),
    ({"optimizer": {"kind": "lbfgs"}, "clip": {"norm": 1}}, "/clip", "lbfgs"),
    ({"resources": {"replicas": 17}}, "/resources/replicas", "16"),
    ({"resources": {"replicas": 0}}, "/resources/replicas", "1"),
    ({"resources": {"placement": "everywhere"}}, "/resources/placement", "'spread'"),
    ({"resources": {"replicas": 16}}, "/resources/replicas", "batches of 8 rows"),
    ({"preset": "ggml"}, "/preset", "'ggml_opt_fit'"),
    ({"earlystopping": {}}, "/earlystopping", "'early_stopping'"),
    ({"early_stopping": {"patiance": 1}}, "/early_stopping/patiance", "'patience'"),
    ({"dataset": []}, "/dataset", "1 to 256 ids"),
    ({"dataset": [3]}, "/dataset", "an id"),
]

MANY: dict[str, Any] = dict.fromkeys(map(str, range(90_000)), 1)
# Requests that are made to be dear, and where they are refused.
HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "groups": ({"optimizer": {"kind": "sgd", "groups": [{"match": "*"}] * 90_000}}, "/optimizer"),
    "patterns": ({"optimizer": {"kind": "sgd", "groups": [{"match": ["*a" * 128] * 64}] * 64}}, "/optimizer/groups/0"),
    "a long pattern": ({"freeze": [{"match": "*" * 1_000}]}, "/freeze/0/match"),
    "a pattern without end": ({"freeze": [{"match": "*" * 1_000_000}]}, "/freeze"),
    "a pattern to go back in": ({"freeze": [{"match": "*a" * 128}]}, "/freeze/0/match"),
    "frozen": ({"freeze": [{"match": "*"}] * 65}, "/freeze"),
    "metrics": ({"metrics": ["accuracy"] * 100_000}, "/metrics"),
    "names of metrics": ({"metrics": [{"kind": "accuracy", "name": "n" * 100_000}] * 30}, "/metrics"),
    "transforms": ({"optimizer": {"kind": "chain", "transforms": [0] * 1_000_000}}, "/optimizer"),
    "some transforms": ({"optimizer": {"kind": "chain", "transforms": [{"kind": "scale", "factor": 1}] * 999}},
        "/optimizer/transforms"),
    "schedules": ({"schedule": {"kind": "chained", "schedules": ["constant"] * 200_000}}, "/schedule"),
    "milestones": ({"schedule": {"kind": "multi_step", "milestones": [*range(1, 200_000)]}}, "/schedule"),
    "spans": ({"windows": {"spans": MANY}}, "/windows"),
    "a wide window": ({"windows": {"spans": {"x": [0, 2**31]}}}, "/dataset"),
    "weights": ({"class_weights": [1.0] * 300_000}, "/class_weights"),
    "inputs": ({"normalize": dict.fromkeys(MANY, "standard")}, "/normalize"),
    "unknown fields": (MANY, ""),
    "unknown options": ({"clip": MANY}, "/clip"),
    "datasets": ({"dataset": ["ds_1"] * 100_000}, "/dataset"),
    "steps of an optimizer": ({"optimizer": {"kind": "lbfgs", "history_size": 10**9}}, "/optimizer/history_size"),
}  # fmt: skip


@pytest.fixture
def request_(rows: str, classes: str) -> dict[str, Any]:
    return {"graph": classes, "dataset": rows, "epochs": 1, "batch_size": 8}


@pytest.mark.parametrize(("changes", "pointer", "says"), WRONG, ids=[json.dumps(changes) for changes, *_ in WRONG])
def test_a_wrong_option_is_refused_with_what_it_takes(
    http: httpx.Client, request_: dict[str, Any], changes: dict[str, Any], pointer: str, says: str
) -> None:
    response = http.post("/v1/fits", json={**request_, **changes})
    assert response.status_code == 422, response.text
    found = {error["pointer"]: error["detail"] for error in response.json()["errors"]}
    assert says in found.get(pointer, ""), found


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_is_refused_in_few_words(http: httpx.Client, request_: dict[str, Any], name: str) -> None:
    changes, pointer = HOSTILE[name]
    response = http.post("/v1/fits", json={**request_, **changes})
    assert response.status_code == 422, response.text[:1000]
    assert pointer in [error["pointer"] for error in response.json()["errors"]], response.text[:1000]
    assert len(response.content) < 32_768


@pytest.mark.parametrize("depth", [9, 60])
def test_schedules_within_schedules_are_refused(http: httpx.Client, request_: dict[str, Any], depth: int) -> None:
    schedule: dict[str, Any] = {"kind": "constant"}
    for _ in range(depth):
        schedule = {"kind": "warm_up", "total_iters": 1, "schedule": schedule}
    response = http.post("/v1/fits", json={**request_, "schedule": schedule})
    assert response.status_code == 422
    assert "deep" in response.json()["detail"]


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity"])
def test_no_number_is_no_option(http: httpx.Client, request_: dict[str, Any], number: str) -> None:
    body = json.dumps({**request_, "clip": {"norm": 0}}).replace('"norm": 0', f'"norm": {number}')
    response = http.post("/v1/fits", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
