// Keys that work everywhere, and the list of all keys.

import { el } from './dom.js';

const KEYS = [
  [
    'Everywhere',
    [
      ['/', 'search'],
      ['t', 'go to the tree'],
      ['m', 'go to the object'],
      ['d', 'light, dark, or as the system'],
      ['?', 'this list'],
    ],
  ],
  [
    'Tree',
    [
      ['↑ ↓', 'another object'],
      ['→ ←', 'open and close a group'],
      ['Enter', 'show the object'],
      ['a–z', 'the next name that begins so'],
    ],
  ],
  [
    'Table',
    [
      ['↑ ↓ ← →', 'another element'],
      ['Page ↑ ↓', 'a page'],
      ['Ctrl + arrow', 'first or last'],
      ['Home End', 'first or last column'],
    ],
  ],
  [
    'Plots',
    [
      ['wheel, drag', 'zoom'],
      ['Shift + drag, arrows', 'move'],
      ['+ −', 'zoom'],
      ['0, double click', 'show all'],
    ],
  ],
  [
    'Slices',
    [
      ['← →', 'next index, on a slider'],
      ['Page ↑ ↓', 'a tenth of the dimension'],
    ],
  ],
];

function dialog() {
  const close = el('button', { type: 'button', class: 'button', onclick: () => box.close() }, 'Close');
  const box = el(
    'dialog',
    { class: 'keys', 'aria-label': 'Keys' },
    el('h2', {}, 'Keys'),
    el(
      'div',
      { class: 'keys-lists' },
      ...KEYS.map(([title, rows]) =>
        el(
          'section',
          {},
          el('h3', {}, title),
          el('dl', {}, ...rows.flatMap(([key, text]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, text)])),
        ),
      ),
    ),
    close,
  );
  box.addEventListener('click', (event) => event.target === box && box.close());
  document.body.append(box);
  return box;
}

const isTyping = (target) => target.closest('input:not([type=range]):not([type=checkbox]), textarea, select') !== null;

/** Installs the keys; `actions` has a function for each of `/ t m d`. Returns what shows the list. */
export function keys(actions) {
  let box = null;
  const help = () => {
    box ??= dialog();
    box.showModal();
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || box?.open) return;
    // In the tree a letter is the beginning of a name.
    const inTree = event.target.closest('[role=tree]') !== null && /[a-z]/.test(event.key);
    const act = event.key === '?' ? help : actions[event.key];
    if (!act || inTree) return;
    event.preventDefault();
    act();
  });
  return help;
}
