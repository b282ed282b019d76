// In charge of whether everybody can use a page: axe-core finds nothing, nothing runs out of the screen to the side, and
// whoever walks through it by keyboard sees where they are. At both widths, in both colour schemes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { openPage } from './browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const longestWalk = 400;

export const widths = { phone: { width: 390, height: 844 }, desk: { width: 1280, height: 900 } } as const;
export const schemes = ['light', 'dark'] as const;
export type Look = { width: keyof typeof widths; scheme: (typeof schemes)[number] };
export const looks: readonly Look[] = (['phone', 'desk'] as const).flatMap((width) => schemes.map((scheme) => ({ width, scheme })));

type Cookies = Awaited<ReturnType<ReturnType<Page['context']>['cookies']>>;
export type Walked = Awaited<ReturnType<typeof openPage>>;

/** A page of that look; with the cookies of somebody who is signed in. */
export async function openLook({ width, scheme }: Look, cookies: Cookies = []): Promise<Walked> {
  const opened = await openPage(widths[width], scheme);
  await opened.page.context().addCookies(cookies);
  return opened;
}

/** The page as it is now, with everything that folds unfolded. */
export async function requireUsable(page: Page, name: string): Promise<void> {
  await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`);
  const faults: string[] = [...(await findAxeFaults(page)), ...(await findOverflow(page)), ...(await findHiddenFocus(page))];
  assert.deepEqual(faults, [], `${name} at ${page.url()}`);
}

async function findAxeFaults(page: Page): Promise<string[]> {
  // Evaluated by the browser's own door for tools: the page's policy lets no script in, and stays as it is.
  await page.evaluate(axe);
  return (await page.evaluate(`axe.run(document, { preload: false, resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html.slice(0, 200) + ' ' + node.failureSummary)))`)) as string[];
}

async function findOverflow(page: Page): Promise<string[]> {
  const [wide, seen] = (await page.evaluate('[document.documentElement.scrollWidth, document.documentElement.clientWidth]')) as [number, number];
  return wide <= seen ? [] : [`the page is ${wide} wide on a screen of ${seen}`];
}

/** From the top to the end by the tabulator key; each place has an outline, and stands where it can be seen. */
async function findHiddenFocus(page: Page): Promise<string[]> {
  const faults: string[] = [];
  await page.evaluate('document.activeElement?.blur(); scrollTo(0, 0); getSelection().removeAllRanges()');
  for (let at = 0; at < longestWalk; at += 1) {
    await page.keyboard.press('Tab');
    const fault = (await page.evaluate(`(() => {
      const one = document.activeElement;
      if (one === null || one === document.body || one.dataset.seenFocus) return undefined;
      one.dataset.seenFocus = 'yes';
      const style = getComputedStyle(one);
      const { width, height, right, bottom } = one.getBoundingClientRect();
      const outlined = style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) >= 2;
      return outlined && width > 0 && height > 0 && right > 0 && bottom > 0 ? '' : 'the focus cannot be seen on ' + one.outerHTML.slice(0, 200);
    })()`)) as string | undefined;
    if (fault === undefined) break;
    if (fault !== '') faults.push(fault);
  }
  await page.evaluate(`for (const one of document.querySelectorAll('[data-seen-focus]')) delete one.dataset.seenFocus`);
  return faults;
}
