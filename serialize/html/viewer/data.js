// The page's data (serialize/html/view_json.h) as typed arrays, and snapshots of it.

// Undoes a column of differences, in place.
function sums(column) {
  for (let i = 1; i < column.length; ++i) column[i] += column[i - 1];
  return column;
}

// Reads the JSON. Rows know their operands through first[row] .. first[row + 1].
function readData(text) {
  const d = JSON.parse(text);
  const rows = d.rows.key.length;
  const data = {
    title: d.title,
    strings: d.strings,
    scopes: d.scopes,
    graphs: d.graphs,
    viewOps: new Set(d.viewOps),
    keys: {graph: Int32Array.from(d.keys.graph), local: sums(d.keys.local)},
    sources: d.sources,
    changes: d.changes,
    stories: d.stories,
    snapshots: d.snapshots,
    remarks: d.remarks,
    remarksLeftOut: d.remarksLeftOut,
    runs: d.runs,
    kernels: d.kernels,
    timeline: d.timeline,
    plan: d.plan,
    // Whether the times of kernels are errors of layers: noise over signal.
    errors: d.errors,
    rows: rows,
    key: Int32Array.from(sums(d.rows.key)),
    op: Int32Array.from(d.rows.op),
    name: Int32Array.from(d.rows.name),
    types: Int32Array.from(d.rows.types),
    attrs: Int32Array.from(d.rows.attrs),
    source: Int32Array.from(sums(d.rows.sources)),
    scope: Int32Array.from(d.rows.scope),
    story: Int32Array.from(d.rows.story),
    first: new Int32Array(rows + 1),
    from: Int32Array.from(d.edges.from),
    result: new Map(),
    symbol: new Set(d.edges.symbols),
  };
  for (const column of ['begin', 'memoryTime', 'memoryBytes']) sums(d.timeline[column]);
  for (const delta of d.snapshots.slice(1)) {
    for (const column of ['removed', 'rows', 'after']) sums(delta[column]);
  }
  for (let row = 0; row < rows; ++row) {
    data.first[row + 1] = data.first[row] + d.rows.edges[row];
    for (let e = data.first[row]; e < data.first[row + 1]; ++e) {
      data.from[e] = data.from[e] === 0 ? -1 : data.key[row] - data.from[e];
    }
  }
  for (let i = 0; i < d.edges.results.length; i += 2) {
    data.result.set(d.edges.results[i], d.edges.results[i + 1]);
  }
  return data;
}

const kAdded = 1, kRemoved = 2, kChanged = 3;

// Whether two rows of a key say the same but for their scope.
function sameRow(data, a, b) {
  if (a === b) return true;
  for (const column of ['op', 'name', 'types', 'attrs', 'source', 'story']) {
    if (data[column][a] !== data[column][b]) return false;
  }
  const n = data.first[a + 1] - data.first[a];
  if (n !== data.first[b + 1] - data.first[b]) return false;
  for (let i = 0; i < n; ++i) {
    const x = data.first[a] + i, y = data.first[b] + i;
    if (data.from[x] !== data.from[y]) return false;
    if ((data.result.get(x) || 0) !== (data.result.get(y) || 0)) return false;
  }
  return true;
}

// The orders of keys, one a graph, as lists that take and lose keys anywhere.
class Orders {
  constructor(data) {
    const keys = data.keys.local.length;
    this.graph = data.keys.graph;
    this.next = new Int32Array(keys).fill(-1);
    this.prev = new Int32Array(keys).fill(-1);
    this.head = new Int32Array(data.graphs.name.length).fill(-1);
  }

  remove(key) {
    const {next, prev, head} = this;
    if (prev[key] >= 0) next[prev[key]] = next[key];
    else if (head[this.graph[key]] === key) head[this.graph[key]] = next[key];
    if (next[key] >= 0) prev[next[key]] = prev[key];
    next[key] = prev[key] = -1;
  }

  // `after`: -1 for the first place.
  insert(key, after) {
    const {next, prev, head} = this;
    const follower = after < 0 ? head[this.graph[key]] : next[after];
    prev[key] = after;
    next[key] = follower;
    if (follower >= 0) prev[follower] = key;
    if (after < 0) head[this.graph[key]] = key;
    else next[after] = key;
  }

  forEach(visit) {
    for (const first of this.head) {
      for (let key = first; key >= 0; key = this.next[key]) visit(key);
    }
  }
}

// Snapshot `number`: {row: the row of each key or -1, order: keys, graph after graph,
// change: by key, added, removed, changed: counts}. What the last pass removed keeps the
// row that it had before, and stands in `all`, which is `order` with it.
function makeSnapshot(data, number) {
  const keys = data.keys.local.length;
  const snapshot = {row: new Int32Array(keys).fill(-1), change: new Uint8Array(keys), order: [],
                    all: [], added: 0, removed: 0, changed: 0, number};
  const orders = new Orders(data);
  const last = new Int32Array(data.graphs.name.length).fill(-1);
  for (let r = 0; r < data.snapshots[0].count; ++r) {
    const key = data.key[r], graph = data.keys.graph[key];
    snapshot.row[key] = r;
    orders.insert(key, last[graph]);
    last[graph] = key;
  }
  for (let s = 1; s <= number; ++s) {
    applyDelta(data, data.snapshots[s], s === number, orders, snapshot);
  }
  orders.forEach((key) => {
    snapshot.all.push(key);
    if (snapshot.change[key] !== kRemoved) snapshot.order.push(key);
  });
  return snapshot;
}

// The changes of the last delta are noted.
function applyDelta(data, delta, isLast, orders, snapshot) {
  const {row, change} = snapshot;
  for (const key of delta.removed) {
    if (isLast) {
      change[key] = kRemoved;
      ++snapshot.removed;
    } else {
      orders.remove(key);
      row[key] = -1;
    }
  }
  const moved = [];
  for (let i = 0; i < delta.rows.length; ++i) {
    const r = delta.rows[i], key = data.key[r];
    if (isLast && (row[key] < 0 || !sameRow(data, row[key], r))) {
      change[key] = row[key] < 0 ? kAdded : kChanged;
      ++snapshot[row[key] < 0 ? 'added' : 'changed'];
    }
    if (delta.after[i] !== -2) {
      if (row[key] >= 0) orders.remove(key);
      moved.push(i);
    }
    row[key] = r;
  }
  for (const i of moved) orders.insert(data.key[delta.rows[i]], delta.after[i]);
}

// How many nodes each snapshot's pass added, removed and changed.
function countChanges(data) {
  const row = new Int32Array(data.keys.local.length).fill(-1);
  for (let r = 0; r < data.snapshots[0].count; ++r) row[data.key[r]] = r;
  return data.snapshots.map((delta, s) => {
    const counts = {added: 0, removed: 0, changed: 0};
    if (s === 0) return counts;
    counts.removed = delta.removed.length;
    for (const key of delta.removed) row[key] = -1;
    for (const r of delta.rows) {
      const key = data.key[r];
      if (row[key] < 0) ++counts.added;
      else if (!sameRow(data, row[key], r)) ++counts.changed;
      row[key] = r;
    }
    return counts;
  });
}

// Text of a string's number; '' for none.
function textOf(data, number) {
  return number < 0 ? '' : data.strings[number];
}

// The names of a list of sources.
function sourceNames(data, list) {
  if (list < 0) return [];
  return data.sources[list].map((s) => s < 0 ? '… and more' : data.strings[s]);
}

// The title of a node: the op, and the name of an input or constant.
function titleOf(data, row) {
  const op = textOf(data, data.op[row]), name = textOf(data, data.name[row]);
  if (op === 'input') return name;
  if (op === 'return_') return 'return';
  if (op === 'fused') {
    const kind = /kind="([a-z]+)"/.exec(textOf(data, data.attrs[row]));
    if (kind) return 'fused ' + kind[1];
  }
  return op;
}
