#!/usr/bin/env python3
"""Counts the nodes that ONNX Runtime's graph passes leave of networks.

For people, to bring the table of docs/model-counts.md up to date; no test runs
it. It needs `pip install onnx onnxruntime`. Each model is loaded at the levels
"basic" and "extended", the optimised model is saved, and its nodes, those of
nested graphs included and constants excluded, are counted.

    python3 tests/models/count_ort_nodes.py examples/*.onnx
"""

import os
import sys
import tempfile

import onnx
import onnxruntime

LEVELS = {
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
}


def count(graph):
    """Nodes of a graph and of the graphs nested in it, constants left out."""
    total = 0
    for node in graph.node:
        total += node.op_type != "Constant"
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                total += count(attribute.g)
            for nested in attribute.graphs:
                total += count(nested)
    return total


def optimised(path, level, folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    options.optimized_model_filepath = os.path.join(folder, "out.onnx")
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return onnx.load(options.optimized_model_filepath)


def name_of(path):
    if os.path.basename(path) == "model.onnx":
        return os.path.basename(os.path.dirname(path))
    return os.path.basename(path)


def main(paths):
    print("name", "as-exported", *LEVELS)
    for path in paths:
        counts = [count(onnx.load(path, load_external_data=False).graph)]
        with tempfile.TemporaryDirectory() as folder:
            for level in LEVELS.values():
                try:
                    counts.append(count(optimised(path, level, folder).graph))
                except Exception as error:  # pylint: disable=broad-except
                    print(f"{path}: {error}", file=sys.stderr)
                    counts.append("-")
        print(name_of(path), *counts)


if __name__ == "__main__":
    main(sys.argv[1:])
