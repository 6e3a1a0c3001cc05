"""Checks a trace of a program on a GPU.

    python3 tests/cuda/profile_check.py TRACE.json[.gz]

Every kernel has an op, a call that launched it before it began, and an arrow from that call; calls
lie within the steps that made them; work of a stream does not overlap; and the time of kernels in a
step of the session is at most the time of that step. Prints the counts, and exits with 1 if one of
these does not hold.
"""

import collections
import gzip
import json
import sys

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_driver", "cuda_runtime")
# Microseconds by which clocks of the host and the GPU may differ.
SLACK = 2.0


def end(event):
    return event["ts"] + event["dur"]


def read(path):
    with (gzip.open(path) if path.endswith(".gz") else open(path, "rb")) as file:
        return json.load(file)


def faults_of(trace):
    ops, calls, starts, finishes = {}, {}, set(), set()
    for event in trace["traceEvents"]:
        category, args = event.get("cat"), event.get("args", {})
        if category == "ac2g":
            (starts if event["ph"] == "s" else finishes).add(event["id"])
        elif event["ph"] != "X":
            continue
        elif category == "cpu_op":
            ops[args["External id"]] = event
        elif category in CALLS:
            calls.setdefault(args["correlation"], event)
    work = [e for e in trace["traceEvents"] if e.get("cat") in WORK]
    kernels = [e for e in work if e["cat"] == "kernel"]
    faults = collections.Counter()
    for kernel in kernels:
        args = kernel["args"]
        op, call = ops.get(args.get("External id")), calls.get(args["correlation"])
        faults["without an op"] += op is None
        faults["without a call"] += call is None
        faults["before its call"] += call is not None and kernel["ts"] < call["ts"] - SLACK
        faults["without an arrow"] += not args["correlation"] in starts & finishes
    for call in calls.values():
        op = ops.get(call["args"].get("External id"))
        faults["call outside of its step"] += op is not None and not (
            op["ts"] <= call["ts"] and end(call) <= end(op) + SLACK)
    rows = collections.defaultdict(list)
    for event in work:
        rows[event["pid"], event["tid"]].append(event)
    for row in rows.values():
        row.sort(key=lambda e: e["ts"])
        faults["overlap"] += sum(end(a) > b["ts"] + SLACK for a, b in zip(row, row[1:]))
    for step in trace["traceEvents"]:
        if step["name"].startswith("ProfilerStep#"):
            inside = [k for k in kernels if step["ts"] <= k["ts"] <= end(step)]
            faults["more kernel time than time"] += sum(k["dur"] for k in inside) > step["dur"]
    return kernels, +faults


def kernels_of_steps(trace, kernels):
    """Others belong to a run itself: weights that are packed before its first step."""
    steps = {e["args"]["External id"] for e in trace["traceEvents"]
             if "kernel_backend" in e.get("args", {})}
    return [k for k in kernels if k["args"].get("External id") in steps]


def main():
    trace = read(sys.argv[1])
    kernels, faults = faults_of(trace)
    recorded_by = trace.get("cuda_profiler", {}).get("recorded_by")
    total = sum(k["dur"] for k in kernels)
    print(f"{len(kernels)} kernels, {len(kernels_of_steps(trace, kernels))} of steps, {total:.0f} us, "
          f"recorded by {recorded_by}; faults: {dict(faults)}")
    return 1 if faults or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
