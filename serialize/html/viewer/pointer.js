// Handles the mouse, or a finger, on the canvas.

const kMinScale = 0.005, kMaxScale = 4;

class Pointer {
  constructor(app) {
    this.app = app;
    this.drag = null;
    const {canvas} = app.painter;
    canvas.addEventListener('pointerdown', (event) => {
      document.getElementById('results').hidden = true;
      app.tip.hide();
      this.drag = {x: event.clientX, y: event.clientY, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerleave', () => app.tip.hide());
    canvas.addEventListener('pointerup', (event) => {
      if (this.drag !== null && !this.drag.moved) this.click(event);
      this.drag = null;
    });
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

  move(event) {
    const {app, drag} = this, {view, canvas} = app.painter;
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

  zoom(event) {
    event.preventDefault();
    const {app} = this, {view} = app.painter, [x, y] = this.place(event);
    const wanted = view.scale * Math.exp(-event.deltaY * 0.0015);
    const scale = Math.max(kMinScale, Math.min(kMaxScale, wanted));
    view.x = x - (x - view.x) * view.scale / scale;
    view.y = y - (y - view.y) * view.scale / scale;
    view.scale = scale;
    app.tip.hide();
    app.repaint();
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
