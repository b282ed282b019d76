// In charge of what tests do with a keyboard alone in a real browser.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

/** In the list that has the focus, by the arrow: letters that come slowly would each begin a new word. */
export async function chooseByArrow(page: Page, value: string): Promise<void> {
  const chosen = () => page.evaluate('document.activeElement?.value');
  for (let presses = 0; presses < 20 && (await chosen()) !== value; presses += 1) await page.keyboard.press('ArrowDown');
  assert.equal(await chosen(), value);
}
