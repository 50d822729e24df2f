# ruff: noqa: N818 (an error is named as what happened)
"""What can go wrong between a client and the server, as one tree of exceptions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import responses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

    from adjoint_client.http1 import Answer


class AdjointError(Exception):
    """The root of every error that this package raises on its own account."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a request: where it is (a JSON pointer), what kind, and what to change."""

    pointer: str
    code: str
    detail: str


class ServerError(AdjointError):
    """The server answered with a problem (RFC 9457); `code` is stable, `detail` is for people.

    `expected_seq` is the place that the next step of a session will take, where it says so.
    """

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.code = str(problem.get("code", "unknown"))
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", ""))
        self.request_id = problem.get("request_id")
        self.expected_seq: int | None = problem.get("expected_seq")
        self.findings = tuple(
            Finding(str(item.get("pointer", "")), str(item.get("code", "")), str(item.get("detail", "")))
            for item in problem.get("errors") or ()
        )
        self.retry_after = retry_after
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{self.status} {self.code}: {self.detail or self.title}"]
        for finding in self.findings:
            place = finding.pointer or "/"
            # A fault that is the only one is in the first line already.
            lines.append(f"  at {place}" if finding.detail == self.detail else f"  {place}: {finding.detail}")
        return "\n".join(lines)

    @classmethod
    def from_response(cls, response: httpx.Response) -> ServerError:
        """Read the problem in the body of `response`; one that holds none is described by its status."""
        return cls._read(response.status_code, response.content, response.reason_phrase, retry_after(response.headers))

    @classmethod
    def from_answer(cls, answer: Answer) -> ServerError:
        """Read the problem in an answer to a step, likewise."""
        phrase = responses.get(answer.status, "")
        return cls._read(answer.status, bytes(answer.body), phrase, retry_after(answer.headers))

    @classmethod
    def _read(cls, status: int, content: bytes, phrase: str, pause: float | None) -> ServerError:
        try:
            problem = json.loads(content)
        except ValueError:
            problem = None
        return cls(status, problem if isinstance(problem, dict) else {"detail": phrase}, pause)


def not_carried_out() -> ServerError:
    """Return the error of a step that was to follow one that has failed."""
    return ServerError(424, {"code": "not_carried_out", "detail": "a step before it in the pipeline has failed"})


class ServerUnreachable(AdjointError):
    """No server answered at the address, or it stopped answering."""


class FitFailed(AdjointError):
    """A fit that was waited for ended in the state `failed`."""

    def __init__(self, fit_id: str, error: dict[str, Any]) -> None:
        self.fit_id = fit_id
        self.code = str(error.get("code", "unknown"))
        self.detail = str(error.get("detail", ""))
        super().__init__(f"{fit_id} failed with {self.code}: {self.detail}")


class DownloadDamaged(AdjointError):
    """The bytes that came do not have the digest that the server promised, or do not form a file of their kind."""


class BackupDamaged(AdjointError):
    """A file is no whole backup: it is torn, or holds what no server wrote."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait before the request is sent again; None if it does not."""
    text = headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None
