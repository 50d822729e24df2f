"""Which op of ours each op of PyTorch's `op_db` is, and how its arguments become our inputs and attributes.

The table is read by make_golden.py only; nothing here needs PyTorch. A key is the OpInfo's name, with "|" and its
variant where it has one. An entry names our op and the arguments in PyTorch's order: a plain name is an input of ours,
in that order; a name with "=" is an attribute, under the name that `RENAMED` gives it; "*=" at the end is a list spread
over the arguments. What cannot be written so goes through a function of `arguments` or `layer_arguments`. The op
"getitem" stands for the brackets of a Value.
"""

from __future__ import annotations

import arguments as arg
import layer_arguments as layer
from entry import Entry, same, to

NN = "nn.functional."

ELEMENTWISE = {
    **same(
        "abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc erfinv exp exp2 expm1 floor frac i0 "
        "isfinite isinf isnan isneginf isposinf signbit "
        "lgamma log log10 log1p log2 logical_not neg reciprocal round rsqrt sigmoid sign sin sinc "
        "sinh sqrt square tan tanh trunc bitwise_not",
        "x",
    ),
    **same("i0e i1 i1e entr", "x", "special."),
    **same("relu relu6 selu hardsigmoid hardswish logsigmoid mish softsign tanhshrink silu", "x inplace=", NN),
    **same("elu celu", "x alpha= inplace=", NN),
    **same("hardshrink softshrink", "x lambd=", NN),
    **same(
        "mul atan2 copysign fmax fmin fmod remainder floor_divide hypot logaddexp logaddexp2 maximum minimum xlogy "
        "heaviside eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
        "bitwise_left_shift bitwise_right_shift pow",
        "a b",
    ),
    "sgn": to("sign"),
    "clone": to("copy"),
    **same("contiguous positive conj conj_physical resolve_conj resolve_neg alias_copy real", "x", adapt=arg.copied),
    "double": to("cast", "x", arg.cast_to("float64")),
    "float": to("cast", "x", arg.cast_to("float32")),
    "half": to("cast", "x", arg.cast_to("float16")),
    "long": to("cast", "x", arg.cast_to("int64")),
    "int": to("cast", "x", arg.cast_to("int32")),
    "bool": to("cast", "x", arg.cast_to("bool")),
    "round|decimals_0": to("round", "x decimals="),
    "round|decimals_3": to("round", "x decimals="),
    "round|decimals_neg_3": to("round", "x decimals="),
    "nan_to_num": to("nan_to_num", "x nan= posinf= neginf="),
    "logit": to("logit", "x eps="),
    **{f"polygamma|polygamma_n_{n}": to("polygamma", "x order=") for n in range(5)},
    "special.polygamma|special_polygamma_n_0": to("polygamma", "x order="),
    "special.xlog1py": to("xlog1py", "a b"),
    "add": to("add", "a b alpha=", arg.alpha),
    "sub": to("sub", "a b alpha=", arg.alpha),
    "rsub": to("rsub", "a b alpha="),
    "equal": to("equal", "a b"),
    "isin": to("isin", "x elements assume_unique= invert=", arg.assume_nothing),
    "__radd__": to("add", "a b"),
    "__rmul__": to("mul", "a b"),
    "__rsub__": to("sub", "a b", arg.reversed_pair),
    "__rdiv__": to("div", "a b", arg.reversed_pair),
    "__rmod__": to("remainder", "a b", arg.reversed_pair),
    "__rpow__": to("pow", "a b", arg.reversed_pair),
    "div|no_rounding_mode": to("div", "a b rounding_mode=", arg.rounding),
    "div|floor_rounding": to("div", "a b rounding_mode=", arg.rounding),
    "div|trunc_rounding": to("div", "a b rounding_mode=", arg.rounding),
    **same("deg2rad rad2deg", "x"),
    **same("ndtr ndtri log_ndtr erfcx", "x", "special."),
    **same("isclose allclose", "a b rtol= atol= equal_nan="),
    "ldexp": to("ldexp", "x exponent"),
    **{f"mvlgamma|mvlgamma_p_{n}": to("mvlgamma", "x order=") for n in (1, 3, 5)},
    "true_divide": to("div", "a b"),
    "float_power": to("float_power", "a b"),
    "max|binary": to("maximum", "a b"),
    "min|binary": to("minimum", "a b"),
    "lerp": to("lerp", "a b weight", arg.lerp),
    "addcmul": to("addcmul", "x a b value="),
    "addcdiv": to("addcdiv", "x a b value="),
    "clamp": to("clamp_tensor", "x min max", arg.clamp),
    "clamp_min": to("clamp_min", "x low"),
    "clamp_max": to("clamp_max", "x high"),
    "where": to("where", "a condition b", arg.where),
    "masked_fill": to("masked_fill", "x mask value"),
    NN + "softplus": to("softplus", "x beta= threshold="),
    NN + "hardtanh": to("hardtanh", "x min_val= max_val= inplace="),
    NN + "leaky_relu": to("leaky_relu", "x negative_slope= inplace="),
    NN + "threshold": to("threshold", "x threshold= value= inplace="),
    NN + "gelu": to("gelu", "x approximate="),
    NN + "prelu": to("prelu", "x weight"),
    NN + "glu": to("glu", "x dim="),
}

REDUCTIONS = {
    **same(
        "sum mean nansum nanmean prod amax amin argmax argmin all any count_nonzero",
        "x dim= keepdim= dtype=",
        adapt=arg.every_axis,
    ),
    **{
        f"{name}{variant}": to(name, order, arg.spread)
        for name in ("var", "std", "var_mean", "std_mean")
        for variant, order in (("", "x dim= unbiased= keepdim= correction="), ("|unbiased", "x unbiased="))
    },
    **same("cumsum cumprod cummax cummin logcumsumexp", "x dim= dtype="),
    **same("softmax log_softmax", "x dim= dtype="),
    "softmax|with_dtype": to("softmax", "x dim= dtype="),
    "log_softmax|with_dtype": to("log_softmax", "x dim= dtype="),
    "_softmax_backward_data": to("softmax_backward", "g y dim= dtype="),
    NN + "softmin": to("softmin", "x dim= dtype="),
    NN + "softmin|with_dtype": to("softmin", "x dim= dtype="),
    "logsumexp": to("logsumexp", "x dim= keepdim="),
    "histc": to("histc", "x bins= min= max="),
    "bincount": to("bincount", "index weights minlength="),
    "diff": to("diff", "x order= dim= prepend append"),
    **same("trapezoid trapz cumulative_trapezoid", "y x"),
    "cov": to("cov", "x correction= fweights aweights"),
    "corrcoef": to("corrcoef"),
    "cdist": to("cdist", "a b p= compute_mode="),
    "dist": to("dist", "a b p="),
    "renorm": to("renorm", "x p= dim= largest="),
    NN + "pdist": to("pdist", "x p="),
    NN + "pairwise_distance": to("pairwise_distance", "a b p= eps= keepdim="),
    "aminmax": to("aminmax", "x dim= keepdim="),
    "max|reduction_with_dim": to("max_with_index", "x dim= keepdim="),
    "min|reduction_with_dim": to("min_with_index", "x dim= keepdim="),
    "max|reduction_no_dim": to("max"),
    "min|reduction_no_dim": to("min"),
    "median": to("median", "x dim= keepdim=", outputs=(0,)),
    "nanmedian": to("nanmedian", "x dim= keepdim=", outputs=(0,)),
    "mode": to("mode", "x dim= keepdim="),
    **same("quantile nanquantile", "x q dim= keepdim= interpolation=", adapt=arg.shares),
    "gradient": to("gradient", "x spacing dim= edge_order=", arg.spacing),
    "kthvalue": to("kthvalue", "x k= dim= keepdim="),
    "topk": to("topk", "x k= dim= largest= sorted=", arg.in_order),
    "sort": to("sort", "x dim= descending= stable="),
    "msort": to("sort", "x", arg.first_axis, outputs=(0,)),
    "argsort": to("argsort", "x dim= descending= stable="),
    "unique": to("unique", "x sorted= return_inverse= return_counts=", arg.unique),
    "unique_consecutive": to("unique_consecutive", "x return_inverse= return_counts=", arg.unique),
    "searchsorted": to("searchsorted", "boundaries values sorter", arg.search),
    "bucketize": to("bucketize", "x boundaries"),
    "sum_to_size": to("sum_to", "x shape*="),
    "norm": to("norm", "x p= dim= keepdim= dtype=", arg.old_norm),
    "norm|nuc": to("norm", "x p= dim= keepdim= dtype=", arg.old_norm),
    "norm|fro": to("norm", "x p= dim= keepdim= dtype=", arg.old_norm),
    "norm|inf": to("norm", "x p= dim= keepdim= dtype=", arg.old_norm),
    "linalg.vector_norm": to("norm", "x ord= dim= keepdim= dtype=", arg.vector_norm),
    "linalg.matrix_norm": to("matrix_norm", "x ord= dim= keepdim= dtype=", arg.matrix_norm),
    "linalg.norm": to("linalg_norm", "x ord= dim= keepdim= dtype=", arg.infinite_order),
    "linalg.norm|subgradients_at_zero": to("linalg_norm", "x ord= dim= keepdim= dtype=", arg.infinite_order),
    NN + "normalize": to("normalize", "x p= dim= eps="),
    NN + "cosine_similarity": to("cosine_similarity", "a b dim= eps="),
}

SHAPE = {
    "reshape": to("reshape", "x shape*="),
    "view": to("reshape", "x shape*="),
    "ravel": to("reshape", "x", arg.flat),
    "reshape_as": to("reshape", "x like", arg.like),
    "unflatten": to("unflatten", "x dim= sizes="),
    "flatten": to("flatten", "x start_dim= end_dim="),
    "permute": to("permute", "x axes="),
    "transpose": to("transpose", "x dim0= dim1="),
    "t": to("t"),
    "T": to("t"),
    "mT": to("transpose", "x"),
    "H": to("t"),
    "mH": to("transpose", "x"),
    "squeeze": to("squeeze", "x dim=", arg.squeeze),
    "squeeze|multiple": to("squeeze", "x dim=", arg.squeeze),
    "unsqueeze": to("unsqueeze", "x dim="),
    "broadcast_to": to("broadcast_to", "x shape="),
    "expand": to("broadcast_to", "x shape=", arg.expand),
    "expand_as": to("broadcast_to", "x like", arg.like),
    "cat": to("concat", "xs dim=", arg.listed),
    "stack": to("stack", "xs dim=", arg.listed),
    "split": to("split", "x sizes= dim=", arg.split),
    "split|list_args": to("split", "x sizes= dim=", arg.split),
    "split_with_sizes": to("split", "x sizes= dim=", arg.split),
    "split_with_sizes_copy": to("split", "x sizes= dim=", arg.split),
    "unsafe_split": to("split", "x sizes= dim=", arg.split),
    "unsafe_chunk": to("chunk", "x chunks= dim="),
    "tensor_split": to("tensor_split", "x sections dim=", arg.sections),
    **same("hsplit vsplit dsplit", "x sections", adapt=arg.sections),
    **same("atleast_1d atleast_2d atleast_3d", "x", adapt=arg.one_or_listed),
    **same("hstack vstack dstack column_stack", "x", adapt=arg.all_listed),
    **same("block_diag broadcast_tensors cartesian_prod", "x rest*", adapt=arg.all_listed),
    "combinations": to("combinations", "x r= with_replacement=", arg.chosen),
    "rot90": to("rot90", "x times= axes=", arg.turn),
    "diagflat": to("diagflat", "x offset="),
    "view_copy": to("reshape", "x shape*="),
    "view_as": to("reshape", "x like", arg.like),
    "permute_copy": to("permute", "x axes="),
    "transpose_copy": to("transpose", "x dim0= dim1="),
    "t_copy": to("t"),
    "squeeze_copy": to("squeeze", "x dim=", arg.squeeze),
    "unsqueeze_copy": to("unsqueeze", "x dim="),
    "expand_copy": to("broadcast_to", "x shape=", arg.expand),
    "unbind_copy": to("unbind", "x dim="),
    "diagonal_copy": to("diagonal", "x offset= axis0= axis1=", arg.diagonal),
    "narrow_copy": to("slice", "x axis= start= length=", arg.narrow),
    "unfold_copy": to("unfold", "x axis= size= step="),
    "as_strided_copy": to("strided_slice", "x size= stride= storage_offset=", arg.strided),
    "fill": to("full", "x value=", arg.filled),
    "chunk": to("chunk", "x chunks= dim="),
    "unbind": to("unbind", "x dim="),
    "flip": to("flip", "x dims="),
    **same("fliplr flipud", "x"),
    "roll": to("roll", "x shifts= dims="),
    "movedim": to("movedim", "x source= destination="),
    "meshgrid|list_of_tensors": to("meshgrid", "xs", arg.listed),
    "tril": to("tril", "x diagonal="),
    "triu": to("triu", "x diagonal="),
    "diag": to("diag", "x offset="),
    "diagonal": to("diagonal", "x offset= axis0= axis1=", arg.diagonal),
    "linalg.diagonal": to("diagonal", "x offset= axis0= axis1=", arg.last_diagonal),
    "diag_embed": to("diag_embed", "x offset= axis0= axis1=", arg.diagonal),
    "trace": to("trace"),
    "narrow": to("slice", "x axis= start= length=", arg.narrow),
    "slice": to("slice", "x dim= start= stop= step=", arg.slice_),
    "repeat": to("repeat", "x repeats*=", arg.repeats),
    "tile": to("repeat", "x repeats*=", arg.repeats),
    "repeat_interleave": to("repeat_interleave", "x repeats dim=", arg.each_repeated),
    "unfold": to("unfold", "x axis= size= step="),
    "as_strided": to("strided_slice", "x size= stride= storage_offset=", arg.strided),
    "constant_pad_nd": to("pad", "x pad= value=", arg.pad),
    **{
        f"{NN}pad|{mode}": to("pad", "x pad= mode= value=", arg.pad)
        for mode in ("constant", "reflect", "replicate", "replicate_negative", "circular")
    },
    NN + "unfold": to("im2col", "x kernel= dilation= padding= stride="),
    NN + "pixel_shuffle": to("pixel_shuffle", "x upscale_factor="),
    NN + "pixel_unshuffle": to("pixel_unshuffle", "x downscale_factor="),
    NN + "channel_shuffle": to("channel_shuffle", "x groups="),
    "arange": to("arange", "numbers*=", arg.arange),
    "linspace": to("linspace", "start= stop= steps=", arg.in_float64),
    "eye": to("eye", "rows= columns=", arg.eye),
    "full": to("full", "shape= value=", arg.in_float64),
    "zeros": to("zeros", "shape=", arg.in_float64),
    "ones": to("ones", "shape=", arg.in_float64),
}

INDEXING = {
    "__getitem__": to("getitem", "x index=", arg.getitem),
    "select": to("getitem", "x dim= index=", arg.select),
    "gather": to("gather", "x dim= index"),
    "take_along_dim": to("take_along_dim", "x index dim="),
    "index_select": to("index_select", "x dim= index"),
    "index_add": to("index_add", "x dim= index source alpha="),
    "index_copy": to("index_copy", "x dim= index source", arg.unsafe),
    "index_fill": to("index_fill", "x dim= index value"),
    "index_put": to("index_put", "x indices values accumulate=", arg.index_put),
    "scatter": to("scatter", "x dim= index src reduce=", arg.scatter),
    "scatter_add": to("scatter", "x dim= index src", arg.accumulate),
    **{
        f"scatter_reduce|{how}": to("scatter_reduce", "x dim= index src reduce= include_self=")
        for how in ("sum", "prod", "mean", "amin", "amax")
    },
    "slice_scatter": to("slice_replace", "x source dim= start= stop= step=", arg.slice_replaced),
    "select_scatter": to("select_replace", "x source dim= index="),
    "diagonal_scatter": to("diagonal_replace", "x source offset= axis0= axis1=", arg.diagonal),
    "masked_scatter": to("masked_scatter", "x mask source"),
    "take": to("take_flat", "x index"),
    "put": to("put_flat", "x index source accumulate=", arg.unsafe),
    **{
        f"index_reduce|{how}": to("index_reduce", "x dim= index source reduce= include_self=")
        for how in ("prod", "mean", "amin", "amax")
    },
    "masked_select": to("masked_select", "x mask"),
    "nonzero": to("nonzero", "x as_tuple="),
    "argwhere": to("argwhere"),
    NN + "one_hot": to("one_hot", "index num_classes=", arg.one_hot),
    NN + "embedding": to("embedding", "weight index", arg.embedding),
    NN + "embedding_bag": to("embedding_bag", "weight index offsets per_sample_weights", arg.embedding),
}

LINEAR_ALGEBRA = {
    **{name: to("matmul", "a b") for name in ("matmul", "mm", "mv", "bmm")},
    "__rmatmul__": to("matmul", "a b", arg.reversed_pair),
    "dot": to("dot", "a b"),
    "vdot": to("dot", "a b"),
    "outer": to("outer", "a b"),
    "kron": to("kron", "a b"),
    "addmm": to("addmm", "c a b"),
    "addmm|decomposed": to("addmm", "c a b"),
    "baddbmm": to("baddbmm", "c a b"),
    **same("addmv addr addbmm", "c a b"),
    "inner": to("inner", "a b"),
    "linalg.vecdot": to("vecdot", "a b dim="),
    "linalg.multi_dot": to("multi_dot", "x", arg.all_listed),
    "logdet": to("logdet"),
    "cholesky_solve": to("cholesky_solve", "b factor upper=", values_only=True),  # gradients by the other triangle,
    "cholesky_inverse": to("cholesky_inverse", "factor upper=", values_only=True),
    "triangular_solve": to("solve_triangular", "b a upper= transpose= unitriangular=", arg.triangular, outputs=(0,)),
    "linalg.matrix_rank": to("matrix_rank", "x atol rtol hermitian=", arg.limited_rank),
    "linalg.matrix_rank|hermitian": to("matrix_rank", "x atol rtol hermitian=", arg.limited_rank, symmetric=True),
    "cross": to("cross", "a b dim=", layer.cross),
    "linalg.cross": to("cross", "a b dim="),
    "einsum": to("einsum", "operands equation=", arg.listed),
    "tensordot": to("tensordot", "a b axes=", layer.tensordot),
    NN + "linear": to("linear", "x weight bias"),
    NN + "bilinear": to("bilinear", "a b weight bias"),
    "linalg.inv": to("inv"),
    "linalg.inv_ex": to("inv_ex"),
    "linalg.det": to("det"),
    "linalg.slogdet": to("slogdet"),
    "linalg.solve": to("solve", "a b left="),
    "linalg.solve_ex": to("solve_ex", "a b left="),
    "linalg.solve_triangular": to("solve_triangular", "a b upper= left= unitriangular="),
    "linalg.matrix_power": to("matrix_power", "x n="),
    "cholesky": to("cholesky", "x upper="),
    "linalg.cholesky": to("cholesky", "x upper="),
    "linalg.cholesky_ex": to("cholesky_ex", "x upper="),
    "matrix_exp": to("matrix_exp"),
    "linalg.vander": to("vander", "x N=", arg.vander),
    "linalg.tensorinv": to("tensorinv", "x ind="),
    "linalg.tensorsolve": to("tensorsolve", "a b dims=", arg.moved_axes),
    "linalg.qr": to("qr", "x mode=", after="qr"),
    "qr": to("qr", "x some=", layer.some, after="qr"),
    "linalg.eigh": to("eigh", "x UPLO=", layer.either_triangle, after="abs", symmetric=True),
    "linalg.eigvalsh": to("eigvalsh", "x UPLO=", layer.either_triangle, symmetric=True),
    "linalg.svd": to("svd", "x full_matrices=", layer.full_by_default, after="svd"),
    "linalg.svdvals": to("svdvals"),
    "linalg.pinv": to("pinv", "x rtol= atol= hermitian=", layer.tolerance),
    "linalg.pinv|hermitian": to("pinv", "x rtol= atol= hermitian=", layer.tolerance, symmetric=True),
    "pinverse": to("pinv"),
    "linalg.lstsq": to("lstsq", "a b", outputs=(0,)),
    "linalg.lstsq|grad_oriented": to("lstsq", "a b", outputs=(0,)),
}

CONVOLUTION = {
    **{f"{NN}conv{n}d": to(f"conv{n}d", "x weight bias", layer.one_window) for n in (1, 2, 3)},
    **{f"{NN}conv_transpose{n}d": to(f"conv_transpose{n}d", "x weight bias", layer.one_window) for n in (1, 2, 3)},
    **{
        f"{NN}avg_pool{n}d": to(
            f"avg_pool{n}d",
            "x kernel_size= stride= padding= ceil_mode= count_include_pad= divisor_override=",
            layer.default_stride,
        )
        for n in (1, 2, 3)
    },
    **{f"{NN}max_pool{n}d": to(f"max_pool{n}d", "x kernel_size=") for n in (1, 2, 3)},
    **{
        f"{NN}max_unpool{n}d{v}": to(f"max_unpool{n}d", "x index", layer.unpool)
        for n in (1, 2, 3)
        for v in ("", "|grad")
    },
    **{
        f"{NN}adaptive_avg_pool{n}d": to(f"adaptive_avg_pool{n}d", "x output_size=", layer.output_size)
        for n in (1, 2, 3)
    },
    **{
        f"{NN}adaptive_max_pool{n}d": to(f"adaptive_max_pool{n}d", "x output_size= return_indices=", layer.output_size)
        for n in (1, 2, 3)
    },
    NN + "grid_sample": to("grid_sample", "x grid"),
    "grid_sampler_2d": to("grid_sample", "x grid mode= padding_mode= align_corners=", layer.numbered_modes),
    "grid_sampler_3d": to("grid_sample", "x grid mode= padding_mode= align_corners=", layer.numbered_modes),
    **{
        f"{NN}interpolate|{mode}": to("interpolate", "x size=", layer.interpolate)
        for mode in ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area")
    },
    "_upsample_bilinear2d_aa": to(
        "interpolate", "x output_size= align_corners= scale_factors=", layer.smooth, most_elements=40000
    ),
    NN + "upsample_nearest": to("interpolate", "x size=", layer.upsample_nearest),
    NN + "upsample_bilinear": to("interpolate", "x size=", layer.upsample_bilinear),
}

NETWORKS = {
    NN + "batch_norm": to(
        "batch_norm", "x running_mean running_var weight bias training=", layer.batch_norm, outputs=(0,)
    ),
    NN + "layer_norm": to("layer_norm", "x normalized_shape= weight bias", layer.normalized),
    "native_layer_norm": to("layer_norm", "x normalized_shape= weight bias eps=", layer.normalized, outputs=(0,)),
    "native_group_norm": to("group_norm", "x weight bias N= C= HxW= groups= eps=", arg.native_group_norm, outputs=(0,)),
    "native_batch_norm": to(
        "batch_norm", "x weight bias running_mean running_var training= momentum= eps=", layer.batch_norm, outputs=(0,)
    ),
    NN + "rms_norm": to("rms_norm", "x normalized_shape= weight", layer.normalized),
    NN + "group_norm": to("group_norm", "x num_groups= weight bias"),
    NN + "instance_norm": to("instance_norm", "x weight bias running_mean running_var", layer.instance_norm),
    NN + "local_response_norm": to("local_response_norm", "x size="),
    NN + "scaled_dot_product_attention": to("scaled_dot_product_attention", "q k v attn_mask", layer.attention),
    NN + "multi_head_attention_forward": to(
        "multi_head_attention",
        "query key value width= heads= in_proj_weight in_proj_bias bias_k bias_v zero_attn= dropout= out_proj_weight "
        "out_proj_bias",
        layer.multi_head,
        outputs=(0,),
    ),
    **{
        f"{NN}{name}": to(name, "x", layer.no_randomness)
        for name in ("dropout", "dropout2d", "dropout3d", "alpha_dropout")
    },
    **same("mse_loss l1_loss huber_loss smooth_l1_loss", "x target", NN),
    **same("soft_margin_loss hinge_embedding_loss poisson_nll_loss", "x target", NN),
    NN + "gaussian_nll_loss": to("gaussian_nll_loss", "x target var"),
    NN + "kl_div": to("kl_div", "x target"),
    NN + "binary_cross_entropy": to("bce_loss", "p target weight"),
    NN + "binary_cross_entropy_with_logits": to("bce_with_logits_loss", "logits target pos_weight weight"),
    NN + "cross_entropy": to("cross_entropy", "logits target weight"),
    NN + "nll_loss": to("nll_loss", "log_probabilities target weight"),
    NN + "multi_margin_loss": to("multi_margin_loss", "x target weight p= margin="),
    NN + "multilabel_margin_loss": to("multilabel_margin_loss", "x target"),
    NN + "multilabel_soft_margin_loss": to("multilabel_soft_margin_loss", "x target weight"),
    NN + "margin_ranking_loss": to("margin_ranking_loss", "a b target"),
    NN + "cosine_embedding_loss": to("cosine_embedding_loss", "a b target"),
    NN + "triplet_margin_loss": to("triplet_margin_loss", "anchor positive negative"),
    NN + "ctc_loss": to(
        "ctc_loss",
        "log_probs targets input_lengths target_lengths",
        layer.lengths,
        values_only=True,  # PyTorch's gradient is that by the logits behind a log_softmax
        most_elements=20000,
    ),
}

FOURIER = {
    **{
        f"fft.{kind}": to(kind, "x n= dim= norm=", arg.default_norm)
        for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"fft.{way}fft{kind}": to(f"{way}fft{kind}", "x s= dim= norm=", arg.several_axes)
        for way in ("", "i", "r", "ir")
        for kind in ("2", "n")
    },
    **{f"fft.{way}fftshift": to(f"{way}fftshift", "x dim=", arg.several_axes) for way in ("", "i")},
}

SECTIONS: dict[str, dict[str, Entry]] = {
    "elementwise": ELEMENTWISE,
    "reductions": REDUCTIONS,
    "shape": SHAPE,
    "indexing": INDEXING,
    "linear_algebra": LINEAR_ALGEBRA,
    "convolution": CONVOLUTION,
    "networks": NETWORKS,
    "fourier": FOURIER,
}
