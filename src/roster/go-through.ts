// In charge of doing one thing after another, each for itself: one that fails keeps none of the others, and is named in the end. So schools
// are gone through.

/** failed: what is said of such a school, behind its establishment. */
export async function goThrough(schools: readonly { estab: string }[], failed: string, visit: (estab: string) => Promise<unknown>): Promise<void> {
  const visits = schools.map(({ estab }) => async () => {
    await visit(estab).catch((cause: unknown) => {
      throw new Error(`${estab} ${failed}`, { cause });
    });
  });
  await attemptAll(visits, (count) => `${count} of ${schools.length} schools ${failed}`);
}

/** tell: what is said of so many that failed. */
export async function attemptAll(attempts: readonly (() => Promise<unknown> | undefined)[], tell: (count: number) => string): Promise<void> {
  const failures: unknown[] = [];
  for (const attempt of attempts) {
    try {
      await attempt();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, tell(failures.length));
}
