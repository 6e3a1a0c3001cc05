"""Times a chain of matmuls of one row with weights of llama.cpp's Q4_0; prints one JSON object.

    peer_llama.py LIBRARY KxN... --threads=N --seconds=X

LIBRARY is a shared object that exports ggml's C interface, as wheels of Python bindings of llama.cpp
bring one. Weights lie in the layout that the library makes for its processor, if it has one. Q4_0
has groups of 32 weights with f16 scales; the rows are rounded to 8 bits (Q8_0). See nbits.py.
"""

import argparse
import ctypes
import json
import statistics
import time

import numpy as np

Q4_0, F32 = 2, 0
ROW_BYTES_OF_32 = 18

POINTER, LONG, INT, SIZE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_size_t


class InitParams(ctypes.Structure):
    _fields_ = [("bytes", SIZE), ("memory", POINTER), ("without_data", ctypes.c_bool)]


FUNCTIONS = {
    "init": (POINTER, InitParams),
    "new_tensor_2d": (POINTER, POINTER, INT, LONG, LONG),
    "mul_mat": (POINTER, POINTER, POINTER, POINTER),
    "new_graph": (POINTER, POINTER),
    "build_forward_expand": (None, POINTER, POINTER),
    "get_data": (POINTER, POINTER),
    "quantize_chunk": (SIZE, INT, POINTER, POINTER, LONG, LONG, LONG, POINTER),
    "backend_cpu_init": (POINTER,),
    "backend_cpu_set_n_threads": (None, POINTER, INT),
    "backend_cpu_buffer_type": (POINTER,),
    "backend_cpu_reg": (POINTER,),
    "backend_reg_dev_get": (POINTER, POINTER, SIZE),
    "backend_reg_get_proc_address": (POINTER, POINTER, ctypes.c_char_p),
    "backend_buft_name": (ctypes.c_char_p, POINTER),
    "backend_alloc_ctx_tensors_from_buft": (POINTER, POINTER, POINTER),
    "backend_tensor_set": (None, POINTER, POINTER, SIZE, SIZE),
    "backend_graph_compute": (INT, POINTER, POINTER),
}


class Ggml:
    """The functions of the library, without their prefix."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        for name, (result, *args) in FUNCTIONS.items():
            function = getattr(library, "ggml_" + name)
            function.restype, function.argtypes = result, args
            setattr(self, name, function)

    def buffer_type(self):
        """The one with weights laid out for the processor, else the plain one."""
        registry = self.backend_cpu_reg()
        address = self.backend_reg_get_proc_address(registry, b"ggml_backend_dev_get_extra_bufts")
        if address:
            extra = ctypes.CFUNCTYPE(ctypes.POINTER(POINTER), POINTER)(address)(
                self.backend_reg_dev_get(registry, 0))
            if extra and extra[0]:
                return extra[0]
        return self.backend_cpu_buffer_type()


def chain(ggml, layers):
    """The graph, what holds its tensors, and the weights' layout."""
    weights = ggml.init(InitParams(1 << 20, None, True))
    tensors = [ggml.new_tensor_2d(weights, Q4_0, k, n) for k, n in layers]
    kind = ggml.buffer_type()
    if not ggml.backend_alloc_ctx_tensors_from_buft(weights, kind):
        raise SystemExit("no memory for weights")
    random = np.random.default_rng(0)
    for tensor, (k, n) in zip(tensors, layers):
        values = random.standard_normal((n, k), dtype=np.float32) / np.float32(k ** 0.5)
        quantized = np.zeros(n * k // 32 * ROW_BYTES_OF_32, np.uint8)
        ggml.quantize_chunk(Q4_0, values.ctypes.data, quantized.ctypes.data, 0, n, k, None)
        ggml.backend_tensor_set(tensor, quantized.ctypes.data, 0, quantized.nbytes)
    rows = ggml.init(InitParams(64 << 20, None, False))
    x = ggml.new_tensor_2d(rows, F32, layers[0][0], 1)
    row = random.standard_normal(layers[0][0], dtype=np.float32)
    ctypes.memmove(ggml.get_data(x), row.ctypes.data, row.nbytes)
    for tensor in tensors:
        x = ggml.mul_mat(rows, tensor, x)
    graph = ggml.new_graph(rows)
    ggml.build_forward_expand(graph, x)
    return graph, ggml.backend_buft_name(kind).decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("layers", nargs="+", metavar="KxN")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    args = parser.parse_args()
    ggml = Ggml(args.library)
    graph, layout = chain(ggml, [tuple(map(int, s.split("x"))) for s in args.layers])
    backend = ggml.backend_cpu_init()
    ggml.backend_cpu_set_n_threads(backend, args.threads)
    times, end = [], time.perf_counter() + args.seconds
    while len(times) < 5 or time.perf_counter() < end:
        begin = time.perf_counter()
        ggml.backend_graph_compute(backend, graph)
        times.append((time.perf_counter() - begin) * 1000)
    print(json.dumps({"median_ms": statistics.median(times[2:]), "layout": layout}))


if __name__ == "__main__":
    main()
