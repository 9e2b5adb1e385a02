// A line plot of one dimension. It asks for as many points as the screen has, with the least and greatest of each bin.

import { api } from './api.js';
import { drawX, drawY, frame, hatch, indexTicks, legend, line, linear, logarithmic } from './axes.js';
import { check } from './dom.js';
import { number, sampleText } from './format.js';
import { Loader } from './loader.js';
import { Plot } from './plot.js';
import { zoomButton } from './toolbar.js';

const POINTS_MAX = 2400;
const MINMAX_SAMPLED = 'least and greatest of what was read.';
const NEAREST = 'others have the value of the nearest.';
const MARKER_GAP_PIXELS = 7;

export function linePlot(context) {
  return new LinePlot(context);
}

class LinePlot {
  constructor(context) {
    this.context = context;
    this.label = 'Line plot';
    this.axes = 'x';
    this.log = context.settings.get('log') === '1';
    this.plot = new Plot(this, this.full());
    this.element = this.plot.element;
    this.loader = new Loader(this.element);
    this.tools = [check('Log', this.log, (log) => this.setLog(log)), zoomButton(() => this.plot.reset())];
    this.canvas = this.plot.canvas;
  }

  get size() {
    return this.context.slice.shape[this.context.slice.x];
  }

  full() {
    const last = Math.max(1, this.size - 1);
    return { x0: 0, x1: last, y0: 0, y1: 1 };
  }

  setLog(log) {
    this.log = log;
    this.context.note('log', log ? '1' : null);
    this.plot.draw();
  }

  /** The slice has changed: `axes` starts at the whole extent, an index keeps the view. */
  update(what) {
    if (what === 'axes') this.plot.reset(this.full(), true);
    return this.viewed();
  }

  viewed() {
    if (!this.plot.rect) return undefined;
    const { slice, path } = this.context;
    const from = Math.max(0, Math.floor(this.plot.view.x0));
    const to = Math.min(this.size, Math.ceil(this.plot.view.x1) + 1);
    const points = Math.min(POINTS_MAX, Math.max(64, Math.round(this.plot.rect.width)));
    const selection = slice.selection({ [slice.x]: `${from}:${to}` });
    return this.loader.run(
      (signal) => api.sample(path, selection, points, 'minmax', signal),
      (sample) => {
        this.bins = binsOf(sample, from, to);
        this.plot.draw();
        this.hover(this.plot.pointer?.value ?? null);
      },
    );
  }

  rect(width, height) {
    return { left: 74, top: 14, width: Math.max(40, width - 74 - 18), height: Math.max(40, height - 14 - 46) };
  }

  isFill(value) {
    return this.context.fills.has(value);
  }

  draw(plot) {
    const { rect, view, context, theme } = plot;
    const x = linear(view.x0, view.x1, rect.left, rect.left + rect.width);
    const y = this.scaleY(rect, x);
    drawX(context, rect, x, indexTicks(x, rect.width / 90), this.context.slice.label(this.context.slice.x), theme);
    if (y) drawY(context, rect, y, y.ticks(rect.height / 45), this.context.unit, theme);
    context.save();
    context.beginPath();
    context.rect(rect.left, rect.top - 4, rect.width, rect.height + 8);
    context.clip();
    if (this.bins && y) this.drawSeries(plot, x, y);
    context.restore();
    frame(context, rect, theme);
    this.drawLegend(plot);
    if (this.bins && y) this.drawHover(plot, x, y);
  }

  /** Returns the scale of the values in sight, or null if there are none. */
  scaleY(rect, x) {
    let [min, max] = [Infinity, -Infinity];
    for (const bin of this.bins ?? []) {
      if (bin.x < x.min || bin.x > x.max) continue;
      for (const value of [bin.min, bin.max]) {
        if (!Number.isFinite(value) || this.isFill(value) || (this.log && value <= 0)) continue;
        min = Math.min(min, value);
        max = Math.max(max, value);
      }
    }
    if (min > max) return null;
    const [bottom, top] = [rect.top + rect.height, rect.top];
    if (this.log) return logarithmic(min / 1.1, max * 1.1, bottom, top);
    const margin = (max - min) * 0.05 || Math.abs(max) * 0.05 || 1;
    return linear(min - margin, max + margin, bottom, top);
  }

  isDrawn(bin) {
    return (
      Number.isFinite(bin.min) &&
      Number.isFinite(bin.max) &&
      !(this.isFill(bin.min) && this.isFill(bin.max)) &&
      !(this.log && bin.max <= 0)
    );
  }

  drawSeries(plot, x, y) {
    const { context, theme, rect } = plot;
    this.drawGaps(plot, x);
    context.strokeStyle = theme.series;
    context.lineWidth = 1.4;
    context.lineJoin = 'round';
    context.beginPath();
    let last = null;
    for (const bin of this.bins) {
      last = this.isDrawn(bin) ? this.drawBin(context, bin, x, y, last) : null;
    }
    context.stroke();
    const gap = x.pixel(this.bins[0].x + this.bins.step) - x.pixel(this.bins[0].x);
    if (gap >= MARKER_GAP_PIXELS || this.bins.length === 1) this.drawMarkers(context, theme, x, y);
    this.gap = rect.width / this.bins.length;
  }

  // From where the last bin ended to the nearer end of this one, then to its other end.
  drawBin(context, bin, x, y, last) {
    const ends = [bin.min, bin.max].map((value) => (this.isFill(value) || (this.log && value <= 0) ? bin.max : value));
    const [low, high] = ends.map((value) => y.pixel(value));
    const at = x.pixel(bin.x);
    const upFirst = last !== null && Math.abs(last - high) < Math.abs(last - low);
    const [first, second] = upFirst ? [high, low] : [low, high];
    if (last === null) context.moveTo(at - 0.01, first);
    context.lineTo(at, first);
    context.lineTo(at, second);
    return second;
  }

  drawMarkers(context, theme, x, y) {
    context.fillStyle = theme.series;
    for (const bin of this.bins) {
      if (!this.isDrawn(bin)) continue;
      context.beginPath();
      context.arc(x.pixel(bin.x), y.pixel(bin.max), 2.6, 0, 2 * Math.PI);
      context.fill();
    }
  }

  // Bands where there is no number: hatched for NaN, grey for the fill value.
  drawGaps(plot, x) {
    const { context, theme, rect } = plot;
    const pattern = hatch(context, theme);
    const half = this.bins.step / 2;
    for (const bin of this.bins) {
      if (this.isDrawn(bin) || (this.log && bin.max <= 0)) continue;
      // Whole pixels: bands of neighbours meet without a seam.
      const [left, right] = [bin.x - half, bin.x + half].map((edge) => Math.round(x.pixel(edge)));
      context.fillStyle = this.isFill(bin.min) ? theme.fill : pattern;
      context.fillRect(left, rect.top, Math.max(1, right - left), rect.height);
    }
  }

  drawLegend(plot) {
    const { context, theme, rect } = plot;
    const entries = [];
    if (this.bins?.some((bin) => Number.isNaN(bin.min))) entries.push([hatch(context, theme), 'NaN']);
    if (this.bins?.some((bin) => this.isFill(bin.min))) entries.push([theme.fill, 'fill value']);
    legend(context, rect.left + rect.width - 92, rect.top + 16, entries, theme);
    if (this.bins && !this.bins.some((bin) => this.isDrawn(bin))) {
      context.textAlign = 'center';
      context.fillText(
        this.log ? 'No positive values here' : 'No numbers here',
        rect.left + rect.width / 2,
        rect.top + rect.height / 2,
      );
    }
  }

  nearest(position) {
    const index = Math.round((position - this.bins[0].x) / this.bins.step);
    return this.bins[Math.max(0, Math.min(this.bins.length - 1, index))];
  }

  drawHover(plot, x, y) {
    if (!plot.pointer || plot.drag) return;
    const bin = this.nearest(plot.pointer.value.x);
    const at = Math.round(x.pixel(bin.x)) + 0.5;
    line(plot.context, plot.theme.frame, at, plot.rect.top, at, plot.rect.top + plot.rect.height);
    if (!this.isDrawn(bin)) return;
    plot.context.fillStyle = plot.theme.accent;
    for (const value of new Set([bin.min, bin.max])) {
      if (this.log && value <= 0) continue;
      plot.context.beginPath();
      plot.context.arc(at, y.pixel(value), 3.5, 0, 2 * Math.PI);
      plot.context.fill();
    }
  }

  hover(point) {
    const { slice } = this.context;
    if (!point || !this.bins?.length) return this.context.status(this.summary());
    const bin = this.nearest(point.x);
    const where = (index) => slice.position({ [slice.x]: index });
    const equals = this.bins.sampled ? '≈' : '=';
    if (bin.count === 1) return this.context.status(`${where(bin.first)} ${equals} ${number(bin.min, 9)}`);
    const range = `${bin.first}…${bin.first + bin.count - 1}`;
    const about = this.bins.sampled ? ' (of the parts that were read)' : '';
    return this.context.status(`${where(range)}: ${number(bin.min, 9)} … ${number(bin.max, 9)}${about}`);
  }

  summary() {
    if (!this.bins) return '';
    const { how, step, sampled } = this.bins;
    if (sampled) return `${sampleText(sampled)} ${how === 'minmax' ? MINMAX_SAMPLED : NEAREST} Zoom in for all.`;
    if (how === 'minmax') return `Least and greatest of every ${number(step)} elements. Zoom in for single ones.`;
    return how === 'stride' && step > 1
      ? `Every ${number(step)}th element. Zoom in for all.`
      : 'Drag or turn the wheel to zoom.';
  }

  destroy() {
    this.loader.stop();
    this.plot.destroy();
  }
}

/** Returns bins of elements `from..to`: each with its place, its first index and count, least and greatest value. */
function binsOf(sample, from, to) {
  const pairs = sample.how === 'minmax';
  const step = sample.step.at(-1) || 1;
  const bins = [];
  const length = pairs ? sample.values.length / 2 : sample.values.length;
  for (let index = 0; index < length; index += 1) {
    const first = from + index * step;
    const count = pairs ? Math.min(step, to - first) : 1;
    const [min, max] = pairs
      ? sample.values.subarray(2 * index, 2 * index + 2)
      : [sample.values[index], sample.values[index]];
    bins.push({ first, count, x: first + (count - 1) / 2, min, max });
  }
  return Object.assign(bins, { step, how: sample.how, sampled: sample.sampled });
}
