"""What a session of kind "static" is made with, on the wire: ggml's parameters of contexts, graphs and thread pools."""

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.shapes import RequestShape

SIZE_MAX = 2**20
SIZE_DEFAULT = 2048
MEM_MAX = 2**36
EXTENT_MAX = 2**31
DIMS_MAX = 64
THREADS_MAX = 512
CPUS_MAX = 512
POLL_MAX = 100

Size = Annotated[int, Field(ge=1, le=SIZE_MAX)]
Order = Literal["left_to_right", "right_to_left"]
Name = Annotated[str, Field(min_length=1, max_length=63)]


class ThreadpoolChoice(RequestShape):
    """The fields of ggml_threadpool_params."""

    n_threads: Annotated[int, Field(ge=1, le=THREADS_MAX)] = Field(
        default=4, description="Threads, cut to what the machine has, with a warning."
    )
    cpumask: Annotated[list[int] | list[bool], Field(max_length=CPUS_MAX)] = Field(
        default=[], description="Numbers of the CPUs they may run on, or a truth value for each; none: all."
    )
    prio: Annotated[int, Field(ge=-1, le=3)] | Literal["low", "normal", "medium", "high", "realtime"] = Field(
        default="normal", description="How the system schedules them: a name, or -1 (low) to 3 (realtime)."
    )
    poll: Annotated[int, Field(ge=0, le=POLL_MAX)] = Field(
        default=50, description="How long a thread without work looks for some before it sleeps; 0: not at all."
    )
    strict_cpu: bool = Field(default=False, description="Whether each thread is bound to one CPU of the mask.")
    paused: bool = Field(default=False, description="Whether it begins paused.")


class StaticChoice(RequestShape):
    """Options of a session of kind "static"."""

    dims: Annotated[dict[str, Annotated[int, Field(ge=0, le=EXTENT_MAX)]], Field(max_length=DIMS_MAX)] | None = Field(
        default=None, description="A number for each extent that the graph names."
    )
    size: Size | None = Field(
        default=None, description=f"Nodes, and leafs, that the first graph holds at most; default {SIZE_DEFAULT}."
    )
    grads: bool | None = Field(default=None, description="Whether it can be differentiated; default true.")
    order: Order | None = Field(
        default=None, description="Which input of a node is visited first; default left_to_right."
    )
    mem_size: Annotated[int, Field(ge=1, le=MEM_MAX)] | None = Field(
        default=None, description="Bytes of the context that tensors and graphs are charged to; by default no bound."
    )
    no_alloc: bool | None = Field(
        default=None, description="Whether the context is not charged for the elements of tensors; default false."
    )
    training: bool | None = Field(
        default=None, description="Whether dropout drops and batch norm uses the batch's statistics; default true."
    )
    threadpool: ThreadpoolChoice | None = Field(
        default=None, description="A pool that graphs are computed on; by default threads are made when needed."
    )
