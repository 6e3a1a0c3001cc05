// The memory of a run: what the program held during the trace, by category, and which of the plan's
// temporaries were alive.

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
    return lastUpTo(this.times, time);
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
      fillSteps(c, this.times, sums, {from, to, scale, y, low});
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
}

// The temporaries of the plan that are alive while its steps run, at the times of the trace. The
// arena that holds them is one allocation, so the trace alone does not show them.
class LiveMemory {
  // slices: of kernels, by begin.
  constructor({timeline, kernels, plan}, slices) {
    this.sizes = plan.sizes;
    this.times = [];
    this.bytes = [];
    const stepsOf = new Map(), id = (name, sources) => name + '\0' + sources;
    plan.live.forEach((bytes, step) => {
      const key = id(plan.name[step], plan.sources[step]);
      if (bytes < 0) return;
      if (stepsOf.has(key)) stepsOf.get(key).push(step);
      else stepsOf.set(key, [step]);
    });
    // Of equal steps, the next one in the plan's order runs.
    let last = -1;
    for (const s of slices) {
      const k = timeline.kernel[s], steps = stepsOf.get(id(kernels.name[k], kernels.sources[k]));
      if (steps === undefined) continue;
      last = steps[(lastUpTo(steps, last) + 1) % steps.length];
      this.times.push(timeline.begin[s]);
      this.bytes.push(plan.live[last]);
    }
  }

  get isEmpty() {
    return !this.bytes.some((bytes) => bytes > 0);
  }

  textAt(time) {
    const point = lastUpTo(this.times, time);
    return point < 0 ? '' : formatBytes(this.bytes[point]) + ' alive in the plan' + this.sizes;
  }

  // Draws the time from `from` to `to` on a box: {y, width, height}.
  paint(c, theme, from, to, box) {
    const low = box.y + box.height, scale = box.width / (to - from);
    const first = Math.max(0, lastUpTo(this.times, from)), last = lastUpTo(this.times, to);
    let most = 0;
    for (let i = first; i <= last; ++i) most = Math.max(most, this.bytes[i]);
    c.fillStyle = mix(theme.back, opColour('activation'), 0.5);
    const y = (bytes) => low - box.height * bytes / Math.max(1, most);
    fillSteps(c, this.times, this.bytes, {from, to, scale, y, low});
    c.fillStyle = theme.back;
    const text = 'alive in the plan' + this.sizes + ': at most ' + formatBytes(most);
    c.fillRect(3, box.y, c.measureText(text).width + 9, 14);
    c.fillStyle = inkOn(theme.back, theme).text;
    c.fillText(text, 6, box.y + 7);
  }
}

// The place of the last of these times that is not after `time`; -1: none.
function lastUpTo(times, time) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// Fills the area below a curve of steps. Points within a pixel are one, the highest of them.
function fillSteps(c, times, values, {from, to, scale, y, low}) {
  const first = lastUpTo(times, from), last = lastUpTo(times, to);
  let level = y(first < 0 ? 0 : values[first]), pixel = 0;
  c.beginPath();
  c.moveTo(0, low);
  c.lineTo(0, level);
  for (let i = first + 1; i <= last; ++i) {
    const x = Math.floor((times[i] - from) * scale), next = y(values[i]);
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
