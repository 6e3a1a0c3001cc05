"""Small patterns as models write them, for `torch_check.py --models`.

Each function listed by models() returns what Program takes, as the functions of
torch_check_models.py do. Most leave sizes open and run at several of them.
"""
import importlib.util

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim
from torch.fx.experimental.proxy_tensor import make_fx

_MODELS = []


def models():
    return [(f.__name__, f) for f in _MODELS]


def _model(function):
    _MODELS.append(function)
    return function


class _Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def _sized(function, dims, first, *others, minimum=None):
    """`function` of one tensor whose sizes at `dims` are open; from `minimum` to 64, or as
    far as the program's guards let them."""
    shapes = {d: Dim(f'd{d}', min=minimum, max=64) if minimum else Dim.AUTO for d in dims}
    return dict(model=_Function(function), inputs=(torch.randn(first),),
                dynamic_shapes=((shapes,),), more_inputs=[(torch.randn(s),) for s in others])


# --- Pooling to given sizes.

@_model
def adaptive_pooling_of_open_sizes():
    def f(x):
        best, at = F.adaptive_max_pool2d(x, (2, 3), return_indices=True)
        return (F.adaptive_avg_pool2d(x, 6), F.adaptive_avg_pool2d(x, (3, None)), best, at,
                F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, 1))
    return _sized(f, (2, 3), (2, 3, 12, 9), (2, 3, 13, 7), (2, 3, 6, 40), minimum=6)


@_model
def adaptive_pooling_1d_3d():
    def f(x):
        return (F.adaptive_avg_pool3d(x, (2, 3, 4)), F.adaptive_max_pool3d(x, (3, 2, 2)),
                F.adaptive_avg_pool1d(x.flatten(2), 5), F.adaptive_max_pool1d(x.flatten(2), 7))
    return _sized(f, (2, 3), (1, 2, 5, 6, 7), (1, 2, 4, 9, 7), (1, 2, 8, 4, 7), minimum=4)


@_model
def adaptive_pooling_of_few():
    """Windows overlap where there are fewer elements than results."""
    def f(x):
        return F.adaptive_avg_pool2d(x, 4), F.adaptive_max_pool2d(x, 4)
    return _sized(f, (2, 3), (2, 3, 3, 9), (2, 3, 2, 5), (2, 3, 4, 8), minimum=2)


# --- Moving elements around.

@_model
def roll_and_shift():
    def f(x):
        n = x.shape[1]
        return (torch.roll(x, n // 3, 1), torch.roll(x, -n, 1), torch.roll(x, (1, n + 1), (0, 1)),
                torch.roll(x, n - 1), torch.fft.fftshift(x), torch.fft.ifftshift(x, (1,)),
                torch.roll(x, 2, 1))
    return _sized(f, (0, 1), (4, 7), (5, 6), (2, 13), minimum=2)


@_model
def chunks_of_open_sizes():
    def f(x):
        a, b, c = x.chunk(3, 1)
        return a * 2, b.sum(1), c
    return _sized(f, (1,), (2, 9), (2, 8), (2, 16))


@_model
def ranges_of_floats():
    def f(x):
        s = x.shape[0]
        return (torch.arange(0, s / 2, 0.5), torch.arange(0.25, s, 0.75),
                torch.arange(s, 0, -0.5), torch.arange(0, 1, 1 / s), torch.arange(0, s * 0.5))
    return _sized(f, (0,), (7,), (10,), (32,))


@_model
def triangle_indices():
    def f(x):
        i, j = torch.tril_indices(5, 5, -1)
        u = torch.triu_indices(5, 4, 1)
        return x[:, i, j], x[:, u[0], u[1]], torch.tril_indices(3, 3, dtype=torch.int32)
    return dict(model=_Function(f), inputs=(torch.randn(2, 5, 5),))


# --- Sizes by factors.

@_model
def resize_by_factors():
    def f(x):
        return (F.interpolate(x, scale_factor=1.5), F.interpolate(x, scale_factor=0.5),
                F.interpolate(x, scale_factor=1.5, mode='bilinear', align_corners=False),
                F.interpolate(x, scale_factor=0.75, mode='bilinear', recompute_scale_factor=True))
    return _sized(f, (2, 3), (1, 2, 8, 10), (1, 2, 9, 7), (1, 2, 15, 24), minimum=4)


@_model
def window_partition():
    def f(x):
        w = 4
        b, h, width, c = x.shape
        x = F.pad(x, (0, 0, 0, (w - width % w) % w, 0, (w - h % w) % w))
        x = x.unflatten(2, (-1, w)).unflatten(1, (-1, w))
        return x.permute(0, 1, 3, 2, 4, 5).flatten(0, 2).flatten(1, 2).sum(1)
    return _sized(f, (1, 2), (2, 9, 11, 3), (2, 8, 12, 3), (2, 15, 6, 3))


# --- Complex numbers.

@_model
def fourier_layer():
    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 4, 5, dtype=torch.cfloat))

        def forward(self, x):
            z = torch.fft.rfft(x)[..., :5]
            z = torch.einsum('bix,iox->box', z, self.weight)
            return torch.fft.irfft(F.pad(z, (0, 4)), n=16), torch.einsum('bix,bix->', z, z)
    return dict(model=Spectral(), inputs=(torch.randn(2, 3, 16),),
                dynamic_shapes=({0: Dim('batch', max=16)},), more_inputs=[(torch.randn(5, 3, 16),)])


@_model
def complex_einsum():
    def f(x, y):
        return (torch.einsum('ij,jk->ik', x, y), torch.einsum('ij,ij->j', x, x.conj()),
                torch.einsum('...i,ij->...j', x, y), torch.einsum('ii->i', y),
                torch.einsum('ij,jk,kl->il', x, y, y), torch.einsum('ij,ij->i', x, x))
    c = torch.complex64
    return dict(model=_Function(f), inputs=(torch.randn(3, 4, dtype=c), torch.randn(4, 4, dtype=c)))


@_model
def angles():
    def f(x, z):
        spectrum = torch.fft.rfft(x)
        product = z * z.conj()
        return (torch.angle(spectrum), torch.angle(torch.fft.fft(x)), torch.angle(product),
                torch.angle(z * z), torch.angle(z), (z * 2).angle(), (z + 1).angle())
    x = torch.tensor([[1., 2., -3., 4.], [0., 0., 0., 0.], [-1., 1., -1., 1.]])
    z = torch.tensor([1 + 0j, -1 + 0j, 0 - 1j, -2 - 0j, 0j, -0.5 + 0.5j])
    return dict(model=_Function(f), inputs=(x, z))


# --- Small operators.

@_model
def questions_about_tensors():
    class M(nn.Module):
        def forward(self, x, y, keep):
            all_true = torch.ops.aten._is_all_true(keep)
            any_true = torch.ops.aten._is_any_true(keep)
            zero = torch.ops.aten._efficientzerotensor([2, 3])
            same = 1 if torch.ops.aten.is_same_size(x, y) else 0
            numel = 1 if torch.ops.aten._has_same_storage_numel(x, y) else 0
            return all_true, any_true, x + zero, x * same, y * numel
    return dict(model=M(), inputs=(torch.randn(2, 3), torch.randn(2, 3),
                                   torch.tensor([True, False, True])))


@_model
def integer_products():
    def f(x, y):
        return torch._int_mm(x, y), torch._int_mm(x, y) * 2
    x = torch.randint(-128, 127, (32, 64), dtype=torch.int8)
    y = torch.randint(-128, 127, (64, 16), dtype=torch.int8)
    return dict(model=_Function(f), inputs=(x, y))


@_model
def empty_tensors():
    def f(x, i, w):
        return (x.gather(1, i), F.batch_norm(x, torch.zeros(3), torch.ones(3)),
                F.linear(x, w), x.sum(0), torch.cat([x, x]))
    return dict(model=_Function(f), inputs=(torch.randn(0, 3), torch.zeros(0, 2, dtype=torch.long),
                                            torch.randn(4, 3)))


# --- Experts.

class _Experts(nn.Module):
    def __init__(self, transposed):
        super().__init__()
        self.transposed = transposed
        self.up = nn.Parameter(torch.randn(*((4, 16, 8) if transposed else (4, 8, 16))))
        self.down = nn.Parameter(torch.randn(*((4, 8, 16) if transposed else (4, 16, 8))))

    def product(self, x, weight, ends):
        raise NotImplementedError

    def forward(self, x, scores):
        weights, chosen = scores.topk(2, -1)
        flat = chosen.reshape(-1)
        order = flat.argsort(stable=True)
        rows = x[order // 2]
        ends = torch.histc(flat[order].float(), bins=4, min=0, max=3).cumsum(0, dtype=torch.int32)
        h = F.silu(self.product(rows, self.up, ends))
        y = self.product(h, self.down, ends) * weights.reshape(-1)[order][:, None]
        back = torch.empty_like(order)
        back[order] = torch.arange(order.shape[0])
        return y[back].view(x.shape[0], 2, 8).sum(1)


class _GroupedExperts(_Experts):
    def product(self, x, weight, ends):
        weight = weight.transpose(1, 2) if self.transposed else weight
        return torch._grouped_mm(x, weight, offs=ends)


class _FallbackExperts(_Experts):
    def product(self, x, weight, ends):
        weight = weight.transpose(1, 2) if self.transposed else weight
        return torch.ops.transformers.grouped_mm_fallback(x, weight, offs=ends)


def _experts(kind):
    import transformers.integrations.moe  # noqa: F401: registers the operator.
    return dict(model=kind(True), inputs=(torch.randn(10, 8), torch.randn(10, 4)),
                dynamic_shapes=({0: Dim('tokens', max=64)}, {0: Dim('tokens', max=64)}),
                more_inputs=[(torch.randn(3, 8), torch.randn(3, 4)),
                             (torch.randn(33, 8), torch.randn(33, 4))])


@_model
def grouped_experts():
    return dict(model=_GroupedExperts(False).bfloat16(),
                inputs=(torch.randn(10, 8).bfloat16(), torch.randn(10, 4).bfloat16()))


def grouped_experts_fallback():
    return _experts(_FallbackExperts)


if importlib.util.find_spec('transformers'):
    _model(grouped_experts_fallback)


# --- Training steps.

class _Traced(nn.Module):
    def __init__(self, graph):
        super().__init__()
        self.graph_module = graph

    def forward(self, *args):
        return self.graph_module(*args)


def _gradients(function, *args):
    """The gradients of function(*args).sum(), as operators."""
    def step(*values):
        leaves = [v.detach().requires_grad_() for v in values]
        loss = function(*leaves).pow(2).sum()
        return (loss.detach(), *torch.autograd.grad(loss, leaves))
    return dict(model=_Traced(make_fx(step)(*args)), inputs=args)


@_model
def attention_step():
    return _gradients(F.scaled_dot_product_attention, *(torch.randn(2, 3, 5, 8) for _ in range(3)))


@_model
def attention_step_causal():
    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)
    return _gradients(attend, torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8),
                      torch.randn(2, 3, 7, 8))


@_model
def attention_step_masked():
    mask = torch.zeros(2, 1, 5, 7)
    mask[:, :, 2:, 4:] = -float('inf')

    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return _gradients(attend, torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8),
                      torch.randn(2, 3, 7, 8))
