// The hierarchy of a snapshot: functions, scopes, nested graphs, and parts of what is
// too wide. Items are numbered; the first ones are the nodes themselves.
//
// item: kind, parent, children (for groups), label, key (of nodes and of groups that
// are a node with a nested graph), id (a text that is the same in all snapshots).

const kNode = 0, kGroup = 1;
const kPartSize = 150;  // Children of a group before it is cut into parts.

class Tree {
  constructor(data, snapshot, options) {
    this.data = data;
    this.snapshot = snapshot;
    this.options = options;
    this.parent = [];
    this.children = [];  // null for nodes.
    this.label = [];
    this.key = [];
    this.id = [];
    this.itemOfKey = new Int32Array(data.keys.local.length).fill(-1);
    this.root = this.add(-1, [], '', -1, '');
    this.build();
    this.chunk();
    this.count();
    this.liftEdges();
  }

  add(parent, children, label, key, id) {
    this.parent.push(parent);
    this.children.push(children);
    this.label.push(label);
    this.key.push(key);
    this.id.push(id);
    return this.parent.length - 1;
  }

  isGroup(item) {
    return this.children[item] !== null;
  }

  // Constants are drawn when they are asked for.
  isHidden(key) {
    const row = this.snapshot.row[key];
    return !this.options.constants && this.data.strings[this.data.op[row]] === 'constant';
  }

  build() {
    const {data, snapshot} = this;
    const keys = this.options.ghosts ? snapshot.all : snapshot.order;
    const byGraph = data.graphs.name.map(() => []);
    for (const key of keys) byGraph[data.keys.graph[key]].push(key);
    // Which keys hold graphs, and how many functions there are.
    const held = new Map();
    let functions = 0;
    byGraph.forEach((list, g) => {
      const owner = data.graphs.owner[g];
      if (list.length === 0) return;
      if (owner < 0) ++functions;
      else if (!held.has(owner)) held.set(owner, [g]);
      else held.get(owner).push(g);
    });
    const scopeItems = new Map();
    // Graphs are numbered outer before inner, so owners come before what they hold.
    for (let g = 0; g < byGraph.length; ++g) {
      if (byGraph[g].length === 0) continue;
      const owner = data.graphs.owner[g];
      let item = this.root;
      if (owner >= 0) {
        item = this.itemOfKey[owner];
        if (item < 0) continue;
        if (held.get(owner).length > 1) {
          const region = textOf(data, data.graphs.region[g]);
          item = this.addChild(item, [], region, -1, this.id[item] + '#' + region);
        }
      } else if (functions > 1) {
        const name = textOf(data, data.graphs.name[g]);
        item = this.addChild(item, [], '@' + name, -1, '@' + name);
      }
      for (const key of byGraph[g]) this.place(key, g, item, held.has(key), scopeItems);
    }
  }

  addChild(parent, children, label, key, id) {
    const item = this.add(parent, children, label, key, id);
    this.children[parent].push(item);
    return item;
  }

  place(key, graph, top, holds, scopeItems) {
    if (this.isHidden(key)) return;
    const row = this.snapshot.row[key];
    const scope = this.scopeItem(this.data.scope[row], graph, top, scopeItems);
    this.itemOfKey[key] =
        this.addChild(scope, holds ? [] : null, titleOf(this.data, row), key, 'n' + key);
  }

  scopeItem(scope, graph, top, scopeItems) {
    const scopes = this.data.scopes;
    const missing = [];
    let item = top;
    for (let s = scope; s > 0; s = scopes.parent[s]) {
      const known = scopeItems.get(graph * scopes.parent.length + s);
      if (known !== undefined) {
        item = known;
        break;
      }
      missing.push(s);
    }
    while (missing.length > 0) {
      const s = missing.pop();
      const label = textOf(this.data, scopes.name[s]);
      item = this.addChild(item, [], label, -1, 'g' + graph + 's' + s);
      scopeItems.set(graph * scopes.parent.length + s, item);
    }
    return item;
  }

  // Groups with very many children get parts of consecutive ones, and parts of these.
  chunk() {
    for (let item = 0; item < this.parent.length; ++item) {
      const all = this.children[item];
      if (all === null || all.length <= kPartSize) continue;
      let size = kPartSize;
      while (all.length > size * kPartSize) size *= kPartSize;
      this.children[item] = [];
      for (let i = 0; i < all.length; i += size) {
        const part = all.slice(i, i + size);
        const label = (i + 1) + ' – ' + (i + part.length);
        const group = this.addChild(item, part, label, -1, this.id[item] + '|' + size + ',' + i);
        for (const child of part) this.parent[child] = group;
      }
    }
  }

  // Nodes below each item, and how many of them a pass changed in which way.
  count() {
    const n = this.parent.length;
    this.nodes = new Int32Array(n);
    this.changes = [new Int32Array(n), new Int32Array(n), new Int32Array(n), new Int32Array(n)];
    this.depth = new Int32Array(n);
    const order = this.preorder();
    for (const item of order) {
      if (item !== this.root) this.depth[item] = this.depth[this.parent[item]] + 1;
    }
    for (let i = order.length - 1; i >= 0; --i) {
      const item = order[i];
      if (this.key[item] >= 0) {
        ++this.nodes[item];
        ++this.changes[this.snapshot.change[this.key[item]]][item];
      }
      if (item === this.root) continue;
      const parent = this.parent[item];
      this.nodes[parent] += this.nodes[item];
      for (let c = 1; c <= 3; ++c) this.changes[c][parent] += this.changes[c][item];
    }
    this.order = order;
  }

  preorder() {
    const order = [], stack = [this.root];
    while (stack.length > 0) {
      const item = stack.pop();
      order.push(item);
      const children = this.children[item];
      if (children === null) continue;
      for (let i = children.length - 1; i >= 0; --i) stack.push(children[i]);
    }
    return order;
  }

  // Each edge belongs to the innermost group around both of its ends, where it joins
  // two children. edges: of each group that has some, a list of from, to, number of
  // values.
  liftEdges() {
    const {data, snapshot, parent, depth} = this;
    const n = parent.length;
    const from = [], to = [];
    for (const item of this.order) {
      const key = this.key[item];
      if (key < 0) continue;
      const row = snapshot.row[key];
      for (let e = data.first[row]; e < data.first[row + 1]; ++e) {
        let a = data.from[e] < 0 ? -1 : this.itemOfKey[data.from[e]], b = item;
        if (a < 0 || a === b) continue;
        while (depth[a] > depth[b]) a = parent[a];
        while (depth[b] > depth[a]) b = parent[b];
        if (a === b) continue;
        while (parent[a] !== parent[b]) {
          a = parent[a];
          b = parent[b];
        }
        from.push(a);
        to.push(b);
      }
    }
    // By their first end, so that equal ones meet.
    const begin = new Int32Array(n + 1);
    for (const a of from) ++begin[a + 1];
    for (let i = 0; i < n; ++i) begin[i + 1] += begin[i];
    const sorted = new Int32Array(from.length), place = begin.slice();
    for (let e = 0; e < from.length; ++e) sorted[place[from[e]]++] = to[e];
    this.edges = new Map();
    const last = new Array(n);  // The latest edge to each item.
    for (let a = 0; a < n; ++a) {
      for (let e = begin[a]; e < begin[a + 1]; ++e) {
        const b = sorted[e];
        if (last[b] !== undefined && last[b][0] === a) {
          ++last[b][2];
          continue;
        }
        last[b] = [a, b, 1];
        const list = this.edges.get(parent[a]);
        if (list === undefined) this.edges.set(parent[a], [last[b]]);
        else list.push(last[b]);
      }
    }
  }

  // The groups around an item, the outermost first.
  path(item) {
    const path = [];
    for (let i = this.parent[item]; i > 0; i = this.parent[i]) path.push(i);
    return path.reverse();
  }
}
