"""Quantizes an ONNX model to int8 with ONNX Runtime's quantizer. See peers.py.

--kind=static: QDQ with u8 activations and i8 weights by channel, calibrated on the inputs;
dynamic: weights alone, activations are quantized as they come.
"""

import argparse
import os
import tempfile

import onnx
from onnxruntime import quantization
from onnxruntime.quantization import shape_inference

import peer_common


class Inputs(quantization.CalibrationDataReader):
    """The inputs of the benchmark, once."""

    def __init__(self, folder, names):
        self.feeds = [dict(zip(names, peer_common.load_inputs(folder, names)))]

    def get_next(self):
        return self.feeds.pop() if self.feeds else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("output")
    parser.add_argument("--inputs", required=True, metavar="DIR")
    parser.add_argument("--kind", default="static", choices=["static", "dynamic"])
    args = parser.parse_args()

    if args.kind == "dynamic":
        quantization.quantize_dynamic(args.model, args.output,
                                      weight_type=quantization.QuantType.QInt8)
        return
    names = [i.name for i in onnx.load(args.model, load_external_data=False).graph.input]
    with tempfile.TemporaryDirectory() as folder:
        # Folds batch norms and the like, as ONNX Runtime recommends before quantization.
        prepared = os.path.join(folder, "prepared.onnx")
        shape_inference.quant_pre_process(args.model, prepared)
        quantization.quantize_static(
            prepared, args.output, Inputs(args.inputs, names),
            quant_format=quantization.QuantFormat.QDQ, per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8)


if __name__ == "__main__":
    main()
