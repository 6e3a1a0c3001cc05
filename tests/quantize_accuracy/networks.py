"""Small networks for accuracy.py: their data, training and ONNX files.

Everything follows from a seed. Images are the 8x8 digits that scikit-learn
ships; the text is the documentation of the tree. Data is split in three: what is
trained on, of that what calibrates, and what accuracy is measured on.
"""
import dataclasses
import glob
import hashlib
import math
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional

BATCH = 64
CALIBRATION_BATCHES = 4
WINDOW = 48  # Characters of a text sample.


@dataclasses.dataclass
class Data:
    """Inputs and labels; a label for each sample, or for each character."""
    train: tuple
    calibration: list  # Batches of inputs.
    test: tuple


@dataclasses.dataclass
class Network:
    name: str
    model: nn.Module
    data: Data


def split(inputs, labels, train, seed):
    order = np.random.default_rng(seed).permutation(len(inputs))
    inputs, labels = inputs[order], labels[order]
    batches = [np.ascontiguousarray(inputs[i * BATCH:(i + 1) * BATCH])
               for i in range(CALIBRATION_BATCHES)]
    return Data((inputs[:train], labels[:train]), batches,
                (inputs[train:], labels[train:]))


def digits(seed):
    from sklearn import datasets
    images, labels = datasets.load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    return split(images, labels.astype(np.int64), 1000, seed)


def text(folder, seed):
    """Windows of the documentation, and each window's next characters."""
    whole = ''
    for path in sorted(glob.glob(os.path.join(folder, '*.md'))):
        with open(path, encoding='utf-8') as f:
            whole += f.read()
    letters = sorted(set(whole))
    if not letters:
        raise SystemExit(f'no *.md in {folder}')
    codes = np.array([letters.index(c) for c in whole], np.int64)
    starts = range(0, len(codes) - WINDOW - 1, WINDOW)
    inputs = np.stack([codes[i:i + WINDOW] for i in starts])
    labels = np.stack([codes[i + 1:i + WINDOW + 1] for i in starts])
    return split(inputs, labels, len(inputs) - 400, seed), len(letters)


def block(inputs, outputs, kernel, groups=1, act=nn.ReLU):
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2,
                     groups=groups, bias=False)
    layers = [conv, nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, act()) if act else nn.Sequential(*layers)


class ConvNet(nn.Module):
    """Convolutions with batch norm and a residual."""

    def __init__(self):
        super().__init__()
        self.stem = block(1, 16, 3)
        self.wide = block(16, 32, 3)
        self.left = block(32, 32, 3)
        self.right = block(32, 32, 3, act=None)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = functional.max_pool2d(self.wide(self.stem(x)), 2)
        x = functional.relu(x + self.right(self.left(x)))
        return self.head(x.mean((2, 3)))


class DepthwiseNet(nn.Module):
    """Depthwise and pointwise convolutions, as MobileNet has them."""

    def __init__(self, act=nn.ReLU6):
        super().__init__()
        self.stem = block(1, 24, 3, act=act)
        self.blocks = nn.Sequential(*[
            nn.Sequential(block(24, 24, 3, groups=24, act=act),
                          block(24, 24, 1, act=act)) for _ in range(3)])
        self.head = nn.Linear(24, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64),
            nn.GELU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.layers(x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        mask = torch.full((WINDOW, WINDOW), -1e4).triu(1)
        self.register_buffer('mask', mask, persistent=False)

    def forward(self, x):
        rows, length, width = x.shape
        shape = (rows, length, 3, self.heads, width // self.heads)
        q, k, v = self.qkv(x).reshape(shape).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        y = (scores + self.mask).softmax(-1) @ v
        return self.out(y.permute(0, 2, 1, 3).reshape(rows, length, width))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm0, self.norm1 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm0(x))
        return x + self.mlp(self.norm1(x))


class Transformer(nn.Module):
    """Predicts the next character."""

    def __init__(self, letters, width=64, heads=4, layers=2):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.places = nn.Parameter(torch.zeros(WINDOW, width))
        self.layers = nn.Sequential(*[Layer(width, heads)
                                      for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters)

    def forward(self, x):
        return self.head(self.norm(self.layers(self.letters(x) + self.places)))


def train(model, data, steps, seed, rate=3e-3):
    """AdamW with a rate that falls to nothing."""
    random = np.random.default_rng(seed)
    inputs, labels = (torch.from_numpy(a) for a in data.train)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate,
                                                   total_steps=steps)
    model.train()
    for _ in range(steps):
        at = torch.from_numpy(random.integers(0, len(inputs), BATCH))
        logits = model(inputs[at])
        loss = functional.cross_entropy(logits.flatten(0, -2),
                                        labels[at].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def folded(conv, norm):
    """Weight and bias of a convolution with its batch norm in it."""
    factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    return (conv.weight * factor.reshape(-1, 1, 1, 1),
            norm.bias - norm.running_mean * factor)


@torch.no_grad()
def spread_channels(model, octaves, seed):
    """The same function with channels of ranges 2^-octaves .. 2^octaves.

    A factor on an output channel and its inverse on the next convolution's input
    channel cancel through a relu. A scale for a whole tensor then leaves small
    channels few steps, and rounding shifts their means.
    """
    random = np.random.default_rng(seed)
    convs = []
    for module in model.modules():
        if isinstance(module, nn.Sequential) and isinstance(module[0], nn.Conv2d):
            weight, bias = folded(module[0], module[1])
            module[0].weight = nn.Parameter(weight)
            module[0].bias = nn.Parameter(bias)
            module[1] = nn.Identity()
            convs.append(module[0])
    before = None
    for conv in convs:
        if before is not None:
            if conv.groups == 1:
                conv.weight /= before.reshape(1, -1, 1, 1)
            else:
                conv.weight /= before.reshape(-1, 1, 1, 1)
        factor = 2 ** random.uniform(-octaves, octaves, len(conv.weight))
        before = torch.from_numpy(factor.astype(np.float32))
        conv.weight *= before.reshape(-1, 1, 1, 1)
        conv.bias *= before
    model.head.weight /= before
    return model


NAMES = ('convnet', 'depthwise', 'spread', 'mlp', 'transformer')


def make(name, seed, docs, folder):
    """The trained network; once trained, it is read from `folder`."""
    with open(__file__, 'rb') as f:
        version = hashlib.sha256(f.read()).hexdigest()[:12]
    path = os.path.join(folder, f'{name}-{seed}-{version}.pt')
    if os.path.exists(path):
        return torch.load(path, weights_only=False)
    network = trained(name, seed, docs)
    os.makedirs(folder, exist_ok=True)
    torch.save(network, path)
    return network


def trained(name, seed, docs):
    torch.manual_seed(seed)
    if name == 'transformer':
        data, letters = text(docs, seed)
        return Network(name, train(Transformer(letters), data, 700, seed), data)
    data = digits(seed)
    if name == 'convnet':
        model = train(ConvNet(), data, 250, seed)
    elif name == 'depthwise':
        model = train(DepthwiseNet(), data, 500, seed)
    elif name == 'spread':
        model = spread_channels(train(DepthwiseNet(nn.ReLU), data, 500, seed),
                                4, seed)
    else:
        model = train(Mlp(), data, 400, seed)
    return Network(name, model, data)


def export(network, path):
    """The float model with a batch of any size."""
    x = torch.from_numpy(network.data.calibration[0])
    torch.onnx.export(network.model, (x,), path, dynamo=True, opset_version=18,
                      external_data=False, input_names=['x'],
                      output_names=['y'], verbose=False,
                      dynamic_shapes={'x': {0: torch.export.Dim('batch')}})
