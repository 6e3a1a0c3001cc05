#!/usr/bin/env python3
"""Compares every ATen overload that Weft imports with eager PyTorch.

    python3 tests/serialize/pt2/torch_sweep.py make DIR [--ops=GLOB] [--jobs=N]
    python3 tests/serialize/pt2/torch_sweep.py run DIR [--passes=P] [--strict]

`make` writes archives of small programs, each one operator on samples of
PyTorch's own tests (OpInfo) or of torch_sweep_samples.py, with what eager
PyTorch answers, in the layout of `conformance --suite=pt2`. `run` has Weft run
them, splits those that fail into one program for each sample and prints by
overload: passed, differs or refused, with the first message.

An optional script: it needs torch (2.13.0), numpy and expecttest, and no test of
the tree runs it. Values, dtypes and shapes are compared. Samples whose results
are not determined (random numbers, uninitialised memory) are left out, as are
those that torch.export refuses.
"""
import argparse
import collections
import fnmatch
import json
import logging
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import warnings

import torch
from torch.utils import _pytree as pytree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, 'tools'), os.path.dirname(__file__)]
import torch_check  # noqa: E402

DTYPES = ('float32', 'int64', 'bool', 'float16', 'bfloat16', 'float64',
          'complex64', 'int32', 'uint8')
# Of each dtype, at most so many samples.
SAMPLES = {'float32': 14, 'int64': 6}
FEW = 4
# Results that are not determined, or whole networks of other tests.
LEFT_OUT = re.compile(
    r'empty|rand|multinomial|bernoulli|normal|dropout|uniform|exponential_|'
    r'geometric|cauchy|jiterator|svd|eig|qr|lu|cholesky|_segment|ormqr|lstsq|'
    r'nested|to_sparse|sparse|new_empty|rrelu|polar|linalg_(?!vector_norm|'
    r'norm|matrix_norm|vecdot|multi_dot|cross|diagonal)|lobpcg|geqrf|triangular|'
    r'fft_hfft|fft_ihfft|special_|torch_ops_aten__(flash|efficient|safe)|'
    r'ops_aten__flash|ops_aten__eff')


class Calls(torch.nn.Module):
    """One operator called with each sample in turn."""

    def __init__(self, op, specs):
        super().__init__()
        self.op, self.specs = op, specs

    def forward(self, *tensors):
        tensors, out = list(tensors), []
        for leaves, spec in self.specs:
            filled = [tensors[x.index] if isinstance(x, Slot) else x
                      for x in leaves]
            args, kwargs = pytree.tree_unflatten(filled, spec)
            result = self.op(*args, **kwargs)
            out += [x for x in pytree.tree_leaves(result) if x is not None]
        return tuple(out)


class Slot:
    def __init__(self, index):
        self.index = index


def program_of(name, op, samples):
    """A program of all samples: (args, kwargs) each."""
    inputs, specs = [], []
    for sample in samples:
        leaves, spec = pytree.tree_flatten(sample)
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                leaves[i] = Slot(len(inputs))
                inputs.append(leaf.detach())
        specs.append((leaves, spec))
    return torch_check.Program(name, Calls(op, specs), tuple(inputs))


def determined(op, sample):
    """Two calls agree, and give tensors or numbers."""
    def call():
        args, kwargs = torch_check.clone_inputs(sample)
        with torch.no_grad():
            return pytree.tree_leaves(op(*args, **kwargs))
    first, second = call(), call()
    tensors = [x for x in first if isinstance(x, torch.Tensor)]
    if not tensors or any(x.layout != torch.strided or x.is_quantized
                          for x in tensors):
        return False
    return all(torch_check.same(a, b) for a, b in zip(first, second)
               if isinstance(a, torch.Tensor))


def spread(samples, most):
    if len(samples) <= most:
        return samples
    step = len(samples) / most
    return [samples[int(i * step)] for i in range(most)]


def small(sample):
    return sum(x.numel() for x in pytree.tree_leaves(sample)
               if isinstance(x, torch.Tensor)) < 20000


def good_samples(op, samples, most):
    good = []
    for sample in spread([s for s in samples if small(s)], most):
        try:
            if determined(op, sample):
                good.append(sample)
        except Exception:
            pass
    return good


# --- Jobs: (name, function that gives the operator and its samples).

def opinfo_job(info, dtype, variant):
    def make():
        torch.manual_seed(0)
        op = info.get_op() if variant == '' else info.get_inplace()
        samples = []
        for s in info.sample_inputs('cpu', getattr(torch, dtype),
                                    requires_grad=False):
            samples.append(((s.input, *s.args), s.kwargs))
            if len(samples) == 300:
                break
        if variant:
            writer = op

            def op(x, *args, **kwargs):
                x = x.clone()
                writer(x, *args, **kwargs)
                return x
        return op, samples
    return make


def jobs(pattern, dtypes):
    from torch.testing._internal.common_methods_invocations import op_db
    import torch_sweep_samples
    for info in op_db:
        name = re.sub(r'\W', '_', info.name + (
            '.' + info.variant_test_name if info.variant_test_name else ''))
        if LEFT_OUT.search(name) or not fnmatch.fnmatch(name, pattern):
            continue
        supported = {str(t).split('.')[-1] for t in info.supported_dtypes('cpu')}
        for dtype in DTYPES:
            if dtype not in supported or dtype not in dtypes:
                continue
            if dtype in ('complex64', 'int32', 'uint8') and len(supported) < 4:
                continue
            most = SAMPLES.get(dtype, FEW)
            yield f'{name}-{dtype}', opinfo_job(info, dtype, ''), most
            if dtype == 'float32' and info.get_inplace():
                yield f'{name}_-{dtype}', opinfo_job(info, dtype, '_'), FEW
    for name, op, samples in torch_sweep_samples.samples():
        if fnmatch.fnmatch(name, pattern):
            yield (f'hand_{name}', lambda op=op, samples=samples: (op, samples()),
                   40)


def write(folder, name, op, samples, decompose):
    """All samples as one program, or, if that is refused, each alone."""
    program = program_of(name, op, samples)
    program.decompose = decompose
    path = os.path.join(folder, name)
    try:
        torch_check.write_program(program, path)
        return []
    except Exception as e:
        shutil.rmtree(path, ignore_errors=True)
        if len(samples) == 1:
            return [f'{name}: {type(e).__name__}: {str(e).splitlines()[:1]}']
    errors = []
    for i, sample in enumerate(samples):
        errors += write(folder, f'{name}-{i}', op, [sample], decompose)
    return errors


def make_one(job):
    folder, name, make, most, split, decompose = job
    if not split and any(n == name or n.startswith(name + '-')
                         for n in os.listdir(folder)):
        return name, []
    try:
        op, samples = make()
        samples = good_samples(op, samples, most)
        if not samples:
            return name, [f'{name}: no sample']
        if not split:
            return name, write(folder, name, op, samples, decompose)
        errors = []
        for i, sample in enumerate(samples):
            errors += write(folder, f'{name}-{i}', op, [sample], decompose)
        return name, errors
    except Exception as e:
        return name, [f'{name}: {type(e).__name__}: {e}'[:200]]


_JOBS = []


def make_index(i):
    return make_one(_JOBS[i])


def make(args):
    os.makedirs(args.folder, exist_ok=True)
    only = args.only and set(open(args.only).read().split())
    for name, maker, most in jobs(args.ops, args.dtypes.split(',')):
        if only and name not in only:
            continue
        core = name.endswith('-float32') or name.startswith('hand_')
        _JOBS.append((args.folder, name, maker, most, args.split, core))
    errors = []
    context = multiprocessing.get_context('fork')
    with context.Pool(args.jobs, quiet, maxtasksperchild=100) as pool:
        for n, (name, more) in enumerate(
                pool.imap_unordered(make_index, range(len(_JOBS)))):
            errors += more
            if n % 200 == 0:
                print(f'{n}/{len(_JOBS)}', flush=True)
    with open(os.path.join(args.folder, 'not_made.txt'), 'w') as f:
        f.write('\n'.join(sorted(errors)) + '\n')
    print(f'{len(_JOBS)} operators and dtypes, {len(errors)} not made')


def quiet():
    warnings.simplefilter('ignore')
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    os.nice(5)


# --- Running and the summary.

def supported():
    """The overloads that Weft imports, as 'aten.add.Tensor'."""
    opt = os.path.join(ROOT, 'bazel-bin/tools/opt')
    text = subprocess.run([opt, '--list-ops', '--coverage=aten'], text=True,
                          stdout=subprocess.PIPE).stdout
    return set(re.findall(r'\b((?:aten|prims|quantized_decomposed)\.\w+\.\w+)',
                          text))


def run(args):
    results = torch_check.run_weft(torch_check.weft_command(args.weft),
                                   args.folder, args.passes, args.strict)
    state = collections.defaultdict(collections.Counter)
    first, bad = {}, collections.Counter()
    for case, (outcome, message) in sorted(results.items()):
        program, archive, _ = case.split('/')
        with open(os.path.join(args.folder, program, 'meta.json')) as f:
            targets = json.load(f)['targets'][archive]
        for target in targets:
            if target.startswith(('aten', 'prims', 'quantized')):
                state[target][outcome] += 1
        if outcome != 'passed':
            bad[outcome] += 1
            print(f'{outcome} {case}: {message}')
    seen = set(state)
    passed = {t for t, c in state.items() if set(c) == {'passed'}}
    mixed = {t for t, c in state.items() if c['passed'] and t not in passed}
    print(f'cases: {len(results)}, passed {len(results) - sum(bad.values())}, '
          f'{dict(bad)}')
    print(f'overloads seen {len(seen)}: always passed {len(passed)}, '
          f'sometimes {len(mixed)}, never {len(seen - passed - mixed)}')
    print('never:', *sorted(seen - passed - mixed))
    known = supported()
    print(f'imported overloads without a program: {len(known - seen)} of '
          f'{len(known)}')
    print(*sorted(known - seen))
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('what', choices=['make', 'run'])
    parser.add_argument('folder')
    parser.add_argument('--ops', default='*')
    parser.add_argument('--only', help='a file of names of jobs')
    parser.add_argument('--dtypes', default=','.join(DTYPES))
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--split', action='store_true',
                        help='a program for each sample')
    parser.add_argument('--passes', default='none')
    parser.add_argument('--strict', action='store_true')
    parser.add_argument('--weft')
    args = parser.parse_args()
    return make(args) if args.what == 'make' else run(args)


if __name__ == '__main__':
    sys.exit(main())
