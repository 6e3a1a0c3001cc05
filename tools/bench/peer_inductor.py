#!/usr/bin/env python3
"""Counts the kernels that Inductor launches on a GPU, from its code alone: no GPU is used.

    peer_inductor.py --make-model=PATH --opt=PATH --cuda-nvrtc=PATH [--models=NAME,...]

Prints a line for each model. Of Weft's plan for `--target=cuda`: launches of generated kernels, and
steps of routines. Of the code that torch.compile generates in its default mode for the properties
of an H100: Triton kernels, matmuls and convolutions of libraries, and other functions of PyTorch.
A routine or function is a launch at least. Sizes are those that make_model gives; `llama` is a
module of this file.

Needs PyTorch, built for CPUs or not, and Triton, which need not find a driver. Tensors are fake
ones, so that weights take no memory. Code is generated and not compiled.
"""

import argparse
import operator
import re
import subprocess
import sys
import tempfile
import types

import torch
from torch import nn
from torch.nn import functional as F

import peer_torch_gpu
import torch_models

MODELS = ("resnet50,mobilenet_v2,bert,minilm,gpt2,dlrm,mlp,four_linears,norm_chain,softmax,"
          "stack299,adamw,llama")
PROPERTIES = types.SimpleNamespace(
    name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, total_memory=80 << 30,
    regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32,
    gcnArchName="", shared_memory_per_block=48 << 10, shared_memory_per_block_optin=227 << 10,
    L2_cache_size=50 << 20, uuid="", is_integrated=0)


def pretend_to_have_a_gpu():
    """Everything that Inductor asks of a device while it generates code."""
    from torch._inductor.codegen import triton as triton_code
    from torch._inductor.fx_passes import joint_graph
    from torch.utils import _triton
    # Patterns are traced once, on tensors of any device.
    joint_graph.lazy_init(torch.device("cpu"))
    joint_graph.lazy_init = lambda *_: None
    # Padding of matmuls is decided by times on a device, and this fold makes real tensors.
    torch._inductor.config.shape_padding = False
    joint_graph.constant_fold_uniform_value = lambda *_: None
    cuda = torch.cuda
    torch.version.cuda = torch.version.cuda or "13.0"
    for name, value in {
            "is_available": True, "device_count": 1, "current_device": 0, "_lazy_init": None,
            "synchronize": None, "set_device": None, "_exchange_device": 0,
            "_maybe_exchange_device": 0, "get_device_capability": (9, 0),
            "get_device_properties": PROPERTIES, "_get_device_properties": PROPERTIES,
            "get_rng_state": torch.zeros(16, dtype=torch.uint8), "set_rng_state": None}.items():
        setattr(cuda, name, lambda *_, value=value, **__: value)
    for module in (_triton, triton_code):
        module.triton_hash_with_backend = lambda *_: "none"
        module.triton_backend = lambda *_: None


class Llama(nn.Module):
    """A token of examples/models/llama.cc: a step of SmolLM-135M, with new caches."""

    layers, heads, key_heads, size, inner, words = 30, 9, 3, 64, 1536, 49152

    def __init__(self):
        super().__init__()
        hidden, keys = self.heads * self.size, self.key_heads * self.size
        linear = lambda a, b: nn.Linear(a, b, bias=False)
        self.embed = nn.Embedding(self.words, hidden)
        self.parts = nn.ModuleList(
            nn.ModuleDict({
                "norm": nn.RMSNorm(hidden, 1e-5), "q": linear(hidden, hidden),
                "k": linear(hidden, keys), "v": linear(hidden, keys), "o": linear(hidden, hidden),
                "after": nn.RMSNorm(hidden, 1e-5), "gate": linear(hidden, self.inner),
                "up": linear(hidden, self.inner), "down": linear(self.inner, hidden)})
            for _ in range(self.layers))
        self.norm = nn.RMSNorm(hidden, 1e-5)

    def heads_of(self, x):
        return x.view(x.shape[0], 1, -1, self.size).transpose(1, 2)

    @staticmethod
    def turn(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, ids, place, *caches):
        frequencies = 1e4 ** (-torch.arange(0, self.size, 2, device=ids.device) / self.size)
        angles = place.float()[:, None] * frequencies
        cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
        seen = (torch.arange(caches[0].shape[2], device=ids.device) <= place)[None]
        x, after = self.embed(ids), []
        for i, part in enumerate(self.parts):
            y = part["norm"](x)
            q, k, v = (self.heads_of(part[name](y)) for name in "qkv")
            keys = caches[2 * i].index_copy(2, place, self.turn(k, cos, sin))
            values = caches[2 * i + 1].index_copy(2, place, v)
            after += [keys, values]
            y = F.scaled_dot_product_attention(
                self.turn(q, cos, sin), keys, values, attn_mask=seen, enable_gqa=True)
            x = x + part["o"](y.transpose(1, 2).flatten(2))
            y = part["after"](x)
            x = x + part["down"](F.silu(part["gate"](y)) * part["up"](y))
        return F.linear(self.norm(x), self.embed.weight), *after


def adamw(step, *rest):
    """The functions that torch.optim.AdamW calls for all parameters at once, on copies.

    Inductor removes the copies; inputs cannot be written without a device.
    """
    steps = [step.clone() for _ in rest[0::4]]
    params, averages, squares, gradients = (
        [x.clone() for x in rest[i::4]] for i in range(4))
    from torch.optim.adam import adam
    adam(params, gradients, averages, squares, [], steps, foreach=True, capturable=True,
         amsgrad=False, beta1=0.9, beta2=0.999, lr=1e-3, weight_decay=0.01, eps=1e-8,
         maximize=False, decoupled_weight_decay=True)
    return [*params, *averages, *squares]


def call_fused_attention(graph, node):
    """Calls what PyTorch chooses on a GPU for f32; without one it would choose plain matmuls.

    Heads that share keys have no fused kernel for f32.
    """
    aten = torch.ops.aten
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    args = {**dict(zip(names, node.args)), **node.kwargs}
    if args.get("enable_gqa"):
        return
    query, key, mask = args["query"], args["key"], args.get("attn_mask")
    with graph.inserting_before(node):
        if mask is not None:
            if mask.meta["val"].dtype == torch.bool:
                mask = graph.call_function(aten.where.Scalar, (mask, 0.0, float("-inf")))
            sizes = [*query.meta["val"].shape[:-1], key.meta["val"].shape[-2]]
            mask = graph.call_function(aten.expand.default, (mask, sizes))
        call = graph.call_function(
            aten._scaled_dot_product_efficient_attention.default,
            (query, key, args["value"], mask, False, 0.0, args.get("is_causal", False)),
            {"scale": args.get("scale")})
        node.replace_all_uses_with(graph.call_function(operator.getitem, (call, 0)))
    graph.erase_node(node)


def on_gpu(program):
    """An exported program, with all tensors on the GPU."""
    for part in program.modules():
        for tensors in (part._parameters, part._buffers):
            for name, value in tensors.items():
                if value is not None:
                    fake = torch.empty(value.shape, dtype=value.dtype, device="cuda")
                    is_parameter = tensors is part._parameters
                    tensors[name] = nn.Parameter(fake, False) if is_parameter else fake
    for node in list(program.graph.nodes):
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device("cuda:0")}
        if node.target is torch.ops.aten.scaled_dot_product_attention.default:
            call_fused_attention(program.graph, node)
    program.recompile()
    return program


class Generated(Exception):
    """Ends a compilation, with its code."""


def generate(program, inputs, fake_mode):
    from torch._inductor import compile_fx
    from torch._inductor.graph import GraphLowering

    def stop(graph):
        code = graph.codegen()[0]
        raise Generated(getattr(code, "value", code))

    GraphLowering.compile_to_module = stop
    with torch.no_grad(), fake_mode:
        try:
            compile_fx.compile_fx(program, inputs)
        except Exception as error:  # It is wrapped on its way.
            while error is not None and not isinstance(error, Generated):
                error = getattr(error, "inner_exception", None) or error.__cause__
            if error is None:
                raise
            return error.args[0]


def count(code):
    """(Triton kernels, libraries' calls, other functions) of the generated code."""
    body = code[code.index("def call("):]
    return (len(re.findall(r"\b\w+\.run\(", body)),
            len(re.findall(r"\bextern_kernels\.\w+\(", body)),
            len(re.findall(r"= torch\.ops\.\w+\.[\w.]+\(", body)))


def inductor(name, arrays):
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    fake_mode = FakeTensorMode()
    dtypes = [torch.from_numpy(a).dtype for a in arrays]
    layout = torch.contiguous_format
    if name in ("resnet50", "mobilenet_v2"):
        layout = torch.channels_last
    with fake_mode, torch.no_grad():
        def inputs(device):
            return tuple(torch.empty(a.shape, dtype=dtype, device=device, memory_format=layout)
                         for a, dtype in zip(arrays, dtypes))
        if name == "adamw":
            program = make_fx(adamw)(*inputs("cuda"))
        else:
            # Indexing in Python is not possible on tensors of a GPU that is not there.
            module = Llama() if name == "llama" else torch_models.build(name, False)
            program = torch.export.export(module.eval(), inputs("cpu"), strict=False).module()
        program, inputs = on_gpu(program), inputs("cuda")
    return count(generate(program, inputs, fake_mode))


def weft(opt, nvrtc, path):
    """(launches of generated kernels, steps of routines) of the plan."""
    plan = subprocess.run(
        [opt, "--target=cuda", "--cuda-nvrtc=" + nvrtc, "--emit=plan", path],
        check=True, capture_output=True, text=True).stdout
    rows = re.findall(r"^// +\d+  (\S+)( +\d+)? ", plan[plan.rindex("// code for"):], re.M)
    generated = sum(re.search(r"\d", blocks) is not None for _, blocks in rows)
    return generated, len(rows) - generated


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--make-model", required=True, metavar="PATH")
    parser.add_argument("--opt", required=True, metavar="PATH")
    parser.add_argument("--cuda-nvrtc", required=True, metavar="PATH")
    parser.add_argument("--models", default=MODELS)
    args = parser.parse_args()
    pretend_to_have_a_gpu()
    print(f"PyTorch {torch.__version__}")
    print(f"{'model':14} {'kernels':>8} {'routines':>9}   {'Triton':>6} {'library':>8} {'other':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.models.split(","):
            arrays = peer_torch_gpu.inputs_of(args.make_model, name, folder)
            kernels, routines = weft(args.opt, args.cuda_nvrtc, f"{folder}/{name}.weft")
            triton, library, other = inductor(name, arrays)
            print(f"{name:14} {kernels:8} {routines:9}   {triton:6} {library:8} {other:6}",
                  flush=True)


if __name__ == "__main__":
    sys.exit(main())
