// In charge of the artistic look of a code without a picture: round modules and rounded eyes, in ink that goes from blue
// to violet. What a reader measures by, but for the eyes, stays square.
import { createHash } from 'node:crypto';
import { frame, modulePixels, type Drawing } from './draw-code.ts';
import { drawRuns, quietModules, type Matrix } from './qr-matrix.ts';

/** How much of a module's width its dot takes; from the roundest look to the safest. */
export const dotLooks = [0.86, 0.94, 1] as const;

/** Dark throughout: at least eight times darker than the paper, for cameras that see only one colour. */
const ink = { from: '#123a6b', to: '#5a1458' };
const dotWidth = 600;
/** With fewer the dots have no shape. */
const leastDotPixels = 6;
const eyeModules = 7;

export function drawDots(matrix: Matrix, dot: number): Drawing {
  const { dark, fixed, size } = matrix;
  const isEye = (x: number, y: number) => (x < eyeModules || x >= size - eyeModules) && (y < eyeModules || (y >= size - eyeModules && x < eyeModules));
  const dots = drawPoints(matrix, (x, y) => dark(x, y) && !fixed(x, y));
  const squares = drawRuns(matrix, (x, y) => dark(x, y) && fixed(x, y) && !isEye(x, y));
  // Several codes may be put into one page, where ids are shared.
  const id = `q${createHash('sha256').update(dots).update(String(dot)).digest('hex').slice(0, 12)}`;
  const [first, last] = [quietModules, quietModules + size - eyeModules];
  const eyes = [[first, first], [last, first], [first, last]].map(([x = 0, y = 0]) => drawEye(x, y)).join('');
  const end = 2 * quietModules + size;
  return frame(matrix, Math.max(leastDotPixels, modulePixels(matrix, dotWidth)), [
    `<linearGradient id="${id}" gradientUnits="userSpaceOnUse" x1="0" y1="0" x2="${end}" y2="${end}">`,
    `<stop stop-color="${ink.from}"/><stop offset="1" stop-color="${ink.to}"/></linearGradient>`,
    `<g fill="url(#${id})"><path shape-rendering="crispEdges" d="${squares}"/><path fill-rule="evenodd" d="${eyes}"/></g>`,
    `<path fill="none" stroke="url(#${id})" stroke-width="${dot}" stroke-linecap="round" d="${dots}"/>`,
  ].join(''), true);
}

/** Lines of no length, which round ends make dots: a few bytes each, where circles would take forty. */
function drawPoints({ size }: Matrix, picks: (x: number, y: number) => boolean): string {
  let path = '';
  for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) if (picks(x, y)) path += `M${x + quietModules}.5 ${y + quietModules}.5h0`;
  return path;
}

/** A ring of one module around three by three, each with rounded corners. */
function drawEye(x: number, y: number): string {
  return drawRounded(x, y, 7, 2) + drawRounded(x + 1, y + 1, 5, 1.2) + drawRounded(x + 2, y + 2, 3, 1);
}

function drawRounded(x: number, y: number, side: number, corner: number): string {
  const straight = Math.round((side - 2 * corner) * 10) / 10;
  const turn = (dx: number, dy: number) => `a${corner} ${corner} 0 0 1 ${dx} ${dy}`;
  return `M${x + corner} ${y}h${straight}${turn(corner, corner)}v${straight}${turn(-corner, corner)}h${-straight}` +
    `${turn(-corner, -corner)}v${-straight}${turn(corner, -corner)}z`;
}
