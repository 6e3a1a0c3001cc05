#!/usr/bin/env python3
"""What tools/check.py makes of command lines, sizes and tensors; and, where onnxruntime
is installed (for python3, or for the interpreter that $WEFT_ORT_PYTHON names), whole runs."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import check  # pylint: disable=wrong-import-position

# Two branches, one of them through a node whose result Weft is told wrongly by --fault.
MODEL = """
import sys, numpy as np, onnx
from onnx import helper, numpy_helper, TensorProto
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
y = helper.make_tensor_value_info("y/out", TensorProto.FLOAT, ["batch", 4])
w = numpy_helper.from_array(np.arange(16, dtype="f4").reshape(4, 4) / 8, "w")
nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="fc"),
         helper.make_node("Tanh", ["a"], ["b"], name="act"),
         helper.make_node("Shape", ["b"], ["s"], name="shape"),
         helper.make_node("Add", ["b", "x"], ["y/out"], name="residual")]
graph = helper.make_graph(nodes, "g", [x], [y], [w])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.save(model, sys.argv[1])
"""


def ort_python():
    """An interpreter that has onnxruntime, or None."""
    for python in (os.environ.get("WEFT_ORT_PYTHON"), sys.executable):
        if python and subprocess.run([python, "-c", "import onnxruntime, onnx, numpy"],
                                     capture_output=True, check=False).returncode == 0:
            return python
    return None


def numpy_or_skip():
    try:
        import numpy  # pylint: disable=import-outside-toplevel
        return numpy
    except ImportError:
        raise unittest.SkipTest("numpy is not installed") from None


class FlagsTest(unittest.TestCase):
    def test_sizes(self):
        self.assertEqual(check.parse_sizes(["a=2,b.0=5", "a=3"]), {"a": 3, "b.0": 5})
        for bad in ("a", "=3", "a=x", "a=-1"):
            with self.assertRaisesRegex(check.Failure, "--size takes"):
                check.parse_sizes([bad])

    def test_named(self):
        self.assertEqual(check.parse_named(["x=a=b.npy"]), {"x": "a=b.npy"})
        with self.assertRaisesRegex(check.Failure, "--input takes"):
            check.parse_named(["x.npy"])

    def test_dims(self):
        shapes = {"x": ["batch", 3, None], "y": ["batch"]}
        dims, chosen = check.choose_dims(shapes, {"batch": 5})
        self.assertEqual(dims, {"x": [5, 3, 2], "y": [5]})
        self.assertEqual(chosen, {"batch": 5, "x.2": 2})
        with self.assertRaisesRegex(check.Failure, "size \"bath\"; sizes are: batch, x.2"):
            check.choose_dims(shapes, {"bath": 1})

    def test_batches_keep_the_order(self):
        self.assertEqual(check.batches([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]])
        self.assertEqual(check.batches([], 2), [])

    def test_prefix(self):
        self.assertEqual(check.free_prefix(["a"]), "check")
        self.assertEqual(check.free_prefix(["check7"]), "check_")

    def test_first_bad(self):
        good, bad = check.Difference(True, "equal"), check.Difference(False, "apart")
        self.assertEqual(check.first_bad([("a", good), ("b", bad), ("c", bad)])[0], "b")
        self.assertIsNone(check.first_bad([("a", good)]))

    def test_steps(self):
        self.assertTrue(check.is_behind_a_step("DequantizeLinear", 1.0))
        self.assertFalse(check.is_behind_a_step("DequantizeLinear", 0.0))
        self.assertFalse(check.is_behind_a_step("DequantizeLinear", 2.0))
        self.assertFalse(check.is_behind_a_step("Add", 1.0))

    def test_missing_packages(self):
        code = ("import sys; sys.modules['onnxruntime'] = None\n"
                f"sys.path.insert(0, {os.path.join(ROOT, 'tools')!r}); import check\n"
                "sys.exit(check.main([sys.argv[1]]))")
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            done = subprocess.run([sys.executable, "-c", code, file.name], capture_output=True,
                                  text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("pip install onnxruntime onnx numpy", done.stderr)

    def test_no_such_model(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(check.main(["/no/such.onnx"]), 2)
        self.assertEqual(err.getvalue(), "check.py: cannot open /no/such.onnx\n")


class TensorsTest(unittest.TestCase):
    def setUp(self):
        self.np = numpy_or_skip()

    def compare(self, got, want, dtype="f4", tolerance=1e-4):
        np = self.np
        return check.compare(np, np.array(got, dtype), np.array(want, dtype), tolerance)

    def test_floats(self):
        inf, nan = float("inf"), float("nan")
        self.assertTrue(self.compare([1, 100.001], [1, 100]).good)
        self.assertFalse(self.compare([1, 100.1], [1, 100]).good)
        # The largest element is the measure, so a small one may be further off.
        self.assertTrue(self.compare([1.005, 100], [1, 100]).good)
        self.assertTrue(self.compare([inf, nan, -inf], [inf, nan, -inf]).good)
        for got, want in (([inf], [1]), ([nan], [1]), ([1], [nan]), ([inf], [-inf]), ([1], [inf])):
            self.assertFalse(self.compare(got, want).good, (got, want))
        self.assertIn("at [1]: 3.0 for 2.0", self.compare([1, 3], [1, 2]).text)
        self.assertTrue(self.compare([1.005], [1], "f2").good)
        self.assertTrue(self.compare([], []).good)

    def test_integers(self):
        self.assertTrue(self.compare([5, 6], [5, 6], "i8").good)
        self.assertFalse(self.compare([5, 7], [5, 6], "i8").good)
        self.assertTrue(self.compare([5, 7], [5, 6], "u1").good)
        self.assertFalse(self.compare([0, 255], [0, 0], "u1").good)
        self.assertFalse(self.compare([True], [False], "?").good)

    def test_types(self):
        np = self.np
        found = check.compare(np, np.zeros(2, "f4"), np.zeros((2, 1), "f4"), 1)
        self.assertFalse(found.good)
        self.assertEqual(found.text, "float32[2] for float32[2, 1]")

    def test_seeded(self):
        np = self.np
        rng = np.random.default_rng(1)
        floats = check.seeded(np, np.float32, [64], rng)
        self.assertTrue((abs(floats) <= 1).all() and floats.std() > 0.1)
        self.assertEqual(set(check.seeded(np, np.int64, [64], rng)), {0, 1})
        with self.assertRaisesRegex(check.Failure, "--input"):
            check.seeded(np, np.dtype("c8"), [2], rng)


class RunsTest(unittest.TestCase):
    """Both programs on a small model."""

    def setUp(self):
        self.python = ort_python()
        if self.python is None:
            self.skipTest("onnxruntime is not installed, and $WEFT_ORT_PYTHON names no "
                          "interpreter that has it")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.model = os.path.join(self.folder, "model.onnx")
        subprocess.run([self.python, "-c", MODEL, self.model], check=True)
        self.bin = os.environ.get("WEFT_BIN") or os.path.join(
            os.environ.get("TEST_SRCDIR", ""), os.environ.get("TEST_WORKSPACE", ""), "tools")

    def check(self, *flags):
        return subprocess.run(
            [self.python, os.path.join(ROOT, "tools", "check.py"), f"--bin={self.bin}", *flags,
             self.model], capture_output=True, text=True, check=False)

    def test_agrees(self):
        done = self.check("--size=batch=3", "--batch=2", "--seconds=0.01")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("sizes: batch=3\noutput y/out: ok", done.stdout)
        self.assertIn("4 tensors of 4 nodes agree", done.stdout)
        self.assertRegex(done.stdout, r"Weft +[0-9.]+ ms")

    def test_names_the_first_node_that_differs(self):
        # A tool that gives a wrong result for tanh and what follows.
        fake = types.SimpleNamespace(bin=os.path.join(self.folder, "bin"))
        os.makedirs(os.path.join(fake.bin, "bench"))
        with open(os.path.join(fake.bin, "run"), "w", encoding="utf-8") as file:
            file.write(f"#!{self.python}\n" + FAKE_RUN.replace("TOOL", repr(
                os.path.join(self.bin, "run"))))
        os.symlink(os.path.join(self.bin, "bench", "main"),
                   os.path.join(fake.bin, "bench", "main"))
        os.chmod(os.path.join(fake.bin, "run"), 0o755)
        self.bin = fake.bin
        done = self.check("--no-time")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("first node that differs: Tanh \"act\", tensor \"b\"", done.stdout)
        self.assertIn("its operand \"a\" is", done.stdout)

    def test_refusals(self):
        done = self.check("--passes=no_such_pass", "--no-time")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("check.py: Weft: ", done.stderr)
        self.assertEqual(self.check("--size=bath=1").returncode, 2)
        self.assertEqual(self.check("--input=z=z.npy").returncode, 2)


# Weft's tool, whose outputs but the first are then changed.
FAKE_RUN = """
import subprocess, sys, numpy as np, os
done = subprocess.run([TOOL] + sys.argv[1:])
out = sys.argv[sys.argv.index("-o") + 1]
for file in os.listdir(out):
    if file != "check0.npy":
        path = os.path.join(out, file)
        array = np.load(path)
        np.save(path, array + np.ones(1, array.dtype))
sys.exit(done.returncode)
"""


if __name__ == "__main__":
    # A reader of the log sees why tests were left out.
    result = unittest.main(exit=False, verbosity=2).result
    for test, reason in result.skipped:
        print(f"SKIPPED {test.id()}: {reason}", file=sys.stderr)
    sys.exit(not result.wasSuccessful())
