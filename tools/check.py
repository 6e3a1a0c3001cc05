#!/usr/bin/env python3
"""Runs an ONNX model in ONNX Runtime and in Weft, compares them, and times both.

    python3 -m venv ort && ort/bin/pip install onnxruntime onnx numpy
    ./bazelw build //tools:run //tools:bench
    ort/bin/python tools/check.py model.onnx
    ort/bin/python tools/check.py --size=batch=4 --data=test_data_set_0 model.onnx

First the outputs of the model as it is; then every intermediate tensor by name: copies of
the model have them as outputs, --batch of them at a time, in the order of the nodes. The
first node whose results differ is printed, with how far its operands were apart.

Inputs come from --input, from --data (input_0.npy or input_0.pb, ...) or from --seed:
floats in [-1, 1), integers 0 and 1. Tensors are compared by the largest difference over
the largest element (--tolerance; 1e-2 for floats of 16 bits), integers exactly, those of
8 bits within one step (a tie that is rounded to either side).

The exit status is 0 when all agree, 1 when something differs or is refused, 2 when the
command line or a file is wrong or a program is missing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INSTALL = "python3 -m venv ort && ort/bin/pip install onnxruntime onnx numpy"


class Failure(Exception):
    """Ends the check, with a message for the user."""

    status = 2


class Refused(Failure):
    """One of the two does not run the model."""

    status = 1


# --- Without other packages -----------------------------------------------------------


def parse_sizes(texts):
    """{"batch": 2} of ["batch=2,length=5"]."""
    sizes = {}
    for text in texts:
        for part in text.split(","):
            name, equals, size = part.rpartition("=")
            if not equals or not name or not size.isdigit():
                raise Failure(f"--size takes NAME=SIZE,..., not \"{text}\"")
            sizes[name] = int(size)
    return sizes


def parse_named(texts):
    """{"x": "x.npy"} of ["x=x.npy"]."""
    named = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name:
            raise Failure(f"--input takes NAME=FILE, not \"{text}\"")
        named[name] = path
    return named


def choose_dims(shapes, sizes, default=2):
    """Shapes with numbers, and the chosen size of each symbol.

    `shapes` has lists of numbers, names and None by input; an unnamed dim is called
    INPUT.DIM. Raises for a name in `sizes` that no input has.
    """
    chosen, dims = {}, {}
    for name, shape in shapes.items():
        dims[name] = []
        for i, dim in enumerate(shape):
            if isinstance(dim, int):
                dims[name].append(dim)
                continue
            symbol = dim or f"{name}.{i}"
            chosen[symbol] = sizes.get(symbol, default)
            dims[name].append(chosen[symbol])
    unknown = sorted(set(sizes) - set(chosen))
    if unknown:
        known = ", ".join(sorted(chosen)) or "none"
        raise Failure(f"no input has the size \"{unknown[0]}\"; sizes are: {known}")
    return dims, chosen


def batches(items, size):
    return [items[i:i + size] for i in range(0, len(items), size)]


def free_prefix(names):
    """A prefix that no name begins with."""
    prefix = "check"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def first_bad(results):
    """The first of (tensor, difference) that is bad; None if all agree."""
    return next(((name, found) for name, found in results if not found.good), None)


def is_behind_a_step(op_type, operand_error):
    """True for the real value of an 8-bit integer that differs by one step.

    Both programs may round a tie, or what is near one, to either side.
    """
    return op_type == "DequantizeLinear" and 0 < operand_error <= 1


def time_line(label, median_ms, other_ms=None):
    line = f"{label:14s}{median_ms:10.3f} ms"
    return line if not other_ms else f"{line}  ({median_ms / other_ms:.2f} x)"


# --- Tensors --------------------------------------------------------------------------


class Difference:
    """Two tensors compared: `error` is relative to the largest element."""

    def __init__(self, good, text, error=0.0):
        self.good = good
        self.text = text
        self.error = error


def compare(np, got, want, tolerance):
    """The Difference of two arrays."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return Difference(False, f"{got.dtype}{list(got.shape)} for "
                          f"{want.dtype}{list(want.shape)}", float("inf"))
    if want.size == 0:
        return Difference(True, "empty")
    if want.dtype.kind not in "fc":
        return compare_integers(np, got, want)
    g, w = got.astype("c16" if want.dtype.kind == "c" else "f8"), want.astype(
        "c16" if want.dtype.kind == "c" else "f8")
    with np.errstate(invalid="ignore"):
        apart = np.abs(g - w)
    same = (g == w) | (np.isnan(g) & np.isnan(w))
    apart = np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
    finite = np.abs(w[np.isfinite(w)])
    scale = max(float(finite.max()) if finite.size else 0.0, 1e-6)
    worst = np.unravel_index(int(apart.argmax()), apart.shape)
    error = float(apart[worst]) / scale
    limit = max(tolerance, 1e-2) if want.dtype.itemsize == 2 else tolerance
    text = (f"{error:.1e} of the largest element, at {[int(i) for i in worst]}: "
            f"{got[worst]} for {want[worst]}")
    return Difference(error <= limit, text if error > 0 else "equal", error)


def compare_integers(np, got, want):
    apart = np.abs(got.astype("i8").astype("f8") - want.astype("i8").astype("f8"))
    worst = np.unravel_index(int(apart.argmax()), apart.shape)
    steps = float(apart[worst])
    allowed = 1 if want.dtype.itemsize == 1 and want.dtype.kind != "b" else 0
    text = "equal" if steps == 0 else (f"{int((apart > 0).sum())} elements, at "
                                       f"{[int(i) for i in worst]}: {got[worst]} for "
                                       f"{want[worst]}")
    return Difference(steps <= allowed, text, steps)


def seeded(np, dtype, dims, rng):
    kind = np.dtype(dtype).kind
    if kind == "f":
        return rng.uniform(-1, 1, dims).astype(dtype)
    if kind in "iu":
        return rng.integers(0, 2, dims).astype(dtype)
    if kind == "b":
        return rng.integers(0, 2, dims).astype(bool)
    raise Failure(f"no inputs of {dtype} are made; give a file with --input")


# --- Models ---------------------------------------------------------------------------


class Model:
    """An ONNX file, its inputs and its nodes."""

    def __init__(self, onnx, np, path):
        self.onnx = onnx
        self.path = path
        try:
            self.proto = onnx.load(path)
        except Exception as error:  # Whatever the parser raises.
            raise Failure(f"{path}: not read: {first_line(error)}") from error
        graph = self.proto.graph
        given = {t.name for t in graph.initializer} | {
            t.values.name for t in graph.sparse_initializer}
        self.shapes, self.dtypes = {}, {}
        for value in graph.input:
            if value.name in given:
                continue
            if not value.type.HasField("tensor_type"):
                raise Failure(f"{path}: the input {value.name} is not a tensor")
            tensor = value.type.tensor_type
            self.shapes[value.name] = [
                d.dim_value if d.HasField("dim_value") else d.dim_param or None
                for d in tensor.shape.dim]
            self.dtypes[value.name] = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        self.outputs = [value.name for value in graph.output]

    def tensors(self):
        """(name, node) of each tensor that a node makes, in order."""
        proto = self.proto
        try:
            proto = self.onnx.shape_inference.infer_shapes(proto)
        except Exception:  # Types are unknown, then.
            pass
        other = {v.name for v in proto.graph.value_info
                 if not v.type.HasField("tensor_type")}
        return [(name, node) for node in self.proto.graph.node for name in node.output
                if name and name not in other and not node.op_type.startswith("Sequence")]

    def marked(self, names, path):
        """Writes a copy whose outputs are these tensors; the names of the outputs."""
        copy = self.onnx.ModelProto()
        copy.CopyFrom(self.proto)
        graph = copy.graph
        used = [n for node in graph.node for n in [*node.input, *node.output]]
        prefix = free_prefix(used)
        del graph.output[:]
        outputs = []
        for i, name in enumerate(names):
            output = f"{prefix}{i}"
            graph.node.append(self.onnx.helper.make_node("Identity", [name], [output],
                                                         name=output))
            graph.output.append(self.onnx.ValueInfoProto(name=output))
            outputs.append(output)
        large = copy.ByteSize() > 1 << 30
        self.onnx.save(copy, path, save_as_external_data=large)
        return outputs


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def read_tensor(onnx, np, path):
    if path.endswith(".npy"):
        return np.load(path)
    tensor = onnx.TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    return onnx.numpy_helper.to_array(tensor)


def make_inputs(onnx, np, model, args):
    """Arrays by name, and the sizes that were chosen."""
    inputs = {}
    if args.data:
        for i, name in enumerate(model.shapes):
            for suffix in (".npy", ".pb"):
                path = os.path.join(args.data, f"input_{i}{suffix}")
                if os.path.exists(path):
                    inputs[name] = read_tensor(onnx, np, path)
                    break
        if not inputs:
            raise Failure(f"{args.data}: no input_0.npy and no input_0.pb")
    for name, path in parse_named(args.input).items():
        if name not in model.shapes:
            raise Failure(f"the model has no input \"{name}\"; it has "
                          + ", ".join(model.shapes))
        inputs[name] = read_tensor(onnx, np, path)
    sizes = parse_sizes(args.size)
    for name, array in inputs.items():
        for dim, size in zip(model.shapes[name], array.shape):
            if isinstance(dim, str):
                sizes.setdefault(dim, size)
    dims, chosen = choose_dims(model.shapes, sizes)
    rng = np.random.default_rng(args.seed)
    for name in model.shapes:
        if name not in inputs:
            inputs[name] = seeded(np, model.dtypes[name], dims[name], rng)
    return inputs, chosen


# --- Both programs --------------------------------------------------------------------


class Ort:
    def __init__(self, ort, threads):
        self.ort = ort
        self.threads = threads

    def session(self, path):
        options = self.ort.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        try:
            return self.ort.InferenceSession(path, options,
                                             providers=["CPUExecutionProvider"])
        except Exception as error:  # Whatever it raises.
            raise Refused(f"ONNX Runtime refuses the model: {first_line(error)}") from error

    def run(self, path, inputs, names):
        try:
            return self.session(path).run(names, inputs)
        except Failure:
            raise
        except Exception as error:  # Whatever it raises.
            raise Refused("ONNX Runtime refuses the inputs (--size gives other sizes): "
                          + first_line(error)) from error

    def median_ms(self, path, inputs, seconds):
        session = self.session(path)
        session.run(None, inputs)
        times, end = [], time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < end:
            start = time.perf_counter()
            session.run(None, inputs)
            times.append(1e3 * (time.perf_counter() - start))
        return statistics.median(times)


class Weft:
    def __init__(self, np, folder, args):
        self.np = np
        self.args = args
        self.run_tool = os.path.join(args.bin, "run")
        self.bench_tool = os.path.join(args.bin, "bench", "main")
        self.folder = folder
        for tool in (self.run_tool, self.bench_tool):
            if not os.access(tool, os.X_OK):
                raise Failure(f"{tool} is missing: ./bazelw build //tools:run //tools:bench")

    def call(self, command):
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            said = done.stderr.strip() or f"exit status {done.returncode}"
            raise Refused(f"Weft: {said}")
        return done.stdout

    def flags(self, inputs):
        """The target and the inputs, which are written to files."""
        flags = [f"--target={self.args.target}", f"--threads={self.args.threads}"]
        if self.args.target != "cpu":
            flags.pop()
        if self.args.passes:
            flags.append(f"--passes={self.args.passes}")
        for i, (name, array) in enumerate(inputs.items()):
            path = os.path.join(self.folder, f"in_{i}.npy")
            if not os.path.exists(path):
                self.np.save(path, array)
            flags.append(f"--input={name}={path}")
        return flags

    def run(self, path, inputs, outputs):
        """Arrays of these outputs, whose names are names of files."""
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            self.call([self.run_tool, *self.flags(inputs), "-o", out, path])
            return [self.np.load(os.path.join(out, f"{name}.npy")) for name in outputs]

    def median_ms(self, path, inputs, seconds):
        text = self.call([self.bench_tool, *self.flags(inputs), "--nopeaks", "--format=json",
                          f"--seconds={seconds}", path])
        return json.loads(text[text.index("{"):])["median_ms"]


def compare_all(np, model, ort, weft, inputs, names, args):
    """(tensor, Difference) of each of these tensors."""
    path = os.path.join(weft.folder, "marked.onnx")
    outputs = model.marked(names, path)
    wanted = ort.run(path, inputs, outputs)
    got = weft.run(path, inputs, outputs)
    return [(name, compare(np, have, np.asarray(want), args.tolerance))
            for name, have, want in zip(names, got, wanted)]


def check_outputs(np, model, ort, weft, inputs, args):
    """Compares the outputs of the model as it is, fused as it ships."""
    results = compare_all(np, model, ort, weft, inputs, model.outputs, args)
    for name, found in results:
        print(f"output {name}: {'ok' if found.good else 'DIFFERS'}, {found.text}")
    return first_bad(results) is None


def check_tensors(np, model, ort, weft, inputs, args):
    """Compares all intermediate tensors; prints the first node that differs."""
    tensors = model.tensors()
    errors, worst = {}, (0.0, "")
    for batch in batches(tensors, args.batch):
        results = compare_all(np, model, ort, weft, inputs, [n for n, _ in batch], args)
        nodes = dict(batch)
        for name, found in results:
            errors[name] = found.error
            operand = nodes[name].input[0] if nodes[name].input else ""
            if is_behind_a_step(nodes[name].op_type, errors.get(operand, 0)):
                found.good = True
            if found.good:
                worst = max(worst, (found.error, name))
        bad = first_bad(results)
        if bad is None:
            continue
        node = nodes[bad[0]]
        print(f"first node that differs: {node.op_type} \"{node.name}\", "
              f"tensor \"{bad[0]}\": {bad[1].text}")
        for name in node.input:
            if name in errors:
                print(f"  its operand \"{name}\" is {errors[name]:.1e} apart")
        return False
    print(f"{len(tensors)} tensors of {len(model.proto.graph.node)} nodes agree; "
          f"largest error {worst[0]:.1e}" + (f" ({worst[1]})" if worst[1] else ""))
    return True


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--data", metavar="DIR", help="folder with input_0.npy or input_0.pb ...")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=SIZE,...",
                        help="sizes that the model leaves open; default: 2")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--passes", default="", help="default: those of the target")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=256, metavar="N",
                        help="intermediate tensors of one run")
    parser.add_argument("--outputs-only", action="store_true",
                        help="compare no intermediate tensors")
    parser.add_argument("--no-time", action="store_true", help="time neither")
    parser.add_argument("--seconds", type=float, default=1, help="of timing each")
    parser.add_argument("--bin", default=os.path.join(ROOT, "bazel-bin", "tools"), metavar="DIR",
                        help="Weft's programs; default: as built by Bazel")
    args = parser.parse_args(argv)
    if args.batch < 1:
        parser.error("--batch takes a number from 1 on")
    return args


def packages():
    """onnxruntime, onnx and numpy; a Failure that says how to get them."""
    try:
        # pylint: disable=import-outside-toplevel
        import numpy
        import onnx
        import onnx.shape_inference
        import onnxruntime
    except ImportError as error:
        raise Failure(f"{error.name} is not installed for {sys.executable}; "
                      f"{INSTALL}, then run this with ort/bin/python") from error
    return onnxruntime, onnx, numpy


def check(args):
    if not os.path.exists(args.model):
        raise Failure(f"cannot open {args.model}")
    ort_package, onnx, np = packages()
    model = Model(onnx, np, args.model)
    inputs, sizes = make_inputs(onnx, np, model, args)
    if sizes:
        print("sizes: " + ", ".join(f"{n}={s}" for n, s in sizes.items()))
    with tempfile.TemporaryDirectory(prefix="check_") as folder:
        ort, weft = Ort(ort_package, args.threads), Weft(np, folder, args)
        good = check_outputs(np, model, ort, weft, inputs, args)
        if not args.outputs_only:
            good = check_tensors(np, model, ort, weft, inputs, args) and good
        if not args.no_time:
            ort_ms = ort.median_ms(args.model, inputs, args.seconds)
            weft_ms = weft.median_ms(args.model, inputs, args.seconds)
            print(time_line("ONNX Runtime", ort_ms))
            print(time_line("Weft", weft_ms, ort_ms))
    return 0 if good else 1


def main(argv=None):
    args = parse_arguments(argv)
    try:
        return check(args)
    except Failure as failure:
        print(f"check.py: {failure}", file=sys.stderr)
        return failure.status


if __name__ == "__main__":
    sys.exit(main())
