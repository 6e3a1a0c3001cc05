// Saves pictures of the whole scene as SVG and PNG.

const kMaxPixels = 8000;  // Longer side of a PNG.

// The part of a canvas's context that the painter uses, writing SVG.
class SvgContext {
  constructor(measure) {
    this.measure = measure;  // A context that knows the widths of texts.
    this.parts = [];
    this.path = '';
    this.globalAlpha = 1;
    this.dash = [];
  }

  escape(text) {
    return String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');
  }

  add(tag, values, text = '') {
    const opacity = this.globalAlpha === 1 ? {} : {opacity: this.globalAlpha};
    const attributes = Object.entries({...values, ...opacity})
        .map(([name, value]) => ` ${name}="${this.escape(value)}"`);
    this.parts.push(`<${tag}${attributes.join('')}>${this.escape(text)}</${tag}>`);
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  fillRect(x, y, width, height) {
    this.add('rect', {x, y, width, height, fill: this.fillStyle});
  }

  beginPath() {
    this.path = '';
  }

  // Adds a command of a path with its numbers.
  draw(command, ...numbers) {
    this.path += command + numbers.map((n) => +n.toFixed(2)).join(' ');
  }

  moveTo(x, y) {
    this.draw('M', x, y);
  }

  lineTo(x, y) {
    this.draw('L', x, y);
  }

  bezierCurveTo(...places) {
    this.draw('C', ...places);
  }

  roundRect(x, y, w, h, r) {
    this.draw('M', x + r, y);
    this.draw('h', w - 2 * r);
    this.draw('a', r, r, 0, 0, 1, r, r);
    this.draw('v', h - 2 * r);
    this.draw('a', r, r, 0, 0, 1, -r, r);
    this.draw('h', 2 * r - w);
    this.draw('a', r, r, 0, 0, 1, -r, -r);
    this.draw('v', 2 * r - h);
    this.draw('a', r, r, 0, 0, 1, r, -r);
    this.draw('z');
  }

  fill() {
    this.add('path', {d: this.path, fill: this.fillStyle});
  }

  stroke() {
    const dash = this.dash.length === 0 ? {} : {'stroke-dasharray': this.dash.join(' ')};
    this.add('path', {d: this.path, fill: 'none', stroke: this.strokeStyle,
                      'stroke-width': this.lineWidth, ...dash});
  }

  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  fillText(text, x, y) {
    this.add('text', {x, y, fill: this.fillStyle, style: 'font:' + this.font,
                      'dominant-baseline': 'middle'}, text);
  }
}

class Exporter {
  constructor(app) {
    this.app = app;
  }

  // The whole scene with a margin.
  part() {
    const {width, height} = this.app.scene;
    return {x0: -20, y0: -20, x1: width + 20, y1: height + 20};
  }

  svg() {
    const {painter} = this.app, part = this.part();
    const c = new SvgContext(painter.context), w = part.x1 - part.x0, h = part.y1 - part.y0;
    c.fillStyle = painter.theme.back;
    c.fillRect(part.x0, part.y0, w, h);
    painter.draw(c, part, 1);
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" ` +
        `viewBox="${part.x0} ${part.y0} ${w} ${h}">\n${c.parts.join('\n')}\n</svg>\n`;
  }

  // A canvas with the picture.
  png() {
    const {painter} = this.app, part = this.part(), canvas = document.createElement('canvas');
    const w = part.x1 - part.x0, h = part.y1 - part.y0;
    const scale = Math.min(2, kMaxPixels / Math.max(w, h));
    canvas.width = Math.ceil(w * scale);
    canvas.height = Math.ceil(h * scale);
    const c = canvas.getContext('2d');
    c.setTransform(scale, 0, 0, scale, -part.x0 * scale, -part.y0 * scale);
    c.fillStyle = painter.theme.back;
    c.fillRect(part.x0, part.y0, w, h);
    painter.draw(c, part, scale);
    return canvas;
  }

  save(kind) {
    const name = this.app.data.title.replace(/[^\w.-]+/g, '_') + '.' + kind;
    if (kind === 'png') this.png().toBlob((blob) => this.download(blob, name));
    else this.download(new Blob([this.svg()], {type: 'image/svg+xml'}), name);
    this.app.repaint();
  }

  download(blob, name) {
    const link = element('a');
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }
}
