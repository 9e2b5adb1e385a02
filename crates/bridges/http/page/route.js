// The hash of the address holds the object, the tab, the axes and the slice, as in #/group/dataset?tab=line&at=0,3

/** Returns the object and the settings that the address names. */
export function current() {
  const [path, query] = location.hash.slice(1).split('?');
  return { path: decode(path || '/'), settings: new URLSearchParams(query ?? '') };
}

function decode(path) {
  try {
    return path.split('/').map(decodeURIComponent).join('/') || '/';
  } catch {
    return path;
  }
}

/** Returns the address of an object in this page. */
export function link(path, settings) {
  const query = settings?.toString();
  return `#${path.split('/').map(encodeURIComponent).join('/')}${query ? `?${query}` : ''}`;
}

/** Goes to another object: a step that the browser's back button undoes. */
export function go(path) {
  if (path !== current().path) location.hash = link(path);
}

/** Notes settings of the object in sight in the address, without a step in the history. */
export function note(path, settings) {
  history.replaceState(null, '', link(path, settings));
}

/** Returns the path of a child. */
export const join = (path, name) => (path === '/' ? `/${name}` : `${path}/${name}`);

/** Returns the path of the group that holds the object. */
export const parent = (path) => path.slice(0, path.lastIndexOf('/')) || '/';
