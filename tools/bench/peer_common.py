"""What the runners of the peers share: inputs, timing, results."""

import json
import os
import resource
import sys
import time

import numpy as np


def load_inputs(folder, names):
    """Arrays of <folder>/<name>.npy, in that order."""
    return [np.load(os.path.join(folder, name + ".npy")) for name in names]


def load_data(folder, count):
    """The arrays of input_<i>.npy, input_<i>.pb or in_<i>.npy; None where there is none."""
    return [load_numbered(folder, i) for i in range(count)]


def load_numbered(folder, i):
    for name in (f"input_{i}.npy", f"in_{i}.npy"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return np.load(path)
    path = os.path.join(folder, f"input_{i}.pb")
    if not os.path.exists(path):
        return None
    import onnx  # pylint: disable=import-outside-toplevel
    tensor = onnx.TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    return onnx.numpy_helper.to_array(tensor)


def measure(run, seconds, warmup, iterations=0):
    """Milliseconds of each run, after a warm-up; at least five. Or of exactly so
    many, without one."""
    if iterations > 0:
        return [timed(run)[1] for _ in range(iterations)]
    clock = time.perf_counter
    end = clock() + warmup
    while clock() < end:
        run()
    times = []
    end = clock() + seconds
    while len(times) < 5 or clock() < end:
        start = clock()
        run()
        times.append(1e3 * (clock() - start))
    return times


def timed(work):
    """The result of `work` and its milliseconds."""
    start = time.perf_counter()
    result = work()
    return result, 1e3 * (time.perf_counter() - start)


def peak_rss_mb():
    """As bench has it: of this program alone, not of what the process was before."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0


def processor_ms():
    """Time of processors that the process has taken so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def report(times, **more):
    """Prints the object that `bench` would print, as far as it applies."""
    result = {}
    if times:
        median, p10, p90 = np.percentile(times, [50, 10, 90])
        result = {"median_ms": median, "p10_ms": p10, "p90_ms": p90,
                  "iterations": len(times)}
    result.update(more)
    result["peak_rss_mb"] = peak_rss_mb()
    json.dump(result, sys.stdout)
    print()


def save_outputs(folder, outputs):
    """<folder>/<i>.npy, in order."""
    os.makedirs(folder, exist_ok=True)
    for i, array in enumerate(outputs):
        np.save(os.path.join(folder, f"{i}.npy"), array)
