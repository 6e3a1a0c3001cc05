// Numbers as text, and elements that hold text. Names are data, never markup.

function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function formatTime(us) {
  if (us >= 1e6) return (us / 1e6).toFixed(2) + ' s';
  if (us >= 1000) return (us / 1000).toFixed(2) + ' ms';
  return us.toFixed(us < 10 ? 2 : 1) + ' µs';
}

// The time of a kernel, or the error of a layer as the ratio of signal to noise.
function formatHeat(data, value) {
  if (!data.errors) return formatTime(value);
  return value > 0 ? (-10 * Math.log10(value)).toFixed(1) + ' dB' : 'exact';
}

function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0, value = bytes;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return (unit === 0 ? Math.round(value) : value.toFixed(1)) + ' ' + units[unit];
}

// Billions a second, or '' if there is nothing to divide.
function formatRate(count, us) {
  if (count <= 0 || us <= 0) return '';
  const rate = count / us / 1e3;
  return rate.toFixed(rate < 10 ? 2 : rate < 100 ? 1 : 0);
}

function plural(count, noun) {
  return count + ' ' + noun + (count === 1 ? '' : 's');
}
