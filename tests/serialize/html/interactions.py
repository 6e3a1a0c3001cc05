"""What people do with the page of `opt --emit=html`, each as a function of a Page.

The mouse and the keyboard are the browser's; what the page then shows is read from it. Functions
return without a word where the page has nothing to do it with: no trace, no plan, one pass.
"""

import base64
import time

# Where an item is in the browser's window: left, top, width, height.
PLACE = """(() => { const b = weft.scene.boxOf.get(%d), v = weft.painter.view,
  c = weft.painter.canvas.getBoundingClientRect();
  return [c.left + (b.x - v.x) * v.scale, c.top + (b.y - v.y) * v.scale,
          b.w * v.scale, b.h * v.scale]; })()"""

# Scrolls to an element, and gives its middle.
MIDDLE = """(() => { const e = document.querySelector(%r);
  e.scrollIntoView({block: 'nearest'});
  const r = e.getBoundingClientRect();
  return [r.left + r.width / 2, r.top + r.height / 2]; })()"""

# A node that is no group and is shown alone, with operands.
NODE = """(weft.scene.boxes.find(b => !weft.tree.isGroup(b.item) &&
  weft.connections.neighbours(b.item).inputs.length > 0) || {item: -1}).item"""


# Where the arrow of a line to an item is.
LINE_END = """(() => { const line = weft.scene.lines.find(l => l.to === %d && !l.back);
  if (line === undefined) return null;
  const v = weft.painter.view, c = weft.painter.canvas.getBoundingClientRect();
  const [x, y] = line.points.slice(-2);
  return [c.left + (x - v.x) * v.scale, c.top + (y - 4 - v.y) * v.scale]; })()"""

# The longest slice of a kernel with nodes that the timeline `view` shows: its middle, its number.
SLICE = """(() => { const view = weft.dock.pages.get('timeline').view, d = view.data;
  let best = -1, row = null;
  for (const r of view.flame.rows) for (const s of r.slices) {
    if (d.kernel[s] < 0 || weft.heat.items[d.kernel[s]].length === 0) continue;
    if (d.begin[s] < view.from || d.begin[s] + d.duration[s] > view.to) continue;
    if (best >= 0 && d.duration[s] <= d.duration[best]) continue;
    best = s;
    row = r;
  }
  view.canvas.parentElement.scrollTop = row.y - 60;
  const c = view.canvas.getBoundingClientRect();
  return [c.left + (d.begin[best] + d.duration[best] / 2 - view.from) * view.scale,
          c.top + row.y + 8, best]; })()"""


# The times of nodes by their keys, as the page has them and as the plan and the trace say.
HEAT = """(() => { const {plan, kernels, runs} = weft.data, expected = {}, shown = {};
  kernels.name.forEach((name, k) => {
    const steps = plan.name.map((_, s) => s)
        .filter(s => plan.name[s] === name && plan.sources[s] === kernels.sources[k]);
    for (const s of steps) {
      if (plan.control[s] === 1) continue;
      const us = kernels.us[k] * kernels.calls[k] / runs / steps.length;
      expected[plan.key[s]] = (expected[plan.key[s]] || 0) + us;
    }
  });
  const inside = item => weft.tree.isGroup(item) ?
      weft.tree.children[item].reduce((sum, child) => sum + weft.heat.time[child], 0) : 0;
  for (const item of weft.tree.order) {
    const own = weft.heat.time[item] - inside(item);
    if (weft.tree.key[item] >= 0 && own > 1e-6) shown[weft.tree.key[item]] = own;
  }
  const text = times => Object.entries(times).map(([key, us]) => key + ' ' + us.toFixed(4)).sort();
  return [text(shown), text(expected)]; })()"""

# What is alive in the plan over the last run: as the timeline has it, and by the plan.
LIVE = """(() => { const {live, flame} = weft.dock.pages.get('timeline').view, {plan} = weft.data;
  const {begin, end} = flame.runs[flame.runs.length - 1];
  const shown = live.bytes.filter((_, i) => live.times[i] >= begin && live.times[i] < end);
  return [shown, plan.live.filter(bytes => bytes >= 0)]; })()"""

# The height of the memory curve in the browser's window.
MEMORY = """(() => { const {canvas} = weft.dock.pages.get('timeline').view;
  canvas.parentElement.scrollTop = 0;
  return canvas.getBoundingClientRect().top + 40; })()"""


class Page:
    def __init__(self, browser):
        self.browser = browser
        self.eval = browser.eval
        self.failures = []

    def expect(self, holds, what):
        print("  %s  %s" % ("ok  " if holds else "FAIL", what))
        if not holds:
            self.failures.append(what)

    def wait(self):
        """Waits until the page shows the graph."""
        while self.eval("window.weft && weft.firstPaint || 0") == 0:
            time.sleep(0.02)

    def has(self, condition):
        return self.eval("Boolean(%s)" % condition)

    def text(self, selector):
        return self.eval("document.querySelector(%r).textContent" % selector)

    def click(self, selector):
        self.browser.click(*self.eval(MIDDLE % selector))

    def start(self):
        """A known state: the last snapshot, some groups open, nothing selected."""
        self.eval("document.getElementById('help').close(); weft.dock.show('');"
                  "weft.goTo(weft.data.snapshots.length - 1); weft.select(-1, false);"
                  "weft.scene.closeAll(); weft.begin(); document.activeElement.blur()")
        self.browser.frame()

    def node(self):
        """A node on the canvas, in the middle of it; None if there is none."""
        for _ in range(8):
            item = self.eval(NODE)
            if item >= 0:
                self.eval("weft.painter.centre(%d); weft.repaint()" % item)
                self.browser.frame()
                return item
            self.eval("weft.openLevel()")
        return None

    def place(self, item):
        return self.eval(PLACE % item)


def groups_open_and_close(page):
    page.eval("weft.closeAll()")
    closed = page.eval("weft.scene.boxes.length")
    group = page.eval("(weft.scene.boxes.find(b => weft.tree.isGroup(b.item)) || {item: -1}).item")
    if group < 0:
        return
    page.eval("weft.painter.centre(%d); weft.repaint()" % group)
    for wanted in (True, False):
        x, y, _, _ = page.place(group)
        page.browser.click(x + 8, y + 8)
        page.expect(page.eval("weft.scene.isOpen(%d)" % group) == wanted,
                    "the triangle of a group %s it" % ("opens" if wanted else "closes"))
    page.expect(page.eval("weft.scene.boxes.length") == closed, "and nothing of it stays")


def fit_shows_all(page):
    for _ in range(2):
        page.eval("weft.openLevel()")
    page.browser.key("f")
    page.expect(page.has(
        "(() => { const w = weft.painter.window(), s = weft.scene; return w.x0 <= 0 && w.y0 <= 0 &&"
        " w.x1 >= s.width && w.y1 >= s.height; })()"), "f shows the whole graph")


def wheel_zooms_and_drag_pans(page):
    call = page.browser.call
    before = page.eval("weft.painter.view.scale")
    call("Input.dispatchMouseEvent", type="mouseWheel", x=600, y=300, deltaX=0, deltaY=-300)
    page.browser.frame()
    x = page.eval("weft.painter.view.x")
    page.expect(page.eval("weft.painter.view.scale") > before, "the wheel zooms")
    call("Input.dispatchMouseEvent", type="mousePressed", x=600, y=300, button="left")
    call("Input.dispatchMouseEvent", type="mouseMoved", x=500, y=280, button="left", buttons=1)
    call("Input.dispatchMouseEvent", type="mouseReleased", x=500, y=280, button="left")
    page.browser.frame()
    page.expect(page.eval("weft.painter.view.x") > x, "dragging pans")


def fingers_pinch(page):
    def touch(kind, *points):
        page.browser.call("Input.dispatchTouchEvent", type=kind,
                          touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in points])

    scale = "weft.painter.view.scale"
    middle = "(v => v.x + 300 / v.scale)(weft.painter.view)"  # What is at 300 pixels of the canvas.
    left = page.eval("weft.painter.canvas.getBoundingClientRect().left")
    before, between = page.eval(scale), page.eval(middle)
    touch("touchStart", (0, (left + 250, 300)), (1, (left + 350, 300)))
    touch("touchMove", (0, (left + 200, 300)), (1, (left + 400, 300)))
    touch("touchEnd")
    page.browser.frame()
    page.expect(abs(page.eval(scale) / before - 2) < 0.01, "two fingers apart zoom in")
    page.expect(abs(page.eval(middle) - between) < 2, "about what lies between them")
    page.expect(page.has("weft.controls.pointer.drag === null"), "and nothing is dragged after")
    at = page.eval("weft.painter.view.x")
    touch("touchStart", (0, (left + 400, 300)))
    touch("touchMove", (0, (left + 300, 300)))
    touch("touchEnd")
    page.browser.frame()
    page.expect(page.eval("weft.painter.view.x") > at, "one finger pans")


def lines_have_labels(page):
    item = page.node()
    if item is None:
        return
    # The texts that are drawn; each label stands beside a line, in its own font.
    drawn = """(() => { const c = weft.painter.context, texts = [], fill = c.fillText.bind(c);
      c.fillText = (t, x, y) => { if (c.font.startsWith('9.5px')) texts.push(t); fill(t, x, y); };
      weft.painter.paint(); c.fillText = fill; return texts; })()"""
    page.eval("weft.painter.view.scale = 1; weft.painter.centre(%d)" % item)
    page.expect(page.eval(drawn) == [], "at scale 1 lines have no labels")
    page.eval("weft.select(%d, false)" % item)
    wanted = page.eval("weft.connections.neighbours(%d).inputs.length" % item)
    labels = page.eval(drawn)
    page.expect(wanted == 0 or any("[" in text for text in labels),
                "those of the selected node have their types: %s" % labels[:2])
    page.eval("weft.select(-1, false); weft.painter.view.scale = 2; weft.painter.centre(%d)" % item)
    page.expect(any("[" in text for text in page.eval(drawn)), "at scale 2 all have")


def search_finds(page):
    page.eval("weft.closeAll()")
    text = page.eval("weft.tree.label[weft.tree.order.findLast(i => weft.tree.key[i] >= 0)]")
    page.browser.key("/")
    page.browser.call("Input.insertText", text=text)
    page.browser.frame()
    page.expect(page.eval("weft.controls.hits.length") > 0, "a search for %r has hits" % text)
    page.browser.key("Enter", 13)
    page.expect(page.has("weft.painter.selected === weft.controls.hits[0]"), "Enter selects one")
    page.expect(page.has("weft.scene.boxOf.has(weft.painter.selected)"), "and shows it")
    page.browser.key("Escape", 27)


def click_selects(page):
    item = page.node()
    if item is None:
        return
    x, y, w, h = page.place(item)
    page.browser.click(x + w / 2, y + h / 2)
    page.expect(page.eval("weft.painter.selected") == item, "a click selects a node")
    text = page.text("#panel")
    page.expect("History" in text and "type" in text, "the panel shows it")
    page.expect(page.text("#live") != "", "and a screen reader is told")


def hovering_shows_types(page):
    item = page.node()
    if item is None:
        return
    x, y, w, h = page.place(item)
    page.browser.hover(x + w / 2, y + h / 2)
    kind = page.eval("weft.data.strings[weft.data.types["
                     "weft.snapshot.row[weft.tree.key[%d]]]] || ''" % item)
    page.expect(not page.has("document.getElementById('tip').hidden") and
                kind in page.text("#tip"), "a tooltip has the whole type of a node")
    line = page.eval(LINE_END % item)
    if line is not None:
        page.browser.hover(*line)
        page.expect("→" in page.text("#tip") and ":" in page.text("#tip"), "and so has an edge")


def paths_are_highlighted(page):
    item = page.node()
    if item is None:
        return
    page.eval("weft.select(%d, true)" % item)
    page.browser.key("a")
    page.expect(page.has("weft.painter.paths !== null && weft.painter.paths.up.size > 1"),
                "a highlights the paths to a node")
    page.browser.key("a")
    page.expect(page.has("weft.painter.paths === null"), "and once more ends that")
    other = page.eval("weft.connections.neighbours(%d).inputs[0]" % item)
    page.eval("weft.showBetween(%d)" % other)
    page.expect(page.has("weft.painter.paths.down.has(%d) && weft.painter.paths.down.has(%d)" %
                         (item, other)), "the paths between two nodes are highlighted")


def keys_walk_the_graph(page):
    item = page.node()
    if item is None:
        return
    page.eval("weft.select(%d, true)" % item)
    page.browser.key("ArrowUp", 38)
    operand = page.eval("weft.painter.selected")
    page.expect(page.has("weft.connections.neighbours(%d).inputs[0] === %d" % (item, operand)),
                "arrow up goes to an operand")
    page.browser.key("ArrowDown", 40)
    page.expect(page.has("weft.connections.neighbours(%d).users.includes(weft.painter.selected)" %
                         operand), "arrow down goes to a user")
    page.browser.key("Backspace", 8)
    page.browser.key("Escape", 27)
    page.expect(page.eval("weft.painter.selected") == -1, "Escape selects nothing")


def passes_follow_keys(page):
    if page.eval("weft.data.snapshots.length") < 2:
        return
    last = page.eval("weft.number")
    page.browser.key(",")
    page.expect(page.eval("weft.number") == last - 1, "a comma goes to the pass before")
    page.browser.key(".")
    page.expect(page.eval("weft.number") == last, "a full stop to the next")
    agrees = True
    for number in range(last + 1):
        page.eval("weft.goTo(%d)" % number)
        agrees &= page.has("['added', 'removed', 'changed'].every("
                           "n => weft.snapshot[n] === weft.counts[weft.number][n])")
    page.expect(agrees, "the list has the changes of each pass")


def changed_nodes_in_turn(page):
    busiest = page.eval("weft.counts.map(c => c.added + c.removed + c.changed)"
                        ".reduce((m, c, i, all) => c > all[m] ? i : m, 0)")
    if busiest == 0:
        return
    page.eval("weft.goTo(%d)" % busiest)
    page.browser.key("n")
    first = page.eval("weft.painter.selected")
    page.expect(page.has("weft.snapshot.change[weft.tree.key[%d]] > 0" % first),
                "n goes to a node that the pass changed")
    page.click("#next-change")
    page.click("#previous-change")
    page.expect(page.eval("weft.painter.selected") == first, "the buttons go forth and back")


def table_sorts_and_filters(page):
    if not page.has("weft.heat && !weft.data.errors"):
        return
    page.eval("weft.dock.show('kernels')")
    page.browser.frame()
    table = "weft.dock.pages.get('kernels').view"
    page.click("#dock th:nth-child(4) button")  # By calls.
    order = page.eval("document.querySelector('#dock th:nth-child(4)').ariaSort")
    page.expect(order == "descending", "a click on a head sorts the table")
    page.click("#dock th:nth-child(6) button")
    shares = page.eval("[...document.querySelectorAll('#dock td.share')]"
                       ".map(c => parseFloat(c.textContent))")
    page.expect(shares == sorted(shares, reverse=True), "the largest share comes first")
    name = page.eval("weft.data.kernels.name[weft.heat.order[0]]")
    page.click("#dock .filter")
    page.browser.call("Input.insertText", text=name)
    page.browser.frame()
    page.expect(0 < page.eval(table + ".rowOf.size") <= page.eval(table + ".count") and
                " a run" in page.text("#dock .bar"), "a filter keeps some rows, and their total")
    page.click("#dock tbody tr")
    kernel = page.eval("weft.kernel")
    page.expect(kernel >= 0, "a click on a row selects the kernel")
    items = page.eval("weft.heat.items[%d]" % kernel)
    page.expect(len(items) == 0 or page.eval("weft.painter.marked.size") == len(items),
                "its nodes are marked")
    page.expect(page.text("#dock td:nth-child(2)").startswith(name), "and the table stays")
    page.eval("document.querySelector('#dock tbody tr').focus()")
    page.browser.key("Enter", 13)
    page.expect(page.eval("weft.kernel") == kernel, "Enter selects the kernel of a row")


def timeline_leads_to_nodes(page):
    if not page.has("weft.heat") or not page.has("weft.data.timeline.begin.length"):
        return
    page.browser.key("t")
    page.expect(page.eval("weft.dock.shown") == "timeline", "t shows the timeline")
    x, y, s = page.eval(SLICE)
    page.browser.hover(x, y)
    page.expect("s" in page.text("#tip"), "a tooltip has the time of a slice")
    page.browser.click(x, y)
    kernel = page.eval("weft.kernel")
    page.expect(kernel == page.eval("weft.data.timeline.kernel[%d]" % s),
                "a click on a slice selects its kernel")
    if page.has("weft.data.timeline.memoryTime.length"):
        page.eval("weft.select(-1, false)")
        page.browser.click(x, page.eval(MEMORY))
        page.expect(page.eval("weft.kernel") == kernel,
                    "a click on the memory selects the kernel that runs then")
    item = page.eval("weft.heat.items[%d][0]" % kernel)
    page.expect(page.has("weft.painter.marked.has(%d)" % item), "and marks its node")
    page.eval("weft.select(%d, true)" % item)
    page.expect(page.has("weft.selectedKernels().has(%d)" % kernel),
                "a selected node highlights its slices")


def timeline_shows_what_is_alive(page):
    if not page.has("weft.heat") or not page.has("weft.data.plan.name.length"):
        return
    page.eval("weft.dock.show('timeline')")
    page.browser.frame()
    shown, plan = page.eval(LIVE)
    if max(plan, default=0) == 0:
        page.expect(page.has("weft.dock.pages.get('timeline').view.live.isEmpty"),
                    "a plan without temporaries has no curve of them")
        return
    page.expect(shown == plan,
                "the memory alive in a run is that of the plan's %d steps" % len(plan))
    x, y, _ = page.eval(SLICE)
    top = page.eval("(() => { const {canvas, flame} = weft.dock.pages.get('timeline').view;"
                    " canvas.parentElement.scrollTop = 0;"
                    " return canvas.getBoundingClientRect().top + flame.liveY; })()")
    page.browser.hover(x, top + 30)
    page.expect("alive in the plan" in page.text("#tip") and "during" in page.text("#tip"),
                "a tooltip has what is alive during a kernel")


def kernels_show_their_plan(page):
    if not page.has("weft.data.plan.name.length"):
        return
    step = page.eval("weft.data.plan.name.findIndex((n, s) => weft.data.plan.kernel[s] >= 0 &&"
                     " weft.tree.itemOfKey[weft.data.plan.key[s]] >= 0)")
    if step < 0:
        return
    page.eval("weft.select(weft.tree.itemOfKey[weft.data.plan.key[%d]], true)" % step)
    page.expect(page.eval("weft.data.plan.text[%d]" % step) in page.text("#panel"),
                "the panel has the step of a node in the plan")
    page.click("#panel summary")
    page.expect("kernel @" in page.text("#panel details pre"), "the kernel with its schedule")
    if page.has("document.querySelectorAll('#panel summary').length > 1"):
        page.eval("document.querySelectorAll('#panel summary')[1].click()")
        page.browser.frame()
        page.expect("extern \"C\"" in page.text("#panel"), "and its C++")


def heat_is_the_plans(page):
    if not page.has("weft.heat") or not page.has("weft.data.plan.name.length"):
        return
    shown, expected = page.eval(HEAT)
    page.expect(len(expected) > 0 and shown == expected,
                "the time of a node is that of its %d steps" % len(expected))
    page.eval("weft.controls.setColour('time')")
    page.browser.frame()
    page.expect(page.text("#legend") != "", "a legend has the scale")


def text_can_be_read(page):
    page.node()
    for theme in ("light", "dark"):
        page.eval("weft.theme.choose('%s')" % theme)
        for colour in page.eval("[...document.getElementById('colour').options].map(o => o.value)"):
            page.eval("weft.controls.setColour('%s')" % colour)
            page.browser.frame()
            least = page.eval("Math.min(...weft.scene.boxes.filter(b => !b.open).map("
                              "b => weft.painter.contrastOf(b.item)))")
            page.expect(least >= 4.5, "text on boxes has a contrast of %.1f (%s, %s)" %
                        (least, colour, theme))
    page.eval("weft.theme.choose('')")


def dark_follows_the_system(page):
    for value in ("dark", "light"):
        page.browser.call("Emulation.setEmulatedMedia",
                          features=[{"name": "prefers-color-scheme", "value": value}])
        page.browser.frame()
        page.expect(page.eval("document.documentElement.dataset.theme") == value,
                    "the page is %s where the system is" % value)
    page.browser.key("d")
    page.expect(page.eval("document.documentElement.dataset.theme") == "dark", "d changes it")
    page.eval("weft.theme.choose('')")


def link_keeps_the_view(page):
    item = page.node()
    page.eval("weft.openLevel()")
    if item is not None:
        page.eval("weft.select(%d, true)" % item)
    page.eval("weft.controls.setColour('op'); weft.painter.view.scale = 0.77")
    reload_keeps(page, "node")
    if page.has("weft.heat"):
        page.eval("weft.dock.show('kernels'); weft.showKernel(weft.heat.order[0])")
        reload_keeps(page, "kernel")
    page.eval("weft.controls.setColour('change')")


def reload_keeps(page, what):
    state = ("[weft.number, weft.painter.selected, weft.kernel, weft.painter.colour,"
             " weft.painter.view.scale, weft.dock.shown, [...weft.scene.open].sort().join()]")
    page.eval("weft.link.write()")
    before = page.eval(state)
    page.browser.call("Page.reload")
    page.wait()
    page.expect(page.eval(state) == before, "the address brings the view of a %s back: %s" %
                (what, page.eval("location.hash")[:60]))


def pictures_are_saved(page):
    svg = page.eval("weft.controls.exporter.svg()")
    count = page.eval("new DOMParser().parseFromString(weft.controls.exporter.svg(),"
                      " 'image/svg+xml').querySelectorAll('text').length")
    page.expect(svg.startswith("<svg ") and count >= page.eval("weft.scene.boxes.length"),
                "the SVG has the text of all boxes")
    data = page.eval("weft.controls.exporter.png().toDataURL('image/png')")
    png = base64.b64decode(data.split(",", 1)[1])
    page.expect(png[:8] == b"\x89PNG\r\n\x1a\n" and len(png) > 1000, "the PNG is one")


def minimap_moves_the_window(page):
    for _ in range(2):
        page.eval("weft.openLevel()")
    page.eval("weft.painter.look(3, false); weft.repaint()")
    page.browser.frame()
    if page.has("document.getElementById('minimap').hidden"):
        page.expect(False, "a minimap is shown where the window is small")
        return
    before = page.eval("weft.painter.view.y")
    x, y = page.eval(MIDDLE % "#minimap")
    for kind in ("mousePressed", "mouseReleased"):
        page.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1,
                          clickCount=1)
    page.browser.frame()
    page.expect(page.eval("weft.painter.view.y") > before, "a click on the minimap goes there")


def help_lists_the_keys(page):
    page.browser.key("?")
    page.expect(page.has("document.getElementById('help').open") and
                "search" in page.text("#key-list"), "? lists the keys")
    page.browser.key("Escape", 27)
    page.eval("document.getElementById('help').close()")


def narrow_windows_show_the_graph(page):
    page.browser.call("Emulation.setDeviceMetricsOverride", width=500, height=800,
                      deviceScaleFactor=1, mobile=False)
    page.browser.frame()
    width, height = page.eval("[weft.painter.canvas.clientWidth, weft.painter.canvas.clientHeight]")
    page.expect(width > 480 and height > 150, "500 pixels have a canvas of %d x %d" %
                (width, height))
    page.expect(page.eval("document.documentElement.scrollWidth") <= 500,
                "and nothing sticks out")
    page.browser.call("Emulation.clearDeviceMetricsOverride")
    page.browser.frame()


ALL = [groups_open_and_close, fit_shows_all, wheel_zooms_and_drag_pans, fingers_pinch,
       lines_have_labels, search_finds, click_selects, hovering_shows_types, paths_are_highlighted,
       keys_walk_the_graph, passes_follow_keys, changed_nodes_in_turn, table_sorts_and_filters,
       timeline_leads_to_nodes, timeline_shows_what_is_alive, kernels_show_their_plan,
       heat_is_the_plans, text_can_be_read, dark_follows_the_system, link_keeps_the_view,
       pictures_are_saved, minimap_moves_the_window, help_lists_the_keys,
       narrow_windows_show_the_graph]
