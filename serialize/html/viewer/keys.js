// Handles the keys of the page, lists them, and announces the selection to screen readers.

class Keys {
  constructor(app) {
    this.app = app;
    const press = (id) => () => document.getElementById(id).click();
    const search = document.getElementById('search');
    // [key, how the list names it, what it does, action].
    this.keys = [
      ['/', '/', 'search; Enter: next hit, Shift+Enter: previous hit', () => search.focus()],
      [',', ',', 'previous pass', () => app.goTo(app.number - 1)],
      ['.', '.', 'next pass', () => app.goTo(app.number + 1)],
      ['n', 'n', 'next node that the pass changed', () => app.nextChange(1)],
      ['p', 'p', 'previous node that the pass changed', () => app.nextChange(-1)],
      ['f', 'f', 'fit the graph into the window', () => app.fit()],
      ['e', 'e', 'open one level of groups more', () => app.openLevel()],
      ['c', 'c', 'close all groups', () => app.closeAll()],
      ['Enter', 'Enter', 'open or close the selected group', () => this.toggle()],
      ['a', 'a', 'highlight all paths through the selected node', () => app.togglePaths()],
      ['ArrowUp', '↑', 'to an operand', () => this.step('inputs')],
      ['ArrowDown', '↓', 'to a user', () => this.step('users')],
      ['ArrowLeft', '←', 'to the previous node in the same group', () => this.beside(-1)],
      ['ArrowRight', '→', 'to the next node in the same group', () => this.beside(1)],
      ['Backspace', 'Backspace', 'to the group around', () => this.outward()],
      ['k', 'k', 'table of kernels', () => this.drawer('kernels')],
      ['t', 't', 'timeline', () => this.drawer('timeline')],
      ['d', 'd', 'dark or light', press('theme')],
      ['l', 'l', 'copy a link to this view', press('link')],
      ['?', '?', 'this list', () => this.help()],
      ['Escape', 'Escape', 'select nothing', () => app.select(-1, false)],
    ];
    this.dialog = document.getElementById('help');
    document.getElementById('keys').addEventListener('click', () => this.help());
    document.addEventListener('keydown', (event) => this.press(event));
    app.watchers.push(() => this.announce());
  }

  press(event) {
    const {tagName, type} = event.target;
    if (tagName === 'INPUT' && type === 'search' || tagName === 'SELECT') return;
    if (this.dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
    // Buttons, the slider and folded texts have keys of their own.
    const own = tagName === 'BUTTON' || tagName === 'SUMMARY' ? ['Enter'] :
        tagName === 'INPUT' ? ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'] : [];
    const entry = this.keys.find(([key]) => key === event.key);
    if (entry === undefined || own.includes(event.key)) return;
    event.preventDefault();
    entry[3]();
  }

  help() {
    const list = document.getElementById('key-list');
    if (list.childElementCount === 0) {
      for (const [, name, text] of this.keys) {
        list.append(element('dt', '', name), element('dd', '', text));
      }
    }
    this.dialog.showModal();
  }

  toggle() {
    if (this.app.painter.selected >= 0) this.app.toggle(this.app.painter.selected);
  }

  drawer(name) {
    const {dock} = this.app;
    dock.show(dock.shown === name ? '' : name);
  }

  // Without a selection, the first box that is shown is next.
  selectedOrFirst() {
    const {painter, scene} = this.app;
    if (painter.selected >= 0) return painter.selected;
    if (scene.boxes.length > 0) this.app.select(scene.boxes[0].item, true);
    return -1;
  }

  step(side) {
    const item = this.selectedOrFirst();
    if (item < 0) return;
    const next = this.app.connections.neighbours(item)[side];
    if (next.length > 0) this.app.select(next[0], true);
  }

  beside(step) {
    const item = this.selectedOrFirst(), {tree} = this.app;
    if (item < 0) return;
    const children = tree.children[tree.parent[item]];
    const next = children[children.indexOf(item) + step];
    if (next !== undefined) this.app.select(next, true);
  }

  outward() {
    const {tree, painter} = this.app;
    const parent = painter.selected < 0 ? -1 : tree.parent[painter.selected];
    if (parent > 0) this.app.select(parent, true);
  }

  // Describes the selection for screen readers.
  announce() {
    const {tree, painter, data, heat, connections} = this.app, item = painter.selected;
    const live = document.getElementById('live');
    let text = '';
    if (item >= 0) {
      const key = tree.key[item], {inputs, users} = connections.neighbours(item);
      text = tree.label[item];
      if (key >= 0) text += ', ' + textOf(data, data.types[tree.snapshot.row[key]]);
      if (tree.isGroup(item)) text += ', group of ' + plural(tree.nodes[item], 'node');
      else text += ', ' + plural(inputs.length, 'operand') + ', ' + plural(users.length, 'user');
      if (heat !== null && heat.time[item] > 0) text += ', ' + formatHeat(data, heat.time[item]);
      text += painter.changeOf(item) === 0 ? '' :
          [', made', ', removed', ', changed'][painter.changeOf(item) - 1] + ' by this pass';
    }
    if (live.textContent !== text) live.textContent = text;
  }
}
