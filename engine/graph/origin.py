"""Where an operation of a trace comes from: the node of the definition, and the pass."""

from typing import Literal, NamedTuple

Kind = Literal["forward", "backward", "update"]


class Origin(NamedTuple):
    """The node of the definition that an operation is part of or, if backward, that it differentiates.

    `node` is empty for what belongs to none: windows on parameters, metrics, the update.
    """

    node: str = ""
    kind: Kind = "forward"


NONE = Origin()
"""The origin of what is in no trace of a definition."""
