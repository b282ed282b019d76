// In charge of using the sandbox: whom it may be used on, and doing what a control says.
import { holdDemoSchools, listDemoSchools } from '../collection/steer-demo.ts';
import type { Config } from '../config.ts';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { Control } from './controls.ts';
import type { Values } from './field.ts';
import type { Whom } from './standing.ts';

export const noSandbox = 'there is no sandbox: it is there with DEMO=on alone';
export const notDemo = 'is no application of the demo; the sandbox does nothing to others';

export function requireSandbox({ demo }: Pick<Config, 'demo'>): void {
  if (!demo) throw new SchoolbellError('conflict', noSandbox);
}

export async function isDemoApplication(sql: Sql, rp: string): Promise<boolean> {
  const [row] = await sql<{ demo: boolean }[]>`select demo from application where rp = ${rp}`;
  return row?.demo === true;
}

/** An application that is none of the demo is refused, whoever asks. */
export async function requireWhom(sql: Sql, rp: string): Promise<Whom> {
  if (!(await isDemoApplication(sql, rp))) throw new SchoolbellError('forbidden', `${rp} ${notDemo}`);
  return { rp, estabs: await listDemoSchools(sql, rp) };
}

export async function useControl(db: Db, control: Control, whom: Whom, values: Values, now: number): Promise<void> {
  await db.begin(async (tx) => {
    const estabs = await holdDemoSchools(tx, whom.estabs);
    if (control.of === 'schools' && estabs.length === 0)
      throw new SchoolbellError('conflict', `no demo school authorises ${whom.rp} at present, so that there is none to steer`);
    await control.apply(tx, { ...whom, estabs }, values, now);
  });
}
