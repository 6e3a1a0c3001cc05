#!/usr/bin/env python3
"""Runs exported models in onnxruntime and compares with Weft's outputs.

    bazel run //tests/serialize/onnx:dump_export_cases -- /tmp/cases
    tests/serialize/onnx/check_with_onnxruntime.py /tmp/cases

Each folder below the argument holds model.onnx, input_N.npy and output_N.npy.
onnx's reference implementation runs what onnxruntime has no kernel for, and is
asked for a second opinion where onnxruntime differs. Not part of the tests that
the build runs: it needs Python with numpy, onnx and onnxruntime.
"""

import argparse
import json
import os
import pathlib
import sys

import numpy as np
import onnx
import onnx.checker
import onnx.reference
import onnxruntime


def load(folder, prefix):
    arrays = []
    while (folder / f"{prefix}_{len(arrays)}.npy").exists():
        arrays.append(np.load(folder / f"{prefix}_{len(arrays)}.npy"))
    return arrays


def run_onnxruntime(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def run_reference(path, feeds):
    return onnx.reference.ReferenceEvaluator(str(path)).run(None, feeds)


def difference(got, want):
    """Empty, or what differs."""
    if len(got) != len(want):
        return f"{len(got)} outputs, not {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        g = np.asarray(g)
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"output {i} is {g.dtype}{list(g.shape)}, not {w.dtype}{list(w.shape)}"
        tolerance = 2e-2 if w.dtype == np.float16 else 1e-4
        if not np.allclose(g, w, rtol=tolerance, atol=tolerance / 10, equal_nan=True):
            return f"output {i} is {g.ravel()[:8]}, not {w.ravel()[:8]}"
    return ""


def check(folder):
    """How the case went, and details."""
    path = folder / "model.onnx"
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    names = [i.name for i in model.graph.input]
    want = load(folder, "output")
    feeds = dict(zip(names, load(folder, "input")))
    details = []
    for engine in (run_onnxruntime, run_reference):
        try:
            why = difference(engine(path, feeds), want)
        except Exception as error:  # Whatever the engine raises.
            why = f"{type(error).__name__}: {str(error).splitlines()[0][:300]}"
            details.append(f"{engine.__name__}: {why}")
            continue
        if not why:
            return "same", details
        details.append(f"{engine.__name__}: {why}")
    differs = any("output" in d.split(": ")[1] for d in details)
    return ("differs" if differs else "not run"), details


def check_apart(folder):
    """check() in a process of its own: an engine may abort."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            result, details = check(folder)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            result, details = "invalid", [str(error)]
        with os.fdopen(writer, "w") as pipe:
            json.dump([result, details], pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else ("not run", ["the engine aborted"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("-v", "--verbose", action="store_true", help="list what one engine refused")
    arguments = parser.parse_args()
    counts = {"same": 0, "differs": 0, "not run": 0, "invalid": 0}
    for model in sorted(arguments.folder.glob("*/model.onnx")):
        folder = model.parent
        name = (folder / "name.txt").read_text().strip() if (folder / "name.txt").exists() else ""
        result, details = check_apart(folder)
        counts[result] += 1
        if result != "same" or (details and arguments.verbose):
            print(f"{result}: {folder.name} {name}")
            for line in details:
                print(f"    {line}")
    print(", ".join(f"{count} {result}" for result, count in counts.items()))
    return 1 if counts["differs"] or counts["invalid"] else 0


if __name__ == "__main__":
    sys.exit(main())
