// The page of `hyperslab view`: a tree, a search field, and the object that the address names.

import { api, isAbort } from './api.js';
import { el, failure, icon } from './dom.js';
import { keys } from './keys.js';
import { objectPage } from './object.js';
import { current } from './route.js';
import { search } from './search.js';
import { sidebar } from './sidebar.js';
import { Tree } from './tree.js';

// A request that ends sooner shows no sign of waiting, so that nothing flickers.
const WAIT_MS = 180;
const at = (id) => document.getElementById(id);
const main = at('main');
let request = null;
let container = {};

const drawer = sidebar({ panel: at('sidebar'), scrim: at('scrim'), menu: at('menu'), splitter: at('splitter') });
const tree = new Tree(at('tree'), (node) => node.kind === 'group' || drawer.close());

async function show() {
  const { path, settings } = current();
  request?.abort();
  request = new AbortController();
  const { signal } = request;
  const waiting = setTimeout(() => main.classList.add('loading'), WAIT_MS);
  document.title = path === '/' ? container.name || 'Hyperslab' : `${path} · ${container.name || 'Hyperslab'}`;
  tree.select(path);
  try {
    const page = await objectPage(path, settings, container, signal);
    if (!signal.aborted) main.replaceChildren(page);
  } catch (error) {
    if (!isAbort(error)) main.replaceChildren(notFound(path, error));
  } finally {
    clearTimeout(waiting);
    if (!signal.aborted) main.classList.remove('loading');
  }
}

function notFound(path, error) {
  return el('div', { class: 'object' }, el('header', { class: 'head' }, el('h1', {}, path)), failure(error, show));
}

function showTheme() {
  const theme = window.hyperslabTheme.get();
  const label = { auto: 'Colours as the system', light: 'Light colours', dark: 'Dark colours' }[theme];
  at('theme').replaceChildren(icon(theme));
  at('theme').title = `${label} (d)`;
  at('theme').setAttribute('aria-label', label);
}

function nextTheme() {
  window.hyperslabTheme.next();
  showTheme();
}

async function showContainer() {
  container = await api.container().catch(() => ({}));
  at('container').textContent = container.name || container.location || '';
  at('container').title = [container.location, container.connector].filter(Boolean).join(' · ');
}

function goToTree() {
  drawer.open();
  at('tree').focus();
}

at('menu').append(icon('menu'));
at('theme').addEventListener('click', nextTheme);
at('skip').addEventListener('click', () => main.focus());
showTheme();
const help = keys({ '/': search(at('search')), t: goToTree, m: () => main.focus(), d: nextTheme });
at('help').addEventListener('click', help);
addEventListener('hashchange', show);
showContainer().then(show);
