// The panel of an object: its properties, the members of its type, its attributes.

import { api, isAbort } from './api.js';
import { el, failure } from './dom.js';
import { attribute, bytes, count, element, shape, time } from './format.js';
import { COMPOUND, ENUM, isBoolean, isComplex, words } from './types.js';

const VALUE_TEXT_MAX = 4000;

/** Returns the panel. `properties` and `attributes` are promises. */
export function details(meta, properties, attributes) {
  return el(
    'aside',
    { class: 'details', 'aria-label': 'Properties and attributes' },
    meta.kind === 'group' ? null : propertySection(meta, properties),
    meta.type && memberSection(meta.type),
    attributeSection(meta, attributes),
  );
}

function section(title, ...content) {
  return el('section', {}, el('h2', {}, title), ...content);
}

function table(rows) {
  return el(
    'table',
    { class: 'pairs' },
    el(
      'tbody',
      {},
      ...rows
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => el('tr', {}, el('th', { scope: 'row' }, ...breakable(name)), el('td', {}, value))),
    ),
  );
}

// A long name breaks after an underscore, not in the middle of a word.
const breakable = (name) =>
  name
    .split(/(?<=_)/)
    .flatMap((part) => [part, el('wbr')])
    .slice(0, -1);

function propertySection(meta, properties) {
  const host = el('div', {}, table(known(meta, {})));
  properties.then(
    (answer) => host.replaceChildren(table(known(meta, answer))),
    (error) => isAbort(error) || host.append(failure(error)),
  );
  return section('Properties', host);
}

function known(meta, properties) {
  const chunks = properties.chunks ?? meta.chunks;
  return [
    ['Type', words(meta.type)],
    ...(meta.kind === 'dataset'
      ? [
          ['Shape', shape(meta.shape)],
          [
            'Maximum',
            properties.max_shape && String(properties.max_shape) !== String(meta.shape)
              ? shape(properties.max_shape)
              : null,
          ],
          ['Layout', properties.layout],
          ['Chunks', chunks && shape(chunks)],
          ['Filters', filters(properties.filters ?? meta.filters)],
          ['Fill value', fillText(meta.type, properties)],
          ['Elements', properties.elements === undefined ? null : count(properties.elements)],
          ['Size', properties.bytes === undefined ? null : bytes(properties.bytes)],
          ['Stored', stored(properties)],
        ]
      : []),
    ['Created', time(properties.created)],
    ['Modified', time(properties.modified)],
    ['Links', properties.links > 1 ? String(properties.links) : null],
    ['Token', properties.token ? String(properties.token) : null],
  ];
}

function filters(list) {
  return list?.length
    ? list.map((filter) => (typeof filter === 'string' ? filter : filter.name || `filter ${filter.id}`)).join(', ')
    : null;
}

function fillText(type, { fill_value: value, fill_defined: defined }) {
  return !defined || defined === 'undefined' || value === null || value === undefined ? null : element(type, value);
}

function stored({ storage_bytes: storage, bytes: size }) {
  if (storage === null || storage === undefined) return null;
  if (!size || !storage) return bytes(storage);
  return `${bytes(storage)} (${ratio(size / storage)})`;
}

const ratio = (value) =>
  value >= 1 ? `${Number(value.toPrecision(3))} : 1` : `1 : ${Number((1 / value).toPrecision(3))}`;

function memberSection(type) {
  if (type.class === COMPOUND && !isComplex(type))
    return section('Members', table(type.members.map((member) => [member.name, words(member)])));
  if (type.class !== ENUM || isBoolean(type)) return null;
  return section(
    'Names',
    table(
      Object.entries(type.members)
        .sort((a, b) => a[1] - b[1])
        .map(([name, code]) => [name, String(code)]),
    ),
  );
}

function attributeSection(meta, attributes) {
  const list = meta.attributes ?? [];
  const title = list.length === 0 ? 'Attributes' : `Attributes (${count(list.length)})`;
  if (list.length === 0) return section(title, el('p', { class: 'none' }, 'None.'));
  const row = (info, value) => [info.name, value];
  const host = el('div', {}, table(list.map((info) => row(info, '…'))));
  attributes.then(
    (values) => host.replaceChildren(table(list.map((info) => row(info, attributeValue(info, values[info.name]))))),
    (error) => isAbort(error) || host.replaceChildren(failure(error)),
  );
  return section(title, host);
}

function attributeValue(info, value) {
  const text = attribute(info, value);
  const kind = info.shape?.length ? `${words(info.type)}, ${shape(info.shape)}` : words(info.type);
  return el(
    'span',
    { class: 'value', title: kind },
    text.length > VALUE_TEXT_MAX ? `${text.slice(0, VALUE_TEXT_MAX)}…` : text || '(empty)',
  );
}

/** Starts the requests of the panel. */
export function ask(path, meta, signal) {
  const properties = meta.type ? api.properties(path, signal) : Promise.resolve({});
  const attributes = meta.attributes?.length ? api.attributes(path, signal) : Promise.resolve({});
  // Whoever waits for them reports a failure; no one else has to.
  properties.catch(() => {});
  attributes.catch(() => {});
  return { properties, attributes };
}
