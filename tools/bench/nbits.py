#!/usr/bin/env python3
"""Weft beside ONNX Runtime on matmuls with weights of 4 or 8 bits in groups (MatMulNBits).

    nbits.py --ort-python=PYTHON [--threads=1] [--rounds=5] [--rows=1] [--bits=4]

PYTHON is an interpreter of a virtual environment with onnxruntime, onnx and numpy, `bench` of Weft
comes from --bin, `bazel-bin/tools` by default. Each model is a chain of layers whose weights are
more than a last-level cache holds, so that one row reads them from memory in each run. ONNX Runtime
runs with the accuracy levels 0 (f32, as Weft) and 4 (rows rounded to 8 bits). The programs run one
at a time, in turn, and that several times; the table has the medians of the processes' medians, a
layer, and the least of them in brackets. The last columns are the bytes of packed weights and scales
that Weft reads in its time, in GB/s, and their share of what STREAM's triad moves (`bench --peaks`).

--llama-library=LIBRARY adds Q4_0 of llama.cpp, whose groups have 32 weights (peer_llama.py).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Sizes of the layers, in turn; the number of layers follows from --megabytes.
SHAPES = {"4096 x 4096": [(4096, 4096)], "4096 x 14336": [(4096, 14336), (14336, 4096)]}
LEVELS = [0, 4]

MAKE = r"""
import sys
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
path, rows, bits, group, level, *sizes = sys.argv[1:]
rows, bits, group, level = int(rows), int(bits), int(group), int(level)
layers = [tuple(map(int, s.split("x"))) for s in sizes]
random = np.random.default_rng(0)
nodes, tensors = [], []
for i, (k, n) in enumerate(layers):
    blocks = k // group
    weight = random.integers(0, 256, (n, blocks, group * bits // 8), dtype=np.uint8)
    # Results keep about the magnitude of the rows.
    scale = np.full((n * blocks,), 1 / (2 ** bits * 0.29 * k ** 0.5), dtype=np.float32)
    scale *= random.uniform(0.8, 1.2, scale.shape).astype(np.float32)
    tensors += [numpy_helper.from_array(weight, f"w{i}"), numpy_helper.from_array(scale, f"s{i}")]
    nodes.append(helper.make_node(
        "MatMulNBits", [f"x{i}", f"w{i}", f"s{i}"], [f"x{i + 1}"], domain="com.microsoft",
        K=k, N=n, bits=bits, block_size=group, accuracy_level=level))
value = helper.make_tensor_value_info
graph = helper.make_graph(
    nodes, "nbits", [value("x0", TensorProto.FLOAT, [rows, layers[0][0]])],
    [value(f"x{len(layers)}", TensorProto.FLOAT, [rows, layers[-1][1]])], tensors)
model = helper.make_model(graph, opset_imports=[
    helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
onnx.save(model, path + ".onnx")
np.save(path + "/x0.npy", random.standard_normal((rows, layers[0][0])).astype(np.float32))
"""


def bytes_of(layers, bits, group):
    """Packed weights and f32 scales."""
    return sum(k * n * bits // 8 + k // group * n * 4 for k, n in layers)


def run_json(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def measure(args, folder, layers, group):
    """The processes' medians by runner, in ms, and the triad's GB/s."""
    sizes = [f"{k}x{n}" for k, n in layers]
    for level in LEVELS:
        path = os.path.join(folder, f"level{level}")
        os.makedirs(path, exist_ok=True)
        subprocess.run([args.ort_python, "-c", MAKE, path, str(args.rows), str(args.bits),
                        str(group), str(level)] + sizes, check=True)
    times = {"weft": [], **{level: [] for level in LEVELS}}
    peaks = []
    for _ in range(args.rounds):
        result = run_json([os.path.join(args.bin, "bench", "main"), "--target=cpu", "--format=json",
                           f"--threads={args.threads}", f"--seconds={args.seconds}",
                           os.path.join(folder, "level0.onnx")])
        times["weft"].append(result["median_ms"])
        peaks.append(result["peaks"]["stream_gbs"])
        if args.llama_library and group == 32:
            result = run_json([args.ort_python, os.path.join(HERE, "peer_llama.py"),
                               args.llama_library, f"--threads={args.threads}",
                               f"--seconds={args.seconds}"] + sizes)
            times.setdefault("llama.cpp", []).append(result["median_ms"])
        for level in LEVELS:
            path = os.path.join(folder, f"level{level}")
            result = run_json([args.ort_python, os.path.join(HERE, "peer_ort.py"), path + ".onnx",
                               f"--inputs={path}", f"--threads={args.threads}",
                               f"--seconds={args.seconds}"])
            times[level].append(result["median_ms"])
    return times, statistics.median(peaks)


def cell(times, layers):
    if not times:
        return ""
    return f"{statistics.median(times) / layers:.3f} ({min(times) / layers:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ort-python", required=True)
    parser.add_argument("--llama-library", metavar="LIBRARY")
    parser.add_argument("--bin", default=os.path.join(ROOT, "bazel-bin", "tools"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--bits", type=int, default=4, choices=[4, 8])
    parser.add_argument("--groups", type=int, nargs="*", default=[32, 128])
    parser.add_argument("--megabytes", type=int, default=96, help="least size of all weights")
    args = parser.parse_args()
    print("| layer | group | Weft, ms | ONNX Runtime, level 0 | level 4 | llama.cpp Q4_0 | "
          "Weft / level 0 | GB/s | of the triad |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, shapes in SHAPES.items():
        for group in args.groups:
            repeats = -(-args.megabytes * 1000000 // bytes_of(shapes, args.bits, group))
            layers = shapes * repeats
            with tempfile.TemporaryDirectory() as folder:
                times, triad = measure(args, folder, layers, group)
            ratio = statistics.median(times["weft"]) / statistics.median(times[0])
            speed = bytes_of(layers, args.bits, group) / statistics.median(times["weft"]) / 1e6
            cells = [cell(times.get(key, []), len(layers))
                     for key in ["weft", *LEVELS, "llama.cpp"]]
            print(f"| {name} | {group} | {' | '.join(cells)} | {ratio:.2f} | {speed:.1f} | "
                  f"{100 * speed / triad:.0f} % |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
