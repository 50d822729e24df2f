"""Pages of layers, losses, optimizers, schedules, metrics and initializers, from the engine's catalogues.

Every example is checked by the engine while the page is written; an entry whose required attributes have no example
value below is an error, so a new entry is either documented with a working example or noticed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any

import engine
from tools.docs.markdown import code, compact, page, prose, table

Entry = Mapping[str, Any]

VALUES: Mapping[str, Any] = MappingProxyType(
    {
        "units": 8, "heads": 2, "channels": 8, "kernel": 3, "groups": 2, "size": 3, "output_size": 2, "rows": 20,
        "axis": -1, "sizes": [2, 4], "shape": [-1], "axes": [0, 2, 1], "factor": 2, "padding": 1, "value": 0.5,
        "threshold": 0.1, "memory": "memory", "target": "memory", "layers": 2, "sparsity": 0.5, "zero_row": 0,
        "step_size": 10, "t_max": 20, "gamma": 0.95, "t_0": 10, "total_steps": 100, "max_lr": 0.1, "milestones": [5],
        "degrees": 15, "longest": 2,
    }
)  # fmt: skip
"""Example values of required attributes, by name."""

CHAIN = [{"kind": "scale_by_adam"}, {"kind": "scale", "step_size": -0.001}]
SPECIAL: Mapping[tuple[str, str], Any] = MappingProxyType(
    {
        ("sequential", "layers"): [{"layer": "linear", "units": 8}, {"layer": "relu"}],
        ("parallel", "layers"): [{"layer": "linear", "units": 8}, {"layer": "relu"}],
        ("residual", "layers"): [{"layer": "layer_norm"}, {"layer": "linear", "units": 8}],
        ("random_crop", "size"): 8,
        ("multiplicative", "factor"): 0.95,
        ("reshape", "shape"): [4, 2],
        ("sequential", "schedules"): [{"kind": "linear"}, {"kind": "cosine", "t_max": 20}],
        ("chained", "schedules"): [{"kind": "linear"}, {"kind": "cosine", "t_max": 20}],
        ("warm_up", "schedule"): {"kind": "cosine", "t_max": 20},
    }
)
"""The same, where one value does not fit all kinds."""

OPTIONAL: Mapping[tuple[str, str], Any] = MappingProxyType(
    {
        ("squeeze", "axis"): 1,
        ("upsample", "scale"): 2,
        ("random_crop", "padding"): 1,
        ("random_affine", "translate"): [0.1, 0.1],
        ("mixup", "classes"): 10,
        ("chain", "transforms"): CHAIN,
    }
)
"""Options that an example cannot do without, though each may be left out."""

INPUTS: Sequence[tuple[list[Any], str]] = (
    (["batch", 8], "float32"),
    (["batch", 6, 8], "float32"),
    (["batch", 1, 8], "float32"),
    (["batch", 4, 8, 8], "float32"),
    (["batch", 4, 6, 6, 6], "float32"),
    (["batch", 6], "int64"),
)
"""Inputs that a layer is tried with, in this order."""

OPERANDS: Sequence[tuple[list[Any], str]] = (
    (["batch", 8], "float32"),
    (["batch"], "int64"),
    (["batch"], "float32"),
    (["batch", 8], "int64"),
)
"""Inputs that each operand of a loss is tried with."""

PARAMETERS_SHOWN = 6
MEMORY = {"shape": ["batch", 5, 8], "dtype": "float32"}


def catalogue_pages() -> dict[str, str]:
    """Return the text of each page by its path."""
    return {
        "layers.md": _page("Layers", ABOUT_LAYERS, engine.layer_catalogue(), layer_example),
        "losses.md": _page("Losses", ABOUT_LOSSES, engine.loss_catalogue(), loss_example),
        "optimizers.md": _page("Optimizers", ABOUT_OPTIMIZERS, engine.optimizer_catalogue(), optimizer_example),
        "schedules.md": _page("Schedules", ABOUT_SCHEDULES, engine.schedule_catalogue(), schedule_example),
        "metrics.md": _page("Metrics", ABOUT_METRICS, engine.metric_catalogue(), metric_example),
        "initializers.md": _page("Initializers", ABOUT_INITS, engine.initializer_catalogue(), initializer_example),
    }  # fmt: skip


ABOUT_LAYERS = """The `layers` of a graph: the first input flows through them. Each entry shows a layer, the
shape it takes and returns, and its parameters by name. Every layer also takes `name`, which prefixes its
parameters."""
ABOUT_LOSSES = """The `loss` of a graph made of layers: `{"kind": ..., "target": ...}`. `target` names an input;
it may be omitted if there is exactly one other input. The same losses are ops in programs and nodes."""
ABOUT_OPTIMIZERS = """The `optimizer` of a fit or session: a name, or an object with options. `groups` gives
parameters, chosen by patterns of their names (`match`) or their number of axes (`ndim`), a kind or options of
their own, or freezes them (`frozen`)."""
ABOUT_SCHEDULES = """The `schedule` of a fit changes the learning rate, per epoch or with `"per": "step"` per
step."""
ABOUT_METRICS = """The `metrics` of a fit, computed over all rows of a split: names, or objects with options."""
ABOUT_INITS = """The `init` of a parameter, or the initializer of a layer's weights."""


def _page(title: str, about: str, entries: Iterable[Entry], example: Callable[[Entry], str]) -> str:
    blocks = [about]
    for entry in sorted(entries, key=lambda entry: str(entry["kind"])):
        names = [f"`{name}`" for name in entry.get("aliases", ())]
        also = f"Also called {', '.join(names)}." if names else ""
        blocks += [f"## {entry['kind']}", prose(entry["doc"]), also, *facts(entry), options(entry["attrs"])]
        blocks += [example(entry)]
    return page(title, *blocks)


def facts(entry: Entry) -> Iterator[str]:
    """Yield what a loss or metric says about predictions and operands."""
    predictions = entry.get("predictions")
    if isinstance(predictions, Mapping):
        yield table(("form", "predictions"), [(f"`{form}`", text) for form, text in predictions.items()])
    elif predictions:
        yield f"Predictions: {prose(str(predictions))}."
    if entry.get("operands"):
        rows = [
            (f"`{each['name']}`", "yes" if each["required"] else "no", each["takes"], each["shape"])
            for each in entry["operands"]
        ]
        yield table(("operand", "required", "takes", "shape"), rows)


def options(attributes: Sequence[Entry]) -> str:
    """Return the table of attributes; nothing if there are none."""
    if not attributes:
        return ""
    rows = [
        (f"`{each['name']}`", each["type"], _default(each), each.get("range", ""))
        for each in attributes
    ]  # fmt: skip
    return table(("option", "type", "default", "range"), rows)


def _default(attribute: Entry) -> str:
    return "required" if attribute["required"] else f"`{attribute['default']!r}`"


def required(entry: Entry) -> dict[str, Any]:
    """Return example values of an entry's required attributes."""
    found = {name: value for (kind, name), value in OPTIONAL.items() if kind == entry["kind"]}
    for attribute in entry["attrs"]:
        if attribute["required"]:
            name = attribute["name"]
            key = (entry["kind"], name)
            if key not in SPECIAL and name not in VALUES:
                raise ValueError(f"give {entry['kind']}.{name} an example value in tools/docs/catalogue.py")
            found[name] = SPECIAL.get(key, VALUES.get(name))
    return found


def layer_example(entry: Entry) -> str:
    """Return a layer, its shapes and its parameters."""
    layer = {"layer": entry["kind"], **required(entry)}
    for shape, dtype in INPUTS:
        document: dict[str, Any] = {"inputs": {"x": {"shape": shape, "dtype": dtype}}, "layers": [layer]}
        if "memory" in layer.values():
            document["inputs"]["memory"] = MEMORY
        try:
            definition = engine.parse_graph(document)
            report = engine.graph_report(definition)
        except engine.EngineError:
            continue
        return _layer(layer, shape, dtype, definition, report)
    raise ValueError(f"no input in tools/docs/catalogue.py fits the layer {entry['kind']}")


def _layer(layer: Entry, shape: Sequence[Any], dtype: str, definition: Any, report: Any) -> str:
    shapes, name = report["shapes"], definition.outputs[0]
    result = shapes.get(name) or shapes[f"{name}:0"]
    given, result = (
        f"`{each}{list(axes)}`".replace("'", "") for each, axes in ((dtype, shape), (result["dtype"], result["shape"]))
    )
    parameters = {name: list(each.shape) for name, each in definition.parameters.items()}
    names = "; ".join(f"`{name}` {shape}" for name, shape in [*parameters.items()][:PARAMETERS_SHOWN])
    if len(parameters) > PARAMETERS_SHOWN:
        names += f"; and {len(parameters) - PARAMETERS_SHOWN} more"
    line = f"{given} to {result}" + (f"; parameters {names}" if names else "")
    return f"{code(compact(layer))}\n\n{line}."


def loss_example(entry: Entry) -> str:
    """Return the loss of a graph that the engine accepts, with inputs for its operands."""
    operands = {each["name"]: each["name"] for each in entry["operands"] if each["required"]}
    loss = {"kind": entry["kind"], **operands, **required(entry)}
    for of_x, *of_operands in product(INPUTS[:2], *[OPERANDS] * len(operands)):
        inputs = dict(zip(["x", *operands], [of_x, *of_operands], strict=True))
        document = {
            "inputs": {name: {"shape": shape, "dtype": dtype} for name, (shape, dtype) in inputs.items()},
            "layers": [{"layer": "linear", "units": 8}],
            "loss": loss,
        }
        try:
            engine.parse_graph(document)
        except engine.EngineError:
            continue
        return code(compact({"loss": loss}))
    raise ValueError(f"no inputs in tools/docs/catalogue.py fit the loss {entry['kind']}")


def optimizer_example(entry: Entry) -> str:
    """Return an optimizer that a recipe accepts."""
    options = required(entry)
    if any(each["name"] == "lr" for each in entry["attrs"]):
        options.setdefault("lr", 0.01)
    return _accepted({"optimizer": {"kind": entry["kind"], **options}})


def schedule_example(entry: Entry) -> str:
    """Return a schedule that a recipe accepts."""
    return _accepted({"schedule": {"kind": entry["kind"], **required(entry)}})


def metric_example(entry: Entry) -> str:
    """Return a metric that a recipe accepts."""
    return _accepted({"metrics": [{"kind": entry["kind"], **required(entry)}]})


def initializer_example(entry: Entry) -> str:
    """Return a parameter with this initializer."""
    parameter = {"shape": [8, 8], "init": {"kind": entry["kind"], **required(entry)}}
    if entry["kind"] == "dirac":
        parameter["shape"] = [8, 8, 3]
    engine.parse_graph({"inputs": {"x": ["n"]}, "parameters": {"w": parameter}, "program": "loss = sum(x) * sum(w)"})
    return code(compact({"w": parameter}))


def _accepted(fields: dict[str, Any]) -> str:
    engine.read_recipe({"epochs": 1, "optimizer": "sgd", **fields})
    return code(compact(fields))
