// In charge of a real browser for tests: one for each test file, without a network of its own.
import chromiumBinary from '@sparticuz/chromium';
import { after } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';

let browser: Promise<Browser> | undefined;

/** A new page in a profile of its own; what the page complains about is an error of the test. */
export async function openPage(viewport = { width: 1280, height: 900 }): Promise<{ page: Page; complaints: string[] }> {
  browser ??= launch();
  const context = await (await browser).newContext({ viewport, acceptDownloads: false });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
}

async function launch(): Promise<Browser> {
  const started = await chromium.launch({ args: chromiumBinary.args, executablePath: await chromiumBinary.executablePath(), headless: true });
  after(() => started.close());
  return started;
}
