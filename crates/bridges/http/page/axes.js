// Scales from values to pixels, their ticks, and axes drawn on a canvas.

import { count, number } from './format.js';

/** Returns a linear scale from `min..max` to the pixels `from..to`. */
export function linear(min, max, from, to) {
  const span = max - min || 1;
  return {
    min,
    max,
    pixel: (value) => from + ((value - min) / span) * (to - from),
    value: (pixel) => min + ((pixel - from) / (to - from || 1)) * span,
    ticks: (count) => linearTicks(min, max, count),
  };
}

/** Returns a logarithmic scale; `min` must be positive. */
export function logarithmic(min, max, from, to) {
  const exponents = linear(Math.log10(min), Math.log10(max), from, to);
  return {
    min,
    max,
    pixel: (value) => exponents.pixel(Math.log10(value)),
    value: (pixel) => 10 ** exponents.value(pixel),
    ticks: (count) => logTicks(min, max, count),
  };
}

// Steps of 1, 2 or 5 times a power of ten.
function stepOf(span, count) {
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((factor) => factor * power >= raw * 0.999) ?? 10);
}

function linearTicks(min, max, count) {
  if (!(max > min) || !Number.isFinite(max - min)) return [min];
  const step = stepOf(max - min, count);
  const first = Math.ceil(min / step - 1e-9);
  const last = Math.floor(max / step + 1e-9);
  return Array.from({ length: Math.min(200, last - first + 1) }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

function logTicks(min, max, count) {
  const first = Math.ceil(Math.log10(min) - 1e-9);
  const last = Math.floor(Math.log10(max) + 1e-9);
  if (last - first < 1) return linearTicks(min, max, count).filter((tick) => tick > 0);
  const skip = Math.max(1, Math.ceil((last - first + 1) / count));
  return Array.from({ length: Math.floor((last - first) / skip) + 1 }, (_, index) => 10 ** (first + index * skip));
}

/** Returns ticks that are whole numbers, for axes of indices. */
export const indexTicks = (scale, count) => scale.ticks(count).filter(Number.isInteger);

/** Colours of the page, for the canvas. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour('muted'),
    strong: colour('text'),
    grid: colour('grid'),
    frame: colour('line-strong'),
    plot: colour('plot'),
    series: colour('series'),
    band: colour('band'),
    fill: colour('fill'),
    hatch: colour('hatch'),
    accent: colour('accent'),
  };
}

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

// Long whole numbers are read faster in groups of three digits.
const tickText = (tick) =>
  Number.isInteger(tick) && Math.abs(tick) >= 10_000 && Math.abs(tick) < 1e9 ? count(tick) : number(tick);

/** Draws ticks and labels below `rect` (and grid lines inside). */
export function drawX(context, rect, scale, ticks, label, theme, grid = true) {
  context.font = FONT;
  context.textAlign = 'center';
  context.textBaseline = 'top';
  for (const tick of ticks) {
    const x = Math.round(scale.pixel(tick)) + 0.5;
    if (x < rect.left - 1 || x > rect.left + rect.width + 1) continue;
    line(
      context,
      grid ? theme.grid : theme.frame,
      x,
      grid ? rect.top : rect.top + rect.height,
      x,
      rect.top + rect.height + 4,
    );
    context.fillStyle = theme.text;
    context.fillText(tickText(tick), x, rect.top + rect.height + 7);
  }
  context.fillStyle = theme.text;
  context.fillText(label, rect.left + rect.width / 2, rect.top + rect.height + 23);
}

/** Draws ticks and labels left of `rect` (and grid lines inside). */
export function drawY(context, rect, scale, ticks, label, theme, grid = true) {
  context.font = FONT;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const tick of ticks) {
    const y = Math.round(scale.pixel(tick)) + 0.5;
    if (y < rect.top - 1 || y > rect.top + rect.height + 1) continue;
    line(context, grid ? theme.grid : theme.frame, rect.left - 4, y, grid ? rect.left + rect.width : rect.left, y);
    context.fillStyle = theme.text;
    context.fillText(tickText(tick), rect.left - 8, y);
  }
  if (label) turned(context, label, 10, rect.top + rect.height / 2, theme.text);
}

/** Writes text from bottom to top around a point. */
export function turned(context, text, x, y, colour) {
  context.save();
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  context.textAlign = 'center';
  context.fillStyle = colour;
  context.fillText(text, 0, 0);
  context.restore();
}

export function line(context, colour, x0, y0, x1, y1) {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

export function frame(context, rect, theme) {
  context.strokeStyle = theme.frame;
  context.lineWidth = 1;
  context.strokeRect(
    Math.round(rect.left) + 0.5,
    Math.round(rect.top) + 0.5,
    Math.round(rect.width),
    Math.round(rect.height),
  );
}

/** Returns a pattern of diagonal lines, which marks NaN. */
export function hatch(context, theme) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const brush = tile.getContext('2d');
  brush.fillStyle = theme.plot;
  brush.fillRect(0, 0, 8, 8);
  brush.strokeStyle = theme.hatch;
  brush.lineWidth = 1.5;
  brush.beginPath();
  for (const start of [-8, 0, 8]) {
    brush.moveTo(start, 8);
    brush.lineTo(start + 8, 0);
  }
  brush.stroke();
  return context.createPattern(tile, 'repeat');
}

/** Draws the legend of what is no number: hatched NaN, grey fill values. */
export function legend(context, x, y, entries, theme) {
  context.font = FONT;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  for (const [style, text] of entries) {
    context.fillStyle = theme.plot;
    context.fillRect(x - 4, y - 9, 28 + context.measureText(text).width, 18);
    context.fillStyle = style;
    context.fillRect(x, y - 6, 14, 12);
    context.strokeStyle = theme.frame;
    context.strokeRect(x + 0.5, y - 5.5, 13, 11);
    context.fillStyle = theme.text;
    context.fillText(text, x + 20, y);
    y += 18;
  }
}
