#!/usr/bin/env python3
"""Works pages of `opt --emit=html` in headless Chromium, where that is installed: one with a trace
and the plan, and one without. What is done with them is in interactions.py."""

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


def tool(name, *arguments):
    subprocess.run([os.path.join(ROOT, "tools", name), *arguments, MODEL], check=True)


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("SKIPPED: chromium is not installed", file=sys.stderr)
        return 0
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        trace, page, plain = (os.path.join(folder, name)
                              for name in ("trace.json.gz", "page.html", "plain.html"))
        tool("run", "--target=cpu", "--size=batch=1,sequence=8", "--repeat=5",
             "--profile=" + trace)
        tool("opt", "--target=cpu", "--emit=html", "--trace=" + trace, "-o", page)
        tool("opt", "--emit=html", "-o", plain)
        for path in (page, plain):
            # On a busy machine: times are measured by hand, and not tested.
            failures += browser_check.check(path, chromium, paint_ms=60000)
    for failure in failures:
        print("FAIL " + failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
