// The bar that says which colour stands for which value.

import { FONT, frame, line, linear, logarithmic } from './axes.js';
import { table } from './colormap.js';
import { number } from './format.js';

export function colourBar(context, rect, { limits, log, map }, theme) {
  const colours = table(map);
  for (let pixel = 0; pixel < rect.height; pixel += 1) {
    const colour = Math.round((1 - pixel / rect.height) * 255) * 3;
    context.fillStyle = `rgb(${colours[colour]},${colours[colour + 1]},${colours[colour + 2]})`;
    context.fillRect(rect.left, rect.top + pixel, rect.width, 1.5);
  }
  frame(context, rect, theme);
  const scale = (log ? logarithmic : linear)(limits.min, limits.max, rect.top + rect.height, rect.top);
  ticks(context, rect, scale, limits, theme);
}

function ticks(context, rect, scale, limits, theme) {
  context.font = FONT;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  const values = limits.constant ? [limits.min] : scale.ticks(rect.height / 45);
  for (const value of values) {
    const y = Math.round(scale.pixel(value)) + 0.5;
    if (y < rect.top - 1 || y > rect.top + rect.height + 1) continue;
    line(context, theme.frame, rect.left + rect.width, y, rect.left + rect.width + 4, y);
    context.fillStyle = theme.text;
    context.fillText(number(value, 5), rect.left + rect.width + 8, y);
  }
}
