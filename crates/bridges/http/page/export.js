// Downloads: CSV and NPY from the server, PNG from the canvas.

import { api } from './api.js';
import { el, icon } from './dom.js';
import { isComplex, isNumeric } from './types.js';

/** Returns links for the slice in sight. `context.selection()` says which elements; `view()` returns the tab's view. */
export function downloads(context, view) {
  const name = context.path.split('/').pop() || 'root';
  const bar = el('span', { class: 'downloads' }, icon('download'));
  for (const format of formats(context)) bar.append(dataLink(context, name, format));
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

function savePng(canvas, name) {
  canvas.toBlob((blob) => {
    const address = URL.createObjectURL(blob);
    const link = el('a', { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });
}
