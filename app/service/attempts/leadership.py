"""Which of several servers on one database runs the fits."""

from typing import Protocol

from app.store.unit_of_work import UnitOfWork


class Leadership(Protocol):
    """Whether this server runs the fits. From any thread."""

    @property
    def epoch(self) -> int | None:
        """The number of the time in which it does, which grows from one to the next; None while it does not."""
        ...

    def guard(self, work: UnitOfWork) -> None:
        """Superseded unless it does until this unit of work is committed. For all that is written for processes."""
        ...


class SoleServer:
    """The leadership of a server that has its database for itself."""

    epoch = 0

    def guard(self, work: UnitOfWork) -> None:
        """Do nothing: there is no other."""


SOLE_SERVER = SoleServer()
