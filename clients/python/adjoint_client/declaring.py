"""Methods that are made of functions: the verbs of sessions and pipelines, each declared once."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def declared(method: Method, build: Callable[..., Any]) -> Method:
    """Give a method the name, the documentation and the arguments of the function that it passes its arguments to."""
    signature = inspect.signature(build)
    receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    signature_of_method = signature.replace(parameters=[receiver, *signature.parameters.values()])
    method.__name__, method.__doc__ = build.__name__, build.__doc__
    method.__signature__ = signature_of_method  # type: ignore[attr-defined]  # where inspect looks first
    return method
