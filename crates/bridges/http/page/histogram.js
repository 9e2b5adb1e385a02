// Statistics of a dataset or of the slice in sight, and how often which values occur.

import { api } from './api.js';
import { drawX, drawY, frame, linear, logarithmic } from './axes.js';
import { check, choice, el } from './dom.js';
import { count, number, sampleText } from './format.js';
import { Loader } from './loader.js';
import { Plot } from './plot.js';

const BINS = 64;

export function histogram(context) {
  return new Histogram(context);
}

class Histogram {
  constructor(context) {
    this.context = context;
    this.label = 'Histogram';
    this.axes = '';
    this.log = context.settings.get('log') === '1';
    this.scope = context.settings.get('scope') === 'slice' ? 'slice' : 'all';
    this.plot = new Plot(this, { x0: 0, x1: 1, y0: 0, y1: 1 });
    this.canvas = this.plot.canvas;
    this.figures = el('dl', { class: 'figures' });
    this.element = el('div', { class: 'statistics' }, this.figures, this.plot.element);
    this.loader = new Loader(this.element);
    this.tools = this.makeTools();
    this.update();
  }

  makeTools() {
    const scopes = [
      ['all', 'whole dataset'],
      ['slice', 'this slice'],
    ];
    const scope = choice('Of', scopes, this.scope, (value) => {
      this.scope = value;
      this.context.note('scope', value);
      this.context.showSliders();
      this.update();
    });
    const log = check('Log counts', this.log, (value) => {
      this.log = value;
      this.context.note('log', value ? '1' : null);
      this.plot.draw();
    });
    return this.context.slice.shape.length > 1 ? [scope, log] : [log];
  }

  update() {
    const { path, slice, shown } = this.context;
    const selection = this.scope === 'slice' ? slice.whole(shown()) : undefined;
    return this.loader.run(
      (signal) => api.histogram(path, selection, BINS, signal),
      (answer) => {
        this.answer = answer;
        this.figures.replaceChildren(...figures(answer));
        this.context.status(answer.sampled ? sampledText(answer) : '');
        this.plot.draw();
      },
    );
  }

  viewed() {}

  rect(width, height) {
    return { left: 74, top: 14, width: Math.max(40, width - 74 - 18), height: Math.max(40, height - 14 - 46) };
  }

  draw(plot) {
    const { rect, context, theme } = plot;
    const { bins, edges } = this.answer ?? {};
    if (!bins?.length || !(Math.max(...bins) > 0)) {
      if (this.answer) this.drawNothing(plot);
      return;
    }
    const { x, y } = this.scales(rect, bins, edges);
    drawX(context, rect, x, x.ticks(rect.width / 90), this.context.unit || 'value', theme);
    drawY(context, rect, y, y.ticks(rect.height / 45), 'elements', theme);
    context.fillStyle = theme.series;
    bins.forEach((size, index) => {
      if (size === 0) return;
      const [left, right, top] = [x.pixel(edges[index]), x.pixel(edges[index + 1]), y.pixel(size)];
      context.fillRect(left + 0.5, top, Math.max(1, right - left - 1), rect.top + rect.height - top);
    });
    frame(context, rect, theme);
  }

  scales(rect, bins, edges) {
    const [bottom, top] = [rect.top + rect.height, rect.top];
    const most = Math.max(...bins);
    return {
      x: linear(edges[0], edges.at(-1), rect.left, rect.left + rect.width),
      y: this.log ? logarithmic(0.5, most * 1.3, bottom, top) : linear(0, most * 1.05, bottom, top),
    };
  }

  drawNothing({ context, rect, theme }) {
    context.fillStyle = theme.text;
    context.textAlign = 'center';
    context.fillText('No numbers here', rect.left + rect.width / 2, rect.top + rect.height / 2);
  }

  hover(point) {
    const { bins, edges } = this.answer ?? {};
    if (!point || !bins?.length) return;
    const index = Math.max(0, Math.min(bins.length - 1, Math.floor(point.x * bins.length)));
    this.context.status(`${number(edges[index])} … ${number(edges[index + 1])}: ${count(bins[index])} elements`);
  }

  destroy() {
    this.loader.stop();
    this.plot.destroy();
  }
}

const sampledText = ({ parts_read: read, parts: of }) =>
  `${sampleText({ read, of })} counts and extremes are not those of the whole.`;

function figures(answer) {
  const exact = (value) => (value === null || value === undefined ? '–' : number(value, 9));
  const rows = [
    ['Elements', count(answer.count)],
    ['Least', exact(answer.min)],
    ['Greatest', exact(answer.max)],
    ['Mean', exact(answer.mean)],
    ['Standard deviation', exact(answer.std)],
    ['Zero', count(answer.zero)],
    ['NaN', count(answer.nan)],
    ['Infinite', count(answer.inf)],
    ['Fill value', count(answer.fill)],
  ];
  if (answer.sampled) rows.push(['Read', `${count(answer.parts_read)} of ${count(answer.parts)} parts`]);
  return rows.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]);
}
