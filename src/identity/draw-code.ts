// In charge of the standard look: dark modules on white, and in the centre the picture on a white rounded square.
import { drawRuns, quietModules, type Matrix } from './qr-matrix.ts';

/** A drawing is always SVG; a PNG is its rasterisation, so that both show the same. */
export type Drawing = Readonly<{ svg: string; modules: number; coloured: boolean }>;

const plainWidth = 400;
/** Wider than a plain code, for the picture's sake. */
export const pictureWidth = 600;
const leastModulePixels = 4;
const corner = 1;

/** As near to the wanted width as whole pixels for a module allow, and never under four. */
export function modulePixels(matrix: Matrix, width: number): number {
  return Math.max(leastModulePixels, Math.round(width / (matrix.size + 2 * quietModules)));
}

export function frame(matrix: Matrix, pixelsPerModule: number, content: string, coloured: boolean): Drawing {
  const modules = matrix.size + 2 * quietModules;
  const pixels = modules * pixelsPerModule;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="0 0 ${modules} ${modules}">` +
    `<path fill="#fff" d="M0 0h${modules}v${modules}H0z"/>${content}</svg>`;
  return { svg, modules, coloured };
}

export function drawPlain(matrix: Matrix): Drawing {
  return frame(matrix, modulePixels(matrix, plainWidth), `<path shape-rendering="crispEdges" d="${drawRuns(matrix, matrix.dark)}"/>`, false);
}

/**
 * The picture is exactly the percentage of the code's width; the white square ends where modules end, half a module or more beyond it: an
 * odd number of them, as is a code's.
 */
export function drawWithPicture(matrix: Matrix, picture: string, percent: number): Drawing {
  const side = (matrix.size * percent) / 100;
  const reach = 2 * Math.ceil(side / 2) + 1;
  const [square, inner] = [reach, side].map((length) => {
    const start = round((matrix.size - length) / 2 + quietModules);
    return `x="${start}" y="${start}" width="${round(length)}" height="${round(length)}"`;
  });
  return frame(
    matrix,
    modulePixels(matrix, pictureWidth),
    `<path shape-rendering="crispEdges" d="${drawRuns(matrix, matrix.dark)}"/><rect ${square} rx="${corner}" fill="#fff"/><image ${inner} href="${picture}"/>`,
    true,
  );
}

function round(length: number): number {
  return Math.round(length * 1000) / 1000;
}
