"""Objects with a `kind` and the options of that kind beside it, from the engine's catalogues."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import engine
from generator.python_types import literal, quoted, union

Entry = Mapping[str, Any]

CATALOGUES: Mapping[str, tuple[str, Callable[[], Any]]] = {
    "OptimizerChoice": ("Optimizer", engine.optimizer_catalogue),
    "ScheduleChoice": ("Schedule", engine.schedule_catalogue),
    "MetricChoice": ("Metric", engine.metric_catalogue),
}
"""By schema: the suffix of the types of its kinds, and the catalogue."""

_COMMON = {"ScheduleChoice": {"per": literal(["epoch", "step"])}}
"""Options of all kinds of a schema, which the catalogue leaves out."""

_WORDS = {
    "a number": "float",
    "an integer": "int",
    "true or false": "bool",
    "a string": "str",
    "null": "None",
    "a schedule": "ScheduleChoice",
    "a list of schedules": "Sequence[ScheduleChoice]",
    "a list of objects": "Sequence[Mapping[str, Any]]",
}
_LIST = re.compile(r"a list of (?:\d+ \((?P<counted>.*)\)|(?P<any>.*))")


def option_type(text: str) -> str:
    """Return the type of an option that a catalogue describes in words, such as `a list of 2 (a number)`."""
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("one of "):
        choices, _, rest = text.removeprefix("one of ").partition(" or ")
        found = literal([choice.strip("'") for choice in choices.split(", ")])
        return union([found, option_type(rest)]) if rest else found
    listed = _LIST.fullmatch(text)
    if listed:
        return f"Sequence[{option_type(listed['counted'] or listed['any'])}]"
    if " or " in text:
        return union(map(option_type, text.split(" or ", 1)))
    raise ValueError(f"no Python type is known for an option that is {text!r}; add it to {__name__}")


def kind_types(name: str, properties: Mapping[str, str]) -> list[str]:
    """Return the types of all kinds of a schema, and the union under its name; `properties` all kinds have."""
    suffix, catalogue = CATALOGUES[name]
    entries = catalogue()
    lines: list[str] = []
    for entry in entries:
        lines += [f"class {_class_name(entry['kind'], suffix)}(TypedDict):", f'    """{_summary(entry)}"""', ""]
        lines += [f"    kind: {literal([entry['kind']])}"]
        needed = {attribute["name"] for attribute in entry["attrs"] if attribute["required"]}
        options = {**properties, **_COMMON.get(name, {}), **_options(entry)}
        for option, found in options.items():
            annotation = quoted(found)
            lines.append(f"    {option}: {annotation if option in needed else f'NotRequired[{annotation}]'}")
        lines += ["", ""]
    names = [f'"{_class_name(entry["kind"], suffix)}"' for entry in entries]
    return [*lines, f"{name} = Union[{', '.join(names)}]", ""]


def all_options(name: str) -> dict[str, str]:
    """Return the options of all kinds of a schema, each with every type that it has in one of them."""
    found: dict[str, list[str]] = {}
    for entry in CATALOGUES[name][1]():
        for option, kind in _options(entry).items():
            found.setdefault(option, []).append(kind)
    return {option: union(kinds) for option, kinds in found.items()}


def kind_names(name: str) -> str:
    """Return the type of the name of a kind."""
    return literal([entry["kind"] for entry in CATALOGUES[name][1]()])


def _options(entry: Entry) -> dict[str, str]:
    attributes: Iterable[Entry] = entry["attrs"]
    return {attribute["name"]: option_type(attribute["type"]) for attribute in attributes}


def _class_name(kind: str, suffix: str) -> str:
    return "".join(part.capitalize() for part in kind.split("_")) + suffix


def _summary(entry: Entry) -> str:
    return str(entry["doc"]).partition("\n")[0].replace("\\", "\\\\").replace('"', "'")
