// Handles the mouse, or fingers, on the canvas.

const kMinScale = 0.005, kMaxScale = 4;

class Pointer {
  constructor(app) {
    this.app = app;
    this.drag = null;
    this.fingers = new Map();  // Where each pointer that is down was last: {clientX, clientY}.
    const {canvas} = app.painter;
    canvas.addEventListener('pointerdown', (event) => {
      document.getElementById('results').hidden = true;
      app.tip.hide();
      this.fingers.set(event.pointerId, event);
      this.drag = {x: event.clientX, y: event.clientY, moved: this.fingers.size > 1};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerleave', () => app.tip.hide());
    canvas.addEventListener('pointerup', (event) => {
      if (this.drag !== null && !this.drag.moved) this.click(event);
      this.lift(event);
    });
    canvas.addEventListener('pointercancel', (event) => this.lift(event));
    canvas.addEventListener('dblclick', (event) => {
      const box = app.scene.hit(...this.place(event));
      if (box !== null) app.toggle(box.item);
    });
    canvas.addEventListener('wheel', (event) => this.zoom(event), {passive: false});
  }

  // Where an event is in the scene.
  place(event) {
    const {view, canvas} = this.app.painter, corner = canvas.getBoundingClientRect();
    return [view.x + (event.clientX - corner.left) / view.scale,
            view.y + (event.clientY - corner.top) / view.scale];
  }

  // A finger that stays goes on dragging from where it is.
  lift(event) {
    this.fingers.delete(event.pointerId);
    const [left] = this.fingers.values();
    this.drag = left === undefined ? null : {x: left.clientX, y: left.clientY, moved: true};
  }

  move(event) {
    const {app, drag} = this, {view, canvas} = app.painter;
    if (this.fingers.size > 1 && this.fingers.has(event.pointerId)) {
      this.pinch(event);
      return;
    }
    if (drag === null) {
      const [x, y] = this.place(event);
      canvas.style.cursor = app.scene.hit(x, y) === null ? 'grab' : 'pointer';
      app.tip.showScene(event, x, y);
      return;
    }
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
    this.drag = {x: event.clientX, y: event.clientY, moved: true};
    view.x -= dx / view.scale;
    view.y -= dy / view.scale;
    app.repaint();
  }

  // A trackpad's pinch is a wheel with Ctrl, in smaller steps.
  zoom(event) {
    event.preventDefault();
    this.scaleAt(event, Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)));
  }

  // Scales the view and leaves the place of the event where it is.
  scaleAt(event, factor) {
    const {app} = this, {view} = app.painter, [x, y] = this.place(event);
    const scale = Math.max(kMinScale, Math.min(kMaxScale, view.scale * factor));
    view.x = x - (x - view.x) * view.scale / scale;
    view.y = y - (y - view.y) * view.scale / scale;
    view.scale = scale;
    app.tip.hide();
    app.repaint();
  }

  // Two fingers: what lies between them moves and grows with them.
  pinch(event) {
    const {fingers, app} = this, {view} = app.painter;
    const between = () => {
      const [a, b] = fingers.values();
      return {clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2,
              apart: Math.max(1, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY))};
    };
    const before = between();
    fingers.set(event.pointerId, event);
    const now = between();
    view.x -= (now.clientX - before.clientX) / view.scale;
    view.y -= (now.clientY - before.clientY) / view.scale;
    this.scaleAt(now, now.apart / before.apart);
  }

  // A click on the triangle of a group opens or closes it; a click with Shift highlights the paths
  // from the selected node; any other click selects.
  click(event) {
    const {app} = this, [x, y] = this.place(event), box = app.scene.hit(x, y);
    const onTriangle = box !== null && app.tree.isGroup(box.item) && x < box.x + 24 &&
        y < box.y + kHeader;
    if (box === null) app.select(-1, false);
    else if (event.shiftKey && app.painter.selected >= 0) app.showBetween(box.item);
    else if (onTriangle) app.toggle(box.item);
    else app.select(box.item, false);
  }
}
