// A small picture of the whole scene with the window in it. A click or a drag moves the window.

const kMinimapSize = 170;     // Longer side, in pixels.
const kMinimapMinSide = 48;   // Minimum of the shorter side.
const kMaxMinimapScale = 0.15;

class Minimap {
  constructor(app) {
    this.app = app;
    this.canvas = document.getElementById('minimap');
    this.picture = document.createElement('canvas');  // The scene without the window.
    this.drawn = '';
    app.overlays.push(this);
    const move = (event) => {
      if (event.buttons !== 1) return;
      const corner = this.canvas.getBoundingClientRect(), {view, canvas} = app.painter;
      view.x = (event.clientX - corner.left) / this.kx - canvas.clientWidth / view.scale / 2;
      view.y = (event.clientY - corner.top) / this.ky - canvas.clientHeight / view.scale / 2;
      app.repaint();
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    this.canvas.addEventListener('pointermove', move);
    this.canvas.addEventListener('pointerup', () => app.changed());
  }

  paint() {
    const {scene, painter} = this.app, part = painter.window();
    const whole = part.x0 <= 0 && part.y0 <= 0 && part.x1 >= scene.width && part.y1 >= scene.height;
    this.canvas.hidden = whole || painter.canvas.clientWidth < 400;
    if (this.canvas.hidden) return;
    this.drawScene();
    const c = this.canvas.getContext('2d'), {ratio} = painter, {kx, ky} = this;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.drawImage(this.picture, 0, 0);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x0 = Math.max(1, part.x0 * kx), y0 = Math.max(1, part.y0 * ky);
    const x1 = Math.min(this.canvas.clientWidth - 1, part.x1 * kx);
    const y1 = Math.min(this.canvas.clientHeight - 1, part.y1 * ky);
    c.strokeStyle = painter.theme.window;
    c.lineWidth = 2;
    c.strokeRect(x0, y0, Math.max(3, x1 - x0), Math.max(3, y1 - y0));
  }

  drawScene() {
    const {scene, painter, number} = this.app, {ratio, theme} = painter;
    const state = [scene.version, number, painter.colour, theme.back, ratio].join(' ');
    if (state === this.drawn) return;
    this.drawn = state;
    // A long graph is stretched to the minimum width.
    const scale = Math.min(kMaxMinimapScale, kMinimapSize / Math.max(scene.width, scene.height, 1));
    const width = Math.max(kMinimapMinSide, scene.width * scale);
    const height = Math.max(kMinimapMinSide, scene.height * scale);
    this.kx = width / scene.width;
    this.ky = height / scene.height;
    this.canvas.style.width = width + 'px';
    this.canvas.style.height = height + 'px';
    for (const canvas of [this.canvas, this.picture]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const c = this.picture.getContext('2d');
    c.fillStyle = theme.back;
    c.fillRect(0, 0, this.picture.width, this.picture.height);
    const kx = this.kx * ratio, ky = this.ky * ratio;
    for (const box of scene.boxes) {
      const fill = box.open ? theme.open[0] : painter.fillOf(box.item);
      c.fillStyle = fill === theme.node ? theme.border : fill;
      c.fillRect(box.x * kx, box.y * ky, Math.max(1, box.w * kx), Math.max(1, box.h * ky));
    }
  }
}
