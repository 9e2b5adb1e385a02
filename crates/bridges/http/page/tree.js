// The tree of groups. Children of a group are asked for when it is opened; only rows in sight are elements.

import { api, isAbort } from './api.js';
import { el, icon } from './dom.js';
import { go, join } from './route.js';
import { short } from './types.js';
import { VirtualList } from './virtual.js';
import { count, shape } from './format.js';

const ROW_HEIGHT = 26;
const TYPING_MS = 600;

export class Tree {
  constructor(element, chosen) {
    this.element = element;
    this.chosen = chosen;
    this.root = { path: '/', name: '/', kind: 'group', depth: 0, open: false, children: null };
    this.rows = [this.root];
    this.active = 0;
    this.typed = '';
    this.list = new VirtualList(element, ROW_HEIGHT, (index) => this.row(index));
    element.addEventListener('keydown', (event) => this.key(event));
    element.addEventListener('click', (event) => this.click(event));
  }

  row(index) {
    const node = this.rows[index];
    const row = el(
      'div',
      {
        class: `tree-row kind-${node.kind}`,
        role: 'treeitem',
        id: `tree-${index}`,
        'data-index': index,
        'aria-level': node.depth + 1,
        'aria-selected': String(node.path === this.selected),
        'aria-expanded': node.kind === 'group' ? String(node.open) : undefined,
        title: titleOf(node),
      },
      el('span', { class: 'twist' }, node.kind === 'group' && icon('chevron', node.open ? 'open' : '')),
      icon(node.kind),
      el('span', { class: 'tree-name' }, node.name),
      note(node),
    );
    row.style.paddingInlineStart = `${6 + node.depth * 15}px`;
    if (index === this.active) row.classList.add('active');
    return row;
  }

  refresh() {
    this.rows = [];
    collect(this.root, this.rows);
    this.active = Math.min(this.active, this.rows.length - 1);
    this.list.setCount(this.rows.length);
    this.element.setAttribute('aria-activedescendant', `tree-${this.active}`);
  }

  async open(node) {
    if (node.kind !== 'group' || node.open) return;
    node.open = true;
    if (!node.children) await this.load(node);
    this.refresh();
  }

  async load(node) {
    node.state = 'loading';
    this.refresh();
    try {
      const { children } = await api.children(node.path);
      node.children = (children ?? []).map((child) => nodeOf(node, child));
      node.state = undefined;
    } catch (error) {
      node.open = false;
      node.state = isAbort(error) ? undefined : error.message;
    }
  }

  close(node) {
    node.open = false;
    this.refresh();
  }

  toggle(node) {
    return node.open ? this.close(node) : this.open(node);
  }

  /** Opens the groups on the way to `path` and marks the object. */
  async select(path) {
    this.selected = path;
    let node = this.root;
    for (;;) {
      if (node.path === path) break;
      await this.open(node);
      const next = node.children?.find((child) => path === child.path || path.startsWith(`${child.path}/`));
      if (!next) break;
      node = next;
    }
    if (this.selected !== path) return;
    await (node.path === '/' ? this.open(node) : undefined);
    this.refresh();
    this.activate(this.rows.indexOf(node));
  }

  activate(index) {
    this.active = Math.max(0, Math.min(this.rows.length - 1, index));
    this.element.setAttribute('aria-activedescendant', `tree-${this.active}`);
    this.list.reveal(this.active);
  }

  click(event) {
    const row = event.target.closest('.tree-row');
    if (!row) return;
    const node = this.rows[Number(row.dataset.index)];
    this.activate(Number(row.dataset.index));
    if (event.target.closest('.twist') && node.kind === 'group') this.toggle(node);
    else this.choose(node);
  }

  choose(node) {
    this.open(node);
    go(node.path);
    this.chosen(node);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.actions(this.rows[this.active])[event.key];
    if (act) {
      event.preventDefault();
      act();
    } else if (event.key.length === 1 && event.key !== '/' && event.key !== '?') {
      this.typeAhead(event.key);
    }
  }

  actions(node) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 1);
    return {
      ArrowDown: () => this.activate(this.active + 1),
      ArrowUp: () => this.activate(this.active - 1),
      PageDown: () => this.activate(this.active + page),
      PageUp: () => this.activate(this.active - page),
      Home: () => this.activate(0),
      End: () => this.activate(this.rows.length - 1),
      ArrowRight: () => (node.open ? this.activate(this.active + 1) : this.open(node)),
      ArrowLeft: () => (node.open ? this.close(node) : this.activate(this.rows.indexOf(node.parent))),
      Enter: () => this.choose(node),
      ' ': () => this.choose(node),
    };
  }

  typeAhead(letter) {
    clearTimeout(this.forget);
    this.forget = setTimeout(() => {
      this.typed = '';
    }, TYPING_MS);
    this.typed += letter.toLowerCase();
    const from = this.typed.length === 1 ? this.active + 1 : this.active;
    const order = [...this.rows.keys()].map((index) => (index + from) % this.rows.length);
    const match = order.find((index) => this.rows[index].name.toLowerCase().startsWith(this.typed));
    if (match !== undefined) this.activate(match);
  }
}

function nodeOf(parent, child) {
  return {
    path: join(parent.path, child.name),
    name: child.name,
    kind: child.kind,
    depth: parent.depth + 1,
    parent,
    open: false,
    children: null,
    meta: child,
  };
}

function collect(node, rows) {
  rows.push(node);
  if (node.open) for (const child of node.children ?? []) collect(child, rows);
}

function note(node) {
  if (node.state === 'loading') return el('span', { class: 'tree-note' }, '…');
  if (node.state) return el('span', { class: 'tree-note error' }, 'failed');
  if (node.kind !== 'dataset') return null;
  return el(
    'span',
    { class: 'tree-note' },
    node.meta.shape?.length ? node.meta.shape.map(count).join('×') : short(node.meta.type),
  );
}

function titleOf(node) {
  if (node.state && node.state !== 'loading') return node.state;
  if (node.kind === 'soft_link') return `${node.name} → ${node.meta.target_path}`;
  if (node.kind === 'external_link') return `${node.name} → ${node.meta.target_file}:${node.meta.target_path}`;
  return node.kind === 'dataset' ? `${node.name}: ${short(node.meta.type)}, ${shape(node.meta.shape)}` : node.name;
}
