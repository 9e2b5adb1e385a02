// Requests to the server of this page. Answers are cached, least recently used first out.

const ANSWERS_MAX = 600;
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const file = new URLSearchParams(location.search).get('file');
const answers = new Map();
let answerBytes = 0;

function address(endpoint, parameters) {
  const query = new URLSearchParams();
  if (file !== null) query.set('file', file);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, value);
  }
  return `/${endpoint}?${query}`;
}

function remember(url, value, bytes) {
  answers.set(url, { value, bytes });
  answerBytes += bytes;
  for (const [oldest, answer] of answers) {
    if (answers.size <= ANSWERS_MAX && answerBytes <= ANSWER_BYTES_MAX) break;
    answers.delete(oldest);
    answerBytes -= answer.bytes;
  }
  return value;
}

function recall(url) {
  const answer = answers.get(url);
  if (!answer) return undefined;
  answers.delete(url);
  answers.set(url, answer);
  return answer.value;
}

async function messageOf(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).message || text;
  } catch {
    return text || `${response.status} ${response.statusText}`;
  }
}

async function ask(endpoint, parameters, signal, decode) {
  const url = address(endpoint, parameters);
  const known = recall(url);
  if (known !== undefined) return known;
  const response = await fetch(url, { signal, credentials: 'same-origin' }).catch((error) => {
    throw error.name === 'AbortError' ? error : new Error('The server does not answer. Is hyperslab still running?');
  });
  if (!response.ok) throw new Error(await messageOf(response));
  const buffer = await response.arrayBuffer();
  return remember(url, decode(buffer, response.headers), buffer.byteLength);
}

const text = (buffer) => new TextDecoder().decode(buffer);
const json = (buffer) => JSON.parse(text(buffer));

// JSON numbers over 2^53 lose digits; where the browser shows the source of a number, integers stay exact.
function exactInteger(_key, value, context) {
  const unsafe = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return unsafe && /^-?\d+$/.test(context?.source ?? '') ? BigInt(context.source) : value;
}
const exactJson = (buffer) => JSON.parse(text(buffer), exactInteger);

// How many parts of the selection were read, and of how many; null if the answer is from all of it.
const shareOf = ([read, of]) => (of ? { read, of } : null);

function sampleOf(buffer, headers) {
  const numbers = (name) => (headers.get(name) ?? '').split(',').filter(Boolean).map(Number);
  return {
    values: new Float64Array(buffer),
    shape: numbers('X-Shape'),
    step: numbers('X-Step'),
    how: headers.get('X-How'),
    sampled: shareOf(numbers('X-Sampled')),
  };
}

export const isAbort = (error) => error?.name === 'AbortError';

export const api = {
  container: (signal) => ask('api/container', {}, signal, json),
  properties: (path, signal) => ask('api/properties', { path }, signal, exactJson),
  search: (words, limit, signal) => ask('api/search', { text: words, limit }, signal, json),
  meta: (path, signal) => ask('h5grove/meta', { path }, signal, json),
  /** Children of a group, links as links. */
  children: (path, signal) => ask('h5grove/meta', { path, resolve_links: 'none' }, signal, json),
  attributes: (path, signal) => ask('h5grove/attr', { path }, signal, exactJson),
  bytes: (path, selection, signal, dtype = 'safe') =>
    ask('h5grove/data', { path, selection, format: 'bin', dtype }, signal, (buffer) => buffer),
  flat: (path, selection, signal) => ask('h5grove/data', { path, selection, flatten: 'true' }, signal, exactJson),
  sample: (path, selection, points, how, signal) =>
    ask('api/sample', { path, selection, points, how }, signal, sampleOf),
  histogram: (path, selection, bins, signal) => ask('api/histogram', { path, selection, bins }, signal, json),
  /** The address of a download. */
  download: (path, selection, format) => address('h5grove/data', { path, selection, format }),
};
