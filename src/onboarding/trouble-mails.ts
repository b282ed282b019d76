// In charge of what the mails about collections say: one is held, the package of a job was refused, nothing was collected for
// a day, and all is well again. Values of rows are left out: a mail lies about for longer than what it is about.
import type { ComponentDatabase } from '../collection/component-databases.ts';
import type { ImportReport } from '../collection/import-report.ts';
import { writeLetter, type Letter, type Paragraph } from '../mail/letter.ts';
import { formatMany, formatMoment } from '../http/pages/figures.ts';
import { titleOf } from '../collection/pages/database-words.ts';

/** operator: the letter goes to whoever runs the service, about a school that was told as well, or not. */
export type About = {
  estab: string;
  school: string;
  timeZone: string;
  publicUrl: string;
  operator?: { schoolTold: string | undefined };
};
export type Told = Pick<ComponentDatabase, 'name' | 'message' | 'updatedAt'> & { failingSince: Date | null };

const listedFaults = 20;

export function renderHeld(about: About, { message, updatedAt }: Told): Letter {
  const loss = message?.replace(/^waits for approval: /, '');
  return write(about, `An import of ${about.school} waits for approval`, [
    `An import of the data of ${about.school} waits for approval${loss ? `: ${loss}` : ''}.`,
    'At the end of a school year that can be right. It can also mean that an export was incomplete.',
    `Nothing has been changed. ${stays(about, updatedAt)} Please approve it if it is right, or discard it if it is not.`,
    ...(about.operator ? [
          `You can do the same for the school: import held --estab ${about.estab} names the import, ` +
            `then import approve --estab ${about.estab} --import <id>, or import discard --estab ${about.estab}.`,
        ] : []),
  ]);
}

export function renderRefused(about: About, { updatedAt }: Told, { problems, problemsTotal }: ImportReport, at: Date): Letter {
  const shown = problems.slice(0, listedFaults);
  return write(about, `The package of ${about.school} was refused: ${formatMany(problemsTotal, 'problem')}`, [
    `On ${formatMoment(at, about.timeZone)} the export job of ${about.school} sent a package that was refused as a whole. ${stays(about, updatedAt)}`,
    'Please have this put right where it comes from, and the package sent again:',
    ...shown.map(({ file, line, column, rule }) => `– ${[file, line === null ? '' : `line ${line}`, column ?? ''].filter(Boolean).join(', ')}: ${rule}`),
    ...(problemsTotal > shown.length ? [`And ${formatMany(problemsTotal - shown.length, 'more problem')}; the page shows them, with the values.`] : []),
    'There is no further mail if the next packages are refused too; there is one when a package is taken over again.',
  ]);
}

export function renderFailing(about: About, failing: readonly Told[]): Letter {
  return write(about, `The data of ${about.school} has not been collected for a day`, [
    ...failing.flatMap((database) => [
      `${titleOf(database)}: collecting has failed every time since ` +
        `${database.failingSince ? formatMoment(database.failingSince, about.timeZone) : 'a day ago'}. ${stays(about, database.updatedAt)}`,
      ...(database.message ? [`The last time it said: ${database.message}`] : []),
    ]),
    'There is no further mail until it is well again.',
  ]);
}

/** `collected` is true if data was fetched since the trouble mail, false if the import that waited for approval was dropped. */
export function renderWell(about: About, well: readonly Told[], collected: boolean): Letter {
  if (!collected)
    return write(about, `No import of ${about.school} waits for a decision any more`, [
      `The import of ${about.school} that waited for approval was dropped, and none of its data was used. ${stays(about, well[0]?.updatedAt ?? null)}`,
    ]);
  return write(about, `The data of ${about.school} is collected again`, [
    ...well.map((database) => `${titleOf(database)}: collected on ${database.updatedAt ? formatMoment(database.updatedAt, about.timeZone) : 'this day'}.`),
    'Nothing needs to be done.',
  ]);
}

function stays({ timeZone }: About, updatedAt: Date | null): string {
  return updatedAt ? `Applications go on with what was collected on ${formatMoment(updatedAt, timeZone)}.` : 'Nothing was collected before.';
}

function write({ estab, publicUrl, operator }: About, subject: string, paragraphs: readonly Paragraph[]): Letter {
  if (operator) {
    const told = operator.schoolTold === undefined ? 'The school is not confirmed and was not told.' : `The school was told at ${operator.schoolTold}.`;
    return writeLetter(`${subject} (${estab})`, [...paragraphs, told]);
  }
  return writeLetter(subject, [
    ...paragraphs,
    { link: `${publicUrl}/school`, label: 'Open the pages of your school' },
    'There you ask for a link, which comes to this address; under “Your data” stands how everything is.',
  ]);
}
