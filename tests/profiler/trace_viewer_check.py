#!/usr/bin/env python3
"""Opens a trace in the viewer of chrome://tracing, in headless Chromium.

    trace_viewer_check.py TRACE.json[.gz] [--viewer=DIR] [--shots=DIR] [--chromium=PROGRAM]

chrome://tracing itself where the browser has it. Debian's is built without its page: there DIR
holds the same viewer as a file, which torch-tb-profiler (PyPI) ships, and the polyfill of the web
components that it was written for:

    pip download --no-deps torch-tb-profiler && unzip -j torch_tb*.whl '*/trace_viewer_full.html'
    npm pack webcomponents.js@0.7.24 && tar xzf webcomponents*.tgz --strip-components=1

Checks that its importer takes every event without a warning, that spans, memory events, arrows and
counters are where they belong, then selects a kernel, reads its arguments from the panel, finds it
by a search, and zooms. Exit status 1 when something is not as it should be.
"""

import argparse
import gzip
import http.server
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from chromium import Browser  # noqa: E402

# As chrome://tracing puts the viewer into its page.
PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<script>window.__hideTraceViewerPolyfillWarning = true;</script>
<script src="webcomponents.js"></script>
<link rel="import" href="trace_viewer_full.html">
<style>html, body, #viewer { margin: 0; width: 100%; height: 100%; overflow: hidden; }</style>
<body><script>
document.addEventListener('WebComponentsReady', () => {
  const container = document.createElement('track-view-container');
  container.id = 'track_view_container';
  const viewer = document.createElement('tr-ui-timeline-view');
  viewer.track_view_container = container;
  Polymer.dom(viewer).appendChild(container);
  viewer.id = 'viewer';
  viewer.globalMode = true;
  Polymer.dom(document.body).appendChild(viewer);
  window.viewer = viewer;
});
</script>"""

IMPORT = """(async () => {
  const text = await (await fetch('trace.json')).text();
  const model = new tr.Model();
  await new tr.importer.Import(model).importTracesWithProgressDialog([text]);
  viewer.model = window.model = model;
  viewer.viewTitle = 'Weft';
  return model.importWarnings.map(w => w.type + ': ' + w.message);
})()"""

SCALE = "viewer.trackView.viewport.currentDisplayTransform.scaleX"

# What the viewer has made of the file.
COUNTS = """(() => {
  let slices = 0, instants = 0, counters = 0, threads = [];
  for (const thread of model.getAllThreads()) {
    const own = thread.sliceGroup.slices;
    for (const slice of own) slice.duration > 0 ? ++slices : ++instants;
    threads.push([thread.userFriendlyName, own.length]);
  }
  for (const process of model.getAllProcesses()) {
    instants += process.instantEvents ? process.instantEvents.length : 0;
    counters += Object.keys(process.counters).length;
  }
  return {slices, instants, counters, arrows: model.flowEvents.length, threads,
          processes: model.getAllProcesses().map(p => p.userFriendlyName)};
})()"""


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def serve(folder):
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *args: Files(*args, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def lay_out(folder, viewer, trace):
    """The page, the viewer and the trace in one folder."""
    (folder / "index.html").write_text(PAGE)
    (folder / "trace.json").write_text(json.dumps(trace))
    for name in ["trace_viewer_full.html", "webcomponents.js"]:
        shutil.copy(pathlib.Path(viewer) / name, folder / name)


class Check:
    def __init__(self, browser, shots):
        self.browser = browser
        self.shots = shots
        self.failures = 0

    def expect(self, holds, what):
        print("  %s  %s" % ("ok  " if holds else "FAIL", what))
        self.failures += not holds

    def shot(self, name):
        if self.shots:
            self.browser.shot(str(pathlib.Path(self.shots) / ("tracing-%s.png" % name)))

    def wait(self, expression, seconds=30):
        end = time.time() + seconds
        while time.time() < end:
            if self.browser.eval(expression):
                return True
            time.sleep(0.1)
        return False

    def has_own_page(self):
        """Whether the browser has chrome://tracing."""
        self.browser.call("Page.navigate", url="chrome://tracing")
        time.sleep(2)
        return self.browser.eval("location.protocol === 'chrome:' && typeof tr !== 'undefined'")

    def import_trace(self, trace):
        warnings = self.browser.eval(IMPORT)
        self.expect(not warnings, "the importer warns of nothing: %s" % warnings[:5])
        counts = self.browser.eval(COUNTS)
        print("  %s" % json.dumps(counts))
        events = trace["traceEvents"]
        spans = [e for e in events if e["ph"] == "X" and e.get("dur", 0) > 0]
        self.expect(counts["slices"] == len(spans),
                    "%d spans in the file, %d in the viewer" % (len(spans), counts["slices"]))
        starts = sum(e["ph"] == "s" for e in events)
        self.expect(counts["arrows"] == starts, "%d arrows" % starts)
        names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.expect(names <= {name for name, _ in counts["threads"]}, "threads are named")
        self.wait("viewer.trackView && %s > 0" % SCALE)
        self.browser.eval("viewer.trackView.setInitialViewport_()")
        time.sleep(1)
        self.shot("all")

    def kernel(self, trace):
        """Selects the longest kernel, as a click on it does, and reads the panel."""
        kernels = [e for e in trace["traceEvents"]
                   if e["ph"] == "X" and "Input Dims" in e.get("args", {})]
        if not kernels:
            return
        longest = max(kernels, key=lambda e: e["dur"])
        name = json.dumps(longest["name"])
        found = self.browser.eval("""(() => {
          const all = [];
          for (const t of model.getAllThreads()) all.push(...t.sliceGroup.slices);
          const own = all.filter(s => s.title === %s && s.args['Input Dims']);
          const longest = own.reduce((a, b) => a.duration > b.duration ? a : b);
          viewer.brushingStateController.changeSelectionFromRequestSelectionChangeEvent(
              new tr.model.EventSet([longest]));
          viewer.trackView.zoomToSelection();
          return own.length; })()""" % name)
        self.expect(found > 0, "the kernel %s is there %d times" % (name, found))
        text = """(function all(node) {
          let text = node.nodeType === 3 ? node.textContent : '';
          if (node.tagName === 'STYLE' || node.tagName === 'SCRIPT') return '';
          for (let c = node.firstChild; c; c = c.nextSibling) text += ' ' + all(c);
          if (node.shadowRoot) text += ' ' + all(node.shadowRoot);
          return text; })(document.querySelector('tr-ui-timeline-view'))"""
        time.sleep(1)
        panel = self.browser.eval(text)
        wanted = [longest["name"], "Input Dims", "Bytes moved", "kernel_backend"]
        wanted += [key for key in ["Provenance", "Rules", "Flops"] if key in longest["args"]]
        for key in wanted:
            self.expect(key in panel, "the panel of the selection has %r" % key)
        for source in longest["args"].get("Provenance", [])[:1]:
            self.expect(source in panel, "and the source node %r" % source)
        self.shot("kernel")

    def search(self, trace):
        spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        passes = [e for e in spans if e.get("cat") == "compiler_pass"]
        name = (passes or spans)[0]["name"]
        hits = self.browser.eval("""new Promise(r => {
          const find = viewer.findCtl_.controller;
          find.startFiltering(%s).then(() => r(find.filterHits.length)); })""" % json.dumps(name))
        self.expect(hits > 0, "a search for %r has %d hits" % (name, hits))
        self.shot("search")

    def zoom(self):
        before = self.browser.eval(SCALE)
        self.browser.click(700, 300)
        for kind in ["keyDown", "char", "keyUp"]:
            self.browser.call("Input.dispatchKeyEvent", type=kind, key="w", code="KeyW", text="w",
                              windowsVirtualKeyCode=87)
        self.expect(self.wait("%s > %r" % (SCALE, before), 5), "w zooms in")
        self.shot("zoomed")


def run(check, options, trace, folder):
    for domain in ["Page", "Runtime", "Log"]:
        check.browser.call(domain + ".enable")
    if check.has_own_page():
        print("in chrome://tracing")
        check.expect(False, "chrome://tracing is there; this script knows the viewer's file only")
        return
    print("this browser has no chrome://tracing; the viewer of %s" % options.viewer)
    if options.viewer is None:
        check.expect(False, "--viewer says where the viewer is")
        return
    lay_out(folder, options.viewer, trace)
    server = serve(str(folder))
    check.browser.call("Page.navigate",
                       url="http://127.0.0.1:%d/index.html" % server.server_address[1])
    if not check.wait("!!window.viewer"):
        check.expect(False, "the viewer starts")
        return
    check.import_trace(trace)
    check.kernel(trace)
    check.search(trace)
    check.zoom()
    thrown = [e for e in check.browser.events if e.get("method") == "Runtime.exceptionThrown"]
    check.expect(not thrown, "no exception: %s" % json.dumps(thrown)[:600])
    server.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("--viewer")
    parser.add_argument("--shots")
    parser.add_argument("--chromium", default="chromium")
    options = parser.parse_args()
    opener = gzip.open if options.trace.endswith(".gz") else open
    with opener(options.trace, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    browser = Browser(options.chromium, (1500, 950), {"internal_only_uis_enabled": True})
    try:
        check = Check(browser, options.shots)
        with tempfile.TemporaryDirectory() as folder:
            run(check, options, trace, pathlib.Path(folder))
    finally:
        browser.close()
    print("%d failures" % check.failures)
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
