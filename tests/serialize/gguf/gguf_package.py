#!/usr/bin/env python3
"""Compares tensors of GGUF files with the reading of llama.cpp's own package.

    python3 -m pip install gguf numpy pyyaml
    ./bazelw build -c opt //tools:opt //tools:run
    python3 tests/serialize/gguf/gguf_package.py

Blocks of pseudo-random bytes, for each format that Weft reads, become a file (written by the
package) and the parameters of a program that returns them; Weft's results must equal
gguf.quants.dequantize bit by bit. Products with them are compared with numpy.

An optional script, which no test of the tree runs.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
FORMATS = ('Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q2_K', 'Q3_K', 'Q4_K', 'Q5_K', 'Q6_K',
           'MXFP4')
# Where a block has numbers of f16.
HALVES = {'Q4_0': [0], 'Q4_1': [0, 2], 'Q5_0': [0], 'Q5_1': [0, 2], 'Q8_0': [0], 'Q2_K': [80, 82],
          'Q3_K': [108], 'Q4_K': [0, 2], 'Q5_K': [0, 2], 'Q6_K': [208], 'MXFP4': []}
ROWS, COLUMNS = 5, 512


def blocks(name, random):
    """Rows of bytes; halves are finite and of an ordinary size."""
    elements, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    data = random.integers(0, 256, (ROWS, COLUMNS // elements, size), dtype=np.uint8)
    for at in HALVES[name]:
        halves = random.uniform(-0.1, 0.1, data.shape[:2]).astype(np.float16)
        data[:, :, at:at + 2] = halves[..., None].view(np.uint8)
    if name == 'MXFP4':
        data[:, :, 0] = random.integers(120, 130, data.shape[:2])
    return data.reshape(ROWS, -1)


def program(products):
    parameters = ', '.join(f'%{n}: f32[{ROWS}, {COLUMNS}]' for n in FORMATS)
    head = f'func @main(%x: f32[3, {COLUMNS}], {parameters}) {{\n'
    if not products:
        lines = [f'  %y{i} = neg(%{n})' for i, n in enumerate(FORMATS)]
    else:
        lines = [f'  %y{i} = linear(%x, %{n}, none)' for i, n in enumerate(FORMATS)]
    results = ', '.join(f'%y{i}' for i in range(len(FORMATS)))
    return head + '\n'.join(lines) + f'\n  return {results}\n}}\n'


def results(folder, bin_folder, products, x, target):
    model = os.path.join(folder, 'model.weft')
    with open(model, 'w', encoding='utf-8') as f:
        f.write(program(products))
    loaded, out = os.path.join(folder, 'loaded.weft'), os.path.join(folder, target)
    np.save(os.path.join(folder, 'x.npy'), x)
    subprocess.run([os.path.join(bin_folder, 'opt'), '--passes=none', '--emit=text',
                    f'--weights={folder}/w.gguf', '-o', loaded, model], check=True)
    subprocess.run([os.path.join(bin_folder, 'run'), f'--target={target}',
                    f'--input=x={folder}/x.npy', '-o', out, loaded], check=True,
                   stdout=subprocess.DEVNULL)
    return [np.load(os.path.join(out, f'output_{i}.npy')) for i in range(len(FORMATS))]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--bin', default=os.path.join(ROOT, 'bazel-bin/tools'))
    args = parser.parse_args()
    random = np.random.default_rng(1)
    data = {name: blocks(name, random) for name in FORMATS}
    x = random.standard_normal((3, COLUMNS)).astype(np.float32)
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        writer = gguf.GGUFWriter(os.path.join(folder, 'w.gguf'), 'test')
        for name in FORMATS:
            writer.add_tensor(name, data[name], raw_dtype=gguf.GGMLQuantizationType[name])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        values = results(folder, args.bin, False, x, 'reference')
        products = results(folder, args.bin, True, x, 'cpu')
        for i, name in enumerate(FORMATS):
            wanted = gguf.quants.dequantize(data[name], gguf.GGMLQuantizationType[name])
            different = int((-values[i] != wanted).sum())
            exact = x.astype(np.float64) @ wanted.astype(np.float64).T
            bound = np.abs(x).astype(np.float64) @ np.abs(wanted).astype(np.float64).T
            error = float((np.abs(products[i] - exact) / bound).max())
            print(f'{name}: {different} of {wanted.size} differ; products off by {error:.1e}')
            bad |= different > 0 or error > 1e-6
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
