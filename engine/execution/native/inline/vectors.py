"""Vector registers by hand, where a loop's shape would hide them: rows of any length, blocks of products.

Every function takes a zero whose dtype is that of the numbers it works on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WORD = ir.IntType(64)
INDEX = ir.IntType(32)


class _BFloat(ir.Type):  # type: ignore[misc] # llvmlite has no types
    """The type of a bfloat16, which llvmlite has no name for."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloat)

    def __hash__(self) -> int:
        return hash(_BFloat)


@cache
def vector_bytes() -> int:
    """Return the bytes of a vector register of this machine."""
    features = llvmlite.binding.get_host_cpu_features()
    return 64 if features.get("avx512f") else 32 if features.get("avx") else 16


@cache
def registers() -> int:
    """Return how many vector registers this machine has."""
    arm = llvmlite.binding.get_process_triple().startswith(("aarch64", "arm64"))
    return 32 if arm or vector_bytes() == 64 else 16


@cache
def multiplies_pairs() -> bool:
    """Return whether this machine multiplies pairs of bfloat16 in one instruction."""
    return vector_bytes() == 64 and bool(llvmlite.binding.get_host_cpu_features().get("avx512bf16"))


class Emitter:
    """What a block of vector code is written with: addresses are 64-bit words, vectors have all a register's lanes."""

    def __init__(self, builder: Any, zero: Any) -> None:
        """Write at the place of `builder`; `zero` is the numba type of the numbers.

        Of int32 it means pairs of bfloat16 by their bits, whose products are summed in float32.
        """
        self.pairs = zero == types.int32
        single = self.pairs or zero == types.float32
        self.builder = builder
        self.number = ir.FloatType() if single else ir.DoubleType()
        self.size = 4 if single else 8
        self.lanes = vector_bytes() // self.size
        self.vector = ir.VectorType(self.number, self.lanes)
        self._suffix = "f32" if single else "f64"

    def word(self, value: int) -> Any:
        """Return a constant word."""
        return ir.Constant(WORD, value)

    def at(self, address: Any, *steps: tuple[Any, int]) -> Any:
        """Return an address moved by words times constants."""
        for amount, times in steps:
            if times:
                address = self.builder.add(address, self.builder.mul(amount, self.word(times)))
        return address

    def load(self, address: Any, kind: Any) -> Any:
        """Load a vector, number or word of any alignment."""
        loaded = self.builder.load(self.builder.inttoptr(address, kind.as_pointer()))
        loaded.align = 4
        return loaded

    def load_apart(self, address: Any, kind: Any, step: int) -> Any:
        """Load every number or int32 of `step`, 1 or 2, as many as a vector of numbers has lanes."""
        whole = ir.VectorType(kind, self.lanes)
        if step == 1:
            return self.load(address, whole)
        size = 4 if kind == INDEX else self.size
        low, high = self.load(address, whole), self.load(self.at(address, (self.word(self.lanes), size)), whole)
        even = ir.Constant(ir.VectorType(INDEX, self.lanes), [2 * lane for lane in range(self.lanes)])
        return self.builder.shuffle_vector(low, high, even)

    def load_first(self, address: Any, count: Any, apart: int) -> Any:
        """Load the first `count` numbers, or every second one if they are 2 `apart`; other lanes are 0.

        No memory is touched behind the last one. At most all lanes are filled.
        """
        if apart == 1:
            return self.masked_load(address, self.first_lanes(count))
        builder, lanes = self.builder, self.lanes
        read = builder.sub(builder.add(count, count), self.word(1))
        low = self.masked_load(address, self.first_lanes(read))
        behind = self.at(address, (self.word(lanes), self.size))
        high = self.masked_load(behind, self.first_lanes(builder.sub(read, self.word(lanes))))
        even = ir.Constant(ir.VectorType(INDEX, lanes), [2 * lane for lane in range(lanes)])
        return builder.shuffle_vector(low, high, even)

    def store(self, value: Any, address: Any) -> None:
        """Store a vector or number."""
        self.builder.store(value, self.builder.inttoptr(address, value.type.as_pointer())).align = self.size

    def zeros(self) -> Any:
        """Return a vector of zeros."""
        return ir.Constant(self.vector, [0.0] * self.lanes)

    def repeated(self, number: Any) -> Any:
        """Return a vector that holds one number in all lanes."""
        return self.spread(number, self.number)

    def spread(self, value: Any, kind: Any) -> Any:
        """Return as many of a value as a vector of numbers has lanes."""
        nothing = ir.Constant(ir.VectorType(kind, self.lanes), ir.Undefined)
        first = self.builder.insert_element(nothing, value, ir.Constant(INDEX, 0))
        zeros = ir.Constant(ir.VectorType(INDEX, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, nothing, zeros)

    def multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        """Return x y + z, rounded once where the machine can; of pairs the sum of both products and z."""
        if self.pairs:
            return self._add_pairs(x, y, z)
        name = f"llvm.fmuladd.v{self.lanes}{self._suffix}"
        return self.builder.call(self._function(name, self.vector, [self.vector] * 3), [x, y, z])

    def _add_pairs(self, x: Any, y: Any, z: Any) -> Any:
        if multiplies_pairs():
            halves = ir.VectorType(_BFloat(), 2 * self.lanes)
            multiply = self._function("llvm.x86.avx512bf16.dpbf16ps.512", self.vector, [self.vector, halves, halves])
            return self.builder.call(multiply, [z, *(self.builder.bitcast(pairs, halves) for pairs in (x, y))])
        fused = self._function(f"llvm.fmuladd.v{self.lanes}f32", self.vector, [self.vector] * 3)
        for half in (self._upper, self._lower):
            z = self.builder.call(fused, [half(x), half(y), z])
        return z

    def _upper(self, pairs: Any) -> Any:
        """Return the upper halves of words as float32."""
        bits = self.builder.bitcast(pairs, ir.VectorType(INDEX, self.lanes))
        upper = ir.Constant(bits.type, [0xFFFF0000] * self.lanes)
        return self.builder.bitcast(self.builder.and_(bits, upper), self.vector)

    def _lower(self, pairs: Any) -> Any:
        """Return the lower halves of words as float32."""
        bits = self.builder.bitcast(pairs, ir.VectorType(INDEX, self.lanes))
        return self.builder.bitcast(self.builder.shl(bits, ir.Constant(bits.type, [16] * self.lanes)), self.vector)

    def masked_load_halves(self, address: Any, mask: Any) -> Any:
        """Load neighbouring 16-bit words as int32, as many as a vector of numbers has lanes; those off a mask are 0."""
        words = ir.VectorType(ir.IntType(16), self.lanes)
        if mask is None:
            read = self.load(address, words)
            read.align = 2
        else:
            pointer, bits = words.as_pointer(), ir.VectorType(ir.IntType(1), self.lanes)
            function = self._function(f"llvm.masked.load.v{self.lanes}i16.p0", words, [pointer, INDEX, bits, words])
            place, nothing = self.builder.inttoptr(address, pointer), ir.Constant(words, [0] * self.lanes)
            read = self.builder.call(function, [place, ir.Constant(INDEX, 2), mask, nothing])
        return self.builder.zext(read, ir.VectorType(INDEX, self.lanes))

    def total(self, vector: Any) -> Any:
        """Return the sum of the lanes."""
        name = f"llvm.vector.reduce.fadd.v{self.lanes}{self._suffix}"
        function = self._function(name, self.number, [self.number, self.vector])
        return self.builder.call(function, [ir.Constant(self.number, 0.0), vector], fastmath=("reassoc",))

    def masked_load(self, address: Any, mask: Any, kind: Any = None) -> Any:
        """Load the lanes of a mask, all if it is None; the others are 0, and their memory is not touched.

        They are int32 if `kind` is that, else numbers.
        """
        whole, suffix = (self.vector, self._suffix) if kind is None else (ir.VectorType(kind, self.lanes), "i32")
        if mask is None:
            return self.load(address, whole)
        pointer, bits = whole.as_pointer(), ir.VectorType(ir.IntType(1), self.lanes)
        function = self._function(f"llvm.masked.load.v{self.lanes}{suffix}.p0", whole, [pointer, INDEX, bits, whole])
        place, nothing = self.builder.inttoptr(address, pointer), ir.Constant(whole, [0] * self.lanes)
        return self.builder.call(function, [place, ir.Constant(INDEX, 4), mask, nothing])

    def masked_store(self, value: Any, address: Any, mask: Any) -> None:
        """Store the first lanes, of numbers or of int32: those of a mask, all if it is None.

        AVX2 has an instruction for any lanes, which takes ten times as long as a plain one on AMD's processors; NEON
        has none.
        """
        if mask is None:
            self.store(value, address)
        elif vector_bytes() != 64:
            self._store_first(value, address, mask)
        else:
            suffix = "i32" if value.type.element == INDEX else self._suffix
            name = f"llvm.masked.store.v{self.lanes}{suffix}.p0"
            pointer, bits = value.type.as_pointer(), ir.VectorType(ir.IntType(1), self.lanes)
            function = self._function(name, ir.VoidType(), [value.type, pointer, INDEX, bits])
            place = self.builder.inttoptr(address, pointer)
            self.builder.call(function, [value, place, ir.Constant(INDEX, 4), mask])

    def store_first(self, value: Any, address: Any, count: Any, apart: int) -> None:
        """Store the first `count` numbers, at most all, to neighbouring places, or to every second if 2 `apart`.

        The latter is for machines with AVX-512.
        """
        if apart == 1:
            self.masked_store(value, address, self.first_lanes(count))
            return
        builder, lanes = self.builder, self.lanes
        kind = ir.VectorType(INDEX, lanes)
        even = ir.Constant(ir.VectorType(ir.IntType(1), lanes), [lane % 2 == 0 for lane in range(lanes)])
        for half in range(2):
            pairs = ir.Constant(kind, [half * lanes // 2 + lane // 2 for lane in range(lanes)])
            left = builder.sub(builder.add(count, count), self.word(half * lanes))
            mask = builder.and_(self.first_lanes(left), even)
            place = self.at(address, (self.word(half * lanes), self.size))
            self.masked_store(builder.shuffle_vector(value, value, pairs), place, mask)

    def _store_first(self, value: Any, address: Any, mask: Any) -> None:
        """Store all lanes if the mask has the last one, else pieces of half as many, of a quarter, and so on."""
        builder, size = self.builder, 4 if value.type.element == INDEX else self.size
        with builder.if_else(builder.extract_element(mask, ir.Constant(INDEX, self.lanes - 1))) as (whole, pieces):
            with whole:
                self.store(value, address)
            with pieces:
                lanes = self.lanes
                while lanes > 1:
                    lanes //= 2
                    value, mask, address = self._store_half(value, mask, address, lanes, size)

    def _store_half(self, value: Any, mask: Any, address: Any, lanes: int, size: int) -> tuple[Any, Any, Any]:
        """Store the lower half of the lanes if the mask has them all; return what may be left: value, mask, address."""
        builder = self.builder
        low, high = (ir.Constant(ir.VectorType(INDEX, lanes), list(range(at, at + lanes))) for at in (0, lanes))
        lower, upper = (builder.shuffle_vector(value, value, part) for part in (low, high))
        lower_mask, upper_mask = (builder.shuffle_vector(mask, mask, part) for part in (low, high))
        filled = builder.extract_element(mask, ir.Constant(INDEX, lanes - 1))
        with builder.if_then(filled):
            self.store(lower, address)
        behind = self.at(address, (self.word(lanes), size))
        choices = ((upper, lower), (upper_mask, lower_mask), (behind, address))
        left, left_mask, place = (builder.select(filled, *pair) for pair in choices)
        return left, left_mask, place

    def prefetch(self, address: Any) -> None:
        """Fetch the cache line at an address, which is soon written."""
        pointer = ir.IntType(8).as_pointer()
        function = self._function("llvm.prefetch.p0", ir.VoidType(), [pointer, INDEX, INDEX, INDEX])
        options = [ir.Constant(INDEX, option) for option in (1, 3, 1)]  # to be written, kept, data
        self.builder.call(function, [self.builder.inttoptr(address, pointer), *options])

    def first_lanes(self, count: Any) -> Any:
        """Return the mask of the first `count` lanes; of all lanes if there are fewer."""
        builder, most = self.builder, self.word(self.lanes)
        count = builder.select(builder.icmp_signed("<", count, most), count, most)
        steps = ir.Constant(ir.VectorType(INDEX, self.lanes), list(range(self.lanes)))
        return builder.icmp_signed("<", steps, self.spread(builder.trunc(count, INDEX), INDEX))

    def masks_of_row(self, count: Any, vectors: int) -> list[Any]:
        """Return the mask of each vector of a row, None for all lanes; `count` numbers reach into the last one."""
        rest = self.builder.sub(count, self.word((vectors - 1) * self.lanes))
        return [None] * (vectors - 1) + [self.first_lanes(rest)]

    def loop(self, count: Any, starts: list[Any], step: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
        """Run `step(index, values)` at least once, for indices below `count`; it returns the values of the next."""
        builder = self.builder
        before, body, after = builder.block, builder.append_basic_block("loop"), builder.append_basic_block("after")
        builder.branch(body)
        builder.position_at_end(body)
        index = builder.phi(WORD)
        index.add_incoming(self.word(0), before)
        values = [builder.phi(start.type) for start in starts]
        for value, start in zip(values, starts, strict=True):
            value.add_incoming(start, before)
        results = step(index, list(values))
        following = builder.add(index, self.word(1))
        index.add_incoming(following, builder.block)
        for value, result in zip(values, results, strict=True):
            value.add_incoming(result, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, count), body, after)
        builder.position_at_end(after)
        return results

    def _function(self, name: str, result: Any, operands: list[Any]) -> Any:
        found = self.builder.module.globals.get(name)
        return found or ir.Function(self.builder.module, ir.FunctionType(result, operands), name)


@intrinsic
def copy_row(typing_context: Any, target: Any, source: Any, count: Any, zero: Any) -> Any:
    """Copy neighbouring numbers between addresses: short rows without a call, their ends without a loop."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, count, _ = arguments
        emit = Emitter(builder, zero)

        def step(shift: Any, mask: Any) -> None:
            emit.masked_store(emit.masked_load(builder.add(source, shift), mask), builder.add(target, shift), mask)

        masked_row(emit, count, step)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, zero), generate


@intrinsic
def copy_every_second(typing_context: Any, target: Any, source: Any, count: Any, zero: Any) -> Any:
    """Copy every second number from the address `source` to neighbouring ones, `count` in all."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, count, _ = arguments
        emit = Emitter(builder, zero)

        def step(shift: Any, mask: Any) -> None:
            left = builder.sub(count, builder.sdiv(shift, emit.word(emit.size)))
            numbers = emit.load_first(builder.add(source, builder.add(shift, shift)), left, 2)
            emit.masked_store(numbers, builder.add(target, shift), mask)

        masked_row(emit, count, step)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, zero), generate


@intrinsic
def copy_to_every_second(typing_context: Any, target: Any, source: Any, count: Any, zero: Any) -> Any:
    """Copy `count` neighbouring numbers to every second place; for machines with AVX-512."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, count, _ = arguments
        emit = Emitter(builder, zero)

        def step(shift: Any, mask: Any) -> None:
            left = builder.sub(count, builder.sdiv(shift, emit.word(emit.size)))
            numbers = emit.masked_load(builder.add(source, shift), mask)
            emit.store_first(numbers, builder.add(target, builder.add(shift, shift)), left, 2)

        masked_row(emit, count, step)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, zero), generate


@intrinsic
def clear_row(typing_context: Any, target: Any, count: Any, zero: Any) -> Any:
    """Set neighbouring numbers at an address to 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, count, _ = arguments
        emit = Emitter(builder, zero)
        masked_row(emit, count, lambda shift, mask: emit.masked_store(emit.zeros(), builder.add(target, shift), mask))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, zero), generate


@intrinsic
def add_row(typing_context: Any, target: Any, source: Any, count: Any, zero: Any) -> Any:
    """Add neighbouring numbers to those at another address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, count, _ = arguments
        emit = Emitter(builder, zero)

        def step(shift: Any, mask: Any) -> None:
            place = builder.add(target, shift)
            term = emit.masked_load(builder.add(source, shift), mask)
            emit.masked_store(builder.fadd(emit.masked_load(place, mask), term), place, mask)

        masked_row(emit, count, step)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, zero), generate


def masked_row(emit: Emitter, count: Any, step: Callable[[Any, Any], None]) -> None:
    """Write code for rows of any length: `step(bytes from its start, mask of its lanes or None for all)`."""
    builder = emit.builder
    vectors = builder.sdiv(count, emit.word(emit.lanes))
    rest = builder.sub(count, builder.mul(vectors, emit.word(emit.lanes)))

    def body(index: Any, _: list[Any]) -> list[Any]:
        step(builder.mul(index, emit.word(vector_bytes())), None)
        return []

    with builder.if_then(builder.icmp_signed(">", vectors, emit.word(0))):
        emit.loop(vectors, [], body)
    with builder.if_then(builder.icmp_signed(">", rest, emit.word(0))):
        step(builder.mul(vectors, emit.word(vector_bytes())), emit.first_lanes(rest))
