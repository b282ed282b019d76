// In charge of the artistic look: the picture fills the code; every module darkens or lightens it, in its middle much
// and around that a little, and what a reader looks for first stays black and white.
import { createHash } from 'node:crypto';
import { frame, modulePixels, type Drawing } from './draw-code.ts';
import { drawRuns, quietModules, type Matrix } from './qr-matrix.ts';

/** How much of a module's width its dot takes, and how far dot and surroundings are moved towards black or white. */
export type ArtLook = Readonly<{ dot: number; dotStrength: number; aroundStrength: number }>;

/**
 * From the most picture to hardly any. With s the dot's share of the area, s × dot + (1 − s) × around is over 0.5 in
 * each, so that the darkest light module is lighter than the lightest dark one even where a camera blurs a module to
 * one colour, whatever the picture.
 */
export const artLooks: readonly ArtLook[] = [
  { dot: 0.78, dotStrength: 0.88, aroundStrength: 0.36 },
  { dot: 0.84, dotStrength: 0.92, aroundStrength: 0.5 },
  { dot: 0.9, dotStrength: 0.96, aroundStrength: 0.7 },
  { dot: 1, dotStrength: 1, aroundStrength: 0.9 },
];

const artWidth = 750;
/** A picture finer than this would not be seen between the dots. */
export const artPicturePixels = 600;
/** With fewer the dots have no shape. */
const leastArtPixels = 6;

export function drawArt(matrix: Matrix, picture: string, look: ArtLook): Drawing {
  const { dark, fixed, size } = matrix;
  const paths = {
    dark: drawRuns(matrix, (x, y) => dark(x, y) && !fixed(x, y)),
    light: drawRuns(matrix, (x, y) => !dark(x, y) && !fixed(x, y)),
    fixedDark: drawRuns(matrix, (x, y) => dark(x, y) && fixed(x, y)),
    fixedLight: drawRuns(matrix, (x, y) => !dark(x, y) && fixed(x, y)),
  };
  // Several codes may be put into one page, where ids are shared.
  const id = `q${createHash('sha256').update(paths.dark).update(JSON.stringify(look)).digest('hex').slice(0, 12)}`;
  const [dotOver, around] = [1 - (1 - look.dotStrength) / (1 - look.aroundStrength), look.aroundStrength];
  const shade = (name: 'dark' | 'light', colour: string) => ({
    define:
      `<path id="${id}-${name}" d="${paths[name]}"/><pattern id="${id}-${name}-dot" width="1" height="1" patternUnits="userSpaceOnUse">` +
      `<circle cx=".5" cy=".5" r="${look.dot / 2}" fill="${colour}" fill-opacity="${round(dotOver)}"/></pattern>`,
    draw:
      `<use href="#${id}-${name}" fill="${colour}" fill-opacity="${around}" shape-rendering="crispEdges"/>` +
      `<use href="#${id}-${name}" fill="url(#${id}-${name}-dot)"/>`,
  });
  const shades = [shade('dark', '#000'), shade('light', '#fff')];
  return frame(matrix, Math.max(leastArtPixels, modulePixels(matrix, artWidth)), [
    `<defs>${shades.map(({ define }) => define).join('')}</defs>`,
    `<image x="${quietModules}" y="${quietModules}" width="${size}" height="${size}" preserveAspectRatio="none" href="${picture}"/>`,
    ...shades.map(({ draw }) => draw),
    `<path fill="#fff" shape-rendering="crispEdges" d="${paths.fixedLight}"/><path shape-rendering="crispEdges" d="${paths.fixedDark}"/>`,
  ].join(''), true);
}

function round(share: number): number {
  return Math.round(share * 1000) / 1000;
}
