"""What the mapping table cannot tell by names alone: functions that put one call into our terms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class NotOffered(Exception):
    """The sample asks for something that our op does not have, by design; the text says what."""


@dataclass
class Call:
    """A call of one of our ops: its inputs by PyTorch's names, in our order, and its attributes."""

    op: str
    inputs: dict[str, Any]
    attrs: dict[str, Any]

    def order(self, *names: str) -> None:
        """Put the inputs in this order and drop the others."""
        self.inputs = {name: self.inputs[name] for name in names}

    def drop(self, name: str, default: Any, why: str) -> None:
        """Take out an attribute that only `default` is offered of."""
        if self.attrs.pop(name, default) != default:
            raise NotOffered(why)


def plain(value: Any) -> Any:
    """Turn sizes, tuples and numbers of an attribute into what JSON holds."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if is_tensor(value):
        if value.ndim == 0 and not value.requires_grad and not value.dtype.is_floating_point:
            return value.item()
        raise NotOffered("a tensor where our attribute is a number")
    if str(value).startswith("torch."):
        raise NotOffered(f"{value} in place of float64")
    raise NotOffered(f"an argument of type {type(value).__name__}")


def is_tensor(value: Any) -> bool:
    """Tell tensors without knowing PyTorch."""
    return hasattr(value, "requires_grad")


def listed(call: Call) -> None:
    """Spread the list of tensors in the place of the only input."""
    (first, *_) = call.inputs
    call.inputs = {str(index): value for index, value in enumerate(call.inputs[first])}


def no_alpha(call: Call) -> None:
    call.drop("alpha", 1, "the factor alpha of add and sub; write the product")


def reversed_pair(call: Call) -> None:
    no_alpha(call)
    call.order("b", "a")


def rounding(call: Call) -> None:
    mode = call.attrs.pop("rounding_mode", None)
    call.op = {None: "div", "floor": "floor_divide"}[mode]


def clamp(call: Call) -> None:
    low, high = call.inputs["min"], call.inputs["max"]
    if any(is_tensor(bound) and not bound.dtype.is_floating_point for bound in (low, high)):
        raise NotOffered("bounds of an integer type")
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


def second_axis(call: Call) -> None:
    call.attrs["axis"] = 1


def in_order(call: Call) -> None:
    call.drop("sorted", True, "topk in any order")


def search(call: Call) -> None:
    side = call.attrs.pop("side", None)
    if call.inputs.pop("sorter") is not None:
        raise NotOffered("searchsorted of unsorted boundaries by their order")
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


def any_norm(call: Call) -> None:
    order, axis = call.attrs.get("order"), call.attrs.get("axis")
    matrices = call.inputs["x"].ndim == 2 and axis is None
    if order is not None and (isinstance(order, str) or matrices or (isinstance(axis, list) and len(axis) == 2)):
        call.op = "matrix_norm"
        matrix_norm(call)
    else:
        vector_norm(call)


def flat(call: Call) -> None:
    call.attrs["shape"] = [-1]


def like(call: Call) -> None:
    call.attrs["shape"] = list(call.inputs.pop("like").shape)


def unflatten(call: Call) -> None:
    shape, axis, sizes = list(call.inputs["x"].shape), call.attrs.pop("axis"), call.attrs.pop("sizes")
    axis %= len(shape)
    known = math.prod(size for size in sizes if size != -1)
    sizes = [shape[axis] // known if size == -1 else size for size in sizes]
    call.attrs["shape"] = [*shape[:axis], *sizes, *shape[axis + 1 :]]


def turned(call: Call) -> None:
    if call.inputs["x"].ndim < 2:
        raise NotOffered("the transpose of a vector")


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
    axes = call.attrs.get("axis")
    shape = call.inputs["x"].shape
    for axis in axes if isinstance(axes, list) else [axes]:
        if axis is not None and shape and shape[axis] != 1:
            raise NotOffered("squeezing an axis whose extent is not 1: an error here")


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


def along(call: Call) -> None:
    if "axis" not in call.attrs:
        raise NotOffered("take_along_dim of the flattened tensor")
    axis, (own, wanted) = call.attrs["axis"], (list(call.inputs[name].shape) for name in ("x", "index"))
    del own[axis], wanted[axis]
    if own != wanted:
        raise NotOffered("take_along_dim of shapes that have to be spread first")


def unsafe(call: Call) -> None:
    call.attrs["unsafe"] = True


def index_put(call: Call) -> None:
    indices = call.inputs.pop("indices")
    if any(str(index.dtype) == "torch.bool" for index in indices):
        raise NotOffered("a bool mask; masked_fill and masked_select take those")
    call.inputs |= {f"index{place}": index for place, index in enumerate(indices)}
    call.attrs["axes"] = list(range(len(indices)))
    unsafe(call)


def scatter(call: Call) -> None:
    reduce = call.attrs.pop("reduce", None)
    if reduce == "multiply":
        raise NotOffered("scatter that multiplies; scatter_reduce does")
    call.attrs["accumulate"] = reduce == "add"
    unsafe(call)


def accumulate(call: Call) -> None:
    call.attrs["accumulate"] = True


def no_tuple(call: Call) -> None:
    call.drop("as_tuple", False, "nonzero as a tuple")


def one_hot(call: Call) -> None:
    if call.attrs.get("classes", -1) == -1:
        raise NotOffered("one_hot with as many classes as there are in the data")
    call.attrs["dtype"] = "int64"


def embedding(call: Call) -> None:
    for name in ("max_norm", "norm_type", "sparse", "scale_grad_by_freq"):
        if call.attrs.pop(name, None):
            raise NotOffered("an embedding that renorms, counts or is sparse")


def cross(call: Call) -> None:
    if call.attrs.get("axis") is None:
        call.attrs["axis"] = list(call.inputs["a"].shape).index(3)


def tensordot(call: Call) -> None:
    if "axis" in call.attrs:
        call.attrs["axes"] = call.attrs.pop("axis")


def reduced(call: Call) -> None:
    call.drop("mode", "reduced", "complete factors")
    call.drop("some", True, "complete factors")
    call.drop("full_matrices", False, "complete factors")


def either_triangle(call: Call) -> None:
    call.attrs.pop("UPLO", None)


def unique(call: Call) -> None:
    asked = [call.attrs.pop(name, False) for name in ("sorted", "return_inverse", "return_counts")]
    if not all(asked) or call.attrs.pop("axis", None) is not None:
        raise NotOffered("unique that is unsorted, gives fewer results, or goes along an axis")
    if call.inputs["x"].unique().numel() < call.inputs["x"].numel():
        raise NotOffered("unique of repeated elements: results keep the extent of the input here")


def tolerance(call: Call) -> None:
    call.attrs.pop("atol", None)
    call.drop("hermitian", False, "the pseudo-inverse by one triangle")


def one_window(call: Call) -> None:
    """Take a list of one number for the number, as PyTorch does whatever the rank."""
    for name in ("stride", "padding", "dilation", "output_padding"):
        value = call.attrs.get(name)
        if isinstance(value, list) and len(value) == 1:
            call.attrs[name] = value[0]


def no_divisor(call: Call) -> None:
    call.drop("divisor_override", None, "another divisor of avg_pool")


def without_indices(call: Call) -> None:
    call.attrs.pop("return_indices", None)


def unpool(call: Call) -> None:
    call.attrs = {"shape": call.attrs["output_size"]}
    places = call.inputs["index"].flatten(2).sort(-1).values
    if bool((places[..., 1:] == places[..., :-1]).any()):
        raise NotOffered("duplicate indices, of which PyTorch takes any one")


def output_size(call: Call) -> None:
    without_indices(call)
    size, axes = call.attrs["output_size"], int(call.op[-2])
    if isinstance(size, list):
        own = call.inputs["x"].shape[-axes:]
        size = [have if want is None else want for want, have in zip(size, own, strict=True)]
        call.attrs["output_size"] = size


def numbered_modes(call: Call) -> None:
    call.attrs["mode"] = ("bilinear", "nearest", "bicubic")[call.attrs["mode"]]
    call.attrs["padding_mode"] = ("zeros", "border", "reflection")[call.attrs["padding_mode"]]
    no_bicubic(call)


def no_bicubic(call: Call) -> None:
    if call.attrs.get("mode") == "bicubic":
        raise NotOffered("grid_sample by cubics")


def interpolate(call: Call) -> None:
    attrs = call.attrs
    if attrs.pop("recompute_scale_factor", None) and attrs.get("scale") is not None:
        scale, shape = attrs.pop("scale"), call.inputs["x"].shape[2:]
        scales = scale if isinstance(scale, list) else [scale] * len(shape)
        attrs["size"] = [math.floor(extent * one) for extent, one in zip(shape, scales, strict=True)]
    if attrs.get("align_corners", 0) is None:
        del attrs["align_corners"]
    call.drop("antialias", False, "antialiasing")


def upsample_nearest(call: Call) -> None:
    call.attrs["mode"] = "nearest"


def upsample_bilinear(call: Call) -> None:
    call.attrs |= {"mode": "bilinear", "align_corners": True}


def batch_norm(call: Call) -> None:
    if any(value is None for value in call.inputs.values()):
        raise NotOffered("batch_norm without weight, bias or running statistics")
    call.attrs.setdefault("training", False)
    call.order("x", "weight", "bias", "running_mean", "running_var")


def normalized(call: Call) -> None:
    call.attrs["axes"] = len(call.attrs.pop("normalized_shape"))


def instance_norm(call: Call) -> None:
    call.drop("use_input_stats", True, "instance_norm by running statistics")
    call.attrs.pop("momentum", None)
    call.order("x", "weight", "bias")


def attention(call: Call) -> None:
    no_randomness(call)
    call.attrs.pop("enable_gqa", None)


def multi_head(call: Call) -> None:
    attrs, inputs = call.attrs, call.inputs
    if any(inputs.pop(name, None) is not None for name in ("bias_k", "bias_v")) or attrs.pop("zero_attn", False):
        raise NotOffered("rows added to keys and values")
    for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight", "static_k", "static_v"):
        if attrs.pop(name, None) is not None:
            raise NotOffered("separate weights or keys kept from before")
    if attrs.get("training", True) and attrs.get("dropout"):
        raise NotOffered("random numbers")
    raise NotOffered("batch second; batch first here")


def no_randomness(call: Call) -> None:
    share = call.attrs.get("p", call.attrs.get("dropout", 0.5 if "drop" in call.op else 0.0))
    training = call.attrs.get("training", True)
    if share and training:
        raise NotOffered("random numbers")


def no_weight(call: Call) -> None:
    if call.inputs.pop("weight", None) is not None:
        raise NotOffered("a weight for each element of the loss; multiply")


def margin(call: Call) -> None:
    if call.inputs["x"].ndim < 2 and call.inputs["target"].ndim:
        raise NotOffered("one row of scores with a vector of one target")


def equal_shapes(call: Call) -> None:
    if call.inputs["x"].shape != call.inputs["target"].shape:
        raise NotOffered("a target of another shape than the input: an error here, in all losses")


def lengths(call: Call) -> None:
    if not all(is_tensor(call.inputs[name]) for name in ("input_lengths", "target_lengths")):
        raise NotOffered("lengths as lists")
