// The panel on the right: what is known of the selected node, group or kernel.

const kMaxListed = 60;

class Panel {
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

  // --- Nothing selected: the module.
  showModule() {
    const {tree, data, heat, snapshot} = this.app;
    this.clear(data.title, tree.snapshot.order.length + ' nodes, inputs and returns');
    const list = this.section('This snapshot');
    const {path, text, us} = data.snapshots[snapshot.number];
    this.pair(list, 'pass', path);
    if (text !== '' && text !== path) this.pair(list, 'options', text);
    if (us !== undefined) this.pair(list, 'took', formatTime(us));
    for (const name of ['added', 'removed', 'changed']) {
      if (snapshot[name] > 0) this.pair(list, name, String(snapshot[name]));
    }
    if (heat !== null && !data.errors) runSummary(this);
    this.remarks(this.passRemarks(snapshot.number), 'Remarks of the pass');
  }

  passRemarks(number) {
    const {remarks} = this.app.data, found = [];
    for (let i = 0; i < remarks.snapshot.length; ++i) {
      if (remarks.snapshot[i] === number && remarks.keys[i].length === 0) found.push(i);
    }
    return found;
  }

  // --- A kernel of the trace.
  showKernel(number) {
    const {data, heat} = this.app, {kernels} = data;
    this.clear(kernels.name[number], data.errors ? 'layer' : 'kernel');
    kernelSections(this, number);
    this.items('Nodes', heat.items[number]);
    this.names('Stands for', kernels.sources[number]);
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
    if (tree.isGroup(item)) this.pair(list, 'holds', plural(tree.nodes[item] - 1, 'node'));
    this.pathButton();
    this.attributes(row);
    this.names('Source nodes', data.source[row]);
    this.history(row);
    heatSections(this, item);
    planSections(this, stepsOfKey(data, key));
    this.neighbours(item);
    const {direct, related} = this.remarksOf(key, data.source[row]);
    this.remarks(direct, 'Remarks');
    this.remarks(related, 'Remarks on the same source nodes');
  }

  pathButton() {
    const button = element('button', 'action', 'Highlight all paths through this node (a)');
    button.addEventListener('click', () => this.app.togglePaths());
    this.root.append(button);
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
    heatSections(this, item);
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
      const {pass, rule, rewrite, op, node} = data.changes;
      let text = textOf(data, pass[step]);
      if (rule[step] >= 0) text += ' · ' + textOf(data, rule[step]);
      const line = element('div', 'step', text);
      let detail = rule[step] >= 0 ? 'rewrite ' + rewrite[step] : '';
      if (op[step] >= 0) detail += ' of ' + textOf(data, op[step]) + ' (node ' + node[step] + ')';
      line.append(element('span', 'faint', ' ' + detail));
      list.append(line);
    }
  }

  neighbours(item) {
    const {inputs, users} = this.app.connections.neighbours(item);
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
