#!/usr/bin/env python3
"""Times Weft beside eager PyTorch, one after the other, on what PyTorch has routines for.

    python3 -m pip install torch==2.13.0 numpy
    ./bazelw build //tools/bench:main
    python3 tools/torch_speed.py
    python3 tools/torch_speed.py --models='lstm*' --seconds=2
    python3 tools/torch_speed.py model.py

Each program is exported, timed by eager PyTorch, by `bench` on the target cpu with the same number
of threads, and by eager PyTorch again, of which the faster counts. A row of the table has both
medians and their ratio: above 1, Weft is slower. model.py is as for torch_check.py. The exit status is 1
if a ratio is above --limit, or a program is refused.
"""
import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch

import torch_check
import torch_speed_models

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def time_eager(program, seconds):
    """The median milliseconds of a call."""
    times = []
    with torch.no_grad():
        for _ in range(3):
            program.model(*program.inputs, **program.kwargs)
        end = time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < end:
            start = time.perf_counter()
            program.model(*program.inputs, **program.kwargs)
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def time_weft(program, folder, options):
    """What `bench` says, or the last line of its error."""
    path = os.path.join(folder, 'model.pt2')
    with torch.no_grad():
        exported = torch.export.export(program.model, program.inputs, program.kwargs)
    if options.decompose:
        exported = exported.run_decompositions()
    torch.export.save(exported, path)
    command = [options.bench, '--target=cpu', f'--threads={options.threads}', '--peaks=false',
               '--format=json', f'--seconds={options.seconds}', *options.bench_flag, path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ['failed'])[-1]
    return json.loads(done.stdout)


def measure(program, options):
    """A row: name, milliseconds of both, ratio, and remarks."""
    with tempfile.TemporaryDirectory() as folder:
        before = time_eager(program, options.seconds / 2)
        found = time_weft(program, folder, options)
        eager = min(before, time_eager(program, options.seconds / 2))
    row = dict(name=program.name, eager_ms=eager)
    if isinstance(found, str):
        return dict(row, error=found)
    weft = found['median_ms']
    return dict(row, weft_ms=weft, ratio=weft / eager, steps=found['steps'],
                kernels=found['kernels'])


def print_row(row):
    if 'error' in row:
        print(f"{row['name']:32} {row['eager_ms']:10.3f}  refused: {row['error']}", flush=True)
        return
    print(f"{row['name']:32} {row['eager_ms']:10.3f} {row['weft_ms']:10.3f} {row['ratio']:8.2f} "
          f"{row['steps']:6} {row['kernels']:8}", flush=True)


def programs_of(options):
    if options.file:
        yield torch_check.load_program(options.file)
        return
    for name, make in torch_speed_models.models():
        if fnmatch.fnmatch(name, options.models):
            torch.manual_seed(0)
            model, *inputs = make()
            yield torch_check.Program(name, model.eval(), tuple(inputs))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('file', nargs='?', help='a model of yours; without one, the built-in ones')
    parser.add_argument('--models', default='*', help='a pattern of built-in models')
    parser.add_argument('--bench', default=os.path.join(ROOT, 'bazel-bin/tools/bench/main'))
    parser.add_argument('--bench-flag', action='append', default=[], help='passed on, once or more')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--seconds', type=float, default=1.0)
    parser.add_argument('--decompose', action='store_true', help='run_decompositions() first')
    parser.add_argument('--limit', type=float, default=1.2)
    parser.add_argument('--json', help='the table as JSON')
    return parser.parse_args()


def main():
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    print(f"{'program':32} {'eager ms':>10} {'Weft ms':>10} {'ratio':>8} {'steps':>6} {'kernels':>8}")
    rows = []
    for program in programs_of(options):
        rows.append(measure(program, options))
        print_row(rows[-1])
    if options.json:
        with open(options.json, 'w') as file:
            json.dump(rows, file, indent=1)
    slow = [r['name'] for r in rows if r.get('ratio', float('inf')) > options.limit]
    print(f'{len(rows)} programs, {len(slow)} above {options.limit}: {" ".join(slow)}')
    return 1 if slow else 0


if __name__ == '__main__':
    sys.exit(main())
