"""The parts of a running server, and what it does from time to time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.api.deps import Services
from app.config.settings import Settings
from app.runner.compute_pool import ComputePool
from app.runner.session_pool import SessionPool
from app.runner.supervisor import Supervisor
from app.service.admin.audit import AuditRotation
from app.service.admin.keys import KeyRing
from app.service.admin.quarantine import Orphans, Quarantine
from app.service.fits.retention import Retention
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.notifier import Notifier
from app.service.resources.shared_sweeper import SharedBlobSweeper
from app.store.unit_of_work import Store

if TYPE_CHECKING:
    from app.main.cluster import Membership

Chore = Callable[[], object]
"""What is done in a thread; or in the event loop, if it is a coroutine function."""


@dataclass(frozen=True, slots=True)
class Container:
    """A server's parts. Nothing runs before `supervisor.start`."""

    settings: Settings
    store: Store
    services: Services
    supervisor: Supervisor
    session_pool: SessionPool
    pool: ComputePool
    notifier: Notifier
    retention: Retention
    ring: KeyRing
    rotation: AuditRotation
    integrity: Integrity
    quarantine: Quarantine
    membership: "Membership | None"
    sweeper: BlobSweeper
    orphans: Orphans

    def stand(self, url: str) -> None:
        """Be one of the servers that may run the fits: requests are answered at `url`."""
        if self.membership is not None:
            url = self.settings.internal_url or url
            self.membership.election.stand(url, self.supervisor.wake)

    def rare_chores(self) -> list[Chore]:
        """Return what is done from time to time, by one of several servers."""
        chores: list[Chore] = [self.retention.enforce, self.services.idempotency.forget_old, self.quarantine.expire]
        if self.membership is not None and self.settings.blob_url is not None:
            # Files of a folder that servers share would be moved, which disturbs servers that are about to use them.
            chores.append(self.orphans.move_blobs)
        return [self._as_leader(chore) for chore in chores]

    def frequent_chores(self) -> list[Chore]:
        """Return what is done every few seconds."""
        chores: list[Chore] = [self.services.sessions.expire, self.services.keys.write_uses]
        chores.append(self._as_leader(self.rotation.rotate))
        if self.membership is not None:
            chores.append(self.services.keys.refresh)
            chores.append(self._as_leader(self.membership.forget_gone))
        if isinstance(self.sweeper, SharedBlobSweeper):
            chores.append(self._as_leader(self.sweeper.collect))
        return chores

    def _as_leader(self, chore: Chore) -> Chore:
        """Return a chore that only the server does that runs the fits."""
        membership = self.membership
        return chore if membership is None else lambda: chore() if membership.leads else None

    def drain(self) -> None:
        """Answer all requests that wait, and stop fits and sessions with what they have; again changes nothing."""
        self.store.give_up()
        self.notifier.close()
        self.pool.drain()
        self.session_pool.drain()
        self.supervisor.drain()
