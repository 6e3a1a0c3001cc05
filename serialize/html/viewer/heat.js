// Time and bytes of the trace's kernels on the items of a tree. A kernel's time is
// shared evenly by the source nodes that it stands for, and each share by the nodes
// of this snapshot that stand for the source; nodes inside of such a node get nothing,
// so that the sums of groups are right. Errors of layers are not shared, and groups get the largest.
function makeHeat(data, tree) {
  const {kernels} = data;
  if (kernels.name.length === 0) return null;
  const n = tree.parent.length;
  const heat = {time: new Float64Array(n), bytes: new Float64Array(n), total: 0, items: [],
                ofKey: new Map(), most: {time: 0, bytes: 0}};
  const joined = (a, b) => data.errors ? Math.max(a, b) : a + b;
  const wanted = new Set();
  for (const list of kernels.sources) {
    for (const s of list < 0 ? [] : data.sources[list]) wanted.add(s);
  }
  const itemsOf = new Map();
  for (const key of tree.snapshot.order) {
    const item = tree.itemOfKey[key], list = data.source[tree.snapshot.row[key]];
    if (item < 0 || list < 0) continue;
    const owner = data.graphs.owner[data.keys.graph[key]];
    const ofOwner = owner < 0 ? -1 : data.source[tree.snapshot.row[owner]];
    for (const s of data.sources[list]) {
      if (s < 0 || !wanted.has(s) || ofOwner >= 0 && data.sources[ofOwner].includes(s)) continue;
      if (itemsOf.has(s)) itemsOf.get(s).push(item);
      else itemsOf.set(s, [item]);
    }
  }
  for (let k = 0; k < kernels.name.length; ++k) {
    heat.total += kernels.us[k];
    const names = kernels.sources[k] < 0 ? [] :
        data.sources[kernels.sources[k]].filter((s) => itemsOf.has(s));
    const touched = new Set();
    for (const s of names) {
      const share = data.errors ? 1 : 1 / names.length / itemsOf.get(s).length;
      for (const item of itemsOf.get(s)) {
        heat.time[item] = joined(heat.time[item], kernels.us[k] * share);
        heat.bytes[item] += kernels.bytes[k] * share;
        touched.add(item);
      }
    }
    heat.items.push([...touched].sort((a, b) => a - b));
    for (const item of touched) {
      const key = tree.key[item];
      if (heat.ofKey.has(key)) heat.ofKey.get(key).push(k);
      else heat.ofKey.set(key, [k]);
    }
  }
  // Groups get the sums; the colours are relative to the hottest node.
  for (let i = 0; i < n; ++i) {
    heat.most.time = Math.max(heat.most.time, heat.time[i]);
    heat.most.bytes = Math.max(heat.most.bytes, heat.bytes[i]);
  }
  for (let i = tree.order.length - 1; i > 0; --i) {
    const item = tree.order[i];
    heat.time[tree.parent[item]] = joined(heat.time[tree.parent[item]], heat.time[item]);
    heat.bytes[tree.parent[item]] += heat.bytes[item];
  }
  heat.kernels = kernels.us.map((_, k) => k).sort((a, b) => kernels.us[b] - kernels.us[a] || a - b);
  return heat;
}
