"""The models of `torch_check.py --models`.

Each function whose name does not begin with `_` and that is listed by models()
returns what Program takes: model, inputs and, where it has them, kwargs,
dynamic_shapes, more_inputs, stateful. Sizes are small, weights random.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim
from torch.fx.experimental.proxy_tensor import make_fx

import torch_check_patterns

_MODELS = []


def models():
    return [(f.__name__, f) for f in _MODELS] + torch_check_patterns.models()


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


def _settled(model):
    """Batch norm statistics that are not 0 and 1."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
    return model


# --- Dense and convolutional.

@_model
def mlp():
    model = nn.Sequential(nn.Linear(12, 24), nn.SiLU(), nn.LayerNorm(24),
                          nn.Linear(24, 24), nn.Mish(), nn.Linear(24, 3),
                          nn.LogSoftmax(-1))
    return dict(model=model, inputs=(torch.randn(5, 12),))


@_model
def mlp_dynamic_batch():
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
    return dict(model=model, inputs=(torch.randn(5, 6),),
                dynamic_shapes=({0: Dim('batch', min=1, max=64)},),
                more_inputs=[(torch.randn(1, 6),), (torch.randn(33, 6),)])


def _cnn():
    return _settled(nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, stride=2), nn.BatchNorm2d(8), nn.ReLU6(),
        nn.Conv2d(8, 8, 3, padding='same', groups=8), nn.BatchNorm2d(8),
        nn.Hardswish(), nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 4)))


@_model
def cnn_batch_norm_eval():
    return dict(model=_cnn().eval(), inputs=(torch.randn(2, 3, 19, 17),))


@_model
def cnn_batch_norm_train():
    return dict(model=_cnn().train(), inputs=(torch.randn(4, 3, 19, 17),),
                more_inputs=[(torch.randn(4, 3, 19, 17),)], stateful=True)


class _UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1),
                                   nn.GroupNorm(2, 4), nn.GELU())
        self.down2 = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1),
                                   nn.InstanceNorm2d(8, affine=True),
                                   nn.LeakyReLU(0.1))
        self.up1 = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.mix = nn.Conv2d(8, 4, 3, padding=1, padding_mode='reflect')
        self.head = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = torch.cat([self.up1(b), a], 1)
        d = F.interpolate(self.mix(c), scale_factor=2, mode='bilinear')
        return torch.sigmoid(self.head(F.avg_pool2d(d, 2))), b


@_model
def unet():
    return dict(model=_UNet().eval(), inputs=(torch.randn(2, 2, 12, 16),))


@_model
def conv_1d_3d_transposed():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Conv1d(4, 6, 5, stride=2, dilation=2, groups=2)
            self.b = nn.Conv3d(1, 2, 3, padding=(1, 0, 1), bias=False)
            self.c = nn.ConvTranspose1d(6, 4, 4, stride=3, padding=1,
                                        output_padding=1, groups=2)

        def forward(self, x, y):
            return self.c(self.a(x)), self.b(y).amax((2, 3))
    return dict(model=M(), inputs=(torch.randn(2, 4, 21),
                                   torch.randn(2, 1, 5, 6, 7)))


# --- Recurrent.

class _CellLoop(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, xs):
        h = xs.new_zeros(xs.shape[1], self.cell.hidden_size)
        c = torch.zeros_like(h)
        outs = []
        for x in xs:
            if isinstance(self.cell, nn.LSTMCell):
                h, c = self.cell(x, (h, c))
            else:
                h = self.cell(x, h)
            outs.append(h)
        return torch.stack(outs), c


@_model
def lstm_cell_loop():
    return dict(model=_CellLoop(nn.LSTMCell(3, 5)),
                inputs=(torch.randn(4, 2, 3),))


@_model
def gru_cell_loop():
    return dict(model=_CellLoop(nn.GRUCell(3, 5)),
                inputs=(torch.randn(4, 2, 3),))


@_model
def gru_bidirectional():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(4, 6, 2, bidirectional=True, batch_first=True)
            self.rnn = nn.RNN(12, 5, nonlinearity='relu', batch_first=True)

        def forward(self, x, h):
            y, n = self.gru(x, h)
            return self.rnn(y)[0], n
    return dict(model=M().eval(),
                inputs=(torch.randn(3, 5, 4), torch.randn(4, 3, 6)))


# --- Attention.

@_model
def transformer_encoder():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True,
                                       activation='gelu', norm_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    mask = torch.zeros(2, 7, dtype=torch.bool)
    mask[1, 5:] = True
    return dict(model=model, inputs=(torch.randn(2, 7, 16),),
                kwargs=dict(src_key_padding_mask=mask))


@_model
def transformer_decoder():
    layer = nn.TransformerDecoderLayer(12, 3, 20, batch_first=True)
    model = nn.TransformerDecoder(layer, 1, nn.LayerNorm(12)).eval()
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    return dict(model=model,
                inputs=(torch.randn(2, 4, 12), torch.randn(2, 6, 12)),
                kwargs=dict(tgt_mask=causal, tgt_is_causal=True))


class _GptBlock(nn.Module):
    """A block that keeps keys and values of earlier calls in buffers."""

    def __init__(self, dim=16, heads=2, length=12):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.RMSNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU('tanh'),
                                nn.Linear(2 * dim, dim))
        shape = (2, heads, length, dim // heads)
        self.register_buffer('keys', torch.zeros(shape))
        self.register_buffer('values', torch.zeros(shape))
        self.register_buffer('seen', torch.zeros((), dtype=torch.int64))

    def forward(self, x, at):
        b, t, d = x.shape
        q, k, v = (u.view(b, t, self.heads, -1).transpose(1, 2)
                   for u in self.qkv(self.norm1(x)).chunk(3, -1))
        self.keys[:, :, at] = k
        self.values[:, :, at] = v
        self.seen += t
        mask = torch.arange(self.keys.shape[2])[None] <= at[:, None]
        y = F.scaled_dot_product_attention(q, self.keys, self.values,
                                           attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.norm2(x)), self.seen * 1


@_model
def gpt_block_kv_cache():
    calls = [(torch.randn(2, 3, 16), torch.arange(i, i + 3))
             for i in (0, 3, 6)]
    return dict(model=_GptBlock().eval(), inputs=calls[0],
                more_inputs=calls[1:], stateful=True)


@_model
def attention_masks():
    class M(nn.Module):
        def forward(self, q, k, v, keep, bias):
            return (F.scaled_dot_product_attention(q, k, v, attn_mask=keep),
                    F.scaled_dot_product_attention(q, k, v, attn_mask=bias,
                                                   scale=0.3),
                    F.scaled_dot_product_attention(q, k, v, is_causal=True),
                    F.scaled_dot_product_attention(
                        q, k[:, :1], v[:, :1], enable_gqa=True))
    keep = torch.rand(2, 1, 5, 5) > 0.4
    keep[0, 0, 2] = False
    return dict(model=M(), inputs=(*(torch.randn(2, 2, 5, 4)
                                     for _ in range(3)), keep,
                                   torch.randn(5, 5)))


@_model
def rotary_attention_dynamic():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(16, 48, bias=False)
            self.register_buffer('freq', 1e2 ** -torch.arange(4.))

        def forward(self, x):
            b, t, _ = x.shape
            angle = torch.outer(torch.arange(t, dtype=x.dtype), self.freq)
            cos, sin = angle.cos()[None, None], angle.sin()[None, None]

            def turn(u):
                a, c = u.unflatten(-1, (2, -1)).unbind(-2)
                return torch.cat([a * cos - c * sin, c * cos + a * sin], -1)
            q, k, v = (u.unflatten(-1, (2, 8)).transpose(1, 2)
                       for u in self.qkv(x).chunk(3, -1))
            return F.scaled_dot_product_attention(
                turn(q), turn(k), v, is_causal=True).transpose(1, 2).flatten(2)
    return dict(model=M(), inputs=(torch.randn(2, 5, 16),),
                dynamic_shapes=({0: Dim('b', min=1, max=8),
                                 1: Dim('t', min=2, max=32)},),
                more_inputs=[(torch.randn(1, 9, 16),)])


class _Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 12, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 12))
        self.place = nn.Parameter(torch.randn(1, 10, 12))
        self.norm = nn.LayerNorm(12)
        self.attention = nn.MultiheadAttention(12, 3, batch_first=True)
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        x = x + self.place
        y = self.norm(x)
        y, weights = self.attention(y, y, y)
        return self.head((x + y)[:, 0]), weights


@_model
def vision_transformer():
    return dict(model=_Vit().eval(), inputs=(torch.randn(2, 3, 12, 12),))


class _WindowBlock(nn.Module):
    """Attention in shifted windows."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.bias = nn.Parameter(torch.randn(9))
        grid = torch.arange(4)
        self.register_buffer('where', (grid[:, None] + grid[None]) % 9)

    def forward(self, x):
        b, h, w, c = x.shape
        x = F.pad(x, (0, 0, 0, w % 2, 0, h % 2)).roll((-1, -1), (1, 2))
        y = x.unflatten(1, (-1, 2)).unflatten(3, (-1, 2)).permute(
            0, 1, 3, 2, 4, 5).reshape(-1, 4, c)
        q, k, v = self.qkv(y).split(c, -1)
        s = (q @ k.mT / math.sqrt(c) + self.bias[self.where]).softmax(-1)
        y = (s @ v).view(b, -1, x.shape[2] // 2, 2, 2, c).transpose(
            2, 3).flatten(1, 2).flatten(2, 3)
        return y.roll((1, 1), (1, 2))[:, :h, :w]


@_model
def shifted_windows():
    return dict(model=_WindowBlock(), inputs=(torch.randn(2, 5, 6, 8),))


# --- Sparse and irregular.

@_model
def embedding_bags():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bags = nn.ModuleList(
                nn.EmbeddingBag(10, 4, mode=m) for m in ('sum', 'mean', 'max'))
            self.padded = nn.Embedding(10, 4, padding_idx=0)

        def forward(self, ids, offsets, weights):
            outs = [bag(ids, offsets) for bag in self.bags]
            outs.append(self.bags[0](ids, offsets, per_sample_weights=weights))
            return torch.cat(outs, 1), self.padded(ids).sum(0)
    return dict(model=M(), inputs=(torch.randint(10, (9,)),
                                   torch.tensor([0, 2, 2, 7]), torch.randn(9)))


class _Moe(nn.Module):
    """Two of four experts for each token."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 4, bias=False)
        self.up = nn.Parameter(torch.randn(4, 8, 16) / 4)
        self.down = nn.Parameter(torch.randn(4, 16, 8) / 4)

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).topk(2)
        weight = weight / weight.sum(-1, keepdim=True)
        order = chosen.flatten().argsort(stable=True)
        token = order // 2
        counts = torch.bincount(chosen.flatten(), minlength=4)
        h = torch.einsum('td,tdf->tf', x[token],
                         self.up[chosen.flatten()[order]])
        y = torch.einsum('tf,tfd->td', F.silu(h),
                         self.down[chosen.flatten()[order]])
        y = y * weight.flatten()[order, None]
        return torch.zeros_like(x).index_add(0, token, y), counts


@_model
def moe_routing():
    return dict(model=_Moe(), inputs=(torch.randn(6, 8),))


@_model
def moe_dense_loop():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(8, 3)
            self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

        def forward(self, x):
            p = self.gate(x).softmax(-1)
            top = p.argmax(-1)
            hot = F.one_hot(top, 3)
            y = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                y += expert(x) * (hot[:, i] * p[:, i]).unsqueeze(-1)
            return y, hot.sum(0)
    return dict(model=M(), inputs=(torch.randn(6, 8),))


@_model
def graph_convolution():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 6), nn.Linear(6, 3)

        def forward(self, x, edges):
            n = x.shape[0]
            source, target = edges[0], edges[1]
            degree = torch.zeros(n).index_add(
                0, target, torch.ones(edges.shape[1])) + 1
            h = self.a(x)
            h = h.index_add(0, target, h[source]) / degree[:, None]
            h = self.b(F.elu(h))
            index = target[:, None].expand(-1, 3)
            return (h.scatter_reduce(0, index, h[source], 'amax'),
                    h.scatter_reduce(0, index, h[source], 'mean',
                                     include_self=False),
                    torch.zeros(n, 3).scatter_add(0, index, h[source]))
    return dict(model=M(), inputs=(torch.randn(5, 4),
                                   torch.randint(5, (2, 9))))


@_model
def complex_indexing():
    def f(x, i, j, m):
        y = x.clone()
        y[i, :, j] = 7
        y[m] *= 2
        y[..., -1] += x[:, 0, ::2].sum(-1, keepdim=True)
        z = torch.zeros_like(x).index_put((i, j), x[i, j], accumulate=True)
        return (x[i, :, j], x[:, i, j], x[i[:, None], j[None]], x[None, ..., 1],
                y, z, x[m], torch.where(m)[0], x[:, [2, 0]],
                torch.take_along_dim(x, x.argsort(1), 1))
    x = torch.randn(4, 3, 5)
    return dict(model=_Function(f), inputs=(
        x, torch.tensor([0, 2, 2]), torch.tensor([2, 0, -1]), x > 0.5))


@_model
def data_dependent_sizes():
    def f(x, n):
        k = n.item()
        torch._check(k >= 1)
        torch._check(k <= x.shape[0])
        where = (x[:, 0] > 0).nonzero()
        return (x.narrow(0, 0, k) * 2, where, x[x > 1].sum(),
                torch.zeros(k).sum() + k)
    x = torch.randn(8, 3)
    return dict(model=_Function(f), inputs=(x, torch.tensor(3)),
                more_inputs=[(torch.randn(8, 3), torch.tensor(5))])


# --- Writes and views.

@_model
def views_and_writes():
    def f(x):
        y = x.clone()
        a = y.view(6, 4)
        a[1:3].t().add_(1)
        y.diagonal(dim1=1, dim2=2).mul_(2)
        b = y.unfold(2, 2, 1)
        y.transpose(0, 1)[0].zero_()
        c = torch.as_strided(y, (2, 3), (12, 1), 4)
        c.clamp_(-0.5, 0.5)
        y[:, 1].copy_(torch.arange(8.).view(2, 4))
        return y, a.sum(0), b, c, y.flatten().unsqueeze(0).squeeze()
    return dict(model=_Function(f), inputs=(torch.randn(2, 3, 4),))


@_model
def written_inputs():
    def f(x, counts):
        x.relu_()
        counts[0].add_(x.shape[0])
        x[:, 0] = counts.to(x.dtype)[0]
        return x.sum(), x.view(-1)
    return dict(model=_Function(f), inputs=(torch.randn(3, 4),
                                            torch.zeros(2, dtype=torch.int64)))


@_model
def moving_average():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('mean', torch.zeros(4))
            self.register_buffer('steps', torch.tensor(0))
            self.register_buffer('history', torch.zeros(3, 4))

        def forward(self, x):
            self.steps.add_(1)
            self.mean.lerp_(x.mean(0), 0.25)
            self.history.copy_(torch.roll(self.history, 1, 0))
            self.history[0] = self.mean
            return (x - self.mean) / (self.history.std(0) + 1), self.steps + 1
    calls = [(torch.randn(5, 4),) for _ in range(3)]
    return dict(model=M(), inputs=calls[0], more_inputs=calls[1:],
                stateful=True)


# --- Control flow.

@_model
def branches():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return torch.cond(
                x.sum() > 0,
                lambda x: torch.cond(x.max() > 1, lambda x: self.a(x).relu(),
                                     lambda x: x.sin(), (x,)),
                lambda x: self.b(x) * 2, (x,))
    x = torch.rand(3, 4)
    return dict(model=M(), inputs=(x,), more_inputs=[(-x,), (x + 1,)])


@_model
def while_loop():
    def f(n, x):
        from torch._higher_order_ops.while_loop import while_loop as loop
        return loop(lambda i, x: i < n,
                    lambda i, x: (i + 1, x @ x / x.abs().max()),
                    (torch.tensor(0), x))
    return dict(model=_Function(f),
                inputs=(torch.tensor(3), torch.randn(3, 3)),
                more_inputs=[(torch.tensor(0), torch.randn(3, 3))])


@_model
def scan_and_map():
    def f(h, xs):
        from torch._higher_order_ops.map import map as each
        from torch._higher_order_ops.scan import scan

        def step(h, x):
            h = torch.tanh(h * 0.9 + x)
            return h, h.cumsum(-1)
        last, all_ = scan(step, h, xs)
        back, _ = scan(step, h, xs, reverse=True)
        return last, all_, back, each(lambda x, h: (x * h).softmax(-1), xs, h)
    return dict(model=_Function(f), inputs=(torch.randn(2, 3),
                                            torch.randn(4, 2, 3)))


@_model
def dynamic_sizes():
    def f(x, y):
        n, m = x.shape
        z = torch.cat([x, y.expand(n, -1)], 1)
        return (z.reshape(-1), torch.arange(n) * m, x[1:], F.pad(x, (1, n)),
                torch.full((m + 1,), n / 2), x.sum() / (n * m),
                x.repeat(2, 1).narrow(0, n - 1, 2), y.new_ones(n + m))
    n, m = Dim('n', min=2, max=50), Dim('m', min=2, max=50)
    return dict(model=_Function(f),
                inputs=(torch.randn(5, 3), torch.randn(1, 7)),
                dynamic_shapes=(({0: n, 1: m}, None),),
                more_inputs=[(torch.randn(2, 9), torch.randn(1, 7))])


# --- Mathematics.

@_model
def reductions_and_sorting():
    def f(x):
        values, order = torch.sort(x, dim=-1, descending=True, stable=True)
        return (values, order, x.median(1).values, x.kthvalue(2, 0).values,
                x.topk(2, largest=False).values, torch.var_mean(x, 0), x.norm(3, 1),
                x.logsumexp((0, 1)), x.cumsum(1), x.cumprod(0),
                x.std(1, correction=0), x.argmin(0), *x.aminmax(dim=1),
                torch.quantile(x, 0.3, 1), x.nansum(), x.count_nonzero(1))
    return dict(model=_Function(f), inputs=(torch.randn(4, 5),))


@_model
def spectral():
    def f(x):
        s = torch.stft(x, 16, 8, window=torch.hann_window(16),
                       return_complex=True)
        back = torch.istft(s, 16, 8, window=torch.hann_window(16))
        return s.abs(), s.real, back, torch.fft.irfft2(
            torch.fft.rfft2(x) * 0.5)
    return dict(model=_Function(f), inputs=(torch.randn(2, 48),))


@_model
def low_precision():
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16),
                          nn.Linear(16, 4), nn.Softmax(-1)).to(torch.bfloat16)
    return dict(model=model, inputs=(torch.randn(3, 8).bfloat16(),))


@_model
def losses():
    def f(x, y, target):
        return (F.cross_entropy(x, target, label_smoothing=0.1),
                F.cross_entropy(x, y.softmax(-1)),
                F.nll_loss(x.log_softmax(1), target, ignore_index=2),
                F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.5),
                F.binary_cross_entropy_with_logits(x, y.sigmoid()),
                F.kl_div(x.log_softmax(1), y.softmax(1),
                         reduction='batchmean'),
                F.cosine_similarity(x, y), F.triplet_margin_loss(x, y, x + y))
    return dict(model=_Function(f), inputs=(
        torch.randn(4, 5), torch.randn(4, 5), torch.tensor([0, 2, 4, 1])))


@_model
def training_step():
    """Forward and backward as one program: gradients of a small network."""
    def f(x, target, w1, b1, w2):
        def loss(w1, b1, w2):
            return F.cross_entropy(F.linear(F.gelu(F.linear(x, w1, b1)), w2),
                                   target)
        return torch.func.grad(loss, argnums=(0, 1, 2))(w1, b1, w2)
    inputs = (torch.randn(4, 6), torch.randint(3, (4,)), torch.randn(8, 6),
              torch.randn(8), torch.randn(3, 8))
    return dict(model=make_fx(f)(*inputs), inputs=inputs)
