// Numbers, sizes, shapes and elements as text.

import { ARRAY, ENUM, FLOAT, STRING, VLEN, isBoolean, isComplex, isRecord } from './types.js';

export const count = (number) => (number === null || number === undefined ? '–' : number.toLocaleString('en'));

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Returns a number of bytes in the unit that fits, with three digits. */
export function bytes(number) {
  if (number === null || number === undefined) return '–';
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, number)) / 10));
  return unit === 0 ? `${number} B` : `${Number((number / 1024 ** unit).toPrecision(3))} ${UNITS[unit]}`;
}

/** Returns a shape as in "200 × 300". */
export function shape(sizes) {
  if (sizes === null || sizes === undefined) return 'null dataspace';
  return sizes.length === 0 ? 'scalar' : sizes.map((size) => (size === null ? '∞' : count(size))).join(' × ');
}

/** Returns a number with at most `digits` significant digits, for labels and cells. */
export function number(value, digits = 6) {
  if (typeof value !== 'number') return String(value);
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (Number.isSafeInteger(value) && Math.abs(value) < 1e9) return minus(String(value));
  return minus(String(Number(value.toPrecision(digits))).replace('e+', 'e'));
}

const minus = (text) => text.replaceAll('-', '−');

// The fewest digits that give the same 32-bit float again.
function float32(value) {
  for (let digits = 6; digits < 9; digits += 1) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(value);
}

function float(type, value, digits) {
  if (value === null) return 'not finite';
  if (typeof value !== 'number' || !Number.isFinite(value)) return number(value);
  if (digits) return number(value, digits);
  return type.size <= 4 ? float32(value) : String(value);
}

function enumName(type, value) {
  if (typeof value === 'boolean') return String(value);
  if (isBoolean(type)) return Number(value) === 0 ? 'false' : 'true';
  const entry = Object.entries(type.members).find(([, code]) => Number(code) === Number(value));
  return entry ? entry[0] : String(value);
}

function complex(value, digits) {
  if (!Array.isArray(value)) return String(value);
  const [re, im] = value.map((part) => (part === null ? NaN : Number(part)));
  const show = (part) => (digits ? number(part, digits) : minus(String(part)));
  return `${show(re)} ${im < 0 ? '−' : '+'} ${show(Math.abs(im))}i`;
}

const list = (value, show) =>
  Array.isArray(value) ? `[${value.map((item) => list(item, show)).join(', ')}]` : show(value);

/** Returns an element of a type as text; with `digits` floats are shortened, without they are exact. */
export function element(type, value, digits) {
  if (value === undefined) return '';
  if (type.class === FLOAT) return float(type, value, digits);
  if (type.class === ENUM) return enumName(type, value);
  if (type.class === STRING) return value === null ? '' : String(value);
  if (isComplex(type)) return complex(value, digits);
  if (value instanceof Uint8Array) return hex(value);
  if (isRecord(type) && Array.isArray(value)) return record(type, value, digits);
  if (type.class === ARRAY || type.class === VLEN) return list(value, (item) => element(type.base, item, digits));
  return value === null ? 'null' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');

function record(type, value, digits) {
  const parts = type.members.map((member, index) => `${member.name}: ${element(member, value[index], digits)}`);
  return `{${parts.join(', ')}}`;
}

/** Returns the value of an attribute, whose elements come in nested lists of its shape. */
export function attribute(info, value) {
  if (info.shape === null) return 'null dataspace';
  return nested(value, info.shape.length, (item) => element(info.type, item));
}

function nested(value, rank, show) {
  if (rank === 0 || !Array.isArray(value)) return show(value);
  return `[${value.map((item) => nested(item, rank - 1, show)).join(', ')}]`;
}

/** Returns a time of a file, in seconds since 1970 or as text, in the reader's own notation. */
export function time(value) {
  if (value === null || value === undefined || value === 0) return null;
  const date = new Date(typeof value === 'number' ? value * 1000 : value);
  return Number.isNaN(date.getTime()) ? String(value) : date.toLocaleString();
}

/** Returns how to begin to say what an answer has that is not from all elements. */
export const sampleText = ({ read, of }) => `A sample, ${count(read)} of ${count(of)} parts:`;
