// Begins. `window.weft` is for scripts that drive the page.

const app = new App(readData(document.getElementById('data').textContent));
app.theme = new Theme(app);
app.controls = new Controls(app);
app.tip = new Tip(app);
app.legend = new Legend(app);
app.minimap = new Minimap(app);
app.dock = new Dock(app);
app.begin();
app.keys = new Keys(app);
app.link = new Link(app);
app.changed();
window.weft = app;
