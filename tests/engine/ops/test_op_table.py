"""The ops people look for, by family, under their usual names: all are there and are documented."""

import pytest

from engine.core.errors import UnsupportedOp
from engine.core.registry import lookup
from engine.ops import OPS
from tests.support.rows import each_row

TABLE = {
    "arithmetic": "add sub mul div neg scale add1 sqr pow reciprocal sqrt rsqrt cbrt square",
    "pairs": "maximum minimum fmax fmin fmod remainder floor_divide hypot atan2 copysign lerp addcmul addcdiv xlogy"
    " xlog1py logaddexp logaddexp2 ldexp",
    "comparison": "eq ne lt le gt ge logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor"
    " bitwise_not isclose allclose isnan isinf isfinite sign step",
    "rounding": "floor ceil round trunc frac",
    "exponentials": "exp expm1 exp2 log log1p log2 log10",
    "trigonometry": "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sinc",
    "special": "erf erfc erfinv lgamma digamma logit entr i0e erfcx ndtr ndtri log_ndtr",
    "limits": "clamp nan_to_num threshold",
    "activations": "relu sigmoid tanh softmax silu softplus gelu gelu_quick leaky_relu prelu elu selu celu relu6"
    " hardtanh hardsigmoid hardswish hardshrink softshrink tanhshrink softsign mish logsigmoid xielu swiglu geglu"
    " reglu glu",
    "reductions": "sum mean prod max min amax amin argmax argmin all any count_equal var std var_mean norm logsumexp"
    " nansum nanmean median quantile nanquantile sum_rows",
    "scans": "cumsum cumprod cummax cummin logcumsumexp gradient",
    "sorting": "sort argsort topk top_k kthvalue unique searchsorted bucketize",
    "shape": "reshape view permute transpose squeeze expand_dims unsqueeze flatten movedim contiguous cont dup cpy"
    " broadcast_to expand expand_as repeat tile repeat_interleave repeat_back concat cat stack split chunk unbind"
    " slice narrow zeros_like ones_like full_like"
    " flip roll pad tril triu diag diagonal trace diag_mask_inf diag_mask_zero set acc",
    "indexing": "get_rows embedding set_rows index_put gather take_along_axis scatter scatter_add scatter_reduce"
    " embedding_bag index_add index_select take masked_fill masked_select where one_hot",
    "linear algebra": "matmul mul_mat out_prod dot addmm bmm linear einsum tensordot outer kron cross inv solve"
    " solve_tri cholesky det slogdet qr eigh svd lstsq pinv mul_mat_id",
    "convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d im2col unfold col2im fold",
    "pooling": "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d pool_1d pool_2d adaptive_avg_pool2d"
    " adaptive_max_pool2d lp_pool2d max_unpool2d",
    "resizing": "interpolate pixel_shuffle pixel_unshuffle grid_sample upscale",
    "normalisation": "rms_norm layer_norm batch_norm group_norm instance_norm l2_norm normalize local_response_norm",
    "attention": "soft_max scaled_dot_product_attention multi_head_attention rope",
    "recurrent": "rnn lstm gru rnn_cell lstm_cell gru_cell",
    "random": "dropout bernoulli normal uniform gumbel_softmax multinomial randperm",
    "losses": "cross_entropy nll_loss mse_loss l1_loss huber_loss smooth_l1_loss bce_loss bce_with_logits kl_div"
    " hinge_embedding_loss multi_margin_loss margin_ranking_loss cosine_embedding_loss triplet_margin_loss"
    " gaussian_nll_loss poisson_nll_loss focal_loss ctc_loss",
    "casts": "cast astype type_as detach stop_gradient bitcast",
    "counting": "histc bincount isin equal signbit isposinf isneginf",
    "Fourier transforms": "fft ifft rfft irfft fft2 ifft2 fftn ifftn rfft2 irfft2 rfftn irfftn hfft ihfft "
    "fftshift ifftshift fftfreq rfftfreq",
    "optimizer steps": "opt_step_adamw opt_step_sgd",
}


@each_row("family", TABLE)
def test_an_op_is_known_by_the_name_people_look_for(family: str) -> None:
    for name in TABLE[family].split():
        op = lookup(name)
        assert op.doc.endswith((".", ")")), name
        assert op.samples or op.name == name, name


@each_row("name", ["flash_attn_ext", "ssm_scan", "rwkv_wkv6", "win_part", "timestep_embedding", "stft"])
def test_what_is_not_offered_says_so(name: str) -> None:
    assert name not in OPS
    with pytest.raises(UnsupportedOp):
        lookup(name)
