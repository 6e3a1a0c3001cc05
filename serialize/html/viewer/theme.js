// Light or dark: as the system says, until a button says otherwise.

class Theme {
  constructor(app) {
    this.app = app;
    this.chosen = '';  // 'light', 'dark', or '' for the system's.
    this.system = window.matchMedia('(prefers-color-scheme: dark)');
    this.system.addEventListener('change', () => this.apply());
    document.getElementById('theme').addEventListener('click', () => {
      this.choose(this.name() === 'dark' ? 'light' : 'dark');
    });
    this.apply();
  }

  name() {
    return this.chosen || (this.system.matches ? 'dark' : 'light');
  }

  choose(name) {
    this.chosen = name;
    this.apply();
  }

  apply() {
    document.documentElement.dataset.theme = this.name();
    this.app.painter.theme = kThemes[this.name()];
    this.app.changed();
  }
}
