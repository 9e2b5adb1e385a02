// A list of rows of equal height of which only those in sight are elements.

import { el } from './dom.js';

const MARGIN_ROWS = 8;
// Browsers lay out no element higher than this.
const HEIGHT_MAX = 16_000_000;

export class VirtualList {
  /** `row(index)` returns a new element for a row. */
  constructor(scroller, rowHeight, row) {
    Object.assign(this, { scroller, rowHeight, row, count: 0 });
    this.sheet = el('div', { class: 'virtual-sheet', role: 'presentation' });
    this.spacer = el('div', { class: 'virtual-spacer', role: 'presentation' }, this.sheet);
    scroller.append(this.spacer);
    scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(scroller);
  }

  setCount(count) {
    this.count = Math.min(count, Math.floor(HEIGHT_MAX / this.rowHeight));
    this.spacer.style.height = `${this.count * this.rowHeight}px`;
    this.draw();
  }

  draw() {
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(0, Math.floor((scrollTop - this.spacer.offsetTop) / this.rowHeight) - MARGIN_ROWS);
    const last = Math.min(this.count, first + Math.ceil(clientHeight / this.rowHeight) + 2 * MARGIN_ROWS);
    this.sheet.style.transform = `translateY(${first * this.rowHeight}px)`;
    const rows = [];
    for (let index = first; index < last; index += 1) rows.push(this.row(index));
    this.sheet.replaceChildren(...rows);
  }

  /** Scrolls no further than needed to have the row in sight. */
  reveal(index) {
    const top = index * this.rowHeight;
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + this.rowHeight > scrollTop + clientHeight)
      this.scroller.scrollTop = top + this.rowHeight - clientHeight;
    this.draw();
  }
}
