"""Small discrete Fourier transforms of vector registers: the steps that a transform of many elements is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.vectors import Emitter, vector_bytes

LINE = 64
"""Bytes of an element: it has as many numbers, of transforms beside one another, as fit in them."""
RADICES = (2, 3, 4, 5, 7)

Complex = tuple[Any, Any]
"""The real and the imaginary parts of numbers, each a vector."""


def _plus(emit: Emitter, x: Complex, y: Complex) -> Complex:
    return emit.builder.fadd(x[0], y[0]), emit.builder.fadd(x[1], y[1])


def _minus(emit: Emitter, x: Complex, y: Complex) -> Complex:
    return emit.builder.fsub(x[0], y[0]), emit.builder.fsub(x[1], y[1])


def _times(emit: Emitter, x: Complex, factor: Complex) -> Complex:
    real, imaginary, build = factor[0], factor[1], emit.builder
    first = emit.multiply_add(x[0], real, build.fneg(build.fmul(x[1], imaginary)))
    return first, emit.multiply_add(x[0], imaginary, build.fmul(x[1], real))


def root(place: int, count: int) -> tuple[float, float]:
    """Return the parts of exp(-2 pi i place / count), within a unit in the last place.

    Whole quarters of a turn are exact, and the rest is an angle of at most half a quarter.
    """
    quarters = round(4 * place / count)
    angle = math.pi / 2 * ((4 * place - quarters * count) / count)
    real, imaginary = math.cos(angle), -math.sin(angle)
    for _ in range(quarters % 4):
        real, imaginary = imaginary, -real
    return real, imaginary


def _repeated_root(emit: Emitter, place: int, radix: int) -> Complex:
    real, imaginary = (emit.repeated(ir.Constant(emit.number, part)) for part in root(place, radix))
    return real, imaginary


def _transformed(emit: Emitter, x: Sequence[Complex]) -> list[Complex]:
    """Return the transform of 2, 3, 4, 5 or 7 numbers."""
    radix = len(x)
    if radix == 2:
        return [_plus(emit, *x), _minus(emit, *x)]
    if radix == 4:
        (a, c), (b, d) = _transformed(emit, x[::2]), _transformed(emit, x[1::2])
        turned = (d[1], emit.builder.fneg(d[0]))  # d times -i
        return [_plus(emit, a, b), _plus(emit, c, turned), _minus(emit, a, b), _minus(emit, c, turned)]
    return _odd_transformed(emit, x)


def _odd_transformed(emit: Emitter, x: Sequence[Complex]) -> list[Complex]:
    """Return the transform of an odd number of numbers.

    With factors c - i s, results p and -p are x_0 + sum of c (x_k + x_-k), less and plus i times the sum of
    s (x_k - x_-k). What all numbers have in common is no part of the differences.
    """
    radix, half = len(x), range(1, len(x) // 2 + 1)
    sums = [_plus(emit, x[k], x[-k]) for k in half]
    differences = [_minus(emit, x[k], x[-k]) for k in half]
    results = [x[0]] * radix
    for total in sums:
        results[0] = _plus(emit, results[0], total)
    for place in half:
        roots = [_repeated_root(emit, place * k, radix) for k in half]
        even = _weighted(emit, x[0], sums, [real for real, _ in roots])
        odd = _weighted(emit, None, differences, [imaginary for _, imaginary in roots])
        turned = (emit.builder.fneg(odd[1]), odd[0])  # odd times i
        results[place], results[-place] = _plus(emit, even, turned), _minus(emit, even, turned)
    return results


def _weighted(emit: Emitter, start: Complex | None, numbers: Sequence[Complex], weights: Sequence[Any]) -> Complex:
    """Return the sum of numbers times real weights, and of `start`."""
    total = start
    for (real, imaginary), weight in zip(numbers, weights, strict=True):
        if total is None:
            total = emit.builder.fmul(real, weight), emit.builder.fmul(imaginary, weight)
        else:
            total = emit.multiply_add(real, weight, total[0]), emit.multiply_add(imaginary, weight, total[1])
    assert total is not None
    return total


def _butterfly(radix: int) -> Any:
    @intrinsic
    def combine(
        typing_context: Any, source: Any, apart: Any, target: Any, step: Any, plane: Any, count: Any, factors: Any,
        zero: Any,
    ) -> Any:  # fmt: skip
        """Transform elements from `source` on that are `apart`, `count` times for neighbours; multiply by factors.

        Results go to `target` on, `step` apart. Imaginary parts lie `plane` bytes behind real ones. There are factors
        for all results but the first, a real and an imaginary number each.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source, apart, target, step, plane, count, factors, _ = arguments
            emit = Emitter(builder, zero)

            def part(number: int) -> Any:
                return emit.repeated(emit.read_number(emit.at(factors, (emit.word(number), emit.size))))

            scales = [(part(2 * k), part(2 * k + 1)) for k in range(radix - 1)]

            def load(place: Any) -> Complex:
                return emit.load(place, emit.vector), emit.load(builder.add(place, plane), emit.vector)

            def body(index: Any, _: list[Any]) -> list[Any]:
                shift = builder.mul(index, emit.word(vector_bytes()))
                start, end = builder.add(source, shift), builder.add(target, shift)
                made = _transformed(emit, [load(emit.at(start, (apart, k))) for k in range(radix)])
                scaled = [made[0], *(_times(emit, x, scale) for x, scale in zip(made[1:], scales, strict=True))]
                for k, (real, imaginary) in enumerate(scaled):
                    place = emit.at(end, (step, k))
                    emit.store(real, place)
                    emit.store(imaginary, builder.add(place, plane))
                return []

            emit.loop(builder.mul(count, emit.word(LINE // vector_bytes())), [], body)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 7, zero), generate

    return combine


combine2, combine3, combine4, combine5, combine7 = map(_butterfly, RADICES)
