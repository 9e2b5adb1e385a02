// The tree's panel: a drawer on small screens, and of a width that can be changed on large ones.

const WIDTH_MIN = 160;
const WIDTH_MAX = 640;
const STEP = 24;

export function sidebar({ panel, scrim, menu, splitter }) {
  const open = (visible) => {
    document.body.classList.toggle('drawer-open', visible);
    menu.setAttribute('aria-expanded', String(visible));
  };
  menu.addEventListener('click', () => open(!document.body.classList.contains('drawer-open')));
  scrim.addEventListener('click', () => open(false));
  panel.addEventListener('keydown', (event) => event.key === 'Escape' && open(false));
  resize(panel, splitter);
  // Only where the menu button is, the tree is a drawer.
  return { open: () => menu.offsetParent && open(true), close: () => open(false) };
}

function resize(panel, splitter) {
  const set = (width) => {
    const pixels = Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, width));
    document.documentElement.style.setProperty('--sidebar', `${pixels}px`);
    splitter.setAttribute('aria-valuenow', String(Math.round(pixels)));
    try {
      localStorage.setItem('sidebar', String(pixels));
    } catch {
      /* private windows refuse */
    }
  };
  const saved = () => {
    try {
      return Number(localStorage.getItem('sidebar'));
    } catch {
      return 0;
    }
  };
  if (saved()) set(saved());
  splitter.addEventListener('pointerdown', (event) => {
    splitter.setPointerCapture(event.pointerId);
    splitter.onpointermove = (moved) => set(moved.clientX);
  });
  splitter.addEventListener('pointerup', () => {
    splitter.onpointermove = null;
  });
  splitter.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (step) set(panel.offsetWidth + step);
  });
}
