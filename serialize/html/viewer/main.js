// Puts the parts together: the state of the page, its controls, and what they do.
// `window.weft` is the same for scripts that drive the page.

// Time and bytes of the trace's kernels on the items of a tree. A kernel's time is
// shared evenly by the source nodes that it stands for, and each share by the nodes
// of this snapshot that stand for the source; nodes inside of such a node get nothing,
// so that the sums of groups are right.
function makeHeat(data, tree) {
  const {kernels} = data;
  if (kernels.name.length === 0) return null;
  const n = tree.parent.length;
  const heat = {time: new Float64Array(n), bytes: new Float64Array(n), total: 0, items: [],
                ofKey: new Map(), most: {time: 0, bytes: 0}};
  const wanted = new Set();
  for (const list of kernels.sources) if (list >= 0) data.sources[list].forEach((s) => wanted.add(s));
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
      const share = 1 / names.length / itemsOf.get(s).length;
      for (const item of itemsOf.get(s)) {
        heat.time[item] += kernels.us[k] * share;
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
    heat.time[tree.parent[item]] += heat.time[item];
    heat.bytes[tree.parent[item]] += heat.bytes[item];
  }
  heat.kernels = kernels.us.map((_, k) => k).sort((a, b) => kernels.us[b] - kernels.us[a] || a - b);
  return heat;
}

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

// The parts of the page around the canvas.
class Controls {
  constructor(app) {
    this.app = app;
    this.get = (id) => document.getElementById(id);
    app.showSteps = () => this.showStep();
    this.get('title').textContent = app.data.title;
    document.title = app.data.title;
    this.listPasses();
    this.bindHeader();
    this.bindSearch();
    this.bindCanvas();
    this.bindKeys();
    window.addEventListener('resize', () => {
      app.painter.resize();
      app.repaint();
    });
    this.showStep();
  }

  listPasses() {
    const {app} = this, list = this.get('passes');
    app.data.snapshots.forEach((snapshot, i) => {
      const row = element('button', 'pass', '');
      row.append(element('span', 'path', snapshot.path));
      const {added, removed, changed} = app.counts[i];
      for (const [n, name, sign] of [[added, 'change1', '+'], [removed, 'change2', '−'],
                                     [changed, 'change3', '~']]) {
        if (n > 0) row.append(element('span', name, sign + n));
      }
      row.title = snapshot.text;
      row.addEventListener('click', () => app.goTo(i));
      list.append(row);
    });
    const slider = this.get('slider');
    slider.max = String(app.data.snapshots.length - 1);
    slider.addEventListener('input', () => app.goTo(Number(slider.value)));
    this.get('previous').addEventListener('click', () => app.goTo(app.number - 1));
    this.get('next').addEventListener('click', () => app.goTo(app.number + 1));
  }

  showStep() {
    const {app} = this;
    this.get('slider').value = String(app.number);
    const {path} = app.data.snapshots[app.number];
    const {added, removed, changed} = app.counts[app.number];
    this.get('step').textContent = (app.number + 1) + ' / ' + app.data.snapshots.length + '  ' +
        path + (app.number === 0 ? '' : '  +' + added + ' −' + removed + ' ~' + changed);
    [...this.get('passes').children].forEach((row, i) => {
      row.classList.toggle('current', i === app.number);
      if (i === app.number) row.scrollIntoView({block: 'nearest'});
    });
  }

  bindHeader() {
    const {app} = this, colour = this.get('colour');
    if (app.heat === null) {
      for (const option of [...colour.options]) {
        if (option.value === 'time' || option.value === 'bytes') option.remove();
      }
    } else {
      colour.value = app.painter.colour = 'time';
    }
    colour.addEventListener('change', () => {
      app.painter.colour = colour.value;
      app.repaint();
    });
    for (const name of ['constants', 'ghosts']) {
      this.get(name).addEventListener('change', () => {
        app.options[name] = this.get(name).checked;
        app.rebuild();
      });
    }
    this.get('fit').addEventListener('click', () => {
      app.painter.fit();
      app.repaint();
    });
    this.get('expand').addEventListener('click', () => app.openLevel());
    this.get('collapse').addEventListener('click', () => app.closeAll());
  }

  bindSearch() {
    const {app} = this, input = this.get('search'), results = this.get('results');
    this.hits = [];
    this.at = -1;
    const run = () => {
      this.hits = app.search(input.value.trim());
      this.at = -1;
      app.painter.marked = new Set(this.hits);
      this.listHits();
      app.repaint();
    };
    input.addEventListener('input', run);
    input.addEventListener('focus', () => {
      if (this.hits.length > 0) results.hidden = false;
    });
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && this.hits.length > 0) {
        const step = event.shiftKey ? this.hits.length - 1 : 1;
        this.at = this.at < 0 ? 0 : (this.at + step) % this.hits.length;
        app.select(this.hits[this.at], true);
        this.listHits();
      } else if (event.key === 'Escape') {
        input.value = '';
        run();
        input.blur();
      }
      event.stopPropagation();
    });
  }

  listHits() {
    const {app} = this, results = this.get('results'), {tree} = app;
    results.textContent = '';
    results.hidden = this.get('search').value.trim() === '';
    const count = this.hits.length === 1 ? '1 match' : this.hits.length + ' matches';
    results.append(element('p', 'faint', count));
    const begin = Math.max(0, Math.min(this.at - 5, this.hits.length - 30));
    this.hits.slice(begin, begin + 30).forEach((item, i) => {
      const row = element('button', 'link', tree.label[item]);
      if (begin + i === this.at) row.classList.add('current');
      row.append(element('span', 'faint',
                         ' ' + tree.path(item).map((p) => tree.label[p]).join(' / ')));
      row.addEventListener('click', () => {
        this.at = begin + i;
        app.select(item, true);
        this.listHits();
        results.hidden = true;
      });
      results.append(row);
    });
  }

  bindCanvas() {
    const {app} = this, canvas = this.get('canvas'), {view} = app.painter;
    const place = (event) => {
      const corner = canvas.getBoundingClientRect();
      return [view.x + (event.clientX - corner.left) / view.scale,
              view.y + (event.clientY - corner.top) / view.scale];
    };
    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
      this.get('results').hidden = true;
      drag = {x: event.clientX, y: event.clientY, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (drag === null) {
        const box = app.scene.hit(...place(event));
        canvas.style.cursor = box === null ? 'grab' : 'pointer';
        return;
      }
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      drag = {x: event.clientX, y: event.clientY, moved: true};
      view.x -= dx / view.scale;
      view.y -= dy / view.scale;
      app.repaint();
    });
    canvas.addEventListener('pointerup', (event) => {
      if (drag !== null && !drag.moved) this.click(place(event));
      drag = null;
    });
    canvas.addEventListener('dblclick', (event) => {
      const box = app.scene.hit(...place(event));
      if (box !== null) app.toggle(box.item);
    });
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const [x, y] = place(event);
      const scale = Math.max(0.01, Math.min(4, view.scale * Math.exp(-event.deltaY * 0.0015)));
      view.x = x - (x - view.x) * view.scale / scale;
      view.y = y - (y - view.y) * view.scale / scale;
      view.scale = scale;
      app.repaint();
    }, {passive: false});
  }

  // The triangle of a group opens and closes it; all else selects.
  click([x, y]) {
    const {app} = this, box = app.scene.hit(x, y);
    if (box === null) {
      app.select(-1, false);
    } else if (app.tree.isGroup(box.item) && x < box.x + 24 && y < box.y + kHeader) {
      app.toggle(box.item);
    } else {
      app.select(box.item, false);
    }
  }

  bindKeys() {
    const {app} = this;
    const actions = {
      ',': () => app.goTo(app.number - 1),
      '.': () => app.goTo(app.number + 1),
      'f': () => this.get('fit').click(),
      'e': () => app.openLevel(),
      'c': () => app.closeAll(),
      '/': () => this.get('search').focus(),
      'Enter': () => app.painter.selected >= 0 && app.toggle(app.painter.selected),
      'Escape': () => app.select(-1, false),
    };
    document.addEventListener('keydown', (event) => {
      if (event.target.tagName === 'INPUT' && event.target.type === 'search') return;
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
      event.preventDefault();
      actions[event.key]();
    });
  }
}

const app = new App(readData(document.getElementById('data').textContent));
app.showSteps = () => {};
app.controls = new Controls(app);
window.weft = app;
