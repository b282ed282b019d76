// In charge of doing each action of the console in a real browser as a person does it: its page is opened, its form filled, its
// button clicked. What follows is seen by whoever gives the example; that it is said, stands in the audit trail and is on a page that
// everybody can use is seen here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { actions } from '../src/console/routes.ts';
import type { Db } from '../src/db/connect.ts';
import { requireUsableInEveryLook } from './accessibility.ts';
import type { openPage } from './browser.ts';

/** Each action is one area's: that of the longest beginning of its path. */
const areas = {
  accounts: ['/console/account/', '/console/operators/'],
  schools: ['/console/schools/', '/console/add-school/'],
  source: ['/console/schools/:estab/source/', '/console/schools/:estab/held/'],
  applications: ['/console/applications/', '/console/add-application/'],
  developers: ['/console/applications/:rp/deliveries/', '/console/applications/:rp/targets/', '/console/applications/:rp/developers/'],
  service: ['/console/mail/', '/console/work/', '/console/settings/', '/console/backups/', '/console/deliveries/', '/console/targets/'],
} as const;
export type Area = keyof typeof areas;

function areaOf(path: string): Area {
  const found = Object.entries(areas).flatMap(([area, beginnings]) => beginnings.filter((one) => path.startsWith(one)).map((one) => ({ area, one })));
  const [longest] = found.toSorted((a, b) => b.one.length - a.one.length);
  return (longest?.area ?? assert.fail(`${path} is of no area`)) as Area;
}

export type Hands = {
  page: Page;
  /** A page of the console. */
  open(path: string): Promise<void>;
  /** A form by its id, with what is typed, chosen or ticked under each label, the first of that name; by the button of that name, or the only one. */
  send(form: string, fields?: Readonly<Record<string, string | boolean>>, button?: string): Promise<void>;
  read(selector: string): Promise<string>;
};

type Opened = Awaited<ReturnType<typeof openPage>>;

export const phone = { width: 390, height: 844 } as const;

export function useHands(url: string, { page }: Opened): Hands {
  return {
    page,
    async open(path) {
      const answer = await page.goto(`${url}${path}`);
      assert.equal(answer?.status(), 200, path);
    },
    async send(id, fields = {}, button) {
      // A page that a link has led to may still be loading: its load is not that of the form.
      await page.waitForLoadState('load');
      const form = page.locator(`form[id="${id}"]`);
      const fold = form.locator('xpath=ancestor::details[not(@open)]/summary');
      if ((await fold.count()) > 0) await fold.click();
      for (const [label, value] of Object.entries(fields)) await fill(form.getByLabel(label, { exact: true }).first(), value);
      const pressed = button === undefined ? form.locator('button') : form.getByRole('button', { name: button, exact: true });
      await Promise.all([page.waitForEvent('load'), pressed.click()]);
    },
    read: async (selector) => (await page.locator(selector).first().innerText()).replaceAll(/\s+/g, ' ').trim(),
  };
}

async function fill(field: Locator, value: string | boolean): Promise<void> {
  if (typeof value === 'boolean') await field.setChecked(value);
  else if ((await field.and(field.page().locator('select')).count()) > 0) await field.selectOption(value);
  else await field.fill(value);
}

/** What a line of the trail says beside who did it and from where: of which school and application, about whom, and what was given. */
export type Noted = Readonly<{ estab?: string | null; rp?: string | null; subject?: string | null; detail?: Readonly<Record<string, unknown>> }>;
type Example = () => Promise<readonly Noted[]>;

const [done, unsaid] = [{ outcome: 'done', via: 'console', address: '127.0.0.1' }, { estab: null, rp: null, subject: null, detail: {} }] as const;

/**
 * Each action of the area, in the order of the table, by the example of its path, which gives the lines of the trail that are to
 * follow; one without is a test that fails.
 */
export function clickEach(area: Area, db: Db, { page, complaints }: Opened, examples: Readonly<Record<string, Example>>): void {
  const own = actions.filter(({ path }) => areaOf(path) === area);
  test('there is no example but of actions', () => {
    assert.deepEqual(Object.keys(examples).filter((path) => !own.some(({ path: known }) => known === path)), []);
  });
  for (const { path, name, done: notice } of own)
    test(`by its form: ${path}`, async () => {
      const example = examples[path] ?? assert.fail('it has no example');
      const [before] = await db<{ number: string }[]>`select coalesce(max(number), 0) as number from audit_event`;
      complaints.length = 0;
      const noted = await example();
      const lines = await db`
        select outcome, via, address, estab, rp, subject, detail from audit_event where number > ${before?.number ?? 0} and action = ${name} order by number`;
      assert.ok(noted.length > 0, 'it stands in the trail');
      assert.deepEqual(lines.map((line) => ({ ...line })), noted.map((line) => ({ ...done, ...unsaid, ...line })));
      assert.equal(await page.locator('#problem').count(), 0);
      if (notice !== undefined) assert.equal(await page.locator('#notice').count(), 1, 'it is said that it is done');
      assert.deepEqual(complaints, []);
      await requireUsableInEveryLook(page, path);
    });
}
