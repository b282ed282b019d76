// In charge of whether everybody can use a page: axe-core finds nothing, nothing runs out of the screen to the side, and
// whoever walks through it by keyboard sees where they are. At both widths, in both colour schemes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { openPage } from './browser.ts';
import { findFaintText } from './contrast.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const widths = { phone: { width: 390, height: 844 }, desk: { width: 1280, height: 900 } } as const;
export type Look = { width: keyof typeof widths; scheme: 'light' | 'dark' };

export const leastRoom: Look = { width: 'phone', scheme: 'light' };

type Cookies = Awaited<ReturnType<ReturnType<Page['context']>['cookies']>>;
export type Walked = Awaited<ReturnType<typeof openPage>>;

/** A page of that look; with the cookies of somebody who is signed in. */
export async function openLook({ width, scheme }: Look, cookies: Cookies = []): Promise<Walked> {
  const opened = await openPage(widths[width], scheme);
  await opened.page.context().addCookies(cookies);
  return opened;
}

/** The page that is open, in another look. */
export async function changeLook(page: Page, { width, scheme }: Look): Promise<void> {
  await page.setViewportSize(widths[width]);
  await page.emulateMedia({ colorScheme: scheme });
}

/** The page as it is now, with everything that folds unfolded. */
export async function requireUsable(page: Page, name: string): Promise<void> {
  await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`);
  const faults: string[] = [...(await findAxeFaults(page)), ...(await findOverflow(page)), ...(await findHiddenFocus(page))];
  assert.deepEqual(faults, [], `${name} at ${page.url()}`);
}

const [ofLayout, ofColour] = [['target-size', 'scrollable-region-focusable'], ['color-contrast', 'link-in-text-block']] as const;

/** A page that was found usable on a phone in the light, in the other looks: what can differ there is looked at, and nothing twice. */
export async function requireUsableEverywhere(page: Page): Promise<void> {
  const faults: string[] = [];
  const note = (found: string[], look: string) => faults.push(...found.map((fault) => `${look}: ${fault}`));
  for (const width of ['phone', 'desk'] as const) {
    await changeLook(page, { width, scheme: 'dark' });
    note(await findFaintText(page), `${width}, dark`);
  }
  await changeLook(page, { width: 'desk', scheme: 'light' });
  note([...(await findAxeFaults(page, [...ofLayout, ...ofColour])), ...(await findOverflow(page)), ...(await findHiddenFocus(page))], 'desk, light');
  assert.deepEqual(faults, [], page.url());
}

/** In the look that has least room all there is, in the others what can differ there. */
export async function requireUsableInEveryLook(page: Page, name: string): Promise<void> {
  await changeLook(page, leastRoom);
  await requireUsable(page, name);
  await requireUsableEverywhere(page);
  await changeLook(page, leastRoom);
}

async function findAxeFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Evaluated by the browser's own door for tools: the page's policy lets no script in, and stays as it is.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axe);
  // What does not depend on colour is the same in the dark.
  const inTheDark = (await page.evaluate(`matchMedia('(prefers-color-scheme: dark)').matches`)) as boolean;
  const runOnly = rules ?? (inTheDark ? ofColour : undefined);
  return (await page.evaluate(`axe.run(document, { preload: false, resultTypes: ['violations'],
    ...${JSON.stringify(runOnly ? { runOnly } : {})} }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html.slice(0, 200) + ' ' + node.failureSummary)))`)) as string[];
}

async function findOverflow(page: Page): Promise<string[]> {
  const [wide, seen] = (await page.evaluate('[document.documentElement.scrollWidth, document.documentElement.clientWidth]')) as [number, number];
  return wide <= seen ? [] : [`the page is ${wide} wide on a screen of ${seen}`];
}

/**
 * Each place that the keyboard reaches has an outline once it is there, and stands where it can be seen. After a key was
 * pressed, a place that is focused by a script looks like one that was reached by the keyboard.
 */
async function findHiddenFocus(page: Page): Promise<string[]> {
  await page.evaluate('document.activeElement?.blur()');
  await page.keyboard.press('Tab');
  return (await page.evaluate(`[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
    .filter((one) => !one.disabled && one.checkVisibility())
    .flatMap((one) => {
      one.focus();
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      const { width, height, right } = one.getBoundingClientRect();
      const seen = one.matches(':focus-visible') && outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2 && width > 0 && height > 0 && right > 0;
      return seen ? [] : ['the focus cannot be seen on ' + one.outerHTML.slice(0, 200)];
    })`)) as string[];
}
