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
      for (const option of app.data.errors ? [...colour.options] : []) {
        if (option.value === 'time') option.textContent = 'error';
        if (option.value === 'bytes') option.remove();
      }
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
