// The memory that the program held during a trace, by category.

class MemoryCurve {
  constructor(timeline) {
    this.times = timeline.memoryTime;
    this.totals = timeline.memoryBytes;
    this.categories = timeline.categories;
    this.stack = this.stackUp(timeline.memoryCategory);
  }

  // Memory of a category, and of those below it, at each point: the steadiest one lies lowest.
  // Memory from before the trace counts for the first category that changes.
  stackUp(category) {
    const held = this.categories.map(() => new Float64Array(this.times.length));
    const now = this.categories.map(() => 0);
    const ranges = this.categories.map(() => ({least: Infinity, most: -Infinity}));
    this.totals.forEach((total, i) => {
      now[category[i]] += total - (i === 0 ? 0 : this.totals[i - 1]);
      now.forEach((bytes, c) => {
        held[c][i] = bytes;
        ranges[c].least = Math.min(ranges[c].least, bytes);
        ranges[c].most = Math.max(ranges[c].most, bytes);
      });
    });
    const range = (c) => ranges[c].most - ranges[c].least;
    const order = this.categories.map((_, c) => c).sort((a, b) => range(a) - range(b) || a - b);
    const sums = new Float64Array(this.times.length);
    return order.map((c) => {
      for (let i = 0; i < sums.length; ++i) sums[i] += held[c][i];
      return {name: this.categories[c], held: held[c], sums: sums.slice()};
    });
  }

  get isEmpty() {
    return this.times.length === 0;
  }

  // The last point up to a time; -1: none.
  pointAt(time) {
    let low = 0, high = this.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // What is held at a time, as lines of text.
  linesAt(time) {
    const point = this.pointAt(time);
    if (point < 0) return ['0 B held'];
    const parts = this.stack.filter(({held}) => held[point] > 0)
        .map(({name, held}) => name + ' ' + formatBytes(held[point]));
    return [formatBytes(this.totals[point]) + ' held', ...parts.reverse()];
  }

  // The least and the most memory held between two times.
  between(from, to) {
    const first = this.pointAt(from), last = this.pointAt(to);
    const range = {least: first < 0 ? 0 : this.totals[first], most: 0};
    range.most = range.least;
    for (let i = first + 1; i <= last; ++i) {
      range.least = Math.min(range.least, this.totals[i]);
      range.most = Math.max(range.most, this.totals[i]);
    }
    return range;
  }

  // Draws the time from `from` to `to` on a box: {y, width, height}.
  paint(c, theme, from, to, box) {
    const {least, most} = this.between(from, to);
    // Small changes of much memory are shown, too.
    const base = least > most / 2 ? least - (most - least) / 2 : 0;
    const low = box.y + box.height, scale = box.width / (to - from);
    const y = (bytes) => low - box.height * Math.max(0, bytes - base) / Math.max(1, most - base);
    const layers = this.stack.slice().reverse()
        .map(({name, sums}) => ({name, sums, fill: mix(theme.back, opColour(name), 0.5)}));
    for (const {sums, fill} of layers) {
      c.fillStyle = fill;
      this.fillBelow(c, sums, from, to, scale, y, low);
    }
    const range = (least === most ? '' : formatBytes(least) + ' to ') + formatBytes(most);
    this.paintKey(c, theme, 'memory held: ' + range, layers, box.y);
  }

  // The range and the colours, on one line.
  paintKey(c, theme, text, layers, y) {
    const ink = inkOn(theme.back, theme).text, patch = 8, gap = 6;
    const width = (name) => c.measureText(name).width;
    const all = layers.reduce((sum, {name}) => sum + patch + 2 * gap + width(name), width(text));
    c.fillStyle = theme.back;
    c.fillRect(3, y, all + gap, 14);
    c.fillStyle = ink;
    c.fillText(text, gap, y + 7);
    let x = gap + width(text) + gap;
    for (const {name, fill} of layers) {
      c.fillStyle = fill;
      c.fillRect(x, y + 3, patch, patch);
      c.fillStyle = ink;
      c.fillText(name, x + patch + 3, y + 7);
      x += patch + 2 * gap + width(name);
    }
  }

  // Fills the area below a curve of steps. Points within a pixel are one, the highest of them.
  fillBelow(c, sums, from, to, scale, y, low) {
    const first = this.pointAt(from), last = this.pointAt(to);
    let level = y(first < 0 ? 0 : sums[first]), pixel = 0;
    c.beginPath();
    c.moveTo(0, low);
    c.lineTo(0, level);
    for (let i = first + 1; i <= last; ++i) {
      const x = Math.floor((this.times[i] - from) * scale), next = y(sums[i]);
      if (x === pixel) {
        level = Math.min(level, next);
        continue;
      }
      c.lineTo(pixel, level);
      c.lineTo(x, level);
      level = next;
      pixel = x;
      c.lineTo(x, level);
    }
    c.lineTo((to - from) * scale, level);
    c.lineTo((to - from) * scale, low);
    c.fill();
  }
}
