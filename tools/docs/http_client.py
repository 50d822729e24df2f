"""Sends the steps of the HTTP reference to a server, and records the answers that the reference shows.

`python -m tools.docs.http_client URL` records them from a new server without keys.
"""

import io
import json
import re
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from tools.docs.http_steps import STEPS, Step
from tools.docs.markdown import FILE_WIDTH, compact

ANSWERS = Path(__file__).with_name("http_answers.json")
PATIENCE = 120.0
PAUSE = 0.05
KEY_HEADER = "X-API-Key"
ITEMS_SHOWN = 2
CHARACTERS_SHOWN = 240
LINES_SHOWN = 12
IDENTITY = re.compile(r"\b(ds|graph|fit|ckpt|sess|key|aud|req|tape)_([0-9a-z]{26})\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
SECRET = re.compile(r'"key":\s*"[^"]+"')


class StepError(AssertionError):
    """A step was answered otherwise than expected."""


def send(steps: Iterable[Step], http: httpx.Client) -> Iterator[tuple[Step, httpx.Response]]:
    """Send the steps in order and yield each with its answer; StepError if one has another status."""
    saved: dict[str, Any] = {}
    for step in steps:
        answer = _answer(step, http, saved)
        if answer.status_code != step.status:
            raise StepError(f"{step.operation}: {answer.status_code} in place of {step.status}: {answer.text[:2000]}")
        if step.saves:
            saved[step.saves] = answer.content if step.saves == "FILE" else answer.json()[step.field]
        if step.operation == "create_key":
            http.headers[KEY_HEADER] = answer.json()["key"]
        yield step, answer


def _answer(step: Step, http: httpx.Client, saved: Mapping[str, Any]) -> httpx.Response:
    deadline = time.monotonic() + PATIENCE
    while True:
        body = _filled(step.body, saved)
        content = body if isinstance(body, str | bytes) else None if body is None else json.dumps(body)
        kind = {} if body is None or content is body else {"Content-Type": "application/json"}
        path = _filled(step.path, saved)
        answer = http.request(step.method, path, headers={**kind, **step.headers}, content=content)
        if step.until in answer.text:
            return answer
        if time.monotonic() > deadline:
            raise StepError(f"{step.operation}: no {step.until} within {PATIENCE} s: {answer.text[:2000]}")
        time.sleep(PAUSE)


def _filled(value: Any, saved: Mapping[str, Any]) -> Any:
    """Return a value with what was saved in the place of its names."""
    if isinstance(value, dict):
        return {key: _filled(each, saved) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, saved) for each in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\{([A-Z]+)\}", value)
    return saved[whole[1]] if whole else re.sub(r"\{([A-Z]+)\}", lambda match: str(saved[match[1]]), value)


def record(url: str) -> dict[str, Any]:
    """Return what the reference shows of each operation's first answer."""
    shown: dict[str, Any] = {}
    names: dict[str, str] = {}
    with httpx.Client(base_url=url, timeout=PATIENCE) as http:
        for step, answer in send(STEPS, http):
            if step.operation not in shown:
                shown[step.operation] = {"status": answer.status_code, **_shown(answer, names)}
    return shown


def _shown(answer: httpx.Response, names: dict[str, str]) -> dict[str, Any]:
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if not answer.content:
        return {}
    if kind == "application/json":
        text = json.dumps(shortened(answer.json()))
        return {"type": kind, "body": json.loads(SECRET.sub('"key": "..."', _anonymous(text, names)))}
    if kind == "application/x-tar":
        with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
            return {"type": kind, "body": "\n".join(dict.fromkeys(map(_member, archive.getnames())))}
    if not kind.startswith(("text/", "application/x-ndjson")):
        return {"type": kind}
    lines = [line[:CHARACTERS_SHOWN] for line in _anonymous(answer.text, names).splitlines()]
    return {"type": kind, "body": "\n".join(lines[:LINES_SHOWN])}


def _member(name: str) -> str:
    """Return the name of a file in an archive, without the digest of a blob."""
    return re.sub(r"[0-9a-f]{64}", "<SHA-256>", name)


def _anonymous(text: str, names: dict[str, str]) -> str:
    """Replace ids and times, which differ in every recording."""

    def name(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"{match[1]}_{len(names) + 1:026d}")

    return TIME.sub("2026-01-01T00:00:00.000Z", IDENTITY.sub(name, text))


def shortened(value: Any) -> Any:
    """Return JSON with its first list items and the beginning of its texts."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, list):
        numbers = all(isinstance(each, int | float) for each in value)
        return [shortened(each) for each in value[: 8 if numbers else ITEMS_SHOWN]]
    return value[:CHARACTERS_SHOWN] if isinstance(value, str) else value


def answers() -> dict[str, Any]:
    """Return the recorded answers."""
    recorded: dict[str, Any] = json.loads(ANSWERS.read_text("utf-8"))
    return recorded


if __name__ == "__main__":
    ANSWERS.write_text(compact(record(sys.argv[1]), FILE_WIDTH) + "\n", "utf-8")
