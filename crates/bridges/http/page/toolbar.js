// Small controls that several views share.

import { el, icon } from './dom.js';

export function zoomButton(reset) {
  return el(
    'button',
    { type: 'button', class: 'button', onclick: reset, title: 'Show all (0, or double click)' },
    icon('reset'),
    'Show all',
  );
}

/** Returns a number field that calls `changed` with a number, or null when it is empty. */
export function numberField(label, changed) {
  const input = el('input', {
    type: 'text',
    inputmode: 'decimal',
    class: 'limit',
    'aria-label': label,
    placeholder: label,
    onchange: () => {
      const text = input.value.trim();
      const value = text === '' ? null : Number(text);
      input.setAttribute('aria-invalid', String(Number.isNaN(value)));
      if (!Number.isNaN(value)) changed(value);
    },
  });
  return input;
}
