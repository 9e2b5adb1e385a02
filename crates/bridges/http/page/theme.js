// Light, dark, or what the system says. A classic script in the head: the first paint already has the right colours.
(() => {
  const root = document.documentElement;
  const saved = () => {
    try {
      return localStorage.getItem('theme') || 'auto';
    } catch {
      return 'auto';
    }
  };
  const save = (theme) => {
    try {
      localStorage.setItem('theme', theme);
    } catch {
      /* private windows refuse */
    }
  };
  const system = matchMedia('(prefers-color-scheme: dark)');

  function apply() {
    const theme = saved();
    root.dataset.theme = theme === 'auto' ? (system.matches ? 'dark' : 'light') : theme;
    dispatchEvent(new CustomEvent('themechange'));
  }

  window.hyperslabTheme = {
    get: saved,
    next() {
      const order = ['auto', 'light', 'dark'];
      save(order[(order.indexOf(saved()) + 1) % order.length]);
      apply();
    },
  };
  system.addEventListener('change', apply);
  apply();
})();
