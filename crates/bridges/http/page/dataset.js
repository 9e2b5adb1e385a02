// A dataset: the tabs that fit its type and rank, the controls of its slice, and a line about what is under the pointer.

import { el, failure, nothing } from './dom.js';
import { downloads } from './export.js';
import { element } from './format.js';
import { heatMap } from './heat.js';
import { histogram } from './histogram.js';
import { image, imageDims } from './image.js';
import { linePlot } from './line.js';
import { note } from './route.js';
import { Slice, sliceControls } from './slice.js';
import { table } from './table.js';
import { isNumeric, isRecord } from './types.js';
import { isAbort } from './api.js';
import { scalar } from './values.js';

const TABS = {
  table: { label: 'Table', make: table, axes: { y: 'Rows', x: 'Columns' } },
  line: { label: 'Line', make: linePlot, axes: { x: 'Along' } },
  heat: { label: 'Heat map', make: heatMap, axes: { y: 'Vertical', x: 'Horizontal' } },
  image: { label: 'Image', make: image, axes: {} },
  statistics: { label: 'Statistics', make: histogram, axes: { y: 'Rows', x: 'Columns' } },
};

/** Returns the view of a dataset. `attributes` are values, `properties` is a promise: fill values come with it. */
export function dataset(path, meta, settings, attributes, properties, signal) {
  const { shape } = meta;
  if (shape === null) return nothing('No elements', 'The dataspace of this dataset is null.');
  if (shape.length === 0) return scalarView(path, meta.type, signal);
  if (shape.includes(0)) return nothing('No elements', `The shape is ${shape.join(' × ')}.`);
  const view = new DatasetView(path, meta, settings, attributes);
  properties.then(
    (answer) => view.setProperties(answer),
    () => {},
  );
  signal.addEventListener('abort', () => view.view?.destroy());
  return view.element;
}

function scalarView(path, type, signal) {
  const host = el('div', { class: 'scalar' });
  const show = () =>
    scalar(path, type, signal).then(
      (value) => host.replaceChildren(...scalarParts(type, value)),
      (error) => isAbort(error) || host.replaceChildren(failure(error, show)),
    );
  show();
  return host;
}

function scalarParts(type, value) {
  if (isRecord(type) && Array.isArray(value)) {
    return [
      el(
        'dl',
        { class: 'figures' },
        ...type.members.flatMap((member, index) => [
          el('dt', {}, member.name),
          el('dd', {}, element(member, value[index])),
        ]),
      ),
    ];
  }
  const text = element(type, value);
  return [el('p', { class: text.length > 80 ? 'scalar-text' : 'scalar-value' }, text === '' ? '(empty string)' : text)];
}

class DatasetView {
  constructor(path, meta, settings, attributes) {
    Object.assign(this, { path, type: meta.type, settings });
    this.image = imageDims(meta.type, meta.shape, attributes);
    this.slice = new Slice(meta.shape, settings, labelsOf(attributes));
    this.unit = unitOf(attributes);
    this.fills = new Set(numbersOf(attributes._FillValue));
    this.build(this.fitting(meta.shape));
  }

  fitting(shape) {
    const numeric = isNumeric(this.type);
    return [
      this.image && 'image',
      'table',
      numeric && 'line',
      numeric && shape.length > 1 && 'heat',
      numeric && 'statistics',
    ].filter(Boolean);
  }

  // What is seen first: a picture, a map, a curve; a table where there are few elements.
  first(tabs) {
    const elements = this.slice.shape.reduce((product, size) => product * size, 1);
    if (tabs.includes('image')) return 'image';
    if (elements <= 64) return 'table';
    return tabs.includes('heat') && Math.min(...this.shownDims('heat').map((dim) => this.slice.shape[dim])) > 3
      ? 'heat'
      : tabs.includes('line')
        ? 'line'
        : 'table';
  }

  build(tabs) {
    this.buttons = tabs.map((name) => this.tabButton(name));
    this.tools = el('div', { class: 'tools' });
    this.sliders = el('div', { class: 'slice-host' });
    this.stage = el('div', { class: 'stage-host', id: 'panel', role: 'tabpanel' });
    this.statusLine = el('output', { class: 'status', 'aria-live': 'off' });
    this.downloads = downloads(this, () => this.view);
    this.element = el(
      'section',
      { class: 'view', 'aria-label': 'Elements' },
      el(
        'div',
        { class: 'tabs-row' },
        el('div', { class: 'tabs', role: 'tablist', onkeydown: (event) => this.tabKey(event) }, ...this.buttons),
        this.downloads.element,
      ),
      this.tools,
      this.sliders,
      this.stage,
      this.statusLine,
    );
    const wanted = this.settings.get('tab');
    this.open(tabs.includes(wanted) ? wanted : this.first(tabs));
  }

  tabButton(name) {
    return el(
      'button',
      {
        type: 'button',
        role: 'tab',
        class: 'tab',
        'data-tab': name,
        'aria-controls': 'panel',
        onclick: () => this.choose(name),
      },
      TABS[name].label,
    );
  }

  tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = this.buttons.findIndex((button) => button.dataset.tab === this.tab);
    const next = this.buttons[(at + step + this.buttons.length) % this.buttons.length];
    next.focus();
    this.choose(next.dataset.tab);
  }

  choose(name) {
    this.open(name);
    this.note('tab', name);
  }

  open(name) {
    this.tab = name;
    for (const button of this.buttons) {
      button.setAttribute('aria-selected', String(button.dataset.tab === name));
      button.tabIndex = button.dataset.tab === name ? 0 : -1;
    }
    this.view?.destroy();
    this.status('');
    this.view = TABS[name].make(this);
    this.tools.replaceChildren(...this.view.tools);
    this.tools.hidden = this.view.tools.length === 0;
    this.stage.replaceChildren(this.view.element);
    this.downloads.refresh();
    this.showSliders();
  }

  /** The dimensions that a tab shows; all others have a slider. */
  shownDims(tab) {
    const { slice, image: picture } = this;
    if (tab === 'image') return [picture.y, picture.x, picture.channel].filter((dim) => dim !== null);
    const one = tab === 'line' || slice.shape.length === 1 || isRecord(this.type);
    return one ? [slice.x] : [slice.y, slice.x];
  }

  shown() {
    return this.shownDims(this.tab);
  }

  showSliders() {
    const dims = this.shown();
    // Statistics of the whole dataset have no slice.
    if (this.tab === 'statistics' && this.view.scope === 'all') return this.sliders.replaceChildren();
    const { axes } = TABS[this.tab];
    const shownAxes = dims.length === 1 ? { x: axes.y ?? axes.x } : axes;
    return this.sliders.replaceChildren(
      sliceControls(this.slice, this.tab === 'image' ? {} : shownAxes, dims, (what) => this.sliced(what)),
    );
  }

  sliced(what) {
    if (what === 'axes') this.showSliders();
    this.slice.note(this.settings);
    note(this.path, this.settings);
    return this.view.update(what);
  }

  selection() {
    return this.slice.whole(this.shown());
  }

  /** Notes a setting in the address; null removes it. */
  note(name, value) {
    if (value === null || value === undefined) this.settings.delete(name);
    else this.settings.set(name, value);
    note(this.path, this.settings);
  }

  status(text) {
    this.statusLine.textContent = text;
  }

  /** What comes with the properties: names of dimensions that scales have, and the fill value. */
  setProperties(properties) {
    if (this.slice.setLabels(properties.dimensions ?? [])) {
      this.showSliders();
      this.view.plot?.draw();
    }
    this.setFill(properties);
  }

  setFill({ fill_value: value, fill_defined: defined }) {
    if (!defined || defined === 'default' || defined === 'undefined' || !numbersOf(value).length) return;
    numbersOf(value).forEach((number) => this.fills.add(number));
    this.view.update('fill');
  }
}

const numbersOf = (value) =>
  [value]
    .flat(2)
    .filter((item) => typeof item === 'number' || typeof item === 'bigint')
    .map(Number);
const textOf = (value) => (Array.isArray(value) ? value[0] : value);

function labelsOf(attributes) {
  const labels = attributes.DIMENSION_LABELS;
  return Array.isArray(labels) ? labels.map((label) => (typeof label === 'string' ? label : '')) : [];
}

function unitOf(attributes) {
  const unit = textOf(attributes.units ?? attributes.unit);
  return typeof unit === 'string' ? unit : '';
}
