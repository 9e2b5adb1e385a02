// Elements of a dataset: as typed arrays where they are numbers, so that 64-bit integers are exact; else as JSON.

import { api } from './api.js';
import { ARRAY, OPAQUE, arrayOf } from './types.js';

/** Returns a list of `count` elements that the selection holds, in the order of the dataset. */
export async function read(path, type, selection, count, signal) {
  const TypedArray = arrayOf(type);
  if (TypedArray) return typed(TypedArray, await api.bytes(path, selection, signal), count);
  if (type.class === OPAQUE) return chunksOf(new Uint8Array(await api.bytes(path, selection, signal, null)), type.size);
  const values = await api.flat(path, selection, signal);
  return grouped(type, Array.isArray(values) ? values : [values], count);
}

function typed(TypedArray, buffer, count) {
  if (buffer.byteLength !== count * TypedArray.BYTES_PER_ELEMENT) {
    throw new Error(`The server sent ${buffer.byteLength} bytes for ${count} elements.`);
  }
  return new TypedArray(buffer);
}

const chunksOf = (bytes, size) =>
  Array.from({ length: bytes.length / size }, (_, index) => bytes.subarray(index * size, (index + 1) * size));

// A flat answer also flattens elements that are arrays.
function grouped(type, values, count) {
  const size = type.class === ARRAY ? type.dims.reduce((product, dim) => product * dim, 1) : 1;
  if (type.class !== ARRAY || values.length !== count * size) return values;
  return Array.from({ length: count }, (_, index) => values.slice(index * size, (index + 1) * size));
}

/** Returns the one element of a scalar dataset. */
export async function scalar(path, type, signal) {
  if (arrayOf(type) || type.class === OPAQUE) return (await read(path, type, undefined, 1, signal))[0];
  return api.flat(path, undefined, signal);
}
