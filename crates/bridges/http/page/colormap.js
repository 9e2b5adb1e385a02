// Colour maps: a few colours each, and 256 steps between them.

const ANCHORS = {
  viridis: [
    [68, 1, 84],
    [72, 38, 119],
    [63, 72, 137],
    [49, 103, 142],
    [38, 130, 142],
    [31, 157, 138],
    [54, 184, 119],
    [109, 206, 88],
    [180, 222, 44],
    [253, 231, 37],
  ],
  magma: [
    [0, 0, 4],
    [27, 16, 66],
    [79, 18, 122],
    [129, 37, 129],
    [181, 54, 122],
    [229, 80, 100],
    [251, 135, 97],
    [254, 194, 135],
    [252, 253, 191],
  ],
  grey: [
    [12, 12, 12],
    [250, 250, 250],
  ],
  diverging: [
    [33, 76, 145],
    [86, 140, 196],
    [172, 205, 226],
    [245, 245, 242],
    [243, 187, 158],
    [214, 104, 82],
    [150, 26, 46],
  ],
};

export const NAMES = Object.keys(ANCHORS);

function between(anchors, position) {
  const at = Math.min(anchors.length - 2, Math.floor(position * (anchors.length - 1)));
  const part = position * (anchors.length - 1) - at;
  return [0, 1, 2].map((channel) => Math.round(anchors[at][channel] * (1 - part) + anchors[at + 1][channel] * part));
}

const tables = new Map();

/** Returns 256 colours, three bytes each. */
export function table(name) {
  if (!tables.has(name)) {
    const colours = Array.from({ length: 256 }, (_, index) => between(ANCHORS[name], index / 255));
    tables.set(name, Uint8Array.from(colours.flat()));
  }
  return tables.get(name);
}
