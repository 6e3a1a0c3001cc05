"""Samples for overloads that PyTorch's OpInfo does not reach by their names."""
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401

A = torch.ops.aten


def x(*dims, dtype=torch.float32, low=-2.0, high=2.0):
    g = torch.Generator().manual_seed(sum(dims) + 7)
    return (torch.rand(dims, generator=g) * (high - low) + low).to(dtype)


def i(*dims, high=4):
    g = torch.Generator().manual_seed(sum(dims) + 3)
    return torch.randint(high, dims, generator=g)


def bitwise():
    a, b = i(3, 4, high=50), i(4, high=50)
    for name in ('and', 'or', 'xor'):
        yield getattr(A, f'bitwise_{name}').Scalar, (a, 5)
        yield getattr(A, f'bitwise_{name}').Scalar_Tensor, (5, a)
        yield getattr(A, f'__{name}__').Scalar, (a, 5)
        yield getattr(A, f'__{name}__').Tensor, (a, b)
        yield getattr(A, f'bitwise_{name}').Tensor, (a > 9, b > 9)
    for name in ('left', 'right'):
        shift = getattr(A, f'bitwise_{name}_shift')
        yield shift.Tensor, (a, b % 7)
        yield shift.Tensor_Scalar, (a - 20, 2)
        yield shift.Tensor, (a.to(torch.uint8), (b % 9).to(torch.uint8))
        yield getattr(A, f'__{name[0]}shift__').Scalar, (a, 3)
        yield getattr(A, f'__{name[0]}shift__').Tensor, (a, b % 5)


def arithmetic():
    a, n = x(3, 4), i(3, 4, high=9) - 4
    for b in (a * 0 + 1.5, a.roll(1), -a):
        yield A.remainder.Tensor, (a, b)
        yield A.fmod.Tensor, (a, b)
        yield A.atan2.default, (a, b)
        for mode in (None, 'floor', 'trunc'):
            yield A.div.Tensor_mode, (a, b), dict(rounding_mode=mode)
    for k in (3, -3, 2.5):
        yield A.remainder.Scalar, (n, k)
        yield A.fmod.Scalar, (n, k)
        yield A.remainder.Scalar_Tensor, (k, n + 9)
        yield A.floor_divide.Scalar, (n, k)
        for mode in ('floor', 'trunc'):
            yield A.div.Scalar_mode, (n, k), dict(rounding_mode=mode)
            yield A.div.Scalar_mode, (a, k), dict(rounding_mode=mode)
        yield A.rsub.Scalar, (n, k, 2)
        yield A.add.Scalar, (a, k, 3)
        yield A.clamp_max.default, (a, k)
        yield A.clamp_min.default, (n, k)
        yield A.pow.Tensor_Scalar, (a.abs(), k)
        yield A.float_power.Tensor_Scalar, (n.abs() + 1, k)
    bad = torch.tensor([float('nan'), float('inf'), -float('inf'), -0.0, 2.0])
    for op in (A.sign, A.sgn, A.relu, A.sigmoid, A.round, A.floor, A.isnan,
               A.isinf, A.signbit, A.nan_to_num, A.hardtanh, A.gelu, A.silu):
        yield op.default, (bad,)
    for op in (A.maximum, A.minimum, A.fmax, A.fmin):
        yield op.default, (bad, bad.flip(0))
    yield A.clamp.default, (bad, -1, 1)
    for op in (A.amax, A.amin):
        yield op.default, (bad, [0])
    for op in (A.argmax, A.argmin, A.sum, A.prod, A.any, A.all):
        yield op.default, (bad,)
    for op in (A.max, A.min):
        yield op.dim, (bad, 0)
    yield A.sort.default, (bad,)
    yield A.sort.default, (bad, 0, True)
    yield A.topk.default, (bad, 3)
    yield A.median.default, (bad,)
    yield A.cumsum.default, (bad, 0)
    yield A.xlogy.Scalar_Self, (0, bad)
    yield A.heaviside.default, (bad, a[0, 0])
    yield A.where.ScalarSelf, (a > 0, 1.5, n)
    yield A.where.ScalarOther, (a > 0, n, 2)
    yield A.where.Scalar, (a > 0, 1, 2.5)
    yield A.round.decimals, (a * 100,), dict(decimals=-1)
    yield A.round.decimals, (a,), dict(decimals=2)


def pools():
    p = x(2, 3, 7, 6)
    for k, s, pad, ceil, incl, div in (
            (3, 2, 1, False, True, None), (3, 2, 1, True, False, None),
            (2, 3, 0, True, True, None), (3, 1, 1, False, False, 5)):
        args = ([k, k], [s, s], [pad, pad], ceil, incl, div)
        y = A.avg_pool2d(p, *args)
        yield A.avg_pool2d.default, (p, *args)
        yield A.avg_pool2d_backward.default, (y.cos(), p, *args)
    for k, s, pad, dil, ceil in ((3, 2, 1, 1, False), (2, 2, 0, 2, True),
                                 (3, 3, 1, 1, True)):
        args = ([k, k], [s, s], [pad, pad], [dil, dil], ceil)
        y, at = A.max_pool2d_with_indices(p, *args)
        yield A.max_pool2d_with_indices.default, (p, *args)
        yield (A.max_pool2d_with_indices_backward.default,
               (y.cos(), p, *args, at))
    for size in ([3, 2], [1, 1], [5, 6], [7, 3]):
        y = A._adaptive_avg_pool2d(p, size)
        yield A._adaptive_avg_pool2d.default, (p, size)
        yield A._adaptive_avg_pool2d_backward.default, (y.cos(), p)
        yield A.adaptive_max_pool2d.default, (p, size)


def convolutions():
    for transposed, groups, stride, pad, dil, out in (
            (False, 1, 1, 0, 1, 0), (False, 2, 2, 1, 1, 0),
            (False, 4, 1, 2, 2, 0), (True, 1, 2, 1, 1, 1),
            (True, 2, 3, 0, 1, 0)):
        a = x(2, 4, 8, 7)
        w = x(4, 6 // groups if transposed else 4 // groups, 3, 3)
        b = x(6 if transposed else 4)
        args = ([stride] * 2, [pad] * 2, [dil] * 2, transposed, [out] * 2,
                groups)
        y = A.convolution(a, w, b, *args)
        yield A.convolution.default, (a, w, b, *args)
        yield (A.convolution_backward.default,
               (y.cos(), a, w, [len(b)], *args, [True, True, True]))
    a, w = x(2, 4, 9), x(6, 2, 3)
    yield A.conv1d.padding, (a, w, None, [1], 'same', [2], 2)
    yield A.conv2d.padding, (x(1, 2, 6, 6), x(3, 2, 3, 2), None, [1, 1], 'same')
    yield A.convolution.default, (x(1, 2, 4, 5, 6), x(3, 2, 2, 3, 2), None,
                                  [1, 2, 1], [0, 1, 1], [1, 1, 2], False,
                                  [0, 0, 0], 1)


def norms():
    a = x(4, 6, 5)
    y, mean, rstd = A.native_layer_norm(a, [6, 5], x(6, 5), x(6, 5), 1e-5)
    yield (A.native_layer_norm_backward.default,
           (y.cos(), a, [6, 5], mean, rstd, x(6, 5), x(6, 5),
            [True, True, True]))
    y, mean, rstd = A.native_group_norm(a, x(6), x(6), 4, 6, 5, 3, 1e-5)
    yield (A.native_group_norm_backward.default,
           (y.cos(), a, mean, rstd, x(6), 4, 6, 5, 3, [True, True, True]))
    for train in (True, False):
        yield (A._native_batch_norm_legit_functional.default,
               (a, x(6), x(6), x(6), x(6).abs(), train, 0.2, 1e-3))


def activations():
    a, g = 3 * x(4, 5), x(4, 5)
    for approximate in ('none', 'tanh'):
        yield A.gelu_backward.default, (g, a), dict(approximate=approximate)
    for op in (A.silu_backward, A.hardswish_backward, A.mish_backward,
               A.hardsigmoid_backward):
        yield op.default, (g, a)
    for op in (A.sigmoid_backward, A.tanh_backward):
        yield op.default, (g, a.sigmoid())
    yield A.elu_backward.default, (g, 1.2, 1.1, 0.9, False, a)
    yield A.elu_backward.default, (g, 1.2, 1.0, 1.0, True, a.clamp(min=-1))
    yield A.leaky_relu_backward.default, (g, a, 0.2, False)
    yield A.softplus_backward.default, (g, a, 2.0, 3.0)
    yield A.threshold_backward.default, (g, a, 0.5)
    yield A.hardtanh_backward.default, (g, a, -1, 2)
    yield A._softmax_backward_data.default, (g, a.softmax(1), 1, torch.float32)
    yield (A._log_softmax_backward_data.default,
           (g, a.log_softmax(0), 0, torch.float32))


def indexing():
    a = x(4, 5, 3)
    k = torch.tensor([0, 2, 2, -1])
    for acc in (False, True):
        values = x(4, 3) if acc else torch.tensor(2.5)
        yield A.index_put.default, (a, [k, k.abs()], values, acc)
        yield A.index_put.default, (a, [None, k], x(4, 4, 3)[:, :1], True)
        yield A.index_put.default, (a, [a[..., 0] > 0], torch.tensor(1.0), acc)
        yield A.put.default, (a, torch.tensor([3, 59, 3, 0]), x(4), acc)
    yield A.index.Tensor, (a, [None, k, None])
    yield A.index.Tensor, (a, [k[:, None], None, k[None, :2].abs()])
    yield A.index.Tensor, (a, [a[..., 0] > 0])
    at = i(4, 2, 3)
    for reduce in ('sum', 'prod', 'mean', 'amax', 'amin'):
        for own in (True, False):
            yield (A.scatter_reduce.two, (a, 1, at, x(4, 2, 3), reduce),
                   dict(include_self=own))
            if reduce != 'sum':
                yield (A.index_reduce.default,
                       (a, 1, k.abs(), x(4, 4, 3), reduce),
                       dict(include_self=own))
    for reduce in ('add', 'multiply'):
        yield A.scatter.reduce, (a, 1, at, x(4, 2, 3)), dict(reduce=reduce)
        yield A.scatter.value_reduce, (a, 1, at, 2.0), dict(reduce=reduce)
    yield A.scatter_add.default, (a, 2, i(4, 5, 2, high=3), x(4, 5, 3))
    yield A.embedding_dense_backward.default, (x(3, 2, 4), i(3, 2), 5, 1, False)
    yield A.embedding_dense_backward.default, (x(3, 2, 4), i(3, 2), 5, -1, True)
    for mode in (0, 1, 2):
        yield (A._embedding_bag.default,
               (x(6, 3), i(7, high=6), torch.tensor([0, 2, 2]), False, mode))
    yield A.as_strided.default, (x(20), [3, 4], [2, 3], 1)
    yield A.as_strided_scatter.default, (x(20), x(3, 4), [4, 1], [4, 1], 2)
    yield A.select_scatter.default, (a, x(4, 3), 1, -2)
    yield A.slice_scatter.default, (a, x(4, 2, 3), 1, -4, 99, 2)
    yield A.diagonal_scatter.default, (a, x(3, 3), -1, 1, 2)


def images():
    a = x(1, 2, 5, 4)
    for size, sh, sw in (([7, 9], None, None), ([8, 6], 1.7, 1.6)):
        yield A.upsample_nearest2d.default, (a, size, sh, sw)
        yield A._upsample_nearest_exact2d.default, (a, size, sh, sw)
        for corners in (False, True):
            yield A.upsample_bilinear2d.default, (a, size, corners, sh, sw)
            yield A.upsample_bicubic2d.default, (a, size, corners, sh, sw)
    for aa in (A._upsample_bilinear2d_aa, A._upsample_bicubic2d_aa):
        yield aa.default, (x(1, 1, 9, 8), [4, 5], False)
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            for corners in (False, True):
                yield (A.grid_sampler_2d.default,
                       (a, 1.3 * x(1, 3, 4, 2), mode, padding, corners))
    yield A.col2im.default, (x(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])
    yield A.im2col.default, (a, [2, 3], [1, 2], [1, 1], [2, 1])
    yield A.reflection_pad2d.default, (a, [1, 2, 0, 3])
    yield A.replication_pad3d.default, (x(1, 2, 3, 2), [1, 0, 2, 1, 0, 1])
    yield A.constant_pad_nd.default, (a, [1, -1, -2, 3], 1.5)


def quantized():
    Q = torch.ops.quantized_decomposed
    a = 3 * x(4, 6)
    for low, high, dtype in ((-128, 127, torch.int8), (0, 255, torch.uint8)):
        q = Q.quantize_per_tensor(a, 0.07, 3, low, high, dtype)
        yield (Q.quantize_per_tensor.default, (a, 0.07, 3, low, high, dtype))
        yield Q.dequantize_per_tensor.default, (q, 0.07, 3, low, high, dtype)
        scales, points = x(6).abs() + 0.01, i(6)
        args = (scales, points, 1, low, high, dtype)
        yield Q.quantize_per_channel.default, (a, *args)
        yield (Q.dequantize_per_channel.default,
               (Q.quantize_per_channel(a, *args), *args))
    yield A.fake_quantize_per_tensor_affine.default, (a, 0.1, 2, -8, 7)
    yield (A.fake_quantize_per_tensor_affine_cachemask.default,
           (a, 0.1, 2, -8, 7))
    yield (A.fake_quantize_per_channel_affine.default,
           (a, x(6).abs() + 0.01, i(6).int(), 1, 0, 15))


def views():
    a = x(3, 4, 5)
    yield A.view.dtype, (a, torch.int32)
    yield A.view.dtype, (a[..., :4].contiguous(), torch.float64)
    yield A.view.dtype, (a, torch.int16)
    yield A.unfold.default, (a, 2, 3, 2)
    yield A.tensor_split.sections, (a, 2, 2)
    yield A.tensor_split.indices, (a, [1, -1], 1)
    yield A.split_with_sizes.default, (a, [1, 3], 1)
    yield A.chunk.default, (a, 3, 2)
    yield A.unsafe_split.Tensor, (a, 2, 2)
    yield A.rot90.default, (a, -1, [0, 2])
    yield A.roll.default, (a, [2, -1], [0, 2])
    yield A.flip.default, (a, [0, -1])
    yield A.movedim.intlist, (a, [0, 2], [1, 0])
    yield A.repeat_interleave.self_int, (a, 2, 1)
    yield A.unflatten.int, (a, 1, [2, -1])
    yield A.diag_embed.default, (a, 1, 0, 2)


def matrices():
    yield A.addmm.default, (x(4), x(3, 5), x(5, 4)), dict(beta=0.5, alpha=2)
    yield A.addmm.default, (x(4) / 0, x(3, 5), x(5, 4)), dict(beta=0)
    yield A.baddbmm.default, (x(3, 4), x(2, 3, 5), x(2, 5, 4)), dict(alpha=3)
    yield A._int_mm.default, (x(17, 8).to(torch.int8), x(8, 8).to(torch.int8))
    yield A.tensordot.default, (x(3, 4, 5), x(4, 3, 2), [1, 0], [0, 1])
    yield A.einsum.default, ('bij,bjk->bki', [x(2, 3, 4), x(2, 4, 5)])
    for p in (0.0, 1.0, 2.0, 3.5, float('inf')):
        yield A.cdist.default, (x(2, 3, 4), x(2, 5, 4), p)
        yield A.linalg_vector_norm.default, (x(3, 4), p, [1], True)


def _groups():
    return (bitwise, arithmetic, pools, convolutions, norms, activations,
            indexing, images, quantized, views, matrices)


def samples():
    """(name, operator, function that gives samples), by operator."""
    by_op = {}
    for group in _groups():
        for op, args, *kwargs in group():
            by_op.setdefault(op, []).append(
                (args, kwargs[0] if kwargs else {}))
    for op, given in by_op.items():
        yield str(op).replace('.', '_'), op, lambda given=given: given
