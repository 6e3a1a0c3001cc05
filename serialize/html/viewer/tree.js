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
    const keys = this.options.ghosts ? snapshot.order.concat(snapshot.ghosts) : snapshot.order;
    // Which keys hold graphs, and how many functions there are.
    const held = new Map();
    const live = new Set();
    for (const key of keys) live.add(data.keys.graph[key]);
    let functions = 0;
    for (const g of live) {
      const owner = data.graphs.owner[g];
      if (owner < 0) ++functions;
      else if (!held.has(owner)) held.set(owner, [g]);
      else held.get(owner).push(g);
    }
    // Graphs are numbered outer before inner, so owners come before what they hold.
    const top = new Map();  // The item of each graph.
    const scopeItems = new Map();
    const byGraph = new Map();
    for (const key of keys) {
      const g = data.keys.graph[key];
      if (byGraph.has(g)) byGraph.get(g).push(key);
      else byGraph.set(g, [key]);
    }
    for (const g of [...byGraph.keys()].sort((a, b) => a - b)) {
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
      top.set(g, item);
      for (const key of byGraph.get(g)) this.place(key, g, item, held.has(key), scopeItems);
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
  // two children. edges[group]: a list of from, to, number of values.
  liftEdges() {
    const {data, snapshot} = this;
    const seen = new Map();
    const n = this.parent.length;
    this.edges = new Map();
    for (let i = 0; i < this.order.length; ++i) {
      const item = this.order[i], key = this.key[item];
      if (key < 0) continue;
      const row = snapshot.row[key];
      for (let e = data.first[row]; e < data.first[row + 1]; ++e) {
        const source = data.from[e] < 0 ? -1 : this.itemOfKey[data.from[e]];
        if (source < 0 || source === item) continue;
        let a = source, b = item;
        while (this.depth[a] > this.depth[b]) a = this.parent[a];
        while (this.depth[b] > this.depth[a]) b = this.parent[b];
        if (a === b) continue;
        while (this.parent[a] !== this.parent[b]) {
          a = this.parent[a];
          b = this.parent[b];
        }
        const pair = a * n + b;
        const known = seen.get(pair);
        if (known !== undefined) {
          ++known[2];
          continue;
        }
        const edge = [a, b, 1];
        seen.set(pair, edge);
        const group = this.parent[a];
        if (this.edges.has(group)) this.edges.get(group).push(edge);
        else this.edges.set(group, [edge]);
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
