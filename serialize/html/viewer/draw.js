// Draws a scene on the canvas: what lies in the window, in as much detail as its scale
// can show.

const kColours = {
  back: '#f7f8fa', node: '#ffffff', group: '#eef1f5', openGroup: '#f2f4f8', border: '#9aa5b5',
  text: '#1d2733', faint: '#667385', line: '#8b97a8', select: '#1a66d6', hot: '#c43c1c',
  found: '#8e24aa',
};
// By kind of change: fill and border.
const kChangeColours = [null, ['#d9f2dd', '#2e8b45'], ['#fbdcdc', '#c23b3b'],
                        ['#fdeec8', '#b97f10']];
const kFont = 'system-ui, "DejaVu Sans", sans-serif';

// A colour for each op that is the same in every file.
function opColour(op) {
  let hash = 7;
  for (let i = 0; i < op.length; ++i) hash = (hash * 31 + op.charCodeAt(i)) >>> 0;
  return 'hsl(' + (hash % 360) + ',55%,' + (45 + hash % 13) + '%)';
}

// From white over yellow to red, by the share of the hottest.
function heatColour(share) {
  if (share <= 0) return kColours.node;
  const t = Math.sqrt(Math.min(1, share));
  return 'hsl(' + Math.round(58 - 52 * t) + ',' + Math.round(70 + 20 * t) + '%,' +
      Math.round(94 - 38 * t) + '%)';
}

class Painter {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.scene = scene;
    this.view = {x: 0, y: 0, scale: 1};  // The window's corner, and pixels a unit.
    this.colour = 'change';
    this.heat = null;
    this.selected = -1;
    this.marked = new Set();  // Items that are lit: of a kernel, of a search.
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const {clientWidth, clientHeight} = this.canvas;
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.ratio = ratio;
  }

  fit() {
    const {clientWidth, clientHeight} = this.canvas, {width, height} = this.scene;
    const whole = Math.min(clientWidth / (width + 60), clientHeight / (height + 60), 1.4);
    // A tall graph begins at its top in a size that can be read.
    const scale = Math.max(whole, Math.min(0.55, clientWidth / (width + 60)));
    this.view.scale = scale;
    this.view.x = width / 2 - clientWidth / scale / 2;
    this.view.y = whole === scale ? height / 2 - clientHeight / scale / 2 : -30;
  }

  centre(item) {
    const box = this.scene.boxOf.get(item);
    if (box === undefined) return;
    const {view, canvas} = this;
    if (view.scale < 0.5) view.scale = 0.8;
    view.x = box.x + box.w / 2 - canvas.clientWidth / view.scale / 2;
    view.y = box.y + Math.min(box.h, 300) / 2 - canvas.clientHeight / view.scale / 2;
  }

  paint() {
    const c = this.context, {view, ratio, canvas, scene} = this;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = kColours.back;
    c.fillRect(0, 0, canvas.width, canvas.height);
    const k = view.scale * ratio;
    c.setTransform(k, 0, 0, k, -view.x * k, -view.y * k);
    const window_ = {x0: view.x, y0: view.y, x1: view.x + canvas.clientWidth / view.scale,
                     y1: view.y + canvas.clientHeight / view.scale};
    this.painted = 0;
    for (const box of scene.boxes) {
      if (box.open && this.overlaps(box, window_)) this.paintOpenGroup(c, box);
    }
    for (const line of scene.lines) this.paintLine(c, line, window_, kColours.line, 1);
    for (const box of scene.boxes) {
      if (!box.open && this.overlaps(box, window_)) this.paintBox(c, box);
    }
    if (this.selected >= 0) this.paintNeighbours(c);
  }

  overlaps(box, w) {
    return box.x < w.x1 && box.y < w.y1 && box.x + box.w > w.x0 && box.y + box.h > w.y0;
  }

  showsHeat() {
    return this.heat !== null && (this.colour === 'time' || this.colour === 'bytes');
  }

  // '' for what the trace does not have.
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
    const {tree} = this.scene;
    if (this.colour === 'op' && tree.key[item] >= 0) {
      const op = textOf(tree.data, tree.data.op[tree.snapshot.row[tree.key[item]]]);
      return opColour(op).replace('hsl', 'hsla').replace(')', ',0.35)');
    }
    if (this.showsHeat()) {
      return heatColour(this.heat[this.colour][item] / this.heat.most[this.colour]);
    }
    const change = this.changeOf(item);
    if (change > 0) return kChangeColours[change][0];
    return tree.isGroup(item) ? kColours.group : kColours.node;
  }

  border(c, item) {
    const change = this.changeOf(item);
    c.lineWidth = 1;
    c.strokeStyle = change > 0 ? kChangeColours[change][1] : kColours.border;
    c.setLineDash(change === kRemoved ? [4, 3] : []);
    if (this.marked.has(item)) {
      c.strokeStyle = kColours.found;
      c.lineWidth = 3;
    }
    if (item === this.selected) {
      c.strokeStyle = kColours.select;
      c.lineWidth = 3;
    }
  }

  paintOpenGroup(c, box) {
    const {tree} = this.scene;
    ++this.painted;
    c.fillStyle = tree.depth[box.item] % 2 === 1 ? '#eceff4' : '#f5f7fa';
    if (this.showsHeat()) {
      c.fillStyle = tree.key[box.item] >= 0 ? this.fillOf(box.item) : kColours.openGroup;
    }
    this.border(c, box.item);
    this.round(c, box, 7);
    c.fill();
    c.stroke();
    c.setLineDash([]);
    if (this.view.scale * 13 < 4) return;
    c.fillStyle = kColours.text;
    c.font = '600 13px ' + kFont;
    c.textBaseline = 'middle';
    c.fillText('▾ ' + this.clip(c, tree.label[box.item], box.w - 30), box.x + 8,
               box.y + kHeader / 2 + 1);
  }

  paintBox(c, box) {
    const {tree} = this.scene, item = box.item;
    ++this.painted;
    c.fillStyle = this.fillOf(item);
    if (this.view.scale < 0.08) {
      c.fillRect(box.x, box.y, box.w, box.h);
      return;
    }
    this.border(c, item);
    this.round(c, box, tree.isGroup(item) ? 7 : 4);
    c.fill();
    c.stroke();
    c.setLineDash([]);
    if (this.view.scale * 12 < 4) return;
    if (tree.isGroup(item)) this.labelGroup(c, box);
    else this.labelNode(c, box);
  }

  labelNode(c, box) {
    const {tree} = this.scene, {data} = tree;
    const row = tree.snapshot.row[tree.key[box.item]];
    c.fillStyle = opColour(textOf(data, data.op[row]));
    c.fillRect(box.x, box.y + 4, 4, box.h - 8);
    c.textBaseline = 'middle';
    c.fillStyle = kColours.text;
    c.font = '600 13px ' + kFont;
    c.fillText(this.clip(c, tree.label[box.item], box.w - 16), box.x + 10, box.y + 13);
    if (this.view.scale * 10 < 4) return;
    c.fillStyle = kColours.faint;
    c.font = '10.5px ' + kFont;
    const detail = this.heatText(box.item) || textOf(data, data.types[row]);
    c.fillText(this.clip(c, detail, box.w - 16), box.x + 10, box.y + 28);
  }

  labelGroup(c, box) {
    const {tree} = this.scene, item = box.item;
    c.textBaseline = 'middle';
    c.fillStyle = kColours.text;
    c.font = '600 13px ' + kFont;
    c.fillText('▸ ' + this.clip(c, tree.label[item], box.w - 30), box.x + 8, box.y + 15);
    c.font = '10.5px ' + kFont;
    c.fillStyle = kColours.faint;
    const heat = this.heatText(item);
    if (heat !== '') {
      c.fillText(heat, box.x + 10, box.y + 32);
      return;
    }
    let x = box.x + 10;
    this.scene.summaryOf(item).forEach((text, change) => {
      if (text === '') return;
      if (change > 0) c.fillStyle = kChangeColours[change][1];
      c.fillText(text, x, box.y + 32);
      x += c.measureText(text).width + 6;
    });
  }

  paintLine(c, line, w, colour, width) {
    const p = line.points;
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (let i = 0; i < p.length; i += 2) {
      x0 = Math.min(x0, p[i]);
      x1 = Math.max(x1, p[i]);
      y0 = Math.min(y0, p[i + 1]);
      y1 = Math.max(y1, p[i + 1]);
    }
    if (w !== null && (x0 > w.x1 || x1 < w.x0 || y0 > w.y1 || y1 < w.y0)) return;
    c.strokeStyle = colour;
    c.lineWidth = width * (line.count > 1 ? 1.6 : 1);
    c.globalAlpha = line.direct ? 0.45 : 0.9;
    c.beginPath();
    c.moveTo(p[0], p[1]);
    if (line.back) {
      const out = Math.max(p[0], p[2]) + 40;
      c.setLineDash([3, 3]);
      c.bezierCurveTo(out, p[1], out, p[3], p[2], p[3]);
      c.stroke();
      c.setLineDash([]);
      c.globalAlpha = 1;
      return;
    }
    for (let i = 2; i < p.length; i += 2) {
      const middle = (p[i - 1] + p[i + 1]) / 2;
      c.bezierCurveTo(p[i - 2], middle, p[i], middle, p[i], p[i + 1]);
    }
    c.stroke();
    c.globalAlpha = 1;
    if (this.view.scale < 0.25) return;
    const x = p[p.length - 2], y = p[p.length - 1];
    c.fillStyle = colour;
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(x - 4, y - 7);
    c.lineTo(x + 4, y - 7);
    c.fill();
  }

  // Lines between the selected item and those that it reads or that read it, as they
  // are shown.
  paintNeighbours(c) {
    const box = this.scene.boxOf.get(this.selected);
    if (box === undefined) return;
    for (const [items, isInput] of [[this.inputs || [], true], [this.users || [], false]]) {
      for (const item of items) {
        const other = this.scene.boxOf.get(this.scene.shown(item));
        if (other === undefined || other === box) continue;
        const [from, to] = isInput ? [other, box] : [box, other];
        const points = [from.x + from.w / 2, from.open ? from.y + kHeader : from.y + from.h,
                        to.x + to.w / 2, to.y];
        this.paintLine(c, {points, count: 1}, null,
                       isInput ? kColours.select : kColours.hot, 2);
      }
    }
  }

  round(c, box, r) {
    c.beginPath();
    c.roundRect(box.x, box.y, box.w, box.h, r);
  }

  clip(c, text, width) {
    if (text.length * 5 < width || c.measureText(text).width <= width) return text;
    let low = 0, high = Math.min(text.length, 80);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (c.measureText(text.slice(0, middle) + '…').width <= width) low = middle;
      else high = middle - 1;
    }
    return text.slice(0, low) + '…';
  }
}
