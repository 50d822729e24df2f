# Made from _async/stepper.py by clients/generate.py: change that file.
"""The steps of one session on their way: numbered, repeated without harm, in order."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from adjoint_client._sync.connection import Connection
from adjoint_client._sync.patience import insist
from adjoint_client.background import Lock
from adjoint_client.errors import ServerError, not_carried_out
from adjoint_client.http1 import Answer, Request
from adjoint_client.step import Step, read_answer, read_document, request_for_all

T = TypeVar("T")

# Others may take steps in the same session, each time before this client does.
_RENUMBERINGS = 32
_MISNUMBERED = frozenset({"seq_used", "sequence_gap"})
_FORGOTTEN = "answer_forgotten"


class Stepper:
    """Carries steps to a session, one request at a time.

    A step keeps its number until it is answered. One that was interrupted leaves it to the next: if that
    is the same step again, it is a repetition, and otherwise the server says which number is right.
    """

    def __init__(self, connection: Connection, path: str, next_seq: int, patience: float) -> None:
        self._connection = connection
        self._path = path
        self._patience = patience
        self._lock = Lock()
        self.next_seq = next_seq

    def read(self, request: Request) -> Answer:
        """Send a request that changes nothing.

        Raises:
            ServerError: it was refused.
            ServerUnreachable: there was no answer.
        """
        with self._lock:
            answer, _ = insist(self._connection, request, self._patience)
        if not answer.is_success:
            raise ServerError.from_answer(answer)
        return answer

    def carry_out(self, step: Step[T]) -> T:
        """Carry out one step.

        Raises:
            ServerError: it was refused, and has changed nothing.
            ServerUnreachable: there was no answer; if the same step comes next, it is not carried out twice.
        """
        with self._lock:
            for _ in range(_RENUMBERINGS):
                answer, repeated = insist(self._connection, self._request(step), self._patience)
                if answer.is_success:
                    result, seq = read_answer(step, answer)
                    self._took(step, seq)
                    return result
                error = ServerError.from_answer(answer)
                if not self._renumbered(step, error, repeated):
                    break
            raise error

    def carry_out_all(self, steps: Sequence[Step[Any]]) -> list[Any]:
        """Carry out steps in order, up to the first that fails, in one request.

        Return a result for each, or the error: of those behind the first that fails, `not_carried_out`.
        """
        outcomes: list[Any] = []
        with self._lock:
            for _ in range(_RENUMBERINGS):
                answer, repeated = insist(self._connection, self._request_for(steps), self._patience)
                if not answer.is_success:
                    error = ServerError.from_answer(answer)
                    if not self._renumbered(steps[0], error, repeated):
                        break
                    continue
                done, failed = self._read_all(steps, answer)
                outcomes += done
                steps = steps[len(done) :]
                if failed is None:
                    return outcomes
                error = failed
                if not self._renumbered(steps[0], error, repeated):
                    break
        return [*outcomes, error, *[not_carried_out() for _ in steps[1:]]]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _request(self, step: Step[Any]) -> Request:
        return step.request(self._path, self.next_seq if step.ordered else None)

    def _request_for(self, steps: Sequence[Step[Any]]) -> Request:
        numbered: list[tuple[Step[Any], int | None]] = []
        seq = self.next_seq
        for step in steps:
            numbered.append((step, seq if step.ordered else None))
            seq += step.ordered
        return request_for_all(self._path, numbered)

    def _read_all(self, steps: Sequence[Step[Any]], answer: Answer) -> tuple[list[Any], ServerError | None]:
        """Return the results up to the first failure, and that."""
        results: list[Any] = []
        for step, entry in zip(steps, json.loads(answer.body)["data"], strict=False):
            if "error" in entry:
                return results, ServerError(entry["status"], entry["error"])
            result, seq = read_document(step, entry["answer"])
            self._took(step, seq)
            results.append(result)
        return results, None

    def _took(self, step: Step[Any], seq: int | None) -> None:
        if step.ordered:
            self.next_seq = (self.next_seq if seq is None else seq) + 1

    def _renumbered(self, step: Step[Any], error: ServerError, repeated: bool) -> bool:
        """Whether the step was refused for its number alone; the next number is what the server says in any case."""
        if error.expected_seq is None:
            return False
        misnumbered = error.code in _MISNUMBERED or (error.code == _FORGOTTEN and not repeated)
        changed, self.next_seq = error.expected_seq != self.next_seq, error.expected_seq
        return step.ordered and misnumbered and changed
