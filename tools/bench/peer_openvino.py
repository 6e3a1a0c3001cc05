"""Runs an ONNX model in OpenVINO on the CPU; prints one JSON object. See peers.py."""

import argparse

import openvino as ov

import peer_common


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--inputs", required=True, metavar="DIR")
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"],
                        help="of what the model computes in f32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warmup", type=float, default=1)
    parser.add_argument("--outputs", metavar="DIR",
                        help="run once and save the outputs")
    args = parser.parse_args()

    core = ov.Core()
    options = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
               "INFERENCE_PRECISION_HINT": args.precision}
    if args.threads:
        options["INFERENCE_NUM_THREADS"] = str(args.threads)
    before = peer_common.processor_ms()
    model, compile_ms = peer_common.timed(
        lambda: core.compile_model(args.model, "CPU", options))
    request = model.create_infer_request()
    names = [i.get_any_name() for i in model.inputs]
    arrays = peer_common.load_inputs(args.inputs, names)
    for i, array in enumerate(arrays):
        # Shared: no copy of an input in each run.
        request.set_input_tensor(i, ov.Tensor(array, shared_memory=True))
    _, first_ms = peer_common.timed(request.infer)
    processor_ms = peer_common.processor_ms() - before
    times = []
    if args.outputs:
        outputs = range(len(model.outputs))
        peer_common.save_outputs(
            args.outputs, [request.get_output_tensor(i).data for i in outputs])
    else:
        times = peer_common.measure(request.infer, args.seconds, args.warmup)
    peer_common.report(times, compile_ms=compile_ms, first_ms=first_ms,
                       processor_ms=processor_ms,
                       version="OpenVINO " + ov.__version__)


if __name__ == "__main__":
    main()
