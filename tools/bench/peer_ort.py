"""Runs an ONNX model in ONNX Runtime; prints one JSON object. See peers.py."""

import argparse

import numpy as np
import onnxruntime as ort

import peer_common


def given_inputs(session, folder):
    """Those of the folder; of static inputs that it lacks, ones."""
    inputs = session.get_inputs()
    arrays = peer_common.load_data(folder, len(inputs)) if folder else [None] * len(inputs)
    kinds = {"tensor(float)": "f4", "tensor(int64)": "i8", "tensor(int32)": "i4"}
    return [np.ones(i.shape, kinds[i.type]) if a is None and not folder else a
            for i, a in zip(inputs, arrays)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--inputs", metavar="DIR", help="NAME.npy for each input")
    parser.add_argument("--data", metavar="DIR", help="input_0.pb or input_0.npy, ...")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warmup", type=float, default=1)
    parser.add_argument("--iterations", type=int, default=0,
                        help="exactly so many runs, without a warm-up")
    parser.add_argument("--outputs", metavar="DIR",
                        help="run once and save the outputs")
    args = parser.parse_args()

    options = ort.SessionOptions()
    options.intra_op_num_threads = args.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = (
        ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    before = peer_common.processor_ms()
    session, session_ms = peer_common.timed(lambda: ort.InferenceSession(
        args.model, options, providers=["CPUExecutionProvider"]))
    names = [i.name for i in session.get_inputs()]
    if args.inputs:
        arrays = peer_common.load_inputs(args.inputs, names)
    else:
        arrays = given_inputs(session, args.data)
    # Values of its own: no copy of an input in each run.
    feeds = {name: ort.OrtValue.ortvalue_from_numpy(array)
             for name, array in zip(names, arrays) if array is not None}
    outputs = [o.name for o in session.get_outputs()]
    run = lambda: session.run_with_ort_values(outputs, feeds)
    first, first_ms = peer_common.timed(run)
    processor_ms = peer_common.processor_ms() - before
    times = []
    if args.outputs:
        peer_common.save_outputs(args.outputs, [v.numpy() for v in first])
    else:
        times = peer_common.measure(run, args.seconds, args.warmup,
                                    args.iterations)
    peer_common.report(times, compile_ms=session_ms, first_ms=first_ms,
                       processor_ms=processor_ms,
                       version="ONNX Runtime " + ort.__version__)


if __name__ == "__main__":
    main()
