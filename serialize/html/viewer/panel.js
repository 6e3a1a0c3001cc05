// The panel on the right: what is known of the selected node, group or kernel. All
// text goes through textContent: names are data, never markup.

function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function formatTime(us) {
  return us >= 1000 ? (us / 1000).toFixed(2) + ' ms' : us.toFixed(1) + ' µs';
}

// The time of a kernel, or the error of a layer as the ratio of signal to noise.
function formatHeat(data, value) {
  if (!data.errors) return formatTime(value);
  return value > 0 ? (-10 * Math.log10(value)).toFixed(1) + ' dB' : 'exact';
}

function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0, value = bytes;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return (unit === 0 ? Math.round(value) : value.toFixed(1)) + ' ' + units[unit];
}

const kMaxListed = 60;

class Panel {
  // app: select(item, centre), showKernel(number), tree, data, heat.
  constructor(root, app) {
    this.root = root;
    this.app = app;
  }

  clear(title, subtitle) {
    this.root.textContent = '';
    this.root.append(element('h2', '', title));
    if (subtitle) this.root.append(element('p', 'faint', subtitle));
  }

  section(title) {
    this.root.append(element('h3', '', title));
    const list = element('div', 'list');
    this.root.append(list);
    return list;
  }

  pair(list, name, value) {
    const row = element('div', 'pair');
    row.append(element('span', 'name', name), element('span', 'value', value));
    list.append(row);
  }

  link(list, text, detail, action) {
    const row = element('button', 'link', text);
    if (detail) row.append(element('span', 'faint', ' ' + detail));
    row.addEventListener('click', action);
    list.append(row);
  }

  more(list, count) {
    if (count > 0) list.append(element('p', 'faint', '… and ' + count + ' more'));
  }

  // --- Nothing selected: the module and its kernels.
  showModule() {
    const {tree, data, heat} = this.app;
    this.clear(data.title, tree.snapshot.order.length + ' nodes, inputs and returns');
    const {added, removed, changed, number} = tree.snapshot;
    const list = this.section('This snapshot');
    this.pair(list, 'after', data.snapshots[number].path);
    if (number > 0) {
      this.pair(list, 'pass', data.snapshots[number].text);
      this.pair(list, 'added', String(added));
      this.pair(list, 'removed', String(removed));
      this.pair(list, 'changed', String(changed));
    }
    this.remarks(this.passRemarks(number), 'Remarks of the pass');
    if (heat !== null) this.kernels(data.errors ? 'Layers' : 'Kernels', heat.kernels);
  }

  passRemarks(number) {
    const {remarks} = this.app.data, found = [];
    for (let i = 0; i < remarks.snapshot.length; ++i) {
      if (remarks.snapshot[i] === number && remarks.keys[i].length === 0) found.push(i);
    }
    return found;
  }

  kernels(title, numbers) {
    if (numbers.length === 0) return;
    const {data} = this.app, list = this.section(title);
    for (const k of numbers.slice(0, kMaxListed)) {
      const {us, calls, bytes} = data.kernels;
      this.link(list, textOf(data, data.kernels.name[k]),
                data.errors ? formatHeat(data, us[k]) :
                    formatTime(us[k]) + ', ' + calls[k] + '×, ' + formatBytes(bytes[k]),
                () => this.app.showKernel(k));
    }
    this.more(list, numbers.length - kMaxListed);
  }

  showKernel(number) {
    const {data, heat} = this.app, {kernels} = data;
    this.clear(textOf(data, kernels.name[number]), 'kernel');
    if (data.errors) {
      this.pair(this.section('Error'), 'signal to noise', formatHeat(data, kernels.us[number]));
    } else {
      const list = this.section('Trace');
      this.pair(list, 'time', formatTime(kernels.us[number]));
      this.pair(list, 'calls', String(kernels.calls[number]));
      this.pair(list, 'bytes', formatBytes(kernels.bytes[number]));
      this.rate(list, number);
    }
    this.items('Nodes', heat.items[number]);
    this.names('Stands for', data.kernels.sources[number]);
  }

  rate(list, number) {
    const {kernels} = this.app.data;
    if (kernels.bytes[number] === 0 || kernels.us[number] <= 0) return;
    const rate = kernels.bytes[number] / kernels.us[number] / 1e3;
    this.pair(list, 'rate', rate.toFixed(2) + ' GB/s');
  }

  items(title, items) {
    if (items.length === 0) return;
    const {tree, data} = this.app, list = this.section(title + ' (' + items.length + ')');
    for (const item of items.slice(0, kMaxListed)) {
      const row = tree.snapshot.row[tree.key[item]];
      this.link(list, tree.label[item], textOf(data, data.types[row]),
                () => this.app.select(item, true));
    }
    this.more(list, items.length - kMaxListed);
  }

  names(title, sources) {
    const names = sourceNames(this.app.data, sources);
    if (names.length === 0) return;
    const list = this.section(title);
    for (const name of names) list.append(element('div', 'source', name));
  }

  // --- A node or a group.
  show(item) {
    const {tree, data} = this.app;
    if (tree.key[item] < 0) {
      this.showGroup(item);
      return;
    }
    const key = tree.key[item], row = tree.snapshot.row[key];
    const change = tree.snapshot.change[key];
    const words = ['', 'made by this pass', 'removed by this pass', 'changed by this pass'];
    this.clear(tree.label[item], words[change]);
    if (change > 0) this.root.firstChild.className = 'change' + change;
    const list = this.section('Node');
    this.pair(list, 'op', textOf(data, data.op[row]));
    if (data.name[row] >= 0) this.pair(list, 'name', textOf(data, data.name[row]));
    this.pair(list, 'type', textOf(data, data.types[row]) || 'none');
    const local = data.keys.local[key];
    this.pair(list, local < 0 ? 'input' : 'id', String(local < 0 ? -1 - local : local));
    this.pair(list, 'graph', '@' + textOf(data, data.graphs.name[data.keys.graph[key]]));
    const path = tree.path(item).map((i) => tree.label[i]).join(' / ');
    if (path) this.pair(list, 'in', path);
    if (tree.isGroup(item)) this.pair(list, 'holds', (tree.nodes[item] - 1) + ' nodes');
    this.attributes(row);
    this.names('Source nodes', data.source[row]);
    this.history(row);
    this.heatOf(item);
    this.neighbours(item);
    const {direct, related} = this.remarksOf(key, data.source[row]);
    this.remarks(direct, 'Remarks');
    this.remarks(related, 'Remarks on the same source nodes');
  }

  showGroup(item) {
    const {tree} = this.app;
    this.clear(tree.label[item], 'group');
    const list = this.section('Group');
    this.pair(list, 'nodes', String(tree.nodes[item]));
    const path = tree.path(item).map((i) => tree.label[i]).join(' / ');
    if (path) this.pair(list, 'in', path);
    for (const [name, change] of [['added', 1], ['removed', 2], ['changed', 3]]) {
      if (tree.changes[change][item] > 0) {
        this.pair(list, name, String(tree.changes[change][item]));
      }
    }
    this.heatOf(item);
  }

  attributes(row) {
    const text = textOf(this.app.data, this.app.data.attrs[row]);
    if (text === '') return;
    const list = this.section('Attributes');
    for (const line of text.split('\n')) {
      const at = line.indexOf('=');
      this.pair(list, line.slice(0, at), line.slice(at + 1));
    }
  }

  history(row) {
    const {data} = this.app;
    const list = this.section('History');
    const story = data.story[row] < 0 ? [] : data.stories[data.story[row]];
    if (story.length === 0) {
      list.append(element('p', 'faint', 'as it came with the program'));
    }
    for (const step of story) {
      if (step < 0) {
        list.append(element('p', 'faint', '… and earlier steps'));
        continue;
      }
      const {pass, rule, rewrite, op, node} = data.steps;
      let text = textOf(data, pass[step]);
      if (rule[step] >= 0) text += ' · ' + textOf(data, rule[step]);
      const line = element('div', 'step', text);
      let detail = rule[step] >= 0 ? 'rewrite ' + rewrite[step] : '';
      if (op[step] >= 0) detail += ' of ' + textOf(data, op[step]) + ' (node ' + node[step] + ')';
      line.append(element('span', 'faint', ' ' + detail));
      list.append(line);
    }
  }

  heatOf(item) {
    const {data, heat, tree} = this.app;
    if (heat === null || heat.time[item] === 0 && heat.bytes[item] === 0) return;
    if (data.errors) {
      this.pair(this.section('Error'), 'signal to noise', formatHeat(data, heat.time[item]));
      return;
    }
    const list = this.section('Trace');
    const share = heat.total > 0 ? 100 * heat.time[item] / heat.total : 0;
    this.pair(list, 'time', formatTime(heat.time[item]) + ' (' + share.toFixed(1) + ' %)');
    this.pair(list, 'bytes', formatBytes(heat.bytes[item]));
    const key = tree.key[item];
    if (key >= 0 && heat.ofKey.has(key)) this.kernels('Kernels', heat.ofKey.get(key));
  }

  neighbours(item) {
    const {inputs, users} = this.app.neighbours(item);
    this.items('Operands', inputs);
    this.items('Users', users);
  }

  remarksOf(key, sources) {
    const {data} = this.app;
    if (data.remarksOfKey === undefined) indexRemarks(data);
    const direct = data.remarksOfKey.get(key) || [], related = [];
    const known = new Set(direct);
    for (const name of sources < 0 ? [] : data.sources[sources]) {
      for (const remark of data.remarksOfSource.get(name) || []) {
        if (!known.has(remark)) related.push(remark);
        known.add(remark);
      }
    }
    return {direct, related: related.sort((a, b) => a - b)};
  }

  remarks(numbers, title) {
    if (numbers.length === 0) return;
    const {data} = this.app, list = this.section(title + ' (' + numbers.length + ')');
    for (const i of numbers.slice(0, kMaxListed)) {
      const {kind, path, rule, text} = data.remarks;
      const line = element('div', 'remark ' + textOf(data, kind[i]).replace(/[^a-z-]/g, ''));
      let head = textOf(data, kind[i]) + ' · ' + textOf(data, path[i]);
      if (rule[i] >= 0) head += ' · ' + textOf(data, rule[i]);
      line.append(element('div', 'head', head), element('div', '', textOf(data, text[i])));
      list.append(line);
    }
    this.more(list, numbers.length - kMaxListed);
  }
}

// data.remarksOfKey and data.remarksOfSource.
function indexRemarks(data) {
  data.remarksOfKey = new Map();
  data.remarksOfSource = new Map();
  const add = (map, key, remark) => {
    if (!map.has(key)) map.set(key, [remark]);
    else if (map.get(key)[map.get(key).length - 1] !== remark) map.get(key).push(remark);
  };
  for (let i = 0; i < data.remarks.kind.length; ++i) {
    for (const key of data.remarks.keys[i]) add(data.remarksOfKey, key, i);
    const sources = data.remarks.sources[i];
    for (const name of sources < 0 ? [] : data.sources[sources]) {
      if (name >= 0) add(data.remarksOfSource, name, i);
    }
  }
}
