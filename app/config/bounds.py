"""The sizes of what clients send that an operator may set: each of them a setting, all of them together.

Where a contract or the machine's safety sets the most, that is the default, and a setting can only lower it.
"""

from pydantic import BaseModel, Field

KIB = 1024
MIB = 1024**2
GIB = 1024**3


class Bounds(BaseModel):
    """Part of the settings (`app.config.settings`); `app.main.limits` passes each bound on to what enforces it."""

    max_headers: int = Field(default=100, ge=10, le=1000, description="Maximum number of request headers.")
    max_header_bytes: int = Field(
        default=64 * KIB, ge=4 * KIB, le=MIB, description="Maximum size of all request headers together, in bytes."
    )
    max_uri_bytes: int = Field(
        default=8 * KIB, ge=KIB, le=64 * KIB, description="Maximum length of path and query together, in bytes."
    )
    max_page: int = Field(
        default=1000,
        ge=1,
        le=1000,
        description="Maximum items per page of a list; a larger `limit` is reduced to this.",
    )
    max_json_depth: int = Field(default=64, ge=16, le=64, description="Maximum nesting depth of JSON.")
    max_json_fields: int = Field(
        default=100_000, ge=100, le=10_000_000, description="Maximum number of keys in all objects of a JSON body."
    )
    max_text_characters: int = Field(
        default=MIB, ge=KIB, description="Maximum length of a string in a JSON body, in characters."
    )

    max_graph_nodes: int = Field(default=10_000, ge=1, le=10_000, description="Maximum number of nodes of a graph.")
    max_node_inputs: int = Field(default=1000, ge=1, le=1000, description="Maximum number of inputs of a node.")
    max_rank: int = Field(
        default=8, ge=1, le=8, description="Maximum number of axes of a value in a graph, or of a column's rows."
    )
    max_elements: int = Field(
        default=2**31, ge=1, le=2**31, description="Maximum number of elements of a value in a graph."
    )
    max_parameter_elements: int = Field(
        default=10**9,
        ge=1,
        le=10**9,
        description="Maximum number of elements of all parameters and buffers of a graph.",
    )
    max_program_characters: int = Field(
        default=200_000, ge=KIB, le=200_000, description="Maximum length of a program, in characters."
    )
    max_epochs: int = Field(default=10**6, ge=1, le=10**6, description="Maximum epochs of a fit.")
    max_steps: int = Field(default=10**9, ge=1, description="Maximum steps of a fit, also if `epochs` is given.")

    max_zip_members: int = Field(default=256, ge=1, le=65_535, description="Maximum number of arrays in a .npz upload.")
    max_zip_ratio: int = Field(
        default=200, ge=1, le=1032, description="Maximum compression ratio of an array in a .npz upload."
    )
    max_record_bytes: int = Field(
        default=4 * MIB, ge=KIB, description="Maximum length of a line of CSV or NDJSON, in bytes."
    )
    max_classes: int = Field(
        default=10_000, ge=2, description="Maximum number of distinct texts in a column of classes."
    )
    ingest_memory_bytes: int = Field(
        default=512 * MIB, ge=256 * MIB, description="Memory limit of the process that parses an upload, in bytes."
    )
    ingest_cpu_seconds: int = Field(
        default=30,
        ge=1,
        le=3600,
        description="Grace period of that process before it must parse 4 MiB per second, in CPU seconds.",
    )

    max_keys: int = Field(
        default=10_000, ge=1, le=1_000_000, description="Maximum number of API keys that are not revoked."
    )
    idempotency_days: float = Field(
        default=7.0, gt=0, le=365, description="Days for which the answer to an Idempotency-Key is kept."
    )
