// A grid of cells that scrolls both ways over any number of rows and columns. Only cells in sight are elements.

import { el } from './dom.js';

const ROW_HEIGHT = 24;
// Browsers lay out no element longer than this; past it, a pixel of the scroll bar is more than a pixel of the grid.
const EXTENT_MAX = 8_000_000;

/** One direction: which cell is first in sight, and where the scroll bar stands for it. */
class Track {
  constructor(count, size) {
    Object.assign(this, { count, size, first: 0, viewport: 0 });
  }

  get extent() {
    return Math.min(EXTENT_MAX, this.count * this.size);
  }

  get firstMax() {
    return Math.max(0, this.count - this.viewport / this.size);
  }

  get isScaled() {
    return this.count * this.size > EXTENT_MAX;
  }

  fromScroll(pixels) {
    const span = this.extent - this.viewport;
    this.first = span <= 0 ? 0 : Math.min(1, pixels / span) * this.firstMax;
  }

  toScroll() {
    return this.firstMax === 0 ? 0 : (this.first / this.firstMax) * (this.extent - this.viewport);
  }

  move(cells) {
    this.first = Math.max(0, Math.min(this.firstMax, this.first + cells));
  }

  reveal(index) {
    const whole = Math.max(1, Math.floor(this.viewport / this.size));
    if (index < this.first) this.first = index;
    else if (index + 1 > this.first + this.viewport / this.size)
      this.first = Math.max(0, Math.min(this.firstMax, index + 1 - whole));
  }

  get range() {
    const from = Math.floor(this.first);
    return [from, Math.min(this.count, Math.ceil(this.first + this.viewport / this.size))];
  }

  get shift() {
    return (Math.floor(this.first) - this.first) * this.size;
  }
}

export class Grid {
  /**
   * `owner` has: rows, columns, columnWidth, headWidth; columnHead(c), rowHead(r); cell(r, c), which returns its text
   * and kind, or null while it is not there; drawn(), after each drawing; activated(r, c).
   */
  constructor(owner) {
    this.owner = owner;
    this.down = new Track(owner.rows, ROW_HEIGHT);
    this.across = new Track(owner.columns, owner.columnWidth);
    this.active = { row: 0, column: 0 };
    this.head = el('div', { class: 'grid-row grid-head', role: 'row' });
    this.body = el('div', { class: 'grid-body', role: 'rowgroup' });
    this.sheet = el('div', { class: 'grid-sheet', role: 'presentation' }, this.head, this.body);
    this.spacer = el('div', { class: 'grid-spacer', role: 'presentation' });
    this.element = el(
      'div',
      {
        class: 'grid',
        role: 'grid',
        tabindex: 0,
        'aria-label': 'Elements',
        'aria-rowcount': owner.rows + 1,
        'aria-colcount': owner.columns + 1,
      },
      this.sheet,
      this.spacer,
    );
    this.element.style.setProperty('--cell', `${owner.columnWidth}px`);
    this.element.style.setProperty('--head', `${owner.headWidth}px`);
    this.listen();
  }

  listen() {
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.element);
    this.element.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.element.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('click', (event) => this.click(event));
  }

  destroy() {
    this.observer.disconnect();
  }

  resize() {
    const { clientWidth, clientHeight } = this.element;
    this.down.viewport = Math.max(0, clientHeight - ROW_HEIGHT);
    this.across.viewport = Math.max(0, clientWidth - this.owner.headWidth);
    this.sheet.style.width = `${clientWidth}px`;
    this.sheet.style.height = `${clientHeight}px`;
    this.spacer.style.width = `${this.across.extent + this.owner.headWidth}px`;
    this.spacer.style.height = `${this.down.extent + ROW_HEIGHT}px`;
    this.down.move(0);
    this.across.move(0);
    this.draw();
  }

  // A position that was set here comes back as an event; its rounding must not move the grid.
  scrolled() {
    const { scrollTop, scrollLeft } = this.element;
    if (Math.abs(scrollTop - this.down.toScroll()) > 1) this.down.fromScroll(scrollTop);
    if (Math.abs(scrollLeft - this.across.toScroll()) > 1) this.across.fromScroll(scrollLeft);
    this.draw();
  }

  wheel(event) {
    if (!this.down.isScaled && !this.across.isScaled) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? ROW_HEIGHT : 1;
    const [x, y] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    this.down.move((y * lines) / this.down.size);
    this.across.move((x * lines) / this.across.size);
    this.moved();
  }

  moved() {
    this.element.scrollTop = this.down.toScroll();
    this.element.scrollLeft = this.across.toScroll();
    this.draw();
  }

  draw() {
    const [top, bottom] = this.down.range;
    const [left, right] = this.across.range;
    this.drawHead(left, right);
    const rows = [];
    for (let row = top; row < bottom; row += 1) rows.push(this.row(row, left, right));
    this.body.replaceChildren(...rows);
    this.body.style.transform = `translateY(${this.down.shift}px)`;
    this.owner.drawn();
  }

  drawHead(left, right) {
    const cells = this.cells();
    for (let column = left; column < right; column += 1) {
      cells.append(
        el(
          'div',
          {
            class: `grid-cell ${this.owner.columnKind?.(column) ?? ''}`,
            role: 'columnheader',
            title: this.owner.columnTitle?.(column),
          },
          this.owner.columnHead(column),
        ),
      );
    }
    this.head.replaceChildren(el('div', { class: 'grid-corner', role: 'columnheader' }), cells);
  }

  cells() {
    const cells = el('div', { class: 'grid-cells', role: 'presentation' });
    cells.style.transform = `translateX(${this.across.shift}px)`;
    return cells;
  }

  row(row, left, right) {
    const cells = this.cells();
    for (let column = left; column < right; column += 1) cells.append(this.cell(row, column));
    return el(
      'div',
      { class: 'grid-row', role: 'row', 'aria-rowindex': row + 2 },
      el('div', { class: 'grid-rowhead', role: 'rowheader' }, this.owner.rowHead(row)),
      cells,
    );
  }

  cell(row, column) {
    const content = this.owner.cell(row, column);
    const active = row === this.active.row && column === this.active.column;
    const cell = el(
      'div',
      {
        class: `grid-cell ${content?.kind ?? 'waiting'}${active ? ' active' : ''}`,
        role: 'gridcell',
        'aria-colindex': column + 2,
        'aria-selected': active ? 'true' : undefined,
      },
      content?.text ?? '',
    );
    Object.assign(cell.dataset, { row, column });
    return cell;
  }

  click(event) {
    const cell = event.target.closest('.grid-cell[data-row]');
    if (cell) this.activate(Number(cell.dataset.row), Number(cell.dataset.column));
  }

  activate(row, column) {
    this.active = {
      row: Math.max(0, Math.min(this.down.count - 1, row)),
      column: Math.max(0, Math.min(this.across.count - 1, column)),
    };
    this.down.reveal(this.active.row);
    this.across.reveal(this.active.column);
    this.moved();
    this.owner.activated(this.active.row, this.active.column);
  }

  key(event) {
    const { row, column } = this.active;
    const page = Math.max(1, Math.floor(this.down.viewport / ROW_HEIGHT) - 1);
    const all = event.ctrlKey || event.metaKey;
    const [lastRow, lastColumn] = [this.down.count - 1, this.across.count - 1];
    const target = {
      ArrowDown: [all ? lastRow : row + 1, column],
      ArrowUp: [all ? 0 : row - 1, column],
      ArrowRight: [row, all ? lastColumn : column + 1],
      ArrowLeft: [row, all ? 0 : column - 1],
      PageDown: [row + page, column],
      PageUp: [row - page, column],
      Home: [all ? 0 : row, 0],
      End: [all ? lastRow : row, lastColumn],
    }[event.key];
    if (!target || event.altKey) return;
    event.preventDefault();
    this.activate(...target);
  }
}
