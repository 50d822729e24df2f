"""Vector registers by hand, where a loop's shape would hide them: rows of any length, blocks of products.

Every function takes a zero whose dtype is that of the numbers it works on. Those that copy also take a pair, of what
they write and what they read: a zero of uint16 stands for bfloat16 by their bits.
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
LINE = 64
"""Bytes of a cache line."""
_HALF = ir.IntType(16)


class BFloat(ir.Type):  # type: ignore[misc] # llvmlite has no types
    """The type of a bfloat16, which llvmlite has no name for."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BFloat)

    def __hash__(self) -> int:
        return hash(BFloat)


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
        """Write at the place of `builder`; `zero` is the numba type of the numbers, or of those written and those read.

        Of int32 it means pairs of bfloat16 by their bits, whose products are summed in float32.
        """
        written, read = zero if isinstance(zero, types.BaseTuple) else (zero, zero)
        self.writes_halves, self.reads_halves = written == types.uint16, read == types.uint16
        zero = next((kind for kind in (written, read) if kind != types.uint16), types.float32)
        self.pairs = zero == types.int32
        single = self.pairs or zero == types.float32
        self.builder = builder
        self.number = ir.FloatType() if single else ir.DoubleType()
        self.size = 4 if single else 8
        self.lanes = vector_bytes() // self.size
        self.vector = ir.VectorType(self.number, self.lanes)
        self._suffix = "f32" if single else "f64"
        self.read_size, self.written_size = (
            2 if halves else self.size for halves in (self.reads_halves, self.writes_halves)
        )

    def word(self, value: int) -> Any:
        """Return a constant word."""
        return ir.Constant(WORD, value)

    def at(self, address: Any, *steps: tuple[Any, int]) -> Any:
        """Return an address moved by words times constants."""
        for amount, times in steps:
            if times:
                address = self.builder.add(address, self.builder.mul(amount, self.word(times)))
        return address

    def scaled(self, address: Any, shift: Any, step: int) -> Any:
        """Return an address moved by the bytes of as many numbers as `shift` spans, where one takes `step` bytes."""
        if step < self.size:
            return self.builder.add(address, self.builder.sdiv(shift, self.word(self.size // step)))
        return self.at(address, (shift, step // self.size))

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
        return self.load_lanes(address, self.masks_of_first(count, apart))

    def masks_of_first(self, count: Any, apart: int) -> list[Any]:
        """Return the masks of the registers in which the first `count` numbers lie that are `apart`."""
        if apart == 1:
            return [self.first_lanes(count)]
        read = self.builder.sub(self.builder.add(count, count), self.word(1))
        return [self.first_lanes(read), self.first_lanes(self.builder.sub(read, self.word(self.lanes)))]

    def load_lanes(self, address: Any, masks: list[Any]) -> Any:
        """Load the numbers of a mask, or every second one of the numbers of two."""
        if len(masks) == 1:
            return self.read(address, masks[0])
        low, high = (
            self.read(self.at(address, (self.word(k * self.lanes), self.read_size)), m) for k, m in enumerate(masks)
        )
        even = ir.Constant(ir.VectorType(INDEX, self.lanes), [2 * lane for lane in range(self.lanes)])
        return self.builder.shuffle_vector(low, high, even)

    def read(self, address: Any, mask: Any) -> Any:
        """Load the numbers of a mask from where they are stored, as `masked_load`; halves are widened."""
        if not self.reads_halves:
            return self.masked_load(address, mask)
        return self._lower(self.masked_load_halves(address, mask))

    def write(self, value: Any, address: Any, mask: Any) -> None:
        """Store the numbers of a mask, as `masked_store`; halves are rounded."""
        self.masked_store(self._rounded(value) if self.writes_halves else value, address, mask)

    def read_number(self, address: Any) -> Any:
        """Load a number from where it is stored."""
        if not self.reads_halves:
            return self.load(address, self.number)
        bits = self.load(address, _HALF)
        bits.align = 2
        upper = self.builder.shl(self.builder.zext(bits, INDEX), ir.Constant(INDEX, 16))
        return self.builder.bitcast(upper, self.number)

    def write_number(self, number: Any, address: Any) -> None:
        """Store a number."""
        if self.writes_halves:
            number = self.builder.extract_element(self._rounded(self.repeated(number)), ir.Constant(INDEX, 0))
        self.store(number, address)

    def upper_halves(self, value: Any) -> Any:
        """Return the upper halves of float32: their bits as bfloat16 if they are some."""
        bits = self.builder.bitcast(value, ir.VectorType(INDEX, self.lanes))
        upper = self.builder.lshr(bits, ir.Constant(bits.type, [16] * self.lanes))
        return self.builder.trunc(upper, ir.VectorType(_HALF, self.lanes))

    def _rounded(self, value: Any) -> Any:
        """Return the bits of float32 as bfloat16, by the instruction if there is one, for which subnormals are 0."""
        builder, words = self.builder, ir.VectorType(_HALF, self.lanes)
        if multiplies_pairs():
            return builder.bitcast(builder.fptrunc(value, ir.VectorType(BFloat(), self.lanes)), words)
        bits = builder.bitcast(value, ir.VectorType(INDEX, self.lanes))
        one, half, shift, quiet = (ir.Constant(bits.type, [n] * self.lanes) for n in (1, 0x7FFF, 16, 0x40))
        upper = builder.lshr(bits, shift)
        nearest = builder.lshr(builder.add(builder.add(bits, half), builder.and_(upper, one)), shift)
        is_nan = builder.fcmp_unordered("uno", value, value)
        return builder.trunc(builder.select(is_nan, builder.or_(upper, quiet), nearest), words)

    def store(self, value: Any, address: Any) -> None:
        """Store a vector or number."""
        stored = self.builder.store(value, self.builder.inttoptr(address, value.type.as_pointer()))
        stored.align = min(self._bytes_of(value), self.size)

    def _bytes_of(self, value: Any) -> int:
        """Return the bytes of a number, or of one of a vector's."""
        kind = value.type.element if isinstance(value.type, ir.VectorType) else value.type
        return kind.width // 8 if isinstance(kind, ir.IntType) else self.size

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
            halves = ir.VectorType(BFloat(), 2 * self.lanes)
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

    def first_of(self, count: Any, width: int) -> Any:
        """Return the mask of the first `count` of `width` lanes, a part of those of a register."""
        steps = ir.Constant(ir.VectorType(INDEX, width), list(range(width)))
        nothing = ir.Constant(steps.type, ir.Undefined)
        first = self.builder.insert_element(nothing, self.builder.trunc(count, INDEX), ir.Constant(INDEX, 0))
        return self.builder.icmp_signed(
            "<", steps, self.builder.shuffle_vector(first, nothing, ir.Constant(steps.type, [0] * width))
        )

    def load_part(self, address: Any, mask: Any, width: int) -> Any:
        """Load `width` numbers, a part of a register: those of a mask, and 0 for the others, which are not read."""
        part, bits = ir.VectorType(self.number, width), ir.VectorType(ir.IntType(1), width)
        pointer = part.as_pointer()
        function = self._function(f"llvm.masked.load.v{width}{self._suffix}.p0", part, [pointer, INDEX, bits, part])
        place, nothing = self.builder.inttoptr(address, pointer), ir.Constant(part, [0.0] * width)
        return self.builder.call(function, [place, ir.Constant(INDEX, 4), mask, nothing])

    def joined(self, parts: list[Any]) -> Any:
        """Return one vector of vectors of equal width, a power of 2 of them."""
        while len(parts) > 1:
            lanes = ir.Constant(ir.VectorType(INDEX, 2 * parts[0].type.count), list(range(2 * parts[0].type.count)))
            parts = [self.builder.shuffle_vector(*pair, lanes) for pair in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

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
            suffix = self._suffix if value.type.element == self.number else f"i{value.type.element.width}"
            name = f"llvm.masked.store.v{self.lanes}{suffix}.p0"
            pointer, bits = value.type.as_pointer(), ir.VectorType(ir.IntType(1), self.lanes)
            function = self._function(name, ir.VoidType(), [value.type, pointer, INDEX, bits])
            place = self.builder.inttoptr(address, pointer)
            self.builder.call(function, [value, place, ir.Constant(INDEX, min(self._bytes_of(value), 4)), mask])

    def store_first(self, value: Any, address: Any, count: Any, apart: int) -> None:
        """Store the first `count` numbers, at most all, to neighbouring places, or to every second if 2 `apart`.

        The latter is for machines with AVX-512.
        """
        self.store_lanes(value, address, self.masks_of_stored(count, apart))

    def masks_of_stored(self, count: Any, apart: int) -> list[Any]:
        """Return the masks of the registers that `store_first` writes."""
        if apart == 1:
            return [self.first_lanes(count)]
        builder, lanes = self.builder, self.lanes
        even = ir.Constant(ir.VectorType(ir.IntType(1), lanes), [lane % 2 == 0 for lane in range(lanes)])
        last = builder.add(count, count)
        lefts = (builder.sub(last, self.word(half * lanes)) for half in range(2))
        return [builder.and_(self.first_lanes(left), even) for left in lefts]

    def store_lanes(self, value: Any, address: Any, masks: list[Any]) -> None:
        """Store the numbers of a mask, or as every second number by two masks of as many registers."""
        if len(masks) == 1:
            self.write(value, address, masks[0])
            return
        lanes = self.lanes
        for half, mask in enumerate(masks):
            pairs = [half * lanes // 2 + lane // 2 for lane in range(lanes)]
            place = self.at(address, (self.word(half * lanes), self.written_size))
            indices = ir.Constant(ir.VectorType(INDEX, lanes), pairs)
            self.write(self.builder.shuffle_vector(value, value, indices), place, mask)

    def _store_first(self, value: Any, address: Any, mask: Any) -> None:
        """Store all lanes if the mask has the last one, else pieces of half as many, of a quarter, and so on."""
        builder, size = self.builder, self._bytes_of(value)
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
        self._fetch(address, 1, 3)

    def fetch(self, address: Any) -> None:
        """Fetch the cache line at an address, which is soon read, into the second-level cache."""
        self._fetch(address, 0, 2)

    def _fetch(self, address: Any, written: int, near: int) -> None:
        pointer = ir.IntType(8).as_pointer()
        function = self._function("llvm.prefetch.p0", ir.VoidType(), [pointer, INDEX, INDEX, INDEX])
        options = [ir.Constant(INDEX, option) for option in (written, near, 1)]  # 1: data
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


def _copying(read_apart: int, written_apart: int) -> Any:
    @intrinsic
    def copy(typing_context: Any, target: Any, source: Any, count: Any, zero: Any) -> Any:
        """Copy `count` numbers between addresses: short rows without a call, their ends without a loop."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target, source, count, _ = arguments
            emit = Emitter(builder, zero)

            def step(shift: Any, mask: Any) -> None:
                left = builder.sub(count, builder.sdiv(shift, emit.word(emit.size)))
                place = emit.scaled(source, shift, read_apart * emit.read_size)
                numbers = emit.read(place, mask) if read_apart == 1 else emit.load_first(place, left, read_apart)
                place = emit.scaled(target, shift, written_apart * emit.written_size)
                if written_apart == 1:
                    emit.write(numbers, place, mask)
                else:
                    emit.store_first(numbers, place, left, written_apart)

            masked_row(emit, count, step)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, zero), generate

    return copy


copy_row = _copying(1, 1)
"""Copy neighbouring numbers."""
copy_every_second = _copying(2, 1)
"""Copy every second number from the address `source` to neighbouring ones."""
copy_to_every_second = _copying(1, 2)
"""Copy neighbouring numbers to every second place; for machines with AVX-512."""


@intrinsic
def number_at(typing_context: Any, address: Any, zero: Any) -> Any:
    """Return the number that is stored at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return Emitter(builder, zero).read_number(arguments[0])

    return zero[0](types.int64, zero), generate


@intrinsic
def copy_number(typing_context: Any, target: Any, source: Any, zero: Any) -> Any:
    """Copy one number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, _ = arguments
        emit = Emitter(builder, zero)
        emit.write_number(emit.read_number(source), target)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, zero), generate


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


@intrinsic
def fetch_lines(typing_context: Any, address: Any, count: Any) -> Any:
    """Fetch cache lines from an address on into the second-level cache: they are soon read. At least one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, count = arguments
        emit = Emitter(builder, types.float32)

        def line(index: Any, _: list[Any]) -> list[Any]:
            emit.fetch(emit.at(address, (index, LINE)))
            return []

        emit.loop(count, [], line)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate
