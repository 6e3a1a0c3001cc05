#!/usr/bin/env python3
"""Weft's opt beside mlir-opt on equal generated graphs: whole processes, from
parsing to printing, in turns, on one thread. Prints a table of medians of
processor time and peak memory. "no match" is the time of canonicalize on a
graph that it has cleaned before, without what parsing and printing that graph
take.

    ./bazelw build //tools:opt //tests/bench:write_graph
    tests/bench/against_mlir.py [--mlir-opt=mlir-opt-22] [--runs=5] [NODES...]

mlir-opt comes from Debian's mlir-*-tools. Nothing of Weft needs it.
"""
import argparse
import os
import statistics
import subprocess
import tempfile


def run(command):
    """Processor seconds and peak resident bytes of a process."""
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def medians(ours, theirs, runs):
    """Medians of what run() says of two commands that run in turns."""
    results = [(run(ours), run(theirs)) for _ in range(runs)]
    return [[statistics.median(r[side][i] for r in results) for i in (0, 1)]
            for side in (0, 1)]


def no_match(opt, mlir_opt, weft, mlir, runs):
    """Processor seconds of canonicalize where no pattern matches."""
    clean, mlir_clean = weft + ".clean.weft", mlir + ".clean.mlir"
    both = ["--mlir-disable-threading"]
    subprocess.check_call(
        [opt, "--passes=fixpoint(cse,canonicalize,dce)", "--emit=text", "-o",
         clean, weft])
    subprocess.check_call(
        [mlir_opt, "--cse", "--canonicalize", "--cse", "--canonicalize", *both,
         mlir, "-o", mlir_clean])
    ours = [opt, "--emit=text", "-o", "/dev/null", clean]
    theirs = [mlir_opt, *both, mlir_clean, "-o", "/dev/null"]
    idle = medians(ours + ["--passes=none"], theirs, runs)
    busy = medians(ours + ["--passes=canonicalize"],
                   theirs + ["--canonicalize"], runs)
    return busy[0][0] - idle[0][0], busy[1][0] - idle[1][0]


def show(nodes, what, unit, ours, theirs):
    print(f"{nodes:>9} {what + ', ' + unit:<36} {ours / nodes:>12.3f} "
          f"{theirs / nodes:>12.3f} {theirs / ours:>7.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", nargs="*", type=int,
                        default=[100_000, 1_000_000])
    parser.add_argument("--mlir-opt", default="mlir-opt-22")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    bin_dir = os.path.join(root, "bazel-bin")
    print(f"{'nodes':>9} {'what':<36} {'weft':>12} {'mlir':>12} {'ratio':>7}")
    for nodes in args.nodes:
        with tempfile.TemporaryDirectory() as folder:
            weft, mlir = folder + "/g.weft", folder + "/g.mlir"
            subprocess.check_call(
                [bin_dir + "/tests/bench/write_graph", str(nodes), weft, mlir])
            opt = bin_dir + "/tools/opt"
            cases = {
                "parse and print": (
                    [opt, "--passes=none", "--emit=text", "-o", "/dev/null",
                     weft],
                    [args.mlir_opt, "--mlir-disable-threading", mlir, "-o",
                     "/dev/null"]),
                "cse, canonicalize, cse": (
                    [opt, "--passes=cse,canonicalize,cse,dce", "--emit=text",
                     "-o", "/dev/null", weft],
                    [args.mlir_opt, "--cse", "--canonicalize", "--cse",
                     "--mlir-disable-threading", mlir, "-o", "/dev/null"]),
            }
            for what, (ours, theirs) in cases.items():
                a, b = medians(ours, theirs, args.runs)
                show(nodes, what, "us/node", a[0] * 1e6, b[0] * 1e6)
                show(nodes, what, "B/node", a[1], b[1])
            a, b = no_match(opt, args.mlir_opt, weft, mlir, args.runs)
            show(nodes, "canonicalize, no match", "us/node", a * 1e6, b * 1e6)


if __name__ == "__main__":
    main()

