"""What a session is worked on with: the verbs of its kind, and how to put what they have made aside and take it up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]

Lasts = Literal["log", "snapshot"]
"""How what a verb does outlives the process: its step is in the log and is carried out again, or, where that would need
a file of the server, a snapshot is written right after it."""


class Writable(Protocol):
    """What takes bytes."""

    def write(self, data: bytes, /) -> object:
        """Take all of `data`."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a verb.

    Attributes:
        options: what the client said, checked by its shape; arrays among them are as JSON has them.
        arrays: those of a binary body by name; "" is the name of one that came as `.npy`.
        seq: the place of the step in the order of steps, None for one that only reads.
        files: local paths of files that the options name, by field.
        accept: the type that the answer should have, for those that it makes a difference to.
        hand_over: has a file written for the server to take over, and returns its name when it is on the disk.
    """

    options: Mapping[str, Any]
    arrays: Mapping[str, Array]
    seq: int | None
    files: Mapping[str, str]
    accept: str
    hand_over: Callable[[Callable[[Writable], None]], str]


@dataclass(frozen=True, slots=True)
class Result:
    """What a verb answers.

    `document` is plain data with arrays and floats of any value in it, one array, or None. In JSON arrays become
    tensors, and numbers that are not finite null, with their names beside; in safetensors and `.npy` arrays stand by
    themselves. A text is the answer as it is.
    `file` is the name of a file that was handed over.
    """

    document: dict[str, Any] | Array | str | None = field(default_factory=dict)
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Verb:
    """How to carry out a verb.

    `run` changes nothing if it raises an EngineError, an AdjointError or a MemoryError, which become the answer; after
    any other error the session is taken up again from the disk. What it does must follow from the bench and the call
    alone, to the bit. A verb with `lasts` of None only reads.
    """

    run: Callable[[Call], Result]
    lasts: Lasts | None = None


class Bench(Protocol):
    """A session's arrays and verbs. One call at a time."""

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """The verbs by name; "batch" and "operation" are the session's own, whatever its kind."""
        ...

    @property
    def standing(self) -> dict[str, Any]:
        """Where it is: `step` (of the optimizer), `passes`, and `tapes`, how many there are."""
        ...

    @property
    def holds(self) -> bool:
        """Whether it holds something that is in no snapshot, tapes for instance, and that a replay makes again."""
        ...

    def let_go(self) -> None:
        """Give up what is in no snapshot: it has been held for too long."""
        ...

    def attach(
        self,
        dataset: str,
        columns: Mapping[str, list[str]],
        names: Mapping[str, list[str]] | None = None,
        classes: Mapping[str, Any] | None = None,
    ) -> None:
        """Let steps take rows of a dataset: for each column the paths of its files, for text its class names.

        `classes` are those of the model by input, where the dataset has added some.
        """
        ...

    def start_from(self, path: Path, *, parameters_only: bool) -> None:
        """Begin a new session with a checkpoint.

        Raises:
            EngineError: it does not suit.
        """
        ...

    def snapshot(self, file: Writable) -> None:
        """Write all that the next steps depend on to an open file, but for what `holds` tells of."""
        ...

    def restore(self, path: Path) -> Mapping[str, Any]:
        """Take up what `snapshot` wrote, and return the fingerprint that it was computed with.

        Raises:
            EngineError: it is damaged.
        """
        ...
