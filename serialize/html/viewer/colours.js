// Colours of the canvases in the light and the dark theme, and legible text on each of them.

const kThemes = {
  light: {
    back: '#f7f8fa', node: '#ffffff', group: '#e6ebf2', open: ['#f3f5f9', '#eaeef4'],
    border: '#9aa5b5', text: '#1d2733', faint: '#5a6778', line: '#8b97a8', select: '#1a66d6',
    users: '#c43c1c', found: '#8e24aa', window: '#1a66d6',
    // By kind of change: fill and border.
    changes: [null, ['#d9f2dd', '#23753a'], ['#fbdcdc', '#b02c2c'], ['#fdeec8', '#8a5c06']],
    // From cold to hot.
    heat: ['#fffbe9', '#fddc8c', '#f59f4c', '#d9482b', '#a0161f'],
    inks: ['#151c25', '#ffffff'],
  },
  dark: {
    back: '#14181e', node: '#222831', group: '#2c343f', open: ['#1a1f27', '#20262f'],
    border: '#566273', text: '#e6ebf2', faint: '#a3afbf', line: '#6b788a', select: '#6aa9ff',
    users: '#ff8a65', found: '#d58bea', window: '#6aa9ff',
    changes: [null, ['#1d3b27', '#6fcf87'], ['#46222a', '#ff8a8a'], ['#433514', '#e6b450']],
    heat: ['#262c36', '#5a3d21', '#a3541d', '#e07a2c', '#ffc46b'],
    inks: ['#0d1117', '#f2f5f9'],
  },
};

// The channels of '#rrggbb', from 0 to 255.
function channels(colour) {
  const number = parseInt(colour.slice(1), 16);
  return [number >> 16, number >> 8 & 255, number & 255];
}

function hex(parts) {
  return '#' + parts.map((p) => Math.round(p).toString(16).padStart(2, '0')).join('');
}

// `share` of the way from `a` to `b`.
function mix(a, b, share) {
  const from = channels(a), to = channels(b);
  return hex(from.map((p, i) => p + (to[i] - p) * share));
}

// Relative luminance and contrast as WCAG 2 defines them.
function luminance(colour) {
  const [r, g, b] = channels(colour).map((p) => {
    const c = p / 255;
    return c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const x = luminance(a), y = luminance(b);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

const kInks = new Map();

// Minimum contrast between text and its background.
const kLegible = 4.5;

// The colours of text on a fill, and of fainter text. Both are legible: on any fill, either black
// or white is.
function inkOn(fill, theme) {
  const id = fill + theme.back;
  if (!kInks.has(id)) {
    const text = [...theme.inks, '#000000', '#ffffff']
        .find((colour) => contrast(colour, fill) >= kLegible);
    const faint = [0.35, 0.25, 0.15].map((share) => mix(text, fill, share))
        .find((colour) => contrast(colour, fill) >= kLegible) || text;
    kInks.set(id, {text, faint});
  }
  return kInks.get(id);
}

// A colour for each op, or name, that is the same in every file.
function opColour(op) {
  let hash = 7;
  for (let i = 0; i < op.length; ++i) hash = (hash * 31 + op.charCodeAt(i)) >>> 0;
  const hue = hash % 360 / 60, light = (45 + hash % 13) / 100;
  const chroma = 0.55 * 2 * (0.5 - Math.abs(light - 0.5));
  const second = chroma * (1 - Math.abs(hue % 2 - 1)), low = light - chroma / 2;
  const [r, g, b] = [[chroma, second, 0], [second, chroma, 0], [0, chroma, second],
                     [0, second, chroma], [second, 0, chroma],
                     [chroma, 0, second]][Math.floor(hue)];
  return hex([r, g, b].map((p) => 255 * (p + low)));
}

// The colour of a share of the hottest; shares are drawn by their square roots.
function heatColour(share, theme) {
  if (share <= 0) return theme.node;
  const place = Math.sqrt(Math.min(1, share)) * (theme.heat.length - 1);
  const below = Math.min(theme.heat.length - 2, Math.floor(place));
  return mix(theme.heat[below], theme.heat[below + 1], place - below);
}
