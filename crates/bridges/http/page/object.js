// The page of one object: where it is, what it is, and its view.

import { api } from './api.js';
import { dataset } from './dataset.js';
import { ask, details } from './details.js';
import { el, icon, nothing } from './dom.js';
import { bytes, count, shape } from './format.js';
import { contents, members } from './group.js';
import { join, link } from './route.js';
import { words } from './types.js';

/** Returns the page of the object at `path`. */
export async function objectPage(path, settings, container, signal) {
  const meta = await api.meta(path, signal);
  const { properties, attributes } = ask(path, meta, signal);
  const body = await bodyOf(path, meta, settings, { properties, attributes, container }, signal);
  return el(
    'article',
    { class: `object object-${meta.kind}` },
    head(path, meta, properties),
    el('div', { class: 'body' }, ...body),
  );
}

function head(path, meta, properties) {
  const name = path === '/' ? 'Root group' : path.split('/').pop();
  const facts = el('p', { class: 'facts' }, ...factsOf(meta, {}));
  properties.then(
    (answer) => facts.replaceChildren(...factsOf(meta, answer)),
    () => {},
  );
  return el('header', { class: 'head' }, breadcrumb(path), el('h1', {}, icon(meta.kind), el('span', {}, name)), facts);
}

function breadcrumb(path) {
  const list = el('ol', {}, crumb('/', '/', path));
  let at = '/';
  for (const name of path.split('/').filter(Boolean)) {
    at = join(at, name);
    list.append(crumb(at, name, path));
  }
  const copy = el(
    'button',
    {
      type: 'button',
      class: 'icon-button small',
      'aria-label': 'Copy the path',
      title: 'Copy the path',
      onclick: () =>
        navigator.clipboard?.writeText(path).then(
          () => copy.classList.add('done'),
          () => {},
        ),
    },
    icon('copy'),
  );
  return el('nav', { class: 'crumbs', 'aria-label': 'Path' }, list, copy);
}

function crumb(path, name, current) {
  return el('li', {}, el('a', { href: link(path), 'aria-current': path === current ? 'page' : undefined }, name));
}

function factsOf(meta, properties) {
  const list = [];
  if (meta.type) list.push(words(meta.type));
  if (meta.kind === 'dataset')
    list.push(
      meta.shape?.length === 1 ? `${shape(meta.shape)} elements` : shape(meta.shape),
      ...storageFacts(meta, properties),
    );
  if (meta.kind === 'group') list.push('group', members(meta.children?.length ?? 0));
  if (meta.kind === 'datatype') list.unshift('named type');
  if (meta.attributes?.length)
    list.push(`${count(meta.attributes.length)} attribute${meta.attributes.length === 1 ? '' : 's'}`);
  return list.map((fact) => el('span', {}, fact));
}

function storageFacts(meta, { storage_bytes: stored, bytes: size }) {
  const list = [];
  if (meta.chunks) list.push(`chunks ${shape(meta.chunks)}`);
  if (meta.filters?.length) list.push(meta.filters.map((filter) => filter.name || `filter ${filter.id}`).join(', '));
  if (size !== undefined && size !== null) list.push(bytes(size));
  if (size && stored && stored !== size) list.push(`${bytes(stored)} stored`);
  return list;
}

async function bodyOf(path, meta, settings, { properties, attributes, container }, signal) {
  const panel = () => details(meta, properties, attributes);
  if (meta.kind === 'group') return [await groupBody(path, container, signal), panel()];
  if (meta.kind === 'dataset') {
    const values = await attributes.catch(() => ({}));
    return [dataset(path, meta, settings, values, properties, signal), panel()];
  }
  if (meta.kind === 'datatype') return [panel()];
  return [linkBody(meta)];
}

async function groupBody(path, container, signal) {
  const list = contents(path, await api.children(path, signal));
  return el('div', { class: 'group-body' }, path === '/' ? containerFacts(container) : null, list);
}

function containerFacts(container) {
  if (!container?.location) return null;
  const facts = [
    container.connector && `connector ${container.connector}`,
    container.writable === false ? 'read-only' : null,
  ].filter(Boolean);
  return el(
    'p',
    { class: 'location' },
    el('code', {}, container.location),
    ...facts.map((fact) => el('span', {}, fact)),
  );
}

function linkBody(meta) {
  if (meta.kind === 'soft_link') {
    return nothing('A soft link that leads nowhere', `Its target is ${meta.target_path}. No object has that path.`);
  }
  if (meta.kind === 'external_link') {
    return nothing(
      'An external link',
      `Its target is ${meta.target_path} in the file ${meta.target_file}. That file is not opened here.`,
    );
  }
  return nothing('An object of an unknown kind', 'It is neither a group nor a dataset nor a named type.');
}
