// Which dimensions of a dataset are axes, and at which index all others stand; with a slider for each of those.

import { choice, el, icon } from './dom.js';
import { count } from './format.js';

const FRAME_MS = 220;

/** The state: `x` and `y` are dimensions, `at` an index for each dimension. */
export class Slice {
  constructor(shape, settings, labels = []) {
    this.shape = shape;
    this.labels = labels;
    const dimension = (name, otherwise) => within(settings.get(name), shape.length, otherwise);
    this.x = dimension('x', shape.length - 1);
    this.y = dimension('y', shape.length - 2);
    if (this.y === this.x) this.y = this.x === 0 ? 1 : this.x - 1;
    const at = (settings.get('at') ?? '').split(',');
    this.at = shape.map((size, dim) => within(at[dim], size, 0));
  }

  /** Gives names to dimensions that have none; returns whether there were any. */
  setLabels(labels) {
    const missing = labels.map((label, dim) => (label && !this.labels[dim] ? dim : -1)).filter((dim) => dim >= 0);
    for (const dim of missing) this.labels[dim] = labels[dim];
    return missing.length > 0;
  }

  label(dim) {
    return this.labels[dim] || `dim ${dim}`;
  }

  /** Makes `dim` the axis `name`; the axis that had it takes the other's dimension. */
  setAxis(name, dim) {
    const other = name === 'x' ? 'y' : 'x';
    if (this[other] === dim) this[other] = this[name];
    this[name] = dim;
  }

  /** Returns the selection: `ranges` has text for the dimensions that are shown, others stand at their index. */
  selection(ranges) {
    return this.shape.map((_, dim) => ranges[dim] ?? this.at[dim]).join(',');
  }

  /** Returns the selection of everything along `dims`. */
  whole(dims) {
    return this.selection(Object.fromEntries(dims.map((dim) => [dim, ':'])));
  }

  /** Returns the indices of an element as text, given those along the axes. */
  position(indices) {
    return `[${this.shape.map((_, dim) => indices[dim] ?? this.at[dim]).join(', ')}]`;
  }

  note(settings) {
    settings.set('x', this.x);
    if (this.shape.length > 1) settings.set('y', this.y);
    settings.set('at', this.at.join(','));
  }
}

function within(text, size, otherwise) {
  const number = text ? Number(text) : NaN;
  return Number.isInteger(number) && number >= 0 && number < size ? number : otherwise;
}

/** Returns controls for a slice: choices for `axes`, as in `{ y: 'Rows' }`, and sliders for what is not `shown`. */
export function sliceControls(slice, axes, shown, changed) {
  const bar = el('div', { class: 'slice' });
  if (slice.shape.length < 2) return bar;
  const dims = slice.shape.map((size, dim) => [String(dim), `${slice.label(dim)} (${count(size)})`]);
  for (const [name, text] of Object.entries(axes)) {
    bar.append(
      choice(text, dims, String(slice[name]), (dim) => {
        slice.setAxis(name, Number(dim));
        changed('axes');
      }),
    );
  }
  slice.shape.forEach((size, dim) => {
    if (!shown.includes(dim)) bar.append(slider(slice, dim, size, changed));
  });
  return bar;
}

function slider(slice, dim, size, changed) {
  const label = `Index of ${slice.label(dim)}`;
  const limits = { min: 0, max: Math.max(0, size - 1), step: 1, 'aria-label': label };
  const range = el('input', { type: 'range', ...limits, oninput: () => move(Number(range.value)) });
  const field = el('input', { type: 'number', class: 'index', ...limits, onchange: () => move(Number(field.value)) });
  const play = playButton(() => move((slice.at[dim] + 1) % size));

  function move(index) {
    slice.at[dim] = Math.min(size - 1, Math.max(0, Math.trunc(index) || 0));
    range.value = field.value = slice.at[dim];
    return changed('index');
  }
  range.value = field.value = slice.at[dim];
  range.disabled = field.disabled = play.disabled = size < 2;
  return el(
    'div',
    { class: 'slider' },
    el('span', { class: 'slider-name' }, slice.label(dim)),
    range,
    field,
    el('span', { class: 'slider-size' }, `/ ${count(size - 1)}`),
    play,
  );
}

// The next frame waits until the last one is drawn, and ends when the button has left the page.
function playButton(step) {
  const button = el(
    'button',
    { type: 'button', class: 'icon-button', 'aria-label': 'Play', 'aria-pressed': 'false' },
    icon('play'),
  );
  let playing = false;
  const show = () => {
    button.setAttribute('aria-pressed', String(playing));
    button.replaceChildren(icon(playing ? 'pause' : 'play'));
  };
  async function run() {
    while (playing && button.isConnected) {
      await Promise.all([step(), new Promise((done) => setTimeout(done, FRAME_MS))]);
    }
  }
  button.addEventListener('click', () => {
    playing = !playing;
    show();
    run();
  });
  return button;
}
