"""The settings as the limits of those who enforce them: the engine, and the readers of uploads."""

import engine
from app.config.bounds import Bounds
from app.config.settings import Settings
from app.ingest.limits import IngestLimits


def graph_limits(bounds: Bounds) -> engine.GraphLimits:
    """Return what a new graph has to be within."""
    return engine.GraphLimits(
        nodes=bounds.max_graph_nodes,
        inputs_per_node=bounds.max_node_inputs,
        rank=bounds.max_rank,
        elements=bounds.max_elements,
        parameter_elements=bounds.max_parameter_elements,
        program_characters=bounds.max_program_characters,
    )


def ingest_limits(settings: Settings) -> IngestLimits:
    """Return what an upload has to be within, and the process that reads it."""
    return IngestLimits(
        max_expanded_bytes=settings.max_expanded_bytes,
        max_rows=settings.max_rows,
        max_columns=settings.max_columns,
        max_rank=settings.max_rank,
        max_members=settings.max_zip_members,
        max_ratio=settings.max_zip_ratio,
        max_depth=settings.max_json_depth,
        max_record_bytes=settings.max_record_bytes,
        max_classes=settings.max_classes,
        memory_bytes=settings.ingest_memory_bytes,
        cpu_seconds=settings.ingest_cpu_seconds,
    )
