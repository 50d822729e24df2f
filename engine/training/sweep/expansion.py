"""The variants of a sweep: one recipe for each, in an order that depends on the request alone."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.core.documents import Reader
from engine.core.errors import Finding, escape
from engine.training.recipe.recipe import apply_preset
from engine.training.sweep.options import Interval, PathError, SweepOptions, remove_at, replace_at

DEFAULT_OPTIMIZER = {"kind": "adam"}
"""The default optimizer as a document, for paths into it."""

TRIES = 100
"""Maximum number of draws for each sample, to find a new combination."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One fit of a sweep.

    Attributes:
        index: its index among the variants, from 0.
        parameters: the value of each varied field, by its path.
        recipe: the recipe of the fit, as a document: that of the sweep with these values.
        pointers: the pointer to each value in the request for the sweep, by its path.
    """

    index: int
    parameters: Mapping[str, Any]
    recipe: Mapping[str, Any]
    pointers: Mapping[str, str]

    def located(self, finding: Finding, found_in: Callable[[Mapping[str, Any]], Iterable[Finding]]) -> Finding:
        """Return a fault of this variant's recipe as one of the request for the sweep.

        It is the fault of a value that it lies in or, where it is one of an object that values lie in, of the value
        without which it is gone: `found_in` returns the faults of another recipe.
        """
        for path in sorted(self.pointers, key=len, reverse=True):
            place = _place(path)
            if finding.pointer == place or finding.pointer.startswith(f"{place}/"):
                return replace(finding, pointer=self.pointers[path])
        for path in self.pointers:
            inside = _place(path).startswith(f"{finding.pointer}/")
            if inside and finding not in found_in(remove_at(self.recipe, path)):
                return replace(finding, pointer=self.pointers[path])
        return finding


def expand(recipe: Mapping[str, Any], options: SweepOptions) -> tuple[Variant, ...]:
    """Return the variants of a recipe, which is given as a document.

    Those of a grid are in the order of `itertools.product` over the parameters as given: the last varies fastest. Drawn
    ones are in the order of their draws: one number of PCG64 (seeded with `options.seed`) for each parameter.

    Raises:
        DocumentError: a path does not exist in the recipe.
    """
    # "optimizer" before "optimizer.lr": the wider one would undo the other.
    bare = recipe.get("preset") is None and recipe.get("optimizer") is None
    template = {**recipe, "optimizer": DEFAULT_OPTIMIZER} if bare else apply_preset(recipe)
    order = sorted(options.parameters, key=lambda path: path.count("."))
    reader, variants = Reader(), []
    for index, choice in enumerate(_choices(options)):
        document: Any = template
        for path in order:
            try:
                document = replace_at(document, path, choice[path].value)
            except PathError as error:
                _note_once(reader, choice[path].pointer, str(error))
        parameters = {path: choice[path].value for path in options.parameters}
        pointers = {path: choice[path].pointer for path in options.parameters}
        variants.append(Variant(index, parameters, document, pointers))
    reader.finish()
    return tuple(variants)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A value, and where the request gives it."""

    value: Any
    pointer: str


def _choices(options: SweepOptions) -> Iterator[dict[str, _Chosen]]:
    """Yield the value of each parameter, variant by variant."""
    return _draw_combinations(options) if options.drawn else _grid(options)


def _grid(options: SweepOptions) -> Iterator[dict[str, _Chosen]]:
    rows = [
        [_Chosen(value, f"{_pointer(path)}/{place}") for place, value in enumerate(values)]
        for path, values in options.parameters.items()
        if isinstance(values, tuple)
    ]
    for chosen in itertools.product(*rows):
        yield dict(zip(options.parameters, chosen, strict=True))


def _draw_combinations(options: SweepOptions) -> Iterator[dict[str, _Chosen]]:
    """Yield combinations drawn independently, without repetition."""
    assert options.samples is not None
    generator = np.random.Generator(np.random.PCG64(options.seed))
    seen: set[str] = set()
    for _ in range(TRIES * options.samples):
        shares = generator.random(len(options.parameters)).tolist()
        choice = {
            path: _at(path, values, share)
            for (path, values), share in zip(options.parameters.items(), shares, strict=True)
        }
        spelled = json.dumps([chosen.value for chosen in choice.values()], sort_keys=True)
        if spelled not in seen:
            seen.add(spelled)
            yield choice
        if len(seen) == options.samples:
            return


def _at(path: str, values: tuple[Any, ...] | Interval, share: float) -> _Chosen:
    if isinstance(values, Interval):
        return _Chosen(values.at(share), _pointer(path))
    place = int(share * len(values))
    return _Chosen(values[place], f"{_pointer(path)}/{place}")


def _place(path: str) -> str:
    """Return the JSON pointer to the value at a path."""
    return "/" + "/".join(map(escape, path.split(".")))


def _pointer(path: str) -> str:
    return f"/sweep/parameters/{escape(path)}"


def _note_once(reader: Reader, pointer: str, detail: str) -> None:
    if all(finding.pointer != pointer for finding in reader.findings):
        reader.fault(pointer, "attribute_invalid", detail)
