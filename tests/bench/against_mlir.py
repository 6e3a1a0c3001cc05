#!/usr/bin/env python3
"""Weft's opt beside mlir-opt on equal generated graphs: whole processes, from
parsing to printing, in turns, on one thread. Prints a table of medians of
processor time and peak memory.

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", nargs="*", type=int,
                        default=[100_000, 1_000_000])
    parser.add_argument("--mlir-opt", default="mlir-opt-22")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    bin_dir = os.path.join(root, "bazel-bin")
    print(f"{'nodes':>9} {'what':<28} {'weft':>12} {'mlir':>12} {'ratio':>7}")
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
                runs = [(run(ours), run(theirs)) for _ in range(args.runs)]
                for i, unit, scale in ((0, "us/node", 1e6), (1, "B/node", 1)):
                    a = statistics.median(r[0][i] for r in runs)
                    b = statistics.median(r[1][i] for r in runs)
                    print(f"{nodes:>9} {what + ', ' + unit:<28} "
                          f"{a * scale / nodes:>12.3f} "
                          f"{b * scale / nodes:>12.3f} {b / a:>7.2f}",
                          flush=True)


if __name__ == "__main__":
    main()
