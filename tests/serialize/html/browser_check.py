#!/usr/bin/env python3
"""Drives the HTML of `opt --emit=html` in headless Chromium.

    browser_check.py FILE.html [--shots=DIR] [--paint-ms=2000] [--chromium=PROGRAM]

Opens the file, measures the first paint, then works the page as a person does, with
the mouse and the keyboard: opens and closes groups, searches, moves the slider,
clicks a node, zooms and pans. Fails on an error on the console, on any request but
the file's own, and when what the page shows is not what was asked for. Needs
nothing but Python and Chromium; not part of the test suite.
"""

import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from chromium import Browser  # noqa: E402

# Where item is on the page.
PLACE = """(() => { const b = weft.scene.boxOf.get(%d), v = weft.painter.view,
  c = weft.painter.canvas.getBoundingClientRect();
  return [c.left + (b.x - v.x) * v.scale, c.top + (b.y - v.y) * v.scale,
          b.w * v.scale, b.h * v.scale]; })()"""


class Check:
    def __init__(self, browser, shots):
        self.browser = browser
        self.shots = shots
        self.failures = 0
        self.shot_count = 0

    def expect(self, holds, what):
        print("  %s  %s" % ("ok  " if holds else "FAIL", what))
        self.failures += not holds

    def shot(self, name):
        self.shot_count += 1
        if self.shots:
            self.browser.shot("%s-%d-%s.png" % (self.shots, self.shot_count, name))

    def timed(self, what, expression):
        ms = self.browser.eval(
            "new Promise(r => { const t = performance.now(); %s; requestAnimationFrame("
            "() => requestAnimationFrame(() => r(performance.now() - t))); })" % expression)
        print("  %6.0f ms  %s" % (ms, what))

    def load(self, path, paint_ms):
        b = self.browser
        for domain in ["Page", "Runtime", "Network", "Log"]:
            b.call(domain + ".enable")
        b.call("Performance.enable", timeDomain="threadTicks")
        b.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        while b.eval("window.weft && weft.firstPaint || 0") == 0:
            time.sleep(0.02)
        ms = b.eval("weft.firstPaint")
        metrics = {m["name"]: m["value"] for m in b.call("Performance.getMetrics")["metrics"]}
        cpu = 1000 * metrics["TaskDuration"]
        nodes, boxes = b.eval("[weft.tree.snapshot.order.length, weft.scene.boxes.length]")
        print("%s: %d nodes, %d boxes, first paint %.0f ms (%.0f ms of the page's own time)" %
              (path, nodes, boxes, ms, cpu))
        self.expect(ms < paint_ms, "first paint within %d ms" % paint_ms)
        self.shot("first")

    def groups(self):
        b = self.browser
        self.timed("close all", "weft.closeAll()")
        closed = b.eval("weft.scene.boxes.length")
        self.shot("closed")
        group = b.eval("(weft.scene.boxes.find(b => weft.tree.isGroup(b.item)) || {item: -1}).item")
        if group >= 0:
            b.eval("weft.painter.centre(%d); weft.repaint()" % group)
            x, y, w, h = b.eval(PLACE % group)
            b.click(x + 8, y + 8)
            self.expect(b.eval("weft.scene.isOpen(%d)" % group), "the triangle opens a group")
            self.expect(b.eval("weft.scene.boxes.length") > closed, "and shows what is in it")
            x, y, w, h = b.eval(PLACE % group)
            b.click(x + 8, y + 8)
            self.expect(b.eval("weft.scene.boxes.length") == closed, "and closes it")
        for _ in range(3):
            self.timed("open a level", "weft.openLevel()")
        print("             %d boxes" % b.eval("weft.scene.boxes.length"))
        b.eval("weft.painter.fit(); weft.repaint()")
        self.shot("open")

    def search(self, text):
        b = self.browser
        b.eval("weft.closeAll()")
        if text is None:
            text = b.eval("weft.tree.label[weft.tree.order.findLast(i => weft.tree.key[i] >= 0)]")
        b.eval("document.getElementById('search').focus()")
        b.call("Input.insertText", text=text)
        b.frame()
        hits = b.eval("weft.controls.hits.length")
        self.expect(hits > 0, "a search for %r has %d hits" % (text, hits))
        for kind in ["keyDown", "keyUp"]:
            b.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter",
                   windowsVirtualKeyCode=13)
        b.frame()
        self.expect(b.eval("weft.painter.selected === weft.controls.hits[0]"),
                    "Enter selects the first")
        self.expect(b.eval("weft.scene.boxOf.has(weft.painter.selected)"), "and shows it")
        self.shot("search")
        self.timed("search", "weft.search('a')")

    def slider(self):
        b = self.browser
        steps = b.eval("weft.data.snapshots.length")
        for number in range(steps):
            self.timed("snapshot %d" % number, "weft.goTo(%d)" % number)
            agrees = b.eval(
                "JSON.stringify([weft.snapshot.added, weft.snapshot.removed,"
                " weft.snapshot.changed]) === JSON.stringify([weft.counts[%d].added,"
                " weft.counts[%d].removed, weft.counts[%d].changed])" % (number, number, number))
            self.expect(agrees, "its changes are those of the list")
        busiest = b.eval(
            "weft.counts.map(c => c.added + c.removed + c.changed)"
            ".reduce((m, c, i, all) => c > all[m] ? i : m, 0)")
        b.eval("weft.closeAll(); weft.goTo(%d); weft.scene.openFirst(); weft.refresh();"
               "weft.painter.fit()" % busiest)
        self.shot("changes")

    def node(self):
        b = self.browser
        b.eval("weft.closeAll(); weft.goTo(weft.data.snapshots.length - 1);"
               "weft.scene.openFirst(); weft.refresh()")
        item = b.eval(
            "(weft.scene.boxes.find(b => !weft.tree.isGroup(b.item) && weft.data.story["
            "weft.snapshot.row[weft.tree.key[b.item]]] >= 0) || weft.scene.boxes.find("
            "b => !weft.tree.isGroup(b.item)) || {item: -1}).item")
        if item < 0:
            return
        b.eval("weft.painter.centre(%d); weft.repaint()" % item)
        b.frame()
        x, y, w, h = b.eval(PLACE % item)
        b.click(x + w / 2, y + h / 2)
        self.expect(b.eval("weft.painter.selected") == item, "a click selects a node")
        text = b.eval("document.getElementById('panel').textContent")
        self.expect("History" in text and "type" in text, "the panel shows it")
        self.shot("node")

    def mouse(self):
        b = self.browser
        before = b.eval("[weft.painter.view.scale, weft.painter.view.x]")
        b.call("Input.dispatchMouseEvent", type="mouseWheel", x=600, y=400, deltaX=0, deltaY=-300)
        b.frame()
        zoomed = b.eval("[weft.painter.view.scale, weft.painter.view.x]")
        self.expect(zoomed[0] > before[0], "the wheel zooms")
        b.call("Input.dispatchMouseEvent", type="mousePressed", x=600, y=400, button="left")
        b.call("Input.dispatchMouseEvent", type="mouseMoved", x=500, y=380, button="left",
               buttons=1)
        b.call("Input.dispatchMouseEvent", type="mouseReleased", x=500, y=380, button="left")
        b.frame()
        self.expect(b.eval("weft.painter.view.x") > zoomed[1], "dragging pans")
        self.timed("a frame", "weft.repaint()")

    def heat(self):
        b = self.browser
        if not b.eval("weft.heat !== null"):
            return
        b.eval("weft.closeAll(); weft.scene.openFirst(); weft.painter.colour = 'time';"
               "weft.refresh(); weft.painter.fit(); weft.select(-1)")
        self.shot("heat")
        kernel = b.eval("weft.heat.kernels.find(k => weft.heat.items[k].length > 0)")
        self.expect(kernel is not None, "a kernel has nodes")
        b.eval("weft.showKernel(%d)" % kernel)
        self.expect(b.eval("weft.painter.marked.size") > 0, "a kernel leads to its nodes")
        self.shot("kernel")
        b.eval("weft.select(weft.heat.items[%d][0], true)" % kernel)
        self.expect("Kernels" in b.eval("document.getElementById('panel').textContent"),
                    "and a node to its kernels")
        self.expect(abs(b.eval("weft.heat.time[0] / weft.heat.total") - 1) < 1e-6 or
                    b.eval("weft.heat.items.some(i => i.length === 0)"),
                    "the times of all nodes add up")

    def quiet(self):
        requests = [e["params"]["request"]["url"] for e in self.browser.events
                    if e.get("method") == "Network.requestWillBeSent"]
        self.expect(len(requests) == 1, "no request but the file's: %s" % requests[1:])
        errors = [e for e in self.browser.events
                  if e.get("method") == "Runtime.exceptionThrown" or
                  (e.get("method") == "Log.entryAdded" and
                   e["params"]["entry"]["level"] == "error")]
        self.expect(not errors, "no error: %s" % json.dumps(errors)[:800])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--shots", help="write DIR/NAME-N-what.png")
    parser.add_argument("--paint-ms", type=int, default=2000)
    parser.add_argument("--search", help="what to search for; default: the last node")
    parser.add_argument("--chromium", default="chromium")
    options = parser.parse_args()
    shots = None
    if options.shots:
        shots = str(pathlib.Path(options.shots) / pathlib.Path(options.file).stem)
    browser = Browser(options.chromium, (1500, 950))
    try:
        check = Check(browser, shots)
        check.load(options.file, options.paint_ms)
        check.groups()
        check.search(options.search)
        check.slider()
        check.node()
        check.mouse()
        check.heat()
        check.quiet()
    finally:
        browser.close()
    print("%d failures" % check.failures)
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
