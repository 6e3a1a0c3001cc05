// Times and bytes of the trace's kernels on the items of a tree.
//
// A kernel of the trace is a step of the plan if both have the same name and the same source nodes.
// Its time belongs to the node of that step, and to several steps in equal parts if they are equal
// in this. Where the plan has no such step, or the snapshot no such node, the source nodes share
// the time evenly, and the nodes that stand for each of them share its part. Views get nothing
// beside nodes that compute, and neither do nodes inside of such a node, so that the sums of groups
// are right. Errors of layers are not shared, and groups get the largest.

// For each kernel: {us and bytes of a run, steps of the plan, whether it runs other kernels}.
function kernelCosts(data) {
  const {kernels, plan, runs} = data, stepsOf = new Map();
  const id = (name, sources) => sources + ' ' + name;
  plan.name.forEach((name, step) => {
    const key = id(name, plan.sources[step]);
    if (stepsOf.has(key)) stepsOf.get(key).push(step);
    else stepsOf.set(key, [step]);
  });
  return kernels.name.map((name, k) => {
    const steps = stepsOf.get(id(name, kernels.sources[k])) || [];
    const turns = data.errors ? 1 : kernels.calls[k] / runs;
    return {us: kernels.us[k] * turns, bytes: kernels.bytes[k] * turns, steps,
            control: steps.some((s) => plan.control[s] === 1)};
  });
}

// The items of this snapshot by the source nodes that are asked for: {all, computing}.
function itemsBySource(data, tree, wanted) {
  const itemsOf = new Map();
  for (const key of tree.snapshot.order) {
    const item = tree.itemOfKey[key], list = data.source[tree.snapshot.row[key]];
    if (item < 0 || list < 0) continue;
    const owner = data.graphs.owner[data.keys.graph[key]];
    const ofOwner = owner < 0 ? -1 : data.source[tree.snapshot.row[owner]];
    for (const s of data.sources[list]) {
      if (s < 0 || !wanted.has(s) || ofOwner >= 0 && data.sources[ofOwner].includes(s)) continue;
      if (!itemsOf.has(s)) itemsOf.set(s, {all: [], computing: []});
      itemsOf.get(s).all.push(item);
      if (!data.viewOps.has(data.op[tree.snapshot.row[key]])) itemsOf.get(s).computing.push(item);
    }
  }
  return itemsOf;
}

// Pairs of an item and its share of kernel `k`.
function sharesOf(data, tree, cost, k, itemsOf) {
  const {plan} = data, {row, change} = tree.snapshot;
  const keys = cost.steps.map((s) => plan.key[s]);
  if (keys.length > 0 && keys.every((key) => key >= 0 && row[key] >= 0 &&
                                    change[key] !== kRemoved && tree.itemOfKey[key] >= 0)) {
    return keys.map((key) => [tree.itemOfKey[key], 1 / keys.length]);
  }
  const sources = data.kernels.sources[k];
  const found = sources < 0 ? [] :
      data.sources[sources].filter((s) => itemsOf.has(s)).map((s) => itemsOf.get(s));
  const kind = !data.errors && found.some((f) => f.computing.length > 0) ? 'computing' : 'all';
  const lists = found.map((f) => f[kind]).filter((items) => items.length > 0);
  return lists.flatMap((items) => items.map(
      (item) => [item, data.errors ? 1 : 1 / lists.length / items.length]));
}

// null without a trace; else {time, bytes: by item, total, costs: by kernel, items: by kernel,
// ofKey: kernels by key, order: kernels, those that take longest first}.
function makeHeat(data, tree) {
  const {kernels} = data;
  if (kernels.name.length === 0) return null;
  const n = tree.parent.length;
  const heat = {time: new Float64Array(n), bytes: new Float64Array(n), total: 0, items: [],
                ofKey: new Map(), costs: kernelCosts(data)};
  const joined = (a, b) => data.errors ? Math.max(a, b) : a + b;
  const wanted = new Set(kernels.sources.flatMap((list) => list < 0 ? [] : data.sources[list]));
  const itemsOf = itemsBySource(data, tree, wanted);
  heat.costs.forEach((cost, k) => {
    const touched = new Set(), shares = sharesOf(data, tree, cost, k, itemsOf);
    for (const [item, share] of shares) {
      touched.add(item);
      if (cost.control) continue;
      heat.time[item] = joined(heat.time[item], cost.us * share);
      heat.bytes[item] += cost.bytes * share;
    }
    if (!cost.control) heat.total += cost.us;
    heat.items.push([...touched].sort((a, b) => a - b));
    for (const item of touched) {
      const key = tree.key[item];
      if (heat.ofKey.has(key)) heat.ofKey.get(key).push(k);
      else heat.ofKey.set(key, [k]);
    }
  });
  for (let i = tree.order.length - 1; i > 0; --i) {
    const item = tree.order[i];
    heat.time[tree.parent[item]] = joined(heat.time[tree.parent[item]], heat.time[item]);
    heat.bytes[tree.parent[item]] += heat.bytes[item];
  }
  heat.order = heat.costs.map((_, k) => k)
      .sort((a, b) => heat.costs[b].us - heat.costs[a].us || a - b);
  return heat;
}
