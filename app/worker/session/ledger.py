"""Which steps have been carried out: the order of places, the answers that are kept, and what is on the disk."""

import time
from dataclasses import dataclass

from app.domain.errors import Conflict, IdempotencyMismatch
from app.domain.frames import Step
from app.worker.session.bench import Bench
from app.worker.session.folder import Folder
from app.worker.session.kept import Answers, Kept
from app.worker.session.log import Log

REPLAY_SECONDS = 2.0
"""Taking a session up again may take so long,"""
SNAPSHOTS_PART = 10.0
"""or as many times as long as a snapshot, which is then not written more often than that."""
LOG_BYTES = 64 * 1024**2
LOG_STEPS = 10_000


@dataclass(slots=True)
class Logged:
    """What has come into the log since its snapshot: how much, and how long it would take to do again."""

    steps: int = 0
    seconds: float = 0.0


class Ledger:
    """The record of a session's steps. What is told to it lasts from the next `commit` on."""

    def __init__(self, folder: Folder, log: Log, number: int, answers: Answers) -> None:
        """Go on with a log, which is that from place `number` on."""
        self._folder = folder
        self._log = log
        self._number = number
        self._begins_with = log.size
        self._logged = Logged()
        self._snapshot_seconds = 0.0
        self.answers = answers
        self.next_seq = number

    def find(self, step: Step, digest: str) -> Kept | None:
        """Return what came of a step that was carried out before; None if it was not, and its turn has come.

        Conflict, IdempotencyMismatch: another step has this place or key, or it is not known any more what came of it.
        """
        known = self.answers.of_request(step.id)
        if known is None and step.key is not None:
            known = self.answers.of_key(step.key)
            if known is not None and known.digest != digest:
                raise IdempotencyMismatch("this Idempotency-Key was sent with another step; choose a new one")
        if known is None and step.seq is not None and step.seq < self.next_seq:
            known = self.answers.of_seq(step.seq)
            if known is None:
                detail = f"step {step.seq} was carried out so long ago that its answer is not kept any more"
                raise Conflict(f"{detail}; the next place is {self.next_seq}", code="answer_forgotten")
            if known.digest != digest:
                detail = f"place {step.seq} was taken by another step"
                raise Conflict(f"{detail}; the next place is {self.next_seq}", code="seq_used")
        return known

    def note(self, step: Step, body: bytes, seq: int, digest: str, *, accepted: bool = False) -> None:
        """Write a step down, to be carried out again in a replay; one that is `accepted` is yet to be carried out."""
        told = {name: getattr(step, name) for name in ("id", "verb", "options", "key", "media", "accept")}
        self._log.add({"step": {**told, "seq": seq}, "digest": digest, "accepted": accepted}, body)

    def settle(self, kept: Kept, seconds: float, *, noted: bool) -> None:
        """Keep what came of the step whose turn it is; one that is not `noted` is not carried out again."""
        if not noted:
            self._log.add({"kept": kept.to_head()}, kept.body)
        self.take_up(kept, seconds)

    def take_up(self, kept: Kept, seconds: float = 0.0) -> None:
        """Keep what the log says came of a step."""
        self.answers.add(kept)
        self.next_seq = max(self.next_seq, kept.seq + 1)
        self._logged.steps += 1
        self._logged.seconds += seconds

    @property
    def number(self) -> int:
        """The place at which the snapshot was written that the log goes on from."""
        return self._number

    @property
    def waits(self) -> bool:
        """Whether something is not on the disk yet."""
        return self._log.waits

    def commit(self) -> None:
        """Have on the disk what was told; StorageFull or StorageFailed, and nothing may be told any more then."""
        self._log.commit()

    def rest(self) -> None:
        """Have it known of the last step, should it be damaged from now on, that it was on the disk.

        StorageFull or StorageFailed if that cannot be; what was told before lasts all the same.
        """
        self._log.add({"rests": True}, b"")
        self._log.commit()

    def cut(self) -> None:
        """Forget what is not on the disk."""
        self._log.cut()

    def is_due(self, bench: Bench) -> bool:
        """Whether the session should be put aside now. What it holds besides keeps it from that, up to a bound."""
        logged = self._logged
        if logged.steps >= LOG_STEPS or self._log.size - self._begins_with >= LOG_BYTES:
            return True
        costs = max(REPLAY_SECONDS, SNAPSHOTS_PART * self._snapshot_seconds)
        return logged.seconds > costs and not bench.holds

    def put_aside(self, bench: Bench) -> None:
        """Write a snapshot, from which the log goes on; what the bench holds besides is given up.

        StorageFull or StorageFailed if it cannot be written; the log goes on as it was then.
        """
        self.commit()
        if self.next_seq == self._number:
            return
        bench.let_go()
        begun = time.monotonic()
        kept = [({"kept": kept.to_head()}, kept.body) for kept in self.answers]
        log = self._folder.begin(self.next_seq, bench.snapshot, kept)
        self._log.close()
        self._log, self._number, self._begins_with = log, self.next_seq, log.size
        self._logged = Logged()
        self._snapshot_seconds = time.monotonic() - begun
