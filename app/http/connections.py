"""The connections that are open. At the limit, one without a request is closed in favour of a new one.

Otherwise a client that opens connections and sends nothing could keep all others out at no cost.
"""

from collections import Counter
from typing import Generic, TypeVar

from app.http.client_address import network_of

C = TypeVar("C")


class Connections(Generic[C]):
    """Open connections by the network of their client, and which of them wait for a request, the longest first.

    Those that never sent one are known apart from those that did.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._networks: dict[C, str] = {}
        self._open: Counter[str] = Counter()
        self._silent: dict[str, dict[C, None]] = {}
        self._idle: dict[str, dict[C, None]] = {}

    @property
    def is_full(self) -> bool:
        """Whether there is no place for another."""
        return len(self._networks) >= self.most

    def enter(self, connection: C, address: str) -> None:
        """Know a new connection, which waits for a request."""
        network = self._networks[connection] = network_of(address)
        self._open[network] += 1
        self._silent.setdefault(network, {})[connection] = None

    def wait(self, connection: C) -> None:
        """Note that a connection whose request was answered has none under way from now on."""
        network = self._networks.get(connection)
        if network is not None:
            self._idle.setdefault(network, {})[connection] = None

    def work(self, connection: C) -> None:
        """Note that a request has come."""
        network = self._networks.get(connection)
        if network is not None:
            _remove(self._silent, network, connection)
            _remove(self._idle, network, connection)

    def leave(self, connection: C) -> None:
        """Forget a connection."""
        self.work(connection)
        network = self._networks.pop(connection, None)
        if network is not None:
            self._open[network] -= 1
            if not self._open[network]:
                del self._open[network]

    def spare(self) -> C | None:
        """Return the connection to do without, None if all are used.

        It is of the network that has most, so that a client with few loses none to one with many; there one that never
        sent a request, else one that did; of these the one that waits longest.
        """
        waiting = {*self._silent, *self._idle}
        if not waiting:
            return None
        network = max(waiting, key=self._open.__getitem__)
        return next(iter(self._silent.get(network) or self._idle[network]))


def _remove(waiting: dict[str, dict[C, None]], network: str, connection: C) -> None:
    those = waiting.get(network)
    if those is not None:
        those.pop(connection, None)
        if not those:
            del waiting[network]
