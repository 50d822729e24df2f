"""No documented command puts a secret into its arguments, which everybody on a machine can read in /proc."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from app.cli.commands import commands
from app.cli.serve import parser

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path
    for pattern in (
        "*.md",
        "*.yml",
        "Makefile",
        "deploy/*",
        "clients/curl/*",
        "clients/examples/*",
        "clients/python/*.md",
    )
    for path in ROOT.glob(pattern)
    if path.is_file() and path.suffix != ".svg"
)
SECRET_OPTIONS = {"--key", "--api-key", "--token", "--password", "--secret"}
GIVEN_AWAY = {
    "a header": r"(?:-H|--header)[ =]*[\"']?(?:Authorization|X-API-Key)\b",
    "an option": rf"(?:{'|'.join(SECRET_OPTIONS)})(?![\w-])",
    "the account of a request": r"curl\b.*\s(?:-u|--user)\s",
    "a variable that a command sets": r"(?:\benv|\s-e|--env)[ =]+ADJOINT_(?:API_)?KEY=",
    "a key in a URL": r"https?://[^\s/\"']*:[^\s/\"']*@|[?&](?:api_)?key=",
}


@pytest.mark.parametrize("way", GIVEN_AWAY)
def test_no_document_gives_a_key_away(way: str) -> None:
    assert len(DOCUMENTS) > 10
    pattern = re.compile(GIVEN_AWAY[way])
    assert [
        (path.name, line) for path in DOCUMENTS for line in path.read_text("utf-8").splitlines() if pattern.search(line)
    ] == []


def test_what_would_be_found_is_found() -> None:
    given_away = (
        'curl -s -H "Authorization: Bearer $KEY" http://h',
        "curl --header=X-API-Key:$KEY http://h",
        "adjoint keys list --key adj_1",
        "curl -u me:secret http://h",
        "docker run -e ADJOINT_API_KEY=secret adjoint",
        "curl http://me:secret@h/",
        "curl 'http://h/v1/system?api_key=secret'",
    )
    for line in given_away:
        assert any(re.search(pattern, line) for pattern in GIVEN_AWAY.values()), line
    for line in ("printf 'Authorization: Bearer %s' \"$KEY\" | curl -H @- http://h", "adjoint keys --key-file -"):
        assert not any(re.search(pattern, line) for pattern in GIVEN_AWAY.values()), line


def options_of(command: Any) -> set[str]:
    own = {name for parameter in command.params for name in parameter.opts}
    return own.union(*map(options_of, getattr(command, "commands", {}).values()))


def test_no_command_has_an_option_for_a_secret() -> None:
    options = options_of(typer.main.get_command(commands()))
    options |= {name for action in parser()._actions for name in action.option_strings}
    assert "--key-file" in options
    assert not options & SECRET_OPTIONS
