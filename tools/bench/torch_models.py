"""The models of examples/models as PyTorch modules.

Parameters have the names that Weft's builders give them, so that a state dict
from an exported model loads by name. `forward` takes the inputs in the order of
the exported graph and returns its outputs in order.
"""

import torch
from torch import nn
from torch.nn import functional as F

# --- Vision ------------------------------------------------------------------


def conv(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2,
                     groups=groups, bias=False)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1 = conv(inputs, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = conv(width, outputs, 1)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if inputs != outputs or stride != 1:
            self.downsample = nn.Sequential(conv(inputs, outputs, 1, stride),
                                            nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.relu(y + shortcut)


class ResNet50(nn.Module):
    channels_last = True

    def __init__(self, small):
        super().__init__()
        base = 8 if small else 64
        self.conv1 = conv(3, base, 7, 2)
        self.bn1 = nn.BatchNorm2d(base)
        inputs = base
        for stage, blocks in enumerate([3, 4, 6, 3]):
            width = base << stage
            layers = []
            for block in range(1 if small else blocks):
                stride = 2 if block == 0 and stage > 0 else 1
                layers.append(Bottleneck(inputs, width, stride))
                inputs = 4 * width
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, 10 if small else 1000)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(x, 3, 2, 1)
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = layer(x)
        return self.fc(x.mean((2, 3)))


def conv_block(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Sequential(conv(inputs, outputs, kernel, stride, groups),
                         nn.BatchNorm2d(outputs), nn.ReLU6())


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        hidden = inputs * expand
        layers = [] if expand == 1 else [conv_block(inputs, hidden, 1)]
        layers += [conv_block(hidden, hidden, 3, stride, hidden),
                   conv(hidden, outputs, 1), nn.BatchNorm2d(outputs)]
        self.conv = nn.Sequential(*layers)
        self.same = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.same else self.conv(x)


def round_width(width):
    rounded = max(8, int(width + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * width else rounded


class MobileNetV2(nn.Module):
    channels_last = True

    def __init__(self, small):
        super().__init__()
        scale = 0.25 if small else 1
        last = 64 if small else 1280
        inputs = round_width(32 * scale)
        layers = [conv_block(3, inputs, 3, 2)]
        for expand, width, count, first in (
                (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            outputs = round_width(width * scale)
            for i in range(min(2, count) if small else count):
                stride = first if i == 0 else 1
                layers.append(InvertedResidual(inputs, outputs, stride, expand))
                inputs = outputs
        layers.append(conv_block(inputs, last, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Identity(), nn.Linear(last, 10 if small else 1000))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


# --- Transformers ------------------------------------------------------------


def split_heads(x, heads):
    batch, length, hidden = x.shape
    return x.view(batch, length, heads, hidden // heads).transpose(1, 2)


def join_heads(x):
    batch, heads, length, size = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * size)


class Holder(nn.Module):
    """Gives children the names that the exported model has."""

    def __init__(self, /, **children):
        super().__init__()
        for name, child in children.items():
            self.add_module(name, child)


class EncoderLayer(nn.Module):
    def __init__(self, heads, hidden, inner):
        super().__init__()
        self.heads = heads
        norm = lambda: nn.LayerNorm(hidden, eps=1e-12)
        self.attention = Holder(
            self=Holder(query=nn.Linear(hidden, hidden),
                        key=nn.Linear(hidden, hidden),
                        value=nn.Linear(hidden, hidden)),
            output=Holder(dense=nn.Linear(hidden, hidden), LayerNorm=norm()))
        self.intermediate = Holder(dense=nn.Linear(hidden, inner))
        self.output = Holder(dense=nn.Linear(inner, hidden), LayerNorm=norm())

    def forward(self, x, mask):
        own = self.attention.self
        query, key, value = (split_heads(part(x), self.heads)
                             for part in (own.query, own.key, own.value))
        y = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        y = self.attention.output.dense(join_heads(y))
        x = self.attention.output.LayerNorm(y + x)
        y = F.gelu(self.intermediate.dense(x))
        return self.output.LayerNorm(self.output.dense(y) + x)


class Encoder(nn.Module):
    def __init__(self, layers, heads, size, inner, words, positions):
        super().__init__()
        hidden = heads * size
        self.embeddings = Holder(
            word_embeddings=nn.Embedding(words, hidden),
            position_embeddings=nn.Embedding(positions, hidden),
            token_type_embeddings=nn.Embedding(2, hidden),
            LayerNorm=nn.LayerNorm(hidden, eps=1e-12))
        self.encoder = Holder(layer=nn.ModuleList(
            EncoderLayer(heads, hidden, inner) for _ in range(layers)))
        self.pooler = Holder(dense=nn.Linear(hidden, hidden))

    def forward(self, input_ids, token_type_ids, attention_mask):
        e = self.embeddings
        x = e.word_embeddings(input_ids) + e.token_type_embeddings(
            token_type_ids)
        x = e.LayerNorm(x + e.position_embeddings.weight[:input_ids.shape[1]])
        mask = attention_mask[:, None, None, :].to(x.dtype)
        mask = (1 - mask) * torch.finfo(x.dtype).min
        for layer in self.encoder.layer:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler.dense(x[:, 0]))


class DecoderLayer(nn.Module):
    def __init__(self, heads, hidden, inner):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(hidden)
        self.attn = Holder(c_attn=nn.Linear(hidden, 3 * hidden),
                           c_proj=nn.Linear(hidden, hidden))
        self.ln_2 = nn.LayerNorm(hidden)
        self.mlp = Holder(c_fc=nn.Linear(hidden, inner),
                          c_proj=nn.Linear(inner, hidden))

    def forward(self, x):
        parts = self.attn.c_attn(self.ln_1(x)).chunk(3, 2)
        query, key, value = (split_heads(part, self.heads) for part in parts)
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.attn.c_proj(join_heads(y))
        y = F.gelu(self.mlp.c_fc(self.ln_2(x)), approximate="tanh")
        return x + self.mlp.c_proj(y)


class Gpt2(nn.Module):
    def __init__(self, small):
        super().__init__()
        layers, heads, size, inner, words, positions = (
            (2, 4, 8, 64, 97, 32) if small else
            (12, 12, 64, 3072, 50257, 1024))
        hidden = heads * size
        self.wte = nn.Embedding(words, hidden)
        self.wpe = nn.Embedding(positions, hidden)
        self.h = nn.ModuleList(DecoderLayer(heads, hidden, inner)
                               for _ in range(layers))
        self.ln_f = nn.LayerNorm(hidden)

    def forward(self, input_ids):
        x = self.wte(input_ids) + self.wpe.weight[:input_ids.shape[1]]
        for layer in self.h:
            x = layer(x)
        return F.linear(self.ln_f(x), self.wte.weight)


# --- Others ------------------------------------------------------------------


def tower(widths, last):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*(layers if last else layers[:-1]))


class Dlrm(nn.Module):
    def __init__(self, small):
        super().__init__()
        rows, size, wide, mid = (50, 8, 16, 16) if small else (
            10000, 64, 512, 256)
        self.bottom = tower([13, wide, mid, size], True)
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, size, mode="sum")
                                  for _ in range(26))
        self.top = tower([27 * size, wide, mid, 1], False)

    def forward(self, dense, *indices):
        parts = [self.bottom(dense)]
        parts += [bag(index) for bag, index in zip(self.bags, indices)]
        return torch.sigmoid(self.top(torch.cat(parts, 1)))


class Mlp(nn.Module):
    def __init__(self, small):
        super().__init__()
        width = 32 if small else 1024
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class FourLinears(nn.Module):
    def __init__(self, small):
        super().__init__()
        width = 32 if small else 1024
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x):
        return self.query(x), self.key(x), self.value(x), self.gate(x)


class NormChain(nn.Module):
    def __init__(self, small):
        super().__init__()
        self.norm = nn.LayerNorm(40 if small else 1024)

    def forward(self, x):
        return x + F.gelu(self.norm(x))


class Softmax(nn.Module):
    def forward(self, x):
        return x.softmax(-1)


class Stack299(nn.Module):
    def forward(self, *parts):
        return torch.stack([part.relu() for part in parts], 1)


class AdamW(nn.Module):
    """A step of torch.optim.AdamW on copies; timing repeats it in place.

    Inputs: the number of the step, then for each parameter its value, both
    averages and the gradient; outputs the first three, new.
    """

    def __init__(self):
        super().__init__()
        self.optimizer = None

    def bind(self, step, *rest):
        self.params = [nn.Parameter(p.clone()) for p in rest[0::4]]
        self.optimizer = torch.optim.AdamW(
            self.params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8,
            weight_decay=0.01, fused=True)
        for i, p in enumerate(self.params):
            p.grad = rest[4 * i + 3].clone()
            self.optimizer.state[p] = {
                "step": step.clone() - 1,
                "exp_avg": rest[4 * i + 1].clone(),
                "exp_avg_sq": rest[4 * i + 2].clone()}

    def forward(self, *inputs):
        if self.optimizer is None:
            self.bind(*inputs)
        self.optimizer.step()

    def results(self):
        for p in self.params:
            state = self.optimizer.state[p]
            yield from (p.detach(), state["exp_avg"], state["exp_avg_sq"])


def build(name, small):
    encoders = {"bert": (12, 12, 64, 3072, 30522, 512),
                "minilm": (6, 12, 32, 1536, 30522, 512)}
    if name in encoders:
        full = encoders[name]
        shape = (2, 4, full[2] // 8, 64, 97, 32) if small else full
        return Encoder(*shape)
    sized = {"resnet50": ResNet50, "mobilenet_v2": MobileNetV2, "gpt2": Gpt2,
             "dlrm": Dlrm, "mlp": Mlp, "four_linears": FourLinears,
             "norm_chain": NormChain}
    if name in sized:
        return sized[name](small)
    return {"softmax": Softmax, "stack299": Stack299, "adamw": AdamW}[name]()
