// Draws the part of a scene that lies in the window, with as much detail as the scale can show.

const kFont = 'system-ui, "DejaVu Sans", sans-serif';
const kFaded = 0.25;  // Opacity of nodes that are not on the highlighted paths.
// From these scales on, all lines have labels, and those of the selected node.
const kLabelScale = 1.4, kSelectedLabelScale = 0.6;

class Painter extends SceneWindow {
  constructor(canvas, scene) {
    super(canvas, scene);
    this.context = canvas.getContext('2d');
    this.theme = kThemes.light;
    this.colour = 'change';
    this.heat = null;
    this.selected = -1;
    this.marked = new Set();  // Items that are lit: of a kernel, of a search.
    this.inputs = [];         // Neighbours of the selected item.
    this.users = [];
    this.paths = null;  // {up, down: sets of items}: all before and after the selected one.
    this.labelOf = () => '';  // The text of a line.
  }

  paint() {
    const c = this.context, {view, ratio, canvas} = this;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = this.theme.back;
    c.fillRect(0, 0, canvas.width, canvas.height);
    const k = view.scale * ratio;
    c.setTransform(k, 0, 0, k, -view.x * k, -view.y * k);
    this.draw(c, this.window(), view.scale);
  }

  // Draws a part of the scene on a context in the scene's units, with the detail of a scale.
  draw(c, part, scale) {
    const {scene} = this;
    this.scale = scale;
    this.painted = 0;
    this.hottest = this.hottestShown();
    const overlaps = (b) => b.x < part.x1 && b.y < part.y1 && b.x + b.w > part.x0 &&
        b.y + b.h > part.y0;
    for (const box of scene.boxes) {
      if (box.open && overlaps(box)) this.drawOpenGroup(c, box);
    }
    for (const line of scene.lines) {
      const b = boundsOf(line);
      if (b.x0 > part.x1 || b.x1 < part.x0 || b.y0 > part.y1 || b.y1 < part.y0) continue;
      drawLine(c, line, this.styleOf(line));
    }
    for (const box of scene.boxes) {
      if (!box.open && overlaps(box)) this.drawBox(c, box);
    }
    const labelled = new Set();  // Lines by 'from to'.
    if (this.selected >= 0) this.drawNeighbours(c, labelled);
    if (scale < kLabelScale) return;
    for (const line of scene.lines) {
      const b = boundsOf(line);
      if (b.x0 > part.x1 || b.x1 < part.x0 || b.y0 > part.y1 || b.y1 < part.y0) continue;
      this.labelLine(c, line, labelled);
    }
  }

  // Writes the types of a line's values beside its end, above the box that reads them, once.
  labelLine(c, line, labelled) {
    const name = line.from + ' ' + line.to;
    if (line.back || labelled.has(name)) return;
    labelled.add(name);
    const text = this.labelOf(line);
    if (text === '') return;
    const p = line.points, x = p[p.length - 2] + 6, y = p[p.length - 1] - 12;
    c.font = '9.5px ' + kFont;
    c.textBaseline = 'middle';
    const shown = this.clip(c, text, 180);
    c.fillStyle = this.theme.back;
    c.globalAlpha = 0.85;
    c.fillRect(x - 2, y - 6, c.measureText(shown).width + 4, 12);
    c.globalAlpha = 1;
    c.fillStyle = inkOn(this.theme.back, this.theme).faint;
    c.fillText(shown, x, y);
  }

  showsHeat() {
    return this.heat !== null && (this.colour === 'time' || this.colour === 'bytes');
  }

  // The largest value on the canvas, and the item that has it: {value, item}.
  hottestShown() {
    const hottest = {value: 0, item: -1};
    if (!this.showsHeat()) return hottest;
    const values = this.heat[this.colour];
    for (const box of this.scene.boxes) {
      if (box.open || values[box.item] <= hottest.value) continue;
      hottest.value = values[box.item];
      hottest.item = box.item;
    }
    return hottest;
  }

  // '' for an item that the trace says nothing about.
  heatText(item) {
    const value = this.showsHeat() ? this.heat[this.colour][item] : 0;
    if (value <= 0) return '';
    return this.colour === 'bytes' ? formatBytes(value) : formatHeat(this.scene.tree.data, value);
  }

  changeOf(item) {
    const {tree} = this.scene;
    if (tree.key[item] >= 0 && !tree.isGroup(item)) return tree.snapshot.change[tree.key[item]];
    return 0;
  }

  fillOf(item) {
    const {tree} = this.scene, {theme} = this;
    if (this.colour === 'op' && tree.key[item] >= 0) {
      const op = textOf(tree.data, tree.data.op[tree.snapshot.row[tree.key[item]]]);
      return mix(theme.node, opColour(op), 0.35);
    }
    if (this.showsHeat()) {
      const value = this.heat[this.colour][item];
      return value > 0 ? heatColour(value / this.hottest.value, theme) : theme.node;
    }
    const change = this.changeOf(item);
    if (change > 0) return theme.changes[change][0];
    return tree.isGroup(item) ? theme.group : theme.node;
  }

  // The contrast of the fainter text on an item's box.
  contrastOf(item) {
    const fill = this.fillOf(item);
    return contrast(inkOn(fill, this.theme).faint, fill);
  }

  isFaded(item) {
    return this.paths !== null && item !== this.selected && !this.paths.up.has(item) &&
        !this.paths.down.has(item);
  }

  styleOf(line) {
    const {theme, paths} = this;
    const style = {colour: theme.line, width: 1, alpha: 1, arrow: this.scale >= 0.25};
    if (paths === null) return style;
    const on = (set) => set.has(line.from) && set.has(line.to);
    if (on(paths.up)) return {...style, colour: theme.select, width: 2};
    if (on(paths.down)) return {...style, colour: theme.users, width: 2};
    return {...style, alpha: kFaded};
  }

  // Sets the line style of an item's border.
  border(c, item) {
    const change = this.changeOf(item), {theme} = this;
    c.lineWidth = 1;
    c.strokeStyle = change > 0 ? theme.changes[change][1] : theme.border;
    c.setLineDash(change === kRemoved ? [4, 3] : []);
    if (this.marked.has(item)) {
      c.strokeStyle = theme.found;
      c.lineWidth = 3;
    }
    if (item === this.selected) {
      c.strokeStyle = theme.select;
      c.lineWidth = 3;
    }
  }

  drawOpenGroup(c, box) {
    const {tree} = this.scene, {theme} = this;
    ++this.painted;
    const back = theme.open[tree.depth[box.item] % 2];
    c.fillStyle = back;
    this.border(c, box.item);
    this.round(c, box, 7);
    c.fill();
    c.stroke();
    c.setLineDash([]);
    let ink = inkOn(back, theme).text;
    // A node that holds a graph shows its own heat in its head.
    if (this.showsHeat() && tree.key[box.item] >= 0 && this.heat[this.colour][box.item] > 0) {
      const fill = this.fillOf(box.item);
      ink = inkOn(fill, theme).text;
      c.fillStyle = fill;
      this.round(c, {x: box.x + 1, y: box.y + 1, w: box.w - 2, h: kHeader - 1}, 6);
      c.fill();
    }
    if (this.scale * 13 < 4) return;
    c.fillStyle = ink;
    c.font = '600 13px ' + kFont;
    c.textBaseline = 'middle';
    const heat = this.heatText(box.item), room = heat === '' ? 0 : c.measureText('  ' + heat).width;
    const label = this.clip(c, '▾ ' + tree.label[box.item], box.w - 16 - room);
    c.fillText(label + (heat === '' ? '' : '  ' + heat), box.x + 8, box.y + kHeader / 2 + 1);
  }

  drawBox(c, box) {
    const {tree} = this.scene, item = box.item, fill = this.fillOf(item);
    ++this.painted;
    c.fillStyle = fill;
    c.globalAlpha = this.isFaded(item) ? kFaded : 1;
    if (this.scale < 0.08) {
      c.fillRect(box.x, box.y, box.w, box.h);
    } else {
      this.border(c, item);
      this.round(c, box, tree.isGroup(item) ? 7 : 4);
      c.fill();
      c.stroke();
      c.setLineDash([]);
      const ink = inkOn(fill, this.theme);
      if (this.scale * 12 >= 4) {
        if (tree.isGroup(item)) this.labelGroup(c, box, ink);
        else this.labelNode(c, box, ink);
      }
    }
    c.globalAlpha = 1;
  }

  labelNode(c, box, ink) {
    const {tree} = this.scene, {data} = tree;
    const row = tree.snapshot.row[tree.key[box.item]];
    c.fillStyle = opColour(textOf(data, data.op[row]));
    c.fillRect(box.x, box.y + 4, 4, box.h - 8);
    c.textBaseline = 'middle';
    c.fillStyle = ink.text;
    c.font = '600 13px ' + kFont;
    c.fillText(this.clip(c, tree.label[box.item], box.w - 16), box.x + 10, box.y + 13);
    if (this.scale * 10 < 4) return;
    c.fillStyle = ink.faint;
    c.font = '10.5px ' + kFont;
    const detail = this.heatText(box.item) || textOf(data, data.types[row]);
    c.fillText(this.clip(c, detail, box.w - 16), box.x + 10, box.y + 28);
  }

  labelGroup(c, box, ink) {
    const {tree} = this.scene, item = box.item;
    c.textBaseline = 'middle';
    c.fillStyle = ink.text;
    c.font = '600 13px ' + kFont;
    c.fillText('▸ ' + this.clip(c, tree.label[item], box.w - 30), box.x + 8, box.y + 15);
    c.font = '10.5px ' + kFont;
    c.fillStyle = ink.faint;
    const heat = this.heatText(item);
    if (heat !== '') {
      c.fillText(heat, box.x + 10, box.y + 32);
      return;
    }
    let x = box.x + 10;
    this.scene.summaryOf(item).forEach((text, change) => {
      if (text === '') return;
      if (change > 0) c.fillStyle = this.theme.changes[change][1];
      c.fillText(text, x, box.y + 32);
      x += c.measureText(text).width + 6;
    });
  }

  // Lines between the selected item and those that it reads or that read it, as they are shown:
  // those of the scene, and straight ones across the borders of groups.
  drawNeighbours(c, labelled) {
    const box = this.scene.boxOf.get(this.selected);
    if (box === undefined || this.paths !== null) return;
    for (const [items, isInput] of [[this.inputs, true], [this.users, false]]) {
      for (const item of items) {
        const other = this.scene.boxOf.get(this.scene.shown(item));
        if (other === undefined || other === box) continue;
        const [from, to] = isInput ? [other, box] : [box, other];
        const points = [from.x + from.w / 2, from.open ? from.y + kHeader : from.y + from.h,
                        to.x + to.w / 2, to.y];
        const line = this.scene.lineOf.get(from.item + ' ' + to.item) ||
            {points, count: 1, from: from.item, to: to.item};
        const colour = isInput ? this.theme.select : this.theme.users;
        drawLine(c, line, {colour, width: 2, alpha: 1, arrow: this.scale >= 0.25});
        if (this.scale >= kSelectedLabelScale) this.labelLine(c, line, labelled);
      }
    }
  }

  round(c, box, r) {
    c.beginPath();
    c.roundRect(box.x, box.y, box.w, box.h, r);
  }

  clip(c, text, width) {
    // No letter is wider than 13 pixels in the fonts that are used.
    if (text.length * 13 < width || c.measureText(text).width <= width) return text;
    let low = 0, high = Math.min(text.length, 80);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (c.measureText(text.slice(0, middle) + '…').width <= width) low = middle;
      else high = middle - 1;
    }
    return text.slice(0, low) + '…';
  }
}
