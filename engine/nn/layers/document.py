"""Reads the document of one layer: its kind, its name and its options, with every fault at its JSON pointer."""

from __future__ import annotations

from typing import Any

from engine.core.attributes import attributes_of, bind
from engine.core.documents import NAME, NAME_RULE, Reader
from engine.core.errors import EngineError
from engine.nn.layers import find_layer
from engine.nn.layers.nesting import Layers

DEEPEST = 8
"""How many layers within one another are read."""


def read_layer(entry: Any, pointer: str, reader: Reader, depth: int = 0) -> tuple[str, str, dict[str, Any]]:
    """Return kind, name ("" when it has none) and checked attributes of a layer; faults go to the reader."""
    if depth > DEEPEST:
        reader.fault(pointer, "limit_exceeded", f"layers within layers go {DEEPEST} deep at most")
        return "", "", {}
    entry = {"layer": entry} if isinstance(entry, str) else reader.mapping(entry, pointer)
    kind = reader.typed(entry.get("layer"), str, f"{pointer}/layer", "layer", "")
    name = reader.typed(entry.get("name", ""), str, f"{pointer}/name", "name", "")
    if name and not NAME.match(f"_.{name}" if depth else name):  # names within follow that of the layer around them
        reader.fault(f"{pointer}/name", "name_invalid", NAME_RULE)
    attrs: dict[str, Any] = {}
    nested: list[str] = []
    if kind:
        try:
            attributes = {a.name: a for a in attributes_of(find_layer(kind))}
            given = {key: value for key, value in entry.items() if key not in ("layer", "name")}
            attrs = bind(kind, attributes, given)
            nested = [name for name, attribute in attributes.items() if attribute.type == Layers]
        except EngineError as error:
            reader.error(f"{pointer}/layer" if error.code == "unknown_name" else pointer, error)
    for within in nested:
        for index, inner in enumerate(attrs[within]):
            read_layer(inner, f"{pointer}/{within}/{index}", reader, depth + 1)
    return kind, name, attrs
