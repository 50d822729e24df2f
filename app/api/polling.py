"""The question that clients ask most, how a fit is doing: what has not changed since is told from memory."""

import threading
from collections import OrderedDict

from fastapi import Request, Response

from app.api.deps import services_of
from app.api.routing import Handler, StrictRoute
from app.api.schemas.fits import Fit
from app.http.responses import JsonResponse, matches, not_modified
from app.service.fits.view import FitView

MAX_ENCODED = 1024


class EncodedFits:
    """The answers about the fits that were asked for last, each as long as its view is the present one."""

    def __init__(self) -> None:
        """Start without any."""
        self._lock = threading.Lock()
        self._encoded: OrderedDict[str, tuple[FitView, bytes]] = OrderedDict()

    def of(self, view: FitView) -> bytes:
        """Return the JSON of a fit."""
        with self._lock:
            known = self._encoded.get(view.fit.id)
            if known is not None and known[0] is view:
                self._encoded.move_to_end(view.fit.id)
                return known[1]
        encoded = Fit.of(view).model_dump_json().encode()
        with self._lock:
            self._encoded[view.fit.id] = view, encoded
            if len(self._encoded) > MAX_ENCODED:
                self._encoded.popitem(last=False)
        return encoded


class PolledRoute(StrictRoute):
    """The route of a fit. A question without conditions, about a fit that is in memory, is answered there and then:
    its id is known to be one, so that there is nothing left to check.
    """

    def make_handler(self) -> Handler:
        """Wrap the handler that knows what to do about all other questions."""
        handle = super().make_handler()

        async def polled(request: Request) -> Response:
            if not request.scope["query_string"]:
                view = services_of(request).fits.known(request.path_params["fit_id"])
                if view is not None:
                    return fit_answer(request, view)
            return await handle(request)

        return polled


def fit_answer(request: Request, view: FitView) -> Response:
    """Show a fit, unless the client has it as it is."""
    tag = tag_of(view)
    if matches(request.headers.get("if-none-match"), tag):
        return not_modified(tag)
    encoded: EncodedFits = request.app.state.encoded_fits
    return JsonResponse(encoded.of(view), headers={"ETag": tag})


def tag_of(view: FitView) -> str:
    """Return the entity tag of a fit, which changes with its version."""
    return f'"{view.fit.version}"'
