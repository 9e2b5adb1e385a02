// A heat map of two dimensions. It asks for as many elements as the screen shows, and again when the view is zoomed.

import { api } from './api.js';
import { drawX, drawY, frame, hatch, indexTicks, legend, linear, turned } from './axes.js';
import { NAMES, table } from './colormap.js';
import { colourBar } from './colourbar.js';
import { check, choice, el } from './dom.js';
import { number, sampleText } from './format.js';
import { Loader } from './loader.js';
import { Plot } from './plot.js';
import { RANGES, rangeOf, toUnit } from './range.js';
import { numberField, zoomButton } from './toolbar.js';

const POINTS_MAX = 1400;
const NEAREST = 'others have the colour of the nearest. Zoom in for all.';
const EQUAL_RATIO_MAX = 5;
// The colour --fill of style.css.
const FILL_COLOUR = [154, 154, 154, 255];
const MARGIN = { left: 74, top: 14, right: 108, bottom: 46 };

export function heatMap(context) {
  return new HeatMap(context);
}

class HeatMap {
  constructor(context) {
    this.context = context;
    this.label = 'Heat map';
    this.axes = 'xy';
    this.readSettings(context.settings);
    this.plot = new Plot(this, this.full());
    this.element = this.plot.element;
    this.canvas = this.plot.canvas;
    this.loader = new Loader(this.element);
    this.tools = this.makeTools();
  }

  readSettings(settings) {
    this.map = NAMES.includes(settings.get('map')) ? settings.get('map') : 'viridis';
    this.log = settings.get('log') === '1';
    this.range = settings.get('range') in RANGES ? settings.get('range') : 'all';
    this.typed = [settings.get('min'), settings.get('max')].map((text) => (text ? Number(text) : null));
    this.equal = settings.has('equal') ? settings.get('equal') === '1' : this.isNearSquare();
  }

  isNearSquare() {
    const [height, width] = this.sizes;
    return Math.max(height / width, width / height) <= EQUAL_RATIO_MAX;
  }

  get sizes() {
    const { shape, x, y } = this.context.slice;
    return [shape[y], shape[x]];
  }

  full() {
    const [height, width] = this.sizes;
    return { x0: 0, x1: width, y0: 0, y1: height };
  }

  makeTools() {
    const ranges = Object.entries(RANGES).map(([key, text]) => [key, text]);
    const limits = ['min', 'max'].map((name, index) =>
      numberField(name, (value) => {
        this.typed[index] = value;
        this.context.note(name, value);
        this.colour();
      }),
    );
    limits.forEach((input, index) => {
      input.value = this.typed[index] ?? '';
    });
    const typed = el('span', { class: 'limits' }, ...limits);
    typed.hidden = this.range !== 'typed';
    return [
      choice(
        'Colours',
        NAMES.map((name) => [name, name]),
        this.map,
        (map) => this.set('map', map),
      ),
      choice('Range', ranges, this.range, (range) => {
        typed.hidden = range !== 'typed';
        this.set('range', range);
      }),
      typed,
      check('Log', this.log, (log) => this.set('log', log)),
      check('Equal aspect', this.equal, (equal) => this.set('equal', equal)),
      zoomButton(() => this.plot.reset()),
    ];
  }

  set(name, value) {
    this[name] = value;
    this.context.note(name, typeof value === 'boolean' ? (value ? '1' : '0') : value);
    this.colour();
  }

  update(what) {
    if (what === 'axes') this.plot.reset(this.full(), true);
    return this.viewed();
  }

  viewed() {
    if (!this.plot.rect) return undefined;
    const window = this.window();
    const { slice, path } = this.context;
    const selection = slice.selection({
      [slice.y]: `${window.y0}:${window.y1}`,
      [slice.x]: `${window.x0}:${window.x1}`,
    });
    const points = this.points();
    return this.loader.run(
      (signal) => api.sample(path, selection, points, 'stride', signal),
      (sample) => {
        this.tile = tileOf(sample, window, slice.y > slice.x);
        this.colour();
        this.hover(this.plot.pointer?.value ?? null);
      },
    );
  }

  /** The elements in sight, as whole indices. */
  window() {
    const { view } = this.plot;
    const [height, width] = this.sizes;
    return {
      x0: Math.max(0, Math.floor(view.x0)),
      x1: Math.min(width, Math.ceil(view.x1)),
      y0: Math.max(0, Math.floor(view.y0)),
      y1: Math.min(height, Math.ceil(view.y1)),
    };
  }

  points() {
    const { rect, ratio } = this.plot;
    const [rows, columns] = [rect.height, rect.width].map((size) =>
      Math.max(16, Math.min(POINTS_MAX, Math.round(size * ratio))),
    );
    return this.context.slice.y > this.context.slice.x ? `${columns},${rows}` : `${rows},${columns}`;
  }

  rect(width, height) {
    const space = {
      width: Math.max(40, width - MARGIN.left - MARGIN.right),
      height: Math.max(40, height - MARGIN.top - MARGIN.bottom),
    };
    const rect = { left: MARGIN.left, top: MARGIN.top, ...space };
    if (!this.equal || !this.plot) return rect;
    const { view } = this.plot;
    const scale = Math.min(space.width / (view.x1 - view.x0), space.height / (view.y1 - view.y0));
    rect.width = Math.max(24, scale * (view.x1 - view.x0));
    rect.height = Math.max(24, scale * (view.y1 - view.y0));
    rect.left += Math.floor((space.width - rect.width) / 2);
    return rect;
  }

  /** Gives the elements their colours, in a canvas with one pixel for each. */
  colour() {
    if (!this.tile) return;
    const { values, rows, columns } = this.tile;
    const { fills } = this.context;
    this.limits = rangeOf(values, {
      range: this.range,
      typed: this.typed,
      log: this.log,
      fills,
      middle: this.map === 'diverging',
    });
    const unit = toUnit(this.limits, this.log);
    const colours = table(this.map);
    const picture = new ImageData(columns, rows);
    this.seen = { nan: false, fill: false };
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index];
      if (fills.has(value)) this.seen.fill = true;
      else if (Number.isNaN(value)) this.seen.nan = true;
      else paint(picture.data, index, colours, unit(value));
    }
    this.paintFills(picture, values, fills);
    this.tile.picture ??= el('canvas', { width: columns, height: rows });
    this.tile.picture.getContext('2d').putImageData(picture, 0, 0);
    this.plot.draw();
  }

  paintFills(picture, values, fills) {
    if (!this.seen.fill) return;
    for (let index = 0; index < values.length; index += 1) {
      if (fills.has(values[index])) picture.data.set(FILL_COLOUR, index * 4);
    }
  }

  draw(plot) {
    const { rect, view, context, theme } = plot;
    const x = linear(view.x0, view.x1, rect.left, rect.left + rect.width);
    const y = linear(view.y0, view.y1, rect.top, rect.top + rect.height);
    this.drawTile(plot, x, y);
    const { slice } = this.context;
    // The label of an index stands at the middle of its element.
    const [middleX, middleY] = [x, y].map((scale) => ({ ...scale, pixel: (value) => scale.pixel(value + 0.5) }));
    drawX(context, rect, middleX, indexTicks(x, rect.width / 80), slice.label(slice.x), theme, false);
    drawY(context, rect, middleY, indexTicks(y, rect.height / 45), null, theme, false);
    turned(context, slice.label(slice.y), rect.left - 60, rect.top + rect.height / 2, theme.text);
    frame(context, rect, theme);
    if (this.tile) this.drawColours(plot);
  }

  drawTile({ context, rect, theme }, x, y) {
    if (!this.tile?.picture) return;
    const { x0, y0, stepX, stepY, columns, rows, picture } = this.tile;
    const [height, width] = this.sizes;
    context.save();
    context.beginPath();
    context.rect(
      rect.left,
      rect.top,
      Math.min(rect.width, x.pixel(width) - rect.left),
      Math.min(rect.height, y.pixel(height) - rect.top),
    );
    context.clip();
    if (this.seen.nan) {
      context.fillStyle = hatch(context, theme);
      context.fillRect(rect.left, rect.top, rect.width, rect.height);
    }
    context.imageSmoothingEnabled = false;
    const [left, top] = [x.pixel(x0), y.pixel(y0)];
    context.drawImage(picture, left, top, x.pixel(x0 + columns * stepX) - left, y.pixel(y0 + rows * stepY) - top);
    context.restore();
  }

  drawColours(plot) {
    const { rect, context, theme, width } = plot;
    const left = Math.min(rect.left + rect.width + 28, width - MARGIN.right + 28);
    const entries = [];
    if (this.seen.nan) entries.push([hatch(context, theme), 'NaN']);
    if (this.seen.fill) entries.push([theme.fill, 'fill value']);
    const height = Math.max(60, rect.height - 20 * entries.length);
    colourBar(
      context,
      { left, top: rect.top, width: 14, height },
      { limits: this.limits, log: this.log, map: this.map },
      theme,
    );
    legend(context, left, rect.top + height + 20, entries, theme);
  }

  hover(point) {
    if (!this.tile) return;
    if (!point) {
      this.context.status(this.summary());
      return;
    }
    const { x0, y0, stepX, stepY, columns, rows, values } = this.tile;
    const [column, row] = [Math.floor((point.x - x0) / stepX), Math.floor((point.y - y0) / stepY)];
    if (column < 0 || row < 0 || column >= columns || row >= rows) return;
    const { slice, fills } = this.context;
    const value = values[row * columns + column];
    const where = slice.position({ [slice.x]: x0 + column * stepX, [slice.y]: y0 + row * stepY });
    const [equals, about] = [this.tile.sampled ? '≈' : '=', fills.has(value) ? ' (fill value)' : ''];
    this.context.status(`${where} ${equals} ${number(value, 9)}${about}`);
  }

  summary() {
    const { stepX, stepY, sampled } = this.tile;
    if (sampled) return `${sampleText(sampled)} ${NEAREST}`;
    if (stepX * stepY === 1) return 'Drag or turn the wheel to zoom.';
    return `Every ${stepY === stepX ? `${stepY}th element` : `${stepY}th row and ${stepX}th column`}. Zoom in for all.`;
  }

  destroy() {
    this.loader.stop();
    this.plot.destroy();
  }
}

function paint(pixels, index, colours, unit) {
  const colour = Math.max(0, Math.min(255, Math.round(unit * 255))) * 3;
  const at = index * 4;
  pixels[at] = colours[colour];
  pixels[at + 1] = colours[colour + 1];
  pixels[at + 2] = colours[colour + 2];
  pixels[at + 3] = 255;
}

/** Returns elements in rows and columns; `turned` says that the dataset has the columns first. */
function tileOf(sample, window, turned) {
  const [a, b] = sample.shape;
  const [stepA, stepB] = [sample.step[0] || 1, sample.step[1] || 1];
  const [rows, columns] = turned ? [b, a] : [a, b];
  const values = turned ? transpose(sample.values, a, b) : sample.values;
  const [stepY, stepX] = turned ? [stepB, stepA] : [stepA, stepB];
  return { values, rows, columns, stepX, stepY, x0: window.x0, y0: window.y0, sampled: sample.sampled };
}

function transpose(values, rows, columns) {
  const out = new Float64Array(values.length);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) out[column * rows + row] = values[row * columns + column];
  }
  return out;
}
