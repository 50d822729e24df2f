"""`adjoint fits|datasets|graphs|checkpoints|sessions`: list, show and delete, from the table of resources."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

import typer

from adjoint_client import Client
from app.cli import datasets
from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect
from app.cli.control import act_on_each
from app.cli.output import JsonOption, confirm, note, print_json, print_lines, terminal_width
from app.cli.resources import DATASETS, RESOURCES, Filter, Resource
from app.cli.terminal.table import Document, table_lines
from app.cli.terminal.values import describe

DEFAULT_LIMIT = 30
MORE: Mapping[str, Sequence[Callable[..., None]]] = {DATASETS.name: datasets.COMMANDS}
"""Commands of a resource beside those that all have."""

LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many to list.")]
AllOption = Annotated[bool, typer.Option("--all", "-a", help="List all of them.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print ids alone, a line each.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def add_resources(app: typer.Typer) -> None:
    """Add a group of commands for each resource."""
    for resource in RESOURCES:
        app.add_typer(_group(resource), name=resource.name)


def _group(resource: Resource) -> typer.Typer:
    group = typer.Typer(
        help=f"List, show and delete {resource.name}; without a command, list them.", invoke_without_command=True
    )
    group.callback()(_with_filters(resource, _list_unless_invoked, typer.Context))
    group.command("list", help=f"List {resource.name}, by default the newest first.")(_with_filters(resource, _list))
    identifier = typer.Argument(metavar=resource.singular.upper(), help=f"Id, {resource.prefix}...")
    _add(group, "show", f"Show all about one of the {resource.name}.", _show, resource, Annotated[str, identifier])
    for command in MORE.get(resource.name, ()):
        group.command()(command)
    many = typer.Argument(metavar=f"{resource.singular.upper()}...", help=f"Ids, {resource.prefix}...")
    _add(group, "delete", resource.delete_help, _delete, resource, Annotated[list[str], many])
    return group


def _add(
    group: typer.Typer, name: str, text: str, function: Callable[..., None], resource: Resource, identifier: Any
) -> None:
    """Add a command whose first argument is annotated as `identifier`, and that is about one resource."""

    def command(**given: Any) -> None:
        function(resource, **given)

    _, first, *options = inspect.signature(function).parameters.values()
    _sign(command, [first.replace(annotation=identifier), *options])
    group.command(name, help=text)(command)


def _with_filters(
    resource: Resource, function: Callable[..., None], context: type[typer.Context] | None = None
) -> Callable[..., None]:
    """Return a command that lists, with an option for each filter of a resource."""
    names = [each.parameter for each in resource.filters]

    def command(**given: Any) -> None:
        filters = {name: given.pop(name) for name in names}
        function(resource, {name: value for name, value in filters.items() if value is not None}, **given)

    options = [*inspect.signature(_list).parameters.values()][2:]
    leading = (
        [] if context is None else [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=context)]
    )
    _sign(command, [*leading, *map(_option, resource.filters), *options])
    return command


def _option(each: Filter) -> inspect.Parameter:
    annotation = Annotated[str | None, typer.Option(f"--{each.name}", metavar=each.metavar, help=each.help)]
    return inspect.Parameter(each.parameter, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _sign(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> None:
    """Give a function the signature that its options are read from."""
    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined] # functions have one, where it is set
    command.__annotations__ = {each.name: each.annotation for each in keyword}


def _list_unless_invoked(resource: Resource, filters: dict[str, str], *, context: typer.Context, **given: Any) -> None:
    if context.invoked_subcommand is None:
        _list(resource, filters, **given)
        return
    misplaced = [each.opts[0] for each in context.command.params if each.name and _is_given(context, each.name)]
    if misplaced:
        raise typer.BadParameter(f"put {misplaced[0]} behind {context.invoked_subcommand!r}")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _list(
    resource: Resource,
    filters: dict[str, str],
    *,
    limit: LimitOption = DEFAULT_LIMIT,
    all_: AllOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    with connect(url, key_file) as client:
        # One more than is shown, to see whether there are more.
        entries = resource.list(client, filters) if all_ else resource.list(client, filters, limit + 1)
        found = list(entries if all_ else islice(entries, limit + 1))
    has_more = not all_ and len(found) > limit
    shown = found[:limit] if has_more else found
    if quiet:
        print_lines(str(entry["id"]) for entry in shown)
    elif as_json:
        print_json(shown)
    elif shown:
        print_lines(table_lines(resource.columns, shown, terminal_width()))
    if not shown:
        note(f"no {resource.name}")
    elif has_more and not quiet and not as_json:
        note(f"the first {limit} {resource.name}; --limit N or --all lists more")


def _show(
    resource: Resource,
    identifier: str,
    *,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    with connect(url, key_file) as client:
        document = resource.get(client, identifier)
    if as_json:
        print_json(document)
    else:
        print_lines(describe(document))


def _delete(
    resource: Resource,
    identifiers: list[str],
    *,
    yes: YesOption = False,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    if not yes:
        what = (
            f"{resource.singular} {identifiers[0]}" if len(identifiers) == 1 else f"{len(identifiers)} {resource.name}"
        )
        confirm(f"{what} will be deleted")
    with connect(url, key_file) as client:
        act_on_each(identifiers, lambda each: _delete_one(resource, client, each), as_json)


def _delete_one(resource: Resource, client: Client, identifier: str) -> Document:
    resource.delete(client, identifier)
    return {"id": identifier, "state": "deleted"}
