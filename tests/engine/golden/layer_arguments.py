"""What the mapping table cannot express by names alone, of linear algebra, convolutions and networks."""

from __future__ import annotations

import math

from call import Call, NotOffered, is_tensor


def cross(call: Call) -> None:
    if call.attrs.get("axis") is None:
        call.attrs["axis"] = list(call.inputs["a"].shape).index(3)


def tensordot(call: Call) -> None:
    if "axis" in call.attrs:
        call.attrs["axes"] = call.attrs.pop("axis")


def some(call: Call) -> None:
    call.attrs["mode"] = "reduced" if call.attrs.pop("some", True) else "complete"


def full_by_default(call: Call) -> None:
    call.attrs.setdefault("full_matrices", True)


def either_triangle(call: Call) -> None:
    call.attrs.pop("UPLO", None)


def tolerance(call: Call) -> None:
    if call.attrs.get("atol", 0) is None:
        del call.attrs["atol"]


def one_window(call: Call) -> None:
    """Take a list of one number for the number, as PyTorch does whatever the rank."""
    for name in ("stride", "padding", "dilation", "output_padding"):
        value = call.attrs.get(name)
        if isinstance(value, list) and len(value) == 1:
            call.attrs[name] = value[0]


def default_stride(call: Call) -> None:
    """An empty stride is that of the kernel."""
    if call.attrs.get("stride") == []:
        del call.attrs["stride"]


def unpool(call: Call) -> None:
    # Duplicate indices come of windows that overlap, so their values are equal: whichever is written last.
    call.attrs["unsafe"] = True
    one_window(call)


def output_size(call: Call) -> None:
    size, axes = call.attrs["output_size"], int(call.op[-2])
    if isinstance(size, list):
        own = call.inputs["x"].shape[-axes:]
        size = [have if want is None else want for want, have in zip(size, own, strict=True)]
        call.attrs["output_size"] = size


def numbered_modes(call: Call) -> None:
    call.attrs["mode"] = ("bilinear", "nearest", "bicubic")[call.attrs["mode"]]
    call.attrs["padding_mode"] = ("zeros", "border", "reflection")[call.attrs["padding_mode"]]


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
        call.op = "batch_normalize"
        call.attrs.pop("momentum", None)  # it moves the running statistics alone
    call.attrs.setdefault("training", False)
    call.order("x", "weight", "bias", "running_mean", "running_var")


def normalized(call: Call) -> None:
    call.attrs["axes"] = len(call.attrs.pop("normalized_shape"))


def instance_norm(call: Call) -> None:
    call.attrs.pop("momentum", None)
    call.order("x", "weight", "bias", "running_mean", "running_var")


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
    if share not in (0, 1) and training:
        raise NotOffered("random numbers")


def lengths(call: Call) -> None:
    """Make tensors of lengths that are lists."""
    for name in ("input_lengths", "target_lengths"):
        if not is_tensor(call.inputs[name]):
            call.inputs[name] = call.inputs["targets"].new_tensor(call.inputs[name])


def smooth(call: Call) -> None:
    attrs = call.attrs
    size, scales = attrs.pop("output_size", None), attrs.pop("scale_factors", None)
    if any(attrs.pop(name, None) is not None for name in ("scales_h", "scales_w")):
        raise NotOffered("scales beside a size")
    attrs.pop("scales_w", None)
    attrs |= {"mode": "bilinear", "antialias": True, **({"size": size} if size is not None else {"scale": scales})}
