#!/usr/bin/env python3
"""PyTorch on a GPU, on the models of torch_models.py; prints a line for each.

    peer_torch_gpu.py --make-model=PATH [--models=NAME,...] [--modes=eager,...]

Modes: eager; compile (Inductor as it comes); graphs (the same with CUDA graphs,
mode="reduce-overhead"); autotune (mode="max-autotune"). Weights are PyTorch's
random ones, inputs those that make_model writes.

Two times, medians in milliseconds: `device`, with inputs and results on the GPU,
until the GPU is done; `host`, from arrays of the host to arrays of the host, as
Weft's bench measures. f32 is f32: TF32 is off, unless --tf32 is given.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch

import peer_common
import torch_models

MODES = {"eager": None, "compile": "default", "graphs": "reduce-overhead",
         "autotune": "max-autotune"}


def inputs_of(make_model, name, folder):
    """Arrays in the order of the graph's inputs."""
    path = os.path.join(folder, name + ".weft")
    arrays = os.path.join(folder, name)
    subprocess.run([make_model, "--model=" + name, "-o", path,
                    "--inputs=" + arrays], check=True, capture_output=True)
    with open(path, errors="replace") as file:
        head = re.search(r"func @main\((.*?)\)\s*->", file.read(1 << 20), re.S)
    names = re.findall(r"%([\w.]+):", head.group(1))
    files = {os.path.basename(f)[:-4] for f in glob.glob(arrays + "/*.npy")}
    return peer_common.load_inputs(arrays, [n for n in names if n in files])


def to_host(result):
    values = result if isinstance(result, (tuple, list)) else [result]
    return [v.cpu() for v in values if isinstance(v, torch.Tensor)]


def measure(name, mode, arrays, seconds):
    """(device, host) in milliseconds."""
    module = torch_models.build(name, False).eval().cuda()
    host = [torch.from_numpy(a) for a in arrays]
    if getattr(module, "channels_last", False):
        module = module.to(memory_format=torch.channels_last)
        host = [x.contiguous(memory_format=torch.channels_last) for x in host]
    device = [x.cuda() for x in host]
    program = module
    if name == "adamw":
        module.bind(*device)
        program = lambda *_: module.optimizer.step()
    if MODES[mode] is not None:
        torch._dynamo.reset()
        program = torch.compile(program, dynamic=False, mode=MODES[mode])

    def on_device():
        program(*device)
        torch.cuda.synchronize()

    def on_host():
        to_host(program(*[x.cuda() for x in host]))

    with torch.no_grad():
        for _ in range(3):
            on_device()
        inner = np.median(peer_common.measure(on_device, seconds, 0.1))
        if name == "adamw":
            return inner, float("nan")
        on_host()
        return inner, np.median(peer_common.measure(on_host, seconds, 0.1))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--make-model", required=True, metavar="PATH")
    parser.add_argument("--models", default="softmax,norm_chain,mlp,bert,gpt2,"
                        "minilm,resnet50,mobilenet_v2")
    parser.add_argument("--modes", default="eager,compile,graphs")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--tf32", action="store_true")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = args.tf32
    torch.backends.cudnn.allow_tf32 = args.tf32
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    print(f"{'model':14} {'mode':9} {'device ms':>10} {'host ms':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.models.split(","):
            arrays = inputs_of(args.make_model, name, folder)
            for mode in args.modes.split(","):
                try:
                    inner, outer = measure(name, mode, arrays, args.seconds)
                except Exception as error:  # The next one may work.
                    reason = str(error).strip().splitlines()[:1] or [repr(error)]
                    print(f"{name:14} {mode:9} {reason[0][:60]}")
                    continue
                print(f"{name:14} {mode:9} {inner:10.3f} {outer:10.3f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
