// Downloads: CSV and NPY of numbers from the server, CSV of strings and compounds from its JSON, PNG from the canvas.

import { api } from './api.js';
import { el, icon } from './dom.js';
import { element } from './format.js';
import { ENUM, STRING, isComplex, isNumeric, isRecord } from './types.js';

/** Returns links for the slice in sight. `context.selection()` says which elements; `view()` returns the tab's view. */
export function downloads(context, view) {
  const name = context.path.split('/').pop() || 'root';
  const bar = el('span', { class: 'downloads' }, icon('download'));
  for (const format of formats(context)) bar.append(dataLink(context, name, format));
  if (context.type.class === STRING || isRecord(context.type)) bar.append(textButton(context, name));
  const png = el(
    'button',
    { type: 'button', class: 'text-button', onclick: () => savePng(view().canvas, `${name}.png`) },
    'PNG',
  );
  bar.append(png);
  return {
    element: bar,
    refresh: () => {
      png.hidden = !view().canvas;
    },
  };
}

function formats({ type }) {
  return isNumeric(type) || isComplex(type) ? ['csv', 'npy'] : ['json'];
}

// The address is made when the link is used: by then the slice may be another one.
function dataLink(context, name, format) {
  const link = el(
    'a',
    {
      class: 'text-button',
      href: '#',
      download: `${name}.${format}`,
      title: `Download the slice in sight as ${format.toUpperCase()}`,
    },
    format.toUpperCase(),
  );
  const aim = () => {
    link.href = api.download(context.path, context.selection(), format);
  };
  for (const event of ['pointerdown', 'focus', 'click']) link.addEventListener(event, aim);
  aim();
  return link;
}

function textButton(context, name) {
  const save = () =>
    csvOf(context).then(
      (text) => saveBlob(new Blob([text], { type: 'text/csv' }), `${name}.csv`),
      (error) => context.status(error.message),
    );
  const title = 'Download the slice in sight as CSV';
  return el('button', { type: 'button', class: 'text-button', title, onclick: save }, 'CSV');
}

/** Returns a line for each compound, after one with the names of members; of strings, a line for each row in sight. */
async function csvOf(context) {
  const { path, type, slice } = context;
  const values = await api.flat(path, context.selection());
  const line = (cells) => `${cells.map(quoted).join(',')}\r\n`;
  if (isRecord(type)) {
    const cells = (record) => record.map((value, index) => cellText(type.members[index], value));
    return [line(type.members.map((member) => member.name)), ...values.map((record) => line(cells(record)))].join('');
  }
  const dims = context.shown();
  const width = dims.length > 1 ? slice.shape[Math.max(...dims)] : 1;
  const rows = Array.from({ length: values.length / width }, (_, row) => values.slice(row * width, (row + 1) * width));
  return rows.map(line).join('');
}

// Numbers keep all of their digits here: `element` is for people.
function cellText(type, value) {
  if (value === null) return '';
  const isPlain = type.class !== ENUM && ['number', 'bigint', 'string'].includes(typeof value);
  return isPlain ? String(value) : element(type, value);
}

// Quotes around nothing: a line with one empty cell is not an empty line.
const quoted = (text) => (/^$|[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function savePng(canvas, name) {
  canvas.toBlob((blob) => saveBlob(blob, name));
}

function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = el('a', { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
