#!/usr/bin/env python3
"""Works pages of `opt --emit=html` in headless Chromium, where that is installed: with a trace and
the plan, with a loop, and with the graph alone. What is done with them is in interactions.py."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, HERE)
import browser_check  # pylint: disable=wrong-import-position  # noqa: E402

MODEL = os.path.join(ROOT, "examples", "transformer.onnx")

# The scan of a plan runs the steps of its body: its own time is theirs.
LOOP = """func @main(%h: f32[2, 6], %xs: f32[7, 2, 6], %w: f32[6, 6]) -> (f32[2, 6], f32[7, 2]) {
  %0, %1 = scan(%h, %xs, %w, num_carried=1, num_scanned=1) : f32[2, 6], f32[7, 2]  loc("scan") {
    body(%a: f32[2, 6], %x: f32[2, 6], %b: f32[6, 6]) -> (f32[2, 6], f32[2]) {
      %0 = matmul(%a, %b) : f32[2, 6]  loc("matmul")
      %1 = add(%0, %x) : f32[2, 6]  loc("add")
      %2 = sum(%1, dim=[1]) : f32[2]  loc("sum")
      return %1, %2
    }
  }
  return %0, %1
}
"""


def tool(name, *arguments):
    subprocess.run([os.path.join(ROOT, "tools", name), *arguments], check=True)


def traced_page(folder, name, model, *run_flags):
    """A page with a trace of a few runs of the model, and the plan."""
    trace, page = (os.path.join(folder, name + suffix) for suffix in (".json.gz", ".html"))
    tool("run", "--target=cpu", "--repeat=5", "--profile=" + trace, *run_flags, model)
    tool("opt", "--target=cpu", "--emit=html", "--trace=" + trace, "-o", page, model)
    return page


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("SKIPPED: chromium is not installed", file=sys.stderr)
        return 0
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        loop, plain = (os.path.join(folder, name) for name in ("loop.weft", "plain.html"))
        with open(loop, "w", encoding="utf-8") as file:
            file.write(LOOP)
        tool("opt", "--emit=html", "-o", plain, MODEL)
        for path in (traced_page(folder, "model", MODEL, "--size=batch=1,sequence=8"),
                     traced_page(folder, "loop", loop), plain):
            # On a busy machine: times are measured by hand, and not tested.
            failures += browser_check.check(path, chromium, paint_ms=60000)
    for failure in failures:
        print("FAIL " + failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
