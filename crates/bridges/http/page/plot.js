// A canvas with a view that is zoomed by wheel, drag and keys. What is drawn in it is its owner's.

import { colours } from './axes.js';
import { el } from './dom.js';

const DRAG_PIXELS_MIN = 5;
const ELEMENTS_MIN = 4;

export class Plot {
  /**
   * `owner` has: label; axes, 'x' or 'xy'; rect(width, height), where the view is drawn; draw(plot); viewed(), called
   * when the view has changed; hover(point or null).
   */
  constructor(owner, full) {
    this.owner = owner;
    this.canvas = el('canvas', { class: 'plot', tabindex: 0, role: 'img', 'aria-label': owner.label });
    this.context = this.canvas.getContext('2d');
    this.element = el('div', { class: 'stage' }, this.canvas);
    this.reset(full, true);
    this.listen();
  }

  reset(full = this.full, quiet = false) {
    this.full = full;
    this.view = { ...full };
    if (!quiet) this.changed();
  }

  get zoomed() {
    return Object.keys(this.full).some((side) => this.view[side] !== this.full[side]);
  }

  listen() {
    const { canvas } = this;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.element);
    this.repaint = () => this.draw();
    addEventListener('themechange', this.repaint);
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.release(event));
    canvas.addEventListener('pointercancel', () => this.cancel());
    canvas.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('dblclick', () => this.reset());
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  destroy() {
    this.observer.disconnect();
    removeEventListener('themechange', this.repaint);
  }

  resize() {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth === 0 || clientHeight === 0) return;
    const ratio = devicePixelRatio || 1;
    const first = this.width === undefined;
    Object.assign(this, { width: clientWidth, height: clientHeight, ratio });
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.draw();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.owner.viewed(), first ? 0 : 150);
  }

  draw() {
    if (!this.width) return;
    this.rect = this.owner.rect(this.width, this.height);
    this.theme = colours();
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.fillStyle = this.theme.plot;
    this.context.fillRect(0, 0, this.width, this.height);
    this.owner.draw(this);
    if (this.drag?.box) this.drawBox();
  }

  // At most one drawing a frame, however fast the pointer moves.
  soon() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  changed() {
    this.soon();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.owner.viewed(), 90);
  }

  /** Returns the values under a pixel. */
  at(x, y) {
    const { rect, view } = this;
    return {
      x: view.x0 + ((x - rect.left) / rect.width) * (view.x1 - view.x0),
      y: view.y0 + ((y - rect.top) / rect.height) * (view.y1 - view.y0),
    };
  }

  inside(x, y) {
    const { left, top, width, height } = this.rect;
    return x >= left && x <= left + width && y >= top && y <= top + height;
  }

  wheel(event) {
    if (!this.inside(event.offsetX, event.offsetY)) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(
      Math.exp(Math.max(-200, Math.min(200, event.deltaY * lines)) * 0.002),
      this.at(event.offsetX, event.offsetY),
    );
  }

  /** Scales the view by `factor` around a point. */
  zoom(factor, point = this.middle()) {
    for (const axis of this.owner.axes) {
      const [low, high] = [`${axis}0`, `${axis}1`];
      const full = this.full[high] - this.full[low];
      const span = Math.min(full, Math.max(Math.min(ELEMENTS_MIN, full), (this.view[high] - this.view[low]) * factor));
      const part = (point[axis] - this.view[low]) / (this.view[high] - this.view[low] || 1);
      this.place(axis, point[axis] - part * span, span);
    }
    this.changed();
  }

  middle() {
    return { x: (this.view.x0 + this.view.x1) / 2, y: (this.view.y0 + this.view.y1) / 2 };
  }

  place(axis, start, span) {
    const [low, high] = [`${axis}0`, `${axis}1`];
    const from = Math.max(this.full[low], Math.min(this.full[high] - span, start));
    this.view[low] = from;
    this.view[high] = from + span;
  }

  pan(axis, part) {
    if (!this.owner.axes.includes(axis)) return;
    const [low, high] = [`${axis}0`, `${axis}1`];
    const span = this.view[high] - this.view[low];
    this.place(axis, this.view[low] + part * span, span);
    this.changed();
  }

  press(event) {
    if (event.button > 1 || !this.inside(event.offsetX, event.offsetY)) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = {
      x: event.offsetX,
      y: event.offsetY,
      pan: event.shiftKey || event.button === 1,
      view: { ...this.view },
    };
  }

  move(event) {
    const [x, y] = [event.offsetX, event.offsetY];
    if (this.drag?.pan) this.dragPan(x, y);
    else if (this.drag) this.dragBox(x, y);
    this.pointer = this.inside(x, y) ? { x, y, ...{ value: this.at(x, y) } } : null;
    this.owner.hover(this.pointer?.value ?? null);
    this.soon();
  }

  dragPan(x, y) {
    const { rect, drag } = this;
    for (const axis of this.owner.axes) {
      const [low, high] = [`${axis}0`, `${axis}1`];
      const span = drag.view[high] - drag.view[low];
      const moved = axis === 'x' ? (x - drag.x) / rect.width : (y - drag.y) / rect.height;
      this.place(axis, drag.view[low] - moved * span, span);
    }
    this.changed();
  }

  dragBox(x, y) {
    const { left, top, width, height } = this.rect;
    const clamp = (value, low, size) => Math.max(low, Math.min(low + size, value));
    const [x1, y1] = [clamp(x, left, width), clamp(y, top, height)];
    const far = Math.max(Math.abs(x1 - this.drag.x), this.owner.axes.includes('y') ? Math.abs(y1 - this.drag.y) : 0);
    this.drag.box = far >= DRAG_PIXELS_MIN ? { x0: this.drag.x, y0: this.drag.y, x1, y1 } : null;
  }

  drawBox() {
    const { box } = this.drag;
    const tall = this.owner.axes.includes('y');
    const [y0, y1] = tall ? [box.y0, box.y1] : [this.rect.top, this.rect.top + this.rect.height];
    this.context.fillStyle = this.theme.band;
    this.context.fillRect(box.x0, y0, box.x1 - box.x0, y1 - y0);
    this.context.strokeStyle = this.theme.accent;
    this.context.strokeRect(box.x0, y0, box.x1 - box.x0, y1 - y0);
  }

  release() {
    const box = this.drag?.box;
    this.drag = null;
    if (!box) return;
    const [a, b] = [this.at(box.x0, box.y0), this.at(box.x1, box.y1)];
    for (const axis of this.owner.axes) {
      const span = Math.max(
        Math.min(ELEMENTS_MIN, this.full[`${axis}1`] - this.full[`${axis}0`]),
        Math.abs(a[axis] - b[axis]),
      );
      this.place(axis, Math.min(a[axis], b[axis]), span);
    }
    this.changed();
  }

  cancel() {
    this.drag = null;
    this.soon();
  }

  leave() {
    this.pointer = null;
    this.owner.hover(null);
    this.soon();
  }

  key(event) {
    const act = {
      ArrowLeft: () => this.pan('x', -0.1),
      ArrowRight: () => this.pan('x', 0.1),
      ArrowUp: () => this.pan('y', -0.1),
      ArrowDown: () => this.pan('y', 0.1),
      '+': () => this.zoom(0.7),
      '=': () => this.zoom(0.7),
      '-': () => this.zoom(1 / 0.7),
      0: () => this.reset(),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }
}
