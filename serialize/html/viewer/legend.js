// The meaning of the canvas's colours.

class Legend {
  constructor(app) {
    this.app = app;
    this.root = document.getElementById('legend');
    app.overlays.push(this);
    this.shown = '';
  }

  // Called after the canvas has been drawn, when the hottest box is known.
  paint() {
    const {painter} = this.app, {hottest} = painter;
    const state = [painter.colour, hottest.value, hottest.item, painter.theme.back,
                   this.app.number].join(' ');
    if (state === this.shown) return;
    this.shown = state;
    this.root.textContent = '';
    if (painter.showsHeat()) this.showHeat();
    else if (painter.colour === 'change' && this.hasChanges()) this.showChanges();
    this.root.hidden = this.root.textContent === '';
  }

  hasChanges() {
    const {added, removed, changed} = this.app.snapshot;
    return added + removed + changed > 0;
  }

  showHeat() {
    const {data, painter, tree} = this.app, {hottest, theme} = painter;
    const what = data.errors ? 'noise over signal' :
        painter.colour === 'bytes' ? 'bytes of a run' : 'median time, of all calls in a run';
    this.root.append(element('div', '', what + ' (scale: square root)'));
    const bar = element('div', 'scale');
    bar.style.background = 'linear-gradient(90deg,' + theme.heat.join(',') + ')';
    const ticks = element('div', 'ticks');
    for (const share of [0, 0.25, 1]) {
      const value = share * hottest.value;
      ticks.append(element('span', '', share === 0 ? (data.errors ? 'exact' : '0') :
          painter.colour === 'bytes' ? formatBytes(value) : formatHeat(data, value)));
    }
    this.root.append(bar, ticks);
    if (hottest.item >= 0) {
      this.root.append(element('div', 'faint', 'most: ' + tree.label[hottest.item]));
    }
  }

  showChanges() {
    const {theme} = this.app.painter;
    ['', 'made by the pass', 'removed', 'changed'].forEach((text, change) => {
      if (change === 0) return;
      const line = element('div', 'key'), patch = element('span', 'patch');
      [patch.style.background, patch.style.borderColor] = theme.changes[change];
      if (change === kRemoved) patch.style.borderStyle = 'dashed';
      line.append(patch, element('span', '', text));
      this.root.append(line);
    });
  }
}
