"""Reading strict documents: every fault is noted with its JSON pointer, and reading goes on to find the next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.core.attributes import check
from engine.core.errors import DocumentError, EngineError, Finding, escape, nearest

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-/]*\Z")
"""What an input, parameter, node or layer may be called."""
NAME_RULE = "a name is a letter or _, then letters, digits and _ . - /"
FAULTS = 100
"""Reading stops after this many errors."""


class Reader:
    """Collects the faults of one document."""

    def __init__(self) -> None:
        """Start without faults."""
        self.findings: list[Finding] = []

    def fault(self, pointer: str, code: str, detail: str) -> None:
        """Note one fault."""
        self._note([Finding(pointer, code, detail)])

    def error(self, pointer: str, error: EngineError) -> None:
        """Note an engine error at `pointer`; the findings of a document error keep their own pointers below it."""
        if isinstance(error, DocumentError):
            self._note([Finding(pointer + f.pointer, f.code, f.detail) for f in error.findings])
        else:
            self.fault(pointer + error.place, error.code, str(error))

    def _note(self, findings: Iterable[Finding]) -> None:
        self.findings += findings
        if len(self.findings) >= FAULTS:
            self.finish()

    def finish(self) -> None:
        """Raise what was found, if anything."""
        if self.findings:
            raise DocumentError(self.findings)

    def mapping(self, value: Any, pointer: str) -> Mapping[str, Any]:
        """Return `value` if it is an object, else note the fault and return an empty one."""
        if isinstance(value, Mapping):
            return value
        self.fault(pointer, "type_mismatch", f"must be an object, not {type_name(value)}")
        return {}

    def sequence(self, value: Any, pointer: str) -> Sequence[Any]:
        """Return `value` if it is a list, else note the fault and return an empty one."""
        if isinstance(value, list | tuple):
            return value
        self.fault(pointer, "type_mismatch", f"must be a list, not {type_name(value)}")
        return ()

    def fields(
        self, document: Mapping[str, Any], pointer: str, known: Iterable[str], required: Iterable[str] = ()
    ) -> None:
        """Note unknown and missing fields of an object."""
        known = tuple(known)
        for name in document:
            if name not in known:
                hint = nearest(str(name), known) or f"; known are {', '.join(known)}"
                self.fault(f"{pointer}/{escape(name)}", "unknown_field", f"unknown field{hint}")
        for name in required:
            if name not in document:
                self.fault(pointer, "missing_field", f"the field {name!r} is required")

    def typed(self, value: Any, type_: Any, pointer: str, what: str, default: Any = None) -> Any:
        """Return `value` as `type_` (see engine.core.attributes), or note the fault and return `default`."""
        try:
            return check(what, type_, value)
        except EngineError as error:
            self.error(pointer, error)
            return default


def type_name(value: Any) -> str:
    """Name the JSON type of a value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")
