// In charge of whether text can be told from what it stands on, where only colours may differ from a look that axe-core has
// found usable: for each text the nearest background behind it among its ancestors. Axe also looks for what lies over it,
// which takes half a second a page, and lies there in every colour scheme.
import type { Page } from 'playwright-core';

/** WCAG 2.2, 1.4.3: large is 24 px, or 18.66 px and bold. */
const limits = { text: 4.5, large: 3, largePixels: 24, largeBoldPixels: 18.66, bold: 700 } as const;

/** Each text that cannot be read well, with both colours; everything is computed as the browser has it now. */
export async function findFaintText(page: Page): Promise<string[]> {
  return (await page.evaluate(`(${inPage.toString()})(${JSON.stringify(limits)})`)) as string[];
}

/** Runs in the page, and so knows nothing of this file; what it says of the browser's objects is all that it uses of them. */
function inPage({ text, large, largePixels, largeBoldPixels, bold }: typeof limits): string[] {
  type Style = Record<'color' | 'backgroundColor' | 'backgroundImage' | 'fontSize' | 'fontWeight' | 'opacity', string>;
  type Element = {
    parentElement: Element | null;
    childNodes: Iterable<{ nodeType: number; textContent: string | null }>;
    outerHTML: string;
    matches(selector: string): boolean;
    checkVisibility(options: object): boolean;
  };
  type Pen = { fillStyle: string; clearRect(...box: number[]): void; fillRect(...box: number[]): void; getImageData(...box: number[]): { data: number[] } };
  type Colour = readonly [red: number, green: number, blue: number, alpha: number];
  const { document, getComputedStyle } = globalThis as unknown as {
    document: { createElement(name: 'canvas'): { getContext(kind: '2d', options: object): Pen }; querySelectorAll(selector: string): Iterable<Element> };
    getComputedStyle(element: Element): Style;
  };
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const colours = new Map<string, Colour>();
  // However a style sheet writes a colour, the browser can paint it.
  const paint = (css: string): Colour => {
    let colour = colours.get(css);
    if (!colour) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = css;
      pen.fillRect(0, 0, 1, 1);
      const [red = 0, green = 0, blue = 0, alpha = 0] = pen.getImageData(0, 0, 1, 1).data;
      colours.set(css, (colour = [red, green, blue, alpha / 255]));
    }
    return colour;
  };
  const over = (front: Colour, back: Colour): Colour => {
    const mix = (at: 0 | 1 | 2) => front[at] * front[3] + back[at] * (1 - front[3]);
    return [mix(0), mix(1), mix(2), 1];
  };
  const behind = (element: Element | null): Colour => {
    if (!element) return paint('Canvas');
    const colour = paint(getComputedStyle(element).backgroundColor);
    return colour[3] === 1 ? colour : over(colour, behind(element.parentElement));
  };
  const fade = (element: Element | null): number => (element ? Number(getComputedStyle(element).opacity) * fade(element.parentElement) : 1);
  const luminance = ([red, green, blue]: Colour) => {
    const linear = (value: number) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  };
  const hasText = (element: Element) => [...element.childNodes].some((node) => node.nodeType === 3 && (node.textContent ?? '').trim() !== '');
  return [...document.querySelectorAll('body *')].flatMap((element) => {
    const isField = element.matches('input:not([type=hidden], [type=checkbox], [type=radio]), select, textarea');
    if ((!hasText(element) && !isField) || element.matches(':disabled, option, script, style')) return [];
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return [];
    const { color, fontSize, fontWeight } = getComputedStyle(element);
    const back = behind(element);
    const [red, green, blue, alpha] = paint(color);
    const front = over([red, green, blue, alpha * fade(element)], back);
    const [light = 0, dark = 0] = [luminance(front), luminance(back)].sort((one, other) => other - one);
    const contrast = (light + 0.05) / (dark + 0.05);
    const pixels = Number.parseFloat(fontSize);
    const isLarge = pixels >= largePixels || (pixels >= largeBoldPixels && Number(fontWeight) >= bold);
    if (contrast >= (isLarge ? large : text)) return [];
    return [`contrast ${contrast.toFixed(2)} of ${color} on ${back.map(Math.round).join(' ')}: ${element.outerHTML.slice(0, 200)}`];
  });
}
