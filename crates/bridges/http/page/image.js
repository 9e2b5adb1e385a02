// Pictures: HDF5 images (CLASS=IMAGE) and datasets of bytes whose last dimension holds three or four channels.

import { api } from './api.js';
import { check, el } from './dom.js';
import { Loader } from './loader.js';
import { INTEGER } from './types.js';

const ENLARGED_MAX = 12;
const SIDE_MAX = 1600;

/** Returns which dimensions are height, width and channel, or null if the dataset is no picture. */
export function imageDims(type, shape, attributes) {
  if (type.class !== INTEGER || type.size !== 1 || type.sign) return null;
  const rank = shape.length;
  const channels = (dim) => shape[dim] === 3 || shape[dim] === 4;
  const isImage = attributes.CLASS === 'IMAGE';
  if (isImage && rank === 3 && attributes.INTERLACE_MODE === 'INTERLACE_PLANE' && channels(0))
    return { y: 1, x: 2, channel: 0 };
  if (rank >= 3 && channels(rank - 1)) return { y: rank - 3, x: rank - 2, channel: rank - 1 };
  return isImage && rank === 2 ? { y: 0, x: 1, channel: null } : null;
}

export function image(context) {
  return new Picture(context);
}

class Picture {
  constructor(context) {
    this.context = context;
    this.dims = context.image;
    this.canvas = el('canvas', { class: 'picture', role: 'img', 'aria-label': 'Image' });
    this.element = el('div', { class: 'stage picture-stage' }, this.canvas);
    this.loader = new Loader(this.element);
    this.tools = [check('Smooth', false, (smooth) => this.canvas.classList.toggle('smooth', smooth))];
    this.canvas.addEventListener('pointermove', (event) => this.hover(event));
    this.update();
  }

  update() {
    const { slice, path } = this.context;
    const { x, y, channel } = this.dims;
    const step = Math.max(1, Math.ceil(Math.max(slice.shape[y], slice.shape[x]) / SIDE_MAX));
    const ranges = { [y]: `::${step}`, [x]: `::${step}`, ...(channel === null ? {} : { [channel]: ':' }) };
    return this.loader.run(
      (signal) => api.bytes(path, slice.selection(ranges), signal),
      (buffer) => {
        this.step = step;
        this.show(new Uint8Array(buffer));
      },
    );
  }

  show(values) {
    const { shape } = this.context.slice;
    const [height, width] = [this.dims.y, this.dims.x].map((dim) => Math.ceil(shape[dim] / this.step));
    const channels = this.dims.channel === null ? 1 : shape[this.dims.channel];
    const planes = this.dims.channel === 0;
    const picture = new ImageData(width, height);
    const value = (pixel, channel) =>
      values[planes ? channel * width * height + pixel : pixel * channels + Math.min(channel, channels - 1)];
    for (let pixel = 0; pixel < width * height; pixel += 1) {
      for (let channel = 0; channel < 3; channel += 1) picture.data[pixel * 4 + channel] = value(pixel, channel);
      picture.data[pixel * 4 + 3] = channels === 4 ? value(pixel, 3) : 255;
    }
    Object.assign(this.canvas, { width, height });
    this.enlarge(width, height);
    this.canvas.getContext('2d').putImageData(picture, 0, 0);
    Object.assign(this, {
      width,
      height,
      pixel: (index) => Array.from({ length: channels }, (_, channel) => value(index, channel)),
    });
    this.context.status(this.step > 1 ? `Every ${this.step}th pixel.` : `${width} × ${height} pixels`);
  }

  // Small images are shown in whole multiples of their size.
  enlarge(width, height) {
    const { clientWidth, clientHeight } = this.element;
    const times = Math.floor(Math.min((clientWidth - 32) / width, (clientHeight - 32) / height, ENLARGED_MAX));
    this.canvas.style.width = times > 1 ? `${times * width}px` : '';
  }

  hover(event) {
    if (!this.pixel) return;
    const scale = this.width / this.canvas.clientWidth;
    const [column, row] = [Math.floor(event.offsetX * scale), Math.floor(event.offsetY * scale)];
    if (column < 0 || row < 0 || column >= this.width || row >= this.height) return;
    const where = this.context.slice.position({
      [this.dims.y]: row * this.step,
      [this.dims.x]: column * this.step,
      ...(this.dims.channel === null ? {} : { [this.dims.channel]: ':' }),
    });
    this.context.status(`${where} = ${this.pixel(row * this.width + column).join(', ')}`);
  }

  destroy() {
    this.loader.stop();
  }
}
