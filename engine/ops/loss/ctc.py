"""Connectionist temporal classification (Graves et al. 2006): the likelihood of a label over all its alignments."""

from __future__ import annotations

from functools import reduce

import numpy as np

from engine.core.attributes import Count
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION, Sharding
from engine.core.dtypes import BOOL, FLOAT16, FLOAT32, INT64, computing_dtype
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.losses import Loss, LossOperand, target
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, Sample, integers, sample
from engine.core.shape_rules import require_float, require_integer
from engine.core.sharding_rules import Case, Cut, batch_axes
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.casting import cast, stop_gradient
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import clamp, exp, log, maximum
from engine.ops.elementwise.rounding import isinf
from engine.ops.index.index import gather, scatter_add
from engine.ops.loss.loss import Reduction, reduce_losses
from engine.ops.recurrent.steps import at, join_rows, running_rows
from engine.ops.reduce.reduce import logsumexp
from engine.ops.shape.shape import concat, reshape, slice, stack, unsqueeze

IMPOSSIBLE = -1e30
"""Replaces the logarithm of 0 in derivatives: differences of it are 0 and not NaN."""


def _check(op: str, log_probs: Value, targets: Value, input_lengths: Value, target_lengths: Value, blank: int) -> None:
    require_float(op, log_probs)
    if log_probs.ndim != 3 or not log_probs.shape[0]:
        raise ShapeError(f"{op}: log_probs {list(log_probs.shape)} must have the shape [steps, rows, classes]")
    _check_lengths(op, targets, input_lengths, target_lengths, log_probs.shape[1])
    _check_blank(op, blank, log_probs.shape[2])


def _check_lengths(op: str, targets: Value, input_lengths: Value, target_lengths: Value, rows: int) -> None:
    for name, value in (("targets", targets), ("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        require_integer(op, name, value)
    if not (targets.ndim == 1 or (targets.ndim == 2 and targets.shape[0] == rows)):
        raise ShapeError(
            f"{op}: targets {list(targets.shape)} must have the shape [{rows}, longest], or [total] one after another"
        )
    if not input_lengths.shape == target_lengths.shape == (rows,):
        raise ShapeError(
            f"{op}: input_lengths {list(input_lengths.shape)} and target_lengths {list(target_lengths.shape)} must "
            f"hold one number for each of {rows} rows"
        )


def _check_blank(op: str, blank: int, classes: int) -> None:
    if not 0 <= blank < classes:
        raise AttributeValueError(f"{op}: blank {blank} must be one of the classes 0..{classes - 1}")


def _labels(op: str, targets: Array, target_lengths: Array, input_lengths: Array, steps: int, classes: int) -> Array:
    """Check lengths and classes and return the targets as rows of one length, padded with 0."""
    for name, lengths, most in (
        ("input", input_lengths, steps),
        ("target", target_lengths, targets.shape[-1] if targets.ndim == 2 else targets.size),
    ):
        bad = lengths[(lengths < 0) | (lengths > most)]
        if bad.size:
            raise ShapeError(f"{op}: {name} length {int(bad[0])} is out of range; use 0..{most}")
    width = int(target_lengths.max(initial=0))
    inside = np.arange(width) < target_lengths[:, None]
    if targets.ndim == 2:
        labels = np.where(inside, targets[:, :width], 0)
    else:
        if int(target_lengths.sum()) != targets.size:
            raise ShapeError(f"{op}: target_lengths add up to {int(target_lengths.sum())}, not to {targets.size}")
        labels = np.zeros(inside.shape, np.int64)
        labels[inside] = targets
    bad = labels[(labels < 0) | (labels >= classes)]
    if bad.size:
        raise ShapeError(f"{op}: label {int(bad[0])} is out of range for {classes} classes")
    return labels.astype(np.int64)


def _lattice(labels: Array, lengths: Array, blank: int) -> tuple[Array, Array, Array, Array]:
    """The states of the alignment: their classes (blank, label, blank, ...), which may be reached from two before,
    in which one may start and in which one may end. All [rows, 2 * longest + 1].
    """
    rows, width = labels.shape
    states = np.full((rows, 2 * width + 1), blank, np.int64)
    states[:, 1::2] = labels
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    place, last = np.arange(2 * width + 1), 2 * lengths[:, None]
    ends = (place == last) | (place == last - 1)
    starts = (place == 0) | ((place == 1) & (last > 0))
    return states, skips, starts, ends


def _log_sum(*terms: Array) -> Array:
    top = reduce(np.maximum, terms)
    top = np.where(top == -np.inf, 0, top)
    total = sum((np.exp(term - top) for term in terms[1:]), start=np.exp(terms[0] - top))
    return np.asarray(np.log(total) + top)


def _moved(x: Array, by: int) -> Array:
    """Return x [rows, states] shifted to the right (or to the left, if `by` is negative), filled with -inf."""
    result = np.full_like(x, -np.inf)
    if by > 0:
        result[:, by:] = x[:, :-by]
    else:
        result[:, :by] = x[:, -by:]
    return result


def _forward(emissions: Array, lattice: tuple[Array, ...], input_lengths: Array) -> tuple[Array, Array]:
    """The likelihoods (logarithms) of being in each state after each step, and of the whole label: alpha and [rows]."""
    _, skips, starts, ends = lattice
    alpha = np.full(emissions.shape, -np.inf, emissions.dtype)
    now = np.where(starts, emissions[0], -np.inf)
    alpha[0] = now
    for t in range(1, len(emissions)):
        new = _log_sum(now, _moved(now, 1), np.where(skips, _moved(now, 2), -np.inf)) + emissions[t]
        now = np.where((t < input_lengths)[:, None], new, now)
        alpha[t] = now
    # Without steps only the empty label is possible.
    now = np.where((input_lengths == 0)[:, None], np.where(starts & (np.arange(now.shape[1]) == 0), 0.0, -np.inf), now)
    return alpha, _log_sum(*np.where(ends, now, -np.inf).T)


def _backward(emissions: Array, lattice: tuple[Array, ...], input_lengths: Array) -> Array:
    """The likelihoods (logarithms) of what follows each step, given the state there: beta."""
    _, skips, _, ends = lattice
    beta = np.full(emissions.shape, -np.inf, emissions.dtype)
    final = np.where(ends, 0.0, -np.inf).astype(emissions.dtype)
    after = _moved(skips.astype(emissions.dtype), -2) == 1
    for t in range(len(emissions) - 1, -1, -1):
        if t < len(emissions) - 1:
            rest = beta[t + 1] + emissions[t + 1]
            beta[t] = _log_sum(rest, _moved(rest, -1), np.where(after, _moved(rest, -2), -np.inf))
        beta[t] = np.where(np.equal(input_lengths, t + 1)[:, None], final, beta[t])
        beta[t][input_lengths <= t] = -np.inf
    return beta


def _prepared(
    op: str, log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, blank: int
) -> tuple[Array, tuple[Array, Array, Array, Array]]:
    """Return the log-probabilities of the states at each step [steps, rows, states], and the lattice."""
    labels = _labels(op, targets, target_lengths, input_lengths, len(log_probs), log_probs.shape[2])
    lattice = _lattice(labels, target_lengths, blank)
    wide = log_probs.astype(FLOAT32) if log_probs.dtype == FLOAT16 else log_probs
    return np.take_along_axis(wide, lattice[0][None], axis=2), lattice


def _by_rows(inputs: str, output: str) -> Sharding:
    """Return the rules of rows; labels of all rows in one list cannot be split."""
    rules = batch_axes(inputs, output)

    def split(case: Case) -> Cut | None:
        return rules.split(case) if len(case.shapes[-3]) == 2 else None

    return Sharding(split)


def _lists(*shape: int, low: int = 1, high: int = 3) -> Argument:
    return integers(low, high, *shape)


def _samples(*more: Argument) -> list[Sample]:
    return [
        sample(*more, (4, 2, 3), _lists(2, 2), integers(4, 5, 2), integers(1, 3, 2)),
        sample(*more, (4, 2, 3), integers(0, 2, 2), integers(3, 5, 2), integers(1, 2, 2), blank=2),
    ]


def _ctc_losses(log_probs: Value, targets: Value, input_lengths: Value, target_lengths: Value, *, blank: int) -> Spec:
    _check("ctc_loss", log_probs, targets, input_lengths, target_lengths, blank)
    return Spec(log_probs.shape[1:2], log_probs.dtype)


@primitive(
    shape_rule=_ctc_losses,
    numerics=AUTOCAST_FLOAT32,
    sharding=_by_rows("1000", "0"),
    batching=join_rows((0,), (1, 2, 3)),
    samples=_samples(),
)
def ctc_losses(
    log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, *, blank: int = 0
) -> Array:
    """Loss of each row of log_probs [steps, rows, classes]: -log of the label's likelihood; inf if it does not fit."""
    emissions, lattice = _prepared("ctc_loss", log_probs, targets, input_lengths, target_lengths, blank)
    return np.negative(_forward(emissions, lattice, input_lengths)[1]).astype(log_probs.dtype, copy=False)


@ctc_losses.vjp
def _(
    g: Value, y: Value, log_probs: Value, targets: Value, input_lengths: Value, target_lengths: Value, *, blank: int
) -> object:
    gx = ctc_losses_backward(g, log_probs, targets, input_lengths, target_lengths, blank=blank)
    return gx, None, None, None


def _ctc_losses_backward(
    g: Value, log_probs: Value, targets: Value, input_lengths: Value, target_lengths: Value, *, blank: int
) -> Spec:
    _check("ctc_losses_backward", log_probs, targets, input_lengths, target_lengths, blank)
    if g.shape != log_probs.shape[1:2]:
        raise ShapeError(f"ctc_losses_backward: g {list(g.shape)} must have the shape [{log_probs.shape[1]}]")
    return log_probs.spec


@primitive(
    shape_rule=_ctc_losses_backward,
    numerics=AUTOCAST_FLOAT32,
    sharding=_by_rows("01000", "1"),
    batching=join_rows((1,), (0, 2, 3, 4)),
    samples=_samples(Argument((2,), lambda generator, shape: generator.random(shape))),
)
def ctc_losses_backward(
    g: Array, log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, *, blank: int = 0
) -> Array:
    """The gradient of ctc_losses: -g times the probability of being in each class at each step; 0 where g is 0."""
    emissions, lattice = _prepared("ctc_loss", log_probs, targets, input_lengths, target_lengths, blank)
    alpha, total = _forward(emissions, lattice, input_lengths)
    alpha += _backward(emissions, lattice, input_lengths)
    alpha -= total[:, None]
    np.exp(alpha, out=alpha)
    alpha[np.arange(len(alpha))[:, None] >= input_lengths] = 0
    alpha *= -g.astype(alpha.dtype)[:, None]
    alpha[:, g == 0] = 0
    gx = np.zeros(log_probs.shape, alpha.dtype)
    states, rows = lattice[0], np.arange(log_probs.shape[1])
    for place in range(states.shape[1]):  # no class twice at once in a row
        gx[:, rows, states[:, place]] += alpha[:, :, place]
    return gx.astype(log_probs.dtype, copy=False)


def _ctc_lattice(
    targets: Value, input_lengths: Value, target_lengths: Value, *, steps: int, classes: int, blank: int
) -> tuple[Spec, ...]:
    op = "ctc_lattice"
    _check_lengths(op, targets, input_lengths, target_lengths, target_lengths.size)
    _check_blank(op, blank, classes)
    width = 2 * targets.shape[-1] + 1
    shape = (target_lengths.shape[0], width)
    return (Spec(shape, INT64), *(Spec(shape, BOOL),) * 3)


@primitive(
    shape_rule=_ctc_lattice,
    multi_output=True,
    differentiable=False,
    samples=[sample(_lists(2, 2), integers(4, 5, 2), integers(1, 3, 2), steps=4, classes=3)],
)
def ctc_lattice(
    targets: Array, input_lengths: Array, target_lengths: Array, *, steps: Count, classes: int, blank: int = 0
) -> tuple[Array, ...]:
    """The states of ctc_losses [rows, 2 * longest + 1]: their classes, where a blank is skipped, starts and ends."""
    labels = _labels("ctc_loss", targets, target_lengths, input_lengths, steps, classes)
    wide = np.zeros((len(target_lengths), targets.shape[-1]), np.int64)
    wide[:, : labels.shape[1]] = labels
    return _lattice(wide, target_lengths, blank)


def _log_sums(*terms: Value) -> Value:
    top = stop_gradient(reduce(maximum, terms))
    parts = [exp(term - top) for term in terms]
    return log(reduce(lambda a, b: a + b, parts)) + top


def _shifted(x: Value, by: int) -> Value:
    """Shift states to the right, or to the left if `by` is negative, filled with IMPOSSIBLE."""
    empty = where(False, slice(x, axis=1, stop=abs(by)), IMPOSSIBLE)
    width = x.shape[1]
    if width < abs(by):
        return where(False, x, IMPOSSIBLE)
    if by > 0:
        return concat(empty, slice(x, axis=1, stop=width - by), axis=1)
    return concat(slice(x, axis=1, start=-by), empty, axis=1)


@ctc_losses_backward.vjp_through
def _(g: Value, log_probs: Value, targets: Value, input_lengths: Value, target_lengths: Value, *, blank: int) -> Value:
    count, rows, classes = log_probs.shape
    states, skips, starts, ends = ctc_lattice(
        targets, input_lengths, target_lengths, steps=count, classes=classes, blank=blank
    )
    wide = cast(log_probs, dtype=computing_dtype(log_probs.dtype))
    emissions = [maximum(gather(at(wide, t), states, axis=1), IMPOSSIBLE) for t in range(count)]
    alpha = [where(starts, emissions[0], IMPOSSIBLE)]
    for t in range(1, count):
        now = alpha[-1]
        two = where(skips, _shifted(now, 2), IMPOSSIBLE)
        new = _log_sums(now, _shifted(now, 1), two) + emissions[t]
        alpha.append(where(running_rows(input_lengths, t), maximum(new, IMPOSSIBLE), now))
    total = logsumexp(where(ends, alpha[-1], IMPOSSIBLE), axis=1, keepdims=True)
    final = where(ends, emissions[0] * 0.0, IMPOSSIBLE)
    beta = final
    parts: list[Value] = []
    for t in range(count - 1, -1, -1):
        if t < count - 1:
            rest = maximum(beta + emissions[t + 1], IMPOSSIBLE)
            two = _shifted(where(skips, rest, IMPOSSIBLE), -2)
            beta = _log_sums(rest, _shifted(rest, -1), two)
        beta = where(unsqueeze(eq(input_lengths, t + 1), axis=1), final, beta)
        share = where(running_rows(input_lengths, t), exp(alpha[t] + beta - total), 0.0)
        weighted = -(share * reshape(g, shape=(rows, 1)))
        parts.append(scatter_add(weighted, states, axis=1, shape=(rows, classes)))
    return stack(*reversed(parts))


@composite(
    aliases=("ctc",),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "log-probabilities, floating [rows, steps, classes]",
        (
            target("integers [rows, longest]: the classes of each row, without the blank"),
            LossOperand("input_lengths", "integers [rows]: steps of each row; left out, all of them", False),
            LossOperand("target_lengths", "integers [rows]: classes of each row"),
        ),
        time_major=True,
    ),
    samples=[
        sample((4, 2, 3), _lists(2, 2), integers(4, 5, 2), integers(1, 3, 2)),
        sample((4, 2, 3), integers(0, 2, 3), integers(3, 5, 2), Argument((2,), lambda _, __: np.array([1, 2])), blank=2,
               reduction="none"),
        sample((3, 3), _lists(2), integers(3, 4), integers(1, 3), reduction="sum", zero_infinity=True),
    ],
)  # fmt: skip
def ctc_loss(
    log_probs: Value,
    targets: Value,
    input_lengths: Value,
    target_lengths: Value,
    *,
    blank: int = 0,
    reduction: Reduction = "mean",
    zero_infinity: bool = False,
) -> Value:
    """-log of the likelihood of labels, summed over all alignments, for log_probs [steps, rows, classes].

    targets [rows, longest], or all rows concatenated [total], hold classes other than the `blank`. The mean divides
    each loss by the length of its target (at least 1) first. A target that does not fit into its steps costs inf, or 0
    with `zero_infinity`. Without rows: log_probs [steps, classes], targets [length]. The gradient is by log_probs as
    given; PyTorch's is by the logits, and the same only behind log_softmax.
    """
    alone = log_probs.ndim == 2
    if alone:
        log_probs, targets = unsqueeze(log_probs, axis=1), unsqueeze(targets, axis=0)
        input_lengths, target_lengths = (reshape(x, shape=(x.size,)) for x in (input_lengths, target_lengths))
    losses = ctc_losses(log_probs, targets, input_lengths, target_lengths, blank=blank)
    if zero_infinity:
        losses = where(isinf(losses), 0.0, losses)
    if reduction == "mean":
        losses = losses / cast(clamp(target_lengths, min=1), dtype=losses.dtype)
    return reshape(losses, shape=()) if alone and reduction == "none" else reduce_losses(losses, reduction)
