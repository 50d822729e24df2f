"""`adjoint ops` and `adjoint openapi`: what the server can do, told without one."""

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console


def ops(name: Annotated[str | None, typer.Argument(help="An op, to see all about it.")] = None) -> None:
    """List the ops that graphs are made of, or describe one."""
    import engine  # NumPy and all ops: only this command needs them

    console = Console(highlight=False)
    if name is None:
        for entry in engine.op_catalogue():
            console.print(_line(entry), markup=False, soft_wrap=True)
        return
    try:
        console.print(_description(engine.op_entry(name)), markup=False, soft_wrap=True)
    except engine.UnknownName as error:
        sys.stderr.write(f"adjoint: {error}\n")
        raise typer.Exit(1) from error


def openapi() -> None:
    """Print the contract of the HTTP interface, an OpenAPI document."""
    from app.main.application import openapi_document  # loads the web framework, which takes a while

    json.dump(openapi_document(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")


def _line(entry: dict[str, Any]) -> str:
    return f"{entry['name']:<24}{entry['family']:<16}{entry['doc'].partition(chr(10))[0]}"


def _description(entry: dict[str, Any]) -> str:
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


def _call(entry: dict[str, Any]) -> str:
    """The op as it is called: `clamp(x, *, low, high)`."""
    inputs = [f"*{item['name']}" if item["variadic"] else item["name"] for item in entry["inputs"]]
    attrs = ["*", *(attr["name"] for attr in entry["attrs"])] if entry["attrs"] else []
    return f"{entry['name']}({', '.join(inputs + attrs)})"


def _default(attr: dict[str, Any]) -> str:
    return "" if attr["required"] else f" (default {json.dumps(attr['default'])})"
