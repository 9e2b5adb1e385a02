// The elements of a slice as a table: two dimensions, or one with the members of a compound as columns.

import { Blocks } from './blocks.js';
import { el, failure } from './dom.js';
import { element } from './format.js';
import { Grid } from './grid.js';
import { FLOAT, INTEGER, STRING, isRecord, short } from './types.js';

const DIGITS = 7;
const CELL_TEXT_MAX = 300;

export function table(context) {
  return new Table(context);
}

class Table {
  constructor(context) {
    this.context = context;
    this.type = context.type;
    this.members = isRecord(context.type) ? context.type.members : null;
    this.element = el('div', { class: 'stage table-stage' });
    this.tools = [];
    this.build();
  }

  /** The dimensions in sight: rows, and columns unless there is one dimension or members are columns. */
  get dims() {
    const { slice } = this.context;
    return slice.shape.length === 1 || this.members ? [slice.x] : [slice.y, slice.x];
  }

  build() {
    this.blocks?.stop();
    this.grid?.destroy();
    const { shape } = this.context.slice;
    const [rowDim, columnDim] = this.dims;
    this.rows = shape[rowDim];
    const dataColumns = columnDim === undefined ? 1 : shape[columnDim];
    this.columns = this.members?.length ?? dataColumns;
    this.columnWidth = widthOf(this.type, this.columns);
    this.headWidth = Math.max(46, 18 + 8 * String(this.rows - 1).length);
    this.blocks = this.newBlocks(rowDim, columnDim, dataColumns);
    this.grid = new Grid(this);
    this.element.replaceChildren(this.grid.element);
  }

  newBlocks(rowDim, columnDim, columns) {
    const { slice, path } = this.context;
    const selection = (rows, across) =>
      slice.selection({
        [rowDim]: rows.join(':'),
        ...(columnDim === undefined ? {} : { [columnDim]: across.join(':') }),
      });
    return new Blocks(
      { path, type: this.type, selection },
      {
        rows: this.rows,
        columns,
        turned: columnDim !== undefined && rowDim > columnDim,
        changed: (error) => this.arrived(error),
      },
    );
  }

  update(what) {
    if (what === 'axes') {
      this.build();
      return;
    }
    const [rowDim, columnDim] = this.dims;
    this.blocks.stop();
    this.blocks = this.newBlocks(rowDim, columnDim, columnDim === undefined ? 1 : this.context.slice.shape[columnDim]);
    this.grid.draw();
  }

  arrived(error) {
    this.message?.remove();
    if (error) {
      this.message = failure(error, () => this.arrived());
      this.element.append(this.message);
      return;
    }
    this.grid.draw();
    this.report();
  }

  columnHead(column) {
    if (this.members) return this.members[column].name;
    return this.dims.length === 1 ? short(this.type) : String(column);
  }

  columnTitle(column) {
    return this.members && `${this.members[column].name}: ${short(this.members[column])}`;
  }

  columnKind(column) {
    return kindOf(this.members?.[column] ?? this.type);
  }

  rowHead(row) {
    return String(row);
  }

  value(row, column) {
    if (!this.members) return { type: this.type, value: this.blocks.get(row, column) };
    return { type: this.members[column], value: this.blocks.get(row, 0)?.[column] };
  }

  cell(row, column) {
    const { type, value } = this.value(row, column);
    if (value === undefined) return null;
    return { text: element(type, value, DIGITS).slice(0, CELL_TEXT_MAX), kind: this.kindOf(type, value) };
  }

  kindOf(type, value) {
    if (typeof value === 'number' && Number.isNaN(value)) return 'nan';
    if (!this.members && this.context.fills.has(Number(value)) && typeof value !== 'string') return 'fill';
    return kindOf(type);
  }

  drawn() {
    this.blocks.settle();
    this.element.classList.toggle('loading', this.blocks.running.size > 0);
  }

  activated(row, column) {
    this.shown = { row, column };
    this.report();
  }

  report() {
    if (!this.shown) return;
    const { row, column } = this.shown;
    const { type, value } = this.value(row, column);
    if (value === undefined) return;
    const [rowDim, columnDim] = this.dims;
    const where = this.context.slice.position({
      [rowDim]: row,
      ...(columnDim === undefined ? {} : { [columnDim]: column }),
    });
    const member = this.members ? `.${this.members[column].name}` : '';
    this.context.status(`${where}${member} = ${element(type, value)}`);
  }

  destroy() {
    this.blocks.stop();
    this.grid.destroy();
  }
}

const kindOf = (type) => (type.class === INTEGER || type.class === FLOAT ? 'number' : 'words');

function widthOf(type, columns) {
  const isText = type.class !== INTEGER && type.class !== FLOAT;
  if (columns === 1) return isText ? 560 : 220;
  if (type.class === INTEGER) return type.size === 8 ? 176 : type.size === 1 ? 60 : 96;
  return type.class === STRING ? 220 : isText ? 148 : 104;
}
