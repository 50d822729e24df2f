"""The use cases of a server, and what keeps its house in order."""

from dataclasses import dataclass
from datetime import timedelta

import engine
from app.api.deps import Services
from app.config.settings import server_version
from app.main.limits import graph_limits, ingest_limits
from app.main.processes import Processes
from app.main.storage import Foundation
from app.service.admin.audit import AUDIT, AuditFiles, AuditLimits, AuditRotation, AuditTrail
from app.service.admin.backup import Backups
from app.service.admin.keys import KeyRing, Keys
from app.service.admin.system import System, SystemOptions
from app.service.fits.admission import Admission, FitLengths
from app.service.fits.bundles import Bundles
from app.service.fits.control import FitControl
from app.service.fits.event_log import Events
from app.service.fits.fits import Fits
from app.service.fits.gradients import Gradients
from app.service.fits.inputs import InputReader
from app.service.fits.limits import FitLimits
from app.service.fits.metrics import Metrics
from app.service.fits.predictions import Predictions
from app.service.fits.replays import Replays
from app.service.fits.retention import Retention, RetentionPolicy
from app.service.fits.revision import FitRevision
from app.service.resources.checkpoints import Checkpoints
from app.service.resources.datasets import Datasets, Ingestion
from app.service.resources.derivations import Derivations
from app.service.resources.exports import Exports
from app.service.resources.graphs import Diagnostics, Graphs
from app.service.resources.idempotency import Idempotency
from app.service.resources.profiles import Profiles
from app.service.sessions.creation import SessionCreation, SessionLimits
from app.service.sessions.sessions import Sessions
from app.service.sessions.state import SessionActivity
from app.service.sessions.step_files import SavedCheckpoints, StepInputs
from app.service.sessions.steps import SessionSteps


@dataclass(frozen=True, slots=True)
class Housekeeping:
    """What is done from time to time, and the keys that it refreshes."""

    retention: Retention
    rotation: AuditRotation
    ring: KeyRing


def build_housekeeping(base: Foundation) -> Housekeeping:
    """Connect retention, the rotation of the audit trail, and the keys."""
    opened, settings = base.opened, base.opened.settings
    policy = RetentionPolicy(settings.retention_days, settings.retention_fits)
    audit_files = AuditFiles(settings.data_dir.resolve() / AUDIT, opened.durable)
    key = None if settings.api_key is None else settings.api_key.get_secret_value().encode()
    return Housekeeping(
        Retention(opened.store, base.storage.sweeper, base.notifier, policy, opened.clock),
        AuditRotation(opened.store, audit_files, AuditLimits(settings.audit_entries, settings.audit_files)),
        KeyRing(opened.clock, key),
    )


def build_services(base: Foundation, processes: Processes, housekeeping: Housekeeping) -> Services:
    """Connect the use cases."""
    opened, storage, notifier = base.opened, base.storage, base.notifier
    settings, store, supervisor, rotation = opened.settings, opened.store, processes.supervisor, housekeeping.rotation
    graph = graph_limits(settings)
    ingestion = Ingestion(
        storage.blobs, storage.scratch, storage.space, ingest_limits(settings), opened.clock, opened.readers
    )
    limits = FitLimits(
        settings.max_queue, settings.attempts_max, settings.fair_share_label, graph, settings.tenant_queue
    )
    lengths = FitLengths(settings.max_epochs, settings.max_steps)
    admission = Admission(settings.gradients_max_bytes, base.memory_config, lengths)
    fits = Fits(storage, ingestion, notifier, supervisor, limits, admission)
    inputs = InputReader(store, ingestion, opened.clock, graph)
    bundles = Bundles(store, storage.integrity)
    checkpoints = Checkpoints(storage)
    keys = Keys(store, housekeeping.ring, settings.max_keys)
    options = SystemOptions(processes.recovery, opened.quarantine, base.memory, opened.membership)
    return Services(
        settings=settings,
        graphs=Graphs(store, opened.clock, graph),
        diagnostics=Diagnostics(store),
        computing=processes.compute_pool,
        datasets=Datasets(store, storage.integrity, ingestion, storage.sweeper),
        derivations=Derivations(store, storage.integrity, ingestion, storage.sweeper),
        exports=Exports(store, storage.integrity, ingestion),
        profiles=Profiles(store, storage.integrity, ingestion),
        fits=fits,
        fit_control=FitControl(store, notifier, supervisor, limits),
        fit_revision=FitRevision(store, inputs, notifier, supervisor, limits, admission),
        metrics=Metrics(store),
        events=Events(store, notifier, settings.event_heartbeat_seconds),
        checkpoints=checkpoints,
        predictions=Predictions(storage, checkpoints, ingestion),
        bundles=bundles,
        replays=Replays(store, bundles.of_fit, fits.submit),
        gradients=Gradients(store, storage.integrity),
        idempotency=Idempotency(store, timedelta(days=settings.idempotency_days)),
        sessions=_sessions(base, processes, graph),
        backups=Backups(storage, processes.session_files.kept, rotation, server_version()),
        keys=keys,
        audit=AuditTrail(store),
        system=System(store, notifier, supervisor, storage.space, options),
    )


def _sessions(base: Foundation, processes: Processes, graph: engine.GraphLimits) -> Sessions:
    opened, storage, settings = base.opened, base.storage, base.opened.settings
    dirs, pool = processes.session_dirs, processes.session_pool
    activity = SessionActivity(opened.store, opened.clock, processes.ownership)
    saves = SavedCheckpoints(opened.store, storage.blobs, storage.sweeper, storage.space, opened.clock)
    steps = SessionSteps(storage, StepInputs(opened.store, storage.integrity), saves, dirs, pool, activity)
    limits = SessionLimits(settings.max_sessions, settings.tenant_sessions, base.memory_config, graph)
    creation = SessionCreation(storage, base.notifier, limits)
    return Sessions(storage, creation, steps, activity, processes.session_files, pool)
