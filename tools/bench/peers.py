#!/usr/bin/env python3
"""Weft beside ONNX Runtime, OpenVINO and PyTorch, on the models of examples/models.

    peers.py --ort-python=PYTHON --torch-python=PYTHON check
    peers.py --ort-python=PYTHON --torch-python=PYTHON --target=cpu time \
        --markdown=table.md
    peers.py --ort-python=PYTHON --openvino-python=PYTHON --target=cpu \
        --precision=int8 time

Each PYTHON is an interpreter of a virtual environment that the user has made:
one with onnxruntime, onnx and numpy, one with openvino and numpy, one with torch
and numpy (it may be the same one; one that is not given is left out). Weft's own programs come from
--bin, `bazel-bin/tools` by default: make_model, run, bench.

All run the same models with the same weights, through ONNX export, on the same
inputs. `check` compares outputs of small variants with those of Weft's reference
executor; exit status 1 when one differs. `time` measures full sizes: one process
at a time, the runners in turn and that several times (--rounds), each under
`chrt -f 1` where the system permits that. The table has the lowest of the
processes' medians, and how far these lie apart. `cold` measures from the model
file to the first output, and memory (peer_cold.py).

    peers.py --ort-python=PYTHON --openvino-python=PYTHON --target=cpu start

`start` measures from a compiled file to the first output, and memory, beside a session
that compiles the model, ONNX Runtime's own format and OpenVINO's blob (peer_start.py);
--folder keeps the files for the next run.

    peers.py --ort-python=PYTHON --torch-python=PYTHON --target=cpu files FOLDER...

`files` times models of yours: .onnx beside ONNX Runtime, .pt2 beside eager PyTorch,
with the inputs of test_data_set_0 or case_0 where such a folder lies beside the model. It
ends with the models that are slower than --limit allows; exit status 1 if there is one.

What would make a peer look bad is seen to: ONNX Runtime gets a model with static
sizes, attention as exporters write it, GELU as one operator; PyTorch's
convolutions run channels-last; its temporaries are not mapped and faulted in anew
in each run (MALLOC_ variables); a build without MKL or without vector
instructions for Inductor is refused. `chrt` keeps threads that
spin from waiting for others: without it, run nothing else.

`--precision=int8`: all run one model that ONNX Runtime's quantizer made (QDQ,
u8 activations, i8 weights by channel), ONNX Runtime also its dynamic form; Weft
in f32 stands beside, and with --torch-python Inductor on the model that PT2E quantized
for it (torchao; --modes=freeze). `--precision=bf16`: OpenVINO with that precision as a hint,
PyTorch under autocast, Weft with f32_precision=medium, and by the pass autocast. The ratio is that
of the faster of these two.

`time --busy=N` measures beside N processes that keep processors busy, without
`chrt`; `--threads=0` lets each runner choose its threads, as users mostly do.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import peer_cold
import peer_files
import peer_start

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

MODELS = ["resnet50", "mobilenet_v2", "bert", "minilm", "gpt2", "mlp", "dlrm",
          "norm_chain", "softmax", "adamw", "stack299", "four_linears"]

# Sizes for `check`, unlike the usual ones. Others have none.
ODD_SIZES = {
    "resnet50": "batch=3", "mobilenet_v2": "batch=3",
    "bert": "batch=2,sequence=7", "minilm": "batch=2,sequence=7",
    "gpt2": "batch=2,sequence=7", "mlp": "batch=5", "dlrm": "batch=5",
    "norm_chain": "rows=7", "softmax": "rows=7", "stack299": "batch=3",
    "four_linears": "batch=5",
}

# Forms of Weft of which the faster one is compared with the others.
COMPARED = ["Weft", "Weft autocast"]
TORCH_MODES = ["eager", "compile", "freeze", "autotune"]

# Reads an ONNX file: names of the inputs, one a line, and the weights by name.
EXTRACT = """
import sys
import numpy as np, onnx
from onnx import numpy_helper
model = onnx.load(sys.argv[1])
weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
weights = {n: a for n, a in weights.items() if n.endswith(
    ("weight", "bias", "running_mean", "running_var"))}
np.savez(sys.argv[2], **weights)
with open(sys.argv[3], "w") as file:
    file.writelines(i.name + "\\n" for i in model.graph.input)
"""


class Failure(Exception):
    """A program that failed, with what it said."""


def call(command, env=None, real_time=False):
    """Standard output of a command."""
    if real_time:
        command = ["chrt", "-f", "1"] + command
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["nothing on stderr"]
        shown = " ".join(command[:4])
        raise Failure(f"{shown} ...: exit status {done.returncode}: "
                      + "\n".join(said[-8:]))
    return done.stdout


def may_use_chrt():
    return shutil.which("chrt") is not None and subprocess.run(
        ["chrt", "-f", "1", "true"], capture_output=True).returncode == 0


@contextlib.contextmanager
def busy_processes(count):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
             for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class Case:
    """A model on disk: <folder>/model.onnx, inputs/, names, weights.npz."""

    def __init__(self, args, name, folder, small, sizes, static):
        self.args = args
        self.name = name
        self.small = small
        self.folder = folder
        self.onnx = os.path.join(folder, "model.onnx")
        self.inputs = os.path.join(folder, "inputs")
        self.names = os.path.join(folder, "names")
        self.weights = os.path.join(folder, "weights.npz")
        command = [os.path.join(args.bin, "make_model"), "--model=" + name,
                   "-o", self.onnx, "--inputs=" + self.inputs,
                   "--written-attention", "--opset=%d" % args.opset]
        if small:
            command.append("--small")
        if static:
            command.append("--static")
            if sizes:
                command.append("--size=" + sizes)
        elif sizes:
            command.append("--input-size=" + sizes)
        self.sizes = sizes
        if not (args.folder and os.path.exists(self.onnx)):
            call(command)
        if args.torch_python:
            call([args.ort_python, "-c", EXTRACT, self.onnx, self.weights,
                  self.names])
        self.quantized = {}
        if args.precision == "int8":
            for kind in ("static", "dynamic"):
                path = os.path.join(folder, kind + ".onnx")
                call([args.ort_python, HERE + "/ort_quantize.py", self.onnx,
                      path, "--inputs=" + self.inputs, "--kind=" + kind])
                self.quantized[kind] = path

    def input_flags(self):
        return [f"--input={name[:-4]}={os.path.join(self.inputs, name)}"
                for name in sorted(os.listdir(self.inputs))]

    def weft_outputs(self, target, passes):
        """Runs Weft; the files of its outputs, in order."""
        folder = os.path.join(self.folder, "weft-" + target)
        os.makedirs(folder, exist_ok=True)
        text = call([os.path.join(self.args.bin, "run"), self.onnx,
                     "--target=" + target, "--passes=" + passes,
                     "-o", folder] + self.input_flags())
        return [os.path.join(folder, line.split(":")[0] + ".npy")
                for line in text.splitlines() if ": " in line]

    def runners(self, threads):
        """(label, command, environment) for each."""
        args = self.args
        env = dict(os.environ)
        if threads:
            env.update(OMP_NUM_THREADS=str(threads),
                       MKL_NUM_THREADS=str(threads))
        timing = ["--threads=%d" % threads, "--inputs=" + self.inputs,
                  "--seconds=%g" % args.seconds, "--warmup=%g" % args.warmup]
        runners = [(label, command, env)
                   for label, command in self.weft_runners(threads)]
        if args.ort_python and args.precision != "bf16":
            models = ({"ONNX Runtime " + k: m for k, m in self.quantized.items()}
                      or {"ONNX Runtime": self.onnx})
            for label, model in models.items():
                runners.append((label, [args.ort_python, HERE + "/peer_ort.py",
                                        model] + timing, env))
        if args.openvino_python:
            precision = "bf16" if args.precision == "bf16" else "f32"
            model = self.quantized.get("static", self.onnx)
            runners.append(("OpenVINO",
                            [args.openvino_python, HERE + "/peer_openvino.py",
                             model, "--precision=" + precision] + timing, env))
        if args.torch_python:
            for mode in args.modes:
                runners.append(("torch " + mode,
                                self.torch(mode) + timing, torch_env(env)))
        return runners

    def weft_runners(self, threads):
        """(label, command) for each form of the model."""
        args = self.args
        weft = [os.path.join(args.bin, "bench", "main"), "--threads=%d" % threads,
                "--target=" + args.target, "--passes=" + args.passes,
                "--nopeaks", "--format=json",
                "--seconds=%g" % args.seconds, "--warmup=%g" % args.warmup]
        if args.admit:
            weft.append("--admit=" + args.admit)
        sizes = ["--size=" + self.sizes] if self.sizes else []
        named = sizes + ["--small"] * self.small + self.input_flags() + [self.name]
        if self.quantized:
            quantized = self.input_flags() + [self.quantized["static"]]
            return [("Weft", weft + quantized), ("Weft f32", weft + named)]
        if args.precision == "bf16":
            # The later one of two pipelines counts.
            autocast = ["--passes=autocast-bf16," + args.passes]
            return [("Weft", weft + ["--f32-precision=medium"] + named),
                    ("Weft autocast", weft + autocast + named)]
        return [("Weft", weft + named)]

    def torch(self, mode):
        command = [self.args.torch_python, HERE + "/peer_torch.py", self.name,
                   "--mode=" + mode, "--input-names=" + self.names,
                   "--weights=" + self.weights]
        if self.args.precision == "bf16":
            command.append("--autocast")
        if self.args.precision == "int8":
            command.append("--int8")
        return command + (["--small"] if self.small else [])


def torch_env(env):
    """Large temporaries come from the heap and stay in it."""
    return dict(env, MALLOC_MMAP_THRESHOLD_="4294967296",
                MALLOC_TRIM_THRESHOLD_="4294967296")


# --- check -------------------------------------------------------------------


def difference(np, got, want):
    """The largest one, over the largest element; or what does not fit."""
    if got.shape != want.shape:
        return f"shape {list(got.shape)} for {list(want.shape)}"
    if want.size == 0:
        return 0.0
    scale = max(float(np.abs(want).max()), 1e-6)
    return float(np.abs(got.astype("f8") - want.astype("f8")).max()) / scale


def compare(np, files, wanted, tolerance):
    """What to print of these outputs, and whether they are good."""
    worst = 0.0
    for i, (file, want) in enumerate(zip(files, wanted)):
        found = difference(np, np.load(file), np.load(want))
        if isinstance(found, str):
            return f"output {i}: {found}", False
        worst = max(worst, found)
    good = worst <= tolerance and len(files) == len(wanted)
    return f"{worst:.1e}", good


def peer_outputs(case, label, command, count):
    folder = os.path.join(case.folder, "outputs-" + label.replace(" ", "-"))
    call(command + ["--outputs=" + folder, "--inputs=" + case.inputs],
         env=torch_env(dict(os.environ)))
    return [os.path.join(folder, f"{i}.npy") for i in range(count)]


def check_case(args, np, case, static):
    """(label, what was found, whether it is good) of each runner."""
    wanted = case.weft_outputs("reference", "none")
    count = len(wanted)
    runners = [("Weft " + args.target,
                lambda: case.weft_outputs(args.target, args.passes))]
    if args.ort_python:
        command = [args.ort_python, HERE + "/peer_ort.py", case.onnx]
        runners.append(("ONNX Runtime", lambda: peer_outputs(
            case, "ort", command, count)))
    if args.torch_python and static:
        for mode in args.modes:
            runners.append(("torch " + mode, lambda mode=mode: peer_outputs(
                case, mode, case.torch(mode), count)))
    for label, outputs in runners:
        try:
            yield (label,) + compare(np, outputs(), wanted, args.tolerance)
        except Failure as failure:
            yield label, str(failure), False


def check(args):
    import numpy as np
    bad = 0
    for name in args.models:
        for static in (False, True):
            kind = "static" if static else "symbolic"
            with tempfile.TemporaryDirectory() as folder:
                case = Case(args, name, folder, True, ODD_SIZES.get(name, ""),
                            static)
                for label, text, good in check_case(args, np, case, static):
                    bad += not good
                    verdict = "ok" if good else "DIFFERS"
                    print(f"{name:14s}{kind:10s}{label:16s}{verdict:9s}{text}",
                          flush=True)
    return 1 if bad else 0


# --- time --------------------------------------------------------------------


def time_case(args, case, threads, real_time):
    """Results by runner: lists of the objects of all rounds."""
    results = {}
    for _ in range(args.rounds):
        for label, command, env in case.runners(threads):
            try:
                with busy_processes(args.busy):
                    text = call(command, env, real_time)
                result = json.loads(text[text.index("{"):])
            except (Failure, ValueError) as failure:
                print(f"{case.name}: {label}: {failure}", file=sys.stderr)
                continue
            results.setdefault(label, []).append(result)
    return results


def summary(results):
    medians = sorted(r["median_ms"] for r in results)
    return {"median_ms": medians[0],
            "spread": medians[-1] / medians[0] - 1,
            "compile_ms": statistics.median(r["compile_ms"] for r in results),
            "first_ms": statistics.median(r["first_ms"] for r in results),
            "peak_rss_mb": max(r["peak_rss_mb"] for r in results)}


def table(rows, labels):
    """Markdown: a line for each model and number of threads."""
    head = ["model", "threads"] + labels + ["ratio", "spread"]
    lines = ["| " + " | ".join(head) + " |",
             "| " + " | ".join(["---"] * len(head)) + " |"]
    ratios = []
    for name, threads, runs in rows:
        cells = [f"{runs[l]['median_ms']:.3g}" if l in runs else "-"
                 for l in labels]
        peers = [r["median_ms"] for l, r in runs.items()
                 if not l.startswith("Weft")]
        own = [runs[l]["median_ms"] for l in COMPARED if l in runs]
        ratio = "-"
        if peers and own:
            ratios.append(min(own) / min(peers))
            ratio = f"{ratios[-1]:.2f}"
        spread = max((r["spread"] for r in runs.values()), default=0)
        lines.append("| " + " | ".join([name, str(threads)] + cells
                                       + [ratio, f"{spread:.0%}"]) + " |")
    if ratios:
        mean = statistics.geometric_mean(ratios)
        lines.append(f"\nGeometric mean of the ratios: {mean:.3f}.")
    return "\n".join(lines) + "\n"


def time(args):
    real_time = args.busy == 0 and may_use_chrt()
    if not real_time and args.busy == 0:
        print("chrt -f 1 is not permitted: other processes disturb threads "
              "that spin", file=sys.stderr)
    rows, versions, raw = [], {}, []
    for name in args.models:
        with tempfile.TemporaryDirectory() as folder:
            sizes = dict(s.split(":", 1) for s in args.sizes).get(name, "")
            case = Case(args, name, folder, args.small, sizes, True)
            for threads in args.threads:
                results = time_case(args, case, threads, real_time)
                for label, runs in results.items():
                    if "version" in runs[0]:
                        versions[label] = runs[0]["version"]
                    raw += [dict(r, runner=label, model=name, threads=threads)
                            for r in runs]
                rows.append((name, threads, {
                    label: summary(runs) for label, runs in results.items()}))
                print(table(rows[-1:], list(results)), flush=True)
    labels = []
    for _, _, runs in rows:
        labels += [label for label in runs if label not in labels]
    text = ("Milliseconds, the lowest of %d processes' medians; ratio: Weft "
            "over the best peer.\n\n" % args.rounds) + table(rows, labels)
    text += "\n" + "".join(f"* {label}: {v}\n" for label, v in versions.items())
    print(text)
    write_results(args, text, raw)
    return 0


def cold(args):
    real_time = may_use_chrt()
    lines, raw = [], []
    for name in args.models:
        with tempfile.TemporaryDirectory() as folder:
            sizes = dict(s.split(":", 1) for s in args.sizes).get(name, "")
            case = Case(args, name, folder, args.small, sizes, True)
            for threads in args.threads:
                results, reading = peer_cold.measure(args, case, threads,
                                                     real_time, call)
                raw += [dict(r, runner=kind, model=name, threads=threads)
                        for kind, runs in results.items() for r in runs]
                lines.append(peer_cold.line(name, threads, results, reading))
                print(peer_cold.row(lines[-1]), flush=True)
    text = ("Milliseconds from the model file to the first output, the lowest "
            "of %d processes; most memory.\n\n" % args.rounds
            ) + peer_cold.table(lines)
    print(text)
    write_results(args, text, raw)
    return 0


def start(args):
    real_time = may_use_chrt()
    idle_mb = peer_start.peak_mb([os.path.join(args.bin, "bench", "main"), "--help"])
    lines, raw = [], []
    for name in args.models:
        with folder_for(args, name) as folder:
            sizes = dict(s.split(":", 1) for s in args.sizes).get(name, "")
            case = Case(args, name, folder, args.small, sizes, True)
            prepared = peer_start.Files(args, case, call)
            for threads in args.threads:
                results = peer_start.measure(prepared, threads, args.rounds,
                                             real_time, idle_mb)
                raw += [{"model": name, "threads": threads, "runner": kind,
                         "first_ms": first, "memory_mb": mb, "own_mb": own, "run_ms": run}
                        for kind, (first, mb, own, run) in results.items()]
                if not lines:
                    lines.append(peer_start.head(results))
                lines.append(peer_start.line(name, results))
                print("\n".join(lines[-2:] if len(lines) == 2 else lines[-1:]),
                      flush=True)
    write_results(args, "\n".join(lines) + "\n", raw)
    return 0


@contextlib.contextmanager
def folder_for(args, name):
    if not args.folder:
        with tempfile.TemporaryDirectory() as folder:
            yield folder
        return
    folder = os.path.join(args.folder, name)
    os.makedirs(folder, exist_ok=True)
    yield folder


def files(args):
    real_time = may_use_chrt()
    rows, raw = [], []
    for name, path in peer_files.find(args.paths):
        case = peer_files.FileCase(args, name, path)
        for threads in args.threads:
            results = time_case(args, case, threads, real_time)
            raw += [dict(r, runner=label, model=name, threads=threads)
                    for label, runs in results.items() for r in runs]
            rows.append((name, threads, {
                label: summary(runs) for label, runs in results.items()}))
            print(table(rows[-1:], list(results)).splitlines()[2], flush=True)
    labels = ["Weft", "ONNX Runtime", "torch eager"]
    above, verdict = peer_files.slower(rows, args.limit)
    text = table(rows, labels) + "\n" + verdict
    print(text)
    write_results(args, text, raw)
    return 1 if above else 0


def write_results(args, text, raw):
    if args.markdown:
        with open(args.markdown, "w") as file:
            file.write(text)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(raw, file, indent=1)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["check", "time", "cold", "start", "files"])
    parser.add_argument("paths", nargs="*", metavar="FILE|FOLDER", help="of files")
    parser.add_argument("--ort-python", metavar="PYTHON")
    parser.add_argument("--openvino-python", metavar="PYTHON")
    parser.add_argument("--torch-python", metavar="PYTHON")
    parser.add_argument("--bin", default=ROOT + "/bazel-bin/tools",
                        metavar="DIR")
    parser.add_argument("--models", default=",".join(MODELS),
                        metavar="NAME,...", type=str)
    parser.add_argument("--modes", default="eager,freeze", metavar="MODE,...",
                        help="of PyTorch: " + ", ".join(TORCH_MODES))
    parser.add_argument("--target", default="reference")
    parser.add_argument("--passes", default="default")
    parser.add_argument("--precision", default="f32",
                        choices=["f32", "bf16", "int8"], help="of time")
    parser.add_argument("--admit", metavar="CONTRACT",
                        help="of Weft's passes; default: what the pipeline admits")
    parser.add_argument("--opset", type=int, default=20,
                        help="of the exported models")
    parser.add_argument("--threads", default="1,2", metavar="N,...")
    parser.add_argument("--busy", type=int, default=0, metavar="N",
                        help="of time: busy processes beside each runner")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warmup", type=float, default=1)
    parser.add_argument("--sizes", action="append", default=[],
                        metavar="MODEL:NAME=SIZE,...")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--cache-dir", metavar="DIR",
                        help="of files: kernels that Weft compiled earlier")
    parser.add_argument("--folder", metavar="DIR",
                        help="of start: keep and reuse the compiled files there")
    parser.add_argument("--limit", type=float, default=1.2,
                        help="of files: the highest ratio that is good")
    parser.add_argument("--tolerance", type=float, default=1e-4,
                        help="of check, over the largest element")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--json", metavar="FILE", help="every process's result")
    args = parser.parse_args()
    args.models = args.models.split(",")
    args.modes = args.modes.split(",")
    args.threads = [int(n) for n in args.threads.split(",")]
    if (args.command == "files") != bool(args.paths):
        parser.error("files takes models or folders with models, other commands none")
    if args.command == "files" and not (args.ort_python or args.torch_python):
        parser.error("files needs --ort-python, --torch-python or both")
    if args.torch_python and not args.ort_python and args.command != "files":
        parser.error("--torch-python needs --ort-python: it reads the weights")
    if args.command == "cold" and not args.ort_python:
        parser.error("cold needs --ort-python")
    if args.command == "start" and args.target != "cpu":
        parser.error("start measures --target=cpu")
    if args.precision != "f32" and args.command != "time":
        parser.error("--precision is for time")
    if args.precision == "int8" and not args.ort_python:
        parser.error("--precision=int8 needs --ort-python: it quantizes the model")
    unknown = ([m for m in args.models if m not in MODELS]
               + [m for m in args.modes if m not in TORCH_MODES])
    if unknown:
        parser.error("unknown: " + ", ".join(unknown))
    try:
        return {"check": check, "time": time, "cold": cold, "start": start,
                "files": files}[args.command](args)
    except Failure as failure:
        sys.exit(f"peers.py: {failure}")


if __name__ == "__main__":
    sys.exit(main())
