// The drawer below the canvas. It shows the table of kernels or the timeline.

const kNarrow = 900;  // Pixels, as in the style sheet.

class Dock {
  constructor(app) {
    this.app = app;
    this.root = document.getElementById('dock');
    this.tabs = document.getElementById('tabs');
    this.shown = '';
    this.pages = new Map();  // By name: {button, page, make}.
    const {data} = app;
    if (app.heat !== null || data.plan.name.length > 0) {
      this.add('kernels', app.heat === null ? 'Plan' : data.errors ? 'Layers' : 'Kernels',
               (page) => new KernelTable(page, app));
    }
    if (data.timeline.begin.length > 0) {
      this.add('timeline', 'Timeline', (page) => new TimelineView(page, app));
    }
    this.bindSize();
    // A narrow window has room for the graph alone.
    if (app.heat !== null && window.innerWidth > kNarrow) this.show('kernels');
  }

  add(name, title, make) {
    const button = element('button', '', title), page = element('section');
    button.setAttribute('aria-expanded', 'false');
    page.setAttribute('aria-label', title);
    page.hidden = true;
    button.addEventListener('click', () => this.show(this.shown === name ? '' : name));
    this.tabs.append(button);
    this.root.append(page);
    this.pages.set(name, {button, page, make, view: null});
  }

  // '': closes the drawer. A page is made when it is first shown.
  show(name) {
    if (name !== '' && !this.pages.has(name)) return;
    this.shown = name;
    this.root.hidden = name === '';
    for (const [other, entry] of this.pages) {
      const isShown = other === name;
      entry.page.hidden = !isShown;
      entry.button.setAttribute('aria-expanded', String(isShown));
      if (isShown && entry.view === null) entry.view = entry.make(entry.page);
    }
    this.resized();
  }

  resized() {
    this.app.painter.resize();
    this.app.changed();
  }

  // The upper edge can be dragged.
  bindSize() {
    const edge = document.getElementById('edge');
    edge.addEventListener('pointerdown', (event) => edge.setPointerCapture(event.pointerId));
    edge.addEventListener('pointermove', (event) => {
      if (event.buttons !== 1) return;
      const {bottom} = this.root.getBoundingClientRect();
      const height = Math.max(90, Math.min(window.innerHeight * 0.7, bottom - event.clientY));
      this.root.style.height = height + 'px';
      this.resized();
    });
  }
}
