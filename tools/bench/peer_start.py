"""From a compiled file to the first output, and memory; `peers.py start`.

One process each, the programs in turn: compiled files of Weft, with and without
machine code, a session that compiles the model, ONNX Runtime from the model in its
own format, after its optimisations, and OpenVINO from its blob. All read files
that the system has in memory; starting the process and loading libraries is left
out of all. Memory is what the process has gained by then; that of its own is not of
files, which processes share.
"""

import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

OWN = [".weftb", ".weftb, machine code", ".so", ".weftb, checked", "session"]
PEERS = {"ort": "ONNX Runtime, .ort", "openvino": "OpenVINO, blob"}


class Files:
    """What is measured of a model: case.onnx, inputs/, and its compiled forms."""

    def __init__(self, args, case, call):
        self.args = args
        self.case = case
        self.call = call
        compile_flags = ["--target=" + args.target, "--strip=graph,names", "--pack"]
        for name, more in (("plain.weftb", []), ("code.weftb", ["--kernels"]),
                           ("model.so", [])):
            path = self.path(name)
            if not os.path.exists(path):
                call([os.path.join(args.bin, "compile"), case.onnx, "-o", path]
                     + compile_flags + more)
        for kind in self.peers():
            path = self.path("model." + kind)
            if not os.path.exists(path) or not os.path.getsize(path):
                call(self.peer(kind, "write") + ["--model=" + case.onnx])

    def path(self, name):
        return os.path.join(self.case.folder, name)

    def peers(self):
        pythons = {"ort": self.args.ort_python, "openvino": self.args.openvino_python}
        return [kind for kind in PEERS if pythons[kind]]

    def peer(self, kind, command):
        python = self.args.ort_python if kind == "ort" else self.args.openvino_python
        return [python, os.path.join(HERE, "peer_start_run.py"), kind, command,
                "--file=" + self.path("model." + kind), "--inputs=" + self.case.inputs]

    def commands(self, threads):
        """Command by kind."""
        start = [os.path.join(self.args.bin, "bench", "start"), "--repeat=1",
                 "--threads=%d" % threads] + self.case.input_flags()
        trusted = start + ["--nocheck-weights"]
        session = [os.path.join(self.args.bin, "bench", "main"),
                   "--threads=%d" % threads, "--target=" + self.args.target,
                   "--nopeaks", "--format=json", "--repeat=3", "--code=none"]
        commands = {
            ".weftb": trusted + [self.path("plain.weftb")],
            ".weftb, machine code": trusted + ["--allow-code", self.path("code.weftb")],
            ".so": trusted + [self.path("model.so")],
            ".weftb, checked": start + [self.path("plain.weftb")],
            "session": session + self.case.input_flags() + [self.case.onnx],
        }
        for kind in self.peers():
            commands[PEERS[kind]] = self.peer(kind, "run") + ["--threads=%d" % threads]
        return commands


def peak_mb(command):
    """The most memory of a process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    return os.wait4(process.pid, 0)[2].ru_maxrss / 1024


def parse(kind, text, idle_mb):
    """[ms to the first output, MB, MB of its own, ms of a further run]"""
    if kind in OWN[:-1]:
        first = re.search(r"first output ([\d.e+]+) ms; then a run ([\d.e+]+) ms", text)
        memory = re.search(r"memory of the first: ([\d.]+) MB, of its own ([\d.]+) MB", text)
        return float(first[1]), float(memory[1]), float(memory[2]), float(first[2])
    result = json.loads(text[text.index("{"):])
    if kind == "session":
        return (result["compile_ms"] + result["first_ms"],
                result["peak_rss_mb"] - idle_mb, None, result["median_ms"])
    return (result["first_ms"], result["gained_mb"], result["own_mb"],
            result["median_ms"])


def measure(files, threads, rounds, real_time, idle_mb):
    """The least of each number, by kind."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    results = {}
    for _ in range(rounds):
        for kind, command in files.commands(threads).items():
            text = files.call(command, env, real_time)
            results.setdefault(kind, []).append(parse(kind, text, idle_mb))
    return {kind: [None if None in column else min(column) for column in zip(*rows)]
            for kind, rows in results.items()}


def row(cells):
    return "| " + " | ".join(cells) + " |"


def head(results):
    kinds = list(results)
    return "\n".join([row(["model"] + kinds + ["time", "memory", "a run"]),
                      row(["---"] + ["---:"] * (len(kinds) + 3))])


def line(name, results):
    """Times and memory; ratios of the best compiled file to the best of all others,
    to the leaner peer, and to the session."""
    cells = [f"{first:.3g} ms, {mb:.0f} MB" + ("" if own is None else f", {own:.0f} own")
             for first, mb, own, _ in results.values()]
    files = [results[kind] for kind in OWN[:3]]
    peers = [results[kind] for kind in PEERS.values() if kind in results]
    others = peers + [results["session"]]
    cells.append(f"{min(f[0] for f in files) / min(o[0] for o in others):.2f}")
    cells.append(f"{min(f[1] for f in files) / min(o[1] for o in peers or others):.2f}")
    cells.append(f"{min(f[3] for f in files) / results['session'][3]:.2f}")
    return row([name] + cells)


if __name__ == "__main__":
    sys.exit("run peers.py start")
