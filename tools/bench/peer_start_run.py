"""Writes a model in the form that a peer starts from, or runs that; `peers.py start`.

    peer_start_run.py ort|openvino write --model=M.onnx --file=FILE
    peer_start_run.py ort|openvino run --file=FILE --inputs=DIR
"""

import argparse
import time

import peer_common


def write_ort(args):
    import onnxruntime as ort  # pylint: disable=import-outside-toplevel
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = args.file
    options.add_session_config_entry("session.save_model_format", "ORT")
    ort.InferenceSession(args.model, options, providers=["CPUExecutionProvider"])


def write_openvino(args):
    import openvino as ov  # pylint: disable=import-outside-toplevel
    options = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
               "INFERENCE_NUM_THREADS": "1", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = ov.Core().compile_model(args.model, "CPU", options)
    with open(args.file, "wb") as file:
        file.write(compiled.export_model().getvalue())


def start_ort(args):
    """A function that opens the file and returns one that runs it."""
    import onnxruntime as ort  # pylint: disable=import-outside-toplevel
    options = ort.SessionOptions()
    options.intra_op_num_threads = args.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Tells a model in this format by its name or by this.
    options.add_session_config_entry("session.load_model_format", "ORT")

    def start():
        session = ort.InferenceSession(args.file, options,
                                       providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        feed = dict(zip(names, peer_common.load_inputs(args.inputs, names)))
        return lambda: session.run(None, feed)
    return start


def start_openvino(args):
    import openvino as ov  # pylint: disable=import-outside-toplevel
    core = ov.Core()
    core.get_versions("CPU")  # Loads the plugin.

    def start():
        with open(args.file, "rb") as file:
            compiled = core.import_model(file.read(), "CPU",
                                         {"INFERENCE_NUM_THREADS": str(args.threads)})
        request = compiled.create_infer_request()
        names = [i.get_any_name() for i in compiled.inputs]
        # The request borrows them.
        arrays = peer_common.load_inputs(args.inputs, names)
        for i, array in enumerate(arrays):
            request.set_input_tensor(i, ov.Tensor(array, shared_memory=True))
        return lambda arrays=arrays: request.infer()
    return start


def memory_mb():
    """All that is resident, and what is not of files."""
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return [int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")]


def run(args):
    start = (start_ort if args.peer == "ort" else start_openvino)(args)
    before = memory_mb()
    begin = time.perf_counter()
    infer = start()
    infer()
    first_ms = 1e3 * (time.perf_counter() - begin)
    gained, own = (b - a for a, b in zip(before, memory_mb()))
    times = peer_common.measure(infer, 0, 0, iterations=3)
    peer_common.report(times, first_ms=first_ms, gained_mb=gained, own_mb=own)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["ort", "openvino"])
    parser.add_argument("command", choices=["write", "run"])
    parser.add_argument("--model")
    parser.add_argument("--file", required=True)
    parser.add_argument("--inputs")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if args.command == "run":
        run(args)
    else:
        (write_ort if args.peer == "ort" else write_openvino)(args)


if __name__ == "__main__":
    main()
