// The view in the page's address: the part after '#' keeps the pass, the colours, what is open and
// selected, and where the window is.

const kMaxLinked = 400;  // Open groups.

class Link {
  constructor(app) {
    this.app = app;
    document.getElementById('link').addEventListener('click', () => this.copy());
    this.read();
    this.waiting = 0;
    app.watchers.push(() => this.later());
    document.addEventListener('pointerup', () => this.later());
    document.addEventListener('wheel', () => this.later(), {passive: true});
    window.addEventListener('hashchange', () => this.read());
  }

  text() {
    const {app} = this, {painter, scene, tree} = app, {view} = painter;
    const parts = [['pass', String(app.number)], ['colour', painter.colour]];
    const open = [...scene.open].slice(0, kMaxLinked).map(encodeURIComponent).join(',');
    if (open !== '') parts.push(['open', open]);
    if (painter.selected >= 0) {
      parts.push(['node', encodeURIComponent(tree.id[painter.selected])]);
    }
    if (app.kernel >= 0) parts.push(['kernel', String(app.kernel)]);
    parts.push(['drawer', app.dock.shown === '' ? 'none' : app.dock.shown]);
    if (app.options.constants) parts.push(['constants', '1']);
    if (!app.options.ghosts) parts.push(['removed', '0']);
    if (app.theme.chosen !== '') parts.push(['theme', app.theme.chosen]);
    parts.push(['view', [view.x.toFixed(1), view.y.toFixed(1), view.scale.toFixed(4)].join(',')]);
    return '#' + parts.map(([name, value]) => name + '=' + value).join('&');
  }

  // Writes the address when nothing has moved for some frames.
  later() {
    const first = this.waiting === 0;
    this.waiting = 20;
    if (first) requestAnimationFrame(() => this.wait());
  }

  wait() {
    if (--this.waiting > 0) requestAnimationFrame(() => this.wait());
    else this.write();
  }

  // A page inside of another one has no address of its own.
  write() {
    const text = this.text();
    if (text === location.hash || location.protocol === 'about:') return;
    this.written = text;
    history.replaceState(null, '', text);
  }

  copy() {
    this.write();
    const said = document.getElementById('live');
    if (navigator.clipboard === undefined) return;
    navigator.clipboard.writeText(location.href).then(
        () => { said.textContent = 'the link is in the clipboard'; },
        () => { said.textContent = 'the link is the address of this page'; });
  }

  // Restores the view that the address describes; what the address leaves out does not change.
  read() {
    if (location.hash === '' || location.hash === this.written) return;
    const {app} = this, {painter, scene, data} = app;
    const parts = new Map(location.hash.slice(1).split('&').map((part) => part.split('=')));
    const has = (name) => parts.has(name) && parts.get(name) !== undefined;
    const decode = (text) => {
      try {
        return decodeURIComponent(text);
      } catch (error) {
        return '';
      }
    };
    if (has('theme') && parts.get('theme') in kThemes) app.theme.choose(parts.get('theme'));
    app.controls.setOptions(parts.get('constants') === '1', parts.get('removed') !== '0');
    if (has('open')) scene.open = new Set(parts.get('open').split(',').map(decode));
    const pass = Number(parts.get('pass'));
    app.goTo(Number.isInteger(pass) && has('pass') ? pass : app.number);
    if (has('colour')) app.controls.setColour(parts.get('colour'));
    if (has('drawer')) app.dock.show(parts.get('drawer') === 'none' ? '' : parts.get('drawer'));
    const kernel = Number(parts.get('kernel'));
    const item = has('node') ? app.tree.id.indexOf(decode(parts.get('node'))) : -1;
    if (app.heat !== null && has('kernel') && kernel >= 0 && kernel < data.kernels.name.length) {
      app.showKernel(kernel, false);
    } else if (item > 0) {
      app.select(item, false);
    }
    const view = has('view') ? parts.get('view').split(',').map(Number) : [];
    if (view.length === 3 && view.every(Number.isFinite) && view[2] > 0) {
      [painter.view.x, painter.view.y] = view;
      painter.view.scale = Math.max(kMinScale, Math.min(kMaxScale, view[2]));
    }
    app.changed();
  }
}
