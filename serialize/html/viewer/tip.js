// The tooltip with the full text of a box or a line, for which the canvas has no room.

const kTipValues = 6;

class Tip {
  constructor(app) {
    this.app = app;
    this.root = document.getElementById('tip');
    app.watchers.push(() => this.hide());
  }

  hide() {
    this.root.hidden = true;
  }

  // lines: texts; the first one is the title. x, y: a place in the browser's window.
  show(x, y, lines) {
    const {root} = this;
    root.textContent = '';
    lines.forEach((line, i) => root.append(element('div', i === 0 ? 'title' : '', line)));
    root.hidden = false;
    const {offsetWidth, offsetHeight} = root;
    const fits = (at, size, room) => at + 14 + size <= room ? at + 14 : Math.max(4, at - 14 - size);
    root.style.left = fits(x, offsetWidth, window.innerWidth) + 'px';
    root.style.top = fits(y, offsetHeight, window.innerHeight) + 'px';
  }

  // Shows the tooltip for a place in the scene's units.
  showScene(event, x, y) {
    const {scene, painter} = this.app, box = scene.hit(x, y);
    const inside = box !== null && box.open && y >= box.y + kHeader;
    const line = box === null || inside ? scene.hitLine(x, y, 6 / painter.view.scale) : null;
    const lines = line !== null ? this.linesOfLine(line) :
        box !== null && !inside ? this.linesOfItem(box.item) : [];
    if (lines.length > 0) this.show(event.clientX, event.clientY, lines);
    else this.hide();
  }

  linesOfLine(line) {
    const {tree, connections} = this.app;
    const values = connections.valuesBetween(line.from, line.to, kTipValues);
    const lines = [tree.label[line.from] + ' → ' + tree.label[line.to], ...values];
    if (line.count > values.length) lines.push('… ' + plural(line.count, 'edge') + ' in all');
    return lines;
  }

  linesOfItem(item) {
    const {data, tree, heat} = this.app, key = tree.key[item], lines = [tree.label[item]];
    if (key >= 0) {
      const row = tree.snapshot.row[key];
      lines.push(textOf(data, data.types[row]));
      const attrs = textOf(data, data.attrs[row]);
      if (attrs !== '') lines.push(...attrs.split('\n').slice(0, 4).map((a) => a.slice(0, 120)));
      lines.push(...sourceNames(data, data.source[row]).slice(0, 3));
    }
    if (tree.isGroup(item)) lines.push(plural(tree.nodes[item], 'node'));
    if (heat !== null && heat.time[item] > 0) lines.push(formatHeat(data, heat.time[item]));
    return lines.filter((line) => line !== '');
  }
}
