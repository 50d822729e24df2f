"""Sequential: layers applied one after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from engine.autograd.creation import Layout, check_layout, reverse_axes
from engine.core.dtypes import DEFAULTS, DType, check_device, dtype_of, master_dtype
from engine.core.errors import AttributeValueError, EngineError, UnknownName
from engine.core.modes import tracing, training_mode
from engine.core.options import Reader
from engine.core.value import Operand, Shape, Spec, Value, as_value
from engine.nn.layers.containers import read_layer
from engine.nn.modules.layer import TRIAL_ROWS, Layer, draw_seed, no_key
from engine.nn.modules.module import Module
from engine.nn.modules.scopes import round_through

Naming = Literal["torch", "ggmlR"]
NAMINGS = ("torch", "ggmlR")

SHORT = {"weight": "W", "bias": "b"}
NORM_SHORT = {"weight": "gamma", "bias": "beta"}


def ggmlr_name(number: int, kind: str, name: str) -> str:
    """Return what ggmlR calls `name` of layer `number` (from 1): layer1_W, layer2_gamma."""
    short = NORM_SHORT if kind.endswith("norm") else SHORT
    return f"layer{number}_{short.get(name, name.replace('.', '_'))}"


Item = str | Mapping[str, Any] | tuple[str, Mapping[str, Any]] | Module


class Sequential(Module):
    """Layers applied one after another, given as in the `layers` form of a graph, with its names and initial values.

    `Sequential({"layer": "linear", "units": 64, "activation": "relu"}, ("dropout", {"p": 0.3}), inputs=(4,))`
    """

    def __init__(
        self,
        *layers: Item | list[Item],
        inputs: Shape,
        input_dtype: object = None,
        seed: int | None = None,
        dtype: object = None,
        precision: object = None,
        layout: Layout = "row",
        naming: Naming = "torch",
        device: str | None = None,
    ) -> None:
        """Make the layers and their parameters.

        Args:
            layers: documents ({"layer": kind, options}), kinds, pairs (kind, options) or modules; or one list of them.
            inputs: shape of one example, without the axis of the batch, in row-major terms.
            input_dtype: of the input where it is not that of the parameters, as for an embedding.
            seed: where first values are drawn from; left out, from this thread's random keys (see `engine.seed`).
            dtype: of parameters and buffers; left out, this thread's default (float32 for the half-size ones).
            precision: a dtype that the forward pass rounds to, gradients and weights staying wide; left out, the
                thread's default where that is float16 or bfloat16.
            layout: "col" takes and gives [features, batch] (all axes reversed), "row" [batch, features].
            naming: "torch" calls parameters linear_0.weight, "ggmlR" layer1_W.
            device: "cpu" or None.

        Raises:
            DocumentError: a faulty layer, with the pointer to it.
        """
        super().__init__()
        check_device(device)
        check_layout(layout)
        if naming not in NAMINGS:
            raise AttributeValueError(f"naming {str(naming)[:64]!r} is not one of {', '.join(NAMINGS)}")
        self.layout = layout
        self.naming = naming
        self.precision = _precision(dtype, precision)
        chosen = master_dtype(DEFAULTS.dtype) if dtype is None else dtype_of(dtype)
        items = list(layers[0]) if len(layers) == 1 and isinstance(layers[0], list) else list(layers)
        spec = Spec((TRIAL_ROWS, *inputs), chosen if input_dtype is None else dtype_of(input_dtype))
        self._add_all(items, spec, draw_seed() if seed is None else seed, chosen)  # type: ignore[arg-type]

    def forward(self, x: Operand) -> Value:
        """Apply the layers to a batch."""
        value = as_value(x)
        if self.layout == "col":
            value = reverse_axes(value)
        value = round_through(value, self.precision)
        for part in self._table("_parts").values():
            value = part(value)
        return reverse_axes(value) if self.layout == "col" else value

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self._table("_parts"))

    def __getitem__(self, index: int) -> Module:
        """Return a layer by its place."""
        return list(self.parts.values())[index]

    def _add_all(self, items: list[Item], spec: Spec, seed: int, dtype: DType) -> None:
        reader = Reader()
        entries = [
            item if isinstance(item, Module) else read_layer(_document(item), f"/layers/{index}", reader)
            for index, item in enumerate(items)
        ]
        if not entries:
            reader.fault("/layers", "empty", "give at least one layer")
        reader.finish()
        counts: dict[str, int] = {}
        for index, entry in enumerate(entries):
            kind = type(entry).__name__.lower() if isinstance(entry, Module) else entry[0]
            name = f"{kind}_{counts.get(kind, 0)}"
            counts[kind] = counts.get(kind, 0) + 1
            try:
                if isinstance(entry, Module):
                    spec = self._add(name, entry, _trace_output(entry, spec))
                else:
                    name = entry[1] or name
                    layer = Layer(kind, spec, name=name, seed=seed, dtype=dtype, precision=self.precision, **entry[2])
                    spec = self._add(name, layer, layer.output)
            except EngineError as error:
                reader.error(f"/layers/{index}", error)
                break
        reader.finish()

    def _add(self, name: str, module: Module, output: Spec) -> Spec:
        if name in self.parts:
            raise UnknownName(f"the name {name!r} is already taken; give this layer another")
        self.register_module(name, module)
        return output

    def _part_path(self, part: str, name: str) -> str:
        if self.naming == "torch":
            return super()._part_path(part, name)
        parts = list(self._table("_parts"))
        module = self._table("_parts")[part]
        return ggmlr_name(parts.index(part) + 1, getattr(module, "kind", ""), name)


def _document(item: Any) -> Any:
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Mapping):
        return {"layer": item[0], **item[1]}
    return item


def _precision(dtype: object, precision: object) -> DType | None:
    if precision is not None:
        return dtype_of(precision)
    return DEFAULTS.dtype if dtype is None and master_dtype(DEFAULTS.dtype) != DEFAULTS.dtype else None


def _trace_output(module: Module, spec: Spec) -> Spec:
    """Return shape and dtype of what `module` gives, running nothing."""
    with tracing(no_key), training_mode(True):
        made = module(Value(spec.shape, spec.dtype, None))
    return made.spec  # type: ignore[no-any-return]
