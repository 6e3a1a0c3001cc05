// The timeline of the trace: a flame chart of its spans, the memory that was held, and what of it was
// alive.

class TimelineView {
  constructor(root, app) {
    this.app = app;
    this.data = app.data.timeline;
    this.memory = new MemoryCurve(this.data);
    this.live = new LiveMemory(
        app.data, slicesByBegin(this.data).filter((s) => this.data.kernel[s] >= 0));
    this.flame = layOutTimeline(this.data, !this.live.isEmpty);
    this.canvas = element('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'Flame chart of the run and curve of the memory held; ' +
        'the table of kernels has the same figures');
    this.note = element('span', 'faint');
    const bar = element('div', 'bar');
    this.button(bar, '◀', 'Previous run', () => this.showRun(this.run - 1));
    this.button(bar, '▶', 'Next run', () => this.showRun(this.run + 1));
    this.button(bar, 'Whole trace', 'Shows the whole trace', () => this.showAll());
    bar.append(this.note);
    const body = element('div', 'scroll');
    body.append(this.canvas);
    root.append(bar, body);
    this.bind();
    app.watchers.push(() => this.paint());
    this.from = this.origin = 0;  // The ruler counts from the origin.
    this.to = this.flame.end;
    this.showRun(this.flame.runs.length - 1);
  }

  button(bar, text, title, action) {
    const button = element('button', '', text);
    button.title = title;
    button.addEventListener('click', action);
    bar.append(button);
  }

  showRun(number) {
    const {runs} = this.flame;
    if (runs.length === 0) {
      this.showAll();
      return;
    }
    this.run = Math.max(0, Math.min(runs.length - 1, number));
    const {begin, end} = runs[this.run], margin = (end - begin) * 0.02;
    this.origin = begin;
    this.look(begin - margin, end + margin);
  }

  showAll() {
    this.origin = 0;
    this.look(0, this.flame.end);
  }

  look(from, to) {
    this.from = from;
    this.to = Math.max(to, from + 20);
    this.paint();
  }

  zoom(time, factor) {
    const room = Math.min(this.flame.end * 1.2, (this.to - this.from) * factor);
    const share = (time - this.from) / (this.to - this.from);
    this.look(time - share * room, time + (1 - share) * room);
  }

  bind() {
    const {canvas} = this;
    let drag = null;
    canvas.addEventListener('wheel', (event) => {
      if (event.shiftKey) return;  // Scrolls the tracks.
      event.preventDefault();
      this.zoom(this.timeAt(event.offsetX), Math.exp(event.deltaY * 0.0015));
    }, {passive: false});
    canvas.addEventListener('pointerdown', (event) => {
      drag = {x: event.clientX, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (drag === null) {
        this.hover(event);
        return;
      }
      const dx = event.clientX - drag.x;
      if (!drag.moved && Math.abs(dx) < 4) return;
      drag = {x: event.clientX, moved: true};
      const time = dx * (this.to - this.from) / canvas.clientWidth;
      this.look(this.from - time, this.to - time);
    });
    canvas.addEventListener('pointerup', (event) => {
      if (drag !== null && !drag.moved) this.click(event);
      drag = null;
    });
    canvas.addEventListener('pointerleave', () => this.app.tip.hide());
    canvas.addEventListener('keydown', (event) => {
      const room = this.to - this.from, middle = this.from + room / 2;
      const keys = {
        'ArrowLeft': () => this.look(this.from - room / 5, this.to - room / 5),
        'ArrowRight': () => this.look(this.from + room / 5, this.to + room / 5),
        '+': () => this.zoom(middle, 0.7), '=': () => this.zoom(middle, 0.7),
        '-': () => this.zoom(middle, 1.4),
      };
      if (!(event.key in keys)) return;
      event.preventDefault();
      event.stopPropagation();
      keys[event.key]();
    });
  }

  timeAt(x) {
    return this.from + x * (this.to - this.from) / this.canvas.clientWidth;
  }

  // The slice at a place of the canvas; -1: none.
  sliceAt(x, y) {
    const row = this.flame.rows.find((r) => y >= r.y && y < r.y + kRowHeight);
    if (row === undefined) return -1;
    const time = this.timeAt(x), pixel = (this.to - this.from) / this.canvas.clientWidth;
    // The slice at the place itself, or else one within a pixel.
    for (const reach of [0, pixel]) {
      const s = row.slices[firstAfter(this.data, row.slices, time - reach)];
      if (s !== undefined && this.data.begin[s] <= time + reach) return s;
    }
    return -1;
  }

  isOnMemory(y) {
    return !this.memory.isEmpty && y >= kRulerHeight && y < kRulerHeight + kMemoryHeight;
  }

  isOnLive(y) {
    const {liveY} = this.flame;
    return !this.live.isEmpty && y >= liveY && y < liveY + kMemoryHeight;
  }

  // The slice of a kernel that runs at a time; -1: none.
  kernelSliceAt(time) {
    for (const row of this.flame.rows) {
      const s = row.slices[firstAfter(this.data, row.slices, time)];
      if (s !== undefined && this.data.begin[s] <= time && this.data.kernel[s] >= 0) return s;
    }
    return -1;
  }

  // A click on a curve of memory selects the kernel that runs at that time.
  click(event) {
    const {offsetX, offsetY} = event;
    const onCurve = this.isOnMemory(offsetY) || this.isOnLive(offsetY);
    const s = onCurve ? this.kernelSliceAt(this.timeAt(offsetX)) :
        this.sliceAt(offsetX, offsetY);
    if (s < 0) this.app.select(-1, false);
    else if (this.data.kernel[s] >= 0) this.app.showKernel(this.data.kernel[s]);
  }

  hover(event) {
    const s = this.sliceAt(event.offsetX, event.offsetY), {data, app} = this;
    this.canvas.style.cursor = s >= 0 && data.kernel[s] >= 0 ? 'pointer' : 'grab';
    if (s >= 0) {
      const lines = [data.names[data.name[s]], formatTime(data.duration[s] / 1000)];
      const kernel = data.kernel[s];
      if (kernel >= 0) {
        lines.push('median ' + formatTime(app.data.kernels.us[kernel]),
                   ...sourceNames(app.data, app.data.kernels.sources[kernel]).slice(0, 4));
      }
      app.tip.show(event.clientX, event.clientY, lines);
    } else if (this.isOnMemory(event.offsetY) || this.isOnLive(event.offsetY)) {
      const time = this.timeAt(event.offsetX), running = this.kernelSliceAt(time);
      const lines = this.isOnLive(event.offsetY) ? [this.live.textAt(time)] :
          this.memory.linesAt(time);
      if (running >= 0) lines.push('during ' + data.names[data.name[running]]);
      app.tip.show(event.clientX, event.clientY, lines);
    } else {
      app.tip.hide();
    }
  }

  paint() {
    const {canvas, flame, app} = this, ratio = window.devicePixelRatio || 1;
    const width = canvas.parentElement.clientWidth;
    if (width === 0) return;  // Not shown.
    canvas.style.height = flame.height + 'px';
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(flame.height * ratio);
    const c = canvas.getContext('2d'), {theme} = app.painter;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = theme.back;
    c.fillRect(0, 0, width, flame.height);
    c.textBaseline = 'middle';
    this.scale = width / (this.to - this.from);
    this.paintRuler(c, theme, width);
    if (!this.memory.isEmpty) {
      const box = {y: kRulerHeight + 4, width, height: kMemoryHeight - 8};
      this.memory.paint(c, theme, this.from, this.to, box);
    }
    if (!this.live.isEmpty) {
      const box = {y: flame.liveY + 4, width, height: kMemoryHeight - 8};
      this.live.paint(c, theme, this.from, this.to, box);
    }
    this.paintSlices(c, theme, width);
    const {runs} = flame;
    this.note.textContent = (runs.length > 0 ? plural(runs.length, 'run') + '; shown: ' : '') +
        formatTime((this.to - this.from) / 1000) +
        (this.data.leftOut > 0 ? '; ' + this.data.leftOut + ' events were left out' : '');
  }

  paintRuler(c, theme, width) {
    const step = roundStep(90 / this.scale);
    c.font = '10.5px ' + kFont;
    const first = Math.ceil((this.from - this.origin) / step) * step;
    for (let t = first; t < this.to - this.origin; t += step) {
      const x = (t + this.origin - this.from) * this.scale;
      c.fillStyle = theme.line;
      c.fillRect(x, 0, 1, kRulerHeight);
      c.fillStyle = theme.faint;
      c.fillText((t < 0 ? '−' : '') + formatTime(Math.abs(t) / 1000), x + 4, kRulerHeight / 2);
    }
  }

  paintSlices(c, theme, width) {
    const {data, flame, app} = this, chosen = app.selectedKernels();
    for (const track of flame.tracks) {
      c.fillStyle = theme.faint;
      c.font = '600 10.5px ' + kFont;
      c.fillText(track.name, 6, track.y + kTrackHead / 2);
    }
    c.font = '11px ' + kFont;
    for (const row of flame.rows) {
      eachVisible(data, row.slices, this.from, this.to, 1 / this.scale, (s) => {
        const begin = (data.begin[s] - this.from) * this.scale;
        const end = begin + Math.max(1, data.duration[s] * this.scale);
        const x = Math.max(-2, begin);
        this.paintSlice(c, theme, s, x, row.y, Math.min(width + 2, end) - x, chosen);
      });
    }
  }

  paintSlice(c, theme, s, x, y, w, chosen) {
    const {data} = this, name = data.names[data.name[s]], kernel = data.kernel[s];
    const lit = chosen.has(kernel);
    const fill = kernel < 0 ? theme.group : mix(theme.node, opColour(name), lit ? 0.75 : 0.45);
    c.globalAlpha = chosen.size > 0 && kernel >= 0 && !lit ? 0.35 : 1;
    c.fillStyle = fill;
    c.fillRect(x, y, Math.max(1, w - 0.5), kRowHeight - 1);
    if (w > 28) {
      c.fillStyle = inkOn(fill, theme).text;
      c.fillText(this.app.painter.clip(c, name, w - 8), x + 4, y + kRowHeight / 2);
    }
    c.globalAlpha = 1;
    if (!lit) return;
    c.globalAlpha = kFaded;
    c.fillStyle = theme.found;
    if (!this.memory.isEmpty) c.fillRect(x, kRulerHeight, w, kMemoryHeight);
    if (!this.live.isEmpty) c.fillRect(x, this.flame.liveY, w, kMemoryHeight);
    c.globalAlpha = 1;
    c.strokeStyle = theme.found;
    c.lineWidth = 2;
    c.strokeRect(x, y + 1, Math.max(2, w - 1), kRowHeight - 3);
  }
}
