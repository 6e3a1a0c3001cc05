"""From a model file to the first output, and memory; `peers.py cold`.

One process each, the programs in turn: Weft with an empty cache of kernels, Weft
again with what that left, ONNX Runtime. Each reads the same file, which the
system has in memory, and the time is that of reading it, of compiling and of the
first run; starting the process, Python and its libraries is left out of all.
"""

import json
import os
import shutil
import sys

KINDS = ["cold", "warm", "ONNX Runtime"]


# Goes through a file; prints milliseconds.
READ = """
import sys, time
buffer = bytearray(1 << 20)
start = time.perf_counter()
with open(sys.argv[1], "rb", buffering=0) as file:
    while file.readinto(buffer):
        pass
print(1e3 * (time.perf_counter() - start))
"""


def commands(args, case, threads, cache):
    weft = [os.path.join(args.bin, "bench", "main"), "--threads=%d" % threads,
            "--target=" + args.target, "--passes=" + args.passes,
            "--admit=" + args.admit, "--nopeaks", "--format=json", "--repeat=1",
            "--code=background", "--cache-dir=" + cache]
    weft += case.input_flags() + [case.onnx]
    ort = [args.ort_python,
           os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_ort.py"),
           case.onnx, "--threads=%d" % threads, "--inputs=" + case.inputs,
           "--iterations=1"]
    return dict(zip(KINDS, [weft, weft, ort]))


def measure(args, case, threads, real_time, call):
    """Results of all rounds by kind, and the time of reading the file."""
    results = {kind: [] for kind in KINDS}
    reading = []
    for number in range(args.rounds):
        cache = os.path.join(case.folder, "cache-%d" % number)
        reading.append(float(call([sys.executable, "-c", READ, case.onnx],
                                  None, real_time)))
        for kind, command in commands(args, case, threads, cache).items():
            text = call(command, None, real_time)
            results[kind].append(json.loads(text[text.index("{"):]))
        shutil.rmtree(cache, ignore_errors=True)
    return results, min(reading)


def line(name, threads, results, reading):
    total = {kind: min(r["compile_ms"] + r["first_ms"] for r in runs)
             for kind, runs in results.items()}
    memory = {kind: max(r["peak_rss_mb"] for r in runs)
              for kind, runs in results.items()}
    cold, warm, ort = KINDS
    # What a second process does but run and read.
    steady = min(min(r["median_ms"] for r in results[kind]) for kind in (cold, warm))
    beyond = max(total[warm] - steady - reading, 0)
    return [name, str(threads), f"{total[cold]:.3g}", f"{total[ort]:.3g}",
            f"{total[cold] / total[ort]:.2f}",
            f"{total[warm]:.3g}", f"{steady:.3g}",
            f"{reading:.3g}", f"{beyond:.3g}",
            f"{memory[cold]:.0f}", f"{memory[ort]:.0f}",
            f"{memory[cold] / memory[ort]:.2f}"]


HEAD = ["model", "threads", "Weft, cold", "ONNX Runtime", "ratio",
        "Weft, warm", "a run", "reading the file", "beyond both", "Weft, MB",
        "ONNX Runtime, MB", "ratio"]


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(lines):
    return "\n".join([row(HEAD), row(["---"] * len(HEAD))]
                     + [row(cells) for cells in lines]) + "\n"
