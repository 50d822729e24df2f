"""A call of one of our ops, as it comes of a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class NotOffered(Exception):
    """The sample asks for something that our op does not have, by design; the text names it."""


@dataclass
class Call:
    """A call of one of our ops: its inputs by PyTorch's names, in our order, and its attributes."""

    op: str
    inputs: dict[str, Any]
    attrs: dict[str, Any]

    def order(self, *names: str) -> None:
        """Put the inputs in this order and drop the others."""
        self.inputs = {name: self.inputs[name] for name in names}

    def drop(self, name: str, default: Any, why: str) -> None:
        """Take out an attribute that only `default` is offered of."""
        if self.attrs.pop(name, default) != default:
            raise NotOffered(why)


def plain(value: Any) -> Any:
    """Turn sizes, tuples and numbers of an attribute into what JSON holds."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if is_tensor(value):
        if value.ndim == 0 and not value.requires_grad:
            return value.item()
        raise NotOffered("a tensor where our attribute is a number")
    if str(value).startswith("torch."):
        raise NotOffered(f"{value} in place of float64")
    raise NotOffered(f"an argument of type {type(value).__name__}")


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of PyTorch, which need not be installed."""
    return hasattr(value, "requires_grad")
