#!/usr/bin/env python3
"""Writes aten_cases.jsonl: operators on small inputs, with PyTorch's answers.

    pip install torch torchao
    python3 tests/serialize/pt2/torch_cases.py

aten_cases_test runs them without PyTorch. A line is one case: the operator, its
inputs (dtype as torch.export numbers it, dims, values), its arguments as the
format writes them, and the results. Complex numbers are pairs.
"""
import json
import os

import torch
import torch.ao.quantization.fx._decomposed  # Defines operators.
import torchao.quantization.quant_primitives  # Defines operators.
from torch._export.serde.serialize import _TORCH_TO_SERIALIZE_DTYPE

A = torch.ops.aten
CASES = []


def dtype_number(dtype):
    return int(_TORCH_TO_SERIALIZE_DTYPE[dtype])


def numbers(t):
    if t._is_zerotensor():
        t = torch.zeros(t.shape)
    if t.is_complex():
        t = torch.view_as_real(t.resolve_conj())
    values = t.detach().double().flatten().tolist()
    return [v if v == v and abs(v) != float('inf') else str(v) for v in values]


def describe(t):
    return {'dtype': dtype_number(t.dtype), 'dims': list(t.shape),
            'values': numbers(t)}


class Case:
    def __init__(self, op):
        self.case = {'op': str(op), 'in': [], 'args': [], 'out': []}

    def argument(self, v):
        if isinstance(v, torch.Tensor):
            self.case['in'].append(describe(v))
            return {'as_tensor': {'name': f'x{len(self.case["in"]) - 1}'}}
        if v is None:
            return {'as_none': True}
        for kind, word in ((bool, 'bool'), (int, 'int'), (float, 'float'),
                           (str, 'string')):
            if kind is float and v in (float('inf'), -float('inf')):
                return {'as_float': 'Infinity' if v > 0 else '-Infinity'}
            if isinstance(v, kind):
                return {f'as_{word}': v}
        if isinstance(v, torch.dtype):
            return {'as_scalar_type': dtype_number(v)}
        if isinstance(v, (list, tuple)):
            items = [self.argument(x) for x in v]
            word = next(iter(items[0]))[3:] if items else 'int'
            return {f'as_{word}s': [next(iter(x.values())) for x in items]}
        raise TypeError(type(v))


class Ignored:
    """A result that is not compared, as the state of a device's random numbers."""


def describe_result(r):
    if r is None:
        return {'none': True}
    if r is Ignored:
        return {'ignored': True}
    return {'size': r} if isinstance(r, int) else describe(r)


def case(op, *args, unsized=False, results=None, **kwargs):
    """`unsized`: the sizes of results depend on data. `results` are known where no
    kernel of this machine computes them."""
    c = Case(op)
    schema = op._schema
    given = dict(zip([a.name for a in schema.arguments], args), **kwargs)
    for name, value in given.items():
        c.case['args'].append([name, c.argument(value)])
    result = op(*args, **kwargs) if results is None else results
    if isinstance(result, torch.Tensor):
        result = (result,)
    c.case['list'] = str(schema.returns[0].type) == 'List[Tensor]'
    c.case['unsized'] = unsized
    c.case['out'] = [describe_result(r) for r in result]
    CASES.append(c.case)


def t(values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def ramp(*dims, start=-1.0, end=2.0, dtype=torch.float32):
    n = torch.Size(dims).numel()
    return torch.linspace(start, end, n).reshape(dims).to(dtype)


def creation():
    case(A.arange.default, 3.1, dtype=torch.int64)
    case(A.arange.start_step, 0.6, 5.5, 1.5, dtype=torch.int64)
    case(A.arange.start_step, 0.5, 4.0, 1.0, dtype=torch.int32)
    case(A.arange.start_step, False, True, True, dtype=torch.float32)
    case(A.arange.start_step, 5.0, 1.0, -2.0, dtype=torch.float16)
    case(A.linspace.Tensor_Scalar, t(1.5), 3.0, 4)
    case(A.linspace.default, 0.9, 7.9, 3, dtype=torch.int64)
    case(A.logspace.default, 0.9, 2.0, 3, 10.0, dtype=torch.int32)
    case(A.logspace.Scalar_Tensor, 0.0, t(2.0), 3, 2.0)
    case(A.tril_indices.default, 3, 4)
    case(A.triu_indices.default, 3, 4, 1)
    case(A.tril_indices.default, 2, 2, dtype=torch.int32)
    case(A._efficientzerotensor.default, [2, 3], dtype=torch.float64)


def arithmetic():
    bf = torch.bfloat16
    case(A.div.Tensor_mode, t([17.95, -7.0], bf), t([1.0, 2.0], bf),
         rounding_mode='trunc')
    u8 = torch.uint8
    case(A.mm.default, t([[200, 3], [1, 2]], u8), t([[2, 1], [1, 255]], u8))
    case(A.addmm.default, t([1, 2], u8), t([[200, 3]], u8),
         t([[2, 1], [1, 255]], u8))
    case(A.clamp_max.Tensor, t([True, False], torch.bool),
         t([False, True], torch.bool))
    case(A.ldexp.Tensor, t([1.5, -3.0]), t([2, -1], torch.int64))
    case(A.diff.default, t([1.0, 4.0, 9.0]), 1, -1, t([0.0]), t([10.0, 20.0]))
    case(A.diff.default, t([True, False, False], torch.bool))
    case(A.margin_ranking_loss.default, t([1, 2], torch.int64),
         t([3, 1], torch.int64), t([1, -1], torch.int64), 0.5)
    case(A.pairwise_distance.default, t([[1, 2]], torch.int64),
         t([[4, 6]], torch.int64))
    case(A.sum_to_size.default, ramp(2, 3, 2), [3, 1])
    case(A.dist.default, t([1.0, 2.0]), t([4.0, 6.0]), 2)
    case(A.isreal.default, t([1 + 0j, 1j], torch.complex64))
    case(A.vander.default, t([1.0, 2.0, 3.0]), 4, True)


def complex_numbers():
    z = t([1 + 2j, -0.5 + 0.25j, 3 - 4j], torch.complex64)
    w = t([2 - 1j, 1 + 1j, -1 + 0.5j], torch.complex64)
    for name in ('abs acos acosh asin asinh atan atanh cos cosh exp expm1 log '
                 'log10 log1p log2 logical_not neg reciprocal rsqrt sgn sigmoid '
                 'sin sinh sqrt square tan tanh isnan isfinite').split():
        case(getattr(A, name).default, z)
    case(A.abs.default, t([3e30 + 4e30j], torch.complex64))
    case(A.vdot.default, z, w)
    case(A.mm.default, z[None], w[:, None])
    case(A.addcdiv.default, z, z, w, value=0.5)
    case(A.addcmul.default, z, z, w)
    case(A.pow.Tensor_Tensor, z, w)
    case(A.logical_and.default, z, t([0j, 1j, 0j], torch.complex64))
    case(A.masked_fill.Scalar, z, t([True, False, True], torch.bool), 2.5)
    case(A.full.default, [2], 1.5, dtype=torch.complex64)
    case(A.var_mean.correction, z, [0], correction=1)
    case(A.diff.default, z)
    case(A.linear.default, z[None], w[None])


def statistics():
    x = t([[3.0, 1.0, 2.0, 7.0], [float('nan'), 5.0, 4.0, 0.0]])
    q = t([0.1, 0.5, 1.0])
    for mode in ('linear', 'lower', 'higher', 'nearest', 'midpoint'):
        case(A.quantile.default, x, q, 1, True, interpolation=mode)
        case(A.nanquantile.scalar, x, 0.4, 1, interpolation=mode)
    case(A.quantile.scalar, x[0], 0.25)
    case(A.nanmedian.default, x)
    case(A.nanmedian.dim, x, 1, True)
    case(A.nanmean.default, x, [1])
    i = t([1, 3, 1, 0], torch.int64)
    case(A.bincount.default, i, unsized=True)
    case(A.bincount.default, i, t([0.5, 1.0, 2.0, 4.0]), 6, unsized=True)
    case(A.histc.default, t([0.0, 1.0, 1.0, 2.5, 9.0]), 4, 0.0, 4.0)
    case(A.histc.default, t([1.0, 2.0, 5.0]), 3)
    case(A.repeat_interleave.Tensor, t([2, 0, 3], torch.int64), unsized=True)
    case(A.repeat_interleave.self_Tensor, ramp(3, 2), t([2, 0, 1], torch.int64),
         0, unsized=True)
    case(A.trapezoid.dx, ramp(2, 4), dx=0.5)
    case(A.cumulative_trapezoid.x, ramp(2, 3), t([0.0, 1.0, 3.0]))
    y = t([[1.0, 2.0, 4.0], [2.0, 1.0, 0.0]])
    case(A.cov.default, y)
    case(A.corrcoef.default, y)
    case(A.combinations.default, t([1.0, 2.0, 3.0]), 2, True)
    case(A.combinations.default, t([1, 2, 3, 4], torch.int64), 3)


def joins():
    case(A.column_stack.default, [t([1.0, 2.0]), ramp(2, 2)])
    case(A.dstack.default, [t([1.0, 2.0]), t([3.0, 4.0])])
    case(A.hsplit.int, ramp(2, 4), 2)
    case(A.vsplit.array, ramp(3, 2), [1, 2])
    case(A.diagflat.default, t([1.0, 2.0]), -1)


def signals():
    x = torch.sin(torch.arange(16.0))
    w = torch.hann_window(6)
    case(A.stft.default, x, 8, 3, 6, w, True, True, True)
    case(A.stft.center, x[None], 4, 2, None, None, True, 'reflect', False, True,
         True)
    s = torch.stft(x, 8, 2, window=torch.hann_window(8), return_complex=True)
    case(A.istft.default, s, 8, 2, None, torch.hann_window(8))
    case(A.istft.default, s, 8, 2, None, torch.hann_window(8), True, False,
         None, 13)


def images():
    x = ramp(1, 1, 4, 4)
    case(A.upsample_bilinear2d.vec, x, None, True, [1.5, 1.5])
    case(A.upsample_bicubic2d.default, x, [6, 6], True, 1.5, 1.5)
    case(A.pad.default, ramp(1, 5), [-1, 2], 'replicate')
    case(A.pad.default, ramp(1, 1, 5), [2, -2], 'reflect')
    case(A.pad.default, ramp(1, 1, 5), [1, -1], 'circular')
    pooled, at = torch.ops.aten.max_pool2d_with_indices(x, [2, 2])
    case(A.max_unpool2d.default, pooled, at, [4, 4])
    case(A.max_unpool2d.default, pooled[0], at[0], [5, 4])
    case(A.avg_pool2d.default, ramp(1, 1, 5, 5), [2, 2], [2, 2], [1, 1], True,
         True, 3)
    case(A.avg_pool2d.default, t([[[1, 2, 4], [3, 5, 8]]], torch.int64), [2, 2],
         [1, 1])


def norms():
    bf = torch.bfloat16
    x = ramp(2, 3, 4)
    case(A.native_layer_norm.default, ramp(2, 4, dtype=bf), [4], None, None,
         1e-5)
    case(A.native_layer_norm.default, ramp(2, 4, dtype=bf), [4],
         ramp(4), ramp(4), 1e-5)
    case(A._native_batch_norm_legit.no_stats, x.to(bf), ramp(3, dtype=bf), None,
         True, 0.1, 1e-5)
    case(A.native_batch_norm.default, x, ramp(3), ramp(3), None, None, True,
         0.1, 1e-5)


def losses():
    x = ramp(3, 4)
    i = t([1, -100, 3], torch.int64)
    weight = t([0.5, 1.0, 2.0, 1.5])
    for reduction in (0, 1, 2):
        case(A.cross_entropy_loss.default, x, i, None, reduction, -100, 0.2)
        case(A.cross_entropy_loss.default, x, i, weight, reduction, -100, 0.2)
    log = x.log_softmax(1)
    _, total = A.nll_loss_forward.default(log, i, weight, 1, -100)
    case(A.nll_loss_backward.default, t(2.0), log, i, weight, 1, -100, total)
    case(A.nll_loss_backward.default, t([1.0, 2.0, 3.0]), log, i, None, 0, -100,
         t(0.0))
    case(A.triplet_margin_loss.default, x, x + 0.5, x * 2, 1.0, 2.0, 1e-6, True)
    case(A.cosine_embedding_loss.default, x, x + 1, t([1.0, -1.0, 1.0]), 0.1)
    case(A.poisson_nll_loss.default, x, x + 3, False, True, 1e-8, 1)


def gradients():
    x = ramp(3, 4)
    g = ramp(3, 4, start=0.5, end=1.5)
    for name in ('hardsigmoid', 'hardswish', 'mish'):
        case(getattr(A, name + '_backward').default, g, 3 * x)
    case(A.log_sigmoid_backward.default, g, x, A.log_sigmoid_forward(x)[1])
    case(A.softshrink_backward.default, g, x, 0.5)
    case(A.hardshrink_backward.default, g, x, 0.5)
    case(A.glu_backward.default, g[:, :2], x, 1)
    case(A._prelu_kernel_backward.default, g, x, ramp(3, 4))
    case(A.smooth_l1_loss_backward.default, t(1.0), x, g, 1, 0.7)
    case(A.huber_loss_backward.default, g, x, g, 0, 0.7)
    p = x.sigmoid()
    case(A.binary_cross_entropy_backward.default, t(1.0), p, p * 0.5, None, 1)
    case(A.native_dropout_backward.default, g, x > 0, 2.0)
    case(A.select_backward.default, g, [3, 2, 4], 1, -1)
    case(A.slice_backward.default, g, [3, 9], 1, 1, 9, 2)
    case(A.diagonal_backward.default, ramp(2, 1), [2, 3, 2], 1, 1, 2)
    case(A.index_select_backward.default, g, [5, 4], 0, t([1, 1, 3], torch.int64))
    case(A.unfold_backward.default, ramp(2, 3, 2), [2, 4], 1, 2, 1)
    case(A.reflection_pad2d_backward.default, ramp(1, 1, 5, 6),
         ramp(1, 1, 3, 3), [1, 2, 1, 1])
    case(A.replication_pad1d_backward.default, ramp(1, 6), ramp(1, 3), [1, 2])
    image = ramp(1, 2, 5, 6)
    case(A.upsample_nearest2d_backward.default, image, [5, 6], [1, 2, 3, 4])
    for corners in (False, True):
        case(A.upsample_bilinear2d_backward.default, image, [5, 6], [1, 2, 3, 4],
             corners)
        case(A.upsample_bicubic2d_backward.default, image, [5, 6], [1, 2, 3, 4],
             corners)
    y = ramp(2, 3, 4)
    mean, var = y.mean((0, 2)), y.var((0, 2), unbiased=False)
    for train in (True, False):
        case(A.native_batch_norm_backward.default, y.cos(), y, ramp(3), mean,
             var, mean, (var + 1e-5).rsqrt(), train, 1e-5, [True, True, True])


def edges():
    """What the sweep over PyTorch's own samples found."""
    nan = float('nan')
    case(A.heaviside.default, t([nan, -1.0, 0.0, 2.0]), t([5.0, 5.0, 5.0, 5.0]))
    case(A.unfold_copy.default, t(3.0), 0, 1, 1)
    case(A.unfold_copy.default, t(3.0), 0, 0, 1)
    case(A.diff.default, ramp(3, 3), 0, 0, ramp(1, 3), ramp(2, 3))
    case(A.tensordot.default, ramp(1, 1, 1), ramp(2, 1, 2), [0, 1], [2, 0])
    case(A.tensordot.default, ramp(3, 2), ramp(1, 4), [0], [0])
    case(A.unique_dim.default, t([3, 1, 3, 2], torch.int64), 0, unsized=True)
    for op in (A.fft_irfft, A.fft_irfft2, A.fft_irfftn):
        case(op.default, ramp(3, 5))
    case(A.atleast_2d.Sequence, [t(1.0), ramp(3), ramp(2, 2)])
    case(A.linalg_diagonal.default, ramp(2, 3, 4), offset=1)
    case(A.mH.default, torch.complex(ramp(2, 3), ramp(2, 3).cos()))
    m = ramp(2, 3, 4)
    for p in (1, -1, float('inf'), -float('inf')):
        case(A.linalg_matrix_norm.default, m, p, [0, -1], True)
        case(A.linalg_norm.default, m[0], p)
        case(A.linalg_norm.default, m, p, [1])
    case(A.linalg_norm.default, m)
    case(A.linalg_norm.ord_str, m[1], 'fro')
    case(A.linalg_matrix_norm.str_ord, m)


def products():
    x = torch.complex(ramp(3, 4), ramp(3, 4).cos())
    y = torch.complex(ramp(4, 4).sin(), ramp(4, 4))
    case(A.einsum.default, 'ij,jk->ik', [x, y])
    case(A.einsum.default, 'ij , ij', [x, x])
    case(A.einsum.default, '...i,ij->...j', [x, y])
    case(A.einsum.default, 'ii->i', [y])
    case(A.einsum.default, 'ij,jk,kl,il->i', [x, y, y, x])
    case(A.einsum.default, 'b...,bj,b->...j', [x, x, x[:, 0]])
    i8 = torch.int8
    a = (torch.arange(17 * 16) * 37 % 255 - 127).reshape(17, 16).to(i8)
    b = (torch.arange(16 * 8) * 11 % 255 - 127).reshape(16, 8).to(i8)
    case(A._int_mm.default, a, b)
    ends = t([2, 2, 5], torch.int32)
    case(A._grouped_mm.default, ramp(5, 8).bfloat16(), ramp(3, 8, 8).bfloat16(), ends)
    case(A._is_all_true.default, t([True, False], torch.bool))
    case(A._is_any_true.default, t([True, False], torch.bool))


def attention():
    q, k, v = ramp(1, 2, 3, 4), ramp(1, 2, 5, 4).sin(), ramp(1, 2, 5, 4).cos()
    grad = ramp(1, 2, 3, 4).cos()
    mask = torch.zeros(1, 1, 3, 5)
    mask[..., 1:, 3:] = -float('inf')
    forward = A._scaled_dot_product_flash_attention_for_cpu.default
    backward = A._scaled_dot_product_flash_attention_for_cpu_backward.default
    for causal, more in ((False, {}), (True, {'scale': 0.3}),
                         (False, {'attn_mask': mask})):
        case(forward, q, k, v, 0.0, causal, **more)
        out, sums = forward(q, k, v, 0.0, causal, **more)
        case(backward, grad, q, k, v, out, sums, 0.0, causal, **more)
    device_attention(q, k, v, grad, mask)


# Kernels of devices compute what the one of the CPU does, and say more.
def device_attention(q, k, v, grad, mask):
    forward = A._scaled_dot_product_flash_attention_for_cpu.default
    backward = A._scaled_dot_product_flash_attention_for_cpu_backward.default
    rows, columns = q.shape[2], k.shape[2]
    for causal, bias, scale in ((False, None, None), (True, None, 0.3), (False, mask, None)):
        out, sums = forward(q, k, v, 0.0, causal, attn_mask=bias, scale=scale)
        grads = backward(grad, q, k, v, out, sums, 0.0, causal, attn_mask=bias, scale=scale)
        padded = torch.full((1, 2, 32), float('inf'))
        padded[..., :rows] = sums
        for wanted, shown in ((True, padded), (False, padded[..., :0])):
            case(A._scaled_dot_product_efficient_attention.default, q, k, v, bias, wanted, 0.0,
                 causal, scale=scale, results=[out, shown, Ignored, Ignored])
        case(A._scaled_dot_product_cudnn_attention.default, q, k, v, bias, True, 0.0, causal,
             scale=scale, results=[out, sums[..., None], None, None, rows, columns, Ignored,
                                   Ignored, None])
        state = torch.zeros((), dtype=torch.int64)
        case(A._scaled_dot_product_efficient_attention_backward.default, grad, q, k, v, bias, out,
             padded, state, state, 0.0, [True, True, True, False], causal, scale=scale,
             results=[*grads, None])
        case(A._scaled_dot_product_cudnn_attention_backward.default, grad, q, k, v, out,
             sums[..., None], state, state, bias, None, None, rows, columns, 0.0, causal,
             scale=scale, results=list(grads))
        if bias is not None:
            continue
        case(A._scaled_dot_product_flash_attention.default, q, k, v, 0.0, causal, scale=scale,
             results=[out, sums, None, None, rows, columns, Ignored, Ignored, Ignored])
        case(A._scaled_dot_product_flash_attention_backward.default, grad, q, k, v, out, sums,
             None, None, rows, columns, 0.0, causal, state, state, scale=scale,
             results=list(grads))


# Numbers that no scale below puts half way between two integers: there PyTorch, which
# multiplies by 1 / scale, may round to the other one.
def spread(*dims, by=3.0):
    n = torch.Size(dims).numel()
    return (by * (torch.arange(n) * 0.7368).sin()).reshape(dims)


def quantized():
    Q = torch.ops.quantized_decomposed
    i8, u8 = torch.int8, torch.uint8
    x = spread(3, 8)
    q = (torch.arange(24) * 11 % 256 - 128).reshape(3, 8).to(i8)
    scales, points = t([0.03, 0.011, 0.02]), t([0, 0, 0], torch.int64)
    # Weights of XNNPACK and reduced ranges of x86.
    case(Q.quantize_per_tensor.default, x, 0.017, 3, -127, 127, i8)
    case(Q.quantize_per_tensor.default, x, 0.017, 30, 0, 127, u8)
    case(Q.quantize_per_channel.default, x, scales, points, 0, -127, 127, i8)
    for low in (-128, -127):
        case(Q.dequantize_per_tensor.default, q, 0.5, 3, low, 127, i8)
        case(Q.dequantize_per_channel.default, q, scales, points, 0, low, 127, i8)
    case(Q.dequantize_per_tensor.default, q, 0.5, 3, -127, 127, i8,
         out_dtype=torch.float16)
    rows, zeros = t([[0.03], [0.011], [0.02]]), t([[1], [-2], [0]], torch.int32)
    case(Q.quantize_per_token.default, x, rows, zeros, -128, 127, i8)
    case(Q.dequantize_per_token.default, q, rows, zeros, -128, 127, i8, torch.float32)
    groups, between = spread(3, 2).abs() + 0.01, t([[1, 2], [0, -1], [3, 0]], torch.int32)
    case(Q.quantize_per_channel_group.default, x, groups, between, -8, 7, i8, 4)
    case(Q.dequantize_per_channel_group.default, q, groups, between, -8, 7, i8, 4,
         torch.float32)
    case(Q.dequantize_per_channel_group.default, q, groups, None, -8, 7, i8, 4,
         torch.bfloat16)
    case(Q.choose_qparams.tensor, x, 0, 255, 2.0**-12, u8)
    case(Q.choose_qparams.tensor, x + 9, -128, 127, 2.0**-23, i8)
    case(Q.choose_qparams.tensor, 0 * x, 0, 127, 2.0**-12, u8)
    case(Q.choose_qparams_symmetric.tensor, x, -127, 127, 2.0**-12, i8)
    case(Q.choose_qparams_symmetric.tensor, x, 0, 127, 2.0**-12, u8)
    case(Q.choose_qparams_per_token.default, torch.cat([x, 0 * x]), i8)
    for shift in (0, 9, -2):
        case(Q.choose_qparams_per_token_asymmetric.default, x + shift, i8)
    case(Q.convert_element_type.no_fuse, x, torch.bfloat16)
    case(A._weight_int8pack_mm.default, spread(2, 8), q, scales)


def quantized_blocks():
    T = torch.ops.torchao
    i8 = torch.int8
    x = spread(4, 2, 4)
    q = (torch.arange(32) * 11 % 256 - 128).reshape(4, 2, 4).to(i8)
    for block, dims in (([4, 2, 4], []), ([1, 2, 4], [4]), ([4, 2, 1], [4]),
                        ([1, 1, 4], [4, 2]), ([1, 1, 2], [4, 2, 2]), ([2, 2, 2], [2, 2])):
        scale = spread(*dims).abs() + 0.02
        zero = (spread(*dims) * 2).to(i8)
        case(T.quantize_affine.default, x, block, scale, zero, i8)
        case(T.quantize_affine.default, x, block, scale, zero, i8, -8, 7)
        case(T.dequantize_affine.default, q, block, scale, zero, i8)
        case(T.dequantize_affine.default, q, block, scale, None, i8, -8, 7,
             torch.float16)
        for mapping in ('SYMMETRIC', 'SYMMETRIC_NO_CLIPPING_ERR', 'ASYMMETRIC'):
            case(T.choose_qparams_affine.default, x, mapping, block, i8, -127, 127)
            case(T.choose_qparams_affine.default, x - 1, mapping, block, i8, -8, 7, 2.0**-12,
                 torch.float32, i8, True)
    between = spread(4, 2, 2)
    case(T.dequantize_affine.default, q, [1, 1, 2], between.abs(), between, i8)
    case(T.choose_qparams_affine.default, x.bfloat16(), 'SYMMETRIC', [1, 1, 4], i8, -127, 127,
         zero_point_dtype=i8)
    halves()


def halves():
    """The largest number of each row is half a step beyond the last integer."""
    i8 = torch.int8
    x = -(torch.arange(1, 49) / 7.0).reshape(24, 2)
    scale = x.abs().amax(1) / 127.5
    zero = torch.zeros(24, dtype=i8)
    case(torch.ops.torchao.quantize_affine.default, x, [1, 2], scale, zero, i8)
    case(torch.ops.quantized_decomposed.quantize_per_channel.default, x, scale, zero.long(),
         0, -128, 127, i8)
    case(torch.ops.quantized_decomposed.quantize_per_tensor.tensor, x[12:13], scale[12], zero[12],
         -128, 127, i8)


def main():
    for group in (creation, arithmetic, complex_numbers, statistics, joins,
                  signals, images, norms, losses, gradients, edges, products,
                  attention, quantized, quantized_blocks):
        group()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        'aten_cases.jsonl')
    with open(path, 'w') as f:
        for c in CASES:
            f.write(json.dumps(c) + '\n')


if __name__ == '__main__':
    main()
