// In charge of a large made-up school: as many enrolments as asked for, as a CSV package in a folder, and a delta to it.
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { collections } from '../src/roster/collections.ts';

export type LargeSchool = { enrollments: number; users: number; classes: number };

export async function writeLargeSchool(folder: string, size: LargeSchool): Promise<void> {
  await writeManifest(folder, { academicSessions: 'bulk', classes: 'bulk', courses: 'bulk', enrollments: 'bulk', orgs: 'bulk', users: 'bulk' });
  await writeRows(folder, 'orgs', 1, () => 'school-1,,,The School,school,,');
  await writeRows(folder, 'academicSessions', 1, () => 'term-1,,,Autumn,term,2026-09-01,2026-12-19,,2027');
  await writeRows(folder, 'courses', 1, () => 'course-1,,,,A course,C1,,school-1,,');
  await writeRows(folder, 'classes', size.classes, (at) => `class-${at},,,Class ${at},,course-1,,scheduled,,school-1,term-1,,,`);
  await writeRows(
    folder,
    'users',
    size.users,
    (at) => `user-${at},,,true,school-1,${at % 20 === 0 ? 'teacher' : 'student'},u${at},,Given${at},Family${at},,,u${at}@school.example,,,,,`,
  );
  // Keys in no particular order, as real systems have them.
  await writeRows(
    folder,
    'enrollments',
    size.enrollments,
    (at) => `${keyOf(at)},,,class-${at % size.classes},school-1,user-${at % size.users},student,,2026-09-01,2027-07-20`,
  );
}

/** A delta in which the first few enrolments end on another day. */
export async function writeDelta(folder: string, changed: number, ends = '2027-06-30'): Promise<void> {
  await writeManifest(folder, { enrollments: 'delta' });
  const row = (at: number) => `${keyOf(at)},active,2026-10-01T00:00:00.000Z,class-${at},school-1,user-${at},student,,2026-09-01,${ends}`;
  await writeRows(folder, 'enrollments', changed, row);
}

/** So many enrolments, all over the file, end a week earlier; asked for again, they are as they were. */
export async function changeRows(folder: string, count: number): Promise<void> {
  const path = join(folder, collections.enrollments.file);
  const lines = (await readFile(path, 'utf8')).split('\r\n');
  const [one, other] = ['2027-07-20', '2027-07-13'];
  for (let at = 0; at < count; at += 1) {
    const line = 1 + Math.floor((at * (lines.length - 2)) / count);
    const before = lines[line] ?? '';
    lines[line] = before.endsWith(one) ? before.replace(one, other) : before.replace(other, one);
  }
  await writeFile(path, lines.join('\r\n'));
}

const keyOf = (at: number) => `enr-${String((at * 7919) % 1_000_003).padStart(7, '0')}`;
const names = [
  'academicSessions', 'categories', 'classes', 'classResources', 'courses', 'courseResources', 'demographics', 'enrollments', 'lineItems', 'orgs',
  'resources', 'results', 'users',
];

async function writeManifest(folder: string, modes: Partial<Record<string, 'bulk' | 'delta'>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = names.map((name) => `file.${name},${modes[name] ?? 'absent'}`);
  await writeFile(join(folder, 'manifest.csv'), ['propertyName,value', 'manifest.version,1.0', 'oneroster.version,1.1', ...files].join('\n'));
}

async function writeRows(folder: string, collection: keyof typeof collections, count: number, row: (at: number) => string): Promise<void> {
  function* lines(): Generator<string> {
    let text = `${collections[collection].headers.v1p1[0]}\r\n`;
    for (let at = 0; at < count; at += 1) {
      text += `${row(at)}\r\n`;
      if (text.length > 256 * 1024) {
        yield text;
        text = '';
      }
    }
    yield text;
  }
  await pipeline(lines(), createWriteStream(join(folder, collections[collection].file)));
}
