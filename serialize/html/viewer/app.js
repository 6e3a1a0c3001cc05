// The state of the page, and what can be done to it.

class App {
  constructor(data) {
    this.data = data;
    this.counts = countChanges(data);
    this.scene = new Scene();
    this.painter = new Painter(document.getElementById('canvas'), this.scene);
    this.panel = new Panel(document.getElementById('panel'), this);
    this.options = {constants: false, ghosts: true};
    this.frame = 0;
    this.number = data.snapshots.length - 1;
    this.makeTree();
    this.scene.openFirst();
    this.refresh();
    this.painter.resize();
    this.painter.fit();
    this.panel.showModule();
  }

  makeTree() {
    this.snapshot = makeSnapshot(this.data, this.number);
    this.tree = new Tree(this.data, this.snapshot, this.options);
    this.heat = makeHeat(this.data, this.tree);
    this.users = null;
    this.painter.heat = this.heat;
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
      if (this.firstPaint === undefined) this.firstPaint = performance.now();
    });
  }

  // Keeps what is open, selected and where the window is.
  rebuild() {
    const {painter, scene} = this;
    const id = painter.selected >= 0 ? this.tree.id[painter.selected] : '';
    this.makeTree();
    painter.marked = new Set();
    painter.selected = id === '' ? -1 : this.tree.id.indexOf(id);
    if (scene.visible().boxes > kMaxVisible) scene.closeAll();
    this.refresh();
    this.select(painter.selected, false);
  }

  goTo(number) {
    document.getElementById('results').hidden = true;
    this.number = Math.max(0, Math.min(this.data.snapshots.length - 1, number));
    this.rebuild();
    this.showSteps();
  }

  toggle(item) {
    if (!this.tree.isGroup(item)) return;
    // What was clicked stays under the mouse.
    const before = this.scene.boxOf.get(item), {view} = this.painter;
    if (this.scene.isOpen(item)) this.scene.closeItem(item);
    else this.scene.openItem(item);
    this.scene.update();
    const after = this.scene.boxOf.get(item);
    if (before !== undefined && after !== undefined) {
      view.x += after.x - before.x;
      view.y += after.y - before.y;
    }
    this.repaint();
  }

  // -1: nothing.
  select(item, centre) {
    const {painter} = this;
    painter.selected = item;
    painter.inputs = painter.users = [];
    if (item < 0) {
      this.panel.showModule();
      this.repaint();
      return;
    }
    if (centre) {
      this.scene.reveal(item);
      this.scene.update();
      painter.centre(item);
    }
    if (this.tree.key[item] >= 0) {
      const {inputs, users} = this.neighbours(item);
      painter.inputs = inputs.slice(0, 200);
      painter.users = users.slice(0, 200);
    }
    this.panel.show(item);
    this.repaint();
  }

  showKernel(number) {
    this.painter.selected = -1;
    this.painter.marked = new Set(this.heat.items[number]);
    for (const item of this.heat.items[number].slice(0, 100)) this.scene.reveal(item);
    this.scene.update();
    if (this.heat.items[number].length > 0) this.painter.centre(this.heat.items[number][0]);
    this.panel.showKernel(number);
    this.repaint();
  }

  // The items whose values `item` reads, and those that read its values.
  neighbours(item) {
    const {data, tree, snapshot} = this;
    if (this.users === null) {
      this.users = new Map();
      for (const key of snapshot.all) {
        const row = snapshot.row[key];
        for (let e = data.first[row]; e < data.first[row + 1]; ++e) {
          if (data.from[e] < 0) continue;
          const list = this.users.get(data.from[e]);
          if (list === undefined) this.users.set(data.from[e], [key]);
          else if (list[list.length - 1] !== key) list.push(key);
        }
      }
    }
    const key = tree.key[item], row = snapshot.row[key], found = new Set();
    for (let e = data.first[row]; e < data.first[row + 1]; ++e) {
      const other = data.from[e] < 0 ? -1 : tree.itemOfKey[data.from[e]];
      if (other >= 0) found.add(other);
    }
    const inputs = [...found];
    const users = (this.users.get(key) || []).map((k) => tree.itemOfKey[k]).filter((i) => i >= 0);
    return {inputs, users};
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

  openLevel() {
    this.scene.openLevel(kMaxVisible, true);
    this.refresh();
  }

  closeAll() {
    this.scene.closeAll();
    this.refresh();
    this.painter.fit();
  }
}
