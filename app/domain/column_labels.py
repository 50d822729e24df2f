"""Labels of columns, as files have them, and the identifiers that are derived from them.

An identifier follows from its label alone: the same label has the same identifier in every table, so that columns of
training, validation and prediction tables are matched without further knowledge.
A label that is an identifier already is its own. Others keep what is legible of them, followed by six hexadecimal
digits of the SHA-256 of the label: "Größe (cm)" becomes `Grosse_cm_` and such digits.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import Any

from app.domain.errors import ApiError

LONGEST_LABEL = 200
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,62}", re.ASCII)
_LEGIBLE_CHARACTERS, _DIGITS = 56, 6
_PLAIN = re.compile(r"[A-Za-z0-9_.\-]", re.ASCII)
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "Æ": "Ae", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D"})
_PATH = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)")
_FORMULA = re.compile(r"=|[+\-@][^|!]*[|!]")
"""What a spreadsheet would compute: a label that begins so is no name."""
_QUOTED = re.compile(r"'([A-Za-z_][A-Za-z0-9_.\-]{0,62})'(?!\s\()", re.ASCII)


def is_identifier(name: str) -> bool:
    """Tell whether a label is its own identifier."""
    return _IDENTIFIER.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def column_identifier(label: str) -> str:
    """Return the identifier of a label, 1 to 63 of A-Z a-z 0-9 _ . - after a letter or _.

    Equivalent characters (Unicode NFC) and other white space around or between words make no difference.
    """
    canonical = " ".join(unicodedata.normalize("NFC", label).split())
    if is_identifier(canonical):
        return canonical
    legible = re.sub("_{2,}", "_", "".join(map(_legible, canonical.translate(_LETTERS)))).strip("_")
    legible = legible if legible[:1].isalpha() else f"_{legible}"
    digits = sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{legible[:_LEGIBLE_CHARACTERS].rstrip('_')}_{digits}"


def _legible(character: str) -> str:
    """Return what stands for a character in an identifier: itself, its base letter, its code point, or _."""
    if _PLAIN.match(character):
        return character
    base = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    if base and base.isalnum():
        return base
    return f"u{ord(character):04x}" if character.isalnum() else "_"


def label_fault(label: str) -> str | None:
    """Return why a text cannot name a column, as the rest of a sentence; None if it can."""
    if not label.strip():
        return "a name is empty; give the column a name"
    if len(label) > LONGEST_LABEL:
        return f"a name has at most {LONGEST_LABEL} characters; shorten it"
    if any(map(_is_hidden, label)):
        return "a name holds no control characters, line ends, marks of direction or halves of pairs; remove them"
    if _PATH.search(label) or _FORMULA.match(label):
        return "a name is no path (../) and does not begin as a formula (=); change it"
    return None


def _is_hidden(character: str) -> bool:
    """Tell whether a character cannot be seen, or changes how others are seen."""
    direction = "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069"
    return direction or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def quoted(name: str, label: str | None = None) -> str:
    """Return how a message names a column: by its label, with the identifier if that is another."""
    shown = (label or name)[:64]
    return repr(shown) if label is None or label == name else f"{shown!r} ({name})"


def with_identifiers(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request of a fit or a session with identifiers in place of labels of columns; the rest is as it was.

    Malformed fields are left for those who refuse them. Items of `columns` keep the label beside the identifier.
    """
    made = dict(request)
    if isinstance(request.get("target"), str):
        made["target"] = column_identifier(request["target"])
    _change(made, "feeds", lambda feeds: {name: _identified(column) for name, column in feeds.items()})
    _change(made, "validation", lambda rows: _identified_fields(rows, ("stratify", "group")))
    _change(made, "sampling", lambda rows: _identified_fields(rows, ("weights", "of")))
    _change(made, "windows", lambda windows: _identified_fields(windows, ("within",)))
    _change(made, "columns", lambda section: {name: _section(given) for name, given in section.items()})
    return made


def _change(request: dict[str, Any], field: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
    if isinstance(request.get(field), Mapping):
        request[field] = change(request[field])


def _identified(name: Any) -> Any:
    return column_identifier(name) if isinstance(name, str) and label_fault(name) is None else name


def _identified_fields(document: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {name: _identified(value) if name in fields else value for name, value in document.items()}


def _section(given: Any) -> Any:
    """Return an entry of `columns`."""
    return [_item(each) for each in given] if isinstance(given, list) else _item(given)


def _item(item: Any) -> Any:
    """Return an item of `columns` with identifiers, and the labels beside them where they are others."""
    if isinstance(item, str):
        identifier = _identified(item)
        return item if identifier == item else {"column": identifier, "label": item}
    if not isinstance(item, Mapping):
        return item
    # A label goes with its column: others that are given beside it are left out.
    column, columns, label, labels = map(item.get, ("column", "columns", "label", "labels"))
    if label is not None and _identified(label) != column:
        item = _without(item, "label")
    if isinstance(labels, list) and [*map(_identified, labels)] != columns:
        item = _without(item, "labels")
    if isinstance(column, str) and (identifier := _identified(column)) != column:
        return {**item, "column": identifier, "label": column}
    if isinstance(columns, list) and any(_identified(name) != name for name in columns):
        return {**item, "columns": list(map(_identified, columns)), "labels": columns}
    return item


def _without(item: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    return {name: value for name, value in item.items() if name != field}


def with_labels(section: Any, labels: Mapping[str, str]) -> Any:
    """Return a `columns` section whose items have the labels of their columns; what it gives is kept."""
    if not isinstance(section, Mapping):
        return section
    return {
        name: [_with_label(item, labels) for item in given] if isinstance(given, list) else _with_label(given, labels)
        for name, given in section.items()
    }


def _with_label(item: Any, labels: Mapping[str, str]) -> Any:
    if isinstance(item, str):
        return {"column": item, "label": labels[item]} if item in labels else item
    if not isinstance(item, Mapping) or "label" in item or "labels" in item:
        return item
    column, columns = item.get("column"), item.get("columns")
    if isinstance(column, str) and column in labels:
        return {"column": column, "label": labels[column], **item}
    if isinstance(columns, list) and any(isinstance(name, str) and name in labels for name in columns):
        return {**item, "labels": [labels.get(name, name) if isinstance(name, str) else name for name in columns]}
    return item


@contextmanager
def faults_by_label(labels: Mapping[str, str]) -> Iterator[None]:
    """Add the labels of columns to what is raised within the block, where it quotes their identifiers."""
    try:
        yield
    except ApiError as error:
        if labels:
            error.detail = labelled(error.detail, labels)
            error.findings = tuple(replace(each, detail=labelled(each.detail, labels)) for each in error.findings)
        raise


def labels_of(section: Any) -> dict[str, str]:
    """Return the labels of the columns that a `columns` section names, by their identifiers."""
    given = section.values() if isinstance(section, Mapping) else ()
    items = [
        item for each in given for item in (each if isinstance(each, list) else [each]) if isinstance(item, Mapping)
    ]
    pairs = [(item.get("column"), item.get("label")) for item in items]
    for item in items:
        pairs += zip(item.get("columns") or (), item.get("labels") or (), strict=False)
    return {name: label for name, label in pairs if name and label}


def labelled(detail: str, labels: Mapping[str, str]) -> str:
    """Return a message with the labels of columns in place of the identifiers that it quotes."""
    return _QUOTED.sub(lambda match: quoted(match[1], labels.get(match[1])), detail)
