"""Pages of ops: an index by family, and the entries in alphabetical order."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import engine
from engine.core.registry import lookup
from tools.docs.catalogue import options
from tools.docs.markdown import code, page, prose, table

Entry = Mapping[str, Any]

PARTS = ("ab", "c", "d", "efg", "hijkl", "m", "no", "pqr", "s", "tuvwxyz_")
"""First letters of the ops of each page."""

ABOUT = """Every op can be called in a [program](../expressions.md), named in the nodes of a graph, and called
on the tape as `engine.ops.NAME`. Names, arguments and defaults are PyTorch's unless an entry says otherwise.
`adjoint ops NAME` prints an entry; `GET /v1/ops` returns all of them."""
NOT_SUPPORTED = "Operations of other engines that this one does not compute, with the reason and the op to use instead."


def op_pages() -> dict[str, str]:
    """Return the text of each page by its path."""
    known = engine.op_catalogue()
    ops = sorted((entry for entry in known if entry["supported"]), key=lambda entry: str(entry["name"]))
    pages = {"ops/index.md": _index(ops, [entry for entry in known if not entry["supported"]])}
    for letters in PARTS:
        entries = [entry for entry in ops if entry["name"][0] in letters]
        title = f"Ops: {letters[0]} to {letters[-1].replace('_', 'z')}" if len(letters) > 1 else f"Ops: {letters}"
        pages[f"ops/{_file(letters)}.md"] = page(title, *(block for entry in entries for block in _entry(entry)))
    return pages


def _file(letters: str) -> str:
    return letters.rstrip("_")


def _index(ops: Sequence[Entry], refused: Sequence[Entry]) -> str:
    families: dict[str, list[Entry]] = defaultdict(list)
    for entry in ops:
        families[entry["family"]].append(entry)
    rows = [
        (family.replace("_", " "), ", ".join(_link(entry["name"]) for entry in entries))
        for family, entries in sorted(families.items())
    ]
    missing = [
        (f"`{each['name']}`", each["reason"] or "", f"`{each['instead']}`" if each["instead"] else "")
        for each in refused
    ]
    toc = code("\n".join([":hidden:", "", *map(_file, PARTS)]), "{toctree}")
    return page(
        "Ops", ABOUT, table(("family", "ops"), rows), toc,
        "## Not supported", NOT_SUPPORTED, table(("operation", "reason", "instead"), missing),
    )  # fmt: skip


def _link(name: str) -> str:
    letters = next(letters for letters in PARTS if name[0] in letters)
    return f"[{name}]({_file(letters)}.md#{name.lower()})"


def _entry(entry: Entry) -> Iterator[str]:
    yield f"## {entry['name']}"
    yield code(_signature(entry), "text")
    yield prose(entry["doc"])
    yield " ".join(_facts(entry))
    yield options(entry["attrs"])
    yield _example(entry["name"])


def _example(name: str) -> str:
    """Return the first sample of an op, with the shapes that it takes and returns."""
    op = lookup(name)
    sample = op.samples[0]
    arrays = sample.arrays(name)
    results = op(*arrays, **sample.attrs)
    shapes = [_shape(each) for each in (results if isinstance(results, tuple) else (results,))]
    given = [_shape(array) for array in arrays]
    attributes = [f"{key}={value!r}" for key, value in sample.attrs.items()]
    return f"Example, by shapes: `{name}({', '.join([*given, *attributes])})` returns `{', '.join(shapes)}`."


def _shape(value: Any) -> str:
    return str(list(value.shape)).replace(" ", "")


def _signature(entry: Entry) -> str:
    inputs = [_input(each) for each in entry["inputs"]]
    attributes = [
        each["name"] if each["required"] else f"{each['name']}={each['default']!r}" for each in entry["attrs"]
    ]
    star = ["*"] if attributes and not any(each["variadic"] for each in entry["inputs"]) else []
    outputs = ", ".join(entry["output_names"]) or "value"
    return f"{entry['name']}({', '.join([*inputs, *star, *attributes])}) -> {outputs}"


def _input(each: Entry) -> str:
    if each["variadic"]:
        return f"*{each['name']}"
    return str(each["name"]) if each["required"] else f"{each['name']}=None"


def _facts(entry: Entry) -> Iterator[str]:
    if entry["aliases"]:
        yield f"Aliases: {', '.join(f'`{alias}`' for alias in entry['aliases'])}."
    if not entry["differentiable"]:
        yield f"No gradient{': ' + entry['no_gradient'] if entry['no_gradient'] else ''}."
    for name, note in entry["gradient_notes"].items():
        yield f"Gradient of `{name}`: {note}."
    if entry["view"]:
        yield "Returns a view."
    if entry["random"]:
        yield "Random."
    if entry["data_dependent"]:
        yield "The shape of the result depends on the data."
