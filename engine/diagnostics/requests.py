"""Requests for values and derivatives of a graph: references by name, and one object for each derivative."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.core.dtypes import is_float
from engine.core.errors import escape, nearest
from engine.core.options import Reader, type_name
from engine.core.value import Array, Value
from engine.diagnostics.transforms import default_targets, leaves_of
from engine.graph.tensors import read_tensor
from engine.graph.trace import Trace, check_loss, output_index


class References:
    """Looks names up in a graph traced at the extents of a request; faults go to `reader`."""

    def __init__(self, graph: Trace, reader: Reader) -> None:
        """Look up in `graph`."""
        self.graph = graph
        self.reader = reader
        self.leaves = leaves_of(graph)

    def value(self, name: Any, pointer: str) -> Value | None:
        """Return the value `name` of the graph: an output, a loss or a node; it must be floating."""
        name = self.reader.typed(name, str, pointer, "the name of a value")
        if name is None:
            return None
        graph = self.graph
        declared = (*graph.definition.outputs, *graph.definition.losses)
        node, colon, index = name.partition(":")
        made = graph.values.get(node, ())
        if name not in declared and (output_index(index) if colon else 0) not in range(len(made)):
            known = dict.fromkeys((*declared, *graph.values))
            self.reader.fault(pointer, "unknown_name", f"the graph computes no {name[:64]!r}{nearest(name, known)}")
            return None
        value = graph.value(name)
        return value if self._floating(value, f"{name!r}", pointer) else None

    def leaf(self, name: Any, pointer: str) -> Value | None:
        """Return the floating input or parameter `name`."""
        name = self.reader.typed(name, str, pointer, "the name of an input or parameter")
        if name is None:
            return None
        if name not in self.leaves:
            detail = f"the graph has no input or parameter called {name[:64]!r}{nearest(name, self.leaves)}"
            self.reader.fault(pointer, "unknown_name", detail)
            return None
        return self.leaves[name] if self._floating(self.leaves[name], f"{name!r}", pointer) else None

    def names(self, names: Any, pointer: str, look_up: Callable[[Any, str], Value | None]) -> tuple[str, ...]:
        """Read a list of different names, at least one."""
        found: list[str] = []
        listed = self.reader.sequence(names, pointer)
        for index, name in enumerate(listed):
            if look_up(name, f"{pointer}/{index}") is None:
                continue
            if name in found:
                self.reader.fault(f"{pointer}/{index}", "duplicate_name", f"{name!r} is named twice")
            found.append(name)
        if isinstance(names, list | tuple) and not listed:
            self.reader.fault(pointer, "missing_field", "at least one name is required")
        return tuple(found)

    def _floating(self, value: Value, what: str, pointer: str) -> bool:
        if not is_float(value.dtype):
            detail = f"{what} is {value.dtype.name}: only floating values have derivatives"
            self.reader.fault(pointer, "dtype_mismatch", detail)
        return is_float(value.dtype)


NAMES = ("outputs", "gradients")
ORDER = 6
"""Most differentiations, one of the other."""


@dataclass(frozen=True, slots=True)
class DerivativeRequest:
    """One derivative that is wanted.

    `of` are references of values (of a Hessian and its products those that are summed), `by` names of inputs and
    parameters; `vectors` are cotangents of values, or tangents or directions of leaves. `pointer` and `place` say where
    it stands in the request, `forward` in which mode a Jacobian is formed.
    """

    pointer: str
    place: int
    kind: str
    of: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    vectors: Mapping[str, Array] = field(default_factory=dict)
    forward: bool = False


def read_requests(wants: Any, graph: Trace, reader: Reader) -> tuple[list[str], list[DerivativeRequest]]:
    """Read the list `want` of a request: the names and the derivatives in it; faults go to the reader."""
    references = References(graph, reader)
    names, derivatives = [], []
    for place, want in enumerate(reader.sequence(wants, "/want")):
        pointer = f"/want/{place}"
        if isinstance(want, str) and want in NAMES:
            names.append(want)
        elif isinstance(want, str):
            reader.fault(pointer, "unknown_name", _not_a_name(want))
        elif isinstance(want, Mapping):
            derivatives += _derivative(references, want, pointer, place)
        else:
            detail = f"a want is {_join(NAMES)}, or an object, not {type_name(want)}"
            reader.fault(pointer, "type_mismatch", detail)
    if "gradients" in names and not graph.definition.losses:
        reader.fault("/want", "no_loss", "the graph has no loss to take gradients of")
    return names, derivatives


def _derivative(names: References, want: Mapping[str, Any], pointer: str, place: int) -> list[DerivativeRequest]:
    """Read one object; its kind is the field that names it."""
    kinds = [kind for kind in KINDS if kind in want]
    if len(kinds) != 1:
        detail = f"an object has exactly one of the fields {_join(KINDS, 'or')}"
        unknown = [name for name in want if name not in KINDS]
        hint = nearest(str(unknown[0]), KINDS) if unknown and not kinds else ""
        place_of_fault = f"{pointer}/{escape(unknown[0])}" if hint else pointer
        names.reader.fault(place_of_fault, "unknown_field" if hint else "missing_field", detail + hint)
        return []
    before = len(names.reader.findings)
    fields = KINDS[kinds[0]](names, want, pointer)
    return [DerivativeRequest(pointer, place, kinds[0], **fields)] if len(names.reader.findings) == before else []


def _loss(names: References, spec: Mapping[str, Any], pointer: str) -> tuple[str, ...]:
    """Read the scalar that the field "of" names; left out, it is the sum of all losses."""
    if "of" in spec:
        value = names.value(spec["of"], f"{pointer}/of")
        reason = None if value is None else check_loss(value)
        if reason:
            names.reader.fault(f"{pointer}/of", "shape_mismatch", reason)
        return (spec["of"],) if value is not None else ()
    losses = names.graph.definition.losses
    if not losses:
        names.reader.fault(pointer, "no_loss", "the graph has no loss; name a value of one element in 'of'")
    return losses


def _gradient(names: References, want: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    names.reader.fields(want, pointer, ("gradient_of", "cotangents", "by"))
    of = names.names(want["gradient_of"], f"{pointer}/gradient_of", names.value)
    values = {name: names.graph.value(name) for name in of}
    tensors = names.reader.mapping(want.get("cotangents", {}), f"{pointer}/cotangents")
    for name in tensors:
        if name not in values:
            detail = f"a cotangent is for a value in 'gradient_of'{nearest(str(name), values)}"
            names.reader.fault(f"{pointer}/cotangents/{escape(name)}", "unknown_name", detail)
    cotangents = _vectors(names, tensors, f"{pointer}/cotangents", values)
    for name, value in values.items():
        if name not in cotangents and value.size != 1:
            detail = f"{name!r} has shape {list(value.shape)}: it needs a cotangent of this shape in 'cotangents'"
            names.reader.fault(f"{pointer}/gradient_of/{of.index(name)}", "missing_field", detail)
    by = tuple(default_targets(names.graph))
    if "by" in want:
        by = names.names(want["by"], f"{pointer}/by", names.leaf)
    elif not by:
        names.reader.fault(pointer, "missing_field", "the graph has no trainable parameter; name inputs in 'by'")
    return {"of": of, "by": by, "vectors": cotangents}


def _jacobian(names: References, want: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    spec = _spec(names, want, pointer, "jacobian", ("of", "by", "mode"), ("of", "by"))
    pointer += "/jacobian"
    of = names.value(spec["of"], f"{pointer}/of") if "of" in spec else None
    by = names.leaf(spec["by"], f"{pointer}/by") if "by" in spec else None
    mode = spec.get("mode")
    if "mode" in spec and mode not in ("reverse", "forward"):
        names.reader.fault(f"{pointer}/mode", "attribute_invalid", "mode must be 'reverse' or 'forward'")
    if of is None or by is None:
        return {}
    forward = mode == "forward" if mode else by.size < of.size
    return {"of": (spec["of"],), "by": (spec["by"],), "forward": forward}


def _derivative_of_order(names: References, want: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    spec = _spec(names, want, pointer, "derivative", ("of", "by"), ("by",))
    pointer += "/derivative"
    by = names.reader.sequence(spec["by"], f"{pointer}/by") if "by" in spec else ()
    for place, name in enumerate(by):
        names.leaf(name, f"{pointer}/by/{place}")
    if "by" in spec and isinstance(spec["by"], list | tuple) and not 1 <= len(by) <= ORDER:
        detail = f"name 1 to {ORDER} inputs or parameters, one for each differentiation, not {len(by)}"
        names.reader.fault(f"{pointer}/by", "out_of_range", detail)
    if "of" not in spec:
        return {"of": _loss(names, spec, pointer), "by": tuple(by)}
    return {"of": (spec["of"],) if names.value(spec["of"], f"{pointer}/of") is not None else (), "by": tuple(by)}


def _hessian(names: References, want: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    spec = _spec(names, want, pointer, "hessian", ("of", "by"), ("by",))
    of = _loss(names, spec, f"{pointer}/hessian")
    if "by" in spec:
        names.leaf(spec["by"], f"{pointer}/hessian/by")
    return {"of": of, "by": (spec.get("by"),)}


def _product(names: References, want: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    kind = "hvp" if "hvp" in want else "vhp"
    spec = _spec(names, want, pointer, kind, ("of", "by"), ("by",))
    of = _loss(names, spec, f"{pointer}/{kind}")
    vectors = _directions(names, spec, f"{pointer}/{kind}", "by")
    return {"of": of, "by": tuple(vectors), "vectors": vectors}


def _jvp(names: References, want: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    spec = _spec(names, want, pointer, "jvp", ("of", "tangents"), ("tangents",))
    definition = names.graph.definition
    declared = dict.fromkeys((*definition.outputs, *definition.losses))
    of = tuple(name for name in declared if is_float(names.graph.value(name).dtype))
    if "of" in spec:
        of = names.names(spec["of"], f"{pointer}/jvp/of", names.value)
    elif not of:
        names.reader.fault(f"{pointer}/jvp", "missing_field", "the graph has no floating output; name values in 'of'")
    tangents = _directions(names, spec, f"{pointer}/jvp", "tangents")
    return {"of": of, "by": tuple(tangents), "vectors": tangents}


def _spec(
    names: References, want: Mapping[str, Any], pointer: str, kind: str, known: Sequence[str], required: Sequence[str]
) -> Mapping[str, Any]:
    names.reader.fields(want, pointer, (kind,))
    spec = names.reader.mapping(want[kind], f"{pointer}/{kind}")
    names.reader.fields(spec, f"{pointer}/{kind}", known, required if isinstance(want[kind], Mapping) else ())
    return spec


def _directions(names: References, spec: Mapping[str, Any], pointer: str, name: str) -> dict[str, Array]:
    """Read an object of at least one input or parameter, each with a tensor of its shape."""
    if name not in spec:
        return {}
    pointer = f"{pointer}/{name}"
    tensors = names.reader.mapping(spec[name], pointer)
    if isinstance(spec[name], Mapping) and not tensors:
        names.reader.fault(pointer, "missing_field", "at least one input or parameter is required")
    leaves = {key: names.leaf(key, f"{pointer}/{escape(key)}") for key in tensors}
    return _vectors(names, tensors, pointer, {key: value for key, value in leaves.items() if value is not None})


def _vectors(
    names: References, tensors: Mapping[str, Any], pointer: str, values: Mapping[str, Value]
) -> dict[str, Array]:
    """Read those tensors that have a name among `values`; each has the shape of its value."""
    vectors = {}
    for name, value in values.items():
        if name not in tensors:
            continue
        place, before = f"{pointer}/{escape(name)}", len(names.reader.findings)
        array = read_tensor(tensors[name], place, names.reader, value.dtype, nonfinite=True)
        if array.shape != value.shape and len(names.reader.findings) == before:
            detail = f"{name!r} has shape {list(value.shape)}, this tensor {list(array.shape)}: they must be equal"
            names.reader.fault(place, "shape_mismatch", detail)
        vectors[name] = array
    return vectors


KINDS: Mapping[str, Callable[[References, Mapping[str, Any], str], dict[str, Any]]] = {
    "gradient_of": _gradient,
    "jacobian": _jacobian,
    "hessian": _hessian,
    "derivative": _derivative_of_order,
    "hvp": _product,
    "vhp": _product,
    "jvp": _jvp,
}
"""The kinds of derivatives, and how each is read."""


def _not_a_name(want: str) -> str:
    if want in KINDS:
        return f"{want!r} is wanted as an object: {{{want!r}: ...}}"
    return f"'want' takes {_join(NAMES)}, and objects with {_join(KINDS, 'or')}{nearest(want, (*NAMES, *KINDS))}"


def _join(names: Any, word: str = "and") -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}"
