// The search field: names and attributes that contain a text, as a list under the field.

import { api, isAbort } from './api.js';
import { el, icon } from './dom.js';
import { go } from './route.js';

const WAIT_MS = 220;
const RESULTS_MAX = 100;

/** Fills `host` with the field and its list; returns a function that moves the focus there. */
export function search(host) {
  const list = el('div', { class: 'results', id: 'results', role: 'listbox', hidden: true, 'aria-label': 'Results' });
  const field = el('input', {
    type: 'search',
    placeholder: 'Search names and attributes',
    'aria-label': 'Search names and attributes',
    role: 'combobox',
    'aria-controls': 'results',
    'aria-expanded': 'false',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const state = { field, list, active: -1, timer: 0, request: null };
  host.append(icon('search'), field, el('kbd', { class: 'hint' }, '/'), list);
  field.addEventListener('input', () => typed(state));
  field.addEventListener('focus', () => show(state, field.value !== '' && list.children.length > 0));
  field.addEventListener('keydown', (event) => key(state, event));
  host.addEventListener('focusout', (event) => host.contains(event.relatedTarget) || show(state, false));
  return () => field.select() ?? field.focus();
}

function show(state, visible) {
  state.list.hidden = !visible;
  state.field.setAttribute('aria-expanded', String(visible));
}

function typed(state) {
  clearTimeout(state.timer);
  state.request?.abort();
  const text = state.field.value.trim();
  if (text === '') return show(state, false);
  state.timer = setTimeout(() => ask(state, text), WAIT_MS);
  return undefined;
}

async function ask(state, text) {
  state.request = new AbortController();
  try {
    fill(state, text, await api.search(text, RESULTS_MAX, state.request.signal));
  } catch (error) {
    if (isAbort(error)) return;
    state.list.replaceChildren(el('p', { class: 'results-note', role: 'alert' }, error.message));
  }
  show(state, true);
}

function fill(state, text, { results, complete }) {
  state.active = -1;
  state.list.replaceChildren(...results.map((result, index) => option(state, text, result, index)));
  if (results.length === 0) state.list.append(el('p', { class: 'results-note' }, `Nothing contains “${text}”.`));
  if (!complete) state.list.append(el('p', { class: 'results-note' }, 'The search stopped early; there may be more.'));
}

function option(state, text, result, index) {
  const detail =
    result.attribute &&
    el(
      'span',
      { class: 'result-attribute' },
      ...marked(result.attribute, text),
      ...(result.value === null || result.value === undefined ? [] : [' = ', ...marked(valueText(result.value), text)]),
    );
  return el(
    'div',
    {
      class: 'result',
      role: 'option',
      id: `result-${index}`,
      tabindex: -1,
      'data-path': result.path,
      onmousedown: (event) => event.preventDefault(),
      onclick: () => choose(state, result.path),
    },
    icon(result.kind),
    el('span', { class: 'result-text' }, el('span', { class: 'result-path' }, ...marked(result.path, text)), detail),
  );
}

const valueText = (value) => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 200);

// The parts of `value` around the text, which is marked.
function marked(value, text) {
  const at = value.toLowerCase().indexOf(text.toLowerCase());
  if (at < 0) return [value];
  const end = at + text.length;
  return [value.slice(0, at), el('mark', {}, value.slice(at, end)), value.slice(end)];
}

function choose(state, path) {
  show(state, false);
  state.field.blur();
  go(path);
}

function key(state, event) {
  const options = [...state.list.querySelectorAll('.result')];
  if (event.key === 'Escape') {
    show(state, false);
    state.field.blur();
  } else if (event.key === 'Enter') {
    const option = options[Math.max(0, state.active)];
    if (option && !state.list.hidden) choose(state, option.dataset.path);
  } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    activate(state, options, state.active + (event.key === 'ArrowDown' ? 1 : -1));
  }
}

function activate(state, options, index) {
  if (options.length === 0) return;
  options[state.active]?.removeAttribute('aria-selected');
  state.active = (index + options.length) % options.length;
  options[state.active].setAttribute('aria-selected', 'true');
  options[state.active].scrollIntoView({ block: 'nearest' });
  state.field.setAttribute('aria-activedescendant', `result-${state.active}`);
}
