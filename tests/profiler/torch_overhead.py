#!/usr/bin/env python3
"""Overhead of Weft's profiler beside torch.profiler's, measured in one run.

    torch_overhead.py PROFILER_BENCH

PROFILER_BENCH is the built //tests/bench:profiler_bench; Python needs torch. Prints nanoseconds of
processor time to record, to stop and to export an event, and bytes of JSON an event.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch.profiler import ProfilerActivity, profile

OPS = 50_000
ROUNDS = 5


def torch_run():
    """Seconds of OPS small ops: without a profiler, more with it, its stop, its export; bytes."""
    torch.set_num_threads(1)
    a = torch.ones(4)

    def work():
        for _ in range(OPS):
            torch.relu(a)

    work()
    begin = time.process_time()
    work()
    plain = time.process_time() - begin
    profiler = profile(activities=[ProfilerActivity.CPU])
    profiler.start()
    begin = time.process_time()
    work()
    recorded = time.process_time() - begin
    begin = time.process_time()
    profiler.stop()
    stop = time.process_time() - begin
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        begin = time.process_time()
        profiler.export_chrome_trace(path)
        export = time.process_time() - begin
        size = os.path.getsize(path)
        with open(path, encoding="utf-8") as file:
            events = len(json.load(file)["traceEvents"])
    assert events >= OPS, events
    return {"record": 1e9 * max(recorded - plain, 0) / OPS, "stop": 1e9 * stop / OPS,
            "export": 1e9 * export / OPS, "bytes": size / OPS}


def weft_run(bench):
    """The same of Weft, from one run of the benchmark."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([bench, "--benchmark_filter=BM_Span/|BM_Collect|BM_ExportJson$",
                        f"--benchmark_out={out.name}", "--benchmark_out_format=json"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(out.name, encoding="utf-8") as file:
            rows = {row["name"]: row for row in json.load(file)["benchmarks"]}
    span = next(row for name, row in rows.items()
                if name.startswith("BM_Span/") and name.endswith("threads:1"))
    return {"record": span["cpu_time"],
            "stop": 1e9 / rows["BM_Collect/1000000"]["items_per_second"],
            "export": 1e9 / rows["BM_ExportJson"]["items_per_second"],
            "bytes": rows["BM_ExportJson"]["json_bytes_per_event"]}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch_rounds, weft_rounds = [], []
    for _ in range(ROUNDS):  # In turns, so that other work on the machine disturbs both.
        torch_rounds.append(torch_run())
        weft_rounds.append(weft_run(sys.argv[1]))
    print(f"{'medians of ' + str(ROUNDS):26} {'weft':>8} {'torch ' + torch.__version__:>16}")
    for key, title in [("record", "ns to record an event"), ("stop", "ns to stop, an event"),
                       ("export", "ns to export an event"), ("bytes", "bytes of JSON an event")]:
        print(f"{title:26} {statistics.median(r[key] for r in weft_rounds):8.0f} "
              f"{statistics.median(r[key] for r in torch_rounds):16.0f}")


if __name__ == "__main__":
    main()
