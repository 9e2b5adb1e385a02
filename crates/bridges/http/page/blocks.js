// Elements for a grid, asked for in blocks: those in sight are fetched, those that left it are aborted.

import { isAbort } from './api.js';
import { read } from './values.js';

const BLOCKS_MAX = 96;
const WAIT_MS = 50;

export class Blocks {
  /**
   * `source` has path, type, and selection(rows, columns) with ranges as pairs; sizes are `rows` and `columns`;
   * `turned` says that the dataset has the columns first; `changed` is called when a block came or failed.
   */
  constructor(source, { rows, columns, turned, changed }) {
    Object.assign(this, {
      source,
      rows,
      columns,
      turned,
      changed,
      known: new Map(),
      running: new Map(),
      wanted: new Set(),
    });
    this.height = columns === 1 ? 512 : 128;
    this.width = Math.min(columns, 32);
  }

  /** Returns the element, or undefined if it is not there yet; notes that it is wanted. */
  get(row, column) {
    const [r, c] = [Math.floor(row / this.height), Math.floor(column / this.width)];
    const key = `${r},${c}`;
    this.wanted.add(key);
    const block = this.known.get(key);
    if (!block) return undefined;
    const [y, x] = [row - r * this.height, column - c * this.width];
    return block.values[this.turned ? x * block.rows + y : y * block.columns + x];
  }

  /** Asks for what was wanted since the last call, after a moment without another. */
  settle() {
    const wanted = this.wanted;
    this.wanted = new Set();
    for (const [key, request] of this.running) if (!wanted.has(key)) this.drop(key, request);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => wanted.forEach((key) => this.fetch(key)), WAIT_MS);
  }

  drop(key, request) {
    request.abort();
    this.running.delete(key);
  }

  async fetch(key) {
    if (this.known.has(key) || this.running.has(key)) return;
    const request = new AbortController();
    this.running.set(key, request);
    const failed = await this.load(key, request.signal).then(
      (block) => this.keep(key, block),
      (error) => error,
    );
    if (this.running.get(key) === request) this.running.delete(key);
    if (!isAbort(failed)) this.changed(failed);
  }

  async load(key, signal) {
    const [r, c] = key.split(',').map(Number);
    const rows = [r * this.height, Math.min(this.rows, (r + 1) * this.height)];
    const columns = [c * this.width, Math.min(this.columns, (c + 1) * this.width)];
    const size = { rows: rows[1] - rows[0], columns: columns[1] - columns[0] };
    const { path, type } = this.source;
    return {
      ...size,
      values: await read(path, type, this.source.selection(rows, columns), size.rows * size.columns, signal),
    };
  }

  keep(key, block) {
    this.known.set(key, block);
    const oldest = this.known.keys().next().value;
    if (this.known.size > BLOCKS_MAX) this.known.delete(oldest);
  }

  stop() {
    clearTimeout(this.timer);
    for (const [key, request] of this.running) this.drop(key, request);
  }
}
