#!/usr/bin/env python3
"""Drives the HTML of `opt --emit=html` in headless Chromium.

    browser_check.py FILE.html [--shots=DIR] [--paint-ms=2000] [--chromium=PROGRAM]

Opens the file, measures the first paint and what takes time after it, then does what people do
(interactions.py) with the mouse and the keyboard. Fails on an error on the console, on any request
but the file's own, and when what the page shows is not what was asked for. Needs nothing but Python
and Chromium; browser_test.py runs it where Chromium is.
"""

import argparse
import json
import os
import pathlib
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
import interactions  # noqa: E402
from chromium import Browser  # noqa: E402

# The time from the start of an action to the second frame after it.
TIMED = """new Promise(r => { const t = performance.now(); %s; requestAnimationFrame(
  () => requestAnimationFrame(() => r(performance.now() - t))); })"""


def load(page, path, paint_ms):
    b = page.browser
    for domain in ["Page", "Runtime", "Network", "Log"]:
        b.call(domain + ".enable")
    b.call("Performance.enable", timeDomain="threadTicks")
    b.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
    page.wait()
    ms = b.eval("weft.firstPaint")
    metrics = {m["name"]: m["value"] for m in b.call("Performance.getMetrics")["metrics"]}
    cpu = 1000 * metrics["TaskDuration"]
    nodes, boxes = b.eval("[weft.tree.snapshot.order.length, weft.scene.boxes.length]")
    print("%s: %d nodes, %d boxes, first paint %.0f ms (%.0f ms of the page's own time)" %
          (path, nodes, boxes, ms, cpu))
    page.expect(ms < paint_ms, "first paint within %d ms" % paint_ms)


def measure(page):
    """Prints how long things take."""
    snapshots = page.eval("weft.data.snapshots.length")
    for what, action in [("close all", "weft.closeAll()"), ("open a level", "weft.openLevel()"),
                         ("open a level", "weft.openLevel()"), ("search", "weft.search('a')"),
                         ("first snapshot", "weft.goTo(0)"),
                         ("last snapshot", "weft.goTo(%d)" % (snapshots - 1)),
                         ("a frame", "weft.repaint()")]:
        print("  %6.0f ms  %s" % (page.eval(TIMED % action), what))


def interact(page, shots):
    for number, action in enumerate(interactions.ALL):
        print("%2d %s" % (number + 1, action.__name__.replace("_", " ")))
        page.start()
        action(page)
        if shots:
            page.browser.shot("%s-%02d-%s.png" % (shots, number + 1, action.__name__))


def check_quiet(page):
    events = page.browser.events
    requests = {e["params"]["request"]["url"] for e in events
                if e.get("method") == "Network.requestWillBeSent"}
    page.expect(len(requests) == 1, "no request but the file's: %s" % sorted(requests)[1:])
    errors = [e for e in events
              if e.get("method") == "Runtime.exceptionThrown" or
              (e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error")]
    page.expect(not errors, "no error: %s" % json.dumps(errors)[:800])


def check(path, chromium="chromium", paint_ms=2000, shots=None):
    """What failed, as texts."""
    browser = Browser(chromium, (1500, 950))
    try:
        page = interactions.Page(browser)
        load(page, path, paint_ms)
        if shots:
            shots = str(pathlib.Path(shots) / pathlib.Path(path).stem)
            browser.shot(shots + "-00-first.png")
        measure(page)
        interact(page, shots)
        check_quiet(page)
        return page.failures
    finally:
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--shots", help="write DIR/NAME-NN-what.png")
    parser.add_argument("--paint-ms", type=int, default=2000)
    parser.add_argument("--chromium", default="chromium")
    options = parser.parse_args()
    failures = check(options.file, options.chromium, options.paint_ms, options.shots)
    print("%d failures" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
