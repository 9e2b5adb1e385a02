// The contents of a group as a list.

import { el, icon, nothing } from './dom.js';
import { count, shape } from './format.js';
import { join, link } from './route.js';
import { short } from './types.js';
import { VirtualList } from './virtual.js';

const ROW_HEIGHT = 30;
const KINDS = {
  group: 'group',
  dataset: 'dataset',
  datatype: 'named type',
  soft_link: 'soft link',
  external_link: 'external link',
};

/** Returns the list of the children of `meta`. */
export function contents(path, meta) {
  const children = meta.children ?? [];
  if (children.length === 0) return nothing('This group is empty', 'It has no datasets, groups, types or links.');
  const scroller = el('div', {
    class: 'contents-scroll',
    tabindex: 0,
    role: 'group',
    'aria-label': 'Members of the group',
  });
  const list = new VirtualList(scroller, ROW_HEIGHT, (index) => row(path, children[index]));
  list.setCount(children.length);
  return el(
    'div',
    { class: 'contents' },
    el(
      'div',
      { class: 'contents-head' },
      el('span', {}, members(children.length)),
      el('span', {}, 'Type'),
      el('span', {}, 'Shape'),
    ),
    scroller,
  );
}

/** Returns a number of members in words. */
export const members = (number) => `${count(number)} member${number === 1 ? '' : 's'}`;

function row(path, child) {
  return el(
    'a',
    { class: `contents-row kind-${child.kind}`, href: link(join(path, child.name)) },
    el('span', { class: 'contents-name' }, icon(child.kind), el('span', {}, child.name)),
    el('span', { class: 'contents-type' }, typeOf(child)),
    el('span', { class: 'contents-shape' }, shapeOf(child)),
  );
}

function typeOf(child) {
  if (child.kind === 'soft_link') return `→ ${child.target_path}`;
  if (child.kind === 'external_link') return `→ ${child.target_file}:${child.target_path}`;
  return child.type ? short(child.type) : (KINDS[child.kind] ?? child.kind);
}

const shapeOf = (child) => (child.kind === 'dataset' ? shape(child.shape) : '');
