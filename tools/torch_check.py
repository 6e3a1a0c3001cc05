#!/usr/bin/env python3
"""Checks Weft against eager PyTorch on a model of yours, in one command.

    python3 -m pip install torch==2.13.0 numpy
    ./bazelw build //tools:conformance
    python3 tools/torch_check.py model.py
    python3 tools/torch_check.py --models

model.py defines

    model           a torch.nn.Module
    inputs          a tuple of example arguments
    kwargs          optional: a dict of keyword arguments
    dynamic_shapes  optional: as torch.export.export takes it
    more_inputs     optional: tuples of arguments of other sizes or values

or get_model(), which returns a dict of these names. Two archives are made, the
program as exported and after run_decompositions(). Weft runs each without
passes, with the default pipeline, and decomposed to core ops; outputs, written
inputs and written buffers are compared with those of eager PyTorch, by default
within 1e-4 (1e-2 for floats of 16 bits), with --strict within the tolerances of
torch.testing.assert_close.

The exit status is 0 when all agree, 1 when something differs or is refused, 2
when the command line or the model's file is wrong. Weft needs none of this:
neither its build nor its tests use Python.
"""
import argparse
import copy
import dataclasses
import fnmatch
import importlib.util
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings

import numpy as np
import torch
from torch.utils import _pytree as pytree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PIPELINES = {
    'no passes': 'none',
    'default': 'default',
    'core ops': 'functionalize,decompose{all}',
}


@dataclasses.dataclass
class Program:
    """A model and what it is called with."""
    name: str
    model: torch.nn.Module
    inputs: tuple
    kwargs: dict = dataclasses.field(default_factory=dict)
    dynamic_shapes: object = None
    more_inputs: list = dataclasses.field(default_factory=list)
    # The calls follow one another on one instance, which keeps its buffers.
    stateful: bool = False
    decompose: bool = True  # core.pt2 is made too.


# --- Values and files.

def save_array(path, tensor):
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.uint16)
    np.save(path, tensor.numpy())


def describe(value, file, folder):
    """The entry of meta.json; writes tensors."""
    if isinstance(value, torch.Tensor):
        save_array(os.path.join(folder, file), value)
        return {'kind': 'tensor', 'dtype': str(value.dtype).split('.')[-1],
                'shape': list(value.shape), 'file': file}
    entry = {'kind': type(value).__name__}
    if isinstance(value, (bool, int)) or (
            isinstance(value, float) and np.isfinite(value)):
        entry['value'] = value
    return entry


def same(a, b):
    """Bit for bit, as far as a write would show."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.equal(torch.view_as_real(a) if a.is_complex() else a,
                       torch.view_as_real(b) if b.is_complex() else b) or bool(
                           ((a == b) | ((a != a) & (b != b))).all())


def clone_inputs(values):
    """Clones that keep strides, and that one tensor twice stays one."""
    seen = {}

    def clone(x):
        if not isinstance(x, torch.Tensor):
            return copy.deepcopy(x)
        if id(x) not in seen:
            seen[id(x)] = x.detach().clone()
        return seen[id(x)]
    return pytree.tree_map(clone, values)


def write_case(folder, name, model, args, kwargs):
    """Runs the model in eager mode; its entry of meta.json."""
    path = os.path.join(folder, name)
    os.makedirs(path, exist_ok=True)
    args, kwargs = clone_inputs((args, kwargs))
    flat, _ = pytree.tree_flatten((args, kwargs))
    inputs = [describe(v, f'in_{i}.npy', path) for i, v in enumerate(flat)]
    buffers = {n: b.detach().clone() for n, b in model.named_buffers()}
    with torch.no_grad():
        outputs = pytree.tree_leaves(model(*args, **kwargs))
    entry = {
        'dir': name,
        'inputs': inputs,
        'outputs': [describe(v, f'out_{i}.npy', path)
                    for i, v in enumerate(outputs)],
    }
    for i, value in enumerate(flat):
        if isinstance(value, torch.Tensor):
            save_array(os.path.join(path, f'in_{i}_after.npy'), value)
    for n, b in model.named_buffers():
        if n not in buffers or not same(buffers[n], b):
            save_array(os.path.join(path, f'buf_{n}_after.npy'), b)
    return entry


def targets_of(program):
    """The operators that occur, of nested graphs too."""
    names = set()
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            names |= {str(n.target) for n in module.graph.nodes
                      if n.op == 'call_function'}
    return sorted(names)


def in_order(kwargs, exported):
    """Keyword arguments in the order in which the program takes them."""
    if not kwargs:
        return kwargs
    names = exported.call_spec.in_spec.children_specs[1].context
    return {n: kwargs[n] for n in names}


def write_program(program, folder):
    """Exports the program and writes its folder; raises what export raises."""
    os.makedirs(folder, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        exported = torch.export.export(
            copy.deepcopy(program.model),
            *clone_inputs((program.inputs, program.kwargs)),
            dynamic_shapes=program.dynamic_shapes, strict=False)
        torch.export.save(exported, os.path.join(folder, 'model.pt2'))
        targets = {'model': targets_of(exported)}
        if program.decompose:
            core = exported.run_decompositions()
            torch.export.save(core, os.path.join(folder, 'core.pt2'))
            targets['core'] = targets_of(core)
        kwargs = in_order(program.kwargs, exported)
        model = copy.deepcopy(program.model)
        cases = []
        for i, args in enumerate([program.inputs, *program.more_inputs]):
            cases.append(write_case(folder, f'case_{i}', model, args, kwargs))
            if not program.stateful:
                model = copy.deepcopy(program.model)
    with open(os.path.join(folder, 'meta.json'), 'w') as f:
        json.dump({'name': program.name, 'torch': torch.__version__,
                   'stateful_cases': program.stateful, 'targets': targets,
                   'cases': cases}, f, indent=1)


# --- Weft.

def weft_command(given=None):
    if given:
        return given.split()
    for built in ('bazel-bin/tools/conformance/main',):
        if os.path.exists(os.path.join(ROOT, built)):
            return [os.path.join(ROOT, built), '--target=reference']
    return [os.path.join(ROOT, 'bazelw'), 'run', '//tools:conformance', '--',
            '--target=reference']


def run_weft(command, folder, passes=None, strict=False, timeout=120):
    """By name of the case: (outcome, message). Without `passes`, the target's."""
    with tempfile.NamedTemporaryFile(suffix='.json') as report:
        done = subprocess.run(
            [*command, '--suite=pt2',
             *([f'--passes={passes}'] if passes else []),
             f'--report={report.name}', f'--timeout={timeout}',
             *(['--strict'] if strict else []), os.path.abspath(folder)],
            cwd=ROOT, text=True, errors='replace', stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        if done.returncode not in (0, 1) or os.path.getsize(report.name) == 0:
            raise RuntimeError(f'{" ".join(command)}: {done.stderr.strip()}')
        results = json.load(open(report.name))
    return {r['name']: (r['outcome'], r['message']) for r in results}


def print_table(rows, columns):
    """Rows of (name, {column: outcome})."""
    words = {'passed': 'ok', 'failed': 'DIFFERS', 'unsupported': 'REFUSED'}
    width = max(len(name) for name, _ in rows)
    print('  '.join([' ' * width, *(f'{c:>9}' for c in columns)]))
    for name, cells in rows:
        shown = [words.get(cells.get(c), '-') for c in columns]
        print('  '.join([f'{name:{width}}', *(f'{s:>9}' for s in shown)]))


def check(folder, command, strict):
    """Runs the programs in `folder`; prints the table; whether all agree."""
    cells, messages = {}, []
    for column, passes in PIPELINES.items():
        for name, (outcome, message) in run_weft(command, folder, passes,
                                                 strict).items():
            cells.setdefault(name, {})[column] = outcome
            if outcome != 'passed':
                messages.append((name, column, message))
    print_table(sorted(cells.items()), list(PIPELINES))
    seen = set()
    for name, column, message in messages:
        program = name.split('/')[0]
        if program in seen:
            continue
        seen.add(program)
        print(f'\nfirst difference of {name} ({column}):\n  {message}')
    count = sum(o == 'passed' for c in cells.values() for o in c.values())
    print(f'\n{count} of {sum(map(len, cells.values()))} runs agree with '
          f'PyTorch {torch.__version__}')
    return not messages


# --- Models.

def load_file(path):
    spec = importlib.util.spec_from_file_location('model_to_check', path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return module


def load_program(path):
    module = load_file(path)
    values = module.get_model() if hasattr(module, 'get_model') else vars(module)
    if 'model' not in values or 'inputs' not in values:
        raise ValueError(f'{path} defines neither get_model() nor `model` and '
                         '`inputs`')
    names = ('model', 'inputs', 'kwargs', 'dynamic_shapes', 'more_inputs',
             'stateful')
    name = os.path.splitext(os.path.basename(path))[0]
    program = Program(name, **{n: values[n] for n in names if n in values})
    if isinstance(program.inputs, torch.Tensor):
        program.inputs = (program.inputs,)
    return program


def built_in(pattern):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import torch_check_models
    for name, make in torch_check_models.models():
        if pattern and not fnmatch.fnmatch(name, pattern):
            continue
        torch.manual_seed(0)
        yield name, lambda make=make, name=name: Program(name, **make())


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('files', nargs='*', metavar='model.py')
    parser.add_argument('--models', action='store_true',
                        help='the models of torch_check_models.py')
    parser.add_argument('--filter', metavar='GLOB',
                        help='only models of these names')
    parser.add_argument('--strict', action='store_true',
                        help='tolerances of torch.testing.assert_close')
    parser.add_argument('--weft', metavar='COMMAND',
                        help='the conformance tool; default: as built by Bazel')
    parser.add_argument('--keep', metavar='DIR',
                        help='leave the programs in this folder')
    args = parser.parse_args()
    if not args.files and not args.models:
        parser.error('name a model file, or give --models')
    return args


def main():
    args = parse_arguments()
    logging.disable(logging.ERROR)
    makers = [(path, lambda path=path: load_program(path))
              for path in args.files]
    if args.models:
        makers += built_in(args.filter)
    folder = args.keep or tempfile.mkdtemp(prefix='torch_check_')
    bad, made = 0, 0
    for name, make in makers:
        try:
            program = make()
            write_program(program, os.path.join(
                folder, re.sub(r'[^\w.-]', '_', program.name)))
            made += 1
        except Exception as e:
            bad = 2 if name in args.files else 1
            why = traceback.format_exception_only(e)[-1].strip()
            print(f'{name}: PyTorch does not export it: '
                  f'{why.splitlines()[0]}')
    try:
        if made and not check(folder, weft_command(args.weft), args.strict):
            bad = bad or 1
    finally:
        if not args.keep:
            shutil.rmtree(folder)
    return bad


if __name__ == '__main__':
    sys.exit(main())
