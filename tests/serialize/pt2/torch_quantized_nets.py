"""Small random networks that torch_quantized.py quantizes.

Each has `calls(rng)`, which gives example arguments of several sizes, and
`dynamic`, its dynamic shapes.
"""
import torch
from torch import nn
from torch.nn import functional as F

Dim = torch.export.Dim


def settle(model):
    """Gives batch normalizations statistics and weights other than 0 and 1."""
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.uniform_(m.bias, -0.5, 0.5)
            m.running_mean.uniform_(-0.5, 0.5)
            m.running_var.uniform_(0.5, 1.5)
    return model.eval()


class Images(nn.Module):
    """Takes images; their number is dynamic."""
    channels, size = 3, 16
    dynamic = ({0: Dim('batch', min=1, max=64)},)

    def calls(self):
        return [(torch.randn(n, self.channels, self.size, self.size),)
                for n in (2, 5, 1)]


class ConvBn(Images):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8),
            nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 12, 3, stride=2), nn.BatchNorm2d(12), nn.ReLU())
        self.head = nn.Linear(12 * 9, 10)

    def forward(self, x):
        return self.head(torch.flatten(self.features(x), 1))


class Residual(Images):
    """Two residual blocks, one of them with a projection."""

    def __init__(self):
        super().__init__()

        def unit(a, b, k, stride=1):
            return nn.Sequential(
                nn.Conv2d(a, b, k, stride, k // 2, bias=False),
                nn.BatchNorm2d(b))
        self.stem = unit(3, 8, 3)
        self.a, self.b = unit(8, 8, 3), unit(8, 8, 3)
        self.c, self.d = unit(8, 16, 3, 2), unit(16, 16, 3)
        self.project = unit(8, 16, 1, 2)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(self.b(F.relu(self.a(x))) + x)
        x = F.relu(self.d(F.relu(self.c(x))) + self.project(x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Depthwise(Images):
    """An inverted residual with hardswish and squeeze-and-excitation."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8),
                                  nn.Hardswish())
        self.expand = nn.Sequential(nn.Conv2d(8, 24, 1), nn.BatchNorm2d(24),
                                    nn.ReLU6())
        self.depth = nn.Sequential(nn.Conv2d(24, 24, 3, 1, 1, groups=24),
                                   nn.BatchNorm2d(24), nn.Hardswish())
        self.squeeze, self.excite = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1)
        self.shrink = nn.Sequential(nn.Conv2d(24, 8, 1), nn.BatchNorm2d(8))
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        y = self.depth(self.expand(x))
        gate = F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))
        x = x + self.shrink(y * F.hardsigmoid(self.excite(gate)))
        return self.head(x.mean((2, 3)))


class Branches(Images):
    """Branches that are joined, average pooling, a transposed convolution."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 6, 1)
        self.b = nn.Conv2d(3, 6, 3, padding=2, dilation=2)
        self.mix = nn.Conv2d(15, 8, 3, padding=1, groups=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, 2)

    def forward(self, x):
        x = torch.cat([F.relu(self.a(x)), F.relu(self.b(x)),
                       F.avg_pool2d(x, 3, 1, 1)], 1)
        x = F.avg_pool2d(F.relu(self.mix(x)), 2)
        return torch.sigmoid(self.up(x))


class Conv1d(nn.Module):
    dynamic = ({0: Dim('batch', min=1, max=64), 2: Dim('time', min=8, max=256)},)

    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(4, 12, 5, padding=2)
        self.norm = nn.BatchNorm1d(12)
        self.b = nn.Conv1d(12, 6, 3, padding=1)

    def forward(self, x):
        return self.b(F.relu(self.norm(self.a(x))))

    def calls(self):
        return [(torch.randn(n, 4, t),) for n, t in ((2, 24), (1, 40), (3, 9))]


class Rows(nn.Module):
    """Takes rows; their number is dynamic."""
    width = 64
    dynamic = ({0: Dim('rows', min=1, max=512)},)

    def calls(self):
        return [(torch.randn(n, self.width),) for n in (4, 9, 1)]


class Mlp(Rows):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64), nn.GELU(),
            nn.Linear(64, 32, bias=False))

    def forward(self, x):
        return self.layers(x)


class Tokens(nn.Module):
    """Takes rows of vectors; batch and length are dynamic."""
    width = 64
    dynamic = ({0: Dim('batch', min=1, max=16), 1: Dim('length', min=2, max=64)},)

    def calls(self):
        return [(torch.randn(n, t, self.width),)
                for n, t in ((2, 7), (1, 12), (3, 4))]


class Block(nn.Module):
    """A transformer block with its norms first."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.v, self.o = nn.Linear(width, width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 96), nn.Linear(96, width)

    def split(self, x):
        b, t, w = x.shape
        return x.view(b, t, self.heads, w // self.heads).transpose(1, 2)

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)

    def forward(self, x):
        y = self.norm1(x)
        y = self.attend(*(self.split(f(y)) for f in (self.q, self.k, self.v)))
        x = x + self.o(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Attention(Tokens):
    def __init__(self):
        super().__init__()
        self.block = Block(64, 4, causal=False)

    def forward(self, x):
        return self.block(x)


class WrittenOut(Block):
    """Attention as products and a softmax, which quantizers can reach."""

    def attend(self, q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        return torch.matmul(torch.softmax(scores, -1), v)


class MatmulAttention(Tokens):
    def __init__(self):
        super().__init__()
        self.block = WrittenOut(64, 4, causal=False)

    def forward(self, x):
        return self.block(x)


class Gpt(nn.Module):
    """Embeddings, two causal blocks, logits."""
    dynamic = ({0: Dim('batch', min=1, max=16), 1: Dim('length', min=2, max=32)},)

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 64), nn.Embedding(32, 64)
        self.blocks = nn.Sequential(*(Block(64, 4, causal=True)
                                      for _ in range(2)))
        self.norm = nn.LayerNorm(64)
        self.head = nn.Linear(64, 64, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(
            torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x)))

    def calls(self):
        return [(torch.randint(50, (n, t)),)
                for n, t in ((2, 7), (1, 12), (3, 4))]


class Embeddings(nn.Module):
    """Ids to a mean of embeddings, and a linear layer."""
    dynamic = ({0: Dim('batch', min=1, max=16)},)

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(40, 64)
        self.head = nn.Linear(64, 32)

    def forward(self, ids):
        return self.head(self.table(ids).mean(1))

    def calls(self):
        return [(torch.randint(40, (n, 5)),) for n in (3, 6, 1)]


class Lstm(Tokens):
    dynamic = ({0: Dim('batch', min=1, max=16)},)

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 32)
        self.lstm = nn.LSTM(32, 32, num_layers=2, batch_first=True)
        self.head = nn.Linear(32, 32)

    def forward(self, x):
        y, (h, _) = self.lstm(torch.relu(self.first(x)))
        return self.head(y), h

    def calls(self):
        return [(torch.randn(n, 6, self.width),) for n in (2, 4, 1)]


NETS = {n.__name__.lower(): n for n in (
    ConvBn, Residual, Depthwise, Branches, Conv1d, Mlp, Attention,
    MatmulAttention, Gpt, Embeddings, Lstm)}


def make(name):
    return settle(NETS[name]())
