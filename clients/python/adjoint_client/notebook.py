"""What notebooks show of a fit: a card with its state, its latest values, and a curve."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from adjoint_client.errors import AdjointError
from adjoint_client.progress import duration, is_headline

if TYPE_CHECKING:
    from adjoint_client.generated.records import Fit

Points = Sequence[tuple[int, float]]

_WIDTH, _HEIGHT, _MARGIN = 320, 96, 4
_COLORS = ("#3b6fb6", "#d1782e")


class Displayed:
    """A fit that notebooks show with its curve."""

    info: Fit

    @abstractmethod
    def html(self) -> str:
        """Return the card of the fit, with its curve."""

    def _repr_html_(self) -> str:
        try:
            return self.html()
        except AdjointError:  # the server is away: what is known is shown
            return fit_card(self.info, {})


class AsyncDisplayed:
    """A fit that notebooks show without its curve, since they do not wait for requests; `await fit.html()` has it."""

    info: Fit

    def _repr_html_(self) -> str:
        return fit_card(self.info, {})


def fit_card(info: Fit, curves: Mapping[str, Points]) -> str:
    """Return a fit as HTML: state, steps, latest values, and the curves by name."""
    values = {name: value for name, value in info.latest.items() if is_headline(name) and "/" not in name}
    facts = [f"step {info.step} of {info.total_steps}", f"epoch {info.epoch}"]
    facts += [f"{name} {'none' if value is None else format(value, '.4g')}" for name, value in values.items()]
    if info.phase == "compiling" and not info.terminal:
        facts.append("compiling kernels")
    elif not info.terminal and info.eta_seconds is not None:
        facts.append(f"ETA {duration(info.eta_seconds)}")
    text = f"<b>{escape(info.id)}</b> {escape(info.state)}<br>{escape(', '.join(facts))}"
    if info.error is not None:
        text += f"<br><code>{escape(info.error.code)}</code>: {escape(info.error.detail)}"
    return f'<div style="font-family:sans-serif">{text}<br>{curves_svg(curves)}</div>'


def progress_card(label: str, done: int, total: int) -> str:
    """Return a line of progress as HTML, with a bar."""
    return f'<progress value="{done}" max="{max(total, 1)}"></progress> <code>{escape(label)}</code>'


def curves_svg(curves: Mapping[str, Points]) -> str:
    """Return curves as an inline SVG image with their names; "" if there are not two finite points in one."""
    finite = {name: [point for point in points if math.isfinite(point[1])] for name, points in curves.items()}
    drawn = {name: points for name, points in finite.items() if len(points) > 1}
    if not drawn:
        return ""
    everything = [point for points in drawn.values() for point in points]
    steps, values = [step for step, _ in everything], [value for _, value in everything]
    parts: list[str] = []
    names: list[str] = []
    for (name, points), color in zip(drawn.items(), _COLORS, strict=False):
        placed = " ".join(
            f"{_place(step, steps, _WIDTH):.1f},{_HEIGHT - _place(value, values, _HEIGHT):.1f}"
            for step, value in points
        )
        parts.append(f'<polyline points="{placed}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        names.append(f'<span style="color:{color}">{escape(name)}</span>')
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    bounds = f"{min(values):.4g} to {max(values):.4g}"
    image = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'
    return f"{image}<br><small>{', '.join(names)}: {bounds}</small>"


def _place(value: float, among: Sequence[Any], extent: int) -> float:
    low, high = min(among), max(among)
    share = (value - low) / (high - low) if high > low else 0.5
    return _MARGIN + share * (extent - 2 * _MARGIN)
