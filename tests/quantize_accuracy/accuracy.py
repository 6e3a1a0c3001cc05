#!/usr/bin/env python3
"""Accuracy of quantized networks: Weft's quantizer beside ONNX Runtime's and torchao's.

    python3 -m pip install torch torchao onnx onnxscript onnxruntime scikit-learn
    ./bazelw build -c opt //tools:quantize //tools:run
    python3 tests/quantize_accuracy/accuracy.py --networks=convnet,mlp

Trains small networks from a seed (networks.py), on the digits of scikit-learn and
the text of docs/, exports them to ONNX and quantizes each by each method
(quantizers.py), all on the same calibration batches. ONNX Runtime runs the files of
Weft and its own; torchao's programs run in eager PyTorch. The table has for
each network and method

    metric      accuracy in %, or the perplexity of the next character
    loss        cross entropy on the test samples
    agree       samples with the same answer as the float network, in %
    SQNR        of the logits against those of the float network, in dB

and the kernels of integers that ONNX Runtime chose. What ONNX Runtime or a
quantizer refuses, and files whose results in ONNX Runtime are not those of Weft's
reference executor, are in the last column.

Without VNNI, ONNX Runtime's kernels for u8 times i8 saturate; the script asks for
exact ones, and for the others with --saturate.

An optional script, which no test of the tree runs. The exit status is 1 when a
best result of Weft in a family (static, dynamic, weights of 4 and 8 bits) is worse
than the best of the peers by more than --slack, or ONNX Runtime refuses a
file of Weft.
"""
import argparse
import contextlib
import fnmatch
import importlib.util
import json
import logging
import os
import sys
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGES = {'numpy': 'numpy', 'torch': 'torch', 'torchao': 'torchao',
            'onnx': 'onnx', 'onnxscript': 'onnxscript',
            'onnxruntime': 'onnxruntime', 'sklearn': 'scikit-learn'}


def need_packages():
    missing = [package for module, package in PACKAGES.items()
               if importlib.util.find_spec(module) is None]
    if missing:
        sys.exit('accuracy.py: missing packages; python3 -m pip install ' +
                 ' '.join(missing))


def need_programs(folder):
    for program in ('quantize', 'run'):
        if not os.access(os.path.join(folder, program), os.X_OK):
            sys.exit(f'accuracy.py: no {folder}/{program}; ./bazelw build -c opt '
                     '//tools:quantize //tools:run, or --bin, or --methods=ort*,torchao*')


def figures(logits, exact, labels):
    """What the table has of some logits."""
    import numpy as np
    import quantizers
    logits, exact = np.float64(logits), np.float64(exact)
    best = logits.max(-1, keepdims=True)
    log_sum = np.log(np.exp(logits - best).sum(-1)) + best[..., 0]
    chosen = np.take_along_axis(logits, labels[..., None], -1)[..., 0]
    loss = float((log_sum - chosen).mean())
    answers = logits.argmax(-1)
    accuracy = 100 * float((answers == labels).mean())
    return {'accuracy': accuracy, 'loss': loss, 'perplexity': float(np.exp(loss)),
            'agree': 100 * float((answers == exact.argmax(-1)).mean()),
            'sqnr': float(quantizers.sqnr(exact, logits))}


def measure(network, args, methods):
    """A row for each method, the float network's first."""
    import networks
    import quantizers
    folder = os.path.join(args.dir, network.name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, 'float.onnx')
    networks.export(network, path)
    inputs, labels = network.data.test
    job = quantizers.Job(network, path, folder, args.bin, args.saturate)
    exact = quantizers.run_onnx(job, path, inputs)
    rows = [dict(figures(exact, exact, labels), network=network.name,
                 family='float', method='float', note='')]
    for family, name, method in methods:
        job.note = ''
        row = dict(network=network.name, family=family, method=name)
        try:
            with open(os.devnull, 'w') as null, contextlib.redirect_stdout(null):
                logits = method(job)
            row.update(figures(logits, exact, labels))
        except Exception as e:  # Whatever a quantizer raises.
            kind = '' if isinstance(e, quantizers.Refused) else type(e).__name__ + ': '
            row['refused'] = kind + ' '.join(str(e).split())[:300]
        row['note'] = job.note
        rows.append(row)
        print(as_line(row), flush=True)
    return rows


def metric(row):
    if row['network'] == 'transformer':
        return f"{row['perplexity']:.4f}"
    return f"{row['accuracy']:.2f}"


def as_line(row):
    if 'refused' in row:
        return f"| {row['network']} | {row['method']} | | | | | {row['refused']} |"
    return (f"| {row['network']} | {row['method']} | {metric(row)} | {row['loss']:.4f} | "
            f"{row['agree']:.2f} | {row['sqnr']:.1f} | {row['note']} |")


def as_table(rows):
    head = '| network | method | metric | loss | agree | SQNR | kernels, notes |\n'
    return head + '|---|---|---|---|---|---|---|\n' + '\n'.join(map(as_line, rows))


def verdicts(rows, slack):
    """A line for each network and family; whether Weft is behind in one."""
    lines, behind = [], False
    for key in sorted({(r['network'], r['family']) for r in rows}):
        mine, others = [], []
        for row in rows:
            if (row['network'], row['family']) != key or 'refused' in row:
                continue
            (mine if row['method'].startswith('weft') else others).append(row)
        if not mine or not others:
            continue
        a, b = (min(some, key=lambda row: row['loss']) for some in (mine, others))
        c, d = (max(some, key=lambda row: row['sqnr']) for some in (mine, others))
        worse = a['loss'] > b['loss'] + slack or c['sqnr'] < d['sqnr'] - 0.5
        behind = behind or worse
        lines.append(
            f"{key[0]}, {key[1]}: loss {a['loss']:.4f} ({a['method']}) against "
            f"{b['loss']:.4f} ({b['method']}); SQNR {c['sqnr']:.1f} ({c['method']}) against "
            f"{d['sqnr']:.1f} ({d['method']}){': BEHIND' if worse else ''}")
    return lines, behind


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--networks', help='comma list; default: all')
    parser.add_argument('--methods', default='*', help="comma list of names, with *; e.g. 'ort*,weft x86*'")
    parser.add_argument('--bin', default=os.path.join(ROOT, 'bazel-bin/tools'))
    parser.add_argument('--docs', default=os.path.join(ROOT, 'docs'), help='text to learn')
    parser.add_argument('--dir', default='/tmp/quantize_accuracy', help='for models and data')
    parser.add_argument('--json', help='write all rows')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--slack', type=float, default=0.002, help='of the loss')
    parser.add_argument('--saturate', action='store_true',
                        help="ONNX Runtime's default kernels, which may saturate")
    args = parser.parse_args()
    need_packages()
    warnings.simplefilter('ignore')
    logging.disable(logging.WARNING)
    import torch
    torch.set_num_threads(1)
    import networks
    import quantizers
    names = args.networks.split(',') if args.networks else networks.NAMES
    unknown = set(names) - set(networks.NAMES)
    if unknown:
        parser.error(f'unknown networks: {", ".join(sorted(unknown))}; there are: '
                     + ', '.join(networks.NAMES))
    globs = args.methods.split(',')
    methods = [m for m in quantizers.methods() if any(fnmatch.fnmatch(m[1], g) for g in globs)]
    if not methods:
        parser.error('no method has such a name; there are:\n  ' +
                     '\n  '.join(m[1] for m in quantizers.methods()))
    if any(m[1].startswith('weft') for m in methods):
        need_programs(args.bin)
    print(f'seed {args.seed}')
    rows = []
    for name in names:
        start = time.time()
        network = networks.make(name, args.seed, args.docs, args.dir)
        print(f'{name}: ready in {time.time() - start:.0f} s', flush=True)
        rows += measure(network, args, methods)
    lines, behind = verdicts(rows, args.slack)
    print('\n' + as_table(rows) + '\n\n' + '\n'.join(lines))
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(rows, f, indent=1)
    refused = any('refused' in r and 'ONNX Runtime' in r['refused'] and
                  r['method'].startswith('weft') for r in rows)
    return 1 if behind or refused else 0


if __name__ == '__main__':
    sys.exit(main())
