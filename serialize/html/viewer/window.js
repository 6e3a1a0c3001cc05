// The part of a scene that a canvas shows.

class SceneWindow {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    this.view = {x: 0, y: 0, scale: 1};  // The window's corner, and pixels a unit.
    this.first = {...this.view};
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const {clientWidth, clientHeight} = this.canvas;
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.ratio = ratio;
  }

  // The scale at which the scene fits the window.
  wholeScale() {
    const {clientWidth, clientHeight} = this.canvas, {width, height} = this.scene;
    return Math.min(clientWidth / (width + 60), clientHeight / (height + 60), 1.4);
  }

  fit() {
    this.look(this.wholeScale(), true);
  }

  // A scene that is too large to be read as a whole begins at its top.
  start() {
    const whole = this.wholeScale();
    const wide = this.canvas.clientWidth / (this.scene.width + 60);
    if (whole >= kReadable) this.look(whole, true);
    else this.look(Math.max(whole, Math.min(1, Math.max(wide, kReadable))), false);
    this.first = {...this.view};
  }

  // False once the window has been moved.
  isAtStart() {
    return ['x', 'y', 'scale'].every((part) => this.view[part] === this.first[part]);
  }

  look(scale, whole) {
    const {clientWidth, clientHeight} = this.canvas, {width, height} = this.scene;
    this.view.scale = scale;
    this.view.x = width / 2 - clientWidth / scale / 2;
    this.view.y = whole ? height / 2 - clientHeight / scale / 2 : -30;
  }

  centre(item) {
    const box = this.scene.boxOf.get(item);
    if (box === undefined) return;
    const {view, canvas} = this;
    if (view.scale < 0.5) view.scale = 0.9;
    view.x = box.x + box.w / 2 - canvas.clientWidth / view.scale / 2;
    view.y = box.y + Math.min(box.h, 300) / 2 - canvas.clientHeight / view.scale / 2;
  }

  // The bounds of the window in the scene's units.
  window() {
    const {view, canvas} = this;
    return {x0: view.x, y0: view.y, x1: view.x + canvas.clientWidth / view.scale,
            y1: view.y + canvas.clientHeight / view.scale};
  }
}
