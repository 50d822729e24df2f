"""Class encodings: the number that each text of an input has in a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from engine.core.errors import CheckpointError, DataError, DocumentError, Finding, escape, nearest
from engine.core.options import Reader
from engine.core.value import Array

CLASSES = "classes"
"""The entry of a checkpoint's meta that holds the class encodings of the model."""
NAME_LENGTH = 1024
MAX_CLASSES = 100_000
_SHOWN = 3
_FIELDS = ("names", "unknown")


@dataclass(frozen=True, slots=True)
class ClassEncoding:
    """The classes of one input of a model: a text becomes its index in `names`.

    A text that is not in `names` becomes the class `unknown`, which is one of them; if that is None it is an error.
    """

    names: tuple[str, ...]
    unknown: str | None = None

    def unknown_names(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the texts that are no class of the model, each once; none if `unknown` is set."""
        if self.unknown is not None:
            return ()
        known = set(self.names)
        return tuple(dict.fromkeys(text for text in texts if text not in known))

    def indices(self, texts: Sequence[str]) -> Array:
        """Return the number of each text, int64.

        Raises:
            DataError: a text is no class of the model; the message names it.
        """
        found = self.unknown_names(texts)
        if found:
            raise DataError(self.describe_unknown(found))
        numbers = {name: number for number, name in enumerate(self.names)}
        fallback = -1 if self.unknown is None else numbers[self.unknown]
        return np.array([numbers.get(text, fallback) for text in texts], np.int64)

    def table(self, names: Sequence[str]) -> Array | None:
        """Return the model's number of each of `names`, which number the texts of data; None if they are equal.

        Raises:
            DataError: a name is no class of the model.
        """
        numbers = self.indices(names)
        return None if np.array_equal(numbers, np.arange(len(names))) else numbers

    def describe_unknown(self, texts: Sequence[str]) -> str:
        """Return a sentence that lists unknown classes and those of the model."""
        hint = nearest(texts[0], self.names) if len(texts) == 1 else ""
        noun = "class" if len(texts) == 1 else "classes"
        return f"unknown {noun} {_listed(texts)}{hint or f'; the model knows {_listed(self.names)}'}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"names": list(self.names), "unknown": self.unknown}


def read_class_encodings(document: Any, pointer: str = "") -> Mapping[str, ClassEncoding]:
    """Read class encodings by input; a DocumentError holds every fault."""
    reader = Reader()
    read = read_classes(reader, document, pointer)
    reader.finish()
    return read


def read_classes(reader: Reader, value: Any, pointer: str) -> Mapping[str, ClassEncoding]:
    """Read, by input, a list of class names or an object with `names` and `unknown`; faults are reported."""
    read = {}
    for name, document in reader.mapping(value, pointer).items():
        encoding = _read_encoding(reader, document, f"{pointer}/{escape(name)}")
        if encoding is not None:
            read[name] = encoding
    return read


def meta_with_classes(meta: Mapping[str, Any], classes: Mapping[str, ClassEncoding]) -> dict[str, Any]:
    """Return a checkpoint's meta with the class encodings of its model, if there are any."""
    return {**meta, CLASSES: {name: each.to_json() for name, each in classes.items()}} if classes else dict(meta)


def classes_of_checkpoint(meta: Mapping[str, Any]) -> Mapping[str, ClassEncoding] | None:
    """Return the class encodings in a checkpoint's meta, by input; None for a checkpoint of an older version.

    Raises:
        CheckpointError: the entry is malformed.
    """
    if CLASSES not in meta:
        return None
    try:
        return read_class_encodings(meta[CLASSES], f"/{CLASSES}")
    except DocumentError as error:
        fault = error.findings[0]
        detail = f"the checkpoint's meta holds malformed classes at {fault.pointer}: {fault.detail}"
        raise CheckpointError(detail) from error


def encode_texts(
    classes: Mapping[str, ClassEncoding], inputs: Mapping[str, Any], pointer: str = "/inputs"
) -> dict[str, Any]:
    """Return the inputs of a call with texts replaced by class numbers, alone, in nested lists or in arrays.

    Numbers, and tensor objects whose data are numbers, are not changed.

    Raises:
        DocumentError: a text that is no class of the input, or an input without class names, with its pointer.
    """
    encoded, findings = {}, []
    for name, value in inputs.items():
        texts = _texts(value.get("data") if isinstance(value, Mapping) else value)
        encoded[name] = value
        if texts is None:
            continue
        place = f"{pointer}/{escape(name)}"
        if name not in classes:
            detail = f"input {name!r} holds text, and the model has no class names for it; send numbers"
            findings.append(Finding(place, "dtype_mismatch", detail))
            continue
        found = classes[name].unknown_names(texts.flat)
        if found:
            findings.append(Finding(place, "unknown_class", f"input {name!r}: {classes[name].describe_unknown(found)}"))
            continue
        numbers = classes[name].indices(list(texts.flat)).reshape(texts.shape)
        encoded[name] = numbers if isinstance(value, np.ndarray) else numbers.tolist()
        if isinstance(value, Mapping):
            encoded[name] = {**value, "dtype": "int64", "data": numbers.tolist()}
    if findings:
        raise DocumentError(findings)
    return encoded


def _texts(value: Any) -> Array | None:
    """Return text, or nested lists of texts alone, as an array of objects; None for anything else."""
    if isinstance(value, np.ndarray):
        return value.astype(object) if value.dtype.kind == "U" else None
    first = value
    while isinstance(first, list | tuple) and first:
        first = first[0]
    if not isinstance(first, str):
        return None
    try:
        texts = np.array(value, object)
    except ValueError:
        return None
    return texts if all(isinstance(text, str) for text in texts.flat) else None


def _read_encoding(reader: Reader, document: Any, pointer: str) -> ClassEncoding | None:
    document = {"names": document} if isinstance(document, list | tuple) else reader.mapping(document, pointer)
    before = len(reader.findings)
    reader.fields(document, pointer, _FIELDS, ("names",))
    names = reader.typed(document.get("names", ()), tuple[str, ...], f"{pointer}/names", "names", ())
    unknown = reader.typed(document.get("unknown"), str | None, f"{pointer}/unknown", "unknown")
    for detail in _name_faults(names):
        reader.fault(f"{pointer}/names", "attribute_invalid", detail)
    if unknown is not None and unknown not in names:
        detail = f"{unknown[:64]!r} is none of the names; add it there, or name one of them"
        reader.fault(f"{pointer}/unknown", "unknown_name", detail)
    return ClassEncoding(tuple(names), unknown) if len(reader.findings) == before else None


def _name_faults(names: Sequence[str]) -> Iterable[str]:
    if not 0 < len(names) <= MAX_CLASSES:
        yield f"must be 1 to {MAX_CLASSES} class names, not {len(names)}"
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        yield f"names the class {repeated[:64]!r} twice"
    if any(not 0 < len(name) <= NAME_LENGTH for name in names):
        yield f"a class name has 1 to {NAME_LENGTH} characters"


def _listed(names: Sequence[str]) -> str:
    """Return the first names, quoted and shortened, and the number of further ones."""
    shown = ", ".join(repr(name[:64]) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


class Labels(NamedTuple):
    """Labels as numbers: `codes` (int64) index the `names`, which are sorted."""

    codes: Array
    names: Array

    @property
    def counts(self) -> Array:
        """The frequency of each."""
        return np.bincount(self.codes, minlength=len(self.names))


def check_labels(column: str, values: Array, purpose: str) -> Labels:
    """Return the labels of a column; `purpose` names their use in errors.

    Raises:
        DataError: it holds fractions or NaN.
    """
    if values.dtype.kind not in "iufbUS":
        raise DataError(f"column {column!r} of type {values.dtype} has no labels to {purpose} by")
    if values.dtype.kind == "f" and not (np.isfinite(values) & (np.trunc(values) == values)).all():
        advice = "name a column of whole numbers or strings"
        raise DataError(f"column {column!r} holds fractions or NaN, which cannot be labels to {purpose} by: {advice}")
    names, codes = np.unique(values, return_inverse=True)
    return Labels(codes.reshape(-1), names)
