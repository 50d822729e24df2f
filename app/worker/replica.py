"""The process of a replica that has no other of its fit beside it: they run on other nodes, and join over the network.

A replica exits with EXIT_PEER_LOST when another one is lost, since none can go on alone: the attempt ends as a whole.
"""

import logging
import os
import socket
from contextlib import closing
from typing import NoReturn

import engine
from app.domain.messages import Assignment, Failed, Finished
from app.domain.replicas import EXIT_PEER_LOST, ReplicaShare
from app.worker.control import Control
from app.worker.fit_loop import OUTCOMES, RungReached, run_fit, run_rank, to_verdict
from app.worker.reporter import Reporter

_logger = logging.getLogger(__name__)


def serve_replica(
    assignment: Assignment, share: ReplicaShare, listener: socket.socket | None, reporter: Reporter, control: Control
) -> None:
    """Join the other replicas, run the fit, and report the verdict. Rank 0 has a socket at which it listens for them.

    The verdict of another rank is about itself only, unless it has failed.
    """
    control.start(reporter.flush_overdue)
    try:
        verdict = _run(assignment, share, listener, reporter, control)
    except engine.RankLost as error:
        _exit_with_peer(error)
    reporter.send(verdict)


def _run(
    assignment: Assignment, share: ReplicaShare, listener: socket.socket | None, reporter: Reporter, control: Control
) -> Finished | Failed:
    try:
        collective = _join(share, listener, control)
    except engine.MissingExtra as error:
        return to_verdict(error, assignment)
    if collective is None:
        assert control.stop_requested is not None
        return Finished(OUTCOMES[control.stop_requested])
    with closing(collective):
        if share.rank == 0:
            verdict = run_fit(assignment, reporter, control, collective)
            assert not isinstance(verdict, RungReached)  # it stops at a rung only if it has one
            return verdict
        try:
            # The files that rank 0 verifies are copies on its own node.
            return run_rank(assignment, collective, verifies=True) or Finished("succeeded")
        except engine.RankAborted:
            return Finished("succeeded")  # rank 0 reports the verdict of the one that failed


def _join(share: ReplicaShare, listener: socket.socket | None, control: Control) -> engine.Collective | None:
    """Return the collective of all replicas; None if the attempt is stopped before they have joined."""
    secret = bytes.fromhex(share.secret)
    if share.rank == 0:
        assert listener is not None  # its host has made one
        return engine.lead_ranks(listener, share.size, secret, lambda: control.stop_requested is not None)
    return engine.join_ranks((share.host, share.port), share.rank, share.size, secret)


def _exit_with_peer(error: engine.RankLost) -> NoReturn:
    _logger.error("replica %s is gone, or the connection to it; this one ends", error.rank)
    os._exit(EXIT_PEER_LOST)
