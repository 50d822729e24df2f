"""What the mapping table cannot express by names alone, of elements, reductions, shapes and indices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from call import Call, NotOffered, is_tensor, plain


def listed(call: Call) -> None:
    """Spread the list of tensors in the place of the only input."""
    (first, *_) = call.inputs
    call.inputs = {str(index): value for index, value in enumerate(call.inputs[first])}


def alpha(call: Call) -> None:
    """Make sums and differences with a factor the sum that has one."""
    factor = call.attrs.pop("alpha", 1)
    if factor != 1:
        call.attrs["alpha"] = factor if call.op == "add" else -factor
        call.op = "add_scaled"


def reversed_pair(call: Call) -> None:
    alpha(call)
    call.order("b", "a")


def lerp(call: Call) -> None:
    weight = call.inputs["weight"]
    if is_tensor(weight):
        call.op = "lerp_tensor"
    else:
        call.attrs["weight"] = call.inputs.pop("weight")


def rounding(call: Call) -> None:
    mode = call.attrs.pop("rounding_mode", None)
    call.op = {None: "div", "floor": "floor_divide", "trunc": "trunc_divide"}[mode]


def clamp(call: Call) -> None:
    low, high = call.inputs["min"], call.inputs["max"]
    if low is None or high is None:
        call.op = "clamp_max" if low is None else "clamp_min"
        call.order("x", "max" if low is None else "min")


def where(call: Call) -> None:
    call.order("condition", "a", "b")


def every_axis(call: Call) -> None:
    if call.attrs.get("axis") == []:
        call.attrs["axis"] = None
    if isinstance(call.attrs.get("axis"), list) and len(call.attrs["axis"]) == 1:
        call.attrs["axis"] = call.attrs["axis"][0]


def spread(call: Call) -> None:
    if isinstance(call.attrs.get("axis"), bool):
        call.attrs["unbiased"] = call.attrs.pop("axis")
    if "unbiased" in call.attrs:
        call.attrs["correction"] = int(call.attrs.pop("unbiased"))
    if call.attrs.get("correction", 0) is None:
        del call.attrs["correction"]
    every_axis(call)


def cast_to(dtype: str) -> Callable[[Call], None]:
    def adapt(call: Call) -> None:
        call.attrs = {"dtype": dtype}

    return adapt


def first_axis(call: Call) -> None:
    call.attrs["axis"] = 0


def in_order(call: Call) -> None:
    call.drop("sorted", True, "topk in any order")


def unique(call: Call) -> None:
    call.attrs.pop("sorted", None)  # the increasing order is one of any


def search(call: Call) -> None:
    side = call.attrs.pop("side", None)
    if side is not None:
        call.attrs["right"] = side == "right"


def old_norm(call: Call) -> None:
    p = call.attrs.get("p", "fro")
    if call.attrs.get("axis") == []:
        call.attrs["axis"] = None
    if p == "nuc":
        call.op = "matrix_norm"
        call.attrs["order"] = call.attrs.pop("p")
        if call.attrs.get("axis", 0) is None:
            del call.attrs["axis"]
    elif p in ("fro", None):
        call.attrs["p"] = 2.0


def vector_norm(call: Call) -> None:
    order = call.attrs.pop("order", None)
    call.attrs["p"] = 2.0 if order is None else order
    every_axis(call)


def matrix_norm(call: Call) -> None:
    order = call.attrs.get("order", "fro")
    if order in (math.inf, -math.inf):
        call.attrs["order"] = "inf" if order > 0 else "-inf"
    if call.attrs.get("axis", 0) is None:
        del call.attrs["axis"]


def infinite_order(call: Call) -> None:
    if call.attrs.get("order") in (math.inf, -math.inf):
        call.attrs["order"] = "inf" if call.attrs["order"] > 0 else "-inf"


def flat(call: Call) -> None:
    call.attrs["shape"] = [-1]


def like(call: Call) -> None:
    call.attrs["shape"] = list(call.inputs.pop("like").shape)


def getitem(call: Call) -> None:
    """Put the index in the words of JSON; tensors in it become inputs, named by their number."""
    index = call.attrs.pop("index")
    tensors: list[Any] = []
    call.attrs["index"] = [_coded(item, tensors) for item in (index if isinstance(index, tuple) else [index])]
    call.inputs |= {f"index{place}": tensor for place, tensor in enumerate(tensors)}


def _coded(item: Any, tensors: list[Any]) -> Any:
    if is_tensor(item):
        tensors.append(item)
        return {"input": len(tensors)}
    if isinstance(item, slice):
        return {"slice": [item.start, item.stop, item.step]}
    return "..." if item is ... else plain(item)


def select(call: Call) -> None:
    axis = call.attrs.pop("axis") % call.inputs["x"].ndim
    call.attrs["index"] = [{"slice": [None, None, None]}] * axis + [call.attrs["index"]]


def squeeze(call: Call) -> None:
    call.attrs["strict"] = False


def expand(call: Call) -> None:
    shape, given = list(call.inputs["x"].shape), call.attrs["shape"]
    shape = [1] * (len(given) - len(shape)) + shape
    call.attrs["shape"] = [own if size == -1 else size for own, size in zip(shape, given, strict=True)]


def split(call: Call) -> None:
    sizes = call.attrs["sizes"]
    if isinstance(sizes, int):
        extent = call.inputs["x"].shape[call.attrs.get("axis", 0)]
        whole, rest = divmod(extent, sizes)
        call.attrs["sizes"] = [sizes] * whole + [rest] * (rest > 0)


def diagonal(call: Call) -> None:
    if "axis2" in call.attrs or "dim2" in call.attrs:
        call.attrs["axis0"], call.attrs["axis1"] = call.attrs["axis1"], call.attrs.pop("dim2")


def last_diagonal(call: Call) -> None:
    call.attrs = {"axis0": -2, "axis1": -1} | call.attrs
    if "dim2" in call.attrs:
        diagonal(call)


def narrow(call: Call) -> None:
    start = call.attrs["start"]
    if start < 0:
        start += call.inputs["x"].shape[call.attrs["axis"]]
    call.attrs["start"], call.attrs["stop"] = start, start + call.attrs.pop("length")


def slice_(call: Call) -> None:
    if "end" in call.attrs:
        call.attrs["stop"] = call.attrs.pop("end")


def each_repeated(call: Call) -> None:
    call.attrs.pop("output_size", None)
    repeats = call.inputs.pop("repeats")
    call.attrs["repeats"] = [int(times) for times in repeats.reshape(-1)] if is_tensor(repeats) else repeats


def repeats(call: Call) -> None:
    times, rank = call.attrs["repeats"], call.inputs["x"].ndim
    call.attrs["repeats"] = [1] * (rank - len(times)) + times


def strided(call: Call) -> None:
    call.attrs = {
        "shape": call.attrs["size"],
        "strides": call.attrs["stride"],
        "offset": call.attrs.get("storage_offset") or 0,
    }


def pad(call: Call) -> None:
    widths = call.attrs.pop("pad")
    pairs = [widths[place : place + 2] for place in range(0, len(widths), 2)][::-1]
    call.attrs["widths"] = [[0, 0]] * (call.inputs["x"].ndim - len(pairs)) + pairs
    if call.attrs.get("value", 0) is None:
        del call.attrs["value"]


def in_float64(call: Call) -> None:
    call.attrs.pop("requires_grad", None)
    call.attrs["dtype"] = "float64"


def eye(call: Call) -> None:
    in_float64(call)
    call.attrs.setdefault("columns", None)


def arange(call: Call) -> None:
    numbers = call.attrs.pop("numbers")
    if "end" in call.attrs:
        numbers = [*numbers, call.attrs.pop("end")]
    names = ("stop",) if len(numbers) == 1 else ("start", "stop", "step")
    call.attrs |= dict(zip(names, map(_number, numbers), strict=False))
    in_float64(call)


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def unsafe(call: Call) -> None:
    call.attrs["unsafe"] = True


def index_put(call: Call) -> None:
    indices = call.inputs.pop("indices")
    call.inputs |= {f"index{place}": index for place, index in enumerate(indices)}
    widths = [index.ndim if str(index.dtype) == "torch.bool" else 1 for index in indices]
    call.attrs["axes"] = [sum(widths[:place]) for place in range(len(indices))]
    unsafe(call)


def scatter(call: Call) -> None:
    reduce = call.attrs.pop("reduce", None)
    if reduce == "multiply":
        raise NotOffered("scatter that multiplies; scatter_reduce does")
    call.attrs["accumulate"] = reduce == "add"
    unsafe(call)


def accumulate(call: Call) -> None:
    call.attrs["accumulate"] = True


def one_hot(call: Call) -> None:
    if call.attrs.get("classes", -1) == -1:
        call.attrs["classes"] = None
    call.attrs["dtype"] = "int64"


def embedding(call: Call) -> None:
    for name in ("max_norm", "norm_type", "sparse", "scale_grad_by_freq"):
        if call.attrs.pop(name, None):
            raise NotOffered("an embedding that renorms, counts or is sparse")


def one_or_listed(call: Call) -> None:
    """Spread a list in the place of the only input, which may also be one value."""
    if isinstance(call.inputs["x"], list | tuple):
        listed(call)


def all_listed(call: Call) -> None:
    """Put a first value and a list of others into one list; what is not a value must be none."""
    first, rest = call.inputs["x"], call.inputs.get("rest") or []
    values = [*(first if isinstance(first, list | tuple) else [first]), *rest]
    call.inputs = {str(index): value for index, value in enumerate(values)}


def sections(call: Call) -> None:
    given = call.inputs.pop("sections")
    if is_tensor(given):
        given = given.tolist()
    call.attrs["sections"] = plain(given)


def slice_replaced(call: Call) -> None:
    slice_(call)
    if call.attrs.get("stop", 0) is None:
        del call.attrs["stop"]


def copied(call: Call) -> None:
    call.op, call.attrs = "copy", {}


def chosen(call: Call) -> None:
    call.attrs["size"] = call.attrs.pop("r", 2)


def turn(call: Call) -> None:
    if "axis" in call.attrs:
        call.attrs["axes"] = call.attrs.pop("axis")


def limited_rank(call: Call) -> None:
    """Map a limit for all matrices and limits for each to arguments of their own."""
    for name in ("atol", "rtol"):
        limit = call.inputs.pop(name, None)
        call.inputs[name + "s"] = limit if is_tensor(limit) else None
        if limit is not None and not is_tensor(limit):
            call.attrs[name] = limit


def triangular(call: Call) -> None:
    """Solve with the old order of arguments and its defaults."""
    attrs = call.attrs
    upper, turned = attrs.pop("upper", True), attrs.pop("transpose", False)
    if turned:
        raise NotOffered("a transposed triangle; transpose it")
    call.attrs = {"upper": upper, "unitriangular": attrs.pop("unitriangular", False)}
    call.order("a", "b")


def native_group_norm(call: Call) -> None:
    for name in ("N", "C", "HxW"):
        del call.attrs[name]


def filled(call: Call) -> None:
    call.attrs["shape"] = list(call.inputs.pop("x").shape)
    call.attrs["value"] = float(call.attrs["value"])
    call.attrs["dtype"] = "float64"


def shares(call: Call) -> None:
    q = call.inputs.pop("q")
    call.attrs["q"] = q.tolist() if is_tensor(q) else q


def spacing(call: Call) -> None:
    """Distinguish a step, steps and places."""
    given = call.inputs.pop("spacing", None)
    if isinstance(given, list) and all(is_tensor(item) for item in given):
        call.inputs |= {f"places{number}": places for number, places in enumerate(given)}
    elif given is not None:
        call.attrs["spacing"] = plain(given)


def assume_nothing(call: Call) -> None:
    call.attrs.pop("assume_unique", None)


def vander(call: Call) -> None:
    call.attrs["increasing"] = True
    call.attrs["columns"] = call.attrs.pop("N", None)


def moved_axes(call: Call) -> None:
    call.attrs["axes"] = call.attrs.pop("dims", call.attrs.pop("axis", None)) or []


def default_norm(call: Call) -> None:
    if "exponent" in call.attrs:
        call.attrs["n"] = call.attrs.pop("exponent")
    if call.attrs.get("norm", 0) is None:
        del call.attrs["norm"]


def several_axes(call: Call) -> None:
    default_norm(call)
    if "s" in call.attrs:
        call.attrs["sizes"] = call.attrs.pop("s")
    if "axis" in call.attrs:
        axes = call.attrs.pop("axis")
        if axes is not None:
            call.attrs["axes"] = axes
