"""Runs a model of torch_models.py, or a .pt2 file; prints one JSON object. See peers.py.

--mode: eager, compile (Inductor as it comes), freeze (weights are constants,
laid out once, and linears packed), autotune (freeze, and kernels chosen by
trial).
"""

import argparse
import sys

import numpy as np
import torch

import peer_common
import torch_models


def check_setup(mode):
    """Ends the process where a default would make PyTorch look bad."""
    config = torch.__config__.show()
    if not torch.backends.mkl.is_available():
        sys.exit("this PyTorch has no MKL: its matrix products may run at half "
                 "the speed, and f32 linears are not packed\n" + config)
    if not torch.backends.mkldnn.is_available():
        sys.exit("this PyTorch has no oneDNN\n" + config)
    if mode == "eager":
        return "eager"
    from torch._inductor import cpu_vec_isa
    isa = cpu_vec_isa.pick_vec_isa()
    if not isa:
        sys.exit("Inductor finds no vector instructions: its kernels would be "
                 "scalar")
    return f"Inductor, {isa}"


def compiled(module, mode):
    if mode == "eager":
        return module
    from torch._inductor import config
    config.freezing = mode in ("freeze", "autotune")
    kind = "max-autotune-no-cudagraphs" if mode == "autotune" else "default"
    return torch.compile(module, dynamic=False, mode=kind)


def quantized(module, inputs):
    """PT2E's form for Inductor's int8 kernels, calibrated on the inputs; needs torchao."""
    from torchao.quantization.pt2e import move_exported_model_to_eval
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(torch.export.export(module, tuple(inputs)).module(), quantizer)
    prepared(*inputs)
    return move_exported_model_to_eval(convert_pt2e(prepared))


def load_weights(module, path):
    if not path:
        return
    arrays = np.load(path)
    state = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    missing, unexpected = module.load_state_dict(state, strict=False)
    missing = [n for n in missing if not n.endswith("num_batches_tracked")]
    if missing or unexpected:
        sys.exit(f"weights do not fit: missing {missing}, "
                 f"unexpected {unexpected}")


def load_exported(path, data):
    """The program of a .pt2 file without arguments, on the inputs of the folder `data`, or on the
    examples that the file has."""
    import torch.ao.quantization.fx._decomposed  # Registers the ops of quantized programs.
    from torch.utils import _pytree as pytree
    exported = torch.export.load(path)
    flat, structure = pytree.tree_flatten(exported.example_inputs)
    if data:
        arrays = peer_common.load_data(data, len(flat))
        flat = [x if a is None else torch.from_numpy(a).view(x.dtype)
                for x, a in zip(flat, arrays)]
    args, kwargs = pytree.tree_unflatten(flat, structure)
    module = exported.module(check_guards=False)
    return lambda: module(*args, **kwargs)


def build(args):
    """The program without arguments, of a model of torch_models.py."""
    with open(args.input_names) as file:
        names = file.read().split()
    inputs = [torch.from_numpy(array)
              for array in peer_common.load_inputs(args.inputs, names)]
    module = torch_models.build(args.model, args.small).eval()
    load_weights(module, args.weights)
    if getattr(module, "channels_last", False):
        module = module.to(memory_format=torch.channels_last)
        inputs = [x.contiguous(memory_format=torch.channels_last)
                  for x in inputs]
    if args.model == "adamw":
        module.bind(*inputs)
        return compiled(module.optimizer.step, args.mode), module.results
    if args.int8:
        module = quantized(module, inputs)
    program = compiled(module, args.mode)
    return (lambda: program(*inputs)), None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--inputs", metavar="DIR", help="NAME.npy for each input")
    parser.add_argument("--input-names", metavar="FILE",
                        help="one a line, in the order of the graph")
    parser.add_argument("--data", metavar="DIR",
                        help="of a .pt2 file: in_0.npy, ... for each input")
    parser.add_argument("--weights", metavar="FILE", help="an .npz file")
    parser.add_argument("--mode", default="eager",
                        choices=["eager", "compile", "freeze", "autotune"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--autocast", action="store_true", help="to bf16")
    parser.add_argument("--int8", action="store_true", help="by PT2E, for Inductor")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warmup", type=float, default=1)
    parser.add_argument("--outputs", metavar="DIR",
                        help="run once and save the outputs")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    setup = check_setup(args.mode)
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=args.autocast)
    with torch.no_grad(), autocast:
        if args.model.endswith(".pt2"):
            run, results = load_exported(args.model, args.data), None
        else:
            run, results = build(args)
        first, first_ms = peer_common.timed(run)
        times = []
        if args.outputs:
            first = tuple(results()) if results else first
            first = first if isinstance(first, tuple) else (first,)
            peer_common.save_outputs(
                args.outputs, [v.contiguous().numpy() for v in first])
        else:
            times = peer_common.measure(run, args.seconds, args.warmup)
    peer_common.report(times, compile_ms=0, first_ms=first_ms,
                       version=f"PyTorch {torch.__version__} ({setup})")


if __name__ == "__main__":
    main()
