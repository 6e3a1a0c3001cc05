// The connections between the nodes of a snapshot.

class Connections {
  constructor(data, tree) {
    this.data = data;
    this.tree = tree;
    this.labels = new Map();  // By 'from to'.
    this.usersOf = null;
  }

  // Keys whose values a key reads.
  inputKeys(key) {
    const {data, tree} = this, row = tree.snapshot.row[key], found = new Set();
    for (let e = data.first[row]; e < data.first[row + 1]; ++e) {
      if (data.from[e] >= 0) found.add(data.from[e]);
    }
    return [...found];
  }

  // Keys that read a value of a key.
  userKeys(key) {
    if (this.usersOf === null) {
      this.usersOf = new Map();
      for (const user of this.tree.snapshot.all) {
        for (const from of this.inputKeys(user)) {
          if (this.usersOf.has(from)) this.usersOf.get(from).push(user);
          else this.usersOf.set(from, [user]);
        }
      }
    }
    return this.usersOf.get(key) || [];
  }

  // The items whose values an item reads, and those that read its values.
  neighbours(item) {
    const {tree} = this, key = tree.key[item];
    if (key < 0) return {inputs: [], users: []};
    const items = (keys) => keys.map((k) => tree.itemOfKey[k]).filter((i) => i >= 0);
    return {inputs: items(this.inputKeys(key)), users: items(this.userKeys(key))};
  }

  // A key and all keys that `next` reaches from it.
  closure(key, next) {
    const seen = new Set([key]), stack = [key];
    while (stack.length > 0) {
      for (const other of next(stack.pop())) {
        if (seen.has(other)) continue;
        seen.add(other);
        stack.push(other);
      }
    }
    return seen;
  }

  // All that a node depends on, and all that depends on it: {up, down}, sets of items with the
  // groups around them.
  paths(item) {
    const key = this.tree.key[item];
    return {up: this.withGroups(this.closure(key, (k) => this.inputKeys(k))),
            down: this.withGroups(this.closure(key, (k) => this.userKeys(k)))};
  }

  // The nodes on the paths between two nodes, in the same form; null if there is no path.
  between(a, b) {
    const {tree} = this;
    for (const [from, to] of [[tree.key[a], tree.key[b]], [tree.key[b], tree.key[a]]]) {
      const after = this.closure(from, (k) => this.userKeys(k));
      if (!after.has(to)) continue;
      const before = this.closure(to, (k) => this.inputKeys(k));
      const keys = new Set([...after].filter((k) => before.has(k)));
      return {up: new Set(), down: this.withGroups(keys)};
    }
    return null;
  }

  withGroups(keys) {
    const items = new Set();
    for (const key of keys) {
      for (let i = this.tree.itemOfKey[key]; i > 0 && !items.has(i); i = this.tree.parent[i]) {
        items.add(i);
      }
    }
    return items;
  }

  // The keys of values that lead from one item to another, at most `limit`.
  keysBetween(from, to, limit) {
    const {tree} = this, keys = new Set(), stack = [to];
    const within = (item) => {
      for (let i = item; i >= 0; i = tree.parent[i]) if (i === from) return true;
      return false;
    };
    for (let visits = 0; stack.length > 0 && visits < 20000 && keys.size < limit; ++visits) {
      const item = stack.pop();
      if (tree.isGroup(item)) stack.push(...tree.children[item]);
      if (tree.key[item] < 0) continue;
      for (const key of this.inputKeys(tree.key[item])) {
        if (tree.itemOfKey[key] >= 0 && within(tree.itemOfKey[key])) keys.add(key);
      }
    }
    return [...keys].slice(0, limit);
  }

  // These values as 'op: type'.
  valuesBetween(from, to, limit) {
    const {data, tree} = this;
    return this.keysBetween(from, to, limit).map((key) => {
      const row = tree.snapshot.row[key];
      return titleOf(data, row) + ': ' + textOf(data, data.types[row]);
    });
  }

  // What stands beside a line: the type of its value, and how many more there are.
  labelOf(line) {
    const name = line.from + ' ' + line.to;
    if (!this.labels.has(name)) {
      const [key] = this.keysBetween(line.from, line.to, 1), {data, tree} = this;
      const type = key === undefined ? '' : textOf(data, data.types[tree.snapshot.row[key]]);
      this.labels.set(name, type + (type !== '' && line.count > 1 ? ' +' + (line.count - 1) : ''));
    }
    return this.labels.get(name);
  }
}
