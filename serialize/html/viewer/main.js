// Begins. `window.weft` is for scripts that drive the page.

const app = new App(readData(document.getElementById('data').textContent));
app.showSteps = () => {};
app.controls = new Controls(app);
window.weft = app;
