"""Which pages are generated, and which of them are out of date."""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from tools.docs.catalogue import catalogue_pages
from tools.docs.http import http_pages
from tools.docs.inventory import DOCS as REFERENCE
from tools.docs.inventory import errors_page, limits_page
from tools.docs.kernels import FILE as KERNELS
from tools.docs.kernels import kernels_page
from tools.docs.markdown import NOTE
from tools.docs.ops import op_pages
from tools.docs.settings import settings_page

__all__ = ["REFERENCE", "generated", "outdated"]

SINGLE: Mapping[str, Callable[[], str]] = MappingProxyType(
    {"errors.md": errors_page, "limits.md": limits_page, "settings.md": settings_page, KERNELS: kernels_page}
)


@cache
def generated() -> Mapping[str, str]:
    """Return the text of each generated page, by its path in docs/reference."""
    single = {path: write() for path, write in SINGLE.items()}
    return MappingProxyType({**single, **catalogue_pages(), **op_pages(), **http_pages()})


def outdated() -> list[str]:
    """Return the pages that are missing, differ from the code, or describe what is gone."""
    texts = generated()
    kept = {str(path.relative_to(REFERENCE)): path.read_text("utf-8") for path in REFERENCE.rglob("*.md")}
    gone = [path for path, text in kept.items() if NOTE in text and path not in texts]
    return sorted([*gone, *(path for path, text in texts.items() if kept.get(path) != text)])
