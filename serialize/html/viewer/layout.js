// Places the children of one group: layers by longest path, then sweeps that draw each
// node toward the middle of its neighbours. Linear in nodes, edges and bends, but for
// one sort a layer.

const kGapX = 22, kGapY = 46;
const kMaxBends = 3000;  // Of all edges of a group; past that they go straight.
const kMaxSpan = 60;     // Layers that an edge with bends passes.
const kSweeps = 6;
// How strongly the middle of the group draws nodes while layers are sorted: else a chain
// wanders off to a side. The last sweeps straighten what stands as it will.
const kPull = 0.15;

// sizes: {w, h} by child; edges: [from, to, ...] by place in `sizes`. Returns
// {x, y (centres), w, h, bends: by edge, a list of x, y, or null for a straight line, or
// 'back' for an edge that does not go down}.
function layoutGroup(sizes, edges) {
  const n = sizes.length;
  const layer = layersOf(n, edges);
  const points = sizes.map((s, i) => ({w: s.w, h: s.h, layer: layer[i], x: 0, up: [], down: []}));
  const chains = addBends(points, edges, layer);
  const layers = [];
  for (let i = 0; i < points.length; ++i) {
    (layers[points[i].layer] = layers[points[i].layer] || []).push(i);
  }
  wrapIsolated(points, layers);
  packLayers(points, layers);
  for (let sweep = 0; sweep < kSweeps; ++sweep) {
    const down = sweep % 2 === 0;
    for (let l = 0; l < layers.length; ++l) {
      const at = down ? l : layers.length - 1 - l;
      orderLayer(points, layers[at], down ? 'up' : 'down', sweep < kSweeps - 2);
    }
  }
  return finish(points, layers, n, edges, chains);
}

// Longest path from the sources; an edge that closes a cycle is ignored. Sources move
// down to their first user.
function layersOf(n, edges) {
  const waiting = new Int32Array(n);
  const users = Array.from({length: n}, () => []);
  for (const [a, b] of edges) {
    users[a].push(b);
    ++waiting[b];
  }
  const layer = new Int32Array(n), done = new Uint8Array(n);
  const ready = [], hasSource = waiting.map((w) => w > 0 ? 1 : 0);
  for (let i = n - 1; i >= 0; --i) if (waiting[i] === 0) ready.push(i);
  let next = 0;
  for (;;) {
    if (ready.length === 0) {
      while (next < n && done[next]) ++next;
      if (next === n) break;
      ready.push(next);  // In a cycle: the first goes first.
    }
    const item = ready.pop();
    if (done[item]) continue;
    done[item] = 1;
    for (const user of users[item]) {
      if (done[user]) continue;
      layer[user] = Math.max(layer[user], layer[item] + 1);
      if (--waiting[user] === 0) ready.push(user);
    }
  }
  for (let i = 0; i < n; ++i) {
    if (hasSource[i] || users[i].length === 0) continue;
    let first = Infinity;
    for (const user of users[i]) first = Math.min(first, layer[user]);
    layer[i] = Math.max(layer[i], first - 1);
  }
  return layer;
}

// Edges over more than one layer get a bend in each layer between. Long ones, and those
// that do not go down, have no say in the order of the layers.
function addBends(points, edges, layer) {
  let total = 0;
  return edges.map(([a, b]) => {
    const span = layer[b] - layer[a];
    if (span < 1) return 'back';
    if (span > kMaxSpan || (span > 1 && total + span > kMaxBends)) return null;
    let from = a;
    const chain = [];
    for (let l = layer[a] + 1; l < layer[b]; ++l) {
      const bend = points.length;
      points.push({w: 8, h: 0, layer: l, x: 0, up: [from], down: [], bend: true});
      points[from].down.push(bend);
      chain.push(bend);
      from = bend;
      ++total;
    }
    points[from].down.push(b);
    points[b].up.push(from);
    return chain;
  });
}

// Nodes without edges go into rows of their own, about as many as make a square.
function wrapIsolated(points, layers) {
  if (layers.length === 0) return;
  const alone = layers[0].filter((i) => points[i].up.length + points[i].down.length === 0);
  if (alone.length < 8) return;
  const rest = layers[0].filter((i) => points[i].up.length + points[i].down.length > 0);
  const perRow = Math.ceil(Math.sqrt(alone.length * 0.6)) + 1;
  const rows = [];
  for (let i = 0; i < alone.length; i += perRow) rows.push(alone.slice(i, i + perRow));
  layers.splice(0, 1, ...rows, ...(rest.length > 0 ? [rest] : []));
}

function packLayers(points, layers) {
  for (const layer of layers) {
    let x = 0;
    for (const i of layer) {
      points[i].x = x + points[i].w / 2;
      x += points[i].w + kGapX;
    }
    for (const i of layer) points[i].x -= (x - kGapX) / 2;
  }
}

// Sorts a layer by the mean place of the neighbours on one side (when `sorts`), and
// puts its nodes as near to that as their widths allow.
function orderLayer(points, layer, side, sorts) {
  const want = new Map();
  for (const i of layer) {
    let near = points[i][side];
    if (near.length === 0 && !sorts) near = points[i][side === 'up' ? 'down' : 'up'];
    let sum = 0;
    for (const j of near) sum += points[j].x;
    const mean = near.length === 0 ? points[i].x : sum / near.length;
    want.set(i, points[i].bend || !sorts ? mean : mean * (1 - kPull));
  }
  if (sorts) layer.sort((a, b) => want.get(a) - want.get(b) || a - b);
  // Pools of touching nodes, each at the mean of what its nodes want.
  const pools = [];
  for (const i of layer) {
    let pool = {sum: want.get(i) - points[i].w / 2, count: 1, width: points[i].w + kGapX,
                nodes: [i]};
    while (pools.length > 0) {
      const last = pools[pools.length - 1];
      if (last.sum / last.count + last.width <= pool.sum / pool.count) break;
      pools.pop();
      last.sum += pool.sum - pool.count * last.width;
      last.count += pool.count;
      last.width += pool.width;
      for (const node of pool.nodes) last.nodes.push(node);
      pool = last;
    }
    pools.push(pool);
  }
  for (const pool of pools) {
    let x = pool.sum / pool.count;
    for (const i of pool.nodes) {
      points[i].x = x + points[i].w / 2;
      x += points[i].w + kGapX;
    }
  }
}

function finish(points, layers, n, edges, chains) {
  let left = Infinity, right = -Infinity, y = 0;
  for (const layer of layers) {
    let height = 0;
    for (const i of layer) height = Math.max(height, points[i].h);
    for (const i of layer) {
      points[i].y = y + height / 2;
      points[i].reach = height / 2;
      left = Math.min(left, points[i].x - points[i].w / 2);
      right = Math.max(right, points[i].x + points[i].w / 2);
    }
    y += height + kGapY;
  }
  if (n === 0) left = right = 0;
  const result = {x: new Float64Array(n), y: new Float64Array(n), w: right - left,
                  h: Math.max(0, y - kGapY), bends: []};
  for (let i = 0; i < n; ++i) {
    result.x[i] = points[i].x - left;
    result.y[i] = points[i].y;
  }
  result.bends = chains.map((chain) => {
    if (chain === null || chain === 'back') return chain;
    const at = [];
    for (const i of chain) {
      const {x, y, reach} = points[i];
      // Beside a tall group a line runs straight down.
      if (reach > kGapY) at.push(x - left, y - reach, x - left, y + reach);
      else at.push(x - left, y);
    }
    return at;
  });
  return result;
}
