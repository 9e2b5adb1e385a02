// HDF5 datatypes as /h5grove/meta describes them: what they are in words, and which of them can be drawn.

export const INTEGER = 0,
  FLOAT = 1,
  TIME = 2,
  STRING = 3,
  BITFIELD = 4,
  OPAQUE = 5,
  COMPOUND = 6,
  REFERENCE = 7;
export const ENUM = 8,
  VLEN = 9,
  ARRAY = 10,
  COMPLEX = 11;

export function isBoolean(type) {
  if (type.class !== ENUM) return false;
  const names = Object.keys(type.members ?? {});
  return names.length === 2 && type.members.FALSE === 0 && type.members.TRUE === 1;
}

/** Complex numbers are a class of their own since HDF5 2.0; before, compounds of `r` and `i`. */
export function isComplex(type) {
  if (type.class === COMPLEX) return true;
  const members = type.class === COMPOUND ? (type.members ?? []) : [];
  return (
    members.length === 2 &&
    members[0].name === 'r' &&
    members[1].name === 'i' &&
    members.every((member) => member.class === FLOAT || member.class === INTEGER)
  );
}

/** A compound whose members are columns of a table. */
export const isRecord = (type) => type.class === COMPOUND && !isComplex(type);

/** Integers, floats, enumerations and booleans: elements that plots and statistics take as numbers. */
export const isNumeric = (type) => [INTEGER, FLOAT, ENUM].includes(type.class);

/** Returns the typed array that holds elements of `format=bin&dtype=safe`, or null if they come as JSON. */
export function arrayOf(type) {
  const base = type.class === ENUM ? type.base : type;
  if (base?.class === FLOAT) return base.size <= 4 ? Float32Array : Float64Array;
  if (base?.class !== INTEGER) return null;
  const arrays = base.sign
    ? { 1: Int8Array, 2: Int16Array, 4: Int32Array, 8: BigInt64Array }
    : { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array };
  return arrays[base.size] ?? null;
}

const order = (type) => (type.size === 1 ? '' : type.order === 1 ? ', big-endian' : ', little-endian');
const PADDING = ['null-terminated', 'null-padded', 'space-padded'];

function stringWords(type) {
  const characters = type.cset === 1 ? 'UTF-8' : 'ASCII';
  if (type.vlen) return `${characters} string, variable length`;
  return `${characters} string of ${type.size} bytes, ${PADDING[type.strpad] ?? 'padded'}`;
}

function enumWords(type) {
  const bits = `${type.size * 8}-bit`;
  return isBoolean(type)
    ? `boolean (${bits} enumeration)`
    : `enumeration of ${Object.keys(type.members).length} names, ${bits}`;
}

function compoundWords(type) {
  if (isComplex(type)) return `complex number of two ${(type.size * 8) / 2}-bit parts`;
  const count = type.members?.length ?? 0;
  return `compound of ${count} member${count === 1 ? '' : 's'}, ${type.size} bytes`;
}

const WORDS = {
  [INTEGER]: (type) => `${type.size * 8}-bit ${type.sign ? 'signed' : 'unsigned'} integer${order(type)}`,
  [FLOAT]: (type) => `${type.size * 8}-bit float${order(type)}`,
  [TIME]: (type) => `${type.size * 8}-bit time`,
  [STRING]: stringWords,
  [BITFIELD]: (type) => `${type.size * 8}-bit bitfield${order(type)}`,
  [OPAQUE]: (type) => `opaque, ${type.size} bytes${type.tag ? `, tag “${type.tag}”` : ''}`,
  [COMPOUND]: compoundWords,
  [COMPLEX]: compoundWords,
  [REFERENCE]: () => 'reference',
  [ENUM]: enumWords,
  [VLEN]: (type) => `variable-length list of ${words(type.base)}`,
  [ARRAY]: (type) => `array [${type.dims.join(', ')}] of ${words(type.base)}`,
};

/** Returns the type in words, as in "64-bit float, little-endian". */
export const words = (type) => (WORDS[type?.class] ?? (() => 'unknown type'))(type);

const SHORT = {
  [INTEGER]: (type) => `${type.sign ? 'int' : 'uint'}${type.size * 8}`,
  [FLOAT]: (type) => `float${type.size * 8}`,
  [TIME]: () => 'time',
  [STRING]: () => 'string',
  [BITFIELD]: (type) => `bits${type.size * 8}`,
  [OPAQUE]: () => 'opaque',
  [COMPOUND]: (type) => (isComplex(type) ? `complex${type.size * 8}` : `compound (${type.members.length})`),
  [COMPLEX]: (type) => `complex${type.size * 8}`,
  [REFERENCE]: () => 'reference',
  [ENUM]: (type) => (isBoolean(type) ? 'bool' : 'enum'),
  [VLEN]: (type) => `list of ${short(type.base)}`,
  [ARRAY]: (type) => `${short(type.base)} [${type.dims.join(', ')}]`,
};

/** Returns a short name for lists, as in "float64". */
export const short = (type) => (SHORT[type?.class] ?? (() => '?'))(type);
