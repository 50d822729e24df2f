"""Removes submitted values from errors: an error says where and what is wrong, not what was sent.

Below this layer errors name the value, for whoever calls from Python. A client knows what it has sent; what reads its
errors, a log or a page, must not be made to show that.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from app.domain.errors import ApiError

PLACEHOLDER = "'…'"
LARGEST = 1e308
SHOWN_MAX = 64
"""Characters of a value that an error shows at most."""

FIELDS_MAX = 64
"""Fields of an object that are looked at: options are fewer, and one error must not cost what 100,000 fields do."""


def redact(error: ApiError, document: Any) -> ApiError:
    """Return `error` as it may be told to the client who sent `document`."""
    before = error.findings
    error.findings = tuple(
        replace(finding, detail=_without(finding.detail, _sent(document, finding.pointer))) for finding in before
    )
    if len(before) == 1 and error.detail == before[0].detail:
        error.detail = error.findings[0].detail
    return error


def _sent(document: Any, pointer: str) -> Any:
    """Return what a JSON pointer leads to; None if that is nothing."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document.get(name)
        elif isinstance(document, Sequence) and not isinstance(document, str):
            document = document[int(name)] if name.isdecimal() and int(name) < len(document) else None
        else:
            return document  # a short form of the value that the pointer names
    return document


def _without(detail: str, sent: Any) -> str:
    """Remove a value, or those of the fields of an object, from the detail of an error."""
    for value in islice(sent.values(), FIELDS_MAX) if isinstance(sent, Mapping) else (sent,):
        if isinstance(value, str):
            for quoted in (repr(value), repr(value[:SHOWN_MAX]), repr(value)[:SHOWN_MAX]):
                detail = detail.replace(quoted, PLACEHOLDER)
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST:
            # A bare number may be the limit as well.
            for quoted in (f", not {value!r}", f", not {float(value)!r}"):
                if quoted in detail:
                    detail = re.sub(rf"{re.escape(quoted)}(?![0-9.])", "", detail)
    return detail
