// Elements of the page. Text goes in as text nodes only: names and values of a container are never markup.

const SVG = 'http://www.w3.org/2000/svg';

/** Returns a new element with attributes, listeners (`onclick` and the like) and children (nodes or text). */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function set(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
  else element.setAttribute(name, value === true ? '' : value);
}

// Outlines on a grid of 16, drawn with the colour of the text.
const ICONS = {
  group: ['M1.5 4.5h4.2l1.6 1.8h7.2v7.2h-13z'],
  dataset: ['M2 2.5h12v11H2z', 'M2 6.2h12M2 9.8h12M6 2.5v11M10 2.5v11'],
  datatype: ['M3 4V2.5h10V4M8 2.5v11M6 13.5h4'],
  soft_link: [
    'M6.7 9.3a2.6 2.6 0 0 0 3.7 0l2.4-2.4a2.6 2.6 0 0 0-3.7-3.7l-.9.9',
    'M9.3 6.7a2.6 2.6 0 0 0-3.7 0L3.2 9.1a2.6 2.6 0 0 0 3.7 3.7l.9-.9',
  ],
  external_link: ['M9.5 2.5h4v4M13.5 2.5 7.5 8.5M11.5 9.5v4h-9v-9h4'],
  unknown: ['M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z', 'M6.3 6.2a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.9.6-.9 1.3M8 11.2v.1'],
  chevron: ['M6 4l4 4-4 4'],
  menu: ['M2 4h12M2 8h12M2 12h12'],
  search: ['M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10z', 'M10.6 10.6 14 14'],
  auto: ['M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z', 'M8 2v12M8 4.5h4.6M8 8h6M8 11.5h4.6'],
  light: [
    'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6z',
    'M8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M3 13l1.2-1.2M11.8 4.2 13 3',
  ],
  dark: ['M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1z'],
  download: ['M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11'],
  play: ['M4.5 3v10l8-5z'],
  pause: ['M5 3v10M11 3v10'],
  copy: ['M5.5 5.5h8v8h-8z', 'M10.5 5.5v-3h-8v8h3'],
  reset: ['M3 8a5 5 0 1 0 1.6-3.7L3 5.8M3 2.5v3.3h3.3'],
};

/** Returns a drawn symbol. It says nothing to screen readers: what it means stands next to it or in a label. */
export function icon(name, className = '') {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', `icon ${className}`);
  svg.setAttribute('aria-hidden', 'true');
  for (const outline of ICONS[name] ?? ICONS.unknown) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', outline);
    svg.append(path);
  }
  return svg;
}

/** Returns a labelled choice; `choices` are pairs of value and text. */
export function choice(label, choices, value, changed) {
  const select = el('select', { 'aria-label': label, onchange: () => changed(select.value) });
  for (const [key, text] of choices) select.append(el('option', { value: key }, text));
  select.value = value;
  return el('label', { class: 'field' }, el('span', {}, label), select);
}

/** Returns a labelled check box. */
export function check(label, value, changed) {
  const input = el('input', { type: 'checkbox', onchange: () => changed(input.checked) });
  input.checked = value;
  return el('label', { class: 'field check' }, input, el('span', {}, label));
}

/** Returns a message about an error, with a button that tries again. */
export function failure(error, retry) {
  return el(
    'div',
    { class: 'failure', role: 'alert' },
    el('p', {}, error.message || String(error)),
    retry && el('button', { type: 'button', class: 'button', onclick: retry }, 'Try again'),
  );
}

/** Returns a quiet sentence for where there is nothing to show. */
export function nothing(title, text) {
  return el('div', { class: 'nothing' }, el('p', { class: 'nothing-title' }, title), text && el('p', {}, text));
}
