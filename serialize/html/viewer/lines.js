// The geometry of lines between boxes, and their drawing.

// How far a line that does not go down leads around the right side.
const kDetour = 40;

// Calls `curve` with the four points of each part of a line.
function eachCurve(line, curve) {
  const p = line.points;
  if (line.back) {
    const out = Math.max(p[0], p[2]) + kDetour;
    curve(p[0], p[1], out, p[1], out, p[3], p[2], p[3]);
    return;
  }
  for (let i = 2; i < p.length; i += 2) {
    const middle = (p[i - 1] + p[i + 1]) / 2;
    curve(p[i - 2], p[i - 1], p[i - 2], middle, p[i], middle, p[i], p[i + 1]);
  }
}

// {x0, y0, x1, y1} around a line.
function boundsOf(line) {
  const p = line.points, b = {x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity};
  for (let i = 0; i < p.length; i += 2) {
    b.x0 = Math.min(b.x0, p[i]);
    b.x1 = Math.max(b.x1, p[i]);
    b.y0 = Math.min(b.y0, p[i + 1]);
    b.y1 = Math.max(b.y1, p[i + 1]);
  }
  if (line.back) b.x1 += kDetour;
  return b;
}

// The distance of a place from a line, or Infinity if it is more than `limit`.
function distanceToLine(line, x, y, limit) {
  const b = boundsOf(line);
  if (x < b.x0 - limit || x > b.x1 + limit || y < b.y0 - limit || y > b.y1 + limit) return Infinity;
  let least = Infinity;
  eachCurve(line, (x0, y0, x1, y1, x2, y2, x3, y3) => {
    const steps = 24;
    for (let i = 0; i <= steps; ++i) {
      const t = i / steps, u = 1 - t;
      const px = u * u * u * x0 + 3 * u * u * t * x1 + 3 * u * t * t * x2 + t * t * t * x3;
      const py = u * u * u * y0 + 3 * u * u * t * y1 + 3 * u * t * t * y2 + t * t * t * y3;
      least = Math.min(least, Math.hypot(px - x, py - y));
    }
  });
  return least <= limit ? least : Infinity;
}

// Draws a line with an arrow at its end, unless it is small.
function drawLine(c, line, style) {
  const p = line.points;
  c.strokeStyle = style.colour;
  c.lineWidth = style.width * (line.count > 1 ? 1.6 : 1);
  c.globalAlpha = style.alpha * (line.direct ? 0.45 : 0.9);
  c.setLineDash(line.back ? [3, 3] : []);
  c.beginPath();
  c.moveTo(p[0], p[1]);
  eachCurve(line, (x0, y0, x1, y1, x2, y2, x3, y3) => c.bezierCurveTo(x1, y1, x2, y2, x3, y3));
  c.stroke();
  c.setLineDash([]);
  c.globalAlpha = style.alpha;
  if (!line.back && style.arrow) {
    const x = p[p.length - 2], y = p[p.length - 1];
    c.fillStyle = style.colour;
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(x - 4, y - 7);
    c.lineTo(x + 4, y - 7);
    c.fill();
  }
  c.globalAlpha = 1;
}
