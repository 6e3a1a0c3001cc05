// The state of the page and the actions on it. The functions in `watchers` are called after each
// change; the objects in `overlays` are painted with the canvas.

class App {
  constructor(data) {
    this.data = data;
    this.counts = countChanges(data);
    this.scene = new Scene();
    this.painter = new Painter(document.getElementById('canvas'), this.scene);
    this.panel = new Panel(document.getElementById('panel'), this);
    this.options = {constants: false, ghosts: true};
    this.watchers = [];
    this.overlays = [];
    this.frame = 0;
    this.kernel = -1;  // The selected kernel.
    this.number = data.snapshots.length - 1;
    this.makeTree();
    this.scene.update();
  }

  // Shows the graph when all parts of the page have their sizes.
  begin() {
    this.painter.resize();
    const {clientWidth, clientHeight} = this.painter.canvas;
    this.scene.openFirst(clientWidth, clientHeight);
    this.refresh();
    this.painter.start();
    this.panel.showModule();
  }

  makeTree() {
    this.snapshot = makeSnapshot(this.data, this.number);
    this.tree = new Tree(this.data, this.snapshot, this.options);
    this.heat = makeHeat(this.data, this.tree);
    this.connections = new Connections(this.data, this.tree);
    this.painter.heat = this.heat;
    this.painter.labelOf = (line) => this.connections.labelOf(line);
    this.painter.paths = null;
    this.scene.setTree(this.tree);
  }

  refresh() {
    this.scene.update();
    this.repaint();
  }

  repaint() {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.painter.paint();
      for (const overlay of this.overlays) overlay.paint();
      if (this.firstPaint === undefined) this.firstPaint = performance.now();
    });
  }

  // Tells the parts of the page that something has changed.
  changed() {
    for (const watcher of this.watchers) watcher();
    this.repaint();
  }

  // Keeps what is open, selected and where the window is.
  rebuild() {
    const {painter, scene} = this;
    const id = painter.selected >= 0 ? this.tree.id[painter.selected] : '';
    const {kernel} = this;
    this.makeTree();
    painter.marked = new Set();
    painter.selected = id === '' ? -1 : this.tree.id.indexOf(id);
    if (scene.visible().boxes > kMaxVisible) scene.closeAll();
    this.refresh();
    if (kernel >= 0) this.showKernel(kernel, false);
    else this.select(painter.selected, false);
  }

  goTo(number) {
    this.number = Math.max(0, Math.min(this.data.snapshots.length - 1, number));
    this.rebuild();
  }

  toggle(item) {
    if (!this.tree.isGroup(item)) return;
    // The clicked group stays under the mouse.
    const before = this.scene.boxOf.get(item), {view} = this.painter;
    if (this.scene.isOpen(item)) this.scene.closeItem(item);
    else this.scene.openItem(item);
    this.scene.update();
    const after = this.scene.boxOf.get(item);
    if (before !== undefined && after !== undefined) {
      view.x += after.x - before.x;
      view.y += after.y - before.y;
    }
    this.changed();
  }

  // Selects an item, or nothing if it is -1.
  select(item, centre) {
    const {painter} = this;
    this.kernel = -1;
    painter.selected = item;
    painter.paths = null;
    const {inputs, users} = item < 0 ? {inputs: [], users: []} : this.connections.neighbours(item);
    painter.inputs = inputs.slice(0, 200);
    painter.users = users.slice(0, 200);
    if (item >= 0 && centre) {
      this.scene.reveal(item);
      this.scene.update();
      painter.centre(item);
    }
    if (item < 0) this.panel.showModule();
    else this.panel.show(item);
    this.changed();
  }

  // Selects the node of a kernel, or marks its nodes if it has several.
  showKernel(number, centre = true) {
    const items = this.heat.items[number];
    this.select(items.length === 1 ? items[0] : -1, centre);
    this.kernel = number;
    this.painter.marked = new Set(items);
    if (centre) {
      for (const item of items.slice(0, 100)) this.scene.reveal(item);
      this.scene.update();
      if (items.length > 0) this.painter.centre(items[0]);
    }
    this.panel.showKernel(number);
    this.changed();
  }

  // The kernels of the selected node or group, or the selected kernel.
  selectedKernels() {
    const {heat, tree, painter} = this;
    if (this.kernel >= 0) return new Set([this.kernel]);
    if (heat === null || painter.selected < 0) return new Set();
    const kernels = new Set(), stack = [painter.selected];
    while (stack.length > 0) {
      const item = stack.pop();
      if (tree.isGroup(item)) stack.push(...tree.children[item]);
      for (const kernel of heat.ofKey.get(tree.key[item]) || []) kernels.add(kernel);
    }
    return kernels;
  }

  // Highlights everything that the selected node depends on and that depends on it; called again,
  // ends that.
  togglePaths() {
    const {painter} = this;
    const item = painter.selected;
    if (item < 0 || this.tree.key[item] < 0) return;
    painter.paths = painter.paths === null ? this.connections.paths(item) : null;
    this.changed();
  }

  // Highlights the paths between the selected node and another one.
  showBetween(item) {
    const {painter, tree} = this;
    if (painter.selected < 0 || tree.key[painter.selected] < 0 || tree.key[item] < 0) return;
    painter.paths = this.connections.between(painter.selected, item);
    this.changed();
  }

  // Selects the next node that the pass changed, or with -1 the previous one.
  nextChange(step) {
    const {tree, painter} = this;
    const items = tree.order.filter(
        (i) => tree.key[i] >= 0 && tree.snapshot.change[tree.key[i]] > 0);
    if (items.length === 0) return;
    const at = items.indexOf(painter.selected);
    const next = at < 0 ? (step > 0 ? 0 : items.length - 1) : at + step + items.length;
    this.select(items[next % items.length], true);
  }

  // Items whose op, name, type, attributes, sources or scope have the text in them.
  search(text) {
    const {data, tree} = this, wanted = text.toLowerCase(), hits = [];
    if (wanted === '') return hits;
    const matches = data.strings.map((s) => s.toLowerCase().includes(wanted) ? 1 : 0);
    const lists = data.sources.map((l) => l.some((s) => s >= 0 && matches[s] === 1));
    const has = (number) => number >= 0 && matches[number] === 1;
    for (const item of tree.order) {
      const key = tree.key[item];
      if (key < 0) {
        if (item > 0 && tree.label[item].toLowerCase().includes(wanted)) hits.push(item);
        continue;
      }
      const row = tree.snapshot.row[key], list = data.source[row];
      if (has(data.op[row]) || has(data.name[row]) || has(data.types[row]) ||
          has(data.attrs[row]) || (list >= 0 && lists[list])) {
        hits.push(item);
      }
    }
    return hits;
  }

  setColour(colour) {
    this.painter.colour = colour;
    this.changed();
  }

  fit() {
    this.painter.fit();
    this.changed();
  }

  openLevel() {
    this.scene.openLevel(kMaxVisible, true);
    this.scene.update();
    this.changed();
  }

  closeAll() {
    this.scene.closeAll();
    this.scene.update();
    this.painter.fit();
    this.changed();
  }
}
