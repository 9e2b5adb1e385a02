// Which values the colours of a heat map span.

export const RANGES = { all: 'min – max', most: '2 – 98 %', typed: 'typed' };

/** Returns the limits of the colours. Fill values, NaN and (with `log`) what is not positive are left out. */
export function rangeOf(values, { range, typed, log, fills, middle }) {
  const numbers = values.filter((value) => Number.isFinite(value) && !fills.has(value) && !(log && value <= 0));
  let [min, max] = range === 'most' ? percentiles(numbers, 0.02, 0.98) : extremes(numbers);
  // A diverging map has its middle at zero, where the values lie on both sides of it.
  if (middle && !log && min < 0 && max > 0) [min, max] = [-Math.max(-min, max), Math.max(-min, max)];
  if (range === 'typed') [min, max] = [typed[0] ?? min, typed[1] ?? max];
  if (log) min = Math.max(min, Number.MIN_VALUE);
  return { min, max: max > min ? max : min + (Math.abs(min) * 1e-9 || 1e-9), constant: !(max > min) };
}

function extremes(numbers) {
  if (numbers.length === 0) return [0, 1];
  let [min, max] = [Infinity, -Infinity];
  for (const value of numbers) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return [min, max];
}

function percentiles(numbers, low, high) {
  if (numbers.length === 0) return [0, 1];
  const sorted = numbers.slice().sort();
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  return [at(low), at(high)];
}

/** Returns a function from a value to its place between the limits, 0 to 1. */
export function toUnit({ min, max }, log) {
  if (!log) return (value) => (value - min) / (max - min);
  const [from, span] = [Math.log(min), Math.log(max) - Math.log(min)];
  return (value) => (value <= 0 ? 0 : (Math.log(value) - from) / span);
}
