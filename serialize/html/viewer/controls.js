// The parts of the page around the canvas: header, passes, search.

class Controls {
  constructor(app) {
    this.app = app;
    this.get = (id) => document.getElementById(id);
    this.get('title').textContent = app.data.title;
    document.title = app.data.title;
    this.listPasses();
    this.bindHeader();
    this.bindSearch();
    this.pointer = new Pointer(app);
    this.exporter = new Exporter(app);
    window.addEventListener('resize', () => {
      // A window may get its size late.
      if (app.painter.isAtStart() && app.painter.selected < 0) app.begin();
      else app.painter.resize();
      app.changed();
    });
    this.number = -1;  // The snapshot that the list shows.
    app.watchers.push(() => this.showStep());
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
      if (snapshot.us !== undefined) {
        row.append(element('span', 'faint time', formatTime(snapshot.us)));
      }
      row.title = snapshot.text;
      row.addEventListener('click', () => {
        document.body.classList.remove('shows-passes');
        app.goTo(i);
      });
      list.append(row);
    });
    const slider = this.get('slider');
    slider.max = String(app.data.snapshots.length - 1);
    slider.addEventListener('input', () => app.goTo(Number(slider.value)));
    this.get('previous').addEventListener('click', () => app.goTo(app.number - 1));
    this.get('next').addEventListener('click', () => app.goTo(app.number + 1));
    this.get('previous-change').addEventListener('click', () => app.nextChange(-1));
    this.get('next-change').addEventListener('click', () => app.nextChange(1));
    this.get('show-passes').addEventListener('click',
                                             () => document.body.classList.toggle('shows-passes'));
  }

  showStep() {
    const {app} = this;
    if (this.number === app.number) return;
    this.number = app.number;
    this.get('results').hidden = true;
    const {path, us} = app.data.snapshots[app.number];
    const {added, removed, changed} = app.counts[app.number];
    const slider = this.get('slider');
    slider.value = String(app.number);
    slider.setAttribute('aria-valuetext', path);
    this.get('step').textContent = (app.number + 1) + ' / ' + app.data.snapshots.length + '  ' +
        path + (app.number === 0 ? '' : '  +' + added + ' −' + removed + ' ~' + changed) +
        (us === undefined ? '' : '  ' + formatTime(us));
    for (const name of ['previous-change', 'next-change']) {
      this.get(name).disabled = added + removed + changed === 0;
    }
    [...this.get('passes').children].forEach((row, i) => {
      row.classList.toggle('current', i === app.number);
      if (i === app.number) row.setAttribute('aria-current', 'step');
      else row.removeAttribute('aria-current');
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
    colour.addEventListener('change', () => app.setColour(colour.value));
    for (const name of ['constants', 'ghosts']) {
      this.get(name).addEventListener('change', () => {
        app.options[name] = this.get(name).checked;
        app.rebuild();
      });
    }
    this.get('fit').addEventListener('click', () => app.fit());
    this.get('expand').addEventListener('click', () => app.openLevel());
    this.get('collapse').addEventListener('click', () => app.closeAll());
    for (const kind of ['svg', 'png']) {
      this.get(kind).addEventListener('click', () => this.exporter.save(kind));
    }
  }

  setColour(colour) {
    const select = this.get('colour');
    if (![...select.options].some((option) => option.value === colour)) return;
    select.value = colour;
    this.app.setColour(colour);
  }

  setOptions(constants, ghosts) {
    this.get('constants').checked = this.app.options.constants = constants;
    this.get('ghosts').checked = this.app.options.ghosts = ghosts;
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
}
