// What is on the canvas: the groups that are open, the layout of each, and a flat list
// of the boxes and lines that come of it. Only open groups are laid out; a layout is
// kept until something in it opens or closes.

const kHeader = 26, kPad = 16, kNodeHeight = 38, kGroupHeight = 44;
const kMaxVisible = 6000;  // Boxes; nothing opens all of a larger graph at once.
const kFirstVisible = 220;
const kReadable = 0.75;  // Pixels a unit at which all text can be read.
const kFirstWindows = 5;  // Height of what is open at first, in windows.

class Scene {
  constructor() {
    this.open = new Set();  // Ids of items, which outlive a snapshot.
    this.layouts = new Map();
    this.version = 0;  // Changes with the layout.
  }

  setTree(tree) {
    this.tree = tree;
    this.layouts.clear();
  }

  isOpen(item) {
    return item === this.tree.root || this.open.has(this.tree.id[item]);
  }

  forget(item) {
    for (let i = item; i >= 0; i = this.tree.parent[i]) this.layouts.delete(i);
  }

  // Also what it alone holds.
  openItem(item) {
    const {tree} = this;
    for (let i = item;;) {
      this.open.add(tree.id[i]);
      this.forget(i);
      const children = tree.children[i];
      if (children.length !== 1 || !tree.isGroup(children[0])) return;
      i = children[0];
    }
  }

  closeItem(item) {
    this.open.delete(this.tree.id[item]);
    this.forget(item);
  }

  closeAll() {
    this.open.clear();
    this.layouts.clear();
  }

  // Opens the groups around an item.
  reveal(item) {
    for (const group of this.tree.path(item)) {
      if (!this.open.has(this.tree.id[group])) {
        this.open.add(this.tree.id[group]);
        this.forget(group);
      }
    }
  }

  // The groups that are on the canvas, open or not; and how many boxes there are.
  visible() {
    const {tree} = this, groups = [];
    let boxes = 0;
    const stack = [tree.root];
    while (stack.length > 0) {
      const item = stack.pop();
      ++boxes;
      if (!tree.isGroup(item)) continue;
      if (item !== tree.root) groups.push(item);
      if (this.isOpen(item)) for (const child of tree.children[item]) stack.push(child);
    }
    return {groups, boxes};
  }

  // Opens one level of groups, those with fewer children first, up to `limit` boxes;
  // when `nodesToo`, also nodes that hold graphs. False when nothing was opened.
  openLevel(limit, nodesToo) {
    const {groups, boxes} = this.visible();
    const closed = groups.filter((g) => !this.isOpen(g) && (nodesToo || this.tree.key[g] < 0));
    closed.sort((a, b) => this.tree.children[a].length - this.tree.children[b].length || a - b);
    let total = boxes, opened = false;
    for (const group of closed) {
      total += this.tree.children[group].length;
      if (total > limit) break;
      this.openItem(group);
      opened = true;
    }
    return opened;
  }

  // Opens levels as long as the width of a window of this size holds what can be read, and its
  // height a few times.
  openFirst(width, height) {
    for (;;) {
      const before = new Set(this.open);
      if (!this.openLevel(kFirstVisible, false)) return;
      this.update();
      if (this.width + 60 <= width / kReadable &&
          this.height <= kFirstWindows * height / kReadable) {
        continue;
      }
      this.open = before;
      this.layouts.clear();
      return;
    }
  }

  sizeOf(item) {
    const {tree} = this;
    if (!tree.isGroup(item)) {
      const row = tree.snapshot.row[tree.key[item]];
      const text = Math.max(tree.label[item].length * 7.6,
                            Math.min(34, textOf(tree.data, tree.data.types[row]).length) * 5.7);
      return {w: Math.max(64, Math.min(240, text + 22)), h: kNodeHeight};
    }
    const layout = this.layouts.get(item);
    if (!this.isOpen(item) || layout === undefined) {
      return {w: Math.max(110, Math.min(260, tree.label[item].length * 7.8 + 44),
                          this.summaryOf(item).join(' ').length * 6.3 + 22),
              h: kGroupHeight};
    }
    const label = Math.min(260, tree.label[item].length * 7.8 + 44);
    return {w: Math.max(label, layout.w + 2 * kPad), h: layout.h + kHeader + 2 * kPad};
  }

  // What the second line of a closed group says: its nodes, and how many of them the
  // pass added, removed and changed, '' for none.
  summaryOf(item) {
    const {nodes, changes} = this.tree;
    const count = (sign, change) =>
        changes[change][item] === 0 ? '' : sign + changes[change][item];
    return [nodes[item] + (nodes[item] === 1 ? ' node' : ' nodes'), count('+', kAdded),
            count('−', kRemoved), count('~', kChanged)];
  }

  // Lays out the open groups, the inner ones first.
  update() {
    const {tree} = this, order = [];
    const stack = [tree.root];
    while (stack.length > 0) {
      const item = stack.pop();
      order.push(item);
      for (const child of tree.children[item]) {
        if (tree.isGroup(child) && this.isOpen(child)) stack.push(child);
      }
    }
    for (let i = order.length - 1; i >= 0; --i) {
      if (!this.layouts.has(order[i])) this.layouts.set(order[i], this.layoutOf(order[i]));
    }
    this.flatten();
  }

  layoutOf(item) {
    const children = this.tree.children[item];
    const place = new Map();
    const sizes = children.map((child, i) => {
      place.set(child, i);
      return this.sizeOf(child);
    });
    const edges = (this.tree.edges.get(item) || [])
        .map(([a, b, count]) => [place.get(a), place.get(b), count]);
    const layout = layoutGroup(sizes, edges);
    layout.sizes = sizes;
    layout.edges = edges;
    return layout;
  }

  // boxes: {item, x, y, w, h (left top), open}, outer before inner; lines: {points, count of
  // values, from and to: items}.
  flatten() {
    const {tree} = this;
    ++this.version;
    this.boxes = [];
    this.lines = [];
    this.boxOf = new Map();
    this.lineOf = new Map();  // Lines by 'from to'.
    const root = this.layouts.get(tree.root);
    this.width = root.w;
    this.height = root.h;
    const queue = [{item: tree.root, x: 0, y: 0}];
    for (let q = 0; q < queue.length; ++q) {
      const {item, x, y} = queue[q];
      const layout = this.layouts.get(item), children = tree.children[item];
      for (let i = 0; i < children.length; ++i) {
        const child = children[i], size = layout.sizes[i];
        const box = {item: child, x: x + layout.x[i] - size.w / 2, y: y + layout.y[i] - size.h / 2,
                     w: size.w, h: size.h, open: tree.isGroup(child) && this.isOpen(child)};
        this.boxes.push(box);
        this.boxOf.set(child, box);
        if (box.open) {
          const inner = this.layouts.get(child);
          queue.push({item: child, x: box.x + (box.w - inner.w) / 2, y: box.y + kHeader + kPad});
        }
      }
      layout.edges.forEach(([a, b, count], e) => {
        const line = this.lineBetween(children[a], children[b], count, layout.bends[e], x, y);
        this.lines.push(line);
        this.lineOf.set(line.from + ' ' + line.to, line);
      });
    }
  }

  // bends: of the layout of a group at x, y.
  lineBetween(from, to, count, bends, x, y) {
    const a = this.boxOf.get(from), b = this.boxOf.get(to);
    if (bends === 'back') {
      // Around the right side.
      const points = [a.x + a.w, a.y + a.h / 2, b.x + b.w, b.y + b.h / 2];
      return {points, count, from, to, back: true};
    }
    const points = [a.x + a.w / 2, a.y + a.h];
    for (let i = 0; bends !== null && i < bends.length; i += 2) {
      points.push(x + bends[i], y + bends[i + 1]);
    }
    points.push(b.x + b.w / 2, b.y);
    return {points, count, from, to, direct: bends === null};
  }

  // The innermost box at a place; null for none.
  hit(x, y) {
    for (let i = this.boxes.length - 1; i >= 0; --i) {
      const b = this.boxes[i];
      if (x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h) return b;
    }
    return null;
  }

  // The line nearest to a place within a distance; null for none.
  hitLine(x, y, distance) {
    let nearest = null, least = distance;
    for (const line of this.lines) {
      const d = distanceToLine(line, x, y, least);
      if (d >= least) continue;
      least = d;
      nearest = line;
    }
    return nearest;
  }

  // The item itself, or the closed group that hides it.
  shown(item) {
    let shown = item;
    for (let i = item; i > 0; i = this.tree.parent[i]) {
      if (!this.boxOf.has(i) || (i !== item && !this.isOpen(i))) shown = i;
    }
    while (shown > 0 && !this.boxOf.has(shown)) shown = this.tree.parent[shown];
    return shown;
  }
}
