// In charge of a real browser for tests: one for the process, started by the first page that is opened.
import { after } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { findBrowser, startBrowser } from './find-browser.ts';

let browser: Promise<Browser> | undefined;
// Here, so that it ends with the file and not with the test that opened the first page.
after(async () => (await browser?.catch(() => undefined))?.close());

/** A new page in a profile of its own; what the page complains about is an error of the test. */
export async function openPage(
  viewport: { width: number; height: number } = { width: 1280, height: 900 },
  colorScheme: 'light' | 'dark' = 'light',
  javaScriptEnabled = true,
): Promise<{ page: Page; complaints: string[] }> {
  browser ??= findBrowser(startBrowser).then(({ started }) => started);
  const context = await (await browser).newContext({ viewport, colorScheme, javaScriptEnabled, acceptDownloads: false });
  // As long as anything that is waited for: a machine may be busy.
  context.setDefaultTimeout(180_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
}
