"""`adjoint ops`, `layers`, `optimizers` and `openapi`: what servers can do; no server is needed."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from app.cli.output import FAILED, JsonOption, print_json, print_lines, refused, terminal_width
from app.cli.terminal.table import Column, table_lines

Entry = Mapping[str, Any]


NameArgument = Annotated[str | None, typer.Argument(help="One of them, to see all about it.")]
LINE_MIN = 24


def ops(name: NameArgument = None, as_json: JsonOption = False) -> None:
    """List the ops that graphs are made of, or describe one."""
    import engine  # NumPy and all ops: only these commands need them

    if name is None:
        _list(engine.op_catalogue(), OP_COLUMNS, as_json)
        return
    try:
        entry = engine.op_entry(name)
    except engine.UnknownName as error:
        raise refused(error, FAILED) from error
    _show(entry, _description(entry), as_json)


def layers(kind: NameArgument = None, as_json: JsonOption = False) -> None:
    """List the layers that graphs are made of, or describe one with its options."""
    import engine

    _list_or_show(engine.layer_catalogue(), "layer", kind, as_json)


def optimizers(kind: NameArgument = None, as_json: JsonOption = False) -> None:
    """List the optimizers, or describe one with its options."""
    import engine

    _list_or_show(engine.optimizer_catalogue(), "optimizer", kind, as_json)


def _list_or_show(entries: Sequence[Entry], what: str, kind: str | None, as_json: bool) -> None:
    if kind is None:
        _list(entries, (Column(what.upper(), _text("kind")), SUMMARY), as_json)
        return
    known = {entry["kind"]: entry for entry in entries}
    if kind not in known:
        near = get_close_matches(kind, known, n=3)
        hint = f"did you mean {' or '.join(near)}" if near else f"`adjoint {what}s` lists them"
        raise refused(f"there is no {what} {kind!r}; {hint}", FAILED)
    entry = known[kind]
    options = [f"  {attr['name']}: {attr['type']}{_default(attr)}" for attr in entry["attrs"]]
    _show(entry, "\n".join([kind, "", entry["doc"], *(["", *options] if options else [])]), as_json)


def _list(entries: Sequence[Entry], columns: Sequence[Column], as_json: bool) -> None:
    if as_json:
        print_json(entries)
    else:
        print_lines(table_lines(columns, entries, terminal_width()))


def _show(entry: Entry, text: str, as_json: bool) -> None:
    if as_json:
        print_json(entry)
    else:
        print_lines(text.splitlines())


def _text(key: str) -> Callable[[Entry], str]:
    return lambda entry: str(entry[key])


def _summary(entry: Entry) -> str:
    return str(entry["doc"]).partition("\n")[0]


SUMMARY = Column("SUMMARY", _summary, shrinks_to=LINE_MIN)
OP_COLUMNS = (Column("OP", _text("name")), Column("FAMILY", _text("family"), optional=True), SUMMARY)


def openapi() -> None:
    """Print the contract of the HTTP interface, an OpenAPI document."""
    from app.main.application import openapi_document  # loads the web framework, which takes a while

    json.dump(openapi_document(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")


def _description(entry: Entry) -> str:
    if not entry["supported"]:
        return f"{entry['name']} ({entry['family']})\n\n{entry['doc']}"
    lines = [_call(entry), "", entry["doc"], ""]
    lines += [f"  {attr['name']}: {attr['type']}{_default(attr)}" for attr in entry["attrs"]]
    facts = {
        "family": entry["family"],
        "also called": ", ".join(entry["aliases"]),
        "differentiable": "yes" if entry["differentiable"] else "no",
        "in graphs": "no, since a shape depends on data" if entry["data_dependent"] else "",
    }
    return "\n".join(lines + [f"{name}: {fact}" for name, fact in facts.items() if fact])


def _call(entry: Entry) -> str:
    """The op as it is called: `clamp(x, *, low, high)`."""
    inputs = [f"*{item['name']}" if item["variadic"] else item["name"] for item in entry["inputs"]]
    attrs = ["*", *(attr["name"] for attr in entry["attrs"])] if entry["attrs"] else []
    return f"{entry['name']}({', '.join(inputs + attrs)})"


def _default(attr: dict[str, Any]) -> str:
    return "" if attr["required"] else f" (default {json.dumps(attr['default'])})"
