// The table of kernels, or of the plan's steps where there is no trace. It can be sorted and
// filtered, and stays as it is while nodes are selected.

const kMaxTableRows = 400;

class KernelTable {
  constructor(root, app) {
    this.app = app;
    const {data, heat} = app;
    this.columns = this.makeColumns();
    this.count = heat === null ? data.plan.name.length : data.kernels.name.length;
    this.sorted = this.columns.findIndex((column) => column.first === true);
    this.down = this.sorted >= 0;
    this.filter = element('input', 'filter');
    this.filter.type = 'search';
    this.filter.placeholder = 'Filter by layer, kernel, routine';
    this.filter.setAttribute('aria-label', this.filter.placeholder);
    this.filter.addEventListener('input', () => this.fill());
    this.total = element('span', 'faint');
    const bar = element('div', 'bar');
    bar.append(this.filter, this.total);
    const table = element('table');
    this.head = element('thead');
    this.body = element('tbody');
    table.append(this.head, this.body);
    root.append(bar, table);
    this.fillHead();
    this.fill();
    app.watchers.push(() => this.mark());
  }

  // {title, text: of a row, number: sort key (default: the text), bar: its length as a share,
  // first: whether the table is first sorted by it}.
  makeColumns() {
    const {app} = this, {data} = app, {kernels, plan} = data;
    const layer = (sources) => {
      const names = sourceNames(data, sources);
      return names.length < 2 ? names.join('') : names[0] + ' +' + (names.length - 1);
    };
    if (app.heat === null) {
      return [{title: 'step', text: (s) => String(s + 1), number: (s) => s},
              {title: 'layer', text: (s) => layer(plan.sources[s])},
              {title: 'kernel', text: (s) => plan.name[s]},
              {title: 'plan', text: (s) => plan.text[s]}];
    }
    const layers = {title: 'layer', text: (k) => layer(kernels.sources[k])};
    if (data.errors) {
      return [layers, {title: 'signal to noise', text: (k) => formatHeat(data, kernels.us[k]),
                       number: (k) => kernels.us[k], first: true}];
    }
    const cost = (k) => app.heat.costs[k];
    const share = (k) => cost(k).control || app.heat.total === 0 ? 0 : cost(k).us / app.heat.total;
    const rate = (counts) => (k) => formatRate(counts[k], kernels.us[k]);
    return [
      layers,
      {title: 'kernel', text: (k) => kernels.name[k]},
      {title: 'routine', text: (k) => kernels.routine[k]},
      {title: 'calls', text: (k) => String(kernels.calls[k]), number: (k) => kernels.calls[k]},
      {title: 'median', text: (k) => formatTime(kernels.us[k]), number: (k) => kernels.us[k]},
      {title: 'share', text: (k) => (100 * share(k)).toFixed(1) + ' %', number: share, bar: share,
       first: true},
      {title: 'GFLOP/s', text: rate(kernels.flops),
       number: (k) => kernels.flops[k] / kernels.us[k]},
      {title: 'GB/s', text: rate(kernels.bytes), number: (k) => kernels.bytes[k] / kernels.us[k]},
    ];
  }

  fillHead() {
    const row = element('tr');
    this.columns.forEach((column, c) => {
      const cell = element('th', column.number === undefined ? '' : 'number');
      const button = element('button', '', column.title);
      cell.setAttribute('scope', 'col');
      button.addEventListener('click', () => {
        this.down = this.sorted === c ? !this.down : column.number !== undefined;
        this.sorted = c;
        this.fill();
      });
      cell.append(button);
      row.append(cell);
    });
    this.head.append(row);
  }

  // The numbers of rows that pass the filter, in order.
  rows() {
    const wanted = this.filter.value.trim().toLowerCase(), rows = [];
    const texts = this.columns.filter((column) => column.number === undefined);
    for (let i = 0; i < this.count; ++i) {
      const has = (column) => column.text(i).toLowerCase().includes(wanted);
      if (wanted === '' || texts.some(has)) rows.push(i);
    }
    if (this.sorted < 0) return rows;
    const {number, text} = this.columns[this.sorted], sign = this.down ? -1 : 1;
    if (number !== undefined) return rows.sort((a, b) => sign * (number(a) - number(b)) || a - b);
    const textOfRow = new Map(rows.map((i) => [i, text(i)]));
    return rows.sort((a, b) => {
      const x = textOfRow.get(a), y = textOfRow.get(b);
      return x === y ? a - b : x < y ? -sign : sign;
    });
  }

  fill() {
    const rows = this.rows();
    this.columns.forEach((column, c) => {
      const cell = this.head.firstChild.children[c];
      cell.setAttribute('aria-sort', c !== this.sorted ? 'none' :
          this.down ? 'descending' : 'ascending');
    });
    const bar = this.columns.find((column) => column.bar !== undefined);
    this.most = bar === undefined ? 0 : rows.reduce((most, i) => Math.max(most, bar.bar(i)), 1e-9);
    this.body.textContent = '';
    this.rowOf = new Map();
    for (const i of rows.slice(0, kMaxTableRows)) this.addRow(i);
    if (rows.length > kMaxTableRows) {
      const cell = element('td', 'faint', '… and ' + (rows.length - kMaxTableRows) + ' more');
      cell.colSpan = this.columns.length;
      const row = element('tr');
      row.append(cell);
      this.body.append(row);
    }
    this.showTotal(rows);
    this.mark();
  }

  addRow(i) {
    const row = element('tr');
    for (const column of this.columns) {
      const cell = element('td', column.number === undefined ? 'text' : 'number', column.text(i));
      cell.title = cell.textContent;
      if (column.bar !== undefined) {
        cell.classList.add('share');
        cell.style.setProperty('--share', (100 * column.bar(i) / this.most).toFixed(1) + '%');
      }
      row.append(cell);
    }
    row.tabIndex = 0;
    row.addEventListener('click', () => this.choose(i));
    row.addEventListener('keydown', (event) => this.press(event, i, row));
    this.rowOf.set(i, row);
    this.body.append(row);
  }

  // Enter chooses a row, arrows go to the rows beside it.
  press(event, i, row) {
    const beside = {ArrowUp: row.previousSibling, ArrowDown: row.nextSibling}[event.key];
    if (event.key !== 'Enter' && beside === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === 'Enter') this.choose(i);
    else if (beside !== null) beside.focus();
  }

  choose(i) {
    const {app} = this;
    if (app.heat !== null) {
      app.showKernel(i);
      return;
    }
    const key = app.data.plan.key[i], item = key < 0 ? -1 : app.tree.itemOfKey[key];
    if (item >= 0) app.select(item, true);
  }

  showTotal(rows) {
    const {heat, data} = this.app;
    const shown = (rows.length === this.count ? '' : rows.length + ' of ') +
        plural(this.count, heat === null ? 'step' : data.errors ? 'layer' : 'kernel');
    if (heat === null || data.errors) {
      this.total.textContent = shown;
      return;
    }
    const us = rows.reduce((sum, k) => sum + (heat.costs[k].control ? 0 : heat.costs[k].us), 0);
    this.total.textContent = shown + ', ' + formatTime(us) + ' of ' + formatTime(heat.total) +
        ' a run';
  }

  // Marks the rows of the selected node, group or kernel.
  mark() {
    const {app} = this;
    let chosen = app.selectedKernels();
    if (app.heat === null) {
      const item = app.painter.selected;
      chosen = new Set(item < 0 ? [] : stepsOfKey(app.data, app.tree.key[item]));
    }
    let first = true;
    for (const [i, row] of this.rowOf) {
      row.classList.toggle('current', chosen.has(i));
      if (chosen.has(i) && first && app.kernel < 0) row.scrollIntoView({block: 'nearest'});
      if (chosen.has(i)) first = false;
    }
  }
}
